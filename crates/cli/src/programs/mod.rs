//! The programs `reclass`, `reclass-salt` and `reclass-ansible`: each declares its modes and hands what
//! it computed to the terminal.

mod ansible;
mod reclass;
mod salt;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::session::{self, Program};

/// All programs; the first one is what this file is called.
pub const PROGRAMS: [&Program; 3] = [&reclass::PROGRAM, &salt::PROGRAM, &ansible::PROGRAM];

/// Runs the program that the first word after the name of this file says, as `start/start.rs` puts
/// it there; `reclass` without such a word.
pub fn main(mut arguments: Vec<OsString>) -> ExitCode {
    let [reclass, others @ ..] = PROGRAMS;
    let word = arguments.get(1).and_then(|word| word.to_str());
    let named = others.into_iter().find(|program| Some(program.name) == word);
    if named.is_some() {
        arguments.remove(1);
    }
    session::run(named.unwrap_or(reclass), arguments)
}
