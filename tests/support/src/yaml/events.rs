//! The events that the library reads from a text, compared with those that `PyYAML` reads.

use reclass::internals::yaml::compose::compose;
use reclass::internals::yaml::trace::{Traced, Trouble, trace};
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
    if events.len() != theirs.len() {
        return Some(format!("{} events, not {}", events.len(), theirs.len()));
    }
    misplaced(text, &answer["refused"])
}

/// Where what makes no data of good YAML is told at another place. The words are our own.
fn misplaced(text: &[u8], refused: &Json) -> Option<String> {
    let error = compose(text).err().filter(|_| !refused.is_null())?;
    // PyYAML goes on with a value that holds itself, to whatever else is wrong.
    if error.first().kind.to_string().ends_with("stands within its own anchor") {
        return None;
    }
    let site = error.first().site.as_ref()?;
    let ours = json!([site.line - 1, site.column - 1]);
    let theirs = json!([refused[0], refused[1]]);
    (ours != theirs).then(|| format!("{error} at {ours}\nnot at {theirs}: {}", refused[2]))
}

fn described(event: &Traced) -> Json {
    let (value, plain) = event.scalar.clone().unzip();
    let ((line, column), (end_line, end_column)) = (event.start, event.end);
    json!([event.name, line, column, end_line, end_column, event.anchor, event.tag, value, plain])
}
