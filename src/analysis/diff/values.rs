//! Values turn two renderings of a node into the paths at which they differ.

use std::sync::Arc;

use serde::Serialize;

use super::ListItem;
use super::items::items;
use crate::base::stack::grow;
use crate::base::value::{Key, Map, Text, Value};
use crate::engine::NodeInfo;

/// The part of a node.
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

impl Section {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Section::Environment => "environment",
            Section::Classes => "classes",
            Section::Applications => "applications",
            Section::Parameters => "parameters",
            Section::Exports => "exports",
        }
    }
}

/// One path at which two renderings differ.
#[derive(Clone, Debug)]
pub(super) struct NodeChange {
    /// The part of the node.
    pub section: Section,
    /// The path in it; empty for the parts that are one value.
    pub path: Vec<Key>,
    /// Which of its keys are indexes of lists, by their position.
    pub(super) indexes: Vec<usize>,
    /// What was there; `None` for nothing.
    pub old: Option<Value>,
    /// What is there now.
    pub new: Option<Value>,
    /// Where both are lists, what the one lost and the other gained.
    pub items: Vec<ListItem>,
}

/// What is the same for the same change: section, path without indexes of lists, old and new.
pub(super) type Sameness = (Section, Vec<Option<String>>, String);

impl NodeChange {
    /// The change by items, where it is one of a list: others may have some of them.
    pub(super) fn split(mut self) -> Vec<NodeChange> {
        let items = std::mem::take(&mut self.items);
        if items.is_empty() {
            return vec![self];
        }
        items.into_iter().map(|item| NodeChange { items: vec![item], ..self.clone() }).collect()
    }

    /// What is the same for the same change, wherever in a list it is; the change is split.
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

    /// An item, in the list that has it.
    pub fn item(&self, item: &ListItem) -> Option<&Value> {
        match if item.added { &self.new } else { &self.old } {
            Some(Value::List(items)) => items.get(item.index),
            _ => None,
        }
    }
}

/// All paths at which two renderings differ. Mappings are compared key by key, lists item by item:
/// those of equal length that hold mappings or lists at each index, all others by what they lost
/// and gained.
pub(super) fn changes(old: &NodeInfo, new: &NodeInfo) -> Vec<NodeChange> {
    let mut walk =
        Walk { section: Section::Environment, path: Vec::new(), indexes: Vec::new(), changes: Vec::new() };
    walk.values(&old.environment, &new.environment);
    for (section, old, new) in [
        (Section::Classes, &old.classes[..], &new.classes[..]),
        (Section::Applications, &old.applications, &new.applications),
    ] {
        walk.section = section;
        if old != new {
            let list = |names: &[Text]| Value::list(names.iter().cloned().map(Value::Str).collect());
            walk.say(Some(list(old)), Some(list(new)));
        }
    }
    for (section, old, new) in [
        (Section::Parameters, &old.parameters, &new.parameters),
        (Section::Exports, &old.exports, &new.exports),
    ] {
        walk.section = section;
        match (old, new) {
            // Whatever is in a section is a change of its own, also where all of it is new or gone: the
            // section as a whole stands nowhere.
            (Value::Map(old), Value::Map(new)) if old.is_empty() || new.is_empty() => walk.maps(old, new),
            _ => walk.values(old, new),
        }
    }
    walk.changes
}

struct Walk {
    section: Section,
    path: Vec<Key>,
    indexes: Vec<usize>,
    changes: Vec<NodeChange>,
}

impl Walk {
    fn say(&mut self, old: Option<Value>, new: Option<Value>) {
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
                if !same(old, new) {
                    self.say(Some(old.clone()), Some(new.clone()));
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

    /// What is on one side alone, leaf by leaf.
    fn leaves(&mut self, value: &Value, gone: bool) {
        match value {
            Value::Map(map) if !map.is_empty() => {
                for (key, value) in map.iter() {
                    self.path.push(key.clone());
                    grow(|| self.leaves(value, gone));
                    self.path.pop();
                }
            }
            _ if gone => self.say(Some(value.clone()), None),
            _ => self.say(None, Some(value.clone())),
        }
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Map(_) | Value::List(_))
}

/// Whether two values are the same. A number that is none is the same as another.
pub(super) fn same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Float(old), Value::Float(new)) if old.is_nan() && new.is_nan() => true,
        _ => old == new,
    }
}
