//! The folders of one tree. A folder is listed when somebody first asks for its files, and listed again when
//! it changed.
//!
//! In one scan each folder is verified at most once. An answer depends on the versions of the folders that
//! were consulted for it: a version grows when the names in a folder change.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::TreeLimits;
use super::fs::{DiskFingerprint, SettledBefore, display, folder_unreadable, is_as_listed, reason};
use super::list::{FileNames, Folder, FoundFile, Listing, stem, text};
use crate::storage::os::RawDir;
use crate::storage::os::fd::OwnedFd;
use crate::storage::os::unix::ffi::OsStrExt;
use reclass_base::error::{Error, Fault, Kind, Result};

/// The flags for opening folders.
const OPEN_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Files whose state is in memory, and whether each exists. They count as such in their folders, whatever is on disk.
pub type Buffers = BTreeMap<PathBuf, bool>;

/// One check of folders.
pub struct FolderCheck<'a> {
    scan: u64,
    young: SettledBefore,
    /// Called with each folder before it is listed.
    listing: &'a dyn Fn(&Path),
    /// The files whose state is in memory.
    buffers: &'a Buffers,
}

impl<'a> FolderCheck<'a> {
    /// A check within a scan. `listing` is called with each folder before it is listed.
    pub fn new(scan: u64, listing: &'a dyn Fn(&Path), buffers: &'a Buffers) -> FolderCheck<'a> {
        FolderCheck { scan, young: SettledBefore::now(), listing, buffers }
    }
}

/// A folder that was consulted: its number, and its version then.
pub type Consulted = (usize, u64);

/// The folders of one tree. The first is the root.
#[derive(Debug)]
pub struct Folders {
    limits: TreeLimits,
    /// Whether the tree is in memory and never changes.
    fixed: bool,
    known: Vec<KnownFolder>,
    numbers: FxHashMap<Box<[u8]>, usize>,
    /// The number of listed folders with symbolic links.
    with_links: usize,
    /// The number of folders that could not be listed.
    failed: usize,
}

/// The number of the root.
pub const ROOT: usize = 0;

#[derive(Debug)]
struct KnownFolder {
    folder: Arc<Folder>,
    /// The device and inode of each folder above it.
    above: Identities,
    /// The same for the folders in it.
    below: Identities,
    /// `None` if nothing proves that it is unchanged.
    fingerprint: Option<DiskFingerprint>,
    /// The links in it that lead to no folder, with their targets.
    links: Vec<(Arc<OsStr>, DiskFingerprint)>,
    has_links: bool,
    entries: Result<FolderEntries>,
    version: u64,
    scan: u64,
}

type Identities = Arc<[(u64, u64)]>;

/// The names in a folder, sorted.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct FolderEntries {
    /// The YAML files.
    pub files: FileNames,
    /// The folders.
    pub inner: FileNames,
    /// The number of all files and folders.
    count: usize,
}

impl FolderEntries {
    /// The files whose name without extension is this text.
    pub fn files_named<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Arc<OsStr>> {
        files_named(&self.files, name)
    }

    /// The folders with this name.
    pub fn inner_named<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Arc<OsStr>> {
        named(&self.inner, name, |folder| folder)
    }
}

/// The files of a folder whose name without extension is this text.
pub fn files_named<'e>(files: &'e [Arc<OsStr>], name: &'e str) -> impl Iterator<Item = &'e Arc<OsStr>> {
    named(files, name, |file| stem(file).unwrap_or_default())
}

/// The names with this text in a sorted list. Several names that are not UTF-8 can have one text.
fn named<'e>(
    names: &'e [Arc<OsStr>],
    wanted: &'e str,
    part: fn(&[u8]) -> &[u8],
) -> impl Iterator<Item = &'e Arc<OsStr>> {
    let lossy = wanted.contains(char::REPLACEMENT_CHARACTER);
    let first = names.partition_point(|name| !lossy && part(name.as_bytes()) < wanted.as_bytes());
    let equal = move |name: &&Arc<OsStr>| text(part(name.as_bytes())) == wanted;
    names[first..].iter().take_while(move |name| lossy || equal(name)).filter(equal)
}

impl Folders {
    /// The tree with this root. Lists nothing yet.
    pub fn new(root: &Path, limits: TreeLimits) -> Folders {
        Folders::with_root(Folder::root(root), false, limits)
    }

    fn with_root(root: Folder, fixed: bool, limits: TreeLimits) -> Folders {
        let numbers = FxHashMap::default();
        let known = Vec::new();
        let mut folders = Folders { limits, fixed, known, numbers, with_links: 0, failed: 0 };
        folders.number(root, &Identities::default());
        folders
    }

