//! Finds the cause of each difference: the ruling without which it is gone.
//!
//! First each ruling is turned off alone. Then the rulings that change anything in a node are turned off
//! together, for differences that need more than one, and those that are not needed are turned on again. A node
//! that renders only without a ruling is compared further without it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::recognized::Recognizer;
use super::render::{Comparing, Variation};
use super::rules::{ALTERNATIVES, Alternative, LEAKED_OBJECT, evidence};
use crate::diff::{NodeChange, NodeDifference, Section};
use reclass_base::error::{Fault, Result};
use reclass_base::pystr;
use reclass_base::value::{Key, Map, Text, Value};

/// The cause of a difference.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum CauseSet {
    /// No ruling explains it.
    Unexplained,
    /// The difference is gone without these rulings.
    Alternatives(Variation),
    /// An error of this code, which only a ruling makes, or a value that only a defect makes.
    Evidence(&'static str),
}

/// Identifies a difference of a node in another outcome.
#[derive(PartialEq, Eq, Hash)]
struct ChangeKey {
    section: Section,
    path: Vec<String>,
    /// The removed or added item of a list.
    item: Option<(bool, String)>,
}

impl ChangeKey {
    /// The key of a change that was split.
    fn of(change: &NodeChange) -> ChangeKey {
        let text = |key: &Key| pystr::repr(&key.0);
        let item = change
            .items
            .first()
            .map(|item| (item.added, change.item(item).map_or_else(String::new, pystr::repr)));
        ChangeKey { section: change.section, path: change.path.iter().map(text).collect(), item }
    }
}

/// One difference of a node.
struct Issue {
    difference: IssueKind,
    cause: Option<CauseSet>,
}

enum IssueKind {
    /// A value differs.
    Change(Box<NodeChange>, ChangeKey),
    /// The node exists or renders on one side only.
    Node(NodeDifference),
}

/// The differences of a node without some rulings.
struct NodeIssues {
    /// The index of the node.
    node: usize,
    /// The rulings that are turned off in all of them.
    base: Variation,
    /// Identifies the outcome.
    outcome: u64,
    issues: Vec<Issue>,
    /// The rulings that change the outcome.
    effective: Vec<usize>,
}

/// The differences of all nodes, with their causes.
pub(super) struct Causes {
    names: Vec<Text>,
    nodes: Vec<NodeIssues>,
}

/// Settings that give old values back.
#[derive(Default)]
pub(super) struct Remedy {
    /// A mapping of settings; `None` if no setting helps.
    pub settings: Option<Value>,
    /// The number of nodes that still differ with them.
    pub remaining: usize,
}

/// The differences that remain with some settings.
#[derive(Clone, Copy, Default)]
struct Remaining {
    /// Differences that settings are chosen for.
    issues: usize,
    /// Nodes that differ in anything.
    nodes: usize,
}

/// Whether settings are chosen for a difference: nobody wants an old refusal back.
fn is_wanted_back(difference: &IssueKind) -> bool {
    !matches!(difference, IssueKind::Node(NodeDifference::Mended(_)))
}

impl Causes {
    /// Finds the causes of these differences.
    pub fn find(
        comparing: &Comparing<'_>,
        recognizer: &mut Recognizer<'_>,
        names: &[Text],
        differences: Vec<NodeDifference>,
    ) -> Result<Causes> {
        let nodes = differences.into_iter().enumerate();
        let nodes = nodes.filter_map(|(node, difference)| NodeIssues::of(node, Variation::new(), difference));
        let mut causes = Causes { names: names.to_vec(), nodes: Vec::new() };
        let mut open: Vec<NodeIssues> = nodes.collect();
        while !open.is_empty() {
            let further = causes.find_single(comparing, &mut open)?;
            causes.find_combined(comparing, &mut open)?;
            for node in &mut open {
                node.blame_evidence();
                node.recognize(recognizer, &names[node.node]);
            }
            causes.nodes.append(&mut open);
            open = further;
        }
        causes.nodes.sort_by_key(|node| node.node);
        Ok(causes)
    }

