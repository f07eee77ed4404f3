//! Names of nodes and classes, computed from a listing of files.
//!
//! A program that asks for one node needs no name of another one: the first name is searched for in the lists of
//! files, and only then all names are made.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::{is_composed, node_prefix, whole};
use crate::storage::folders::files_named;
use crate::storage::fs::display;
use crate::storage::{FoundFile, Listing};
use reclass_base::error::{Fault, Kind};
use reclass_base::settings::Settings;
use reclass_base::source::Site;
use reclass_base::value::Text;

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

    /// The node or class of these files in folders; `None` without files.
    pub fn in_folders(name: Text, is_class: bool, mut files: Vec<FoundFile>) -> Option<CatalogEntry> {
        files.sort_by_cached_key(FoundFile::path);
        let mut files = files.into_iter();
        let first = files.next()?;
        let init = is_class && first.stem() == "init" && !first.folder.relative_text().is_empty();
        let entry = CatalogEntry::of_file(name, (is_class, FOLDER), (first, init));
        Some(CatalogEntry { others: files.map(|file| file.path().into()).collect(), ..entry })
    }

    /// The node or class of a file.
    fn of_file(
        name: Text,
        (is_class, scheme): (bool, &'static str),
        (found, init): (FoundFile, bool),
    ) -> CatalogEntry {
        let (found, path, others) = (Some(found), OnceLock::new(), Vec::new());
        CatalogEntry { name, init, is_class, others, scheme, found, path }
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
    pub fn files(&self) -> impl Iterator<Item = Arc<CatalogEntry>> {
        let alone = |path: &Arc<Path>| CatalogEntry {
            others: Vec::new(),
            path: OnceLock::from(path.clone()),
            ..self.clone()
        };
        self.paths().map(alone).map(Arc::new)
    }

    /// Whether several files have this name.
    pub fn has_duplicates(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether another entry is for the same file in another state of the tree. A name with several files is for none.
    pub fn is_at_place_of(&self, other: &CatalogEntry) -> bool {
        let place = |entry: &CatalogEntry| {
            let found = entry.found.as_ref()?;
            Some((found.folder.relative_text().into_owned(), found.file.clone()))
        };
        self.name == other.name
            && self.init == other.init
            && !self.has_duplicates()
            && !other.has_duplicates()
            && place(self) == place(other)
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
    /// a repository at the top, unless folders are read as commits.
    pub fn pathname(&self, settings: &Settings) -> Text {
        let Some(found) = &self.found else { return self.name.clone() };
        let (inside, stem) = (found.folder.relative_text(), found.stem());
        match (
            inside.is_empty(),
            settings.compose_node_name || self.scheme == REPOSITORY && !settings.commits,
        ) {
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
        let folders = if is_composed(&inside, settings.compose_node_name) { &*inside } else { "" };
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

/// The names of one tree, sorted.
#[derive(Default, Debug)]
pub struct NameIndex {
    /// The files, where not all names are made yet.
    nodes: Option<NodeFiles>,
    all: OnceLock<EntryMap>,
}

type EntryMap = IndexMap<Text, Arc<CatalogEntry>, FxBuildHasher>;

/// The files of nodes in folders.
#[derive(Debug)]
struct NodeFiles {
    /// Without folders that have no files: a new one changes no name.
    listing: Listing,
    composed: bool,
    /// The first name that was asked for, with its entry.
    first: OnceLock<(Text, Option<Arc<CatalogEntry>>)>,
}

impl NodeFiles {
    fn find(&self, name: &str) -> Option<Arc<CatalogEntry>> {
        let mut found = Vec::new();
        for (folder, files) in &self.listing.folders {
            let prefix = node_prefix(&folder.relative_text(), self.composed);
            let Some(stem) = name.strip_prefix(&*prefix) else { continue };
            let files = files_named(files, stem);
            found.extend(files.map(|file| FoundFile { folder: folder.clone(), file: file.clone() }));
        }
        CatalogEntry::in_folders(name.into(), false, found).map(Arc::new)
    }
}

/// The nodes in a listing of folders.
pub fn nodes(mut listing: Listing, settings: &Settings) -> NameIndex {
    listing.folders.retain(|(_, files)| !files.is_empty());
    let nodes = NodeFiles { listing, composed: settings.compose_node_name, first: OnceLock::new() };
    NameIndex { nodes: Some(nodes), all: OnceLock::new() }
}

/// The names of listed files. `prefix` returns the common name prefix in a folder. `name` receives a full name
/// and the length of its prefix, and returns the final name and whether the file is an `init.yml`.
pub(super) fn index(
    listing: &Listing,
    kind: (bool, &'static str),
    prefix: impl Fn(&str) -> String,
    name: impl Fn(&str, usize) -> (&str, bool),
) -> NameIndex {
    NameIndex { nodes: None, all: OnceLock::from(names(listing, kind, prefix, name)) }
}

fn names(
    listing: &Listing,
    kind: (bool, &'static str),
    prefix: impl Fn(&str) -> String,
    name: impl Fn(&str, usize) -> (&str, bool),
) -> EntryMap {
    let mut found: Vec<(Text, (FoundFile, bool))> = Vec::new();
    for (folder, files) in &listing.folders {
        let mut whole = prefix(&folder.relative_text());
        let begin = whole.len();
        for file in &**files {
            let file = FoundFile { folder: folder.clone(), file: file.clone() };
            whole.truncate(begin);
            whole.push_str(&file.stem());
            let (name, init) = name(&whole, begin);
            found.push((name.into(), (file, init)));
        }
    }
    found.sort_by(|(one, (file, _)), (other, (other_file, _))| {
        one.cmp(other).then_with(|| file.path().cmp(&other_file.path()))
    });
    let mut names = EntryMap::default();
    names.reserve(found.len());
    for (name, file) in found {
        let last = names.last_mut().filter(|(last, _)| **last == name);
        match last.and_then(|(_, entry)| Arc::get_mut(entry)) {
            Some(entry) => entry.others.push(file.0.path().into()),
            None => {
                names.insert(name.clone(), Arc::new(CatalogEntry::of_file(name, kind, file)));
            }
        }
    }
    names
}

/// Indexes are equal if the files behind their names are.
impl PartialEq for NameIndex {
    fn eq(&self, other: &NameIndex) -> bool {
        match (&self.nodes, &other.nodes) {
            (Some(one), Some(other)) => {
                one.composed == other.composed && one.listing.folders == other.listing.folders
            }
            _ => self.all() == other.all(),
        }
    }
}

impl NameIndex {
    /// The entry of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<CatalogEntry>> {
        if let (Some(nodes), None) = (&self.nodes, self.all.get()) {
            let (first, entry) = nodes.first.get_or_init(|| (name.into(), nodes.find(name)));
            if **first == *name {
                return entry.as_ref();
            }
        }
        self.all().get(name)
    }

    fn all(&self) -> &EntryMap {
        self.all.get_or_init(|| {
            let Some(NodeFiles { listing, composed, .. }) = &self.nodes else { return EntryMap::default() };
            names(listing, (false, FOLDER), |inside| node_prefix(inside, *composed), whole)
        })
    }

    /// Whether the name exists.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The number of names.
    pub fn count(&self) -> usize {
        self.all().len()
    }

    /// All entries, sorted by name.
    pub fn values(&self) -> impl Iterator<Item = &Arc<CatalogEntry>> + Clone {
        self.all().values()
    }

    /// All names, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &Text> + Clone {
        self.all().keys()
    }

    /// The entry of a name, if one of its files has this path.
    pub fn at(&self, name: &str, path: &Path) -> Option<&Arc<CatalogEntry>> {
        self.get(name).filter(|item| item.is_at(path))
    }

    /// The entries with several files, sorted by name.
    pub fn with_duplicates(&self) -> impl Iterator<Item = &Arc<CatalogEntry>> {
        self.values().filter(|item| item.has_duplicates())
    }

    /// A fault for each name with several files, sorted by name.
    pub fn clashes(&self) -> Vec<Fault> {
        self.values().filter_map(|item| item.clash()).collect()
    }
}
