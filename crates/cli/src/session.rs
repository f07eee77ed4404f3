//! A session runs one command line: it opens the inventory and prints the answer.
//!
//! All programs share it. Options come from the defaults, then the configuration file, then the command line.
//! Errors and warnings go to standard error, data to standard output.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;
use reclass::error::Kind;
use reclass::redact::Redaction;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use reclass_serve::Served;

use crate::configuration::{self, Configuration};
use crate::program::{Program, Session};
use crate::{commands, commands::complete, commands::tools, flags, progress, screen, terminal, version};

/// The whole command line of the program. The help shows `defaults`.
pub fn command_line(program: &Program, defaults: &Map) -> Command {
    let command = modes_alone(program, defaults).long_version(version::long());
    if program.verbs { tools::add(commands::add(command, defaults)) } else { command }
}

/// The command line without verbs and tools.
fn modes_alone(program: &Program, defaults: &Map) -> Command {
    let base = Command::new(program.name)
        .version(version::short())
        .disable_version_flag(true)
        .arg(version::flag())
        // As in the Python programs.
        .infer_long_args(true)
        .color(screen::clap_colours())
        .max_term_width(100)
        .after_help(program.manual.help(program.name))
        .after_long_help(format!(
            "{}\n\nDefaults come from the first reclass-config.yml found in the current directory, the home directory, \
             /etc/reclass and the directory of the program, or from the file that --config names; reclass then looks \
             for an inventory around the current folder. With \
             SOURCE_DATE_EPOCH in the environment, that time is printed instead of the present. NO_COLOR turns \
             colours off, FORCE_COLOR on. 'reclass explain-error CODE' explains an error, a warning or a rule of lint.\n\n{}",
            program.manual.examples(),
            program.manual.documentation(program.name)
        ));
    flags::add((program.command)(base, defaults), defaults)
}

/// The answer to `reclass` alone.
const INTRODUCTION: &str = "\
reclass puts together the data of each node from YAML files of nodes and classes.
  reclass show NODE           the data of a node
  reclass explain NODE PATH   where a value comes from
  reclass lint                errors and probable mistakes in all files
  reclass init FOLDER         a small inventory to begin with
All commands and options: reclass --help";

/// The command line with the options of the Python programs for the words that people type.
fn as_meant(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let option = match arguments.get(1).and_then(|word| word.to_str()) {
        Some("help") => {
            arguments.remove(1);
            arguments.push("--help".into());
            return arguments;
        }
        Some("nodeinfo") => "--nodeinfo",
        Some("inventory") => "--inventory",
        Some("version" | "-V") => "--version",
        _ => return arguments,
    };
    arguments[1] = option.into();
    arguments
}

/// Runs a program and returns the exit code.
pub fn run(program: &Program, arguments: Vec<OsString>) -> ExitCode {
    screen::choose_colours(&arguments);
    if program.verbs && arguments.len() == 1 {
        return terminal::introduce(INTRODUCTION);
    }
    let arguments = if program.verbs { as_meant(arguments) } else { arguments };
    let called = arguments.first().map(OsString::as_os_str);
    let mut defaults = (program.defaults)(&configuration::folder_of(called));
    // A tool needs no settings, and `explain-error` has to work beside a broken file.
    let word = arguments.get(1).and_then(|word| word.to_str());
    let tool = word.filter(|_| program.verbs).and_then(tools::find);
    let read = || configuration::read(called).unwrap_or_else(Configuration::unread);
    let mut configuration = tool.map_or_else(read, |_| Configuration::default());
    let looks_around = program.verbs && tool.is_none();
    if complete::is_asked() {
        let found = if looks_around { configuration.or_around(true, None) } else { configuration };
        defaults.extend(found.options);
        return complete::answer(program, &defaults, arguments);
    }
    let own = defaults.clone();
    configuration.set_defaults(&own);
    defaults.extend(configuration.options.clone());
    // Building the verbs takes longer than everything else. A line that is valid without them has no verb.
    let matches = modes_alone(program, &defaults).try_get_matches_from(&arguments);
    let all = || {
        let command = command_line(program, &defaults);
        if program.verbs { commands::with_groups(command) } else { command }
    };
    let matches = matches.or_else(|_| all().try_get_matches_from(&arguments));
    if let Some(file) = matches.as_ref().ok().and_then(flags::configuration_file) {
        // It replaces the file that was found, even a broken one.
        configuration = Configuration::named(file).unwrap_or_else(Configuration::unread);
        configuration.set_defaults(&own);
        defaults = own;
        defaults.extend(configuration.options.clone());
    } else if looks_around
        && let Ok(matches) = &matches
        && !flags::name_an_inventory(matches)
    {
        let has_command = matches.subcommand_name().is_some();
        configuration = configuration.or_around(has_command, commands::lint::path(matches).as_deref());
        configuration.set_defaults(&own);
        if let Some(folder) = &configuration.around {
            defaults.extend(configuration.options.clone());
            terminal::tell_inventory(folder);
        }
    }
    terminal::mask_all(flags::masks_excerpts(&defaults, matches.as_ref().ok()));
    if let Err(error) = configuration.usable() {
        let verb = matches.as_ref().ok().and_then(|matches| matches.subcommand_name());
        if !verb.is_some_and(|verb| commands::reports_settings(verb) || tools::find(verb).is_some()) {
            return terminal::fail(&error);
        }
    }
    let matches = match matches {
        Ok(matches) => matches,
        Err(error) => {
            let node = |word: &str| {
                let found = if looks_around { configuration.or_around(true, None) } else { configuration };
                node_for(word, defaults, found)
            };
            return terminal::usage(&flags::with_way_on(error, program.name, &arguments, node));
        }
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
            return terminal::usage(&command_line(program, &options).error(conflict, message));
        }
    };
    let served = flags::is_served(&matches, &options).and_then(|commits| Served::beside(&options, commits));
    let done = served.and_then(|served| {
        configuration.noticed(served.settings_warnings()).iter().for_each(terminal::warn);
        terminal::mask(Redaction::of(served.settings()));
        let (configuration, timestamp) = (&configuration, terminal::timestamp());
        let session = Session { matches: &matches, mode, served, configuration, timestamp };
        let what = mode.1.map_or_else(|| "rendering".to_owned(), |node| format!("rendering {node}"));
        let value = progress::shown(&what, || (program.answer)(&session))?;
        let code = value.map_or(ExitCode::SUCCESS, |value| {
            let code = terminal::print_value(&value, session.served.settings());
            // The process ends, and freeing the memory would take longer than allocating it did.
            std::mem::forget(value);
            code
        });
        std::mem::forget(session);
        Ok(code)
    });
    match done {
        Ok(code) => code,
        Err(error) => terminal::fail(&configuration.placed_all(error)),
    }
}

/// The word if it is a node of the inventory or the first part of its name, or else a similar node.
fn node_for(word: &str, mut options: Map, configuration: Configuration) -> Option<String> {
    options.extend(configuration.options);
    let inventory = Inventory::open(&options).ok()?;
    if inventory.nodes().ok()?.iter().any(|node| **node == *word) {
        return Some(word.to_owned());
    }
    let error = inventory.nodeinfo(word, &Request::default()).err()?;
    match &error.faults().first()?.kind {
        Kind::NodeNotFound { similar, longer, .. } if longer.is_empty() => similar.clone(),
        Kind::NodeNotFound { .. } => Some(word.to_owned()),
        _ => None,
    }
}
