//! `tests/deviations.toml` turns into what we answer on purpose otherwise than the Python programs.

use std::collections::BTreeMap;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::compare::{Likeness, automatic, likeness, text};
use support::answer::{self, Ours};
use support::corpus::{Case, FORKS, Recorded};

/// The file.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Deviations {
    /// Answers for nodes, listings and whole inventories.
    #[serde(default)]
    pub answer: Vec<Answer>,
    /// Command lines.
    #[serde(default)]
    pub command: Vec<CommandLine>,
}

/// Answers of one inventory that differ for one reason. Exactly one of `like`, `like_case`,
/// `error`, `data` and `sha256` says what we answer.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The inventory.
    pub case: String,
    /// Nodes, `@enumerate` or `@inventory`.
    pub nodes: Vec<String>,
    /// The ruling of `docs/semantics.md`.
    pub ruling: String,
    /// The program whose answer is ours, where they differ.
    pub like: Option<String>,
    /// The case of the same inventory with other settings, in which the forks answer as we do here.
    pub like_case: Option<String>,
    /// The code of our error.
    pub error: Option<String>,
    /// JSON: what differs from the first fork that answers, or from an empty node.
    pub data: Option<String>,
    /// Hash of our answers, for inventories that must not be copied and for long lists.
    pub sha256: Option<String>,
    /// Settings with which our answers are those of the forks.
    pub with: Option<Map<String, Json>>,
}

/// A command line whose outcome differs.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct CommandLine {
    pub case: String,
    pub arguments: Vec<String>,
    pub ruling: String,
    /// Our exit code.
    pub code: u8,
    /// What our output holds, white space aside, where the exit code is 0.
    pub output: Option<String>,
}

impl Deviations {
    pub fn read() -> Deviations {
        let deviations = Deviations::parse();
        deviations.check();
        deviations
    }

