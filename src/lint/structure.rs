//! The structure of the layers: overrides that replace nothing, constants that hold, removals that
//! find nothing.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::Linter;
use crate::error::Fault;
use crate::evaluate::join_path;
use crate::layer::Layer;
use crate::merge::{Prefixes, settled};
use crate::slot::{MapSlot, Prefix, Slot};
use crate::source::{FileId, Origin};
use crate::survey::SurveyedFile;
use crate::value::{Key, Text, Value};

/// A key with a prefix.
struct Prefixed {
    path: Vec<Key>,
    prefix: Prefix,
    origin: Origin,
    /// What a constant is, where that is written as it is.
    value: Option<Value>,
}

/// Looks at all files that are looked at, in all nodes that have them, where those are known.
pub(super) fn look(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let delimiter = &linter.computation.settings.delimiter;
    let prefixes = Prefixes::new(linter.computation.settings);
    let mut constants = Vec::new();
    for file in linter.files().filter(|file| !file.nodes.is_empty() && linter.is_known(file)) {
        let Ok(layer) = &file.layer else { continue };
        let mut keys = Vec::new();
        collect(&settled(&layer.parameters, &prefixes), &mut Vec::new(), &mut keys);
        for one in keys {
            let path = join_path(&one.path, delimiter);
            if one.prefix.overrides && !replaces(linter, file, layer.file, &one.path) {
                let prefix = prefixes.text(Prefix { constant: false, ..one.prefix });
                let message = format!("the {prefix} in front of '{path}' replaces nothing in any node");
                found.push(linter.at("override-without-effect", message, one.origin));
            }
            if one.prefix.constant && !linter.computation.settings.strict_constant_parameters {
                constants.push(Constant::new(linter, file, layer.file, one, path));
            }
        }
        let removals = &layer.applications.removals;
        let added = if removals.is_empty() { FxHashSet::default() } else { added(linter, file, layer.file) };
        let mut undone: FxHashMap<&Text, u32> = FxHashMap::default();
        for (name, place) in &layer.applications.undone {
            undone.entry(name).and_modify(|first| *first = place.node.min(*first)).or_insert(place.node);
        }
        for (name, origin) in removals {
            // Or out of the list itself.
            let is_own = undone.get(name).is_some_and(|first| *first < origin.node);
            if !is_own && !added.contains(name) {
                let message = format!("'~{name}' takes nothing away in any node");
                found.push(linter.at("removal-without-effect", message, *origin));
            }
        }
    }
    held(linter, constants, found);
}

/// The keys with prefixes in a map. One that replaces what stands in front of it in the same
/// mapping has an effect.
fn collect(map: &MapSlot, path: &mut Vec<Key>, out: &mut Vec<Prefixed>) {
    for (key, slot) in &map.entries {
        path.push(key.clone());
        match slot {
            Slot::Map(inner) => stacker::maybe_grow(64 * 1024, 1024 * 1024, || collect(inner, path, out)),
            Slot::Stack(stack) => {
                for (index, entry) in stack.entries.iter().enumerate() {
                    if entry.prefix.any() && index == 0 {
                        let value = match &entry.slot {
                            Slot::Value(value, _) => Some(value.clone()),
                            _ => None,
                        };
                        let (path, prefix) = (path.clone(), entry.prefix);
                        out.push(Prefixed { path, prefix, origin: entry.slot.origin(), value });
                    }
                    if let Slot::Map(inner) = &entry.slot {
                        stacker::maybe_grow(64 * 1024, 1024 * 1024, || collect(inner, path, out));
                    }
                }
            }
            _ => {}
        }
        path.pop();
    }
}

/// Whether a map may say anything of a path: a reference on the way may bring it in.
fn has(map: &MapSlot, path: &[Key]) -> Option<Origin> {
    fn inside(slot: &Slot, rest: &[Key]) -> Option<Origin> {
        match slot {
            _ if rest.is_empty() => Some(slot.origin()),
            Slot::Map(map) => has(map, rest),
            Slot::Stack(stack) => stack.entries.iter().rev().find_map(|entry| inside(&entry.slot, rest)),
            Slot::Text(_, origin) | Slot::Query(_, origin) => Some(*origin),
            _ => None,
        }
    }
    let (first, rest) = path.split_first()?;
    inside(map.entries.get(first)?, rest)
}

