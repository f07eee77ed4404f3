//! Reads the YAML files of a commit: their paths after links are followed, and their bytes as committed.
//!
//! `git archive` and a checkout would change the bytes: attributes, line ends, `export-ignore`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::program::{Failure, In, LOCAL, git, output};
use crate::storage::TreeLimits;

/// Maximum number of links that lead to links, as in Linux.
pub const MAX_LINKS: usize = 40;

/// One entry of a tree: a file or a link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeEntry {
    pub link: bool,
    /// The name of its object.
    pub object: Arc<str>,
    /// The size of its bytes.
    pub size: usize,
}

impl TreeEntry {
    /// A commit of another repository in place of a folder. It has no object in this repository.
    pub fn submodule() -> TreeEntry {
        TreeEntry { link: false, object: "".into(), size: usize::MAX }
    }

    pub fn is_submodule(&self) -> bool {
        self.object.is_empty()
    }
}

/// All files and links of a commit, by path, and the paths of its submodules. Paths that lead out of the tree are skipped.
pub fn entries(place: In<'_>, commit: &str) -> Result<(BTreeMap<PathBuf, TreeEntry>, Vec<PathBuf>), Failure> {
    use crate::storage::os::unix::ffi::OsStrExt as _;
    let mut command = git(place);
    command.args(["ls-tree", "-r", "-l", "-z", "--full-tree", commit]);
    let listing = output(command, b"", LOCAL)?;
    let (mut entries, mut submodules) = (BTreeMap::new(), Vec::new());
    for line in listing.split(|byte| *byte == 0) {
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else { continue };
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(&line[tab + 1..]));
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            continue;
        }
        let about = String::from_utf8_lossy(&line[..tab]);
        let mut words = about.split_ascii_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(mode), Some("blob"), Some(object)) => {
                let size = words.next().and_then(|size| size.parse().ok()).unwrap_or(usize::MAX);
                entries.insert(path, TreeEntry { link: mode == "120000", object: object.into(), size });
            }
            (_, Some("commit"), _) => submodules.push(path),
            _ => {}
        }
    }
    Ok((entries, submodules))
}

/// The bytes of objects.
pub fn read<'a>(
    place: In<'_>,
    objects: impl Iterator<Item = &'a str>,
) -> Result<Vec<(&'a str, Vec<u8>)>, Failure> {
    let objects: Vec<&str> = objects.collect();
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let mut command = git(place);
    command.args(["cat-file", "--batch"]);
    let answers = output(command, (objects.join("\n") + "\n").as_bytes(), LOCAL)?;
    let mut rest = answers.as_slice();
    let mut read = Vec::with_capacity(objects.len());
    for object in objects {
        let missing = || Failure::Exited(format!("object {object} is missing or damaged"));
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(missing)?;
        let header = String::from_utf8_lossy(&rest[..end]);
        let mut words = header.split(' ').skip(1);
        let size = (words.next() == Some("blob")).then(|| words.next()?.parse::<usize>().ok()).flatten();
        let size = size.ok_or_else(missing)?;
        let bytes = rest.get(end + 1..end + 1 + size).ok_or_else(missing)?;
        read.push((object, bytes.to_vec()));
        rest = rest.get(end + 2 + size..).ok_or_else(missing)?;
    }
    Ok(read)
}

/// A YAML file of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeFile {
    /// Its folders, outermost first. A linked folder has the name of the link.
    pub folders: Vec<String>,
    /// Its path below the top of the repository.
    pub path: PathBuf,
    /// Its object, or the reason for its absence.
    pub object: Result<Arc<str>, Absent>,
}

/// The reason for the absence of a file's bytes in a commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Absent {
    /// A link leads out of the repository, to this path.
    Outside(PathBuf),
    /// A link leads to no file, for this reason.
    Link(&'static str),
    /// It has more bytes than the limit.
    TooLarge,
}

