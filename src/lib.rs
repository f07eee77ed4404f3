//! reclass: a tree of YAML files becomes one value per node.
//!
//! The stages, in order; dependencies point up this list only:
//! [`source`], [`value`], [`error`], [`settings`] are the vocabulary; [`yaml`]
//! reads and writes documents. `docs/design.md` tells the whole.

pub mod catalog;
pub mod diff;
pub mod edit;
pub mod engine;
pub mod error;
pub mod evaluate;
pub mod explain;
pub mod graph;
pub mod json;
pub mod keys;
pub mod layer;
pub mod linearize;
pub mod lint;
pub mod list;
pub mod mappings;
pub mod measure;
pub mod memory;
pub mod merge;
pub mod narrow;
pub mod parallel;
pub mod pattern;
pub mod points;
pub mod pystr;
#[cfg(feature = "python")]
pub mod python;
pub mod query;
pub mod report;
pub mod secrets;
pub mod settings;
pub mod similar;
pub mod slot;
pub mod source;
pub mod storage;
pub mod style;
pub mod survey;
pub mod table;
pub mod template;
pub mod value;
pub mod wire;
pub mod yaml;
