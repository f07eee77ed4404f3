//! Writes warnings, durations, changes of mode and the age of stale data to Python's log `saltext.reclass`. In
//! Salt this is Salt's log.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use pyo3::prelude::*;

use crate::once::objects;
use reclass::FetchState;
use reclass::error::{Warning, concise_warning, inert};
use reclass_base::lock::Mutex;

/// The level of a line, with Python's numbers.
#[derive(Clone, Copy)]
pub enum Severity {
    Debug = 10,
    Info = 20,
    Warning = 30,
}

fn logger(py: Python<'_>) -> &Bound<'_, PyAny> {
    objects(py).logger.bind(py)
}

/// Whether lines of this level are written.
pub fn is_on(py: Python<'_>, severity: Severity) -> PyResult<bool> {
    logger(py).call_method1("isEnabledFor", (severity as u8,))?.extract()
}

pub fn write(py: Python<'_>, severity: Severity, line: &str) -> PyResult<()> {
    logger(py).call_method1("log", (severity as u8, "%s", line)).map(drop)
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

/// Data that were stale at the last answer.
struct StaleData {
    since: Instant,
    logged: Instant,
}

/// The stale data that were logged, by inventory and source.
static STALE: Mutex<BTreeMap<(String, String), StaleData>> = Mutex::new(BTreeMap::new());

/// Whether data that were stale may be fresh again.
pub fn knows_stale_data() -> bool {
    STALE.try_lock().is_some_and(|stale| !stale.is_empty())
}

/// Logs that data from git or etcd are stale, again after each interval, and that they are not any more.
pub fn staleness(py: Python<'_>, inventory: &str, states: &[FetchState], interval: Duration) -> PyResult<()> {
    let mut lines = Vec::new();
    {
        // Does not wait, as above.
        let Some(mut known) = STALE.try_lock() else { return Ok(()) };
        for state in states {
            let (key, now) = ((inventory.to_owned(), state.source.clone()), Instant::now());
            let Some(warning) = &state.stale else {
                if let Some(stale) = known.remove(&key) {
                    let line = format!(
                        "'{}' is fetched again; it was stale for {}",
                        state.source,
                        in_words(stale.since.elapsed())
                    );
                    lines.push((Severity::Info, inert(&line)));
                }
                continue;
            };
            let stale = known.get(&key);
            if stale.is_none_or(|stale| stale.logged.elapsed() >= interval) {
                let since = stale.map_or(now, |stale| stale.since);
                let age =
                    state.fetched.map(|time| SystemTime::now().duration_since(time).unwrap_or_default());
                let age = age.map(|age| format!("; fetched {} ago", in_words(age))).unwrap_or_default();
                lines.push((Severity::Warning, format!("{}{age}", concise_warning(warning))));
                known.insert(key, StaleData { since, logged: now });
            }
        }
    }
    lines.iter().try_for_each(|(severity, line)| write(py, *severity, line))
}

/// A duration in its largest unit of which there are two.
fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
