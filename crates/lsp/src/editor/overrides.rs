//! The files that set a key, and how many files override each key of a file.
//!
//! The answers are those of the last check, from the layers of all nodes. Nothing is evaluated: of two values, the
//! later one overrides, except where both merge or a reference may lead to a container.

use std::sync::Arc;

use crate::editor::keys::{below, mapping, plain};
use crate::editor::names::InventoryNames;
use reclass::parts::model::{KeyPrefix, MapSlot, Slot};
use reclass_base::path::{join_path, split_path};
use reclass_base::value::{Key, Value};

/// A key of a file that other files override.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverriddenKey {
    /// Its path in the notation of references.
    pub path: String,
    /// Whether it is an export.
    pub export: bool,
    /// The number of classes that override it in any node.
    pub classes: usize,
    /// The number of nodes whose own file overrides it.
    pub nodes: usize,
}

impl InventoryNames {
    /// The paths of the files that set a parameter in any node that has this file, or an export in any node.
    pub fn setters(&self, file: &str, path: &str, export: bool, delimiter: &str) -> Vec<&Arc<str>> {
        let keys = split_path(path, delimiter);
        let Some((last, above)) = keys.split_last() else { return Vec::new() };
        let last = Key::from(last.clone());
        let shared = self.beside(file, &|layers, _| layers);
        let found = self.files.iter().zip(shared).filter(|((_, facts), is_shared)| {
            let map = facts.layer.as_ref().and_then(|layer| below(layer, export, above));
            (*is_shared || export) && map.is_some_and(|map| map.entries.contains_key(&last))
        });
        found.map(|((path, _), _)| path).collect()
    }

    /// The keys of a file that later files override in any node, in order.
    pub fn overridden(&self, file: &str, delimiter: &str) -> Vec<OverriddenKey> {
        let mut found = Vec::new();
        let Some(own) = self.files.get(file).and_then(|facts| facts.layer.as_ref()) else { return found };
        let later = self.beside(file, &|layers, at| layers.get(at + 1..).unwrap_or_default());
        let later = self.files.values().zip(later).filter(|(_, is_later)| *is_later);
        let later = later.filter_map(|(facts, _)| Some((facts.is_class, facts.layer.as_ref()?)));
        let later: Vec<_> = later.collect();
        for export in [false, true] {
            let maps =
                later.iter().filter_map(|(is_class, layer)| Some((*is_class, below(layer, export, &[])?)));
            let Some(own) = below(own, export, &[]) else { continue };
            let mut walk = OverrideWalk { export, delimiter, path: Vec::new(), found: &mut found };
            walk.visit(own, &maps.collect::<Vec<_>>());
        }
        found
    }

    /// For each of the files whether it is among those that `choose` takes from the layers of a node that has this
    /// file at a position.
    fn beside(&self, file: &str, choose: &dyn for<'l> Fn(&'l [u32], usize) -> &'l [u32]) -> Vec<bool> {
        let mut beside = vec![false; self.files.len()];
        let position = self.files.keys().take_while(|path| ***path != *file).count();
        let nodes = self.files.get(file).into_iter().flat_map(|facts| &facts.nodes);
        for layers in nodes.filter_map(|node| self.layers.get(*node as usize)) {
            let Some(at) = layers.iter().position(|layer| *layer as usize == position) else { continue };
            for layer in choose(layers, at) {
                if let Some(is_beside) = beside.get_mut(*layer as usize) {
                    *is_beside = true;
                }
            }
        }
        beside
    }
}

struct OverrideWalk<'w> {
    export: bool,
    delimiter: &'w str,
    path: Vec<Key>,
    found: &'w mut Vec<OverriddenKey>,
}

impl OverrideWalk<'_> {
    /// Visits the keys of a mapping, with the mappings that later files have at its path.
    fn visit(&mut self, own: &MapSlot, later: &[(bool, &MapSlot)]) {
        for (key, slot) in &own.entries {
            let (mut classes, mut nodes, mut inner) = (0, 0, Vec::new());
            for (is_class, map) in later {
                let Some(other) = map.entries.get(key) else { continue };
                if overrides(slot, other) {
                    *if *is_class { &mut classes } else { &mut nodes } += 1;
                } else if let Some(map) = mapping(other) {
                    inner.push((*is_class, map));
                }
            }
            self.path.push(key.clone());
            if classes + nodes > 0 {
                let path = join_path(&self.path, self.delimiter);
                self.found.push(OverriddenKey { path, export: self.export, classes, nodes });
            }
            if let Some(map) = mapping(slot).filter(|_| !inner.is_empty()) {
                reclass_base::stack::grow(|| self.visit(map, &inner));
            }
            self.path.pop();
        }
    }
}

/// Whether a later value takes the place of an earlier one.
fn overrides(earlier: &Slot, later: &Slot) -> bool {
    /// Lists and mappings merge with their kind; a reference may lead to either.
    #[derive(PartialEq)]
    enum Form {
        Scalar,
        List,
        Mapping,
        Reference,
    }
    let form = |slot: &Slot| match plain(slot) {
        Slot::Map(_) | Slot::Raw(_) | Slot::Value(Value::Map(_), _) => Form::Mapping,
        Slot::List(_) | Slot::Value(Value::List(_), _) => Form::List,
        Slot::Text(..) | Slot::Query(..) => Form::Reference,
        Slot::Value(..) | Slot::Stack(_) => Form::Scalar,
    };
    let prefix = |slot: &Slot| match slot {
        Slot::Stack(stack) => stack.entries.last().map(|entry| entry.prefix).unwrap_or_default(),
        _ => KeyPrefix::default(),
    };
    let merge = match (form(earlier), form(later)) {
        (Form::Reference, Form::List | Form::Mapping) | (Form::List | Form::Mapping, Form::Reference) => true,
        (Form::Scalar | Form::Reference, _) => false,
        (earlier, later) => earlier == later,
    };
    !prefix(earlier).constant && (prefix(later).overrides || !merge)
}
