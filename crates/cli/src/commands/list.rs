//! The lists turn `reclass nodes`, `classes`, `applications`, `params` and `refs` into rows.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};
use reclass::error::{Fault, Result, inert};
use reclass::explain::brief;
use reclass::list::{self, NameRow, NodeFilter, What};
use reclass::path::join_path;
use reclass::style::Style;
use reclass::value::{Text, Value};

use crate::commands::{Answering, OpenInvocation, Printout, Verb, json};

const PAGE: &str = "docs/listings.md";
const OUTPUTS: &[&str] = &["text", "json"];

/// `reclass nodes`
pub const NODES: Verb = Verb {
    name: "nodes",
    about: "List the nodes, or those that have a class, an application, a parameter or a file",
    page: PAGE,
    outputs: OUTPUTS,
    arguments: |command| {
        nodes_with(command.arg(globs("NODE", "Only nodes of these names")))
            .arg(many("param", "PATH", "Only nodes with one of these parameters"))
            .arg(many("file", "FILE", "Only nodes that an edit of one of these files touches"))
            .arg(long())
    },
    answer: Answering::Opened(|question| {
        let filter = NodeFilter {
            names: question.words("glob"),
            parameters: question.words("param"),
            files: question.words("file"),
            ..nodes_asked_for(question)
        };
        let rows = list::nodes(&question.inventory, &filter)?;
        let missing = missing(question, What::Node, &filter, rows.len())?;
        if question.output == "json" {
            return rows_as_json(rows.iter().map(list::NodeRow::to_value), missing);
        }
        let long = question.matches.get_flag("long");
        Ok(lines(
            missing,
            rows.iter().map(|row| {
                let name = inert(&row.name);
                let mut line = name.clone();
                if long {
                    let environment = brief(&row.environment);
                    let applications = row.applications.iter().map(|name| inert(name)).collect::<Vec<_>>();
                    line = format!(
                        "{name}  {environment}  {} classes  [{}]  {}",
                        row.classes,
                        applications.join(", "),
                        question.paint.of(Style::Place, &inert(&row.file)),
                    );
                }
                if row.by_query {
                    line.push_str("  (by an inventory query)");
                }
                if row.perhaps {
                    line.push_str("  (perhaps)");
                }
                if let Some(code) = row.error {
                    let _ = write!(line, "  {}", question.paint.of(Style::Error, &format!("error[{code}]")));
                }
                line
            }),
        ))
    }),
};

/// `reclass classes`
pub const CLASSES: Verb = Verb {
    name: "classes",
    about: "List the classes, and the nodes that have them",
    page: PAGE,
    outputs: OUTPUTS,
    arguments: |command| {
        of_nodes(command.arg(globs("CLASS", "Only classes of these names"))).arg(long()).arg(
            Arg::new("unused")
                .long("unused")
                .action(ArgAction::SetTrue)
                .help("Only classes that no node has, nor may have"),
        )
    },
    answer: Answering::Opened(|question| {
        let filter = filter(question);
        let mut rows = list::classes(&question.inventory, &question.words("glob"), &filter)?;
        let unused = question.matches.get_flag("unused");
        if unused || !filter.is_empty() {
            rows.retain(|row| (row.nodes.is_empty() && row.complete) == unused);
        }
        let missing = missing(question, What::Class, &filter, rows.len())?;
        names(question, &rows, missing)
    }),
};

/// `reclass applications`
pub const APPLICATIONS: Verb = Verb {
    name: "applications",
    about: "List the applications, and the nodes that have them",
    page: PAGE,
    outputs: OUTPUTS,
    arguments: |command| {
        of_nodes(command.arg(globs("APPLICATION", "Only applications of these names"))).arg(long())
    },
    answer: Answering::Opened(|question| {
        let filter = filter(question);
        let rows = list::applications(&question.inventory, &question.words("glob"), &filter)?;
        let missing = missing(question, What::Application, &filter, rows.len())?;
        names(question, &rows, missing)
    }),
};

/// `reclass params`
pub const PARAMS: Verb = Verb {
    name: "params",
    about: "List the parameters, and the places that set them",
    page: PAGE,
    outputs: OUTPUTS,
    arguments: |command| {
        let paths = globs("PATH", "Only these parameters; keys may be globs, ** is any number of keys");
        of_nodes(command.arg(paths)).arg(long())
    },
    answer: Answering::Opened(|question| {
        let (globs, redaction, filter) = (question.words("glob"), question.redaction(), filter(question));
        let rows = list::parameters(&question.inventory, &globs, &filter, &redaction)?;
        let missing = missing(question, What::Parameter, &filter, rows.len())?;
        let delimiter = &question.inventory.settings().delimiter;
        if question.output == "json" {
            return rows_as_json(rows.iter().map(|row| row.to_value(delimiter)), missing);
        }
        let long = question.matches.get_flag("long");
        Ok(lines(
            missing,
            rows.iter().map(|row| {
                let path = inert(&join_path(&row.path, delimiter));
                let (places, nodes) = (count(row.places.len(), "place"), users(&row.nodes, row.complete));
                let mut line = format!("{path}  {places}, {nodes}");
                if long {
                    for (site, value) in &row.places {
                        let value = question.paint.of(Style::Value, &brief(value));
                        let site = question.paint.of(Style::Place, &inert(&site.to_string()));
                        let _ = write!(line, "\n  {site}  {value}");
                    }
                }
                line
            }),
        ))
    }),
};

