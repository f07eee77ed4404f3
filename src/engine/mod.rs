//! The engine: the incremental database that answers questions about nodes. It keeps what it computed, so
//! that a change costs only what depends on it.
//!
//! [`Inventory`] is the only entry for the outer crates.

pub(crate) mod answer;
pub(crate) mod automatic;
pub(crate) mod builder;
mod changed;
pub(crate) mod class_names;
mod classes;
pub(crate) mod context;
pub(crate) mod counts;
mod cycles;
pub(crate) mod database;
pub(crate) mod etcd;
pub(crate) mod exports;
mod faults;
pub(crate) mod fetch_state;
pub(crate) mod files;
mod fingerprint;
mod ignored;
pub(crate) mod inputs;
mod known_grains;
pub(crate) mod linearize;
mod locate;
mod node;
mod notices;
mod order;
pub(crate) mod prefix;
pub(crate) mod question;
pub(crate) mod schema_files;
pub(crate) mod sequence;
pub(crate) mod sources;
pub(crate) mod top;
pub(crate) mod trees;
mod values;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::answer::{CacheInfo, NodeInfo, Request};
use crate::engine::builder::InventoryBuilder;
use crate::engine::database::Database;
use crate::engine::fetch_state::FetchState;
use crate::engine::sources::ServedState;
use crate::engine::trees::LastFetch;
use crate::model::grains::GrainRules;
use crate::storage::location::TreeLocations;
use reclass_base::error::{Fault, Result, Warning};
use reclass_base::settings::Settings;
use reclass_base::value::{Map, Text, Value};

/// One state of an inventory: its settings, its files, and everything computed from them.
///
/// Its files are those that are there when it is asked, or those of fixed commits. It knows of no other state:
/// `serve` decides which one a node gets.
///
/// Threads may share it. Only one call computes at a time.
#[derive(Debug)]
pub struct Inventory {
    settings: Arc<Settings>,
    warnings: Vec<Warning>,
    locations: Arc<TreeLocations>,
    /// The commits that it reads, if they are fixed, with the last fetches.
    pinned: Option<reclass_base::lock::Mutex<LastFetch>>,
    database: Mutex<Database>,
    notices: notices::Notices,
    grain_rules: Option<GrainRules>,
    /// How often the lock was taken, for tests.
    locked: AtomicU64,
}

impl Inventory {
    /// Opens the inventory that the options describe. Reads no node and no class yet.
    pub fn open(options: &Map) -> Result<Inventory> {
        InventoryBuilder::new(options).open()
    }

    /// Another inventory with the same settings. Files that this one has read are not read again, and their layers
    /// are shared. It has no buffers.
    pub fn beside(&self) -> Result<Inventory> {
        let builder =
            InventoryBuilder::of_settings(self.settings.clone()).at(self.locations.revision.clone());
        builder.files_of(&self.database().inputs).open()
    }

    fn new(settings: Arc<Settings>, warnings: Vec<Warning>, database: Database) -> Result<Inventory> {
        Ok(Inventory {
            grain_rules: GrainRules::of(&settings)?,
            locations: database.inputs.trees.locations.clone(),
            settings,
            warnings,
            pinned: None,
            database: Mutex::new(database),
            notices: notices::Notices::default(),
            locked: AtomicU64::new(0),
        })
    }

    /// Another state, of fixed commits, that shares the repositories. It shares no answers.
    pub fn pinned_beside(&self, commits: LastFetch) -> Result<Inventory> {
        self.pinned_with(self.settings.clone(), commits)
    }

    /// The same without the grains of the setting `known_grains`, as a question has none that no minion asks.
    pub fn pinned_without_grains(&self, commits: LastFetch) -> Result<Inventory> {
        self.pinned_with(
            Arc::new(Settings { known_grains: Value::Null, ..(*self.settings).clone() }),
            commits,
        )
    }

    fn pinned_with(&self, settings: Arc<Settings>, commits: LastFetch) -> Result<Inventory> {
        let builder = InventoryBuilder::of_settings(settings);
        Ok(builder.locations(self.locations.clone()).open()?.at(commits))
    }

    /// This state with other commits. What they do not change is not computed again.
    #[must_use]
    pub fn at(self, commits: LastFetch) -> Inventory {
        Inventory { pinned: Some(reclass_base::lock::Mutex::new(commits)), ..self }
    }

    /// Its commits, if they are fixed.
    pub(crate) fn commits(&self) -> Option<LastFetch> {
        self.pinned.as_ref().map(|pinned| pinned.lock().clone())
    }

    /// Takes note of the last fetches. The commits of a state that has fixed ones stay.
    pub fn note_fetches(&self, fetched: &LastFetch) {
        if let Some(pinned) = &self.pinned {
            pinned.lock().records = fetched.records.clone();
        }
    }

    /// The places of the files.
    pub fn locations(&self) -> &TreeLocations {
        &self.locations
    }

