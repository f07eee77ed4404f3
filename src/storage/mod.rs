//! Storage turns the places that settings name into text, and tells when text changed.
//!
//! The only user of the file system and of git. Everything else sees names, bytes and [`Stamp`]s.

pub mod fs;
pub mod git;
pub mod inside;
pub mod list;
pub mod place;
pub mod walk;
pub mod watch;
pub mod write;

pub use fs::Stamp;
pub use list::{Folder, Found, Listing};
