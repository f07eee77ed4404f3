//! Runs a verb (`reclass explain …` and others): opens the inventory, asks the verb and prints its answer.
//!
//! Verbs and the flags of the Python programs are in one program. A word in the first position is a verb; a
//! command line without one is parsed as in Python.

pub mod compare;
pub mod complete;
pub mod diff;
pub mod docs;
pub mod explain;
pub mod explain_error;
pub mod explore;
pub mod graph;
pub mod impact;
pub mod init;
pub mod lint;
pub mod list;
pub mod lsp;
pub mod manual;
pub mod migrate;
pub mod schema;
pub mod show;
pub mod status;
pub mod test;
pub mod tool;
pub mod tools;
pub mod verb;

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Arg, ArgMatches, Command};
use reclass::error::{Error, Fault, Kind, Note, Result};
use reclass::style::Paint;
use reclass::value::{Map, Value};
use reclass_serve::Served;

use crate::commands::verb::{Answering, Invocation, OpenInvocation, Printout, Verb, flag};
use crate::configuration::Configuration;
use crate::{flags, progress, screen, terminal};

pub const VERBS: &[Verb] = &[
    show::VERB,
    explain::VERB,
    lint::VERB,
    test::VERB,
    schema::VERB,
    diff::VERB,
    impact::VERB,
    status::VERB,
    compare::VERB,
    list::NODES,
    list::CLASSES,
    list::APPLICATIONS,
    list::PARAMS,
    list::REFS,
    graph::VERB,
    docs::VERB,
    explore::VERB,
];

/// In the help of each verb, in place of the options that all verbs share.
const INVENTORY_OPTIONS: &str =
    "Options that choose the inventory, as -b and --config: see 'reclass --help'.";

/// Adds the verbs to the program.
pub fn add(command: Command, defaults: &Map) -> Command {
    VERBS.iter().fold(command, |command, verb| {
        let base = Command::new(verb.name)
            .about(verb.about)
            .infer_long_args(true)
            .args_override_self(true)
            .after_help(format!(
                "{INVENTORY_OPTIONS}\n\n{}",
                verb.manual.help(&format!("reclass-{}", verb.name))
            ));
        let output = Arg::new("output")
            .short('o')
            .long("output")
            .value_name("FORMAT")
            .value_parser(clap::builder::PossibleValuesParser::new(verb.outputs))
            .default_value(verb.outputs.first().copied().unwrap_or_default())
            .help("Format of the output");
        let secrets = flag("show-secrets", "Show the values that the setting secret_keys masks");
        let base = flags::add_database(base, defaults)
            .mut_args(|argument| argument.hide_short_help(true).hide_long_help(true));
        let verb = (verb.arguments)(base).arg(output).arg(secrets);
        let verb = verb.arg(flags::colour());
        command.subcommand(verb)
    })
}

/// The commands as the help groups them.
const GROUPS: [(&str, &[&str]); 3] = [
    (
        "Nodes and values",
        &[
            "show",
            "explain",
            "nodes",
            "classes",
            "applications",
            "params",
            "refs",
            "graph",
            "docs",
            "explore",
        ],
    ),
    ("Checks", &["lint", "test", "schema", "diff", "impact", "status", "compare"]),
    ("Begin, learn, connect", &["init", "migrate", "explain-error", "lsp", "completions", "manual"]),
];

/// The program with its commands in groups in the help.
pub fn with_groups(command: Command) -> Command {
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = write!(text, "{heading}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let _ = write!(text, "\n  {name:<14} {}", about.map(ToString::to_string).unwrap_or_default());
        }
        text.push_str("\n\n");
    }
    command
        .before_help(text.trim_end().to_owned())
        .help_template("{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}")
        .disable_help_subcommand(true)
        .mut_subcommands(|inner| inner.hide(true))
}

/// Whether a verb reports faults in the settings as part of its answer.
pub fn reports_settings(name: &str) -> bool {
    let verb = VERBS.iter().find(|verb| verb.name == name);
    verb.is_some_and(|verb| matches!(verb.answer, Answering::Settings(_)))
}

