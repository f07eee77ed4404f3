//! Answers beside those of the Python programs, recorded and asked. Each oracle prints a table of its own: words on the
//! command line choose those whose names contain one of them, as `make conformance` and `make differential` do.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::too_many_lines,
    clippy::range_plus_one,
    clippy::assigning_clones,
    clippy::needless_for_each,
    clippy::needless_pass_by_value,
    clippy::format_collect,
    missing_docs,
    reason = "a program of the tests: it writes files, reads its environment and says what it found"
)]

mod conformance;
mod differential;

use std::process::ExitCode;

/// The codes of ours that stand for an exception of the Python programs, which both oracles meet.
fn codes(class: &str) -> Option<&'static [&'static str]> {
    Some(match class {
        "TypeMergeError" => &["merge-type"],
        "ResolveError" | "ResolveErrorList" | "BadReferencesError" => &["reference-not-found"],
        "InfiniteRecursionError" => &["reference-cycle"],
        "ChangedConstantError" => &["constant-changed"],
        "ClassNotFound" => &["class-not-found"],
        "ClassNameResolveError" => &["class-reference"],
        "InvalidClassnameError" => &["class-name-invalid"],
        "DuplicateNodeNameError" => &["duplicate-definition"],
        "NodeNotFound" => &["node-not-found"],
        "MappingFormatError" => &["setting-pattern"],
        "InvQueryClassNotFound" | "InvQueryClassNameResolveError" | "InvQueryError" => &["query-failed"],
        "ParseError" => &["reference-syntax", "query-syntax"],
        _ => return None,
    })
}

/// The name of an oracle, and whether we agree with it.
type Oracle = (&'static str, fn() -> bool);

const ORACLES: [Oracle; 2] = [("conformance", conformance::agrees), ("differential", differential::agrees)];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_asked = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let asked = ORACLES.iter().filter(|(name, _)| is_asked(name));
    // One that fails keeps none from being asked.
    let failed = asked.filter(|(_, agrees)| !agrees()).count();
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
