//! A listing turns a tree of folders into its YAML files and the stamps of its folders.
//!
//! Every question about an unknown inventory begins with one, so a folder is opened from the one
//! around it, and of a file nothing is kept but its name: paths are put together for the few files
//! that are read.

use std::borrow::Cow;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::Limits;
use super::fs::{Stamp, Young, display, folder_unreadable};
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
        text(self.relative())
    }

    fn relative(&self) -> &[u8] {
        self.path.as_os_str().as_bytes().get(self.root..).unwrap_or_default()
    }

    /// What is between the path of the folder and the name of what is in it.
    fn separator(&self) -> &'static [u8] {
        if self.path.as_os_str().len() == self.root { b"" } else { b"/" }
    }

    /// Whether it is the outermost folder of its tree.
    fn is_root(&self) -> bool {
        self.path.as_os_str().len() <= self.root
    }

    /// Whether this is the path of what has such a name in it.
    fn has_at(&self, name: &OsStr, path: &Path) -> bool {
        let (path, name) = (path.as_os_str().as_bytes(), name.as_bytes());
        let (folder, separator) = (self.path.as_os_str().as_bytes(), self.separator());
        path.len() == folder.len() + separator.len() + name.len()
            && path.ends_with(name)
            && path.starts_with(folder)
            && path[folder.len()..].starts_with(separator)
    }

    fn join(&self, name: &OsStr) -> PathBuf {
        let (folder, separator) = (self.path.as_os_str().as_bytes(), self.separator());
        let mut path = Vec::with_capacity(folder.len() + separator.len() + name.len());
        path.extend_from_slice(folder);
        path.extend_from_slice(separator);
        path.extend_from_slice(name.as_bytes());
        OsString::from_vec(path).into()
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
        self.folder.has_at(&self.file, path)
    }
}

impl PartialEq for Found {
    fn eq(&self, other: &Found) -> bool {
        self.file == other.file && (Arc::ptr_eq(&self.folder, &other.folder) || self.folder == other.folder)
    }
}

/// The YAML files of a tree, and the folders they were found in. Names of files stand one behind
/// another: most are asked for nothing but their names.
#[derive(Debug, Default)]
pub struct Listing {
    /// Every folder that was listed, each before those in it.
    pub folders: Vec<Arc<Folder>>,
    /// Their stamps from before they were listed.
    pub stamps: Vec<Stamp>,
    /// Whether a symbolic link was met.
    pub links: bool,
    names: Vec<u8>,
    /// The number of the folder of each file, and where its name ends: those of a folder together, in
    /// no order.
    files: Vec<(usize, usize)>,
}

impl Listing {
    /// Adds a folder: the next files are in it.
    pub fn enter(&mut self, folder: Folder) {
        self.folders.push(Arc::new(folder));
    }

    /// Adds a file of the folder that was added last.
    pub fn push(&mut self, name: &OsStr) {
        self.add(self.folders.len() - 1, name.as_bytes());
    }

    fn add(&mut self, folder: usize, name: &[u8]) {
        self.names.extend_from_slice(name);
        self.files.push((folder, self.names.len()));
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The folder of a file.
    pub fn folder(&self, file: usize) -> &Arc<Folder> {
        &self.folders[self.files[file].0]
    }

    fn range(&self, file: usize) -> Range<usize> {
        file.checked_sub(1).map_or(0, |before| self.files[before].1)..self.files[file].1
    }

    fn name(&self, file: usize) -> &OsStr {
        OsStr::from_bytes(&self.names[self.range(file)])
    }

    /// A file.
    pub fn found(&self, file: usize) -> Found {
        Found { folder: self.folder(file).clone(), file: self.name(file).into() }
    }

    /// The names of the files without `.yml` or `.yaml`.
    pub fn stems(&self) -> Stems<'_> {
        Stems { listing: self, whole: std::str::from_utf8(&self.names).ok() }
    }

