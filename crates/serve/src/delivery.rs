//! The way of a commit to the minions, as a table: fetched, tested, served, held, on trial, waiting.

use std::time::SystemTime;

use serde::Serialize;

use super::decision::{Decision, HeldNodes, name};
use super::served::Served;
use reclass::parts::engine::LastFetch;
use reclass::parts::engine::sources::utc;
use reclass::parts::storage::Moment;
use reclass_base::error::Result;

/// Where the newest commits are on their way to the minions. Names of commits are as `a1b2c3d4 of main`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "each is a line of the table")]
pub struct Delivery {
    /// The commits that were fetched last.
    pub fetched: String,
    /// The newest commits that were tested.
    pub tested: String,
    /// The commits that most nodes get.
    pub served: String,
    /// Whether any node gets the commits that were tested last.
    pub is_served: bool,
    /// Whether no node gets them because somebody ended their trial.
    pub is_aborted: bool,
    /// The errors of the commits that were tested last, each with the nodes that keep earlier ones.
    pub held: Vec<HeldNodes>,
    /// Whether the newest commits were tested without earlier ones, because none were known.
    pub is_first: bool,
    /// Their errors then, with the nodes that have no pillar.
    pub first: Vec<HeldNodes>,
    /// The trial of the commits that were tested last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialState>,
    /// Seconds since the fetch of the first commits that are not tested yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// Whether a record of the decision was there and could not be believed.
    pub distrusted: bool,
}

/// Commits that some nodes get first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialState {
    /// Their name.
    pub revision: String,
    /// When the trial began.
    pub since: String,
    /// Its seconds.
    pub seconds: u64,
    /// The nodes that get them, sorted.
    pub nodes: Vec<String>,
}

impl Served {
    /// The way of the newest commits to the minions; `None` if commits are not tested. Tests commits that were fetched
    /// as every question does.
    ///
    /// # Errors
    ///
    /// A repository that cannot be fetched, or a decision that cannot be made.
    pub fn delivery(&self) -> Result<Option<Delivery>> {
        let Some(rule) = &self.rule else { return Ok(None) };
        let (decision, fetched) = rule.current(&self.newest)?;
        Ok(Some(delivery(&decision, &fetched)))
    }

    /// The name of the commits that a node gets, and that of the newest ones, if these are others.
    pub fn older_for(&self, node: &str) -> Option<(String, String)> {
        let (decision, fetched) = self.rule.as_ref()?.current(&self.newest).ok()?;
        let own = decision.commits_of(node);
        (*own != fetched.heads).then(|| (name(own, &fetched.heads), name(&fetched.heads, own)))
    }

    /// The same as of the last fetch, whoever fetched. Fetches and tests nothing.
    pub fn last_delivery(&self) -> Option<Delivery> {
        let fetched = self.rule.as_ref()?.last_fetched(&self.newest);
        Some(delivery(&*self.decision()?, &fetched))
    }
}

/// The way of the last fetch to the minions, as a decision has it.
pub(super) fn delivery(decision: &Decision, fetched: &LastFetch) -> Delivery {
    let (tested, is_served) = decision.newest();
    let trial = decision.trial.as_ref().map(|trial| TrialState {
        revision: trial.revision.clone(),
        since: utc(trial.began.clock),
        seconds: Moment::now().elapsed_since(trial.began).as_secs(),
        nodes: trial.nodes.clone(),
    });
    let waiting = (decision.tested != fetched.heads).then(|| {
        // The clock of the fetch that brought the first of them.
        let since =
            fetched.heads.iter().zip(&*fetched.records).enumerate().flat_map(|(at, (heads, record))| {
                heads.iter().filter_map(move |(branch, commit)| {
                    let tested = decision.tested.get(at).and_then(|tested| tested.get(branch));
                    if tested == Some(commit) { None } else { record.times.first_after(branch, tested) }
                })
            });
        let age = |since: SystemTime| SystemTime::now().duration_since(since).unwrap_or_default();
        since.min().map_or(0, |since| age(since).as_secs())
    });
    Delivery {
        fetched: name(&fetched.heads, &decision.tested),
        tested,
        served: name(decision.most(), if is_served { &decision.tested } else { decision.most() }),
        is_served,
        is_aborted: decision.is_aborted && !is_served,
        held: decision.held(),
        is_first: decision.is_first,
        first: decision.first.clone(),
        trial,
        waiting,
        distrusted: fetched.records.first().is_some_and(|record| record.distrusted),
    }
}
