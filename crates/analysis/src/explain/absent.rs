//! Says why a node does not have a value: what its files set and take away, and the files that other nodes have.

use super::explainer::Explainer;
use crate::survey::Survey;
use reclass::Inventory;
use reclass::parts::evaluate::{Effect, site};
use reclass::parts::model::merge::settled;
use reclass::parts::model::{Prefixes, Slot};
use reclass_base::error::{Fault, Kind, Result};
use reclass_base::path::split_path;
use reclass_base::source::Origin;
use reclass_base::value::Key;
use reclass_base::words::listed;

/// The number of files and of nodes that a message names.
const MOST: usize = 3;

impl Explainer<'_> {
    /// Notes what the layers of the node do at a path without a value.
    pub(super) fn why_absent(&mut self, path: &str, fault: Fault) -> Fault {
        let keys = keys(path, &self.computation.settings.delimiter);
        // What is in the way stands at the path or above it.
        let ends = (1..=keys.len()).rev();
        let steps = ends.map(|end| self.steps_of(&keys[..end]).0).find(|steps| !steps.is_empty());
        steps.into_iter().flatten().fold(fault, |fault, step| {
            let (slot, depth) = (&step.source.slot, step.source.depth);
            let at = self.key_path(&keys[..depth]);
            let text = match (step.effect, slot) {
                (Effect::Ignored, _) => format!("'{at}' is ignored here: an earlier layer has a constant"),
                _ if depth == keys.len() => format!("'{at}' is set here"),
                (Effect::Removes, _) => format!("what was below '{at}' is gone: it is replaced here"),
                (_, Slot::Text(..) | Slot::Query(..)) => format!("'{at}' is set here, by a reference"),
                (_, Slot::Map(_)) => return fault,
                _ => format!("'{at}' is no mapping here"),
            };
            fault.note(text, self.places.of(slot.origin(), "").site)
        })
    }
}

/// Notes for each parameter that a node does not have which files of other nodes set it.
pub fn set_elsewhere(inventory: &Inventory, node: &str, faults: &[Fault]) -> Result<Vec<Fault>> {
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let prefixes = Prefixes::new(computation.settings);
        let mut faults = faults.to_vec();
        for fault in &mut faults {
            let Kind::NothingToExplain { what: what @ ("parameter" | "export"), name, .. } = &fault.kind
            else {
                continue;
            };
            let keys = keys(name, &computation.settings.delimiter);
            let mut found = Vec::new();
            for file in &survey.files {
                let users = survey.names(&file.nodes);
                let Ok(layer) = file.layer.as_ref() else { continue };
                let map = if *what == "export" { &layer.exports } else { &layer.parameters };
                if !users.iter().any(|user| **user == *node)
                    && let Some(origin) = origin_at(&Slot::Map(settled(map, &prefixes)), &keys)
                {
                    found.push((users, site(computation.inputs, origin, None)));
                }
            }
            for (users, site) in found.iter().take(MOST) {
                let text = match &users[..] {
                    [] => "it is set here, in a file that no node has".to_owned(),
                    users => format!("for {} it is set here", listed(users, MOST)),
                };
                *fault = fault.clone().note(text, site.clone());
            }
        }
        Ok(faults)
    })?
}

fn keys(path: &str, delimiter: &str) -> Vec<Key> {
    split_path(path, delimiter).into_iter().map(Key::from).collect()
}

/// The place of what a file has at a path.
fn origin_at(slot: &Slot, path: &[Key]) -> Option<Origin> {
    match (slot, path) {
        (Slot::Stack(stack), _) => stack.entries.iter().rev().find_map(|one| origin_at(&one.slot, path)),
        (slot, []) => Some(slot.origin()),
        (Slot::Map(map), [first, rest @ ..]) => origin_at(map.entries.get(first)?, rest),
        _ => None,
    }
}
