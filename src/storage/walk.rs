//! Walks trees of folders, to list them or to verify that they are unchanged.
//!
//! Most of the time is spent in the kernel. Opening a folder relative to an open ancestor is faster, and
//! several threads share a wide tree.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;

use super::TreeLimits;
use super::fs::{DiskFingerprint, SettledBefore, display, folder_unreadable, reason};
use super::list::{Folder, Listing, stem};
use crate::base::error::{Error, Fault, Kind, Result};
use crate::base::lock::Mutex;
use crate::base::parallel;

/// The number of folders in one level from which threads share them. Until then, one thread lists level by
/// level.
const PARALLEL_FOLDERS: usize = 64;

/// For this many levels, each folder stays open for its subfolders. More would exhaust the descriptors of
/// threads in deep trees. Deeper folders are opened relative to the last of these.
const MAX_OPEN_LEVELS: usize = 8;

/// The longest relative path; the kernel accepts 4,096 bytes.
const MAX_RELATIVE_PATH: usize = 2_000;

/// The flags for opening folders.
const OPEN_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Lists the `.yml` and `.yaml` files of trees and follows links. Skips hidden files and folders, `CVS` and
/// `SCCS` (S17), and links to an ancestor. Exceeding `limits` is an error: with links, a few folders can
/// form an unbounded tree.
pub fn list(roots: &[PathBuf], limits: TreeLimits, threads: usize) -> Result<Listing> {
    let mut listing = Listing::default();
    for root in roots {
        let tree = ListedTree { root, limits, count: AtomicUsize::new(0), young: SettledBefore::now() };
        tree.list(threads, &mut listing)?;
    }
    Ok(listing)
}

/// Whether listed folders are unchanged. Replaces their fingerprints for the next check.
///
/// Opens each root once, because paths relative to it are shorter.
pub fn are_unchanged(folders: &mut [(Arc<Folder>, DiskFingerprint)]) -> bool {
    let (young, mut root) = (SettledBefore::now(), None);
    folders.iter_mut().all(|(folder, before)| {
        let now = if folder.is_root() {
            // If it cannot be opened, its path still has a fingerprint.
            root = rustix::fs::open(folder.path(), OPEN_FLAGS | OFlags::PATH, Mode::empty()).ok();
            root.as_ref().map_or_else(|| rustix::fs::stat(folder.path()), rustix::fs::fstat)
        } else {
            match &root {
                Some(root) => rustix::fs::statat(root, folder.relative(), AtFlags::empty()),
                None => rustix::fs::stat(folder.path()),
            }
        };
        match now.map(|stat| DiskFingerprint::of(&stat, young)) {
            Ok(now) if now.proves_unchanged(before) => {
                *before = now;
                true
            }
            _ => false,
        }
    })
}

/// A tree during listing.
struct ListedTree<'a> {
    root: &'a Path,
    limits: TreeLimits,
    /// The number of files and folders so far.
    count: AtomicUsize,
    young: SettledBefore,
}

/// A folder to list.
struct Pending {
    folder: Folder,
    /// An open ancestor, and the path relative to it; `None` for the root.
    parent: Option<(Arc<OwnedFd>, CString)>,
    /// The identities of its ancestors.
    ancestors: Arc<[(u64, u64)]>,
}

