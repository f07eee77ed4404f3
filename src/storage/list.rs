//! A listing holds the YAML files of trees of folders, and the fingerprints of the folders.
//!
//! Every question about an unknown inventory begins with one, so nothing is kept of a file but its
//! name: paths are put together for the few files that are read.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fs::DiskFingerprint;

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

    /// What is between the path of the folder and the name of what is in it.
    fn separator(&self) -> &'static [u8] {
        if self.path.as_os_str().len() == self.root { b"" } else { b"/" }
    }

    /// Whether it is the outermost folder of its tree.
    pub(super) fn is_root(&self) -> bool {
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

    pub(super) fn join(&self, name: &OsStr) -> PathBuf {
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
pub struct FoundFile {
    /// The folder it is in.
    pub folder: Arc<Folder>,
    /// Its name in the folder.
    pub file: Arc<OsStr>,
}

impl FoundFile {
    /// The file at a path below the root of a tree.
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
        self.folder.has_at(&self.file, path)
    }
}

impl PartialEq for FoundFile {
    fn eq(&self, other: &FoundFile) -> bool {
        self.file == other.file && (Arc::ptr_eq(&self.folder, &other.folder) || self.folder == other.folder)
    }
}

/// The YAML files of a tree, and the folders they were found in. Names of files stand one behind
/// another: most are asked for nothing but their names.
#[derive(Debug, Default)]
pub struct Listing {
    /// Every folder that was listed, each before those in it; and, as folders without files, links that
    /// lead to something else: another folder may come to be there.
    pub folders: Vec<Arc<Folder>>,
    /// Their fingerprints from before they were listed, of a link that of what it leads to.
    pub fingerprints: Vec<DiskFingerprint>,
    /// Whether a symbolic link was met.
    pub links: bool,
    names: Vec<u8>,
    /// The number of the folder of each file, and where its name ends: those of a folder together, in
    /// no order.
    files: Vec<(usize, usize)>,
}

#[allow(clippy::len_without_is_empty, reason = "nobody asks")]
impl Listing {
    /// Adds a folder: the next files are in it.
    pub fn add_folder(&mut self, folder: Folder) {
        self.folders.push(Arc::new(folder));
    }

    /// Adds a link that is not followed, with the fingerprint of what it leads to.
    pub(super) fn add_link(&mut self, link: Folder, fingerprint: DiskFingerprint) {
        self.add_folder(link);
        self.fingerprints.push(fingerprint);
    }

    /// Adds a file of the folder that was added last.
    pub fn push(&mut self, name: &OsStr) {
        self.add(self.folders.len() - 1, name.as_bytes());
    }

    pub(super) fn add(&mut self, folder: usize, name: &[u8]) {
        self.names.extend_from_slice(name);
        self.files.push((folder, self.names.len()));
    }

    /// Adds what another one lists, behind all of this.
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

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
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
    pub fn found(&self, file: usize) -> FoundFile {
        FoundFile { folder: self.folder(file).clone(), file: self.name(file).into() }
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
    #[cfg(test)]
    pub fn by_path(&self) -> Vec<usize> {
        let mut files: Vec<usize> = (0..self.len()).collect();
        files.sort_by_cached_key(|file| {
            let folder = self.folder(*file);
            let inside: Vec<String> = folder.relative_text().split('/').map(str::to_owned).collect();
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

/// The text of a name. Nearly all are text, which is quickly seen.
fn text(name: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(name).map_or_else(|_| String::from_utf8_lossy(name), Cow::Borrowed)
}

/// What is before `.yml` or `.yaml`.
pub(super) fn stem(name: &[u8]) -> Option<&[u8]> {
    match name {
        [stem @ .., b'.', b'y', b'm', b'l'] | [stem @ .., b'.', b'y', b'a', b'm', b'l'] => Some(stem),
        _ => None,
    }
}
