//! Checks patterns of class names: two classes of one pattern that set one scalar differently, so that their
//! names decide which value counts.

use rustc_hash::{FxHashMap, FxHashSet};

use super::repeated::scalars;
use super::{Linter, MergedSection};
use crate::base::error::Fault;
use crate::base::path::join_path;
use crate::base::source::{FileId, Origin};
use crate::base::value::{Key, Text, Value};
use crate::model::layer::Layer;
use crate::model::slot::Slot;

/// A class that a pattern includes, with its scalars.
struct Included<'s> {
    name: &'s Text,
    layer: &'s Layer,
}

/// Checks the patterns in the lists of all files, in all their nodes.
pub(super) fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    if !linter.context.settings.class_wildcards {
        return;
    }
    let patterns = linter.class_patterns();
    // Nodes of one kind have the same classes. Only their own lists differ.
    let mut seen: FxHashSet<(Origin, Vec<FileId>)> = FxHashSet::default();
    let mut reported: FxHashSet<(Origin, MergedSection, Vec<Key>)> = FxHashSet::default();
    for node in linter.nodes() {
        let mut groups: FxHashMap<Origin, Vec<FileId>> = FxHashMap::default();
        for included in node.included.iter().filter(|included| patterns.contains_key(&included.listed)) {
            groups.entry(included.listed).or_default().push(included.file);
        }
        #[expect(clippy::iter_over_hash_type, reason = "findings are sorted in the end")]
        for (origin, files) in groups {
            if !seen.insert((origin, files.clone())) {
                continue;
            }
            let included = |file: &FileId| {
                let file = linter.survey.file(*file)?;
                Some(Included { name: &file.name, layer: file.layer.as_ref().ok()? })
            };
            let included: Vec<Included<'_>> = files.iter().filter_map(included).collect();
            for section in MergedSection::ALL {
                for Conflict { path, classes } in conflicts(linter, section, &included) {
                    if !reported.insert((origin, section, path.clone())) {
                        continue;
                    }
                    let path = join_path(&path, &linter.context.settings.delimiter);
                    let [one, other] = classes.map(|(name, _)| name);
                    let message = format!(
                        "'{one}' and '{other}' set '{path}' differently; '{}' includes both, and the later \
                         name counts",
                        patterns[&origin]
                    );
                    let mut fault = linter.about("wildcard-order", message, origin, path, section);
                    for (name, place) in classes {
                        fault = fault.note(format!("'{name}' sets it here"), linter.site(place));
                    }
                    found.push(fault);
                }
            }
        }
    }
}

/// A path that two classes set to different scalars, with the classes and the places.
struct Conflict<'s> {
    path: Vec<Key>,
    classes: [(&'s Text, Origin); 2],
}

/// The paths that two of the classes set differently. Each is listed for the first class that sets it, and each
/// later one.
fn conflicts<'s>(linter: &Linter<'_>, section: MergedSection, classes: &[Included<'s>]) -> Vec<Conflict<'s>> {
    let maps: Vec<_> = classes.iter().map(|class| linter.settled(section, class.layer)).collect();
    let mut set: FxHashMap<Vec<Key>, (&Value, (&'s Text, Origin))> = FxHashMap::default();
    let mut found = Vec::new();
    for (class, map) in classes.iter().zip(&maps) {
        scalars(map, &mut |path, slot, _| {
            let Slot::Value(value, origin) = slot else { return };
            let here = (class.name, *origin);
            match set.get(path) {
                None => drop(set.insert(path.to_vec(), (value, here))),
                Some((other, first)) if *other != value => {
                    found.push(Conflict { path: path.to_vec(), classes: [*first, here] });
                }
                Some(_) => {}
            }
        });
    }
    found
}
