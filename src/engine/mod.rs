//! The engine turns questions about nodes into answers, and keeps what it computed.
//!
//! [`Inventory`] is the one way in for every shell (Python, command line).

pub mod automatic;
pub mod classes;
pub mod counts;
pub mod cycles;
pub mod database;
pub mod exports;
pub mod faults;
pub mod files;
pub mod fingerprint;
pub mod ignored;
pub mod inputs;
pub mod linearize;
pub mod node;
pub mod notices;
pub mod prefix;
pub mod registry;
pub mod sequence;
pub mod top;
pub mod trees;
pub mod values;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::Serialize;

use crate::base::error::{Error, Fault, MAX_FAULTS, Result, Warning, truncate_faults};
use crate::base::settings::{Settings, TABLE};
use crate::base::value::{Map, Text, Value};
use crate::engine::database::Database;
use crate::model::configuration;
use crate::storage::git::revision::Revision;

/// What a caller may say about one request.
#[derive(Clone, Default, Debug)]
pub struct Request {
    /// The environment that the caller asks for; heeded only with
    /// `allow_adapter_env_override` or `force_environment` (S10).
    pub environment: Option<Text>,
    /// Whether the environment counts without the setting (`--environment`).
    pub force_environment: bool,
    /// Data merged before the node's classes (`propagate_pillar_data_to_reclass`).
    pub input_data: Option<Value>,
}

/// The answer for one node. Values are final; clones are cheap.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// The name of the node.
    pub name: Text,
    /// `yaml_fs://` and the absolute path of its file; `git_fs://` and its repository, branch and path.
    pub uri: Text,
    /// The environment: usually a string, but the node file may say anything.
    pub environment: Value,
    /// Classes in order of completion, as written (S3).
    pub classes: Arc<[Text]>,
    /// Applications in order of first appearance.
    pub applications: Vec<Text>,
    /// The parameters, a mapping.
    pub parameters: Value,
    /// The exports, a mapping.
    pub exports: Value,
    /// What was noticed on the way.
    pub warnings: Vec<Warning>,
    /// What a shell made of it, to be given again.
    pub wire_value: OnceLock<Value>,
    /// How many of the warnings a shell has logged_warnings.
    pub logged_warnings: OnceLock<usize>,
}

impl NodeInfo {
    /// The mapping that the Python programs print, key for key.
    pub fn to_value(&self, timestamp: &str) -> Value {
        let texts = |items: &[Text]| Value::list(items.iter().cloned().map(Value::Str).collect());
        let mut about = Map::default();
        about.insert("node".into(), Value::Str(self.name.clone()));
        about.insert("name".into(), Value::Str(self.name.clone()));
        about.insert("uri".into(), Value::Str(self.uri.clone()));
        about.insert("environment".into(), self.environment.clone());
        about.insert("timestamp".into(), Value::text(timestamp));
        let mut map = Map::default();
        map.insert("__reclass__".into(), Value::map(about));
        map.insert("classes".into(), texts(&self.classes));
        map.insert("applications".into(), texts(&self.applications));
        map.insert("parameters".into(), self.parameters.clone());
        map.insert("exports".into(), self.exports.clone());
        map.insert("environment".into(), self.environment.clone());
        Value::map(map)
    }
}

/// What an inventory remembers, and what was done.
#[derive(Clone, Debug, Serialize)]
pub struct CacheInfo {
    /// What was done.
    #[serde(flatten)]
    pub counts: counts::Counts,
    /// Answers that are kept.
    pub answers: usize,
    /// About how many bytes they take that nothing else shares.
    pub answers_memory: usize,
    /// How many they may take.
    pub answers_limit: usize,
    /// Files that are kept.
    pub files: usize,
    /// About how many bytes their text and what was made of it take.
    pub files_memory: usize,
    /// When every file was last looked at, rather than relied on the kernel to tell; in seconds of Unix time.
    pub last_full_check: Option<f64>,
    /// Whether the kernel tells of changes.
    pub watching: bool,
}

/// An inventory: two trees of files, settings, and all that was computed from them.
///
/// May be shared between threads; one call computes at a time.
#[derive(Debug)]
pub struct Inventory {
    settings: Arc<Settings>,
    warnings: Vec<Warning>,
    revision: Option<Arc<Revision>>,
    database: Mutex<Database>,
    notices: notices::Notices,
}

impl Inventory {
    /// Opens the inventory that options describe. Reads no node and no class yet.
    pub fn open(options: &Map) -> Result<Inventory> {
        Inventory::open_at(options, None)
    }

    /// The same, with folders as they are in a revision of the repository that holds them.
    pub(crate) fn open_at(options: &Map, revision: Option<Arc<Revision>>) -> Result<Inventory> {
        let (settings, mut warnings) =
            Settings::from_options(options).map_err(|error| with_further_faults(options, error))?;
        let settings = Arc::new(settings);
        let database = Database::new(settings.clone(), revision.clone())?;
        warnings.extend(configuration::unread_file(options, &settings));
        warnings.extend(ignored::warnings(&settings));
        warnings.extend(database.inputs.trees.locations.warnings.iter().cloned());
        truncate_faults(&mut warnings, MAX_FAULTS);
        let database = Mutex::new(database);
        Ok(Inventory { settings, warnings, revision, database, notices: notices::Notices::default() })
    }

    /// The same inventory for the same options, shared by the whole process.
    pub fn shared(options: &Map) -> Result<Arc<Inventory>> {
        registry::shared(options)
    }

    /// Forgets what this process remembers of all inventories: after a panic, nothing of it can be
    /// relied on.
    pub fn forget_all() {
        registry::forget();
    }

