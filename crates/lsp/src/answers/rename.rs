//! Rename: a class with its file, or a parameter, in all files that name it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lsp_types::{
    DocumentChangeOperation, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier,
    PrepareRenameResponse, RenameFile, ResourceOp, TextDocumentEdit, TextEdit, WorkspaceEdit,
};
use reclass::Inventory;
use reclass::error::concise;
use reclass::parts::storage::fs::real;
use reclass_edit::rename::{Renaming, rename_class, rename_parameter};

use crate::answers::definition::class_of_entry;
use crate::editor::Item;
use crate::text::uri_of;
use crate::workspace::{Cursor, Workspace};

/// A thing that can get another name.
enum Named {
    Class(String),
    Parameter(String),
}

/// The thing at a place, its range, and its present name for people.
fn named(place: &Cursor<'_>) -> Option<(Named, std::ops::Range<usize>, String)> {
    let found = place.item()?;
    let settings = place.workspace.inventory.settings();
    let last = |path: &str| path.rsplit(&*settings.delimiter).next().unwrap_or(path).to_owned();
    match found.item {
        Item::Class(written) => {
            let class = class_of_entry(place, &written, found.range.start)?.to_string();
            Some((Named::Class(class.clone()), found.range, class))
        }
        Item::Reference(path) | Item::Key { path, export: false } => {
            let name = last(&path);
            Some((Named::Parameter(path), found.range, name))
        }
        Item::Key { .. } => None,
    }
}

/// The range of the name at a place, and the name that people change.
pub fn prepare(place: &Cursor<'_>) -> Option<PrepareRenameResponse> {
    let (_, range, placeholder) = named(place)?;
    let range = place.encoding.range(place.text, &range);
    Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder })
}

/// The edits that give the thing at a place a new name, or the reason against it.
pub fn rename(place: &Cursor<'_>, new: &str) -> Result<WorkspaceEdit, String> {
    let Some((named, ..)) = named(place) else {
        return Err("there is no class and no parameter to rename".to_owned());
    };
    let inventory = &place.workspace.inventory;
    let renaming = match named {
        Named::Class(old) => rename_class(inventory, &same_inventory(place)?, &old, new)?,
        Named::Parameter(path) => rename_parameter(inventory, &same_inventory(place)?, &path, new)?,
    };
    let moved = renaming.moved.iter().filter_map(|(from, _)| from.to_str());
    for path in renaming.edits.keys().map(|path| &**path).chain(moved) {
        let has_file = |other: &&Workspace| {
            !std::ptr::eq(*other, place.workspace) && other.names.files.contains_key(path)
        };
        if let Some(other) = place.workspaces.values().find(has_file) {
            return Err(format!(
                "the inventory in '{}' has the file '{path}' too, and its values would change",
                other.found.folder.display()
            ));
        }
    }
    Ok(edit(place, &renaming))
}

/// Another inventory with the same options and texts, to try edits.
pub fn same_inventory(place: &Cursor<'_>) -> Result<Inventory, String> {
    let after = place.workspace.inventory.beside().map_err(|error| concise(&error))?;
    place.workspace.give_texts(&after, place.documents);
    Ok(after)
}

fn edit(place: &Cursor<'_>, renaming: &Renaming) -> WorkspaceEdit {
    // A file that the inventory has by two names is edited once, by the one that is open.
    let mut seen = BTreeSet::new();
    let mut edits: Vec<_> = renaming.edits.iter().collect();
    edits.sort_by_key(|(path, _)| !place.documents.contains_key(Path::new(&***path)));
    let texts = edits.into_iter().filter_map(|(path, edits)| {
        if !seen.insert(real(Path::new(&**path)).unwrap_or_else(|| PathBuf::from(&**path))) {
            return None;
        }
        let (text, uri) = (place.text_of(path)?, place.address(Path::new(&**path))?);
        let edit = |(bytes, new): &(std::ops::Range<usize>, String)| {
            OneOf::Left(TextEdit { range: place.encoding.range(&text, bytes), new_text: new.clone() })
        };
        let version = place.documents.get(Path::new(&**path)).map(|document| document.version);
        let text_document = OptionalVersionedTextDocumentIdentifier { uri, version };
        let edits = edits.iter().map(edit).collect();
        Some(DocumentChangeOperation::Edit(TextDocumentEdit { text_document, edits }))
    });
    let moved = renaming.moved.iter().filter_map(|(from, to)| {
        let (old_uri, new_uri) = (uri_of(from)?, uri_of(to)?);
        let file = RenameFile { old_uri, new_uri, options: None, annotation_id: None };
        Some(DocumentChangeOperation::Op(ResourceOp::Rename(file)))
    });
    let operations = texts.chain(moved).collect();
    WorkspaceEdit {
        document_changes: Some(DocumentChanges::Operations(operations)),
        ..WorkspaceEdit::default()
    }
}
