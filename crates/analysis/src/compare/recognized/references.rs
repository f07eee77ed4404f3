//! R4: the old value is the new one of a parameter that refers here, or of the one referred to.

use rustc_hash::FxHashMap;

use super::lookup;
use crate::diff::NodeChange;
use reclass::parts::engine::context::Layers;
use reclass::parts::model::slot::{MapSlot, Slot};
use reclass::parts::model::template::Part;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};

/// Maximum number of references to one parameter to look at.
const MOST_RELATED: usize = 64;

/// The parameters that are references to others, in any layer of a node.
#[derive(Default)]
pub(super) struct BroughtMappings {
    /// What refers to a path, and what a path refers to.
    related: FxHashMap<Vec<Text>, Vec<Vec<Text>>>,
}

impl BroughtMappings {
    pub fn of(layers: &Layers) -> BroughtMappings {
        let mut references = BroughtMappings::default();
        for layer in layers.all() {
            references.collect(&layer.parameters, &mut Vec::new());
        }
        references
    }

    fn collect(&mut self, map: &MapSlot, path: &mut Vec<Text>) {
        if !map.dynamic {
            return;
        }
        for (key, slot) in &map.entries {
            if let Some(key) = key.as_str() {
                path.push(key.into());
                self.slot(slot, path);
                path.pop();
            }
        }
    }

    fn slot(&mut self, slot: &Slot, path: &mut Vec<Text>) {
        match slot {
            Slot::Text(template, _) => {
                if let [Part::Reference(reference)] = &template.parts[..]
                    && let Some(fixed) = &reference.fixed
                {
                    let (from, to) = (path.clone(), fixed.segments.clone());
                    self.related.entry(to.clone()).or_default().push(from.clone());
                    self.related.entry(from).or_default().push(to);
                }
            }
            Slot::Map(map) => grow(|| self.collect(map, path)),
            Slot::Stack(stack) => {
                grow(|| stack.entries.iter().for_each(|entry| self.slot(&entry.slot, path)));
            }
            Slot::Value(..) | Slot::Query(..) | Slot::List(_) | Slot::Raw(_) => {}
        }
    }

    /// Whether the old value is that of the same path below a parameter that refers to one around it, or of the
    /// one that this refers to.
    pub fn explain(&self, change: &NodeChange, parameters: &Value) -> bool {
        let Some(old) = &change.old else { return false };
        let text = |key: &Key| key.as_str().map(Text::from);
        let Some(path) = change.path.iter().map(text).collect::<Option<Vec<Text>>>() else { return false };
        // A reference to the value itself brings no mapping.
        (1..path.len()).any(|length| {
            let related = self.related.get(&path[..length]).into_iter().flatten();
            related.take(MOST_RELATED).any(|other| {
                let other: Vec<Key> =
                    other.iter().chain(&path[length..]).map(|key| Key::from(&**key)).collect();
                lookup(parameters, &other) == Some(old)
            })
        })
    }
}
