//! Code actions: the repairs of lint, and the class that is missing.

use std::collections::HashMap;

use lsp_types::{
    CodeAction, CodeActionKind, CreateFile, DocumentChangeOperation, DocumentChanges,
    OptionalVersionedTextDocumentIdentifier, Position, Range, ResourceOp, TextDocumentEdit, TextEdit, Uri,
    WorkspaceEdit,
};
use reclass::Finding;
use reclass::edit::repair::{is_unsafe, repaired};
use reclass::error::Kind;

use crate::answers::diagnostics::message;
use crate::text::{Encoding, uri_of};
use crate::workspace::Workspace;

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
        if let Some(after) = repaired(settings, path, text, std::slice::from_ref(finding)) {
            let title = format!(
                "{}: {}",
                if is_unsafe(finding) { "Repair, may change the order" } else { "Repair" },
                short(finding)
            );
            let edits = vec![whole(text, &after, encoding)];
            let edit = WorkspaceEdit::new(HashMap::from([(uri.clone(), edits)]));
            actions.push(CodeAction {
                title,
                kind: Some(CodeActionKind::QUICKFIX),
                is_preferred: Some(!is_unsafe(finding)),
                edit: Some(edit),
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
        if let Kind::ClassNotFound { name, .. } = &finding.fault.kind {
            actions.extend(created(workspace, name));
        }
    }
    actions
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
    let (around, written) = match &finding.fault.kind {
        Kind::ClassNotFound { written, .. } => (written, written),
        Kind::UnknownSection { name, .. } => (name, name),
        // The similar name is that of the missing key.
        Kind::ReferenceNotFound { reference, missing, .. } => (reference, missing),
        _ => return None,
    };
    let start = encoding.offset(text, range.start);
    let line = text[start..].lines().next()?;
    let at = start + line.find(&**around)? + around.find(&**written)?;
    let range = encoding.range(text, &(at..at + written.len()));
    Some(TextEdit { range, new_text: similar.to_owned() })
}

/// The action that creates the file of a class in the first folder of classes.
fn created(workspace: &Workspace, name: &str) -> Option<CodeAction> {
    let settings = workspace.inventory.settings();
    let roots =
        reclass::files::roots(settings.inventory_base_uri.as_deref(), &settings.classes_uri, "classes_uri")
            .ok()?;
    let is_plain = name.split('.').all(|part| !part.is_empty() && !part.contains(['/', '$', '*', ' ']));
    let path = roots.first().filter(|_| is_plain)?.join(name.replace('.', "/")).with_extension("yml");
    let uri = uri_of(&path)?;
    let create = CreateFile { uri: uri.clone(), options: None, annotation_id: None };
    let text = TextEdit {
        range: Range::new(Position::new(0, 0), Position::new(0, 0)),
        new_text: "parameters: {}\n".into(),
    };
    let edit = TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier { uri, version: None },
        edits: vec![lsp_types::OneOf::Left(text)],
    };
    let operations =
        vec![DocumentChangeOperation::Op(ResourceOp::Create(create)), DocumentChangeOperation::Edit(edit)];
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
