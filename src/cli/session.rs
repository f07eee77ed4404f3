//! A session turns one command line into an opened inventory and prints what is asked of it.
//!
//! What the programs have in common: defaults, then the configuration file, then the command
//! line; errors and warnings on standard error, data on standard output.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use reclass::engine::{Inventory, NodeInfo};
use reclass::error::{Error, Result};
use reclass::secrets::Secrets;
use reclass::value::{Map, Value};

use super::{configuration, flags, terminal, verbs};

/// The exit code of a command line that makes no sense.
const USAGE: u8 = 2;

/// What a program says of itself, and what it does.
pub struct Program {
    /// Its name, for messages.
    pub name: &'static str,
    /// Its own options and modes, beside the shared ones.
    pub command: fn(Command) -> Command,
    /// The names of its modes.
    pub modes: &'static [&'static str],
    /// Whether it has the verbs beside its modes.
    pub verbs: bool,
    /// Its own defaults, weaker than the configuration file.
    pub defaults: Map,
    /// Answers.
    pub answer: fn(&Session<'_>) -> Result<Value>,
}

/// One command line, checked, with its inventory.
pub struct Session<'a> {
    /// The parsed command line.
    pub matches: &'a ArgMatches,
    /// The mode, and the node it is about.
    pub mode: (&'static str, Option<&'a str>),
    /// The inventory.
    pub inventory: Inventory,
    /// The time, as Python's `time.strftime('%c')` writes it.
    pub timestamp: String,
}

/// Passes on what was noticed about nodes, each thing once: what is wrong with a class is noticed
/// in every node that includes it.
pub fn warn<'a>(nodes: impl IntoIterator<Item = &'a NodeInfo>) {
    let mut seen = BTreeSet::new();
    for warning in nodes.into_iter().flat_map(|node| &node.warnings) {
        let place = warning.site.as_ref().map(ToString::to_string);
        if seen.insert((place, warning.kind.to_string())) {
            terminal::warn(warning);
        }
    }
}

/// Runs a program to its exit code.
pub fn run(program: Program, arguments: Vec<OsString>) -> ExitCode {
    let mut defaults = program.defaults;
    match configuration::read(arguments.first().map(OsString::as_os_str)) {
        Ok(options) => defaults.extend(options),
        Err(error) => return fail(&error),
    }
    let mut command = (program.command)(flags::add(base(program.name), &defaults));
    if program.verbs {
        command = verbs::add(command, &defaults);
    }
    let matches = match command.clone().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return terminal::usage(&error),
    };
    if let Some((verb, rest)) = matches.subcommand() {
        let mut options = defaults;
        options.extend(flags::settings(&matches));
        return verbs::run(verb, rest, options);
    }
    let mode = match flags::chosen_mode(&matches, program.modes) {
        Ok(mode) => mode,
        Err(message) => {
            return terminal::usage(
                &command.clone().error(clap::error::ErrorKind::ArgumentConflict, message),
            );
        }
    };
    let mut options = defaults;
    options.extend(flags::settings(&matches));
    let done = Inventory::open(&options).and_then(|inventory| {
        inventory.settings_warnings().iter().for_each(terminal::warn);
        terminal::mask(Secrets::of(inventory.settings()));
        let session = Session { matches: &matches, mode, inventory, timestamp: terminal::timestamp() };
        let value = (program.answer)(&session)?;
        let text = terminal::format(&value, session.inventory.settings());
        // The process ends: taking everything apart would take longer than it took to make it.
        std::mem::forget((session, value));
        text
    });
    match done {
        Ok(text) => terminal::print(&text),
        Err(error) => fail(&error),
    }
}

fn base(name: &'static str) -> Command {
    Command::new(name)
        .version(concat!(env!("CARGO_PKG_VERSION"), " (", env!("CARGO_PKG_NAME"), ")"))
        // The Python programs take abbreviations of long options, and the last of several values.
        .infer_long_args(true)
        .args_override_self(true)
        .after_help(
            "Defaults come from the first reclass-config.yml found in the current directory, the home \
             directory, /etc/reclass and the directory of the program. With SOURCE_DATE_EPOCH in the \
             environment, that time is printed instead of the present.",
        )
}

/// Prints an error and turns it into the exit code.
pub fn fail(error: &Error) -> ExitCode {
    terminal::fail(error);
    let code = error.exit_code();
    ExitCode::from(if code == 0 { USAGE } else { code })
}
