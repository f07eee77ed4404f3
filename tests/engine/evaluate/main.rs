//! The values of one node.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test reads its own files and may panic"
)]

mod cases;
mod cycles;
mod merge_options;
