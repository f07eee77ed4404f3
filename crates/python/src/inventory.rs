//! The Python class `Inventory`: its methods are requests to the engine.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyMapping, PyString};
use serde::Serialize;

use crate::data;
use crate::errors::{exception_with_excerpts, guard};
use crate::incoming;
use crate::log::{self, Severity};
use crate::outgoing::Outgoing;
use crate::templates;
use reclass::compare::{ComparedParts, OldAnswers, compare};
use reclass::diff::diff;
use reclass::error::{
    Error, Fault, Kind, Result, Warning, article, concise_warning, inert, truncate_unless_grouped,
};
use reclass::explain::{Selection, explain, to_text};
use reclass::failpoints::failpoint;
use reclass::impact::impact;
use reclass::lint::lint;
use reclass::list::{self, ListedRows, NodeFilter};
use reclass::redact::Redaction;
use reclass::report::{Level, full, full_findings, to_json};
use reclass::settings::{NodeNotFound, Settings};
use reclass::stack::grow;
use reclass::style::Paint;
use reclass::value::{Key, Map, Text, Value};
use reclass::violations;
use reclass::wire;
use reclass::{CatalogEntry, FetchState, HeldNodes, NodeInfo, Request, Serving, files};

/// An inventory, opened with the settings of a `reclass-config.yml` as keyword arguments.
///
/// All objects of a process with equal settings share one cache. An object contains only the settings, so
/// after a fork it also works in the child.
#[pyclass(frozen, module = "saltext.reclass")]
pub struct Inventory {
    options: Map,
    propagates: bool,
    reads_grains: bool,
    /// The policy for a pillar that breaks a schema.
    schema_check: Text,
    /// Approximate limit in bytes for the templates of Python objects.
    objects_limit: usize,
}

#[pymethods]
#[expect(clippy::needless_pass_by_value, reason = "PyO3 makes lists of arguments and hands them over")]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
impl Inventory {
    /// Opens the inventory of these settings, without reading its files.
    #[new]
    #[pyo3(signature = (**settings))]
    fn new(py: Python<'_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Inventory> {
        guard(|| {
            let options = incoming::options(py, settings)?;
            let mut inventory = Inventory {
                options,
                propagates: false,
                reads_grains: false,
                schema_check: Text::default(),
                objects_limit: 0,
            };
            let about = inventory.ask(py, |engine| {
                let propagates = engine.settings().propagate_pillar_data_to_reclass;
                let limit = objects_limit(engine.settings());
                let check = engine.settings().schema_check.clone();
                Ok((propagates, limit, engine.settings_warnings().to_vec(), engine.reads_grains(), check))
            })?;
            let (propagates, objects_limit, warnings, reads_grains, schema_check) = &*about;
            log::once(py, warnings)?;
            inventory.propagates = *propagates;
            inventory.reads_grains = *reads_grains;
            inventory.schema_check.clone_from(schema_check);
            inventory.objects_limit = *objects_limit;
            Ok(inventory)
        })
    }

