//! Slots are what merging works on: a value, text with references, a list, a map, or a
//! stack of layers' values that only evaluation can merge.
//!
//! Slots are immutable and shared. A layer's own slots are shared by every node that
//! includes it, merged maps by every node that begins with the same layers.

use std::sync::{Arc, OnceLock};

use crate::base::size::ValueSize;
use crate::base::source::Origin;
use crate::base::table::Table;
use crate::base::value::{Map, Value};
use crate::model::query::Query;
use crate::model::template::Template;

/// The entries of a map of slots, in the order in which keys appeared.
pub type Entries = Table<Slot>;

/// What one place of the parameters holds before evaluation.
#[derive(Clone, Debug)]
pub enum Slot {
    /// Finished data: a scalar, or a container that nothing in it can change.
    Value(Value, Origin),
    /// A string with references.
    Text(Arc<Template>, Origin),
    /// An inventory query.
    Query(Arc<Query>, Origin),
    /// A list. Lists only grow as a whole; what is in them never merges.
    List(Arc<ListSlot>),
    /// A mapping inside of a list: keys keep their types, and `~` and `=` are text (M7).
    Raw(Arc<RawSlot>),
    /// A mapping whose keys are strings and whose prefixes are applied.
    Map(Arc<MapSlot>),
    /// Values of several layers for one place, or one value with a prefix.
    Stack(Arc<StackSlot>),
}

/// A list of slots.
#[derive(Debug)]
pub struct ListSlot {
    /// The items.
    pub items: Vec<Slot>,
    /// Where the last part of it was written.
    pub origin: Origin,
    /// Whether anything in it needs evaluation.
    pub dynamic: bool,
    /// The value of a list that is not dynamic, once it was asked for, and its measure.
    pub constant: OnceLock<(Value, ValueSize)>,
}

/// A mapping inside of a list.
#[derive(Debug)]
pub struct RawSlot {
    /// The entries, keys as YAML gave them.
    pub entries: Entries,
    /// Where it was written.
    pub origin: Origin,
    /// Whether anything in it needs evaluation.
    pub dynamic: bool,
    /// The value of a mapping that is not dynamic, once it was asked for, and its measure.
    pub constant: OnceLock<(Value, ValueSize)>,
}

/// A mapping with string keys.
#[derive(Debug, Default)]
pub struct MapSlot {
    /// The entries.
    pub entries: Entries,
    /// Where the last layer to write it did so.
    pub origin: Origin,
    /// Whether anything in it needs evaluation.
    pub dynamic: bool,
    /// Whether it holds a [`Slot::Stack`], at any depth.
    pub stacked: bool,
    /// Whether a key still begins with a prefix, as `~~a` does after one merge.
    pub prefixed: bool,
    /// The value of a mapping that is not dynamic, once it was asked for, and its measure.
    pub constant: OnceLock<(Value, ValueSize)>,
}

/// The values of several layers for one place, earliest first.
#[derive(Clone, Debug)]
pub struct StackSlot {
    /// The values.
    pub entries: Vec<StackEntry>,
    /// Whether any of them needs evaluation of references.
    pub dynamic: bool,
}

/// One layer's value for a place.
#[derive(Clone, Debug)]
pub struct StackEntry {
    /// The value.
    pub slot: Slot,
    /// What its prefix said.
    pub prefix: KeyPrefix,
}

/// The prefixes of a key; `~=key` has both.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KeyPrefix {
    /// `~`: replaces what earlier layers said.
    pub overrides: bool,
    /// `=`: later layers must not change it.
    pub constant: bool,
}

impl KeyPrefix {
    /// Whether there is any.
    pub fn any(self) -> bool {
        self.overrides || self.constant
    }

    /// Both together.
    pub(crate) fn and(self, other: KeyPrefix) -> KeyPrefix {
        KeyPrefix { overrides: self.overrides || other.overrides, constant: self.constant || other.constant }
    }
}

