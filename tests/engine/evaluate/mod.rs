//! The values of one node.

mod cases;
mod cycles;
mod merge_options;
