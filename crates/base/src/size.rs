//! The size of a value as if nothing in it were shared.
//!
//! Copies are free in the engine but not in Python or in text, so the limits count every copy.

use crate::stack::grow;
use crate::value::Value;

/// Height and size of a value.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ValueSize {
    /// Nesting depth of containers; 0 for a scalar.
    pub height: usize,
    /// Number of values, itself included; a text counts once more for every [`TEXT_UNIT`] bytes.
    pub size: usize,
}

/// Bytes of text that count as one value: about the memory of a value without text.
pub const TEXT_UNIT: usize = 64;

impl ValueSize {
    /// Adds an item of a container.
    pub fn add(&mut self, part: ValueSize) {
        self.height = self.height.max(part.height);
        self.size = self.size.saturating_add(part.size);
    }

    /// The size of the container of these items.
    #[must_use]
    pub fn wrapped(self) -> ValueSize {
        ValueSize { height: self.height + 1, size: self.size.saturating_add(1) }
    }

    /// The size of a value.
    pub fn of(value: &Value) -> ValueSize {
        let all = |parts: &mut dyn Iterator<Item = &Value>| {
            grow(|| {
                let mut size = ValueSize::default();
                parts.for_each(|part| size.add(ValueSize::of(part)));
                size.wrapped()
            })
        };
        match value {
            Value::Str(text) => ValueSize { height: 0, size: 1 + text.len() / TEXT_UNIT },
            Value::Binary(bytes) => ValueSize { height: 0, size: 1 + bytes.len() / TEXT_UNIT },
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => all(&mut items.iter()),
            Value::Map(map) => all(&mut map.values()),
            _ => ValueSize { height: 0, size: 1 },
        }
    }
}