impl Default for Slot {
    fn default() -> Slot {
        Slot::Value(Value::Null, Origin::NONE)
    }
}

impl Slot {
    /// Whether its value depends on references or queries.
    pub fn dynamic(&self) -> bool {
        match self {
            Slot::Value(..) => false,
            Slot::Text(..) | Slot::Query(..) => true,
            Slot::List(list) => list.dynamic,
            Slot::Raw(raw) => raw.dynamic,
            Slot::Map(map) => map.dynamic,
            Slot::Stack(stack) => stack.dynamic,
        }
    }
    /// Whether it is or holds a stack in a mapping.
    pub fn stacked(&self) -> bool {
        match self {
            Slot::Map(map) => map.stacked,
            Slot::Stack(_) => true,
            _ => false,
        }
    }
    /// Where it was written; for a stack, its last value.
    pub fn origin(&self) -> Origin {
        match self {
            Slot::Value(_, origin) | Slot::Text(_, origin) | Slot::Query(_, origin) => *origin,
            Slot::List(list) => list.origin,
            Slot::Raw(raw) => raw.origin,
            Slot::Map(map) => map.origin,
            Slot::Stack(stack) => stack.entries.last().map_or(Origin::NONE, |entry| entry.slot.origin()),
        }
    }
}

impl ListSlot {
    /// A list of these items.
    pub fn new(items: Vec<Slot>, origin: Origin) -> ListSlot {
        ListSlot { dynamic: items.iter().any(Slot::dynamic), items, origin, constant: OnceLock::new() }
    }
}

impl ListSlot {
    /// Adds items of a later layer, which stand there.
    pub fn extend(&mut self, items: impl Iterator<Item = Slot>, origin: Origin) {
        let before = self.items.len();
        self.items.extend(items);
        self.dynamic |= self.items[before..].iter().any(Slot::dynamic);
        self.origin = origin;
        self.constant = OnceLock::new();
    }
}

impl RawSlot {
    /// A mapping of these entries.
    pub fn new(entries: Entries, origin: Origin) -> RawSlot {
        RawSlot { dynamic: entries.values().any(Slot::dynamic), entries, origin, constant: OnceLock::new() }
    }
}

impl MapSlot {
    /// A mapping of these entries; `prefixed` as [`MapSlot::prefixed`] of itself alone.
    pub fn new(entries: Entries, origin: Origin, prefixed: bool) -> MapSlot {
        let (mut dynamic, mut stacked, mut deep) = (false, false, prefixed);
        for slot in entries.values() {
            dynamic |= slot.dynamic();
            match slot {
                Slot::Map(map) => {
                    stacked |= map.stacked;
                    deep |= map.prefixed;
                }
                Slot::Stack(_) => stacked = true,
                _ => {}
            }
        }
        MapSlot { entries, origin, dynamic, stacked, prefixed: deep, constant: OnceLock::new() }
    }
    /// A mapping without entries.
    pub fn empty() -> MapSlot {
        MapSlot::new(Entries::default(), Origin::NONE, false)
    }
}

impl StackSlot {
    /// A stack of these values.
    pub fn new(entries: Vec<StackEntry>) -> StackSlot {
        StackSlot { dynamic: entries.iter().any(|entry| entry.slot.dynamic()), entries }
    }
}

/// Finished data as slots, so that it can be merged: its mappings become mergeable, its
/// strings stay text (R15).
pub fn from_value(value: &Value, origin: Origin) -> Slot {
    match value {
        Value::Map(map) => Slot::Raw(Arc::new(RawSlot::new(
            map.iter().map(|(key, value)| (key.clone(), from_value(value, origin))).collect(),
            origin,
        ))),
        _ => Slot::Value(value.clone(), origin),
    }
}

/// The entries of a finished map as slots.
pub fn entries_from_map(map: &Map, origin: Origin) -> Entries {
    map.iter().map(|(key, value)| (key.clone(), from_value(value, origin))).collect()
}
