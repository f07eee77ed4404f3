//! Events, values and errors beside `PyYAML`.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test reads its environment and says what it skips"
)]

mod pyyaml;
mod straight;
