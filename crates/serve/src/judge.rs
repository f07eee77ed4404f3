//! Tests new commits: which nodes lose their pillar in them, and who gets them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::decision::{Decision, MOST, Trial, name, problems};
use super::rule::ServeRule;
use reclass::Inventory;
use reclass::parts::engine::LastFetch;
use reclass::parts::storage::{Heads, Moment};
use reclass_analysis::pillars;
use reclass_base::error::{Error, Kind, Result};
use reclass_base::value::{Text, Value};
use reclass_base::words::{count, listed};

/// Names of nodes in a sentence.
const NAMED: usize = 10;

/// The decision that a new master begins with: all nodes get the commits of the setting `serve_from`.
///
/// # Errors
///
/// A commit that no repository has.
pub(super) fn start(rule: &ServeRule, newest: &Inventory, fetched: &LastFetch) -> Result<Option<Decision>> {
    let Some(from) = &rule.from else { return Ok(None) };
    let mut is_known = false;
    let mut heads = Heads::default();
    let repositories = newest.locations().repositories.iter().zip(&*fetched.records);
    for ((repository, record), branches) in repositories.zip(&*fetched.heads) {
        let commit = repository.commit_named(record, from)?;
        is_known |= commit.is_some();
        let at = |(branch, head): (&String, &Arc<str>)| {
            (branch.clone(), commit.clone().unwrap_or_else(|| head.clone()))
        };
        heads.push(branches.iter().map(at).collect());
    }
    if is_known { Ok(Some(Decision::of(BTreeMap::new(), &Arc::new(heads)))) } else { Err(Error::from(rule)) }
}

/// Renders all nodes of the last fetch, and decides who gets it.
///
/// # Errors
///
/// Commits that cannot be read at the moment, which says nothing about them.
pub(super) fn test(
    rule: &ServeRule,
    newest: &Inventory,
    before: Option<&Decision>,
    fetched: &LastFetch,
) -> Result<Decision> {
    let began = Instant::now();
    let candidate = newest.pinned_without_grains(fetched.clone())?;
    let tested = pillars::of_all(&candidate);
    // It takes as much memory as the state in use.
    drop(candidate);
    let errors = tested.iter().flatten().filter_map(|(_, error)| error.as_ref());
    if let Some(error) = errors.chain(tested.as_ref().err()).find(|error| is_of_the_moment(error)) {
        return Err(error.clone());
    }
    let Some(base) = before.map(Decision::without_trial) else {
        return Ok(Decision { took: began.elapsed(), ..first(tested, &fetched.heads) });
    };
    let is_readable = tested.is_ok();
    let (names, broken) = match tested {
        Ok(nodes) => {
            let broken = lost(rule, newest, &base, fetched, &nodes)?;
            (nodes.into_iter().map(|(name, _)| name).collect(), broken)
        }
        Err(error) => {
            let mut names = rule.state(newest, &base, base.most(), fetched)?.nodes()?;
            names.extend(base.nodes.keys().map(|name| Text::from(name.as_str())));
            (Vec::new(), names.into_iter().map(|node| (node.to_string(), error.clone())).collect())
        }
    };
    let decision = decide(rule, &base, &fetched.heads, &names, &broken, is_readable);
    Ok(Decision { took: began.elapsed(), ..decision })
}

/// Whether git, etcd or the disk failed. Such an error says nothing about the commits.
fn is_of_the_moment(error: &Error) -> bool {
    error.faults().iter().any(|fault| {
        matches!(
            fault.kind,
            Kind::GitProgram { .. }
                | Kind::GitFetch { .. }
                | Kind::GitAccess { .. }
                | Kind::GitTimeout { .. }
                | Kind::GitCache { .. }
                | Kind::EtcdUnreachable { .. }
                | Kind::FileChanging { .. }
        )
    })
}

/// The decision about commits without earlier ones: what fails in them has no pillar.
fn first(tested: Result<Vec<(Text, Option<Error>)>>, heads: &Arc<Heads>) -> Decision {
    let failing: BTreeMap<String, Error> = match tested {
        Ok(nodes) => nodes.into_iter().filter_map(|(node, error)| Some((node.to_string(), error?))).collect(),
        // Every question has this error.
        Err(_) => BTreeMap::new(),
    };
    Decision { is_first: true, first: problems(&failing), ..Decision::of(BTreeMap::new(), heads) }
}

