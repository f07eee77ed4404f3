//! `reclass show` prints the data of a node, or some of its values, for people and scripts.

use clap::Command;
use indexmap::IndexMap;
use reclass::error::{Error, Fault, Kind, Result};
use reclass::formats::{EmitOptions, emit};
use reclass::style::{Paint, Style};
use reclass::value::{Key, Map, Text, Value};
use reclass::{json, pystr};
use reclass_analysis::explain::{Selection, explain_with_answer};
use reclass_analysis::list::names_of_nodes;

use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, flag, node_and_paths, usage};
use crate::flags;
use crate::manual_page::Manual;

/// The `show` verb.
pub const VERB: Verb = Verb {
    name: "show",
    about: "Show the data of a node, or some of its values",
    manual: Manual {
        page: "cli",
        description: "Prints the classes, applications, parameters and exports of a node, or the values at the PATHs. Secrets are masked. The first part of a name is enough for a node whose name begins with it, web1 for web1.example.com. For a glob of nodes it prints their values by node; nodes without any are left out.",
        examples: &[
            ("The data of a node:", "reclass show web1"),
            ("One value:", "reclass show web1 nginx:listen"),
            ("The same value of each node:", "reclass show '*' nginx:listen"),
            ("One value for a script:", "reclass show web1 nginx:listen --raw"),
        ],
        exits: &[],
    },
    outputs: &["yaml", "json"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    node_and_paths(command, "The node, or the first part of its name; a glob shows several nodes")
        .arg(flag("raw", "Print a text without quotes, as scripts need it"))
        .arg(flags::environment())
        .arg(flags::served())
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let paths = question.words("path");
    let given = question.words("node");
    let is_raw = question.matches.get_flag("raw");
    let several = given.iter().any(|name| name.contains(['*', '?', '[']));
    if is_raw && (several || paths.len() > 1) {
        return Err(usage("--raw takes one NODE and one PATH"));
    }
    let (value, missing) = if several {
        of_nodes(question, &names_of_nodes(&question.inventory, &given)?, &paths)
    } else {
        of_node(question, &question.node()?, &paths)?
    };
    let Some(value) = value else { return Ok(Printout { missing, ..Printout::default() }) };
    let text = match question.output {
        _ if is_raw => raw(&value, paths.first())?,
        "json" => json::dumps(&value, true),
        _ => {
            let text = emit(&value, &EmitOptions { pretty: true, no_refs: true });
            coloured(text.trim_end_matches("\n...\n").trim_end_matches('\n'), question.paint)
        }
    };
    Ok(Printout { text, missing, ..Printout::default() })
}

/// The values of several nodes by their names, and the problems of the others. A path is missing if none of them
/// has it.
fn of_nodes(question: &OpenInvocation<'_>, names: &[Text], paths: &[String]) -> (Option<Value>, Vec<Fault>) {
    let (mut values, mut problems) = (Map::default(), Vec::new());
    let mut without: IndexMap<String, (usize, Option<String>)> = IndexMap::new();
    for node in names {
        let (value, faults) = match of_node(question, node, paths) {
            Ok(answer) => answer,
            Err(error) => (None, error.into_faults()),
        };
        for fault in faults {
            if let Kind::NothingToExplain { name, similar, .. } = fault.kind {
                let (count, first) = without.entry(name).or_default();
                *count += 1;
                *first = first.take().or(similar);
            } else {
                problems.push(fault);
            }
        }
        if let Some(value) = value.filter(|value| !is_empty(value, paths)) {
            values.insert(Key::from(&**node), value);
        }
    }
    let missing = without.into_iter().filter(|(_, (count, _))| *count == names.len());
    problems.extend(
        missing.map(|(name, (_, similar))| {
            Fault::new(Kind::NothingMatches { what: "parameter", name, similar })
        }),
    );
    ((!values.is_empty()).then(|| Value::map(values)), problems)
}

/// Whether a node has none of several paths.
fn is_empty(value: &Value, paths: &[String]) -> bool {
    !is_one(paths) && matches!(value, Value::Map(map) if map.is_empty())
}

/// Whether the paths name one value, which needs no path beside it.
fn is_one(paths: &[String]) -> bool {
    matches!(paths, [path] if !path.contains(['*', '?', '[']))
}

/// The data of a node, or its values at the paths, and the paths that it does not have.
fn of_node(
    question: &OpenInvocation<'_>,
    node: &str,
    paths: &[String],
) -> Result<(Option<Value>, Vec<Fault>)> {
    let redaction = question.redaction();
    let request = flags::request(question.matches);
    let selection = Selection { parameters: paths.to_vec(), redaction, ..Selection::default() };
    let (explanation, info) = explain_with_answer(&*question.state_of(node)?, node, &request, &selection)?;
    question.warn_of_node(&info);
    let explanation = explanation.found()?;
    if !explanation.faults.is_empty() {
        return Err(Error::new(explanation.faults));
    }
    let missing = explanation.missing;
    let mut values = explanation.parameters.into_iter();
    let value = if paths.is_empty() {
        let info = info?;
        let whole = |value: Option<Value>| value.unwrap_or_else(|| Value::map(Map::default()));
        let exports = explanation.exports.into_iter().next().and_then(|trace| trace.value);
        Some(Value::record([
            ("environment", info.environment.clone()),
            ("classes", Value::texts(&info.classes)),
            ("applications", Value::texts(&info.applications)),
            ("parameters", whole(values.next().and_then(|trace| trace.value))),
            ("exports", whole(exports)),
        ]))
    } else if is_one(paths) {
        values.next().and_then(|trace| trace.value)
    } else {
        let entry = |(path, value): (String, Option<Value>)| Some((Key::from(path.as_str()), value?));
        let values = values.map(|trace| (trace.path.to_string(), trace.value));
        let values: Map = values.filter_map(entry).collect();
        if values.is_empty() && missing.is_empty() {
            return Err(Error::new(paths.iter().map(|path| nothing_at(path, node)).collect()));
        }
        Some(Value::map(values))
    };
    Ok((value, missing))
}

/// The fault for a glob that finds nothing, which is no answer to the question for values.
fn nothing_at(path: &str, node: &str) -> Fault {
    let kind = Kind::NothingToExplain { what: "parameter", name: path.to_owned(), similar: None };
    Fault { node: Some(node.into()), ..Fault::new(kind) }
}

/// A scalar as its text.
fn raw(value: &Value, path: Option<&String>) -> Result<String> {
    match value {
        Value::Str(text) => Ok(text.to_string()),
        Value::Map(_) | Value::List(_) | Value::Tuple(_) | Value::Set(_) => {
            let what = path.map_or("a whole node", String::as_str);
            let message = format!("--raw prints one text or number, and {what} is more; use -o json");
            Err(usage(message))
        }
        Value::Bool(value) => Ok(value.to_string()),
        Value::Null => Ok(String::new()),
        value => Ok(pystr::str(value)),
    }
}

/// YAML with its keys in colour.
fn coloured(text: &str, paint: Paint) -> String {
    let line = |line: &str| {
        let start = line.len() - line.trim_start_matches([' ', '-']).len();
        let key = line[start..].split_once(':').map(|(key, _)| key);
        let is_key = |key: &str| !key.is_empty() && !key.contains([' ', '"', '\'', '{', '[']);
        match key.filter(|key| is_key(key)) {
            Some(key) => {
                let (indent, rest) = (&line[..start], &line[start + key.len()..]);
                format!("{indent}{}{rest}", paint.of(Style::Value, key))
            }
            None => line.to_owned(),
        }
    };
    if paint.colours { text.lines().map(line).collect::<Vec<_>>().join("\n") } else { text.to_owned() }
}