    /// The checked settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The warnings about the settings.
    pub fn settings_warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The repositories and the etcd of the inventory with the age of their data, as of the last question.
    /// After a question that failed because one of them could not be fetched, they are as before it.
    pub fn fetch_states(&self) -> Vec<FetchState> {
        self.database().inputs.fetch_states()
    }

    /// The warnings about repositories and an etcd that could not be read for the last question. Answers for
    /// nodes carry these warnings too.
    pub fn storage_warnings(&self) -> Vec<Warning> {
        self.database().inputs.warnings()
    }

    /// The names with several files, as of the last question. Each is an error for every node that depends
    /// on it (S6).
    pub fn clashes(&self) -> Vec<Fault> {
        self.database().clashes()
    }

    /// Locks the database for one question. A panic poisons the lock; the state that it left behind is
    /// replaced.
    pub fn database(&self) -> MutexGuard<'_, Database> {
        self.locked.fetch_add(1, Ordering::Relaxed);
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        if self.database.is_poisoned() {
            self.database.clear_poison();
            if let Ok(anew) = Database::new(self.settings.clone(), Ok(self.locations.clone())) {
                *database = anew;
            }
        }
        if let Some(pinned) = &self.pinned {
            database.inputs.trees.pin(pinned.lock().clone());
        }
        database
    }

    /// How often its lock was taken.
    #[cfg(feature = "internals")]
    pub fn locked(&self) -> u64 {
        self.locked.load(Ordering::Relaxed)
    }

    /// What was already said about this state.
    pub fn notices(&self) -> &notices::Notices {
        &self.notices
    }

    /// Whether the settings name grains, so that answers depend on the grains of a request.
    pub fn reads_grains(&self) -> bool {
        self.grain_rules.is_some()
    }

    /// Whether references can read this grain, or something in it.
    pub fn reads_grain(&self, name: &str) -> bool {
        self.grain_rules.as_ref().is_some_and(|rules| rules.reads(name))
    }

    /// The names of all nodes, sorted.
    pub fn nodes(&self) -> Result<Vec<Text>> {
        Ok(self.database().names()?.nodes.keys().cloned().collect())
    }

    /// Whether any repository of the inventory has the revision in `git_revision`.
    pub fn has_revision(&self) -> Result<bool> {
        let mut database = self.database();
        database.begin()?;
        Ok(database.inputs.trees.has_revision())
    }

    /// Renders one node.
    pub fn nodeinfo(&self, name: &str, request: &Request) -> Result<Arc<NodeInfo>> {
        self.database().answer(name, request, false)
    }

    /// The state: its name, and where it comes from.
    pub fn state(&self) -> Result<ServedState> {
        self.database().state()
    }

    /// The top of a node. With `mapped`, the node needs no file.
    pub fn top(&self, name: &str, request: &Request, mapped: bool) -> Result<top::Top> {
        self.database().top(name, request, mapped)
    }

    /// Renders every node, sorted by name. The first node that fails fails the whole call, and so does a
    /// name with several files (S6).
    pub fn inventory(&self) -> Result<Vec<Arc<NodeInfo>>> {
        self.database().inventory(&Request::default())
    }

    /// Takes a text in place of the bytes of a file, as an editor has it before it is saved; `None` takes the
    /// bytes of the file again. All answers are those of the text. A file that is not on disk counts as one.
    pub fn set_buffer(&self, path: &Path, text: Option<&str>) {
        self.database().set_buffer(path, text);
    }

    /// Calls `read` with the engine's own records: names, layers, and how they merge and evaluate. `read`
    /// runs again if files change meanwhile, so it sees one consistent state.
    pub fn inspect<T>(&self, read: impl Fn(&context::Computation<'_>) -> T) -> Result<T> {
        self.database().inspect(&read)
    }

    /// The same, and keeps the answers that `read` computed.
    pub fn inspect_keeping<T>(
        &self,
        read: impl Fn(&context::Computation<'_>) -> (T, Vec<question::ComputedAnswer>),
    ) -> Result<T> {
        let mut database = self.database();
        let (seen, computed) = database.inspect(&read)?;
        for answer in computed {
            database.keep(answer);
        }
        Ok(seen)
    }

    /// The text of a file of the inventory as it was read, for excerpts in diagnostics.
    pub fn text(&self, path: &str) -> Option<String> {
        self.database().inputs.files.text(path)
    }

    /// Where the nodes are, for messages.
    pub fn node_location(&self) -> String {
        self.database().inputs.node_location()
    }

    /// The state of the caches, and counts of the work done.
    pub fn cache_info(&self) -> CacheInfo {
        self.database().info()
    }

    /// Takes over an inventory of the parent process. Fails if a thread of the parent used it during the
    /// fork.
    pub fn adopt(&self) -> bool {
        let free = self.database.try_lock();
        free.map(|mut database| database.adopt()).is_ok()
    }

    /// Counts of the work done so far.
    pub fn counts(&self) -> counts::Counts {
        self.database().inputs.counters.counts()
    }
}
