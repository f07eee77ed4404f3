//! The events that the library reads from a text, compared with those that `PyYAML` reads.

use reclass::yaml::trace::{Traced, Trouble, trace};
use serde_json::{Value as Json, json};

/// Where the events differ, their marks included, or what is said of a text that is no YAML.
pub fn difference(text: &[u8], answer: &Json) -> Option<String> {
    let (events, trouble) = trace(text);
    let theirs = answer["events"].as_array()?;
    let said = match &trouble {
        None => Json::Null,
        Some(Trouble::Syntax(context, begun, problem, place)) => {
            json!(["syntax", context, begun.0, begun.1, problem, place.0, place.1])
        }
        // libyaml reads in pieces, and has given some events by then; its words are its own.
        Some(Trouble::Unreadable(_)) if answer["error"][0] == "unreadable" => return None,
        Some(Trouble::Unreadable(error)) => json!(["unreadable", error.to_string()]),
    };
    let pair = events.iter().map(described).zip(theirs).find(|(ours, theirs)| ours != *theirs);
    if let Some((ours, theirs)) = pair {
        return Some(format!("event {ours}\nnot   {theirs}"));
    }
    if said != answer["error"] {
        return Some(format!("error {said}\nnot   {}", answer["error"]));
    }
    (events.len() != theirs.len()).then(|| format!("{} events, not {}", events.len(), theirs.len()))
}

fn described(event: &Traced) -> Json {
    let (value, plain) = event.scalar.clone().unzip();
    let ((line, column), (end_line, end_column)) = (event.start, event.end);
    json!([event.name, line, column, end_line, end_column, event.anchor, event.tag, value, plain])
}
