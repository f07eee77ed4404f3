//! Completion: class names by segment, paths of references with their values, grains, the operands of queries, keys
//! that other files and schemas have, sections, and the openings of references and queries with their escapes.

use std::collections::{BTreeSet, HashSet};

use crate::editor::{
    KeyPlace, KnownKey, NameList, key_place_at, list_at, open_query, open_reference, schema_keys,
};
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, Documentation, MarkupContent, MarkupKind,
    TextEdit,
};
use reclass::settings::Settings;
use reclass::value::{Key, Map, Text};
use reclass_analysis::explain::Description;
use reclass_base::words::count;

use crate::answers::hover::first_names;
use crate::answers::in_words;
use crate::workspace::Cursor;

/// The sections of a file, with what they are for.
const SECTIONS: [(&str, &str); 5] = [
    ("classes", "the classes that this file includes"),
    ("applications", "the states of the node"),
    ("parameters", "the values of the node, its pillar"),
    ("exports", "values that queries of other nodes find"),
    ("environment", "the environment of the node"),
];

/// What an operand of a query begins with, and the options of a query, with what they are for.
const OPERANDS: [(&str, &str); 4] = [
    ("exports", "an export of each node"),
    ("self", "a parameter of this node"),
    ("+AllEnvs", "nodes of all environments"),
    ("+IgnoreErrors", "without the nodes whose exports fail"),
];

/// The completions at a place.
pub fn completion(place: &Cursor<'_>) -> Vec<CompletionItem> {
    let settings = place.workspace.inventory.settings();
    // Between the characters of an opening there is no word yet.
    let opened = open_reference(place.text, place.offset, settings);
    if let Some(start) = opened.filter(|start| *start <= place.offset) {
        return references(place, start).into_iter().chain(grains(place, start)).collect();
    }
    if let Some(start) = open_query(place.text, place.offset, settings) {
        return operands(place, start);
    }
    let begun = openings(place);
    if !begun.is_empty() {
        return begun;
    }
    match list_at(place.text, place.offset) {
        Some(NameList::Classes) => classes(place),
        Some(NameList::Applications) => Vec::new(),
        None => match key_place_at(place.text, place.offset, settings) {
            Some(key) => keys(place, &key),
            None => sections(place),
        },
    }
}

/// A text that the editor shows beside an item.
pub fn documentation(text: String) -> Documentation {
    Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: text })
}

