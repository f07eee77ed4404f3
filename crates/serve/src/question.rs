//! A question of a minion: its pillar or its top, of one state of the inventory and under one lock, with everything
//! that the caller logs about it.

use std::sync::Arc;
use std::time::Duration;

use super::rule::ServeRule;
use super::served::Served;
use reclass::parts::engine::Database;
use reclass::parts::output::wire;
use reclass::redact::Redaction;
use reclass::report::full;
use reclass::{FetchState, Inventory, NodeInfo, Request, Top};
#[cfg(feature = "validation")]
use reclass_analysis::{pillars, violations};
use reclass_base::error::{Error, Fault, Kind, Result, Warning, concise_warning, truncate_unless_grouped};
use reclass_base::path::split_path;
use reclass_base::settings::{NodeNotFound, Settings};
use reclass_base::stack::grow;
use reclass_base::value::Value;

/// The pillar of a minion.
#[derive(Debug)]
pub struct Pillar {
    /// The answer; `wire_values` are the values as Salt carries them.
    pub node: Arc<NodeInfo>,
    /// The name of the state that it is of, with `revision_in_pillar`.
    pub revision: Option<String>,
    /// What breaks a schema and is not refused.
    pub warnings: Vec<Warning>,
}

/// An answer, or why there is none, and what the caller logs about it.
#[derive(Debug)]
pub struct ServedReply<T> {
    /// The answer.
    pub result: Result<T, FailedQuestion>,
    /// What the caller logs.
    pub remarks: Remarks,
}

/// What the caller of a question logs.
#[derive(Debug)]
pub struct Remarks {
    /// What happened to the inventory.
    pub news: News,
    /// Whether the answer was remembered, and not computed.
    pub remembered: bool,
    inventory: Arc<Inventory>,
    /// The changes of files that the answer has seen.
    changes: u64,
}

/// Why a question has no answer.
#[derive(Debug)]
pub struct FailedQuestion {
    /// The errors.
    pub error: Error,
    /// The same with excerpts of files, secrets hidden.
    pub full: String,
    /// Whether the same error was met before and no file has changed since.
    pub repeated: bool,
}

/// What happened to an inventory since the last question.
#[derive(Debug)]
pub struct News {
    /// Whether the kernel reports changes of files, if that is new, and where the nodes are.
    pub watching: Option<(bool, String)>,
    /// What is fetched from elsewhere, if any of it is stale, or was before.
    pub fetches: Option<Fetches>,
    /// Sentences about commits that were tested; `true` if nodes break.
    pub tested: Vec<(bool, String)>,
}

/// The repositories and the etcd of an inventory.
#[derive(Debug)]
pub struct Fetches {
    /// A name of the inventory in this process.
    pub inventory: String,
    /// Their states.
    pub states: Vec<FetchState>,
    /// The time after which stale data are logged again.
    pub interval: Duration,
}

impl Remarks {
    /// Whether this text was not logged yet since files last changed.
    pub fn is_first_notice(&self, text: &str) -> bool {
        self.inventory.notices().is_new(text, self.changes)
    }
}

impl Served {
    /// The pillar of a minion; `None` if it has no node and the settings require no data in this case (S14).
    /// With `refuses`, one that breaks a schema is an error whatever the setting `schema_check` says. `was_stale` says
    /// that data from elsewhere were stale at an earlier question.
    pub fn pillar(
        &self,
        minion: &str,
        request: &Request,
        refuses: bool,
        was_stale: bool,
    ) -> ServedReply<Option<Pillar>> {
        self.question(minion, was_stale, |database, settings| {
            pillar(database, settings, minion, request, refuses)
        })
    }

    /// The top of a minion; `None` as for a pillar.
    pub fn top(&self, minion: &str, request: &Request, was_stale: bool) -> ServedReply<Option<Top>> {
        self.question(minion, was_stale, |database, settings| {
            for_minion(settings, minion, |mapped| database.top(minion, request, mapped))
        })
    }

    /// The answer for a node, as a program prints it.
    pub fn nodeinfo(&self, name: &str, request: &Request, was_stale: bool) -> ServedReply<Arc<NodeInfo>> {
        self.question(name, was_stale, |database, _| database.answer(name, request, false))
    }

