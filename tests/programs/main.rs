//! The programs as they are started: arguments, exit codes, terminals, messages; and the pages that show them.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test writes files, may panic, and says how much it did"
)]

mod claims;
mod compare;
mod configuration;
mod explore;
mod first_contact;
mod lint;
mod lsp;
mod output;
mod pages;
mod programs;
mod python;
mod reclass;
mod terminal;
mod verbs;
