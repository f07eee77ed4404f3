//! The catalog turns the listings of trees into names: which node and which class is which file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::error::{Error, Fault, Kind, Result};
use crate::settings::Settings;
use crate::storage::fs::display;
use crate::storage::git::File;
use crate::storage::place::Branch;
use crate::storage::{Folder, Found, Listing};
use crate::value::Text;

/// What a name stands for.
#[derive(Clone, Debug)]
pub struct Item {
    /// The name of the node or class.
    pub name: Text,
    /// Whether the file is an `init.yml`.
    pub init: bool,
    /// What the path of its file is, as an address begins.
    scheme: &'static str,
    /// The file; a node that mappings alone make has none.
    found: Option<Found>,
    path: OnceLock<Arc<Path>>,
}

/// A path of the file system.
pub const FOLDER: &str = "yaml_fs://";
/// A path of a repository, behind its address and the branch, with a space in between.
pub const REPOSITORY: &str = "git_fs://";

impl Item {
    /// A node that has no file.
    pub fn without_file(name: Text) -> Item {
        Item { name, init: false, scheme: FOLDER, found: None, path: OnceLock::new() }
    }

    /// Its file: an absolute path, or repository, branch and path; empty where there is none. Put
    /// together when it is first asked for.
    pub fn path(&self) -> &Arc<Path> {
        self.path.get_or_init(|| self.found.as_ref().map(Found::path).unwrap_or_default().into())
    }

    /// Whether this is the path of its file.
    pub fn is_at(&self, path: &Path) -> bool {
        self.found.as_ref().is_some_and(|found| found.is_at(path))
    }

    /// The address of its file, as the Python programs write it.
    pub fn uri(&self) -> String {
        format!("{}{}", self.scheme, display(self.path()))
    }

    /// The path of a node below the root without extension, for `class_mappings_match_path`. In a
    /// repository it begins at the top.
    pub fn pathname(&self, settings: &Settings) -> Text {
        let Some(found) = &self.found else { return self.name.clone() };
        let (inside, stem) = (found.folder.inside(), found.stem());
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
        let inside = found.folder.inside();
        let folders = if is_composed(&inside, settings) { &*inside } else { "" };
        let folders = folders.split('/').filter(|folder| !folder.is_empty());
        folders.map(Text::from).chain(std::iter::once((&*found.stem()).into())).collect()
    }
}

/// Equal are items of the same name and file.
impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        (&self.name, self.scheme, &self.found) == (&other.name, other.scheme, &other.found)
    }
}

/// The names of one tree. Sorted when somebody asks for all of them: one node needs a few.
#[derive(Clone, Debug, Default)]
pub struct Names {
    items: IndexMap<Text, Item, FxBuildHasher>,
    order: OnceLock<Box<[usize]>>,
}

impl Names {
    /// What a name stands for.
    pub fn get(&self, name: &str) -> Option<&Item> {
        self.items.get(name)
    }

    /// Whether there is such a name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.items.contains_key(name)
    }

    /// All items, sorted by name.
    pub fn values(&self) -> impl Iterator<Item = &Item> + Clone {
        let order = self.order.get_or_init(|| {
            let mut order: Box<[usize]> = (0..self.items.len()).collect();
            order.sort_by_key(|index| self.items.get_index(*index).map(|(name, _)| name.as_str()));
            order
        });
        order.iter().filter_map(|index| self.items.get_index(*index)).map(|(_, item)| item)
    }

    /// All names, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &Text> + Clone {
        self.values().map(|item| &item.name)
    }

    /// The item whose file has this path.
    pub fn at(&self, path: &Path) -> Option<&Item> {
        self.items.values().find(|item| item.is_at(path))
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        self.items == other.items
    }
}

/// The names of an inventory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Catalog {
    /// Nodes.
    pub nodes: Arc<Names>,
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
    /// Their names: read when a node has them, where they are in a repository.
    names: OnceLock<Names>,
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
        Classes { commit: None, names: OnceLock::from(names) }
    }

    /// Classes of a commit, to be listed when they are asked for.
    pub fn of(commit: Commit) -> Classes {
        Classes { commit: Some(commit), names: OnceLock::new() }
    }

    /// Their names if they are listed.
    pub fn get(&self) -> Option<&Names> {
        self.names.get()
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
        self.listed().flat_map(Names::values)
    }

    /// The item whose file has this path.
    pub fn at(&self, path: &Path) -> Option<&Item> {
        self.nodes.at(path).or_else(|| self.listed().find_map(|names| names.at(path)))
    }

    fn listed(&self) -> impl Iterator<Item = &Names> {
        self.trees.iter().flatten().filter_map(|tree| tree.get())
    }
}

