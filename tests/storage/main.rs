//! Where files come from: git, etcd, and folders that are watched.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test writes files, may panic, and says how much it did"
)]

mod etcd;
mod git;
mod watch;
