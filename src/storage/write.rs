//! Replaces files atomically: everybody sees either the old file or the new one, whatever happens
//! meanwhile.
//!
//! Writers exclude each other by one lock for each tree. For nested trees, the file's folder is locked too.
//! A new file is created next to the old one, flushed, and renamed over it. Readers need no lock. Leftovers
//! of an interrupted write are hidden, like the lock, and the next write of the same file removes them.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, FlockOperation, Mode, OFlags, flock, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::access_error::reason_at;
use super::fs::{DiskFingerprint, SettledBefore, display, reason};
use super::{beneath, permissions};
use crate::base::error::{Error, Fault, Kind, Result};
use crate::base::failpoints::failpoint;

/// The lock file in the root folder of a tree. It is hidden, so it is no node and no class.
const LOCK: &str = ".reclass.lock";
/// How long to wait for another writer.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_RETRY: Duration = Duration::from_millis(5);
/// How long a new lock file may lack its final permissions.
const LOCK_FILE_GRACE: Duration = Duration::from_millis(50);

/// The right to write in a tree. It ends with the value or with the process.
#[derive(Debug)]
pub struct TreeLock {
    root: PathBuf,
    file: File,
}

impl Drop for TreeLock {
    /// Releases the lock explicitly: a child forked meanwhile shares the open file, so closing it here
    /// would not be enough. The end of the process releases it too.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// The steps of a write, for tests that end the process there.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteStep {
    /// There is no new file yet.
    Begin,
    /// The new file exists and is empty.
    Created,
    /// Half of the bytes are written.
    Half,
    /// All bytes are written.
    Written,
    /// Owner, group and mode are set, and the bytes are on disk.
    Flushed,
    /// The new file has the final name.
    Renamed,
    /// The name is on disk.
    Done,
}

impl TreeLock {
    /// Waits up to half a minute for the lock of the tree below `root`.
    ///
    /// The lock is in the real folder, so writers meet whatever path they use.
    pub fn take(root: &Path) -> Result<TreeLock> {
        let path = root.join(LOCK);
        let unwritable = |error: io::Error| {
            let lacks = if path.exists() { &path } else { root };
            let message = reason_at(lacks, Access::WRITE_OK, &error);
            Error::from(Fault::new(Kind::FileUnwritable { path: display(&path), message }))
        };
        let started = Instant::now();
        loop {
            let file = match open_lock(root, &path) {
                // Another writer has created the file but not yet set its permissions.
                Err(error)
                    if error.kind() == io::ErrorKind::PermissionDenied
                        && started.elapsed() < LOCK_FILE_GRACE =>
                {
                    std::thread::sleep(LOCK_RETRY);
                    continue;
                }
                opened => opened.map_err(unwritable)?,
            };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    // The lock file may have been removed while we waited.
                    let ours = file.metadata().map_err(unwritable)?;
                    let there = fs::metadata(&path);
                    if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
                        return Ok(TreeLock { root: root.to_owned(), file });
                    }
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(unwritable(error.into())),
            }
            if started.elapsed() > LOCK_TIMEOUT {
                let kind = Kind::LockTimeout { path: display(&path), seconds: LOCK_TIMEOUT.as_secs() };
                return Err(Fault::new(kind).into());
            }
            std::thread::sleep(LOCK_RETRY);
        }
    }

    /// Replaces the content of a file. The file keeps owner, group, mode and attributes; a new file gets
    /// those of its folder.
    ///
    /// `before` is the fingerprint that the new bytes are based on; `None` for a new file. If the file has
    /// changed, nothing is written and the result is false.
    ///
    /// After an error the file is unchanged, except for [`Kind::FolderUnflushed`]: then the new bytes are
    /// in place, but a crash of the system may lose them.
    pub fn replace(&self, path: &Path, bytes: &[u8], before: Option<&DiskFingerprint>) -> Result<bool> {
        self.replace_by_steps(path, bytes, before, &mut |_| {})
    }

    /// Like [`TreeLock::replace`], and reports each step.
    #[doc(hidden)]
    pub fn replace_by_steps(
        &self,
        path: &Path,
        bytes: &[u8],
        before: Option<&DiskFingerprint>,
        on_step: &mut dyn FnMut(WriteStep),
    ) -> Result<bool> {
        let (folder, name) = self.parts(path)?;
        let temporary = [OsStr::new("."), name, OsStr::new(".reclass-new")].join(OsStr::new(""));
        let unwritable = |error: io::Error| unwritable(path, folder, &error);
        on_step(WriteStep::Begin);
        let folder_file = beneath::folder(&self.root, folder).map_err(unwritable)?;
        let _lock = FolderLock::in_folder(&folder_file, folder)?;
        let written = write(&folder_file, &temporary, name, bytes, on_step)
            .and_then(|()| {
                let unchanged = is_unchanged(&folder_file, name, before)?;
                if unchanged {
                    renameat(&folder_file, &temporary, &folder_file, name)?;
                }
                Ok(unchanged)
            })
            .map_err(unwritable);
        if !matches!(written, Ok(true)) {
            // If this fails, the next write removes the file.
            let _ = unlinkat(&folder_file, &temporary, AtFlags::empty());
            return Ok(written?);
        }
        on_step(WriteStep::Renamed);
        flush(&folder_file, path)?;
        on_step(WriteStep::Done);
        Ok(true)
    }

    /// Removes a file, if it exists. The errors are those of [`TreeLock::replace`].
    pub fn remove(&self, path: &Path) -> Result<()> {
        let (folder, name) = self.parts(path)?;
        let unwritable = |error: io::Error| unwritable(path, folder, &error);
        // The path may contain links that stay in the tree.
        let real = fs::canonicalize(folder).map_err(unwritable)?;
        let folder_file = beneath::folder(&self.root, &real).map_err(unwritable)?;
        let _lock = FolderLock::in_folder(&folder_file, folder)?;
        match unlinkat(&folder_file, name, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => Err(unwritable(error.into()).into()),
            _ => flush(&folder_file, path),
        }
    }

    /// The folder and name of a file, if this lock covers it.
    fn parts<'p>(&self, path: &'p Path) -> Result<(&'p Path, &'p OsStr)> {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if path.starts_with(&self.root) => Ok((folder, name)),
            _ => {
                let message = "a file is to be written under the lock of another tree".into();
                Err(Fault::new(Kind::Internal { message }).into())
            }
        }
    }
}

