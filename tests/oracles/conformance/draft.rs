//! Drafts turn disagreements into words, and into entries of `tests/deviations.toml` to be checked.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::command::Outcome;
use super::compare::{Likeness, likeness, text};
use super::deviations::{self, cut};
use support::answer::{ENUMERATE, INVENTORY, Ours};
use support::corpus::{Case, FORKS, Recorded};

/// What a program answered, where it differs from ours.
pub fn difference(ours: &Ours, recorded: &Recorded) -> String {
    match (ours, recorded) {
        (Ours::Ok(ours, _), Recorded::Ok(theirs)) => {
            let mut paths = Vec::new();
            collect(&deviations::bare(ours), &deviations::bare(&theirs["nodeinfo"]), "", &mut paths);
            let warned = theirs["stderr"].as_array().map_or(0, Vec::len);
            paths.extend((warned > 0).then(|| format!("{warned} lines on stderr")));
            cut(&paths.join("; "))
        }
        (_, Recorded::Ok(theirs)) => cut(&text(&deviations::bare(&theirs["nodeinfo"]))),
        (_, Recorded::Error { class, code, uncaught }) => {
            format!("{class} ({code}{})", if *uncaught { ", uncaught" } else { "" })
        }
    }
}

fn collect(ours: &Json, theirs: &Json, path: &str, paths: &mut Vec<String>) {
    match (ours, theirs) {
        (Json::Object(a), Json::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let missing = Json::String("(absent)".into());
                let (a, b) = (a.get(key).unwrap_or(&missing), b.get(key).unwrap_or(&missing));
                collect(a, b, &format!("{path}:{key}"), paths);
            }
        }
        _ if text(ours) == text(theirs) => {}
        _ => paths.push(format!("{path} is {}, ours {}", cut(&text(theirs)), cut(&text(ours)))),
    }
}

/// An entry for what has none.
pub fn answer(case: &Case, key: &str, ours: &Ours, recorded: &[&Recorded]) -> String {
    let mut entry = Map::new();
    entry.insert("case".into(), case.id.as_str().into());
    entry.insert("nodes".into(), Json::Array(vec![key.into()]));
    entry.insert("ruling".into(), "?".into());
    let forks = FORKS.iter().zip(recorded);
    let mut like = forks.filter(|(_, recorded)| likeness(case, key, ours, recorded) != Likeness::Different);
    let (name, value) = match (like.next(), ours) {
        (Some((fork, _)), _) => ("like", (*fork).into()),
        (None, Ours::Error(codes, ..)) => ("error", codes.first().cloned().unwrap_or_default().into()),
        (None, Ours::Ok(json, _)) if key == ENUMERATE => ("data", text(json).into()),
        (None, Ours::Ok(json, _)) if key == INVENTORY || case.id.starts_with("real/") => {
            let ours = BTreeMap::from([(key.to_owned(), Ours::Ok(json.clone(), 0))]);
            ("sha256", deviations::digest(&[key.to_owned()], &ours).into())
        }
        (None, Ours::Ok(json, _)) => {
            let base = deviations::base(case, key);
            let mut data = deviations::bare(json);
            if let Some(data) = data.as_object_mut() {
                data.retain(|key, value| text(value) != text(&base[key.as_str()]));
            }
            ("data", text(&data).into())
        }
        (None, Ours::Panic(message)) => ("panic", message.as_str().into()),
    };
    entry.insert(name.into(), value);
    let fields: Vec<String> =
        entry.iter().map(|(key, value)| format!("{key} = {}\n", toml_value(value))).collect();
    format!("[[answer]]\n{}\n", fields.concat())
}

fn toml_value(value: &Json) -> String {
    match value {
        Json::String(text) if text.contains('"') && !text.contains("'''") => format!("'''{text}'''"),
        // A string of JSON without control characters above the basic ones is one of TOML too.
        value => value.to_string(),
    }
}

/// An entry for a command line that has none.
pub fn command(case: &Case, arguments: &[String], ours: &Outcome) -> String {
    let head = format!("[[command]]\ncase = {:?}\narguments = {arguments:?}\nruling = \"?\"\n", case.id);
    let output = match ours.code {
        0 => format!("output = {}\n", toml_value(&ours.output.as_str().into())),
        _ => String::new(),
    };
    format!("{head}code = {}\n{output}\n", ours.code)
}
