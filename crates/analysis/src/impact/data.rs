//! The nodes that a change or a place touches, as data without values.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::diff::{Difference, NodeProblems, Section, ValueChange};
use reclass_base::error::{Error, Fault, by_problem};
use reclass_base::pattern::{Glob, chosen};
use reclass_base::value::{Text, Value};

/// What a change or a place touches, as in `--output json` and Python. `docs/fleet.md` describes it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Impact {
    /// The name of the state before: a revision, a folder or `.`.
    pub old: String,
    /// The name of the state after, or the place or name that the question is about.
    pub new: String,
    /// Whether it is about a place or a name, and not about two states.
    #[serde(skip)]
    pub is_subject: bool,
    /// The number of nodes on both sides together.
    pub nodes: usize,
    /// The number of nodes that differ.
    pub differ: usize,
    /// The nodes that differ and exist on the second side, sorted.
    pub names: Vec<Text>,
    /// Those of them that have no pillar on the second side, sorted: they do not render, or Salt or a schema refuses a
    /// value.
    pub breaks: Vec<Text>,
    /// The errors of these nodes, each once.
    pub problems: Vec<BrokenNodes>,
    /// The nodes that are gone, sorted.
    pub removed: Vec<Text>,
    /// The applications that nodes gain or lose, with the number of nodes.
    pub applications: BTreeMap<Text, usize>,
    /// The paths that differ, with the number of nodes. A path of something else than a parameter begins with
    /// its section.
    pub paths: BTreeMap<String, usize>,
}

/// An error and its nodes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct BrokenNodes {
    /// The error with file and line, one line for each fault.
    pub problem: String,
    /// The nodes, sorted.
    pub nodes: Vec<Text>,
}

impl Impact {
    /// The impact of a difference on the nodes that `counts` accepts. The nodes of `without_pillar` render and break all
    /// the same.
    pub(super) fn of(
        difference: &Difference,
        without_pillar: Vec<(Text, Error)>,
        counts: impl Fn(&Text) -> bool,
    ) -> Impact {
        let of = |nodes: &[NodeProblems]| -> Vec<NodeProblems> {
            nodes.iter().filter(|one| counts(&one.node)).cloned().collect()
        };
        let mut broken: Vec<(Text, Vec<Fault>)> =
            [&difference.broken, &difference.unrendered, &difference.otherwise]
                .into_iter()
                .flat_map(|nodes| of(nodes))
                .map(|one| (one.node, one.problems.into_iter().map(|problem| problem.fault).collect()))
                .collect();
        broken.extend(without_pillar.into_iter().map(|(node, error)| (node, error.into_faults())));
        let breaks: BTreeSet<Text> = broken.iter().map(|(node, _)| node.clone()).collect();
        let mended = of(&difference.mended);
        let mut names: BTreeSet<Text> =
            breaks.iter().chain(mended.iter().map(|one| &one.node)).cloned().collect();
        names.extend(difference.added.iter().filter(|node| counts(node)).cloned());
        let (mut applications, mut paths) = (BTreeMap::new(), BTreeMap::<String, BTreeSet<&Text>>::new());
        for change in &difference.changes {
            let nodes: Vec<&Text> = change.nodes.iter().filter(|node| counts(node)).collect();
            if nodes.is_empty() {
                continue;
            }
            names.extend(nodes.iter().map(|node| (*node).clone()));
            for name in changed_applications(change) {
                applications.entry(name).or_insert_with(BTreeSet::new).extend(nodes.iter().copied());
            }
            paths.entry(path(change)).or_default().extend(nodes);
        }
        let mut removed: Vec<Text> = difference.removed.iter().filter(|node| counts(node)).cloned().collect();
        removed.sort_unstable();
        Impact {
            old: difference.old.clone(),
            new: difference.new.clone(),
            is_subject: false,
            nodes: difference.nodes,
            differ: names.len() + removed.len(),
            names: names.into_iter().collect(),
            breaks: breaks.into_iter().collect(),
            problems: problems(broken),
            removed,
            applications: applications.into_iter().map(|(name, nodes)| (name, nodes.len())).collect(),
            paths: paths.into_iter().map(|(path, nodes)| (path, nodes.len())).collect(),
        }
    }

    /// Makes it the answer about a place or name. Its users have a part in it whatever differs.
    pub(super) fn of_subject(&mut self, name: String, users: Vec<Text>, globs: &[String]) {
        let globs: Vec<Glob> = globs.iter().map(|text| Glob::new(text)).collect();
        self.names.extend(users.into_iter().filter(|node| chosen(&globs, node)));
        self.names.sort_unstable();
        self.names.dedup();
        (self.new, self.is_subject, self.differ) = (name, true, self.names.len());
    }
}

/// The names of applications that a change adds or removes.
fn changed_applications(change: &ValueChange) -> Vec<Text> {
    if change.section != Section::Applications {
        return Vec::new();
    }
    let items = change.items.iter().flatten().map(|item| &item.value);
    let name = |value: &Value| if let Value::Str(name) = value { Some(name.clone()) } else { None };
    items.filter_map(name).collect()
}

/// The path with its section; most are parameters.
fn path(change: &ValueChange) -> String {
    match (change.section, &*change.path) {
        (Section::Parameters, path) if !path.is_empty() => path.to_owned(),
        (section, "") => section.to_string(),
        (section, path) => format!("{section} {path}"),
    }
}

/// Errors that several nodes have are there once.
fn problems(broken: Vec<(Text, Vec<Fault>)>) -> Vec<BrokenNodes> {
    let together = by_problem(broken);
    let broken = |(problem, mut nodes): (String, Vec<Text>)| {
        nodes.sort_unstable();
        BrokenNodes { problem, nodes }
    };
    together.into_iter().map(broken).collect()
}
