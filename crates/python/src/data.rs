//! Converts results to Python objects. Their values keep the types that `PyYAML` would produce.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value as Json;

use crate::outgoing::Outgoing;
use reclass::value::{INDEX, Value, apart};
use reclass_base::stack::grow;

/// The Python object of a result. Each call creates new containers.
pub fn object<'py>(outgoing: &mut Outgoing<'py>, result: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let (data, values) = grow(|| apart(result));
    json(outgoing, &data, &values)
}

fn json<'py>(outgoing: &mut Outgoing<'py>, data: &Json, values: &[Value]) -> PyResult<Bound<'py, PyAny>> {
    let py = outgoing.py();
    Ok(match data {
        Json::Null => py.None().into_bound(py),
        Json::Bool(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        Json::Number(number) => match number.as_u64() {
            Some(number) => number.into_pyobject(py)?.into_any(),
            None => number.as_f64().into_pyobject(py)?,
        },
        Json::String(text) => text.into_pyobject(py)?.into_any(),
        Json::Array(items) => {
            let items = items.iter().map(|item| json(outgoing, item, values));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        Json::Object(entries) => {
            let index =
                entries.get(INDEX).and_then(Json::as_u64).and_then(|index| usize::try_from(index).ok());
            if let Some(value) = index.and_then(|index| values.get(index)) {
                return outgoing.object(value);
            }
            let dict = PyDict::new(py);
            for (key, item) in entries {
                dict.set_item(key, json(outgoing, item, values)?)?;
            }
            dict.into_any()
        }
    })
}
