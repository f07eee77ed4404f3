//! Checks the interaction of layers: overrides that replace nothing, constants that keep values out, removals
//! without effect.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::mentions::Mentions;
use super::repeated::alone;
use super::{Linter, MergedSection};
use crate::analysis::survey::{Surveyed, SurveyedFile};
use crate::base::error::Fault;
use crate::base::path::join_path;
use crate::base::source::{FileId, Origin};
use crate::base::value::{Key, Text, Value};
use crate::model::layer::Layer;
use crate::model::slot::{KeyPrefix, MapSlot, Slot};

/// A key with a prefix.
struct Prefixed {
    path: Vec<Key>,
    prefix: KeyPrefix,
    origin: Origin,
    /// The value written there.
    slot: Slot,
}

/// The value at a path, as far as it is known without references.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KnownValue {
    Nothing,
    Null,
    Scalar,
    EmptyList,
    EmptyMap,
    Unknown,
}

/// Checks the chosen files in all their nodes, if all users are known.
pub(super) fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    for section in MergedSection::ALL {
        prefixed(linter, section, found);
    }
    for file in known_files(linter) {
        let Ok(layer) = &file.layer else { continue };
        let removals = &layer.applications.removals;
        let added = if removals.is_empty() { FxHashSet::default() } else { added(linter, file, layer.file) };
        let mut undone: FxHashMap<&Text, u32> = FxHashMap::default();
        for (name, place) in &layer.applications.ineffective {
            undone.entry(name).and_modify(|first| *first = place.node.min(*first)).or_insert(place.node);
        }
        for (name, origin) in removals {
            // It may remove an earlier addition of the same list.
            let is_own = undone.get(name).is_some_and(|first| *first < origin.node);
            if !is_own && !added.contains(name) {
                let message = format!("'~{name}' takes nothing away in any node");
                found.push(linter.at("removal-without-effect", message, *origin));
            }
        }
    }
}

/// The checked files that have users, if all users are known.
fn known_files<'l>(linter: &'l Linter<'_>) -> impl Iterator<Item = &'l SurveyedFile> {
    linter.files().filter(|file| linter.is_known(file))
}

/// Checks the keys with prefixes.
fn prefixed(linter: &Linter<'_>, section: MergedSection, found: &mut Vec<Fault>) {
    let delimiter = &linter.context.settings.delimiter;
    let mut constants = Vec::new();
    let files = known_files(linter).filter_map(|file| Some((file, file.layer.as_ref().ok()?)));
    let keys: Vec<(&SurveyedFile, FileId, Vec<Prefixed>)> =
        files.map(|(file, layer)| (file, layer.file, collect(&linter.settled(section, layer)))).collect();
    let paths: Vec<Vec<Key>> =
        keys.iter().flat_map(|(.., keys)| keys.iter().map(|one| one.path.clone())).collect();
    let paths = paths.iter().map(Vec::as_slice);
    let mentions = Mentions::of(linter, section, linter.survey.files.iter(), paths);
    for (file, id, keys) in keys {
        for one in keys {
            let mentioned = mentions.at(&one.path);
            let path = join_path(&one.path, delimiter);
            // The effect of a prefix that is still text depends on the number of merges.
            let is_text = one.path.last().is_some_and(|key| linter.prefixes.is_prefixed(key))
                || matches!(&one.slot, Slot::Map(map) if map.prefixed);
            let merged = match one.prefix.overrides && !is_text {
                true if !replaces(linter, section, mentioned, file, id, &one.path) => {
                    Some("replaces nothing in any node")
                }
                true if is_vain(linter, section, mentioned, file, id, &one) => {
                    Some("changes nothing in any node")
                }
                _ => None,
            };
            if let Some(merged) = merged {
                let prefix = linter.prefixes.text(KeyPrefix { constant: false, ..one.prefix });
                let message = format!("the {prefix} in front of {} {merged}", section.named(&path));
                let (path, origin) = (path.clone(), one.origin);
                found.push(linter.about("override-without-effect", message, origin, path, section));
            }
            if one.prefix.constant && !linter.context.settings.strict_constant_parameters {
                constants.push(Constant::new(linter, file, id, one, path));
            }
        }
    }
    check_constants(linter, section, &mentions, constants, found);
}

/// The keys with prefixes in a map. A key that replaces an earlier one in the same mapping has an effect, so
/// it is left out.
fn collect(map: &MapSlot) -> Vec<Prefixed> {
    let mut all = Vec::new();
    map.visit(&mut |path, slot| {
        if let Slot::Stack(stack) = slot
            && let Some(entry) = stack.entries.first().filter(|entry| entry.prefix.any())
        {
            let (path, prefix, slot) = (path.to_vec(), entry.prefix, entry.slot.clone());
            all.push(Prefixed { path, prefix, origin: slot.origin(), slot });
        }
        matches!(slot, Slot::Map(_) | Slot::Stack(_))
    });
    all
}

