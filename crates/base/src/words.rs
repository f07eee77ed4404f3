//! Numbers and names in sentences.

use std::fmt::Write as _;
use std::ops::Deref;

use crate::error::inert;

/// `1 node`, `2 nodes`.
pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The first names and the number of further ones.
pub fn listed<T: Deref<Target = str>>(names: &[T], most: usize) -> String {
    let mut text = names.iter().take(most).map(|name| inert(name)).collect::<Vec<_>>().join(", ");
    if let Some(more @ 1..) = names.len().checked_sub(most) {
        let _ = write!(text, " and {more} more");
    }
    text
}
