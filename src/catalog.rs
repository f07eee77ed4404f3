//! The catalog turns the listings of trees into names: which node and which class is which file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::error::{Error, Fault, Kind, Result};
use crate::settings::Settings;
use crate::source::Site;
use crate::storage::fs::display;
use crate::storage::git::File;
use crate::storage::place::Branch;
use crate::storage::{Found, Listing};
use crate::value::Text;

/// What a name stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The name of the node or class.
    pub name: Text,
    /// Its file: an absolute path, or repository, branch and path.
    pub path: Arc<Path>,
    /// Further files of the same name: with any, none of them counts (S6).
    pub others: Vec<Arc<Path>>,
    /// Whether it is a class.
    pub is_class: bool,
    /// What `path` is, as an address begins.
    pub scheme: &'static str,
    /// The path below the root without extension, for `class_mappings_match_path`.
    pub pathname: Text,
    /// The keys of the name for automatic parameters: folders and file where names are composed.
    pub parts: Vec<Text>,
    /// Whether the file is an `init.yml`.
    pub init: bool,
}

/// A path of the file system.
pub const FOLDER: &str = "yaml_fs://";
/// A path of a repository, behind its address and the branch, with a space in between.
pub const REPOSITORY: &str = "git_fs://";

impl Item {
    /// The address of its file, as the Python programs write it.
    pub fn uri(&self) -> String {
        format!("{}{}", self.scheme, display(&self.path))
    }

    /// All files of its name.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<Path>> {
        std::iter::once(&self.path).chain(&self.others)
    }

    /// That there are several.
    pub fn clash(&self) -> Option<Fault> {
        if self.others.is_empty() {
            return None;
        }
        let files = self.paths().map(|path| display(path)).collect();
        let what = if self.is_class { "class" } else { "node" };
        let kind = Kind::DuplicateDefinition { what, name: self.name.to_string(), files };
        Some(Fault::new(kind).at_site(Site::file(display(&self.path))))
    }
}

/// The names of one tree.
pub type Names = IndexMap<Text, Item, FxBuildHasher>;

/// The names of an inventory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Catalog {
    /// Nodes, sorted by name.
    pub nodes: Arc<Names>,
    /// The names of nodes that several files have.
    pub node_clashes: Vec<Fault>,
    /// The commit that the nodes are of, where they are in a repository.
    pub commit: Option<Arc<str>>,
    /// The classes of all trees, by their number. A branch that is gone has none.
    pub trees: Vec<Option<Arc<Classes>>>,
}

/// One tree of classes. Most inventories have one; where the environment of a node says which
/// classes it has, they have one for each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Tree(pub u32);

/// The classes of one tree.
#[derive(Debug)]
pub struct Classes {
    /// Where they are in a repository.
    pub commit: Option<Commit>,
    /// Their names, sorted: read when a node has them, where they are in a repository.
    names: OnceLock<Names>,
    /// Those that several files have.
    clashes: OnceLock<Vec<Fault>>,
}

/// A tree of a repository, as one commit has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    /// Where it is; its branch is named.
    pub branch: Branch,
    /// The commit.
    pub commit: Arc<str>,
}

impl PartialEq for Classes {
    fn eq(&self, other: &Classes) -> bool {
        match (&self.commit, &other.commit) {
            (None, None) => self.names.get() == other.names.get(),
            (commit, other) => commit == other,
        }
    }
}

impl Classes {
    /// Classes that are listed.
    pub fn listed(names: Names) -> Classes {
        Classes { commit: None, names: OnceLock::from(names), clashes: OnceLock::new() }
    }

    /// Classes of a commit, to be listed when they are asked for.
    pub fn of(commit: Commit) -> Classes {
        Classes { commit: Some(commit), names: OnceLock::new(), clashes: OnceLock::new() }
    }

    /// Their names if they are listed.
    pub fn get(&self) -> Option<&Names> {
        self.names.get()
    }

    /// The names that several files have, of classes that are listed.
    pub fn clashes(&self) -> &[Fault] {
        let Some(names) = self.get() else { return &[] };
        self.clashes.get_or_init(|| clashes(names))
    }

    /// Their names, listed by `list` where they are not yet. What fails is tried again.
    pub fn get_or_list(&self, list: impl FnOnce() -> Result<Names>) -> Result<&Names> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let names = list()?;
        Ok(self.names.get_or_init(|| names))
    }
}

impl Catalog {
    /// The classes of all trees that are listed.
    pub fn classes(&self) -> impl Iterator<Item = &Item> {
        self.trees.iter().flatten().filter_map(|tree| tree.get()).flat_map(Names::values)
    }

    /// The names that several files have, as far as trees are listed.
    pub fn clashes(&self) -> Vec<Fault> {
        let classes = self.trees.iter().flatten().flat_map(|tree| tree.clashes());
        self.node_clashes.iter().chain(classes).cloned().collect()
    }

    /// That no name has several files (S6). Trees of repositories are known when a node has classes of
    /// them, which is an error of that node then.
    pub fn unambiguous(&self) -> Result<()> {
        let listed = self.trees.iter().flatten().filter(|tree| tree.commit.is_none());
        let classes = listed.flat_map(|tree| tree.clashes());
        let faults: Vec<Fault> = self.node_clashes.iter().chain(classes).cloned().collect();
        if faults.is_empty() { Ok(()) } else { Err(Error::new(faults)) }
    }
}

