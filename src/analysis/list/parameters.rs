//! Parameters turn the files of an inventory into paths, each with the places that set it.

use indexmap::IndexMap;
use serde::Serialize;

use super::choice::chosen_leaves;
use super::nodes::LookedAt;
use super::{NodeFilter, Rows};
use crate::analysis::explain::written;
use crate::analysis::survey::Survey;
use crate::base::path::join_path;
use crate::base::pattern::PathPattern;
use crate::base::source::{Origin, Site};
use crate::base::value::{Key, Text, Value};
use crate::engine::Inventory;
use crate::evaluate::site;
use crate::model::merge::{Prefixes, settled};
use crate::model::slot::{MapSlot, Slot};
use crate::output::redact::Redaction;

/// A path of the parameters.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterRow {
    /// The path.
    pub path: String,
    /// Every place that sets it, by file.
    pub places: Vec<ParameterPlace>,
    /// The nodes that a file of these has a part in, sorted.
    pub nodes: Vec<Text>,
    /// Whether these are all: a node whose classes cannot be ordered may have one of the files too.
    pub complete: bool,
}

/// A place that sets a parameter.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterPlace {
    /// The place.
    pub site: Site,
    /// What it says: references are as written, secrets masked.
    pub written: Value,
}

/// The places of a path, its nodes by their index, and whether these are all.
type Found = (Vec<ParameterPlace>, Vec<usize>, bool);

/// The paths that any of the patterns choose, and those in what they choose, sorted, as the files of the
/// nodes that a filter chooses set them: scalars and lists, and mappings that are empty; items of a list where a pattern
/// leads into it. Without a filter all files count.
pub fn parameters(
    inventory: &Inventory,
    patterns: &[String],
    filter: &NodeFilter,
    redaction: &Redaction,
) -> Rows<ParameterRow> {
    let delimiter = &inventory.settings().delimiter;
    let patterns: Vec<PathPattern> = patterns.iter().map(|text| PathPattern::new(text, delimiter)).collect();
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let looked_at = LookedAt::of(computation, &survey, filter)?;
        let prefixes = Prefixes::new(computation.settings);
        let mut rows: IndexMap<String, Found> = IndexMap::new();
        for file in survey.files.iter().filter(|file| looked_at.heeds(file)) {
            let (users, known) = (looked_at.users(file), looked_at.knows(file));
            let Ok(layer) = &file.layer else { continue };
            let map = settled(&layer.parameters, &prefixes);
            chosen_leaves(&map, &patterns, &mut |path, slot, origin| {
                let Some(site) = site(computation.inputs, origin, None) else { return };
                let (places, nodes, complete) =
                    rows.entry(join_path(path, delimiter)).or_insert((Vec::new(), Vec::new(), true));
                let written = redaction.written(path, &written(slot, &prefixes));
                places.push(ParameterPlace { site, written });
                nodes.extend(&users);
                *complete &= known;
            });
        }
        rows.sort_unstable_keys();
        let row = |(path, (places, mut nodes, complete)): (String, Found)| {
            nodes.sort_unstable();
            nodes.dedup();
            ParameterRow { path, places, nodes: survey.names(&nodes), complete }
        };
        Ok(rows.into_iter().map(row).collect())
    })?
}

/// Visits what a map sets, prefixes seen through.
pub(crate) fn leaves(map: &MapSlot, visitor: &mut dyn FnMut(&[Key], &Slot, Origin)) {
    map.visit(&mut |path, slot| match slot {
        Slot::Map(map) if !map.entries.is_empty() => true,
        Slot::Stack(_) => true,
        _ => {
            visitor(path, slot, slot.origin());
            false
        }
    });
}
