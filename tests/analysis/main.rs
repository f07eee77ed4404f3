//! The analyses: their examples, their documents, and what holds of them over the whole corpus.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test writes files, may panic, and says how much it did"
)]

mod compare_corpus;
mod compiled_schemas;
mod diff;
mod documenting;
mod explain;
mod explain_corpus;
mod explain_truth;
mod impact;
mod lint;
mod lint_corpus;
mod schemas;
mod testing;
