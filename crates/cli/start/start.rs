//! Start turns a small program into the `reclass` that lies beside it, told which program to be.
//!
//! Wheels hold no links, and two more copies of the whole program would make them twice as large.
//! The name that the program was called by stays: Ansible calls it by a link in the folder of an
//! inventory, which is the default for where that is.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Becomes `reclass`, with the same arguments; returns where that cannot be.
pub fn as_program(name: &str) -> ExitCode {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_else(|| name.into());
    let error = match std::env::current_exe().and_then(|own| own.canonicalize()) {
        Ok(own) => {
            let program = own.with_file_name("reclass");
            let error = Command::new(&program).arg0(called).arg(name).args(arguments).exec();
            format!("error: cannot start '{}': {error}", program.display())
        }
        Err(error) => format!("error: cannot find the folder of {name}: {error}"),
    };
    // Where standard error is closed there is no one to tell.
    let _ = writeln!(std::io::stderr(), "{error}");
    ExitCode::FAILURE
}
