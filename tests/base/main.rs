//! The lowest crate, with values from YAML.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test reads files and may panic")]

mod json;
mod pystr;
mod secrets;
mod serialize;
mod settings_page;
mod settings_values;
