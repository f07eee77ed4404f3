//! Reads a revision of the repository of an inventory into memory. Its files are then read as if they were in
//! folders.
//!
//! The repository belongs to the user. Git finds it with its configuration, alternates and promisor remotes,
//! as for the user's own commands.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::objects::{self, Absent, MAX_LINKS, Met, Tree, TreeEntry, TreeFile, is_yaml_or_json};
use super::program::{Failure, In, LOCAL, git, in_words, output};
use super::{Blob, GitFile};
use crate::storage::fs::{self, display, link_target, real, reason};
use crate::storage::os::unix::ffi::OsStrExt as _;
use crate::storage::{FoundFile, TreeLimits, folders};
use reclass_base::error::{Fault, Kind, Result};
use reclass_base::similar;

/// Maximum size of a file in bytes: the largest value of `limit_file_size`.
const LARGEST: usize = 64 * 1024 * 1024;

/// The files and links of a revision.
#[derive(Debug)]
pub struct Revision {
    /// The prefix of its paths: its name and a colon.
    prefix: String,
    /// The top of the repository.
    top: PathBuf,
    tree: Tree,
    /// The bytes of YAML files, by object.
    blobs: BTreeMap<Arc<str>, Arc<Blob>>,
}

/// The commit that a revision names.
pub(super) fn commit(place: In<'_>, revision: &str) -> Result<String, Failure> {
    // A name with a dash would be an option.
    if revision.starts_with('-') {
        return Err(Failure::Exited("no revision begins with a dash".into()));
    }
    let mut command = git(place);
    command.args(["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")]);
    Ok(String::from_utf8_lossy(&output(command, b"", LOCAL)?).trim().to_owned())
}

/// The branches and tags of the repository around a folder, those with the latest commits first; none without
/// a repository.
pub fn names(folder: &Path) -> Vec<String> {
    let mut command = git(In::Enclosing(folder));
    command.args(["for-each-ref", "--sort=-creatordate", "--count=1000", "--format=%(refname:short)"]);
    command.args(["refs/heads", "refs/tags", "refs/remotes"]);
    let names = output(command, b"", LOCAL).unwrap_or_default();
    String::from_utf8_lossy(&names).lines().map(str::to_owned).collect()
}

impl Revision {
    /// Reads the files and links of a revision of the repository around `folder`.
    pub fn of(name: &str, folder: &Path) -> Result<Revision> {
        let failed = |failure: Failure| {
            let message = match failure {
                Failure::NotRun(message) => format!("cannot run the program 'git': {message}"),
                Failure::TimedOut(limit) => format!("git took more than {}", in_words(limit)),
                Failure::Exited(text) if text.contains("Needed a single revision") => {
                    "the repository has no such revision".to_owned()
                }
                Failure::Exited(text) => text,
                Failure::TooMuch(what, limit, _) => format!("{what} exceeds the limit of {limit}"),
            };
            Fault::new(Kind::Revision { revision: name.to_owned(), message })
        };
        let mut command = git(In::Enclosing(folder));
        command.args(["rev-parse", "--show-toplevel"]);
        let top = output(command, b"", LOCAL).map_err(failed)?;
        let top = PathBuf::from(String::from_utf8_lossy(&top).trim_end_matches('\n'));
        let top = real(&top).unwrap_or(top);
        let commit = commit(In::Enclosing(&top), name).map_err(failed)?;
        let place = In::Enclosing(&top);
        let (mut entries, submodules) = objects::entries(place, &commit).map_err(failed)?;
        let taken =
            |path: &Path, entry: &TreeEntry| entry.link || is_yaml_or_json(path) && entry.size <= LARGEST;
        let taken = entries.iter().filter(|(path, entry)| taken(path, entry));
        let read = objects::read(place, taken.clone().map(|(_, entry)| &*entry.object)).map_err(failed)?;
        let (mut targets, mut blobs) = (BTreeMap::new(), BTreeMap::new());
        for ((_, entry), (_, bytes)) in taken.zip(read) {
            let object = entry.object.clone();
            if entry.link {
                targets.insert(object, bytes);
            } else {
                blobs.insert(object.clone(), Arc::new(Blob { object, bytes: bytes.into() }));
            }
        }
        entries.extend(submodules.into_iter().map(|path| (path, TreeEntry::submodule())));
        Ok(Revision { prefix: format!("{name}:"), top, tree: Tree { entries, targets }, blobs })
    }

    /// A tree that was never on disk: texts by their paths below the folder `top`. Its paths are those that the
    /// files would have there. A path that leads out of the folder is skipped.
    pub fn in_memory(top: &Path, texts: &BTreeMap<String, String>) -> Revision {
        let (mut entries, mut blobs) = (BTreeMap::new(), BTreeMap::new());
        let is_inside =
            |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        for (path, text) in texts.iter().filter(|(path, _)| is_inside(path)) {
            // The name of an object; the tree does not change, so the path is enough.
            let object: Arc<str> = path.as_str().into();
            entries.insert(path.into(), TreeEntry { link: false, object: object.clone(), size: text.len() });
            blobs.insert(object.clone(), Arc::new(Blob { object, bytes: text.as_bytes().into() }));
        }
        let tree = Tree { entries, targets: BTreeMap::new() };
        Revision { prefix: format!("{}/", display(top)), top: top.to_owned(), tree, blobs }
    }

    /// The path of a folder in the revision, for example `main:classes`. A folder outside of the repository
    /// keeps its path.
    pub fn place(&self, folder: PathBuf) -> PathBuf {
        match self.inside(&folder) {
            Some(inside) => {
                let mut path = OsString::from(&self.prefix);
                path.push(inside);
                path.into()
            }
            None => folder,
        }
    }

