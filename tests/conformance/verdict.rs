//! A verdict says of one answer whether it equals the recorded ones, differs by a ruling, or differs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::answer::{self, ENUMERATE, INVENTORY, Ours};
use crate::command;
use crate::compare::{Likeness, likeness, text};
use crate::corpus::{Case, Recorded};
use crate::deviations::{self, Answer, Deviations, cut, show};

/// What was asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    Answer,
    Listing,
    Inventory,
    Command,
}

/// The outcome for one question.
pub enum Verdict {
    /// What both forks answer.
    Equal,
    /// What one fork answers, by a ruling.
    OneFork(String),
    /// What a ruling says against both.
    Ruling(String),
    /// What nobody explains.
    Unexplained(String),
}

/// One question with its verdict.
pub struct Line {
    pub case: String,
    pub sort: Sort,
    pub key: String,
    pub verdict: Verdict,
    /// An entry for `tests/deviations.toml`, to be checked.
    pub draft: Option<String>,
}

impl Line {
    fn new(case: &Case, sort: Sort, key: &str, verdict: Verdict) -> Line {
        Line { case: case.id.clone(), sort, key: key.to_owned(), verdict, draft: None }
    }
    pub fn unexplained(case: &Case, sort: Sort, key: &str, why: String) -> Line {
        Line::new(case, sort, key, Verdict::Unexplained(why))
    }
}

/// Everything about one inventory.
pub fn judge(case: &Case, deviations: &Deviations) -> Vec<Line> {
    let ours = answer::all(case, &Map::new());
    let entries: Vec<&Answer> = deviations.answer.iter().filter(|entry| entry.case == case.id).collect();
    let failures: Vec<Option<String>> =
        entries.iter().map(|entry| deviations::holds(entry, case, &ours).err()).collect();
    let entry = |key: &str| {
        let at = entries.iter().position(|entry| entry.nodes.iter().any(|node| node == key))?;
        Some((entries[at], failures[at].as_ref()))
    };
    let mut lines = Vec::new();
    // Whole inventories after the nodes that they follow from.
    let (whole, single): (Vec<_>, Vec<_>) = ours.iter().partition(|(key, _)| *key == INVENTORY);
    for (key, answer) in single.into_iter().chain(whole) {
        let sort = match key.as_str() {
            ENUMERATE => Sort::Listing,
            INVENTORY => Sort::Inventory,
            _ => Sort::Answer,
        };
        let fork = |name: &str| case.recorded.get(name)?.get(key);
        let recorded: Vec<&Recorded> = ["kapicorp", "saltformulas"].into_iter().filter_map(fork).collect();
        if recorded.is_empty() {
            continue;
        }
        let mut line = Line::new(case, sort, key, judge_answer(case, key, answer, &recorded, entry(key)));
        if matches!(line.verdict, Verdict::Unexplained(_)) && entry(key).is_none() {
            if sort == Sort::Inventory && follows(answer, &ours, &lines) {
                line.verdict = Verdict::Ruling("that of a node".into());
            } else {
                line.draft = Some(draft(case, key, answer, &recorded));
            }
        }
        lines.push(line);
    }
    lines.extend(judge_commands(case, deviations, &lines));
    lines
}

fn judge_answer(
    case: &Case,
    key: &str,
    ours: &Ours,
    recorded: &[&Recorded],
    entry: Option<(&Answer, Option<&String>)>,
) -> Verdict {
    let like: Vec<Likeness> = recorded.iter().map(|recorded| likeness(case, key, ours, recorded)).collect();
    let all = like.iter().all(|like| *like != Likeness::Different);
    let any = like.iter().any(|like| *like != Likeness::Different);
    match entry {
        Some(_) if all => Verdict::Unexplained("the entry in deviations.toml no longer differs".into()),
        Some((_, Some(failure))) => {
            Verdict::Unexplained(format!("not as in deviations.toml: {}", cut(failure)))
        }
        Some((entry, None)) if any => Verdict::OneFork(entry.ruling.clone()),
        Some((entry, None)) => Verdict::Ruling(entry.ruling.clone()),
        None if all && like.contains(&Likeness::Same) => Verdict::Equal,
        None if all => Verdict::Ruling("S12".into()),
        None => {
            let theirs: Vec<String> = recorded.iter().map(|recorded| difference(ours, recorded)).collect();
            Verdict::Unexplained(format!(
                "kapicorp {} / ours {}",
                theirs.join(" / saltformulas "),
                show(ours)
            ))
        }
    }
}

