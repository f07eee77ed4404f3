//! Storage is the only access to files and git: it reads, lists, watches and writes.
//!
//! Everything else sees names, bytes and [`DiskFingerprint`]s.

pub(crate) mod access_error;
pub(crate) mod address;
mod beneath;
pub(crate) mod etcd;
pub(crate) mod folders;
pub(crate) mod fs;
pub(crate) mod git;
mod list;
pub(crate) mod location;
pub(crate) mod os;
#[cfg(unix)]
pub(crate) mod outside;
pub(crate) mod overlay;
pub(crate) mod path_context;
mod permissions;
mod private;
mod program;
pub(crate) mod record;
pub(crate) mod tree_path;
pub(crate) mod watch;
pub(crate) mod write;

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
