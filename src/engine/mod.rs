//! The engine: the incremental database that answers questions about nodes. It keeps what it computed, so
//! that a change costs only what depends on it.
//!
//! [`Inventory`] is the only entry for the outer crates.

pub mod answer;
pub mod automatic;
pub mod class_names;
pub mod classes;
pub mod context;
pub mod counts;
pub mod cycles;
pub mod database;
pub mod etcd;
pub mod exports;
pub mod faults;
pub mod fetch_state;
pub mod files;
pub mod fingerprint;
pub mod ignored;
pub mod inputs;
pub mod known_grains;
pub mod linearize;
pub mod locate;
pub mod node;
pub mod notices;
pub mod order;
pub mod prefix;
pub mod question;
pub mod registry;
pub mod schema_files;
pub mod sequence;
pub mod serving;
pub mod sources;
pub mod top;
pub mod trees;
pub mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::error::{Error, Fault, MAX_FAULTS, Result, Warning, truncate_faults};
use crate::base::old_rules::OldRules;
use crate::base::settings::{Settings, TABLE};
use crate::base::value::{Map, Text, Value};
use crate::engine::answer::{CacheInfo, NodeInfo, Request};
use crate::engine::database::Database;
use crate::engine::fetch_state::FetchState;
use crate::engine::inputs::Inputs;
use crate::engine::serving::Serving;
use crate::engine::sources::ServedState;
use crate::model::configuration;
use crate::model::grains::GrainRules;
use crate::storage::git::revision::Revision;
use crate::storage::overlay::Overlay;

/// An inventory: its settings, its files, and everything computed from them.
///
/// Threads may share it. Only one call computes at a time.
#[derive(Debug)]
pub struct Inventory {
    settings: Arc<Settings>,
    warnings: Vec<Warning>,
    revision: Option<Arc<Revision>>,
    database: Mutex<Database>,
    notices: notices::Notices,
    grain_rules: Option<GrainRules>,
    serving: Option<Serving>,
}

impl Inventory {
    /// Opens the inventory that the options describe. Reads no node and no class yet.
    pub fn open(options: &Map) -> Result<Inventory> {
        Inventory::open_at(options, None)
    }

    /// Opens an inventory whose files are in memory alone: texts by their paths below the `inventory_base_uri` of
    /// the options. No folder of that name has to exist.
    pub fn open_in_memory(options: &Map, texts: &BTreeMap<String, String>) -> Result<Inventory> {
        let base = options.get("inventory_base_uri").and_then(Value::as_str).unwrap_or("/");
        Inventory::open_at(options, Some(Arc::new(Revision::in_memory(Path::new(base), texts))))
    }

    /// Opens the inventory with rules of old programs.
    pub(crate) fn open_with(options: &Map, rules: OldRules) -> Result<Inventory> {
        Inventory::open_by(options, None, rules, false)
    }

    /// Opens the inventory as it is served: with `serve`, folders in a repository are read as the commit has them
    /// that is checked out.
    fn open_served(options: &Map) -> Result<Inventory> {
        Inventory::open_by(options, None, OldRules::default(), true)
    }

    /// Opens the inventory with its folders as they are in a revision of the repository that contains them.
    pub(crate) fn open_at(options: &Map, revision: Option<Arc<Revision>>) -> Result<Inventory> {
        Inventory::open_by(options, revision, OldRules::default(), false)
    }

    /// Opens the inventory of checked settings for one question.
    pub(crate) fn once(settings: &Settings) -> Result<Inventory> {
        // Nothing is asked again.
        let settings = Arc::new(Settings { cache: "off".into(), ..settings.clone() });
        Inventory::of(settings.clone(), Database::new(settings, None)?, None)
    }

    /// The same, with an input in another state than it has now for the inventory with these inputs.
    pub(crate) fn once_with(settings: &Settings, overlay: Overlay, inputs: &Inputs) -> Result<Inventory> {
        let settings = Arc::new(settings.clone());
        let mut database = Database::new(settings.clone(), None)?;
        database.inputs.take_files(inputs);
        database.inputs.set_overlay(overlay);
        Inventory::of(settings, database, None)
    }

    /// Another inventory with the same settings. Files that this one has read are not read again, and their layers
    /// are shared. It has no buffers.
    pub fn beside(&self) -> Result<Inventory> {
        let database = Database::new(self.settings.clone(), self.revision.clone())?;
        database.inputs.take_files(&self.database().inputs);
        Inventory::of(self.settings.clone(), database, self.revision.clone())
    }

