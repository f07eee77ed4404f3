//! The lists of layers that merge options are about.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::linter::Linter;
use crate::survey::Surveyed;
use reclass::parts::model::merge_options::enabled;
use reclass::parts::model::{Layer, PathRules, Slot};
use reclass_base::value::Key;

/// Visits the lists of all layers, each layer once, with the path and the rules of a list; a reference may bring
/// one. Nodes have layers of their own if they have other declarations.
pub fn each_list<'l>(linter: &'l Linter<'_>, visitor: &mut dyn FnMut(&[Key], &'l PathRules, &'l Slot)) {
    let mut seen: FxHashSet<*const Layer> = FxHashSet::default();
    let layers = linter.survey.nodes.iter().flat_map(Surveyed::all_layers);
    for layer in layers.filter(|layer| seen.insert(Arc::as_ptr(layer))) {
        lists(linter, layer, visitor);
    }
}

/// Visits the lists of one layer.
pub fn lists<'l>(
    linter: &Linter<'_>,
    layer: &'l Layer,
    visitor: &mut dyn FnMut(&[Key], &'l PathRules, &'l Slot),
) {
    if !enabled(linter.context.settings) {
        return;
    }
    layer.parameters.visit(&mut |path, slot| {
        let Slot::Stack(stack) = slot else { return matches!(slot, Slot::Map(_)) };
        for entry in &stack.entries {
            if let Some(rules) = &entry.rules {
                visitor(path, rules, &entry.slot);
            }
        }
        true
    });
}
