//! Turns text into nodes with places, and values into text, exactly as `PyYAML` does: inventories were written for it.
//!
//! Invariants: it knows nothing of inventories, files or references. Only `resolve` decides what a plain scalar is. Every
//! node has its place in the text.
//!
//! Read first: `compose`, `resolve`, `emit`.

pub mod compose;
mod construct;
pub mod emit;
#[allow(missing_docs, reason = "the fields have the names of libyaml")]
pub mod events;
mod layout;
mod order;
pub mod outline;
mod parse;
mod resolve;
mod scan;
mod scan_scalar;
mod scan_tag;
mod slip;
mod straight;
pub mod sub_span;
mod timestamp;

use compose::{Data, Node};
use reclass_base::error::Result;
use reclass_base::stack::grow;
use reclass_base::value::{Map, Value};
pub use slip::is_tight_mapping;

/// The line breaks of YAML 1.1.
pub fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The offset of a place in a text: line and column in characters, from one, as YAML counts them. Its line breaks are
/// more than those of an editor.
pub fn offset_of(text: &str, line: u32, column: u32) -> Option<usize> {
    let bytes = text.as_bytes();
    let breaks = text.match_indices(is_break);
    let breaks = breaks.filter(|(at, found)| *found != "\r" || bytes.get(at + 1) != Some(&b'\n'));
    // A mark of the byte order is no character of the first line.
    let first = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut begins = std::iter::once(first).chain(breaks.map(|(at, found)| at + found.len()));
    let begin = begins.nth(line.checked_sub(1)? as usize)?;
    let mut ends = text[begin..].char_indices().map(|(at, _)| begin + at).chain([text.len()]);
    ends.nth(column.checked_sub(1)? as usize)
}

/// Reads a small YAML text, such as the default of a setting or a reference, as one value.
pub fn parse_value(text: &str) -> Result<Value> {
    if let Some(value) = word(text) {
        return Ok(value);
    }
    let document = compose::compose(text.as_bytes())?;
    Ok(document.root.as_ref().map_or(Value::Null, to_value))
}

/// Fast path: the value of a single word or number, as most defaults are.
fn word(text: &str) -> Option<Value> {
    let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_word.then(|| resolve::construct(resolve::implicit(text), text).ok()).flatten()
}

/// The value of a node, without positions.
pub fn to_value(node: &Node) -> Value {
    match &node.data {
        Data::Value(value) => value.clone(),
        // Both containers: documents are at most `compose::DEPTH` deep.
        Data::List(items) => grow(|| Value::list(items.iter().map(to_value).collect())),
        Data::Map(entries) => grow(|| {
            let mut map = Map::with_capacity(entries.len());
            for entry in entries.iter() {
                if !map.contains_key(&entry.key) {
                    map.insert(entry.key.clone(), to_value(&entry.value));
                }
            }
            Value::map(map)
        }),
    }
}