    /// The answer for a minion, with the name of the state that it is of with `revision_in_pillar`. Values are those of
    /// the inventory, not of Salt.
    ///
    /// # Errors
    ///
    /// Those of the node.
    pub fn answer(&self, name: &str, request: &Request) -> Result<(Arc<NodeInfo>, Option<String>)> {
        let state = self.of(name)?;
        answer(&mut state.database(), self.settings(), name, request, false)
    }

    /// A question to the state that a node gets, or that most nodes get. It may take the lock of the state several
    /// times, as analyses do.
    pub fn ask<T>(
        &self,
        node: Option<&str>,
        was_stale: bool,
        ask: impl FnOnce(&Inventory) -> Result<T>,
    ) -> ServedReply<T> {
        let state = self.state(node);
        let inventory = state.as_ref().map_or_else(|_| self.newest.clone(), Arc::clone);
        let result = state.and_then(|state| ask(&state));
        let database = inventory.database();
        self.answered(&inventory, &database, was_stale, result, false)
    }

    fn question<T>(
        &self,
        node: &str,
        was_stale: bool,
        ask: impl FnOnce(&mut Database, &Settings) -> Result<T>,
    ) -> ServedReply<T> {
        let state = self.state(Some(node));
        let inventory = state.as_ref().map_or_else(|_| self.newest.clone(), Arc::clone);
        let mut database = inventory.database();
        let before = database.inputs.counters.counts();
        let result = state.and_then(|_| ask(&mut database, inventory.settings()));
        let now = database.inputs.counters.counts();
        // With `revision_in_pillar`, an answer that was just computed is asked for once more.
        let remembered = now.reused > before.reused && now.computed == before.computed;
        self.answered(&inventory, &database, was_stale, result, remembered)
    }

    fn answered<T>(
        &self,
        inventory: &Arc<Inventory>,
        database: &Database,
        was_stale: bool,
        result: Result<T>,
        remembered: bool,
    ) -> ServedReply<T> {
        let (inputs, changes) = (&database.inputs, database.change_count());
        let notices = inventory.notices();
        let result = result.map_err(|error| {
            let redaction = Redaction::of(self.settings());
            let read = |path: &str| inputs.files.text(path).map(|text| redaction.source(&text));
            let full = full(&error, false, &read);
            let repeated = !notices.is_new(&without_node(error.faults()), changes);
            FailedQuestion { error, full, repeated }
        });
        let watching = notices.watch_mode_change(inputs.is_watched());
        let fetches = (was_stale || !inputs.warnings().is_empty()).then(|| {
            let settings = self.settings();
            let (place, prefix) = (inputs.node_location(), &settings.etcd_prefix);
            Fetches {
                inventory: format!("{place} {prefix:?} {:?}", settings.etcd_cache_dir),
                states: inputs.fetch_states(),
                interval: Duration::from_secs(settings.stale_log_interval.into()),
            }
        });
        let news = News {
            watching: watching.map(|watching| (watching, inputs.node_location())),
            fetches,
            tested: self.rule.as_ref().map(ServeRule::take_news).unwrap_or_default(),
        };
        let remarks = Remarks { news, remembered, inventory: inventory.clone(), changes };
        ServedReply { result, remarks }
    }
}

/// The text of faults without the node, so that it is the same for all nodes.
pub fn without_node(faults: &[Fault]) -> String {
    let lines = faults.iter().map(|fault| concise_warning(&Fault { node: None, ..fault.clone() }));
    lines.collect::<Vec<_>>().join("\n")
}

/// The answer for a minion; `None` if it has no node and the settings require no data in this case (S14). The
/// argument of `answer` is whether the node needs no file.
fn for_minion<T>(
    settings: &Settings,
    minion: &str,
    mut answer: impl FnMut(bool) -> Result<T>,
) -> Result<Option<T>> {
    let error = match answer(false) {
        Ok(given) => return Ok(Some(given)),
        Err(error) => error,
    };
    match (settings.node_not_found, &error.first().kind) {
        (NodeNotFound::Empty, Kind::NodeNotFound { name, .. }) if name == minion => Ok(None),
        (NodeNotFound::Mappings, Kind::NodeNotFound { name, .. }) if name == minion => answer(true).map(Some),
        _ => Err(error),
    }
}

