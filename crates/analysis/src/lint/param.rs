//! The references and queries of all files, and the keys of `_param` that they are about.

use rustc_hash::FxHashMap;

use super::linter::{Linter, MergedSection};
use crate::survey::SurveyedFile;
use reclass::parts::evaluate::site;
use reclass::parts::model::{ClassEntry, Query, Reference, Slot, Template, visit};
use reclass_base::pystr;
use reclass_base::source::{Origin, Site};
use reclass_base::value::{Key, Text};

/// The key whose entries exist for references.
pub const PARAM: &str = "_param";

/// The most unknown names for which a similar one is looked for, among all that are known.
pub const MOST_SIMILAR: usize = 100;

/// A reference in a file.
pub struct Referring<'a> {
    /// Shared with the text that contains it. A copy would also copy all nested references.
    pub reference: &'a Reference,
    /// The text, and where it is.
    source: &'a Text,
    origin: Origin,
    /// Whether it is part of a class name.
    pub in_class: bool,
    /// Index of the file in the survey.
    pub file: usize,
}

impl Referring<'_> {
    /// The place of the reference. Finding it in a long text takes time, and most references are right.
    pub fn site(&self, linter: &Linter<'_>) -> Option<Site> {
        site(linter.context.inputs, self.origin, Some((self.source, self.reference.span)))
    }
}

/// The references in all files.
pub fn references<'a>(linter: &'a Linter<'_>) -> Vec<Referring<'a>> {
    let mut all = Vec::new();
    for (file, surveyed) in linter.survey.files.iter().enumerate() {
        let Ok(layer) = &surveyed.layer else { continue };
        let mut take = |template: &'a Template, origin: Origin, in_class: bool| {
            visit::references(&template.parts, &mut |reference| {
                all.push(Referring { reference, source: &template.source, origin, in_class, file });
            });
        };
        for entry in &layer.classes {
            if let Some(template) = &entry.template {
                take(template, entry.origin, true);
            }
        }
        for map in [&layer.parameters, &layer.exports] {
            map.texts(&mut |_, template, origin| take(template, origin, false));
        }
    }
    all
}

/// The keys of `_param` that files set, each with its first place; `None` in place of it for those of etcd. The
/// second is whether a reference brings `_param` in, so that further keys are unknown here.
pub fn keys_set(linter: &Linter<'_>) -> (FxHashMap<String, Option<Origin>>, bool) {
    let (mut set, mut dynamic) = (FxHashMap::default(), false);
    for layer in linter.survey.files.iter().filter_map(|file| file.layer.as_ref().ok()) {
        let parameters = linter.settled(MergedSection::Parameters, layer);
        let Some(slot) = parameters.entries.get(&Key::from(PARAM)) else { continue };
        entries_of(slot, &mut dynamic, &mut |key, slot| {
            set.entry(pystr::str(&key.0)).or_insert(Some(slot.origin()));
        });
    }
    for layer in linter.etcd_layers() {
        if let Some(slot) = layer.parameters.entries.get(&Key::from(PARAM)) {
            entries_of(slot, &mut dynamic, &mut |key, _| {
                set.entry(pystr::str(&key.0)).or_insert(None);
            });
        }
    }
    (set, dynamic)
}

pub fn entries_of(slot: &Slot, dynamic: &mut bool, visit: &mut dyn FnMut(&Key, &Slot)) {
    match slot {
        Slot::Map(map) => map.entries.iter().for_each(|(key, slot)| visit(key, slot)),
        Slot::Stack(stack) => stack.entries.iter().for_each(|entry| entries_of(&entry.slot, dynamic, visit)),
        Slot::Text(..) | Slot::Query(..) => *dynamic = true,
        _ => {}
    }
}

/// A file that keeps the use of `_param` from being known, and why: it is in error, or includes a class that is
/// missing.
pub fn gap<'l>(linter: &'l Linter<'_>) -> Option<(&'l SurveyedFile, &'static str)> {
    let classes = linter.survey.class_files();
    linter.survey.files.iter().enumerate().find_map(|(at, file)| {
        let Ok(layer) = &file.layer else { return Some((file, "this file is in error")) };
        let is_missing = |entry: &ClassEntry| {
            entry.template.is_none() && !entry.wild && classes.named(entry, at).is_empty()
        };
        let misses = layer.classes.iter().any(is_missing);
        misses.then_some((file, "a class that this file includes is missing"))
    })
}

/// Visits the queries in the parameters of all files, with their paths.
pub fn each_query(linter: &Linter<'_>, visit: &mut dyn FnMut(&[Key], &Query, Origin)) {
    for file in &linter.survey.files {
        if let Ok(layer) = &file.layer {
            layer.parameters.queries(visit);
        }
    }
}
