//! Where files come from: git, etcd, and folders that are watched; and what happens when an operation on files fails.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test writes files, may panic, and says how much it did"
)]

mod etcd;
mod faults;
mod git;
mod watch;