/// Whether in any node a layer before the file says something of the path.
fn replaces(linter: &Linter<'_>, file: &SurveyedFile, id: FileId, path: &[Key]) -> bool {
    let prefixes = Prefixes::new(linter.computation.settings);
    let nodes = file.nodes.iter().filter_map(|at| linter.survey.nodes.get(*at));
    let mut known: FxHashMap<FileId, bool> = FxHashMap::default();
    for node in nodes {
        for layer in node.all_layers().take_while(|layer| layer.file != id) {
            let says = || has(&settled(&layer.parameters, &prefixes), path).is_some();
            if *known.entry(layer.file).or_insert_with(says) {
                return true;
            }
        }
        let given = node.layers.as_ref().ok().map(|layers| &layers.given);
        if given.and_then(|given| has(given.automatic.as_ref()?, path)).is_some() {
            return true;
        }
    }
    false
}

/// A constant of a file.
struct Constant<'a> {
    file: &'a SurveyedFile,
    id: FileId,
    key: Prefixed,
    path: String,
    /// How many layers stand before it, in the first node that has it.
    before: usize,
}

impl<'a> Constant<'a> {
    fn new(linter: &Linter<'_>, file: &'a SurveyedFile, id: FileId, key: Prefixed, path: String) -> Self {
        let first = file.nodes.first().and_then(|at| linter.survey.nodes.get(*at));
        let before = first.map_or(0, |node| node.all_layers().take_while(|layer| layer.file != id).count());
        Constant { file, id, key, path, before }
    }
}

/// The values that constants keep out, each told of the first one that does. What is always behind a
/// constant is no constant of its own: what stands behind both is told of the first.
fn held(linter: &Linter<'_>, mut constants: Vec<Constant<'_>>, found: &mut Vec<Fault>) {
    let prefixes = Prefixes::new(linter.computation.settings);
    let mut all: FxHashSet<(String, FileId)> = FxHashSet::default();
    constants.sort_by_key(|constant| constant.before);
    for Constant { file, id, key, path, .. } in constants {
        if all.contains(&(path.clone(), id)) {
            continue;
        }
        // How many nodes have each layer behind it.
        let mut behind: IndexMap<FileId, (&Layer, usize), FxBuildHasher> = IndexMap::default();
        for node in file.nodes.iter().filter_map(|at| linter.survey.nodes.get(*at)) {
            for layer in node.all_layers().skip_while(|layer| layer.file != id).skip(1) {
                behind.entry(layer.file).or_insert((layer, 0)).1 += 1;
            }
        }
        for (layer, nodes) in behind.into_values() {
            let parameters = settled(&layer.parameters, &prefixes);
            let Some(origin) = has(&parameters, &key.path) else { continue };
            let has_it = linter.survey.file(layer.file).filter(|file| linter.is_known(file));
            if has_it.is_none_or(|file| file.nodes.len() != nodes) || !all.insert((path.clone(), layer.file))
            {
                continue;
            }
            if key.value.is_some() && value_at(&parameters, &key.path) == key.value {
                continue;
            }
            let message = format!("'{path}' is left out: it is a constant");
            let fault = linter.at("constant-held", message, origin);
            found.push(fault.note("the constant is set here", linter.site(key.origin)));
        }
    }
}

/// The value that a map writes at a path as it is.
fn value_at(map: &MapSlot, path: &[Key]) -> Option<Value> {
    let (first, rest) = path.split_first()?;
    match map.entries.get(first)? {
        Slot::Value(value, _) if rest.is_empty() => Some(value.clone()),
        Slot::Map(inner) => value_at(inner, rest),
        _ => None,
    }
}

/// The applications that layers before the file add in any node.
fn added<'a>(linter: &'a Linter<'_>, file: &SurveyedFile, id: FileId) -> FxHashSet<&'a Text> {
    let mut known: FxHashSet<FileId> = FxHashSet::default();
    let mut added = FxHashSet::default();
    for node in file.nodes.iter().filter_map(|at| linter.survey.nodes.get(*at)) {
        for layer in node.all_layers().take_while(|layer| layer.file != id) {
            if known.insert(layer.file) {
                added.extend(layer.applications.additions.iter().map(|(name, _)| name));
            }
        }
    }
    added
}
