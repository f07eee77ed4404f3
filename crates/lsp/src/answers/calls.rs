//! The call hierarchy: what a class or node includes, and what includes it.

use std::collections::BTreeSet;

use crate::editor::Item;
use lsp_types::{CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, Range, SymbolKind};

use crate::answers::definition::classes_of_entry;
use crate::answers::listed;
use crate::text::{Encoding, path_of, uri_of};
use crate::workspace::{Cursor, OpenTexts, Workspace, text_of};

/// The class at a place, or the class or node of the file.
pub fn prepare(place: &Cursor<'_>) -> Option<Vec<CallHierarchyItem>> {
    let names = &place.workspace.names;
    let found = place.item();
    let classes = match found.as_ref().map(|found| (&found.item, found.range.start)) {
        Some((Item::Class(written), start)) => classes_of_entry(place, written, start),
        _ => return Some(vec![item(place.workspace, place.path)?]),
    };
    let paths = classes.iter().filter_map(|class| names.classes.get(class));
    Some(paths.filter_map(|class| item(place.workspace, &class.path)).collect())
}

fn item(workspace: &Workspace, path: &str) -> Option<CallHierarchyItem> {
    let file = workspace.names.files.get(path)?;
    Some(CallHierarchyItem {
        name: file.name.to_string(),
        kind: if file.is_class { SymbolKind::CLASS } else { SymbolKind::OBJECT },
        tags: None,
        detail: None,
        uri: uri_of(path)?,
        range: Range::default(),
        selection_range: Range::default(),
        data: None,
    })
}

/// The entries of class lists in a file, each with the path of its class.
fn entries(
    workspace: &Workspace,
    path: &str,
    documents: &OpenTexts,
    encoding: Encoding,
) -> Vec<(Range, String)> {
    let Some(text) = text_of(&workspace.inventory, documents, path) else { return Vec::new() };
    let entries = listed(&workspace.names, path, &text).into_iter();
    let found = entries.flat_map(|(bytes, classes)| {
        let range = encoding.range(&text, &bytes);
        let paths = classes.into_iter().filter_map(|class| workspace.names.classes.get(class));
        paths.map(move |class| (range, class.path.to_string()))
    });
    found.collect()
}

/// The classes that a file lists.
pub fn outgoing(
    workspace: &Workspace,
    of: &CallHierarchyItem,
    documents: &OpenTexts,
    encoding: Encoding,
) -> Option<Vec<CallHierarchyOutgoingCall>> {
    let path = path_of(&of.uri)?;
    let listed = entries(workspace, path.to_str()?, documents, encoding).into_iter();
    let call = |(range, class): (Range, String)| {
        Some(CallHierarchyOutgoingCall { to: item(workspace, &class)?, from_ranges: vec![range] })
    };
    Some(listed.filter_map(call).collect())
}

/// The files that list a class, and the nodes that class mappings give it to.
pub fn incoming(
    workspace: &Workspace,
    of: &CallHierarchyItem,
    documents: &OpenTexts,
    encoding: Encoding,
) -> Option<Vec<CallHierarchyIncomingCall>> {
    let path = path_of(&of.uri)?;
    let name = &workspace.names.files.get(path.to_str()?)?.name;
    let class = workspace.names.classes.get(name)?;
    let call = |from: &std::sync::Arc<str>| {
        let listed = entries(workspace, from, documents, encoding).into_iter();
        let here = listed.filter(|(_, class)| path.to_str() == Some(class));
        let from_ranges = here.map(|(range, _)| range).collect();
        Some(CallHierarchyIncomingCall { from: item(workspace, from)?, from_ranges })
    };
    let mapped: BTreeSet<_> = class.mapped_by.values().flatten().collect();
    let mapped = mapped.into_iter().filter(|node| !class.listed_by.contains(node)).filter_map(|node| {
        // The mapping stands in the settings, and not in the file of the node.
        let from_ranges = vec![Range::default()];
        Some(CallHierarchyIncomingCall { from: item(workspace, node)?, from_ranges })
    });
    Some(class.listed_by.iter().filter_map(call).chain(mapped).collect())
}
