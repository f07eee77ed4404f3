//! The model of one file: layers and slots, and how two layers merge.
//!
//! References and inventory queries are only syntax here; `evaluate` resolves them.

pub(crate) mod catalog;
pub mod configuration;
pub(crate) mod grains;
pub(crate) mod interner;
pub(crate) mod layer;
pub(crate) mod mappings;
pub(crate) mod merge;
pub(crate) mod merge_options;
pub(crate) mod query;
pub(crate) mod slot;
pub(crate) mod template;
pub(crate) mod visit;