    /// Whether a file is the same as one of another listing.
    pub fn is_same_file(&self, file: usize, other: &Listing, others: usize) -> bool {
        self.name(file) == other.name(others) && self.folder(file) == other.folder(others)
    }

    /// The files of each tree in the order of their paths: those of a folder by name, before those of
    /// the folders in it.
    pub fn by_path(&self) -> Vec<usize> {
        let mut files: Vec<usize> = (0..self.len()).collect();
        files.sort_by_cached_key(|file| {
            let folder = self.folder(*file);
            let inside: Vec<String> = folder.inside().split('/').map(str::to_owned).collect();
            let before = &self.folders[..=self.files[*file].0];
            let tree = before.iter().filter(|folder| folder.is_root()).count();
            (tree, inside, text(self.name(*file).as_bytes()).into_owned(), folder.join(self.name(*file)))
        });
        files
    }
}

/// The names of the files of a listing without `.yml` or `.yaml`.
pub struct Stems<'l> {
    listing: &'l Listing,
    /// All names, where they are text.
    whole: Option<&'l str>,
}

impl<'l> Stems<'l> {
    /// That of a file.
    pub fn get(&self, file: usize) -> Cow<'l, str> {
        let range = self.listing.range(file);
        let name = &self.listing.names[range.clone()];
        let length = stem(name).map_or(0, <[u8]>::len);
        match self.whole.and_then(|whole| whole.get(range.start..range.start + length)) {
            Some(stem) => Cow::Borrowed(stem),
            None => String::from_utf8_lossy(&name[..length]),
        }
    }
}

/// Lists trees: `.yml` and `.yaml` files, links followed. Hidden files and folders, `CVS` and
/// `SCCS` are left out (S17); a link back to a folder around it is not followed. More files and
/// folders in one than `limits` allow are an error: links can bring a few folders together in ways
/// without number.
pub fn list(roots: &[PathBuf], limits: Limits) -> Result<Listing> {
    let mut walk = Walk {
        root: Path::new(""),
        limits,
        met: 0,
        listing: Listing::default(),
        young: Young::now(),
        around: Vec::new(),
        buffer: vec![MaybeUninit::uninit(); 32768],
    };
    for root in roots {
        let folder = rustix::fs::open(root, HOW, Mode::empty());
        let folder = folder.map_err(|error| unreadable(root, error))?;
        (walk.root, walk.met) = (root, 0);
        walk.folder(Folder::root(root), &folder)?;
    }
    Ok(walk.listing)
}

/// Whether the folders of listings are as they were; their new stamps are to prove it the next time.
///
/// They are looked for from the outermost one on: that is the shorter way to all the others.
pub fn are_unchanged(folders: &mut [(Arc<Folder>, Stamp)]) -> bool {
    let (young, mut root) = (Young::now(), None);
    folders.iter_mut().all(|(folder, before)| {
        let now = if folder.is_root() {
            // Where it cannot be opened, its path still says what it is.
            root = rustix::fs::open(folder.path(), HOW | OFlags::PATH, Mode::empty()).ok();
            root.as_ref().map_or_else(|| rustix::fs::stat(folder.path()), rustix::fs::fstat)
        } else {
            match &root {
                Some(root) => rustix::fs::statat(root, folder.relative(), AtFlags::empty()),
                None => rustix::fs::stat(folder.path()),
            }
        };
        match now.map(|stat| Stamp::of(&stat, young)) {
            Ok(now) if now.proves_unchanged(before) => {
                *before = now;
                true
            }
            _ => false,
        }
    })
}

/// How folders are opened.
const HOW: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A listing that is being made.
struct Walk<'a> {
    root: &'a Path,
    limits: Limits,
    /// How many files and folders were met in this root.
    met: usize,
    listing: Listing,
    young: Young,
    /// The folders around the one that is listed.
    around: Vec<(u64, u64)>,
    /// What the kernel writes names into.
    buffer: Vec<MaybeUninit<u8>>,
}