/// The origin of a value that a map may have at a path. A reference above the path may bring it in.
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

/// Whether in any node a layer before the file may set the path.
fn replaces(
    linter: &Linter<'_>,
    section: MergedSection,
    mentioned: &FxHashSet<FileId>,
    file: &SurveyedFile,
    id: FileId,
    path: &[Key],
) -> bool {
    let mut memo: FxHashMap<FileId, bool> = FxHashMap::default();
    let mut merged = |layer: &Layer| {
        let merged = || has(&linter.settled(section, layer), path).is_some();
        mentioned.contains(&layer.file) && *memo.entry(layer.file).or_insert_with(merged)
    };
    linter.survey.kinds(file).any(|node| node.layers_before(id).any(|layer| merged(layer)))
        || linter.given(section, file, path, &|map| has(map, path).is_some())
}

/// Whether in every node the value has the same effect with and without its `~`. If the earlier value is not
/// known for sure, the `~` counts as effective.
fn is_vain(
    linter: &Linter<'_>,
    section: MergedSection,
    mentioned: &FxHashSet<FileId>,
    file: &SurveyedFile,
    id: FileId,
    one: &Prefixed,
) -> bool {
    let new = known_value(&one.slot);
    let merged = |before: KnownValue, new: KnownValue| match (before, new) {
        (before, KnownValue::Nothing) => before,
        (KnownValue::Nothing | KnownValue::Null, new) => new,
        (KnownValue::Scalar, KnownValue::Scalar | KnownValue::Null) => new,
        (before, new) if before == new => new,
        _ => KnownValue::Unknown,
    };
    let mut memo: FxHashMap<FileId, KnownValue> = FxHashMap::default();
    let mut value_in = |layer: &Layer| {
        let compute = || known_value_at(&linter.settled(section, layer), &one.path);
        *memo.entry(layer.file).or_insert_with(compute)
    };
    let is_vain = |node: &Surveyed| {
        let before = node.layers_before(id).filter(|layer| mentioned.contains(&layer.file));
        match before.map(|layer| value_in(layer)).fold(KnownValue::Nothing, merged) {
            KnownValue::Nothing | KnownValue::Null => true,
            KnownValue::Scalar => matches!(new, KnownValue::Scalar | KnownValue::Null),
            KnownValue::EmptyList => new == KnownValue::EmptyList || matches!(&one.slot, Slot::List(_)),
            KnownValue::EmptyMap => matches!(&one.slot, Slot::Map(_)),
            KnownValue::Unknown => false,
        }
    };
    let is_given = |map: &MapSlot| known_value_at(map, &one.path) != KnownValue::Nothing;
    !one.prefix.constant
        && !linter.given(section, file, &one.path, &is_given)
        && linter.survey.kinds(file).all(is_vain)
}

/// The value at a path if only this map existed.
fn known_value_at(map: &MapSlot, path: &[Key]) -> KnownValue {
    match map.at(path) {
        None => KnownValue::Nothing,
        Some((slot, [])) => known_value(slot),
        Some(_) => KnownValue::Unknown,
    }
}

fn known_value(slot: &Slot) -> KnownValue {
    match slot {
        Slot::Value(Value::Null, _) => KnownValue::Null,
        Slot::Value(Value::List(items), _) if items.is_empty() => KnownValue::EmptyList,
        Slot::Value(Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_), _) => {
            KnownValue::Scalar
        }
        Slot::List(list) if list.items.is_empty() => KnownValue::EmptyList,
        Slot::Map(map) if map.entries.is_empty() => KnownValue::EmptyMap,
        _ => KnownValue::Unknown,
    }
}

/// A constant of a file.
struct Constant<'a> {
    file: &'a SurveyedFile,
    id: FileId,
    key: Prefixed,
    path: String,
    /// Number of layers before it, in the first node that uses it.
    before: usize,
}

impl<'a> Constant<'a> {
    fn new(linter: &Linter<'_>, file: &'a SurveyedFile, id: FileId, key: Prefixed, path: String) -> Self {
        let before = linter.survey.users(file).next().map_or(0, |node| node.layers_before(id).count());
        Constant { file, id, key, path, before }
    }
}

