//! Listings: the YAML files in trees of folders, and the fingerprints of the folders.
//!
//! Every question about an unknown inventory begins with a listing, so it stores only names. Paths are
//! built for the few files that are read.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fs::DiskFingerprint;

/// A folder of a tree.
#[derive(PartialEq, Eq, Debug)]
pub struct Folder {
    path: PathBuf,
    /// The length of the tree's root in `path`, with its slash.
    root: usize,
}

impl Folder {
    /// The root folder of a tree, by its absolute path.
    pub fn root(path: &Path) -> Folder {
        let bytes = path.as_os_str().as_bytes();
        let root = bytes.len() + usize::from(!bytes.ends_with(b"/"));
        Folder { path: path.to_owned(), root }
    }

    /// A folder of a repository. All paths of the repository begin with `top`.
    pub fn of_repository(top: &str, inside: &str) -> Folder {
        Folder { path: [top, inside].concat().into(), root: top.len() }
    }

    /// A subfolder.
    pub(super) fn inner(&self, name: &OsStr) -> Folder {
        Folder { path: self.join(name), root: self.root }
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path below the root; empty for the root.
    pub fn relative_text(&self) -> Cow<'_, str> {
        text(self.relative())
    }

    pub(super) fn relative(&self) -> &[u8] {
        self.path.as_os_str().as_bytes().get(self.root..).unwrap_or_default()
    }

    /// Whether it is the root folder of its tree.
    pub(super) fn is_root(&self) -> bool {
        self.path.as_os_str().len() <= self.root
    }

    /// The path of an entry. The root of a repository ends without a slash, because its paths begin with other
    /// text.
    pub(super) fn join(&self, name: &OsStr) -> PathBuf {
        let mut path = OsString::with_capacity(self.path.as_os_str().len() + 1 + name.len());
        path.push(&self.path);
        if path.len() != self.root {
            path.push("/");
        }
        path.push(name);
        path.into()
    }
}

/// A YAML file of a tree.
#[derive(Clone, Debug)]
pub struct FoundFile {
    pub folder: Arc<Folder>,
    /// Its file name.
    pub file: Arc<OsStr>,
}

impl FoundFile {
    /// The file at a path relative to the root of a tree.
    pub fn below(root: &Path, relative: &Path) -> FoundFile {
        let folders = relative.parent().into_iter().flat_map(Path::components);
        let folder = folders.fold(Folder::root(root), |folder, name| folder.inner(name.as_os_str()));
        let file = relative.file_name().unwrap_or_default().into();
        FoundFile { folder: Arc::new(folder), file }
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
        // A comparison of bytes: `Path` ignores repeated slashes.
        self.path().as_os_str() == path.as_os_str()
    }
}

impl PartialEq for FoundFile {
    fn eq(&self, other: &FoundFile) -> bool {
        self.file == other.file && (Arc::ptr_eq(&self.folder, &other.folder) || self.folder == other.folder)
    }
}

/// The YAML files of trees, with their folders. The file names are concatenated, because most are needed
/// only to compute names.
#[derive(Debug, Default)]
pub struct Listing {
    /// All listed folders, parents first. A link to something other than a folder is listed as an empty
    /// folder, because a folder may appear there.
    pub folders: Vec<Arc<Folder>>,
    /// The fingerprints of the folders from before they were listed; of a link, the fingerprint of its
    /// target.
    pub fingerprints: Vec<DiskFingerprint>,
    /// Whether there are symbolic links.
    pub links: bool,
    names: Vec<u8>,
    /// The folder of each file, and the end of its name. Files of one folder are adjacent, but unordered.
    files: Vec<(usize, usize)>,
}

#[allow(clippy::len_without_is_empty, reason = "nobody asks")]
impl Listing {
    /// Adds a folder. Files pushed next belong to it.
    pub fn add_folder(&mut self, folder: Folder) {
        self.folders.push(Arc::new(folder));
    }

    /// Adds a link that is not followed, with the fingerprint of its target.
    pub(super) fn add_link(&mut self, link: Folder, fingerprint: DiskFingerprint) {
        self.add_folder(link);
        self.fingerprints.push(fingerprint);
    }

    /// Adds a file to the last folder.
    pub fn push(&mut self, name: &OsStr) {
        self.add(self.folders.len() - 1, name.as_bytes());
    }

    pub(super) fn add(&mut self, folder: usize, name: &[u8]) {
        self.names.extend_from_slice(name);
        self.files.push((folder, self.names.len()));
    }

    /// Appends another listing.
    pub fn append(&mut self, other: Listing) {
        if self.folders.is_empty() {
            *self = other;
            return;
        }
        let (folders, names) = (self.folders.len(), self.names.len());
        self.folders.extend(other.folders);
        self.fingerprints.extend(other.fingerprints);
        self.links |= other.links;
        self.names.extend(other.names);
        let moved = |(folder, end)| (folders + folder, names + end);
        self.files.extend(other.files.into_iter().map(moved));
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn folder(&self, file: usize) -> &Arc<Folder> {
        &self.folders[self.files[file].0]
    }

    fn range(&self, file: usize) -> Range<usize> {
        file.checked_sub(1).map_or(0, |before| self.files[before].1)..self.files[file].1
    }

    fn name(&self, file: usize) -> &OsStr {
        OsStr::from_bytes(&self.names[self.range(file)])
    }

    /// A file, with its own copy of the name.
    pub fn found(&self, file: usize) -> FoundFile {
        FoundFile { folder: self.folder(file).clone(), file: self.name(file).into() }
    }

    /// The file name without `.yml` or `.yaml`.
    pub fn stem(&self, file: usize) -> Cow<'_, str> {
        text(stem(&self.names[self.range(file)]).unwrap_or_default())
    }

    /// Whether a file is the same as one in another listing.
    pub fn is_same_file(&self, file: usize, other: &Listing, others: usize) -> bool {
        self.name(file) == other.name(others) && self.folder(file) == other.folder(others)
    }
}

/// A name as text. Nearly all names are UTF-8, which is a fast check.
fn text(name: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(name).map_or_else(|_| String::from_utf8_lossy(name), Cow::Borrowed)
}

/// The name before `.yml` or `.yaml`.
pub(super) fn stem(name: &[u8]) -> Option<&[u8]> {
    match name {
        [stem @ .., b'.', b'y', b'm', b'l'] | [stem @ .., b'.', b'y', b'a', b'm', b'l'] => Some(stem),
        _ => None,
    }
}