    /// The checked settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What was noticed in the settings.
    pub fn settings_warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// What is to be known of the repositories that the last question was answered from: that they
    /// could not be fetched. The answers for nodes have these warnings too.
    pub fn storage_warnings(&self) -> Vec<Warning> {
        self.database().inputs.trees.warnings()
    }

    /// The names that several files have, as the last question found them. Each is an error of what
    /// depends on it (S6).
    pub fn clashes(&self) -> Vec<Fault> {
        self.database().clashes()
    }

    /// The database, for one call. What a panic left behind is not used again: this lock is poisoned by it.
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

    /// The names of all nodes, sorted.
    pub fn nodes(&self) -> Result<Vec<Text>> {
        Ok(self.database().names()?.nodes.keys().cloned().collect())
    }

    /// Whether any repository of the inventory has the revision that `git_revision` asks for.
    pub fn has_revision(&self) -> Result<bool> {
        let mut database = self.database();
        database.begin()?;
        Ok(database.inputs.trees.has_revision())
    }

    /// Renders one node.
    pub fn nodeinfo(&self, name: &str, request: &Request) -> Result<Arc<NodeInfo>> {
        self.database().answer(name, request, false)
    }

    /// The top of a node, or of one without a file (`mapped`).
    pub fn top(&self, name: &str, request: &Request, mapped: bool) -> Result<top::Top> {
        self.database().top(name, request, mapped)
    }

    /// Renders a node without a file: class mappings, input data and automatic parameters
    /// alone (`node_not_found: mappings`).
    pub fn mapped_node(&self, name: &str, request: &Request) -> Result<Arc<NodeInfo>> {
        self.database().answer(name, request, true)
    }

    /// Renders every node, sorted by name; the first failing node fails the whole, and so does a name
    /// that several files have (S6).
    pub fn inventory(&self) -> Result<Vec<Arc<NodeInfo>>> {
        self.inventory_in(&Request::default())
    }

    /// Renders every node for a request, as [`Inventory::inventory`].
    pub fn inventory_in(&self, request: &Request) -> Result<Vec<Arc<NodeInfo>>> {
        self.database().inventory(request)
    }

    /// Shows the records of the engine to `look`: names, layers, and how they are merged and
    /// evaluated. All that it sees is of one database of the files, for which it may run again.
    pub fn inspect<T>(&self, look: impl Fn(&node::Computation<'_>) -> T) -> Result<T> {
        self.database().inspect(&look)
    }

    /// Completes problems with values of a node: the place where each was written, and how that
    /// file came in.
    pub fn locate_values(&self, name: &str, request: &Request, error: &mut Error) {
        let mut database = self.database();
        for fault in error.faults_mut() {
            let place = fault.path.as_deref().and_then(|path| database.locate_value(name, request, path));
            if let (None, Some((site, chain))) = (&fault.site, place) {
                fault.site = Some(site);
                fault.chain = chain;
            }
        }
    }

    /// The text of a file of the inventory as it was read, for excerpts in reports.
    pub fn text(&self, path: &str) -> Option<String> {
        self.database().inputs.files.text(path)
    }

    /// Whether a text is said for the first time since files changed.
    pub fn is_first_notice(&self, text: &str) -> bool {
        let revision = self.database().change_count();
        self.notices.is_new(text, revision)
    }

    /// Whether the kernel tells of changes, where that was otherwise when this was asked the last time.
    pub fn watch_mode_change(&self) -> Option<bool> {
        let watching = self.database().inputs.is_watched();
        self.notices.watch_mode_change(watching)
    }

    /// The place of the nodes, for messages.
    pub fn node_location(&self) -> String {
        self.database().inputs.node_location()
    }

    /// What is remembered, and what was done.
    pub fn cache_info(&self) -> CacheInfo {
        self.database().info()
    }

    /// Makes an inventory of a parent process one of this process, if no thread of the parent was at
    /// work on it when it forked.
    fn adopt(&self) -> bool {
        let free = self.database.try_lock();
        free.map(|mut database| database.adopt()).is_ok()
    }

    /// What was done so far.
    pub fn counts(&self) -> counts::Counts {
        self.database().inputs.counters.counts()
    }
}

/// What is wrong with options whose settings cannot be read, and with those that can.
fn with_further_faults(options: &Map, error: Error) -> Error {
    /// One says what the others mean.
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

/// The whole inventory as the Python programs print it: nodes, classes and applications with
/// the nodes that have them.
pub fn inventory_value(nodes: &[Arc<NodeInfo>], timestamp: &str) -> Value {
    let mut by_name = Map::default();
    let mut classes: indexmap::IndexMap<Text, Vec<Value>> = indexmap::IndexMap::new();
    let mut applications: indexmap::IndexMap<Text, Vec<Value>> = indexmap::IndexMap::new();
    for node in nodes {
        by_name.insert(node.name.clone().into(), node.to_value(timestamp));
        for (names, members) in [(&node.classes[..], &mut classes), (&node.applications, &mut applications)] {
            for name in names {
                members.entry(name.clone()).or_default().push(Value::Str(node.name.clone()));
            }
        }
    }
    let members = |index: indexmap::IndexMap<Text, Vec<Value>>| {
        Value::map(index.into_iter().map(|(name, nodes)| (name.into(), Value::list(nodes))).collect())
    };
    let mut about = Map::default();
    about.insert("timestamp".into(), Value::text(timestamp));
    let mut map = Map::default();
    map.insert("__reclass__".into(), Value::map(about));
    map.insert("nodes".into(), Value::map(by_name));
    map.insert("classes".into(), members(classes));
    map.insert("applications".into(), members(applications));
    Value::map(map)
}
