//! The report of a test run, as it is serialized.

use std::path::PathBuf;

use serde::Serialize;

use crate::analysis::explain::ValuePlace;
use crate::base::error::{Fault, Kind};
use crate::base::source::Site;
use crate::base::value::{Text, Value};
use crate::output::brief::{brief, briefs};
use crate::output::report::{Finding, Level};

/// The results of all tests, in the order of the files. Secrets are masked.
#[derive(Clone, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct TestReport {
    /// The tests.
    pub tests: Vec<TestResult>,
    /// The files of snapshots to write, each with its new text.
    #[serde(skip)]
    pub recorded: Vec<(PathBuf, String)>,
}

/// The result of one test.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct TestResult {
    /// Its name; for a file that cannot be read, the name of the file.
    pub name: String,
    /// Its place.
    pub site: Site,
    /// Its state.
    pub state: TestState,
    /// The number of nodes that it looked at.
    pub nodes: usize,
    /// The values that are not as expected.
    pub failures: Vec<TestFailure>,
    /// The reasons why it cannot be run.
    pub problems: Vec<Finding>,
}

/// The state of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TestState {
    /// Everything is as expected.
    Passed,
    /// Something is not as expected.
    Failed,
    /// The test cannot be run as it is written.
    Invalid,
}

/// A value that is not as expected, and the nodes that have it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct TestFailure {
    /// The path of the value; empty if the node as a whole is meant.
    pub path: String,
    /// The place of the expectation.
    pub site: Site,
    /// The nodes. The place of the value is that in the first of them.
    pub nodes: Vec<Text>,
    /// The expectation in words, `at least 2`.
    pub expected: String,
    /// The value in words, `1`, or the error.
    pub got: String,
    /// The value; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The place of the value: the layer that has the last word.
    pub place: Option<ValuePlace>,
    /// The way out, if one is known.
    pub help: Option<String>,
}

impl TestFailure {
    /// The expectation and the value in one sentence.
    pub(super) fn sentence(&self) -> String {
        let at = if self.path.is_empty() { String::new() } else { format!("{}: ", self.path) };
        format!("{at}expected {}, got {}", self.expected, self.got)
    }

    /// An expected value and the one that is there, as texts. Values that differ only behind their first hundred
    /// characters look different.
    pub(super) fn texts(words: &str, expected: Option<&Value>, got: Option<&Value>) -> (String, String) {
        let nothing = || "nothing".to_owned();
        let (expected, got) = match (expected, got) {
            (Some(expected), Some(got)) if words.is_empty() => briefs(expected, got),
            (expected, got) => (expected.map_or_else(nothing, brief), got.map_or_else(nothing, brief)),
        };
        (format!("{words} {expected}").trim_start().to_owned(), got)
    }
}

impl TestReport {
    /// The number of tests in a state.
    pub fn count(&self, state: TestState) -> usize {
        self.tests.iter().filter(|test| test.state == state).count()
    }

    /// Whether all tests passed.
    pub fn is_passed(&self) -> bool {
        self.tests.iter().all(|test| test.state == TestState::Passed)
    }

    /// The failures and problems as findings, for annotations.
    pub fn findings(&self) -> Vec<Finding> {
        let findings = self.tests.iter().flat_map(|test| {
            let failed = test.failures.iter().map(|failure| {
                let message = format!("{}: {}", test.name, failure.sentence());
                let kind = Kind::Lint { rule: "test-failed", message, help: failure.help.clone() };
                let mut fault = Fault::new(kind).at_site(failure.site.clone());
                if let Some(place) = &failure.place {
                    fault = fault.note(format!("the value is of {}", place.layer), place.site.clone());
                }
                Finding { fault, level: Level::Error, nodes: failure.nodes.clone() }
            });
            failed.chain(test.problems.iter().cloned())
        });
        findings.collect()
    }
}
