//! An ordered mapping that can share its keys with other tables.
//!
//! Merging a map without adding a key, and evaluating it, keep its keys and their order. All these
//! maps share one index ([`Keys`]): making one from another hashes no key and stores only values.

use std::hash::Hash;
use std::sync::Arc;

use indexmap::Equivalent;

use crate::keys::{KeyPosition, Keys};
use crate::value::Key;

/// An ordered mapping.
#[derive(Clone, Debug)]
pub struct Table<V> {
    keys: Arc<Keys>,
    /// One per key, in the order of the keys.
    values: Vec<V>,
}

impl<V> Table<V> {
    /// An empty table with capacity for entries.
    pub fn with_capacity(capacity: usize) -> Table<V> {
        Table { keys: Arc::new(Keys::with_capacity(capacity)), values: Vec::with_capacity(capacity) }
    }

    /// A table with the keys of another one; `None` unless each key has a value.
    pub fn with_keys_of<W>(other: &Table<W>, values: Vec<V>) -> Option<Table<V>> {
        Table::with_keys(other.keys.clone(), values)
    }

    /// A table with these keys; `None` unless each key has a value.
    pub fn with_keys(keys: Arc<Keys>, values: Vec<V>) -> Option<Table<V>> {
        (values.len() == keys.len()).then_some(Table { keys, values })
    }

    /// The index of the keys.
    pub fn shared_keys(&self) -> &Arc<Keys> {
        &self.keys
    }

    /// Replaces the index by another one that has the same keys in the same order. Returns true if it did.
    pub fn take_keys(&mut self, keys: &Arc<Keys>) -> bool {
        let same = keys.are(self.keys.iter());
        if same {
            self.keys = keys.clone();
        }
        same
    }

    /// True if both use the same index.
    pub fn shares_keys<W>(&self, other: &Table<W>) -> bool {
        Arc::ptr_eq(&self.keys, &other.keys)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The position of a key.
    pub fn get_index_of<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> Option<usize> {
        if self.is_empty() { None } else { self.keys.get_index_of(key) }
    }

    /// The value of a key.
    pub fn get<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> Option<&V> {
        self.get_index_of(key).map(|index| &self.values[index])
    }

    /// The value of a key, mutable.
    pub fn get_mut<Q: ?Sized + Hash + Equivalent<Key>>(&mut self, key: &Q) -> Option<&mut V> {
        self.get_index_of(key).map(|index| &mut self.values[index])
    }

    /// The entry at a position.
    pub fn get_index(&self, index: usize) -> Option<(&Key, &V)> {
        Some((self.keys.get_index(index)?, self.values.get(index)?))
    }

    /// The entry at a position, its value mutable.
    pub fn get_index_mut(&mut self, index: usize) -> Option<(&Key, &mut V)> {
        Some((self.keys.get_index(index)?, self.values.get_mut(index)?))
    }

    /// True if the table has the key.
    pub fn contains_key<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> bool {
        self.get_index_of(key).is_some()
    }

    /// The first entry.
    pub fn first(&self) -> Option<(&Key, &V)> {
        self.get_index(0)
    }

    /// Sets the value of a key; a new key comes last. Returns the previous value.
    pub fn insert(&mut self, key: Key, value: V) -> Option<V> {
        if let Ok(index) = self.position_or_insert(key) {
            return Some(std::mem::replace(&mut self.values[index], value));
        }
        self.values.push(value);
        None
    }

    /// Sets the value of a key to the result of `merge`, which gets the previous value.
    pub fn merge(&mut self, key: Key, merge: impl FnOnce(Option<V>) -> V)
    where
        V: Default,
    {
        match self.position_or_insert(key) {
            Ok(index) => self.change(index, merge),
            Err(_) => self.values.push(merge(None)),
        }
    }

    /// Merges the entries of another table one by one, as [`Table::merge`] does. If the same two
    /// indexes were merged before, the result uses the same index, and no key is hashed.
    pub fn merge_all<W>(&mut self, other: &Table<W>, mut merge: impl FnMut(Option<V>, &W) -> V)
    where
        V: Default,
    {
        if self.shares_keys(other) {
            for (index, later) in other.values.iter().enumerate() {
                self.change(index, |earlier| merge(earlier, later));
            }
            return;
        }
        if let Some((keys, positions)) = self.keys.union(&other.keys) {
            self.keys = keys;
            for (position, later) in positions.iter().zip(&other.values) {
                match *position as usize {
                    at if at < self.values.len() => self.change(at, |earlier| merge(earlier, later)),
                    _ => self.values.push(merge(None, later)),
                }
            }
            return;
        }
        for (key, later) in other {
            self.merge(key.clone(), |earlier| merge(earlier, later));
        }
    }

    fn change(&mut self, index: usize, merge: impl FnOnce(Option<V>) -> V)
    where
        V: Default,
    {
        let earlier = std::mem::take(&mut self.values[index]);
        self.values[index] = merge(Some(earlier));
    }

    /// The position of a key, or the position of a new key, which has no value yet.
    fn position_or_insert(&mut self, key: Key) -> KeyPosition {
        if Arc::get_mut(&mut self.keys).is_none()
            && let Some(index) = self.keys.get_index_of(&key)
        {
            return Ok(index);
        }
        Arc::make_mut(&mut self.keys).insert(key)
    }

    /// Inserts an entry at a position; the entries from there on move back.
    pub fn shift_insert(&mut self, index: usize, key: Key, value: V) {
        if let Some(earlier) = self.keys.get_index_of(&key) {
            self.shift_remove_index(earlier);
        }
        let index = index.min(self.len());
        Arc::make_mut(&mut self.keys).shift_insert(index, key);
        self.values.insert(index, value);
    }

    /// Removes an entry; the entries after it move up.
    pub fn shift_remove_index(&mut self, index: usize) -> Option<(Key, V)> {
        let key = Arc::make_mut(&mut self.keys).shift_remove_index(index)?;
        Some((key, self.values.remove(index)))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Key> + ExactSizeIterator + Clone {
        self.keys.iter()
    }

    /// The values, in the order of the keys.
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.values.iter()
    }

    /// The values, mutable.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.values.iter_mut()
    }

