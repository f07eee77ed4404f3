//! What reaches people: messages with their places, and no secret in any of them.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test writes files, may panic, and says how much it did"
)]

mod doors;
mod errors;
mod report;
mod secrets;
