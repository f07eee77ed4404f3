//! The index of exports turns a node and the path of an export into its value, and keeps it
//! until a file of that node changes.
//!
//! Of a node that is only asked for exports nothing else is computed: its layers are ordered,
//! and the parameters that its exports refer to are merged one by one.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::catalog::Catalog;
use crate::engine::inputs::Version;
use crate::engine::node::{Computation, Layers};
use crate::error::Fault;
use crate::evaluate::{Evaluator, Others};
use crate::linearize::Lookup;
use crate::source::FileId;
use crate::value::{Text, Value};

/// What is known of the exports of all nodes.
#[derive(Debug, Default)]
pub struct ExportIndex {
    known: RefCell<FxHashMap<Text, Known>>,
}

/// What is known of one node.
#[derive(Debug)]
struct Known {
    catalog: Arc<Catalog>,
    files: Vec<(FileId, Version)>,
    /// The generation in which the files were last found unchanged.
    checked: u64,
    layers: Result<Arc<Layers>, Box<Fault>>,
    values: FxHashMap<Vec<Text>, Exported>,
}

/// The value of an export, `None` where the node has none.
type Exported = Result<Option<Value>, Box<Failed>>;

/// An export that fails.
#[derive(Clone, Debug)]
struct Failed {
    fault: Fault,
    /// What is left of it where errors are ignored.
    rest: Option<Value>,
}

/// One question that a query asked, and what it was told: an answer that was computed from it
/// holds as long as the same question is answered the same.
#[derive(Clone, Debug)]
pub struct Asked {
    all_environments: bool,
    ignore_errors: bool,
    paths: Vec<Vec<Text>>,
    nodes: Vec<Text>,
    exports: Vec<Option<Vec<Option<Value>>>>,
}

impl Asked {
    /// The nodes that had any of the exports.
    pub fn answering(&self) -> impl Iterator<Item = &Text> {
        let has = |exports: &Option<Vec<Option<Value>>>| {
            exports.as_ref().is_some_and(|values| values.iter().any(Option::is_some))
        };
        self.nodes.iter().zip(&self.exports).filter(move |(_, exports)| has(exports)).map(|(node, _)| node)
    }
}

/// The other nodes, for the queries of one node.
pub struct OtherNodes<'a> {
    /// How to compute.
    pub computation: &'a Computation<'a>,
    /// The environment that the asking node's file names.
    pub environment: Value,
    /// The asking node, where it was moved to another environment: it is then not found in its
    /// own (S10).
    pub absent: Option<Text>,
    /// What was asked.
    pub asked: RefCell<Vec<Asked>>,
}

impl OtherNodes<'_> {
    /// Whether all that was asked would be answered the same now.
    pub fn still_holds(&self, asked: &[Asked]) -> bool {
        asked.iter().all(|question| {
            let paths: Vec<&[Text]> = question.paths.iter().map(Vec::as_slice).collect();
            self.nodes(question.all_environments).is_ok_and(|nodes| {
                nodes == question.nodes
                    && nodes.iter().zip(&question.exports).all(|(node, before)| {
                        self.exports(node, &paths, question.ignore_errors)
                            .is_ok_and(|now| same_exports(now.as_deref(), before.as_deref()))
                    })
            })
        })
    }

    /// Forgets a node whose files changed, and orders the layers of one that is not known.
    fn layers(&self, node: &Text) -> Result<Arc<Layers>, Fault> {
        let computation = self.computation;
        let mut known = computation.index.known.borrow_mut();
        if let Some(entry) = known.get_mut(node) {
            if entry.checked != computation.generation {
                let current = Arc::ptr_eq(&entry.catalog, computation.catalog)
                    && computation.current(&entry.files)
                    && entry
                        .layers
                        .as_ref()
                        .map_or(true, |layers| computation.sequence_holds(&layers.linearization.sequence));
                if current {
                    entry.checked = computation.generation;
                } else {
                    known.remove(node);
                }
            }
            if let Some(entry) = known.get(node) {
                return entry.layers.clone().map_err(|fault| *fault);
            }
        }
        drop(known);
        computation.inputs.record();
        let layers = computation
            .layers(node, None, None, false)
            .map(Arc::new)
            .map_err(|error| Box::new(error.into_faults().swap_remove(0)));
        let files = computation.inputs.recorded();
        let entry = Known {
            catalog: computation.catalog.clone(),
            files,
            checked: computation.generation,
            layers: layers.clone(),
            values: FxHashMap::default(),
        };
        computation.index.known.borrow_mut().insert(node.clone(), entry);
        layers.map_err(|fault| *fault)
    }

    fn value(&self, node: &Text, layers: &Layers, path: &[Text]) -> Exported {
        let computation = self.computation;
        if let Some(value) =
            computation.index.known.borrow().get(node).and_then(|known| known.values.get(path))
        {
            return value.clone();
        }
        computation.inputs.count(|counts| counts.exported += 1);
        let root = computation.root(layers);
        let mut evaluator = Evaluator::new(root, computation.settings, computation.inputs);
        let value = evaluator.export(&layers.exports, path, false);
        let exported = match evaluator.finish().into_iter().next() {
            None => Ok(value),
            Some(mut fault) => {
                computation.complete(&mut fault, layers);
                let rest = evaluator.export(&layers.exports, path, true);
                Err(Box::new(Failed { fault, rest }))
            }
        };
        if let Some(known) = computation.index.known.borrow_mut().get_mut(node) {
            known.values.insert(path.to_vec(), exported.clone());
        }
        exported
    }
}

impl Others for OtherNodes<'_> {
    fn nodes(&self, all_environments: bool) -> Result<Vec<Text>, Fault> {
        let computation = self.computation;
        let mut nodes = Vec::new();
        for (name, item) in &computation.catalog.nodes {
            if self.absent.as_ref() == Some(name) && !all_environments {
                continue;
            }
            match computation.inputs.layer(item) {
                Ok(layer) => {
                    if all_environments || computation.original_environment(&layer) == self.environment {
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
        node: &Text,
        paths: &[&[Text]],
        ignore_errors: bool,
    ) -> Result<Option<Vec<Option<Value>>>, Fault> {
        let layers = match self.layers(node) {
            Ok(layers) => layers,
            Err(_) if self.computation.settings.inventory_ignore_failed_node => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let value = |path: &&[Text]| match self.value(node, &layers, path) {
            Ok(value) => Ok(value),
            Err(failed) if ignore_errors => Ok(failed.rest),
            Err(failed) => Err(failed.fault),
        };
        paths.iter().map(value).collect::<Result<Vec<_>, Fault>>().map(Some)
    }

    fn answered(
        &self,
        all_environments: bool,
        paths: &[&[Text]],
        ignore_errors: bool,
        told: Vec<(Text, Option<Vec<Option<Value>>>)>,
    ) {
        let (nodes, exports) = told.into_iter().unzip();
        let paths = paths.iter().map(|path| path.to_vec()).collect();
        self.asked.borrow_mut().push(Asked { all_environments, ignore_errors, paths, nodes, exports });
    }
}

fn same_exports(now: Option<&[Option<Value>]>, before: Option<&[Option<Value>]>) -> bool {
    match (now, before) {
        (Some(now), Some(before)) => {
            now.len() == before.len()
                && now.iter().zip(before).all(|pair| match pair {
                    (Some(Value::Map(a)), Some(Value::Map(b))) => Arc::ptr_eq(a, b) || a == b,
                    (Some(Value::List(a)), Some(Value::List(b))) => Arc::ptr_eq(a, b) || a == b,
                    (a, b) => a == b,
                })
        }
        (None, None) => true,
        _ => false,
    }
}
