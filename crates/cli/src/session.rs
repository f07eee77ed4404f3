//! A session runs one command line: it opens the inventory and prints the answer.
//!
//! All programs share it. Options come from the defaults, then the configuration file, then the command line.
//! Errors and warnings go to standard error, data to standard output.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{ArgMatches, Command};
use reclass::NodeRequest;
use reclass::error::{Error, Fault, Result};
use reclass::redact::Redaction;
use reclass::report::{Level, grouped};
use reclass::value::{Map, Value};
use reclass::{Inventory, NodeInfo};

use crate::configuration::{self, Configuration};
use crate::manual_page::Manual;
use crate::{commands, commands::complete, commands::tools, flags, progress, screen, terminal, version};

/// The exit code of a usage error.
const USAGE: u8 = 2;

/// The description of a program, and its function.
pub struct Program {
    pub name: &'static str,
    /// Its examples and documentation.
    pub manual: Manual,
    /// Its own options and modes, beside the shared ones. The defaults are for the help.
    pub command: fn(Command, &Map) -> Command,
    /// The names of its modes.
    pub modes: &'static [&'static str],
    /// Whether it has verbs and tools beside its modes.
    pub verbs: bool,
    /// Its own defaults for a program in this folder. The configuration file overrides them.
    pub defaults: fn(&str) -> Map,
    /// Computes the answer; `None` if there is nothing to print.
    pub answer: fn(&Session<'_>) -> Result<Option<Value>>,
}

impl Program {
    /// The whole command line of the program. The help shows `defaults`.
    pub fn command_line(&self, defaults: &Map) -> Command {
        let command = self.modes_alone(defaults).long_version(version::long());
        if self.verbs { tools::add(commands::add(command, defaults)) } else { command }
    }

    /// The command line without verbs and tools.
    fn modes_alone(&self, defaults: &Map) -> Command {
        let base = Command::new(self.name)
            .version(version::short())
            .disable_version_flag(true)
            .arg(version::flag())
            // As in the Python programs.
            .infer_long_args(true)
            .color(screen::clap_colours())
            .max_term_width(100)
            .after_help(format!(
                "{}\n\nDefaults come from the first reclass-config.yml found in the current directory, the home directory, \
                 /etc/reclass and the directory of the program, or from the file that --config names. With \
                 SOURCE_DATE_EPOCH in the environment, that time is printed instead of the present. NO_COLOR turns \
                 colours off, FORCE_COLOR on. 'reclass explain-error CODE' explains an error, a warning or a rule of lint.\n\n{}",
                self.manual.examples(),
                self.manual.documentation()
            ));
        flags::add((self.command)(base, defaults), defaults)
    }
}

/// One checked command line with its inventory.
pub struct Session<'a> {
    /// The parsed command line.
    pub matches: &'a ArgMatches,
    /// The mode and its node.
    pub mode: (&'static str, Option<&'a str>),
    pub inventory: Inventory,
    /// The configuration file, which holds the class mappings.
    pub configuration: &'a Configuration,
    /// The time in the form of Python's `time.strftime('%c')`.
    pub timestamp: String,
}

impl Session<'_> {
    /// All nodes, sorted by name; prints their warnings. If a node fails, the error contains the faults of
    /// all nodes.
    pub fn all_nodes(&self) -> Result<Vec<Arc<NodeInfo>>> {
        let nodes = self.inventory.inventory().map_err(|error| everything_wrong(&self.inventory, error))?;
        self.warn(nodes.iter().map(Arc::as_ref));
        Ok(nodes)
    }

    /// Prints the warnings of nodes, each once: every node that includes a class has the warnings of the
    /// class.
    pub fn warn<'n>(&self, nodes: impl IntoIterator<Item = &'n NodeInfo>) {
        let mut seen = BTreeSet::new();
        for warning in nodes.into_iter().flat_map(|node| &node.warnings) {
            let warning = self.configuration.placed(warning.clone());
            let place = warning.site.as_ref().map(ToString::to_string);
            if seen.insert((place, warning.kind.to_string())) {
                terminal::warn(&warning);
            }
        }
    }
}

/// A copy of the mapping under a key of a mapping.
pub fn entries(map: &Value, key: &str) -> Map {
    map.as_map().and_then(|map| map.get(key)).and_then(Value::as_map).cloned().unwrap_or_default()
}

