//! NameIndex turn the files of a tree into what each is called, and back into the one that a name stands
//! for.
//!
//! Every question about an unknown inventory needs all names, if only to know that no name has two
//! files, and asks for a few of them: all stand one behind another in one text, and what is more to
//! be known of one is put together when it is asked for.

use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::base::error::{Fault, Kind};
use crate::base::settings::Settings;
use crate::base::source::Site;
use crate::base::value::Text;
use crate::storage::fs::display;
use crate::storage::{FoundFile, Listing};

/// What a name stands for.
#[derive(Clone, Debug)]
pub struct CatalogEntry {
    /// The name of the node or class.
    pub name: Text,
    /// Whether the file is an `init.yml`.
    pub init: bool,
    /// Whether it is a class.
    pub is_class: bool,
    /// Further files of the repeated name: with any, none of them counts (S6).
    others: Vec<Arc<Path>>,
    /// What the path of its file is, as an address begins.
    scheme: &'static str,
    /// The file; a node that mappings alone make has none.
    found: Option<FoundFile>,
    path: OnceLock<Arc<Path>>,
}

/// A path of the file system.
pub const FOLDER: &str = "yaml_fs://";
/// A path of a repository, behind its address and the branch, with a space in between.
pub const REPOSITORY: &str = "git_fs://";

impl CatalogEntry {
    /// A node that has no file.
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

    /// Its file: an absolute path, or repository, branch and path; empty where there is none. Put
    /// together when it is first asked for.
    pub fn path(&self) -> &Arc<Path> {
        self.path.get_or_init(|| self.found.as_ref().map(FoundFile::path).unwrap_or_default().into())
    }

    /// All files of its name, sorted by path.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<Path>> {
        std::iter::once(self.path()).chain(&self.others)
    }

    /// Each file of its name, as if it were the only one.
    pub fn files(&self) -> impl Iterator<Item = CatalogEntry> {
        let alone = |path: &Arc<Path>| CatalogEntry {
            others: Vec::new(),
            path: OnceLock::from(path.clone()),
            ..self.clone()
        };
        self.paths().map(alone)
    }

    /// Whether other files have its name too.
    pub fn has_duplicates(&self) -> bool {
        !self.others.is_empty()
    }

    /// That there are several.
    pub fn clash(&self) -> Option<Fault> {
        if !self.has_duplicates() {
            return None;
        }
        let files = self.paths().map(|path| display(path)).collect();
        let what = if self.is_class { "class" } else { "node" };
        let kind = Kind::DuplicateDefinition { what, name: self.name.to_string(), files };
        Some(Fault::new(kind).at_site(Site::file(display(self.path()))))
    }

    /// Whether this is the path of its file, or of another one of its name.
    pub fn is_at(&self, path: &Path) -> bool {
        self.found.as_ref().is_some_and(|found| found.is_at(path))
            || self.others.iter().any(|other| other.as_os_str() == path.as_os_str())
    }

    /// The address of its file, as the Python programs write it.
    pub fn uri(&self) -> String {
        format!("{}{}", self.scheme, display(self.path()))
    }

    /// The path of a node below the root without extension, for `class_mappings_match_path`. In a
    /// repository it begins at the top.
    pub fn pathname(&self, settings: &Settings) -> Text {
        let Some(found) = &self.found else { return self.name.clone() };
        let (inside, stem) = (found.folder.relative_text(), found.stem());
        match (inside.is_empty(), settings.compose_node_name || self.scheme == REPOSITORY) {
            (true, true) => (&*stem).into(),
            // The forks say so, and patterns were written for it (S19).
            (true, false) => format!("./{stem}").into(),
            (false, _) => format!("{inside}/{stem}").into(),
        }
    }

    /// The keys of the name of a node for automatic parameters: folders and file where names are
    /// composed.
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

/// Equal are items of the repeated name and file.
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
    /// The other files of a name, for the first one by path.
    duplicates: FxHashMap<usize, Vec<usize>>,
    /// What they stand for, as many as files of the listing, where somebody asked.
    items: Box<[OnceLock<Box<CatalogEntry>>]>,
    /// Their files, sorted by name, where somebody asked for all.
    order: OnceLock<Box<[usize]>>,
}