    /// The sorted names of all nodes, or of those that pass all filters.
    #[pyo3(signature = (*globs, classes = None, applications = None, environments = None, parameters = None, files = None))]
    fn nodes<'py>(
        &self,
        py: Python<'py>,
        globs: Vec<String>,
        classes: Option<Vec<String>>,
        applications: Option<Vec<String>>,
        environments: Option<Vec<String>>,
        parameters: Option<Vec<String>>,
        files: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(|| {
            let lists = [classes, applications, environments, parameters, files];
            let everything = globs.is_empty() && lists.iter().all(Option::is_none);
            let [classes, applications, environments, parameters, files] =
                lists.map(Option::unwrap_or_default);
            let filter = NodeFilter { names: globs, classes, applications, environments, parameters, files };
            self.listing(py, |engine| {
                if everything {
                    // A broken class does not matter if only names are requested.
                    let rows =
                        engine.inspect(|computation| computation.catalog.nodes.keys().cloned().collect())?;
                    return Ok(ListedRows { rows, left_out: 0 });
                }
                let ListedRows { rows, left_out } = list::nodes(engine, &filter)?;
                Ok(ListedRows { rows: rows.into_iter().map(|row| row.name).collect::<Vec<Text>>(), left_out })
            })
        })
    }

    /// The files of all nodes and classes: a dict of names for each, with the paths of the files of a name. A
    /// name with several files is no error here. Classes in git repositories are left out until a node needs
    /// them.
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let files = self.ask(py, |engine| {
                engine.inspect(|computation| {
                    let catalog = &computation.catalog;
                    let named = |entry: &Arc<CatalogEntry>| {
                        (entry.name.clone(), entry.paths().cloned().collect::<Vec<_>>())
                    };
                    let nodes: Vec<_> = catalog.nodes.values().map(named).collect();
                    let classes = computation.all_classes();
                    (nodes, classes.iter().flat_map(|names| names.values()).map(named).collect::<Vec<_>>())
                })
            })?;
            let (nodes, classes) = &*files;
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
        })
    }

    /// The classes that match any of the globs, each with its file and its nodes.
    #[pyo3(signature = (*globs))]
    fn classes<'py>(&self, py: Python<'py>, globs: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.listing(py, |engine| list::classes(engine, &globs, &NodeFilter::default(), false)))
    }

    /// The applications that match any of the globs, each with its nodes.
    #[pyo3(signature = (*globs))]
    fn applications<'py>(&self, py: Python<'py>, globs: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.listing(py, |engine| list::applications(engine, &globs, &NodeFilter::default())))
    }

    /// The empty files of classes and nodes, each with its nodes.
    fn empty_files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.listing(py, list::empty_files))
    }

    /// The parameters that match any of the patterns, each with the places that set it and its nodes.
    #[pyo3(signature = (*paths, nodes = None, show_secrets = false))]
    fn params<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<String>,
        nodes: Option<Vec<String>>,
        show_secrets: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let filter = NodeFilter { names: nodes.unwrap_or_default(), ..NodeFilter::default() };
        guard(|| {
            self.listing(py, |engine| {
                list::parameters(engine, &paths, &filter, &redaction(engine, show_secrets))
            })
        })
    }

    /// The references to the parameters that match any of the patterns.
    #[pyo3(signature = (*paths))]
    fn refs<'py>(&self, py: Python<'py>, paths: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.listing(py, |engine| list::references(engine, &paths, &NodeFilter::default())))
    }

    /// The provenance of the values of a node, as `reclass explain -o json` prints it. Without paths and
    /// other arguments, everything is explained. Values keep their types. With `plain` they have the types of
    /// JSON, so dates and binary are strings.
    #[pyo3(signature = (node, *paths, exports = None, classes = None, applications = None, environment = None, show_secrets = false, plain = false))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        node: &str,
        paths: Vec<String>,
        exports: Option<Vec<String>>,
        classes: Option<Vec<String>>,
        applications: Option<Vec<String>>,
        environment: Option<&str>,
        show_secrets: bool,
        plain: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(|| {
            let [exports, classes, applications] =
                [exports, classes, applications].map(Option::unwrap_or_default);
            let mut selection =
                Selection { parameters: paths, exports, classes, applications, ..Selection::default() };
            let environment = environment.map(Text::from);
            let request = Request { environment, force_environment: true, ..Request::default() };
            self.answer(py, plain, |engine| {
                selection.redaction = redaction(engine, show_secrets);
                let explanation = explain(engine, node, &request, &selection)?;
                if !explanation.missing.is_empty() {
                    return Err(Error::new(explanation.missing));
                }
                Ok(explanation)
            })
        })
    }

    /// Errors that keep nodes from rendering, and constructs that are probably mistakes, as `reclass lint -o
    /// json` prints them, including notes.
    #[pyo3(signature = (*nodes))]
    fn lint<'py>(&self, py: Python<'py>, nodes: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.answer(py, false, |_| lint(&self.options, &nodes, &())))
    }

    /// The differences between two states of the inventory, as `reclass diff -o json` prints them. Values
    /// keep their types; with `plain` they have the types of JSON.
    #[pyo3(signature = (old, new = ".", *nodes, show_secrets = false, plain = false))]
    fn diff<'py>(
        &self,
        py: Python<'py>,
        old: &str,
        new: &str,
        nodes: Vec<String>,
        show_secrets: bool,
        plain: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.answer(py, plain, |_| diff(&self.options, None, (old, new), &nodes, show_secrets)))
    }

    /// What a change, a place or a name touches, as `reclass impact -o json` prints it.
    #[pyo3(signature = (old, new = ".", *nodes))]
    fn impact<'py>(
        &self,
        py: Python<'py>,
        old: &str,
        new: &str,
        nodes: Vec<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.answer(py, true, |_| impact(&self.options, old, new, &nodes)))
    }

    /// The text that `reclass explain` prints, with secrets hidden.
    #[pyo3(signature = (node, *paths))]
    fn explain_text<'py>(
        &self,
        py: Python<'py>,
        node: &str,
        paths: Vec<String>,
    ) -> PyResult<Bound<'py, PyString>> {
        guard(|| {
            self.text(py, |engine| {
                let redaction = redaction(engine, false);
                let selection = Selection { parameters: paths, redaction, ..Selection::default() };
                let request = Request { force_environment: true, ..Request::default() };
                let explanation = explain(engine, node, &request, &selection)?;
                if !explanation.missing.is_empty() {
                    return Err(Error::new(explanation.missing));
                }
                Ok(to_text(&explanation, Paint::PLAIN))
            })
        })
    }

    /// The text that `reclass lint` prints: errors and warnings with excerpts, and the number of notes.
    #[pyo3(signature = (*nodes))]
    fn lint_text<'py>(&self, py: Python<'py>, nodes: Vec<String>) -> PyResult<Bound<'py, PyString>> {
        guard(|| {
            self.text(py, |engine| {
                let findings = lint(&self.options, &nodes, &())?;
                let redaction = redaction(engine, false);
                // Lint has an inventory of its own, and this one may not have read the file.
                let most = engine.settings().max_file_bytes();
                let read = |path: &str| {
                    let (bytes, _) = files::read(Path::new(path), most).ok()?;
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
                Ok(parts.join("\n\n"))
            })
        })
    }

    /// The text that `reclass diff` prints, with secrets hidden, and whether anything differs.
    #[pyo3(signature = (old, new = ".", *nodes))]
    fn diff_text<'py>(
        &self,
        py: Python<'py>,
        old: &str,
        new: &str,
        nodes: Vec<String>,
    ) -> PyResult<(Bound<'py, PyString>, bool)> {
        guard(|| {
            let difference = self.ask(py, |_| diff(&self.options, None, (old, new), &nodes, false))?;
            let text =
                self.text(py, |_| Ok(reclass::diff::text(&difference, reclass::diff::NAMED, Paint::PLAIN)))?;
            Ok((text, !difference.is_empty()))
        })
    }

    /// The comparison with the pillars of minions, as `reclass compare pillars:FILE -o json` prints it.
    #[pyo3(signature = (pillars, *nodes, only = None, exclude = None, show_secrets = false, plain = false))]
    fn compare<'py>(
        &self,
        py: Python<'py>,
        pillars: &Bound<'py, PyDict>,
        nodes: Vec<String>,
        only: Option<Vec<String>>,
        exclude: Option<Vec<String>>,
        show_secrets: bool,
        plain: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        guard(|| {
            let (old, parts) = (old_pillars(pillars)?, compared_parts(nodes, only, exclude));
            self.answer(py, plain, |_| compare(&self.options, &old, &parts, show_secrets))
        })
    }

    /// The text that `reclass compare pillars:FILE` prints, with secrets hidden, and whether anything differs.
    #[pyo3(signature = (pillars, *nodes, only = None, exclude = None))]
    fn compare_text<'py>(
        &self,
        py: Python<'py>,
        pillars: &Bound<'py, PyDict>,
        nodes: Vec<String>,
        only: Option<Vec<String>>,
        exclude: Option<Vec<String>>,
    ) -> PyResult<(Bound<'py, PyString>, bool)> {
        guard(|| {
            let (old, parts) = (old_pillars(pillars)?, compared_parts(nodes, only, exclude));
            let comparison = self.ask(py, |_| compare(&self.options, &old, &parts, false))?;
            let text = self
                .text(py, |_| Ok(reclass::compare::text(&comparison, reclass::diff::NAMED, Paint::PLAIN)))?;
            Ok((text, !comparison.is_empty()))
        })
    }

    /// The output of `reclass --nodeinfo` for a node, as Python data.
    #[pyo3(signature = (name, environment = None))]
    fn nodeinfo<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        environment: Option<&Bound<'py, PyString>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let name = node_name(name)?;
            let request = Request {
                environment: environment.map(environment_asked_for).transpose()?,
                // As with `reclass --environment`: a caller that passes an environment wants it.
                force_environment: true,
                ..Request::default()
            };
            self.timed(py, "nodeinfo", &name, || {
                let node = self.ask(py, |engine| engine.nodeinfo(&name, &request))?;
                self.log_warnings(py, std::slice::from_ref(&*node))?;
                self.dict(py, &node.to_value(&now(py)?))
            })
        })
    }

    /// The sizes and counters of the caches, for people.
    fn cache_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let info = self.ask(py, |engine| Ok(engine.cache_info()))?;
            let given = data::object(&mut self.outgoing(py), &*info)?.cast_into::<PyDict>()?;
            given.set_item("misses", info.counts.computed)?;
            given.set_item("objects_memory", templates::bytes())?;
            Ok(given)
        })
    }

    /// The repositories and the etcd of the inventory, as of the last question in this process: the `source`, the
    /// `commits` of branches, the times when it was `fetched` and when that `failed` last, and why it is `stale`.
    fn fetch_states<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        guard(|| {
            let states = self.ask(py, |engine| Ok(engine.fetch_states()))?;
            let seconds = |time: Option<SystemTime>| {
                time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_secs_f64())
            };
            let given = |state: &FetchState| {
                let commits = state.commits.iter().map(|(branch, commit)| (&**branch, &**commit));
                let given = PyDict::new(py);
                given.set_item("source", &state.source)?;
                given.set_item("commits", commits.into_py_dict(py)?)?;
                given.set_item("fetched", seconds(state.fetched))?;
                given.set_item("failed", seconds(state.failed))?;
                given.set_item("stale", state.stale.as_ref().map(|stale| inert(&stale.kind.to_string())))?;
                Ok(given)
            };
            states.iter().map(given).collect()
        })
    }

    /// The state of the inventory, as `reclass status -o json` prints it: its `revision`, `since` when, and its
    /// `sources`. Renders no node.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.answer(py, false, reclass::Inventory::served_state))
    }

    /// Which revisions are served, if new ones are tested first (`serve`): the name of the `newest` one and whether
    /// any node gets it, its `problems`, each with its nodes, and its `trial`; otherwise `None`.
    fn serving<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        guard(|| {
            let decision = self.ask(py, |engine| Ok(engine.serving().and_then(Serving::decision)))?;
            let Some(decision) = &*decision else { return Ok(None) };
            let given = PyDict::new(py);
            given.set_item("newest", decision.newest())?;
            let problem = |held: &HeldNodes| {
                let given = PyDict::new(py);
                given.set_item("problem", &held.problem)?;
                given.set_item("nodes", &held.nodes)?;
                Ok::<_, PyErr>(given)
            };
            let problems = decision.problems.iter().map(problem).collect::<PyResult<Vec<_>>>()?;
            given.set_item("problems", problems)?;
            let trial = decision.trial.as_ref().map(|trial| (&trial.revision, &trial.nodes));
            given.set_item("trial", trial)?;
            Ok(Some(given))
        })
    }

    /// Ends the trial of the newest revision: it is served to all nodes, or to none. Returns its name; `None`
    /// without a trial.
    fn end_trial(&self, py: Python<'_>, promote: bool) -> PyResult<Option<String>> {
        guard(|| {
            let end = |serving: &Serving| serving.end_trial(promote);
            let ended = self.ask(py, |engine| engine.serving().map_or(Ok(None), end))?;
            Ok((*ended).clone())
        })
    }

    /// The problem of a `canary` that matches no node.
    fn unmatched_canary(&self, py: Python<'_>) -> PyResult<Option<String>> {
        guard(|| {
            let problem = self.ask(py, |engine| {
                let Some(serving) = engine.serving() else {
                    let settings = engine.settings();
                    let is_set = settings.canary != Value::Null && &*settings.serve == "now";
                    return Ok(is_set.then(|| CANARY.to_owned()));
                };
                Ok(serving.unmatched_canary(&engine.nodes()?))
            })?;
            Ok((*problem).clone())
        })
    }

    /// Forgets which revisions were served, with `serve: now`.
    fn forget_served(&self, py: Python<'_>) -> PyResult<()> {
        guard(|| self.ask(py, reclass::Inventory::forget_served).map(drop))
    }

    /// Makes this process the one that tests new revisions, until it ends; `False` if another one does.
    fn test_revisions(&self, py: Python<'_>) -> PyResult<bool> {
        guard(|| Ok(*self.ask(py, |engine| Ok(engine.serving().is_some_and(Serving::watch)))?))
    }

    /// The output of `reclass --inventory`, as Python data.
    fn inventory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let nodes = self.ask(py, reclass::Inventory::inventory)?;
            self.log_warnings(py, &nodes)?;
            self.dict(py, &reclass::inventory_value(&nodes, &now(py)?))
        })
    }

    /// The pillar of a minion: the parameters of its node, and `__reclass__` with `nodename`,
    /// `applications`, `classes` and `environment`, and with `revision_in_pillar` the `revision`. Its values have types
    /// that Salt carries to a minion.
    ///
    /// `pillar` requires the setting `propagate_pillar_data_to_reclass`, `environment` requires
    /// `allow_adapter_env_override`. The setting `node_not_found` decides the answer for a minion without a
    /// node.
    ///
    /// `grains` are those of the minion, a mapping; only those are read that the settings name.
    #[pyo3(signature = (minion_id, pillar = None, environment = None, grains = None))]
    fn pillar<'py>(
        &self,
        py: Python<'py>,
        minion_id: &Bound<'py, PyString>,
        pillar: Option<&Bound<'py, PyAny>>,
        environment: Option<&Bound<'py, PyString>>,
        grains: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let minion_id = &node_name(minion_id)?;
            let environment = environment.map(environment_asked_for).transpose()?;
            let grains = self.grains(py, grains)?;
            let mut request = Request { environment, grains, ..Request::default() };
            if let Some(pillar) = pillar
                && self.propagates
            {
                request.input_data = Some(incoming::from_python(pillar, "the pillar")?);
            }
            self.timed(py, "pillar", minion_id, || {
                let node = self.ask(py, |engine| {
                    noted(engine, || {
                        minion(engine, minion_id, |mapped| {
                            engine.answer_for_minion(minion_id, &request, mapped)
                        })
                    })
                })?;
                let Some((node, revision)) = &*node else {
                    return Ok(PyDict::new(py));
                };
                self.check_schemas(py, &request, node)?;
                if node.wire_values.get().is_none() {
                    self.ask(py, |engine| {
                        let values = wire_values(node, engine.settings()).map_err(|mut error| {
                            engine.locate_values(minion_id, &request, &mut error);
                            error
                        })?;
                        node.wire_values.get_or_init(|| values);
                        Ok(())
                    })?;
                }
                let pillar = pillar_dict(node, revision.as_deref(), &mut self.outgoing(py))?;
                self.log_warnings(py, std::slice::from_ref(node))?;
                Ok(pillar)
            })
        })
    }

    /// The top of a minion: `{environment: [applications]}`. `grains` are as for `pillar`.
    #[pyo3(signature = (minion_id, environment = None, grains = None))]
    fn top<'py>(
        &self,
        py: Python<'py>,
        minion_id: &Bound<'py, PyString>,
        environment: Option<&Bound<'py, PyString>>,
        grains: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let minion_id = &node_name(minion_id)?;
            let environment = environment.map(environment_asked_for).transpose()?;
            let grains = self.grains(py, grains)?;
            let request = Request { environment, grains, ..Request::default() };
            self.timed(py, "top", minion_id, || {
                let answer = self.ask(py, |engine| {
                    let top = noted(engine, || {
                        minion(engine, minion_id, |mapped| engine.top(minion_id, &request, mapped))
                    })?;
                    top.map(|top| Ok((environment_name(&top.environment, minion_id)?, top.applications)))
                        .transpose()
                })?;
                let top = PyDict::new(py);
                if let Some((environment, applications)) = &*answer {
                    let mut outgoing = self.outgoing(py);
                    top.set_item(outgoing.string(environment), outgoing.texts(applications)?)?;
                }
                Ok(top)
            })
        })
    }
}

