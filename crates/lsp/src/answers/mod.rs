//! The answers, one file for each kind.

pub mod actions;
pub mod completion;
pub mod definition;
pub mod diagnostics;
pub mod hover;
pub mod lens;
pub mod references;
pub mod symbols;