    /// Turns off one ruling at a time. Returns the nodes that render without one.
    fn find_single(&self, comparing: &Comparing<'_>, open: &mut [NodeIssues]) -> Result<Vec<NodeIssues>> {
        let mut further = Vec::new();
        // Without them, a node that reads them fails: as a refused node does, but not for its reason.
        let lacks_automatic = comparing.lacks_automatic();
        let is_possible = |alternative: &Alternative| lacks_automatic || !alternative.is_about_automatic();
        let alternatives = ALTERNATIVES.iter().enumerate();
        for (index, alternative) in alternatives.filter(|(_, alternative)| is_possible(alternative)) {
            let fits = |node: &NodeIssues| {
                let excluded = |base: &usize| *base == index || ALTERNATIVES[*base].excludes(alternative);
                node.is_open() && !node.base.iter().any(excluded)
            };
            let mut by_base: BTreeMap<Variation, Vec<&mut NodeIssues>> = BTreeMap::new();
            for node in open.iter_mut().filter(|node| fits(node)) {
                by_base.entry(node.base.clone()).or_default().push(node);
            }
            for (base, nodes) in by_base {
                let mut variation = base;
                variation.insert(index);
                let names: Vec<Text> = nodes.iter().map(|node| self.names[node.node].clone()).collect();
                let outcomes = comparing.without(&variation, &names)?;
                for (node, outcome) in nodes.into_iter().zip(outcomes) {
                    if outcome_id(&outcome) == node.outcome {
                        continue;
                    }
                    node.effective.push(index);
                    let cause = CauseSet::Alternatives(BTreeSet::from([index]));
                    let renders_now = node.explain(&outcome, &cause);
                    if renders_now {
                        further.extend(NodeIssues::of(node.node, variation.clone(), outcome));
                    }
                }
            }
        }
        Ok(further)
    }

    /// Turns off all rulings together that change anything in a node, then turns on those that are not needed.
    fn find_combined(&self, comparing: &Comparing<'_>, open: &mut [NodeIssues]) -> Result<()> {
        let mut by_rulings: BTreeMap<(Variation, Vec<usize>), Vec<usize>> = BTreeMap::new();
        for (at, node) in open.iter().enumerate().filter(|(_, node)| node.is_open()) {
            for rulings in compatible(&node.effective) {
                if rulings.len() > 1 {
                    by_rulings.entry((node.base.clone(), rulings)).or_default().push(at);
                }
            }
        }
        for ((base, rulings), members) in by_rulings {
            self.narrow(comparing, open, &base, &rulings, &members)?;
        }
        Ok(())
    }

    /// The smallest of these rulings for each difference that is gone without all of them.
    fn narrow(
        &self,
        comparing: &Comparing<'_>,
        open: &mut [NodeIssues],
        base: &Variation,
        rulings: &[usize],
        members: &[usize],
    ) -> Result<()> {
        let names: Vec<Text> = members.iter().map(|at| self.names[open[*at].node].clone()).collect();
        let outcomes = |set: &Variation| {
            let all: Variation = base.union(set).copied().collect();
            comparing.without(&all, &names).map(|outcomes| outcomes.iter().map(RenderedOutcome::of).collect())
        };
        let mut known: FxHashMap<Variation, Vec<RenderedOutcome>> = FxHashMap::default();
        let whole: Variation = rulings.iter().copied().collect();
        known.insert(whole.clone(), outcomes(&whole)?);
        for (position, at) in members.iter().enumerate() {
            for issue in open[*at].issues.iter_mut().filter(|issue| issue.cause.is_none()) {
                if !known[&whole][position].explains(&issue.difference) {
                    continue;
                }
                let mut needed = whole.clone();
                for ruling in rulings {
                    let mut fewer = needed.clone();
                    fewer.remove(ruling);
                    if !known.contains_key(&fewer) {
                        known.insert(fewer.clone(), outcomes(&fewer)?);
                    }
                    if known[&fewer][position].explains(&issue.difference) {
                        needed = fewer;
                    }
                }
                issue.cause = Some(CauseSet::Alternatives(needed));
            }
        }
        Ok(())
    }

