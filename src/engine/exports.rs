//! The index of exports turns a node and the path of an export into its value, and keeps it
//! until a file of that node changes.
//!
//! Of a node that is only queries for exports nothing else is computed: its layers are ordered,
//! and the parameters that its exports refer to are merged one by one.

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
use crate::evaluate::{Evaluator, Others, Outcome, Question, References, Told, python_equal, without};
use crate::model::catalog::{Catalog, CatalogEntry};
use crate::model::query::Query;
use crate::model::slot::MapSlot;

/// What is known of the exports of all nodes.
#[derive(Debug, Default)]
pub struct ExportIndex {
    nodes: Mutex<FxHashMap<Text, NodeExports>>,
}

impl ExportIndex {
    /// Forgets nodes that are gone.
    pub fn retain(&mut self, catalog: &Catalog) {
        self.nodes.get_mut().retain(|name, _| catalog.nodes.contains_key(name));
    }
}

/// What is known of one node.
#[derive(Debug)]
struct NodeExports {
    /// What its name stood for.
    item: Option<CatalogEntry>,
    dependencies: Dependencies,
    /// The revision in which the files were last found unchanged.
    verified_at: u64,
    layers: Result<Arc<Layers>, Box<Fault>>,
    values: FxHashMap<Vec<Text>, ExportResult>,
    /// Its exports without the secrets in them, and what is known of those.
    without: Option<Arc<MapSlot>>,
    values_without_secrets: FxHashMap<Vec<Text>, Option<Value>>,
}

/// The value of an export, `None` where the node has none.
type ExportResult = Result<Option<Value>, Box<FailedExport>>;

/// An export that fails.
#[derive(Clone, Debug)]
struct FailedExport {
    fault: Fault,
    /// What is left of it where errors are ignored.
    rest: Option<Value>,
    /// The revision in which the message was made: it names lines, and similar names, and both
    /// change where no value does. `None` for a message that nobody sees, without them.
    revision: Option<u64>,
}

/// One question that a query queries, and what came of it: an answer that was computed from it holds
/// as long as the same comes of the same question.
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

/// The other nodes, for the queries of one node.
pub struct OtherNodes<'a> {
    /// How to compute.
    pub computation: &'a Computation<'a>,
    /// The environment that the recorder node's file names.
    pub environment: Value,
    /// The recorder node, where it was moved to another environment: it is then not found in its
    /// own (S10).
    pub absent: Option<Text>,
    /// What was queries.
    pub queries: RefCell<Vec<QueryRecord>>,
    /// What is left out of their exports.
    pub without: Option<Secrets>,
}

impl<'a> OtherNodes<'a> {
    /// The other nodes for one whose file names this environment.
    pub fn new(computation: &'a Computation<'a>, environment: Value, absent: Option<Text>) -> OtherNodes<'a> {
        OtherNodes { computation, environment, absent, queries: RefCell::default(), without: None }
    }

    /// Whether all queries would be answered the same now.
    pub fn still_holds(&self, queries: &[QueryRecord]) -> bool {
        queries.iter().all(|QueryRecord { question, outcome }| {
            let nodes = self.nodes(question.all_environments());
            let told = nodes.map(|nodes| self.exports(nodes, &question.paths(), question.ignore_errors));
            matches!(told, Ok(Ok(told)) if question.outcome(&told) == *outcome)
        })
    }
}

impl Computation<'_> {
    /// The exports of a node under some paths, as [`Others::exports`] has them.
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

    /// Forgets a node whose files changed, and orders the layers of one that is not known.
    pub(crate) fn memoized_layers(&self, node: &Text) -> Result<Arc<Layers>, Fault> {
        let mut known = self.index.nodes.lock();
        failpoint("the exports are looked up");
        if let Some(entry) = known.get_mut(node) {
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
                    known.remove(node);
                }
            }
            if let Some(entry) = known.get(node) {
                return entry.layers.clone().map_err(|fault| *fault);
            }
        }
        drop(known);
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

    /// The value of an export. The message of one that fails is made anew where it is told.
    fn export(&self, node: &Text, layers: &Layers, path: &[Text], ignore_errors: bool) -> ExportResult {
        if let Some(value) = self.index.nodes.lock().get(node).and_then(|known| known.values.get(path))
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
            evaluator = evaluator.unseen();
        }
        let value = evaluator.export(&layers.exports, path, false);
        let exported = match evaluator.finish().into_iter().next() {
            None => Ok(value),
            Some(mut fault) => {
                self.complete(&mut fault, layers);
                self.redact_cycles(std::slice::from_mut(&mut fault), layers);
                let revision = (!ignore_errors).then_some(self.revision);
                let rest = evaluator.unseen().export(&layers.exports, path, true);
                Err(Box::new(FailedExport { fault, rest, revision }))
            }
        };
        if let Some(known) = self.index.nodes.lock().get_mut(node) {
            known.values.insert(path.to_vec(), exported.clone());
        }
        exported
    }

    /// What an export comes to without the secrets among parameters and exports, which are those of the
    /// settings; nothing where it fails without them: it is masked as a whole.
    fn export_without_secrets(
        &self,
        node: &Text,
        layers: &Layers,
        path: &[Text],
        secrets: &Secrets,
    ) -> Option<Value> {
        let known = {
            let known = self.index.nodes.lock();
            let entry = known.get(node);
            if let Some(value) = entry.and_then(|entry| entry.values_without_secrets.get(path)) {
                return value.clone();
            }
            entry.and_then(|entry| entry.without.clone())
        };
        let exports = known.unwrap_or_else(|| without(secrets, &layers.exports, References::Hidden));
        let root = self.root(layers).without(secrets);
        let value = Evaluator::new(root, self.settings, self.inputs).unseen().export(&exports, path, true);
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
        let base = **self.computation;
        let without = self.without.as_ref();
        let told = parallel::each(
            base.threads(),
            &nodes,
            || base.computation(),
            |computation, node| computation.exports(node, paths, ignore_errors, without),
            Result::is_err,
        );
        let told = nodes.into_iter().zip(told);
        told.map(|(node, told)| match told {
            Ok(told) => Ok((node, told)),
            Err(fault) => Err((node, fault)),
        })
        .collect()
    }

    fn answered(&self, question: Question, outcome: Outcome) {
        self.queries.borrow_mut().push(QueryRecord { question, outcome });
    }
}
