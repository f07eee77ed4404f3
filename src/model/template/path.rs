//! The inside of a reference turns into a path and its default.

use super::FixedPath;
use crate::base::path::{find, split_path};

/// Splits the flattened inside of a reference into path and default (R7).
pub fn split_default(inside: &str, delimiter: &str) -> FixedPath {
    match find_default(inside, delimiter) {
        Some((path, default)) => {
            FixedPath { segments: split_path(path, delimiter), default: Some(default.into()) }
        }
        None => FixedPath { segments: split_path(inside, delimiter), default: None },
    }
}

/// The path and the default, where there is one.
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

/// How many bytes the first letter of a text has.
pub(super) fn first_char(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}