/// The files of a tree with such names, sorted by path, with the same rules as for folders on disk (S17): links
/// inside of the repository are followed; hidden files and folders, `CVS` and `SCCS` are skipped, except hidden
/// folders that are part of `root`. A tree beyond the limits is a [`Failure::TooMuch`].
pub fn files(
    place: In<'_>,
    commit: &str,
    root: &str,
    named: fn(&Path) -> bool,
    limits: TreeLimits,
) -> Result<Vec<TreeFile>, Failure> {
    let (entries, _) = entries(place, commit)?;
    let links = entries.values().filter(|entry| entry.link).map(|entry| &*entry.object);
    let targets = read(place, links)?.into_iter().map(|(object, bytes)| (object.into(), bytes)).collect();
    let mut files = Tree { entries, targets }.files(Path::new(""), root, named, limits)?;
    files.retain_mut(|file| {
        if let Err(Absent::Outside(_)) = file.object {
            file.object = Err(Absent::Link(OUTSIDE));
        }
        named(&file.path)
    });
    Ok(files)
}

/// The files and links of a commit.
#[derive(Default, Debug)]
pub struct Tree {
    /// By path.
    pub entries: BTreeMap<PathBuf, TreeEntry>,
    /// The targets of links, by object.
    pub targets: BTreeMap<Arc<str>, Vec<u8>>,
}

/// The target of a path in a tree after all links are followed.
pub enum Met<'a> {
    TreeFile(&'a TreeEntry),
    /// A folder, by its own path.
    Folder(PathBuf),
    /// A path of the file system, by an absolute link.
    Outside(PathBuf),
    /// Nothing, for this reason.
    Nothing(&'static str),
}

/// Whether the name of a file is that of a YAML file.
pub fn is_yaml(path: &Path) -> bool {
    matches!(path.extension(), Some(end) if end == "yml" || end == "yaml")
}

/// Whether the name of a file is that of a file of YAML or JSON.
pub fn is_yaml_or_json(path: &Path) -> bool {
    is_yaml(path) || path.extension().is_some_and(|end| end == "json")
}

/// A walk through a tree.
struct TreeWalk<'a> {
    tree: &'a Tree,
    root: &'a str,
    named: fn(&Path) -> bool,
    limits: TreeLimits,
    /// Number of files and folders so far.
    met: Cell<usize>,
}

impl TreeWalk<'_> {
    /// Walks through a folder by the rules of [`crate::storage::folders::list`].
    fn walk(
        &self,
        folder: &Path,
        folders: &mut Vec<String>,
        enclosing: &mut Vec<PathBuf>,
        files: &mut Vec<TreeFile>,
    ) -> Result<(), Failure> {
        if enclosing.iter().any(|outer| outer == folder) {
            return Ok(());
        }
        let (mut here, mut inner) = (Vec::new(), Vec::new());
        for (name, is_folder) in self.tree.children(folder) {
            self.met.set(self.met.get() + 1);
            if self.met.get() > self.limits.files {
                let what = "the number of files and folders";
                return Err(Failure::TooMuch(what, self.limits.files, "limit_files"));
            }
            if enclosing.len() > self.limits.depth {
                let depth = self.limits.depth;
                return Err(Failure::TooMuch("the depth of folders", depth, "limit_folder_depth"));
            }
            let path = folder.join(&name);
            let name = name.to_string_lossy().into_owned();
            folders.push(name.clone());
            let shown = folders.join("/");
            folders.pop();
            if name.starts_with('.') && !contains_root(&shown, self.root) {
                continue;
            }
            let met = if is_folder { Met::Folder(path) } else { self.tree.follow(path) };
            let is_named = (self.named)(Path::new(&name));
            match met {
                Met::TreeFile(entry) if entry.is_submodule() => return Err(Failure::Exited(shown)),
                Met::Folder(path) if name != "CVS" && name != "SCCS" => inner.push((name, path)),
                Met::TreeFile(entry) if is_named => here.push((shown, Ok(entry))),
                Met::Nothing(reason) if is_named => here.push((shown, Err(Absent::Link(reason)))),
                Met::Outside(path) => here.push((shown, Err(Absent::Outside(path)))),
                Met::Folder(_) | Met::TreeFile(_) | Met::Nothing(_) => {}
            }
        }
        inner.sort_unstable();
        for (shown, met) in here {
            let object = met.and_then(|entry| match entry.size {
                size if size > self.limits.bytes => Err(Absent::TooLarge),
                _ => Ok(entry.object.clone()),
            });
            files.push(TreeFile { folders: folders.clone(), path: shown.into(), object });
        }
        enclosing.push(folder.to_owned());
        for (name, path) in inner {
            folders.push(name);
            self.walk(&path, folders, enclosing, files)?;
            folders.pop();
        }
        enclosing.pop();
        Ok(())
    }
}

