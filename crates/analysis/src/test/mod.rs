//! Tests of an inventory: files that say what a node must have, run like unit tests.
//!
//! `read` turns files into tests, `run` renders their nodes and compares, `matcher` has what can be expected.
//! `docs/testing.md` is the page for users.

mod data;
mod junit;
mod lookup;
mod matcher;
mod read;
mod run;
mod snapshot;
mod tally;
mod text;

use std::path::{Path, PathBuf};
use std::time::Duration;

use reclass::Inventory;
use reclass::parts::storage::fs;
use reclass::redact::Redaction;
use reclass_base::error::{Error, Fault, Kind, Note, Result};

pub use data::{MOST_FAILURES, StoppedRun, TestFailure, TestReport, TestResult, TestState};
pub use junit::junit;
pub use text::{summary, text};

/// The tests to run.
#[derive(Clone, Debug, Default)]
pub struct TestQuestion {
    /// Files of tests, and folders of them; empty for the folder `tests` of the inventory.
    pub paths: Vec<PathBuf>,
    /// Names of tests: globs, or parts of names. Empty for all tests.
    pub names: Vec<String>,
    /// Whether snapshots are recorded in place of being compared.
    pub record: bool,
    /// Hides secrets; none by default.
    pub redaction: Redaction,
    /// After this time no node is looked at any more. Without it, all are.
    pub time_limit: Option<Duration>,
}

/// Runs tests. A test that is written wrong is part of the report.
///
/// # Errors
///
/// A file or folder that cannot be read, a snapshot that is none, a name that no test has (`nothing-matches`), and
/// no test at all.
pub fn test(inventory: &Inventory, question: &TestQuestion) -> Result<TestReport> {
    let base = inventory.settings().inventory_base_uri.as_deref();
    let paths = match (question.paths.as_slice(), base) {
        ([], Some(base)) => {
            let base = fs::absolute(None, Path::new(base)).unwrap_or_else(|| base.into());
            vec![base.join("tests")]
        }
        (paths, _) => paths.to_vec(),
    };
    let files = read::files(&paths, inventory.settings()).map_err(|mut error| {
        let text = "where the command line names none, the tests are in this folder";
        let is_default = question.paths.is_empty();
        let faults = error.faults_mut().iter_mut().filter(|_| is_default);
        faults.for_each(|fault| fault.notes.push(Note { text: text.into(), site: None }));
        error
    })?;
    if files.is_empty() {
        let named = paths.iter().map(|path| format!("'{}'", fs::display(path))).collect::<Vec<_>>();
        let message = match named.as_slice() {
            [] => "name the files of tests: the inventory has no folder of its own".to_owned(),
            named => format!("no file of tests in {}", named.join(", ")),
        };
        return Err(Error::from(Fault::new(Kind::Usage { message })));
    }
    inventory.inspect(|computation| run::run(computation, &files, question))?
}