/// The nodes in listings of folders.
pub fn nodes(listings: &[Listing], settings: &Settings) -> Result<Names> {
    let prefix = |inside: &str| node_prefix(inside, settings);
    let names = |files: &[&[Found]]| named(FOLDER, files, prefix, |name, _| (name, false));
    by_path(listings, names).map_err(|twice| twice.error("node"))
}

/// The classes in listings of folders.
pub fn classes(listings: &[Listing]) -> Result<Names> {
    let names = |files: &[&[Found]]| named(FOLDER, files, class_prefix, without_init);
    by_path(listings, names).map_err(|twice| twice.error("class"))
}

/// Names the files of folders. They are in no order: of several names with two files, the first one
/// by path is told.
fn by_path(
    listings: &[Listing],
    names: impl Fn(&[&[Found]]) -> Result<Names, Twice>,
) -> Result<Names, Twice> {
    let all = |listings: &[Listing]| {
        let files: Vec<&[Found]> = listings.iter().map(|listing| &*listing.files).collect();
        names(&files)
    };
    all(listings).map_err(|twice| {
        let mut sorted = listings.to_vec();
        sorted.iter_mut().for_each(Listing::sort);
        all(&sorted).err().unwrap_or(twice)
    })
}

/// A name with two files.
struct Twice {
    name: Text,
    files: [Found; 2],
}

impl Twice {
    fn error(self, what: &'static str) -> Error {
        let [first, second] = self.files.map(|found| display(&found.path()));
        Fault::new(Kind::DuplicateDefinition { what, name: self.name.to_string(), first, second }).into()
    }
}

/// Names files, those of a folder together: `prefix` is what all names in a folder begin with, and
/// `name` what a name that begins with so many bytes of it comes to, and whether it is that of an
/// `init.yml`. One name with two files is an error (S6).
fn named(
    scheme: &'static str,
    files: &[&[Found]],
    prefix: impl Fn(&str) -> String,
    name: impl Fn(&str, usize) -> (&str, bool),
) -> Result<Names, Twice> {
    let mut items: IndexMap<Text, Item, FxBuildHasher> =
        IndexMap::with_capacity_and_hasher(files.iter().map(|files| files.len()).sum(), FxBuildHasher);
    let mut folder: Option<&Arc<Folder>> = None;
    let (mut whole, mut begin) = (String::new(), 0);
    for found in files.iter().copied().flatten() {
        if folder.is_none_or(|folder| !Arc::ptr_eq(folder, &found.folder)) {
            folder = Some(&found.folder);
            whole = prefix(&found.folder.inside());
            begin = whole.len();
        }
        whole.truncate(begin);
        whole.push_str(&found.stem());
        let (name, init) = name(&whole, begin);
        let item =
            Item { name: name.into(), init, scheme, found: Some(found.clone()), path: OnceLock::new() };
        if let Some(Item { name, found: Some(first), .. }) = items.insert(item.name.clone(), item) {
            return Err(Twice { name, files: [first, found.clone()] });
        }
    }
    Ok(Names { items, order: OnceLock::new() })
}

/// The name of the node in a file.
pub fn node_name(found: &Found, settings: &Settings) -> String {
    node_prefix(&found.folder.inside(), settings) + &found.stem()
}

/// The name of the class in a file.
pub fn class_name(found: &Found) -> String {
    let prefix = class_prefix(&found.folder.inside());
    let begin = prefix.len();
    without_init(&(prefix + &found.stem()), begin).0.to_owned()
}

/// A node is named after its file; with `compose_node_name` its folders come first, unless the
/// outermost begins with `_` (S11).
fn node_prefix(inside: &str, settings: &Settings) -> String {
    if is_composed(inside, settings) { class_prefix(inside) } else { String::new() }
}

/// Whether the name of a node has the names of the folders that it is inside of.
fn is_composed(inside: &str, settings: &Settings) -> bool {
    settings.compose_node_name && !inside.is_empty() && !inside.starts_with('_')
}

/// A class is named after its folders, each with a dot behind it, and its file.
fn class_prefix(inside: &str) -> String {
    if inside.is_empty() { String::new() } else { inside.replace('/', ".") + "." }
}

