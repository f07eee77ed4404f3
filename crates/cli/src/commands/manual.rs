//! `reclass manual` writes the command lines as manual pages, for `man`.
//!
//! The pages come from the same definitions that parse the command line. `make man` writes the pages in
//! `docs/man`, which are part of the wheel.

use clap::{ArgMatches, Command};
use clap_mangen::Man;
use reclass::error::{Fault, Kind, Result};

use crate::commands::tools::{self, Tool};
use crate::folder::OutputFolder;
use crate::programs::PROGRAMS;

/// The `manual` tool.
pub const TOOL: Tool = Tool {
    name: "manual",
    about: "Write the manual pages of all programs and commands into a folder",
    arguments: |command| {
        command.arg(tools::folder("The folder, man1 of a MANPATH, say; it is made if it is not there"))
    },
    run,
};

fn run(matches: &ArgMatches) -> Result<String> {
    let folder = tools::made(matches)?;
    for program in PROGRAMS {
        // The pages must not depend on the folder of this program.
        let defaults = (program.defaults)("the directory of the program");
        let mut command = program.command_line(&defaults).disable_help_subcommand(true);
        command.build();
        write(&command, program.name, &folder)?;
    }
    Ok(String::new())
}

/// Writes the page of a command and the pages of its subcommands.
fn write(command: &Command, name: &str, folder: &OutputFolder) -> Result<()> {
    for inner in command.get_subcommands() {
        write(inner, &format!("{name}-{}", inner.get_name()), folder)?;
    }
    let mut page = Vec::new();
    let man = Man::new(command.clone().display_name(name))
        .title(name)
        .source(format!("saltext-reclass {}", env!("CARGO_PKG_VERSION")))
        .manual("reclass");
    man.render(&mut page).map_err(|error| Fault::new(Kind::Internal { message: error.to_string() }))?;
    folder.put(&format!("{name}.1"), &page)
}
