//! The call hierarchy: what a class or node includes, and what includes it.

use lsp_types::{CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, Range, SymbolKind};
use reclass::editor::Item;

use crate::answers::definition::class_of_entry;
use crate::answers::listed;
use crate::text::{Encoding, path_of, uri_of};
use crate::workspace::{Cursor, OpenTexts, Workspace, text_of};

/// The class at a place, or the class or node of the file.
pub fn prepare(place: &Cursor<'_>) -> Option<Vec<CallHierarchyItem>> {
    let names = &place.workspace.names;
    let path = match place.item() {
        Some(found) => match &found.item {
            Item::Class(written) => {
                let class = class_of_entry(place, written, found.range.start)?;
                names.classes.get(&*class)?.path.to_string()
            }
            _ => place.path.to_owned(),
        },
        None => place.path.to_owned(),
    };
    Some(vec![item(place.workspace, &path)?])
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
    let found = entries.filter_map(|(bytes, class)| {
        let path = &workspace.names.classes.get(class)?.path;
        Some((encoding.range(&text, &bytes), path.to_string()))
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

/// The files that list a class.
pub fn incoming(
    workspace: &Workspace,
    of: &CallHierarchyItem,
    documents: &OpenTexts,
    encoding: Encoding,
) -> Option<Vec<CallHierarchyIncomingCall>> {
    let path = path_of(&of.uri)?;
    let name = &workspace.names.files.get(path.to_str()?)?.name;
    let by = &workspace.names.classes.get(name)?.listed_by;
    let call = |from: &std::sync::Arc<str>| {
        let listed = entries(workspace, from, documents, encoding).into_iter();
        let here = listed.filter(|(_, class)| path.to_str() == Some(class));
        let from_ranges = here.map(|(range, _)| range).collect();
        Some(CallHierarchyIncomingCall { from: item(workspace, from)?, from_ranges })
    };
    Some(by.iter().filter_map(call).collect())
}
