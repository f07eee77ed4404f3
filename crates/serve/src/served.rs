//! An inventory as it is served: it hands out the state that a node gets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use reclass::parts::storage::PathContext;
use reclass::{FetchState, Inventory, InventoryBuilder};
use reclass_base::error::{Result, Warning};
use reclass_base::settings::Settings;
use reclass_base::value::{Map, Text, Value};

use super::decision::Decision;
use super::registry;
use super::rule::{self, Asker, ServeRule};

/// The problem of a canary without `serve`.
const CANARY_WITHOUT_SERVE: &str =
    "the setting 'canary' has no effect, because 'serve' is 'now': each new revision is served to all nodes";

/// An inventory as it is served.
#[derive(Debug)]
pub struct Served {
    /// The state of the newest files or commits.
    pub(super) newest: Arc<Inventory>,
    /// How new commits are tested; `None` if they are served at once.
    pub(super) rule: Option<ServeRule>,
    /// What relative paths in its settings depend on.
    paths: PathContext,
    /// The process that it belongs to. A child takes it over from its parent.
    process: AtomicU32,
    forgotten: AtomicBool,
}

impl From<Inventory> for Served {
    /// One state alone, as it is.
    fn from(state: Inventory) -> Served {
        let (paths, process) = (PathContext::current(), AtomicU32::new(std::process::id()));
        Served { newest: Arc::new(state), rule: None, paths, process, forgotten: AtomicBool::new(false) }
    }
}

impl Served {
    /// Opens an inventory for this process alone. With `commits` and `serve`, folders in a repository are read as the
    /// commit has them that is checked out; without, their files are read, and nothing is tested.
    ///
    /// # Errors
    ///
    /// All wrong settings, together.
    pub fn open(options: &Map, commits: bool) -> Result<Served> {
        Served::opened(options, commits, Asker::Master)
    }

    /// The same for somebody who asks beside the pillars of a master, see [`Asker::Guest`].
    ///
    /// # Errors
    ///
    /// All wrong settings, together.
    pub fn beside(options: &Map, commits: bool) -> Result<Served> {
        Served::opened(options, commits, Asker::Guest)
    }

    pub(super) fn opened(options: &Map, commits: bool, asker: Asker) -> Result<Served> {
        let paths = PathContext::current();
        let newest = InventoryBuilder::new(options).with_commits(commits).open()?;
        let paths = paths.relevant_to(newest.settings());
        let rule = ServeRule::of(&newest, asker)?;
        let process = AtomicU32::new(std::process::id());
        Ok(Served { newest: Arc::new(newest), rule, paths, process, forgotten: AtomicBool::new(false) })
    }

    /// The inventory of these options; the whole process shares it. Folders in a repository are served as commits.
    ///
    /// # Errors
    ///
    /// All wrong settings, together.
    pub fn shared(options: &Map, asker: Asker) -> Result<Arc<Served>> {
        registry::shared(options, asker)
    }

    /// Drops all inventories of this process. After a panic, none of their state can be trusted.
    pub fn forget_all() {
        registry::forget();
    }

    /// Whether [`Served::shared`] would still answer with this inventory.
    pub fn is_shared(&self) -> bool {
        !self.forgotten.load(Ordering::Relaxed)
            && self.process.load(Ordering::Relaxed) == std::process::id()
            && self.paths_hold()
    }

    /// The checked settings.
    pub fn settings(&self) -> &Settings {
        self.newest.settings()
    }

    /// The warnings about the settings.
    pub fn settings_warnings(&self) -> &[Warning] {
        self.newest.settings_warnings()
    }

    /// Whether the settings name grains, so that answers depend on the grains of a request.
    pub fn reads_grains(&self) -> bool {
        self.newest.reads_grains()
    }

    /// Whether references can read this grain, or something in it.
    pub fn reads_grain(&self, name: &str) -> bool {
        self.newest.reads_grain(name)
    }

    /// The state that a node gets. An unknown name gets that of most nodes.
    ///
    /// # Errors
    ///
    /// A repository that cannot be fetched, or a decision that cannot be made.
    pub fn of(&self, node: &str) -> Result<Arc<Inventory>> {
        self.state(Some(node))
    }

