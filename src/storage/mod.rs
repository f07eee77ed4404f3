//! Storage turns the places that settings name into text, and tells when text changed.
//!
//! The only user of the file system and of git. Everything else sees names, bytes and [`DiskFingerprint`]s.

mod access_error;
mod beneath;
pub mod fs;
pub mod git;
pub mod list;
pub mod location;
pub mod path_context;
mod permissions;
pub mod tree_path;
pub mod walk;
pub mod watch;
pub mod write;

pub use fs::DiskFingerprint;
pub use list::{Folder, FoundFile, Listing};

use crate::base::settings::Settings;

/// How much of a tree of files is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeLimits {
    /// How many files and folders it may have, those behind links counted each time.
    pub files: usize,
    /// How many folders may be around the innermost one: links can nest folders without end though
    /// none of them is its own parent.
    pub depth: usize,
    /// How many bytes a file may have.
    pub bytes: usize,
}

impl TreeLimits {
    /// The limits that settings name.
    pub fn of(settings: &Settings) -> TreeLimits {
        TreeLimits {
            files: settings.limit_files as usize,
            depth: settings.limit_folder_depth as usize,
            bytes: settings.max_file_bytes(),
        }
    }
}
