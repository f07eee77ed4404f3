//! The decision about the commits in use: the commit that each node gets.
//!
//! It is part of the record of the last fetch, so that both are replaced in one step, and every question of every
//! process reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use reclass::parts::storage::{Heads, Moment};
use reclass_base::error::{Error, by_problem};

/// The most states in use at once: the one of most nodes, the one on trial, and one before for nodes that are held.
pub(super) const MOST: usize = 3;
/// Characters of a commit in a sentence.
const SHOWN: usize = 8;

/// The commits that each node gets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// The settings whose rule made it.
    pub(super) by: RuleSettings,
    /// The commits in use. The first ones are those of most nodes.
    pub(super) commits: Vec<Arc<Heads>>,
    /// The other nodes, with indexes into `commits`.
    pub(super) nodes: BTreeMap<String, usize>,
    /// The newest commits that were tested.
    pub(super) tested: Arc<Heads>,
    /// What they break.
    pub problems: Vec<HeldNodes>,
    /// Whether the newest commits were tested without earlier ones.
    pub is_first: bool,
    /// What has no pillar in them then.
    pub first: Vec<HeldNodes>,
    /// Whether somebody ended their trial, so that no node gets them.
    #[serde(default)]
    pub(super) is_aborted: bool,
    /// The trial of the newest commits.
    pub trial: Option<Trial>,
    /// When most nodes got their commits.
    pub(super) began: Option<Moment>,
    /// Duration of the test.
    pub(super) took: Duration,
}

/// The settings whose rule made a decision.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct RuleSettings {
    /// A fingerprint of those that a pillar or the rule depends on.
    pub(super) settings: String,
    /// The branches that it reads, in the order of the commits.
    pub(super) branches: Vec<Branches>,
    /// Whether a process of a master made it.
    pub(super) is_of_master: bool,
}

/// A fingerprint of the address of a repository, and the names of the branches in use; `None` for all of them.
pub(super) type Branches = (String, Option<BTreeSet<String>>);

/// An error of new commits, and the nodes that it takes a pillar from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldNodes {
    /// The error with file and line.
    pub problem: String,
    /// The nodes, sorted.
    pub nodes: Vec<String>,
    /// The name of the commits that have it, if the newest ones would mend it and are not served to these nodes yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// Commits that some nodes get first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// Their name.
    pub revision: String,
    pub(super) began: Moment,
    /// The nodes that get them, sorted.
    pub nodes: Vec<String>,
    /// The decision after the trial, if all other nodes get them too.
    pub(super) promoted: Box<Decision>,
}

impl Decision {
    /// The decision that gives each of these nodes its commits. Unknown nodes get those of most, and of the newest
    /// commits if two have as many.
    pub(super) fn of(targets: BTreeMap<String, Arc<Heads>>, tested: &Arc<Heads>) -> Decision {
        let mut counts: Vec<(Arc<Heads>, usize)> = vec![(tested.clone(), 0)];
        for heads in targets.values() {
            match counts.iter_mut().find(|(known, _)| known == heads) {
                Some((_, count)) => *count += 1,
                None => counts.push((heads.clone(), 1)),
            }
        }
        // The newest commits are the first ones, and the sort is stable.
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let commits = counts.into_iter().enumerate().filter(|(at, (_, count))| *at == 0 || *count > 0);
        let commits: Vec<Arc<Heads>> = commits.map(|(_, (heads, _))| heads).collect();
        let number = |heads: Arc<Heads>| commits.iter().position(|known| *known == heads).unwrap_or(0);
        let nodes = targets.into_iter().map(|(node, heads)| (node, number(heads)));
        let nodes = nodes.filter(|(_, number)| *number > 0).collect();
        Decision {
            by: RuleSettings::default(),
            nodes,
            commits,
            tested: tested.clone(),
            problems: Vec::new(),
            is_first: false,
            first: Vec::new(),
            is_aborted: false,
            trial: None,
            began: None,
            took: Duration::ZERO,
        }
    }

    /// Whether each node gets one of its commits. A record that somebody edited may say otherwise.
    pub(super) fn is_possible(&self) -> bool {
        let promoted = self.trial.as_ref().is_none_or(|trial| trial.promoted.is_possible());
        promoted && !self.commits.is_empty() && self.nodes.values().all(|at| *at < self.commits.len())
    }

    /// The commits of most nodes.
    pub(super) fn most(&self) -> &Arc<Heads> {
        self.commits.first().unwrap_or(&self.tested)
    }

    pub(super) fn commits_of(&self, node: &str) -> &Arc<Heads> {
        if self.trial.as_ref().is_some_and(|trial| trial.has(node)) {
            return &self.tested;
        }
        self.nodes.get(node).and_then(|number| self.commits.get(*number)).unwrap_or_else(|| self.most())
    }

    /// The nodes that get other commits than most, sorted.
    pub(super) fn nodes_of_other_commits(&self) -> Vec<String> {
        let on_trial = self.trial.iter().flat_map(|trial| &trial.nodes);
        let nodes: BTreeSet<&String> = self.nodes.keys().chain(on_trial).collect();
        nodes.into_iter().filter(|node| self.commits_of(node) != self.most()).cloned().collect()
    }

    /// The commits that any node gets, those of most nodes first.
    pub(super) fn in_use(&self) -> Vec<&Arc<Heads>> {
        let on_trial =
            self.trial.iter().map(|_| &self.tested).filter(|tested| !self.commits.contains(tested));
        self.commits.iter().chain(on_trial).collect()
    }

