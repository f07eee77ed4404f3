//! The memo keeps answers with what they were computed from, and gives them again only while
//! all of that is as it was.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::base::error::{Error, Fault, Kind, Link, Result};
use crate::base::failpoints::point;
use crate::base::parallel;
use crate::base::settings::Settings;
use crate::base::source::Site;
use crate::base::value::{Text, Value};
use crate::engine::automatic::AutomaticKeys;
use crate::engine::exports::{Asked, ExportIndex};
use crate::engine::files::Sources;
use crate::engine::ignored::Ignored;
use crate::engine::inputs::Inputs;
use crate::engine::node::{Answer, Base, Computation, NodeRequest};
use crate::engine::sequence::{Roots, Sequence};
use crate::engine::top::Top;
use crate::engine::{CacheInfo, NodeInfo, Request};
use crate::model::catalog::{Catalog, Item};
use crate::model::mappings::Mappings;
use crate::storage::git::revision::Revision;

/// Everything that an inventory knows.
#[derive(Debug)]
pub struct State {
    /// The files.
    pub inputs: Inputs,
    settings: Arc<Settings>,
    mappings: Mappings,
    ignored: Option<Ignored>,
    /// The beginnings of all class lists.
    roots: Roots,
    automatic: AutomaticKeys,
    index: ExportIndex,
    /// Counts the times at which anything may have changed.
    generation: u64,
    answers: FxHashMap<(Text, Option<Text>), Remembered>,
    /// What the answers weigh, in bytes.
    weight: usize,
    /// Counts the answers that were given.
    given: u64,
    /// The names of the last look.
    catalog: Arc<Catalog>,
    /// Counts other names.
    renamed: u64,
}

/// An answer and what it depends on.
#[derive(Debug)]
struct Remembered {
    info: Arc<NodeInfo>,
    /// How often lines had moved when it was computed: its warnings name lines.
    moved: u64,
    /// The node's classes, which other nodes share.
    sequence: Arc<Sequence>,
    /// What its name stood for; `None` for a node that only mappings make.
    item: Option<Item>,
    /// What is not in the sequence.
    sources: Sources,
    original_environment: Value,
    asked: Vec<Asked>,
    /// The generation in which all of this was last found unchanged.
    checked: u64,
    /// What it weighs, in bytes.
    weight: usize,
    /// When it was last given.
    given: u64,
}

/// How often a computation is repeated when files change underneath it.
const ATTEMPTS: usize = 5;

impl State {
    /// The state of an inventory of which nothing is known yet.
    pub fn new(settings: Arc<Settings>, revision: Option<Arc<Revision>>) -> Result<State> {
        let inputs = Inputs::new(settings.clone(), revision);
        let mappings = Mappings::parse(&settings);
        let ignored = Ignored::parse(&settings);
        let (inputs, mappings, ignored) = match (inputs, mappings, ignored) {
            (Ok(inputs), Ok(mappings), Ok(ignored)) => (inputs, mappings, ignored),
            (inputs, mappings, ignored) => {
                let errors = [inputs.err(), mappings.err(), ignored.err()].into_iter().flatten();
                return Err(Error::new(errors.flat_map(Error::into_faults).collect()));
            }
        };
        Ok(State {
            inputs,
            mappings,
            ignored,
            settings,
            roots: Roots::default(),
            automatic: AutomaticKeys::default(),
            index: ExportIndex::default(),
            generation: 0,
            answers: FxHashMap::default(),
            weight: 0,
            given: 0,
            catalog: Arc::default(),
            renamed: 0,
        })
    }

    /// Begins a question with a new look at the files, and at the branches of repositories.
    pub fn begin(&mut self) -> Result<Arc<Catalog>> {
        let changed = self.inputs.begin()?;
        point("folders were listed");
        self.look(changed)
    }

    /// Looks at the files once more, to see whether they changed while a question was answered.
    fn again(&mut self) -> Result<Arc<Catalog>> {
        let changed = self.inputs.again();
        self.look(changed)
    }

    fn look(&mut self, changed: bool) -> Result<Arc<Catalog>> {
        if changed {
            self.generation += 1;
        }
        let catalog = self.inputs.catalog()?;
        if !Arc::ptr_eq(&self.catalog, &catalog) {
            // Nodes that are gone are not asked for again.
            self.answers.retain(|(name, _), _| catalog.nodes.contains_key(name));
            self.weight = self.answers.values().map(|remembered| remembered.weight).sum();
            self.index.retain(&catalog);
            self.inputs.files.release(&catalog);
            self.catalog = catalog.clone();
            self.renamed += 1;
        }
        Ok(catalog)
    }

    /// The names of nodes and classes, of one state of the folders.
    pub fn names(&mut self) -> Result<Arc<Catalog>> {
        let mut catalog = self.begin()?;
        for _ in 0..ATTEMPTS {
            let now = self.again()?;
            if Arc::ptr_eq(&now, &catalog) {
                return Ok(now);
            }
            catalog = now;
        }
        Err(self.unsettled())
    }

