//! Resolves a requested path to a file of a tree. It refuses every path that leads out of the tree: by
//! `..`, by an absolute path, or by a symbolic link.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, Mode, RawMode, mkdirat};
use rustix::io::Errno;

use super::access_error::reason_at;
use super::beneath;
use super::fs::{display, folder_unreadable};
use crate::storage::os::unix::fs::{MetadataExt, fchown};
use reclass_base::error::{Fault, Kind, Result};

/// The real path of a tree's root folder.
pub fn root(root: &Path) -> Result<PathBuf> {
    fs::canonicalize(root).map_err(|error| folder_unreadable(root, &error).into())
}

/// How to treat missing folders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingFolders {
    /// Missing folders are an error.
    Refuse,
    /// Missing folders are created.
    Make,
    /// Missing folders are accepted but not created.
    DryRun,
}

/// The real path of a YAML file below `root`, which is a real path too. The file need not exist yet.
///
/// A link inside the tree is followed, so that edits change its target.
pub fn file(root: &Path, relative: &Path, missing: MissingFolders) -> Result<PathBuf> {
    let refuse = |reason: &'static str| Fault::new(Kind::PathRefused { path: display(relative), reason });
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || relative.as_os_str().is_empty() || relative.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(refuse("it must be relative and without '..'").into());
    }
    if !is_yaml(relative) {
        return Err(refuse("it must end with '.yml' or '.yaml'").into());
    }
    let path = root.join(relative);
    let outside = || refuse("a symbolic link leads out of the inventory");
    let folder = path.parent().unwrap_or(root);
    match missing {
        MissingFolders::Refuse => {}
        MissingFolders::Make => make(root, folder, &outside)?,
        MissingFolders::DryRun => {
            let there = folder.ancestors().find(|folder| folder.symlink_metadata().is_ok()).unwrap_or(root);
            if !fs::canonicalize(there).is_ok_and(|real| real.starts_with(root)) {
                return Err(outside().into());
            }
            if there != folder {
                return Ok(path);
            }
        }
    }
    let folder = fs::canonicalize(folder).map_err(|error| folder_unreadable(folder, &error))?;
    if !folder.starts_with(root) {
        return Err(outside().into());
    }
    let path = folder.join(path.file_name().unwrap_or_default());
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path),
        Err(error) => Err(unreadable(&path, &error).into()),
        Ok(metadata) => {
            let real = fs::canonicalize(&path).map_err(|error| unreadable(&path, &error))?;
            if !real.starts_with(root) {
                return Err(outside().into());
            }
            if !is_yaml(&real) {
                return Err(refuse("the file that it leads to must end with '.yml' or '.yaml'").into());
            }
            if !metadata.is_symlink() && !metadata.is_file() {
                return Err(refuse("it is not a regular file").into());
            }
            Ok(real)
        }
    }
}

fn is_yaml(path: &Path) -> bool {
    matches!(path.extension().and_then(|end| end.to_str()), Some("yml" | "yaml"))
}

/// The real path of a listed file, with the first of the folders that contains it. The folders are real
/// paths. Listings follow links anywhere, so the file may be outside.
pub fn found<'f>(path: &Path, folders: &'f [PathBuf]) -> Result<(&'f Path, PathBuf)> {
    let real = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
    if let Some(folder) = folders.iter().find(|folder| real.starts_with(folder)) {
        return Ok((folder, real));
    }
    let reason = "a symbolic link leads out of the inventory";
    Err(Fault::new(Kind::PathRefused { path: display(path), reason }).into())
}

/// Creates missing folders, each with the owner and permissions of its parent.
///
/// The parent is open meanwhile, so a link that replaces a folder has no effect.
fn make(root: &Path, folder: &Path, outside: &dyn Fn() -> Fault) -> Result<()> {
    if folder.symlink_metadata().is_ok() || !folder.starts_with(root) {
        return Ok(());
    }
    let parent = folder.parent().unwrap_or(root);
    make(root, parent, outside)?;
    let real = fs::canonicalize(parent).map_err(|error| folder_unreadable(parent, &error))?;
    if !real.starts_with(root) {
        return Err(outside().into());
    }
    let unwritable = |error: io::Error| {
        let message = reason_at(parent, Access::WRITE_OK, &error);
        Fault::new(Kind::FileUnwritable { path: display(folder), message })
    };
    let open_parent = beneath::folder(root, &real).map_err(unwritable)?;
    let metadata = open_parent.metadata().map_err(unwritable)?;
    let name = folder.file_name().unwrap_or_default();
    match mkdirat(&open_parent, name, Mode::from_raw_mode((metadata.mode() & 0o7777) as RawMode)) {
        Ok(()) => {
            // Only a privileged process may change the owner; for others their own is right.
            if let Ok(made) = beneath::folder_in(&open_parent, name) {
                let _ = fchown(made, Some(metadata.uid()), Some(metadata.gid()));
            }
            Ok(())
        }
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(unwritable(error.into()).into()),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    let message = reason_at(path, Access::READ_OK, error);
    Fault::new(Kind::FileUnreadable { path: display(path), message })
}
