//! The Python class `Editor`: its methods edit class and node files.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyList, PyString};

use crate::errors::{exception, guard};
use crate::incoming::{self, from_python};
use crate::once::objects;
use crate::outgoing::Outgoing;
use reclass::error::{Error, Result};
use reclass::parts::storage::fs::display;
use reclass::redact::Redaction;
use reclass::settings::{Settings, unknown_word};
use reclass::value::{Map, Text, Value};
use reclass_edit::cluster::{self, ClusterFile};
use reclass_edit::effect::EditEffect;
use reclass_edit::etcd;
use reclass_edit::fetched;
use reclass_edit::node::{self, NodeContent};
use reclass_edit::tree::{EditOptions, Edited};
use reclass_edit::unified::{ShownText, unified};

/// Edits the class and node files of an inventory, with the same settings as an `Inventory`.
#[pyclass(frozen, module = "saltext.reclass")]
pub struct Editor {
    settings: Arc<Settings>,
}

#[pymethods]
impl Editor {
    /// Checks the settings, without reading or writing files.
    #[new]
    #[pyo3(signature = (**settings))]
    fn new(py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Editor> {
        guard(|| {
            let options = incoming::options(py, settings)?;
            // Only the inventory warns about an unknown setting.
            let (settings, _) = Settings::from_options(&options).map_err(|error| exception(py, &error))?;
            Ok(Editor { settings: Arc::new(settings) })
        })
    }

    /// The content of the metadata file of a cluster as written; an empty dict for no file. With `store="etcd"`,
    /// the soft parameters in etcd in the same form.
    #[pyo3(signature = (cluster = "", file_name = "", *, store = "file"))]
    fn cluster_data<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] cluster: &str,
        #[pyo3(from_py_with = argument)] file_name: &str,
        #[pyo3(from_py_with = argument)] store: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(|| {
            let file = ClusterFile { cluster, name: file_name };
            let data = self.ask(py, |settings| {
                if is_etcd(store)? { etcd::data(settings, file) } else { cluster::data(settings, file) }
            })?;
            Outgoing::new(py).object(&mapping(data))
        })
    }

    /// The path of the metadata file of a cluster. The file need not exist, but its folder must. With
    /// `store="etcd"`, the prefix of its keys.
    #[pyo3(signature = (cluster = "", file_name = "", *, store = "file"))]
    fn cluster_path(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] cluster: &str,
        #[pyo3(from_py_with = argument)] file_name: &str,
        #[pyo3(from_py_with = argument)] store: &str,
    ) -> PyResult<String> {
        guard(|| {
            let file = ClusterFile { cluster, name: file_name };
            Ok(display(&self.ask(py, |settings| {
                if is_etcd(store)? { etcd::path(settings, file) } else { cluster::path(settings, file) }
            })?))
        })
    }

    /// Sets a soft parameter of a cluster, in its file or in etcd.
    #[pyo3(signature = (name, value, cluster = "", file_name = "", *, interpolate = false, test = false, force = false, store = "file"))]
    #[expect(clippy::too_many_arguments, reason = "the keyword arguments of Salt's function")]
    fn set_cluster_param<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] name: &str,
        value: &Bound<'py, PyAny>,
        #[pyo3(from_py_with = argument)] cluster: &str,
        #[pyo3(from_py_with = argument)] file_name: &str,
        interpolate: bool,
        test: bool,
        force: bool,
        #[pyo3(from_py_with = argument)] store: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let value = from_python(value, "the value")?;
            let file = ClusterFile { cluster, name: file_name };
            let options = EditOptions { test, interpolate, force };
            self.edit(py, |settings| {
                if is_etcd(store)? {
                    etcd::set(settings, file, name, value, options)
                } else {
                    cluster::set(settings, file, name, value, options)
                }
            })
        })
    }

    /// Deletes a soft parameter of a cluster, if it exists.
    #[pyo3(signature = (name, cluster = "", file_name = "", *, test = false, force = false, store = "file"))]
    #[expect(clippy::too_many_arguments, reason = "the keyword arguments of Salt's function")]
    fn delete_cluster_param<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] name: &str,
        #[pyo3(from_py_with = argument)] cluster: &str,
        #[pyo3(from_py_with = argument)] file_name: &str,
        test: bool,
        force: bool,
        #[pyo3(from_py_with = argument)] store: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let file = ClusterFile { cluster, name: file_name };
            let options = EditOptions { test, interpolate: false, force };
            self.edit(py, |settings| {
                if is_etcd(store)? {
                    etcd::delete(settings, file, name, options)
                } else {
                    cluster::delete(settings, file, name, options)
                }
            })
        })
    }

    /// The folders of the inventory: those of the `classes`, and those of the `nodes`.
    fn folders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let (classes, nodes) = self.ask(py, reclass_edit::source::roots)?;
            let found = PyDict::new(py);
            for (name, folders) in [("classes", classes), ("nodes", nodes)] {
                found.set_item(name, folders.iter().map(|folder| display(folder)).collect::<Vec<_>>())?;
            }
            Ok(found)
        })
    }

    /// The repositories of the `nodes` and of the `classes` of an inventory in git, fetched now: `repo`, the served
    /// `branch`, the `root` below its top, the `folder` of the bare repository, and the commits of all branches,
    /// `heads`. `None` unless each of the two is one branch.
    fn repositories<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        guard(|| {
            let Some(trees) = self.ask(py, fetched::trees)? else { return Ok(None) };
            let found = PyDict::new(py);
            for (name, tree) in ["nodes", "classes"].into_iter().zip(trees) {
                let one = PyDict::new(py);
                one.set_item("repo", tree.repo)?;
                one.set_item("branch", &*tree.branch)?;
                one.set_item("root", &*tree.root)?;
                one.set_item("folder", display(&tree.folder))?;
                let heads = tree.heads.iter().map(|(branch, commit)| (branch, &**commit));
                one.set_item("heads", heads.into_py_dict(py)?)?;
                found.set_item(name, one)?;
            }
            Ok(Some(found))
        })
    }

    /// Pushes a commit of the bare repository `folder` to a branch of the repository of the `nodes` or `classes`.
    /// Returns `None`, or the message of git if that fails.
    fn push(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument)] tree: &str,
        #[pyo3(from_py_with = argument)] folder: &str,
        #[pyo3(from_py_with = argument)] commit: &str,
        #[pyo3(from_py_with = argument)] branch: &str,
    ) -> PyResult<Option<String>> {
        guard(|| {
            let tree = usize::from(tree == "classes");
            self.ask(py, |settings| fetched::push(settings, tree, folder.as_ref(), commit, branch))
        })
    }

    /// All files of the inventory as written, or the file of one node, each with its `kind` (`class` or `node`),
    /// `name`, `folder` and `path`, and `data` or `error`.
    #[pyo3(signature = (node = None))]
    fn sources<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = optional_argument)] node: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        guard(|| {
            let sources = self.ask(py, |settings| reclass_edit::source::list(settings, node))?;
            let all = PyList::empty(py);
            for source in sources {
                let one = PyDict::new(py);
                one.set_item("kind", source.kind)?;
                one.set_item("name", &*source.name)?;
                one.set_item("folder", &source.folder)?;
                one.set_item("path", display(&source.path))?;
                match &source.data {
                    Ok(data) => one.set_item("data", Outgoing::new(py).object(data)?)?,
                    Err(error) => one.set_item("error", error.to_string())?,
                }
                all.append(one)?;
            }
            Ok(all)
        })
    }

    /// Creates the file of a node. `entries` are other values, each with its keys from the top.
    #[pyo3(signature = (name, folder = "", classes = Vec::new(), parameters = None, entries = Vec::new(), *, interpolate = false, test = false, force = false))]
    #[expect(clippy::too_many_arguments, reason = "the keyword arguments of Salt's function")]
    fn create_node<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] name: &str,
        #[pyo3(from_py_with = argument)] folder: &str,
        #[pyo3(from_py_with = arguments)] classes: Vec<Text>,
        parameters: Option<&Bound<'py, PyDict>>,
        #[pyo3(from_py_with = entries_given)] entries: Vec<(Vec<Text>, Bound<'py, PyAny>)>,
        interpolate: bool,
        test: bool,
        force: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let content = content(classes, parameters, entries)?;
            let options = EditOptions { test, interpolate, force };
            self.edit(py, |settings| node::create(settings, name, folder, &content, options))
        })
    }

    /// Adds classes to the file of a node, and sets its parameters.
    #[pyo3(signature = (name, classes = Vec::new(), parameters = None, entries = Vec::new(), *, interpolate = false, test = false, force = false))]
    #[expect(clippy::too_many_arguments, reason = "the keyword arguments of Salt's function")]
    fn update_node<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] name: &str,
        #[pyo3(from_py_with = arguments)] classes: Vec<Text>,
        parameters: Option<&Bound<'py, PyDict>>,
        #[pyo3(from_py_with = entries_given)] entries: Vec<(Vec<Text>, Bound<'py, PyAny>)>,
        interpolate: bool,
        test: bool,
        force: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let content = content(classes, parameters, entries)?;
            let options = EditOptions { test, interpolate, force };
            self.edit(py, |settings| node::update(settings, name, &content, options))
        })
    }

    /// Deletes the file of a node.
    #[pyo3(signature = (name, *, test = false, force = false))]
    fn delete_node<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = argument)] name: &str,
        test: bool,
        force: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let options = EditOptions { test, interpolate: false, force };
            self.edit(py, |settings| node::delete(settings, name, options))
        })
    }
}

