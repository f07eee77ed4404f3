//! Equal containers of all answers share one allocation: nodes with similar classes have mostly equal parameters.
//!
//! Dates, sets and tuples are compared by identity, because `PyYAML` writes an anchor for an object that occurs
//! twice.

use std::hash::{Hash as _, Hasher};
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use crate::base::lock::Mutex;
use crate::base::stack::grow;
use crate::base::value::{CONTAINER, Map, Value, WeakContainer};
use crate::engine::context::Computation;

/// The containers of all answers, by their content.
#[derive(Default, Debug)]
pub struct SharedContainers(Mutex<Containers>);

#[derive(Default, Debug)]
struct Containers {
    table: HashTable<WeakContainer>,
    /// The number of containers in use after the last sweep.
    used: usize,
}

/// The least number of nodes for which sharing pays: for fewer, the time is worth more than the memory.
const LEAST_NODES: usize = 256;

/// The least number of new containers before a sweep.
const SWEEP_THRESHOLD: usize = 1_024;

impl Computation<'_> {
    /// Replaces containers by equal ones of other answers. Returns the estimated bytes that this frees.
    pub fn share(&self, value: &mut Value) -> usize {
        if self.catalog.nodes.count() < LEAST_NODES { 0 } else { self.containers.share(value) }
    }
}

impl SharedContainers {
    fn share(&self, value: &mut Value) -> usize {
        let mut containers = self.0.lock();
        containers.sweep();
        containers.share(value)
    }
}

impl Containers {
    /// Removes the containers that no answer has any more.
    fn sweep(&mut self) {
        if self.table.len() <= SWEEP_THRESHOLD + 2 * self.used {
            return;
        }
        self.table.retain(|container| container.is_used());
        self.used = self.table.len();
        self.table.shrink_to(2 * self.used, hash_of_container);
    }

    fn share(&mut self, value: &mut Value) -> usize {
        let count = match &*value {
            Value::Map(map) => map.len(),
            Value::List(list) => list.len(),
            _ => return 0,
        };
        // A container with a weak pointer is in the table already.
        if value.has_weak_pointer() {
            return 0;
        }
        let freed = grow(|| self.share_items(value));
        let hash = hash_of(value);
        if let Some(known) = self.find(hash, value) {
            *value = known;
            return freed + CONTAINER + count * size_of::<Value>();
        }
        self.insert(hash, value);
        freed
    }

    /// Shares the items of a container.
    fn share_items(&mut self, value: &mut Value) -> usize {
        match value {
            Value::Map(map) => match Arc::get_mut(map) {
                Some(map) => map.values_mut().map(|item| self.share(item)).sum(),
                None => self.share_copies(map.values()).map_or(0, |(items, freed)| {
                    *map = Arc::new(Map::with_keys_of(map, items).unwrap_or_default());
                    freed
                }),
            },
            Value::List(list) => match Arc::get_mut(list) {
                Some(list) => list.iter_mut().map(|item| self.share(item)).sum(),
                None => self.share_copies(list.iter()).map_or(0, |(items, freed)| {
                    *list = Arc::new(items);
                    freed
                }),
            },
            _ => 0,
        }
    }

    /// Shares the items of a container that has other owners. Returns the new items if any was replaced.
    fn share_copies<'v>(
        &mut self,
        items: impl Iterator<Item = &'v Value> + Clone,
    ) -> Option<(Vec<Value>, usize)> {
        let mut copies: Vec<Value> = items.clone().cloned().collect();
        let freed = copies.iter_mut().map(|item| self.share(item)).sum();
        items.zip(&copies).any(|(item, copy)| !is_same(item, copy)).then_some((copies, freed))
    }

    fn find(&self, hash: u64, value: &Value) -> Option<Value> {
        let mut known = None;
        self.table.find(hash, |container| {
            known = container.upgrade().filter(|other| has_same_items(value, other));
            known.is_some()
        });
        known
    }

    fn insert(&mut self, hash: u64, value: &Value) {
        if let Some(pointer) = WeakContainer::of(value) {
            self.table.insert_unique(hash, pointer, hash_of_container);
        }
    }
}

/// Whether containers are equal if the containers in them are shared already.
fn has_same_items(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Map(map), Value::Map(other)) => {
            map.len() == other.len()
                && (map.shares_keys(other) || map.keys().zip(other.keys()).all(|(a, b)| a.same(b)))
                && map.values().zip(other.values()).all(|(item, other)| is_same(item, other))
        }
        (Value::List(list), Value::List(other)) => {
            list.len() == other.len() && list.iter().zip(&**other).all(|(item, other)| is_same(item, other))
        }
        _ => false,
    }
}

