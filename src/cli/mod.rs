//! The command-line programs turn arguments and a configuration file into printed answers.
//!
//! [`flags`] are the options that all programs share, [`configuration`] finds the file with
//! their defaults, [`terminal`] is the one place that prints. Each program is a module of its
//! own with a `main`: it declares its modes, and hands what it computed to the terminal. The [`verbs`] of `reclass`
//! are modules of their own beside them.

pub mod configuration;
pub mod diff;
pub mod explain;
pub mod flags;
pub mod graph;
pub mod lint;
pub mod list;
pub mod reclass;
pub mod session;
pub mod terminal;
pub mod verbs;
