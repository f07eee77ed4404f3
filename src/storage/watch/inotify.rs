//! The watch by inotify. It has no thread; its descriptor is read on demand.
//!
//! It exists only if inotify reports every change: on local file systems without nested mounts, in trees without
//! symbolic links, with one path for each folder. inotify reports a file only under the name that was used, so
//! the caller must not rely on a watch if a file has several hard links (`DiskFingerprint::has_hard_links`). Any
//! doubt ends the watch, and the caller checks every file again.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Seek};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::WatchEvents;
use crate::storage::os::fd::OwnedFd;
use crate::storage::os::unix::ffi::OsStrExt;
use crate::storage::os::unix::fs::MetadataExt;

/// A watch on the folders of an inventory.
#[derive(Debug)]
pub struct Watch {
    descriptor: OwnedFd,
    folders: FxHashMap<i32, PathBuf>,
    /// The root folders. Their identity is verified, because the kernel does not report a renamed ancestor.
    roots: Vec<(PathBuf, (u64, u64))>,
    mounts: Mounts,
    process: u32,
}

/// File systems on which every write passes the local kernel: ext, xfs, btrfs, tmpfs, f2fs, zfs.
const LOCAL_FILE_SYSTEMS: [u64; 6] =
    [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1];

/// The mount table of this process: proc(5).
const MOUNTS: &str = "/proc/self/mountinfo";

impl Watch {
    /// Watches these folders; `None` if that is not reliable.
    pub fn new(roots: &[PathBuf], folders: &[PathBuf]) -> Option<Watch> {
        for root in roots {
            #[expect(clippy::cast_sign_loss, reason = "a magic number, compared bit by bit")]
            let kind = rustix::fs::statfs(root).ok()?.f_type as u64;
            if !LOCAL_FILE_SYSTEMS.contains(&(kind & 0xFFFF_FFFF)) {
                return None;
            }
        }
        let mounts = Mounts::outside(roots)?;
        let roots = roots.iter().map(|root| Some((root.clone(), identity(root)?))).collect::<Option<_>>()?;
        let descriptor = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        let process = std::process::id();
        let mut watch = Watch { descriptor, folders: FxHashMap::default(), roots, mounts, process };
        folders.iter().all(|folder| watch.add(folder)).then_some(watch)
    }

    /// Watches one more folder, and returns whether that is reliable. A folder that is gone needs no watch: it
    /// appears in a folder that has one.
    pub fn add(&mut self, folder: &Path) -> bool {
        let events = WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        match inotify::add_watch(&self.descriptor, folder, events) {
            // For a folder with two paths, only one would be reported.
            Ok(number) => self.folders.insert(number, folder.to_owned()).is_none_or(|other| other == *folder),
            Err(error) => {
                matches!(error, Errno::NOENT | Errno::NOTDIR) && fs::symlink_metadata(folder).is_err()
            }
        }
    }

    /// Whether this process created the watch. A forked child must not read events that its parent needs.
    pub fn belongs_to_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// The changes since the last call. Never blocks.
    pub fn poll(&mut self) -> WatchEvents {
        if !self.belongs_to_this_process()
            || self.roots.iter().any(|(root, before)| identity(root) != Some(*before))
            || !self.mounts.are_outside()
        {
            return WatchEvents::Lost;
        }
        let (mut files, mut tree) = (Vec::new(), false);
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.descriptor, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => break,
                Err(_) => return WatchEvents::Lost,
            };
            let what = event.events();
            let lost = ReadFlags::QUEUE_OVERFLOW
                | ReadFlags::IGNORED
                | ReadFlags::UNMOUNT
                | ReadFlags::DELETE_SELF
                | ReadFlags::MOVE_SELF;
            if what.intersects(lost) {
                return WatchEvents::Lost;
            }
            let (Some(folder), Some(name)) = (self.folders.get(&event.wd()), event.file_name()) else {
                // The folder itself, for example its permissions.
                tree = true;
                continue;
            };
            let name = name.to_bytes();
            let path = folder.join(OsStr::from_bytes(name));
            let appeared = what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
            let file = if appeared { fs::symlink_metadata(&path).ok() } else { None };
            if file.as_ref().is_some_and(|file| file.is_file() && file.nlink() > 1) {
                // The other name may belong to a file that was read.
                return WatchEvents::Lost;
            }
            if name.starts_with(b".") {
                continue;
            }
            if what.contains(ReadFlags::ISDIR) {
                if appeared || what.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
                    // While a removed folder is still open somewhere, no event shows that its replacement
                    // is a different folder.
                    return WatchEvents::Lost;
                }
                tree = true;
            } else if name.ends_with(b".yml") || name.ends_with(b".yaml") {
                files.push(path);
            } else if file.is_some_and(|file| file.is_symlink()) {
                // It may lead to a folder now or later.
                tree = true;
            }
        }
        if files.is_empty() && !tree { WatchEvents::Quiet } else { WatchEvents::Changed { files, tree } }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The mount table, kept open, because the kernel signals its changes.
