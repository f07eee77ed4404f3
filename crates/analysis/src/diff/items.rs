//! Compares two lists: the items that the old one lost and the new one gained.

use rustc_hash::FxHashMap;

use super::values::equal_or_nan;
use crate::explain::ValuePlace;
use reclass_base::pystr::repr;
use reclass_base::value::Value;

/// One item that a list loses or gains.
#[derive(Clone, Debug)]
pub(crate) struct ListItem {
    /// Whether only the new list has it.
    pub added: bool,
    /// Whether the list loses and gains it: it only changes its place.
    pub moved: bool,
    /// Its index in the list that has it.
    pub index: usize,
    pub place: Option<ValuePlace>,
}

/// Maximum number of item pairs to compare. Longer lists are reported as removed and added entirely.
const LARGEST: usize = 250_000;

/// The changes between two lists, by their longest common subsequence.
pub(super) fn items(old: &[Value], new: &[Value]) -> Vec<ListItem> {
    let before = old.iter().zip(new).take_while(|(old, new)| equal_or_nan(old, new)).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after =
        old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| equal_or_nan(old, new)).count();
    let (old, new) = (&old[..old.len() - after], &new[..new.len() - after]);
    let gone = |index: usize| ListItem { added: false, moved: false, index: before + index, place: None };
    let added = |index: usize| ListItem { added: true, moved: false, index: before + index, place: None };
    if old.len().saturating_mul(new.len()) > LARGEST {
        return (0..old.len()).map(gone).chain((0..new.len()).map(added)).collect();
    }
    let width = new.len() + 1;
    let mut lengths = vec![0u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = if equal_or_nan(&old[i], &new[j]) {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut items = Vec::new();
    while i < old.len() || j < new.len() {
        let length = |i: usize, j: usize| lengths[i * width + j];
        if i < old.len() && j < new.len() && equal_or_nan(&old[i], &new[j]) {
            i += 1;
            j += 1;
        } else if j == new.len() || (i < old.len() && length(i + 1, j) >= length(i, j + 1)) {
            items.push(gone(i));
            i += 1;
        } else {
            items.push(added(j));
            j += 1;
        }
    }
    items
}

/// Marks the items that the old list loses and the new one gains: they moved.
pub(super) fn mark_moved(items: &mut [ListItem], old: &[Value], new: &[Value]) {
    let mut gone: FxHashMap<String, Vec<usize>> = FxHashMap::default();
    let text =
        |item: &ListItem| if item.added { new } else { old }.get(item.index).map(repr).unwrap_or_default();
    for (at, item) in items.iter().enumerate().rev().filter(|(_, item)| !item.added) {
        gone.entry(text(item)).or_default().push(at);
    }
    for at in 0..items.len() {
        if items[at].added
            && let Some(before) = gone.get_mut(&text(&items[at])).and_then(Vec::pop)
        {
            (items[at].moved, items[before].moved) = (true, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_differ_by_their_items() {
        let list = |text: &str| text.split_whitespace().map(Value::text).collect::<Vec<_>>();
        for (old, new, expected) in [
            ("a b c", "a c d", "-1 +2"),
            ("a b", "a x b", "+1"),
            ("a a", "a", "-1"),
            ("a b", "b a", "-0 +1"),
            ("", "a", "+0"),
            ("a", "a", ""),
        ] {
            let items = items(&list(old), &list(new)).into_iter();
            let found = items.map(|item| format!("{}{}", if item.added { '+' } else { '-' }, item.index));
            assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{old} -> {new}");
        }
    }
}
