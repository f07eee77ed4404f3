//! The export index keeps the exports that inventory queries asked for, until a file of their node changes.
//!
//! A node that is needed only for its exports is not evaluated as a whole: its layers are ordered, and only
//! the parameters that the exports refer to are merged.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::base::error::Fault;
use crate::base::failpoints::failpoint;
use crate::base::lock::Mutex;
use crate::base::parallel;
use crate::base::secrets::Secrets;
use crate::base::value::{Text, Value};
use crate::engine::files::Dependencies;
use crate::engine::node::{Computation, Layers, NodeRequest};
use crate::evaluate::{Evaluator, Mode, Others, Outcome, Question, References, Told, python_equal, without};
use crate::model::catalog::{Catalog, CatalogEntry};
use crate::model::query::Query;
use crate::model::slot::MapSlot;

/// The memo of exports of all nodes.
#[derive(Debug, Default)]
pub struct ExportIndex {
    nodes: Mutex<FxHashMap<Text, NodeExports>>,
}

impl ExportIndex {
    /// Drops nodes that no longer exist.
    pub fn retain(&mut self, catalog: &Catalog) {
        self.nodes.get_mut().retain(|name, _| catalog.nodes.contains_key(name));
    }
}

/// The memo of one node.
#[derive(Debug)]
struct NodeExports {
    /// The catalog entry of the node.
    item: Option<CatalogEntry>,
    dependencies: Dependencies,
    /// The last revision in which the dependencies were verified.
    verified_at: u64,
    layers: Result<Arc<Layers>, Box<Fault>>,
    values: FxHashMap<Vec<Text>, ExportResult>,
    /// The exports without secrets.
    without: Option<Arc<MapSlot>>,
    values_without_secrets: FxHashMap<Vec<Text>, Option<Value>>,
}

/// The value of an export; `None` if the node does not have it.
type ExportResult = Result<Option<Value>, Box<FailedExport>>;

/// A failed export.
#[derive(Clone, Debug)]
struct FailedExport {
    fault: Fault,
    /// The rest of the value for queries that ignore errors.
    rest: Option<Value>,
    /// The revision of the message. It contains lines and similar names, which may change while values do
    /// not. `None` if the message was built without them because nobody sees it.
    revision: Option<u64>,
}

/// A question of a query and its outcome. An answer stays valid while the same question has the same
/// outcome.
#[derive(Clone, Debug)]
pub struct QueryRecord {
    question: Question,
    outcome: Outcome,
}

impl QueryRecord {
    /// The query.
    pub fn query(&self) -> &Arc<Query> {
        self.question.query()
    }

    /// The nodes that the query found.
    pub fn found(&self) -> impl Iterator<Item = &Text> {
        self.outcome.iter().map(|(node, _)| node)
    }
}

/// The other nodes as the queries of one node see them.
pub struct OtherNodes<'a> {
    /// The computation of this thread.
    pub computation: &'a Computation<'a>,
    /// The environment in the file of the querying node.
    pub environment: Value,
    /// The querying node, if a request overrides its environment: it is then not part of its own
    /// environment (S10).
    pub absent: Option<Text>,
    /// The questions so far.
    pub queries: RefCell<Vec<QueryRecord>>,
    /// The secrets to remove from exports.
    pub without: Option<Secrets>,
}

impl<'a> OtherNodes<'a> {
    /// The other nodes, for a querying node with this environment in its file.
    pub fn new(computation: &'a Computation<'a>, environment: Value, absent: Option<Text>) -> OtherNodes<'a> {
        OtherNodes { computation, environment, absent, queries: RefCell::default(), without: None }
    }

    /// Whether all questions still have the same outcome.
    pub fn still_holds(&self, queries: &[QueryRecord]) -> bool {
        queries.iter().all(|QueryRecord { question, outcome }| {
            let nodes = self.nodes(question.all_environments());
            let exports = nodes.map(|nodes| self.exports(nodes, &question.paths(), question.ignore_errors));
            matches!(exports, Ok(Ok(exports)) if question.outcome(&exports) == *outcome)
        })
    }
}

