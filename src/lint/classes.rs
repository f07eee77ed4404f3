//! Classes and nodes: what no node has, what is listed for nothing, what no mapping matches.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Linter, lint_fault};
use crate::error::Fault;
use crate::linearize::By;
use crate::pattern::Glob;
use crate::source::{FileId, Origin, Site};
use crate::survey::SurveyedFile;
use crate::template::Part;

/// Looks at the classes of the nodes that are looked at.
pub(super) fn look(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    if linter.all {
        let broken = named_by_broken(linter);
        let unused = |file: &&SurveyedFile| {
            file.is_class && file.nodes.is_empty() && !broken.iter().any(|glob| glob.matches(&file.name))
        };
        for file in linter.files().filter(unused) {
            let message = format!("no node has the class '{}'", file.name);
            found.push(lint_fault("class-unused", message, None).at_site(Site::file(file.path.clone())));
        }
        redundant(linter, found);
    }
    if !linter.computation.mappings.is_empty() {
        for node in linter.nodes() {
            let item = linter.computation.catalog.nodes.get(&node.name);
            let mapped = item.and_then(|item| linter.computation.mapped_classes(item).ok());
            if mapped.is_some_and(|classes| classes.is_empty()) {
                let message = format!("no class mapping matches the node '{}'", node.name);
                found.push(lint_fault("node-unmapped", message, None).at_site(Site::file(node.path.clone())));
            }
        }
    }
}

/// The classes that nodes without layers name, and what those name in turn: they are not known to
/// be unused. A reference in a name may be anything.
fn named_by_broken(linter: &Linter<'_>) -> Vec<Glob> {
    let mut globs: Vec<Glob> = Vec::new();
    let mut seen: FxHashSet<String> = FxHashSet::default();
    let broken = linter.survey.nodes.iter().filter(|node| node.layers.is_err());
    let mut files: Vec<&SurveyedFile> =
        broken.filter_map(|node| linter.survey.files.iter().find(|file| file.path == node.path)).collect();
    while let Some(file) = files.pop() {
        let Ok(layer) = &file.layer else { continue };
        for entry in &layer.classes {
            let names = std::iter::once(&entry.lookup).chain(&entry.alternatives);
            for name in names {
                let text = match &entry.template {
                    Some(template) => template
                        .parts
                        .iter()
                        .map(|part| match part {
                            Part::Literal(text) => text.to_string(),
                            Part::Reference(_) => "*".to_owned(),
                        })
                        .collect(),
                    None => name.to_string(),
                };
                if !seen.insert(text.clone()) {
                    continue;
                }
                let glob = Glob::new(&text);
                files.extend(
                    linter.survey.files.iter().filter(|file| file.is_class && glob.matches(&file.name)),
                );
                globs.push(glob);
            }
        }
    }
    globs
}

/// Entries of lists that bring nothing in, in none of the nodes.
fn redundant(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    struct Entry {
        class: crate::value::Text,
        effective: bool,
        nodes: usize,
    }
    let mut entries: FxHashMap<(FileId, u32), Entry> = FxHashMap::default();
    let mut order = Vec::new();
    for node in &linter.survey.nodes {
        let brought: rustc_hash::FxHashSet<(FileId, u32)> =
            node.included.iter().map(|one| (one.listed.file, one.listed.node)).collect();
        for listed in &node.listings {
            if !matches!(listed.by, By::Includer(_)) || listed.origin == Origin::NONE {
                continue;
            }
            let key = (listed.origin.file, listed.origin.node);
            let entry = entries.entry(key).or_insert_with(|| {
                order.push(key);
                Entry { class: listed.class.clone(), effective: false, nodes: 0 }
            });
            entry.nodes += 1;
            entry.effective |=
                brought.contains(&key) || !node.included.iter().any(|one| one.name == listed.class);
        }
    }
    for key in order {
        let Some(entry) = entries.get(&key).filter(|entry| !entry.effective) else { continue };
        let nodes =
            if entry.nodes == 1 { "its node".into() } else { format!("all of its {} nodes", entry.nodes) };
        let message = format!("'{}' is in already when it is listed here, in {nodes}", entry.class);
        found.push(linter.at("class-redundant", message, Origin { file: key.0, node: key.1 }));
    }
}
