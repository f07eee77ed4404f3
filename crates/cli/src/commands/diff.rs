//! `reclass diff` compares two states of an inventory.

use std::path::Path;

use clap::{Arg, Command};
use reclass::error::Result;
use reclass::report::to_json;
use reclass_analysis::diff::{NAMED, OwnOptions, SettingsFile, diff, summary, text};

use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, flag, node_globs};
use crate::manual_page::Manual;

/// The `diff` verb.
pub const VERB: Verb = Verb {
    name: "diff",
    about: "Compare the rendered nodes in two states of the inventory",
    manual: Manual {
        page: "diff",
        description: "Renders all nodes in two states of the inventory and prints the values, classes and applications that differ, with the nodes that have each change. A state is a git revision, the folder of an inventory, or the files as they are.",
        examples: &[
            ("The effect of the edits since the last commit:", "reclass diff HEAD"),
            ("The effect of the last commit on some nodes:", "reclass diff HEAD~1 HEAD 'web*'"),
            ("The number of changes of each path:", "reclass diff HEAD --summary"),
        ],
        exits: &[("1", "A node differs, or an unexpected failure.")],
    },
    outputs: &["text", "json"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    command
        .arg(Arg::new("old").value_name("A").required(true).help(
            "The state before: a git revision, the base folder of an inventory, or . for this inventory",
        ))
        .arg(Arg::new("new").value_name("B").default_value(".").help("The state after"))
        .arg(node_globs("Compare only these nodes, by name or glob"))
        .arg(flag("summary", "Show the number of differences, and the number of nodes for each path"))
        .arg(flag("all-nodes", "Name all nodes of a change, however many there are"))
}

/// The names of the two states.
pub fn states<'q>(question: &'q OpenInvocation<'_>) -> (&'q str, &'q str) {
    let name = |name: &str| question.matches.get_one::<String>(name).map_or(".", String::as_str);
    (name("old"), name("new"))
}

/// Inside the base folder the settings come from the file there. Then each state uses its own settings file.
pub fn own_options<'q>(question: &'q OpenInvocation<'_>) -> Option<Box<OwnOptions<'q>>> {
    let real = |path: &str| reclass::parts::storage::fs::real(Path::new(path));
    let base = question.inventory.settings().inventory_base_uri.as_deref().and_then(real);
    let is_inside = !question.configuration.named && base.is_some() && base == real(".");
    let configuration = question.configuration;
    let own = move |file: Option<&SettingsFile>| configuration.options_of(file);
    is_inside.then(|| Box::new(own) as Box<OwnOptions<'q>>)
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let (own, shows) = (own_options(question), question.matches.get_flag("show-secrets"));
    let nodes = question.words("nodes");
    let difference = diff(question.options, own.as_deref(), states(question), &nodes, shows)?;
    let named = if question.matches.get_flag("all-nodes") { usize::MAX } else { NAMED };
    let text = if question.output == "json" {
        to_json(&difference)
    } else if question.matches.get_flag("summary") {
        summary(&difference, named)
    } else {
        text(&difference, named, question.paint)
    };
    Ok(Printout { text, found: !difference.is_empty(), ..Printout::default() })
}
