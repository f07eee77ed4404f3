//! The root turns the first key of a reference into the slot of that parameter.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::merge::{Prefixes, merge_key};
use crate::slot::{MapSlot, Slot};
use crate::value::{Key, Text};

/// Where references begin: the merged parameters of a node, or maps that are merged key by key
/// as references ask for them. Of another node, a query wants one or two parameters.
#[derive(Debug)]
pub struct Root {
    maps: Vec<Arc<MapSlot>>,
    /// Slots that were merged; their addresses stay what they are.
    merged: FxHashMap<Text, Arc<Slot>>,
}

impl Root {
    /// Parameters that are merged already.
    pub fn whole(map: Arc<MapSlot>) -> Root {
        Root { maps: vec![map], merged: FxHashMap::default() }
    }

    /// Parameters of several layers, earliest first. None may have prefixed keys of its own.
    pub fn of(maps: Vec<Arc<MapSlot>>) -> Root {
        Root { maps, merged: FxHashMap::default() }
    }

    /// The slot of a parameter.
    pub(super) fn get(&mut self, key: &Text, prefixes: &Prefixes) -> Option<RootSlot> {
        if let [map] = self.maps.as_slice() {
            let index = map.entries.get_index_of(key.as_ref() as &str)?;
            return Some(RootSlot::In(map.clone(), index));
        }
        if let Some(slot) = self.merged.get(key) {
            return Some(RootSlot::Merged(slot.clone()));
        }
        let slot = Arc::new(merge_key(&self.maps, key, prefixes)?);
        self.merged.insert(key.clone(), slot.clone());
        Some(RootSlot::Merged(slot))
    }

    /// The names of all parameters, for messages.
    pub(super) fn names(&self) -> Vec<&str> {
        self.maps.iter().flat_map(|map| map.entries.keys().filter_map(Key::as_str)).collect()
    }
}

/// A slot that stays where it is while it is looked at.
pub(super) enum RootSlot {
    /// An entry of a map.
    In(Arc<MapSlot>, usize),
    /// One that was merged.
    Merged(Arc<Slot>),
}

impl RootSlot {
    /// The slot.
    pub(super) fn slot(&self) -> Option<&Slot> {
        match self {
            RootSlot::In(map, index) => map.entries.get_index(*index).map(|(_, slot)| slot),
            RootSlot::Merged(slot) => Some(slot),
        }
    }
}
