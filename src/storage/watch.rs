//! A watch tells which files and folders of an inventory changed. It belongs to one process. Only Linux has one;
//! without it the caller checks every file again.

use std::path::PathBuf;

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod none;

#[cfg(target_os = "linux")]
pub use inotify::Watch;
#[cfg(not(target_os = "linux"))]
pub use none::Watch;

/// The changes since the last call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a watch tells them apart"))]
pub enum WatchEvents {
    /// No changes.
    Quiet,
    /// These YAML files were written, replaced, created or removed. With `tree`, permissions of a folder
    /// changed or a symbolic link appeared.
    Changed {
        /// The files.
        files: Vec<PathBuf>,
        /// Whether folders may have changed.
        tree: bool,
    },
    /// The watch missed changes, or a folder appeared or disappeared. It must not be used again.
    Lost,
}
