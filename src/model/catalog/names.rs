//! Names of nodes and classes, computed from a listing of files, with a lookup in both directions.
//!
//! A question about an unknown inventory needs all names, if only to find names with several files, but the
//! details of only a few. So all names share one string, and an entry is built when it is first requested.

use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hashbrown::HashTable;
use once_cell::race::OnceBox;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::base::error::{Fault, Kind};
use crate::base::lock::Mutex;
use crate::base::pattern::Glob;
use crate::base::settings::Settings;
use crate::base::source::Site;
use crate::base::value::Text;
use crate::storage::fs::display;
use crate::storage::{FoundFile, Listing};

/// A node or class with its file.
#[derive(Clone, Debug)]
pub struct CatalogEntry {
    /// The name of the node or class.
    pub name: Text,
    /// Whether the file is an `init.yml`.
    pub init: bool,
    /// Whether it is a class.
    pub is_class: bool,
    /// Other files with the same name. With any of them, the name is an error (S6).
    others: Vec<Arc<Path>>,
    /// The URI scheme of the path.
    scheme: &'static str,
    /// The file; `None` for a node that only class mappings define.
    found: Option<FoundFile>,
    path: OnceLock<Arc<Path>>,
}

/// The scheme of a path on disk.
pub const FOLDER: &str = "yaml_fs://";
/// The scheme of a path in a repository: its address, the branch and the path, separated by spaces.
pub const REPOSITORY: &str = "git_fs://";

impl CatalogEntry {
    /// A node without a file.
    pub fn without_file(name: Text) -> CatalogEntry {
        let others = Vec::new();
        CatalogEntry {
            name,
            init: false,
            is_class: false,
            others,
            scheme: FOLDER,
            found: None,
            path: OnceLock::new(),
        }
    }

    /// The absolute path on disk, or repository, branch and path; empty without a file. Built on first use.
    pub fn path(&self) -> &Arc<Path> {
        self.path.get_or_init(|| self.found.as_ref().map(FoundFile::path).unwrap_or_default().into())
    }

    /// All files with this name, sorted by path.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<Path>> {
        std::iter::once(self.path()).chain(&self.others)
    }

    /// One entry for each file with this name, as if it were the only one.
    pub fn files(&self) -> impl Iterator<Item = CatalogEntry> {
        let alone = |path: &Arc<Path>| CatalogEntry {
            others: Vec::new(),
            path: OnceLock::from(path.clone()),
            ..self.clone()
        };
        self.paths().map(alone)
    }

    /// Whether several files have this name.
    pub fn has_duplicates(&self) -> bool {
        !self.others.is_empty()
    }

    /// The fault that several files have this name.
    pub fn clash(&self) -> Option<Fault> {
        if !self.has_duplicates() {
            return None;
        }
        let files = self.paths().map(|path| display(path)).collect();
        let what = if self.is_class { "class" } else { "node" };
        let kind = Kind::DuplicateDefinition { what, name: self.name.to_string(), files };
        Some(Fault::new(kind).at_site(Site::file(display(self.path()))))
    }

    /// Whether this is the path of one of its files.
    pub fn is_at(&self, path: &Path) -> bool {
        self.found.as_ref().is_some_and(|found| found.is_at(path))
            || self.others.iter().any(|other| other.as_os_str() == path.as_os_str())
    }

    /// The URI of its file, as the Python programs write it.
    pub fn uri(&self) -> String {
        format!("{}{}", self.scheme, display(self.path()))
    }

    /// The path of a node without extension, for `class_mappings_match_path`. It begins below the root, in
    /// a repository at the top.
    pub fn pathname(&self, settings: &Settings) -> Text {
        let Some(found) = &self.found else { return self.name.clone() };
        let (inside, stem) = (found.folder.relative_text(), found.stem());
        match (inside.is_empty(), settings.compose_node_name || self.scheme == REPOSITORY) {
            (true, true) => (&*stem).into(),
            // The forks add `./`, and existing patterns expect it (S19).
            (true, false) => format!("./{stem}").into(),
            (false, _) => format!("{inside}/{stem}").into(),
        }
    }

    /// The parts of a node name for automatic parameters: folders and file for composed names.
    pub fn parts(&self, settings: &Settings) -> Vec<Text> {
        let Some(found) = &self.found else { return vec![self.name.clone()] };
        if settings.compat_flags.split_literal_dots {
            return self.name.split('.').map(Text::from).collect();
        }
        let inside = found.folder.relative_text();
        let folders = if super::is_composed(&inside, settings) { &*inside } else { "" };
        let folders = folders.split('/').filter(|folder| !folder.is_empty());
        folders.map(Text::from).chain(std::iter::once((&*found.stem()).into())).collect()
    }
}

