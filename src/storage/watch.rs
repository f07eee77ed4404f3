//! A watch turns what the kernel noticed about an inventory's folders into the files and
//! folders to look at again, without a thread: a descriptor that is read when somebody asks.
//!
//! A watch belongs to one process. It is only set up where inotify tells the whole truth: on
//! local file systems, in trees without symbolic links. Whatever is doubtful ends it, and the
//! caller goes back to looking at every file.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::ffi::OsStr;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

/// A watch on the folders of an inventory.
#[derive(Debug)]
pub struct Watch {
    descriptor: OwnedFd,
    folders: FxHashMap<i32, PathBuf>,
    /// The outermost folders: that they are still the same is looked up, since the kernel does
    /// not tell when a folder further up is renamed.
    roots: Vec<(PathBuf, (u64, u64))>,
    process: u32,
}

/// What happened since the last look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum News {
    /// Nothing.
    Quiet,
    /// These YAML files were written or replaced, appeared or went; with `tree`, folders did.
    Changed {
        /// The files, by path.
        files: Vec<PathBuf>,
        /// Whether a folder appeared or went.
        tree: bool,
    },
    /// The watch cannot tell. It must not be asked again.
    Lost,
}

/// File systems on which a write always passes the kernel that is asked: ext, xfs, btrfs,
/// tmpfs, f2fs, zfs.
const LOCAL: [u64; 6] = [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1];

impl Watch {
    /// Watches these folders; `None` where that cannot be relied on.
    pub fn new(roots: &[PathBuf], folders: &[PathBuf]) -> Option<Watch> {
        for root in roots {
            #[expect(clippy::cast_sign_loss, reason = "a magic number, compared bit by bit")]
            let kind = rustix::fs::statfs(root).ok()?.f_type as u64;
            if !LOCAL.contains(&(kind & 0xFFFF_FFFF)) {
                return None;
            }
        }
        let roots = roots.iter().map(|root| Some((root.clone(), identity(root)?))).collect::<Option<_>>()?;
        let descriptor = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let wanted = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let mut watched = FxHashMap::default();
        for folder in folders {
            let number = inotify::add_watch(&descriptor, folder, wanted).ok()?;
            watched.insert(number, folder.clone());
        }
        Some(Watch { descriptor, folders: watched, roots, process: std::process::id() })
    }

    /// Whether the watch was set up by this process: a forked child must not read what its
    /// parent waits for.
    pub fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// What happened since the last call. Never waits.
    pub fn news(&mut self) -> News {
        if !self.is_ours() || self.roots.iter().any(|(root, before)| identity(root) != Some(*before)) {
            return News::Lost;
        }
        let (mut files, mut tree) = (Vec::new(), false);
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.descriptor, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => return News::Lost,
            };
            let what = event.events();
            let lost = ReadFlags::QUEUE_OVERFLOW
                | ReadFlags::IGNORED
                | ReadFlags::UNMOUNT
                | ReadFlags::DELETE_SELF
                | ReadFlags::MOVE_SELF;
            if what.intersects(lost) {
                return News::Lost;
            }
            let (Some(folder), Some(name)) = (self.folders.get(&event.wd()), event.file_name()) else {
                // The folder itself: its permissions, perhaps.
                tree = true;
                continue;
            };
            let name = name.to_bytes();
            if name.starts_with(b".") {
                continue;
            }
            let path = folder.join(OsStr::from_bytes(name));
            if what.contains(ReadFlags::ISDIR) {
                tree = true;
            } else if name.ends_with(b".yml") || name.ends_with(b".yaml") {
                files.push(path);
            } else if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) && path.is_dir() {
                // A link to a folder.
                tree = true;
            }
        }
        if files.is_empty() && !tree { News::Quiet } else { News::Changed { files, tree } }
    }
}

/// Whether a name that is listed, or is not, is still so. A symbolic link never is: a tree with
/// one has to be listed, and is not watched from then on.
pub fn still_so(path: &Path, listed: bool) -> bool {
    match fs::symlink_metadata(path) {
        Ok(metadata) => listed && !metadata.is_symlink(),
        Err(_) => !listed,
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
