//! Checks classes and nodes: unused classes, redundant entries and nodes that no class mapping matches.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashSet};

use super::{Linter, lint_fault};
use crate::base::error::Fault;
use crate::base::similar;
use crate::base::source::{FileId, Origin, Site};
use crate::base::value::Text;
use crate::engine::etcd::EtcdOwner;
use crate::engine::sequence::{IncludedBy, IncludedFile};

/// Checks the classes of the chosen nodes.
pub(super) fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    if linter.all {
        match &linter.broken {
            Some(path) => {
                let message = "which classes no node has is not known, as long as this node does not render";
                let site = Site::file(path.clone());
                found.push(lint_fault("class-unused", message.into(), None).at_site(site));
            }
            None => unused(linter, found),
        }
        redundant(linter, found);
        orphans(linter, found);
    }
    from_pillar(linter, found);
    if !linter.context.mappings.is_empty() {
        let computation = linter.context.computation();
        for node in linter.nodes() {
            let item = linter.context.catalog.nodes.get(&node.name);
            let mapped = item.and_then(|item| computation.mapped_classes(item).ok());
            if mapped.is_some_and(|classes| classes.is_empty()) {
                let message = format!("no class mapping matches the node '{}'", node.name);
                found.push(lint_fault("node-unmapped", message, None).at_site(Site::file(node.path.clone())));
            }
        }
    }
}

/// Keys in etcd that belong to no class and no node.
fn orphans(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let Some(etcd) = &linter.context.inputs.etcd else { return };
    let classes = || linter.survey.files.iter().filter(|file| file.is_class).map(|file| &*file.name);
    let nodes = || linter.context.catalog.nodes.keys();
    let known: FxHashSet<&str> = classes().map(|name| name as &str).collect();
    let exists = |owner: &EtcdOwner| {
        let is_node = !owner.is_class && linter.context.catalog.nodes.contains_key(&owner.name);
        is_node || owner.is_class && known.contains(&*owner.name)
    };
    for (key, owner, site) in etcd.orphans(&exists) {
        let (message, help) = match owner {
            Some(EtcdOwner { is_class: true, name }) => (
                format!("there is no class '{name}' for the key '{key}'"),
                similar::class(&name, known.iter().copied()),
            ),
            Some(EtcdOwner { name, .. }) => (
                format!("there is no node '{name}' for the key '{key}'"),
                similar::node(&name, nodes().map(AsRef::as_ref)),
            ),
            None => (format!("no layer has the key '{key}'"), None),
        };
        let help = help.map(|name| format!("'{name}' is similar"));
        found.push(lint_fault("etcd-orphan", message, help).at_site(site));
    }
}

/// References in class names that the pillar before reclass can decide, while no setting says which of them may.
fn from_pillar(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let settings = linter.context.settings;
    if !settings.propagate_pillar_data_to_reclass || !settings.trusted_pillar.is_empty() {
        return;
    }
    for file in linter.files() {
        let Ok(layer) = &file.layer else { continue };
        for entry in layer.classes.iter().filter(|entry| entry.template.is_some()) {
            let message = format!("the earlier pillar can choose the class '{}'", entry.name);
            found.push(linter.at("class-from-pillar", message, entry.origin));
        }
    }
}

/// Classes that no node uses.
fn unused(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    for file in linter.files().filter(|file| file.is_class && file.nodes.is_empty()) {
        let message = format!("no node has the class '{}'", file.name);
        found.push(lint_fault("class-unused", message, None).at_site(Site::file(file.path.clone())));
    }
}

/// An entry that names a class.
#[derive(Clone, PartialEq, Eq, Hash)]
enum ListEntry {
    /// In a list of classes: the file, and the index of its YAML node.
    Listed(FileId, u32),
    /// In a class mapping: its displayed form, and the class.
    Mapped(Text, Text),
}

impl ListEntry {
    fn of(class: &Text, by: &IncludedBy, origin: Origin) -> Option<ListEntry> {
        match by {
            IncludedBy::Mapping(shown) => Some(ListEntry::Mapped(shown.clone(), class.clone())),
            IncludedBy::Includer(_) if origin != Origin::NONE => {
                Some(ListEntry::Listed(origin.file, origin.node))
            }
            IncludedBy::Node | IncludedBy::Includer(_) => None,
        }
    }
}

/// Entries of lists and class mappings that include nothing in any node.
fn redundant(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    struct Use {
        class: Text,
        effective: bool,
        nodes: usize,
        /// Index of the node counted last. A mapping may name a class twice, and a node counts once.
        last: usize,
    }
    let mut uses: IndexMap<ListEntry, Use, FxBuildHasher> = IndexMap::default();
    for (at, node) in linter.survey.nodes.iter().enumerate() {
        let including_entry = |one: &IncludedFile| ListEntry::of(&one.name, &one.by, one.listed);
        let effective_entries: FxHashSet<ListEntry> =
            node.included.iter().filter_map(including_entry).collect();
        let included: FxHashSet<&Text> = node.included.iter().map(|one| &one.name).collect();
        for listed in &node.listings {
            let Some(entry) = ListEntry::of(&listed.class, &listed.by, listed.origin) else { continue };
            let effective = effective_entries.contains(&entry) || !included.contains(&listed.class);
            let class = &listed.class;
            let new = || Use { class: class.clone(), effective: false, nodes: 0, last: usize::MAX };
            let one = uses.entry(entry).or_insert_with(new);
            one.nodes += usize::from(one.last != at);
            one.last = at;
            one.effective |= effective;
        }
    }
    let patterns = linter.class_patterns();
    for (entry, Use { class, nodes, .. }) in uses.into_iter().filter(|(_, one)| !one.effective) {
        let nodes = if nodes == 1 { "its node".into() } else { format!("all of its {nodes} nodes") };
        match entry {
            ListEntry::Listed(file, node) => {
                if linter.survey.file(file).is_some_and(|file| !linter.is_known(file)) {
                    continue;
                }
                let origin = Origin { file, node };
                let message = match patterns.get(&origin) {
                    Some(pattern) => {
                        format!("all classes that match '{pattern}' are in already here, in {nodes}")
                    }
                    None => format!("'{class}' is in already when it is listed here, in {nodes}"),
                };
                found.push(linter.at("class-redundant", message, origin));
            }
            // The classes that a mapping gives to a node that cannot be linearized are unknown.
            ListEntry::Mapped(..) if linter.survey.nodes.iter().any(|node| node.layers.is_err()) => {}
            ListEntry::Mapped(shown, _) => {
                let message = format!("'{class}' is in already when '{shown}' gives it, in {nodes}");
                let setting = Some(("class_mappings", shown));
                found.push(Fault { setting, ..lint_fault("class-redundant", message, None) });
            }
        }
    }
}