    fn parse() -> Deviations {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/deviations.toml");
        let text = std::fs::read_to_string(path).expect("the project has its deviations");
        toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Refuses an entry that cites a ruling which is not there, and a second one for the same
    /// answer, because it would never be used.
    fn check(&self) {
        let rulings = include_str!("../../../docs/semantics.md");
        let mut seen = std::collections::BTreeSet::new();
        let answers = self.answer.iter().flat_map(|entry| {
            entry.nodes.iter().map(move |node| (&entry.ruling, format!("{} {node}", entry.case)))
        });
        let commands = self
            .command
            .iter()
            .map(|entry| (&entry.ruling, format!("{} $ {}", entry.case, entry.arguments.join(" "))));
        for (ruling, about) in answers.chain(commands) {
            let exists =
                ruling.split(['/', ' ', ',']).all(|number| rulings.contains(&format!("**{number}.")));
            assert!(
                exists,
                "deviations.toml: {about} cites '{ruling}', which docs/semantics.md does not have"
            );
            assert!(seen.insert(about.clone()), "deviations.toml: {about} has two entries");
        }
    }
}

/// Whether our answers are those of an entry; `Err` describes the first that is not.
pub fn holds(
    entry: &Answer,
    case: &Case,
    ours: &BTreeMap<String, Ours>,
    cases: &[Arc<Case>],
) -> Result<(), String> {
    let said = [&entry.like, &entry.like_case, &entry.error, &entry.data, &entry.sha256]
        .into_iter()
        .flatten()
        .count();
    if said != 1 {
        return Err("the entry must have one of like, like_case, error, data and sha256".into());
    }
    if let Some(expected) = &entry.sha256
        && digest(&entry.nodes, ours) != *expected
    {
        return Err(format!("our answers have the hash {}", digest(&entry.nodes, ours)));
    }
    let with = entry.with.as_ref().map(|settings| answer::all(case, settings));
    for node in &entry.nodes {
        let Some(answer) = ours.get(node) else { return Err(format!("no answer for {node}")) };
        if let Some(program) = &entry.like {
            let recorded = case.recorded.get(program).and_then(|nodes| nodes.get(node));
            if recorded.is_none_or(|recorded| likeness(case, node, answer, recorded) == Likeness::Different) {
                return Err(format!("{node}: not like {program}: {}", show(answer)));
            }
        }
        if let Some(id) = &entry.like_case {
            let other = cases.iter().find(|other| other.id == *id);
            let recorded = other.and_then(|other| other.recorded.get("kapicorp")?.get(node));
            if recorded.is_none_or(|recorded| likeness(case, node, answer, recorded) == Likeness::Different) {
                return Err(format!("{node}: not as in the case {id}: {}", show(answer)));
            }
        }
        match (&entry.error, answer) {
            (Some(code), Ours::Error(actual, ..)) if actual.first() == Some(code) => {}
            (Some(code), _) => return Err(format!("{node}: not the error {code}: {}", show(answer))),
            _ => {}
        }
        if let Some(data) = &entry.data {
            let (expected, actual) = match answer {
                Ours::Ok(actual, _) if node.starts_with('@') => (parse(node, data)?, actual.clone()),
                Ours::Ok(actual, _) => (patched(case, node, data)?, bare(actual)),
                _ => (parse(node, data)?, Json::Null),
            };
            match answer {
                Ours::Ok(..) if text(&actual) == text(&expected) => {}
                _ => return Err(format!("{node}: not the data of the entry: {}", show(answer))),
            }
        }
        if let Some(with) = &with {
            let forks = FORKS;
            let mut recorded = forks.iter().filter_map(|fork| case.recorded.get(*fork)?.get(node));
            let same = with.get(node).is_some_and(|answer| {
                recorded.any(|recorded| likeness(case, node, answer, recorded) != Likeness::Different)
            });
            if !same {
                return Err(format!("{node}: differs with the settings of the entry too"));
            }
        }
    }
    Ok(())
}

/// An answer without what is the same everywhere.
pub fn bare(nodeinfo: &Json) -> Json {
    let mut bare = nodeinfo.clone();
    if let Some(map) = bare.as_object_mut() {
        map.remove("__reclass__");
        if let Some(parameters) = map.get_mut("parameters") {
            let plain = parameters.as_object_mut().and_then(|plain| plain.remove("_reclass_"));
            if plain.is_none() {
                automatic(parameters).map(Json::take);
            }
        }
    }
    bare
}

/// What an entry's data are a change of: the answer of the first fork that has one.
pub fn base(case: &Case, node: &str) -> Json {
    let forks = FORKS.into_iter();
    let mut answers = forks.filter_map(|fork| match case.recorded.get(fork)?.get(node)? {
        Recorded::Ok(answer) => Some(bare(&answer["nodeinfo"])),
        Recorded::Error { .. } => None,
    });
    answers.next().unwrap_or_else(
        || json!({ "applications": [], "classes": [], "environment": "base", "exports": {}, "parameters": {} }),
    )
}

fn patched(case: &Case, node: &str, data: &str) -> Result<Json, String> {
    let mut expected = base(case, node);
    for (key, value) in parse(node, data)?.as_object().into_iter().flatten() {
        expected[key] = value.clone();
    }
    Ok(expected)
}

fn parse(node: &str, data: &str) -> Result<Json, String> {
    serde_json::from_str(data).map_err(|error| format!("{node}: data: {error}"))
}

/// The hash of several answers.
pub fn digest(nodes: &[String], ours: &BTreeMap<String, Ours>) -> String {
    let mut hash = Sha256::new();
    for node in nodes {
        let answer = match ours.get(node) {
            Some(Ours::Ok(json, _)) => text(&bare(json)),
            Some(Ours::Error(codes, ..)) => codes.concat(),
            _ => "none".into(),
        };
        hash.update(format!("{node}\n{answer}\n"));
    }
    hex(&hash.finalize())
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An answer on one line, cut.
pub fn show(answer: &Ours) -> String {
    let line = match answer {
        Ours::Ok(json, 0) => text(&bare(json)),
        Ours::Ok(json, warnings) => format!("{} and {warnings} warnings", text(&bare(json))),
        Ours::Error(codes, exit, message) => format!("{} ({exit}): {message}", codes.join(", ")),
        Ours::Panic(message) => format!("panic: {message}"),
    };
    cut(&line)
}

/// A line cut to a length that a terminal can show.
pub fn cut(line: &str) -> String {
    let line = line.replace('\n', " | ");
    let limit = if std::env::var_os("RECLASS_CONFORMANCE_WIDE").is_some() { usize::MAX } else { 300 };
    if line.chars().count() <= limit {
        return line;
    }
    line.chars().take(limit).chain("…".chars()).collect()
}