    /// The entries, their values mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Key, &mut V)> {
        self.keys.iter().zip(self.values.iter_mut())
    }

    /// The entries.
    pub fn iter(&self) -> Iter<'_, V> {
        self.keys.iter().zip(self.values.iter())
    }
}

/// The entries of a table.
pub type Iter<'a, V> = std::iter::Zip<crate::keys::Iter<'a>, std::slice::Iter<'a, V>>;

impl<V> Default for Table<V> {
    fn default() -> Table<V> {
        Table { keys: Arc::default(), values: Vec::new() }
    }
}

/// The order of the entries does not count.
impl<V: PartialEq> PartialEq for Table<V> {
    fn eq(&self, other: &Table<V>) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<V> FromIterator<(Key, V)> for Table<V> {
    fn from_iter<I: IntoIterator<Item = (Key, V)>>(entries: I) -> Table<V> {
        let entries = entries.into_iter();
        let mut table = Table::with_capacity(entries.size_hint().0);
        table.extend(entries);
        table
    }
}

impl<V> Extend<(Key, V)> for Table<V> {
    fn extend<I: IntoIterator<Item = (Key, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<'a, V> IntoIterator for &'a Table<V> {
    type Item = (&'a Key, &'a V);
    type IntoIter = Iter<'a, V>;
    fn into_iter(self) -> Iter<'a, V> {
        self.iter()
    }
}

impl<V> IntoIterator for Table<V> {
    type Item = (Key, V);
    type IntoIter = std::iter::Zip<indexmap::set::IntoIter<Key>, std::vec::IntoIter<V>>;
    fn into_iter(self) -> Self::IntoIter {
        Arc::unwrap_or_clone(self.keys).into_iter().zip(self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(keys: &[&str]) -> Table<usize> {
        keys.iter().enumerate().map(|(index, key)| (Key::from(*key), index)).collect()
    }

    #[test]
    fn keys_are_shared_until_one_is_new() {
        let first = table(&["a", "b"]);
        let mut other = Table::with_keys_of(&first, vec!["x", "y"]).expect("as many");
        assert!(first.shares_keys(&other));
        assert_eq!(other.insert("b".into(), "z"), Some("y"));
        assert!(first.shares_keys(&other));
        assert_eq!(other.insert("c".into(), "w"), None);
        assert!(!first.shares_keys(&other));
        assert_eq!((first.len(), other.len()), (2, 3));
        assert!(!first.contains_key("c"));
    }

    #[test]
    fn entries_move() {
        let mut moved = table(&["a", "b", "c"]);
        moved.shift_insert(1, "d".into(), 9);
        moved.shift_insert(0, "c".into(), 8);
        let entries: Vec<(&str, usize)> =
            moved.iter().filter_map(|(key, value)| Some((key.as_str()?, *value))).collect();
        assert_eq!(entries, [("c", 8), ("a", 0), ("d", 9), ("b", 1)]);
        assert_eq!(moved.shift_remove_index(1), Some(("a".into(), 0)));
        assert_eq!(moved.get("b"), Some(&1));
    }

    #[test]
    fn each_key_has_a_value() {
        assert_eq!(Table::with_keys_of(&table(&["a", "b"]), vec![1]), None);
    }
}
