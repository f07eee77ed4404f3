//! The lowest crate, with values from YAML.

#![allow(clippy::unwrap_used, reason = "a test")]

mod json;
mod pystr;
mod secrets;
mod serialize;
