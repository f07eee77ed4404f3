//! Writes warnings, durations and changes of mode to Python's log `saltext.reclass`. In Salt this is Salt's
//! log.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use reclass::error::{Warning, concise_warning};
use reclass::lock::Mutex;

/// The level of a line, with Python's numbers.
#[derive(Clone, Copy)]
pub enum Severity {
    Debug = 10,
    Info = 20,
    Warning = 30,
}

fn logger(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let logger = LOGGER.get_or_try_init(py, || {
        let logger = py.import("logging")?.call_method1("getLogger", ("saltext.reclass",))?;
        Ok::<_, PyErr>(logger.unbind())
    })?;
    Ok(logger.bind(py))
}

/// Whether lines of this level are written.
pub fn is_on(py: Python<'_>, severity: Severity) -> PyResult<bool> {
    logger(py)?.call_method1("isEnabledFor", (severity as u8,))?.extract()
}

/// Writes a line.
pub fn write(py: Python<'_>, severity: Severity, line: &str) -> PyResult<()> {
    logger(py)?.call_method1("log", (severity as u8, "%s", line)).map(drop)
}

/// Logs warnings about settings, each once per process, because Salt opens the inventory for each call.
pub fn once(py: Python<'_>, warnings: &[Warning]) -> PyResult<()> {
    static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    for line in warnings.iter().map(concise_warning) {
        // Does not wait: in a forked child the lock may be held forever.
        let fresh = LOGGED.try_lock().is_none_or(|mut logged| {
            let fresh = !logged.contains(&line) && logged.len() < 1000;
            if fresh {
                logged.push(line.clone());
            }
            fresh
        });
        if fresh {
            write(py, Severity::Warning, &line)?;
        }
    }
    Ok(())
}
