//! A measure says how large a value is when nothing in it is shared, as Python objects or text will
//! have it: what a limit on the values of a node has to count, since sharing makes copies free here.

use crate::base::stack::grow;
use crate::base::value::Value;

/// Height and size of a value.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ValueSize {
    /// How deep containers are in one another; 0 for a scalar.
    pub height: usize,
    /// How many values it has, itself included; a text counts once more for every [`TEXT_UNIT`] bytes.
    pub size: usize,
}

/// How many bytes of a text count as one value: about what a value takes without any.
pub const TEXT_UNIT: usize = 64;

impl ValueSize {
    /// Adds a part of a container.
    pub fn add(&mut self, part: ValueSize) {
        self.height = self.height.max(part.height);
        self.size = self.size.saturating_add(part.size);
    }

    /// The container around parts.
    #[must_use]
    pub fn wrapped(self) -> ValueSize {
        ValueSize { height: self.height + 1, size: self.size.saturating_add(1) }
    }

    /// The measure of a value.
    pub fn of(value: &Value) -> ValueSize {
        let all = |parts: &mut dyn Iterator<Item = &Value>| {
            grow(|| {
                let mut measure = ValueSize::default();
                parts.for_each(|part| measure.add(ValueSize::of(part)));
                measure.wrapped()
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