    /// The number of nodes that differ.
    pub fn touched(&self) -> usize {
        self.nodes.iter().map(|node| node.node).collect::<BTreeSet<usize>>().len()
    }

    /// The smallest set of settings that gives back all old values that settings can give back.
    pub fn remedy(&self, comparing: &Comparing<'_>, names: &[Text]) -> Result<Remedy> {
        let is_setting = |index: &usize| ALTERNATIVES[*index].setting(comparing.options).is_some();
        let mut settings = Variation::new();
        let mut before = Remaining { nodes: self.touched(), issues: 0 };
        let all = self.nodes.iter().flat_map(|node| &node.issues);
        for issue in all.filter(|issue| is_wanted_back(&issue.difference)) {
            before.issues += 1;
            match &issue.cause {
                Some(CauseSet::Alternatives(set)) if set.iter().all(is_setting) => settings.extend(set),
                _ => {}
            }
        }
        let remaining = |settings: &Variation| -> Result<Remaining> {
            let mut remaining = Remaining::default();
            for difference in comparing.without(settings, names)? {
                if let Some(node) = NodeIssues::of(0, Variation::new(), difference) {
                    let wanted = node.issues.iter().filter(|issue| is_wanted_back(&issue.difference));
                    remaining.issues += wanted.count();
                    remaining.nodes += 1;
                }
            }
            Ok(remaining)
        };
        let mut least = if settings.is_empty() { before } else { remaining(&settings)? };
        // One that is not needed, or that makes more differences than it removes, is left out.
        for index in settings.clone() {
            let mut fewer = settings.clone();
            fewer.remove(&index);
            let now = if fewer.is_empty() { before } else { remaining(&fewer)? };
            if now.issues <= least.issues {
                (settings, least) = (fewer, now);
            }
        }
        let mut options = comparing.options.clone();
        let mut all = Map::default();
        for alternative in settings.iter().map(|index| &ALTERNATIVES[*index]) {
            if let Some((name, value)) = alternative.setting(&options) {
                options.insert(Key::from(name), value.clone());
                all.insert(Key::from(name), value);
            }
        }
        let settings = (!all.is_empty()).then(|| Value::map(all));
        Ok(Remedy { settings, remaining: least.nodes })
    }

    pub fn by_cause(self) -> BTreeMap<CauseSet, Vec<(Text, NodeDifference)>> {
        let mut all: BTreeMap<CauseSet, Vec<(Text, NodeDifference)>> = BTreeMap::new();
        for node in self.nodes {
            let name = &self.names[node.node];
            let mut changes: BTreeMap<CauseSet, Vec<NodeChange>> = BTreeMap::new();
            for issue in node.issues {
                let cause = issue.cause.unwrap_or(CauseSet::Unexplained);
                match issue.difference {
                    IssueKind::Change(change, _) => changes.entry(cause).or_default().push(*change),
                    IssueKind::Node(difference) => {
                        all.entry(cause).or_default().push((name.clone(), difference));
                    }
                }
            }
            for (cause, changes) in changes {
                let difference = NodeDifference::Changed(changes);
                all.entry(cause).or_default().push((name.clone(), difference));
            }
        }
        all
    }
}

