//! A prototype is a template for a container in many answers, including all inner containers.
//!
//! A prototype is one contiguous block of memory that is read from front to back: the cost of an answer that
//! was not requested recently is the memory that must be read.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::form::scalar;
use crate::templates::{SharedObjects, has_plain_keys};
use reclass::failpoints::failpoint;
use reclass::value::{Map, Value};
use reclass::wire;

/// A template for containers. Everything in it is plain in the sense of [`wire`].
pub struct Prototype {
    /// The type and size of each container, outer containers before inner ones.
    steps: Box<[BuildStep]>,
    /// For a dict: its form, then the keys and values that differ from the form. For a list: its items.
    /// `Ellipsis` is the placeholder of a container.
    objects: Box<[Py<PyAny>]>,
}

#[derive(Clone, Copy)]
enum BuildStep {
    /// A dict with this number of entries that differ from its form.
    Dict(u32),
    /// A list with this number of items.
    List(u32),
}

/// Maximum nesting depth. Deeper containers have no prototype, so that creating and copying one needs little
/// stack.
const HEIGHT: usize = 16;

impl Prototype {
    /// Creates the prototype of a container; `None` if it is too deep, or contains a value that is not plain.
    pub fn of(py: Python<'_>, value: &Value, templates: &mut SharedObjects) -> PyResult<Option<Prototype>> {
        let mut making = Making { py, templates, steps: Vec::new(), objects: Vec::new() };
        let made = making.container(value, 1)?;
        let Making { steps, objects, .. } = making;
        Ok(made.then(|| Prototype { steps: steps.into(), objects: objects.into() }))
    }

    /// Approximate size in bytes.
    pub fn bytes(&self) -> usize {
        64 + size_of_val(&*self.steps) + size_of_val(&*self.objects)
    }

    /// A new container with new inner containers.
    pub fn copy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut copying =
            Copying { py, steps: self.steps.iter(), objects: &self.objects, ellipsis: py.Ellipsis() };
        copying.container()
    }
}

struct Making<'py, 'k> {
    py: Python<'py>,
    templates: &'k mut SharedObjects,
    steps: Vec<BuildStep>,
    objects: Vec<Py<PyAny>>,
}

impl Making<'_, '_> {
    /// Adds a container; `false` if it is not plain or too deep.
    fn container(&mut self, value: &Value, depth: usize) -> PyResult<bool> {
        if depth > HEIGHT {
            return Ok(false);
        }
        match value {
            Value::Map(map) => self.dict(map, depth),
            Value::List(list) => self.list(list, depth),
            _ => Ok(false),
        }
    }

    fn dict(&mut self, map: &Map, depth: usize) -> PyResult<bool> {
        if !has_plain_keys(map) {
            return Ok(false);
        }
        let form = self.templates.form_in_prototype(self.py, map)?;
        let place = self.steps.len();
        failpoint("a prototype is made");
        self.steps.push(BuildStep::Dict(0));
        self.objects.push(form.dict.clone_ref(self.py).into_any());
        let mut others = Vec::new();
        for (index, value) in map.values().enumerate() {
            if let Some(key) = form.other(index, value) {
                self.objects.push(key.clone_ref(self.py));
                self.place(value);
                others.push(value);
            }
        }
        let Ok(count) = u32::try_from(others.len()) else { return Ok(false) };
        self.steps[place] = BuildStep::Dict(count);
        self.inner(others.into_iter(), depth)
    }

    fn list(&mut self, list: &[Value], depth: usize) -> PyResult<bool> {
        let Ok(count) = u32::try_from(list.len()) else { return Ok(false) };
        self.steps.push(BuildStep::List(count));
        for value in list {
            self.place(value);
        }
        self.inner(list.iter(), depth)
    }

    fn place(&mut self, value: &Value) {
        self.objects.push(if wire::is_plain(value) {
            scalar(self.py, value, &mut self.templates.strings).unbind()
        } else {
            self.py.Ellipsis()
        });
    }

    fn inner<'v>(&mut self, values: impl Iterator<Item = &'v Value>, depth: usize) -> PyResult<bool> {
        for value in values.filter(|value| !wire::is_plain(value)) {
            if !self.container(value, depth + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

struct Copying<'py, 'p> {
    py: Python<'py>,
    steps: std::slice::Iter<'p, BuildStep>,
    objects: &'p [Py<PyAny>],
    ellipsis: Py<PyAny>,
}

impl<'py> Copying<'py, '_> {
    fn container(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        match (self.steps.next(), self.objects) {
            (Some(BuildStep::Dict(count)), [dict, rest @ ..]) => {
                let (others, rest) = rest.split_at(2 * *count as usize);
                self.objects = rest;
                let copy = dict.bind(py).cast::<PyDict>()?.copy()?;
                failpoint("a prototype is copied");
                for other in others.chunks_exact(2) {
                    if self.is_container(&other[1]) {
                        copy.set_item(&other[0], self.container()?)?;
                    } else {
                        copy.set_item(&other[0], &other[1])?;
                    }
                }
                Ok(copy.into_any())
            }
            (Some(BuildStep::List(count)), objects) => {
                let (items, rest) = objects.split_at(*count as usize);
                self.objects = rest;
                if !items.iter().any(|item| self.is_container(item)) {
                    return Ok(PyList::new(py, items)?.into_any());
                }
                let item = |item: &Py<PyAny>| {
                    if self.is_container(item) { self.container() } else { Ok(item.bind(py).clone()) }
                };
                let items: Vec<_> = items.iter().map(item).collect::<PyResult<_>>()?;
                Ok(PyList::new(py, items)?.into_any())
            }
            (Some(BuildStep::Dict(_)), []) | (None, _) => Ok(py.None().into_bound(py)),
        }
    }

    fn is_container(&self, object: &Py<PyAny>) -> bool {
        object.as_ptr() == self.ellipsis.as_ptr()
    }
}
