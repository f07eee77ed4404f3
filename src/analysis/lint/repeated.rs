//! Finds repeated values: in every node that uses the file, the value was set before.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Linter, Section};
use crate::analysis::survey::SurveyedFile;
use crate::base::error::Fault;
use crate::base::path::join_path;
use crate::base::source::{FileId, Origin};
use crate::base::value::{Key, Value};
use crate::model::slot::{KeyPrefix, MapSlot, Slot};

/// A scalar that a file sets at a path.
struct Setting<'a> {
    file: &'a SurveyedFile,
    id: FileId,
    value: Value,
    origin: Origin,
    /// Whether it has a prefix. A prefix has an effect whatever the value is.
    has_prefix: bool,
}

/// The content of a map at a path.
enum Said<'a> {
    Nothing,
    Scalar(&'a Value),
    Constant(&'a Value),
    /// A value with an unknown effect. If it contains a constant, the effect of later layers is unknown too.
    Other {
        constant: bool,
    },
}

/// The value at a path after some layers.
enum Stands {
    /// No value, or one that is unknown here.
    Unknown,
    Scalar(Value, FileId),
    Constant(Value, FileId),
}

/// Checks the chosen files in all their nodes, if all users are known.
pub(super) fn look(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    for section in Section::ALL {
        look_at(linter, section, found);
    }
}

fn look_at(linter: &Linter<'_>, section: Section, found: &mut Vec<Fault>) {
    let mut paths: FxHashMap<Vec<Key>, Vec<Setting<'_>>> = FxHashMap::default();
    for file in linter.survey.files.iter().filter(|file| !file.nodes.is_empty()) {
        let Ok(layer) = &file.layer else { continue };
        scalars(&linter.settled(section, layer), &mut |path, slot, prefix| {
            let Slot::Value(value, origin) = slot else { return };
            let (value, origin, has_prefix) = (value.clone(), *origin, prefix.any());
            let setting = Setting { file, id: layer.file, value, origin, has_prefix };
            paths.entry(path.to_vec()).or_default().push(setting);
        });
    }
    // Few paths are set twice with the same value. Only those are checked node by node.
    let twice = |settings: &[Setting<'_>], one: &Setting<'_>| {
        settings.iter().any(|other| other.id != one.id && other.value == one.value)
    };
    let mut repeated: Vec<(&Vec<Key>, &Setting<'_>, Origin)> = Vec::new();
    #[expect(clippy::iter_over_hash_type, reason = "findings are sorted in the end")]
    for (path, settings) in &paths {
        let plain = settings.iter().filter(|one| !one.has_prefix);
        for one in plain.filter(|one| linter.is_known(one.file) && twice(settings, one)) {
            if let Some(first) = earlier(linter, section, path, one, settings) {
                repeated.push((path, one, first));
            }
        }
    }
    let looked: FxHashSet<FileId> =
        linter.files().filter_map(|file| file.layer.as_ref().ok()).map(|layer| layer.file).collect();
    for (path, one, first) in repeated.into_iter().filter(|(_, one, _)| looked.contains(&one.id)) {
        let path = join_path(path, &linter.computation.settings.delimiter);
        let named = section.named(&path);
        let message = format!("{named} is set to what it is already, in every node that has this file");
        let fault = linter.about("value-repeated", message, one.origin, path, section);
        found.push(fault.note("it is set here, in the first of them", linter.site(first)));
    }
}

/// The place in the first node where the same value was set before; `None` if it was not in every node.
fn earlier(
    linter: &Linter<'_>,
    section: Section,
    path: &[Key],
    one: &Setting<'_>,
    settings: &[Setting<'_>],
) -> Option<Origin> {
    let mut first = None;
    for node in linter.survey.users(one.file) {
        node.layers.as_ref().ok()?;
        let [_, automatic] = section.given(node);
        if automatic.is_some_and(|map| !matches!(said(map, path), Said::Nothing)) {
            return None;
        }
        let mut stands = Stands::Unknown;
        for layer in node.layers_before(one.id) {
            stands = match (stands, said(&linter.settled(section, layer), path)) {
                (stands, Said::Nothing)
                | (stands @ Stands::Constant(..), Said::Scalar(_) | Said::Constant(_)) => stands,
                // It is unknown here whether a constant goes away with its enclosing mapping, and which value
                // an inner constant keeps.
                (Stands::Constant(..), Said::Other { .. }) | (_, Said::Other { constant: true }) => {
                    return None;
                }
                (_, Said::Scalar(value)) => Stands::Scalar(value.clone(), layer.file),
                (_, Said::Constant(value)) => Stands::Constant(value.clone(), layer.file),
                (_, Said::Other { constant: false }) => Stands::Unknown,
            };
        }
        let file = match stands {
            Stands::Scalar(value, file) | Stands::Constant(value, file) if value == one.value => file,
            _ => return None,
        };
        first = first.or_else(|| settings.iter().find(|other| other.id == file).map(|other| other.origin));
    }
    first
}

fn said<'m>(map: &'m MapSlot, path: &[Key]) -> Said<'m> {
    let Some((slot, rest)) = map.at(path) else { return Said::Nothing };
    match (slot, alone(slot)) {
        (Slot::Value(value, _), _) if rest.is_empty() => Said::Scalar(value),
        (_, Some((Slot::Value(value, _), KeyPrefix { constant: true, overrides: false })))
            if rest.is_empty() =>
        {
            Said::Constant(value)
        }
        _ => Said::Other { constant: holds(slot, rest) },
    }
}

/// Whether the path passes a constant.
fn holds(slot: &Slot, path: &[Key]) -> bool {
    match (slot, path.split_first()) {
        (Slot::Stack(stack), _) => {
            stack.entries.iter().any(|entry| entry.prefix.constant || holds(&entry.slot, path))
        }
        (Slot::Map(map), Some((first, rest))) => map.entries.get(first).is_some_and(|slot| holds(slot, rest)),
        _ => false,
    }
}

/// The only value of a map for one name, with its prefix.
pub(super) fn alone(slot: &Slot) -> Option<(&Slot, KeyPrefix)> {
    match slot {
        Slot::Stack(stack) => match stack.entries.as_slice() {
            [only] => Some((&only.slot, only.prefix)),
            _ => None,
        },
        other => Some((other, KeyPrefix::default())),
    }
}

/// Visits the scalars of a map with their prefixes. Values below a `~` are skipped: the `~` removes all
/// earlier values, so none of these is set already.
fn scalars(map: &MapSlot, visitor: &mut dyn FnMut(&[Key], &Slot, KeyPrefix)) {
    map.visit(&mut |path, slot| match alone(slot) {
        Some((Slot::Map(_), prefix)) => !prefix.overrides,
        Some((slot @ Slot::Value(value, _), prefix)) => {
            if !matches!(value, Value::Map(_) | Value::List(_) | Value::Set(_) | Value::Tuple(_)) {
                visitor(path, slot, prefix);
            }
            false
        }
        _ => false,
    });
}
