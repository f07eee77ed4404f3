//! Groups equal changes of several nodes: each change once, with its nodes.
//!
//! A list changes item by item. If a class adds an item to lists that differ otherwise, that is one change.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::data::{ChangeKind, ItemChange, ValueChange};
use super::items::ListItem;
use super::values::{NodeChange, Sameness, Section};
use crate::explain::ValuePlace;
use reclass::redact::Redaction;
use reclass_base::path::join_path;
use reclass_base::source::Site;
use reclass_base::value::{Key, Text, Value};

/// A change and its nodes.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The change. For a list, old and new are the values in the first node, and the items are common to all
    /// nodes.
    pub change: NodeChange,
    /// The place of the old value in the first node.
    pub old_place: Option<ValuePlace>,
    /// The place of the new value in the first node.
    pub new_place: Option<ValuePlace>,
    /// The nodes, sorted.
    pub nodes: Vec<Text>,
    /// Whether other nodes have other old and new values than the first node.
    pub differs_by_node: bool,
    /// Positions in the path of list indexes that differ between the nodes.
    varies: Vec<usize>,
}

impl Group {
    fn of(change: NodeChange) -> Group {
        Group {
            change,
            old_place: None,
            new_place: None,
            nodes: Vec::new(),
            differs_by_node: false,
            varies: Vec::new(),
        }
    }

    /// The path, with `*` for an index that differs between the nodes.
    pub fn path(&self) -> Vec<Key> {
        let mut path = self.change.path.clone();
        for at in &self.varies {
            path[*at] = Key::from("*");
        }
        path
    }

    /// The change as data, with secrets masked.
    pub(crate) fn into_change(self, redaction: &Redaction, delimiter: &str) -> ValueChange {
        let change = &self.change;
        let masked = |value: &Value| redaction.value(&change.path, value);
        let item = |item: &ListItem| ItemChange {
            kind: match item.added {
                true if item.moved => ChangeKind::Moved,
                true => ChangeKind::Added,
                false => ChangeKind::Removed,
            },
            value: change.item(item).map_or(Value::Null, masked),
            place: item.place.clone(),
        };
        let items = change.items.iter().filter(|item| item.added || !item.moved);
        ValueChange {
            section: change.section,
            path: join_path(&self.path(), delimiter),
            kind: match (&change.old, &change.new) {
                (None, _) => ChangeKind::Added,
                (_, None) => ChangeKind::Removed,
                _ => ChangeKind::Changed,
            },
            old: change.old.as_ref().map(masked),
            new: change.new.as_ref().map(masked),
            items: (!change.items.is_empty()).then(|| items.map(item).collect()),
            old_place: self.old_place,
            new_place: self.new_place,
            differs_by_node: self.differs_by_node,
            nodes: self.nodes,
        }
    }

    fn take(&mut self, node: &Text, change: &NodeChange) {
        self.nodes.push(node.clone());
        for at in &change.indexes {
            if change.path[*at] != self.change.path[*at] && !self.varies.contains(at) {
                self.varies.push(*at);
            }
        }
    }
}

/// The key for joining groups: section, path, and the places on both sides with their layers. For a list, the
/// places of the removed and added items.
type GroupKey = (Section, Vec<Key>, Vec<(bool, Option<Site>, Option<String>)>);

/// Joins the groups with one path and the same places, even if the values differ by node: `url:
/// http://${name}/v1` is one change. The places must be filled in. If the old values are recorded, they have no
/// places, and the cause of all groups is the same.
pub(crate) fn together(groups: Vec<Group>, is_old_recorded: bool) -> Vec<Group> {
    let mut indexes: FxHashMap<GroupKey, usize> = FxHashMap::default();
    let mut all: Vec<Group> = Vec::with_capacity(groups.len());
    for group in groups {
        let key = |added: bool, place: &Option<ValuePlace>| {
            let site = place.as_ref().and_then(|place| place.site.clone());
            let layer = place.as_ref().filter(|_| is_old_recorded && site.is_none());
            (added, site, layer.map(|place| place.layer.clone()))
        };
        let change = &group.change;
        let sites: Vec<_> = if change.items.is_empty() {
            let sides = [(false, &change.old, &group.old_place), (true, &change.new, &group.new_place)];
            let sides = sides.into_iter().filter(|(_, value, _)| value.is_some());
            sides.map(|(added, _, place)| key(added, place)).collect()
        } else {
            change.items.iter().map(|item| key(item.added, &item.place)).collect()
        };
        // Without a place in a file, groups have no common cause.
        if !is_old_recorded && sites.iter().any(|(_, site, _)| site.is_none()) {
            all.push(group);
            continue;
        }
        let at = *indexes.entry((change.section, group.path(), sites)).or_insert(all.len());
        match all.get_mut(at) {
            Some(first) => {
                first.differs_by_node = true;
                first.nodes.extend(group.nodes);
                first.nodes.sort_unstable();
                first.nodes.dedup();
            }
            None => all.push(group),
        }
    }
    all
}

/// A list and the nodes in which it changes alike.
#[derive(PartialEq, Eq, Hash)]
struct List {
    section: Section,
    /// Its path in the first node, and its common path in all nodes.
    paths: [Vec<Key>; 2],
    nodes: Vec<Text>,
}

/// The changes so far.
#[derive(Default)]
pub(super) struct Groups {
    /// By the change, and the number of equal changes before it in the same node.
    groups: IndexMap<(Sameness, usize), Group>,
}

impl Groups {
    pub(super) fn take(&mut self, node: &Text, changes: Vec<NodeChange>) {
        let mut before: FxHashMap<Sameness, usize> = FxHashMap::default();
        for change in changes.into_iter().flat_map(NodeChange::split) {
            let sameness = change.sameness();
            let number = before.entry(sameness.clone()).or_default();
            let group = self.groups.entry((sameness, *number)).or_insert_with(|| Group::of(change.clone()));
            group.take(node, &change);
            *number += 1;
        }
    }

    /// All groups in the order of their first change. Removed and added items of one list in the same nodes
    /// become one group.
    pub(super) fn finish(self) -> Vec<Group> {
        let mut lists: FxHashMap<List, usize> = FxHashMap::default();
        let mut groups: Vec<Group> = Vec::with_capacity(self.groups.len());
        for mut group in self.groups.into_values() {
            if !group.change.items.is_empty() {
                let change = &group.change;
                let paths = [change.path.clone(), group.path()];
                let list = List { section: change.section, paths, nodes: group.nodes.clone() };
                let at = *lists.entry(list).or_insert(groups.len());
                if let Some(first) = groups.get_mut(at) {
                    first.change.items.append(&mut group.change.items);
                    continue;
                }
            }
            groups.push(group);
        }
        groups
    }
}
