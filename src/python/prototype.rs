//! Prototypes turn an answer that is given again into new Python objects by copying objects that
//! are made once and that nobody else sees.
//!
//! A copy of a dict hashes nothing and makes no string; the containers inside of it are then copied
//! into their places. A container that several answers share has one prototype. Only an answer that
//! is asked for again has prototypes, and all together take about [`LIMIT`] and no more. Those of an
//! answer that is gone go when there is need of room.
//!
//! No lock is held while Python works: making an object may run a collection, which may run anything.
//! A forked child goes on with the prototypes of its parent. `PyO3` does not let a second interpreter
//! of the process load the module.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::convert::{self, deeper, to_python};
use super::inventory::on_enough_stack;
use crate::value::{Map, Value};

/// About how many bytes all prototypes of a process may take.
const LIMIT: usize = 128 * 1024 * 1024;

/// About how many bytes they take.
static WEIGHT: AtomicUsize = AtomicUsize::new(0);

static KNOWN: Mutex<Known> = Mutex::new(Known {
    roots: FxHashMap::with_hasher(FxBuildHasher),
    shared: FxHashMap::with_hasher(FxBuildHasher),
    given: 0,
    crowd: 64,
});

/// A new dict for a map that is likely to be asked for again, with new containers inside of it.
pub fn dict<'py>(py: Python<'py>, map: &Arc<Map>) -> PyResult<Bound<'py, PyDict>> {
    let known = KNOWN.lock().root(map);
    let prototype = if let Some(prototype) = known {
        prototype
    } else {
        if WEIGHT.load(Ordering::Relaxed) > LIMIT {
            let idle = KNOWN.lock().take_idle();
            if idle.is_empty() {
                return convert::dict(py, map);
            }
            on_enough_stack(|| drop(idle));
        }
        let prototype = Arc::new(Prototype::of_map(py, map)?);
        let gone = KNOWN.lock().remember(map, &prototype);
        on_enough_stack(|| drop(gone));
        prototype
    };
    Ok(prototype.copy(py)?.cast_into::<PyDict>()?)
}

/// The prototypes of one process, by the address of what they stand for. Each keeps the allocation,
/// so that no other can have its address.
struct Known {
    roots: FxHashMap<usize, Root>,
    /// Of containers that others hold too.
    shared: FxHashMap<usize, Weak<Prototype>>,
    /// Counts what was given.
    given: u64,
    /// How many prototypes there have to be for it to be worth looking for the dead.
    crowd: usize,
}

/// The prototype of a whole answer.
struct Root {
    answer: Weak<Map>,
    prototype: Arc<Prototype>,
    given: u64,
}

impl Known {
    fn root(&mut self, map: &Arc<Map>) -> Option<Arc<Prototype>> {
        self.given += 1;
        let root = self.roots.get_mut(&address(map))?;
        root.given = self.given;
        Some(root.prototype.clone())
    }

    /// Remembers the prototype of an answer. What is given back is to be dropped without the lock.
    fn remember(&mut self, map: &Arc<Map>, prototype: &Arc<Prototype>) -> Vec<Arc<Prototype>> {
        let root = Root { answer: Arc::downgrade(map), prototype: prototype.clone(), given: self.given };
        let before = self.roots.insert(address(map), root);
        let mut dropped: Vec<_> = before.into_iter().map(|root| root.prototype).collect();
        if self.roots.len() + self.shared.len() > self.crowd {
            dropped.extend(self.take(|root| root.answer.strong_count() == 0));
            self.shared.retain(|_, prototype| prototype.strong_count() > 0);
            self.crowd = 64 + 2 * (self.roots.len() + self.shared.len());
        }
        dropped
    }

    /// Takes out what is in the way of others: answers that are gone, or were not asked for while
    /// four times as many were as there are. Not simply the oldest: where more are asked for in
    /// turn than there is room for, none would ever be there when it is asked for.
    fn take_idle(&mut self) -> Vec<Arc<Prototype>> {
        let long_ago = self.given.saturating_sub(4 * self.roots.len() as u64);
        self.take(|root| root.given < long_ago || root.answer.strong_count() == 0)
    }

    fn take(&mut self, which: impl Fn(&Root) -> bool) -> Vec<Arc<Prototype>> {
        let chosen = self.roots.iter().filter(|(_, root)| which(root)).map(|(address, _)| *address);
        let chosen: Vec<usize> = chosen.collect();
        chosen.iter().filter_map(|address| self.roots.remove(address)).map(|root| root.prototype).collect()
    }
}

