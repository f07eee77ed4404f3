//! A verdict says of one answer whether it equals the recorded ones, differs by a ruling, or differs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::command;
use super::compare::{Likeness, likeness, members, nodes, text};
use super::deviations::{self, Answer, Deviations, cut, show};
use super::draft;
use support::answer::{self, ENUMERATE, INVENTORY, Ours};
use support::corpus::{Case, FORKS, Recorded};

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
    /// What kapicorp prints, to the byte, once its automatic parameters are asked for (S12).
    EqualWithFlag,
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
    /// The comparison with reclass-rs, which decides if there is neither documentation nor a fork.
    pub rs: Option<Likeness>,
    /// An entry for `tests/deviations.toml`, to be checked.
    pub draft: Option<String>,
}

impl Line {
    pub fn new(case: &Case, sort: Sort, key: &str, verdict: Verdict) -> Line {
        Line { case: case.id.clone(), sort, key: key.to_owned(), verdict, rs: None, draft: None }
    }
    /// The ruling by which we differ on purpose.
    pub fn ruling(&self) -> Option<String> {
        match &self.verdict {
            Verdict::Ruling(ruling) | Verdict::OneFork(ruling) => Some(ruling.clone()),
            _ => None,
        }
    }
    pub fn unexplained(case: &Case, sort: Sort, key: &str, why: String) -> Line {
        Line::new(case, sort, key, Verdict::Unexplained(why))
    }
}

/// Everything about one inventory.
pub fn judge(case: &Case, cases: &[Arc<Case>], deviations: &Deviations) -> Vec<Line> {
    let ours = answer::all(case, &Map::new());
    let entries: Vec<&Answer> = deviations.answer.iter().filter(|entry| entry.case == case.id).collect();
    let failures: Vec<Option<String>> =
        entries.iter().map(|entry| deviations::holds(entry, case, &ours, cases).err()).collect();
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
        let recorded: Vec<&Recorded> = FORKS.into_iter().filter_map(fork).collect();
        if recorded.is_empty() {
            continue;
        }
        let mut line = Line::new(case, sort, key, judge_answer(case, key, answer, &recorded, entry(key)));
        let rs = fork("reclass_rs").filter(|_| sort == Sort::Answer);
        line.rs = rs.map(|recorded| likeness(case, key, answer, recorded));
        if matches!(line.verdict, Verdict::Unexplained(_)) && entry(key).is_none() {
            let whole = || consistent(answer, &ours) && sort == Sort::Inventory;
            let alike = |recorded: &Recorded| likeness(case, key, answer, recorded) != Likeness::Different;
            if whole() && recorded.iter().all(|recorded| alike(recorded) || inconsistent(case, recorded)) {
                let one = recorded.iter().any(|recorded| alike(recorded));
                line.verdict = if one { Verdict::OneFork("Q7".into()) } else { Verdict::Ruling("Q7".into()) };
            } else if whole() && lines.iter().any(|line: &Line| line.ruling().is_some()) {
                line.verdict = Verdict::Ruling("that of a node".into());
            } else {
                line.draft = Some(draft::answer(case, key, answer, &recorded));
            }
        }
        lines.push(line);
    }
    lines.extend(command::judge(case, deviations, &ours, &lines));
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
            let theirs: Vec<String> =
                recorded.iter().map(|recorded| draft::difference(ours, recorded)).collect();
            Verdict::Unexplained(format!(
                "kapicorp {} / ours {}",
                theirs.join(" / saltformulas "),
                show(ours)
            ))
        }
    }
}

/// Whether our whole inventory says what our nodes say: the same data, and who has which class and
/// application, or the error of one.
fn consistent(answer: &Ours, ours: &BTreeMap<String, Ours>) -> bool {
    match answer {
        Ours::Ok(whole, _) => {
            let nodes = nodes(whole);
            let alone = nodes.iter().all(|(name, node)| match ours.get(name) {
                Some(Ours::Ok(alone, _)) => text(alone) == text(node),
                Some(_) => false,
                None => true,
            });
            alone && ["classes", "applications"].iter().all(|key| members(&whole[key]) == listed(&nodes, key))
        }
        Ours::Error(codes, ..) => {
            let same = |answer: &Ours| matches!(answer, Ours::Error(other, ..) if other == codes);
            ours.iter().any(|(key, answer)| key != INVENTORY && same(answer))
        }
        Ours::Panic(_) => false,
    }
}

/// The names of the nodes that list something, by what they list.
fn listed(nodes: &[(String, Json)], key: &str) -> BTreeMap<String, Vec<String>> {
    let mut index: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, node) in nodes {
        for item in node[key].as_array().into_iter().flatten() {
            index.entry(item.as_str().unwrap_or_default().to_owned()).or_default().push(name.clone());
        }
    }
    for nodes in index.values_mut() {
        nodes.sort();
    }
    index
}

/// Whether a program's whole inventory says something else than its nodes do (ruling Q7).
fn inconsistent(case: &Case, recorded: &Recorded) -> bool {
    let mut programs = FORKS.iter().filter_map(|name| case.recorded.get(*name));
    let own =
        programs.find(|answers| answers.get(INVENTORY).is_some_and(|whole| std::ptr::eq(whole, recorded)));
    let mut single = own.into_iter().flatten().filter(|(key, _)| !key.starts_with('@'));
    let failing = single.any(|(_, node)| matches!(node, Recorded::Error { .. }));
    match recorded {
        Recorded::Ok(whole) => {
            failing
                || whole["nodes_differing_from_nodeinfo"].as_object().is_some_and(|nodes| !nodes.is_empty())
        }
        Recorded::Error { .. } => !failing,
    }
}

/// Entries that speak of what the corpus does not have.
pub fn strangers(deviations: &Deviations, cases: &[Arc<Case>]) -> Vec<Line> {
    let line = |case: &str, key: String| Line {
        case: case.to_owned(),
        sort: Sort::Answer,
        key,
        verdict: Verdict::Unexplained("an entry in deviations.toml for what the corpus does not have".into()),
        rs: None,
        draft: None,
    };
    let mut lines = Vec::new();
    // The real inventories may not be here.
    let has_real = cases.iter().any(|case| case.id.starts_with("real/"));
    let is_here = |case: &str| has_real || !case.starts_with("real/");
    for entry in deviations.answer.iter().filter(|entry| is_here(&entry.case)) {
        let case = cases.iter().find(|case| case.id == entry.case);
        for node in &entry.nodes {
            let known =
                case.is_some_and(|case| case.recorded.values().any(|answers| answers.contains_key(node)));
            if !known {
                lines.push(line(&entry.case, node.clone()));
            }
        }
    }
    for entry in deviations.command.iter().filter(|entry| is_here(&entry.case)) {
        let case = cases.iter().find(|case| case.id == entry.case);
        let mut commands = case.into_iter().flat_map(|case| case.commands.values().flatten());
        if !commands.any(|command| command.arguments == entry.arguments) {
            lines.push(line(&entry.case, entry.arguments.join(" ")));
        }
    }
    lines
}
