//! Copies of dates, timestamps, sets and pairs. In YAML output one object at two places gets an anchor, and a copy
//! does not (Y7).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::stack::grow;
use crate::value::Value;

/// Whether a value contains such an object.
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
        self.changed(value).unwrap_or_else(|| value.clone())
    }

    /// The value with new objects; `None` if it has none.
    fn changed(&mut self, value: &Value) -> Option<Value> {
        grow(|| match value {
            Value::List(items) => Some(Value::list(self.all(items.iter())?)),
            Value::Map(map) => {
                let values = self.all(map.values())?;
                Some(Value::map(map.keys().cloned().zip(values).collect()))
            }
            Value::Date(date) => Some(self.object(date, Value::Date)),
            Value::DateTime(time) => Some(self.object(time, Value::DateTime)),
            Value::Set(items) => Some(self.object(items, Value::Set)),
            Value::Tuple(items) => Some(self.object(items, Value::Tuple)),
            _ => None,
        })
    }

    /// The values with new objects; `None` if none of them has any.
    fn all<'v>(&mut self, values: impl Iterator<Item = &'v Value> + Clone) -> Option<Vec<Value>> {
        let new: Vec<Option<Value>> = values.clone().map(|value| self.changed(value)).collect();
        let is_changed = new.iter().any(Option::is_some);
        is_changed.then(|| values.zip(new).map(|(old, new)| new.unwrap_or_else(|| old.clone())).collect())
    }

    fn object<T: Clone>(&mut self, object: &Arc<T>, value: impl FnOnce(Arc<T>) -> Value) -> Value {
        let new = || value(Arc::new(T::clone(object)));
        self.0.entry(Arc::as_ptr(object).addr()).or_insert_with(new).clone()
    }
}