/// The names that several files have.
pub fn clashes(names: &Names) -> Vec<Fault> {
    names.values().filter_map(Item::clash).collect()
}

/// Names of which none has several files (S6).
pub fn unambiguous(names: Names) -> Result<Names> {
    let clashes = clashes(&names);
    if clashes.is_empty() { Ok(names) } else { Err(Error::new(clashes)) }
}

/// The nodes in listings of folders.
pub fn nodes(listings: &[Listing], settings: &Settings) -> Names {
    let files = listings.iter().flat_map(|listing| &listing.files);
    names(files.map(|found| node(found, settings)))
}

/// The classes in listings of folders.
pub fn classes(listings: &[Listing]) -> Names {
    names(listings.iter().flat_map(|listing| &listing.files).map(class))
}

/// Names, sorted. One that several files have knows all of them.
fn names(items: impl Iterator<Item = Item>) -> Names {
    let mut names = Names::default();
    for item in items {
        match names.get_mut(&item.name) {
            Some(first) => first.others.push(item.path),
            None => drop(names.insert(item.name.clone(), item)),
        }
    }
    names.sort_unstable_keys();
    names
}

/// A node is named after its file; with `compose_node_name` its folders come first, unless the
/// outermost begins with `_` (S11).
pub fn node(found: &Found, settings: &Settings) -> Item {
    let inside = found.folders.join("/");
    let below = settings.compose_node_name
        && found.folders.first().is_some_and(|outermost| !outermost.starts_with('_'));
    let mut parts: Vec<&str> =
        if below { found.folders.iter().map(String::as_str).collect() } else { Vec::new() };
    parts.push(&found.stem);
    let name = parts.join(".");
    let pathname = match (inside.is_empty(), settings.compose_node_name) {
        (true, true) => found.stem.clone(),
        // The forks say so, and patterns were written for it (S19).
        (true, false) => format!("./{}", found.stem),
        (false, _) => format!("{inside}/{}", found.stem),
    };
    let parts = if settings.compat_flags.split_literal_dots {
        name.split('.').map(Text::from).collect()
    } else {
        parts.into_iter().map(Text::from).collect()
    };
    Item {
        name: name.into(),
        path: path(found),
        others: Vec::new(),
        is_class: false,
        scheme: FOLDER,
        pathname: pathname.into(),
        parts,
        init: false,
    }
}

/// A class is named after its folders and its file; `init` stands for its folder.
fn class(found: &Found) -> Item {
    let mut parts: Vec<&str> = found.folders.iter().map(String::as_str).collect();
    let init = found.stem == "init" && !parts.is_empty();
    if !init {
        parts.push(&found.stem);
    }
    let name = Text::from(parts.join("."));
    Item {
        name,
        path: path(found),
        others: Vec::new(),
        is_class: true,
        scheme: FOLDER,
        pathname: "".into(),
        parts: Vec::new(),
        init,
    }
}

fn path(found: &Found) -> Arc<Path> {
    Arc::from(found.path.as_path())
}

/// The name that the Python programs look for a file of a repository under, whatever is its root.
fn full_name(folders: &[String], stem: &str) -> String {
    let mut parts: Vec<&str> = folders.iter().map(String::as_str).collect();
    if stem != "init" || parts.is_empty() {
        parts.push(stem);
    }
    parts.join(".")
}

/// Whether a file of a repository is below a root: `/` and `.` part folders in it.
pub fn is_below(root: &str, folders: &[String], stem: &str) -> bool {
    let (root, name) = (root.replace('/', "."), full_name(folders, stem));
    root.is_empty() || name.strip_prefix(&root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The nodes among the files of a commit. As in the Python programs, a composed name begins at the
/// top of the repository, and so does the path that class mappings match.
pub fn nodes_of_commit(commit: &Commit, files: &[File], settings: &Settings) -> Names {
    names(files.iter().map(|file| {
        let item = node(&found(commit, file), settings);
        let pathname = item.pathname.strip_prefix("./").map_or(item.pathname.clone(), Text::from);
        Item { scheme: REPOSITORY, pathname, ..item }
    }))
}

/// The classes among the files of a commit, named from the root on.
pub fn classes_of_commit(commit: &Commit, files: &[File]) -> Names {
    let root = commit.branch.root.replace('/', ".");
    let items = files.iter().map(|file| {
        let item = class(&found(commit, file));
        let below = item.name.strip_prefix(&*root).map(|rest| rest.trim_start_matches('.'));
        match below {
            Some("") => Item { name: "init".into(), scheme: REPOSITORY, init: false, ..item },
            Some(below) => Item { name: below.into(), scheme: REPOSITORY, ..item },
            None => Item { scheme: REPOSITORY, ..item },
        }
    });
    names(items)
}

fn found(commit: &Commit, file: &File) -> Found {
    Found {
        folders: file.folders.clone(),
        stem: file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        path: shown(commit, file),
    }
}

/// The path of a file of a repository, as messages show it.
pub fn shown(commit: &Commit, file: &File) -> PathBuf {
    let branch = commit.branch.branch.as_deref().unwrap_or_default();
    let mut shown = std::ffi::OsString::from(format!("{} {branch} ", commit.branch.repo));
    shown.push(&file.path);
    shown.into()
}
