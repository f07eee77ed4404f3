//! Marks in a text: links to classes, colours of references and queries, and values behind references.

use std::ops::Range;

use crate::editor::{InventoryNames, Item, ItemAt, outline, queries_in, references_in};
use lsp_types::{
    DocumentLink, InlayHint, InlayHintLabel, SemanticToken, SemanticTokenType, SemanticTokensLegend,
};
use reclass::value::{Key, Text};

use crate::answers::hover::first_names;
use crate::answers::{in_words, listed};
use crate::text::{Encoding, Lines, uri_of};
use crate::workspace::Cursor;

/// The kinds of coloured text: references, queries.
pub fn legend() -> SemanticTokensLegend {
    let token_types = vec![SemanticTokenType::VARIABLE, SemanticTokenType::MACRO];
    SemanticTokensLegend { token_types, token_modifiers: Vec::new() }
}

/// The links of the class lists. That of a pattern leads to the first of its classes, and names them.
pub fn links(place: &Cursor<'_>) -> Vec<DocumentLink> {
    let names = &place.workspace.names;
    let lines = Lines::new(place.text, place.encoding);
    let link = |(bytes, classes): (Range<usize>, Vec<&Text>)| {
        let target = uri_of(&*names.classes.get(*classes.first()?)?.path);
        let all: Vec<&str> = classes.iter().map(|name| &***name).collect();
        let tooltip = (all.len() > 1).then(|| format!("{} classes: {}", all.len(), first_names(&all)));
        Some(DocumentLink { range: lines.range(&bytes), target, tooltip, data: None })
    };
    listed(names, place.path, place.text).into_iter().filter_map(link).collect()
}

/// The links of the class mappings in the text of a settings file.
pub fn mapping_links(names: &InventoryNames, text: &str, encoding: Encoding) -> Vec<DocumentLink> {
    let (lines, sections) = (Lines::new(text, encoding), outline(text));
    let mappings = sections.iter().filter(|section| section.name == "class_mappings");
    let mut found = Vec::new();
    for mapping in mappings.flat_map(|section| &section.inner) {
        let mut start = mapping.key.start;
        for (number, word) in text[mapping.key.clone()].split(' ').enumerate() {
            // The first word is the pattern of nodes.
            if let Some(class) = names.classes.get(word).filter(|_| number > 0) {
                let range = lines.range(&(start..start + word.len()));
                found.push(DocumentLink { range, target: uri_of(&*class.path), tooltip: None, data: None });
            }
            start += word.len() + 1;
        }
    }
    found
}

/// The references and queries of the text, in order.
pub fn tokens(place: &Cursor<'_>) -> Vec<SemanticToken> {
    let settings = place.workspace.inventory.settings();
    let references = references_in(place.text, settings).into_iter().map(|found| (found.range, 0));
    let queries = queries_in(place.text, settings).into_iter().map(|bytes| (bytes, 1));
    let mut found: Vec<(Range<usize>, u32)> = references.chain(queries).collect();
    found.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
    // A reference in a query would be a token in a token.
    let mut end = 0;
    found.retain(|(bytes, _)| {
        let is_free = bytes.start >= end;
        end = end.max(bytes.end);
        is_free
    });
    let lines = Lines::new(place.text, place.encoding);
    let (mut line, mut column) = (0, 0);
    let token = |(bytes, token_type): (Range<usize>, u32)| {
        let range = lines.range(&bytes);
        let delta_line = range.start.line - line;
        let delta_start =
            if delta_line == 0 { range.start.character - column } else { range.start.character };
        (line, column) = (range.start.line, range.start.character);
        let length = range.end.character.saturating_sub(range.start.character);
        SemanticToken { delta_line, delta_start, length, token_type, token_modifiers_bitset: 0 }
    };
    found.into_iter().map(token).collect()
}

/// The values behind the references in these lines, for the node whose values are shown; none while it has errors.
pub fn hints(place: &Cursor<'_>, wanted: &Range<u32>) -> Vec<InlayHint> {
    let settings = place.workspace.inventory.settings();
    let Some(parameters) = place.node().and_then(|node| place.workspace.rendered(&node)) else {
        return Vec::new();
    };
    let secrets = place.workspace.redaction().secrets;
    let lines = Lines::new(place.text, place.encoding);
    let hint = |found: ItemAt| {
        let Item::Reference(path) = found.item else { return None };
        let position = lines.position(found.range.end + settings.reference_sentinels.1.len());
        if !wanted.contains(&position.line) {
            return None;
        }
        let keys: Vec<Key> = path.split(&*settings.delimiter).map(Key::from).collect();
        let value = keys.iter().try_fold(&parameters, |value, key| value.as_map()?.get(key))?;
        let text = in_words(value, secrets.covers(&keys));
        Some(InlayHint {
            position,
            label: InlayHintLabel::String(format!("= {text}")),
            kind: None,
            text_edits: None,
            tooltip: None,
            padding_left: Some(true),
            padding_right: None,
            data: None,
        })
    };
    references_in(place.text, settings).into_iter().filter_map(hint).collect()
}
