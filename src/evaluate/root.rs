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
    merged: FxHashMap<Vec<Text>, Arc<Slot>>,
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

    /// The slot at the beginning of a path, and how many of its keys lead there. Where all maps
    /// have plain maps for a key, the next key decides, so that no more is merged than is named.
    pub(super) fn get(&mut self, path: &[Text], prefixes: &Prefixes) -> Option<(RootSlot, usize)> {
        if let [map] = self.maps.as_slice() {
            let index = map.entries.get_index_of(path.first()?.as_ref() as &str)?;
            return Some((RootSlot::In(map.clone(), index), 1));
        }
        let mut maps = self.maps.clone();
        for depth in 1..=path.len() {
            let key = &path[depth - 1];
            let slots: Vec<&Slot> =
                maps.iter().filter_map(|map| map.entries.get(key.as_ref() as &str)).collect();
            let inner = slots.iter().map(|slot| match slot {
                Slot::Map(map) if !map.prefixed => Some(map.clone()),
                _ => None,
            });
            match inner.collect::<Option<Vec<_>>>() {
                Some(inner) if depth < path.len() && inner.len() > 1 => maps = inner,
                _ if slots.is_empty() && depth > 1 => {
                    // The maps are there, the key is not: the one who follows the path says so.
                    return self.merged(&path[..depth - 1], prefixes).map(|slot| (slot, depth - 1));
                }
                _ => return self.merged(&path[..depth], prefixes).map(|slot| (slot, depth)),
            }
        }
        None
    }

    /// The slot at a path through plain maps, merged once.
    fn merged(&mut self, path: &[Text], prefixes: &Prefixes) -> Option<RootSlot> {
        if let Some(slot) = self.merged.get(path) {
            return Some(RootSlot::Merged(slot.clone()));
        }
        let (last, outer) = path.split_last()?;
        let mut maps = self.maps.clone();
        for key in outer {
            maps = maps
                .iter()
                .filter_map(|map| match map.entries.get(key.as_ref() as &str) {
                    Some(Slot::Map(inner)) => Some(inner.clone()),
                    _ => None,
                })
                .collect();
        }
        let slot = Arc::new(merge_key(&maps, last, prefixes)?);
        self.merged.insert(path.to_vec(), slot.clone());
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
