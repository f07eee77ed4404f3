//! Checks parameters and their references: unused keys, keys that no file sets, defaults that are never
//! taken, queries that no node answers.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Linter, MergedSection, RenderedNodes, lint_fault};
use crate::analysis::survey::SurveyedFile;
use crate::base::error::Fault;
use crate::base::path::join_path;
use crate::base::path::split_path;
use crate::base::pattern::Glob;
use crate::base::source::{Origin, Site};
use crate::base::value::{Key, Text};
use crate::evaluate::site;
use crate::model::query::{Operand, Query};
use crate::model::slot::{MapSlot, Slot};
use crate::model::template::{self, Parsed, Part, Reference, Template};
use crate::model::visit;

/// The key whose entries exist for references.
pub(super) const PARAM: &str = "_param";

/// The most patterns that each key of `_param` is compared with. With more, any key may be used.
const MOST_GLOBS: usize = 1_000;

/// The most unknown names for which a similar one is looked for, among all that are known.
pub(super) const MOST_SIMILAR: usize = 100;

/// A reference in a file.
struct Referring<'a> {
    /// Shared with the text that contains it. A copy would also copy all nested references.
    reference: &'a Reference,
    /// The text, and where it is.
    source: &'a Text,
    origin: Origin,
    /// Whether it is part of a class name.
    in_class: bool,
    /// Index of the file in the survey.
    file: usize,
}

impl Referring<'_> {
    /// The place of the reference. Finding it in a long text takes time, and most references are right.
    fn site(&self, linter: &Linter<'_>) -> Option<Site> {
        site(linter.context.inputs, self.origin, Some((self.source, self.reference.span)))
    }
}

/// Checks the references in all files.
pub(super) fn check(linter: &Linter<'_>, rendered: &RenderedNodes, found: &mut Vec<Fault>) {
    let referring = references(linter);
    misnamed_queries(linter, found);
    if linter.all {
        match linter.survey.files.iter().find(|file| file.layer.is_err()) {
            Some(file) => {
                let message = "which keys of _param are unused or never set is not known, as long as this file \
                               is in error";
                let fault = lint_fault("parameter-unused", message.into(), None);
                found.push(fault.at_site(Site::file(file.path.clone())));
            }
            None => keys(linter, &referring, found),
        }
        // The exports of a node without layers are unknown.
        if linter.survey.nodes.iter().all(|node| node.layers.is_ok()) {
            queries(linter, rendered, found);
        }
        defaults(linter, &referring, rendered, found);
    }
}

