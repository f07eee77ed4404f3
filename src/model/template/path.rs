//! Splits the inside of a reference into its path and its default.

use super::FixedPath;
use reclass_base::path::{find, split_path};

/// Splits the inside of a reference without nested references (R7).
pub fn split_default(inside: &str, delimiter: &str) -> FixedPath {
    match find_default(inside, delimiter) {
        Some((path, default)) => {
            FixedPath { segments: split_path(path, delimiter), default: Some(default.into()) }
        }
        None => FixedPath { segments: split_path(inside, delimiter), default: None },
    }
}

/// The path and the default, if there is one.
pub(super) fn find_default<'t>(inside: &'t str, delimiter: &str) -> Option<(&'t str, &'t str)> {
    let mut from = 0;
    loop {
        let at = from + find(&inside[from..], delimiter)?;
        let behind = &inside[at + delimiter.len()..];
        if let Some(default) = behind.strip_prefix(delimiter) {
            return Some((&inside[..at], default));
        }
        from = at + first_char(&inside[at..]);
    }
}

/// The length in bytes of the first character.
pub(super) fn first_char(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}
