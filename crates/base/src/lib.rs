//! Turns options into settings, and faults into errors with places; values, keys and Python's texts are here too, since
//! all other crates share them.
//!
//! Invariants: it knows nothing of YAML, files or nodes. An error is data, and its text is made where it is shown. A
//! setting has its type, its default and its documentation in one row of `settings`.
//!
//! Read first: `value`, `error`, `settings`.

// The playground has no system: there, this name is that of a call that fails.
#[cfg(not(unix))]
extern crate closed as stacker;

pub mod base64;
pub mod error;
pub mod failpoints;
pub mod json;
pub mod keys;
pub mod lock;
pub mod number;
pub mod panics;
pub mod parallel;
pub mod path;
pub mod pattern;
pub mod pieces;
pub mod progress;
pub mod pystr;
pub mod secrets;
pub mod settings;
pub mod similar;
pub mod size;
pub mod source;
pub mod stack;
pub mod table;
pub mod unordered;
pub mod value;
pub mod words;
