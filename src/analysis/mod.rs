//! Analysis: questions beyond a pillar.
//!
//! Explanations, lint, tests, differences, listings, the class graph and documentation. They read the results of the
//! engine and never change them.

pub mod comments;
pub mod compare;
pub mod diff;
pub mod docs;
pub mod editor;
pub mod effect;
pub mod explain;
pub mod file_schemas;
pub mod graph;
pub mod impact;
pub mod infer;
pub mod lint;
pub mod list;
pub mod pillars;
pub mod schema;
pub mod survey;
pub mod test;
#[cfg(feature = "validation")]
pub mod violations;
