//! Tallies what nodes show for a test: counts what is as expected, and keeps what is not, at most so many different
//! wrong values of each check.

use super::data::MOST_FAILURES;
use super::matcher::{Matcher, Miss};
use super::read::{Goal, TestCase};
use reclass_base::error::Error;
use reclass_base::value::{Text, Value};

/// What a node shows for one test.
pub(super) struct NodeOutcome {
    pub test: usize,
    /// What is wrong, each with the index of its check.
    pub wrong: Vec<(usize, Wrong)>,
    /// The checks whose path the node does not have, each with a similar path; `None` if it shows no path.
    pub missing: Option<Vec<(usize, Option<String>)>>,
    /// Values to record, each with the name of the snapshot and the path.
    pub recorded: Vec<(Text, String, Value)>,
}

#[derive(PartialEq)]
pub(super) enum Wrong {
    Value(Miss),
    /// The node renders, and should fail with this error.
    Renders(String),
    /// The node does not render, or fails with another error than this one.
    Fails(Option<String>, Error),
    /// The node to compare with does not render.
    OtherFails(Text),
    /// There is no snapshot of the value.
    Unrecorded,
}

/// Equal wrong values of several nodes.
pub(super) struct WrongGroup {
    pub test: usize,
    pub check: usize,
    pub wrong: Wrong,
    pub nodes: Vec<Text>,
}

/// What the nodes show so far.
#[derive(Default)]
pub(super) struct Tally {
    /// The number of nodes that were looked at.
    pub nodes: usize,
    /// The wrong values of each check.
    pub groups: Vec<Vec<WrongGroup>>,
    /// The number of wrong values that are in no group.
    pub left_out: usize,
    /// The path of each check. Empty if no node shows paths.
    paths: Vec<CheckedPath>,
}

/// Whether any node has the path of a check.
#[derive(Clone)]
enum CheckedPath {
    Found,
    /// None so far; a similar path.
    Missing(Option<String>),
}

impl Tally {
    /// Adds what one node shows.
    pub fn add(&mut self, case: &TestCase, node: &Text, outcome: NodeOutcome) {
        self.nodes += 1;
        for (check, wrong) in outcome.wrong {
            if self.groups.len() <= check {
                self.groups.resize_with(check + 1, Vec::new);
            }
            let groups = &mut self.groups[check];
            let is_full = groups.len() == MOST_FAILURES;
            // There are few groups, so that this is not the square of the number of nodes.
            match groups.iter_mut().find(|group| group.wrong == wrong) {
                Some(group) => group.nodes.push(node.clone()),
                None if is_full => self.left_out += 1,
                None => {
                    let nodes = vec![node.clone()];
                    groups.push(WrongGroup { test: outcome.test, check, wrong, nodes });
                }
            }
        }
        let (Some(missing), Goal::Values(checks)) = (outcome.missing, &case.goal) else { return };
        self.paths.resize(checks.len(), CheckedPath::Missing(None));
        let mut missing = missing.into_iter().peekable();
        for (check, known) in self.paths.iter_mut().enumerate() {
            match (missing.next_if(|(at, _)| *at == check), known) {
                (None, known) => *known = CheckedPath::Found,
                (Some((_, name)), CheckedPath::Missing(similar)) => *similar = similar.take().or(name),
                (Some(_), CheckedPath::Found) => {}
            }
        }
    }

    /// Takes out the checks whose path no node has, each with its way out: they are no wrong values.
    pub fn take_missing_paths(&mut self, case: &TestCase) -> Vec<(usize, String)> {
        let Goal::Values(checks) = &case.goal else { return Vec::new() };
        let paths = std::mem::take(&mut self.paths).into_iter().zip(checks).enumerate();
        let missing: Vec<(usize, String)> = paths
            .filter(|(_, (_, check))| {
                !check.matchers.iter().any(|matcher| matches!(matcher, Matcher::Absent))
            })
            .filter_map(|(check, (path, _))| match path {
                CheckedPath::Found => None,
                CheckedPath::Missing(Some(similar)) => Some((check, format!("'{similar}' is similar"))),
                CheckedPath::Missing(None) => {
                    Some((check, "'absent' expects that there is no value".to_owned()))
                }
            })
            .collect();
        for (check, _) in &missing {
            if let Some(groups) = self.groups.get_mut(*check) {
                groups.retain(|group| !matches!(group.wrong, Wrong::Value(Miss { got: None, .. })));
            }
        }
        missing
    }
}
