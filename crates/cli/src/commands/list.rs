//! The listing verbs: `reclass nodes`, `classes`, `applications`, `params` and `refs`.

use std::fmt::Write as _;

use clap::{Arg, Command};
use reclass::brief::brief;
use reclass::error::{Fault, Result, inert};
use reclass::report::to_json;
use reclass::style::Style;
use reclass::value::Text;
use reclass_analysis::list::{self, Bearing, ListedRows, NameRow, NodeFilter, What};
use reclass_base::words::count;
use serde::Serialize;

use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, flag, many};
use crate::manual_page::{Example, Manual};
use crate::screen::{self, CELL};

const fn verb(
    name: &'static str,
    about: &'static str,
    description: &'static str,
    examples: &'static [Example],
    arguments: fn(Command) -> Command,
    answer: fn(&OpenInvocation<'_>) -> Result<Printout>,
) -> Verb {
    let manual = Manual { page: "listings", description, examples, exits: &[] };
    let answer = Answering::Opened(answer);
    Verb { name, about, manual, outputs: &["text", "json"], arguments, answer }
}

/// `reclass nodes`
pub const NODES: Verb = verb(
    "nodes",
    "List the nodes, or those that have a class, an application, a parameter or a file",
    "Prints the names of all nodes, or of those that pass all filters. Several values of one option are alternatives.",
    &[
        ("The nodes that have a class:", "reclass nodes --class app.nginx"),
        (
            "The nodes that an edit of a file touches:",
            "reclass nodes --file /srv/salt/reclass/classes/site/lan.yml",
        ),
    ],
    |command| {
        nodes_with(command.arg(globs("NODE", "Only nodes of these names")))
            .arg(many("param", "PATH", "Only nodes with one of these parameters"))
            .arg(many("file", "FILE", "Only nodes that an edit of one of these files touches"))
            .arg(long())
    },
    |question| {
        let filter = NodeFilter {
            names: question.words("glob"),
            parameters: question.words("param"),
            files: question.words("file"),
            ..nodes_asked_for(question)
        };
        let listing = list::nodes(&question.inventory, &filter)?;
        rows_of(question, What::Node, &filter, &listing, |row, long| {
            let mut line = inert(&row.name);
            if long {
                let applications = row.applications.iter().map(|name| inert(name)).collect::<Vec<_>>();
                let _ = write!(
                    line,
                    "{CELL}{}{CELL}{} classes{CELL}[{}]{CELL}{}",
                    brief(&row.environment),
                    row.classes,
                    applications.join(", "),
                    question.paint.of(Style::Place, &inert(&row.file)),
                );
            }
            if row.by_query {
                line.push_str("  (by an inventory query)");
            }
            if let Some(code) = row.error {
                let _ = write!(line, "  {}", question.paint.of(Style::Error, &format!("error[{code}]")));
            }
            line
        })
    },
);

/// `reclass classes`
pub const CLASSES: Verb = verb(
    "classes",
    "List the classes, and the nodes that have them",
    "Prints the names of all classes, or of those that pass all filters.",
    &[
        ("All classes, with their files:", "reclass classes -l"),
        ("The classes that no node has:", "reclass classes --unused"),
    ],
    |command| {
        of_nodes(command.arg(globs("CLASS", "Only classes of these names")))
            .arg(flag("unused", "Only classes that no node has"))
    },
    |question| {
        let filter = filter(question);
        let unused = question.matches.get_flag("unused");
        let mut listing = list::classes(&question.inventory, &question.words("glob"), &filter, unused)?;
        listing.rows.retain(|row| unused || filter.is_empty() || !row.nodes.is_empty());
        names(question, What::Class, &filter, &listing)
    },
);

/// `reclass applications`
pub const APPLICATIONS: Verb = verb(
    "applications",
    "List the applications, and the nodes that have them",
    "Prints the names of all applications that nodes have, or of those that pass all filters.",
    &[("The applications of some nodes:", "reclass applications --node 'web*'")],
    |command| of_nodes(command.arg(globs("APPLICATION", "Only applications of these names"))),
    |question| {
        let filter = filter(question);
        let listing = list::applications(&question.inventory, &question.words("glob"), &filter)?;
        names(question, What::Application, &filter, &listing)
    },
);

/// `reclass params`
pub const PARAMS: Verb = verb(
    "params",
    "List the parameters, and the places that set them",
    "Prints the parameters that files set, with the places. Nothing is rendered, so a value with references is shown as it is written.",
    &[
        ("The places that set a parameter:", "reclass params nginx:sites:default"),
        ("All soft parameters, as JSON:", "reclass params '_param:**' -o json"),
    ],
    |command| {
        let help = "Only these parameters; keys may be globs, ** is any number of keys";
        of_nodes(command.arg(globs("PATH", help)))
    },
    |question| {
        let (globs, redaction, filter) = (question.words("glob"), question.redaction(), filter(question));
        let listing = list::parameters(&question.inventory, &globs, &filter, &redaction)?;
        rows_of(question, What::Parameter, &filter, &listing, |row, long| {
            let (places, nodes) = (count(row.places.len(), "place"), count(row.nodes.len(), "node"));
            let mut line = format!("{}{CELL}{places}, {nodes}", inert(&row.path));
            for place in row.places.iter().filter(|_| long) {
                let value = question.paint.of(Style::Value, &brief(&place.written));
                let site = question.paint.of(Style::Place, &inert(&place.site.to_string()));
                let _ = write!(line, "\n  {site}  {value}");
            }
            line
        })
    },
);

/// `reclass refs`
pub const REFS: Verb = verb(
    "refs",
    "List the references, or those that lead to a parameter",
    "Prints the references in all files, or those that lead to a parameter or a part of it.",
    &[("The references that lead to a parameter:", "reclass refs network:hosts:database -l")],
    |command| of_nodes(command.arg(globs("PATH", "Only references to these parameters"))),
    |question| {
        let filter = filter(question);
        let listing = list::references(&question.inventory, &question.words("glob"), &filter)?;
        rows_of(question, What::Reference, &filter, &listing, |row, long| {
            let site = row.site.as_ref().map_or_else(|| "class_mappings".into(), ToString::to_string);
            let site = question.paint.of(Style::Place, &inert(&site));
            let reference = question.paint.of(Style::Reference, &inert(&row.reference));
            let bearing = match row.bearing {
                Bearing::Exact => String::new(),
                other => format!(" ({})", other.name()),
            };
            let nodes = count(row.nodes.len(), "node");
            let line = format!("{site}{CELL}{reference}{bearing} in {}{CELL}{nodes}", inert(&row.within));
            with_nodes(line, &row.nodes, long)
        })
    },
);

fn names(
    question: &OpenInvocation<'_>,
    what: What,
    filter: &NodeFilter,
    listing: &ListedRows<NameRow>,
) -> Result<Printout> {
    rows_of(question, what, filter, listing, |row, long| {
        let mut line = format!("{}{CELL}{}", inert(&row.name), count(row.nodes.len(), "node"));
        if let Some(file) = &row.file {
            let _ = write!(line, "{CELL}{}", question.paint.of(Style::Place, &inert(file)));
        }
        with_nodes(line, &row.nodes, long)
    })
}

/// The rows as JSON or as lines, in long form with `--long`; also the names that match nothing.
fn rows_of<R: Serialize>(
    question: &OpenInvocation<'_>,
    what: What,
    filter: &NodeFilter,
    ListedRows { rows, left_out }: &ListedRows<R>,
    line: impl Fn(&R, bool) -> String,
) -> Result<Printout> {
    let missing = missing(question, what, filter, rows.len())?;
    let hints = self::left_out(*left_out).into_iter().collect();
    if question.output == "json" {
        return Ok(Printout { text: to_json(&rows), missing, hints, ..Printout::default() });
    }
    let long = question.matches.get_flag("long");
    let lines: Vec<String> = rows.iter().map(|row| line(row, long)).collect();
    Ok(Printout { text: screen::columns(&lines), missing, hints, ..Printout::default() })
}

/// The hint about nodes that do not render, if there are any.
pub fn left_out(nodes: usize) -> Option<String> {
    let verb = if nodes == 1 { "does not render and is" } else { "do not render and are" };
    (nodes > 0).then(|| format!("{} {verb} left out; 'reclass lint' shows why", count(nodes, "node")))
}

fn with_nodes(mut line: String, nodes: &[Text], long: bool) -> String {
    for node in nodes.iter().filter(|_| long) {
        let _ = write!(line, "\n  {}", inert(node));
    }
    line
}

/// The options that filter nodes by class, application or environment.
fn nodes_with(command: Command) -> Command {
    command
        .arg(many("class", "GLOB", "Consider only nodes with one of these classes"))
        .arg(many("application", "GLOB", "Consider only nodes with one of these applications"))
        .arg(many("environment", "GLOB", "Consider only nodes of these environments"))
}

/// The same, with an option that filters by name, and `--long`.
fn of_nodes(command: Command) -> Command {
    nodes_with(command.arg(many("node", "GLOB", "Consider only nodes of these names"))).arg(long())
}

fn long() -> Arg {
    flag("long", "Show more about each entry").short('l')
}

fn nodes_asked_for(question: &OpenInvocation<'_>) -> NodeFilter {
    NodeFilter {
        classes: question.words("class"),
        applications: question.words("application"),
        environments: question.words("environment"),
        ..NodeFilter::default()
    }
}

/// The node filter of a list of other things.
fn filter(question: &OpenInvocation<'_>) -> NodeFilter {
    NodeFilter { names: question.words("node"), ..nodes_asked_for(question) }
}

fn globs(value: &'static str, help: &'static str) -> Arg {
    Arg::new("glob").value_name(value).num_args(0..).help(help)
}

/// The names that nothing in the inventory matches. If there are rows, an option with a single value has
/// matched.
fn missing(
    question: &OpenInvocation<'_>,
    what: What,
    filter: &NodeFilter,
    rows: usize,
) -> Result<Vec<Fault>> {
    // The names of nodes are given as globs already.
    let (globs, nothing) = (question.words("glob"), Vec::new());
    let asked = [
        (what, &globs),
        (What::Node, if what == What::Node { &nothing } else { &filter.names }),
        (What::Class, &filter.classes),
        (What::Application, &filter.applications),
        (What::Environment, &filter.environments),
        (What::Parameter, &filter.parameters),
    ];
    let sure = rows > 0 && asked.iter().all(|(_, globs)| globs.len() <= 1);
    let asked = asked.into_iter().filter(|_| !sure).map(|(what, globs)| (what, globs.as_slice()));
    list::unmatched(&question.inventory, asked)
}
