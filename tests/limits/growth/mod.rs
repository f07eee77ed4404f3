//! Time grows with the size of a file, of a text and of an inventory, not with its square.
//!
//! The processor time of a process is measured, so what compares times runs in a process of its own.

mod commands;
mod files;
mod yaml;
