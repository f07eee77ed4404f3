//! Turns command lines into output and an exit code: the programs `reclass`, `reclass-salt` and `reclass-ansible`.
//!
//! Invariants: a command asks the crates below and decides nothing about an inventory. Only `terminal` and `progress` print.
//! Exit codes are those of the Python programs where these have the command.
//!
//! Read first: `programs/reclass`, `program`, `terminal`.

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
