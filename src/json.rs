//! Json turns a value into the text that Python's `json.dumps` writes for it.

use crate::error::Result;
use crate::value::Value;

/// JSON as the Python programs print it: two spaces of indent if `pretty`, else on one line.
pub fn dumps(value: &Value, pretty: bool) -> Result<String> {
    todo!("{value:?} {pretty}")
}