/// Whether values can stand for one another if their containers are shared already.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b),
        (Value::List(a), Value::List(b))
        | (Value::Set(a), Value::Set(b))
        | (Value::Tuple(a), Value::Tuple(b)) => Arc::ptr_eq(a, b),
        (Value::Date(a), Value::Date(b)) => Arc::ptr_eq(a, b),
        (Value::DateTime(a), Value::DateTime(b)) => Arc::ptr_eq(a, b),
        _ => a == b,
    }
}

/// Hashes are computed again when the table grows: keeping them would cost more memory than time.
fn hash_of_container(container: &WeakContainer) -> u64 {
    container.upgrade().map_or(0, |value| hash_of(&value))
}

fn hash_of(value: &Value) -> u64 {
    match value {
        Value::Map(map) => hash_of_map(map),
        Value::List(list) => hash_of_items(list.iter(), list.len()),
        _ => 0,
    }
}

/// Of the keys, only the number and the first one count: mappings with equal values and other keys are rare.
fn hash_of_map(map: &Map) -> u64 {
    let mut hasher = FxHasher::default();
    if let Some((key, _)) = map.first() {
        key.hash(&mut hasher);
    }
    hasher.write_u64(hash_of_items(map.values(), map.len()));
    hasher.finish()
}

fn hash_of_items<'v>(items: impl Iterator<Item = &'v Value>, count: usize) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_usize(count);
    for item in items {
        match item {
            Value::Null => hasher.write_u8(0),
            Value::Bool(flag) => hasher.write_u8(1 + u8::from(*flag)),
            Value::Int(number) => hasher.write_i64(*number),
            Value::Float(number) => hasher.write_u64(number.to_bits()),
            Value::Str(text) => hasher.write(text.as_bytes()),
            Value::Map(map) => hasher.write_usize(Arc::as_ptr(map).addr()),
            Value::List(list) | Value::Set(list) | Value::Tuple(list) => {
                hasher.write_usize(Arc::as_ptr(list).addr());
            }
            Value::BigInt(_) | Value::Binary(_) | Value::Date(_) | Value::DateTime(_) => hasher.write_u8(3),
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, Value)]) -> Value {
        Value::map(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
    }

    fn address(value: &Value) -> usize {
        value.container_address().expect("a container")
    }

    #[test]
    fn equal_containers_are_one_and_others_stay() {
        let shared = SharedContainers::default();
        let answer = |own: i64| {
            let common =
                map(&[("a", Value::Int(1)), ("b", Value::list(vec![Value::text("x"), Value::Null]))]);
            map(&[("common", common), ("own", Value::Int(own))])
        };
        let (mut one, mut other) = (answer(1), answer(2));
        assert_eq!(shared.share(&mut one), 0);
        assert!(shared.share(&mut other) > 2 * CONTAINER);
        assert_eq!((&one, &other), (&answer(1), &answer(2)));
        let common = |value: &Value| address(value.as_map().expect("a map").get("common").expect("an entry"));
        assert_eq!(common(&one), common(&other));
        assert_ne!(address(&one), address(&other));
    }

    #[test]
    fn types_keys_and_their_order_count() {
        let shared = SharedContainers::default();
        let mut values = [
            map(&[("a", Value::Int(1)), ("b", Value::Int(1))]),
            map(&[("b", Value::Int(1)), ("a", Value::Int(1))]),
            map(&[("a", Value::Int(1)), ("c", Value::Int(1))]),
            map(&[("a", Value::Float(1.0)), ("b", Value::Int(1))]),
            map(&[("a", Value::Bool(true)), ("b", Value::Int(1))]),
            Value::list(vec![Value::Int(1), Value::Int(1)]),
            Value::list(vec![Value::Float(0.0)]),
            Value::list(vec![Value::Float(-0.0)]),
        ];
        let before = values.clone();
        for value in &mut values {
            shared.share(value);
        }
        assert_eq!(values, before);
        let addresses: std::collections::BTreeSet<usize> = values.iter().map(address).collect();
        assert_eq!(addresses.len(), values.len());
    }

    #[test]
    fn containers_that_no_answer_has_are_forgotten() {
        let shared = SharedContainers::default();
        let mut kept = Value::list(vec![Value::text("kept")]);
        shared.share(&mut kept);
        for number in 0..3 * SWEEP_THRESHOLD {
            shared.share(&mut Value::list(vec![Value::text(number.to_string())]));
        }
        let containers = shared.0.lock();
        assert!(containers.table.len() <= SWEEP_THRESHOLD + 10);
        drop(containers);
        let mut again = Value::list(vec![Value::text("kept")]);
        shared.share(&mut again);
        assert_eq!(address(&again), address(&kept));
    }
}
