//! The structure of the layers: overrides that replace nothing, constants that hold, removals that
//! find nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Linter;
use crate::error::Fault;
use crate::evaluate::join_path;
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
                held(linter, file, layer.file, &one, &path, found);
            }
        }
        for (name, origin) in &layer.applications.removals {
            // Or out of the list itself.
            let mut own = layer.applications.undone.iter();
            let is_own = own.any(|(undone, place)| undone == name && place.node < origin.node);
            if !is_own && !takes_away(linter, file, layer.file, name) {
                let message = format!("'~{name}' takes nothing away in any node");
                found.push(linter.at("removal-without-effect", message, *origin));
            }
        }
    }
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

/// The values that a constant keeps out.
fn held(
    linter: &Linter<'_>,
    file: &SurveyedFile,
    id: FileId,
    constant: &Prefixed,
    path: &str,
    found: &mut Vec<Fault>,
) {
    let prefixes = Prefixes::new(linter.computation.settings);
    let mut known: FxHashSet<FileId> = FxHashSet::default();
    for node in file.nodes.iter().filter_map(|at| linter.survey.nodes.get(*at)) {
        for layer in node.all_layers().skip_while(|layer| layer.file != id).skip(1) {
            if !known.insert(layer.file) {
                continue;
            }
            let parameters = settled(&layer.parameters, &prefixes);
            let Some(origin) = has(&parameters, &constant.path) else { continue };
            if constant.value.is_some() && value_at(&parameters, &constant.path) == constant.value {
                continue;
            }
            if !always_behind(linter, layer.file, id) {
                continue;
            }
            let message = format!("'{path}' is left out: it is a constant");
            let fault = linter.at("constant-held", message, origin);
            found.push(fault.note("the constant is set here", linter.site(constant.origin)));
        }
    }
}

/// Whether all nodes that have a file have the other one before it.
fn always_behind(linter: &Linter<'_>, file: FileId, other: FileId) -> bool {
    let Some(file) = linter.survey.file(file).filter(|file| linter.is_known(file)) else { return false };
    let Ok(own) = &file.layer else { return false };
    file.nodes.iter().filter_map(|at| linter.survey.nodes.get(*at)).all(|node| {
        node.all_layers().take_while(|layer| layer.file != own.file).any(|layer| layer.file == other)
    })
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

fn takes_away(linter: &Linter<'_>, file: &SurveyedFile, id: FileId, name: &Text) -> bool {
    let mut nodes = file.nodes.iter().filter_map(|at| linter.survey.nodes.get(*at));
    nodes.any(|node| {
        let mut layers = node.all_layers().take_while(|layer| layer.file != id);
        layers.any(|layer| layer.applications.additions.iter().any(|(added, _)| added == name))
    })
}
