//! The memo keeps answers with what they were computed from, and gives them again only while
//! all of that is as it was.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::catalog::Catalog;
use crate::engine::exports::{Asked, ExportIndex};
use crate::engine::files::Version;
use crate::engine::inputs::Inputs;
use crate::engine::node::{Answer, Base, Computation};
use crate::engine::prefix::Prefix;
use crate::engine::sequence::Sequence;
use crate::engine::{Inventory, NodeInfo, Request, parallel};
use crate::error::{Error, Fault, Kind, Link, Result};
use crate::mappings::Mappings;
use crate::settings::Settings;
use crate::source::{FileId, Site};
use crate::value::{Map, Text, Value};

/// Everything that an inventory knows.
#[derive(Debug)]
pub struct State {
    /// The files.
    pub inputs: Inputs,
    settings: Arc<Settings>,
    mappings: Mappings,
    ignored: Option<fancy_regex::Regex>,
    /// The classes of all nodes, in the names of one catalog.
    sequences: (Arc<Catalog>, Arc<Sequence>),
    /// Their layers.
    prefixes: Arc<Prefix>,
    index: ExportIndex,
    /// Counts the times at which anything may have changed.
    generation: u64,
    answers: FxHashMap<(Text, Option<Text>), Remembered>,
}

/// An answer and what it depends on.
#[derive(Debug)]
struct Remembered {
    info: Arc<NodeInfo>,
    /// The node's classes, which other nodes share.
    sequence: Arc<Sequence>,
    catalog: Arc<Catalog>,
    /// Files that are not in the sequence.
    files: Vec<(FileId, Version)>,
    original_environment: Value,
    asked: Vec<Asked>,
    /// The generation in which all of this was last found unchanged.
    checked: u64,
}

/// How often a computation is repeated when files change underneath it.
const ATTEMPTS: usize = 5;

impl State {
    /// The state of an inventory of which nothing is known yet.
    pub fn new(settings: Arc<Settings>) -> Result<State> {
        let prefixes = Prefix::root();
        Ok(State {
            inputs: Inputs::new(settings.clone())?,
            mappings: Mappings::parse(&settings.class_mappings)?,
            ignored: crate::engine::node::ignored_classes(&settings)?,
            settings,
            sequences: (Arc::default(), Sequence::root(prefixes.clone())),
            prefixes,
            index: ExportIndex::default(),
            generation: 0,
            answers: FxHashMap::default(),
        })
    }

    /// Begins a new look at the files.
    pub fn begin(&mut self) -> Result<Arc<Catalog>> {
        if self.inputs.begin() {
            self.generation += 1;
        }
        let catalog = self.inputs.catalog()?;
        if !Arc::ptr_eq(&self.sequences.0, &catalog) {
            self.sequences = (catalog.clone(), Sequence::root(self.prefixes.clone()));
        }
        Ok(catalog)
    }

    /// The answer for one node: the remembered one if nothing changed, else a new one.
    pub fn answer(&mut self, name: &str, request: &Request, mapped: bool) -> Result<Arc<NodeInfo>> {
        let mut catalog = self.begin()?;
        let key = self.key(name, request);
        if question_is_plain(request, mapped)
            && let Some(info) = self.remembered(&key, &catalog)
        {
            self.inputs.counters.reused.add();
            return Ok(info);
        }
        for _ in 0..ATTEMPTS {
            let computed = compute(&self.computation(&catalog), &key, request, mapped);
            let now = self.begin()?;
            if self.settled(&key, &computed, &catalog, &now) {
                return self.keep(key, computed, catalog, question_is_plain(request, mapped));
            }
            catalog = now;
        }
        Err(self.unsettled())
    }

