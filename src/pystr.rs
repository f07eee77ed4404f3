//! Pystr turns a value into the text that Python's `str()` gives for it.

use crate::value::Value;

/// Python's `str(value)`.
pub fn str(value: &Value) -> String {
    todo!("{value:?}")
}

/// Python's `repr(value)`.
pub fn repr(value: &Value) -> String {
    todo!("{value:?}")
}