thread_local! {
    static REMEMBERED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the last pillar or top of this thread was remembered.
pub fn was_remembered() -> bool {
    REMEMBERED.get()
}

/// Notes whether an answer is remembered, for metrics.
fn noted<T>(engine: &reclass::Inventory, answer: impl FnOnce() -> Result<T>) -> Result<T> {
    if engine.settings().metrics_file.is_none() {
        return answer();
    }
    let before = engine.counts();
    let given = answer();
    let now = engine.counts();
    // With `revision_in_pillar`, what was just computed is asked for once more.
    REMEMBERED.set(now.reused > before.reused && now.computed == before.computed);
    given
}

/// The problem of a canary without `serve`.
const CANARY: &str =
    "the setting 'canary' has no effect, because 'serve' is 'now': each new revision is served to all nodes";

/// Approximate limit in bytes for the templates of Python objects: an eighth of the limit for answers.
fn objects_limit(settings: &Settings) -> usize {
    usize::try_from(settings.cache_size).unwrap_or(usize::MAX).saturating_mul(1024 * 1024 / 8)
}

impl Inventory {
    /// The grains that references can read, of the grains of a minion.
    fn grains(&self, py: Python<'_>, grains: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Value>> {
        let Some(grains) = grains.filter(|_| self.reads_grains) else { return Ok(None) };
        let grains = grains.cast::<PyMapping>()?;
        let mut names = Vec::new();
        for name in grains.keys()? {
            if let Ok(name) = name.cast_into::<PyString>() {
                names.push(name);
            }
        }
        // Most minions have hundreds of grains, and few of them are read.
        let texts: Vec<Text> =
            names.iter().map(|name| incoming::text(name, "a grain")).collect::<PyResult<_>>()?;
        let read = self
            .ask(py, |engine| Ok(texts.iter().map(|name| engine.reads_grain(name)).collect::<Vec<bool>>()))?;
        let wanted = PyDict::new(py);
        for (name, _) in names.into_iter().zip(read.iter()).filter(|(_, read)| **read) {
            wanted.set_item(&name, grains.get_item(&name)?)?;
        }
        incoming::from_python(wanted.as_any(), "the grains").map(Some)
    }

    /// Refuses a pillar that breaks a schema, or logs it, as the setting `schema_check` says.
    fn check_schemas(&self, py: Python<'_>, request: &Request, node: &NodeInfo) -> PyResult<()> {
        if &*self.schema_check == "off" {
            return Ok(());
        }
        let is_refused = &*self.schema_check == "error";
        let warnings = self.ask(py, |engine| {
            let faults = violations::of_answer(engine, request, node)?;
            let (mut errors, warnings): (Vec<Fault>, Vec<Fault>) =
                faults.into_iter().partition(|fault| is_refused && is_error(fault));
            truncate_unless_grouped(&mut errors, engine.settings().group_errors);
            if errors.is_empty() { Ok(warnings) } else { Err(Error::new(errors)) }
        })?;
        if warnings.is_empty() {
            return Ok(());
        }
        let debug = log::is_on(py, Severity::Debug)?;
        self.log_lines(py, &warnings.iter().collect::<Vec<_>>(), debug)
    }

    /// The answer of the engine as Python data. A plain answer has the types of JSON.
    fn answer<'py, T: Serialize + Send + Sync>(
        &self,
        py: Python<'py>,
        plain: bool,
        question: impl FnOnce(&reclass::Inventory) -> Result<T> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.ask(py, question)?;
        if plain {
            let text = py.detach(|| grow(|| to_json(&*given)));
            return py.import("json")?.call_method1("loads", (text,));
        }
        data::object(&mut self.outgoing(py), &*given)
    }

    /// An answer that is a text.
    fn text<'py>(
        &self,
        py: Python<'py>,
        question: impl FnOnce(&reclass::Inventory) -> Result<String> + Send,
    ) -> PyResult<Bound<'py, PyString>> {
        Ok(PyString::new(py, &self.ask(py, question)?))
    }

    fn dict<'py>(&self, py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyDict>> {
        self.outgoing(py).dict(value.as_map().unwrap_or(&Map::default()))
    }

    fn outgoing<'py>(&self, py: Python<'py>) -> Outgoing<'py> {
        Outgoing::new(py, self.objects_limit)
    }

    /// The answer of a listing. A name with several files is logged, because it does not affect the other
    /// names.
    fn listing<'py, T: Serialize + Send>(
        &self,
        py: Python<'py>,
        question: impl FnOnce(&reclass::Inventory) -> list::Rows<T> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.ask(py, |engine| Ok((question(engine)?, engine.clashes())))?;
        let (listing, clashes) = &*given;
        for clash in clashes {
            log::write(py, Severity::Warning, &concise_warning(clash))?;
        }
        data::object(&mut self.outgoing(py), &listing.rows)
    }

    /// Calls the engine while other threads may use the interpreter. An error contains excerpts of the files,
    /// with secrets hidden.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&reclass::Inventory) -> Result<T> + Send,
    ) -> PyResult<Given<T>> {
        let ask = || {
            let engine = reclass::Inventory::shared(&self.options).map_err(FailedRequest::new)?;
            let answer = question(&engine).map_err(|error| {
                let redaction = Redaction::of(engine.settings());
                let read = |path: &str| engine.text(path).map(|text| redaction.source(&text));
                let full = full(&error, false, &read);
                let repeated = !engine.is_first_notice(&without_node(error.faults()));
                FailedRequest { error, full, repeated }
            });
            let stale = log::knows_stale_data() || !engine.storage_warnings().is_empty();
            let stale = stale.then(|| {
                let settings = engine.settings();
                let interval = Duration::from_secs(settings.stale_log_interval.into());
                let (place, prefix) = (engine.node_location(), &settings.etcd_prefix);
                (format!("{place} {prefix:?} {:?}", settings.etcd_cache_dir), engine.fetch_states(), interval)
            });
            Ok((
                answer.map(|answer| Given(Some(answer))),
                engine.watch_mode_change().map(|watching| (watching, engine.node_location())),
                stale,
                engine.serving().map(Serving::take_news),
            ))
        };
        let raised = |FailedRequest { error, full, repeated }: FailedRequest| {
            exception_with_excerpts(py, &error, &full, repeated)
        };
        let (given, mode, stale, news) = py.detach(|| grow(ask)).map_err(raised)?;
        failpoint("an answer is handed to Python");
        if let Some((watching, place)) = mode {
            let line = if watching {
                format!("the kernel reports changes in '{place}' from now on (inotify)")
            } else {
                format!("no watch of '{place}' any more: each answer compares the time stamps of the files")
            };
            log::write(py, Severity::Info, &inert(&line))?;
        }
        for (breaks, sentence) in news.into_iter().flatten() {
            let severity = if breaks { Severity::Warning } else { Severity::Info };
            log::write(py, severity, &inert(&sentence))?;
        }
        if let Some((inventory, states, interval)) = stale {
            log::staleness(py, &inventory, &states, interval)?;
        }
        // An error may be the consequence of stale data, so it comes after them.
        given.map_err(raised)
    }

    /// Runs a request, and logs its duration and whether the answer was cached.
    fn timed<T>(
        &self,
        py: Python<'_>,
        what: &str,
        name: &str,
        answer: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        if !log::is_on(py, Severity::Debug)? {
            return answer();
        }
        let reused = |py| Ok::<_, PyErr>(*self.ask(py, |engine| Ok(engine.counts().reused))?);
        let before = reused(py)?;
        let begun = Instant::now();
        let given = answer();
        let milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
        let how = match &given {
            Ok(_) if reused(py)? > before => "remembered",
            Ok(_) => "computed",
            Err(_) => "failed",
        };
        let line = format!("{what} of '{}': {how} in {milliseconds:.2} ms", inert(name));
        log::write(py, Severity::Debug, &line)?;
        given
    }

    /// Logs the warnings of the nodes of an answer. Each warning is logged once for all nodes until files change;
    /// repetitions have the level debug.
    fn log_warnings(&self, py: Python<'_>, nodes: &[Arc<NodeInfo>]) -> PyResult<()> {
        let debug = log::is_on(py, Severity::Debug)?;
        let mut rest = Vec::new();
        for node in nodes {
            let logged = node.logged_warnings.get().copied().unwrap_or(0);
            if logged > 0 && debug {
                for warning in &node.warnings[..logged] {
                    log::write(py, Severity::Debug, &concise_warning(warning))?;
                }
            }
            // The age of stale data is logged with each question.
            let rests = node.warnings.get(logged..).unwrap_or_default().iter();
            rest.extend(rests.filter(|warning| !is_stale(warning)));
            let _ = node.logged_warnings.set(node.warnings.len());
        }
        if rest.is_empty() { Ok(()) } else { self.log_lines(py, &rest, debug) }
    }

    /// Logs warnings. A few of each kind are shown, because answers for all nodes may have thousands.
    fn log_lines(&self, py: Python<'_>, warnings: &[&Warning], debug: bool) -> PyResult<()> {
        let new = self.ask(py, |engine| {
            let is_new =
                |warning: &&Warning| engine.is_first_notice(&without_node(std::slice::from_ref(*warning)));
            Ok(warnings.iter().map(is_new).collect::<Vec<bool>>())
        })?;
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (warning, new) in warnings.iter().zip(&*new) {
            let count = counts.entry(warning.code()).or_default();
            *count += usize::from(*new);
            if *new && *count <= SHOWN_WARNINGS {
                log::write(py, Severity::Warning, &concise_warning(warning))?;
            } else if debug {
                log::write(py, Severity::Debug, &concise_warning(warning))?;
            }
        }
        for (code, count) in counts.into_iter().filter(|(_, count)| *count > SHOWN_WARNINGS) {
            let line = format!("{} more warnings ({code}); 'reclass lint' shows all", count - SHOWN_WARNINGS);
            log::write(py, Severity::Warning, &line)?;
        }
        Ok(())
    }
}