/// The faults of all nodes, each once, after the first one has stopped the inventory.
fn everything_wrong(inventory: &Inventory, first: Error) -> Error {
    if !inventory.settings().group_errors {
        return first;
    }
    let findings = inventory.inspect(|computation| {
        let names = computation.catalog.nodes.keys();
        let failed = names.filter_map(|name| computation.answer(NodeRequest::plain(name)).err());
        let clashes = computation.catalog.clashes();
        let faults = clashes.into_iter().chain(failed.flat_map(Error::into_faults));
        grouped(faults.map(|fault| (Level::Error, fault)))
    });
    let Ok(findings) = findings else { return first };
    let mut faults: Vec<Fault> = findings.into_iter().map(|finding| finding.fault).collect();
    // The exit code is that of the first node that fails.
    let same = |one: &Fault, other: &Fault| (one.code(), &one.site) == (other.code(), &other.site);
    let is_first = |fault: &Fault| {
        // A failed query is reported with its causes.
        let of_first = std::iter::once(first.first()).chain(&first.first().causes);
        of_first.into_iter().any(|cause| same(fault, cause))
    };
    match faults.iter().position(is_first) {
        Some(at) => {
            faults[..=at].rotate_right(1);
            Error::new(faults)
        }
        None => first,
    }
}

/// Runs a program and returns the exit code.
pub fn run(program: &Program, arguments: Vec<OsString>) -> ExitCode {
    screen::choose_colours(&arguments);
    let called = arguments.first().map(OsString::as_os_str);
    let mut defaults = (program.defaults)(&configuration::folder_of(called));
    // A tool needs no settings, and `explain-error` has to work beside a broken file.
    let word = arguments.get(1).and_then(|word| word.to_str());
    let tool = word.filter(|_| program.verbs).and_then(tools::find);
    let read = tool.map_or_else(|| configuration::read(called), |_| Ok(Configuration::default()));
    if complete::is_asked() {
        defaults.extend(read.unwrap_or_default().options);
        return complete::answer(program, &defaults, arguments);
    }
    let mut configuration = read.unwrap_or_else(Configuration::unread);
    let own = defaults.clone();
    configuration.set_defaults(&own);
    defaults.extend(configuration.options.clone());
    // Building the verbs takes longer than everything else. A line that is valid without them has no verb.
    let matches = program.modes_alone(&defaults).try_get_matches_from(&arguments);
    let matches = matches.or_else(|_| program.command_line(&defaults).try_get_matches_from(arguments));
    if let Some(file) = matches.as_ref().ok().and_then(flags::configuration_file) {
        // It replaces the file that was found, even a broken one.
        configuration = Configuration::named(file).unwrap_or_else(Configuration::unread);
        configuration.set_defaults(&own);
        defaults = own;
        defaults.extend(configuration.options.clone());
    }
    if let Err(error) = configuration.usable() {
        let verb = matches.as_ref().ok().and_then(|matches| matches.subcommand_name());
        if !verb.is_some_and(|verb| commands::reports_settings(verb) || tools::find(verb).is_some()) {
            return fail(&error);
        }
    }
    let matches = match matches {
        Ok(matches) => matches,
        Err(error) => return terminal::usage(&flags::without_abbreviation(error)),
    };
    let mut options = defaults;
    let given = flags::settings(&matches);
    if let Some(base) = given.get("inventory_base_uri").and_then(Value::as_str) {
        screen::set_base(base);
    }
    configuration.overrule(&given);
    options.extend(given);
    if let Some((verb, rest)) = matches.subcommand() {
        return match tools::find(verb) {
            Some(tool) => tools::run(tool, rest),
            None => commands::run(verb, rest, options, configuration),
        };
    }
    let mode = match flags::chosen_mode(&matches, program.modes) {
        Ok(mode) => mode,
        Err(message) => {
            let conflict = clap::error::ErrorKind::ArgumentConflict;
            return terminal::usage(&program.command_line(&options).error(conflict, message));
        }
    };
    let done = Inventory::open(&options).and_then(|inventory| {
        configuration.noticed(inventory.settings_warnings()).iter().for_each(terminal::warn);
        terminal::mask(Redaction::of(inventory.settings()));
        let (configuration, timestamp) = (&configuration, terminal::timestamp());
        let session = Session { matches: &matches, mode, inventory, configuration, timestamp };
        let what = mode.1.map_or_else(|| "rendering".to_owned(), |node| format!("rendering {node}"));
        let value = progress::shown(&what, || (program.answer)(&session))?;
        let code = value.map_or(ExitCode::SUCCESS, |value| {
            let code = terminal::print_value(&value, session.inventory.settings());
            // The process ends, and freeing the memory would take longer than allocating it did.
            std::mem::forget(value);
            code
        });
        std::mem::forget(session);
        Ok(code)
    });
    match done {
        Ok(code) => code,
        Err(error) => fail(&configuration.placed_all(error)),
    }
}

/// Prints an error and returns the exit code.
pub fn fail(error: &Error) -> ExitCode {
    terminal::fail(error);
    let code = error.exit_code();
    ExitCode::from(if code == 0 { USAGE } else { code })
}
