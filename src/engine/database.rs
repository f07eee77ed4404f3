//! The database keeps answers with their dependencies, and gives a cached answer only while every
//! dependency is unchanged.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::base::error::{Error, Fault, Kind, Link, Result};
use crate::base::failpoints::failpoint;
use crate::base::parallel;
use crate::base::progress::WorkUnit;
use crate::base::settings::Settings;
use crate::base::source::Site;
use crate::base::value::Text;
use crate::engine::answer::{CacheInfo, NodeInfo, Request};
use crate::engine::context::{
    Answer, CachedAnswer, CachedAnswers, Computation, EngineContext, NodeRequest, grains,
};
use crate::engine::exports::ExportIndex;
use crate::engine::files::Dependencies;
use crate::engine::ignored::Ignored;
use crate::engine::inputs::Inputs;
use crate::engine::known_grains::KnownGrains;
use crate::engine::sequence::Roots;
use crate::engine::top::Top;
use crate::model::catalog::Catalog;
use crate::model::grains::GrainRules;
use crate::model::mappings::Mappings;
use crate::model::merge_options::of_settings;
use crate::storage::git::revision::Revision;

/// The whole state of an inventory.
#[derive(Debug)]
pub struct Database {
    /// The files.
    pub inputs: Inputs,
    settings: Arc<Settings>,
    mappings: Mappings,
    grain_rules: Option<GrainRules>,
    known_grains: KnownGrains,
    ignored: Option<Ignored>,
    /// The empty sequences of classes, where all linearizations begin.
    roots: Roots,
    index: ExportIndex,
    /// Grows whenever an input may have changed.
    revision: u64,
    answers: CachedAnswers,
    /// Memory of all cached answers.
    bytes: usize,
    /// Grows with each request; the clock of `last_used`.
    uses: u64,
    /// The catalog of the last check.
    catalog: Arc<Catalog>,
    /// Grows when the catalog changes.
    catalog_changes: u64,
}

/// How often a computation is repeated if files change while it runs.
const ATTEMPTS: usize = 5;

impl Database {
    /// The state of an inventory before the first question.
    pub fn new(settings: Arc<Settings>, revision: Option<Arc<Revision>>) -> Result<Database> {
        let inputs = Inputs::new(settings.clone(), revision);
        let grain_rules = GrainRules::of(&settings);
        let mappings = match &grain_rules {
            Ok(rules) => Mappings::parse(&settings, rules.as_ref()),
            // Its error is reported, and a mapping cannot be checked.
            Err(_) => Ok(Mappings::default()),
        };
        let ignored = Ignored::parse(&settings);
        let rules = of_settings(&settings).map_err(Error::from);
        let (inputs, mappings, ignored, rules, grain_rules) =
            match (inputs, mappings, ignored, rules, grain_rules) {
                (Ok(inputs), Ok(mappings), Ok(ignored), Ok(rules), Ok(grain_rules)) => {
                    (inputs, mappings, ignored, rules, grain_rules)
                }
                (inputs, mappings, ignored, rules, grain_rules) => {
                    let errors =
                        [inputs.err(), mappings.err(), ignored.err(), rules.err(), grain_rules.err()];
                    let faults = errors.into_iter().flatten().flat_map(Error::into_faults);
                    return Err(Error::new(faults.collect()));
                }
            };
        Ok(Database {
            inputs,
            mappings,
            grain_rules,
            known_grains: KnownGrains::of(&settings)?,
            ignored,
            settings,
            roots: Roots::new(rules),
            index: ExportIndex::default(),
            revision: 0,
            answers: FxHashMap::default(),
            bytes: 0,
            uses: 0,
            catalog: Arc::default(),
            catalog_changes: 0,
        })
    }

    /// Begins a question: checks files and the branches of repositories for changes.
    pub fn begin(&mut self) -> Result<Arc<Catalog>> {
        let changed = self.inputs.begin()?;
        failpoint("folders were listed");
        self.advance(changed)
    }

    /// Checks the files again at the end of a question.
    fn recheck(&mut self) -> Result<Arc<Catalog>> {
        let changed = self.inputs.recheck();
        self.advance(changed)
    }

    fn advance(&mut self, changed: bool) -> Result<Arc<Catalog>> {
        if changed {
            self.revision += 1;
        }
        let catalog = self.inputs.catalog()?;
        if !Arc::ptr_eq(&self.catalog, &catalog) {
            // Nobody asks for removed nodes any more.
            self.answers.retain(|(name, _), _| catalog.nodes.contains_key(name));
            self.bytes = self.answers.values().map(|cached| cached.bytes).sum();
            self.inputs.files.evict_unnamed(&catalog);
            self.catalog = catalog.clone();
            self.catalog_changes += 1;
        }
        Ok(catalog)
    }