impl NodeIssues {
    /// The differences of a node; `None` if there are none.
    fn of(node: usize, base: Variation, difference: NodeDifference) -> Option<NodeIssues> {
        let outcome = outcome_id(&difference);
        let issue = |difference| Issue { difference, cause: None };
        let issues = match difference {
            NodeDifference::Same | NodeDifference::Failing => return None,
            NodeDifference::Changed(changes) => {
                let changes = changes.into_iter().flat_map(NodeChange::split);
                let kind = |change: NodeChange| {
                    let key = ChangeKey::of(&change);
                    issue(IssueKind::Change(Box::new(change), key))
                };
                changes.map(kind).collect()
            }
            other => vec![issue(IssueKind::Node(other))],
        };
        Some(NodeIssues { node, base, outcome, issues, effective: Vec::new() })
    }

    /// Whether a difference has no cause yet.
    fn is_open(&self) -> bool {
        self.issues.iter().any(|issue| issue.cause.is_none())
    }

    /// Blames the cause for the differences that are gone in the outcome. Returns whether the node renders there
    /// and did not before.
    fn explain(&mut self, outcome: &NodeDifference, cause: &CauseSet) -> bool {
        let seen = RenderedOutcome::of(outcome);
        let mut renders_now = false;
        for issue in self.issues.iter_mut().filter(|issue| issue.cause.is_none()) {
            if seen.explains(&issue.difference) {
                issue.cause = Some(cause.clone());
                renders_now |= matches!(
                    issue.difference,
                    IssueKind::Node(NodeDifference::Broken(_) | NodeDifference::Removed)
                );
            }
        }
        renders_now
    }

    /// Blames what the two values of a change show.
    fn recognize(&mut self, recognizer: &mut Recognizer<'_>, name: &Text) {
        let open = |issue: &&mut Issue| issue.cause.is_none();
        let change = |issue: &'_ Issue| match &issue.difference {
            IssueKind::Change(change, _) if issue.cause.is_none() => Some(change.clone()),
            _ => None,
        };
        let changes: Vec<Box<NodeChange>> = self.issues.iter().filter_map(change).collect();
        if changes.is_empty() {
            return;
        }
        let causes = recognizer.causes(name, &changes.iter().map(|change| &**change).collect::<Vec<_>>());
        let open = self.issues.iter_mut().filter(open);
        let open = open.filter(|issue| matches!(issue.difference, IssueKind::Change(..)));
        for (issue, cause) in open.zip(causes) {
            issue.cause = cause.map(CauseSet::Evidence);
        }
    }

    /// Errors that only a ruling makes are their own cause, and so are objects of Python in old values.
    fn blame_evidence(&mut self) {
        // The differences of the items of a list share it.
        let mut lists: FxHashMap<usize, bool> = FxHashMap::default();
        for issue in self.issues.iter_mut().filter(|issue| issue.cause.is_none()) {
            issue.cause = match &issue.difference {
                IssueKind::Node(NodeDifference::Broken(faults)) => {
                    let all = faults.iter().flat_map(|fault| std::iter::once(fault).chain(&fault.causes));
                    all.map(Fault::code).find(|code| evidence(code).is_some()).map(CauseSet::Evidence)
                }
                IssueKind::Change(change, _) => {
                    let leaks = change.old.as_ref().is_some_and(|old| {
                        let leaks = || is_object(&pystr::repr(old));
                        old.container_address()
                            .map_or_else(leaks, |list| *lists.entry(list).or_insert_with(leaks))
                    });
                    leaks.then_some(CauseSet::Evidence(LEAKED_OBJECT))
                }
                IssueKind::Node(_) => None,
            };
        }
    }
}

/// Whether a text holds the representation of an object of the Python programs.
fn is_object(text: &str) -> bool {
    text.contains("<reclass.") || text.contains("Value(") && text.contains("Item(")
}

