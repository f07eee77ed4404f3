//! Completion: class names by segment, paths of references with their values, sections.

use lsp_types::{CompletionItem, CompletionItemKind, CompletionTextEdit, TextEdit};
use reclass::editor::{NameList, list_at, open_reference};
use reclass::value::{Key, Map};

use crate::answers::{counted, in_words};
use crate::workspace::Cursor;

/// The sections of a file, with what they are for.
const SECTIONS: [(&str, &str); 5] = [
    ("classes", "the classes that this file includes"),
    ("applications", "the states of the node"),
    ("parameters", "the values of the node, its pillar"),
    ("exports", "values that queries of other nodes find"),
    ("environment", "the environment of the node"),
];

/// The completions at a place.
pub fn completion(place: &Cursor<'_>) -> Vec<CompletionItem> {
    let settings = place.workspace.inventory.settings();
    if let Some(start) = open_reference(place.text, place.offset, settings) {
        return references(place, start);
    }
    match list_at(place.text, place.offset) {
        Some(NameList::Classes) => classes(place),
        Some(NameList::Applications) => Vec::new(),
        None => sections(place),
    }
}

/// An item that replaces the text from `start` to the cursor.
fn item(place: &Cursor<'_>, start: usize, text: &str, kind: CompletionItemKind) -> CompletionItem {
    let range = place.encoding.range(place.text, &(start..place.offset));
    CompletionItem {
        label: text.to_owned(),
        kind: Some(kind),
        filter_text: Some(text.to_owned()),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text: text.to_owned() })),
        ..CompletionItem::default()
    }
}

/// The start of the word before the cursor.
fn word_start(place: &Cursor<'_>) -> usize {
    let before = &place.text[..place.offset];
    let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | '\'' | '"');
    before.rfind(is_end).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))
}

/// The classes whose names go on from the word, up to the next dot, and the classes themselves.
fn classes(place: &Cursor<'_>) -> Vec<CompletionItem> {
    let start = word_start(place);
    let written = &place.text[start..place.offset];
    let begun = written.rfind('.').map_or("", |dot| &written[..=dot]);
    let names = &place.workspace.names;
    let mut items: Vec<CompletionItem> = Vec::new();
    let mut folders: Vec<&str> = Vec::new();
    for (name, class) in &names.classes {
        let Some(rest) = name.strip_prefix(begun) else { continue };
        if let Some(dot) = rest.find('.') {
            let folder = &name[..=begun.len() + dot];
            if folders.last() != Some(&folder) {
                folders.push(folder);
                items.push(item(place, start, folder, CompletionItemKind::FOLDER));
            }
            continue;
        }
        let count = names.files.get(&class.path).map_or(0, |file| file.nodes.len());
        let class = item(place, start, name, CompletionItemKind::CLASS);
        items.push(CompletionItem { detail: Some(counted(count)), ..class });
    }
    items
}

/// The parameters of the node below the path that is written, with their values.
fn references(place: &Cursor<'_>, start: usize) -> Vec<CompletionItem> {
    let settings = place.workspace.inventory.settings();
    let delimiter = &*settings.delimiter;
    let written = &place.text[start..place.offset];
    let above = written.rfind(delimiter).map_or("", |at| &written[..at]);
    let Some(node) = place.node() else { return Vec::new() };
    let Some(parameters) = place.workspace.parameters(&node) else { return Vec::new() };
    let mut value = &parameters;
    let mut path: Vec<Key> = Vec::new();
    for key in above.split(delimiter).filter(|key| !key.is_empty()) {
        let Some(inner) = value.as_map().and_then(|map| map.get(key)) else { return Vec::new() };
        path.push(Key::from(key));
        value = inner;
    }
    let secrets = place.workspace.redaction().secrets;
    let map = value.as_map();
    let entries = map.into_iter().flat_map(Map::iter);
    entries
        .filter_map(|(key, value)| {
            let name = key.as_str()?;
            path.push(key.clone());
            let is_secret = secrets.covers(&path);
            path.pop();
            let begun = if above.is_empty() { String::new() } else { format!("{above}{delimiter}") };
            let is_map = value.as_map().is_some();
            let kind = if is_map { CompletionItemKind::MODULE } else { CompletionItemKind::VALUE };
            let item = item(place, start, &format!("{begun}{name}"), kind);
            Some(CompletionItem { detail: Some(in_words(value, is_secret)), ..item })
        })
        .collect()
}

/// The sections at the beginning of a line.
fn sections(place: &Cursor<'_>) -> Vec<CompletionItem> {
    let start = place.text[..place.offset].rfind('\n').map_or(0, |at| at + 1);
    let written = &place.text[start..place.offset];
    if !written.chars().all(char::is_alphabetic) {
        return Vec::new();
    }
    let is_used = |name: &str| {
        place.text.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
    };
    let section = |(name, about): &(&str, &str)| {
        let item = item(place, start, &format!("{name}:"), CompletionItemKind::KEYWORD);
        CompletionItem { detail: Some((*about).to_owned()), ..item }
    };
    SECTIONS.iter().filter(|(name, _)| !is_used(name)).map(section).collect()
}
