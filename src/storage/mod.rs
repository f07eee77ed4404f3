//! Storage is the only access to files and git: it reads, lists, watches and writes.
//!
//! Everything else sees names, bytes and [`DiskFingerprint`]s.

pub mod access_error;
mod beneath;
pub mod etcd;
pub mod folders;
pub mod fs;
pub mod git;
pub mod list;
pub mod location;
pub(crate) mod os;
#[cfg(unix)]
pub mod outside;
pub mod overlay;
pub mod path_context;
mod permissions;
mod private;
pub(crate) mod program;
pub mod record;
pub mod tree_path;
pub mod watch;
pub mod write;

pub use fs::DiskFingerprint;
pub use list::{Folder, FoundFile, Listing};

use reclass_base::settings::Settings;

/// Limits for a tree of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreeLimits {
    /// The most files and folders. Those behind several links count each time.
    pub files: usize,
    /// The deepest nesting of folders. Links can nest folders endlessly without a cycle.
    pub depth: usize,
    /// The largest file, in bytes.
    pub bytes: usize,
}

impl TreeLimits {
    /// The limits in the settings.
    pub fn of(settings: &Settings) -> TreeLimits {
        TreeLimits {
            files: settings.limit_files as usize,
            depth: settings.limit_folder_depth as usize,
            bytes: settings.max_file_bytes(),
        }
    }
}
