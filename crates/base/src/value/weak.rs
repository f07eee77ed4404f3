//! A weak pointer to a mapping or a list reserves its address: no other container gets it while the pointer
//! exists. So the address can be a key for what was made of the container.

use std::sync::{Arc, Weak};

use crate::value::{Map, Value};

/// A weak pointer to a mapping or a list.
#[derive(Debug)]
pub enum WeakContainer {
    /// To a mapping.
    Map(Weak<Map>),
    /// To a list.
    List(Weak<Vec<Value>>),
}

impl WeakContainer {
    /// A pointer to a value; `None` for other types.
    pub fn of(value: &Value) -> Option<WeakContainer> {
        match value {
            Value::Map(map) => Some(WeakContainer::Map(Arc::downgrade(map))),
            Value::List(list) => Some(WeakContainer::List(Arc::downgrade(list))),
            _ => None,
        }
    }

    /// The container, if it is still in use.
    pub fn upgrade(&self) -> Option<Value> {
        match self {
            WeakContainer::Map(map) => map.upgrade().map(Value::Map),
            WeakContainer::List(list) => list.upgrade().map(Value::List),
        }
    }

    /// Whether the container is still in use.
    pub fn is_used(&self) -> bool {
        match self {
            WeakContainer::Map(map) => map.strong_count() > 0,
            WeakContainer::List(list) => list.strong_count() > 0,
        }
    }
}
