//! Output: everything that leaves the process passes here.
//!
//! Values that Salt can carry, diagnostics with excerpts, and the redaction of secrets.

pub mod redact;
pub mod report;
pub mod style;
pub mod wire;