#[derive(Debug)]
struct Mounts {
    table: fs::File,
    /// The root folders, without links in their paths.
    roots: Vec<PathBuf>,
}

impl Mounts {
    /// Opens the table; `None` if there are mounts inside of the folders, or the table is unreadable.
    fn outside(roots: &[PathBuf]) -> Option<Mounts> {
        let roots = roots.iter().map(|root| fs::canonicalize(root).ok()).collect::<Option<_>>()?;
        let mut mounts = Mounts { table: fs::File::open(MOUNTS).ok()?, roots };
        mounts.read().then_some(mounts)
    }

    /// Whether there are still no mounts inside of the folders.
    fn are_outside(&mut self) -> bool {
        let mut descriptors = [PollFd::new(&self.table, PollFlags::PRI)];
        match poll(&mut descriptors, Some(&Timespec::default())) {
            Ok(0) => true,
            Ok(_) => self.read(),
            Err(_) => false,
        }
    }

    /// Reads the table from its beginning.
    fn read(&mut self) -> bool {
        let mut table = Vec::new();
        self.table.rewind().is_ok()
            && self.table.read_to_end(&mut table).is_ok()
            && !self.roots.iter().any(|root| is_mounted_on(root, &table))
    }
}

/// Whether there is a mount below this folder, whose path has no links.
fn is_mounted_on(folder: &Path, mounts: &[u8]) -> bool {
    let mut points =
        mounts.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    points.any(|point| {
        let point = unescape(point);
        let point = Path::new(OsStr::from_bytes(&point));
        point != folder && point.starts_with(folder)
    })
}

/// Decodes a path of the mount table, in which `\040` is a space.
fn unescape(mut escaped: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(escaped.len());
    loop {
        escaped = match escaped {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                path.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [byte, rest @ ..] => {
                path.push(*byte);
                rest
            }
            [] => return path,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"25 1 8:1 / / rw - ext4 /dev/sda rw\n\
        26 25 0:23 / /srv/a\\040b/classes/sub rw,relatime shared:5 - nfs4 host:/x rw\n\
        27 25 8:1 /x /srv/c/nodes/n.yml rw - ext4 /dev/sda rw\n\
        28 25 0:24 / /srv/d rw - tmpfs tmpfs rw\n";

    #[test]
    fn what_is_mounted_inside_is_found() {
        let inside = ["/", "/srv", "/srv/a b", "/srv/a b/classes", "/srv/c/nodes"];
        let nothing =
            ["/srv/a", "/srv/a b/nodes", "/srv/a b/classes/sub", "/srv/c/classes", "/srv/d", "/srv/d/in"];
        for (folders, expected) in [(&inside[..], true), (&nothing[..], false)] {
            for folder in folders {
                assert_eq!(is_mounted_on(Path::new(folder), TABLE), expected, "{folder}");
            }
        }
    }

    #[test]
    fn folders_with_mounts_inside_are_not_watched() {
        let folder = tempfile::tempdir().expect("a folder");
        let watch = |root: &Path| Watch::new(&[root.to_owned()], &[root.to_owned()]);
        assert!(watch(folder.path()).is_some());
        // At least `/proc` is a mount there.
        assert!(watch(Path::new("/")).is_none());
        assert!(watch(Path::new("/proc/self")).is_none());
    }
}
