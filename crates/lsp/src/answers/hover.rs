//! Hover: a class with its nodes, a value with the layers that made it.

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};
use reclass::editor::Item;
use reclass::explain::{Selection, to_text};
use reclass::style::Paint;

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
    let overview = &place.workspace.overview;
    let facts = overview.classes.get(&*name)?;
    let comment = place.text_of(&facts.path).map(|text| first_comment(&text)).unwrap_or_default();
    let nodes: Vec<&str> = overview.nodes_of(&facts.path).map(|node| &**node).collect();
    let listed: Vec<&str> = facts.listed_by.iter().map(|name| &**name).collect();
    let mut text = format!("**{name}**");
    for part in [comment, counted("node", &nodes), counted("file lists it", &listed)] {
        if !part.is_empty() {
            text = format!("{text}\n\n{part}");
        }
    }
    Some(text)
}

/// `3 nodes: a, b, c`
fn counted(what: &str, names: &[&str]) -> String {
    let what = match (what, names.len()) {
        (_, 0) if what == "node" => return "no node".into(),
        (_, 0) => return String::new(),
        ("node", 1) => "1 node".to_owned(),
        ("node", count) => format!("{count} nodes"),
        (_, 1) => format!("1 {what}"),
        (_, count) => format!("{count} files list it"),
    };
    let more = if names.len() > NAMES { ", …" } else { "" };
    format!("{what}: {}{more}", names[..names.len().min(NAMES)].join(", "))
}

/// The comment at the beginning of a file.
fn first_comment(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim().is_empty() || *line == "---");
    let comment = lines.map_while(|line| line.strip_prefix('#'));
    comment.map(str::trim).collect::<Vec<_>>().join("\n")
}

/// The value of a path for the chosen node, with its layers.
fn explained(place: &Cursor<'_>, path: &str, export: bool) -> Option<String> {
    let node = place.node()?;
    let paths = vec![path.to_owned()];
    let selection = if export {
        Selection { exports: paths, ..Selection::default() }
    } else {
        Selection { parameters: paths, ..Selection::default() }
    };
    let explanation = place.workspace.explain(&node, selection)?;
    let text = to_text(&explanation, Paint::PLAIN);
    let mut lines: Vec<&str> = text.lines().take(LINES + 1).collect();
    if lines.len() > LINES {
        lines[LINES] = "…";
    }
    // A fence that is longer than any in the text.
    Some(format!("node **{node}**\n\n``````text\n{}\n``````", lines.join("\n")))
}
