//! Converts values of the engine to new Python objects, with the types that `PyYAML` would produce.

use num_bigint::BigInt;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyList, PySet, PyString, PyTuple,
    PyTzInfo,
};

use crate::strings::TakenStrings;
use reclass::value::{DateTime, Map, Text, Value};
use reclass_base::failpoints::failpoint;
use reclass_base::stack::grow;

/// Creates the objects of one answer.
pub struct Outgoing<'py> {
    py: Python<'py>,
    strings: TakenStrings,
    /// Current nesting depth of containers.
    depth: usize,
}

/// Number of container levels that fit on the stack ensured by one check.
const LEVELS: usize = 16;

impl<'py> Outgoing<'py> {
    /// Takes the strings of the process.
    pub fn new(py: Python<'py>) -> Outgoing<'py> {
        Outgoing { py, strings: TakenStrings::new(), depth: 0 }
    }

    /// The interpreter.
    pub fn py(&self) -> Python<'py> {
        self.py
    }

    /// The Python object of a value. Each call creates new containers.
    pub fn object(&mut self, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        self.any(value)
    }

    /// The Python dict of a mapping. Each call creates new containers.
    pub fn dict(&mut self, map: &Map) -> PyResult<Bound<'py, PyDict>> {
        self.nested(|outgoing| outgoing.map(map))
    }

    /// A new list of strings.
    pub fn texts(&mut self, texts: &[Text]) -> PyResult<Bound<'py, PyList>> {
        PyList::new(self.py, texts.iter().map(|text| self.strings.get(self.py, text)))
    }

    /// The Python string of a text.
    pub fn string(&mut self, text: &Text) -> Bound<'py, PyString> {
        self.strings.get(self.py, text)
    }

    fn any(&mut self, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        match value {
            Value::Null => Ok(py.None().into_bound(py)),
            Value::Bool(flag) => Ok(PyBool::new(py, *flag).to_owned().into_any()),
            Value::Int(number) => Ok(PyInt::new(py, *number).into_any()),
            Value::Float(number) => Ok(PyFloat::new(py, *number).into_any()),
            Value::Str(text) => Ok(self.strings.get(py, text).into_any()),
            Value::Map(map) => Ok(self.nested(|outgoing| outgoing.map(map))?.into_any()),
            Value::List(items) => Ok(PyList::new(py, self.objects(items)?)?.into_any()),
            Value::Tuple(items) => Ok(PyTuple::new(py, self.objects(items)?)?.into_any()),
            Value::Set(items) => Ok(PySet::new(py, self.objects(items)?)?.into_any()),
            Value::BigInt(number) => big_int(py, number),
            Value::Binary(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
            Value::Date(date) => Ok(PyDate::new(py, i32::from(date.year), date.month, date.day)?.into_any()),
            Value::DateTime(time) => Ok(timestamp(py, time)?.into_any()),
        }
    }

    /// Creates a container on a growing stack: values are as deep as the engine allows.
    fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> PyResult<T>) -> PyResult<T> {
        let may_grow = self.depth % LEVELS == 0;
        self.depth += 1;
        let made = if may_grow { grow(|| body(self)) } else { body(self) };
        self.depth -= 1;
        made
    }

    fn objects(&mut self, items: &[Value]) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.nested(|outgoing| items.iter().map(|item| outgoing.any(item)).collect())
    }

    fn map(&mut self, map: &Map) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(self.py);
        for (key, value) in map {
            let key = self.any(&key.0)?;
            let value = self.any(value)?;
            failpoint("a dict is filled");
            dict.set_item(key, value)?;
        }
        Ok(dict)
    }
}

fn big_int<'py>(py: Python<'py>, number: &BigInt) -> PyResult<Bound<'py, PyAny>> {
    let signed = PyDict::new(py);
    signed.set_item("signed", true)?;
    let bytes = PyBytes::new(py, &number.to_signed_bytes_le());
    py.get_type::<PyInt>().call_method("from_bytes", (bytes, "little"), Some(&signed))
}

fn timestamp<'py>(py: Python<'py>, time: &DateTime) -> PyResult<Bound<'py, PyDateTime>> {
    let zone = match time.offset {
        Some(seconds) => Some(PyTzInfo::fixed_offset(py, PyDelta::new(py, 0, seconds, 0, true)?)?),
        None => None,
    };
    let DateTime { date, hour, minute, second, microsecond, .. } = *time;
    let year = i32::from(date.year);
    PyDateTime::new(py, year, date.month, date.day, hour, minute, second, microsecond, zone.as_ref())
}
