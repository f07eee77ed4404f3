//! Prefixes turn a sequence of layers into its merged state, computed once for all nodes that
//! begin with the same layers.

use std::sync::{Arc, OnceLock, Weak};

use rustc_hash::FxHashMap;

use crate::base::failpoints::failpoint;
use crate::base::lock::Mutex;
use crate::engine::counts::Counter;
use crate::evaluate::Known;
use crate::model::layer::Layer;
use crate::model::merge::{Prefixes, merge_maps};
use crate::model::slot::MapSlot;

/// A sequence of layers: all of the parent's, then one more.
#[derive(Debug)]
pub struct Prefix {
    parent: Option<Arc<Prefix>>,
    layer: Option<Arc<Layer>>,
    /// Their parameters, merged.
    merged: OnceLock<Arc<MapSlot>>,
    /// By the address of the next layer, which the child keeps alive. A sequence lives as long
    /// as something that was computed from it.
    children: Mutex<FxHashMap<usize, Weak<Prefix>>>,
    /// What they come to, for nodes that say something of the same places.
    known: Mutex<Vec<Arc<Known>>>,
}

/// For how many sets of places the same layers are evaluated; beyond that, nodes are too different
/// for it to be worth its memory.
const MOST_KNOWN: usize = 16;

impl Prefix {
    /// The empty sequence.
    pub fn root() -> Arc<Prefix> {
        Arc::new(Prefix {
            parent: None,
            layer: None,
            merged: OnceLock::new(),
            children: Mutex::default(),
            known: Mutex::default(),
        })
    }

    /// This sequence and one more layer.
    pub fn child(self: &Arc<Prefix>, layer: &Arc<Layer>) -> Arc<Prefix> {
        let mut children = self.children.lock();
        let address = Arc::as_ptr(layer) as usize;
        if let Some(child) = children.get(&address).and_then(Weak::upgrade) {
            return child;
        }
        if children.len() >= 16 && children.len().is_power_of_two() {
            children.retain(|_, child| child.strong_count() > 0);
        }
        let child = Arc::new(Prefix {
            parent: Some(self.clone()),
            layer: Some(layer.clone()),
            merged: OnceLock::new(),
            children: Mutex::default(),
            known: Mutex::default(),
        });
        children.insert(address, Arc::downgrade(&child));
        child
    }

    /// The merged parameters. On the way from the last state that is known, states are kept where
    /// sequences part: what only leads on to one other is changed in place, not copied. Each layer that
    /// is merged is one of `merges`.
    pub fn merged(&self, prefixes: &Prefixes, merges: &Counter) -> &Arc<MapSlot> {
        if let Some(merged) = self.merged.get() {
            return merged;
        }
        let mut pending = vec![self];
        let mut state = Arc::new(MapSlot::empty());
        while let Some(parent) = pending.last().and_then(|prefix| prefix.parent.as_deref()) {
            if let Some(merged) = parent.merged.get() {
                state = merged.clone();
                break;
            }
            pending.push(parent);
        }
        while let Some(prefix) = pending.pop() {
            if let Some(layer) = &prefix.layer {
                state = merge_maps(state, &layer.parameters, prefixes);
                merges.add();
            }
            if !pending.is_empty() && prefix.parts() {
                let _ = prefix.merged.set(state.clone());
            }
        }
        self.merged.get_or_init(|| {
            failpoint("merged layers are kept");
            state
        })
    }

    /// What is known for nodes that say this after these layers.
    pub fn known(&self, later: &[&MapSlot]) -> Option<Arc<Known>> {
        self.known.lock().iter().find(|known| known.holds_for(later)).cloned()
    }

    /// Whether there is room for more to be known.
    pub fn can_learn(&self) -> bool {
        self.known.lock().len() < MOST_KNOWN
    }

    /// Keeps what was learned from a node.
    pub fn learn(&self, learned: Known) {
        let mut known = self.known.lock();
        known.retain(|known| !learned.replaces(known));
        if known.len() < MOST_KNOWN {
            known.push(Arc::new(learned));
        }
    }

    /// The layers that come after those of an earlier sequence, in their order.
    pub fn layers_after(&self, earlier: &Prefix) -> Vec<&Arc<Layer>> {
        let mut layers: Vec<&Arc<Layer>> =
            std::iter::successors(Some(self), |prefix| prefix.parent.as_deref())
                .take_while(|prefix| !std::ptr::eq(*prefix, earlier))
                .filter_map(|prefix| prefix.layer.as_ref())
                .collect();
        layers.reverse();
        layers
    }

    /// Whether more than one sequence goes on from here.
    fn parts(&self) -> bool {
        self.children.lock().values().filter(|child| child.strong_count() > 0).nth(1).is_some()
    }
}

impl Drop for Prefix {
    /// Long sequences are taken apart one by one: their natural drop would recurse.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut prefix) = parent.and_then(Arc::into_inner) {
            parent = prefix.parent.take();
        }
    }
}
