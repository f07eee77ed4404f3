//! Replaces files atomically: everybody sees either the old file or the new one, whatever happens
//! meanwhile.
//!
//! Writers exclude each other by one lock for each tree. A new file is created next to the old one, flushed,
//! and renamed over it. Readers need no lock. Leftovers of an interrupted write are hidden, like the lock,
//! and the next write of the same file removes them.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, FlockOperation, Mode, OFlags, flock, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::access_error::reason_at;
use super::fs::{DiskFingerprint, SettledBefore, display, reason};
use super::{beneath, permissions};
use crate::storage::git::exclude_file;
use crate::storage::os::unix::fs::{MetadataExt, OpenOptionsExt as _};
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::failpoints::failpoint;

/// The lock file in the root folder of a tree. It is hidden, so it is no node and no class.
const LOCK: &str = ".reclass.lock";
/// How long to wait for another writer.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// The right to write in a tree. It ends with the value or with the process.
#[derive(Debug)]
pub struct TreeLock {
    root: PathBuf,
    /// They unlock when they are dropped.
    _files: Vec<LockFile>,
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
    /// Waits for the lock of the tree below `root`, a real path, half a minute at the most.
    ///
    /// Trees of two configurations may contain one another, so that one file is below two locks. Locks of
    /// folders above are taken first, and those below when a file there is replaced: always from the
    /// outside to the inside, so that no two writers wait for each other.
    pub fn take(root: &Path) -> Result<TreeLock> {
        let mut above: Vec<&Path> = root.ancestors().skip(1).collect();
        above.reverse();
        let mut files = Vec::new();
        for folder in above {
            files.extend(LockFile::lock(folder, false)?);
        }
        files.extend(LockFile::lock(root, true)?);
        Ok(TreeLock { root: root.to_owned(), _files: files })
    }

    /// Waits for the locks of trees inside of this one that contain `folder`.
    fn lock_inside(&self, folder: &Path) -> Result<Vec<LockFile>> {
        let mut inside: Vec<&Path> = folder.ancestors().take_while(|at| *at != self.root).collect();
        inside.reverse();
        let locks: Result<Vec<_>> = inside.into_iter().map(|folder| LockFile::lock(folder, false)).collect();
        Ok(locks?.into_iter().flatten().collect())
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
        let _locks = self.lock_inside(folder)?;
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
        let _locks = self.lock_inside(&real)?;
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

/// A file that holds a lock of a tree.
#[derive(Debug)]
struct LockFile(File);

impl Drop for LockFile {
    /// Unlocks explicitly: a child that was forked meanwhile has the same file open, so closing ours is
    /// not enough. The end of the process unlocks too.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl LockFile {
    /// Waits for the lock file of a folder, half a minute at the most. With `create`, a missing one is
    /// created; otherwise it locks nothing.
    fn lock(folder: &Path, create: bool) -> Result<Option<LockFile>> {
        let path = folder.join(LOCK);
        let unwritable = |error: io::Error| {
            let lacks = if path.exists() { &path } else { folder };
            let message = reason_at(lacks, Access::WRITE_OK, &error);
            Error::from(Fault::new(Kind::FileUnwritable { path: display(&path), message }))
        };
        let started = Instant::now();
        loop {
            let opened =
                if create { open_lock(folder, &path).map(Some) } else { open_foreign_lock(folder, &path) };
            let Some(file) = opened.map_err(unwritable)? else { return Ok(None) };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    // Another process may have removed the file while we waited for it.
                    let ours = file.metadata().map_err(unwritable)?;
                    let there = fs::metadata(&path);
                    if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
                        return Ok(Some(LockFile(file)));
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
}

/// The fault for a file that cannot be replaced.
fn unwritable(path: &Path, folder: &Path, error: &io::Error) -> Fault {
    let message = reason_at(folder, Access::WRITE_OK, error);
    Fault::new(Kind::FileUnwritable { path: display(path), message })
}

/// Opens the lock file of a tree, and creates a missing one. Locks over NFS need a file that is open for
/// writing.
fn open_lock(folder: &Path, path: &Path) -> io::Result<File> {
    match open_with(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL) {
        Err(Errno::EXIST) => Ok(open_with(path, OFlags::RDWR)?),
        created => {
            let file = created?;
            permissions::set_lock_permissions(&fs::metadata(folder)?, &file)?;
            exclude_from_git(folder);
            Ok(file)
        }
    }
}

/// Keeps a new lock file out of `git status`: adds its name to the file `info/exclude` of the repository. The lock
/// works without it, so a failure is none.
fn exclude_from_git(folder: &Path) {
    let Some(path) = exclude_file(folder) else { return };
    let before = fs::read(&path).unwrap_or_default();
    if before.split(|byte| *byte == b'\n').any(|line| line == LOCK.as_bytes()) {
        return;
    }
    let line_break = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let file = fs::OpenOptions::new().create(true).append(true).custom_flags(flags).open(path);
    let _ = file.and_then(|mut file| file.write_all(format!("{line_break}{LOCK}\n").as_bytes()));
}

/// Opens the lock file of another tree above or below, if there is one that this user may lock. In a folder
/// that is open to all, such as `/tmp`, only a file of the folder's owner counts.
fn open_foreign_lock(folder: &Path, path: &Path) -> io::Result<Option<File>> {
    let Ok(file) = open_with(path, OFlags::RDWR | OFlags::NONBLOCK) else { return Ok(None) };
    let (lock, folder) = (file.metadata()?, fs::metadata(folder)?);
    let counts = folder.mode() & 0o002 == 0 || lock.uid() == folder.uid();
    Ok((lock.is_file() && counts).then_some(file))
}

fn open_with(path: &Path, flags: OFlags) -> rustix::io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).map(File::from)
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
