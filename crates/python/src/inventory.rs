//! The Python class `Inventory`: its methods are requests to the engine.

use std::sync::{Arc, Weak};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::asking::{log_new, log_warnings, timed};
use crate::data;
use crate::errors::{exception, guard};
use crate::incoming;
use crate::log;
use crate::strings;
use crate::translating::{
    compared_parts, environment_asked_for, fetch_state, files_dict, findings_text, grains_read, node_name,
    now, old_pillars, pillar_dict, redaction, top_dict,
};
use reclass::Request;
use reclass::error::Error;
use reclass::parts::model::CatalogEntry;
use reclass::style::Paint;
use reclass::value::{Map, Text, Value};
use reclass_analysis::compare::compare_state;
use reclass_analysis::diff::diff;
use reclass_analysis::explain::{Selection, explain, to_text};
use reclass_analysis::impact::impact;
use reclass_analysis::lint::lint;
use reclass_analysis::list::{self, ListedRows, NodeFilter};
use reclass_base::lock::Mutex;
use reclass_base::stack::grow;
use reclass_serve::{Asker, Served, status};

/// An inventory, opened with the settings of a `reclass-config.yml` as keyword arguments.
///
/// All objects of a process with equal settings share one cache. An object works in a child after a fork too.
#[pyclass(frozen, module = "saltext.reclass")]
pub struct Inventory {
    pub(crate) options: Map,
    pub(crate) asker: Asker,
    /// What the process shares for these options. It is looked up anew after a fork and after a panic.
    pub(crate) served: Mutex<Weak<Served>>,
    propagates: bool,
    reads_grains: bool,
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
            let (options, asker) = (incoming::options(py, settings)?, incoming::asker(settings)?);
            let served = py.detach(|| grow(|| Served::shared(&options, asker)));
            let served = served.map_err(|error| exception(py, &error))?;
            log::once(py, served.settings_warnings())?;
            // A child takes over what nobody but the registry holds.
            Ok(Inventory {
                options,
                asker,
                propagates: served.settings().propagate_pillar_data_to_reclass,
                reads_grains: served.reads_grains(),
                served: Mutex::new(Arc::downgrade(&served)),
            })
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
            let served = self.served()?;
            self.listing(py, |engine| {
                if everything {
                    // A broken class does not matter if only names are requested.
                    return Ok(ListedRows { rows: served.nodes()?, left_out: 0 });
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
            let files = self.ask(py, None, |engine| {
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
            files_dict(py, nodes, classes)
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
            self.answer_of(py, Some(node), plain, |engine| {
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
            self.text(py, Some(node), |engine| {
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
        guard(|| self.text(py, None, |engine| Ok(findings_text(engine, lint(&self.options, &nodes, &())?))))
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
            let difference = self.ask(py, None, |_| diff(&self.options, None, (old, new), &nodes, false))?;
            let text = self.text(py, None, |_| {
                Ok(reclass_analysis::diff::text(&difference, reclass_analysis::diff::NAMED, Paint::PLAIN))
            })?;
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
            self.answer(py, plain, |engine| {
                compare_state(&self.options, Some(engine), &old, &parts, show_secrets)
            })
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
            let comparison =
                self.ask(py, None, |engine| compare_state(&self.options, Some(engine), &old, &parts, false))?;
            let text = self.text(py, None, |_| {
                Ok(reclass_analysis::compare::text(&comparison, reclass_analysis::diff::NAMED, Paint::PLAIN))
            })?;
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
            timed(py, "nodeinfo", &name, || {
                let (node, remarks) =
                    self.asked(py, |served, stale| served.nodeinfo(&name, &request, stale))?;
                log_warnings(py, std::slice::from_ref(&*node), &remarks)?;
                Ok((self.dict(py, &node.to_value(&now(py)?))?, remarks.remembered))
            })
        })
    }

    /// The sizes and counters of the caches, for people.
    fn cache_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let info = self.ask(py, None, |engine| Ok(engine.cache_info()))?;
            let given = data::object(&mut self.outgoing(py), &*info)?.cast_into::<PyDict>()?;
            given.set_item("misses", info.counts.computed)?;
            given.set_item("objects_memory", strings::bytes())?;
            Ok(given)
        })
    }

    /// The repositories and the etcd of the inventory, as of the last question in this process: the `source`, the
    /// `commits` of branches, the times when it was `fetched` and when that `failed` last, and why it is `stale`.
    fn fetch_states<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        guard(|| {
            let states = self.of_served(py, |served| Ok(served.fetch_states()))?;
            states.iter().map(|state| fetch_state(py, state)).collect()
        })
    }

    /// The state of the inventory, as `reclass status -o json` prints it: its `revision`, `since` when, and its
    /// `sources`. Renders no node.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.served_answer(py, status::state))
    }

    /// What an inventory serves, as `reclass status -o json` prints it. Renders all nodes.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.served_answer(py, status::status))
    }

