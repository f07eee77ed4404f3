//! Converts Python objects to values of the engine.
//!
//! It accepts everything that a Salt configuration or a pillar may contain: the plain types and their
//! subclasses, and any mapping. Salt's own mappings (`OptsDict`, `DictProxy`, `NamedLoaderContext`) do not
//! store their data like a `dict`. So only exact dicts and lists are read directly, all others through their
//! methods.

use std::sync::Arc;

use num_bigint::BigInt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDate, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

use crate::errors::exception;
use crate::once::objects;
use reclass::configuration::with_file;
use reclass::error::{Fault, Kind};
use reclass::settings::PROGRAM_SETTINGS;
use reclass::value::{Date, DateTime, Key, Map, Text, Value};
use reclass_base::failpoints::failpoint;
use reclass_serve::Asker;

/// Maximum nesting depth of objects from Python.
const DEPTH: usize = 256;

/// Maximum number of values. A value that is referenced twice counts twice; repeated references could exceed
/// any memory.
const VALUES: usize = 2_000_000;

/// Maximum number of bytes in texts and numbers, counted in the same manner.
const BYTES: usize = 256 * 1024 * 1024;

/// The mark of options of a master and of a guest. Salt's adapters set it.
const ASKER: &str = "_asker";

/// The options of an inventory from keyword arguments, combined with the file that `config_file` names.
/// Settings that only the programs use are ignored, whatever their value.
pub fn options(py: Python<'_>, dict: Option<&Bound<'_, PyDict>>) -> PyResult<Map> {
    let given = dict.map(|dict| from_python(dict.as_any(), "the options")).transpose()?;
    let given = match given {
        Some(Value::Map(map)) => Arc::unwrap_or_clone(map),
        _ => Map::default(),
    };
    // Each request comes here, and most have nothing to change: two copies would be a sixth of this.
    if !PROGRAM_SETTINGS.iter().chain(&["config_file", ASKER]).any(|name| given.contains_key(*name)) {
        return Ok(given);
    }
    let options = py.detach(|| with_file(&given)).map_err(|error| exception(py, &error))?;
    let counts = |key: &Key| key.as_str().is_none_or(|key| key != ASKER && !PROGRAM_SETTINGS.contains(&key));
    Ok(options.into_iter().filter(|(key, _)| counts(key)).collect())
}