    /// A tree in memory. All paths begin with `top`.
    pub fn of_listing(top: &str, listing: &Listing, limits: TreeLimits) -> Folders {
        let mut folders = Folders::with_root(Folder::of_repository(top, ""), true, limits);
        let none = Identities::default();
        for (folder, files) in &listing.folders {
            let mut number = ROOT;
            for name in folder.relative_text().split('/').filter(|name| !name.is_empty()) {
                let inner = folders.known[number].folder.inner(OsStr::new(name));
                if let Ok(entries) = &mut folders.known[number].entries
                    && entries.inner_named(name).next().is_none()
                {
                    let names = entries.inner.iter().cloned().chain([OsStr::new(name).into()]);
                    entries.inner = sorted(names.collect(), |folder| folder);
                }
                number = folders.number(inner, &none);
            }
            if let Ok(entries) = &mut folders.known[number].entries {
                let files = entries.files.iter().chain(&**files).cloned();
                entries.files = sorted(files.collect(), |file| stem(file).unwrap_or_default());
            }
        }
        folders
    }

    fn number(&mut self, folder: Folder, above: &Identities) -> usize {
        let path = folder.path().as_os_str().as_bytes();
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        let number = self.known.len();
        self.numbers.insert(path.into(), number);
        self.known.push(KnownFolder {
            folder: Arc::new(folder),
            above: above.clone(),
            below: Identities::default(),
            fingerprint: None,
            links: Vec::new(),
            has_links: false,
            entries: Ok(FolderEntries::default()),
            version: 0,
            scan: 0,
        });
        number
    }

    /// A subfolder. It is neither listed nor verified yet.
    pub fn inner(&mut self, outer: usize, name: &OsStr) -> usize {
        let outer = &self.known[outer];
        let (folder, above) = (outer.folder.inner(name), outer.below.clone());
        let number = self.number(folder, &above);
        let inner = &mut self.known[number];
        if inner.above != above {
            inner.above = above;
            inner.distrust();
        }
        number
    }

    /// The current names in a folder, recorded as consulted.
    pub fn entries(
        &mut self,
        folder: usize,
        check: &FolderCheck<'_>,
        consulted: &mut Vec<Consulted>,
    ) -> Result<FolderEntries> {
        consulted.push((folder, self.version(folder, check)));
        self.known[folder].entries.clone()
    }

    /// A file of a folder.
    pub fn found(&self, folder: usize, file: &Arc<OsStr>) -> FoundFile {
        FoundFile { folder: self.known[folder].folder.clone(), file: file.clone() }
    }

    /// Whether the names in these folders are still the same.
    pub fn hold(&mut self, consulted: &[Consulted], check: &FolderCheck<'_>) -> bool {
        consulted.iter().all(|(folder, version)| self.version(*folder, check) == *version)
    }

    /// Whether the names in all folders that were verified in an earlier scan are still the same.
    pub fn hold_since(&mut self, scan: u64, check: &FolderCheck<'_>) -> bool {
        let verified =
            |(number, known): (usize, &KnownFolder)| (known.scan == scan).then_some((number, known.version));
        let consulted: Vec<Consulted> = self.known.iter().enumerate().filter_map(verified).collect();
        self.hold(&consulted, check)
    }

    /// All files in the folders that `enters` chooses by their path below the root.
    pub fn all(
        &mut self,
        enters: &dyn Fn(&str) -> bool,
        check: &FolderCheck<'_>,
        consulted: &mut Vec<Consulted>,
    ) -> Result<Listing> {
        let (mut listing, mut count, mut waiting) = (Listing::default(), 0, vec![ROOT]);
        let known = self.known.len();
        while let Some(number) = waiting.pop() {
            let entries = self.entries(number, check, consulted)?;
            count += entries.count;
            if count > self.limits.files {
                // With links, a few folders are a tree without end. It must not stay in memory.
                self.known.truncate(known);
                self.numbers.retain(|_, number| *number < known);
                self.with_links = self.known.iter().filter(|known| known.has_links).count();
                self.failed = self.known.iter().filter(|known| known.entries.is_err()).count();
                return Err(self.too_many());
            }
            for name in entries.inner.iter().rev() {
                if enters(&self.known[number].folder.inner(name).relative_text()) {
                    waiting.push(self.inner(number, name));
                }
            }
            listing.folders.push((self.known[number].folder.clone(), entries.files));
        }
        Ok(listing)
    }

