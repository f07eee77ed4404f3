//! `reclass impact` names the nodes that a change touches, or that a place of a file has a part in.

use clap::{Arg, Command};
use reclass::error::Result;
use reclass::report::to_json;
use reclass_analysis::diff::NAMED;
use reclass_analysis::impact::{Impact, ImpactSubject, markdown, of_states, of_subject, text};

use crate::commands::diff::{own_options, states};
use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, flag, node_globs, usage};
use crate::manual_page::Manual;

/// The `impact` verb.
pub const VERB: Verb = Verb {
    name: "impact",
    about: "Name the nodes that a change touches, or that depend on a line, class or parameter",
    manual: Manual {
        page: "fleet",
        description: "Prints the nodes, values and applications that differ between two states of the inventory, without their values. For a line of a file, a class or a parameter it prints those that another value there would change.",
        examples: &[
            ("The nodes that the last commit touches:", "reclass impact"),
            (
                "The nodes that the edits since the last commit touch, for Salt:",
                "reclass impact HEAD -o list",
            ),
            ("The nodes that depend on a line:", "reclass impact classes/app/nginx.yml:6"),
            ("Those that depend on a class or a parameter:", "reclass impact class:app.nginx"),
        ],
        exits: &[("1", "A node breaks, or an unexpected failure.")],
    },
    outputs: &["text", "json", "list", "markdown"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    command
        .arg(
            Arg::new("old").value_name("A").default_value("HEAD~1").help(
                "The state before, as in 'reclass diff'; or FILE, FILE:LINE, the name of a class or parameter (class:NAME, parameter:PATH if a state has it)",
            ),
        )
        .arg(Arg::new("new").value_name("B").default_value(".").help("The state after"))
        .arg(node_globs("Consider only these nodes, by name or glob"))
        .arg(flag("all-nodes", "Name all nodes, however many there are"))
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let (states, nodes) = (states(question), question.words("nodes"));
    let own = own_options(question);
    let is_markdown = question.output == "markdown";
    let subject = if let Some(subject) = ImpactSubject::parse(states.0) {
        subject
    } else {
        // Other outputs have no values, so none has to be hidden.
        let shows = !is_markdown || question.matches.get_flag("show-secrets");
        match of_states(question.options, own.as_deref(), states, &nodes, shows) {
            Ok((impact, difference)) if is_markdown => {
                let (text, found) = (markdown(&impact, &difference), !impact.breaks.is_empty());
                return Ok(Printout { text, found, ..Printout::default() });
            }
            Ok((impact, _)) => return Ok(printed(question, &impact)),
            Err(error) => ImpactSubject::named(&question.inventory, states.0, error)?,
        }
    };
    if states.1 != "." {
        return Err(usage("a place or a name has no second state: write . before the names of nodes"));
    }
    if is_markdown {
        return Err(usage("markdown is for the difference of two states"));
    }
    Ok(printed(question, &of_subject(question.options, &subject, &nodes)?))
}

fn printed(question: &OpenInvocation<'_>, impact: &Impact) -> Printout {
    let named = if question.matches.get_flag("all-nodes") { usize::MAX } else { NAMED };
    let text = match question.output {
        "json" => to_json(impact),
        "list" => impact.list(),
        _ => text(impact, named),
    };
    Printout { text, found: !impact.is_subject && !impact.breaks.is_empty(), ..Printout::default() }
}
