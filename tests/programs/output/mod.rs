//! What reaches people: messages with their places, and no secret in any of them.

mod doors;
mod errors;
mod report;
mod secrets;