    /// The paths of the folders that were listed; empty for a tree in memory.
    pub fn listed(&self) -> impl Iterator<Item = &Path> {
        let listed = self.known.iter().filter(|known| known.fingerprint.is_some());
        listed.map(|known| known.folder.path())
    }

    /// Whether there are symbolic links in the listed folders.
    pub fn have_links(&self) -> bool {
        self.with_links > 0
    }

    /// Whether a folder could not be listed. No event says that it can be.
    pub fn have_failed(&self) -> bool {
        self.failed > 0
    }

    /// Makes the next question list the folder of a file again, if the file appeared or disappeared.
    pub fn notice(&mut self, path: &Path) -> bool {
        let (Some(folder), Some(file)) = (path.parent(), path.file_name()) else { return false };
        let Some(number) = self.numbers.get(folder.as_os_str().as_bytes()) else { return false };
        let known = &mut self.known[*number];
        let listed = |entries: &FolderEntries| entries.files.iter().any(|name| **name == *file);
        if is_as_listed(path, known.entries.as_ref().is_ok_and(listed)) {
            return false;
        }
        known.distrust();
        true
    }

    /// Makes the next question list the folders of a file again, because a text in memory takes its place or no
    /// longer does.
    pub fn distrust_folders_of(&mut self, file: &Path) {
        for folder in file.ancestors().skip(1) {
            if let Some(number) = self.numbers.get(folder.as_os_str().as_bytes()) {
                self.known[*number].distrust();
            }
        }
    }

    /// The current version of a folder.
    fn version(&mut self, number: usize, check: &FolderCheck<'_>) -> u64 {
        let known = &mut self.known[number];
        if !self.fixed && known.scan != check.scan {
            if !known.is_unchanged(check.young) {
                (check.listing)(known.folder.path());
                self.with_links -= usize::from(known.has_links);
                self.failed -= usize::from(known.entries.is_err());
                known.list(self.limits, check);
                self.with_links += usize::from(known.has_links);
                self.failed += usize::from(known.entries.is_err());
            }
            known.scan = check.scan;
            if known.entries.is_err() {
                return self.distrust_above(number);
            }
        }
        known.version
    }

    /// Makes the next question list the folder above one that cannot be listed: a link to a folder that is gone
    /// changes nothing in the folder that has the link. Returns the version of the inner folder.
    fn distrust_above(&mut self, number: usize) -> u64 {
        let above = self.known[number].folder.path().parent().map(|path| path.as_os_str().as_bytes());
        if let Some(above) = above.and_then(|path| self.numbers.get(path)).copied() {
            self.known[above].distrust();
        }
        self.known[number].version
    }

    /// The most files and folders.
    pub fn limit(&self) -> usize {
        self.limits.files
    }

    /// The error of a tree with too many files and folders.
    pub fn too_many(&self) -> Error {
        limit_error(&self.known[ROOT].folder, "number of files and folders", self.limits.files, "limit_files")
    }
}

impl KnownFolder {
    fn distrust(&mut self) {
        (self.scan, self.fingerprint) = (0, None);
    }

    /// Whether the folder and the targets of its links are unchanged. Replaces their fingerprints.
    fn is_unchanged(&mut self, young: SettledBefore) -> bool {
        let proved = |path: &Path, before: &mut DiskFingerprint| match rustix::fs::stat(path) {
            Ok(stat) => {
                let now = DiskFingerprint::of(&stat, young);
                let proved = now.proves_unchanged(before);
                *before = now;
                proved
            }
            Err(_) => false,
        };
        let Some(fingerprint) = &mut self.fingerprint else { return false };
        proved(self.folder.path(), fingerprint)
            && self.links.iter_mut().all(|(name, target)| proved(&self.folder.join(name), target))
    }

    /// Lists the folder. A link back to a folder above counts as an empty folder (S17).
    fn list(&mut self, limits: TreeLimits, check: &FolderCheck<'_>) {
        let mut reading =
            Reading { folder: &self.folder, limits, young: check.young, links: Vec::new(), has_links: false };
        (self.fingerprint, self.below) = (None, Identities::default());
        let entries = reading.open().and_then(|(open, mut fingerprint)| {
            let identity = fingerprint.identity();
            if self.above.contains(&identity) {
                self.fingerprint = Some(fingerprint);
                reading.has_links = true;
                return Ok(FolderEntries::default());
            }
            if self.above.len() > limits.depth {
                let (depth, setting) = (limits.depth, "limit_folder_depth");
                return Err(limit_error(&self.folder, "depth of folders", depth, setting));
            }
            let entries = reading.entries(&open, &mut fingerprint)?;
            self.fingerprint = Some(fingerprint);
            self.below = self.above.iter().copied().chain([identity]).collect();
            Ok(entries)
        });
        let entries = with_buffers(entries, self.folder.path(), check.buffers);
        (self.links, self.has_links) = (reading.links, reading.has_links);
        if self.entries != entries {
            self.entries = entries;
            self.version += 1;
        }
    }
}