/// The question to an inventory that was opened; its settings are warned about, and its secrets masked.
fn question(asked: Invocation<'_>, served: Served) -> Result<OpenInvocation<'_>> {
    asked.configuration.noticed(served.settings_warnings()).iter().for_each(terminal::warn);
    terminal::mask(asked.redaction_of(served.settings()));
    let inventory = served.of_most()?;
    Ok(OpenInvocation { asked, served, inventory })
}

/// Whether a name that was asked for does not exist. Everything else that is missing is an error.
fn is_gap(fault: &Fault) -> bool {
    matches!(
        fault.kind,
        Kind::NothingMatches { .. } | Kind::NothingToExplain { .. } | Kind::NodeNotFound { .. }
    )
}

/// Runs a verb.
pub fn run(name: &str, matches: &ArgMatches, mut options: Map, mut configuration: Configuration) -> ExitCode {
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else { return ExitCode::FAILURE };
    let given = flags::database_settings(matches);
    configuration.overrule(&given);
    options.extend(given.clone());
    let configuration = &configuration;
    let opened = configuration.usable().and_then(|()| {
        // A status is that of the master.
        let commits = name == status::VERB.name || flags::is_served(matches, &options)?;
        Served::beside(&options, commits)
    });
    let output = matches.get_one::<String>("output").map_or("", String::as_str);
    let place = screen::is_answer_shown().then_some(screen::place as fn(&str) -> String);
    let paint = Paint { colours: terminal::colours_in_answer(), place };
    if let Some(base) = given.get("inventory_base_uri").and_then(Value::as_str) {
        screen::set_base(base);
    }
    let asked = Invocation { matches, options: &options, configuration, output, paint };
    let done = match (&verb.answer, opened) {
        (Answering::Settings(answer), opened) => {
            if let Ok(served) = &opened {
                terminal::mask(asked.redaction_of(served.settings()));
            }
            let answer = progress::shown(verb.name, || answer(&asked));
            opened.iter().flat_map(Served::storage_warnings).for_each(|warning| terminal::warn(&warning));
            answer.map(|answer| (answer, Vec::new()))
        }
        (Answering::Serving(serve), opened) => opened
            .and_then(|served| serve(&question(asked, served)?).map(|()| (Printout::default(), Vec::new()))),
        (Answering::Opened(answer), opened) => opened.and_then(|served| {
            let question = question(asked, served)?;
            let answer = progress::shown(verb.name, || answer(&question));
            question.served.storage_warnings().iter().for_each(terminal::warn);
            // An explanation depends on the names that it asked for alone.
            let is_about_all = verb.name != explain::VERB.name;
            let clashes = if is_about_all { question.inventory.clashes() } else { Vec::new() };
            // The process ends, and freeing the memory would take longer than allocating it did.
            std::mem::forget(question);
            answer.map(|answer| (answer, clashes))
        }),
    };
    match done {
        Ok((mut answer, clashes)) => {
            if ["text", "concise"].contains(&output) {
                answer.text = screen::wrapped_answer(answer.text);
            }
            // An empty result prints no line, because programs count lines.
            let nothing = answer.text.is_empty();
            let printed = if nothing { ExitCode::SUCCESS } else { terminal::print(&answer.text) };
            if !clashes.is_empty() {
                // All other questions were answered.
                return terminal::fail(&Error::new(clashes));
            }
            let (gaps, errors): (Vec<_>, Vec<_>) = answer.missing.into_iter().partition(is_gap);
            gaps.iter().for_each(terminal::note);
            answer.hints.iter().for_each(|hint| terminal::hint(hint));
            if !errors.is_empty() {
                return terminal::fail(&Error::new(errors));
            }
            match gaps.first() {
                Some(fault) => ExitCode::from(fault.kind.exit_code()),
                None if answer.found && printed == ExitCode::SUCCESS => ExitCode::FAILURE,
                None => printed,
            }
        }
        Err(error) => {
            let mut error = configuration.placed_all(error);
            // `-c` is the folder of the classes, and people mean a class.
            if given.contains_key("classes_uri") && matches.try_contains_id("class").is_ok() {
                let missing = error.faults_mut().iter_mut();
                missing.filter(|fault| matches!(fault.kind, Kind::DirectoryNotFound { .. })).for_each(
                    |fault| {
                        let text = "'--class NAME' chooses nodes by their classes".to_owned();
                        fault.notes.push(Note { text, site: None });
                    },
                );
            }
            terminal::fail(&error)
        }
    }
}
