//! Partial evaluation stores the results that do not depend on the node itself, for the next node with the
//! same classes.
//!
//! Nodes with the same classes differ only in the values of their own files and in references to these: a few
//! values of a hundred. So while the first such node is evaluated, each result that depends on one of the
//! node's own paths is marked. All other results are stored ([`ClassMemo`]). They are valid for every node
//! with the same classes whose own file sets only these paths ([`OwnPaths`]), or new ones beside them. Results
//! with a warning, a replaced value, a query or a missing key are marked too. A node that fails stores
//! nothing.
//!
//! The same is done for nodes that have only the first classes in common. Then the values of the last classes
//! count as the node's own.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;
use indexmap::Equivalent;
use rustc_hash::FxHashSet;

use super::memo::{Memo, SharedMemo, SlotKey};
use super::{Evaluator, Found, Whnf};
use crate::model::interner::Interner;
use crate::model::slot::{MapSlot, Slot};
use reclass_base::size::ValueSize;
use reclass_base::value::{CONTAINER, Key, Value};

/// The paths of a map that later maps set.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OwnPaths(HashMap<Key, OwnPath, DefaultHashBuilder>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum OwnPath {
    /// Everything at the key.
    At,
    /// These paths in the map at the key.
    In(OwnPaths),
}

impl OwnPaths {
    /// The paths in `classes` that later maps set. `None` if prefixes are still text, because then the keys
    /// alone do not decide the merge.
    pub fn of(later: &[&MapSlot], classes: &MapSlot) -> Option<OwnPaths> {
        let mut own = OwnPaths::default();
        for map in later {
            if map.prefixed {
                return None;
            }
            own.add(map, classes);
        }
        (!classes.prefixed).then_some(own)
    }

    fn add(&mut self, later: &MapSlot, classes: &MapSlot) {
        for (key, slot) in &later.entries {
            let place = self.0.entry(key.clone());
            match (slot, classes.entries.get(key)) {
                (Slot::Map(later), Some(Slot::Map(classes))) if !classes.entries.is_empty() => {
                    if let OwnPath::In(own) = place.or_insert_with(|| OwnPath::In(OwnPaths::default())) {
                        own.add(later, classes);
                    }
                }
                _ => drop(place.insert_entry(OwnPath::At)),
            }
        }
    }

    /// Whether `own` changes nothing in `classes` except at these paths. A new key is allowed without a path,
    /// if its map contains one of the paths: no stored result depends on a missing key.
    pub fn cover(&self, own: &MapSlot, classes: &MapSlot) -> bool {
        own.entries.iter().all(|(key, slot)| match (self.0.get(key), slot, classes.entries.get(key)) {
            (Some(OwnPath::At), ..) | (None, _, None) => true,
            (place, Slot::Map(own), Some(Slot::Map(classes))) => match place {
                Some(OwnPath::In(places)) => places.cover(own, classes),
                _ => own.entries.is_empty(),
            },
            _ => false,
        })
    }
}

/// The same paths in the merged parameters of one node.
#[derive(Default)]
pub(super) struct OwnSlots {
    /// The slots, by the number of their map and their index in it.
    slots: FxHashSet<(u64, usize)>,
    /// The numbers of the maps that contain these slots, at any depth.
    maps: FxHashSet<u64>,
}

impl OwnSlots {
    fn add(&mut self, own: &OwnPaths, map: &Arc<MapSlot>) -> Option<()> {
        let number = map.results.number.get();
        self.maps.insert(number);
        own.0.iter().try_for_each(|(key, place)| {
            let index = map.entries.get_index_of(key)?;
            match (place, map.entries.get_index(index)?.1) {
                (OwnPath::At, _) => drop(self.slots.insert((number, index))),
                (OwnPath::In(own), Slot::Map(map)) => self.add(own, map)?,
                (OwnPath::In(_), _) => return None,
            }
            Some(())
        })
    }

    /// Whether any of these slots is in the map, at any depth.
    fn are_in(&self, map: &MapSlot) -> bool {
        self.maps.contains(&map.results.number.get())
    }
}

/// Results for some classes that do not depend on the node's own paths.
pub struct ClassMemo {
    /// The memo for fewer of the classes.
    base: Option<Arc<ClassMemo>>,
    own: OwnPaths,
    /// Whether it was computed without paths.
    fast: bool,
    /// The merged parameters of the classes. In maps with own paths, scalars replace the references to them.
    classes: Arc<MapSlot>,
    /// Values of containers.
    values: SharedMemo<(Value, ValueSize)>,
    /// The weak head normal forms of slots.
    whnfs: SharedMemo<Found>,
}

impl std::fmt::Debug for ClassMemo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClassMemo").field("own", &self.own).finish_non_exhaustive()
    }
}

impl ClassMemo {
    /// Whether it is valid for a node with these parameters after the classes.
    pub fn holds_for(&self, later: &[&MapSlot]) -> bool {
        later.iter().all(|map| !map.prefixed && self.own.cover(map, &self.classes))
    }

    /// Whether it is useful wherever the other one is, and no worse.
    pub fn replaces(&self, other: &ClassMemo) -> bool {
        self.own == other.own && (other.fast || !self.fast)
    }

