//! A listing turns a tree of folders into its YAML files and the stamps of its folders.
//!
//! Every question about an unknown inventory begins with one, so a folder is opened from the one
//! around it, and of a file nothing is kept but its name: paths are put together for the few files
//! that are read.

use std::borrow::Cow;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::fs::{Stamp, display, reason};
use crate::error::{Error, Fault, Kind, Result};

/// A folder of a tree.
#[derive(PartialEq, Eq, Debug)]
pub struct Folder {
    path: PathBuf,
    /// How many bytes of the path, with a slash behind it, are not below the root.
    root: usize,
}

impl Folder {
    /// The outermost folder of a tree, absolute.
    pub fn root(path: &Path) -> Folder {
        let bytes = path.as_os_str().as_bytes();
        let root = bytes.len() + usize::from(!bytes.ends_with(b"/"));
        Folder { path: path.to_owned(), root }
    }

    /// A folder of a repository: what all paths in the repository begin with, and its path.
    pub fn of_repository(top: &str, inside: &str) -> Folder {
        Folder { path: [top, inside].concat().into(), root: top.len() }
    }

    /// A folder in this one.
    fn inner(&self, name: &OsStr) -> Folder {
        Folder { path: self.join(name), root: self.root }
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path below the root; empty for the root.
    pub fn inside(&self) -> Cow<'_, str> {
        text(self.path.as_os_str().as_bytes().get(self.root..).unwrap_or_default())
    }

    /// What is between the path of the folder and the name of what is in it.
    fn separator(&self) -> &'static [u8] {
        if self.path.as_os_str().len() == self.root { b"" } else { b"/" }
    }

    fn join(&self, name: &OsStr) -> PathBuf {
        let parts = [self.path.as_os_str().as_bytes(), self.separator(), name.as_bytes()];
        OsString::from_vec(parts.concat()).into()
    }
}

/// One YAML file of a tree.
#[derive(Clone, Debug)]
pub struct Found {
    /// The folder it is in.
    pub folder: Arc<Folder>,
    /// Its name in the folder.
    pub file: Arc<OsStr>,
}

impl Found {
    /// The file at a path below the root of a tree.
    pub fn below(root: &Path, relative: &Path) -> Found {
        let folders = relative.parent().into_iter().flat_map(Path::components);
        let folder = folders.fold(Folder::root(root), |folder, name| folder.inner(name.as_os_str()));
        let file = relative.file_name().unwrap_or_default().into();
        Found { folder: Arc::new(folder), file }
    }

    /// The name without `.yml` or `.yaml`.
    pub fn stem(&self) -> Cow<'_, str> {
        text(stem(self.file.as_bytes()).unwrap_or_default())
    }

    /// The absolute path.
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.file)
    }

    /// Whether this is its absolute path.
    pub fn is_at(&self, path: &Path) -> bool {
        let (path, file) = (path.as_os_str().as_bytes(), self.file.as_bytes());
        let (folder, separator) = (self.folder.path.as_os_str().as_bytes(), self.folder.separator());
        path.len() == folder.len() + separator.len() + file.len()
            && path.ends_with(file)
            && path.starts_with(folder)
            && path[folder.len()..].starts_with(separator)
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Found) -> bool {
        self.file == other.file && (Arc::ptr_eq(&self.folder, &other.folder) || self.folder == other.folder)
    }
}

/// The YAML files of a tree, and the folders they were found in.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Listing {
    /// The files: those of a folder together, in no order.
    pub files: Vec<Found>,
    /// Every folder that was listed, with its stamp from before it was listed.
    pub folders: Vec<(Arc<Folder>, Stamp)>,
    /// Whether a symbolic link was met.
    pub links: bool,
}

impl Listing {
    /// Sorts the files: those of a folder by name, before those of the folders in it.
    pub fn sort(&mut self) {
        self.files.sort_by_cached_key(|found| {
            let inside: Vec<String> = found.folder.inside().split('/').map(str::to_owned).collect();
            (inside, text(found.file.as_bytes()).into_owned(), found.path())
        });
    }
}

/// How many folders are around the innermost one that is listed: links can nest folders without
/// end though none of them is its own parent.
const DEPTH: usize = 200;

/// Lists a tree: `.yml` and `.yaml` files, links followed. Hidden files and folders, `CVS` and
/// `SCCS` are left out (S17); a link back to a folder around it is not followed.
pub fn list(root: &Path) -> Result<Listing> {
    let mut walk =
        Walk { listing: Listing::default(), around: Vec::new(), buffer: vec![MaybeUninit::uninit(); 32768] };
    let folder = rustix::fs::open(root, HOW, Mode::empty());
    let folder = folder.map_err(|error| unreadable(root, error))?;
    walk.folder(Folder::root(root), &folder)?;
    Ok(walk.listing)
}

/// How folders are opened.
const HOW: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A listing that is being made.
struct Walk {
    listing: Listing,
    /// The folders around the one that is listed.
    around: Vec<(u64, u64)>,
    /// What the kernel writes names into.
    buffer: Vec<MaybeUninit<u8>>,
}

impl Walk {
    fn folder(&mut self, folder: Folder, open: &OwnedFd) -> Result<()> {
        let folder = Arc::new(folder);
        let failed = |error: Errno| unreadable(folder.path(), error);
        let stamp = Stamp::of_open(open).map_err(failed)?;
        let identity = stamp.identity();
        if self.around.contains(&identity) || self.around.len() > DEPTH {
            return Ok(());
        }
        self.listing.folders.push((folder.clone(), stamp));
        let mut inner = Vec::new();
        let mut entries = RawDir::new(open, &mut self.buffer);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name.to_bytes().starts_with(b".") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let stat = rustix::fs::statat(open, name, AtFlags::SYMLINK_NOFOLLOW);
                kind = FileType::from_raw_mode(stat.map_err(failed)?.st_mode);
            }
            self.listing.links |= kind == FileType::Symlink;
            if kind == FileType::Directory || kind == FileType::Symlink && leads_to_folder(open, name) {
                if !matches!(name.to_bytes(), b"CVS" | b"SCCS") {
                    inner.push(name.to_owned());
                }
            } else if stem(name.to_bytes()).is_some() {
                let file = Arc::from(OsStr::from_bytes(name.to_bytes()));
                self.listing.files.push(Found { folder: folder.clone(), file });
            }
        }
        inner.sort_unstable();
        self.around.push(identity);
        for name in inner {
            self.inner(&folder, open, &name)?;
        }
        self.around.pop();
        Ok(())
    }

    fn inner(&mut self, around: &Folder, open: &OwnedFd, name: &CString) -> Result<()> {
        let folder = around.inner(OsStr::from_bytes(name.to_bytes()));
        let open = rustix::fs::openat(open, name.as_c_str(), HOW, Mode::empty());
        let open = open.map_err(|error| unreadable(folder.path(), error))?;
        self.folder(folder, &open)
    }
}

/// Whether the target of a link is a folder.
fn leads_to_folder(folder: impl AsFd, name: &std::ffi::CStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::empty())
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

/// The text of a name. Nearly all are text, which is quickly seen.
fn text(name: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(name).map_or_else(|_| String::from_utf8_lossy(name), Cow::Borrowed)
}

/// What is before `.yml` or `.yaml`.
fn stem(name: &[u8]) -> Option<&[u8]> {
    name.strip_suffix(b".yml").or_else(|| name.strip_suffix(b".yaml"))
}

fn unreadable(folder: &Path, error: impl Into<io::Error>) -> Error {
    Fault::new(Kind::DirectoryNotFound { path: display(folder), message: reason(&error.into()) }).into()
}
