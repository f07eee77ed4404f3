//! Listings: the YAML files in trees of folders. Paths are built for the few files that are read.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::storage::os::unix::ffi::OsStrExt;

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

    /// The path of the tree's root.
    pub(super) fn root_path(&self) -> &Path {
        let path = self.path.as_os_str().as_bytes();
        Path::new(OsStr::from_bytes(path.get(..self.root.saturating_sub(1)).unwrap_or(path)))
    }

    /// The path below the root; empty for the root.
    pub fn relative_text(&self) -> Cow<'_, str> {
        text(self.path.as_os_str().as_bytes().get(self.root..).unwrap_or_default())
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
    /// The folder that it is in.
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

/// File names, shared with the folder that has them.
pub type FileNames = Arc<[Arc<OsStr>]>;

/// The YAML files of trees, with their folders.
#[derive(Debug, Default)]
pub struct Listing {
    /// The folders, and the files in each.
    pub folders: Vec<(Arc<Folder>, FileNames)>,
}

impl Listing {
    /// All files.
    pub fn files(&self) -> impl Iterator<Item = FoundFile> {
        self.folders.iter().flat_map(|(folder, files)| {
            files.iter().map(|file| FoundFile { folder: folder.clone(), file: file.clone() })
        })
    }
}

/// A name as text. Nearly all names are UTF-8, which is a fast check.
pub(super) fn text(name: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(name).map_or_else(|_| String::from_utf8_lossy(name), Cow::Borrowed)
}

/// The name before `.yml` or `.yaml`.
pub(super) fn stem(name: &[u8]) -> Option<&[u8]> {
    match name {
        [stem @ .., b'.', b'y', b'm', b'l'] | [stem @ .., b'.', b'y', b'a', b'm', b'l'] => Some(stem),
        _ => None,
    }
}
