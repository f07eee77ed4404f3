//! `reclass explain` prints where the values of a node come from.

use clap::Command;
use reclass::error::Result;
use reclass::report::to_json;
use reclass_analysis::explain::{Selection, explain_with_answer, set_elsewhere, to_text};

use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, many, node_and_paths};
use crate::flags;
use crate::manual_page::Manual;

/// The `explain` verb.
pub const VERB: Verb = Verb {
    name: "explain",
    about: "Show where the values of a node come from",
    manual: Manual {
        page: "explain",
        description: "Prints for each value the file and line that set it, the classes that lead to this file, the values that it replaced, and the values that its references found. Without a PATH, it explains all parameters.",
        examples: &[
            ("Where a value comes from:", "reclass explain web1.example.com nginx:listen"),
            ("All values below a key, by a glob:", "reclass explain web1.example.com 'nginx:sites:*'"),
            ("Why the node has a class:", "reclass explain web1.example.com --class site.lan"),
        ],
        exits: &[],
    },
    outputs: &["text", "json"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    node_and_paths(command, "The node, or the first part of its name")
        .arg(many("export", "PATH", "Explain these exports"))
        .arg(many("class", "GLOB", "Show why the node has these classes"))
        .arg(many("application", "GLOB", "Show which files add and remove these applications"))
        .arg(flags::environment())
        .arg(flags::served())
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let node = question.node()?;
    let selection = Selection {
        parameters: question.words("path"),
        exports: question.words("export"),
        classes: question.words("class"),
        applications: question.words("application"),
        redaction: question.redaction(),
        ..Selection::default()
    };
    let request = flags::request(question.matches);
    let state = question.state_of(&node)?;
    let (mut explanation, info) = explain_with_answer(&state, &node, &request, &selection)?;
    if explanation.missing.is_empty() {
        question.warn_of_files(&info);
    } else {
        question.warn_of_node(&info);
        explanation.missing = set_elsewhere(&state, &node, &explanation.missing)?;
    }
    let explanation = explanation.found()?;
    let text =
        if question.output == "json" { to_json(&explanation) } else { to_text(&explanation, question.paint) };
    Ok(Printout { text, missing: explanation.missing, ..Printout::default() })
}