    /// Estimated bytes without the values.
    pub fn bytes(&self) -> usize {
        self.values.len() * (size_of::<(Value, ValueSize)>() + CONTAINER)
            + self.whnfs.len() * (size_of::<Found>() + CONTAINER)
    }

    /// Whether messages based on it lack paths.
    pub fn is_fast(&self) -> bool {
        self.fast
    }

    /// The merged parameters of the classes. The node's own ones are merged into them.
    pub fn classes(&self) -> &Arc<MapSlot> {
        &self.classes
    }

    pub(super) fn value(&self, key: SlotKey) -> Option<&(Value, ValueSize)> {
        let base = || self.base.as_ref()?.value(key);
        self.values.get(&key).or_else(base)
    }

    pub(super) fn whnf(&self, key: SlotKey) -> Option<&Found> {
        let base = || self.base.as_ref()?.whnf(key);
        self.whnfs.get(&key).or_else(base)
    }
}

impl Evaluator<'_> {
    /// Uses a memo of another node.
    #[must_use]
    pub fn with_memo(mut self, memo: Option<Arc<ClassMemo>>) -> Self {
        self.class_memo = memo;
        self
    }

    /// Marks the node's own paths before its parameters are evaluated. `automatic` is the key of the
    /// parameters that differ between nodes.
    pub fn mark(&mut self, own: &OwnPaths, automatic: Option<&str>, parameters: &Arc<MapSlot>) {
        let mut own_slots = OwnSlots::default();
        let automatic = automatic.and_then(|key| parameters.entries.get_index_of(key));
        own_slots.slots.extend(automatic.map(|index| (parameters.results.number.get(), index)));
        self.own_slots = own_slots.add(own, parameters).map(|()| own_slots);
    }

    /// The memo for other nodes, after a successful evaluation. `classes` are the merged parameters of the
    /// classes, `parameters` those of the node.
    pub fn into_class_memo(
        mut self,
        own: OwnPaths,
        classes: &Arc<MapSlot>,
        parameters: &Arc<MapSlot>,
        interner: &Interner,
    ) -> Option<ClassMemo> {
        let own_slots = self.own_slots.take()?;
        let fast = self.is_fast();
        let classes =
            Inliner { own_slots: &own_slots, interner, whnfs: &self.whnfs }.map(classes, parameters);
        let (values, whnfs) = (self.values.into_shared(), self.whnfs.into_shared());
        Some(ClassMemo { base: self.class_memo, own, fast, classes, values, whnfs })
    }

    /// Records the use of an entry of a map.
    pub(super) fn use_entry<K: ?Sized + Hash + Equivalent<Key>>(&mut self, map: &MapSlot, key: &K) {
        if let Some(own_slots) = &self.own_slots
            && own_slots.are_in(map)
            && let Some(index) = map.entries.get_index_of(key)
        {
            self.own |= own_slots.slots.contains(&(map.results.number.get(), index));
        }
    }

    /// Records the use of all entries of a map.
    pub(super) fn use_map(&mut self, map: &MapSlot) {
        self.own |= self.own_slots.as_ref().is_some_and(|own_slots| own_slots.are_in(map));
    }
}

/// Prepares the maps of the classes with own paths for the next node.
struct Inliner<'a> {
    own_slots: &'a OwnSlots,
    interner: &'a Interner,
    whnfs: &'a Memo<Found>,
}

impl Inliner<'_> {
    /// Such a map, in which scalar results replace the references beside own paths: later nodes do not look
    /// these up.
    fn map(&mut self, classes: &Arc<MapSlot>, parameters: &Arc<MapSlot>) -> Arc<MapSlot> {
        let mut entries = classes.entries.clone();
        for (index, (key, slot)) in entries.iter_mut().enumerate() {
            if matches!(slot, Slot::Value(..)) {
                continue;
            }
            // Merging appends new keys after those of the classes, so the index is usually the same.
            let same = parameters.entries.get_index(index).filter(|(same, _)| same.same(key));
            let index = same.map(|_| index).or_else(|| parameters.entries.get_index_of(key));
            let Some((index, (_, merged))) =
                index.and_then(|index| Some((index, parameters.entries.get_index(index)?)))
            else {
                continue;
            };
            if self.own_slots.slots.contains(&(parameters.results.number.get(), index)) {
                continue;
            }
            match (&slot, merged) {
                (Slot::Text(..) | Slot::Stack(_), _) => {
                    if let Some(Found { whnf: Whnf::Value(value), .. }) = self.whnfs.shared(merged)
                        && !matches!(value, Value::Map(_) | Value::List(_))
                    {
                        *slot = Slot::Value(value.clone(), slot.origin());
                    }
                }
                (Slot::Map(map), Slot::Map(merged)) if self.own_slots.are_in(merged) => {
                    *slot = Slot::Map(self.map(map, merged));
                }
                _ => {}
            }
        }
        self.interner.share_keys(&mut entries);
        Arc::new(MapSlot::new(entries, classes.origin, classes.prefixed))
    }
}
