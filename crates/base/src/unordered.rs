//! Compares values whatever the order of the keys in their mappings.

use std::sync::Arc;

use crate::stack::grow;
use crate::value::{Key, Value};

/// Whether two values are equal in any order of keys. Of two keys that Python takes for one, as `1` and `true`,
/// `same_key` decides; `same_leaf` compares everything but mappings and lists.
pub fn equal_unordered(
    one: &Value,
    other: &Value,
    same_key: fn(&Key, &Key) -> bool,
    same_leaf: fn(&Value, &Value) -> bool,
) -> bool {
    let same = |one: &Value, other: &Value| equal_unordered(one, other, same_key, same_leaf);
    grow(|| match (one, other) {
        (Value::Map(one), Value::Map(other)) => {
            let has_same = |(key, value): (&Key, &Value)| {
                let found = other.get_index_of(key).and_then(|index| other.get_index(index));
                found.is_some_and(|(name, other)| same_key(name, key) && same(value, other))
            };
            Arc::ptr_eq(one, other) || one.len() == other.len() && one.iter().all(has_same)
        }
        (Value::List(one), Value::List(other)) => {
            Arc::ptr_eq(one, other)
                || one.len() == other.len()
                    && one.iter().zip(other.iter()).all(|(one, other)| same(one, other))
        }
        _ => same_leaf(one, other),
    })
}
