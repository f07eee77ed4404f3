//! Compares two results of a node: the paths at which they differ.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::items::{ListItem, items, mark_moved};
use reclass::NodeInfo;
use reclass_base::stack::grow;
use reclass_base::unordered::equal_unordered;
use reclass_base::value::{Key, Map, Text, Value};

/// A section of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Section {
    /// The environment.
    Environment,
    /// The classes, in order.
    Classes,
    /// The applications, in order.
    Applications,
    /// A parameter.
    Parameters,
    /// An export.
    Exports,
}

/// The name of the section, as in JSON.
impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// A path at which two results differ.
#[derive(Clone, Debug)]
pub(crate) struct NodeChange {
    /// The section of the node.
    pub section: Section,
    /// The path in the section; empty for sections that are one value.
    pub path: Vec<Key>,
    /// The path of the old value, if an item has another index in the old list.
    pub old_path: Option<Vec<Key>>,
    /// Positions in the path of list indexes.
    pub(super) indexes: Vec<usize>,
    /// The old value; `None` if there is none.
    pub old: Option<Value>,
    /// The new value; `None` if there is none.
    pub new: Option<Value>,
    /// The removed and added items, if both values are lists.
    pub items: Vec<ListItem>,
}

/// The key of equal changes: section, path without list indexes, old and new value.
pub(crate) type Sameness = (Section, Vec<Option<String>>, String);

impl NodeChange {
    /// Splits the change of a list into its items, because other nodes may share only some of them.
    pub(crate) fn split(mut self) -> Vec<NodeChange> {
        let items = std::mem::take(&mut self.items);
        if items.is_empty() {
            return vec![self];
        }
        items.into_iter().map(|item| NodeChange { items: vec![item], ..self.clone() }).collect()
    }

    /// The key of this change, independent of its position in lists. The change must be split.
    pub(crate) fn sameness(&self) -> Sameness {
        let text = |value: Option<&Value>| value.map_or("-".into(), reclass_base::pystr::repr);
        let what = match self.items.first() {
            None => format!("{}\0{}", text(self.old.as_ref()), text(self.new.as_ref())),
            Some(item) => format!("{}{}{}", item.added, item.moved, text(self.item(item))),
        };
        let index = |at: usize| self.indexes.contains(&at);
        let keys = self.path.iter().enumerate();
        let keys = keys.map(|(at, key)| (!index(at)).then(|| reclass_base::pystr::repr(&key.0)));
        (self.section, keys.collect(), what)
    }

    /// The path in the old or in the new result.
    pub fn path_in(&self, old: bool) -> &[Key] {
        self.old_path.as_deref().filter(|_| old).unwrap_or(&self.path)
    }

    /// The value of an item, from the list that has it.
    pub fn item(&self, item: &ListItem) -> Option<&Value> {
        match if item.added { &self.new } else { &self.old } {
            Some(Value::List(items)) => items.get(item.index),
            _ => None,
        }
    }
}

/// All paths at which two results differ. Mappings are compared key by key. Lists of equal length that hold
/// mappings or lists are compared index by index, all others by removed and added items. If `list_keys` knows
/// keys for a list, its items are compared with those that have the same values at these keys.
pub(crate) fn changes(old: &NodeInfo, new: &NodeInfo, list_keys: &ListKeys<'_>) -> Vec<NodeChange> {
    let mut comparison = ValueComparison {
        section: Section::Environment,
        list_keys,
        path: Vec::new(),
        old_path: None,
        indexes: Vec::new(),
        changes: Vec::new(),
    };
    comparison.values(&old.environment, &new.environment);
    for (section, old, new) in [
        (Section::Classes, &old.classes[..], &new.classes[..]),
        (Section::Applications, &old.applications, &new.applications),
    ] {
        comparison.section = section;
        if old != new {
            comparison.add(Some(Value::texts(old)), Some(Value::texts(new)));
        }
    }
    for (section, old, new) in [
        (Section::Parameters, &old.parameters, &new.parameters),
        (Section::Exports, &old.exports, &new.exports),
    ] {
        comparison.section = section;
        match (old, new) {
            // Each key of a section is a change of its own, even if the section is empty on one side: the
            // section as a whole has no place.
            (Value::Map(old), Value::Map(new)) if old.is_empty() || new.is_empty() => {
                comparison.maps(old, new);
            }
            _ => comparison.values(old, new),
        }
    }
    comparison.changes
}

