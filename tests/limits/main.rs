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

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Whoever keeps a processor busy shares this; whoever compares times has it alone.
static BUSY: RwLock<()> = RwLock::new(());

fn busy() -> RwLockReadGuard<'static, ()> {
    BUSY.read().unwrap_or_else(PoisonError::into_inner)
}

fn while_nobody_is_busy() -> RwLockWriteGuard<'static, ()> {
    BUSY.write().unwrap_or_else(PoisonError::into_inner)
}