/// The right to replace files in one folder. With nested trees of two configurations, two tree locks cover
/// the same file.
struct FolderLock<'f>(&'f File);

impl Drop for FolderLock<'_> {
    /// Explicitly, as for [`TreeLock`].
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

impl FolderLock<'_> {
    /// Waits until nobody else replaces a file in the folder. Without support for locks on folders, as on
    /// NFS, it does not wait.
    fn in_folder<'f>(folder_file: &'f File, folder: &Path) -> Result<Option<FolderLock<'f>>> {
        let started = Instant::now();
        loop {
            match flock(folder_file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(FolderLock(folder_file))),
                Err(Errno::WOULDBLOCK | Errno::INTR) if started.elapsed() > LOCK_TIMEOUT => {
                    let kind = Kind::LockTimeout { path: display(folder), seconds: LOCK_TIMEOUT.as_secs() };
                    return Err(Fault::new(kind).into());
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(LOCK_RETRY),
                Err(_) => return Ok(None),
            }
        }
    }
}

/// The fault for a file that cannot be replaced.
fn unwritable(path: &Path, folder: &Path, error: &io::Error) -> Fault {
    let message = reason_at(folder, Access::WRITE_OK, error);
    Fault::new(Kind::FileUnwritable { path: display(path), message })
}

/// Opens the lock file for writing, which locks on NFS require, or for reading if another user owns the
/// file, as with earlier versions.
///
/// Exactly the users who may write in the tree may lock it: the file gets the owner and group of the
/// folder, with their rights to it.
fn open_lock(root: &Path, path: &Path) -> io::Result<File> {
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let open = |flags: OFlags| rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    let file = match open(flags | OFlags::RDWR | OFlags::CREATE) {
        // Without a lock file, the right to create one is missing.
        Err(Errno::ACCESS) => open(flags | OFlags::RDONLY).map_err(|_| Errno::ACCESS),
        opened => opened,
    };
    let file = File::from(file?);
    permissions::set_lock_permissions(&File::open(root)?, &file)?;
    Ok(file)
}

/// Writes the new file next to the old one, with its owner, mode and attributes.
fn write(
    folder_file: &File,
    temporary: &OsStr,
    name: &OsStr,
    bytes: &[u8],
    on_step: &mut dyn FnMut(WriteStep),
) -> io::Result<()> {
    match unlinkat(folder_file, temporary, AtFlags::empty()) {
        Err(error) if error != Errno::NOENT => return Err(error.into()),
        _ => {}
    }
    // Nobody else may read it before it has the permissions of the old file.
    let mut file = beneath::file(folder_file, temporary, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    on_step(WriteStep::Created);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    failpoint("half of a file is written");
    file.write_all(first)?;
    on_step(WriteStep::Half);
    file.write_all(second)?;
    on_step(WriteStep::Written);
    match beneath::file(folder_file, name, OFlags::RDONLY | OFlags::NONBLOCK) {
        Ok(old) => permissions::copy_permissions(&old, &file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            permissions::inherit_permissions(&folder_file.metadata()?, &file)?;
        }
        Err(error) => return Err(error),
    }
    file.sync_all()?;
    on_step(WriteStep::Flushed);
    Ok(())
}

/// Flushes a changed folder to disk, for the file at `path`. File systems without support for this are
/// fine.
fn flush(folder: &File, path: &Path) -> Result<()> {
    match folder.sync_all() {
        Err(error) if !matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::NOTSUP)) => {
            Err(unflushed(path, &error).into())
        }
        _ => Ok(()),
    }
}

/// The fault for a completed change whose folder cannot be flushed to disk.
#[doc(hidden)]
pub fn unflushed(path: &Path, error: &io::Error) -> Fault {
    Fault::new(Kind::FolderUnflushed { path: display(path), message: reason(error) })
}

/// Whether a file is unchanged since it was read.
fn is_unchanged(folder_file: &File, name: &OsStr, before: Option<&DiskFingerprint>) -> io::Result<bool> {
    let young = SettledBefore::now();
    match (statat(folder_file, name, AtFlags::SYMLINK_NOFOLLOW), before) {
        (Ok(now), Some(before)) => Ok(DiskFingerprint::of(&now, young).is_same_file_state(before)),
        (Err(Errno::NOENT), before) => Ok(before.is_none()),
        (Ok(_), None) => Ok(false),
        (Err(error), _) => Err(error.into()),
    }
}
