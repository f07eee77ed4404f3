//! The life of a question about one node, from top to bottom: find the cached answer, verify that it still
//! holds, else compute it while nothing changes, and store it.

use std::sync::Arc;
use std::time::Duration;

use crate::engine::answer::{NodeInfo, Request};
use crate::engine::changed::Changed;
use crate::engine::context::{Answer, AnswerKey, CachedAnswer, Computation, NodeRequest, grains};
use crate::engine::database::Database;
use crate::engine::exports::{OtherNodes, QueryRecord};
use crate::engine::files::Dependencies;
use crate::model::catalog::Catalog;
use reclass_base::error::{Fault, Kind, Result};
use reclass_base::value::{Text, Value};

/// The pauses in milliseconds before a computation is repeated because files changed while it ran: together, about
/// a second.
const PAUSES: [u64; 9] = [0, 0, 1, 4, 16, 64, 128, 256, 512];

impl Database {
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
            |database, computed, now| database.changed_meanwhile(&key, computed, now),
        )?;
        let info = self.store(key, computed, is_cacheable(request, mapped))?;
        Ok(self.with_warnings(info))
    }

    /// The cached answer, if its dependencies and the outcomes of its queries hold.
    pub(super) fn cached(
        &mut self,
        key: &AnswerKey,
        request: &Request,
        catalog: &Arc<Catalog>,
    ) -> Option<Arc<NodeInfo>> {
        self.uses += 1;
        let holds = self.computation(catalog).held(key, request.grains.as_ref()).is_some();
        let cached = self.answers.get_mut(key)?;
        cached.last_used = self.uses;
        if !holds {
            return None;
        }
        cached.generation = self.generation;
        Some(cached.info.clone())
    }

    /// Repeats a computation until no input changed while it ran. `changed` verifies its dependencies.
    pub(super) fn settle<T>(
        &mut self,
        mut catalog: Arc<Catalog>,
        mut compute: impl FnMut(&mut Database, &Arc<Catalog>) -> T,
        mut changed: impl FnMut(&mut Database, &T, &Arc<Catalog>) -> Option<Changed>,
    ) -> Result<T> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let computed = compute(self, &catalog);
            let now = self.recheck()?;
            let found = if Arc::ptr_eq(&now, &catalog) {
                changed(self, &computed, &now)
            } else {
                Some(Changed::between(&catalog, &now))
            };
            let Some(found) = found else { return Ok(computed) };
            let Some(pause) = pauses.next() else {
                let message = format!("it was another one after each of {} attempts", PAUSES.len() + 1);
                let path = self.computation(&now).path_of(&found);
                return Err(Fault::new(Kind::FileChanging { path, message }).into());
            };
            catalog = now;
            if pause > 0 {
                std::thread::sleep(Duration::from_millis(pause));
                catalog = self.recheck()?;
            }
        }
    }

    /// The first input that changed during a computation. Its answer may mix two states of the files.
    pub(super) fn changed_meanwhile(
        &self,
        key: &AnswerKey,
        computed: &Computed,
        now: &Arc<Catalog>,
    ) -> Option<Changed> {
        let computation = self.computation(now);
        let answer = computed.result.as_ref().ok();
        computation.changed_inputs(&computed.dependencies, answer.map(|answer| &*answer.sequence)).or_else(
            || {
                let Answer { original_environment, queries, .. } = answer?;
                let node =
                    computation.changed_outcome(&key.0, original_environment, key.1.as_ref(), queries)?;
                Some(now.nodes.get(&node).cloned().map_or(Changed::Nodes, Changed::Node))
            },
        )
    }

    /// Returns an answer, and caches it if the same request may come again.
    pub(super) fn store(
        &mut self,
        key: AnswerKey,
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
                generation: self.generation,
            };
            let before = self.answers.insert(key, cached);
            self.bytes = self.bytes + bytes - before.map_or(0, |before| before.bytes);
            self.evict();
        }
        Ok(info)
    }

    /// Caches an answer that was computed by [`Computation::read_answer`] from a state that still holds.
    pub(super) fn keep(&mut self, answer: ComputedAnswer) {
        // Only answers without an error come here.
        let _ = self.store(answer.key, answer.computed, true);
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
}

impl Computation<'_> {
    /// The cached answer, if its dependencies and the outcomes of its queries hold.
    pub fn held(&self, key: &AnswerKey, given: Option<&Value>) -> Option<&CachedAnswer> {
        let cached = self.answers.get(key)?;
        if !cached.grains.is_empty()
            && !grains(self.grain_rules, self.known_grains, &key.0, given)?.agree(&cached.grains)
        {
            return None;
        }
        let holds = cached.generation == self.generation
            || cached.inputs_hold(&key.0, self)
                && self
                    .changed_outcome(&key.0, &cached.original_environment, key.1.as_ref(), &cached.queries)
                    .is_none()
                && (cached.info.warnings.is_empty()
                    || cached.position_changes == self.inputs.files.position_changes());
        holds.then_some(cached)
    }

    /// Reads the answer of a node without input data: the cached one if it holds. If it was computed, it comes with
    /// it, and may be kept.
    pub fn read_answer<T>(
        &self,
        name: &Text,
        read: impl Fn(&NodeInfo, &[QueryRecord]) -> T,
    ) -> (Result<T>, Option<ComputedAnswer>) {
        let key = (name.clone(), None);
        if let Some(cached) = self.held(&key, None) {
            return (Ok(read(&cached.info, &cached.queries)), None);
        }
        let computed = compute(self, &key, &Request::default(), false);
        match &computed.result {
            Ok(answer) => (Ok(read(&answer.info, &answer.queries)), Some(ComputedAnswer { key, computed })),
            Err(error) => (Err(error.clone()), None),
        }
    }

    /// A node that gives a question of an answer another outcome.
    pub fn changed_outcome(
        &self,
        name: &Text,
        original: &Value,
        environment: Option<&Text>,
        queries: &[QueryRecord],
    ) -> Option<Text> {
        let overridden = environment.is_some_and(|environment| *original != Value::Str(environment.clone()));
        OtherNodes::new(self, original.clone(), overridden.then(|| name.clone())).changed(queries)
    }
}

/// Computes an answer and records its dependencies.
pub(super) fn compute(
    computation: &Computation<'_>,
    key: &AnswerKey,
    request: &Request,
    mapped: bool,
) -> Computed {
    computation.inputs.counters.computed.add();
    let position_changes = computation.inputs.files.position_changes();
    let (name, environment) = (&key.0, key.1.as_ref());
    let input = request.input_data.as_ref();
    let grains = request.grains.as_ref();
    let request = NodeRequest { environment, input, grains, mapped, ..NodeRequest::plain(name) };
    let (result, dependencies) = computation.recorder.during(|| computation.answer(request));
    Computed { result, dependencies, position_changes }
}

/// An answer that was computed, and may be kept.
pub struct ComputedAnswer {
    key: AnswerKey,
    computed: Computed,
}

/// The result of a computation, and its dependencies.
pub(super) struct Computed {
    pub result: Result<Answer>,
    dependencies: Dependencies,
    /// `Files::position_changes` before the computation.
    position_changes: u64,
}

/// Only requests without input data can be answered from the cache.
pub(super) fn is_cacheable(request: &Request, mapped: bool) -> bool {
    request.input_data.is_none() && !mapped
}