impl Walk<'_> {
    fn beyond(&self, what: &str, limit: usize, setting: &'static str) -> Error {
        let what = format!("the {what} in '{}'", display(self.root));
        Fault::new(Kind::YamlLimit { what, limit, setting: Some(setting) }).into()
    }

    fn folder(&mut self, folder: Folder, open: &OwnedFd) -> Result<()> {
        let failed = |folder: &Folder, error: Errno| unreadable(folder.path(), error);
        let stamp = Stamp::of_open(open, self.young).map_err(|error| failed(&folder, error))?;
        let identity = stamp.identity();
        if self.around.contains(&identity) {
            return Ok(());
        }
        if self.around.len() > self.limits.depth {
            return Err(self.beyond("depth of folders", self.limits.depth, "limit_folder_depth"));
        }
        let listing = &mut self.listing;
        let number = listing.folders.len();
        listing.enter(folder);
        listing.stamps.push(stamp);
        let failed = |listing: &Listing, error: Errno| failed(&listing.folders[number], error);
        let mut inner = Vec::new();
        let mut entries = RawDir::new(open, &mut self.buffer);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| failed(listing, error))?;
            let name = entry.file_name();
            // The folder itself and the one around it.
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.met += 1;
            if self.met > self.limits.files {
                return Err(self.beyond("number of files and folders", self.limits.files, "limit_files"));
            }
            if name.to_bytes().starts_with(b".") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let stat = rustix::fs::statat(open, name, AtFlags::SYMLINK_NOFOLLOW);
                kind = FileType::from_raw_mode(stat.map_err(|error| failed(listing, error))?.st_mode);
            }
            listing.links |= kind == FileType::Symlink;
            if kind == FileType::Symlink {
                kind = target(open, name).map_err(|error| {
                    let path = listing.folders[number].join(OsStr::from_bytes(name.to_bytes()));
                    unreadable(&path, error)
                })?;
            }
            if kind == FileType::Directory {
                if !matches!(name.to_bytes(), b"CVS" | b"SCCS") {
                    inner.push(name.to_owned());
                }
            } else if stem(name.to_bytes()).is_some() {
                listing.add(number, name.to_bytes());
            } else if kind == FileType::Symlink {
                // A folder may come to be there, and no stamp of ours would tell.
                listing.stamps[number].doubt();
            }
        }
        inner.sort_unstable();
        self.around.push(identity);
        for name in inner {
            self.inner(number, open, &name)?;
        }
        self.around.pop();
        Ok(())
    }

    fn inner(&mut self, around: usize, open: &OwnedFd, name: &CString) -> Result<()> {
        let folder = self.listing.folders[around].inner(OsStr::from_bytes(name.to_bytes()));
        let open = rustix::fs::openat(open, name.as_c_str(), HOW, Mode::empty());
        let open = open.map_err(|error| unreadable(folder.path(), error))?;
        self.folder(folder, &open)
    }
}

/// What a link leads to; it is one itself where that is nothing. Where it cannot be told, the folder
/// that it may be cannot be read.
fn target(folder: impl AsFd, name: &std::ffi::CStr) -> rustix::io::Result<FileType> {
    match rustix::fs::statat(folder, name, AtFlags::empty()) {
        Ok(stat) => Ok(FileType::from_raw_mode(stat.st_mode)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(FileType::Symlink),
        Err(error) => Err(error),
    }
}

/// The text of a name. Nearly all are text, which is quickly seen.
fn text(name: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(name).map_or_else(|_| String::from_utf8_lossy(name), Cow::Borrowed)
}

/// What is before `.yml` or `.yaml`.
fn stem(name: &[u8]) -> Option<&[u8]> {
    match name {
        [stem @ .., b'.', b'y', b'm', b'l'] | [stem @ .., b'.', b'y', b'a', b'm', b'l'] => Some(stem),
        _ => None,
    }
}

fn unreadable(folder: &Path, error: impl Into<io::Error>) -> Error {
    folder_unreadable(folder, &error.into()).into()
}
