//! The catalog of an inventory: the names of its nodes and classes, and the files behind them.

mod names;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::storage::git::GitFile;
use crate::storage::location::Branch;
use crate::storage::{Folder, FoundFile, Listing};
use names::index;
pub use names::{CatalogEntry, FOLDER, NameIndex, REPOSITORY, nodes};
use reclass_base::error::Result;
use reclass_base::settings::Settings;

/// The names of an inventory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Catalog {
    /// The nodes by name.
    pub nodes: Arc<NameIndex>,
    /// The commit of the nodes, if they are in a repository.
    pub commit: Option<Arc<str>>,
    /// The classes of all trees, by number; `None` for a branch that no longer exists.
    pub trees: Vec<Option<Arc<ClassTree>>>,
}

/// Identifies a tree of classes. Most inventories have one. If the environment of a node selects its
/// classes, there is one for each environment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct TreeId(pub u32);

/// The classes of one tree.
#[derive(Debug, Default)]
pub struct ClassTree {
    /// The commit, if they are in a repository. Names in folders are found on demand.
    pub commit: Option<Commit>,
    /// The names in a repository, read when a node first needs them.
    names: OnceLock<Arc<NameIndex>>,
}

/// A tree of files in one commit of a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    /// The location, with a branch name.
    pub branch: Branch,
    /// The hash of the commit.
    pub commit: Arc<str>,
}

/// Trees are equal if they are in the same commit, or both in folders.
impl PartialEq for ClassTree {
    fn eq(&self, other: &ClassTree) -> bool {
        self.commit == other.commit
    }
}

impl ClassTree {
    /// Classes of a commit, to be listed on demand.
    pub fn of(commit: Commit) -> ClassTree {
        ClassTree { commit: Some(commit), names: OnceLock::new() }
    }

    /// The names in a repository, if they are listed.
    pub fn get(&self) -> Option<&Arc<NameIndex>> {
        self.names.get()
    }

    /// The names in a repository; `list` provides them on first use. After an error it is called again.
    pub fn get_or_list(&self, list: impl FnOnce() -> Result<NameIndex>) -> Result<&Arc<NameIndex>> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let names = list()?;
        Ok(self.names.get_or_init(|| names.into()))
    }
}

/// The classes in a listing of folders.
pub fn classes(listing: &Listing) -> NameIndex {
    index(listing, (true, FOLDER), class_prefix, without_init)
}

/// The name of the node in this file.
pub fn node_name(found: &FoundFile, settings: &Settings) -> String {
    node_prefix(&found.folder.relative_text(), settings.compose_node_name) + &found.stem()
}

/// The name of a class from its file.
pub fn class_name(found: &FoundFile) -> String {
    let prefix = class_prefix(&found.folder.relative_text());
    without_init(&(prefix.clone() + &found.stem()), prefix.len()).0.to_owned()
}

/// A node is named after its file. With `compose_node_name` its folders come first, unless the outermost
/// begins with `_` (S11).
fn node_prefix(inside: &str, composed: bool) -> String {
    if is_composed(inside, composed) { class_prefix(inside) } else { String::new() }
}

/// Whether the node name contains the names of its folders.
fn is_composed(inside: &str, composed: bool) -> bool {
    composed && !inside.is_empty() && !inside.starts_with('_')
}

/// A class is named after its folders and its file, joined by dots.
fn class_prefix(inside: &str) -> String {
    if inside.is_empty() {
        return String::new();
    }
    let mut prefix = Vec::with_capacity(inside.len() + 1);
    prefix.extend_from_slice(inside.as_bytes());
    prefix.push(b'.');
    prefix.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'.');
    // Replacing an ASCII byte by another keeps the text valid UTF-8.
    String::from_utf8(prefix).unwrap_or_default()
}

/// A node name: `init` has no special meaning.
fn whole(name: &str, _: usize) -> (&str, bool) {
    (name, false)
}

/// A class name: the file `init` stands for its folder.
fn without_init(name: &str, folder: usize) -> (&str, bool) {
    match name.get(folder..) {
        Some("init") if folder > 0 => (&name[..folder - 1], true),
        _ => (name, false),
    }
}

/// The name of a file from the top of its repository, as the Python programs compute it.
fn full_name(folders: &[String], stem: &str) -> String {
    let mut parts: Vec<&str> = folders.iter().map(String::as_str).collect();
    if stem != "init" || parts.is_empty() {
        parts.push(stem);
    }
    parts.join(".")
}

