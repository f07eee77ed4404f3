//! Writing turns new bytes into a file so that everybody else sees the old file or the new one,
//! never anything between, whatever happens on the way.
//!
//! One lock for each tree makes writers wait for one another, and where trees are in one another,
//! the lock of the folder itself while a file in it is replaced. A new file is made temporary the old
//! one, flushed, and renamed over it. Readers need no lock. What a writer left behind that was
//! ended in the middle is hidden, as is the lock, and goes with the next write of that file.
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

/// The file that is locked, in the outermost folder of a tree. Hidden, so it is no node and no class.
const LOCK: &str = ".reclass.lock";
/// How long to wait for another writer.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_RETRY: Duration = Duration::from_millis(5);
/// How long a lock file may be without the rights that it gets.
const LOCK_FILE_GRACE: Duration = Duration::from_millis(50);

/// The right to write in a tree. Ends with the value, or with the process.
#[derive(Debug)]
pub struct TreeLock {
    root: PathBuf,
    file: File,
}

impl Drop for TreeLock {
    /// Gives the lock back by name: a child that was forked meanwhile holds the same file open, and
    /// closing ours would not be enough. Without it, the end of the process does the same.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Where a write is, for tests that end the process there.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteStep {
    /// Before there is a new file.
    Begin,
    /// The new file is there, and empty.
    Created,
    /// Half of the bytes are written.
    Half,
    /// All of them are.
    Written,
    /// Owner, group and mode are set, the bytes are on disk.
    Flushed,
    /// The new file has the name of the old one.
    Renamed,
    /// The name is on disk.
    Done,
}

impl TreeLock {
    /// Waits for the lock of the tree below `root`, half a minute at the most.
    ///
    /// The lock is that of the real folder: whatever path leads there, writers meet.
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
                // Somebody has made the file and has still to give it its rights.
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
                    // Somebody may have taken the file away while we waited for it.
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

    /// Puts `bytes` in the place of a file, which keeps its owner, group, mode and attributes; a
    /// new file gets those of its folder.
    ///
    /// `before` is the fingerprint of what the new bytes were made from, `None` for no file. Where that
    /// is not what stands there any more, nothing is written and the answer is false.
    ///
    /// After an error the file is what it was, but for [`Kind::FolderUnflushed`]: then the new bytes
    /// stand there, and may be lost with the system.
    pub fn replace(&self, path: &Path, bytes: &[u8], before: Option<&DiskFingerprint>) -> Result<bool> {
        self.replace_by_steps(path, bytes, before, &mut |_| {})
    }

    /// The same, telling each step.
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
            // What cannot be taken away now goes with the next write.
            let _ = unlinkat(&folder_file, &temporary, AtFlags::empty());
            return Ok(written?);
        }
        on_step(WriteStep::Renamed);
        flush(&folder_file, path)?;
        on_step(WriteStep::Done);
        Ok(true)
    }

    /// Takes a file away, if it is still there. Errors are those of [`Lock::replace`].
    pub fn remove(&self, path: &Path) -> Result<()> {
        let (folder, name) = self.parts(path)?;
        let unwritable = |error: io::Error| unwritable(path, folder, &error);
        // The path may lead through links that stay in the tree.
        let real = fs::canonicalize(folder).map_err(unwritable)?;
        let folder_file = beneath::folder(&self.root, &real).map_err(unwritable)?;
        let _lock = FolderLock::in_folder(&folder_file, folder)?;
        match unlinkat(&folder_file, name, AtFlags::empty()) {
            Err(error) if error != Errno::NOENT => Err(unwritable(error.into()).into()),
            _ => flush(&folder_file, path),
        }
    }

    /// The folder of a file that this lock is for, and its name there.
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

/// The right to replace files in one folder. Trees of two configurations may be in one another, so that
/// one file is below two locks.
struct FolderLock<'f>(&'f File);

impl Drop for FolderLock<'_> {
    /// By name, as [`TreeLock`] is.
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

impl FolderLock<'_> {
    /// Waits until nobody else replaces a file there. Where folders cannot be locked, as over NFS, there
    /// is nothing to wait for.
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

/// A file that cannot be replaced in its folder.
fn unwritable(path: &Path, folder: &Path, error: &io::Error) -> Fault {
    let message = reason_at(folder, Access::WRITE_OK, error);
    Fault::new(Kind::FileUnwritable { path: display(path), message })
}

/// For writing, which a lock over NFS needs; for reading where the file is another user's, as earlier
/// versions made it.
///
/// Who may write in the tree can lock it, and nobody else: the file has the owner and the group of the
/// folder, and for each of them the right that they have to the folder.
fn open_lock(root: &Path, path: &Path) -> io::Result<File> {
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let open = |flags: OFlags| rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
    let file = match open(flags | OFlags::RDWR | OFlags::CREATE) {
        // Without a file, the right to make one is missing.
        Err(Errno::ACCESS) => open(flags | OFlags::RDONLY).map_err(|_| Errno::ACCESS),
        opened => opened,
    };
    let file = File::from(file?);
    permissions::set_lock_permissions(&File::open(root)?, &file)?;
    Ok(file)
}

/// Writes a new file temporary another, with its owner, mode and attributes.
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
    // Nobody else reads it before it has the rights of the old one.
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

/// Puts on disk what has changed in a folder, the name of the file at `path`. Where a file system has
/// no such thing, it does without.
fn flush(folder: &File, path: &Path) -> Result<()> {
    match folder.sync_all() {
        Err(error) if !matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::NOTSUP)) => {
            Err(unflushed(path, &error).into())
        }
        _ => Ok(()),
    }
}

/// The error of a change that is made, and whose folder cannot be put on disk.
#[doc(hidden)]
pub fn unflushed(path: &Path, error: &io::Error) -> Fault {
    Fault::new(Kind::FolderUnflushed { path: display(path), message: reason(error) })
}

/// Whether a file is what it was when it was read.
fn is_unchanged(folder_file: &File, name: &OsStr, before: Option<&DiskFingerprint>) -> io::Result<bool> {
    let young = SettledBefore::now();
    match (statat(folder_file, name, AtFlags::SYMLINK_NOFOLLOW), before) {
        (Ok(now), Some(before)) => Ok(DiskFingerprint::of(&now, young).is_same_file_state(before)),
        (Err(Errno::NOENT), before) => Ok(before.is_none()),
        (Ok(_), None) => Ok(false),
        (Err(error), _) => Err(error.into()),
    }
}
