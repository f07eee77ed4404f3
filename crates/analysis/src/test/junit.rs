//! Writes a report as `JUnit` XML, which GitLab, Jenkins and others show.

use std::fmt::Write as _;

use super::data::{TestFailure, TestReport, TestResult, TestState};
use reclass::report::below;
use reclass_base::error::{Error, concise};

/// The report in the form of `JUnit`: a suite for each file, a case for each test. Paths are relative to `folder` if
/// they are below it.
pub fn junit(report: &TestReport, folder: &str) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<testsuites name=\"reclass\"{}>", counts(&report.tests));
    for tests in report.tests.chunk_by(|one, other| one.site.path == other.site.path) {
        let file = tests.first().map_or("", |test| below(&test.site.path, folder));
        let _ = writeln!(out, "  <testsuite name=\"{}\"{}>", escaped(file), counts(tests));
        for test in tests {
            case(&mut out, test, file);
        }
        out.push_str("  </testsuite>\n");
    }
    out + "</testsuites>"
}

fn counts(tests: &[TestResult]) -> String {
    let count = |state: TestState| tests.iter().filter(|test| test.state == state).count();
    let failed = count(TestState::Failed);
    let errors = count(TestState::Invalid) + count(TestState::Unfinished);
    format!(" tests=\"{}\" failures=\"{failed}\" errors=\"{errors}\"", tests.len())
}

fn case(out: &mut String, test: &TestResult, file: &str) {
    let (name, file) = (escaped(&test.name), escaped(file));
    let _ = write!(
        out,
        "    <testcase name=\"{name}\" classname=\"{file}\" file=\"{file}\" line=\"{}\"",
        test.site.line
    );
    if test.state == TestState::Passed {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    for problem in &test.problems {
        let message = escaped(&concise(&Error::from(problem.fault.clone())));
        let kind = problem.fault.code();
        let _ = writeln!(out, "      <error type=\"{kind}\" message=\"{message}\"/>");
    }
    for remainder in test.remainder() {
        let kind = if test.state == TestState::Unfinished { "error" } else { "failure" };
        let _ = writeln!(out, "      <{kind} type=\"test-failed\" message=\"{}\"/>", escaped(&remainder));
    }
    for failure in &test.failures {
        let TestFailure { site, nodes, place, .. } = failure;
        let message = escaped(&failure.sentence());
        let nodes = nodes.join(", ");
        let from = place.as_ref().map_or_else(String::new, |place| {
            let site = place.site.as_ref().map_or_else(String::new, |site| format!("{site}, "));
            format!("\nthe value is of {site}{}", place.layer)
        });
        let details = escaped(&format!("{site}\nnodes: {nodes}{from}"));
        let _ =
            writeln!(out, "      <failure type=\"test-failed\" message=\"{message}\">{details}</failure>");
    }
    out.push_str("    </testcase>\n");
}

/// A text in XML. Characters that XML 1.0 does not have at all become the replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // In an attribute a line break would become a space.
            '\n' => out.push_str("&#10;"),
            '\t' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => out.push(c),
            _ => out.push('\u{fffd}'),
        }
    }
    out
}