/// Whether a file of a repository is below a root, in which `/` and `.` separate folders.
pub fn is_below(root: &str, folders: &[String], stem: &str) -> bool {
    let (root, name) = (root.replace('/', "."), full_name(folders, stem));
    root.is_empty() || name.strip_prefix(&root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The nodes of a commit. As in the Python programs, composed names and the paths for class mappings begin
/// at the top of the repository.
pub fn nodes_of_commit(commit: &Commit, files: &[GitFile], settings: &Settings) -> NameIndex {
    let listing = listing_of_commit(commit, files);
    index(&listing, (false, REPOSITORY), |inside| node_prefix(inside, settings.compose_node_name), whole)
}

/// The classes of a commit, named from the root on.
pub fn classes_of_commit(commit: &Commit, files: &[GitFile]) -> NameIndex {
    let listing = listing_of_commit(commit, files);
    if commit.branch.of_folder {
        return index(&listing, (true, REPOSITORY), class_prefix, without_init);
    }
    let root = commit.branch.root.replace('/', ".");
    index(&listing, (true, REPOSITORY), class_prefix, |name, folder| below(&root, name, folder))
}

/// The name of a class relative to the root.
fn below<'n>(root: &str, name: &'n str, folder: usize) -> (&'n str, bool) {
    let (name, init) = without_init(name, folder);
    match name.strip_prefix(root).map(|rest| rest.trim_start_matches('.')) {
        Some("") => ("init", false),
        Some(below) => (below, init),
        None => (name, init),
    }
}

/// The files of a commit. Their paths begin at the top of the repository, and those of a folder at the folder.
fn listing_of_commit(commit: &Commit, files: &[GitFile]) -> Listing {
    let Branch { root, of_folder, .. } = &commit.branch;
    if *of_folder && !root.is_empty() {
        listing(&format!("{}{root}/", top(commit)), files, root.split('/').count())
    } else {
        listing(&top(commit), files, 0)
    }
}

/// Lists files of a repository; all paths begin with `top`, in which this many of their folders are.
pub fn listing(top: &str, files: &[GitFile], skip: usize) -> Listing {
    let mut listing = Listing::default();
    for files in files.chunk_by(|one, other| Arc::ptr_eq(&one.folders, &other.folders)) {
        let Some(first) = files.first() else { continue };
        let folder = Folder::of_repository(top, &first.folders.get(skip..).unwrap_or_default().join("/"));
        let names = files.iter().filter_map(|file| Some(file.path.file_name()?.into()));
        listing.folders.push((folder.into(), names.collect()));
    }
    listing
}

/// The common beginning of all paths in a commit, as messages show them.
pub fn top(commit: &Commit) -> String {
    let branch = commit.branch.branch.as_deref().unwrap_or_default();
    format!("{} {branch} ", commit.branch.repo)
}

/// The path of a file of a repository, as messages show it.
pub fn shown(top: &str, file: &GitFile) -> PathBuf {
    let mut shown = std::ffi::OsString::from(top);
    shown.push(&file.path);
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::TreeLimits;
    use crate::storage::folders::list;
    use crate::storage::fs::display;
    use reclass_base::error::Kind;
    use reclass_base::value::{Map, Value};

    const LIMITS: TreeLimits = TreeLimits { files: 100, depth: 10, bytes: 100 };

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
        let listing = list(&[root.path().to_owned()], LIMITS).expect("a listing");
        let names = classes(&listing);
        let sorted: Vec<&str> = names.keys().map(AsRef::as_ref).collect();
        assert_eq!(sorted, ["a", "a-b", "a.b", "a.b.c", "b", "z"]);
        let files = ["a.yml", "a-b.yml", "a/b.yml", "a/b/c.yml", "b.yaml", "z/init.yml"];
        assert!(names.values().zip(files).all(|(item, file)| item.is_at(&root.path().join(file))));
        let init = names.get("z").expect("the class");
        assert!(init.init && !names.get("b").expect("the class").init);
        // Another path with the same class name is a different file.
        assert!(!init.is_at(&root.path().join("z.yml")));
    }

    #[test]
    fn a_node_has_the_names_of_its_folders_where_names_are_composed() {
        let root = tree(&["a/b/n.yml", "_x/m.yml", "k.yml"]);
        for (composed, expected) in [
            (true, [("a.b.n", "a/b/n", "a,b,n"), ("k", "k", "k"), ("m", "_x/m", "m")]),
            (false, [("k", "./k", "k"), ("m", "_x/m", "m"), ("n", "a/b/n", "n")]),
        ] {
            let settings = settings(composed);
            let listing = list(&[root.path().to_owned()], LIMITS).expect("a listing");
            let names = nodes(listing, &settings);
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
    fn the_files_of_an_ambiguous_name_are_listed_by_path() {
        let root = tree(&["z.yml", "z.yaml", "b/init.yml", "b.yml", "c/d.yml", "c.d.yml", "e.yml"]);
        let listing = list(&[root.path().to_owned()], LIMITS).expect("a listing");
        let names = classes(&listing);
        let shown = |path: &str| display(&root.path().join(path));
        let expected = [
            ("b", vec![shown("b/init.yml"), shown("b.yml")]),
            ("c.d", vec![shown("c/d.yml"), shown("c.d.yml")]),
            ("z", vec![shown("z.yaml"), shown("z.yml")]),
        ];
        let clashes = names.clashes();
        let reported: Vec<_> = clashes
            .iter()
            .map(|fault| match &fault.kind {
                Kind::DuplicateDefinition { name, files, .. } => (name.as_str(), files.clone()),
                _ => panic!("{fault:?}"),
            })
            .collect();
        assert_eq!(reported, expected);
        let sorted: Vec<&str> = names.keys().map(AsRef::as_ref).collect();
        assert_eq!(sorted, ["b", "c.d", "e", "z"]);
        for path in ["z.yml", "z.yaml"] {
            let item = names.at("z", &root.path().join(path)).expect("the class");
            assert_eq!(item.paths().count(), 2);
            assert!(item.is_at(&root.path().join(path)));
        }
    }
}
