//! Code actions: the repairs of lint, the class that is missing, and keys that become a class.

use std::collections::HashMap;
use std::path::Path;

use crate::editor::Item;
use lsp_types::{
    CodeAction, CodeActionKind, Command, CreateFile, DocumentChangeOperation, DocumentChanges,
    OptionalVersionedTextDocumentIdentifier, Position, Range, ResourceOp, TextDocumentEdit, TextEdit, Uri,
    WorkspaceEdit,
};
use reclass::Finding;
use reclass::error::Kind;
use reclass::settings::Settings;
use reclass_edit::extract::{extract, movable};
use reclass_edit::repair::{is_unsafe, quoted, repaired};
use reclass_yaml::compose::{DocumentLimits, compose_within};
use serde_json::json;

use crate::answers::diagnostics::message;
use crate::answers::rename::same_inventory;
use crate::text::{Encoding, uri_of};
use crate::workspace::{Cursor, Workspace};

/// The command that moves keys to a new class.
pub const EXTRACT: &str = "reclass.extractClass";
/// The command of a client that shows a value with its layers.
const EXPLAIN: &str = "reclass.explainValue";

/// The actions for the findings in a range of a text.
pub fn actions(
    workspace: &Workspace,
    (uri, path, text): (&Uri, &str, &str),
    range: Range,
    encoding: Encoding,
) -> Vec<CodeAction> {
    let here = |finding: &&Finding| {
        finding.fault.site.as_ref().is_some_and(|site| {
            let of = encoding.site(text, site);
            *site.path == *path && of.start.line <= range.end.line && range.start.line <= of.end.line
        })
    };
    let settings = workspace.inventory.settings();
    let mut actions = Vec::new();
    for finding in workspace.findings.iter().filter(here) {
        let repair = repaired(settings, path, text, std::slice::from_ref(finding)).map(|after| {
            let title = if is_unsafe(finding) { "Repair, may change the order" } else { "Repair" };
            (title, after, !is_unsafe(finding))
        });
        let quote = || Some(("Quote, so that it is a text", quoted(settings, path, text, finding)?, false));
        if let Some((title, after, is_preferred)) = repair.or_else(quote) {
            let edits = vec![whole(text, &after, encoding)];
            actions.push(CodeAction {
                title: format!("{title}: {}", short(finding)),
                kind: Some(CodeActionKind::QUICKFIX),
                is_preferred: Some(is_preferred),
                edit: Some(WorkspaceEdit::new(HashMap::from([(uri.clone(), edits)]))),
                ..CodeAction::default()
            });
        }
        if let Some(similar) = finding.fault.kind.similar()
            && let Some(site) = &finding.fault.site
            && let Some(edit) = renamed(finding, similar, text, encoding.site(text, site), encoding)
        {
            actions.push(CodeAction {
                title: format!("Change to '{similar}'"),
                kind: Some(CodeActionKind::QUICKFIX),
                edit: Some(WorkspaceEdit::new(HashMap::from([(uri.clone(), vec![edit])]))),
                ..CodeAction::default()
            });
        }
        if let Some(site) = finding.fault.site.as_ref().filter(|_| finding.fault.kind.may_be_text())
            && let Some(edit) = escaped(text, encoding.site(text, site).start, encoding, settings)
        {
            actions.push(CodeAction {
                title: "Write it as text, with a backslash".to_owned(),
                kind: Some(CodeActionKind::QUICKFIX),
                edit: Some(WorkspaceEdit::new(HashMap::from([(uri.clone(), vec![edit])]))),
                ..CodeAction::default()
            });
        }
        if let Kind::ClassNotFound { name, .. } = &finding.fault.kind {
            actions.extend(created(workspace, name));
        }
    }
    actions
}

/// The edit that makes text of a reference or a query. Between double quotes YAML takes one of two backslashes.
fn escaped(text: &str, start: Position, encoding: Encoding, settings: &Settings) -> Option<TextEdit> {
    let at = encoding.offset(text, start);
    let is_sentinel = text.get(at..).is_some_and(|rest| rest.starts_with('$'));
    let reads = |mark: &&str| {
        let text = format!("{}{mark}{}", &text[..at], &text[at..]);
        compose_within(text.as_bytes(), DocumentLimits::of(settings)).is_ok()
    };
    let mark = ["\\", "\\\\"].into_iter().filter(|_| is_sentinel).find(reads)?;
    Some(TextEdit { range: Range { start, end: start }, new_text: mark.to_owned() })
}

/// The first line of the message.
fn short(finding: &Finding) -> String {
    message(finding).lines().next().unwrap_or_default().to_owned()
}

/// An edit of the part of a text that differs.
fn whole(text: &str, after: &str, encoding: Encoding) -> TextEdit {
    let same = text.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
    let start =
        (0..=same).rev().find(|at| text.is_char_boundary(*at) && after.is_char_boundary(*at)).unwrap_or(0);
    let rest = text.len().min(after.len()) - start;
    let same = text
        .bytes()
        .rev()
        .zip(after.bytes().rev())
        .take(rest)
        .take_while(|(one, other)| one == other)
        .count();
    let end = (0..=same)
        .rev()
        .find(|at| text.is_char_boundary(text.len() - at) && after.is_char_boundary(after.len() - at))
        .unwrap_or(0);
    let range = encoding.range(text, &(start..text.len() - end));
    TextEdit { range, new_text: after[start..after.len() - end].to_owned() }
}

