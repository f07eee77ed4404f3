//! The model of one file: layers and slots, and how two layers merge.
//!
//! References and inventory queries are only syntax here; `evaluate` resolves them.

pub mod catalog;
pub mod configuration;
pub mod grains;
pub mod interner;
pub mod layer;
pub mod mappings;
pub mod merge;
pub mod merge_options;
pub mod query;
pub mod slot;
pub mod template;
pub mod visit;
