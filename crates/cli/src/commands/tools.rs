//! Tools are commands that need no inventory, such as `reclass init`.

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, ArgMatches, Command, ValueHint};
use reclass::error::Result;

use crate::commands::{complete, explain_error, init, manual, migrate};
use crate::folder::OutputFolder;
use crate::manual_page::Manual;
use crate::terminal;

/// A command that needs no inventory.
pub struct Tool {
    /// The word.
    pub name: &'static str,
    /// One line for the list of commands.
    pub about: &'static str,
    /// Its examples and documentation.
    pub manual: Manual,
    pub arguments: fn(Command) -> Command,
    /// Runs it. Returns the text to print, which ends with a newline or is empty.
    pub run: fn(&ArgMatches) -> Result<String>,
}

pub const TOOLS: &[Tool] = &[explain_error::TOOL, init::TOOL, migrate::TOOL, complete::TOOL, manual::TOOL];

/// The argument for the folder that a tool writes to.
pub fn folder(help: &'static str) -> Arg {
    Arg::new("folder")
        .value_name("DIR")
        .required(true)
        .value_parser(NonEmptyStringValueParser::new())
        .value_hint(ValueHint::DirPath)
        .help(help)
}

/// That folder; it is created if it does not exist.
pub fn made(matches: &ArgMatches) -> Result<OutputFolder> {
    OutputFolder::make(matches.get_one::<String>("folder").map_or("", String::as_str))
}

pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Adds the tools to the program.
pub fn add(command: Command) -> Command {
    TOOLS.iter().fold(command, |command, tool| {
        let base =
            Command::new(tool.name).about(tool.about).infer_long_args(true).after_help(tool.manual.help());
        command.subcommand((tool.arguments)(base))
    })
}

/// Runs a tool and returns the exit code.
pub fn run(tool: &Tool, matches: &ArgMatches) -> ExitCode {
    match (tool.run)(matches) {
        Ok(text) if text.is_empty() => ExitCode::SUCCESS,
        Ok(text) => terminal::print(text.trim_end_matches('\n')),
        Err(error) => crate::session::fail(&error),
    }
}