    /// The decision without its trial: no node gets the commits on trial.
    pub(super) fn without_trial(&self) -> Decision {
        Decision { trial: None, ..self.clone() }
    }

    /// The decision after its trial, if all nodes get the commits.
    pub(super) fn after(&self, trial: &Trial) -> Decision {
        Decision { by: self.by.clone(), ..(*trial.promoted).clone() }
    }

    /// The same for other repositories and branches: each that was not read before is at its newest commit.
    pub(super) fn with_branches(&self, branches: &[Branches], newest: &Heads) -> Decision {
        let has = |names: &Option<BTreeSet<String>>, name: &String| {
            names.as_ref().is_none_or(|names| names.contains(name))
        };
        let at = |heads: &Arc<Heads>| -> Arc<Heads> {
            let repositories = branches.iter().zip(newest).map(|((repository, named), newest)| {
                let mut known = self.by.branches.iter().zip(heads.iter());
                let known = known.find(|((known, _), _)| known == repository);
                let before = known.into_iter().flat_map(|(_, heads)| heads);
                let before = before.filter(|(name, _)| has(named, name));
                let is_new = |name: &String| known.is_none_or(|((_, named), _)| !has(named, name));
                let new = newest.iter().filter(|(name, _)| is_new(name));
                before.chain(new).map(|(name, commit)| (name.clone(), commit.clone())).collect()
            });
            Arc::new(repositories.collect())
        };
        let trial = self.trial.as_ref().map(|trial| {
            let promoted = self.after(trial).with_branches(branches, newest);
            Trial { promoted: Box::new(promoted), ..trial.clone() }
        });
        // Commits that differed in other branches are the same now.
        let mut commits: Vec<Arc<Heads>> = Vec::new();
        let places = self.commits.iter().map(at).map(|heads| {
            let place = commits.iter().position(|known| *known == heads);
            place.unwrap_or_else(|| {
                commits.push(heads);
                commits.len() - 1
            })
        });
        let places: Vec<usize> = places.collect();
        let nodes = self.nodes.iter().filter_map(|(node, at)| Some((node.clone(), *places.get(*at)?)));
        let nodes = nodes.filter(|(_, place)| *place > 0).collect();
        Decision { commits, nodes, tested: at(&self.tested), trial, ..self.clone() }
    }

    /// The name of the newest commits that were tested, and whether any node gets them.
    pub fn newest(&self) -> (String, bool) {
        let in_use = self.in_use();
        let other = in_use.iter().find(|heads| ***heads != self.tested).map_or(&self.tested, |heads| *heads);
        (name(&self.tested, other), in_use.contains(&&self.tested))
    }

    /// When most nodes got their commits.
    pub fn began(&self) -> Option<SystemTime> {
        self.began.map(|moment| moment.clock)
    }

    /// The nodes that keep earlier commits, by the problems of the newest ones, or of later commits than theirs.
    pub(super) fn held(&self) -> Vec<HeldNodes> {
        self.problems_of(|node| self.commits_of(node) != &self.tested)
    }

    /// The problems of nodes that keep earlier commits than most, and that newer ones do not break. Commits that are
    /// tested again, by other settings, no longer have those of their last test.
    pub(super) fn earlier_problems(
        &self,
        newest: &Heads,
        broken: &BTreeMap<String, Error>,
    ) -> Vec<HeldNodes> {
        let is_left = |node: &str| self.commits_of(node) != self.most() && !broken.contains_key(node);
        let is_again = *self.tested == *newest;
        let tested = name(&self.tested, self.most());
        let of_tested =
            |held: HeldNodes| HeldNodes { revision: held.revision.or_else(|| Some(tested.clone())), ..held };
        let problems = self.problems_of(is_left).into_iter();
        problems.filter(|held| !is_again || held.revision.is_some()).map(of_tested).collect()
    }

    fn problems_of(&self, has: impl Fn(&str) -> bool) -> Vec<HeldNodes> {
        let mut problems = self.problems.clone();
        for held in &mut problems {
            held.nodes.retain(|node| has(node));
        }
        problems.retain(|held| !held.nodes.is_empty());
        problems
    }
}

impl Trial {
    /// Whether a node gets the commits on trial.
    pub(super) fn has(&self, node: &str) -> bool {
        self.nodes.binary_search_by(|known| (**known).cmp(node)).is_ok()
    }
}

/// The errors of nodes, the same ones together.
pub(super) fn problems(broken: &BTreeMap<String, Error>) -> Vec<HeldNodes> {
    let together = by_problem(broken.iter().map(|(node, error)| (node.clone(), error.faults().to_vec())));
    together.into_iter().map(|(problem, nodes)| HeldNodes { problem, nodes, revision: None }).collect()
}

/// The commits of a revision that another one does not have: `a1b2c3d4 of main`. All of them, if both have the same.
pub(super) fn name(heads: &Heads, other: &Heads) -> String {
    let empty = BTreeMap::new();
    let shown =
        |(name, commit): (&String, &Arc<str>)| format!("{} of {name}", commit.get(..SHOWN).unwrap_or(commit));
    let branches = heads.iter().enumerate().flat_map(|(at, branches)| {
        let before = other.get(at).unwrap_or(&empty);
        branches.iter().filter(|(name, commit)| heads == other || before.get(*name) != Some(commit))
    });
    let gone = other.iter().enumerate().flat_map(|(at, branches)| {
        let now = heads.get(at).unwrap_or(&empty);
        branches.keys().filter(|name| !now.contains_key(*name))
    });
    let gone = gone.map(|name| format!("without branch {name}"));
    let names: BTreeSet<String> = branches.map(shown).chain(gone).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}