/// Whether two results differ at all. It stops at the first difference.
pub fn differ(old: &NodeInfo, new: &NodeInfo) -> bool {
    let sections = [
        (&old.environment, &new.environment),
        (&old.parameters, &new.parameters),
        (&old.exports, &new.exports),
    ];
    old.classes != new.classes
        || old.applications != new.applications
        || !sections.into_iter().all(|(old, new)| equal_unordered(old, new, |_, _| true, equal_or_nan))
}

/// Finds the keys that identify the items of a list, by its path in the parameters.
type ListKeys<'k> = dyn Fn(&[Key]) -> Option<Vec<Text>> + 'k;

/// The items of two lists, by their keys. All are indexes.
struct KeyedItems {
    removed: Vec<usize>,
    added: Vec<usize>,
    /// The items in both lists, in the same order in both: index in the new one and in the old one.
    pairs: Vec<ItemPair>,
}

/// The indexes of one item: in the new list and in the old one.
type ItemPair = (usize, usize);

/// Pairs of indexes, sorted by the first one: the most that are sorted by the second one too, and the others.
fn in_order(pairs: &[ItemPair]) -> (Vec<ItemPair>, Vec<ItemPair>) {
    // The best last pair of an ordered series of each length, and the pair before each pair in its series.
    let mut ends: Vec<usize> = Vec::new();
    let mut earlier: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, old)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *old);
        earlier.push(length.checked_sub(1).map(|before| ends[before]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut stays = vec![false; pairs.len()];
    let mut next = ends.last().copied();
    while let Some(at) = next {
        stays[at] = true;
        next = earlier[at];
    }
    let with = |stay: bool| {
        pairs.iter().zip(&stays).filter(move |(_, stays)| **stays == stay).map(|(pair, _)| *pair).collect()
    };
    (with(true), with(false))
}

struct ValueComparison<'k> {
    section: Section,
    list_keys: &'k ListKeys<'k>,
    path: Vec<Key>,
    /// The path in the old result, if it has other indexes.
    old_path: Option<Vec<Key>>,
    indexes: Vec<usize>,
    changes: Vec<NodeChange>,
}

