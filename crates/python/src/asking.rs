//! Asks the engine while other threads may use the interpreter, and logs what it says beside its answers.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::Serialize;

use crate::data;
use crate::errors::{exception, exception_with_excerpts};
use crate::inventory::Inventory;
use crate::log::{self, Severity};
use crate::once::objects;
use crate::outgoing::Outgoing;
use reclass::NodeInfo;
use reclass::error::{Kind, Result, Warning, concise_warning, inert};
use reclass::report::to_json;
use reclass::value::{Map, Value};
use reclass_analysis::list;
use reclass_base::failpoints::failpoint;
use reclass_base::stack::grow;
use reclass_serve::{News, Remarks, Served, ServedReply, without_node};

impl Inventory {
    /// The answer to a question, and what is to be logged about it. An error contains excerpts of the files, with
    /// secrets hidden.
    pub fn asked<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Served, bool) -> ServedReply<T> + Send,
    ) -> PyResult<(Given<T>, Remarks)> {
        let ask = || {
            let served = self.served_or_error()?;
            let ServedReply { result, remarks } = question(&served, log::knows_stale_data());
            Ok((result.map(|answer| Given(Some(answer))), remarks))
        };
        let (given, remarks) = py.detach(|| grow(ask)).map_err(|error| exception(py, &error))?;
        failpoint("an answer is handed to Python");
        log_news(py, &remarks.news)?;
        // An error may be the consequence of stale data, so it comes after them.
        match given {
            Ok(given) => Ok((given, remarks)),
            Err(failed) => Err(exception_with_excerpts(py, &failed.error, &failed.full, failed.repeated)),
        }
    }

    /// The answer to a question about the state that a node gets, or that most nodes get.
    pub fn ask<T: Send>(
        &self,
        py: Python<'_>,
        node: Option<&str>,
        question: impl FnOnce(&reclass::Inventory) -> Result<T> + Send,
    ) -> PyResult<Given<T>> {
        Ok(self.asked(py, |served, stale| served.ask(node, stale, question))?.0)
    }

    /// The answer to a question about the inventory as it is served.
    pub fn of_served<T: Send>(
        &self,
        py: Python<'_>,
        question: impl FnOnce(&Served) -> Result<T> + Send,
    ) -> PyResult<T> {
        let ask = || question(&*self.served_or_error()?);
        py.detach(|| grow(ask)).map_err(|error| exception(py, &error))
    }

    /// The same as Python data.
    pub fn served_answer<'py, T: Serialize + Send>(
        &self,
        py: Python<'py>,
        question: impl FnOnce(&Served) -> Result<T> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        data::object(&mut self.outgoing(py), &self.of_served(py, question)?)
    }

    /// The answer about most nodes as Python data. A plain answer has the types of JSON.
    pub fn answer<'py, T: Serialize + Send + Sync>(
        &self,
        py: Python<'py>,
        plain: bool,
        question: impl FnOnce(&reclass::Inventory) -> Result<T> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.answer_of(py, None, plain, question)
    }

    /// The answer about a node as Python data.
    pub fn answer_of<'py, T: Serialize + Send + Sync>(
        &self,
        py: Python<'py>,
        node: Option<&str>,
        plain: bool,
        question: impl FnOnce(&reclass::Inventory) -> Result<T> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.ask(py, node, question)?;
        if plain {
            let text = py.detach(|| grow(|| to_json(&*given)));
            return objects(py).loads.bind(py).call1((text,));
        }
        data::object(&mut self.outgoing(py), &*given)
    }

    /// An answer that is a text, about a node or about most nodes.
    pub fn text<'py>(
        &self,
        py: Python<'py>,
        node: Option<&str>,
        question: impl FnOnce(&reclass::Inventory) -> Result<String> + Send,
    ) -> PyResult<Bound<'py, PyString>> {
        Ok(PyString::new(py, &self.ask(py, node, question)?))
    }

    /// The answer of a listing. A name with several files is logged, because it does not affect the other
    /// names.
    pub fn listing<'py, T: Serialize + Send>(
        &self,
        py: Python<'py>,
        question: impl FnOnce(&reclass::Inventory) -> list::Rows<T> + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.ask(py, None, |engine| Ok((question(engine)?, engine.clashes())))?;
        let (listing, clashes) = &*given;
        for clash in clashes {
            log::write(py, Severity::Warning, &concise_warning(clash))?;
        }
        data::object(&mut self.outgoing(py), &listing.rows)
    }

    /// A mapping of the engine as a new dict.
    pub fn dict<'py>(&self, py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyDict>> {
        self.outgoing(py).dict(value.as_map().unwrap_or(&Map::default()))
    }

    /// What makes Python data of answers.
    pub fn outgoing<'py>(&self, py: Python<'py>) -> Outgoing<'py> {
        Outgoing::new(py)
    }

    /// What the process shares for these options.
    pub fn served(&self) -> PyResult<Arc<Served>> {
        self.served_or_error().map_err(|error| Python::attach(|py| exception(py, &error)))
    }

    fn served_or_error(&self) -> Result<Arc<Served>> {
        // Does not wait: in a forked child the lock may be held forever.
        let mut known = self.served.try_lock();
        let still = known.as_ref().and_then(|known| known.upgrade()).filter(|served| served.is_shared());
        if let Some(served) = still {
            return Ok(served);
        }
        let served = Served::shared(&self.options, self.asker)?;
        if let Some(known) = &mut known {
            **known = Arc::downgrade(&served);
        }
        Ok(served)
    }
}

