//! Abbreviates long texts for messages: a key can have 16 MiB, and a log must hold it.

use std::borrow::Cow;

use crate::path::join_path;
use crate::value::Key;

/// Maximum number of characters of a message, a path, a note or a help.
pub const MOST: usize = 2_000;

/// Characters kept from the end, which is the significant part of names of references and files.
const LAST: usize = 500;

/// The text itself, or its beginning and end, with the number of characters between them.
pub fn short(text: &str) -> Cow<'_, str> {
    // A character has at least one byte.
    if text.len() <= MOST {
        return Cow::Borrowed(text);
    }
    let count = text.chars().count();
    if count <= MOST {
        return Cow::Borrowed(text);
    }
    // Reserve space for the text in the middle.
    let first = MOST - LAST - 40;
    let begin = text.char_indices().nth(first).map_or(text, |(offset, _)| &text[..offset]);
    let end = text.char_indices().nth_back(LAST - 1).map_or(text, |(offset, _)| &text[offset..]);
    Cow::Owned(format!("{begin} … {} characters … {end}", count - first - LAST))
}

/// `join_path` with abbreviated keys. A key of many MiB is not copied for each diagnostic below it.
pub fn short_path(path: &[Key], delimiter: &str) -> String {
    let keys = path.iter().map(|key| match key.as_str() {
        Some(text) if text.len() > MOST => Key::from(&*short(text)),
        _ => key.clone(),
    });
    join_path(&keys.collect::<Vec<Key>>(), delimiter)
}

#[cfg(test)]
mod tests {
    use super::{MOST, short};

    #[test]
    fn a_long_text_keeps_its_ends() {
        for text in ["", "a", &"ä".repeat(MOST)] {
            assert_eq!(short(text), text);
        }
        let long = format!("begin{}end", "ä".repeat(8_000_000));
        let shown = short(&long);
        assert!(shown.chars().count() <= MOST, "{}", shown.chars().count());
        assert!(shown.starts_with("beginä") && shown.ends_with("äend"), "{shown}");
        assert!(shown.contains(" … 7998048 characters … "), "{shown}");
    }
}
