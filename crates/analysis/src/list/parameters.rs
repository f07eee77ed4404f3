//! Lists the paths that files set, each with its places.

use indexmap::IndexMap;
use serde::Serialize;

use super::choice::chosen_leaves;
use super::nodes::{ListedRows, NodeFilter, Rows, SelectedNodes};
use crate::survey::Survey;
use reclass::Inventory;
use reclass::parts::evaluate::site;
use reclass::parts::model::Prefixes;
use reclass::parts::model::merge::settled;
use reclass::redact::Redaction;
use reclass_base::path::join_path;
use reclass_base::pattern::PathPattern;
use reclass_base::source::Site;
use reclass_base::value::{Text, Value};

/// A path of the parameters.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterRow {
    /// The path.
    pub path: String,
    /// Every place that sets it, by file.
    pub places: Vec<ParameterPlace>,
    /// The nodes that these files contribute to, sorted.
    pub nodes: Vec<Text>,
}

/// A place that sets a parameter.
#[derive(Clone, Debug, Serialize)]
pub struct ParameterPlace {
    /// The place.
    pub site: Site,
    /// The value as written: references are kept, secrets are masked.
    pub written: Value,
}

/// The places of a path, and the indexes of its nodes.
type PathSummary = (Vec<ParameterPlace>, Vec<usize>);

/// The paths that match any of the patterns, and the paths below them, sorted. They come from the files of
/// the nodes that pass the filter; without a filter from all files. Leaves are scalars, lists and empty
/// mappings. List items are included if a pattern leads into the list.
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
        let selected = SelectedNodes::of(computation, &survey, filter)?;
        let prefixes = Prefixes::new(computation.settings);
        let mut rows: IndexMap<String, PathSummary> = IndexMap::new();
        for file in survey.files.iter().filter(|file| selected.includes(file)) {
            let users = selected.users(file);
            let Ok(layer) = &file.layer else { continue };
            let redaction = redaction.within(layer);
            let map = settled(&layer.parameters, &prefixes);
            chosen_leaves(&map, &patterns, &mut |path, slot| {
                let Some(site) = site(computation.inputs, slot.origin(), None) else { return };
                let (places, nodes) = rows.entry(join_path(path, delimiter)).or_default();
                let written = redaction.slot(path, slot, &prefixes);
                places.push(ParameterPlace { site, written });
                nodes.extend(&users);
            });
        }
        rows.sort_unstable_keys();
        let row = |(path, (places, mut nodes)): (String, PathSummary)| {
            nodes.sort_unstable();
            nodes.dedup();
            ParameterRow { path, places, nodes: survey.names(&nodes) }
        };
        Ok(ListedRows { rows: rows.into_iter().map(row).collect(), left_out: selected.left_out })
    })?
}