/// The edit that takes the similar name, if the written one is found at the place.
fn renamed(
    finding: &Finding,
    similar: &str,
    text: &str,
    range: Range,
    encoding: Encoding,
) -> Option<TextEdit> {
    let (around, above, written) = match &finding.fault.kind {
        Kind::ClassNotFound { written, .. } => (written, "", written),
        Kind::UnknownSection { name, .. } => (name, "", name),
        // The similar name is that of the missing key, which stands behind its container.
        Kind::ReferenceNotFound { reference, missing, container, .. } => {
            (reference, container.as_str(), missing)
        }
        _ => return None,
    };
    let start = encoding.offset(text, range.start);
    let line = text[start..].lines().next()?;
    let behind = around.find(above)? + above.len();
    let at = start + line.find(&**around)? + behind + around[behind..].find(&**written)?;
    let range = encoding.range(text, &(at..at + written.len()));
    Some(TextEdit { range, new_text: similar.to_owned() })
}

/// The action that moves the keys in a range to a new class. The server does it when somebody chooses it, because all
/// nodes are rendered for it.
pub fn extraction(text: &str, uri: &Uri, range: Range, encoding: Encoding) -> Option<CodeAction> {
    let key = movable(text, &(encoding.offset(text, range.start)..encoding.offset(text, range.end)))?;
    let title = format!("Move '{key}' to a new class");
    let arguments = Some(vec![json!(uri), json!(range)]);
    let command = Command { title: title.clone(), command: EXTRACT.into(), arguments };
    Some(CodeAction {
        title,
        kind: Some(CodeActionKind::REFACTOR_EXTRACT),
        command: Some(command),
        ..CodeAction::default()
    })
}

/// The edits that move the keys in a range to a new class, or the reason against it.
pub fn extracted(place: &Cursor<'_>, range: Range) -> Result<WorkspaceEdit, String> {
    let (text, encoding) = (place.text, place.encoding);
    let selection = encoding.offset(text, range.start)..encoding.offset(text, range.end);
    let after = same_inventory(place)?;
    let path = Path::new(place.path);
    let found = extract(&place.workspace.inventory, &after, (path, text), &selection)?;
    let (Some(new), Some(own)) = (uri_of(&found.path), place.address(path)) else {
        return Err("the path of the file is no address".to_owned());
    };
    let mut operations = created_file(new, found.text);
    let version = place.documents.get(path).map(|document| document.version);
    operations.push(DocumentChangeOperation::Edit(TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri: own, version },
        edits: vec![lsp_types::OneOf::Left(whole(text, &found.rest, encoding))],
    }));
    Ok(WorkspaceEdit {
        document_changes: Some(DocumentChanges::Operations(operations)),
        ..WorkspaceEdit::default()
    })
}

/// The action by which a client shows the value at a place as a document. The client has the command.
pub fn explanation(place: &Cursor<'_>, position: Position) -> Option<CodeAction> {
    let found = place.item()?;
    if matches!(found.item, Item::Class(_)) || place.node().is_none() {
        return None;
    }
    let title = "Explain this value".to_owned();
    let arguments = Some(vec![json!(uri_of(place.path)?), json!(position)]);
    let command = Command { title: title.clone(), command: EXPLAIN.into(), arguments };
    Some(CodeAction { title, command: Some(command), ..CodeAction::default() })
}

/// The operations that create a file with a text.
fn created_file(uri: Uri, text: String) -> Vec<DocumentChangeOperation> {
    let create = CreateFile { uri: uri.clone(), options: None, annotation_id: None };
    let text = TextEdit { range: Range::default(), new_text: text };
    let edit = TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version: None },
        edits: vec![lsp_types::OneOf::Left(text)],
    };
    vec![DocumentChangeOperation::Op(ResourceOp::Create(create)), DocumentChangeOperation::Edit(edit)]
}

/// The action that creates the file of a class in the first folder of classes.
fn created(workspace: &Workspace, name: &str) -> Option<CodeAction> {
    let settings = workspace.inventory.settings();
    let roots = reclass::parts::storage::fs::roots(
        settings.inventory_base_uri.as_deref(),
        &settings.classes_uri,
        "classes_uri",
    )
    .ok()?;
    let is_plain = name.split('.').all(|part| !part.is_empty() && !part.contains(['/', '$', '*', ' ']));
    let path = roots.first().filter(|_| is_plain)?.join(name.replace('.', "/")).with_extension("yml");
    let uri = uri_of(&path)?;
    let operations = created_file(uri, "parameters: {}\n".into());
    Some(CodeAction {
        title: format!("Create the class '{name}'"),
        kind: Some(CodeActionKind::QUICKFIX),
        edit: Some(WorkspaceEdit {
            document_changes: Some(DocumentChanges::Operations(operations)),
            ..WorkspaceEdit::default()
        }),
        ..CodeAction::default()
    })
}