    /// The answers for all nodes, sorted by name, all of one state of the files. The first node
    /// that fails is the answer.
    pub fn inventory(&mut self, request: &Request) -> Result<Vec<Arc<NodeInfo>>> {
        for _ in 0..ATTEMPTS {
            let catalog = self.begin()?;
            let mut known = FxHashMap::default();
            let mut unknown = Vec::new();
            for name in catalog.nodes.keys() {
                let key = self.key(name, request);
                if question_is_plain(request, false)
                    && let Some(info) = self.remembered(&key, &catalog)
                {
                    self.inputs.counters.reused.add();
                    known.insert(name.clone(), info);
                } else {
                    unknown.push(key);
                }
            }
            let base = self.base(&catalog);
            let compute = |computation: &Computation<'_>, key: &_| compute(computation, key, request, false);
            let computed = parallel::each(
                base.threads(),
                &unknown,
                || base.computation(),
                compute,
                |computed| computed.result.is_err(),
            );
            let computed: Vec<_> = unknown.into_iter().zip(computed).collect();
            let now = self.begin()?;
            if !Arc::ptr_eq(&now, &catalog)
                || !computed.iter().all(|(key, one)| self.settled(key, one, &catalog, &now))
            {
                continue;
            }
            for (key, one) in computed {
                let name = key.0.clone();
                let info = self.keep(key, one, catalog.clone(), question_is_plain(request, false))?;
                known.insert(name, info);
            }
            return Ok(catalog.nodes.keys().filter_map(|name| known.remove(name)).collect());
        }
        Err(self.unsettled())
    }

    /// Where a parameter of a node is written, for messages about its value.
    pub fn place_of(&mut self, name: &str, request: &Request, path: &str) -> Option<(Site, Vec<Link>)> {
        let catalog = self.begin().ok()?;
        let key = self.key(name, request);
        let path = crate::template::split_path(path, &self.settings.delimiter);
        self.computation(&catalog).place_of(name, key.1.as_ref(), &path)
    }