/// The names of files, in the order in which the files were given.
#[derive(Default, Debug)]
struct NameTable {
    /// One behind another.
    text: String,
    /// Where each ends, and whether it is that of an `init.yml`.
    ends: Vec<(usize, bool)>,
    /// Which file has a name.
    index: HashTable<usize>,
    /// Files whose name another one has.
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
        let known = self.index.find(hash, |number| self.name(*number) == name).is_some();
        let number = self.ends.len();
        self.text.push_str(name);
        self.ends.push((self.text.len(), init));
        if known {
            self.repeated.push(number);
            return;
        }
        let NameTable { text, ends, index, .. } = self;
        index.insert_unique(hash, number, |number| FxBuildHasher.hash_one(nth(text, ends, *number)));
    }

    /// Lets the first file by path have each name that several have; gives back the others. Files are
    /// listed in no order.
    fn duplicates(&mut self, listing: &Listing) -> FxHashMap<usize, Vec<usize>> {
        let mut duplicates: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let repeated = std::mem::take(&mut self.repeated);
        for number in &repeated {
            let first = self.find(self.name(*number)).unwrap_or(*number);
            duplicates.entry(first).or_default().push(*number);
        }
        duplicates
            .into_iter()
            .map(|(known, mut files)| {
                files.push(known);
                files.sort_by_cached_key(|file| listing.found(*file).path());
                let first = files.remove(0);
                let NameTable { text, ends, index, .. } = &mut *self;
                let name = nth(text, ends, known);
                if let Some(number) = index.find_mut(FxBuildHasher.hash_one(name), |number| *number == known)
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

/// How the files of a tree are called.
pub(super) struct Naming<P, N> {
    is_class: bool,
    scheme: &'static str,
    prefix: P,
    name: N,
}

impl<P: Fn(&str) -> String, N: Fn(&str, usize) -> (&str, bool)> Naming<P, N> {
    /// Whether they are classes, and what paths are, as an address begins; what all names in a folder
    /// begin with; what a name comes to that begins with so many bytes for its folder, and whether it
    /// is that of an `init.yml`.
    pub(super) fn new(is_class: bool, scheme: &'static str, prefix: P, name: N) -> Naming<P, N> {
        Naming { is_class, scheme, prefix, name }
    }

    /// The names of files. One that several files have knows all of them.
    pub(super) fn names(&self, listing: Listing) -> NameIndex {
        let mut table = self.spell(&listing);
        NameIndex {
            is_class: self.is_class,
            scheme: self.scheme,
            items: (0..listing.len()).map(|_| OnceLock::new()).collect(),
            duplicates: table.duplicates(&listing),
            listing,
            table,
            order: OnceLock::new(),
        }
    }

    fn spell(&self, listing: &Listing) -> NameTable {
        let stems = listing.stems();
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
                whole = (self.prefix)(&inside.relative_text());
                begin = whole.len();
            }
            whole.truncate(begin);
            whole.push_str(&stems.get(file));
            let (name, init) = (self.name)(&whole, begin);
            table.add(name, init);
        }
        table
    }
}

impl NameIndex {
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

    /// What a name stands for.
    pub fn get(&self, name: &str) -> Option<&CatalogEntry> {
        self.table.find(name).map(|number| self.item(number))
    }

    /// Whether there is such a name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.table.find(name).is_some()
    }

    /// All items, sorted by name.
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

    /// What a name stands for, if this is the path of a file of it.
    pub fn at(&self, name: &str, path: &Path) -> Option<&CatalogEntry> {
        self.get(name).filter(|item| item.is_at(path))
    }

    /// The items that several files have, in no order.
    pub fn with_duplicates(&self) -> impl Iterator<Item = &CatalogEntry> {
        let mut index: Vec<usize> = self.duplicates.keys().copied().collect();
        index.sort_unstable();
        index.into_iter().map(|number| self.item(number))
    }

    /// The names that several files have, sorted.
    pub fn clashes(&self) -> Vec<Fault> {
        let mut items: Vec<&CatalogEntry> = self.with_duplicates().collect();
        items.sort_unstable_by_key(|item| &item.name);
        items.into_iter().filter_map(CatalogEntry::clash).collect()
    }
}

/// Equal are trees with the repeated names for the repeated files.
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