impl Computation<'_> {
    /// The exports of a node at some paths, as in [`Others::exports`].
    fn exports(
        &self,
        node: &Text,
        paths: &[&[Text]],
        ignore_errors: bool,
        without: Option<&Secrets>,
    ) -> Result<Option<Vec<Option<Value>>>, Fault> {
        let layers = match self.memoized_layers(node) {
            Ok(layers) => layers,
            Err(_) if self.settings.inventory_ignore_failed_node => return Ok(None),
            Err(fault) => return Err(fault),
        };
        if let Some(secrets) = without {
            let value = |path: &&[Text]| self.export_without_secrets(node, &layers, path, secrets);
            return Ok(Some(paths.iter().map(value).collect()));
        }
        let value = |path: &&[Text]| match self.export(node, &layers, path, ignore_errors) {
            Ok(value) => Ok(value),
            Err(failed) if ignore_errors => Ok(failed.rest),
            Err(failed) => Err(failed.fault),
        };
        paths.iter().map(value).collect::<Result<Vec<_>, Fault>>().map(Some)
    }

    /// The ordered layers of a node, from the memo if its files are unchanged.
    pub(crate) fn memoized_layers(&self, node: &Text) -> Result<Arc<Layers>, Fault> {
        let mut memos = self.index.nodes.lock();
        failpoint("the exports are looked up");
        if let Some(entry) = memos.get_mut(node) {
            if entry.verified_at != self.revision {
                let current = entry.item.as_ref() == self.catalog.nodes.get(node)
                    && self.is_current(&entry.dependencies)
                    && entry
                        .layers
                        .as_ref()
                        .is_ok_and(|layers| self.sequence_holds(&layers.linearization.sequence));
                if current {
                    entry.verified_at = self.revision;
                } else {
                    memos.remove(node);
                }
            }
            if let Some(entry) = memos.get(node) {
                return entry.layers.clone().map_err(|fault| *fault);
            }
        }
        drop(memos);
        self.recorder.begin();
        let layers = self
            .layers(NodeRequest::plain(node))
            .map(Arc::new)
            .map_err(|error| Box::new(error.into_faults().swap_remove(0)));
        let dependencies = self.recorder.end();
        let entry = NodeExports {
            item: self.catalog.nodes.get(node).cloned(),
            dependencies,
            verified_at: self.revision,
            layers: layers.clone(),
            values: FxHashMap::default(),
            without: None,
            values_without_secrets: FxHashMap::default(),
        };
        self.index.nodes.lock().insert(node.clone(), entry);
        layers.map_err(|fault| *fault)
    }

    /// The value of an export. A failed one is computed again if its message is shown and outdated.
    fn export(&self, node: &Text, layers: &Layers, path: &[Text], ignore_errors: bool) -> ExportResult {
        if let Some(value) = self.index.nodes.lock().get(node).and_then(|entry| entry.values.get(path))
            && value
                .as_ref()
                .err()
                .is_none_or(|failed| ignore_errors || failed.revision == Some(self.revision))
        {
            return value.clone();
        }
        self.inputs.counters.exported.add();
        let root = self.root(layers);
        let mut evaluator = Evaluator::new(root, self.settings, self.inputs);
        if ignore_errors {
            evaluator = evaluator.in_mode(Mode::Silent);
        }
        let value = evaluator.export(&layers.exports, path, false);
        let exported = match evaluator.finish().into_iter().next() {
            None => Ok(value),
            Some(mut fault) => {
                self.complete(&mut fault, layers);
                self.redact_cycles(std::slice::from_mut(&mut fault), layers);
                let revision = (!ignore_errors).then_some(self.revision);
                let rest = evaluator.in_mode(Mode::Silent).export(&layers.exports, path, true);
                Err(Box::new(FailedExport { fault, rest, revision }))
            }
        };
        if let Some(entry) = self.index.nodes.lock().get_mut(node) {
            entry.values.insert(path.to_vec(), exported.clone());
        }
        exported
    }

    /// The value of an export without the secrets among parameters and exports. `None` if it fails without
    /// them; then the whole export is masked.
    fn export_without_secrets(
        &self,
        node: &Text,
        layers: &Layers,
        path: &[Text],
        secrets: &Secrets,
    ) -> Option<Value> {
        let memo = {
            let memos = self.index.nodes.lock();
            let entry = memos.get(node);
            if let Some(value) = entry.and_then(|entry| entry.values_without_secrets.get(path)) {
                return value.clone();
            }
            entry.and_then(|entry| entry.without.clone())
        };
        let exports = memo.unwrap_or_else(|| without(secrets, &layers.exports, References::Hidden));
        let root = self.root(layers).without(secrets);
        let value = Evaluator::new(root, self.settings, self.inputs)
            .in_mode(Mode::Silent)
            .export(&exports, path, true);
        if let Some(entry) = self.index.nodes.lock().get_mut(node) {
            entry.without = Some(exports);
            entry.values_without_secrets.insert(path.to_vec(), value.clone());
        }
        value
    }
}

impl Others for OtherNodes<'_> {
    fn nodes(&self, all_environments: bool) -> Result<Vec<Text>, Fault> {
        let computation = self.computation;
        let mut nodes = Vec::new();
        let items: Vec<&CatalogEntry> = computation.catalog.nodes.values().collect();
        computation.inputs.preload(&items, computation.threads());
        for item in computation.catalog.nodes.values() {
            let name = &item.name;
            if self.absent.as_ref() == Some(name) && !all_environments {
                continue;
            }
            match computation.read_untracked(item) {
                Ok(layer) => {
                    let environment = computation.original_environment(&layer);
                    if all_environments || python_equal(&environment, &self.environment) {
                        nodes.push(name.clone());
                    }
                }
                Err(_) if computation.settings.inventory_ignore_failed_node => {}
                Err(error) => {
                    let mut fault = error.into_faults().swap_remove(0);
                    fault.node = Some(name.clone());
                    return Err(fault);
                }
            }
        }
        Ok(nodes)
    }

    fn exports(
        &self,
        nodes: Vec<Text>,
        paths: &[&[Text]],
        ignore_errors: bool,
    ) -> Result<Told, (Text, Fault)> {
        let context = **self.computation;
        let without = self.without.as_ref();
        let results = parallel::each(
            context.threads(),
            &nodes,
            || context.computation(),
            |computation, node| computation.exports(node, paths, ignore_errors, without),
            Result::is_err,
        );
        nodes
            .into_iter()
            .zip(results)
            .map(|(node, result)| match result {
                Ok(values) => Ok((node, values)),
                Err(fault) => Err((node, fault)),
            })
            .collect()
    }

    fn answered(&self, question: Question, outcome: Outcome) {
        self.queries.borrow_mut().push(QueryRecord { question, outcome });
    }
}