impl ListedTree<'_> {
    /// Adds all files and folders to a listing.
    fn list(&self, threads: usize, listing: &mut Listing) -> Result<()> {
        let mut level =
            vec![Pending { folder: Folder::root(self.root), parent: None, ancestors: Arc::default() }];
        while !level.is_empty() {
            if threads < 2 {
                return level.into_iter().try_for_each(|pending| self.all(pending, listing));
            }
            if level.len() >= PARALLEL_FOLDERS {
                return self.share(threads, level, listing);
            }
            let mut next = Vec::new();
            for pending in level {
                next.extend(self.one(pending, listing)?);
            }
            level = next;
        }
        Ok(())
    }

    /// Lists folders with several threads.
    fn share(&self, threads: usize, level: Vec<Pending>, listing: &mut Listing) -> Result<()> {
        let level: Vec<_> = level.into_iter().map(|pending| Mutex::new(Some(pending))).collect();
        let listed = parallel::each(
            threads,
            &level,
            || (),
            |(), pending| {
                let mut listing = Listing::default();
                let all = pending.lock().take().map_or(Ok(()), |pending| self.all(pending, &mut listing));
                all.map(|()| listing)
            },
            Result::is_err,
        );
        listed.into_iter().try_for_each(|part| {
            listing.append(part?);
            Ok(())
        })
    }

    fn limit_error(&self, what: &str, limit: usize, setting: &'static str) -> Error {
        let what = format!("the {what} in '{}'", display(self.root));
        Fault::new(Kind::YamlLimit { what, limit, setting: Some(setting) }).into()
    }

    /// Lists a folder and all folders below it.
    fn all(&self, pending: Pending, listing: &mut Listing) -> Result<()> {
        let mut waiting = vec![pending];
        while let Some(pending) = waiting.pop() {
            waiting.extend(self.one(pending, listing)?.into_iter().rev());
        }
        Ok(())
    }

    /// Lists one folder, and returns its subfolders by name.
    fn one(
        &self,
        Pending { folder, parent, ancestors }: Pending,
        listing: &mut Listing,
    ) -> Result<Vec<Pending>> {
        let failed = |folder: &Folder, error: Errno| unreadable(folder.path(), error);
        let open = match &parent {
            None => rustix::fs::open(folder.path(), OPEN_FLAGS, Mode::empty()),
            Some((outer, name)) => rustix::fs::openat(outer, name.as_c_str(), OPEN_FLAGS, Mode::empty()),
        };
        let open = open.map_err(|error| failed(&folder, error))?;
        let fingerprint =
            DiskFingerprint::of_open(&open, self.young).map_err(|error| failed(&folder, error))?;
        let identity = fingerprint.identity();
        if ancestors.contains(&identity) {
            // The link may change to another folder.
            listing.add_link(folder, fingerprint);
            return Ok(Vec::new());
        }
        let limits = self.limits;
        if ancestors.len() > limits.depth {
            return Err(self.limit_error("depth of folders", limits.depth, "limit_folder_depth"));
        }
        let number = listing.folders.len();
        listing.add_folder(folder);
        listing.fingerprints.push(fingerprint);
        let inner = self.names(&open, number, listing)?;
        if inner.is_empty() {
            return Ok(Vec::new());
        }
        // Subfolders are opened relative to this folder, or to the same ancestor.
        let (open, relative) = match parent {
            Some((outer, relative))
                if ancestors.len() >= MAX_OPEN_LEVELS && relative.as_bytes().len() < MAX_RELATIVE_PATH =>
            {
                (outer, [relative.as_bytes(), b"/"].concat())
            }
            _ => (Arc::new(open), Vec::new()),
        };
        let ancestors = ancestors.iter().copied().chain([identity]).collect::<Arc<_>>();
        let folder = &listing.folders[number];
        let pending = |name: CString| Pending {
            folder: folder.inner(OsStr::from_bytes(name.as_bytes())),
            parent: Some((
                open.clone(),
                match &*relative {
                    [] => name,
                    relative => CString::new([relative, name.as_bytes()].concat()).unwrap_or_default(),
                },
            )),
            ancestors: ancestors.clone(),
        };
        Ok(inner.into_iter().map(pending).collect())
    }

    /// Adds the files of an open folder to a listing, where the folder has this number. Returns the sorted
    /// names of its subfolders.
    fn names(&self, open: &OwnedFd, number: usize, listing: &mut Listing) -> Result<Vec<CString>> {
        let failed = |listing: &Listing, error: Errno| unreadable(listing.folders[number].path(), error);
        let mut inner = Vec::new();
        let mut buffer = vec![MaybeUninit::uninit(); 32768];
        let mut entries = RawDir::new(open, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| failed(listing, error))?;
            let name = entry.file_name();
            // The folder itself and its parent.
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let limit = self.limits.files;
            if self.count.fetch_add(1, Ordering::Relaxed) >= limit {
                return Err(self.limit_error("number of files and folders", limit, "limit_files"));
            }
            if name.to_bytes().starts_with(b".") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let stat = rustix::fs::statat(open, name, AtFlags::SYMLINK_NOFOLLOW);
                kind = FileType::from_raw_mode(stat.map_err(|error| failed(listing, error))?.st_mode);
            }
            if kind == FileType::Symlink {
                listing.links = true;
                kind = self.link_target_type(open, name, number, listing)?;
            }
            if kind == FileType::Directory {
                if !matches!(name.to_bytes(), b"CVS" | b"SCCS") {
                    inner.push(name.to_owned());
                }
            } else if stem(name.to_bytes()).is_some() {
                listing.add(number, name.to_bytes());
            }
        }
        inner.sort_unstable();
        Ok(inner)
    }

    /// The type of a link's target; `Symlink` if there is none. A target that is no folder may become one.
    /// The target's fingerprint shows that; without a target, the folder's fingerprint is distrusted.
    ///
    /// If the type is unknown, a name of a YAML file counts as a file, with an error only for those who
    /// read it. Any other name may be a folder full of files, so it is an error.
    fn link_target_type(
        &self,
        open: &OwnedFd,
        name: &CStr,
        number: usize,
        listing: &mut Listing,
    ) -> Result<FileType> {
        let bytes = name.to_bytes();
        match rustix::fs::statat(open, name, AtFlags::empty()) {
            Ok(stat) => {
                let kind = FileType::from_raw_mode(stat.st_mode);
                if kind != FileType::Directory {
                    let link = listing.folders[number].inner(OsStr::from_bytes(bytes));
                    listing.add_link(link, DiskFingerprint::of(&stat, self.young));
                }
                return Ok(kind);
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(_) if stem(bytes).is_some() => {}
            Err(error) => {
                let path = listing.folders[number].join(OsStr::from_bytes(bytes));
                let message = format!("what the link leads to: {}", reason(&error.into()));
                return Err(Fault::new(Kind::FileUnreadable { path: display(&path), message }).into());
            }
        }
        listing.fingerprints[number].distrust();
        Ok(FileType::Symlink)
    }
}

