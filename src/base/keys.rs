//! The index of a table: its keys in order, and a cache of the indexes derived from it.
//!
//! Similar nodes add the same few keys to the same hundreds. An index therefore caches its unions
//! with other indexes, as the hidden classes of JavaScript engines do: the same union is the same
//! index again, and no key is hashed. If few keys are added to many, the index shares the many as
//! its base and owns only the tail.

use std::hash::Hash;
use std::sync::{Arc, Weak};

use hashbrown::{DefaultHashBuilder, HashMap};
use indexmap::{Equivalent, IndexSet};
use rustc_hash::FxHashMap;

use crate::base::lock::Mutex;
use crate::base::value::Key;

/// The keys of tables, in their order.
#[derive(Default, Debug)]
pub struct Keys {
    /// The shared first keys. A base has no base of its own.
    base: Option<Arc<Keys>>,
    /// The keys after the base. Keys of the earlier pillar can come from strangers, so the hash is seeded.
    tail: IndexSet<Key, DefaultHashBuilder>,
    /// A cache of derived indexes, by weak pointers.
    derived: Mutex<Option<Box<Derived>>>,
}

/// The position of a key that was there (`Ok`) or that was added (`Err`).
pub type KeyPosition = Result<usize, usize>;

/// The indexes derived from one index.
#[derive(Default, Debug)]
struct Derived {
    /// Unions, by the address of the other index.
    unions: FxHashMap<usize, Union>,
    /// Indexes with one more key, by its position and the key.
    single: HashMap<(usize, Key), Weak<Keys>>,
}

/// The union with another index.
#[derive(Debug)]
struct Union {
    /// The other index. The weak pointer keeps its address from being used again.
    other: Weak<Keys>,
    /// The position of each key of the other index, and the union; `None` after the first request.
    cached: Option<(Arc<[u32]>, Weak<Keys>)>,
}

/// Initializes the seed of the hash. A fork during the initialization would block the child, so the
/// Python module calls this under the GIL, before there are threads.
pub fn seed() {
    let _ = DefaultHashBuilder::default();
}

/// Number of cached entries from which dead ones are removed.
const SWEEP_FROM: usize = 16;

/// Minimum base-to-tail ratio for sharing the base; keys in the tail cost a second probe.
const BASE_RATIO: usize = 4;

impl Keys {
    /// No keys, with capacity for some.
    pub fn with_capacity(capacity: usize) -> Keys {
        Keys {
            tail: IndexSet::with_capacity_and_hasher(capacity, DefaultHashBuilder::default()),
            ..Keys::default()
        }
    }

    /// The same keys, to be extended. Shares the base if that pays.
    pub fn extended(self: &Arc<Keys>) -> Keys {
        match &self.base {
            None if self.tail.len() >= BASE_RATIO => Keys { base: Some(self.clone()), ..Keys::default() },
            Some(base) if base.len() >= BASE_RATIO * (self.tail.len() + 1) => {
                Keys { base: Some(base.clone()), tail: self.tail.clone(), ..Keys::default() }
            }
            _ => self.flattened(),
        }
    }

    /// The same keys without a base.
    fn flattened(&self) -> Keys {
        let Some(base) = &self.base else { return Keys { tail: self.tail.clone(), ..Keys::default() } };
        let mut tail = base.tail.clone();
        tail.extend(self.tail.iter().cloned());
        Keys { tail, ..Keys::default() }
    }