/// The names in a folder with those of the files in memory below it, and without those that are deleted there. A
/// folder that has such a file may be missing.
fn with_buffers(entries: Result<FolderEntries>, folder: &Path, buffers: &Buffers) -> Result<FolderEntries> {
    let (mut files, mut inner): (BTreeMap<&OsStr, bool>, BTreeSet<&OsStr>) = Default::default();
    let below = buffers.iter().filter_map(|(path, exists)| Some((path.strip_prefix(folder).ok()?, *exists)));
    for (path, exists) in below.filter(|(path, _)| !path.iter().any(|name| is_left_out(name.as_bytes()))) {
        let mut names = path.iter();
        match (names.next(), names.next()) {
            (Some(file), None) if stem(file.as_bytes()).is_some() => drop(files.insert(file, exists)),
            (Some(folder), Some(_)) if exists => drop(inner.insert(folder)),
            _ => {}
        }
    }
    if files.is_empty() && inner.is_empty() {
        return entries;
    }
    let mut entries = match entries {
        Err(error) if matches!(error.first().kind, Kind::DirectoryNotFound { .. }) => {
            FolderEntries::default()
        }
        entries => entries?,
    };
    let others = entries.files.iter().filter(|known| !files.contains_key(&***known)).cloned();
    let there = files.iter().filter(|(_, exists)| **exists).map(|(name, _)| Arc::from(*name));
    entries.files = sorted(others.chain(there).collect(), |file| stem(file).unwrap_or_default());
    let new = inner.into_iter().filter(|name| !entries.inner.iter().any(|known| **known == **name));
    let new = new.map(Arc::from);
    entries.inner = sorted(entries.inner.iter().cloned().chain(new).collect(), |folder| folder);
    Ok(entries)
}

/// Whether no file and no folder with this name counts (S17).
fn is_left_out(name: &[u8]) -> bool {
    name.starts_with(b".") || matches!(name, b"CVS" | b"SCCS")
}

fn limit_error(folder: &Folder, what: &str, limit: usize, setting: &'static str) -> Error {
    let what = format!("the {what} in '{}'", display(folder.root_path()));
    Fault::new(Kind::YamlLimit { what, limit, setting: Some(setting) }).into()
}

/// A folder while it is read.
struct Reading<'a> {
    folder: &'a Folder,
    limits: TreeLimits,
    young: SettledBefore,
    links: Vec<(Arc<OsStr>, DiskFingerprint)>,
    has_links: bool,
}

impl Reading<'_> {
    fn failed(&self, error: Errno) -> Error {
        folder_unreadable(self.folder.path(), &io::Error::from(error)).into()
    }

    fn open(&self) -> Result<(OwnedFd, DiskFingerprint)> {
        let open = rustix::fs::open(self.folder.path(), OPEN_FLAGS, Mode::empty());
        let open = open.map_err(|error| self.failed(error))?;
        let fingerprint = DiskFingerprint::of_open(&open, self.young).map_err(|error| self.failed(error))?;
        Ok((open, fingerprint))
    }

    /// The names of files and folders. Hidden ones, `CVS` and `SCCS` are left out (S17).
    fn entries(&mut self, open: &OwnedFd, fingerprint: &mut DiskFingerprint) -> Result<FolderEntries> {
        let (mut files, mut inner, mut count) = (Vec::new(), Vec::new(), 0);
        let mut buffer = Vec::with_capacity(32_768);
        let mut entries = RawDir::new(open, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|error| self.failed(error))?;
            let name = entry.file_name();
            // The folder itself and its parent.
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            count += 1;
            if count > self.limits.files {
                let (limit, setting) = (self.limits.files, "limit_files");
                return Err(limit_error(self.folder, "number of files and folders", limit, setting));
            }
            if name.to_bytes().starts_with(b".") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                let stat = rustix::fs::statat(open, name, AtFlags::SYMLINK_NOFOLLOW);
                kind = FileType::from_raw_mode(stat.map_err(|error| self.failed(error))?.st_mode);
            }
            if kind == FileType::Symlink {
                self.has_links = true;
                kind = self.link_target_type(open, name, fingerprint)?;
            }
            let bytes = name.to_bytes();
            if kind == FileType::Directory {
                if !matches!(bytes, b"CVS" | b"SCCS") {
                    inner.push(OsStr::from_bytes(bytes).into());
                }
            } else if stem(bytes).is_some() {
                files.push(OsStr::from_bytes(bytes).into());
            }
        }
        let files = sorted(files, |file| stem(file).unwrap_or_default());
        Ok(FolderEntries { files, inner: sorted(inner, |folder| folder), count })
    }

    /// The type of a link's target; `Symlink` if there is none. A target that is no folder may become one.
    /// The target's fingerprint shows that; without a target, the folder's fingerprint is distrusted.
    ///
    /// If the type is unknown, a name of a YAML file counts as a file, with an error only for those who
    /// read it. Any other name may be a folder full of files, so it is an error.
    fn link_target_type(
        &mut self,
        open: &OwnedFd,
        name: &CStr,
        fingerprint: &mut DiskFingerprint,
    ) -> Result<FileType> {
        let link = OsStr::from_bytes(name.to_bytes());
        match rustix::fs::statat(open, name, AtFlags::empty()) {
            Ok(stat) => {
                let kind = FileType::from_raw_mode(stat.st_mode);
                if kind != FileType::Directory {
                    self.links.push((link.into(), DiskFingerprint::of(&stat, self.young)));
                }
                return Ok(kind);
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(_) if stem(name.to_bytes()).is_some() => {}
            Err(error) => {
                let message = format!("what the link leads to: {}", reason(&error.into()));
                let path = display(&self.folder.join(link));
                return Err(Fault::new(Kind::FileUnreadable { path, message }).into());
            }
        }
        fingerprint.distrust();
        Ok(FileType::Symlink)
    }
}

