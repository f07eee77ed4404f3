//! Translates requests from Python and answers into Python.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyMapping, PyString};

use crate::errors::exception;
use crate::incoming;
use crate::once::objects;
use crate::outgoing::Outgoing;
use reclass::Finding;
use reclass::error::{Fault, Kind, Result, article, inert};
use reclass::parts::storage::fs;
use reclass::pystr;
use reclass::redact::Redaction;
use reclass::report::{Level, full_findings};
use reclass::value::{Key, Map, Text, Value};
use reclass::{FetchState, Top};
use reclass_analysis::compare::{ComparedParts, OldAnswers};
use reclass_serve::{Pillar, Served};

/// The redaction of an answer.
pub fn redaction(inventory: &reclass::Inventory, show: bool) -> Redaction {
    if show { Redaction::none() } else { Redaction::of(inventory.settings()) }
}

/// The name of a node. Unlike a text, a Python string can contain a lone surrogate.
pub fn node_name(name: &Bound<'_, PyString>) -> PyResult<Text> {
    incoming::text(name, "the name of the node")
}

/// The environment that a request asks for.
pub fn environment_asked_for(name: &Bound<'_, PyString>) -> PyResult<Text> {
    incoming::text(name, "the environment asked for")
}

/// The parameters and `__reclass__` as Python data.
pub fn pillar_dict<'py>(pillar: &Pillar, outgoing: &mut Outgoing<'py>) -> PyResult<Bound<'py, PyDict>> {
    let (py, node) = (outgoing.py(), &pillar.node);
    let revision = pillar.revision.as_deref();
    let (parameters, environment) = node.wire_values.get().cloned().unwrap_or_default();
    let given = outgoing.dict(parameters.as_map().unwrap_or(&Map::default()))?;
    let (keys, about) = (&objects(py).keys, PyDict::new(py));
    about.set_item(&keys.nodename, outgoing.string(&node.name))?;
    about.set_item(&keys.applications, outgoing.texts(&node.applications)?)?;
    about.set_item(&keys.classes, outgoing.texts(&node.classes)?)?;
    about.set_item(&keys.environment, outgoing.object(&environment)?)?;
    if let Some(revision) = revision {
        about.set_item(&keys.revision, revision)?;
    }
    given.set_item(&keys.reclass, about)?;
    Ok(given)
}

/// The environment as a key of Salt's top: the text of a scalar.
fn environment_name(environment: &Value, node: &Text) -> Result<Text> {
    match environment {
        Value::Str(text) => Ok(text.clone()),
        environment @ (Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
            Ok(pystr::str(environment).into())
        }
        other => {
            let what =
                format!("the environment of a node must be a string, not {}", article(other.type_name()));
            let mut fault = Fault::new(Kind::WireType { what }).in_path("environment");
            fault.node = Some(node.clone());
            Err(fault.into())
        }
    }
}

/// The time in the form of the Python programs.
pub fn now(py: Python<'_>) -> PyResult<String> {
    objects(py).strftime.bind(py).call1(("%c",))?.extract()
}

/// The nodes and the first keys to compare.
pub fn compared_parts(
    nodes: Vec<String>,
    only: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
) -> ComparedParts {
    ComparedParts { nodes, only: only.unwrap_or_default(), except: exclude.unwrap_or_default() }
}

/// Pillars by minion. Each is taken in alone, because the limits are those of one.
pub fn old_pillars(pillars: &Bound<'_, PyDict>) -> PyResult<OldAnswers> {
    let mut all = Map::default();
    for (minion, pillar) in pillars {
        let minion = incoming::from_python(&minion, "the name of a minion")?;
        all.insert(Key(minion), incoming::from_python(&pillar, "a pillar")?);
    }
    Ok(OldAnswers::of_pillars("the pillars", &all))
}

/// The grains that references can read, of the grains of a minion. Most minions have hundreds, and few of them are
/// read.
pub fn grains_read(py: Python<'_>, served: &Served, grains: &Bound<'_, PyAny>) -> PyResult<Value> {
    let grains = grains.cast::<PyMapping>()?;
    let wanted = PyDict::new(py);
    for name in grains.keys()? {
        if let Ok(name) = name.cast_into::<PyString>()
            && served.reads_grain(&incoming::text(&name, "a grain")?)
        {
            wanted.set_item(&name, grains.get_item(&name)?)?;
        }
    }
    incoming::from_python(wanted.as_any(), "the grains")
}

/// The top of a minion, or of none.
pub fn top_dict<'py>(
    top: Option<&Top>,
    minion_id: &Text,
    outgoing: &mut Outgoing<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = outgoing.py();
    let given = PyDict::new(py);
    if let Some(Top { environment, applications }) = top {
        let environment = environment_name(environment, minion_id).map_err(|error| exception(py, &error))?;
        given.set_item(outgoing.string(&environment), outgoing.texts(applications)?)?;
    }
    Ok(given)
}

/// Names of nodes or classes, each with the paths of its files.
pub type NamedFiles = Vec<(Text, Vec<Arc<Path>>)>;

/// The files of all nodes and classes.
pub fn files_dict<'py>(
    py: Python<'py>,
    nodes: &NamedFiles,
    classes: &NamedFiles,
) -> PyResult<Bound<'py, PyDict>> {
    let given = PyDict::new(py);
    for (kind, names) in [("nodes", nodes), ("classes", classes)] {
        let dict = PyDict::new(py);
        for (name, paths) in names {
            let paths: Vec<_> = paths.iter().map(|path| path.as_os_str()).collect();
            dict.set_item(name.as_ref() as &str, paths)?;
        }
        given.set_item(kind, dict)?;
    }
    Ok(given)
}

/// A repository or an etcd, with times in seconds.
pub fn fetch_state<'py>(py: Python<'py>, state: &FetchState) -> PyResult<Bound<'py, PyDict>> {
    let seconds = |time: Option<SystemTime>| {
        time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_secs_f64())
    };
    let commits = state.commits.iter().map(|(branch, commit)| (&**branch, &**commit));
    let given = PyDict::new(py);
    given.set_item("source", &state.source)?;
    given.set_item("commits", commits.into_py_dict(py)?)?;
    given.set_item("fetched", seconds(state.fetched))?;
    given.set_item("failed", seconds(state.failed))?;
    given.set_item("stale", state.stale.as_ref().map(|stale| inert(&stale.kind.to_string())))?;
    Ok(given)
}

/// The text of findings: errors and warnings with excerpts, and the number of notes.
pub fn findings_text(inventory: &reclass::Inventory, findings: Vec<Finding>) -> String {
    let redaction = redaction(inventory, false);
    // Lint has an inventory of its own, and this one may not have read the file.
    let most = inventory.settings().max_file_bytes();
    let read = |path: &str| {
        let (bytes, _) = fs::read(Path::new(path), most).ok()?;
        Some(redaction.source(&String::from_utf8(bytes).ok()?))
    };
    let (shown, others): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.level >= Level::Warning);
    let mut parts = full_findings(&shown, false, &read);
    let errors = shown.iter().filter(|finding| finding.level == Level::Error).count();
    let mut counts = format!("errors: {errors}, warnings: {}", shown.len() - errors);
    if !others.is_empty() {
        counts = format!("{counts}; notes, which --out json shows: {}", others.len());
    }
    parts.push(counts);
    parts.join("\n\n")
}
