//! The events that the library reads from a text, compared with those that `PyYAML` reads.

use reclass::error::Error;
use reclass_yaml::compose::compose;
use reclass_yaml::events::{Event, Events, Mark, SyntaxProblem};
use serde_json::{Value as Json, json};

/// Where the events differ, their marks included, or what is said of a text that is no YAML.
pub fn difference(text: &[u8], answer: &Json) -> Option<String> {
    let mut events = Vec::new();
    let failure = read(text, &mut events);
    let theirs = answer["events"].as_array()?;
    let said = match failure {
        None => Json::Null,
        Some(Failure::Syntax(problem)) => {
            let SyntaxProblem { context, context_mark, problem, mark } = *problem;
            let begun = if context.is_empty() { Mark::default() } else { context_mark };
            json!(["syntax", context, begun.line, begun.column, problem, mark.line, mark.column])
        }
        // libyaml reads in pieces, and has given some events by then; its words are its own.
        Some(Failure::Unreadable(_)) if answer["error"][0] == "unreadable" => return None,
        Some(Failure::Unreadable(error)) => json!(["unreadable", error.to_string()]),
    };
    let pair = events.iter().zip(theirs).find(|(ours, theirs)| ours != theirs);
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

/// A difference in the place of an error in YAML that parses but makes no data. The words are our own.
fn misplaced(text: &[u8], refused: &Json) -> Option<String> {
    let error = compose(text).err().filter(|_| !refused.is_null())?;
    // PyYAML goes on with a value that holds itself, to whatever else is wrong.
    if error.first().kind.to_string().ends_with("is within its own anchor") {
        return None;
    }
    let site = error.first().site.as_ref()?;
    let ours = json!([site.line - 1, site.column - 1]);
    let theirs = json!([refused[0], refused[1]]);
    (ours != theirs).then(|| format!("{error} at {ours}\nnot at {theirs}: {}", refused[2]))
}

/// Why a text is not YAML.
enum Failure {
    /// Invalid bytes, characters or size.
    Unreadable(Error),
    Syntax(Box<SyntaxProblem>),
}

/// Reads the events of a text in the form of the answers of `PyYAML`.
fn read(text: &[u8], described: &mut Vec<Json>) -> Option<Failure> {
    let mut events = match Events::new(text) {
        Ok(events) => events,
        Err(error) => return Some(Failure::Unreadable(error)),
    };
    loop {
        match events.parsed() {
            Ok((Event::StreamEnd, ..)) => return None,
            Ok((event, start, end)) => described.push(describe(event, start, end)),
            Err(problem) => return Some(Failure::Syntax(problem)),
        }
    }
}

fn describe(event: Event<'_>, start: Mark, end: Mark) -> Json {
    let (name, anchor, tag, scalar) = match event {
        Event::StreamEnd => ("StreamEnd", None, None, None),
        Event::DocumentStart => ("DocumentStart", None, None, None),
        Event::DocumentEnd => ("DocumentEnd", None, None, None),
        Event::Alias { anchor } => ("Alias", Some(anchor), None, None),
        Event::Scalar { anchor, tag, value, plain } => ("Scalar", anchor, tag, Some((value, plain))),
        Event::SequenceStart { anchor, tag } => ("SequenceStart", anchor, tag, None),
        Event::SequenceEnd => ("SequenceEnd", None, None, None),
        Event::MappingStart { anchor, tag } => ("MappingStart", anchor, tag, None),
        Event::MappingEnd => ("MappingEnd", None, None, None),
    };
    let (value, plain) = scalar.unzip();
    json!([name, start.line, start.column, end.line, end.column, anchor, tag, value, plain])
}