    /// The number of keys in the base.
    fn base_len(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.tail.len())
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.base_len() + self.tail.len()
    }

    /// True without keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position of a key.
    #[inline]
    pub fn get_index_of<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> Option<usize> {
        let Some(base) = &self.base else { return self.tail.get_index_of(key) };
        match base.tail.get_index_of(key) {
            None => Some(base.tail.len() + self.tail.get_index_of(key)?),
            index => index,
        }
    }

    /// The key at a position.
    pub fn get_index(&self, index: usize) -> Option<&Key> {
        match &self.base {
            Some(base) if index < base.tail.len() => base.tail.get_index(index),
            Some(base) => self.tail.get_index(index - base.tail.len()),
            None => self.tail.get_index(index),
        }
    }

    /// All keys in order.
    pub fn iter(&self) -> Iter<'_> {
        let (base, tail) = (self.base.as_deref().map_or(&self.tail, |base| &base.tail), &self.tail);
        Iter { now: base.iter(), then: self.base.is_some().then(|| tail.iter()) }
    }

    /// True if these are the keys, with equal types, in this order.
    pub fn are<'k>(&self, keys: impl ExactSizeIterator<Item = &'k Key>) -> bool {
        self.len() == keys.len() && self.iter().zip(keys).all(|(one, other)| one.same(other))
    }

    /// Appends a key if it is new.
    pub fn insert(&mut self, key: Key) -> KeyPosition {
        *self.derived.get_mut() = None;
        if let Some(index) = self.base.as_ref().and_then(|base| base.tail.get_index_of(&key)) {
            return Ok(index);
        }
        let (index, new) = self.tail.insert_full(key);
        let index = self.base_len() + index;
        if new { Err(index) } else { Ok(index) }
    }

    /// Inserts a new key at a position.
    pub fn shift_insert(&mut self, index: usize, key: Key) {
        *self.derived.get_mut() = None;
        self.flatten();
        self.tail.shift_insert(index, key);
    }

    /// Removes a key.
    pub fn shift_remove_index(&mut self, index: usize) -> Option<Key> {
        *self.derived.get_mut() = None;
        self.flatten();
        self.tail.shift_remove_index(index)
    }

    fn flatten(&mut self) {
        if self.base.is_some() {
            *self = self.flattened();
        }
    }

    /// These keys with a new one at a position. Cached.
    pub fn with(&self, index: usize, key: Key) -> Arc<Keys> {
        let mut derived = self.derived.lock();
        let single = &mut derived.get_or_insert_default().single;
        if let Some(cached) = single.get(&(index, key.clone())).and_then(Weak::upgrade) {
            return cached;
        }
        if single.len() >= SWEEP_FROM && single.len().is_power_of_two() {
            single.retain(|_, keys| keys.strong_count() > 0);
        }
        let mut all = self.flattened();
        all.shift_insert(index, key.clone());
        let all = Arc::new(all);
        single.insert((index, key), Arc::downgrade(&all));
        all
    }

    /// The union with another index, new keys last, and the position of each of its keys. Cached.
    ///
    /// `None` if the caller should insert key by key: on the first request for this pair, or if the
    /// caller is the only owner and can insert in place.
    pub fn union(self: &Arc<Keys>, other: &Arc<Keys>) -> Option<(Arc<Keys>, Arc<[u32]>)> {
        if Arc::strong_count(self) == 1 && Arc::weak_count(self) == 0 {
            return None;
        }
        let mut derived = self.derived.lock();
        let unions = &mut derived.get_or_insert_default().unions;
        let address = Arc::as_ptr(other) as usize;
        let Some(union) = unions.get_mut(&address) else {
            if unions.len() >= SWEEP_FROM && unions.len().is_power_of_two() {
                unions.retain(|_, union| union.other.strong_count() > 0);
            }
            unions.insert(address, Union { other: Arc::downgrade(other), cached: None });
            return None;
        };
        if let Some((positions, all)) = &union.cached {
            if self.contains_positions(positions) {
                return Some((self.clone(), positions.clone()));
            }
            if let Some(all) = all.upgrade() {
                return Some((all, positions.clone()));
            }
        }
        let (all, positions) = self.compute_union(other);
        let derived = if Arc::ptr_eq(&all, self) { Weak::new() } else { Arc::downgrade(&all) };
        union.cached = Some((positions.clone(), derived));
        Some((all, positions))
    }

    fn contains_positions(&self, positions: &[u32]) -> bool {
        positions.iter().all(|position| (*position as usize) < self.len())
    }

    fn compute_union(self: &Arc<Keys>, other: &Keys) -> (Arc<Keys>, Arc<[u32]>) {
        let mut all = None;
        let mut positions = Vec::with_capacity(other.len());
        for key in other {
            let position = match (&mut all, self.get_index_of(key)) {
                (_, Some(position)) => position,
                (all, None) => {
                    let all = all.get_or_insert_with(|| self.extended());
                    all.insert(key.clone()).unwrap_or_else(|new| new)
                }
            };
            positions.push(u32::try_from(position).unwrap_or(u32::MAX));
        }
        (all.map_or_else(|| self.clone(), Arc::new), positions.into())
    }
}

