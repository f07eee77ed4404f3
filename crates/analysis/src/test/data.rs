//! The report of a test run, as it is serialized.

use std::path::PathBuf;

use serde::Serialize;

use crate::explain::ValuePlace;
use reclass::brief::{brief, briefs};
use reclass::report::{Finding, Level};
use reclass_base::error::{Fault, Kind};
use reclass_base::source::Site;
use reclass_base::value::{Text, Value};

/// The results of all tests, in the order of the files. Secrets are masked.
#[derive(Clone, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct TestReport {
    /// The tests.
    pub tests: Vec<TestResult>,
    /// What is left, if the time limit ended the run.
    pub stopped: Option<StoppedRun>,
    /// The files of snapshots to write, each with its new text.
    #[serde(skip)]
    pub recorded: Vec<(PathBuf, String)>,
}

/// The most failures of one path of a test that are kept.
pub const MOST_FAILURES: usize = 100;

/// A run that the time limit ended.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct StoppedRun {
    /// The time limit in seconds.
    pub seconds: u64,
    /// The number of nodes that were not looked at.
    pub nodes_left: usize,
    /// The number of tests of these nodes.
    pub tests_left: usize,
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
    /// The number of nodes that it did not look at, because of the time limit.
    pub nodes_left: usize,
    /// The values that are not as expected, at most 100 of each path.
    pub failures: Vec<TestFailure>,
    /// The number of further values of nodes that are not as expected.
    pub left_out: usize,
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
    /// Everything was as expected until the time limit ended the run.
    Unfinished,
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

impl StoppedRun {
    /// What happened, in one sentence.
    pub(super) fn sentence(&self) -> String {
        let begin = format!("the time limit of {} ended the run", counted(self.seconds, "second"));
        match self.nodes_left as u64 {
            0 => format!("{begin} before all wrong values were listed"),
            nodes => {
                let tests = counted(self.tests_left as u64, "test");
                format!("{begin}; left: {} of {tests}", counted(nodes, "node"))
            }
        }
    }
}

/// `1 node`, `2 nodes`
fn counted(count: u64, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

impl TestResult {
    /// What is not in its lists: further wrong values, and nodes that were not looked at.
    pub(super) fn remainder(&self) -> Vec<String> {
        let further = || format!("{} not listed", counted(self.left_out as u64, "more wrong value"));
        let left = || format!("{} not looked at: the time was over", counted(self.nodes_left as u64, "node"));
        let further = (self.left_out > 0).then(further);
        further.into_iter().chain((self.nodes_left > 0).then(left)).collect()
    }
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
            let remainder = test.remainder().into_iter().map(|remainder| {
                let message = format!("{}: {remainder}", test.name);
                let kind = Kind::Lint { rule: "test-failed", message, help: None };
                let fault = Fault::new(kind).at_site(test.site.clone());
                Finding { fault, level: Level::Error, nodes: Vec::new() }
            });
            failed.chain(remainder).chain(test.problems.iter().cloned())
        });
        findings.collect()
    }
}