/// Entries are equal if name and files are equal.
impl PartialEq for CatalogEntry {
    fn eq(&self, other: &CatalogEntry) -> bool {
        (&self.name, self.scheme, &self.found, &self.others)
            == (&other.name, other.scheme, &other.found, &other.others)
    }
}

/// The names of one tree.
#[derive(Default, Debug)]
pub struct NameIndex {
    is_class: bool,
    scheme: &'static str,
    listing: Listing,
    table: NameTable,
    /// The other files of a name, by the first file in path order.
    duplicates: FxHashMap<usize, Vec<usize>>,
    /// One slot for each file of the listing, filled on demand.
    items: Box<[OnceLock<Box<CatalogEntry>>]>,
    /// The files sorted by name, filled on demand.
    order: OnceLock<Box<[usize]>>,
    /// The names that match a pattern, computed once.
    matching: Mutex<FxHashMap<Text, Arc<[Text]>>>,
}

/// The most patterns with known matches. References can make any number of patterns.
const MAX_PATTERNS: usize = 1_024;

/// The names of files, in the order of the listing.
#[derive(Default, Debug)]
struct NameTable {
    /// All names, concatenated.
    text: String,
    /// The end of each name in `text`, and whether the file is an `init.yml`.
    ends: Vec<(usize, bool)>,
    /// Maps a name to its first file.
    index: HashTable<usize>,
    /// Files whose name already exists.
    repeated: Vec<usize>,
}

impl NameTable {
    fn name(&self, number: usize) -> &str {
        nth(&self.text, &self.ends, number)
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.index.find(FxBuildHasher.hash_one(name), |number| self.name(*number) == name).copied()
    }

    /// Adds the name of the next file.
    fn add(&mut self, name: &str, init: bool) {
        let hash = FxBuildHasher.hash_one(name);
        let exists = self.index.find(hash, |number| self.name(*number) == name).is_some();
        let number = self.ends.len();
        self.text.push_str(name);
        self.ends.push((self.text.len(), init));
        if exists {
            self.repeated.push(number);
            return;
        }
        let NameTable { text, ends, index, .. } = self;
        index.insert_unique(hash, number, |number| FxBuildHasher.hash_one(nth(text, ends, *number)));
    }

    /// Maps each name with several files to the first file in path order, and returns the others. Listings
    /// are unordered.
    fn duplicates(&mut self, listing: &Listing) -> FxHashMap<usize, Vec<usize>> {
        let mut duplicates: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let repeated = std::mem::take(&mut self.repeated);
        for number in &repeated {
            let first = self.find(self.name(*number)).unwrap_or(*number);
            duplicates.entry(first).or_default().push(*number);
        }
        duplicates
            .into_iter()
            .map(|(first_listed, mut files)| {
                files.push(first_listed);
                files.sort_by_cached_key(|file| listing.found(*file).path());
                let first = files.remove(0);
                let NameTable { text, ends, index, .. } = &mut *self;
                let name = nth(text, ends, first_listed);
                if let Some(number) =
                    index.find_mut(FxBuildHasher.hash_one(name), |number| *number == first_listed)
                {
                    *number = first;
                }
                (first, files)
            })
            .collect()
    }
}

fn nth<'t>(text: &'t str, ends: &[(usize, bool)], number: usize) -> &'t str {
    let start = number.checked_sub(1).map_or(0, |before| ends[before].0);
    &text[start..ends[number].0]
}

