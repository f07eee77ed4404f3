//! R4: the old value is the new one of a parameter that refers here, or of the one referred to.

use rustc_hash::FxHashMap;

use super::lookup;
use crate::diff::NodeChange;
use reclass::parts::engine::context::Layers;
use reclass::parts::model::template::{Part, Template};
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
            layer.parameters.texts(&mut |path, template, _| references.take(path, template));
        }
        references
    }

    fn take(&mut self, path: &[Key], template: &Template) {
        if let [Part::Reference(reference)] = &template.parts[..]
            && let Some(fixed) = &reference.fixed
            && let Some(from) = texts(path)
        {
            let to = fixed.segments.clone();
            self.related.entry(to.clone()).or_default().push(from.clone());
            self.related.entry(from).or_default().push(to);
        }
    }

    /// Whether a related parameter has the old value at the same path below: one that refers to a parameter around
    /// the changed value, or the one that such a parameter refers to.
    pub fn explain(&self, change: &NodeChange, parameters: &Value) -> bool {
        let Some(old) = &change.old else { return false };
        let Some(path) = texts(&change.path) else { return false };
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

/// A path without items of lists, and without keys that are no texts.
fn texts(path: &[Key]) -> Option<Vec<Text>> {
    path.iter().map(|key| key.as_str().map(Text::from)).collect()
}