    /// The answer for one node: the remembered one if nothing changed, else a new one.
    pub fn answer(&mut self, name: &str, request: &Request, mapped: bool) -> Result<Arc<NodeInfo>> {
        let mut catalog = self.begin()?;
        let key = self.key(name, request);
        if question_is_plain(request, mapped)
            && let Some(info) = self.remembered(&key, &catalog)
        {
            self.inputs.counters.reused.add();
            return Ok(self.with_warnings(info));
        }
        for _ in 0..ATTEMPTS {
            let computed = compute(&self.computation(&catalog), &key, request, mapped);
            let now = self.again()?;
            if self.settled(&key, &computed, &catalog, &now) {
                let info = self.keep(key, computed, &catalog, question_is_plain(request, mapped))?;
                return Ok(self.with_warnings(info));
            }
            catalog = now;
        }
        Err(self.unsettled())
    }

    /// The top of one node: of the remembered answer, else of its layers alone.
    pub fn top(&mut self, name: &str, request: &Request, mapped: bool) -> Result<Top> {
        let mut catalog = self.begin()?;
        let key = self.key(name, request);
        // An answer without the earlier pillar may have other classes.
        let plain = question_is_plain(request, mapped) && !self.settings.propagate_pillar_data_to_reclass;
        if plain && let Some(info) = self.remembered(&key, &catalog) {
            self.inputs.counters.reused.add();
            return Ok(Top {
                environment: info.environment.clone(),
                applications: info.applications.clone(),
            });
        }
        for _ in 0..ATTEMPTS {
            let computation = self.computation(&catalog);
            computation.asking.begin();
            let request = NodeRequest { name, environment: key.1.as_ref(), input: None, mapped, top: true };
            let result = computation.top(request);
            let sources = computation.asking.end();
            let now = self.again()?;
            let computation = self.computation(&now);
            if Arc::ptr_eq(&now, &catalog)
                && computation.current(&sources)
                && result.as_ref().map_or(true, |(_, sequence)| computation.sequence_holds(sequence))
            {
                return result.map(|(top, _)| top);
            }
            catalog = now;
        }
        Err(self.unsettled())
    }

    /// The answers for all nodes, sorted by name, all of one state of the files. A name that several
    /// files have is an error (S6); without one, the first node that fails is the error.
    pub fn inventory(&mut self, request: &Request) -> Result<Vec<Arc<NodeInfo>>> {
        let mut first = true;
        for _ in 0..ATTEMPTS {
            let catalog = if std::mem::take(&mut first) { self.begin()? } else { self.again()? };
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
            let now = self.again()?;
            // Answers that were remembered are of the same state as those that were computed.
            let mut still = |(name, info): (&Text, &Arc<NodeInfo>)| {
                let now = self.remembered(&self.key(name, request), &now);
                now.is_some_and(|now| Arc::ptr_eq(&now, info))
            };
            if !known.iter().all(&mut still)
                || !Arc::ptr_eq(&now, &catalog)
                || !computed.iter().all(|(key, one)| self.settled(key, one, &catalog, &now))
            {
                continue;
            }
            let clashes = catalog.clashes();
            if !clashes.is_empty() {
                return Err(Error::new(clashes));
            }
            for (key, one) in computed {
                let name = key.0.clone();
                let info = self.keep(key, one, &catalog, question_is_plain(request, false))?;
                known.insert(name, info);
            }
            let mut all: Vec<_> = catalog.nodes.keys().filter_map(|name| known.remove(name)).collect();
            if let Some(first) = all.first_mut() {
                *first = self.with_warnings(first.clone());
            }
            return Ok(all);
        }
        Err(self.unsettled())
    }

    /// An answer with what is to be known of it today, and not to be remembered with it.
    fn with_warnings(&self, info: Arc<NodeInfo>) -> Arc<NodeInfo> {
        if self.inputs.trees.is_empty() {
            return info;
        }
        let warnings = self.inputs.trees.warnings();
        if warnings.is_empty() {
            return info;
        }
        let mut info = (*info).clone();
        info.warnings.extend(warnings);
        Arc::new(info)
    }

    /// Where a parameter of a node is written, for messages about its value.
    pub fn place_of(&mut self, name: &str, request: &Request, path: &str) -> Option<(Site, Vec<Link>)> {
        let catalog = self.begin().ok()?;
        let key = self.key(name, request);
        let path = crate::base::path::split_path(path, &self.settings.delimiter);
        self.computation(&catalog).place_of(name, key.1.as_ref(), &path)
    }

