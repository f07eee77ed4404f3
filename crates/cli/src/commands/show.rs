//! `reclass show` prints the data of a node, or some of its values, for people and scripts.

use clap::Command;
use reclass::error::{Error, Result};
use reclass::explain::{Selection, explain_with_answer};
use reclass::formats::{EmitOptions, emit};
use reclass::style::{Paint, Style};
use reclass::value::{Key, Map, Value};
use reclass::{json, pystr};

use crate::commands::verb::{Answering, OpenInvocation, Printout, Verb, flag, node_and_paths, usage};
use crate::flags;
use crate::manual_page::Manual;
use crate::terminal;

/// The `show` verb.
pub const VERB: Verb = Verb {
    name: "show",
    about: "Show the data of a node, or some of its values",
    manual: Manual {
        page: "cli",
        description: "Prints the classes, applications, parameters and exports of a node, or the values at the PATHs. Secrets are masked. The first part of a name is enough for a node whose name begins with it, web1 for web1.example.com.",
        examples: &[
            ("The data of a node:", "reclass show web1"),
            ("One value:", "reclass show web1 nginx:listen"),
            ("The same for a script:", "reclass show web1 nginx:listen --raw"),
        ],
        exits: &[],
    },
    outputs: &["yaml", "json"],
    arguments,
    answer: Answering::Opened(answer),
};

fn arguments(command: Command) -> Command {
    node_and_paths(command)
        .arg(flag("raw", "Print a text without quotes, as scripts need it"))
        .arg(flags::environment())
}

fn answer(question: &OpenInvocation<'_>) -> Result<Printout> {
    let node = question.node()?;
    let paths = question.words("path");
    let redaction = question.redaction();
    let request = flags::request(question.matches);
    let selection = Selection { parameters: paths.clone(), redaction, ..Selection::default() };
    let (explanation, info) = explain_with_answer(&question.inventory, &node, &request, &selection)?;
    for warning in info.iter().flat_map(|info| &info.warnings) {
        terminal::warn(&question.configuration.placed(warning.clone()));
    }
    if !explanation.faults.is_empty() {
        return Err(Error::new(explanation.faults));
    }
    let missing = explanation.missing;
    let mut values = explanation.parameters.into_iter();
    let value = match (&paths[..], info) {
        ([], info) => {
            let info = info?;
            let whole = |value: Option<Value>| value.unwrap_or_else(|| Value::map(Map::default()));
            let exports = explanation.exports.into_iter().next().and_then(|trace| trace.value);
            Value::record([
                ("environment", info.environment.clone()),
                ("classes", Value::texts(&info.classes)),
                ("applications", Value::texts(&info.applications)),
                ("parameters", whole(values.next().and_then(|trace| trace.value))),
                ("exports", whole(exports)),
            ])
        }
        ([path], _) if !path.contains(['*', '?', '[']) => match values.next().and_then(|trace| trace.value) {
            Some(value) => value,
            None => return Ok(Printout { missing, ..Printout::default() }),
        },
        _ => {
            let entry = |(path, value): (String, Option<Value>)| Some((Key::from(path.as_str()), value?));
            let values = values.map(|trace| (trace.path.to_string(), trace.value));
            Value::map(values.filter_map(entry).collect::<Map>())
        }
    };
    let text = match (question.matches.get_flag("raw"), question.output) {
        (true, _) if paths.len() > 1 => return Err(usage("--raw takes one PATH".to_owned())),
        (true, _) => raw(&value, paths.first())?,
        (false, "json") => json::dumps(&value, true),
        (false, _) => {
            let text = emit(&value, &EmitOptions { pretty: true, no_refs: true });
            coloured(text.trim_end_matches("\n...\n").trim_end_matches('\n'), question.paint)
        }
    };
    Ok(Printout { text, missing, ..Printout::default() })
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