/// Number of warnings of one kind that an answer logs before it counts the others.
const SHOWN_WARNINGS: usize = 5;

/// Whether it is a warning about data from elsewhere, and not about a node.
fn is_stale(warning: &Warning) -> bool {
    matches!(warning.kind, Kind::GitStale { .. } | Kind::EtcdStale { .. })
}

struct FailedRequest {
    error: Error,
    /// The faults with excerpts.
    full: String,
    /// Whether the same error was raised before and no file has changed since.
    repeated: bool,
}

impl FailedRequest {
    fn new(error: Error) -> FailedRequest {
        FailedRequest { error, full: String::new(), repeated: false }
    }
}

/// The text of faults without the node, so that it is the same for all nodes.
fn without_node(faults: &[Fault]) -> String {
    let lines = faults.iter().map(|fault| concise_warning(&Fault { node: None, ..fault.clone() }));
    lines.collect::<Vec<_>>().join("\n")
}

/// A result of the engine. If it is the last owner of a value, it drops the value with enough stack.
struct Given<T>(Option<T>);

impl<T> Deref for Given<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl<T> Drop for Given<T> {
    fn drop(&mut self) {
        grow(|| drop(self.0.take()));
    }
}

/// The redaction of an answer.
fn redaction(inventory: &reclass::Inventory, show: bool) -> Redaction {
    if show { Redaction::none() } else { Redaction::of(inventory.settings()) }
}

