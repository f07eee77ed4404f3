//! Parameter paths: converts between keys and the notation `a:b:c`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::{Serialize, Serializer};

use crate::value::{Key, Text};

/// A path that shows itself in the notation of references.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct KeyPath {
    keys: Vec<Key>,
    delimiter: Text,
}

impl KeyPath {
    /// The path of these keys.
    pub fn new(keys: impl Into<Vec<Key>>, delimiter: &Text) -> KeyPath {
        KeyPath { keys: keys.into(), delimiter: delimiter.clone() }
    }

    /// The path from `outer` on, which it begins with.
    pub fn below(&self, outer: &[Key]) -> String {
        join_path(&self.keys[outer.len().min(self.keys.len())..], &self.delimiter)
    }
}

impl Deref for KeyPath {
    type Target = [Key];
    fn deref(&self) -> &[Key] {
        &self.keys
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&join_path(&self.keys, &self.delimiter))
    }
}

impl Serialize for KeyPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A path in the notation of references; a delimiter in a key is escaped (R8).
pub fn join_path(path: &[Key], delimiter: &str) -> String {
    let mut joined = String::new();
    for (at, key) in path.iter().enumerate() {
        if at > 0 {
            joined.push_str(delimiter);
        }
        let text = key.as_str().map_or_else(|| crate::pystr::str(&key.0).into(), Cow::Borrowed);
        match find(&text, delimiter) {
            Some(_) => joined.push_str(&text.replace(delimiter, &format!("\\{delimiter}"))),
            None => joined.push_str(&text),
        }
    }
    joined
}

/// Splits a path at the unescaped delimiters; `\:` is a delimiter in a key (R8).
pub fn split_path(text: &str, delimiter: &str) -> Vec<Text> {
    let mut segments = Vec::new();
    let mut segment = String::new();
    let mut rest = text;
    loop {
        match find(rest, delimiter) {
            Some(at) if rest[..at].ends_with('\\') => {
                segment.push_str(&rest[..at - 1]);
                segment.push_str(delimiter);
                rest = &rest[at + delimiter.len()..];
            }
            Some(at) => {
                segments.push(append_to(&mut segment, &rest[..at]));
                rest = &rest[at + delimiter.len()..];
            }
            None => {
                segments.push(append_to(&mut segment, rest));
                return segments;
            }
        }
    }
}

/// A text after its prefix, which is mostly empty.
fn append_to(before: &mut String, text: &str) -> Text {
    if before.is_empty() {
        return text.into();
    }
    before.push_str(text);
    std::mem::take(before).into()
}

/// A list index as Python's `int()` reads it: with sign, outer spaces, single underscores between
/// digits. Negative indexes count from the end (R10).
pub fn list_index(text: &str, length: usize) -> Option<usize> {
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let plain = digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    if !plain {
        return None;
    }
    let number: usize = digits.replace('_', "").parse().ok()?;
    let at = if trimmed.starts_with('-') { length.checked_sub(number)? } else { number };
    (at < length).then_some(at)
}

/// The first occurrence of a non-empty text in another. `str::find` builds a search table, which
/// costs more than scanning a short text.
pub fn find(text: &str, wanted: &str) -> Option<usize> {
    if let [byte] = wanted.as_bytes() {
        return text.bytes().position(|other| other == *byte);
    }
    if text.len() > 1000 {
        return text.find(wanted);
    }
    text.as_bytes().windows(wanted.len()).position(|here| here == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_split_at_plain_delimiters() {
        let split = |text: &str| split_path(text, ":").iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(split("a:b"), ["a", "b"]);
        assert_eq!(split(r"a\:b:c"), ["a:b", "c"]);
        assert_eq!(split(""), [""]);
        assert_eq!(split("a:"), ["a", ""]);
    }
}