/// The outcome of a node, to look up differences in.
enum RenderedOutcome {
    /// It renders, with these differences.
    Changed {
        keys: FxHashSet<ChangeKey>,
        /// The paths that differ as a whole.
        whole: FxHashSet<(Section, Vec<String>)>,
        /// The lists that differ in some items.
        lists: FxHashSet<(Section, Vec<String>)>,
        /// All beginnings of paths that differ.
        above: FxHashSet<(Section, Vec<String>)>,
    },
    /// It renders on neither side.
    Failing,
    /// The node is on neither side.
    Absent,
    /// It exists or renders on one side only.
    OneSide,
}

impl RenderedOutcome {
    fn of(difference: &NodeDifference) -> RenderedOutcome {
        let changes: &[NodeChange] = match difference {
            NodeDifference::Same => &[],
            NodeDifference::Changed(changes) => changes,
            NodeDifference::Failing => return RenderedOutcome::Failing,
            NodeDifference::Removed | NodeDifference::Added(_) => return RenderedOutcome::Absent,
            _ => return RenderedOutcome::OneSide,
        };
        let mut keys = FxHashSet::default();
        let [mut whole, mut lists, mut above] =
            [FxHashSet::default(), FxHashSet::default(), FxHashSet::default()];
        for change in changes.iter().cloned().flat_map(NodeChange::split) {
            let key = ChangeKey::of(&change);
            for length in 0..key.path.len() {
                above.insert((key.section, key.path[..length].to_vec()));
            }
            let place = (key.section, key.path.clone());
            if key.item.is_none() {
                whole.insert(place);
            } else {
                lists.insert(place);
            }
            keys.insert(key);
        }
        RenderedOutcome::Changed { keys, whole, lists, above }
    }

    /// Whether a difference is gone in this outcome.
    fn explains(&self, difference: &IssueKind) -> bool {
        match (difference, self) {
            (IssueKind::Change(_, key), RenderedOutcome::Changed { keys, whole, lists, above }) => {
                let mut places =
                    (0..=key.path.len()).map(|length| (key.section, key.path[..length].to_vec()));
                let is_list = |place: &(Section, Vec<String>)| {
                    // Other items of the same list are other differences.
                    lists.contains(place) && (key.item.is_none() || place.1.len() < key.path.len())
                };
                !keys.contains(key)
                    && !above.contains(&(key.section, key.path.clone()))
                    && !places.any(|place| whole.contains(&place) || is_list(&place))
            }
            (
                IssueKind::Node(NodeDifference::Broken(_) | NodeDifference::Removed),
                RenderedOutcome::Changed { .. },
            )
            | (IssueKind::Node(NodeDifference::Mended(_)), RenderedOutcome::Failing) => true,
            _ => false,
        }
    }
}

/// Identifies an outcome, to see whether a ruling changes it.
fn outcome_id(difference: &NodeDifference) -> u64 {
    let mut hasher = FxHasher::default();
    std::mem::discriminant(difference).hash(&mut hasher);
    match difference {
        NodeDifference::Changed(changes) => {
            for change in changes.iter().cloned().flat_map(NodeChange::split) {
                change.path.hash(&mut hasher);
                change.sameness().hash(&mut hasher);
            }
        }
        NodeDifference::Broken(faults) | NodeDifference::Added(faults) => {
            for fault in faults {
                fault.kind.to_string().hash(&mut hasher);
            }
        }
        _ => {}
    }
    hasher.finish()
}

/// The sets of these rulings in which none excludes another, as large as possible.
fn compatible(rulings: &[usize]) -> Vec<Vec<usize>> {
    let excluding: Vec<usize> = rulings
        .iter()
        .copied()
        .filter(|one| {
            rulings.iter().any(|other| other != one && ALTERNATIVES[*one].excludes(&ALTERNATIVES[*other]))
        })
        .collect();
    if excluding.is_empty() {
        return vec![rulings.to_vec()];
    }
    let set = |chosen: usize| {
        let fits = |one: &&usize| **one == chosen || !excluding.contains(one);
        rulings.iter().filter(fits).copied().collect()
    };
    excluding.iter().map(|chosen| set(*chosen)).collect()
}