fn pillar(
    database: &mut Database,
    settings: &Settings,
    minion: &str,
    request: &Request,
    refuses: bool,
) -> Result<Option<Pillar>> {
    let found = for_minion(settings, minion, |mapped| answer(database, settings, minion, request, mapped))?;
    let Some((node, revision)) = found else { return Ok(None) };
    let warnings = check_schemas(database, settings, request, &node, refuses)?;
    if node.wire_values.get().is_none() {
        let values = grow(|| carried(database, settings, request, &node))?;
        node.wire_values.get_or_init(|| values);
    }
    Ok(Some(Pillar { node, revision, warnings }))
}

/// The answer for a minion, with the name of the state that it is of if the setting `revision_in_pillar` is on. With
/// `mapped`, the node needs no file.
pub(super) fn answer(
    database: &mut Database,
    settings: &Settings,
    name: &str,
    request: &Request,
    mapped: bool,
) -> Result<(Arc<NodeInfo>, Option<String>)> {
    /// How often both are found out anew if files keep changing.
    const ATTEMPTS: usize = 3;
    let mut info = database.answer(name, request, mapped)?;
    if !settings.revision_in_pillar {
        return Ok((info, None));
    }
    for attempt in 1.. {
        let (state, was_known) = database.state_name();
        if was_known {
            return Ok((info, Some(state)));
        }
        let again = database.answer(name, request, mapped)?;
        if Arc::ptr_eq(&again, &info) || attempt == ATTEMPTS {
            return Ok((again, Some(state)));
        }
        info = again;
    }
    Ok((info, None))
}

/// Without schemas, as in a library that is built without them, nothing breaks one.
#[cfg(not(feature = "validation"))]
#[expect(clippy::unnecessary_wraps, reason = "as where there are schemas")]
fn check_schemas(_: &mut Database, _: &Settings, _: &Request, _: &NodeInfo, _: bool) -> Result<Vec<Warning>> {
    Ok(Vec::new())
}

/// Refuses a pillar that breaks a schema, or returns what breaks it, as the setting `schema_check` says, or as
/// `refuses` does.
#[cfg(feature = "validation")]
fn check_schemas(
    database: &mut Database,
    settings: &Settings,
    request: &Request,
    node: &NodeInfo,
    refuses: bool,
) -> Result<Vec<Warning>> {
    let is_refused = refuses || &*settings.schema_check == "error";
    if !is_refused && &*settings.schema_check == "off" {
        return Ok(Vec::new());
    }
    let faults = violations::of_answer(database, request, node)?;
    let (mut errors, warnings): (Vec<Fault>, Vec<Fault>) =
        faults.into_iter().partition(|fault| is_refused && pillars::is_error(fault));
    truncate_unless_grouped(&mut errors, settings.group_errors);
    if errors.is_empty() { Ok(warnings) } else { Err(Error::new(errors)) }
}

/// The parameters and the environment, converted for the wire, or the faults of everything that cannot be
/// carried, each with its place; only the first one without `group_errors` (R5).
fn carried(
    database: &mut Database,
    settings: &Settings,
    request: &Request,
    node: &NodeInfo,
) -> Result<(Value, Value)> {
    let mut faults = Vec::new();
    let mut carried = |value: &Value, root: &str| {
        let carried = wire::carry(value, root, &settings.delimiter);
        carried.map_err(|error| faults.extend(error.into_faults())).unwrap_or_default()
    };
    let parameters = carried(&node.parameters, "parameters");
    let environment = carried(&node.environment, "environment");
    if faults.is_empty() {
        return Ok((parameters, environment));
    }
    truncate_unless_grouped(&mut faults, settings.group_errors);
    for fault in &mut faults {
        fault.node = Some(node.name.clone());
        let path = fault.path.as_deref().map(|path| split_path(path, &settings.delimiter));
        let place = path.and_then(|_| database.locate_value(&node.name, request, fault.path.as_deref()?));
        if let (None, Some((site, chain))) = (&fault.site, place) {
            (fault.site, fault.chain) = (Some(site), chain);
        }
    }
    Err(Error::new(faults))
}