    /// Repeats a computation until no input changed while it ran. `holds` verifies its dependencies.
    fn settle<T>(
        &mut self,
        mut catalog: Arc<Catalog>,
        mut compute: impl FnMut(&mut Database, &Arc<Catalog>) -> T,
        mut holds: impl FnMut(&mut Database, &T, &Arc<Catalog>) -> bool,
    ) -> Result<T> {
        for _ in 0..ATTEMPTS {
            let computed = compute(self, &catalog);
            let now = self.recheck()?;
            if Arc::ptr_eq(&now, &catalog) && holds(self, &computed, &now) {
                return Ok(computed);
            }
            catalog = now;
        }
        let message = "the inventory keeps changing while it is read; ask again".to_owned();
        Err(Fault::new(Kind::FileUnreadable { path: self.inputs.node_location(), message }).into())
    }

    /// The names of nodes and classes, from one consistent state of the folders.
    pub fn names(&mut self) -> Result<Arc<Catalog>> {
        let catalog = self.begin()?;
        self.settle(catalog, |_, catalog| catalog.clone(), |_, _, _| true)
    }

    /// The answer for one node: from the cache if nothing changed.
    pub fn answer(&mut self, name: &str, request: &Request, mapped: bool) -> Result<Arc<NodeInfo>> {
        let catalog = self.begin()?;
        let key = self.key(name, request);
        if is_cacheable(request, mapped)
            && let Some(info) = self.cached(&key, request, &catalog)
        {
            self.inputs.counters.reused.add();
            return Ok(self.with_warnings(info));
        }
        let computed = self.settle(
            catalog,
            |database, catalog| compute(&database.computation(catalog), &key, request, mapped),
            |database, computed, now| database.is_consistent(&key, computed, now),
        )?;
        let info = self.store(key, computed, is_cacheable(request, mapped))?;
        Ok(self.with_warnings(info))
    }

    /// The top of one node: from the cached answer, or from its layers alone.
    pub fn top(&mut self, name: &str, request: &Request, mapped: bool) -> Result<Top> {
        let catalog = self.begin()?;
        let key = self.key(name, request);
        // With propagated pillar data the answer may have other classes than the top, which has no earlier
        // pillar.
        let plain = is_cacheable(request, mapped) && !self.settings.propagate_pillar_data_to_reclass;
        if plain && let Some(info) = self.cached(&key, request, &catalog) {
            self.inputs.counters.reused.add();
            let (environment, applications) = (info.environment.clone(), info.applications.clone());
            return Ok(Top { environment, applications });
        }
        let environment = key.1.as_ref();
        let (result, _) = self.settle(
            catalog,
            |database, catalog| {
                let computation = database.computation(catalog);
                computation.recorder.begin();
                let grains = request.grains.as_ref();
                let request = NodeRequest { name, environment, input: None, grains, mapped, top: true };
                let result = computation.top(request);
                (result, computation.recorder.end())
            },
            |database, (result, dependencies), now| {
                let classes = result.as_ref().ok().map(|(_, classes)| &**classes);
                database.computation(now).inputs_hold(dependencies, classes)
            },
        )?;
        result.map(|(top, _)| top)
    }

    /// The answers for all nodes, sorted by name, from one consistent state of the files. A name with
    /// several files is an error (S6). Otherwise the first node that fails is the error.
    pub fn inventory(&mut self, request: &Request) -> Result<Vec<Arc<NodeInfo>>> {
        let catalog = self.begin()?;
        let cacheable = is_cacheable(request, false);
        let (mut ready, computed) = self.settle(
            catalog,
            |database, catalog| {
                let mut ready = FxHashMap::default();
                let mut missing = Vec::new();
                for name in catalog.nodes.keys() {
                    let key = database.key(name, request);
                    if cacheable && let Some(info) = database.cached(&key, request, catalog) {
                        database.inputs.counters.reused.add();
                        ready.insert(name.clone(), info);
                    } else {
                        missing.push(key);
                    }
                }
                let context = database.context(catalog);
                let computed = parallel::each_counted(
                    WorkUnit::Nodes,
                    context.threads(),
                    &missing,
                    || context.computation(),
                    |computation, key| compute(computation, key, request, false),
                    |computed| computed.result.is_err(),
                );
                (ready, missing.into_iter().zip(computed).collect::<Vec<_>>())
            },
            |database, (ready, computed), now| {
                // Cached answers must still be valid in the state that the new ones were computed from.
                ready.iter().all(|(name, info)| {
                    let key = database.key(name, request);
                    database.cached(&key, request, now).is_some_and(|now| Arc::ptr_eq(&now, info))
                }) && computed.iter().all(|(key, one)| database.is_consistent(key, one, now))
            },
        )?;
        let catalog = self.catalog.clone();
        let clashes = catalog.clashes();
        if !clashes.is_empty() {
            return Err(Error::new(clashes));
        }
        for (key, one) in computed {
            let name = key.0.clone();
            let info = self.store(key, one, cacheable)?;
            ready.insert(name, info);
        }
        let mut all: Vec<_> = catalog.nodes.keys().filter_map(|name| ready.remove(name)).collect();
        if let Some(first) = all.first_mut() {
            *first = self.with_warnings(first.clone());
        }
        Ok(all)
    }

