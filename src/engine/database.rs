//! The whole state of an inventory: its files, and the answers with their dependencies. The life of one
//! question is in `question`.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::answer::{CacheInfo, NodeInfo, Request};
use crate::engine::changed::Changed;
use crate::engine::context::{AnswerKey, CachedAnswers, Computation, EngineContext, NodeRequest};
use crate::engine::exports::ExportIndex;
use crate::engine::ignored::Ignored;
use crate::engine::inputs::Inputs;
use crate::engine::known_grains::KnownGrains;
use crate::engine::question::{compute, is_cacheable};
use crate::engine::sequence::Roots;
use crate::engine::sources::KnownName;
use crate::engine::top::Top;
use crate::model::catalog::{Catalog, TreeId};
use crate::model::grains::GrainRules;
use crate::model::mappings::Mappings;
use crate::model::merge_options::of_settings;
use crate::storage::location::TreeLocations;
use reclass_base::error::{Error, Fault, Link, Result};
use reclass_base::failpoints::failpoint;
use reclass_base::parallel;
use reclass_base::progress::WorkUnit;
use reclass_base::settings::Settings;
use reclass_base::source::Site;
use reclass_base::value::Text;

/// The whole state of an inventory.
#[derive(Debug)]
pub struct Database {
    /// The files.
    pub inputs: Inputs,
    /// The checked settings.
    pub settings: Arc<Settings>,
    mappings: Mappings,
    pub(super) grain_rules: Option<GrainRules>,
    pub(super) known_grains: KnownGrains,
    ignored: Option<Ignored>,
    /// The empty sequences of classes, where all linearizations begin.
    roots: Roots,
    index: ExportIndex,
    /// Grows whenever an input may have changed, or was forgotten.
    pub(super) generation: u64,
    pub(super) answers: CachedAnswers,
    /// Memory of all cached answers.
    pub(super) bytes: usize,
    /// Grows with each request; the clock of `last_used`.
    pub(super) uses: u64,
    /// The catalog of the last check.
    pub(super) catalog: Arc<Catalog>,
    /// Grows when the catalog changes.
    catalog_changes: u64,
    /// The name of the state, if it was asked for.
    pub(super) known_name: Option<KnownName>,
}

