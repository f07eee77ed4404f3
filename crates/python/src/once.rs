//! What is made once in a process is made while the module is imported, before there are threads that ask.
//!
//! A process may fork while one of its threads makes something that others wait for, such as a `PyOnceLock`, a
//! `OnceLock` or a `LazyLock`. That thread does not exist in the child, which then waits without end. A `PyOnceLock`
//! gives the interpreter away before it is made, so a fork meets it nearly always; so does a module of Python that is
//! imported. So this module has the only cell and the only imports of ours, and [`make`] also calls once whatever makes
//! cells of `PyO3` and of other libraries.
//! `tests/architecture/once.rs` has the list of all such places, `tests/python/test_forks.py` the proof.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigInt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyMappingProxy, PyString, PyType};

use crate::data;
use crate::errors::{Exception, exception};
use crate::incoming;
use crate::outgoing::Outgoing;
use reclass::value::{Date, DateTime, Key, Map, Value};
use reclass::{InventoryBuilder, Request};
use reclass_edit::unified::{ShownText, unified};
use reclass_serve::Served;

/// Python objects that are used again and again.
pub struct Objects {
    /// The log `saltext.reclass`.
    pub logger: Py<PyAny>,
    /// The type `datetime.datetime`.
    pub datetime: Py<PyAny>,
    /// The function `hashlib.sha256`.
    pub sha256: Py<PyAny>,
    /// The function `json.loads`.
    pub loads: Py<PyAny>,
    /// The function `time.strftime`.
    pub strftime: Py<PyAny>,
    /// The exceptions, in the order of [`Exception::NAMES`].
    pub exceptions: Vec<Py<PyType>>,
    /// The keys of what Salt gets beside the parameters.
    pub keys: PillarKeys,
}

/// Keys of a pillar.
pub struct PillarKeys {
    pub reclass: Py<PyString>,
    pub nodename: Py<PyString>,
    pub applications: Py<PyString>,
    pub classes: Py<PyString>,
    pub environment: Py<PyString>,
    pub revision: Py<PyString>,
}

static OBJECTS: PyOnceLock<Objects> = PyOnceLock::new();

/// The objects.
pub fn objects(py: Python<'_>) -> &Objects {
    OBJECTS.get(py).expect("they are made while the module is imported")
}

/// Makes everything.
pub fn make(py: Python<'_>) -> PyResult<()> {
    reclass_base::keys::seed();
    OBJECTS.get_or_try_init(py, || Objects::new(py))?;
    answer_once(py)?;
    convert_once(py)
}

impl Objects {
    fn new(py: Python<'_>) -> PyResult<Objects> {
        let import = |module: &str, name: &str| py.import(module)?.getattr(name).map(Bound::unbind);
        let class = |name: &&str| {
            PyResult::Ok(import("saltext.reclass.errors", name)?.into_bound(py).cast_into()?.unbind())
        };
        let key = |name| PyString::intern(py, name).unbind();
        Ok(Objects {
            logger: import("logging", "getLogger")?.call1(py, ("saltext.reclass",))?,
            datetime: import("datetime", "datetime")?,
            sha256: import("hashlib", "sha256")?,
            loads: import("json", "loads")?,
            strftime: import("time", "strftime")?,
            exceptions: Exception::NAMES.iter().map(class).collect::<PyResult<_>>()?,
            keys: PillarKeys {
                reclass: key("__reclass__"),
                nodename: key("nodename"),
                applications: key("applications"),
                classes: key("classes"),
                environment: key("environment"),
                revision: key("revision"),
            },
        })
    }
}

/// An inventory with everything that a library makes something for: a pattern, and a schema with a format.
const FILES: [(&str, &str); 3] = [
    ("nodes/n.yml", "classes: [c]\nparameters: {p: x}\n"),
    ("classes/c.yml", "parameters: {q: '${p}'}\n"),
    ("schemas/p.yml", "{type: string, format: date, pattern: '^[a-z]$'}\n"),
];

/// Answers for a node of an inventory in memory, checks it against a schema, and compares two texts.
fn answer_once(py: Python<'_>) -> PyResult<()> {
    let mappings = Value::list(vec![Value::text("/^(n)$/ c")]);
    let options = Map::from_iter([
        (Key::from("inventory_base_uri"), Value::text("/")),
        (Key::from("class_mappings"), mappings),
        (Key::from("schema_check"), Value::text("warn")),
    ]);
    let files = FILES.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let inventory = InventoryBuilder::new(&options).in_memory(&BTreeMap::from(files)).open();
    let served = inventory.map(Served::from).map_err(|error| exception(py, &error))?;
    let pillar = served.pillar("n", &Request::default(), false, false).result;
    let pillar = pillar.map_err(|failed| exception(py, &failed.error))?;
    let is_checked = pillar.is_some_and(|pillar| !pillar.warnings.is_empty());
    debug_assert!(is_checked, "the value is no date, so the schema was read");
    let text = |text: &str| ShownText { text: text.to_owned(), shown: text.to_owned() };
    unified(Some(&text("a\nb\n")), Some(&text("a\nc\n")), "", 0);
    Ok(())
}

/// Carries a value of each type to Python and back, and raises an error of each kind of argument.
fn convert_once(py: Python<'_>) -> PyResult<()> {
    let date = Date { year: 2000, month: 1, day: 2 };
    let time = |offset| DateTime { date, hour: 3, minute: 4, second: 5, microsecond: 6, offset };
    let values = Value::list(vec![
        Value::map(Map::from_iter([(Key::from("k"), Value::BigInt(Arc::new(BigInt::from(1_u8) << 70_u8)))])),
        Value::Binary(Arc::new(vec![1])),
        Value::Date(Arc::new(date)),
        Value::DateTime(Arc::new(time(None))),
        Value::DateTime(Arc::new(time(Some(3600)))),
    ]);
    let list = Outgoing::new(py).object(&values)?;
    data::object(&mut Outgoing::new(py), &(1, "x", 1.5))?;
    // Not empty: PyO3 asks an iterator for its length after the first entry, and makes something for that too.
    let entry = PyDict::new(py);
    entry.set_item("k", 1)?;
    let proxy = PyMappingProxy::new(py, entry.as_mapping());
    for object in [&list, proxy.as_any()] {
        incoming::from_python(object, "")?;
    }
    let _ = list.cast::<PyMapping>();
    let mut refused = Vec::new();
    refused.extend(incoming::from_python(py.get_type::<PyAny>().as_any(), "").err());
    refused.extend(list.extract::<Vec<String>>().err());
    refused.extend(list.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().err());
    refused.extend(list.cast::<PyDict>().err().map(PyErr::from));
    refused.extend(proxy.extract::<Vec<String>>().err());
    let surrogate = PyBytes::new(py, b"\xed\xa0\x80").call_method1("decode", ("utf-8", "surrogatepass"))?;
    refused.extend(incoming::text(surrogate.cast()?, "").err());
    for error in refused {
        error.value(py);
    }
    Ok(())
}
