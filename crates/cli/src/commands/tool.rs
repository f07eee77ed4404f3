//! A tool as data. Tools are commands that need no inventory, such as `reclass init`.

use clap::builder::NonEmptyStringValueParser;
use clap::{Arg, ArgMatches, Command, ValueHint};
use reclass::error::{Error, Result};
use reclass_analysis::errors::FOLDER_USED;

use crate::folder::OutputFolder;
use crate::manual_page::Manual;

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

/// The argument for the folder that a tool writes to.
pub fn folder(help: &'static str) -> Arg {
    Arg::new("folder")
        .value_name("DIR")
        .required(true)
        .value_parser(NonEmptyStringValueParser::new())
        .value_hint(ValueHint::DirPath)
        .help(help)
}

/// The error of a tool that would overwrite something.
pub fn in_the_way(path: &str) -> Error {
    let help =
        "if this folder has an inventory already, 'reclass nodes' lists its nodes; or name another folder";
    FOLDER_USED.fault(format!("'{path}' is in the way: nothing is overwritten"), Some(help)).into()
}

/// That folder; it is created if it does not exist.
pub fn made(matches: &ArgMatches) -> Result<OutputFolder> {
    OutputFolder::make(matches.get_one::<String>("folder").map_or("", String::as_str))
}
