//! Classes and nodes: what no node has, what is listed for nothing, what no mapping matches.

use rustc_hash::FxHashMap;

use super::{Linter, lint_fault};
use crate::error::Fault;
use crate::linearize::By;
use crate::source::{FileId, Origin, Site};

/// Looks at the classes of the nodes that are looked at.
pub(super) fn look(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    if linter.all {
        match linter.reach.unreadable() {
            Some(path) => {
                let message = "which classes no node has is not known, as long as this file is in error";
                found
                    .push(lint_fault("class-unused", message.into(), None).at_site(Site::file(path.clone())));
            }
            None => unused(linter, found),
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

/// Classes that no node has..
fn unused(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    for file in linter.files().filter(|file| file.is_class && linter.is_known(file) && file.nodes.is_empty())
    {
        let message = format!("no node has the class '{}'", file.name);
        found.push(lint_fault("class-unused", message, None).at_site(Site::file(file.path.clone())));
    }
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
        if linter.survey.file(key.0).is_some_and(|file| !linter.is_known(file)) {
            continue;
        }
        let nodes =
            if entry.nodes == 1 { "its node".into() } else { format!("all of its {} nodes", entry.nodes) };
        let message = format!("'{}' is in already when it is listed here, in {nodes}", entry.class);
        found.push(linter.at("class-redundant", message, Origin { file: key.0, node: key.1 }));
    }
}
