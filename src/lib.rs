//! reclass: a tree of YAML files becomes one value per node.
//!
//! The stages, in order; dependencies point up this list only:
//! [`source`], [`value`], [`error`], [`settings`] are the vocabulary; [`yaml`]
//! reads and writes documents. `docs/design.md` tells the whole.

pub mod catalog;
pub mod engine;
pub mod error;
pub mod evaluate;
pub mod json;
pub mod layer;
pub mod linearize;
pub mod mappings;
pub mod merge;
pub mod pystr;
#[cfg(feature = "python")]
pub mod python;
pub mod query;
pub mod report;
pub mod settings;
pub mod similar;
pub mod slot;
pub mod source;
pub mod storage;
pub mod template;
pub mod value;
pub mod wire;
pub mod yaml;
