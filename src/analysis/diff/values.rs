//! Compares two results of a node: the paths at which they differ.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::ListItem;
use super::items::items;
use crate::base::stack::grow;
use crate::base::value::{Key, Map, Value};
use crate::engine::NodeInfo;

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
pub(super) struct NodeChange {
    /// The section of the node.
    pub section: Section,
    /// The path in the section; empty for sections that are one value.
    pub path: Vec<Key>,
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
pub(super) type Sameness = (Section, Vec<Option<String>>, String);

impl NodeChange {
    /// Splits the change of a list into its items, because other nodes may share only some of them.
    pub(super) fn split(mut self) -> Vec<NodeChange> {
        let items = std::mem::take(&mut self.items);
        if items.is_empty() {
            return vec![self];
        }
        items.into_iter().map(|item| NodeChange { items: vec![item], ..self.clone() }).collect()
    }

    /// The key of this change, independent of its position in lists. The change must be split.
    pub(super) fn sameness(&self) -> Sameness {
        let text = |value: Option<&Value>| value.map_or("-".into(), crate::base::pystr::repr);
        let what = match self.items.first() {
            None => format!("{}\0{}", text(self.old.as_ref()), text(self.new.as_ref())),
            Some(item) => format!("{}{}", item.added, text(self.item(item))),
        };
        let index = |at: usize| self.indexes.contains(&at);
        let keys = self.path.iter().enumerate();
        let keys = keys.map(|(at, key)| (!index(at)).then(|| crate::base::pystr::repr(&key.0)));
        (self.section, keys.collect(), what)
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
/// mappings or lists are compared index by index, all others by removed and added items.
pub(super) fn changes(old: &NodeInfo, new: &NodeInfo) -> Vec<NodeChange> {
    let mut comparison = ValueComparison {
        section: Section::Environment,
        path: Vec::new(),
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

struct ValueComparison {
    section: Section,
    path: Vec<Key>,
    indexes: Vec<usize>,
    changes: Vec<NodeChange>,
}

impl ValueComparison {
    fn add(&mut self, old: Option<Value>, new: Option<Value>) {
        let items = match (&old, &new) {
            (Some(Value::List(old)), Some(Value::List(new))) => items(old, new),
            _ => Vec::new(),
        };
        let (path, indexes) = (self.path.clone(), self.indexes.clone());
        self.changes.push(NodeChange { section: self.section, path, indexes, old, new, items });
    }

    fn values(&mut self, old: &Value, new: &Value) {
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