/// The name of a node. Unlike a text, a Python string can contain a lone surrogate.
fn node_name(name: &Bound<'_, PyString>) -> PyResult<Text> {
    incoming::text(name, "the name of the node")
}

fn environment_asked_for(name: &Bound<'_, PyString>) -> PyResult<Text> {
    incoming::text(name, "the environment asked for")
}

/// The answer for a minion; `None` if it has no node and the settings require no data in this case (S14). The
/// argument of `answer` is whether the node needs no file.
fn minion<T>(engine: &reclass::Inventory, id: &str, answer: impl Fn(bool) -> Result<T>) -> Result<Option<T>> {
    let error = match answer(false) {
        Ok(given) => return Ok(Some(given)),
        Err(error) => error,
    };
    match (engine.settings().node_not_found, &error.first().kind) {
        (NodeNotFound::Empty, Kind::NodeNotFound { name, .. }) if name == id => Ok(None),
        (NodeNotFound::Mappings, Kind::NodeNotFound { name, .. }) if name == id => answer(true).map(Some),
        _ => Err(error),
    }
}

/// Whether a value breaks its schema. One that is only deprecated does not.
fn is_error(fault: &Fault) -> bool {
    !matches!(fault.kind, Kind::Lint { .. })
}

/// The parameters and `__reclass__` as Python data.
fn pillar_dict<'py>(
    node: &NodeInfo,
    revision: Option<&str>,
    outgoing: &mut Outgoing<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = outgoing.py();
    let (parameters, environment) = node.wire_values.get().cloned().unwrap_or_default();
    let pillar = outgoing.dict(parameters.as_map().unwrap_or(&Map::default()))?;
    let about = PyDict::new(py);
    about.set_item(intern!(py, "nodename"), outgoing.string(&node.name))?;
    about.set_item(intern!(py, "applications"), outgoing.texts(&node.applications)?)?;
    about.set_item(intern!(py, "classes"), outgoing.texts(&node.classes)?)?;
    about.set_item(intern!(py, "environment"), outgoing.object(&environment)?)?;
    if let Some(revision) = revision {
        about.set_item(intern!(py, "revision"), revision)?;
    }
    pillar.set_item(intern!(py, "__reclass__"), about)?;
    Ok(pillar)
}

