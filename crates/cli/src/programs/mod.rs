//! The programs `reclass`, `reclass-salt` and `reclass-ansible`. Each declares its modes and passes its
//! results to the terminal.

mod ansible;
mod reclass;
mod salt;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::program::Program;
use crate::session;

/// All programs. The first one has the name of this file.
pub const PROGRAMS: [&Program; 3] = [&reclass::PROGRAM, &salt::PROGRAM, &ansible::PROGRAM];

/// Runs the program that the first argument names; `start/start.rs` puts the name there. Without a name it
/// runs `reclass`.
pub fn main(mut arguments: Vec<OsString>) -> ExitCode {
    let [reclass, others @ ..] = PROGRAMS;
    let word = arguments.get(1).and_then(|word| word.to_str());
    let named = others.into_iter().find(|program| Some(program.name) == word);
    if named.is_some() {
        arguments.remove(1);
    }
    session::run(named.unwrap_or(reclass), arguments)
}
