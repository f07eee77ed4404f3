//! What one layer has at a path, and its keys with prefixes.

use std::sync::Arc;

use super::linter::{Linter, MergedSection};
use crate::survey::SurveyedFile;
use reclass::parts::model::{KeyPrefix, Layer, MapSlot, Slot};
use reclass_base::source::{FileId, Origin};
use reclass_base::value::{Key, Value};

/// A key with a prefix.
pub struct Prefixed {
    pub path: Vec<Key>,
    pub prefix: KeyPrefix,
    pub origin: Origin,
    /// The value written there.
    pub slot: Slot,
}

/// The keys with prefixes in the checked files, if all users are known.
pub fn prefixed_keys<'l>(
    linter: &'l Linter<'_>,
    section: MergedSection,
) -> Vec<(&'l SurveyedFile, FileId, Prefixed)> {
    let keys = known_layers(linter).flat_map(|(file, layer)| {
        let keys = prefixed(&linter.settled(section, layer)).into_iter();
        keys.map(move |key| (file, layer.file, key))
    });
    keys.collect()
}

/// The checked files that have users, if all users are known, with their layers.
pub fn known_layers<'l>(linter: &'l Linter<'_>) -> impl Iterator<Item = (&'l SurveyedFile, &'l Arc<Layer>)> {
    let files = linter.files().filter(|file| linter.is_known(file));
    files.filter_map(|file| Some((file, file.layer.as_ref().ok()?)))
}

/// The keys with prefixes in a map. A key that replaces an earlier one in the same mapping has an effect, so
/// it is left out.
fn prefixed(map: &MapSlot) -> Vec<Prefixed> {
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
pub fn has(map: &MapSlot, path: &[Key]) -> Option<Origin> {
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

/// The only value of a map for one name, with its prefix.
pub fn alone(slot: &Slot) -> Option<(&Slot, KeyPrefix)> {
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
pub fn scalars<'s>(map: &'s MapSlot, visitor: &mut dyn FnMut(&[Key], &'s Slot, KeyPrefix)) {
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
