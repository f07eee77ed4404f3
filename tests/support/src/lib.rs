//! Support for the tests: where things are, and what several tests use.
#![allow(missing_docs, reason = "read by tests alone")]
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by a panic")]
#![allow(clippy::disallowed_methods, reason = "tests write files")]
#![allow(clippy::print_stdout, reason = "a test says what it did")]

pub mod answer;
pub mod checks;
pub mod corpus;
pub mod faithful;
pub mod folders;
pub mod generate;
pub mod inventory;
pub mod links;
pub mod options;
pub mod page;
pub mod random;
pub mod yaml;

/// Whether the long forms of tests run, as in `make test-long` and in CI. The short forms try fewer cases.
pub fn is_long() -> bool {
    std::env::var_os("RECLASS_LONG").is_some()
}

/// The top of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
