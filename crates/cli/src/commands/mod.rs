//! Verbs turn `reclass explain …` and its siblings into an opened inventory, a question and its
//! printed answer: what all of them have in common.
//!
//! They stand beside the flags of the Python programs in one program: a word in the first place is
//! a verb, and a command line without one is read as before.

use std::ops::Deref;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use reclass::engine::Inventory;
use reclass::error::{Error, Result};
use reclass::secrets::Secrets;
use reclass::style::Paint;
use reclass::value::{Map, Value};

use super::configuration::Configuration;
use super::{diff, explain, flags, graph, lint, list, progress, terminal};

/// A verb.
pub struct Verb {
    /// The word.
    pub name: &'static str,
    /// One line for the list of verbs.
    pub about: &'static str,
    /// The pages of its documentation, below the help.
    pub page: &'static str,
    /// The forms of its answer, the first one by default.
    pub outputs: &'static [&'static str],
    /// Its own arguments.
    pub arguments: fn(Command) -> Command,
    /// Answers.
    pub answer: Answering,
}

/// What answers to a verb.
pub enum Answering {
    /// An inventory: what keeps it from being opened is an error.
    Opened(fn(&Question<'_>) -> Result<Answer>),
    /// The settings: what is wrong with them is a part of the answer.
    Settings(fn(&Asked<'_>) -> Result<Answer>),
}

/// All verbs.
pub const VERBS: &[Verb] = &[
    explain::VERB,
    lint::VERB,
    diff::VERB,
    list::NODES,
    list::CLASSES,
    list::APPLICATIONS,
    list::PARAMS,
    list::REFS,
    graph::VERB,
];

/// What was asked, of no inventory yet.
pub struct Asked<'a> {
    /// The arguments of the verb.
    pub matches: &'a ArgMatches,
    /// The settings of the inventory, by name.
    pub options: &'a Map,
    /// Where its settings stand.
    pub configuration: &'a Configuration,
    /// The form of the answer.
    pub output: &'a str,
    /// Colours for the answer.
    pub paint: Paint,
}

/// What was asked, and of which inventory.
pub struct Question<'a> {
    /// What was asked.
    pub asked: Asked<'a>,
    /// The inventory.
    pub inventory: Inventory,
}

impl<'a> Deref for Question<'a> {
    type Target = Asked<'a>;

    fn deref(&self) -> &Asked<'a> {
        &self.asked
    }
}

/// What is printed, and how the program ends.
pub struct Answer {
    /// The text, without a newline at its end.
    pub text: String,
    /// Whether something was found for which the exit code is 1.
    pub found: bool,
}

impl Answer {
    /// An answer that is no finding.
    pub fn plain(text: String) -> Answer {
        Answer { text, found: false }
    }
}

impl Asked<'_> {
    /// All values of an argument that may stand several times.
    pub fn words(&self, name: &str) -> Vec<String> {
        self.matches.get_many::<String>(name).into_iter().flatten().cloned().collect()
    }

    /// What is masked in an answer about this inventory: nothing with `--show-secrets`.
    fn secrets_of(&self, inventory: &Inventory) -> Secrets {
        if self.matches.get_flag("show-secrets") {
            Secrets::none()
        } else {
            Secrets::of(inventory.settings())
        }
    }
}

impl Question<'_> {
    /// What is masked in the answer.
    pub fn secrets(&self) -> Secrets {
        self.asked.secrets_of(&self.inventory)
    }
}

/// Data as JSON, one entry a line, for every reader.
pub fn json(value: &Value) -> Result<Answer> {
    reclass::json::portable(value).map(Answer::plain)
}

/// Adds the verbs to the program.
pub fn add(command: Command, defaults: &Map) -> Command {
    VERBS.iter().fold(command, |command, verb| {
        let base = Command::new(verb.name)
            .about(verb.about)
            .infer_long_args(true)
            .args_override_self(true)
            .after_help(format!("Documentation: {}", verb.page));
        let output = Arg::new("output")
            .short('o')
            .long("output")
            .value_name("FORMAT")
            .value_parser(clap::builder::PossibleValuesParser::new(verb.outputs))
            .default_value(verb.outputs.first().copied().unwrap_or_default())
            .help("The form of the answer");
        let secrets = Arg::new("show-secrets")
            .long("show-secrets")
            .action(ArgAction::SetTrue)
            .help("Show the values that the setting secret_keys masks");
        let verb = (verb.arguments)(flags::add_database(base, defaults)).arg(output).arg(secrets);
        command.subcommand(verb)
    })
}

/// Whether a verb says what is wrong with the settings in its answer.
pub fn tells_settings(name: &str) -> bool {
    let verb = VERBS.iter().find(|verb| verb.name == name);
    verb.is_some_and(|verb| matches!(verb.answer, Answering::Settings(_)))
}

/// Answers to a verb.
pub fn run(name: &str, matches: &ArgMatches, mut options: Map, mut configuration: Configuration) -> ExitCode {
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else { return ExitCode::FAILURE };
    let given = flags::database_settings(matches);
    configuration.overrule(&given);
    options.extend(given);
    let configuration = &configuration;
    let opened = configuration.usable().and_then(|()| Inventory::open(&options));
    let output = matches.get_one::<String>("output").map_or("", String::as_str);
    let paint = Paint(terminal::colours_in_answer());
    let asked = Asked { matches, options: &options, configuration, output, paint };
    let done = match (&verb.answer, opened) {
        (Answering::Settings(answer), opened) => {
            if let Ok(inventory) = &opened {
                terminal::mask(asked.secrets_of(inventory));
            }
            let answer = progress::shown(verb.name, || answer(&asked));
            opened.iter().flat_map(Inventory::storage_warnings).for_each(|warning| terminal::warn(&warning));
            answer.map(|answer| (answer, Vec::new()))
        }
        (Answering::Opened(answer), opened) => opened.and_then(|inventory| {
            configuration.noticed(inventory.settings_warnings()).iter().for_each(terminal::warn);
            let question = Question { asked, inventory };
            terminal::mask(question.secrets());
            let answer = progress::shown(verb.name, || answer(&question));
            question.inventory.storage_warnings().iter().for_each(terminal::warn);
            let clashes = question.inventory.clashes();
            // The process ends: taking everything apart would take longer than it took to make it.
            std::mem::forget(question);
            answer.map(|answer| (answer, clashes))
        }),
    };
    match done {
        Ok((answer, clashes)) => {
            // Nothing found is no line, not an empty one: programs count lines.
            let nothing = answer.text.is_empty();
            let printed = if nothing { ExitCode::SUCCESS } else { terminal::print(&answer.text) };
            if !clashes.is_empty() {
                // The rest was answered.
                return super::session::fail(&Error::new(clashes));
            }
            if answer.found && printed == ExitCode::SUCCESS { ExitCode::FAILURE } else { printed }
        }
        Err(error) => super::session::fail(&configuration.placed_all(error)),
    }
}

/// The nodes that a verb is about.
pub fn node_globs(help: &'static str) -> Arg {
    Arg::new("nodes").value_name("NODE").num_args(0..).help(help)
}