thread_local! {
    static REMEMBERED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the last pillar or top of this thread was remembered.
pub fn was_remembered() -> bool {
    REMEMBERED.get()
}

/// Runs a request, and logs its duration and whether the answer was cached, which `answer` says too.
pub fn timed<T>(
    py: Python<'_>,
    what: &str,
    name: &str,
    answer: impl FnOnce() -> PyResult<(T, bool)>,
) -> PyResult<T> {
    let begun = Instant::now();
    let given = answer();
    REMEMBERED.set(matches!(given, Ok((_, true))));
    if log::is_on(py, Severity::Debug)? {
        let milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
        let how = match &given {
            Ok((_, true)) => "remembered",
            Ok(_) => "computed",
            Err(_) => "failed",
        };
        let line = format!("{what} of '{}': {how} in {milliseconds:.2} ms", inert(name));
        log::write(py, Severity::Debug, &line)?;
    }
    Ok(given?.0)
}

/// Logs what happened to the inventory since the last question.
fn log_news(py: Python<'_>, news: &News) -> PyResult<()> {
    if let Some((watching, place)) = &news.watching {
        let line = if *watching {
            format!("the kernel reports changes in '{place}' from now on (inotify)")
        } else {
            format!("no watch of '{place}' any more: each answer compares the time stamps of the files")
        };
        log::write(py, Severity::Info, &inert(&line))?;
    }
    for (breaks, sentence) in &news.tested {
        let severity = if *breaks { Severity::Warning } else { Severity::Info };
        log::write(py, severity, &inert(sentence))?;
    }
    match &news.fetches {
        Some(fetches) => log::staleness(py, &fetches.inventory, &fetches.states, fetches.interval),
        None => Ok(()),
    }
}

/// Logs the warnings of the nodes of an answer. Each warning is logged once for all nodes until files change;
/// repetitions have the level debug.
pub fn log_warnings(py: Python<'_>, nodes: &[Arc<NodeInfo>], remarks: &Remarks) -> PyResult<()> {
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
    log_new(py, &rest, remarks)
}

/// Number of warnings of one kind that an answer logs before it counts the others.
const SHOWN_WARNINGS: usize = 5;

/// Logs warnings. A few of each kind are shown, because answers for all nodes may have thousands.
pub fn log_new(py: Python<'_>, warnings: &[&Warning], remarks: &Remarks) -> PyResult<()> {
    if warnings.is_empty() {
        return Ok(());
    }
    let debug = log::is_on(py, Severity::Debug)?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for warning in warnings {
        let new = remarks.is_first_notice(&without_node(std::slice::from_ref(*warning)));
        let count = counts.entry(warning.code()).or_default();
        *count += usize::from(new);
        if new && *count <= SHOWN_WARNINGS {
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

/// Whether it is a warning about data from elsewhere, and not about a node.
fn is_stale(warning: &Warning) -> bool {
    matches!(warning.kind, Kind::GitStale { .. } | Kind::EtcdStale { .. })
}

/// A result of the engine. If it is the last owner of a value, it drops the value with enough stack.
pub struct Given<T>(Option<T>);

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
