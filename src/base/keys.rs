//! Keys are the index of a table: keys in their order, with what became of them elsewhere.
//!
//! Nodes of one kind add the same few keys to the same hundreds. So keys remember which ones they
//! became when others came to them, as the hidden classes of a language's objects do: whoever
//! adds the same is given the same, without hashing. And where only a few come to many that others
//! have too, the few stand behind the many, which are not copied.

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
    /// The first ones, which others have too. They have no others before them.
    first: Option<Arc<Keys>>,
    /// Those behind them. The earlier pillar brings in keys that strangers choose, so the hash has a secret.
    set: IndexSet<Key, DefaultHashBuilder>,
    /// What they became. Nothing here keeps anything alive.
    wider: Mutex<Option<Box<Wider>>>,
}

/// The place of a key; the error is the place that a new one has now.
pub type KeyPosition = Result<usize, usize>;

/// What keys became.
#[derive(Default, Debug)]
struct Wider {
    /// By the address of the keys that were added to them behind the last one.
    unions: FxHashMap<usize, Union>,
    /// By the place and the one key that came there.
    single: HashMap<(usize, Key), Weak<Keys>>,
}

/// What keys and others are together.
#[derive(Debug)]
struct Union {
    /// The others: while they are held, no others have their address.
    other: Weak<Keys>,
    /// Where each of the others is, and all of them; nothing when they met for the first time.
    known: Option<(Arc<[u32]>, Weak<Keys>)>,
}

/// Makes the secret of the hash. While it is made, others wait for it, which a fork must not catch: the
/// module calls this under Python's lock, before there are threads.
pub fn seed() {
    let _ = DefaultHashBuilder::default();
}

/// From how many entries on those that are of no use any more are looked for.
const CROWD: usize = 16;

/// At least how many times as many as those behind them the first ones are: those behind are looked
/// for in a second place.
const FEW: usize = 4;

impl Keys {
    /// No keys, with room for some.
    pub fn with_capacity(capacity: usize) -> Keys {
        Keys {
            set: IndexSet::with_capacity_and_hasher(capacity, DefaultHashBuilder::default()),
            ..Keys::default()
        }
    }

    /// The same keys, for others to come behind them.
    pub fn extended(self: &Arc<Keys>) -> Keys {
        match &self.first {
            None if self.set.len() >= FEW => Keys { first: Some(self.clone()), ..Keys::default() },
            Some(first) if first.len() >= FEW * (self.set.len() + 1) => {
                Keys { first: Some(first.clone()), set: self.set.clone(), ..Keys::default() }
            }
            _ => self.alone(),
        }
    }

    /// The same keys in one place.
    fn alone(&self) -> Keys {
        let Some(first) = &self.first else { return Keys { set: self.set.clone(), ..Keys::default() } };
        let mut set = first.set.clone();
        set.extend(self.set.iter().cloned());
        Keys { set, ..Keys::default() }
    }

    /// How many stand in the first place.
    fn before(&self) -> usize {
        self.first.as_ref().map_or(0, |first| first.set.len())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.before() + self.set.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place of a key.
    #[inline]
    pub fn get_index_of<Q: ?Sized + Hash + Equivalent<Key>>(&self, key: &Q) -> Option<usize> {
        let Some(first) = &self.first else { return self.set.get_index_of(key) };
        match first.set.get_index_of(key) {
            None => Some(first.set.len() + self.set.get_index_of(key)?),
            index => index,
        }
    }

    /// The key at a place.
    pub fn get_index(&self, index: usize) -> Option<&Key> {
        match &self.first {
            Some(first) if index < first.set.len() => first.set.get_index(index),
            Some(first) => self.set.get_index(index - first.set.len()),
            None => self.set.get_index(index),
        }
    }

    /// All of them.
    pub fn iter(&self) -> Iter<'_> {
        let (first, set) = (self.first.as_deref().map_or(&self.set, |first| &first.set), &self.set);
        Iter { now: first.iter(), then: self.first.is_some().then(|| set.iter()) }
    }

    /// Whether they are these, the very same allocations, in this order.
    pub fn are<'k>(&self, keys: impl ExactSizeIterator<Item = &'k Key>) -> bool {
        self.len() == keys.len() && self.iter().zip(keys).all(|(one, other)| one.same(other))
    }

    /// Adds a key behind the last one, if it is new.
    pub fn insert(&mut self, key: Key) -> KeyPosition {
        *self.wider.get_mut() = None;
        if let Some(index) = self.first.as_ref().and_then(|first| first.set.get_index_of(&key)) {
            return Ok(index);
        }
        let (index, new) = self.set.insert_full(key);
        let index = self.before() + index;
        if new { Err(index) } else { Ok(index) }
    }

    /// Adds a new key at a place.
    pub fn shift_insert(&mut self, index: usize, key: Key) {
        *self.wider.get_mut() = None;
        self.unite_places();
        self.set.shift_insert(index, key);
    }

    /// Takes a key out.
    pub fn shift_remove_index(&mut self, index: usize) -> Option<Key> {
        *self.wider.get_mut() = None;
        self.unite_places();
        self.set.shift_remove_index(index)
    }

    fn unite_places(&mut self) {
        if self.first.is_some() {
            *self = self.alone();
        }
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
        let mut all = self.alone();
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
                    let all = all.get_or_insert_with(|| self.extended());
                    all.insert(key.clone()).unwrap_or_else(|new| new)
                }
            };
            places.push(u32::try_from(place).unwrap_or(u32::MAX));
        }
        (all.map_or_else(|| self.clone(), Arc::new), places.into())
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
        let all = if self.first.is_some() { self.alone() } else { self };
        all.set.into_iter()
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
    fn a_few_keys_stand_behind_those_of_others() {
        let many = keys(&["a", "b", "c", "d", "e", "f", "g", "h"]);
        let mut more = many.extended();
        assert_eq!((more.insert("b".into()), more.insert("i".into())), (Ok(1), Err(8)));
        assert_eq!(more.insert("i".into()), Ok(8));
        let more = Arc::new(more);
        assert!(more.first.as_ref().is_some_and(|first| Arc::ptr_eq(first, &many)), "nothing is copied");
        assert_eq!(names(&more), ["a", "b", "c", "d", "e", "f", "g", "h", "i"]);
        assert_eq!((more.get_index(9), more.get_index_of("j")), (None, None));

        let mut third = more.extended();
        assert_eq!(third.insert("j".into()), Err(9));
        assert!(third.first.as_ref().is_some_and(|first| Arc::ptr_eq(first, &many)), "no chain");
        let third = Arc::new(third);
        let mut fourth = third.extended();
        assert_eq!(fourth.insert("k".into()), Err(10));
        assert!(fourth.first.is_none(), "they are too many to stand behind");
        assert_eq!(names(&fourth), ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]);
        assert_eq!(names(&many).len(), 8);
    }

    #[test]
    fn keys_move_wherever_they_stand() {
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
