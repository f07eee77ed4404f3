//! Output: all data passes here on its way out of the process.
//!
//! It contains values that Salt can carry, values on a line of text, diagnostics with excerpts, and the redaction of secrets.

pub mod brief;
pub mod redact;
pub mod report;
pub mod style;
#[cfg(feature = "serde")]
pub(crate) mod typed;
pub(crate) mod wire;
pub(crate) mod written;