impl Tree {
    /// The files below a folder with such names, and all links that lead out of the repository.
    pub fn files(
        &self,
        folder: &Path,
        root: &str,
        named: fn(&Path) -> bool,
        limits: TreeLimits,
    ) -> Result<Vec<TreeFile>, Failure> {
        let mut files = Vec::new();
        let walk = TreeWalk { tree: self, root, named, limits, met: Cell::new(0) };
        walk.walk(folder, &mut Vec::new(), &mut Vec::new(), &mut files)?;
        Ok(files)
    }

    /// The names in a folder, and whether each is a folder.
    pub fn children(&self, folder: &Path) -> Vec<(std::ffi::OsString, bool)> {
        let mut children: Vec<(std::ffi::OsString, bool)> = Vec::new();
        for path in self.below(folder) {
            let Ok(rest) = path.strip_prefix(folder) else { break };
            let mut parts = rest.components();
            let Some(name) = parts.next().map(|part| part.as_os_str().to_owned()) else { continue };
            if children.last().is_none_or(|(last, _)| *last != name) {
                children.push((name, parts.next().is_some()));
            }
        }
        children
    }

    /// The paths from a folder on. Those in the folder come first.
    fn below(&self, folder: &Path) -> impl Iterator<Item = &PathBuf> {
        self.entries.range(folder.to_owned()..).map(|(path, _)| path)
    }

    /// The entry at a path after all links on it are followed.
    pub fn follow(&self, path: PathBuf) -> Met<'_> {
        use crate::storage::os::unix::ffi::OsStrExt as _;
        let (mut path, mut links) = (path, 0);
        'anew: loop {
            let mut at = PathBuf::new();
            let parts: Vec<Component<'_>> = path.components().collect();
            for (index, part) in parts.iter().enumerate() {
                match part {
                    Component::CurDir => continue,
                    Component::Normal(name) => at.push(name),
                    Component::ParentDir if at.pop() => continue,
                    Component::RootDir => return Met::Outside(path),
                    Component::ParentDir | Component::Prefix(_) => return Met::Nothing(OUTSIDE),
                }
                let Some(entry) = self.entries.get(&at) else { continue };
                if !entry.link {
                    let is_last = index + 1 == parts.len();
                    let found = is_last || entry.is_submodule();
                    return if found { Met::TreeFile(entry) } else { Met::Nothing(DANGLING) };
                }
                links += 1;
                let target = self.targets.get(&*entry.object);
                let Some(target) = target.filter(|_| links <= MAX_LINKS) else {
                    return Met::Nothing("too many symbolic links lead to one another");
                };
                at.pop();
                at.push(std::ffi::OsStr::from_bytes(target));
                at.extend(&parts[index + 1..]);
                path = at;
                continue 'anew;
            }
            let is_folder =
                at.as_os_str().is_empty() || self.below(&at).next().is_some_and(|next| next.starts_with(&at));
            return if is_folder { Met::Folder(at) } else { Met::Nothing(DANGLING) };
        }
    }
}

const OUTSIDE: &str = "a symbolic link leads out of the repository";
const DANGLING: &str = "a symbolic link leads to nothing";

/// Whether a folder is the root or one of its parents.
fn contains_root(folder: &str, root: &str) -> bool {
    root.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