    /// Shows one state of the inventory to `look`, again where files changed while it looked.
    pub fn inspect<T>(&mut self, look: &dyn Fn(&Computation<'_>) -> T) -> Result<T> {
        let mut catalog = self.begin()?;
        for _ in 0..ATTEMPTS {
            let seen = look(&self.computation(&catalog));
            let files = self.inputs.versions();
            let now = self.again()?;
            if Arc::ptr_eq(&now, &catalog)
                && files.iter().all(|(file, version)| self.inputs.is_current(*file, *version, &now))
            {
                return Ok(seen);
            }
            catalog = now;
        }
        Err(self.unsettled())
    }

    /// The names that several files have, as the last question found them.
    pub fn clashes(&self) -> Vec<Fault> {
        self.catalog.clashes()
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
            && self.computation(now).current(&computed.sources)
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
        catalog: &Catalog,
        plain: bool,
    ) -> Result<Arc<NodeInfo>> {
        let answer = computed.result?;
        let info = Arc::new(answer.info);
        if plain && &*self.settings.cache != "off" {
            self.given += 1;
            let weight = answer.weight;
            let remembered = Remembered {
                weight,
                given: self.given,
                info: info.clone(),
                moved: computed.moved,
                sequence: answer.sequence,
                item: catalog.nodes.get(&key.0).cloned(),
                sources: computed.sources,
                original_environment: answer.original_environment,
                asked: answer.asked,
                checked: self.generation,
            };
            let before = self.answers.insert(key, remembered);
            self.weight = self.weight + weight - before.map_or(0, |before| before.weight);
            self.drop_some();
        }
        Ok(info)
    }

    /// Drops the answers that were not asked for the longest time, when all weigh too much: enough
    /// of them that it is not soon to be done again.
    fn drop_some(&mut self) {
        let limit = self.limit();
        if self.weight <= limit {
            return;
        }
        let mut by_use: Vec<_> =
            self.answers.iter().map(|(key, answer)| (answer.given, key.clone())).collect();
        by_use.sort_unstable_by_key(|(given, _)| *given);
        for (_, key) in by_use {
            if self.weight <= limit / 10 * 9 {
                break;
            }
            if let Some(dropped) = self.answers.remove(&key) {
                self.weight -= dropped.weight;
            }
        }
    }

    /// What answers may weigh, in bytes.
    fn limit(&self) -> usize {
        usize::try_from(self.settings.cache_size).unwrap_or(usize::MAX).saturating_mul(1024 * 1024)
    }

    /// What is remembered, and what was done.
    pub fn info(&self) -> CacheInfo {
        CacheInfo {
            counts: self.inputs.counters.counts(),
            answers: self.answers.len(),
            answers_memory: self.weight,
            answers_limit: self.limit(),
            files: self.inputs.files.loaded(),
            files_memory: self.inputs.files.weight(),
            last_full_check: self.inputs.last_full_check(),
            watching: self.inputs.is_watched(),
        }
    }

    /// Counts changes of the files that were seen.
    pub fn revision(&self) -> u64 {
        self.renamed + self.inputs.files.changed()
    }

    /// Makes the state that a parent process had one of this process.
    pub fn adopt(&mut self) {
        self.inputs.forget_watch();
        self.generation += 1;
    }

    fn unsettled(&self) -> Error {
        let message = "the inventory keeps changing while it is read; ask again".to_owned();
        Fault::new(Kind::FileUnreadable { path: self.inputs.node_folder(), message }).into()
    }

    fn remembered(&mut self, key: &(Text, Option<Text>), catalog: &Arc<Catalog>) -> Option<Arc<NodeInfo>> {
        self.given += 1;
        let remembered = self.answers.get_mut(key)?;
        remembered.given = self.given;
        if remembered.checked == self.generation {
            return Some(remembered.info.clone());
        }
        let remembered = self.answers.get(key)?;
        let computation = self.computation(catalog);
        let original = &remembered.original_environment;
        let current = remembered.item.as_ref() == catalog.nodes.get(&key.0)
            && computation.current(&remembered.sources)
            && computation.sequence_holds(&remembered.sequence)
            && computation.still_holds(&key.0, original, key.1.as_ref(), &remembered.asked)
            && (remembered.info.warnings.is_empty() || remembered.moved == self.inputs.files.moved());
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
            roots: &self.roots,
            automatic: &self.automatic,
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
    let moved = computation.inputs.files.moved();
    let (name, environment) = (&key.0, key.1.as_ref());
    let input = request.input_data.as_ref();
    let result = computation.answer(NodeRequest { name, environment, input, mapped, top: false });
    Computed { result, sources: computation.asking.end(), moved }
}

/// An answer, or why there is none, and the files it was computed from.
struct Computed {
    result: Result<Answer>,
    sources: Sources,
    /// How often lines had moved before.
    moved: u64,
}

/// Input data is part of the question; answers to such questions are not kept.
fn question_is_plain(request: &Request, mapped: bool) -> bool {
    request.input_data.is_none() && !mapped
}