/// `init` stands for the folder that it is in.
fn without_init(name: &str, folder: usize) -> (&str, bool) {
    match name.get(folder..) {
        Some("init") if folder > 0 => (&name[..folder - 1], true),
        _ => (name, false),
    }
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
pub fn nodes_of_commit(commit: &Commit, files: &[File], settings: &Settings) -> Result<Names> {
    let prefix = |inside: &str| node_prefix(inside, settings);
    named(REPOSITORY, &[&found(commit, files)], prefix, |name, _| (name, false))
        .map_err(|twice| twice.error("node"))
}

/// The classes among the files of a commit, named from the root on.
pub fn classes_of_commit(commit: &Commit, files: &[File]) -> Result<Names> {
    let root = commit.branch.root.replace('/', ".");
    named(REPOSITORY, &[&found(commit, files)], class_prefix, |name, folder| {
        let (name, init) = without_init(name, folder);
        match name.strip_prefix(&*root).map(|rest| rest.trim_start_matches('.')) {
            Some("") => ("init", false),
            Some(below) => (below, init),
            None => (name, init),
        }
    })
    .map_err(|twice| twice.error("class"))
}

/// The files of a commit in their folders.
fn found(commit: &Commit, files: &[File]) -> Vec<Found> {
    let top = top(commit);
    let folders = files.chunk_by(|one, other| Arc::ptr_eq(&one.folders, &other.folders));
    let found = folders.flat_map(|files| {
        let inside = files.first().map(|file| file.folders.join("/")).unwrap_or_default();
        let folder = Arc::new(Folder::of_repository(&top, &inside));
        files.iter().map(move |file| Found {
            folder: folder.clone(),
            file: file.path.file_name().unwrap_or_default().into(),
        })
    });
    found.collect()
}

/// What the paths of files of a commit begin with.
fn top(commit: &Commit) -> String {
    let branch = commit.branch.branch.as_deref().unwrap_or_default();
    format!("{} {branch} ", commit.branch.repo)
}

/// The path of a file of a repository, as messages show it.
pub fn shown(commit: &Commit, file: &File) -> PathBuf {
    let mut shown = std::ffi::OsString::from(top(commit));
    shown.push(&file.path);
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::list::list;
    use crate::value::{Map, Value};

    fn settings(composed: bool) -> Settings {
        let options = Map::from_iter([("compose_node_name".into(), Value::Bool(composed))]);
        Settings::from_options(&options).expect("right").0
    }

    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for path in paths {
            crate::storage::fs::put(&root.path().join(path), b"", false).expect("written");
        }
        root
    }

    #[test]
    fn names_are_sorted_and_know_their_paths() {
        let paths =
            ["z/init.yml", "b.yaml", "a/b/c.yml", "a-b.yml", "a.yml", "a/b.yml", ".h.yml", "CVS/x.yml"];
        let root = tree(&paths);
        let listing = [list(root.path()).expect("a listing")];
        let names = classes(&listing).expect("names");
        let sorted: Vec<&str> = names.keys().map(AsRef::as_ref).collect();
        assert_eq!(sorted, ["a", "a-b", "a.b", "a.b.c", "b", "z"]);
        for path in paths {
            let path = root.path().join(path);
            let item = names.at(&path);
            assert_eq!(item.map(|item| &**item.path()), item.map(|_| path.as_path()));
            let hidden = path
                .components()
                .any(|part| [".h.yml", "CVS"].contains(&&*part.as_os_str().to_string_lossy()));
            assert_eq!(item.is_none(), hidden, "{path:?}");
        }
        let init = names.get("z").expect("the class");
        assert!(init.init && !names.get("b").expect("the class").init);
        // A path that would have the same name is another one.
        assert!(!init.is_at(&root.path().join("z.yml")));
    }

    #[test]
    fn a_node_has_the_names_of_its_folders_where_names_are_composed() {
        let root = tree(&["a/b/n.yml", "_x/m.yml", "k.yml"]);
        let listing = [list(root.path()).expect("a listing")];
        for (composed, expected) in [
            (true, [("a.b.n", "a/b/n", "a,b,n"), ("k", "k", "k"), ("m", "_x/m", "m")]),
            (false, [("k", "./k", "k"), ("m", "_x/m", "m"), ("n", "a/b/n", "n")]),
        ] {
            let settings = settings(composed);
            let names = nodes(&listing, &settings).expect("names");
            let found: Vec<(String, String, String)> = names
                .values()
                .map(|item| {
                    let (path, parts) = (item.pathname(&settings), item.parts(&settings));
                    (item.name.to_string(), path.to_string(), parts.join(","))
                })
                .collect();
            let expected = expected.map(|(name, path, parts)| (name.into(), path.into(), parts.into()));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn of_names_with_two_files_the_first_by_path_is_told() {
        let root = tree(&["z.yml", "z.yaml", "b/init.yml", "b.yml", "c/d.yml", "c.d.yml"]);
        let listing = [list(root.path()).expect("a listing")];
        let error = classes(&listing).expect_err("names with two files");
        let Kind::DuplicateDefinition { name, first, second, .. } = &error.first().kind else {
            panic!("{error}")
        };
        let [one, other] = ["z.yaml", "z.yml"].map(|path| display(&root.path().join(path)));
        assert_eq!((name.as_str(), first, second), ("z", &one, &other));
    }
}
