//! Turns an inventory into answers beyond a pillar: explanations, findings, differences, results of tests, listings
//! and documentation.
//!
//! Invariants: an analysis reads what the engine has and changes nothing. Nothing is computed by a second implementation
//! of merging or evaluation. A result is data with `serde::Serialize`, and its secrets are hidden when it is made.
//!
//! Read first: `survey` (all nodes and files, once), `explain`, `lint`.

pub mod comments;
pub mod compare;
pub mod diff;
pub mod docs;
pub mod errors;
pub mod explain;
pub mod file_schemas;
pub mod impact;
pub mod inclusions;
pub mod infer;
pub mod lint;
pub mod list;
pub mod pillars;
pub mod schema;
pub mod survey;
pub mod test;
#[cfg(feature = "validation")]
pub mod violations;