    /// The way of the newest commits to the minions, if they are tested first (`serve`), as in `reclass status -o
    /// json`: `fetched`, `tested`, `served`, `is_served`, `held`, `first`, `trial`, `waiting`, `distrusted`; otherwise
    /// `None`.
    fn delivery<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.served_answer(py, Served::delivery))
    }

    /// The same as of the last question or the record, without a look for newer commits.
    fn last_delivery<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guard(|| self.served_answer(py, |served| Ok(served.last_delivery())))
    }

    /// The sorted names of the nodes that get other commits than most.
    fn nodes_of_other_commits(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guard(|| self.of_served(py, Served::nodes_of_other_commits))
    }

    /// Ends the trial of the newest revision: it is served to all nodes, or to none. Returns its name; `None`
    /// without a trial.
    fn end_trial(&self, py: Python<'_>, promote: bool) -> PyResult<Option<String>> {
        guard(|| self.of_served(py, |served| served.end_trial(promote)))
    }

    /// The problem of a `canary` that matches no node.
    fn unmatched_canary(&self, py: Python<'_>) -> PyResult<Option<String>> {
        guard(|| self.of_served(py, Served::unmatched_canary))
    }

    /// Forgets which revisions were served, if none are tested.
    fn forget_served(&self, py: Python<'_>) -> PyResult<()> {
        guard(|| self.of_served(py, Served::forget_decision))
    }

    /// Makes this process the one that tests new revisions, until it ends; `False` if another one does.
    fn test_revisions(&self, py: Python<'_>) -> PyResult<bool> {
        guard(|| self.of_served(py, |served| Ok(served.watch())))
    }

    /// The output of `reclass --inventory`, as Python data.
    fn inventory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guard(|| {
            let (nodes, remarks) =
                self.asked(py, |served, stale| served.ask(None, stale, reclass::Inventory::inventory))?;
            log_warnings(py, &nodes, &remarks)?;
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
    /// `grains` are those of the minion, a mapping; only those are read that the settings name. With `schemas`, a pillar
    /// that breaks a schema is an error whatever the setting `schema_check` says.
    #[pyo3(signature = (minion_id, pillar = None, environment = None, grains = None, *, schemas = false))]
    fn pillar<'py>(
        &self,
        py: Python<'py>,
        minion_id: &Bound<'py, PyString>,
        pillar: Option<&Bound<'py, PyAny>>,
        environment: Option<&Bound<'py, PyString>>,
        grains: Option<&Bound<'py, PyAny>>,
        schemas: bool,
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
            timed(py, "pillar", minion_id, || {
                let (pillar, remarks) =
                    self.asked(py, |served, stale| served.pillar(minion_id, &request, schemas, stale))?;
                let given = match &*pillar {
                    None => PyDict::new(py),
                    Some(pillar) => {
                        log_new(py, &pillar.warnings.iter().collect::<Vec<_>>(), &remarks)?;
                        log_warnings(py, std::slice::from_ref(&pillar.node), &remarks)?;
                        pillar_dict(pillar, &mut self.outgoing(py))?
                    }
                };
                Ok((given, remarks.remembered))
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
            timed(py, "top", minion_id, || {
                let (answer, remarks) =
                    self.asked(py, |served, stale| served.top(minion_id, &request, stale))?;
                let top = top_dict(answer.as_ref(), minion_id, &mut self.outgoing(py))?;
                Ok((top, remarks.remembered))
            })
        })
    }
}

impl Inventory {
    /// The grains of a request, if the settings name any.
    fn grains(&self, py: Python<'_>, grains: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Value>> {
        let Some(grains) = grains.filter(|_| self.reads_grains) else { return Ok(None) };
        grains_read(py, &*self.served()?, grains).map(Some)
    }
}