/// The parameters and the environment, converted for the wire, or the faults of everything that cannot be
/// carried; only the first one without `group_errors` (R5).
fn wire_values(node: &NodeInfo, settings: &Settings) -> Result<(Value, Value)> {
    let mut faults = Vec::new();
    let mut carried = |value: &Value, root: &str| {
        let carried = wire::carry(value, root, &settings.delimiter);
        carried.map_err(|error| faults.extend(error.into_faults())).unwrap_or_default()
    };
    let parameters = carried(&node.parameters, "parameters");
    let environment = carried(&node.environment, "environment");
    if faults.is_empty() {
        return Ok((parameters, environment));
    }
    truncate_unless_grouped(&mut faults, settings.group_errors);
    for fault in &mut faults {
        fault.node = Some(node.name.clone());
    }
    Err(Error::new(faults))
}

/// The environment as a key of Salt's top: the text of a scalar.
fn environment_name(environment: &Value, node: &Text) -> Result<Text> {
    match environment {
        Value::Str(text) => Ok(text.clone()),
        environment @ (Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
            Ok(reclass::pystr::str(environment).into())
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
fn now(py: Python<'_>) -> PyResult<String> {
    py.import("time")?.call_method1("strftime", ("%c",))?.extract()
}

/// The nodes and the first keys to compare.
fn compared_parts(
    nodes: Vec<String>,
    only: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
) -> ComparedParts {
    ComparedParts { nodes, only: only.unwrap_or_default(), except: exclude.unwrap_or_default() }
}

/// Pillars by minion. Each is taken in alone, because the limits are those of one.
fn old_pillars(pillars: &Bound<'_, PyDict>) -> PyResult<OldAnswers> {
    let mut all = Map::default();
    for (minion, pillar) in pillars {
        let minion = incoming::from_python(&minion, "the name of a minion")?;
        all.insert(Key(minion), incoming::from_python(&pillar, "a pillar")?);
    }
    Ok(OldAnswers::of_pillars("the pillars", &all))
}