    /// The names of all nodes, sorted: of each state those that get it.
    ///
    /// # Errors
    ///
    /// Nodes that cannot be listed.
    pub fn nodes(&self) -> Result<Vec<Text>> {
        let Some(rule) = &self.rule else { return self.newest.nodes() };
        let mut nodes: Vec<Text> =
            rule.states(&self.newest)?.states.into_iter().flat_map(|(_, nodes)| nodes).collect();
        nodes.sort_unstable();
        Ok(nodes)
    }

    /// The names of the nodes that get other commits than most, sorted.
    ///
    /// # Errors
    ///
    /// As [`Served::of`].
    pub fn nodes_of_other_commits(&self) -> Result<Vec<String>> {
        let decision = self.rule.as_ref().map(|rule| rule.current(&self.newest)).transpose()?;
        Ok(decision.map_or_else(Vec::new, |(decision, _)| decision.nodes_of_other_commits()))
    }

    /// The state that most nodes get.
    ///
    /// # Errors
    ///
    /// As [`Served::of`].
    pub fn of_most(&self) -> Result<Arc<Inventory>> {
        self.state(None)
    }

    pub(super) fn state(&self, node: Option<&str>) -> Result<Arc<Inventory>> {
        match &self.rule {
            None => Ok(self.newest.clone()),
            Some(rule) => rule.state_of(&self.newest, node),
        }
    }

    /// The warnings about repositories and an etcd that could not be read for the last question.
    pub fn storage_warnings(&self) -> Vec<Warning> {
        self.asked_state().storage_warnings()
    }

    /// The repositories and the etcd with the age of their data, as of the last question. Fetches and tests nothing.
    pub fn fetch_states(&self) -> Vec<FetchState> {
        self.asked_state().fetch_states()
    }

    fn asked_state(&self) -> Arc<Inventory> {
        let asked = self.rule.as_ref().and_then(ServeRule::asked_state);
        asked.unwrap_or_else(|| self.newest.clone())
    }

    /// Whether new commits are tested before they are served.
    pub fn tests_commits(&self) -> bool {
        self.rule.is_some()
    }

    /// The decision in force, as of the last question or its record; `None` before the first one, and if commits are
    /// not tested.
    pub fn decision(&self) -> Option<Arc<Decision>> {
        self.rule.as_ref()?.known(&self.newest)
    }

    /// Makes this process the one that tests new commits, until it ends; `false` if another one does.
    pub fn watch(&self) -> bool {
        self.rule.as_ref().is_some_and(ServeRule::watch)
    }

    /// Ends the trial of the newest commit: all nodes get it, or none. Returns its name; `None` without a trial.
    ///
    /// # Errors
    ///
    /// A record that cannot be written.
    pub fn end_trial(&self, promote: bool) -> Result<Option<String>> {
        self.rule.as_ref().map_or(Ok(None), |rule| rule.end_trial(&self.newest, promote))
    }

    /// The problem of a `canary` that matches no node, or that has no effect.
    ///
    /// # Errors
    ///
    /// Nodes that cannot be listed.
    pub fn unmatched_canary(&self) -> Result<Option<String>> {
        let Some(rule) = &self.rule else {
            let settings = self.settings();
            let is_set = settings.canary != Value::Null && &*settings.serve == "now";
            return Ok(is_set.then(|| CANARY_WITHOUT_SERVE.to_owned()));
        };
        let Some(canary) = &rule.canary else { return Ok(None) };
        Ok(canary.unmatched(self.nodes()?.iter().map(|node| &**node)))
    }

    /// Forgets which commits were served if they are not tested first any more (`serve: now`, or a fixed revision). All
    /// nodes get the same commit then, so an earlier decision would give nodes an old one if tests are turned on again.
    ///
    /// # Errors
    ///
    /// A record that cannot be written.
    pub fn forget_decision(&self) -> Result<()> {
        rule::forget(self.settings())
    }

    /// Whether relative paths in its settings still name the same folders.
    pub(super) fn paths_hold(&self) -> bool {
        self.paths.is_current()
    }

    /// Objects that hold it look it up anew, so that it is freed.
    pub(super) fn forget(&self) {
        self.forgotten.store(true, Ordering::Relaxed);
    }

    /// Takes over an inventory of the parent process. Fails if a thread of the parent used it during the fork.
    pub(super) fn adopt(&self) -> bool {
        let adopted = self.newest.adopt() && self.rule.as_ref().is_none_or(ServeRule::adopt);
        if adopted {
            self.process.store(std::process::id(), Ordering::Relaxed);
        }
        adopted
    }
}
