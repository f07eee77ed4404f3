//! Base: values, errors, settings, source positions, names and paths.
//!
//! The vocabulary of every other room. Base knows nothing of YAML, files or nodes.

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
pub mod old_rules;
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
