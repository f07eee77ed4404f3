//! Prefixes turn a sequence of layers into its merged state, computed once for all nodes that
//! begin with the same layers.

use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::layer::Layer;
use crate::merge::{Prefixes, merge_maps};
use crate::slot::MapSlot;

/// A sequence of layers: all of the parent's, then one more.
#[derive(Debug)]
pub struct Prefix {
    parent: Option<Arc<Prefix>>,
    layer: Option<Arc<Layer>>,
    merged: OnceLock<Merged>,
    /// By the address of the next layer, which the child keeps alive. A sequence lives as long
    /// as something that was computed from it.
    children: Mutex<FxHashMap<usize, Weak<Prefix>>>,
}

/// What the layers of a prefix come to.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Parameters.
    pub parameters: Arc<MapSlot>,
    /// Exports.
    pub exports: Arc<MapSlot>,
}

impl Prefix {
    /// The empty sequence.
    pub fn root() -> Arc<Prefix> {
        Arc::new(Prefix { parent: None, layer: None, merged: OnceLock::new(), children: Mutex::default() })
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
        });
        children.insert(address, Arc::downgrade(&child));
        child
    }

    /// The merged state. Sequences that nobody asks for are not merged on their own, but on the
    /// way to a longer one, whose neighbours will want them.
    pub fn merged(&self, prefixes: &Prefixes) -> &Merged {
        if let Some(merged) = self.merged.get() {
            return merged;
        }
        let mut pending = vec![self];
        while let Some(parent) = pending.last().and_then(|prefix| prefix.parent.as_deref()) {
            if parent.merged.get().is_some() {
                break;
            }
            pending.push(parent);
        }
        while let Some(prefix) = pending.pop() {
            let before = prefix.parent.as_deref().and_then(|parent| parent.merged.get());
            let merged = match (before, &prefix.layer) {
                (Some(before), Some(layer)) => Merged {
                    parameters: merge_maps(&before.parameters, &layer.parameters, prefixes),
                    exports: merge_maps(&before.exports, &layer.exports, prefixes),
                },
                _ => Merged { parameters: Arc::new(MapSlot::empty()), exports: Arc::new(MapSlot::empty()) },
            };
            let _ = prefix.merged.set(merged);
        }
        self.merged.get_or_init(|| Merged {
            parameters: Arc::new(MapSlot::empty()),
            exports: Arc::new(MapSlot::empty()),
        })
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
