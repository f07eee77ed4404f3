//! Reports an inventory as it is served: its state, the way of the newest commits, and the nodes without a pillar.

use std::fmt::Write as _;
use std::time::SystemTime;

use serde::Serialize;

use super::delivery::{Delivery, delivery};
use super::rule::DecidedStates;
use super::served::Served;
use reclass::ServedState;
use reclass::parts::engine::sources::utc;
use reclass_analysis::pillars;
use reclass_base::error::Result;
use reclass_base::value::Text;
use reclass_base::words::{count, listed};

/// Maximum number of nodes that are named; the others are counted.
const NAMED: usize = 10;

/// An inventory as it is served, as in `--output json`. `docs/fleet.md` describes it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// The state that most nodes get.
    #[serde(flatten)]
    pub state: ServedState,
    /// The way of the newest commits to the minions, if commits are tested (`serve`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of nodes that have no pillar. A node that is held has that of an earlier commit.
    pub failing: usize,
    /// The first of these.
    pub failing_nodes: Vec<Text>,
    /// The version of the engine.
    pub engine: &'static str,
}

/// Renders every node in its own state. All of it is of one decision.
///
/// # Errors
///
/// A state whose nodes cannot be listed.
pub fn status(served: &Served) -> Result<Status> {
    let (states, began, delivery) = match &served.rule {
        None => (vec![(served.newest.clone(), served.newest.nodes()?)], None, None),
        Some(rule) => {
            let DecidedStates { states, decision, fetched } = rule.states(&served.newest)?;
            (states, decision.began(), Some(delivery(&decision, &fetched)))
        }
    };
    let most = states.first().map_or(&served.newest, |(state, _)| state);
    let state = beginning(most.state()?, began);
    let mut failing: Vec<Text> = Vec::new();
    let mut nodes = 0;
    for (inventory, names) in states {
        let have_pillars = pillars::of_some(&inventory, &names)?;
        nodes += names.len();
        failing.extend(names.into_iter().zip(have_pillars).filter(|(_, has)| !has).map(|(name, _)| name));
    }
    failing.sort_unstable();
    let number = failing.len();
    failing.truncate(NAMED);
    let (failing, failing_nodes) = (number, failing);
    Ok(Status { state, delivery, nodes, failing, failing_nodes, engine: env!("CARGO_PKG_VERSION") })
}

/// The state that most nodes get, without rendering any.
///
/// # Errors
///
/// A state whose files cannot be listed.
pub fn state(served: &Served) -> Result<ServedState> {
    let state = served.of_most()?.state()?;
    Ok(beginning(state, served.decision().and_then(|decision| decision.began())))
}

/// A state that most nodes got at another time than its fetch.
fn beginning(state: ServedState, began: Option<SystemTime>) -> ServedState {
    ServedState { since: began.map(utc).or(state.since), ..state }
}

/// The lines about the way of the newest commits.
fn delivered(delivery: &Delivery, out: &mut String) {
    if let Some(waiting) = delivery.waiting {
        let _ = writeln!(out, "{}: fetched, and not tested for {waiting} s", delivery.fetched);
    }
    if let Some(trial) = &delivery.trial {
        let nodes = listed(&trial.nodes, NAMED);
        let _ = writeln!(out, "{}: on trial since {} with {nodes}", trial.revision, trial.since);
    }
    if delivery.is_aborted {
        let _ = writeln!(out, "{}: served to none, as its trial was aborted", delivery.tested);
    }
    for first in &delivery.first {
        let nodes = listed(&first.nodes, NAMED);
        let _ = writeln!(out, "{}: no earlier commit is known for {nodes}", delivery.tested);
        let _ = writeln!(out, "  {}", first.problem);
    }
    let none = if delivery.is_served { "" } else { "served to none, " };
    for held in &delivery.held {
        let (revision, none) = held.revision.as_ref().map_or((&delivery.tested, none), |one| (one, ""));
        let _ = writeln!(out, "{revision}: {none}held for {}", listed(&held.nodes, NAMED));
        let _ = writeln!(out, "  {}", held.problem);
    }
}

/// The text of a status.
pub fn text(status: &Status) -> String {
    let since = status.state.since.as_ref().map_or_else(String::new, |since| format!(" since {since}"));
    let mut out = format!("revision {}{since}\n", status.state.revision);
    for source in &status.state.sources {
        let mut about: Vec<String> =
            source.commits.iter().map(|(branch, commit)| format!("{commit} of {branch}")).collect();
        about.extend(source.fingerprint.iter().map(|fingerprint| match source.clean {
            Some(_) => format!("changed files, fingerprint {fingerprint}"),
            None => format!("fingerprint {fingerprint}"),
        }));
        about.extend(source.fetched.iter().map(|fetched| format!("fetched {fetched}")));
        about.extend(source.failed.iter().map(|failed| format!("last failure {failed}")));
        let _ = writeln!(out, "{}: {}", reclass_base::error::inert(&source.source), about.join(", "));
        if let Some(stale) = &source.stale {
            let _ = writeln!(out, "  stale: {stale}");
        }
    }
    if let Some(delivery) = &status.delivery {
        delivered(delivery, &mut out);
    }
    let names = status.failing_nodes.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
    let more = status.failing.saturating_sub(status.failing_nodes.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names = if names.is_empty() { names } else { format!(": {names}{more}") };
    let verb = if status.failing == 1 { "fails" } else { "fail" };
    let _ = writeln!(out, "{}, {} {verb}{names}", count(status.nodes, "node"), status.failing);
    let _ = write!(out, "engine {}", status.engine);
    out
}
