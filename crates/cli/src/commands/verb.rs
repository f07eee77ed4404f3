//! A verb as data: its arguments, the function that answers, and the answer.

use std::ops::Deref;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use reclass::error::{Error, Fault, Kind, Result};
use reclass::redact::Redaction;
use reclass::style::Paint;
use reclass::value::Map;
use reclass::{Inventory, NodeInfo, Settings};
use reclass_analysis::list::{self, NodeFilter};
use reclass_serve::Served;

use crate::configuration::Configuration;
use crate::manual_page::Manual;
use crate::terminal;

pub struct Verb {
    /// The word.
    pub name: &'static str,
    /// One line for the list of verbs.
    pub about: &'static str,
    /// Its examples and documentation.
    pub manual: Manual,
    /// The formats of its answer; the first one is the default.
    pub outputs: &'static [&'static str],
    pub arguments: fn(Command) -> Command,
    /// The function that answers it.
    pub answer: Answering,
}

/// The function that answers a verb.
pub enum Answering {
    /// Needs an inventory. Failing to open it is an error.
    Opened(fn(&OpenInvocation<'_>) -> Result<Printout>),
    /// Needs an inventory, and works until somebody ends the process. It prints by itself.
    Serving(fn(&OpenInvocation<'_>) -> Result<()>),
    /// Needs only the settings. Faults in them are part of the answer.
    Settings(fn(&Invocation<'_>) -> Result<Printout>),
}

/// The arguments of a verb, before an inventory is opened.
pub struct Invocation<'a> {
    /// The arguments of the verb.
    pub matches: &'a ArgMatches,
    /// The settings of the inventory, by name.
    pub options: &'a Map,
    /// The source of the settings.
    pub configuration: &'a Configuration,
    /// The format of the answer.
    pub output: &'a str,
    /// Colours for the answer.
    pub paint: Paint,
}

/// The arguments of a verb with its inventory.
pub struct OpenInvocation<'a> {
    /// The arguments.
    pub asked: Invocation<'a>,
    pub served: Served,
    /// The state that most nodes get.
    pub inventory: Arc<Inventory>,
}

impl<'a> Deref for OpenInvocation<'a> {
    type Target = Invocation<'a>;

    fn deref(&self) -> &Invocation<'a> {
        &self.asked
    }
}

/// The output of a verb, and the facts that decide the exit code.
#[derive(Default)]
pub struct Printout {
    /// The text without a final newline.
    pub text: String,
    /// Whether there is a result that requires exit code 1.
    pub found: bool,
    /// Requested names that do not exist. Each is printed as a note, and the first one sets the exit code.
    pub missing: Vec<Fault>,
    /// Sentences for standard error, below the answer.
    pub hints: Vec<String>,
}

impl Printout {
    /// An answer without findings.
    pub fn plain(text: String) -> Printout {
        Printout { text, ..Printout::default() }
    }
}

impl Invocation<'_> {
    /// All values of a repeatable argument.
    pub fn words(&self, name: &str) -> Vec<String> {
        self.matches.get_many::<String>(name).into_iter().flatten().cloned().collect()
    }

    /// Hides the secrets of this inventory; nothing with `--show-secrets`.
    pub fn redaction_of(&self, settings: &Settings) -> Redaction {
        if self.matches.get_flag("show-secrets") { Redaction::none() } else { Redaction::of(settings) }
    }
}

impl OpenInvocation<'_> {
    /// The requested node. The first part of a name stands for it, if no other node begins with it.
    pub fn node(&self) -> Result<String> {
        let given = self.matches.get_one::<String>("node").map_or("", String::as_str);
        // A node that only the newest commit has may have its own, as long as most nodes keep an earlier one.
        let names = self.served.of(given)?.nodes()?;
        if names.iter().any(|name| **name == *given) {
            return Ok(given.to_owned());
        }
        let short = format!("{given}.");
        let mut long = names.iter().filter(|name| name.starts_with(&short));
        match (long.next(), long.next()) {
            (Some(name), None) => Ok(name.to_string()),
            _ => match self.other_name(given)? {
                Some(text) => {
                    let (name, folder) = (given.to_owned(), String::new());
                    let kind = Kind::NodeNotFound { name, folder, similar: None, longer: Vec::new() };
                    Err(Fault::new(kind).note(text, None).into())
                }
                // The error has a similar name.
                None => Ok(given.to_owned()),
            },
        }
    }

    /// The state that a node gets. If it is not the newest, a hint says so.
    pub fn state_of(&self, node: &str) -> Result<Arc<Inventory>> {
        let state = self.served.of(node)?;
        terminal::hint_of_older(&self.served, node);
        Ok(state)
    }

    /// What a word in the place of a node is, as a sentence.
    fn other_name(&self, word: &str) -> Result<Option<String>> {
        let (words, all) = ([word.to_owned()], NodeFilter::default());
        let classes = list::classes(&self.inventory, &words, &all, false)?;
        if classes.rows.iter().any(|row| *row.name == *word) {
            return Ok(Some(format!("'{word}' is a class: 'reclass nodes --class {word}' lists its nodes")));
        }
        if word.contains(',') {
            return Ok(Some(
                "one node can be named here; 'reclass show' takes a glob too, as 'web*'".to_owned(),
            ));
        }
        let is_path = word.contains(&*self.served.settings().delimiter);
        let is_parameter = || list::parameters(&self.inventory, &words, &all, &Redaction::none());
        let way = format!("the node comes first: 'NODE {word}'; 'reclass params {word}' finds its places");
        Ok(if is_path || !is_parameter()?.rows.is_empty() { Some(way) } else { None })
    }

    /// Prints the warnings of a node.
    pub fn warn_of_node(&self, info: &Result<NodeInfo>) {
        for warning in info.iter().flat_map(|info| &info.warnings) {
            terminal::warn(&self.configuration.placed(warning.clone()));
        }
        self.warn_of_files(info);
    }

    /// Warns about files of a node that fails, because one may be the cause: a section that has another name.
    pub fn warn_of_files<T>(&self, info: &Result<T>) {
        let faults = info.as_ref().err().into_iter().flat_map(Error::faults);
        for fault in faults.filter(|fault| fault.kind.is_about_file()) {
            terminal::warn(&self.configuration.placed(fault.clone()));
        }
    }

    /// Hides the secrets in the answer.
    pub fn redaction(&self) -> Redaction {
        self.asked.redaction_of(self.served.settings())
    }
}

/// A node, and the paths of some of its parameters.
pub fn node_and_paths(command: Command, node: &'static str) -> Command {
    command
        .arg(Arg::new("node").value_name("NODE").required(true).help(node))
        .arg(Arg::new("path").value_name("PATH").num_args(0..).help(
            "Parameters as in references, linux:system:name. Each key may be a glob; ** matches any number of keys",
        ))
}

/// The error of a command line that is right for the parser and makes no sense.
pub fn usage(message: impl Into<String>) -> Error {
    Fault::new(Kind::Usage { message: message.into() }).into()
}

/// A repeatable option.
pub fn many(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).action(ArgAction::Append).help(help)
}

/// An option without a value.
pub fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// The nodes that a verb covers.
pub fn node_globs(help: &'static str) -> Arg {
    Arg::new("nodes").value_name("NODE").num_args(0..).help(help)
}
