//! Converts values of the engine to new Python objects, with the types that `PyYAML` would produce.
//!
//! Values that are probably requested again, in this answer or another one, are copied from templates: a
//! shared container from its prototype, another mapping from a form with its keys.

use num_bigint::BigInt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyInt, PyList, PySet, PyString, PyTuple, PyTzInfo,
};

use crate::form::scalar;
use crate::templates::{Taken, is_shared};
use reclass::failpoints::failpoint;
use reclass::stack::grow;
use reclass::value::{DateTime, Map, Text, Value};
use reclass::wire;

/// Creates the objects of one answer.
pub struct Outgoing<'py> {
    py: Python<'py>,
    templates: Taken,
    /// Approximate limit in bytes for templates.
    limit: usize,
    /// Whether to stop at a value that is not plain.
    plain: bool,
    /// Current nesting depth of containers.
    depth: usize,
}

/// The reason for stopping.
enum Stopped {
    /// Python raised this exception.
    Raised(Box<PyErr>),
    /// A value is not plain, but had to be.
    NotPlain,
}

type Made<T> = Result<T, Stopped>;

/// Number of container levels that fit on the stack ensured by one check.
const LEVELS: usize = 16;

impl<'py> Outgoing<'py> {
    /// `limit` is the approximate limit in bytes for templates.
    pub fn new(py: Python<'py>, limit: usize) -> Outgoing<'py> {
        Outgoing { py, templates: Taken::new(), limit, plain: false, depth: 0 }
    }

    /// The interpreter.
    pub fn py(&self) -> Python<'py> {
        self.py
    }

    /// The Python object of a value. Each call creates new containers.
    pub fn object(&mut self, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.any(value)?)
    }

    /// The Python dict of a mapping. Each call creates new containers.
    pub fn dict(&mut self, map: &Map) -> PyResult<Bound<'py, PyDict>> {
        Ok(self.nested(|outgoing| outgoing.map(map))?)
    }

    /// The dict of a mapping that Salt carries unchanged, which means that it is plain in the sense of
    /// [`wire`]; `None` if it is not, or if that is too costly to decide.
    pub fn plain_dict(&mut self, map: &Map) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.plain = true;
        let made = self.nested(|outgoing| outgoing.map(map));
        self.plain = false;
        match made {
            Ok(dict) => Ok(Some(dict)),
            Err(Stopped::NotPlain) => Ok(None),
            Err(Stopped::Raised(error)) => Err(*error),
        }
    }

    /// A new list of strings.
    pub fn texts(&mut self, texts: &[Text]) -> PyResult<Bound<'py, PyList>> {
        PyList::new(self.py, texts.iter().map(|text| self.templates.strings.get(self.py, text)))
    }

    /// The Python string of a text.
    pub fn string(&mut self, text: &Text) -> Bound<'py, PyString> {
        self.templates.strings.get(self.py, text)
    }

    fn any(&mut self, value: &Value) -> Made<Bound<'py, PyAny>> {
        let py = self.py;
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
                Ok(scalar(py, value, &mut self.templates.strings))
            }
            Value::Map(map) => match self.shared(value)? {
                Some(copy) => Ok(copy),
                None => Ok(self.nested(|outgoing| outgoing.map(map))?.into_any()),
            },
            Value::List(items) => match self.shared(value)? {
                Some(copy) => Ok(copy),
                None => Ok(PyList::new(py, self.objects(items)?)?.into_any()),
            },
            _ if self.plain => Err(Stopped::NotPlain),
            Value::Tuple(items) => Ok(PyTuple::new(py, self.objects(items)?)?.into_any()),
            Value::Set(items) => Ok(PySet::new(py, self.objects(items)?)?.into_any()),
            Value::BigInt(number) => Ok(big_int(py, number)?),
            Value::Binary(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
            Value::Date(date) => Ok(PyDate::new(py, i32::from(date.year), date.month, date.day)?.into_any()),
            Value::DateTime(time) => Ok(timestamp(py, time)?.into_any()),
        }
    }

    /// Creates a container on a growing stack: values are as deep as the engine allows.
    fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> Made<T>) -> Made<T> {
        if self.plain && self.depth >= wire::DEPTH {
            return Err(Stopped::NotPlain);
        }
        let may_grow = self.depth % LEVELS == 0;
        self.depth += 1;
        let made = if may_grow { grow(|| body(self)) } else { body(self) };
        self.depth -= 1;
        made
    }

    fn objects(&mut self, items: &[Value]) -> Made<Vec<Bound<'py, PyAny>>> {
        self.nested(|outgoing| items.iter().map(|item| outgoing.any(item)).collect())
    }

    fn map(&mut self, map: &Map) -> Made<Bound<'py, PyDict>> {
        if let Some(form) = self.templates.form(self.py, map, self.limit)? {
            let dict = form.dict.bind(self.py).copy()?;
            for (index, value) in map.values().enumerate() {
                if let Some(key) = form.other(index, value) {
                    dict.set_item(key, self.any(value)?)?;
                }
            }
            return Ok(dict);
        }
        let dict = PyDict::new(self.py);
        for (key, value) in map {
            if self.plain && !wire::is_plain(&key.0) {
                return Err(Stopped::NotPlain);
            }
            let key = self.any(&key.0)?;
            let value = self.any(value)?;
            failpoint("a dict is filled");
            dict.set_item(key, value)?;
        }
        Ok(dict)
    }

    /// A copy of a shared container; `None` if it has no prototype.
    fn shared(&mut self, value: &Value) -> Made<Option<Bound<'py, PyAny>>> {
        if !is_shared(value) {
            return Ok(None);
        }
        let levels = if self.plain { wire::DEPTH.saturating_sub(self.depth) } else { usize::MAX };
        match self.templates.prototype(self.py, value, self.limit)? {
            Some(prototype) if prototype.height() > levels => Err(Stopped::NotPlain),
            Some(prototype) => Ok(Some(prototype.copy(self.py)?)),
            None => Ok(None),
        }
    }
}

impl From<PyErr> for Stopped {
    fn from(error: PyErr) -> Stopped {
        Stopped::Raised(Box::new(error))
    }
}

impl From<Stopped> for PyErr {
    fn from(stopped: Stopped) -> PyErr {
        match stopped {
            Stopped::Raised(error) => *error,
            Stopped::NotPlain => PyValueError::new_err("a value that is not plain"),
        }
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