impl Editor {
    /// Works on files while other threads may use the interpreter.
    fn ask<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Settings) -> Result<T> + Send) -> PyResult<T> {
        py.detach(|| work(&self.settings)).map_err(|error: Error| exception(py, &error))
    }

    /// An edit as a dict: `path`, `changed`, the texts `before` and `after` (`None` without a file), their `diff`
    /// and their data, `old` and `new`, the SHA-256 of the files, `hash_before` and `hash_after`, a `warning` or
    /// `None`, and the numbers of `nodes` that were `rendered`, `changed` and `broken`, or `None`. Secrets are
    /// hidden.
    fn edit<'py>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&Settings) -> Result<Edited> + Send,
    ) -> PyResult<Bound<'py, PyDict>> {
        let redaction = Redaction::of(&self.settings);
        // The data of a text without secrets, and the text.
        let shown = |bytes: Option<&Vec<u8>>, data: Value| {
            let Some(bytes) = bytes else { return (data, None) };
            let text = String::from_utf8_lossy(bytes).into_owned();
            let safe = redaction.data(&text, &data);
            let shown = if safe == data { text.clone() } else { redaction.masked(&text) };
            (safe, Some(ShownText { text, shown }))
        };
        let (edited, (old, before), (new, after), diff) = self.ask(py, |settings| {
            let edited = work(settings)?;
            let old = shown(edited.before.as_ref(), edited.data_before()?);
            let new = shown(edited.after.as_ref(), edited.data_after()?);
            // The lines around may hold values that the reader has no need to know.
            let diff = unified(old.1.as_ref(), new.1.as_ref(), &display(&edited.path), 0);
            Ok((edited, old, new, diff))
        })?;
        let result = PyDict::new(py);
        result.set_item("path", display(&edited.path))?;
        result.set_item("changed", edited.changed())?;
        result.set_item("before", before.map(|text| text.shown))?;
        result.set_item("after", after.map(|text| text.shown))?;
        result.set_item("diff", diff)?;
        result.set_item("hash_before", sha256(py, edited.before.as_deref())?)?;
        result.set_item("hash_after", sha256(py, edited.after.as_deref())?)?;
        result.set_item("warning", edited.warning)?;
        let counts = |effect: EditEffect| {
            [("rendered", effect.rendered), ("changed", effect.changed), ("broken", effect.broken.len())]
                .into_py_dict(py)
        };
        result.set_item("nodes", edited.effect.map(counts).transpose()?)?;
        result.set_item("old", Outgoing::new(py).object(&mapping(old))?)?;
        result.set_item("new", Outgoing::new(py).object(&mapping(new))?)?;
        Ok(result)
    }
}

