//! Copies of dates, timestamps, sets and pairs. In YAML output one object at two places gets an anchor, and a copy
//! does not (Y7).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::base::stack::grow;
use crate::base::value::Value;

/// Whether a value has such objects.
pub fn has_objects(value: &Value) -> bool {
    grow(|| match value {
        Value::Date(_) | Value::DateTime(_) | Value::Set(_) | Value::Tuple(_) => true,
        Value::List(items) => items.iter().any(has_objects),
        Value::Map(map) => map.values().any(has_objects),
        _ => false,
    })
}

/// One copy. An object that occurs twice in it stays one object.
#[derive(Default)]
pub struct ObjectCopies(FxHashMap<usize, Value>);

impl ObjectCopies {
    /// The value with new objects.
    pub fn value(&mut self, value: &Value) -> Value {
        if !has_objects(value) {
            return value.clone();
        }
        grow(|| match value {
            Value::List(items) => Value::list(items.iter().map(|item| self.value(item)).collect()),
            Value::Map(map) => {
                Value::map(map.iter().map(|(key, value)| (key.clone(), self.value(value))).collect())
            }
            Value::Date(date) => self.object(Arc::as_ptr(date).addr(), || Value::Date(Arc::new(**date))),
            Value::DateTime(time) => {
                self.object(Arc::as_ptr(time).addr(), || Value::DateTime(Arc::new(**time)))
            }
            Value::Set(items) => {
                self.object(Arc::as_ptr(items).addr(), || Value::Set(Arc::new((**items).clone())))
            }
            Value::Tuple(items) => {
                self.object(Arc::as_ptr(items).addr(), || Value::Tuple(Arc::new((**items).clone())))
            }
            other => other.clone(),
        })
    }

    fn object(&mut self, address: usize, new: impl FnOnce() -> Value) -> Value {
        self.0.entry(address).or_insert_with(new).clone()
    }
}
