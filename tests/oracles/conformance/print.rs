//! What our program printed turns back into data, to be compared with our answer from the engine.
//!
//! Where a ruling gives a node an answer that no Python program prints, the answer is what
//! `tests/deviations.toml` says; that the program prints this answer is seen by reading it again.
//! How data is laid out, the command lines show that are equal to the byte.

use serde_json::Value as Json;

use super::command::Outcome;
use super::compare::text;
use support::answer::{Ours, to_json};
use support::corpus::Case;

/// Whether a print holds our answer, types included; for a refusal, whether the exit code is its.
pub fn holds(case: &Case, arguments: &[String], answer: &Ours, outcome: &Outcome) -> Result<(), String> {
    let Some(json) = format(arguments) else {
        return Err("no answer to compare it with".into());
    };
    match answer {
        Ours::Error(_, code, _) if *code == outcome.code && outcome.output.is_empty() => Ok(()),
        Ours::Ok(..) if outcome.code != 0 => Err("a failure in place of an answer".into()),
        Ours::Ok(expected, _) => {
            let (printed, expected) = if json {
                (serde_json::from_str(&outcome.output).map_err(|error| error.to_string())?, in_json(expected))
            } else {
                let read = reclass_yaml::parse_value(&outcome.output).map_err(|error| error.to_string())?;
                (to_json(&read, case), in_yaml(expected))
            };
            let printed = timeless(printed);
            if text(&printed) == text(&timeless(expected.clone())) {
                Ok(())
            } else {
                Err(format!("prints {printed}, but the answer is {expected}"))
            }
        }
        _ => Err("another exit code, or output in spite of it".into()),
    }
}

/// Whether a command line asks for JSON; `None` if it asks for more than an answer in a form.
fn format(arguments: &[String]) -> Option<bool> {
    let mut json = false;
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "-n" => _ = rest.next(),
            "-o" => json = rest.next() == Some("json"),
            "-i" | "--inventory" | "-r" | "--no-refs" | "-y" => {}
            _ => return None,
        }
    }
    Some(json)
}

/// The answer as YAML can say it: tuples are lists there.
fn in_yaml(answer: &Json) -> Json {
    mapped(answer, &|name, inner| (name == "$tuple").then(|| inner.clone()))
}

/// The answer as JSON can say it (Y7).
fn in_json(answer: &Json) -> Json {
    mapped(answer, &|name, inner| match name {
        "$tuple" | "$date" | "$datetime" | "$binary" | "$set" => Some(inner.clone()),
        "$map" => {
            let pairs = inner.as_array().into_iter().flatten();
            Some(pairs.map(|pair| (key(&pair[0]), pair[1].clone())).collect())
        }
        _ => None,
    })
}

/// A key of a mapping as `json.dumps` writes it.
fn key(key: &Json) -> String {
    key.as_str().map_or_else(|| key.to_string(), str::to_owned)
}

/// The data with marked values (`{"$date": …}`) replaced, innermost first.
fn mapped(data: &Json, replace: &dyn Fn(&str, &Json) -> Option<Json>) -> Json {
    match data {
        Json::Array(items) => items.iter().map(|item| mapped(item, replace)).collect(),
        Json::Object(map) => {
            let map: serde_json::Map<String, Json> =
                map.iter().map(|(key, value)| (key.clone(), mapped(value, replace))).collect();
            let marked = map.iter().next().filter(|_| map.len() == 1);
            marked.and_then(|(name, inner)| replace(name, inner)).unwrap_or(Json::Object(map))
        }
        other => other.clone(),
    }
}

/// The data of a node or of a whole inventory without its time stamps.
fn timeless(mut answer: Json) -> Json {
    let strip = |about: &mut Json| {
        if let Some(about) = about.get_mut("__reclass__").and_then(Json::as_object_mut) {
            about.remove("timestamp");
        }
    };
    strip(&mut answer);
    if let Some(nodes) = answer.get_mut("nodes").and_then(Json::as_object_mut) {
        nodes.values_mut().for_each(strip);
    }
    answer
}