impl Database {
    /// The state of an inventory before the first question.
    pub fn new(settings: Arc<Settings>, locations: Result<Arc<TreeLocations>>) -> Result<Database> {
        let inputs = locations.and_then(|locations| Inputs::new(settings.clone(), locations));
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
            generation: 0,
            answers: FxHashMap::default(),
            bytes: 0,
            uses: 0,
            catalog: Arc::default(),
            catalog_changes: 0,
            known_name: None,
        })
    }

    /// Begins a question: checks files and the branches of repositories for changes.
    pub fn begin(&mut self) -> Result<Arc<Catalog>> {
        let changed = self.inputs.begin()?;
        failpoint("folders were listed");
        self.advance(changed)
    }

    /// Checks the files again at the end of a question.
    pub(super) fn recheck(&mut self) -> Result<Arc<Catalog>> {
        let changed = self.inputs.recheck();
        self.advance(changed)
    }

    fn advance(&mut self, changed: bool) -> Result<Arc<Catalog>> {
        if changed {
            self.generation += 1;
        }
        let catalog = self.inputs.catalog()?;
        let changed = !Arc::ptr_eq(&self.catalog, &catalog);
        if changed {
            // Nobody asks for removed nodes any more.
            self.answers.retain(|(name, _), _| catalog.nodes.contains_key(name));
            self.bytes = self.answers.values().map(|cached| cached.bytes).sum();
            self.catalog = catalog.clone();
            self.catalog_changes += 1;
        }
        if self.inputs.forget(&catalog, changed) {
            // What was verified in this generation may depend on the version of a file that is gone.
            self.generation += 1;
        }
        Ok(catalog)
    }

    /// Takes a text in place of the bytes of a file.
    pub fn set_buffer(&mut self, path: &Path, text: Option<&str>) {
        self.inputs.set_buffer(path, text);
        self.generation += 1;
    }

    /// The names of nodes and classes, from one consistent state of the folders.
    pub fn names(&mut self) -> Result<Arc<Catalog>> {
        let catalog = self.begin()?;
        self.settle(catalog, |_, catalog| catalog.clone(), |_, _, _| None)
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
                let grains = request.grains.as_ref();
                let request =
                    NodeRequest { environment, grains, mapped, top: true, ..NodeRequest::plain(name) };
                computation.recorder.during(|| computation.top(request))
            },
            |database, (result, dependencies), now| {
                let classes = result.as_ref().ok().map(|(_, classes)| &**classes);
                database.computation(now).changed_inputs(dependencies, classes)
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
                    context.settings.threads,
                    &missing,
                    || context.computation(),
                    |computation, key| compute(computation, key, request, false),
                    |computed| computed.result.is_err(),
                );
                (ready, missing.into_iter().zip(computed).collect::<Vec<_>>())
            },
            |database, (ready, computed), now| {
                // Cached answers must still be valid in the state that the new ones were computed from.
                let mut kept = now.nodes.values().filter_map(|item| Some((item, ready.get(&item.name)?)));
                let changed = kept.find(|(item, info)| {
                    let key = database.key(&item.name, request);
                    !database.cached(&key, request, now).is_some_and(|now| Arc::ptr_eq(&now, info))
                });
                changed.map(|(item, _)| Changed::Node(item.clone())).or_else(|| {
                    computed.iter().find_map(|(key, one)| database.changed_meanwhile(key, one, now))
                })
            },
        )?;
        let catalog = self.catalog.clone();
        self.inputs.all_classes(&catalog)?;
        let clashes = self.inputs.clashes(&catalog);
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
    pub(super) fn with_warnings(&self, info: Arc<NodeInfo>) -> Arc<NodeInfo> {
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
        let path = reclass_base::path::split_path(path, &self.settings.delimiter);
        self.computation(&catalog).locate_value(name, key.1.as_ref(), &path)
    }

    /// Calls `read` with one consistent state of the inventory. Calls it again if files changed meanwhile.
    pub fn inspect<T>(&mut self, read: &dyn Fn(&Computation<'_>) -> T) -> Result<T> {
        let catalog = self.begin()?;
        let (seen, unlisted, ..) = self.settle(
            catalog,
            |database, catalog| {
                let seen = read(&database.computation(catalog));
                let inputs = &database.inputs;
                (seen, inputs.take_unlisted(), inputs.versions(), (inputs.scan(), inputs.epoch()))
            },
            |database, (_, unlisted, files, state), now| {
                // An error of a folder is final if it occurs twice.
                let inputs = &database.inputs;
                if unlisted.as_ref().is_some_and(|met| inputs.all_classes(now).as_ref() != Err(met))
                    || !inputs.folders_hold(*state)
                {
                    return Some(Changed::Classes(TreeId(0)));
                }
                let file = files.iter().find(|(file, version)| !inputs.is_current(*file, *version, now));
                file.map(|(file, _)| Changed::File(*file))
            },
        )?;
        unlisted.map_or(Ok(seen), Err)
    }

    /// The names with several files, as of the last question.
    pub fn clashes(&self) -> Vec<Fault> {
        // What cannot be listed has no names.
        let _ = self.inputs.all_classes(&self.catalog);
        self.inputs.clashes(&self.catalog)
    }

    pub(super) fn key(&self, name: &str, request: &Request) -> AnswerKey {
        let heeded = request.force_environment || self.settings.allow_adapter_env_override;
        (Text::from(name), request.environment.clone().filter(|_| heeded))
    }

    /// The limit for the memory of answers, in bytes.
    pub(super) fn cache_limit(&self) -> usize {
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
        self.generation += 1;
    }

    pub(super) fn computation<'a>(&'a self, catalog: &'a Arc<Catalog>) -> Computation<'a> {
        self.context(catalog).computation()
    }

    pub(super) fn context<'a>(&'a self, catalog: &'a Arc<Catalog>) -> EngineContext<'a> {
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
            generation: self.generation,
        }
    }
}