/// Names sorted by their beginning, which `part` finds. Most comparisons are decided by eight bytes.
fn sorted(names: Vec<Arc<OsStr>>, part: fn(&[u8]) -> &[u8]) -> FileNames {
    let with_start = |name: Arc<OsStr>| {
        let beginning = part(name.as_bytes());
        let start =
            beginning.iter().chain(&[0; 8]).take(8).fold(0, |start: u64, byte| start << 8 | u64::from(*byte));
        (start, beginning.len(), name)
    };
    let mut names: Vec<(u64, usize, Arc<OsStr>)> = names.into_iter().map(with_start).collect();
    names.sort_unstable_by(|(start, end, one), (other_start, other_end, other)| {
        let (one, other) = (one.as_bytes(), other.as_bytes());
        let whole = || (&one[..*end], one).cmp(&(&other[..*other_end], other));
        start.cmp(other_start).then_with(whole)
    });
    names.into_iter().map(|(_, _, name)| name).collect()
}

/// Lists the `.yml` and `.yaml` files of trees once, and follows links.
pub fn list(roots: &[PathBuf], limits: TreeLimits) -> Result<Listing> {
    let none = Buffers::new();
    let check = FolderCheck::new(1, &|_| (), &none);
    let mut listing = Listing::default();
    for root in roots {
        listing.folders.extend(Folders::new(root, limits).all(&|_| true, &check, &mut Vec::new())?.folders);
    }
    Ok(listing)
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

    #[test]
    fn the_limit_counts_all_files_and_folders() {
        let root = tree(100);
        let roots = [root.path().to_owned()];
        // The folder `a`, and four entries for each of the others.
        let limits = |files| TreeLimits { files, ..LIMITS };
        assert_eq!(list(&roots, limits(401)).expect("a listing").files().count(), 200);
        let error = list(&roots, limits(400)).expect_err("one too many");
        assert!(matches!(&error.first().kind, Kind::YamlLimit { limit: 400, .. }), "{error:?}");
    }

    #[test]
    fn links_back_are_not_followed() {
        let root = tree(3);
        put(&root.path().join("a/f1/in/back"), b"../..", true).expect("a link");
        assert_eq!(list(&[root.path().to_owned()], LIMITS).expect("a listing").files().count(), 6);
    }

    #[test]
    fn names_that_are_not_utf_8_share_a_text() {
        let name = |bytes: &[u8]| -> Arc<OsStr> { OsStr::from_bytes(bytes).into() };
        let all = [&b"a\xff.yml"[..], b"a.yml", b"a\xfe.yaml", b"a-b.yml", b"a.yaml", b"b.yml"].map(name);
        let entries = FolderEntries {
            files: sorted(all.to_vec(), |file| stem(file).unwrap_or_default()),
            ..FolderEntries::default()
        };
        let count = |text| entries.files_named(text).count();
        assert_eq!(["a", "a-b", "b", "a\u{fffd}", "c", ""].map(count), [2, 1, 1, 2, 0, 0]);
    }
}