    /// The path of a folder below the top of the repository. Links outside of the repository are followed
    /// until the top is reached. Links inside belong to the revision.
    fn inside(&self, folder: &Path) -> Option<PathBuf> {
        let mut folder = folder.to_owned();
        for _ in 0..=MAX_LINKS {
            let mut ancestors: Vec<&Path> = folder.ancestors().collect();
            ancestors.reverse();
            if let Some(top) =
                ancestors.iter().find(|outer| **outer == self.top || real(outer).as_ref() == Some(&self.top))
            {
                return folder.strip_prefix(top).ok().map(Path::to_path_buf);
            }
            let (link, target) =
                ancestors.into_iter().find_map(|outer| Some((outer, link_target(outer)?)))?;
            folder = target.join(folder.strip_prefix(link).ok()?);
        }
        None
    }

    /// The path and bytes in the revision of a file that is given by its folder on disk.
    pub fn read(&self, folder: &Path, name: &str, most: usize) -> Option<(String, Vec<u8>)> {
        let path = self.inside(folder)?.join(name);
        let bytes = match self.tree.follow(path.clone()) {
            Met::TreeFile(entry) if entry.size <= most => self.blobs.get(&entry.object)?.bytes.to_vec(),
            Met::Outside(path) => fs::read(&path, most).ok()?.0,
            Met::TreeFile(_) | Met::Folder(_) | Met::Nothing(_) => return None,
        };
        Some((format!("{}{}", self.prefix, path.display()), bytes))
    }

    /// The files with such names below a folder from [`Revision::place`], with paths below that folder; `None`
    /// for a folder on disk.
    pub fn files(
        &self,
        folder: &Path,
        named: fn(&Path) -> bool,
        limits: TreeLimits,
    ) -> Option<Result<Vec<GitFile>>> {
        let inside = folder.as_os_str().as_bytes().strip_prefix(self.prefix.as_bytes())?;
        let inside = Path::new(std::ffi::OsStr::from_bytes(inside));
        Some(self.list(folder, inside, named, limits))
    }

    fn list(
        &self,
        folder: &Path,
        inside: &Path,
        named: fn(&Path) -> bool,
        limits: TreeLimits,
    ) -> Result<Vec<GitFile>> {
        let start = match self.tree.follow(inside.to_owned()) {
            Met::Folder(start) => start,
            Met::Outside(path) => return outside(&[], Path::new(""), &path, limits),
            Met::TreeFile(entry) if entry.is_submodule() => return Err(self.in_submodule(inside).into()),
            Met::TreeFile(_) => return Err(self.missing(folder, inside, Errno::NOTDIR).into()),
            Met::Nothing(_) => return Err(self.missing(folder, inside, Errno::NOENT).into()),
        };
        let listed = self.tree.files(&start, "", named, limits).map_err(|failure| match failure {
            Failure::TooMuch(what, limit, setting) => {
                let what = format!("{what} in '{}'", display(folder));
                Fault::new(Kind::YamlLimit { what, limit, setting: Some(setting) })
            }
            Failure::Exited(submodule) => self.in_submodule(Path::new(&submodule)),
            other => Fault::new(Kind::Internal { message: format!("{other:?}") }),
        })?;
        let mut files = Vec::with_capacity(listed.len());
        let mut folders: Arc<[String]> = Arc::default();
        for TreeFile { folders: inside, path, object } in listed {
            let blob = match object {
                Err(Absent::Outside(there)) if there.is_dir() => {
                    files.extend(outside(&inside, &path, &there, limits)?);
                    continue;
                }
                Err(Absent::Outside(_)) if !named(&path) => continue,
                Err(absent) => Err(absent),
                Ok(object) => self.blobs.get(&object).cloned().ok_or(Absent::TooLarge),
            };
            if *folders != *inside {
                folders = inside.into();
            }
            files.push(GitFile { folders: folders.clone(), path, blob });
        }
        Ok(files)
    }

    /// The fault for a part of the inventory that is in a submodule, which is another repository.
    fn in_submodule(&self, path: &Path) -> Fault {
        let revision = self.prefix.trim_end_matches(':').to_owned();
        let message = format!("'{}' is in a submodule, and submodules are not read", display(path));
        Fault::new(Kind::Revision { revision, message })
    }

    /// The fault for a missing folder, with a similar name from the same parent.
    fn missing(&self, folder: &Path, inside: &Path, error: Errno) -> Fault {
        let name = inside.file_name().unwrap_or_default().to_string_lossy();
        let beside = self.tree.children(inside.parent().unwrap_or(inside));
        let beside = beside.iter().filter(|(_, is_folder)| *is_folder).filter_map(|(name, _)| name.to_str());
        let similar = similar::nearest(&name, beside).map(str::to_owned);
        let message = match error {
            Errno::NOENT => "the revision has no such folder".to_owned(),
            error => reason(&error.into()),
        };
        let path = display(folder);
        Fault::new(Kind::DirectoryNotFound { path, message, similar })
    }
}

/// The files of a folder on disk that a link in the revision leads to. The path of the link is below
/// `folders`.
fn outside(folders: &[String], link: &Path, there: &Path, limits: TreeLimits) -> Result<Vec<GitFile>> {
    let listing = folders::list(&[there.to_owned()], limits)?;
    let name = link.file_name().map(|name| name.to_string_lossy().into_owned());
    let outer: Vec<String> = folders.iter().cloned().chain(name).collect();
    let file = |found: FoundFile| {
        let inside = found.folder.relative_text();
        let inner = inside.split('/').filter(|part| !part.is_empty()).map(str::to_owned);
        let path = link.join(&*inside).join(&*found.file);
        let folders = outer.iter().cloned().chain(inner).collect();
        GitFile { folders, path, blob: Err(Absent::Outside(found.path())) }
    };
    Ok(listing.files().map(file).collect())
}
