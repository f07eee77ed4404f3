//! The command-line programs turn arguments and a configuration file into printed answers.
//!
//! [`flags`] are the options that all programs share, [`configuration`] finds the file with
//! their defaults, [`terminal`] is the one place that prints, [`folder`] the one that writes files.
//! Each program is a module of its own with a [`Program`]: it declares its modes, and hands what it
//! computed to the terminal. The [`verbs`] of `reclass` are modules of their own beside them, and
//! so are its [`tools`], which need no inventory.

pub mod ansible;
pub mod complete;
pub mod configuration;
pub mod diff;
pub mod explain;
pub mod flags;
pub mod folder;
pub mod graph;
pub mod init;
pub mod lint;
pub mod list;
pub mod manual;
pub mod progress;
pub mod reclass;
pub mod salt;
pub mod session;
pub mod terminal;
pub mod tools;
pub mod verbs;
pub mod version;

use std::ffi::OsString;
use std::process::ExitCode;

use session::Program;

/// All programs; the first one is what this file is called.
pub const PROGRAMS: [&Program; 3] = [&reclass::PROGRAM, &salt::PROGRAM, &ansible::PROGRAM];

/// Runs the program that the first word after the name of this file says, as `src/start/start.rs` puts
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
