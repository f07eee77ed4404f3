//! Model: the content of one file as layers and slots, and how two layers merge.
//!
//! References and inventory queries are syntax here; `evaluate` gives them values.

pub mod catalog;
pub mod configuration;
pub mod layer;
pub mod mappings;
pub mod merge;
pub mod query;
pub mod slot;
pub mod template;
pub mod visit;
