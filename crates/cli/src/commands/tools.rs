//! The list of tools, and how one runs.

use std::process::ExitCode;

use clap::{ArgMatches, Command};

use crate::commands::tool::Tool;
use crate::commands::{complete, explain_error, init, lsp, manual, migrate};
use crate::terminal;

pub const TOOLS: &[Tool] =
    &[explain_error::TOOL, init::TOOL, migrate::TOOL, lsp::TOOL, complete::TOOL, manual::TOOL];

pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Adds the tools to the program.
pub fn add(command: Command) -> Command {
    TOOLS.iter().fold(command, |command, tool| {
        let base = Command::new(tool.name)
            .about(tool.about)
            .infer_long_args(true)
            .after_help(tool.manual.help(&format!("reclass-{}", tool.name)));
        command.subcommand((tool.arguments)(base))
    })
}

/// Runs a tool and returns the exit code.
pub fn run(tool: &Tool, matches: &ArgMatches) -> ExitCode {
    match (tool.run)(matches) {
        Ok(text) if text.is_empty() => ExitCode::SUCCESS,
        Ok(text) => terminal::print(text.trim_end_matches('\n')),
        Err(error) => terminal::fail(&error),
    }
}