impl ValueComparison<'_> {
    fn add(&mut self, old: Option<Value>, new: Option<Value>) {
        let items = match (&old, &new) {
            (Some(Value::List(old)), Some(Value::List(new))) => items(old, new),
            _ => Vec::new(),
        };
        self.add_items(old, new, items);
    }

    fn add_items(&mut self, old: Option<Value>, new: Option<Value>, mut items: Vec<ListItem>) {
        if let (Some(Value::List(old)), Some(Value::List(new))) = (&old, &new) {
            mark_moved(&mut items, old, new);
        }
        let (path, indexes) = (self.path.clone(), self.indexes.clone());
        let old_path = self.old_path.clone().map(|mut old_path| {
            old_path.extend_from_slice(&path[old_path.len()..]);
            old_path
        });
        self.changes.push(NodeChange { section: self.section, path, old_path, indexes, old, new, items });
    }

    /// The items of two lists by their keys; `None` unless every item has its own. An item that moved is removed
    /// and added here, because the order of a list is part of its value.
    fn keyed<'v>(&self, lists: [&'v [Value]; 2]) -> Option<KeyedItems> {
        if self.section != Section::Parameters || !self.indexes.is_empty() {
            return None;
        }
        let keys = (self.list_keys)(&self.path)?;
        let identity = |item: &'v Value| {
            let map = item.as_map()?;
            let values: Option<Vec<String>> =
                keys.iter().map(|key| Some(reclass_base::pystr::repr(map.get(&**key)?))).collect();
            Some(values?.join("\0"))
        };
        let index = |items: &'v [Value]| {
            let known: Option<FxHashMap<String, usize>> =
                items.iter().enumerate().map(|(index, item)| Some((identity(item)?, index))).collect();
            known.filter(|known| known.len() == items.len())
        };
        let (old, new) = (index(lists[0])?, index(lists[1])?);
        let only = |mine: &FxHashMap<String, usize>, other: &FxHashMap<String, usize>| {
            let own = mine.iter().filter(|(key, _)| !other.contains_key(*key)).map(|(_, index)| *index);
            let mut own: Vec<usize> = own.collect();
            own.sort_unstable();
            own
        };
        let mut pairs: Vec<ItemPair> =
            new.iter().filter_map(|(key, now)| Some((*now, *old.get(key)?))).collect();
        pairs.sort_unstable();
        let (stay, moved) = in_order(&pairs);
        let with_moved = |mut own: Vec<usize>, index: fn(&ItemPair) -> usize| {
            own.extend(moved.iter().map(index));
            own.sort_unstable();
            own
        };
        Some(KeyedItems {
            removed: with_moved(only(&old, &new), |pair| pair.1),
            added: with_moved(only(&new, &old), |pair| pair.0),
            pairs: stay,
        })
    }

    /// The changes of two lists whose items have keys.
    fn keyed_items(&mut self, old: &Value, new: &Value, lists: [&[Value]; 2], keyed: KeyedItems) {
        let item = |added| move |index| ListItem { added, moved: false, index, place: None };
        let removed = keyed.removed.into_iter().map(item(false));
        let items: Vec<ListItem> = removed.chain(keyed.added.into_iter().map(item(true))).collect();
        if !items.is_empty() {
            self.add_items(Some(old.clone()), Some(new.clone()), items);
        }
        let length = self.path.len();
        self.indexes.push(length);
        for (now, before) in keyed.pairs {
            let index = |at: usize| Key(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)));
            self.path.push(index(now));
            if now != before {
                self.old_path = Some([&self.path[..length], &[index(before)]].concat());
            }
            self.values(&lists[0][before], &lists[1][now]);
            self.old_path = None;
            self.path.pop();
        }
        self.indexes.pop();
    }

    fn values(&mut self, old: &Value, new: &Value) {
        if let (Value::List(before), Value::List(now)) = (old, new)
            && let Some(keyed) = self.keyed([before, now])
        {
            return self.keyed_items(old, new, [before, now], keyed);
        }
        grow(|| match (old, new) {
            (Value::Map(old), Value::Map(new)) if Arc::ptr_eq(old, new) => {}
            (Value::Map(old), Value::Map(new)) if !old.is_empty() && !new.is_empty() => self.maps(old, new),
            (Value::List(before), Value::List(now))
                if before.len() == now.len() && before.iter().chain(now.iter()).any(is_container) =>
            {
                self.indexes.push(self.path.len());
                for (index, (old, new)) in (0i64..).zip(before.iter().zip(now.iter())) {
                    self.path.push(Key(Value::Int(index)));
                    self.values(old, new);
                    self.path.pop();
                }
                self.indexes.pop();
            }
            _ => {
                if !equal_or_nan(old, new) {
                    self.add(Some(old.clone()), Some(new.clone()));
                }
            }
        });
    }

    fn maps(&mut self, old: &Map, new: &Map) {
        for (key, old) in old {
            self.path.push(key.clone());
            match new.get(key) {
                Some(new) => self.values(old, new),
                None => self.leaves(old, true),
            }
            self.path.pop();
        }
        for (key, new) in new {
            if !old.contains_key(key) {
                self.path.push(key.clone());
                self.leaves(new, false);
                self.path.pop();
            }
        }
    }

    /// The values that exist on one side only, leaf by leaf.
    fn leaves(&mut self, value: &Value, gone: bool) {
        match value {
            Value::Map(map) if !map.is_empty() => {
                for (key, value) in map.iter() {
                    self.path.push(key.clone());
                    grow(|| self.leaves(value, gone));
                    self.path.pop();
                }
            }
            _ if gone => self.add(Some(value.clone()), None),
            _ => self.add(None, Some(value.clone())),
        }
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Map(_) | Value::List(_))
}

/// Whether two values are equal. NaN equals NaN here.
pub(super) fn equal_or_nan(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Float(old), Value::Float(new)) if old.is_nan() && new.is_nan() => true,
        _ => old == new,
    }
}
