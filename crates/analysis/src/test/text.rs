//! Writes a report for people: the tests that did not pass, and a summary.

use std::fmt::Write as _;

use super::data::{TestFailure, TestReport, TestResult, TestState};
use reclass::style::{Paint, Style};
use reclass_base::error::{Error, concise, inert};

/// Number of nodes that a failure names.
const NAMED: usize = 3;

/// Number of failures of one test that are shown, unless all are requested.
pub const SHOWN: usize = 10;

/// The tests that did not pass, each with its failures, and the summary.
pub fn text(report: &TestReport, all: bool, paint: Paint) -> String {
    let mut out = String::new();
    let shown = if all { usize::MAX } else { SHOWN };
    for test in &report.tests {
        match test.state {
            TestState::Passed if all => {
                let passed = paint.of(Style::Added, "passed");
                let _ = write!(out, "{passed}  {}\n\n", inert(&test.name));
            }
            TestState::Passed => {}
            TestState::Failed | TestState::Invalid | TestState::Unfinished => {
                block(&mut out, test, shown, paint);
            }
        }
    }
    out + &summary(report)
}

fn block(out: &mut String, test: &TestResult, shown: usize, paint: Paint) {
    let state = match test.state {
        TestState::Invalid => "invalid",
        TestState::Unfinished => "unfinished",
        TestState::Failed | TestState::Passed => "failed",
    };
    let _ =
        writeln!(out, "{}  {}", paint.of(Style::Error, state), paint.of(Style::Heading, &inert(&test.name)));
    for problem in &test.problems {
        let _ = writeln!(out, "  {}", concise(&Error::from(problem.fault.clone())));
    }
    for failure in test.failures.iter().take(shown) {
        let place = paint.of(Style::Place, &inert(&failure.site.to_string()));
        let path =
            if failure.path.is_empty() { String::new() } else { format!("{}  ", inert(&failure.path)) };
        let _ = writeln!(out, "  {}{place}  ({})", paint.of(Style::Value, &path), nodes(failure));
        let _ = writeln!(out, "    expected  {}", indented(&failure.expected));
        let _ = writeln!(out, "    got       {}{}", indented(&failure.got), source(failure, paint));
        if let Some(help) = &failure.help {
            let _ = writeln!(out, "    help      {}", inert(help));
        }
    }
    if test.failures.len() > shown {
        let _ = writeln!(out, "  {} more failures; --all shows them", test.failures.len() - shown);
    }
    for remainder in test.remainder() {
        let _ = writeln!(out, "  {remainder}");
    }
    out.push('\n');
}

/// A text of several lines, as errors have them, below itself.
fn indented(text: &str) -> String {
    text.lines().map(inert).collect::<Vec<_>>().join("\n              ")
}

/// `web1, web2, web3 and 5 more nodes`
fn nodes(failure: &TestFailure) -> String {
    let named: Vec<String> = failure.nodes.iter().take(NAMED).map(|node| inert(node)).collect();
    match failure.nodes.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        1 => format!("{} and 1 more node", named.join(", ")),
        more => format!("{} and {more} more nodes", named.join(", ")),
    }
}

/// The file, the line and the layer of a value.
fn source(failure: &TestFailure, paint: Paint) -> String {
    let Some(place) = &failure.place else { return String::new() };
    match &place.site {
        Some(site) => {
            let site = paint.of(Style::Place, &inert(&site.to_string()));
            format!("  {site} ({})", inert(&place.layer))
        }
        None => format!("  ({})", inert(&place.layer)),
    }
}

/// `8 tests: 2 failed, 1 invalid, 5 passed`, and what the time limit left.
pub fn summary(report: &TestReport) -> String {
    let count = |state: TestState| report.count(state);
    let mut parts = Vec::new();
    if count(TestState::Failed) > 0 {
        parts.push(format!("{} failed", count(TestState::Failed)));
    }
    if count(TestState::Invalid) > 0 {
        parts.push(format!("{} invalid", count(TestState::Invalid)));
    }
    if count(TestState::Unfinished) > 0 {
        parts.push(format!("{} unfinished", count(TestState::Unfinished)));
    }
    parts.push(format!("{} passed", count(TestState::Passed)));
    let word = if report.tests.len() == 1 { "test" } else { "tests" };
    let stopped =
        report.stopped.as_ref().map_or_else(String::new, |stopped| format!("\n{}", stopped.sentence()));
    format!("{} {word}: {}{stopped}", report.tests.len(), parts.join(", "))
}