/// Whether a whole inventory differs only because a node of it does, on purpose.
fn follows(answer: &Ours, ours: &BTreeMap<String, Ours>, lines: &[Line]) -> bool {
    let deviates = lines.iter().any(|line| {
        line.sort == Sort::Answer && matches!(line.verdict, Verdict::OneFork(_) | Verdict::Ruling(_))
    });
    let consistent = match answer {
        Ours::Ok(whole, _) => whole["nodes"].as_object().into_iter().flatten().all(|(name, node)| {
            let mut node = node.clone();
            node["__reclass__"].as_object_mut().map(|about| about.remove("timestamp"));
            match ours.get(name) {
                Some(Ours::Ok(alone, _)) => text(alone) == text(&node),
                Some(_) => false,
                None => true,
            }
        }),
        Ours::Error(code, ..) => {
            ours.values().any(|answer| matches!(answer, Ours::Error(other, ..) if other == code))
        }
        Ours::Panic(_) => false,
    };
    deviates && consistent
}

/// What a program answered, where it differs from ours.
fn difference(ours: &Ours, recorded: &Recorded) -> String {
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
fn draft(case: &Case, key: &str, ours: &Ours, recorded: &[&Recorded]) -> String {
    let mut entry = Map::new();
    entry.insert("case".into(), case.id.as_str().into());
    entry.insert("nodes".into(), Json::Array(vec![key.into()]));
    entry.insert("ruling".into(), "?".into());
    let forks = ["kapicorp", "saltformulas"].iter().zip(recorded);
    let mut like = forks.filter(|(_, recorded)| likeness(case, key, ours, recorded) != Likeness::Different);
    let (name, value) = match (like.next(), ours) {
        (Some((fork, _)), _) => ("like", (*fork).into()),
        (None, Ours::Error(code, ..)) => ("error", code.as_str().into()),
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

fn judge_commands(case: &Case, deviations: &Deviations, answers: &[Line]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let directory = command::workplace(case);
    let mut asked: Vec<&Vec<String>> = Vec::new();
    for recorded in case.commands.values().flatten() {
        if !command::is_adapter(&recorded.arguments) && !asked.contains(&&recorded.arguments) {
            asked.push(&recorded.arguments);
        }
    }
    for arguments in asked {
        let key = format!("$ reclass {}", arguments.join(" "));
        let ours = command::run(case, directory.path(), arguments);
        let mut recorded =
            case.commands.values().flatten().filter(|recorded| recorded.arguments == *arguments);
        let same = recorded.any(|recorded| command::same(&ours, recorded));
        let entry =
            deviations.command.iter().find(|entry| entry.case == case.id && entry.arguments == *arguments);
        // What the node's answer is explained by explains its print.
        let node = command::node(arguments).unwrap_or(INVENTORY);
        let by_node = answers.iter().find(|line| line.key == node).and_then(|line| match &line.verdict {
            Verdict::Ruling(ruling) | Verdict::OneFork(ruling) => Some(ruling.clone()),
            _ => None,
        });
        let verdict = match (entry, by_node) {
            (Some(_), _) if same => {
                Verdict::Unexplained("the entry in deviations.toml no longer differs".into())
            }
            (Some(entry), _)
                if entry.code == ours.code
                    && entry.output.as_ref().is_none_or(|text| *text == ours.output) =>
            {
                Verdict::Ruling(entry.ruling.clone())
            }
            _ if same => Verdict::Equal,
            (None, Some(ruling)) if ours.code != 101 => Verdict::Ruling(ruling),
            _ => Verdict::Unexplained(cut(&format!("{} {} {}", ours.code, ours.messages, ours.output))),
        };
        lines.push(Line::new(case, Sort::Command, &key, verdict));
    }
    lines
}

/// Entries that speak of what the corpus does not have.
pub fn strangers(deviations: &Deviations, cases: &[Arc<Case>]) -> Vec<Line> {
    let line = |case: &str, key: String| Line {
        case: case.to_owned(),
        sort: Sort::Answer,
        key,
        verdict: Verdict::Unexplained("an entry in deviations.toml for what the corpus does not have".into()),
        draft: None,
    };
    let mut lines = Vec::new();
    for entry in &deviations.answer {
        let case = cases.iter().find(|case| case.id == entry.case);
        for node in &entry.nodes {
            let known =
                case.is_some_and(|case| case.recorded.values().any(|answers| answers.contains_key(node)));
            if !known {
                lines.push(line(&entry.case, node.clone()));
            }
        }
    }
    for entry in &deviations.command {
        let case = cases.iter().find(|case| case.id == entry.case);
        let mut commands = case.into_iter().flat_map(|case| case.commands.values().flatten());
        if !commands.any(|command| command.arguments == entry.arguments) {
            lines.push(line(&entry.case, entry.arguments.join(" ")));
        }
    }
    lines
}