fn references<'a>(linter: &'a Linter<'_>) -> Vec<Referring<'a>> {
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

/// The keys of `_param` that references use.
#[derive(Default)]
struct Used {
    keys: FxHashSet<String>,
    globs: FxHashMap<Text, Glob>,
    /// Whether a reference may name any key.
    anything: bool,
}

impl Used {
    fn take(&mut self, reference: &Reference, delimiter: &str) {
        if let Some(path) = &reference.fixed {
            self.path(&path.segments);
            return;
        }
        let Some(Part::Literal(begin)) = reference.parts.first() else {
            self.anything = true;
            return;
        };
        let known = split_path(begin, delimiter);
        if known.first().map(AsRef::as_ref) != Some(PARAM) && known.len() > 1 {
            return;
        }
        // `_param:${a}_url`: the rest of the key becomes a glob.
        match split_path(&template::glob(&reference.parts), delimiter).get(1) {
            Some(key) if known.len() > 1 && self.globs.len() < MOST_GLOBS => {
                self.globs.entry(key.clone()).or_insert_with(|| Glob::new(key));
            }
            _ => self.anything = true,
        }
    }

    fn path(&mut self, segments: &[Text]) {
        match segments {
            [first, key, ..] if &**first == PARAM => drop(self.keys.insert(key.to_string())),
            [first] if &**first == PARAM => self.anything = true,
            _ => {}
        }
    }

    fn has(&self, key: &str) -> bool {
        self.anything || self.keys.contains(key) || self.globs.values().any(|glob| glob.matches(key))
    }
}

/// Keys of `_param` that nothing refers to, and keys that references use but no file sets.
fn keys(linter: &Linter<'_>, referring: &[Referring<'_>], found: &mut Vec<Fault>) {
    let delimiter = &linter.context.settings.delimiter;
    let mut used = Used::default();
    for one in referring {
        used.take(one.reference, delimiter);
    }
    for layer in linter.etcd_layers() {
        layer.parameters.texts(&mut |_, template, _| {
            visit::references(&template.parts, &mut |reference| used.take(reference, delimiter));
        });
    }
    for (_, name) in linter.context.mappings.names() {
        // A name that is not a valid template fails when it matches a node.
        if let Ok(Parsed::Template(template)) = template::parse(&name.into(), linter.context.settings) {
            visit::references(&template.parts, &mut |reference| used.take(reference, delimiter));
        }
    }
    each_query(linter, &mut |_, query, _| {
        for test in query.comparisons() {
            if let Operand::Parameter(path) = &test.operand {
                used.path(path);
            }
        }
    });
    let mut set: FxHashSet<String> = FxHashSet::default();
    let mut dynamic = false;
    let mut first: Vec<(String, Origin)> = Vec::new();
    for file in &linter.survey.files {
        let Ok(layer) = &file.layer else { continue };
        let parameters = linter.settled(MergedSection::Parameters, layer);
        let Some(slot) = parameters.entries.get(&Key::from(PARAM)) else { continue };
        entries_of(slot, &mut dynamic, &mut |key, slot| {
            let key = crate::base::pystr::str(&key.0);
            if set.insert(key.clone()) {
                first.push((key, slot.origin()));
            }
        });
    }
    for layer in linter.etcd_layers() {
        if let Some(slot) = layer.parameters.entries.get(&Key::from(PARAM)) {
            entries_of(slot, &mut dynamic, &mut |key, _| {
                set.insert(crate::base::pystr::str(&key.0));
            });
        }
    }
    for (key, origin) in first {
        if !used.has(&key) {
            let path = [PARAM, &key].map(Key::from);
            let path = join_path(&path, delimiter);
            let message = format!("nothing refers to '{PARAM}{delimiter}{key}'");
            found.push(linter.about("parameter-unused", message, origin, path, MergedSection::Parameters));
        }
    }
    // If a reference brings `_param` in, its keys are unknown here.
    if dynamic {
        return;
    }
    let mut known_similar: FxHashMap<&str, Option<&str>> = FxHashMap::default();
    for one in referring {
        let Some(path) = &one.reference.fixed else { continue };
        let [param, key, ..] = path.segments.as_slice() else { continue };
        if &**param != PARAM || set.contains(&**key) {
            continue;
        }
        let is_sought = known_similar.len() < MOST_SIMILAR;
        let similar = *known_similar.entry(key).or_insert_with(|| {
            is_sought.then(|| crate::base::similar::nearest(key, set.iter().map(String::as_str))).flatten()
        });
        // A reference with a default may be for a key that is set later. If a similar key exists, the
        // reference is probably a typo.
        let optional = path.default.is_some() && similar.is_none();
        let rule = if optional { "parameter-optional" } else { "parameter-never-set" };
        let help = similar.map(|name| format!("'{name}' is similar"));
        let message = format!("no file sets '{PARAM}{delimiter}{key}'");
        let mut fault = lint_fault(rule, message, help);
        fault.site = one.site(linter);
        found.push(fault);
    }
}

pub(super) fn entries_of(slot: &Slot, dynamic: &mut bool, visit: &mut dyn FnMut(&Key, &Slot)) {
    match slot {
        Slot::Map(map) => map.entries.iter().for_each(|(key, slot)| visit(key, slot)),
        Slot::Stack(stack) => stack.entries.iter().for_each(|entry| entries_of(&entry.slot, dynamic, visit)),
        Slot::Text(..) | Slot::Query(..) => *dynamic = true,
        _ => {}
    }
}

