//! The values of one node, and the answers of an inventory that is kept, while files, threads, grains and settings
//! change.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test writes files, may panic, and says how much it did"
)]

mod class_patterns;
mod evaluate;
mod grains;
mod incremental;
mod kept;
mod minions;
mod never_stale;
mod on_demand;
mod schedules;
mod threads;
mod together;
