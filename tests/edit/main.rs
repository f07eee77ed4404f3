//! Edits: of a text, of a corpus of files, of an inventory, and how a file is replaced.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test writes files, may panic, and says how much it did"
)]

mod corpus;
mod edit;
mod effect;
mod write;
