//! Hostile inventories and bytes by chance: bounds of time and memory, and no panic; and how time grows.
#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test writes files, may panic, and says how much it did"
)]

mod fuzz;
mod growth;
mod hostile;
mod lowered;
mod questions;
