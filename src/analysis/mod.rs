//! Analysis: questions beyond a pillar.
//!
//! Explanations, lint, tests, differences, listings and the class graph. They read the results of the
//! engine and never change them.

pub mod compare;
pub mod diff;
pub mod editor;
pub mod explain;
pub mod graph;
pub mod lint;
pub mod list;
pub mod survey;
pub mod test;
