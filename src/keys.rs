//! Keys are the index of a table: keys in their order, with what became of them elsewhere.
//!
//! Nodes of one kind add the same few keys to the same hundreds. So keys remember which ones they
//! became when others came to them, as the hidden classes of a language's objects do: whoever
//! adds the same is given the same, without a copy of the index and without hashing.

use std::hash::Hash;
use std::sync::{Arc, Weak};

use indexmap::{Equivalent, IndexSet};
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::value::Key;

/// The keys of tables, in their order.
#[derive(Default, Debug)]
pub struct Keys {
    set: IndexSet<Key, FxBuildHasher>,
    /// What they became. Nothing here keeps anything alive.
    wider: Mutex<Option<Box<Wider>>>,
}

/// The place of a key; the error is the place that a new one has now.
pub type Place = Result<usize, usize>;

/// What keys became.
#[derive(Default, Debug)]
struct Wider {
    /// By the address of the keys that were added to them behind the last one.
    unions: FxHashMap<usize, Union>,
    /// By the place and the one key that came there.
    single: FxHashMap<(usize, Key), Weak<Keys>>,
}

/// What keys and others are together.
#[derive(Debug)]
struct Union {
    /// The others: while they are held, no others have their address.
    other: Weak<Keys>,
    /// Where each of the others is, and all of them; nothing when they met for the first time.
    known: Option<(Arc<[u32]>, Weak<Keys>)>,
}

/// From how many entries on those that are of no use any more are looked for.
const CROWD: usize = 16;

impl Clone for Keys {
    fn clone(&self) -> Keys {
        Keys { set: self.set.clone(), wider: Mutex::default() }
    }
}

impl Keys {
    /// No keys, with room for some.
    pub fn with_capacity(capacity: usize) -> Keys {
        Keys { set: IndexSet::with_capacity_and_hasher(capacity, FxBuildHasher), wider: Mutex::default() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// The place of a key.
    pub fn get_index_of<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> Option<usize> {
        self.set.get_index_of(key)
    }

    /// The key at a place.
    pub fn get_index(&self, index: usize) -> Option<&Key> {
        self.set.get_index(index)
    }

    /// All of them.
    pub fn iter(&self) -> indexmap::set::Iter<'_, Key> {
        self.set.iter()
    }

    /// Whether they are these, the very same allocations, in this order.
    pub fn are<'k>(&self, keys: impl ExactSizeIterator<Item = &'k Key>) -> bool {
        self.len() == keys.len() && self.iter().zip(keys).all(|(one, other)| one.same(other))
    }

    /// Adds a key behind the last one, if it is new.
    pub fn insert(&mut self, key: Key) -> Place {
        *self.wider.get_mut() = None;
        let (index, new) = self.set.insert_full(key);
        if new { Err(index) } else { Ok(index) }
    }

    /// Adds a new key at a place.
    pub fn shift_insert(&mut self, index: usize, key: Key) {
        *self.wider.get_mut() = None;
        self.set.shift_insert(index, key);
    }

    /// Takes a key out.
    pub fn shift_remove_index(&mut self, index: usize) -> Option<Key> {
        *self.wider.get_mut() = None;
        self.set.shift_remove_index(index)
    }

    /// These keys with a new one at a place: the same for all who ask.
    pub fn with(&self, index: usize, key: Key) -> Arc<Keys> {
        let mut wider = self.wider.lock();
        let single = &mut wider.get_or_insert_default().single;
        if let Some(known) = single.get(&(index, key.clone())).and_then(Weak::upgrade) {
            return known;
        }
        if single.len() >= CROWD && single.len().is_power_of_two() {
            single.retain(|_, keys| keys.strong_count() > 0);
        }
        let mut all = self.clone();
        all.shift_insert(index, key.clone());
        let all = Arc::new(all);
        single.insert((index, key), Arc::downgrade(&all));
        all
    }

    /// These keys and those of the others that are new, in their order, and where each of the others
    /// is: the same for all who ask. `None` where keys may well be added in place: when nobody else
    /// has these, or they meet the others for the first time.
    pub fn union(self: &Arc<Keys>, other: &Arc<Keys>) -> Option<(Arc<Keys>, Arc<[u32]>)> {
        if Arc::strong_count(self) == 1 && Arc::weak_count(self) == 0 {
            return None;
        }
        let mut wider = self.wider.lock();
        let unions = &mut wider.get_or_insert_default().unions;
        let address = Arc::as_ptr(other) as usize;
        let Some(union) = unions.get_mut(&address) else {
            if unions.len() >= CROWD && unions.len().is_power_of_two() {
                unions.retain(|_, union| union.other.strong_count() > 0);
            }
            unions.insert(address, Union { other: Arc::downgrade(other), known: None });
            return None;
        };
        if let Some((places, all)) = &union.known {
            if self.contains_all(places) {
                return Some((self.clone(), places.clone()));
            }
            if let Some(all) = all.upgrade() {
                return Some((all, places.clone()));
            }
        }
        let (all, places) = self.unite(other);
        let wider = if Arc::ptr_eq(&all, self) { Weak::new() } else { Arc::downgrade(&all) };
        union.known = Some((places.clone(), wider));
        Some((all, places))
    }

    fn contains_all(&self, places: &[u32]) -> bool {
        places.iter().all(|place| (*place as usize) < self.len())
    }

    fn unite(self: &Arc<Keys>, other: &Keys) -> (Arc<Keys>, Arc<[u32]>) {
        let mut all = None;
        let mut places = Vec::with_capacity(other.len());
        for key in other {
            let place = match (&mut all, self.get_index_of(key)) {
                (_, Some(place)) => place,
                (all, None) => {
                    let all = all.get_or_insert_with(|| (**self).clone());
                    all.insert(key.clone()).unwrap_or_else(|new| new)
                }
            };
            places.push(u32::try_from(place).unwrap_or(u32::MAX));
        }
        (all.map_or_else(|| self.clone(), Arc::new), places.into())
    }
}

impl<'k> IntoIterator for &'k Keys {
    type Item = &'k Key;
    type IntoIter = indexmap::set::Iter<'k, Key>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Keys {
    type Item = Key;
    type IntoIter = indexmap::set::IntoIter<Key>;
    fn into_iter(self) -> Self::IntoIter {
        self.set.into_iter()
    }
}