/// Reports the values that constants keep out, each with the first constant that does so. A constant that
/// always follows another constant has no effect: values after both belong to the first.
fn check_constants(
    linter: &Linter<'_>,
    section: MergedSection,
    mentions: &Mentions<'_>,
    mut constants: Vec<Constant<'_>>,
    found: &mut Vec<Fault>,
) {
    let mut all: FxHashSet<(String, FileId)> = FxHashSet::default();
    constants.sort_by_key(|constant| constant.before);
    for Constant { file, id, key, path, .. } in constants {
        if all.contains(&(path.clone(), id)) {
            continue;
        }
        let mentioned = mentions.at(&key.path);
        let mut gone = FxHashMap::default();
        // Counts per layer after the constant the nodes in which it follows.
        let mut behind: IndexMap<FileId, (&Layer, usize), FxBuildHasher> = IndexMap::default();
        let mut sizes: FxHashMap<usize, usize> = FxHashMap::default();
        for node in linter.survey.users(file) {
            *sizes.entry(node.kind).or_default() += 1;
        }
        // The classes after it are those of its kind; its own file comes last.
        let mut as_class: FxHashSet<usize> = FxHashSet::default();
        for node in linter.survey.kinds(file) {
            let (Ok(layers), Some(nodes)) = (&node.layers, sizes.remove(&node.kind)) else { continue };
            let mut after = layers.linearization.layers().skip_while(|layer| layer.file != id);
            if after.next().is_some() {
                as_class.insert(node.kind);
                let after = after.filter(|layer| mentioned.contains(&layer.file));
                after.for_each(|layer| behind.entry(layer.file).or_insert((layer, 0)).1 += nodes);
            }
        }
        let users = linter.survey.users(file).filter(|node| as_class.contains(&node.kind));
        let own = users.filter_map(|node| Some(&node.layers.as_ref().ok()?.layer));
        for layer in own.filter(|layer| mentioned.contains(&layer.file)) {
            behind.entry(layer.file).or_insert((layer, 0)).1 += 1;
        }
        for (layer, nodes) in behind.into_values() {
            let map = linter.settled(section, layer);
            let Some(origin) = has(&map, &key.path) else { continue };
            let has_it = linter.survey.file(layer.file).filter(|file| linter.is_known(file));
            if has_it.is_none_or(|file| file.nodes.len() != nodes)
                || !always_holds(linter, section, mentioned, (layer.file, id), &key.path, &mut gone)
                || !all.insert((path.clone(), layer.file))
            {
                continue;
            }
            let value = match &key.slot {
                Slot::Value(value, _) => Some(value),
                _ => None,
            };
            if value.is_some() && value_at(&map, &key.path) == value {
                continue;
            }
            let message = format!("{} is left out: it is a constant", section.named(&path));
            let fault = linter.about("constant-held", message, origin, path.clone(), section);
            found.push(fault.note("the constant is set here", linter.site(key.origin)));
        }
    }
}

/// Whether in all users of a file the other file comes before it, and the constant of the other file stays in
/// effect until then. `gone` caches per file whether it may remove the constant.
fn always_holds(
    linter: &Linter<'_>,
    section: MergedSection,
    mentioned: &FxHashSet<FileId>,
    (file, other): (FileId, FileId),
    path: &[Key],
    gone: &mut FxHashMap<FileId, bool>,
) -> bool {
    let Some(surveyed) = linter.survey.file(file).filter(|file| linter.is_known(file)) else { return false };
    linter.survey.kinds(surveyed).all(|node| {
        for layer in node.all_layers().skip_while(|layer| layer.file != other) {
            let is_own = layer.file == other;
            let lost = || {
                mentioned.contains(&layer.file) && may_replace(&linter.settled(section, layer), path, is_own)
            };
            if *gone.entry(layer.file).or_insert_with(lost) {
                return false;
            }
            if layer.file == file {
                return !is_own;
            }
        }
        false
    })
}

/// Whether a map may replace a container of the path and its content: with a value that is not a mapping, or
/// with a `~`. In the file `of_constant` the `~` comes before the constant, so it does not remove it.
fn may_replace(map: &MapSlot, path: &[Key], of_constant: bool) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    let Some(mut slot) = map.entries.get(first).filter(|_| !rest.is_empty()) else { return false };
    if let Slot::Stack(stack) = slot
        && let [only] = stack.entries.as_slice()
        && (of_constant || !only.prefix.overrides)
    {
        slot = &only.slot;
    }
    match slot {
        Slot::Map(inner) => may_replace(inner, rest, of_constant),
        _ => true,
    }
}

/// The value that a map writes at a path, if it is a plain value.
fn value_at<'m>(map: &'m MapSlot, path: &[Key]) -> Option<&'m Value> {
    let (first, rest) = path.split_first()?;
    match alone(map.entries.get(first)?)?.0 {
        Slot::Value(value, _) if rest.is_empty() => Some(value),
        Slot::Map(inner) => value_at(inner, rest),
        _ => None,
    }
}

/// The applications that layers before the file add in any node.
fn added<'a>(linter: &'a Linter<'_>, file: &SurveyedFile, id: FileId) -> FxHashSet<&'a Text> {
    let mut visited: FxHashSet<FileId> = FxHashSet::default();
    let mut added = FxHashSet::default();
    for node in linter.survey.kinds(file) {
        for layer in node.layers_before(id) {
            if visited.insert(layer.file) {
                added.extend(layer.applications.additions.iter().map(|(name, _)| name));
            }
        }
    }
    added
}
