//! Time grows with the size of a file, of a text and of an inventory, not with its square.
//!
//! A binary of its own, whose tests run one after the other: the processor time of the process is measured.
#![allow(
    clippy::disallowed_methods,
    clippy::format_collect,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test writes files, may panic, and prints a table"
)]

mod commands;
mod files;
#[path = "../questions.rs"]
#[allow(dead_code, reason = "one of its functions is for tests/limits")]
mod questions;
mod yaml;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Each test runs alone.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
