//! R4: the old value is the new one of a parameter that refers here, or of the one referred to.

use indexmap::IndexSet;
use rustc_hash::FxHashMap;

use super::lookup;
use crate::diff::NodeChange;
use reclass::parts::engine::Layers;
use reclass::parts::model::{Part, Reference, Slot, Template};
use reclass_base::path::split_path;
use reclass_base::value::{Key, Text, Value};

/// Maximum number of related parameters to look at.
const MOST_RELATED: usize = 64;

/// The parameters that are references to others, in any layer of a node.
pub(super) struct BroughtMappings<'l> {
    layers: &'l Layers,
    parameters: &'l Value,
    delimiter: &'l str,
    /// What refers to a path, and what a path refers to.
    related: FxHashMap<Vec<Key>, Vec<Vec<Key>>>,
}

impl<'l> BroughtMappings<'l> {
    pub fn of(layers: &'l Layers, parameters: &'l Value, delimiter: &'l str) -> BroughtMappings<'l> {
        let related = FxHashMap::default();
        let mut references = BroughtMappings { layers, parameters, delimiter, related };
        for layer in layers.all() {
            layer.parameters.texts(&mut |path, template, _| references.take(path, template));
        }
        references
    }

    fn take(&mut self, from: &[Key], template: &Template) {
        if let [Part::Reference(reference)] = &template.parts[..]
            && let Some(to) = self.target(reference)
        {
            self.related.entry(to.clone()).or_default().push(from.to_vec());
            self.related.entry(from.to_vec()).or_default().push(to);
        }
    }

    /// The path that a reference leads to, if the references inside of it lead to text.
    fn target(&self, reference: &Reference) -> Option<Vec<Key>> {
        let keys = |path: &[Text]| path.iter().cloned().map(Key::from).collect();
        if let Some(fixed) = &reference.fixed {
            return Some(keys(&fixed.segments));
        }
        let text = |part: &Part| match part {
            Part::Literal(text) => Some(text.to_string()),
            Part::Reference(inner) => {
                Some(lookup(self.parameters, &self.target(inner)?)?.as_str()?.to_owned())
            }
        };
        let path: Option<String> = reference.parts.iter().map(text).collect();
        Some(keys(&split_path(&path?, self.delimiter)))
    }

    /// Whether a related parameter has the old value at the same path below: one that refers to a parameter around
    /// the changed value, or the one that such a parameter refers to, also through further references.
    pub fn explain(&self, change: &NodeChange) -> bool {
        let Some(old) = &change.old else { return false };
        let mut reached = IndexSet::from([change.path.clone()]);
        let mut at = 0;
        while let Some(path) = reached.get_index(at).cloned() {
            let is_brought = || [&change.path, &path].into_iter().any(|path| self.is_stacked(path));
            if at > 0 && lookup(self.parameters, &path) == Some(old) && is_brought() {
                return true;
            }
            // A reference to the value itself brings no mapping.
            for length in 1..path.len() {
                let related = self.related.get(&path[..length]).into_iter().flatten();
                for other in related.take(MOST_RELATED.saturating_sub(reached.len())) {
                    reached.insert([other, &path[length..]].concat());
                }
            }
            at += 1;
        }
        false
    }

    /// Whether several layers set a value, and one of them by a reference or a `~`. The Python programs change no
    /// other value.
    fn is_stacked(&self, path: &[Key]) -> bool {
        let slots = self.layers.all().filter_map(|layer| layer.parameters.at(path));
        let is_late = |slot: &Slot| matches!(slot, Slot::Text(..) | Slot::Stack(_));
        let slots: Vec<&Slot> = slots
            .filter(|(slot, rest)| rest.is_empty() || matches!(slot, Slot::Stack(_)))
            .map(|(slot, _)| slot)
            .collect();
        slots.len() > 1 && slots.into_iter().any(is_late)
    }
}