fn unreadable(folder: &Path, error: impl Into<io::Error>) -> Error {
    folder_unreadable(folder, &error.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::fs::put;

    const LIMITS: TreeLimits = TreeLimits { files: 1000, depth: 10, bytes: 100 };

    /// A tree of `wide` folders, each with a subfolder, and a file in every folder.
    fn tree(wide: usize) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for number in 0..wide {
            for path in [format!("a/f{number}/x.yml"), format!("a/f{number}/in/y.yml")] {
                put(&root.path().join(path), b"", false).expect("written");
            }
        }
        root
    }

    fn paths(listing: &Listing) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = (0..listing.len()).map(|file| listing.found(file).path()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn threads_find_what_one_finds() {
        for wide in [3, 64, 150] {
            let root = tree(wide);
            let roots = [root.path().join("a"), root.path().to_owned()];
            let one = list(&roots, LIMITS, 1).expect("a listing");
            assert_eq!((one.len(), one.folders.len()), (4 * wide, 4 * wide + 3));
            for threads in [2, 5] {
                let several = list(&roots, LIMITS, threads).expect("a listing");
                assert_eq!(paths(&several), paths(&one));
                assert_eq!(several.folders.len(), one.folders.len());
                for (number, folder) in several.folders.iter().enumerate() {
                    let same = one.folders.iter().position(|other| other == folder).expect("the folder");
                    assert!(
                        several.fingerprints[number].is_same_file_state(&one.fingerprints[same]),
                        "{folder:?}"
                    );
                    let ancestors = folder.path().parent().expect("a parent folder");
                    let before = &several.folders[..number];
                    assert!(folder.is_root() || before.iter().any(|other| other.path() == ancestors));
                }
            }
        }
    }

    #[test]
    fn threads_meet_as_many_as_one_may() {
        let root = tree(100);
        let roots = [root.path().to_owned()];
        // The folder `a`, and four entries for each of the others.
        for threads in [1, 3] {
            let limits = |files| TreeLimits { files, ..LIMITS };
            assert!(list(&roots, limits(401), threads).is_ok());
            let error = list(&roots, limits(400), threads).expect_err("one too many");
            assert!(matches!(&error.first().kind, Kind::YamlLimit { limit: 400, .. }), "{error:?}");
        }
    }

    #[test]
    fn links_back_are_not_followed_by_threads() {
        let root = tree(80);
        for number in [0, 40, 79] {
            put(&root.path().join(format!("a/f{number}/in/back")), b"../..", true).expect("a link");
        }
        let roots = [root.path().to_owned()];
        let listings = [1, 2].map(|threads| list(&roots, LIMITS, threads).expect("a listing"));
        assert!(listings.iter().all(|listing| listing.links && listing.len() == 160));
    }

    /// The child process of the next test, with 64 descriptors.
    #[test]
    #[ignore = "run by another in a process of its own"]
    fn list_with_few_descriptors() {
        let root = PathBuf::from(std::env::args().next_back().expect("a folder"));
        let limits = TreeLimits { files: 100_000, depth: 200, ..LIMITS };
        let listing = list(&[root], limits, 4).expect("a listing");
        assert_eq!(listing.len(), 70 * 60);
    }

    #[test]
    fn deep_trees_take_few_descriptors() {
        let root = tempfile::tempdir().expect("a folder");
        for wide in 0..70 {
            let mut relative = format!("w{wide}");
            for _ in 0..60 {
                relative.push_str("/d");
                put(&root.path().join(&relative).join("e/x.yml"), b"", false).expect("written");
            }
        }
        let program = std::env::current_exe().expect("this program");
        let test = "storage::walk::tests::list_with_few_descriptors";
        let command = r#"ulimit -n 64; exec "$0" "$1" --exact --ignored --nocapture --skip "$2""#;
        let status = std::process::Command::new("sh")
            .args(["-c", command])
            .arg(program)
            .arg(test)
            .arg(root.path())
            .status()
            .expect("a process");
        assert!(status.success());
    }
}
