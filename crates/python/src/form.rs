//! A form is a private dict. Dicts with the same keys are created as copies of it.
//!
//! Copying a dict hashes no key, creates no string and never has to grow. Mappings of many nodes have the
//! same keys (`keys`), and most of them the same scalars. So only the values that differ from the form are
//! set, and the containers, which are new in each answer.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt};

use crate::strings::Strings;
use reclass::value::{Map, Value};
use reclass::wire;

/// A template for dicts. Its keys and values are plain in the sense of [`wire`].
pub struct DictForm {
    /// Contains all keys. Values that are not plain scalars are `None`.
    pub dict: Py<PyDict>,
    /// The keys in order.
    keys: Box<[Py<PyAny>]>,
    /// The values of the dict, in the order of the keys.
    values: Box<[Value]>,
}

impl DictForm {
    /// The form of a mapping with plain keys.
    pub fn of(py: Python<'_>, map: &Map, strings: &mut Strings) -> PyResult<DictForm> {
        let dict = PyDict::new(py);
        let mut keys = Vec::with_capacity(map.len());
        let values: Box<[Value]> = map.values().map(|value| in_form(value).clone()).collect();
        for (key, value) in map.keys().zip(&values) {
            let key = scalar(py, &key.0, strings);
            dict.set_item(&key, scalar(py, value, strings))?;
            keys.push(key.unbind());
        }
        Ok(DictForm { dict: dict.unbind(), keys: keys.into(), values })
    }

    /// The key at this index, if the value there differs from the form. A container always differs.
    pub fn other<'a>(&'a self, index: usize, value: &Value) -> Option<&'a Py<PyAny>> {
        if same(self.values.get(index)?, value) { None } else { self.keys.get(index) }
    }

    /// The number of scalars in a mapping with the same keys that differ from the form.
    pub fn other_scalars(&self, map: &Map) -> usize {
        let both = self.values.iter().zip(map.values());
        both.filter(|(in_dict, value)| !same(in_dict, in_form(value))).count()
    }

    /// Approximate size in bytes.
    pub fn bytes(&self) -> usize {
        250 + self.values.len() * (30 + size_of::<Value>())
    }
}

/// The Python object of a plain scalar; Python's `None` for anything else.
pub fn scalar<'py>(py: Python<'py>, value: &Value, strings: &mut Strings) -> Bound<'py, PyAny> {
    match value {
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Int(number) => PyInt::new(py, *number).into_any(),
        Value::Float(number) => PyFloat::new(py, *number).into_any(),
        Value::Str(text) => strings.get(py, text).into_any(),
        _ => py.None().into_bound(py),
    }
}

fn in_form(value: &Value) -> &Value {
    if wire::is_plain(value) { value } else { &Value::Null }
}

/// Whether two scalars are certainly equal. Texts are compared by identity, not by their characters.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => a.same(b),
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Null, Value::Null) => true,
        _ => false,
    }
}
