//! Writing turns new bytes into a file so that everybody else sees the old file or the new one,
//! never anything between, whatever happens on the way.
//!
//! One lock for each tree makes writers wait for one another, and where trees are in one another,
//! the lock of the folder itself while a file in it is replaced. A new file is made beside the old
//! one, flushed, and renamed over it. Readers need no lock. What a writer left behind that was
//! ended in the middle is hidden, as is the lock, and goes with the next write of that file.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use super::fs::{Stamp, display, reason};
use super::rights;
use crate::error::{Error, Fault, Kind, Result};
use crate::points::point;

/// The file that is locked, in the outermost folder of a tree. Hidden, so it is no node and no class.
const LOCK: &str = ".reclass.lock";
/// How long to wait for another writer.
const WAIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// The right to write in a tree. Ends with the value, or with the process.
#[derive(Debug)]
pub struct Lock {
    root: PathBuf,
    file: File,
}

impl Drop for Lock {
    /// Gives the lock back by name: a child that was forked meanwhile holds the same file open, and
    /// closing ours would not be enough. Without it, the end of the process does the same.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// Where a write is, for tests that end the process there.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
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

impl Lock {
    /// Waits for the lock of the tree below `root`, half a minute at the most.
    ///
    /// The lock is that of the real folder: whatever path leads there, writers meet.
    pub fn take(root: &Path) -> Result<Lock> {
        let path = root.join(LOCK);
        let unwritable = |error: io::Error| {
            Error::from(Fault::new(Kind::FileUnwritable { path: display(&path), message: reason(&error) }))
        };
        let begun = Instant::now();
        loop {
            let file = open_lock(&path).map_err(unwritable)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    // Somebody may have taken the file away while we waited for it.
                    let ours = file.metadata().map_err(unwritable)?;
                    let there = fs::metadata(&path);
                    if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
                        return Ok(Lock { root: root.to_owned(), file });
                    }
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(unwritable(error.into())),
            }
            if begun.elapsed() > WAIT {
                let kind = Kind::LockTimeout { path: display(&path), seconds: WAIT.as_secs() };
                return Err(Fault::new(kind).into());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Puts `bytes` in the place of a file, which keeps its owner, group, mode and attributes; a
    /// new file gets those of its folder.
    ///
    /// `before` is the stamp of what the new bytes were made from, `None` for no file. Where that
    /// is not what stands there any more, nothing is written and the answer is false.
    ///
    /// After an error the file is what it was, but for [`Kind::FolderUnflushed`]: then the new bytes
    /// stand there, and may be lost with the system.
    pub fn replace(&self, path: &Path, bytes: &[u8], before: Option<&Stamp>) -> Result<bool> {
        self.replace_by_steps(path, bytes, before, &mut |_| {})
    }

    /// The same, telling each step.
    #[doc(hidden)]
    pub fn replace_by_steps(
        &self,
        path: &Path,
        bytes: &[u8],
        before: Option<&Stamp>,
        tell: &mut dyn FnMut(Step),
    ) -> Result<bool> {
        let folder = self.folder(path)?;
        let _alone = Alone::in_folder(folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = folder.join(format!(".{name}.reclass-new"));
        let unwritable = |error: io::Error| {
            Fault::new(Kind::FileUnwritable { path: display(path), message: reason(&error) })
        };
        tell(Step::Begin);
        let around = File::open(folder).map_err(unwritable)?;
        let written = write(&beside, folder, path, bytes, tell)
            .and_then(|()| {
                let unchanged = is_still(path, before)?;
                if unchanged {
                    fs::rename(&beside, path)?;
                }
                Ok(unchanged)
            })
            .map_err(unwritable);
        if !matches!(written, Ok(true)) {
            // What cannot be taken away now goes with the next write.
            let _ = fs::remove_file(&beside);
            return Ok(written?);
        }
        tell(Step::Renamed);
        flush(&around, path)?;
        tell(Step::Done);
        Ok(true)
    }

    /// Takes a file away. Errors are those of [`Lock::replace`].
    pub fn remove(&self, path: &Path) -> Result<()> {
        let folder = self.folder(path)?;
        let _alone = Alone::in_folder(folder)?;
        let around = File::open(folder).and_then(|around| fs::remove_file(path).map(|()| around));
        let unwritable = |error: io::Error| {
            Fault::new(Kind::FileUnwritable { path: display(path), message: reason(&error) })
        };
        flush(&around.map_err(unwritable)?, path)
    }

    /// The folder of a file that this lock is for.
    fn folder<'p>(&self, path: &'p Path) -> Result<&'p Path> {
        match path.parent() {
            Some(folder) if path.starts_with(&self.root) => Ok(folder),
            _ => {
                let message = "a file is to be written under the lock of another tree".into();
                Err(Fault::new(Kind::Internal { message }).into())
            }
        }
    }
}

/// The right to replace files in one folder. Trees of two configurations may be in one another, so that
/// one file is below two locks.
struct Alone(File);

impl Drop for Alone {
    /// By name, as [`Lock`] is.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Alone {
    /// Waits until nobody else replaces a file there. Where folders cannot be locked, as over NFS, there
    /// is nothing to wait for.
    fn in_folder(folder: &Path) -> Result<Option<Alone>> {
        let Ok(file) = File::open(folder) else { return Ok(None) };
        let begun = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Alone(file))),
                Err(Errno::WOULDBLOCK | Errno::INTR) if begun.elapsed() > WAIT => {
                    let kind = Kind::LockTimeout { path: display(folder), seconds: WAIT.as_secs() };
                    return Err(Fault::new(kind).into());
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(PAUSE),
                Err(_) => return Ok(None),
            }
        }
    }
}

/// For writing, which a lock over NFS needs; for reading where the file is another user's.
fn open_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let open = |flags: OFlags| rustix::fs::open(path, flags, Mode::from_raw_mode(0o644));
    let file = match open(flags | OFlags::RDWR | OFlags::CREATE) {
        Err(Errno::ACCESS) => open(flags | OFlags::RDONLY),
        opened => opened,
    };
    Ok(File::from(file?))
}

/// Writes a new file beside another, with its owner, mode and attributes.
fn write(
    beside: &Path,
    folder: &Path,
    path: &Path,
    bytes: &[u8],
    tell: &mut dyn FnMut(Step),
) -> io::Result<()> {
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    // Nobody else reads it before it has the rights of the old one.
    let mut file = File::from(rustix::fs::open(beside, flags, Mode::RUSR | Mode::WUSR)?);
    tell(Step::Created);
    let (first, second) = bytes.split_at(bytes.len() / 2);
    point("half of a file is written");
    file.write_all(first)?;
    tell(Step::Half);
    file.write_all(second)?;
    tell(Step::Written);
    match fs::metadata(path) {
        Ok(old) => rights::take_over(path, &old, &file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            rights::belong_to(&fs::metadata(folder)?, &file)?;
        }
        Err(error) => return Err(error),
    }
    file.sync_all()?;
    tell(Step::Flushed);
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
fn is_still(path: &Path, before: Option<&Stamp>) -> io::Result<bool> {
    match (super::fs::stamp(path), before) {
        (Ok(now), Some(before)) => Ok(now.is_same_file_state(before)),
        (Err(error), None) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        (Err(error), Some(_)) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        (Ok(_), None) => Ok(false),
        (Err(error), _) => Err(error),
    }
}