/// The names of listed files. `prefix` returns the common name prefix in a folder. `name` receives a full name
/// and the length of its prefix, and returns the final name and whether the file is an `init.yml`.
pub(super) fn index(
    listing: Listing,
    (is_class, scheme): (bool, &'static str),
    prefix: impl Fn(&str) -> String,
    name: impl Fn(&str, usize) -> (&str, bool),
) -> NameIndex {
    let count = listing.len();
    let mut table = NameTable {
        text: String::with_capacity(count * 24),
        ends: Vec::with_capacity(count),
        index: HashTable::with_capacity(count),
        repeated: Vec::new(),
    };
    let (mut folder, mut whole, mut begin) = (None, String::new(), 0);
    for file in 0..count {
        let inside = listing.folder(file);
        if folder.is_none_or(|before| !Arc::ptr_eq(before, inside)) {
            folder = Some(inside);
            whole = prefix(&inside.relative_text());
            begin = whole.len();
        }
        whole.truncate(begin);
        whole.push_str(&listing.stem(file));
        let (name, init) = name(&whole, begin);
        table.add(name, init);
    }
    NameIndex {
        is_class,
        scheme,
        items: (0..count).map(|_| OnceLock::new()).collect(),
        duplicates: table.duplicates(&listing),
        listing,
        table,
        order: OnceLock::new(),
        matching: Mutex::default(),
    }
}

impl NameIndex {
    /// The index without names.
    pub fn none() -> &'static NameIndex {
        // Must never block: the thread that was writing it during a fork does not exist in the child.
        static NONE: OnceBox<NameIndex> = OnceBox::new();
        NONE.get_or_init(Box::default)
    }

    fn path(&self, number: usize) -> Arc<Path> {
        self.listing.found(number).path().into()
    }

    fn item(&self, number: usize) -> &CatalogEntry {
        self.items[number].get_or_init(|| {
            Box::new(CatalogEntry {
                name: self.table.name(number).into(),
                init: self.table.ends[number].1,
                is_class: self.is_class,
                others: self
                    .duplicates
                    .get(&number)
                    .into_iter()
                    .flatten()
                    .map(|file| self.path(*file))
                    .collect(),
                scheme: self.scheme,
                found: Some(self.listing.found(number)),
                path: OnceLock::new(),
            })
        })
    }

    /// The entry of a name.
    pub fn get(&self, name: &str) -> Option<&CatalogEntry> {
        self.table.find(name).map(|number| self.item(number))
    }

    /// Whether the name exists.
    pub fn contains_key(&self, name: &str) -> bool {
        self.table.find(name).is_some()
    }

    /// The number of names.
    pub fn count(&self) -> usize {
        self.table.index.len()
    }

    /// All entries, sorted by name.
    pub fn values(&self) -> impl Iterator<Item = &CatalogEntry> + Clone {
        let order = self.order.get_or_init(|| {
            let mut order: Vec<usize> = self.table.index.iter().copied().collect();
            order.sort_unstable_by_key(|number| self.table.name(*number));
            order.into()
        });
        order.iter().map(|number| self.item(*number))
    }

    /// All names, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &Text> + Clone {
        self.values().map(|item| &item.name)
    }

    /// The names that match a glob, sorted.
    pub fn matching(&self, pattern: &Text) -> Arc<[Text]> {
        if let Some(known) = self.matching.lock().get(pattern) {
            return known.clone();
        }
        let glob = Glob::new(pattern);
        let matching: Arc<[Text]> = self.keys().filter(|name| glob.matches(name)).cloned().collect();
        let mut known = self.matching.lock();
        if known.len() >= MAX_PATTERNS {
            known.clear();
        }
        known.insert(pattern.clone(), matching.clone());
        matching
    }

    /// The entry of a name, if one of its files has this path.
    pub fn at(&self, name: &str, path: &Path) -> Option<&CatalogEntry> {
        self.get(name).filter(|item| item.is_at(path))
    }

    /// The entries with several files, unordered.
    pub fn with_duplicates(&self) -> impl Iterator<Item = &CatalogEntry> {
        let mut index: Vec<usize> = self.duplicates.keys().copied().collect();
        index.sort_unstable();
        index.into_iter().map(|number| self.item(number))
    }

    /// A fault for each name with several files, sorted by name.
    pub fn clashes(&self) -> Vec<Fault> {
        let mut items: Vec<&CatalogEntry> = self.with_duplicates().collect();
        items.sort_unstable_by_key(|item| &item.name);
        items.into_iter().filter_map(CatalogEntry::clash).collect()
    }
}

/// Indexes are equal if they have the same names for the same files.
impl PartialEq for NameIndex {
    fn eq(&self, other: &NameIndex) -> bool {
        let repeated = |number: usize| {
            let found = other.table.find(self.table.name(number));
            found.is_some_and(|found| self.listing.is_same_file(number, &other.listing, found))
        };
        self.scheme == other.scheme
            && self.items.len() == other.items.len()
            && if self.duplicates.is_empty() && other.duplicates.is_empty() {
                (0..self.items.len()).all(repeated)
            } else {
                self.values().eq(other.values())
            }
    }
}
