//! The programs `reclass`, `reclass-salt` and `reclass-ansible` turn a command line into the data of
//! a node or of the whole inventory.

mod commands;
mod configuration;
mod flags;
mod folder;
mod programs;
mod progress;
mod session;
mod terminal;
mod version;

use std::process::ExitCode;

/// A whole inventory is some millions of small pieces.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = std::env::args_os().collect();
    // A defect of ours has told of itself on standard error; the exit code is that of the
    // Python programs for what is unexpected (ruling Y8).
    std::panic::catch_unwind(|| programs::main(arguments)).unwrap_or(ExitCode::FAILURE)
}
