//! Start replaces this process by the `reclass` in the same folder. The first argument is the name of the
//! program to run.
//!
//! A wheel cannot contain links, and two more copies of the whole program would make it twice as large. The
//! name that the program was called by is passed on: Ansible calls it by a link in the folder of an inventory,
//! and this folder is the default inventory.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

/// Replaces this process by `reclass` with the same arguments. Returns only if that fails.
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
    // Nobody reads the message if standard error is closed.
    let _ = writeln!(std::io::stderr(), "{error}");
    ExitCode::FAILURE
}
