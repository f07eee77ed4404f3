//! The programs `reclass`, `reclass-salt` and `reclass-ansible` print the data of a node or of the whole
//! inventory.

mod commands;
mod configuration;
mod flags;
mod folder;
mod manual_page;
mod process;
mod program;
mod programs;
mod progress;
mod screen;
mod session;
mod terminal;
mod version;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = std::env::args_os().collect();
    // The panic was already reported on standard error. The exit code is the one the Python programs use for
    // unexpected errors (ruling Y8).
    std::panic::catch_unwind(|| programs::main(arguments)).unwrap_or(ExitCode::FAILURE)
}