    /// The answer with the current warnings about repositories and etcd, which are not cached with it.
    fn with_warnings(&self, info: Arc<NodeInfo>) -> Arc<NodeInfo> {
        if self.inputs.trees.is_empty() && self.inputs.etcd.is_none() {
            return info;
        }
        let warnings = self.inputs.warnings();
        if warnings.is_empty() {
            return info;
        }
        let mut info = (*info).clone();
        info.warnings.extend(warnings);
        Arc::new(info)
    }

    /// Where a parameter of a node is written, for messages about its value.
    pub fn locate_value(&mut self, name: &str, request: &Request, path: &str) -> Option<(Site, Vec<Link>)> {
        let catalog = self.begin().ok()?;
        let key = self.key(name, request);
        let path = crate::base::path::split_path(path, &self.settings.delimiter);
        self.computation(&catalog).locate_value(name, key.1.as_ref(), &path)
    }

    /// Calls `read` with one consistent state of the inventory. Calls it again if files changed meanwhile.
    pub fn inspect<T>(&mut self, read: &dyn Fn(&Computation<'_>) -> T) -> Result<T> {
        let catalog = self.begin()?;
        let (seen, _) = self.settle(
            catalog,
            |database, catalog| (read(&database.computation(catalog)), database.inputs.versions()),
            |database, (_, files), now| {
                files.iter().all(|(file, version)| database.inputs.is_current(*file, *version, now))
            },
        )?;
        Ok(seen)
    }

    /// The names with several files, as of the last question.
    pub fn clashes(&self) -> Vec<Fault> {
        self.catalog.clashes()
    }

    fn key(&self, name: &str, request: &Request) -> (Text, Option<Text>) {
        let heeded = request.force_environment || self.settings.allow_adapter_env_override;
        (Text::from(name), request.environment.clone().filter(|_| heeded))
    }

    /// Whether no input changed during the computation. Otherwise the answer may mix two states of the
    /// files.
    fn is_consistent(&self, key: &(Text, Option<Text>), computed: &Computed, now: &Arc<Catalog>) -> bool {
        let computation = self.computation(now);
        let answer = computed.result.as_ref().ok();
        computation.inputs_hold(&computed.dependencies, answer.map(|answer| &*answer.sequence))
            && answer.is_none_or(|answer| {
                let original = &answer.original_environment;
                computation.still_holds(&key.0, original, key.1.as_ref(), &answer.queries)
            })
    }

    /// Returns an answer, and caches it if the same request may come again.
    fn store(
        &mut self,
        key: (Text, Option<Text>),
        computed: Computed,
        cacheable: bool,
    ) -> Result<Arc<NodeInfo>> {
        let answer = computed.result?;
        let info = Arc::new(answer.info);
        if cacheable && &*self.settings.cache != "off" {
            self.uses += 1;
            let bytes = answer.bytes;
            let cached = CachedAnswer {
                bytes,
                last_used: self.uses,
                info: info.clone(),
                position_changes: computed.position_changes,
                sequence: answer.sequence,
                item: self.catalog.nodes.get(&key.0).cloned(),
                dependencies: computed.dependencies,
                original_environment: answer.original_environment,
                queries: answer.queries,
                grains: answer.grains,
                verified_at: self.revision,
            };
            let before = self.answers.insert(key, cached);
            self.bytes = self.bytes + bytes - before.map_or(0, |before| before.bytes);
            self.evict();
        }
        Ok(info)
    }

    /// Evicts the answers that were not requested for the longest time, until the cache is below 90 % of
    /// its limit, so that the next eviction is not due soon.
    fn evict(&mut self) {
        let limit = self.cache_limit();
        if self.bytes <= limit {
            return;
        }
        let mut by_use: Vec<_> =
            self.answers.iter().map(|(key, answer)| (answer.last_used, key.clone())).collect();
        by_use.sort_unstable_by_key(|(last_used, _)| *last_used);
        for (_, key) in by_use {
            if self.bytes <= limit / 10 * 9 {
                break;
            }
            if let Some(dropped) = self.answers.remove(&key) {
                self.bytes -= dropped.bytes;
            }
        }
    }

    /// The limit for the memory of answers, in bytes.
    fn cache_limit(&self) -> usize {
        usize::try_from(self.settings.cache_size).unwrap_or(usize::MAX).saturating_mul(1024 * 1024)
    }

    /// The state of the caches, and counts of the work done.
    pub fn info(&self) -> CacheInfo {
        CacheInfo {
            counts: self.inputs.counters.counts(),
            answers: self.answers.len(),
            answers_memory: self.bytes,
            answers_limit: self.cache_limit(),
            files: self.inputs.files.loaded(),
            files_memory: self.inputs.files.bytes_in_memory(),
            last_full_check: self.inputs.last_full_check(),
            watching: self.inputs.is_watched(),
        }
    }

    /// Counts the observed changes of files.
    pub fn change_count(&self) -> u64 {
        self.catalog_changes + self.inputs.files.content_changes()
    }

    /// Makes the state of a parent process usable in this process.
    pub fn adopt(&mut self) {
        self.inputs.forget_watch();
        self.revision += 1;
    }

    fn cached(
        &mut self,
        key: &(Text, Option<Text>),
        request: &Request,
        catalog: &Arc<Catalog>,
    ) -> Option<Arc<NodeInfo>> {
        self.uses += 1;
        let cached = self.answers.get_mut(key)?;
        cached.last_used = self.uses;
        if !cached.grains.is_empty() {
            let grains =
                grains(self.grain_rules.as_ref(), &self.known_grains, &key.0, request.grains.as_ref())?;
            if !grains.agree(&cached.grains) {
                return None;
            }
        }
        if cached.verified_at == self.revision {
            return Some(cached.info.clone());
        }
        let cached = self.answers.get(key)?;
        let computation = self.computation(catalog);
        let original = &cached.original_environment;
        let current = cached.inputs_hold(&key.0, &computation)
            && computation.still_holds(&key.0, original, key.1.as_ref(), &cached.queries)
            && (cached.info.warnings.is_empty()
                || cached.position_changes == self.inputs.files.position_changes());
        if !current {
            return None;
        }
        let cached = self.answers.get_mut(key)?;
        cached.verified_at = self.revision;
        Some(cached.info.clone())
    }

    fn computation<'a>(&'a self, catalog: &'a Arc<Catalog>) -> Computation<'a> {
        self.context(catalog).computation()
    }

    fn context<'a>(&'a self, catalog: &'a Arc<Catalog>) -> EngineContext<'a> {
        EngineContext {
            settings: &self.settings,
            inputs: &self.inputs,
            mappings: &self.mappings,
            grain_rules: self.grain_rules.as_ref(),
            known_grains: &self.known_grains,
            ignored: self.ignored.as_ref(),
            catalog,
            roots: &self.roots,
            index: &self.index,
            answers: &self.answers,
            revision: self.revision,
        }
    }
}

/// Computes an answer and records its dependencies.
fn compute(
    computation: &Computation<'_>,
    key: &(Text, Option<Text>),
    request: &Request,
    mapped: bool,
) -> Computed {
    computation.recorder.begin();
    computation.inputs.counters.computed.add();
    let position_changes = computation.inputs.files.position_changes();
    let (name, environment) = (&key.0, key.1.as_ref());
    let input = request.input_data.as_ref();
    let grains = request.grains.as_ref();
    let result = computation.answer(NodeRequest { name, environment, input, grains, mapped, top: false });
    Computed { result, dependencies: computation.recorder.end(), position_changes }
}

/// The result of a computation, and its dependencies.
struct Computed {
    result: Result<Answer>,
    dependencies: Dependencies,
    /// `Files::position_changes` before the computation.
    position_changes: u64,
}

/// Only requests without input data can be answered from the cache.
fn is_cacheable(request: &Request, mapped: bool) -> bool {
    request.input_data.is_none() && !mapped
}
