//! Short texts are those that a log can hold: a key or a name of 16 MiB is shown by its ends.

use std::borrow::Cow;

use crate::base::path::join_path;
use crate::base::value::Key;

/// How many characters are shown of one text: the sentence of a problem, a path in it, a remark, a way out.
pub const MOST: usize = 2_000;

/// How many of them come from the end, where the names of references and files tell most.
const LAST: usize = 500;

/// The text itself, or its beginning and end, with the number of characters between them.
pub fn short(text: &str) -> Cow<'_, str> {
    // No character is less than a byte.
    if text.len() <= MOST {
        return Cow::Borrowed(text);
    }
    let count = text.chars().count();
    if count <= MOST {
        return Cow::Borrowed(text);
    }
    // The words in the middle count too.
    let first = MOST - LAST - 40;
    let begin = text.char_indices().nth(first).map_or(text, |(offset, _)| &text[..offset]);
    let end = text.char_indices().nth_back(LAST - 1).map_or(text, |(offset, _)| &text[offset..]);
    Cow::Owned(format!("{begin} … {} characters … {end}", count - first - LAST))
}

/// The path of a parameter for a problem: [`join_path`] with short keys. A key of many MiB is not copied for
/// each of the problems below it.
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