    /// Shows one state of the inventory to `look`, again where files changed while it looked.
    pub fn inspect<T>(&mut self, look: &dyn Fn(&Computation<'_>) -> T) -> Result<T> {
        let mut catalog = self.begin()?;
        for _ in 0..ATTEMPTS {
            let seen = look(&self.computation(&catalog));
            let files = self.inputs.files.versions();
            let now = self.begin()?;
            // Whatever it looked at is among all files that were ever read.
            if Arc::ptr_eq(&now, &catalog)
                && files.iter().all(|(file, version)| self.inputs.is_current(*file, *version, &now))
            {
                return Ok(seen);
            }
            catalog = now;
        }
        Err(self.unsettled())
    }

    fn key(&self, name: &str, request: &Request) -> (Text, Option<Text>) {
        let heeded = request.force_environment || self.settings.allow_adapter_env_override;
        (Text::from(name), request.environment.clone().filter(|_| heeded))
    }

    /// Whether nothing changed while an answer was computed: files that did may have made a
    /// state that never was.
    fn settled(
        &self,
        key: &(Text, Option<Text>),
        computed: &Computed,
        before: &Arc<Catalog>,
        now: &Arc<Catalog>,
    ) -> bool {
        Arc::ptr_eq(now, before)
            && computed.files.iter().all(|(file, version)| self.inputs.is_current(*file, *version, now))
            && computed.result.as_ref().map_or(true, |answer| {
                let computation = self.computation(now);
                let original = &answer.original_environment;
                computation.sequence_holds(&answer.sequence)
                    && computation.still_holds(&key.0, original, key.1.as_ref(), &answer.asked)
            })
    }

    /// Gives out an answer, and remembers it if it may be asked for again.
    fn keep(
        &mut self,
        key: (Text, Option<Text>),
        computed: Computed,
        catalog: Arc<Catalog>,
        plain: bool,
    ) -> Result<Arc<NodeInfo>> {
        let answer = computed.result?;
        let info = Arc::new(answer.info);
        if plain && &*self.settings.cache != "off" {
            let remembered = Remembered {
                info: info.clone(),
                sequence: answer.sequence,
                catalog,
                files: computed.files,
                original_environment: answer.original_environment,
                asked: answer.asked,
                checked: self.generation,
            };
            self.answers.insert(key, remembered);
        }
        Ok(info)
    }

    fn unsettled(&self) -> Error {
        let message = "the inventory keeps changing while it is read; ask again".to_owned();
        Fault::new(Kind::FileUnreadable { path: self.inputs.node_folder(), message }).into()
    }

    fn remembered(&mut self, key: &(Text, Option<Text>), catalog: &Arc<Catalog>) -> Option<Arc<NodeInfo>> {
        let remembered = self.answers.get(key)?;
        if remembered.checked == self.generation {
            return Some(remembered.info.clone());
        }
        let computation = self.computation(catalog);
        let original = &remembered.original_environment;
        let current = Arc::ptr_eq(&remembered.catalog, catalog)
            && remembered
                .files
                .iter()
                .all(|(file, version)| self.inputs.is_current(*file, *version, catalog))
            && computation.sequence_holds(&remembered.sequence)
            && computation.still_holds(&key.0, original, key.1.as_ref(), &remembered.asked);
        if !current {
            return None;
        }
        let remembered = self.answers.get_mut(key)?;
        remembered.checked = self.generation;
        Some(remembered.info.clone())
    }

    fn computation<'a>(&'a self, catalog: &'a Arc<Catalog>) -> Computation<'a> {
        self.base(catalog).computation()
    }

    fn base<'a>(&'a self, catalog: &'a Arc<Catalog>) -> Base<'a> {
        Base {
            settings: &self.settings,
            inputs: &self.inputs,
            mappings: &self.mappings,
            ignored: self.ignored.as_ref(),
            catalog,
            root: &self.sequences.1,
            index: &self.index,
            generation: self.generation,
        }
    }
}

/// Computes an answer and takes note of what it is computed from.
fn compute(
    computation: &Computation<'_>,
    key: &(Text, Option<Text>),
    request: &Request,
    mapped: bool,
) -> Computed {
    computation.asking.begin();
    computation.inputs.counters.computed.add();
    let input_data = request.input_data.as_ref();
    let result = computation.answer(&key.0, key.1.as_ref(), input_data, mapped);
    Computed { result, files: computation.asking.end() }
}

/// An answer, or why there is none, and the files it was computed from.
struct Computed {
    result: Result<Answer>,
    files: Vec<(FileId, Version)>,
}

/// Input data is part of the question; answers to such questions are not kept.
fn question_is_plain(request: &Request, mapped: bool) -> bool {
    request.input_data.is_none() && !mapped
}

/// The inventories of one process, by their options. Weak would forget between two calls of Salt,
/// so they are kept.
///
/// A forked child must touch nothing that it got from its parent: another thread may have held any
/// lock when it was forked, and will never give it back there. So the child adds a registry of its
/// own behind that of the parent, and leaves the parent's alone, its memory included.
struct Registry {
    process: u32,
    // The mutex of `std`: that of `parking_lot` shares its queues between all locks of a process.
    inventories: std::sync::Mutex<Vec<(Map, Arc<Inventory>)>>,
    next: OnceLock<Box<Registry>>,
}

/// How many different inventories a process keeps; a master has one or two.
const KEPT: usize = 16;

impl Registry {
    fn new(process: u32) -> Registry {
        Registry { process, inventories: std::sync::Mutex::default(), next: OnceLock::new() }
    }

    /// The registry of this process.
    fn current() -> &'static Registry {
        static FIRST: OnceLock<Registry> = OnceLock::new();
        let process = std::process::id();
        let mut registry = FIRST.get_or_init(|| Registry::new(process));
        while registry.process != process {
            registry = registry.next.get_or_init(|| Box::new(Registry::new(process)));
        }
        registry
    }

    fn inventories(&self) -> std::sync::MutexGuard<'_, Vec<(Map, Arc<Inventory>)>> {
        self.inventories.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The inventory for these options.
pub fn shared(options: &Map) -> Result<Arc<Inventory>> {
    let mut inventories = Registry::current().inventories();
    if let Some(at) = inventories.iter().position(|(known, _)| known == options) {
        let entry = inventories.remove(at);
        let inventory = entry.1.clone();
        inventories.push(entry);
        return Ok(inventory);
    }
    let inventory = Arc::new(Inventory::open(options)?);
    if inventories.len() >= KEPT {
        inventories.remove(0);
    }
    inventories.push((options.clone(), inventory.clone()));
    Ok(inventory)
}

/// Forgets all that this process remembers: after a panic, nothing of it can be relied on.
pub fn forget() {
    Registry::current().inventories().clear();
}
