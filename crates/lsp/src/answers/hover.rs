//! Hover: a class with its nodes, a value with the layers that made it.

use crate::editor::Item;
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use reclass::style::Paint;
use reclass_analysis::docs::first_comment;
use reclass_analysis::explain::to_text;
use reclass_base::words::count;

use crate::answers::definition::class_of_entry;
use crate::workspace::Cursor;

/// The most lines of an explanation. The rest is a question for `reclass explain`.
const LINES: usize = 40;
/// The most names in a sentence.
const NAMES: usize = 5;

/// The answer for the thing at a place.
pub fn hover(place: &Cursor<'_>) -> Option<Hover> {
    let found = place.item()?;
    let value = match &found.item {
        Item::Class(written) => class(place, written, found.range.start)?,
        Item::Reference(path) => explained(place, path, false)?,
        Item::Key { path, export } => explained(place, path, *export)?,
    };
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Some(Hover { contents, range: Some(place.encoding.range(place.text, &found.range)) })
}

/// A class: its first comment, its nodes, and who lists it.
fn class(place: &Cursor<'_>, written: &str, start: usize) -> Option<String> {
    let name = class_of_entry(place, written, start)?;
    let names = &place.workspace.names;
    let facts = names.classes.get(&*name)?;
    // A comment may have a secret, as a value that was commented out.
    let comment = place.text_of(&facts.path).map(|text| first_comment(&text));
    let comment = comment.map(|comment| place.workspace.redaction().masked(&comment)).unwrap_or_default();
    let nodes: Vec<&str> = names.nodes_of(&facts.path).map(|node| &**node).collect();
    let files = facts.listed_by.iter().filter_map(|path| names.files.get(path));
    let listed: Vec<&str> = files.map(|file| &*file.name).collect();
    let mut text = format!("**{name}**");
    let nodes = match nodes.len() {
        0 => "no node".to_owned(),
        number => format!("{}: {}", count(number, "node"), first_names(&nodes)),
    };
    let listed = match listed.len() {
        0 => String::new(),
        1 => format!("1 file lists it: {}", listed[0]),
        count => format!("{count} files list it: {}", first_names(&listed)),
    };
    let mappings: Vec<String> =
        facts.mapped_by.keys().map(|mapping| format!("class mapping `{mapping}`")).collect();
    for part in [comment, nodes, listed, mappings.join("\n\n")].iter().filter(|part| !part.is_empty()) {
        text = format!("{text}\n\n{part}");
    }
    Some(text)
}

/// The first of these names.
pub fn first_names(names: &[&str]) -> String {
    let more = if names.len() > NAMES { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(NAMES)].join(", "))
}

/// The value of a path for the chosen node, with its layers.
fn explained(place: &Cursor<'_>, path: &str, export: bool) -> Option<String> {
    let (node, explanation) = place.explain(path, export)?;
    let text = to_text(&explanation, Paint::PLAIN);
    let mut lines: Vec<&str> = text.lines().take(LINES + 1).collect();
    if lines.len() > LINES {
        lines[LINES] = "…";
    }
    // A fence that is longer than any in the text.
    Some(format!("node **{node}**\n\n``````text\n{}\n``````", lines.join("\n")))
}