/// The nodes that have a pillar in their commits and none in the new ones, with the error.
fn lost(
    rule: &ServeRule,
    newest: &Inventory,
    base: &Decision,
    fetched: &LastFetch,
    nodes: &[(Text, Option<Error>)],
) -> Result<BTreeMap<String, Error>> {
    let mut broken = BTreeMap::new();
    for commits in base.in_use() {
        let failing = nodes.iter().filter_map(|(node, error)| Some((node, error.as_ref()?)));
        let failing: Vec<(&Text, &Error)> =
            failing.filter(|(node, _)| base.commits_of(node) == commits).collect();
        if failing.is_empty() {
            continue;
        }
        let state = if newest.settings().known_grains == Value::Null {
            rule.state(newest, base, commits, fetched)?
        } else {
            let pinned = LastFetch { heads: commits.clone(), records: fetched.records.clone() };
            Arc::new(newest.pinned_without_grains(pinned)?)
        };
        let names: Vec<Text> = failing.iter().map(|(node, _)| (*node).clone()).collect();
        let had = match pillars::of_some(&state, &names) {
            Ok(had) => had,
            Err(error) if is_of_the_moment(&error) => return Err(error),
            // Commits of which nothing can be read have no pillar to lose.
            Err(_) => continue,
        };
        let lost = failing.into_iter().zip(had).filter(|(_, had)| *had);
        broken.extend(lost.map(|((node, error), _)| (node.to_string(), error.clone())));
    }
    Ok(broken)
}

/// Who gets new commits that break these nodes.
fn decide(
    rule: &ServeRule,
    base: &Decision,
    tested: &Arc<Heads>,
    names: &[Text],
    broken: &BTreeMap<String, Error>,
    is_readable: bool,
) -> Decision {
    let revision = name(tested, base.most());
    let problems = problems(broken);
    let first = problems.first().map_or_else(String::new, |held| format!(": {}", held.problem));
    let nodes = count(broken.len(), "node");
    let refused = Decision {
        tested: tested.clone(),
        problems: problems.iter().cloned().chain(base.earlier_problems(tested, broken)).collect(),
        is_first: false,
        first: Vec::new(),
        is_aborted: false,
        ..base.clone()
    };
    // A node that is gone is gone in its commits too.
    let targets = names.iter().map(ToString::to_string).chain(base.nodes.keys().cloned());
    let target = |node: String| {
        let commits = if broken.contains_key(&node) { base.commits_of(&node) } else { tested };
        (node, commits.clone())
    };
    let mut promoted = Decision::of(targets.chain(broken.keys().cloned()).map(target).collect(), tested);
    promoted.problems = problems;
    let is_for_none = !promoted.in_use().contains(&tested);
    // A changed setting takes no commit from the nodes that have it.
    let needs_all = rule.whole && !base.in_use().contains(&tested);
    if !broken.is_empty() && (needs_all || !is_readable || is_for_none) {
        rule.tell(true, format!("revision {revision} breaks {nodes} and is served to none{first}"));
        return refused;
    }
    let canary = rule.canary.as_ref().filter(|_| base.most() != tested);
    let mut first_ones = names.iter().filter(|name| canary.is_some_and(|canary| canary.has(name))).peekable();
    if first_ones.peek().is_some() && first_ones.all(|name| broken.contains_key(&**name)) {
        let why = "and is served to none, because nobody could try it";
        rule.tell(true, format!("revision {revision} breaks all nodes that get it first, {why}{first}"));
        return refused;
    }
    let on_trial = canary.map(|canary| {
        let chosen = names.iter().filter(|name| canary.has(name) && !broken.contains_key(&***name));
        let nodes: Vec<String> = chosen.map(ToString::to_string).collect();
        let (began, promoted) = (Moment::now(), Box::new(promoted.clone()));
        Decision {
            trial: Some(Trial { revision: revision.clone(), began, nodes, promoted }),
            ..refused.clone()
        }
    });
    // A trial of the next commit needs one of them, too: otherwise a commit that mends the held nodes had no room.
    if promoted.in_use().len() > MOST - usize::from(canary.is_some()) {
        let earlier = if canary.is_some() { "an earlier one" } else { "two earlier ones" };
        let why = format!("because nodes keep {earlier} already");
        rule.tell(true, format!("revision {revision} breaks {nodes} and is served to none, {why}{first}"));
        return refused;
    }
    if !broken.is_empty() {
        let keeps = if broken.len() == 1 { "keeps" } else { "keep" };
        rule.tell(true, format!("revision {revision} breaks {nodes}, which {keeps} the one before{first}"));
    }
    let (Some(canary), Some(decision)) = (canary, on_trial) else {
        if broken.is_empty() {
            rule.tell(false, format!("revision {revision} is served: it breaks no node"));
        }
        return promoted;
    };
    let nodes = decision.trial.as_ref().map_or(&[][..], |trial| &trial.nodes);
    let trial_of = if nodes.is_empty() { String::new() } else { format!(": {}", listed(nodes, NAMED)) };
    rule.tell(
        false,
        format!("revision {revision} is on trial with {}{trial_of}", count(nodes.len(), "node")),
    );
    if let Some(problem) = canary.unmatched(names.iter().map(|node| &**node)) {
        rule.tell(true, problem);
    }
    decision
}
