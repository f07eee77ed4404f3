//! Nodes that read the same bytes in both states have the same values, so that one answer is enough. Most changes
//! touch few nodes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use reclass::parts::engine::{Answer, ClassName, Computation, Dependencies, EngineContext, Sequence};
use reclass::parts::model::{CatalogEntry, TreeId};
use reclass_base::lock::Mutex;
use reclass_base::value::Text;

/// Compares the inputs of answers with another state.
pub struct OldInputs<'a> {
    old: EngineContext<'a>,
    /// Whether answers can be compared: the settings are equal, and all inputs are files.
    comparable: bool,
    classes: Mutex<FxHashMap<(TreeId, Text), bool>>,
}

impl<'a> OldInputs<'a> {
    /// The inputs of `old`, for answers of `new`.
    pub fn new(old: EngineContext<'a>, new: EngineContext<'_>) -> OldInputs<'a> {
        let comparable =
            old.settings == new.settings && old.inputs.etcd.is_none() && new.inputs.etcd.is_none();
        OldInputs { old, comparable, classes: Mutex::default() }
    }

    /// Whether the old state gives the same answer for a node. `false` if that is not certain: the answer depends on
    /// other nodes, on grains or on a pattern, or the bytes of a file of the old state are not in memory.
    pub fn give(&self, name: &Text, (answer, own): (&Answer, &Dependencies), new: &Computation<'_>) -> bool {
        answer.queries.is_empty()
            && answer.grains.is_empty()
            && self.give_layers(name, (&answer.sequence, own), new)
    }

    /// Whether the old state gives the same layers for a node.
    pub fn give_layers(
        &self,
        name: &Text,
        (sequence, own): (&Sequence, &Dependencies),
        new: &Computation<'_>,
    ) -> bool {
        let node = |state: &EngineContext<'_>| state.catalog.nodes.get(name).cloned();
        self.comparable
            && self.is_same(node(&self.old).as_ref(), node(new).as_ref(), new)
            && self.hold(own, new)
            && sequence.steps().iter().all(|step| self.hold(&step.added.dependencies, new))
    }

    /// Whether the files of the classes are the same. The only other file is that of the node.
    fn hold(&self, all: &Dependencies, new: &Computation<'_>) -> bool {
        let is_same = |class: &ClassName| {
            let old = self.old.inputs.class(self.old.catalog, class.tree, &class.name);
            matches!((&old.found, &class.found), (Ok(old), Ok(now)) if self.is_same(old.as_ref(), now.as_ref(), new))
        };
        all.patterns.is_empty()
            && all.classes.iter().all(|class| {
                let known = (class.tree, class.name.clone());
                *self.classes.lock().entry(known).or_insert_with(|| is_same(class))
            })
    }

    fn is_same(
        &self,
        old: Option<&Arc<CatalogEntry>>,
        now: Option<&Arc<CatalogEntry>>,
        new: &Computation<'_>,
    ) -> bool {
        match (old, now) {
            (None, None) => true,
            (Some(old), Some(now)) => {
                let bytes = new.inputs.files.bytes_in_memory_of(now.path());
                old.is_at_place_of(now)
                    && bytes.is_some()
                    && bytes == self.old.inputs.files.bytes_in_memory_of(old.path())
            }
            _ => false,
        }
    }
}
