//! Analysis: questions beyond a pillar.
//!
//! Explanations, lint, differences, listings and the class graph. They read what the engine computed
//! and never change it.

pub mod diff;
pub mod explain;
pub mod graph;
pub mod lint;
pub mod list;
pub mod survey;