    /// An inventory that answers for the newest commit, whichever one is served.
    fn of(settings: Arc<Settings>, database: Database, revision: Option<Arc<Revision>>) -> Result<Inventory> {
        let (database, grain_rules) = (Mutex::new(database), GrainRules::of(&settings)?);
        let (warnings, notices, serving) = (Vec::new(), notices::Notices::default(), None);
        Ok(Inventory { settings, warnings, revision, database, notices, grain_rules, serving })
    }

    fn open_by(
        options: &Map,
        revision: Option<Arc<Revision>>,
        rules: OldRules,
        served: bool,
    ) -> Result<Inventory> {
        let (mut settings, mut warnings) =
            Settings::from_options(options).map_err(|error| with_further_faults(options, error))?;
        settings.old_rules = rules;
        let has_folders = &*settings.storage_type == "yaml_fs" && settings.git_revision.is_none();
        settings.commits = served && has_folders && &*settings.serve != "now";
        let settings = Arc::new(settings);
        let database = Database::new(settings.clone(), revision.clone())?;
        warnings.extend(configuration::unread_file(options, &settings));
        warnings.extend(ignored::warnings(&settings));
        warnings.extend(database.inputs.trees.locations.warnings.iter().cloned());
        truncate_faults(&mut warnings, MAX_FAULTS);
        let serving = Serving::of(&settings, &database.inputs.trees.locations)?;
        let database = Mutex::new(database);
        let (notices, grain_rules) = (notices::Notices::default(), GrainRules::of(&settings)?);
        Ok(Inventory { settings, warnings, revision, database, notices, grain_rules, serving })
    }

    /// The inventory for these options; the whole process shares it.
    pub fn shared(options: &Map) -> Result<Arc<Inventory>> {
        registry::shared(options)
    }

    /// Drops all inventories of this process. After a panic, none of their state can be trusted.
    pub fn forget_all() {
        registry::forget();
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

    /// Locks the database for one call. A panic poisons the lock; the state that it left behind is
    /// replaced.
    fn database(&self) -> MutexGuard<'_, Database> {
        let mut database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        if self.database.is_poisoned() {
            self.database.clear_poison();
            if let Ok(anew) = Database::new(self.settings.clone(), self.revision.clone()) {
                *database = anew;
            }
        }
        database
    }

    /// Asks the state that a node gets, or that most nodes get.
    fn ask<T>(&self, node: Option<&str>, ask: impl FnOnce(&mut Database) -> Result<T>) -> Result<T> {
        let mut database = self.database();
        match &self.serving {
            None => ask(&mut database),
            Some(serving) => {
                let new = || Database::new(self.settings.clone(), self.revision.clone());
                serving.ask(&new, &mut database, node, ask)
            }
        }
    }

    /// Which revisions are served, if new ones are tested first (`serve`).
    pub fn serving(&self) -> Option<&Serving> {
        self.serving.as_ref()
    }

    /// Forgets which revisions were served if new ones are not tested first any more (`serve: now`).
    pub fn forget_served(&self) -> Result<()> {
        Serving::forget(&self.settings)
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
        self.ask(None, |database| Ok(database.names()?.nodes.keys().cloned().collect()))
    }

    /// Whether any repository of the inventory has the revision in `git_revision`.
    pub fn has_revision(&self) -> Result<bool> {
        let mut database = self.database();
        database.begin()?;
        Ok(database.inputs.trees.has_revision())
    }

    /// Renders one node.
    pub fn nodeinfo(&self, name: &str, request: &Request) -> Result<Arc<NodeInfo>> {
        self.ask(Some(name), |database| database.answer(name, request, false))
    }

    /// The answer for a minion, with the name of the state that it is of if the setting `revision_in_pillar` is on.
    /// With `mapped`, the node needs no file.
    pub fn answer_for_minion(
        &self,
        name: &str,
        request: &Request,
        mapped: bool,
    ) -> Result<(Arc<NodeInfo>, Option<String>)> {
        /// How often both are found out anew if files keep changing.
        const ATTEMPTS: usize = 3;
        self.ask(Some(name), |database| {
            let mut info = database.answer(name, request, mapped)?;
            if !self.settings.revision_in_pillar {
                return Ok((info, None));
            }
            let mut attempt = 1;
            loop {
                let (state, was_known) = database.state_name();
                if was_known {
                    return Ok((info, Some(state)));
                }
                let again = database.answer(name, request, mapped)?;
                if Arc::ptr_eq(&again, &info) || attempt == ATTEMPTS {
                    return Ok((again, Some(state)));
                }
                (info, attempt) = (again, attempt + 1);
            }
        })
    }

    /// The state of the inventory that most nodes get.
    pub fn served_state(&self) -> Result<ServedState> {
        let state = self.ask(None, Database::state)?;
        let decision = self.serving.as_ref().and_then(Serving::decision);
        Ok(state.beginning(decision.and_then(|decision| decision.began())))
    }