/// Defaults that no node took, although every node that uses the file was rendered. Defaults in class names
/// are skipped, because nothing records their use.
fn defaults(
    linter: &Linter<'_>,
    referring: &[Referring<'_>],
    rendered: &RenderedNodes,
    found: &mut Vec<Fault>,
) {
    let double = linter.context.settings.delimiter.repeat(2);
    for one in referring.iter().filter(|one| !one.in_class) {
        let Some(file) = linter.survey.files.get(one.file) else { continue };
        let has_default = match &one.reference.fixed {
            Some(path) => path.default.is_some(),
            None => one
                .reference
                .parts
                .iter()
                .any(|part| matches!(part, Part::Literal(text) if text.contains(&double))),
        };
        if !has_default
            || !all_rendered(linter, file, rendered)
            || one.site(linter).is_none_or(|site| rendered.defaults.contains(&site))
        {
            continue;
        }
        let message = format!("the default of '{}' is taken in no node", one.reference.written);
        let mut fault = lint_fault("default-unused", message, None);
        fault.site = one.site(linter);
        found.push(fault);
    }
}

/// The number of nodes that asked a query, and whether any node answered.
#[derive(Default)]
struct Answers {
    asked: usize,
    answered: bool,
}

/// Queries for an export that no node has, and queries that found no node for any asking node.
fn queries(linter: &Linter<'_>, rendered: &RenderedNodes, found: &mut Vec<Fault>) {
    let mut memo: FxHashMap<Vec<Text>, bool> = FxHashMap::default();
    // Queries are identified by address.
    let mut answers: FxHashMap<*const Query, Answers> = FxHashMap::default();
    for (query, answered) in &rendered.asked {
        let answers = answers.entry(Arc::as_ptr(query)).or_default();
        answers.asked += 1;
        answers.answered |= answered;
    }
    let mut unanswered = Vec::new();
    each_query(linter, &mut |_, query, origin| {
        let paths = query.comparisons().map(|test| &test.export).chain(&query.value);
        for path in paths {
            let has = *memo.entry(path.clone()).or_insert_with(|| {
                linter
                    .survey
                    .nodes
                    .iter()
                    .any(|node| node.layers.as_ref().is_ok_and(|layers| exports(&layers.exports, path)))
            });
            if !has {
                let delimiter = &linter.context.settings.delimiter;
                let keys: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
                unanswered.push((format!("no node exports '{}'", keys.join(delimiter)), origin));
                return;
            }
        }
        let all_known =
            linter.survey.file(origin.file).is_some_and(|file| all_rendered(linter, file, rendered));
        match answers.get(&std::ptr::from_ref(query)) {
            Some(Answers { asked, answered: false }) if all_known => {
                let asking = if *asked == 1 {
                    String::new()
                } else {
                    format!(", whichever of its {asked} nodes asks")
                };
                unanswered.push((format!("no node answers the query{asking}"), origin));
            }
            _ => {}
        }
    });
    for (message, origin) in unanswered {
        found.push(linter.at("query-unanswered", message, origin));
    }
}

/// Whether a file has users, and all of them are known and were rendered.
fn all_rendered(linter: &Linter<'_>, file: &SurveyedFile, rendered: &RenderedNodes) -> bool {
    linter.is_known(file) && file.nodes.iter().all(|at| rendered.done.get(*at) == Some(&true))
}

/// Whether a map may contain a path.
fn exports(map: &MapSlot, path: &[Text]) -> bool {
    fn inside(slot: &Slot, rest: &[Text]) -> bool {
        match slot {
            _ if rest.is_empty() => true,
            Slot::Map(map) => exports(map, rest),
            Slot::Stack(stack) => stack.entries.iter().any(|entry| inside(&entry.slot, rest)),
            Slot::Text(..) | Slot::Query(..) | Slot::List(_) => true,
            _ => false,
        }
    }
    let Some((first, rest)) = path.split_first() else { return true };
    map.entries.get(&**first).is_some_and(|slot| inside(slot, rest))
}

/// Visits the queries in the parameters of all files, with their paths.
fn each_query(linter: &Linter<'_>, visit: &mut dyn FnMut(&[Key], &Query, Origin)) {
    for file in &linter.survey.files {
        if let Ok(layer) = &file.layer {
            layer.parameters.queries(visit);
        }
    }
}

/// Queries that begin with a word other than `exports`. They are treated as `exports` queries.
fn misnamed_queries(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    for layer in linter.files().filter_map(|file| file.layer.as_ref().ok()) {
        layer.parameters.queries(&mut |_, query, origin| {
            if let Some(word) = &query.misnamed {
                let message = format!("'{word}' in front of an inventory query is taken for 'exports'");
                found.push(linter.at("query-without-exports", message, origin));
            }
        });
    }
}
