//! A prefix is a sequence of layers with its merged parameters, computed once for all nodes whose lists
//! begin with these layers.

use std::sync::{Arc, OnceLock, Weak};

use rustc_hash::FxHashMap;

use crate::engine::counts::Counter;
use crate::evaluate::ClassMemo;
use crate::model::layer::Layer;
use crate::model::merge::{Prefixes, merge_maps};
use crate::model::slot::MapSlot;
use reclass_base::failpoints::failpoint;
use reclass_base::lock::Mutex;

/// The layers of the parent, then one more.
#[derive(Debug)]
pub struct Prefix {
    parent: Option<Arc<Prefix>>,
    layer: Option<Arc<Layer>>,
    /// The merged parameters.
    merged: OnceLock<Arc<MapSlot>>,
    /// Keyed by the address of the next layer. The child keeps that layer alive. A prefix lives as long as
    /// a result that uses it.
    children: Mutex<FxHashMap<usize, Weak<Prefix>>>,
    /// Memos of evaluated parameters, one for each set of paths that later layers change.
    memos: Mutex<Vec<Arc<ClassMemo>>>,
}

/// The most memos of one prefix. With more variants, nodes differ too much for memos to be worth their
/// memory.
const MAX_MEMOS: usize = 16;

impl Prefix {
    /// The empty prefix.
    pub fn root() -> Arc<Prefix> {
        Arc::new(Prefix {
            parent: None,
            layer: None,
            merged: OnceLock::new(),
            children: Mutex::default(),
            memos: Mutex::default(),
        })
    }

    /// This prefix with one more layer.
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
            memos: Mutex::default(),
        });
        children.insert(address, Arc::downgrade(&child));
        child
    }

    /// The merged parameters. Intermediate states are kept only where sequences branch; otherwise the map
    /// is changed in place, not copied. Each merged layer counts in `merges`.
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

    /// The memo that is valid for nodes with these later layers.
    pub fn memo(&self, later: &[&MapSlot]) -> Option<Arc<ClassMemo>> {
        self.memos.lock().iter().find(|memo| memo.holds_for(later)).cloned()
    }

    /// Whether there is space for another memo.
    pub fn can_learn(&self) -> bool {
        self.memos.lock().len() < MAX_MEMOS
    }

    /// Stores a memo.
    pub fn learn(&self, learned: ClassMemo) {
        let mut memos = self.memos.lock();
        memos.retain(|memo| !learned.replaces(memo));
        if memos.len() < MAX_MEMOS {
            memos.push(Arc::new(learned));
        }
    }

    /// The layers after an earlier prefix, in order.
    pub fn layers_after(&self, earlier: &Prefix) -> Vec<&Arc<Layer>> {
        let mut layers: Vec<&Arc<Layer>> =
            std::iter::successors(Some(self), |prefix| prefix.parent.as_deref())
                .take_while(|prefix| !std::ptr::eq(*prefix, earlier))
                .filter_map(|prefix| prefix.layer.as_ref())
                .collect();
        layers.reverse();
        layers
    }

    /// Whether several sequences continue from here.
    fn parts(&self) -> bool {
        self.children.lock().values().filter(|child| child.strong_count() > 0).nth(1).is_some()
    }
}

impl Drop for Prefix {
    /// Drops long chains iteratively: a recursive drop could overflow the stack.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut prefix) = parent.and_then(Arc::into_inner) {
            parent = prefix.parent.take();
        }
    }
}
