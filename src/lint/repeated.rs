//! Repetitions are values that change nothing: in every node that has the file, what it sets is set
//! already.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Linter;
use crate::error::Fault;
use crate::evaluate::join_path;
use crate::list::leaves;
use crate::merge::{Prefixes, settled};
use crate::slot::{MapSlot, Slot};
use crate::source::{FileId, Origin};
use crate::survey::SurveyedFile;
use crate::value::{Key, Value};

/// A scalar that a file sets at a path.
struct Setting<'a> {
    file: &'a SurveyedFile,
    id: FileId,
    value: Value,
    origin: Origin,
}

/// What a map says of a path.
enum Said<'a> {
    Nothing,
    Scalar(&'a Value),
    /// Something whose effect is not known here.
    Other,
}

/// Looks at all files that are looked at, in all nodes that have them, where those are known.
pub(super) fn look(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let mut paths: FxHashMap<Vec<Key>, Vec<Setting<'_>>> = FxHashMap::default();
    let prefixes = Prefixes::new(linter.computation.settings);
    for file in linter.survey.files.iter().filter(|file| !file.nodes.is_empty()) {
        let Ok(layer) = &file.layer else { continue };
        leaves(&settled(&layer.parameters, &prefixes), &mut Vec::new(), &mut |path, slot, origin| {
            if let Slot::Value(value, _) = slot
                && !matches!(value, Value::Map(_) | Value::List(_) | Value::Set(_) | Value::Tuple(_))
            {
                let setting = Setting { file, id: layer.file, value: value.clone(), origin };
                paths.entry(path.to_vec()).or_default().push(setting);
            }
        });
    }
    // Few paths are set twice with the same value: only those are looked at node by node.
    let twice = |settings: &[Setting<'_>], one: &Setting<'_>| {
        settings.iter().any(|other| other.id != one.id && other.value == one.value)
    };
    let mut repeated: Vec<(&Vec<Key>, &Setting<'_>, Origin)> = Vec::new();
    #[expect(clippy::iter_over_hash_type, reason = "findings are sorted in the end")]
    for (path, settings) in &paths {
        for one in settings.iter().filter(|one| linter.is_known(one.file) && twice(settings, one)) {
            if let Some(first) = earlier(linter, path, one, settings) {
                repeated.push((path, one, first));
            }
        }
    }
    let looked: FxHashSet<FileId> =
        linter.files().filter_map(|file| file.layer.as_ref().ok()).map(|layer| layer.file).collect();
    for (path, one, first) in repeated.into_iter().filter(|(_, one, _)| looked.contains(&one.id)) {
        let path = join_path(path, &linter.computation.settings.delimiter);
        let message = format!("'{path}' is set to what it is already, in every node that has this file");
        let fault = linter.at("value-repeated", message, one.origin);
        found.push(fault.note("it is set here, in the first of them", linter.site(first)));
    }
}

/// Where the same value was set before in the first of the nodes, if it was in all of them.
fn earlier(linter: &Linter<'_>, path: &[Key], one: &Setting<'_>, settings: &[Setting<'_>]) -> Option<Origin> {
    let prefixes = Prefixes::new(linter.computation.settings);
    let mut first = None;
    for node in one.file.nodes.iter().filter_map(|at| linter.survey.nodes.get(*at)) {
        let layers = node.layers.as_ref().ok()?;
        let automatic = layers.given.automatic.as_ref();
        if automatic.is_some_and(|map| !matches!(said(map, path), Said::Nothing)) {
            return None;
        }
        // The last layer before the file that says anything of the path.
        let before: Vec<_> = node.all_layers().take_while(|layer| layer.file != one.id).collect();
        let layer = before.into_iter().rev().find_map(|layer| {
            match said(&settled(&layer.parameters, &prefixes), path) {
                Said::Nothing => None,
                Said::Scalar(value) => Some((*value == one.value).then_some(layer.file)),
                Said::Other => Some(None),
            }
        });
        let file = layer.flatten()?;
        first = first.or_else(|| settings.iter().find(|other| other.id == file).map(|other| other.origin));
    }
    first
}

fn said<'m>(map: &'m MapSlot, path: &[Key]) -> Said<'m> {
    let Some((first, rest)) = path.split_first() else { return Said::Other };
    match map.entries.get(first) {
        None => Said::Nothing,
        Some(Slot::Value(value, _)) if rest.is_empty() => Said::Scalar(value),
        Some(Slot::Map(inner)) if !rest.is_empty() => said(inner, rest),
        Some(_) => Said::Other,
    }
}