/// Keys in their order.
#[derive(Clone)]
pub struct Iter<'k> {
    now: indexmap::set::Iter<'k, Key>,
    then: Option<indexmap::set::Iter<'k, Key>>,
}

impl<'k> Iterator for Iter<'k> {
    type Item = &'k Key;

    fn next(&mut self) -> Option<&'k Key> {
        loop {
            match self.now.next() {
                None => self.now = self.then.take()?,
                key => return key,
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let length = self.now.len() + self.then.as_ref().map_or(0, ExactSizeIterator::len);
        (length, Some(length))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.then.as_mut().and_then(DoubleEndedIterator::next_back).or_else(|| self.now.next_back())
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'k> IntoIterator for &'k Keys {
    type Item = &'k Key;
    type IntoIter = Iter<'k>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Keys {
    type Item = Key;
    type IntoIter = indexmap::set::IntoIter<Key>;
    fn into_iter(self) -> Self::IntoIter {
        let all = if self.base.is_some() { self.flattened() } else { self };
        all.tail.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(names: &[&str]) -> Arc<Keys> {
        let mut keys = Keys::default();
        for name in names {
            assert!(keys.insert(Key::from(*name)).is_err(), "each is new");
        }
        Arc::new(keys)
    }

    fn names(keys: &Keys) -> Vec<&str> {
        let names: Vec<&str> = keys.iter().filter_map(Key::as_str).collect();
        let mut backwards: Vec<&str> = keys.iter().rev().filter_map(Key::as_str).collect();
        backwards.reverse();
        assert_eq!((&names, names.len()), (&backwards, keys.iter().len()));
        for (index, name) in names.iter().enumerate() {
            assert_eq!(keys.get_index_of(*name), Some(index));
            assert_eq!(keys.get_index(index).and_then(Key::as_str), Some(*name));
        }
        names
    }

    #[test]
    fn few_new_keys_share_the_base() {
        let many = keys(&["a", "b", "c", "d", "e", "f", "g", "h"]);
        let mut more = many.extended();
        assert_eq!((more.insert("b".into()), more.insert("i".into())), (Ok(1), Err(8)));
        assert_eq!(more.insert("i".into()), Ok(8));
        let more = Arc::new(more);
        assert!(more.base.as_ref().is_some_and(|base| Arc::ptr_eq(base, &many)), "nothing is copied");
        assert_eq!(names(&more), ["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
        assert_eq!((more.get_index(9), more.get_index_of("j")), (None, None));

        let mut third = more.extended();
        assert_eq!(third.insert("j".into()), Err(9));
        assert!(third.base.as_ref().is_some_and(|base| Arc::ptr_eq(base, &many)), "no chain");
        let third = Arc::new(third);
        let mut fourth = third.extended();
        assert_eq!(fourth.insert("k".into()), Err(10));
        assert!(fourth.base.is_none(), "the tail is too large for the base");
        assert_eq!(names(&fourth), ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]);
        assert_eq!(names(&many).len(), 8);
    }

    #[test]
    fn keys_move_in_base_and_tail() {
        let many = keys(&["a", "b", "c", "d", "e", "f", "g", "h"]);
        let mut more = many.extended();
        assert_eq!(more.insert("i".into()), Err(8));
        more.shift_insert(1, "x".into());
        assert_eq!(more.shift_remove_index(9), Some("i".into()));
        assert_eq!(names(&more), ["a", "x", "b", "c", "d", "e", "f", "g", "h"]);
        let mut other = many.extended();
        assert_eq!(other.insert("i".into()), Err(8));
        let in_order: Vec<Key> = other.into_iter().collect();
        assert_eq!(in_order.len(), 9);
        assert_eq!(in_order[8], Key::from("i"));
        assert_eq!(names(&many), ["a", "b", "c", "d", "e", "f", "g", "h"]);
    }
}
