//! A table is an ordered mapping whose keys other tables may share.
//!
//! A map of slots, the maps that are merged from it without a new key, and the maps of values that
//! they come to have the same keys in the same order. They share one index ([`Keys`]), so that
//! making one from another hashes nothing and stores the values alone.

use std::hash::Hash;
use std::sync::Arc;

use indexmap::Equivalent;

use crate::base::keys::{KeyPosition, Keys};
use crate::base::value::Key;

/// An ordered mapping.
#[derive(Clone, Debug)]
pub struct Table<V> {
    keys: Arc<Keys>,
    /// In the order of the keys, as many.
    values: Vec<V>,
}

impl<V> Table<V> {
    /// An empty table with room for entries.
    pub fn with_capacity(capacity: usize) -> Table<V> {
        Table { keys: Arc::new(Keys::with_capacity(capacity)), values: Vec::with_capacity(capacity) }
    }

    /// A table with the same keys; `None` unless there is a value for each.
    pub fn with_keys_of<W>(other: &Table<W>, values: Vec<V>) -> Option<Table<V>> {
        Table::with_keys(other.keys.clone(), values)
    }

    /// A table with these keys; `None` unless there is a value for each.
    pub fn with_keys(keys: Arc<Keys>, values: Vec<V>) -> Option<Table<V>> {
        (values.len() == keys.len()).then_some(Table { keys, values })
    }

    /// The index of the keys.
    pub fn shared_keys(&self) -> &Arc<Keys> {
        &self.keys
    }

    /// Takes an index in place of its own, if it has the same keys in the same order.
    pub fn take_keys(&mut self, keys: &Arc<Keys>) -> bool {
        let same = keys.are(self.keys.iter());
        if same {
            self.keys = keys.clone();
        }
        same
    }

    /// Whether both have the very same keys, in one allocation.
    pub fn shares_keys<W>(&self, other: &Table<W>) -> bool {
        Arc::ptr_eq(&self.keys, &other.keys)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The place of a key.
    pub fn get_index_of<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> Option<usize> {
        if self.is_empty() { None } else { self.keys.get_index_of(key) }
    }

    /// The value of a key.
    pub fn get<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> Option<&V> {
        self.get_index_of(key).map(|index| &self.values[index])
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: ?Sized + Hash + Equivalent<Key>>(&mut self, key: &Q) -> Option<&mut V> {
        self.get_index_of(key).map(|index| &mut self.values[index])
    }

    /// The entry at a place.
    pub fn get_index(&self, index: usize) -> Option<(&Key, &V)> {
        Some((self.keys.get_index(index)?, self.values.get(index)?))
    }

    /// The entry at a place, its value to be changed.
    pub fn get_index_mut(&mut self, index: usize) -> Option<(&Key, &mut V)> {
        Some((self.keys.get_index(index)?, self.values.get_mut(index)?))
    }

    /// Whether there is such a key.
    pub fn contains_key<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> bool {
        self.get_index_of(key).is_some()
    }

    /// The first entry.
    pub fn first(&self) -> Option<(&Key, &V)> {
        self.get_index(0)
    }

    /// Sets the value of a key; a new one comes last. Gives back the earlier value.
    pub fn insert(&mut self, key: Key, value: V) -> Option<V> {
        if let Ok(index) = self.place(key) {
            return Some(std::mem::replace(&mut self.values[index], value));
        }
        self.values.push(value);
        None
    }

    /// Sets the value of a key to what `merge` makes of the earlier value, if there is one.
    pub fn merge(&mut self, key: Key, merge: impl FnOnce(Option<V>) -> V)
    where
        V: Default,
    {
        match self.place(key) {
            Ok(index) => self.change(index, merge),
            Err(_) => self.values.push(merge(None)),
        }
    }

    /// Merges the entries of another table one by one, as [`Table::merge`] does. Tables with the
    /// same keys that were merged before have the same keys in the end, and nothing is hashed.
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
        if let Some((keys, places)) = self.keys.union(&other.keys) {
            self.keys = keys;
            for (place, later) in places.iter().zip(&other.values) {
                match *place as usize {
                    place if place < self.values.len() => self.change(place, |earlier| merge(earlier, later)),
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

    /// The place of a key, or the place that it has now, without a value.
    fn place(&mut self, key: Key) -> KeyPosition {
        if let Some(keys) = Arc::get_mut(&mut self.keys) {
            keys.insert(key)
        } else if let Some(index) = self.keys.get_index_of(&key) {
            Ok(index)
        } else {
            let mut keys = self.keys.extended();
            let place = keys.insert(key);
            self.keys = Arc::new(keys);
            place
        }
    }

    /// Sets the value of a new key that comes at a place; what was there and behind moves on.
    pub fn shift_insert(&mut self, index: usize, key: Key, value: V) {
        if let Some(earlier) = self.keys.get_index_of(&key) {
            self.shift_remove_index(earlier);
        }
        let index = index.min(self.len());
        match Arc::get_mut(&mut self.keys) {
            Some(keys) => keys.shift_insert(index, key),
            None => self.keys = self.keys.with(index, key),
        }
        self.values.insert(index, value);
    }

    /// Takes an entry out; what is behind moves up.
    pub fn shift_remove_index(&mut self, index: usize) -> Option<(Key, V)> {
        if Arc::get_mut(&mut self.keys).is_none() {
            self.keys = Arc::new(self.keys.extended());
        }
        let key = Arc::get_mut(&mut self.keys)?.shift_remove_index(index)?;
        Some((key, self.values.remove(index)))
    }

    /// The keys.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Key> + ExactSizeIterator + Clone {
        self.keys.iter()
    }

    /// The values.
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.values.iter()
    }

    /// The values, to be changed.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.values.iter_mut()
    }

    /// The entries, their values to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Key, &mut V)> {
        self.keys.iter().zip(self.values.iter_mut())
    }

    /// The entries.
    pub fn iter(&self) -> Iter<'_, V> {
        self.keys.iter().zip(self.values.iter())
    }
}

/// The entries of a table.
pub type Iter<'a, V> = std::iter::Zip<crate::base::keys::Iter<'a>, std::slice::Iter<'a, V>>;

impl<V> Default for Table<V> {
    fn default() -> Table<V> {
        Table { keys: Arc::default(), values: Vec::new() }
    }
}

/// Equal are tables with equal entries, in whatever order.
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
        let keys = Arc::try_unwrap(self.keys).unwrap_or_else(|shared| shared.extended());
        keys.into_iter().zip(self.values)
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