/// The SHA-256 of a file, as Python has it: the texts of the answer are without secrets, so the caller cannot
/// compute it.
fn sha256<'py>(py: Python<'py>, bytes: Option<&[u8]>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let hash = |bytes: &[u8]| objects(py).sha256.bind(py).call1((bytes,))?.call_method0("hexdigest");
    bytes.map(hash).transpose()
}

/// Whether soft metadata are in etcd, and not in files.
fn is_etcd(store: &str) -> Result<bool> {
    match store {
        "file" => Ok(false),
        "etcd" => Ok(true),
        _ => Err(unknown_word("store".into(), store, &["file", "etcd"]).into()),
    }
}

/// A string argument. A string that is not valid Unicode raises an error of this extension, not of Python.
fn argument<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    incoming::str(object.cast::<PyString>()?, "an argument")
}

/// The same for an argument that may be `None`.
fn optional_argument<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a str>> {
    if object.is_none() { Ok(None) } else { argument(object).map(Some) }
}

/// The same for several strings.
fn arguments(object: &Bound<'_, PyAny>) -> PyResult<Vec<Text>> {
    let strings: Vec<Bound<'_, PyString>> = object.extract()?;
    strings.iter().map(|string| incoming::text(string, "an argument")).collect()
}

/// The same for pairs of keys and a value.
fn entries_given<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<(Vec<Text>, Bound<'py, PyAny>)>> {
    let entries: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> = object.extract()?;
    entries.into_iter().map(|(keys, value)| Ok((arguments(&keys)?, value))).collect()
}

/// The data of an empty file is an empty mapping.
fn mapping(data: Value) -> Value {
    match data {
        Value::Null => Value::map(Map::default()),
        data => data,
    }
}

fn content(
    classes: Vec<Text>,
    parameters: Option<&Bound<'_, PyDict>>,
    entries: Vec<(Vec<Text>, Bound<'_, PyAny>)>,
) -> PyResult<NodeContent> {
    let parameters = match parameters {
        Some(parameters) => from_python(parameters.as_any(), "the parameters")?,
        None => Value::Null,
    };
    let mut content = NodeContent {
        classes,
        parameters: parameters.as_map().cloned().unwrap_or_default(),
        ..NodeContent::default()
    };
    for (keys, value) in entries {
        content.entries.insert(keys, from_python(&value, "the value")?);
    }
    Ok(content)
}