/// `reclass refs`
pub const REFS: Verb = Verb {
    name: "refs",
    about: "List the references, or those that lead to a parameter",
    page: PAGE,
    outputs: OUTPUTS,
    arguments: |command| {
        of_nodes(command.arg(globs("PATH", "Only references to these parameters"))).arg(long())
    },
    answer: Answering::Opened(|question| {
        let (globs, filter) = (question.words("glob"), filter(question));
        let rows = list::references(&question.inventory, &globs, &filter)?;
        let missing = missing(question, What::Reference, &filter, rows.len())?;
        if question.output == "json" {
            return rows_as_json(rows.iter().map(list::ReferenceRow::to_value), missing);
        }
        let long = question.matches.get_flag("long");
        Ok(lines(
            missing,
            rows.iter().map(|row| {
                let site = row.site.as_ref().map_or_else(|| "class_mappings".into(), ToString::to_string);
                let site = question.paint.of(Style::Place, &inert(&site));
                let reference = question.paint.of(Style::Reference, &inert(&row.reference));
                let bearing = match row.bearing {
                    list::Bearing::Exact => String::new(),
                    other => format!(" ({})", other.name()),
                };
                let nodes = users(&row.nodes, row.complete);
                let line = format!("{site}  {reference}{bearing} in {}  {nodes}", inert(&row.within));
                with_nodes(line, &row.nodes, long)
            }),
        ))
    }),
};

fn names(question: &OpenInvocation<'_>, rows: &[NameRow], missing: Vec<Fault>) -> Result<Printout> {
    if question.output == "json" {
        return rows_as_json(rows.iter().map(NameRow::to_value), missing);
    }
    let long = question.matches.get_flag("long");
    Ok(lines(
        missing,
        rows.iter().map(|row| {
            let mut line = format!("{}  {}", inert(&row.name), users(&row.nodes, row.complete));
            if let Some(file) = &row.file {
                let _ = write!(line, "  {}", question.paint.of(Style::Place, &inert(file)));
            }
            with_nodes(line, &row.nodes, long)
        }),
    ))
}

fn with_nodes(mut line: String, nodes: &[Text], long: bool) -> String {
    if long {
        for node in nodes {
            let _ = write!(line, "\n  {}", inert(node));
        }
    }
    line
}

/// The options that choose nodes by what they have.
fn nodes_with(command: Command) -> Command {
    command
        .arg(many("class", "GLOB", "Look only at nodes with one of these classes"))
        .arg(many("application", "GLOB", "Look only at nodes with one of these applications"))
        .arg(many("environment", "GLOB", "Look only at nodes of these environments"))
}

/// The same, and one that chooses them by name.
fn of_nodes(command: Command) -> Command {
    nodes_with(command.arg(many("node", "GLOB", "Look only at nodes of these names")))
}

fn nodes_asked_for(question: &OpenInvocation<'_>) -> NodeFilter {
    NodeFilter {
        classes: question.words("class"),
        applications: question.words("application"),
        environments: question.words("environment"),
        ..NodeFilter::default()
    }
}

/// The nodes that a list of something else looks at.
fn filter(question: &OpenInvocation<'_>) -> NodeFilter {
    NodeFilter { names: question.words("node"), ..nodes_asked_for(question) }
}

fn globs(value: &'static str, help: &'static str) -> Arg {
    Arg::new("glob").value_name(value).num_args(0..).help(help)
}

fn many(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).action(ArgAction::Append).help(help)
}

fn long() -> Arg {
    Arg::new("long").short('l').long("long").action(ArgAction::SetTrue).help("Say more of each")
}

fn lines(missing: Vec<Fault>, lines: impl Iterator<Item = String>) -> Printout {
    Printout { text: lines.collect::<Vec<_>>().join("\n"), missing, ..Printout::default() }
}

fn rows_as_json(rows: impl Iterator<Item = Value>, missing: Vec<Fault>) -> Result<Printout> {
    Ok(Printout { missing, ..json(&Value::list(rows.collect()))? })
}

/// The names that nothing in the inventory has. Where there are rows, each option that has
/// one value alone has matched.
fn missing(
    question: &OpenInvocation<'_>,
    what: What,
    filter: &NodeFilter,
    rows: usize,
) -> Result<Vec<Fault>> {
    // The names of nodes are globs already.
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

/// How many nodes have something.
fn users(nodes: &[Text], complete: bool) -> String {
    let least = if complete { "" } else { "at least " };
    format!("{least}{}", count(nodes.len(), "node"))
}

/// `1 node`, `2 nodes`
pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