/// What copies of one container are made from.
struct Prototype {
    form: Form,
    _source: Source,
    weight: usize,
}

enum Form {
    /// A dict that has its scalars, and the containers that come in the place of its other values.
    Map(Py<PyDict>, Vec<(Py<PyAny>, Inner)>),
    /// The same for a list.
    List(Py<PyList>, Vec<(usize, Inner)>),
}

enum Inner {
    Copied(Arc<Prototype>),
    /// A tuple or a set: rare.
    Made(Value),
}

/// Keeps an allocation, but not what is in it.
#[expect(dead_code, reason = "held, and not looked at")]
enum Source {
    Map(Weak<Map>),
    List(Weak<Vec<Value>>),
}

impl Prototype {
    fn of_map(py: Python<'_>, map: &Arc<Map>) -> PyResult<Prototype> {
        let dict = PyDict::new(py);
        let mut inner = Vec::new();
        for (key, value) in map.iter() {
            let key = to_python(py, &key.0)?;
            if is_container(value) {
                dict.set_item(&key, py.None())?;
                inner.push((key.unbind(), Inner::of(py, value)?));
            } else {
                dict.set_item(key, to_python(py, value)?)?;
            }
        }
        let weight = 310 + 27 * map.len() + 32 * inner.len();
        Ok(Prototype::new(Form::Map(dict.unbind(), inner), Source::Map(Arc::downgrade(map)), weight))
    }

    fn of_list(py: Python<'_>, list: &Arc<Vec<Value>>) -> PyResult<Prototype> {
        let objects = PyList::empty(py);
        let mut inner = Vec::new();
        for (index, value) in list.iter().enumerate() {
            if is_container(value) {
                objects.append(py.None())?;
                inner.push((index, Inner::of(py, value)?));
            } else {
                objects.append(to_python(py, value)?)?;
            }
        }
        let weight = 216 + 8 * list.len() + 32 * inner.len();
        Ok(Prototype::new(Form::List(objects.unbind(), inner), Source::List(Arc::downgrade(list)), weight))
    }

    fn new(form: Form, source: Source, weight: usize) -> Prototype {
        WEIGHT.fetch_add(weight, Ordering::Relaxed);
        Prototype { form, _source: source, weight }
    }

    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.form {
            Form::Map(dict, inner) => {
                let copy = dict.bind(py).copy()?;
                if !inner.is_empty() {
                    deeper(|| inner.iter().try_for_each(|(key, inner)| copy.set_item(key, inner.copy(py)?)))?;
                }
                Ok(copy.into_any())
            }
            Form::List(list, inner) => {
                let list = list.bind(py);
                let copy = list.get_slice(0, list.len());
                if !inner.is_empty() {
                    deeper(|| inner.iter().try_for_each(|(at, inner)| copy.set_item(*at, inner.copy(py)?)))?;
                }
                Ok(copy.into_any())
            }
        }
    }
}

impl Drop for Prototype {
    fn drop(&mut self) {
        WEIGHT.fetch_sub(self.weight, Ordering::Relaxed);
    }
}

impl Inner {
    fn of(py: Python<'_>, value: &Value) -> PyResult<Inner> {
        match value {
            Value::Map(map) => shared(map, || Prototype::of_map(py, map)).map(Inner::Copied),
            Value::List(list) => shared(list, || Prototype::of_list(py, list)).map(Inner::Copied),
            other => Ok(Inner::Made(other.clone())),
        }
    }

    fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Inner::Copied(prototype) => prototype.copy(py),
            Inner::Made(value) => to_python(py, value),
        }
    }
}

/// The prototype of a container, which may be known from another answer.
fn shared<T>(container: &Arc<T>, make: impl FnOnce() -> PyResult<Prototype>) -> PyResult<Arc<Prototype>> {
    if Arc::strong_count(container) == 1 {
        return deeper(make).map(Arc::new);
    }
    let address = address(container);
    let known = KNOWN.lock().shared.get(&address).and_then(Weak::upgrade);
    if let Some(known) = known {
        return Ok(known);
    }
    let prototype = Arc::new(deeper(make)?);
    KNOWN.lock().shared.insert(address, Arc::downgrade(&prototype));
    Ok(prototype)
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Map(_) | Value::List(_) | Value::Tuple(_) | Value::Set(_))
}

fn address<T>(of: &Arc<T>) -> usize {
    Arc::as_ptr(of).cast::<u8>() as usize
}