/// An item that replaces the text from `start` to the cursor. Its filter is its label, unsaid: Neovim up to 0.10 heeds
/// the range of an item only without one.
fn item(place: &Cursor<'_>, start: usize, text: &str, kind: CompletionItemKind) -> CompletionItem {
    let range = place.encoding.range(place.text, &(start..place.offset));
    CompletionItem {
        label: text.to_owned(),
        kind: Some(kind),
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

/// The classes whose names go on from the word, up to the next dot, and the classes themselves. A word that begins
/// with dots is relative to the file.
fn classes(place: &Cursor<'_>) -> Vec<CompletionItem> {
    let start = word_start(place);
    let written = &place.text[start..place.offset];
    let begun = written.rfind('.').map_or("", |dot| &written[..=dot]);
    let names = &place.workspace.names;
    let own = names.files.get(place.path).filter(|file| file.is_class).map(|file| &file.name);
    let (mut items, mut seen) = (Vec::new(), HashSet::new());
    // Any name shows where the names begin that the word may mean.
    for absolute in names.absolute(place.path, &format!("{begun}x")) {
        let above = &absolute[..absolute.len() - 1];
        for (name, class) in &names.classes {
            let Some(rest) = name.strip_prefix(above).filter(|_| own != Some(name)) else { continue };
            let end = rest.find('.').map_or(rest.len(), |dot| dot + 1);
            let text = format!("{begun}{}", &rest[..end]);
            if !seen.insert(text.clone()) {
                continue;
            }
            let is_folder = end < rest.len();
            let kind = if is_folder { CompletionItemKind::FOLDER } else { CompletionItemKind::CLASS };
            let nodes = names.files.get(&class.path).map_or(0, |file| file.nodes.len());
            let detail = match (is_folder, begun.starts_with('.')) {
                (true, false) => None,
                (true, true) => Some(format!("{above}{}", &rest[..end])),
                (false, false) => Some(count(nodes, "node")),
                (false, true) => Some(format!("{name}, {}", count(nodes, "node"))),
            };
            items.push(CompletionItem { detail, ..item(place, start, &text, kind) });
        }
    }
    items
}

/// The parameters of the node below the path that is written, with their values.
fn references(place: &Cursor<'_>, start: usize) -> Vec<CompletionItem> {
    let settings = place.workspace.inventory.settings();
    let delimiter = &*settings.delimiter;
    let written = &place.text[start..place.offset];
    let above = written.rfind(delimiter).map_or("", |at| &written[..at]);
    let Some(node) = place.workspace.last_node_of(place.path) else { return Vec::new() };
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

/// What a query can name from `start` on: exports that files have, parameters of the node itself, and options.
fn operands(place: &Cursor<'_>, start: usize) -> Vec<CompletionItem> {
    let delimiter = &*place.workspace.inventory.settings().delimiter;
    let written = &place.text[start..place.offset];
    let Some((first, path)) = written.split_once(delimiter) else {
        let options = OPERANDS.iter().map(|(text, about)| {
            let is_option = text.starts_with('+');
            let text = if is_option { (*text).to_owned() } else { format!("{text}{delimiter}") };
            let item = item(place, start, &text, CompletionItemKind::KEYWORD);
            CompletionItem { detail: Some((*about).to_owned()), ..item }
        });
        return options.collect();
    };
    match first.to_lowercase().as_str() {
        "self" => references(place, place.offset - path.len()),
        "exports" => exports(place, place.offset - path.len()),
        _ => Vec::new(),
    }
}

/// The exports that files have below the path that is written from `start` on.
fn exports(place: &Cursor<'_>, start: usize) -> Vec<CompletionItem> {
    let delimiter = &*place.workspace.inventory.settings().delimiter;
    let written = &place.text[start..place.offset];
    let begun = written.rfind(delimiter).map_or("", |at| &written[..at + delimiter.len()]);
    let above = begun.split(delimiter).filter(|key| !key.is_empty()).map(Into::into).collect();
    let at = KeyPlace { export: true, path: above, beside: BTreeSet::new(), start };
    let known = place.workspace.names.keys_at(&at, &place.workspace.redaction()).into_iter();
    known.map(|(name, known)| known_key(place, &at, &known, &format!("{begun}{name}"))).collect()
}

/// The grains that references can read, below the path that is written. Where the setting has a pattern, the names are
/// those that other files refer to.
fn grains(place: &Cursor<'_>, start: usize) -> Vec<CompletionItem> {
    let settings = place.workspace.inventory.settings();
    let trusted = settings.trusted_grains.as_map();
    if settings.grains.is_empty() && trusted.is_none() {
        return Vec::new();
    }
    let (delimiter, first) = (&*settings.delimiter, &*settings.grains_key);
    let written = &place.text[start..place.offset];
    let Some(below) = written.strip_prefix(first).and_then(|rest| rest.strip_prefix(delimiter)) else {
        let whole = item(place, start, first, CompletionItemKind::MODULE);
        return vec![CompletionItem { detail: Some("the grains of the minion".into()), ..whole }];
    };
    let above = below.rfind(delimiter).map_or("", |at| &below[..at + delimiter.len()]);
    let listed = settings.grains.iter().map(|path| (&**path, None));
    let trusted = trusted.into_iter().flat_map(Map::iter);
    let trusted = trusted.filter_map(|(path, values)| Some((path.as_str()?, Some(values))));
    let id = [("id", None)].into_iter();
    let used = place.workspace.names.grains_elsewhere(place.path, settings);
    let used = used.iter().map(|path| (path.as_str(), None));
    let mut items: Vec<CompletionItem> = Vec::new();
    for (path, values) in id.chain(trusted).chain(listed).chain(used) {
        let Some(key) = path.strip_prefix(above).and_then(|rest| rest.split(delimiter).next()) else {
            continue;
        };
        let text = format!("{first}{delimiter}{above}{key}");
        if key.is_empty() || key.contains(['*', '?', '[']) || items.iter().any(|item| item.label == text) {
            continue;
        }
        let detail = match values {
            Some(_) => "a grain that may choose classes",
            None if path == "id" => "the name of the node",
            None => "a grain of the minion",
        };
        let values = values.map(|values| format!("Permitted values: {}", in_words(values, false)));
        items.push(CompletionItem {
            detail: Some(detail.into()),
            documentation: values.map(documentation),
            ..item(place, start, &text, CompletionItemKind::VARIABLE)
        });
    }
    items
}

/// What begins with the character before the cursor: a reference, a query, and the texts that are neither.
fn openings(place: &Cursor<'_>) -> Vec<CompletionItem> {
    let settings: &Settings = place.workspace.inventory.settings();
    let before = &place.text[..place.offset];
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let (reference, query) = (&settings.reference_sentinels, &settings.export_sentinels);
    let escape = &*settings.escape_character;
    let first = |open: &str| open.chars().next().unwrap_or_default();
    let is_value = line.contains([':', '-']) && !line.trim_start().starts_with('#');
    if !is_value || !line.ends_with([first(&reference.0), first(&query.0)]) && !line.ends_with(escape) {
        return Vec::new();
    }
    let is_escaped = |open: char| line.strip_suffix(open).is_some_and(|line| line.ends_with(escape));
    let known = [
        (
            &reference.0,
            format!("{}{}", reference.0, reference.1),
            "a reference: the value of another parameter",
        ),
        (&query.0, format!("{} {}", query.0, query.1), "a query: the exports of all nodes"),
        (&reference.0, format!("{escape}{}", reference.0), "the text itself, no reference"),
        (&query.0, format!("{escape}{}", query.0), "the text itself, no query"),
    ];
    let begun = |(open, text, about): (&Text, String, &str)| {
        let is_escape = text.starts_with(escape);
        let written = [format!("{escape}{}", first(open)), escape.to_owned(), first(open).to_string()]
            .into_iter()
            .find(|begun| line.ends_with(begun.as_str()))?;
        if !is_escape && (line.ends_with(escape) || is_escaped(first(open))) {
            return None;
        }
        let item = item(place, place.offset - written.len(), &text, CompletionItemKind::SNIPPET);
        let filter_text = (!text.starts_with(&written)).then_some(written);
        Some(CompletionItem { filter_text, detail: Some(about.to_owned()), ..item })
    };
    known.into_iter().filter_map(begun).collect()
}

/// The keys that schemas and other files have at the same path, with the value in the first of the files.
fn keys(place: &Cursor<'_>, at: &KeyPlace) -> Vec<CompletionItem> {
    let known = place.workspace.names.keys_at(at, &place.workspace.redaction()).into_iter();
    let key = |(name, known): (Text, KnownKey)| {
        let ending = if known.is_mapping { ":" } else { ": " };
        let item = known_key(place, at, &known, &format!("{name}{ending}"));
        CompletionItem { label: name.to_string(), ..item }
    };
    let mut items: Vec<CompletionItem> = known.map(key).collect();
    let described = place.node().map(|node| schema_keys(&place.workspace.inventory, &node, at));
    for (name, described) in described.into_iter().flatten() {
        let said = (described != Description::default()).then(|| documentation(described.to_string()));
        if let Some(item) = items.iter_mut().find(|item| item.label == name) {
            item.documentation = said.or(item.documentation.take());
            continue;
        }
        let is_mapping = described.types.iter().any(|one| one == "object");
        let ending = if is_mapping { ":" } else { ": " };
        items.push(CompletionItem {
            label: name.clone(),
            detail: Some("of the schema".to_owned()),
            documentation: said,
            ..item(place, at.start, &format!("{name}{ending}"), CompletionItemKind::PROPERTY)
        });
    }
    items
}

/// A key that files have, with its value in the first of them.
fn known_key(place: &Cursor<'_>, at: &KeyPlace, known: &KnownKey, text: &str) -> CompletionItem {
    let kind = if known.is_mapping { CompletionItemKind::MODULE } else { CompletionItemKind::PROPERTY };
    let detail = match &known.value {
        Some(value) => Some(in_words(value, false)),
        None => known.is_mapping.then(|| "a mapping".to_owned()),
    };
    let files: Vec<&str> = known.files.iter().map(|name| &**name).collect();
    let files = format!("{}: {}", count(files.len(), "file"), first_names(&files));
    CompletionItem { detail, documentation: Some(documentation(files)), ..item(place, at.start, text, kind) }
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
