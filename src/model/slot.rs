//! Slots are the input and output of merging: a value, text with references, a list, a map, or a stack of
//! layers' values that only evaluation can merge.
//!
//! Slots are immutable and shared. Every node that includes a layer shares the layer's slots. Every node that
//! begins with the same layers shares their merged maps.

use std::sync::{Arc, OnceLock};

use crate::model::merge_options::PathRules;
use crate::model::query::Query;
use crate::model::template::Template;
use reclass_base::number::UniqueNumber;
use reclass_base::size::ValueSize;
use reclass_base::source::Origin;
use reclass_base::table::Table;
use reclass_base::value::{Map, Value};

/// The entries of a map of slots, in the order in which the keys appeared.
pub type Entries = Table<Slot>;

/// The unevaluated value of one parameter path.
#[derive(Clone, Debug)]
pub enum Slot {
    /// Finished data: a scalar, or a container whose content is constant.
    Value(Value, Origin),
    /// A string with references.
    Text(Arc<Template>, Origin),
    /// An inventory query.
    Query(Arc<Query>, Origin),
    /// A list. Merging only appends items; it never merges the items themselves.
    List(Arc<ListSlot>),
    /// A mapping inside of a list. Keys keep their types, and `~` and `=` are text (M7).
    Raw(Arc<RawSlot>),
    /// A mapping with string keys, whose prefixes are applied.
    Map(Arc<MapSlot>),
    /// The values of several layers for one path, or one value with a prefix.
    Stack(Arc<StackSlot>),
}

/// Where the results of a container are: whoever changes the container replaces them.
#[derive(Default, Debug)]
pub struct Results {
    /// The value and its size, computed on first use. Only for a container that is not dynamic.
    pub constant: OnceLock<(Value, ValueSize)>,
    /// Identifies the content in the memos of evaluations.
    pub number: UniqueNumber,
}

/// A list that merges.
#[derive(Debug)]
pub struct ListSlot {
    /// The items, in order.
    pub items: Vec<Slot>,
    /// The origin of its last part.
    pub origin: Origin,
    /// Whether any item needs evaluation.
    pub dynamic: bool,
    /// What evaluations made of it.
    pub results: Results,
}

/// A mapping inside of a list.
#[derive(Debug)]
pub struct RawSlot {
    /// The entries, with the keys from YAML.
    pub entries: Entries,
    /// Where it is written.
    pub origin: Origin,
    /// Whether any entry needs evaluation.
    pub dynamic: bool,
    /// What evaluations made of it.
    pub results: Results,
}

/// A mapping that merges. Its keys are strings, except below a key with a prefix.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says what is somewhere below")]
pub struct MapSlot {
    /// The entries, in order.
    pub entries: Entries,
    /// The origin in the last layer that sets it.
    pub origin: Origin,
    /// Whether any entry needs evaluation.
    pub dynamic: bool,
    /// Whether it contains a [`Slot::Stack`], at any depth.
    pub stacked: bool,
    /// Whether a key still begins with a prefix, as `~~a` does after one merge.
    pub prefixed: bool,
    /// Whether a key at any depth has another type than text, because no layer merged into the mapping below a
    /// key with a prefix yet (M7).
    pub typed: bool,
    /// What evaluations made of it.
    pub results: Results,
}

/// The values of several layers for one path, earliest first.
#[derive(Clone, Debug)]
pub struct StackSlot {
    /// The values.
    pub entries: Vec<StackEntry>,
    /// Whether any value depends on references or queries.
    pub dynamic: bool,
    /// Identifies the content in the memos of evaluations.
    pub number: UniqueNumber,
}

/// The value of one layer for a path.
#[derive(Clone, Debug)]
pub struct StackEntry {
    /// The value.
    pub slot: Slot,
    /// The prefix of its key.
    pub prefix: KeyPrefix,
    /// The merge options in force for its path and below, if there are any.
    pub rules: Option<Arc<PathRules>>,
}

impl StackEntry {
    /// A value without a prefix and without merge options.
    pub fn plain(slot: Slot) -> StackEntry {
        StackEntry { slot, prefix: KeyPrefix::default(), rules: None }
    }
}

/// The prefixes of a key; `~=key` has both.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KeyPrefix {
    /// `~`: replaces the values of earlier layers.
    pub overrides: bool,
    /// `=`: later layers must not change the value.
    pub constant: bool,
}

impl KeyPrefix {
    /// Whether there is a prefix.
    pub fn any(self) -> bool {
        self.overrides || self.constant
    }

    /// Combines both.
    #[must_use]
    pub fn and(self, other: KeyPrefix) -> KeyPrefix {
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
    /// Whether it is a stack, or a mapping that contains one.
    pub fn stacked(&self) -> bool {
        match self {
            Slot::Map(map) => map.stacked,
            Slot::Stack(_) => true,
            _ => false,
        }
    }
    /// Its origin. For a stack, that of the last value.
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
        ListSlot { dynamic: items.iter().any(Slot::dynamic), items, origin, results: Results::default() }
    }
}

impl ListSlot {
    /// Appends the items of a later layer, which has this origin.
    pub fn extend(&mut self, items: impl Iterator<Item = Slot>, origin: Origin) {
        let before = self.items.len();
        self.items.extend(items);
        self.dynamic |= self.items[before..].iter().any(Slot::dynamic);
        self.origin = origin;
        self.results = Results::default();
    }
}

impl RawSlot {
    /// A mapping of these entries.
    pub fn new(entries: Entries, origin: Origin) -> RawSlot {
        RawSlot { dynamic: entries.values().any(Slot::dynamic), entries, origin, results: Results::default() }
    }
}

impl MapSlot {
    /// A mapping of these entries with string keys. `prefixed` is [`MapSlot::prefixed`] for its own keys only.
    pub fn new(entries: Entries, origin: Origin, prefixed: bool) -> MapSlot {
        let (mut dynamic, mut stacked, mut deep, mut typed) = (false, false, prefixed, false);
        for slot in entries.values() {
            dynamic |= slot.dynamic();
            match slot {
                Slot::Map(map) => {
                    stacked |= map.stacked;
                    deep |= map.prefixed;
                    typed |= map.typed;
                }
                Slot::Stack(_) => stacked = true,
                _ => {}
            }
        }
        MapSlot { entries, origin, dynamic, stacked, prefixed: deep, typed, results: Results::default() }
    }
    /// A mapping without entries.
    pub fn empty() -> MapSlot {
        MapSlot::new(Entries::default(), Origin::NONE, false)
    }
}

impl StackSlot {
    /// A stack of these values.
    pub fn new(entries: Vec<StackEntry>) -> StackSlot {
        StackSlot {
            dynamic: entries.iter().any(|entry| entry.slot.dynamic()),
            entries,
            number: UniqueNumber::default(),
        }
    }
}

/// Converts finished data to slots, so that it can be merged. Its mappings become mergeable, its strings stay
/// text (R15).
pub fn from_value(value: &Value, origin: Origin) -> Slot {
    match value {
        Value::Map(map) => Slot::Raw(Arc::new(RawSlot::new(
            map.iter().map(|(key, value)| (key.clone(), from_value(value, origin))).collect(),
            origin,
        ))),
        _ => Slot::Value(value.clone(), origin),
    }
}

/// Converts the entries of a finished map to slots.
pub fn entries_from_map(map: &Map, origin: Origin) -> Entries {
    map.iter().map(|(key, value)| (key.clone(), from_value(value, origin))).collect()
}
