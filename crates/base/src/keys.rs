//! The index of a table: its keys in order, and a cache of its unions with other indexes.
//!
//! Similar nodes add the same few keys to the same hundreds. An index therefore caches its unions
//! with other indexes, as the hidden classes of JavaScript engines do: the same union is the same
//! index again, and no key is hashed.

use std::hash::Hash;
use std::sync::{Arc, Weak};

use hashbrown::DefaultHashBuilder;
use indexmap::{Equivalent, IndexSet};
use rustc_hash::FxHashMap;

use crate::lock::Mutex;
use crate::value::Key;

/// The keys of tables, in their order.
#[derive(Default, Debug)]
pub struct Keys {
    /// Keys of the earlier pillar can come from strangers, so the hash is seeded.
    all: IndexSet<Key, DefaultHashBuilder>,
    /// A cache of the unions with other indexes, by the address of the other index.
    unions: Mutex<Option<Box<FxHashMap<usize, Union>>>>,
}

/// The position of a key that was there (`Ok`) or that was added (`Err`).
pub type KeyPosition = Result<usize, usize>;

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

/// A copy has no cached unions.
impl Clone for Keys {
    fn clone(&self) -> Keys {
        Keys { all: self.all.clone(), ..Keys::default() }
    }
}

impl Keys {
    /// No keys, with capacity for some.
    pub fn with_capacity(capacity: usize) -> Keys {
        Keys {
            all: IndexSet::with_capacity_and_hasher(capacity, DefaultHashBuilder::default()),
            ..Keys::default()
        }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True without keys.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The position of a key.
    #[inline]
    pub fn get_index_of<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> Option<usize> {
        self.all.get_index_of(key)
    }

    /// The key at a position.
    pub fn get_index(&self, index: usize) -> Option<&Key> {
        self.all.get_index(index)
    }

    /// All keys in order.
    pub fn iter(&self) -> Iter<'_> {
        self.all.iter()
    }

    /// True if these are the keys, with equal types, in this order.
    pub fn are<'k>(&self, keys: impl ExactSizeIterator<Item = &'k Key>) -> bool {
        self.len() == keys.len() && self.iter().zip(keys).all(|(one, other)| one.same(other))
    }

    /// Appends a key if it is new.
    pub fn insert(&mut self, key: Key) -> KeyPosition {
        let (index, new) = self.changed().insert_full(key);
        if new { Err(index) } else { Ok(index) }
    }

    /// Inserts a new key at a position.
    pub fn shift_insert(&mut self, index: usize, key: Key) {
        self.changed().shift_insert(index, key);
    }

    /// Removes a key.
    pub fn shift_remove_index(&mut self, index: usize) -> Option<Key> {
        self.changed().shift_remove_index(index)
    }

    /// The keys, to be changed.
    fn changed(&mut self) -> &mut IndexSet<Key, DefaultHashBuilder> {
        *self.unions.get_mut() = None;
        &mut self.all
    }

    /// The union with another index, new keys last, and the position of each of its keys. Cached.
    ///
    /// `None` if the caller should insert key by key: on the first request for this pair, or if the
    /// caller is the only owner and can insert in place.
    pub fn union(self: &Arc<Keys>, other: &Arc<Keys>) -> Option<(Arc<Keys>, Arc<[u32]>)> {
        if Arc::strong_count(self) == 1 && Arc::weak_count(self) == 0 {
            return None;
        }
        let mut unions = self.unions.lock();
        let unions = unions.get_or_insert_default();
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
                    let all = all.get_or_insert_with(|| Keys::clone(self));
                    all.insert(key.clone()).unwrap_or_else(|new| new)
                }
            };
            positions.push(u32::try_from(position).unwrap_or(u32::MAX));
        }
        (all.map_or_else(|| self.clone(), Arc::new), positions.into())
    }
}

/// Keys in their order.
pub type Iter<'k> = indexmap::set::Iter<'k, Key>;

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
        self.all.into_iter()
    }
}
