//! Opens folders and files of a tree so that no link leads out of it, even if somebody moves folders or
//! creates links meanwhile.
//!
//! `tree_path` resolves names first. The real path is opened here without following any link, and from then
//! on the open folder is used instead of its path.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use crate::storage::os;

/// The flags for opening folders.
const OPEN_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens a folder by its real path at or below `root`, which is a real path too.
pub(super) fn folder(root: &Path, path: &Path) -> io::Result<File> {
    let relative = path.strip_prefix(root).map_err(|_| io::Error::from(Errno::XDEV))?;
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let root_folder = openat(CWD, root, OPEN_FLAGS | os::PATH, Mode::empty())?;
    let folder = match os::open_beneath(&root_folder, relative, OPEN_FLAGS | OFlags::RDONLY) {
        // Another system, a kernel before 5.6, or a sandbox that blocks the call.
        Err(Errno::NOSYS | Errno::PERM) => {
            openat(CWD, path, OPEN_FLAGS | OFlags::RDONLY | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
    };
    Ok(File::from(folder?))
}

/// Opens a folder in an open folder by name. The name must not be a link.
pub(super) fn folder_in(parent: &File, name: &OsStr) -> io::Result<File> {
    Ok(File::from(openat(parent, name, OPEN_FLAGS | OFlags::RDONLY | OFlags::NOFOLLOW, Mode::empty())?))
}

/// Opens a file in an open folder by name. The name must not be a link. Only the owner can access a new
/// file.
pub(super) fn file(folder: &File, name: &OsStr, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?))
}
