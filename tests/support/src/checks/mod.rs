//! Checks turn any bytes into a run of one part of the engine, and panic where an answer contradicts
//! another one, or an error cannot be shown.
//!
//! libFuzzer calls them from `fuzz/targets/`, and `tests/limits/fuzz.rs` with the seeds and with changes of them,
//! so neither needs the other's compiler.

pub mod data;
pub mod edit;
pub mod git_url;
pub mod grammar;
pub mod inventory;
pub mod settings;
pub mod shown;
pub mod yaml;