    /// The top of a node. With `mapped`, the node needs no file.
    pub fn top(&self, name: &str, request: &Request, mapped: bool) -> Result<top::Top> {
        self.ask(Some(name), |database| database.top(name, request, mapped))
    }

    /// Renders a node without a file, from class mappings, input data and automatic parameters
    /// (`node_not_found: mappings`).
    pub fn mapped_node(&self, name: &str, request: &Request) -> Result<Arc<NodeInfo>> {
        self.ask(Some(name), |database| database.answer(name, request, true))
    }

    /// Renders every node, sorted by name. The first node that fails fails the whole call, and so does a
    /// name with several files (S6).
    pub fn inventory(&self) -> Result<Vec<Arc<NodeInfo>>> {
        self.ask(None, |database| database.inventory(&Request::default()))
    }

    /// Takes a text in place of the bytes of a file, as an editor has it before it is saved; `None` takes the
    /// bytes of the file again. All answers are those of the text. A file that is not on disk counts as one.
    pub fn set_buffer(&self, path: &Path, text: Option<&str>) {
        self.database().set_buffer(path, text);
    }

    /// Calls `read` with the engine's own records: names, layers, and how they merge and evaluate. `read`
    /// runs again if files change meanwhile, so it sees one consistent state.
    pub fn inspect<T>(&self, read: impl Fn(&context::Computation<'_>) -> T) -> Result<T> {
        self.ask(None, |database| database.inspect(&read))
    }

    /// The same, and keeps the answers that `read` computed.
    pub fn inspect_keeping<T>(
        &self,
        read: impl Fn(&context::Computation<'_>) -> (T, Vec<question::ComputedAnswer>),
    ) -> Result<T> {
        self.ask(None, |database| {
            let (seen, computed) = database.inspect(&read)?;
            for answer in computed {
                database.keep(answer);
            }
            Ok(seen)
        })
    }

    /// Adds to errors about values of a node where each value was written, and the include chain of that
    /// file.
    pub fn locate_values(&self, name: &str, request: &Request, error: &mut Error) {
        let faults = error.faults_mut();
        let _ = self.ask(Some(name), |database| {
            for fault in faults {
                let place = fault.path.as_deref().and_then(|path| database.locate_value(name, request, path));
                if let (None, Some((site, chain))) = (&fault.site, place) {
                    fault.site = Some(site);
                    fault.chain = chain;
                }
            }
            Ok(())
        });
    }

    /// The files with schemas of parameters; the same ones if nothing changed.
    pub fn schema_files(&self) -> Result<Arc<schema_files::SchemaFiles>> {
        self.database().inputs.schemas()
    }

    /// The text of a file of the inventory as it was read, for excerpts in diagnostics.
    pub fn text(&self, path: &str) -> Option<String> {
        self.database().inputs.files.text(path)
    }

    /// Whether this text was not logged yet since files last changed.
    pub fn is_first_notice(&self, text: &str) -> bool {
        let revision = self.database().change_count();
        self.notices.is_new(text, revision)
    }

    /// Whether a watch is active, if that changed since the last call.
    pub fn watch_mode_change(&self) -> Option<bool> {
        let watching = self.database().inputs.is_watched();
        self.notices.watch_mode_change(watching)
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
    fn adopt(&self) -> bool {
        let free = self.database.try_lock();
        free.map(|mut database| database.adopt()).is_ok()
    }

    /// Counts of the work done so far.
    pub fn counts(&self) -> counts::Counts {
        self.database().inputs.counters.counts()
    }
}

/// Adds to an error about settings the errors of the other settings.
fn with_further_faults(options: &Map, error: Error) -> Error {
    /// These settings depend on one another, so one wrong setting excuses the others.
    const PLACES: [&str; 4] = ["storage_type", "inventory_base_uri", "nodes_uri", "classes_uri"];
    let mut wrong: Vec<&str> = error.faults().iter().filter_map(|fault| Some(fault.setting()?.0)).collect();
    if PLACES.iter().any(|name| wrong.contains(name)) {
        wrong.extend(PLACES);
    }
    let rows = TABLE.iter().filter(|row| wrong.contains(&row.name));
    let names: Vec<&str> =
        rows.flat_map(|row| std::iter::once(&row.name).chain(row.aliases)).copied().collect();
    let rest = options.iter().filter(|(key, _)| key.as_str().is_none_or(|key| !names.contains(&key)));
    let rest: Map = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    let rest = Settings::from_options(&rest).ok();
    let more = rest.and_then(|(settings, _)| Database::new(Arc::new(settings), None).err());
    Error::new(error.into_faults().into_iter().chain(more.into_iter().flat_map(Error::into_faults)).collect())
}