/// Who asks, by that mark.
pub fn asker(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Asker> {
    let mark = settings.map(|settings| settings.get_item(ASKER)).transpose()?.flatten();
    Ok(match mark {
        None => Asker::Masterless,
        Some(mark) if mark.eq("master")? => Asker::Master,
        Some(_) => Asker::Guest,
    })
}

/// The value of a Python object. `what` names it in errors: `the pillar`.
///
/// Raises a `WireError` that names the path of an unsupported object, never the object itself.
pub fn from_python(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Value> {
    Intake::new(what).value(object)
}

/// The text of a Python string. `what` names it in errors: `the name of the node`.
///
/// Raises a `WireError` if it is not valid Unicode.
pub fn text(string: &Bound<'_, PyString>, what: &str) -> PyResult<Text> {
    Intake::new(what).text(string)
}

/// The same, borrowed.
pub fn str<'a>(string: &'a Bound<'_, PyString>, what: &str) -> PyResult<&'a str> {
    Intake::new(what).str(string)
}

struct Intake<'a> {
    what: &'a str,
    path: Vec<String>,
    values: usize,
    bytes: usize,
}

impl<'a> Intake<'a> {
    fn new(what: &'a str) -> Intake<'a> {
        Intake { what, path: Vec::new(), values: 0, bytes: 0 }
    }

    fn value(&mut self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        self.values += 1;
        if self.values > VALUES {
            return Err(self.refuse(object, &format!("more than {VALUES} values")));
        }
        if object.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(flag) = object.cast::<PyBool>() {
            return Ok(Value::Bool(flag.is_true()));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return self.text(text).map(Value::Str);
        }
        if let Ok(number) = object.cast::<PyInt>() {
            return self.integer(number);
        }
        if let Ok(number) = object.cast::<PyFloat>() {
            return Ok(Value::Float(number.value()));
        }
        if let Ok(dict) = object.cast_exact::<PyDict>() {
            return self.map(object, dict.iter().map(Ok));
        }
        if let Ok(list) = object.cast_exact::<PyList>() {
            return self.list(object, list.iter().map(Ok));
        }
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            let items = object.try_iter()?;
            return self.list(object, items);
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            self.count(object, bytes.as_bytes().len())?;
            return Ok(Value::Binary(Arc::new(bytes.as_bytes().to_vec())));
        }
        if object.is_instance_of::<PyDict>() || object.cast::<PyMapping>().is_ok() {
            let entries: Vec<_> = object.call_method0("items")?.try_iter()?.collect::<PyResult<_>>()?;
            return self.map(object, entries.into_iter().map(|entry| entry.extract()));
        }
        if object.is_instance(objects(object.py()).datetime.bind(object.py()))? {
            return self.timestamp(object);
        }
        if object.cast::<PyDate>().is_ok() {
            return Ok(Value::Date(Arc::new(date(object)?)));
        }
        Err(self.refuse(object, "a value of a type that YAML does not have"))
    }

    fn text(&mut self, string: &Bound<'_, PyString>) -> PyResult<Text> {
        self.str(string).map(Text::from)
    }

    fn str<'s>(&mut self, string: &'s Bound<'_, PyString>) -> PyResult<&'s str> {
        let refused = |_| self.refuse(string.as_any(), "a string that is not Unicode text");
        let text = string.to_str().map_err(refused)?;
        self.count(string.as_any(), text.len())?;
        Ok(text)
    }

    /// Counts the bytes of a text or a number.
    fn count(&mut self, object: &Bound<'_, PyAny>, bytes: usize) -> PyResult<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= BYTES {
            return Ok(());
        }
        Err(self.refuse(object, &format!("more than {BYTES} bytes of text")))
    }

    fn list<'py>(
        &mut self,
        object: &Bound<'py, PyAny>,
        items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    ) -> PyResult<Value> {
        self.enter(object)?;
        failpoint("a list of Python is read");
        let mut list = Vec::new();
        for (index, item) in items.enumerate() {
            self.path.push(index.to_string());
            list.push(self.value(&item?)?);
            self.path.pop();
        }
        Ok(Value::list(list))
    }

    fn map<'py>(
        &mut self,
        object: &Bound<'py, PyAny>,
        entries: impl Iterator<Item = PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)>>,
    ) -> PyResult<Value> {
        self.enter(object)?;
        failpoint("a dict of Python is read");
        let mut map = Map::default();
        for entry in entries {
            let (key, value) = entry?;
            let key = self.key(&key)?;
            self.path.push(reclass::pystr::str(&key.0));
            let value = self.value(&value)?;
            self.path.pop();
            map.insert(key, value);
        }
        Ok(Value::map(map))
    }

    fn key(&mut self, object: &Bound<'_, PyAny>) -> PyResult<Key> {
        self.path.push("a key".to_owned());
        let key = match self.value(object)? {
            Value::List(_) | Value::Tuple(_) | Value::Set(_) | Value::Map(_) => {
                self.path.pop();
                return Err(self.refuse(object, "a key that is not a scalar"));
            }
            scalar => Key(scalar),
        };
        self.path.pop();
        Ok(key)
    }

    fn timestamp(&self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        let offset = object.call_method0("utcoffset")?;
        let offset = if offset.is_none() { None } else { Some(self.seconds(object, &offset)?) };
        Ok(Value::DateTime(Arc::new(DateTime {
            date: date(object)?,
            hour: object.getattr("hour")?.extract()?,
            minute: object.getattr("minute")?.extract()?,
            second: object.getattr("second")?.extract()?,
            microsecond: object.getattr("microsecond")?.extract()?,
            offset,
        })))
    }

    fn seconds(&self, object: &Bound<'_, PyAny>, offset: &Bound<'_, PyAny>) -> PyResult<i32> {
        if offset.getattr("microseconds")?.extract::<i32>()? != 0 {
            return Err(self.refuse(object, "a timestamp whose offset has a fraction of a second"));
        }
        // An offset west of Greenwich is a negative day and some seconds.
        let days: i32 = offset.getattr("days")?.extract()?;
        Ok(days * 86_400 + offset.getattr("seconds")?.extract::<i32>()?)
    }

    fn enter(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.path.len() < DEPTH {
            return Ok(());
        }
        Err(self.refuse(object, &format!("more than {DEPTH} levels of mappings and lists")))
    }

    /// The error for an unsupported object: its type and its path.
    fn refuse(&self, object: &Bound<'_, PyAny>, reason: &str) -> PyErr {
        let py = object.py();
        let name = object.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
        let what = format!("{} cannot be read: {reason} ({name})", self.what);
        let mut fault = Fault::new(Kind::WireType { what });
        if !self.path.is_empty() {
            let shown = self.path.len().min(16);
            let more = if shown < self.path.len() { ":…" } else { "" };
            fault = fault.in_path(format!("{}{more}", self.path[..shown].join(":")));
        }
        exception(py, &fault.into())
    }

    fn integer(&mut self, number: &Bound<'_, PyInt>) -> PyResult<Value> {
        if let Ok(number) = number.extract::<i64>() {
            return Ok(Value::Int(number));
        }
        let py = number.py();
        let bits: usize = number.call_method0("bit_length")?.extract()?;
        self.count(number.as_any(), bits / 8 + 1)?;
        let signed = PyDict::new(py);
        signed.set_item("signed", true)?;
        let bytes = number.call_method("to_bytes", (bits / 8 + 1, "little"), Some(&signed))?;
        let bytes = bytes.cast::<PyBytes>()?;
        Ok(Value::BigInt(Arc::new(BigInt::from_signed_bytes_le(bytes.as_bytes()))))
    }
}

fn date(object: &Bound<'_, PyAny>) -> PyResult<Date> {
    Ok(Date {
        year: object.getattr("year")?.extract()?,
        month: object.getattr("month")?.extract()?,
        day: object.getattr("day")?.extract()?,
    })
}
