//! A revision of the repository that holds an inventory turns into a folder that can be read like
//! any other.
//!
//! The repository is the user's own: git finds it, with its configuration, its alternates and its
//! promisor remotes, as it does for the user's commands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use super::objects::{self, MAX_LINKS};
use super::program::{Failure, In, LOCAL, git, output};
use super::scratch::Scratch;
use crate::base::error::{Fault, Kind, Result};
use crate::storage::fs::{link_target, real, reason};

/// The largest file that is taken, in bytes: the highest that `limit_file_size` can be.
const LARGEST: usize = 64 * 1024 * 1024;

/// The folders and YAML files of a revision, as long as this lives.
#[derive(Debug)]
pub struct Checkout {
    folder: Scratch,
    /// The top of the repository.
    top: PathBuf,
    /// The revision as it was named.
    pub revision: String,
}

/// The commit that a revision names.
pub(super) fn commit(place: In<'_>, revision: &str) -> Result<String, Failure> {
    // What begins with a dash would be an option.
    if revision.starts_with('-') {
        return Err(Failure::Said("no revision begins with a dash".into()));
    }
    let mut command = git(place);
    command.args(["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")]);
    Ok(String::from_utf8_lossy(&output(command, b"", LOCAL)?).trim().to_owned())
}

/// A file or a link of a revision: its path, whether it is a link, and its bytes.
type Taken = (PathBuf, bool, Vec<u8>);

/// Takes what a commit has: of the repository around `top`, or at `inside` of one of its submodules.
fn take(
    top: &Path,
    (place, inside): (In<'_>, &Path),
    commit: &str,
    folders: &mut BTreeSet<PathBuf>,
    files: &mut Vec<Taken>,
) -> Result<(), Failure> {
    let (mut entries, submodules) = objects::entries_and_submodules(place, commit)?;
    // A folder of nodes or classes may hold no YAML file yet.
    folders.extend(entries.keys().filter_map(|path| Some(inside.join(path.parent()?))));
    entries.retain(|path, entry| {
        entry.link || matches!(path.extension(), Some(end) if end == "yml" || end == "yaml")
    });
    if let Some((path, _)) = entries.iter().find(|(_, entry)| entry.size > LARGEST) {
        let path = inside.join(path);
        return Err(Failure::Said(format!("'{}' has more than {LARGEST} bytes", path.display())));
    }
    let read = objects::read(place, entries.values().map(|entry| &*entry.object))?;
    let taken =
        entries.iter().zip(read).map(|((path, entry), (_, bytes))| (inside.join(path), entry.link, bytes));
    files.extend(taken);
    let kept = if submodules.is_empty() { BTreeMap::new() } else { kept(place, commit) };
    for (path, commit) in submodules {
        let at = inside.join(&path);
        let here = top.join(&at);
        let place = match kept.get(&path) {
            _ if here.join(".git").exists() => In::Around(&here),
            Some(kept) => In::Kept(kept),
            // One that nobody has fetched is an empty folder in the inventory as it stands, too.
            None => {
                folders.insert(at);
                continue;
            }
        };
        take(top, (place, &at), &commit, folders, files).map_err(|failure| match failure {
            Failure::Said(text) => Failure::Said(format!("submodule '{}': {text}", at.display())),
            other => other,
        })?;
    }
    Ok(())
}

/// Where git keeps the repositories of the submodules of a commit, by their paths: those that were moved or
/// removed since are only there.
fn kept(place: In<'_>, commit: &str) -> BTreeMap<PathBuf, PathBuf> {
    let said = |arguments: &[&str]| {
        let mut command = git(place);
        command.args(arguments);
        output(command, b"", LOCAL).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let all = || {
        let folder = said(&["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        let modules = Path::new(folder.trim_end_matches('\n')).join("modules");
        let blob = format!("{commit}:.gitmodules");
        let names = said(&["config", "--blob", &blob, "-z", "--get-regexp", r"^submodule\..*\.path$"])?;
        let one = |entry: &str| {
            let (name, path) = entry.split_once('\n')?;
            let name = name.strip_prefix("submodule.")?.strip_suffix(".path")?;
            let kept = modules.join(name);
            // A name that leads elsewhere is none.
            let is_name = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            (is_name && kept.join("HEAD").exists()).then(|| (PathBuf::from(path), kept))
        };
        Some(names.split('\0').filter_map(one).collect())
    };
    all().unwrap_or_default()
}

impl Checkout {
    /// Takes the folders, YAML files and links of a revision of the repository that holds `folder`, and of
    /// its submodules at the commits that it names.
    pub fn of(revision: &str, folder: &Path) -> Result<Checkout> {
        let failed = |failure: Failure| {
            let message = match failure {
                Failure::NotRun(message) => format!("cannot run the program 'git': {message}"),
                Failure::TimedOut(limit) => format!("git took more than {} seconds", limit.as_secs()),
                Failure::Said(text) => text,
                Failure::TooMuch(what, limit, _) => format!("{what} exceeds the limit of {limit}"),
            };
            Fault::new(Kind::Revision { revision: revision.to_owned(), message })
        };
        let broken = |error: std::io::Error| failed(Failure::Said(reason(&error)));
        let mut command = git(In::Around(folder));
        command.args(["rev-parse", "--show-toplevel"]);
        let top = output(command, b"", LOCAL).map_err(failed)?;
        let top = PathBuf::from(String::from_utf8_lossy(&top).trim_end_matches('\n'));
        let top = real(&top).unwrap_or(top);
        let commit = commit(In::Around(&top), revision).map_err(failed)?;
        let (mut folders, mut files) = (BTreeSet::new(), Vec::new());
        take(&top, (In::Around(&top), Path::new("")), &commit, &mut folders, &mut files).map_err(failed)?;
        let files = files.iter().map(|(path, link, bytes)| (path, *link, bytes));
        let folder = Scratch::with(&folders, files).map_err(broken)?;
        Ok(Checkout { folder, top, revision: revision.to_owned() })
    }

    /// Where a folder of the repository is now, by whatever links one comes there from outside; one outside
    /// of it stays where it is.
    pub fn place(&self, folder: &Path) -> PathBuf {
        self.inside(folder).map_or_else(|| folder.to_owned(), |inside| self.folder.path().join(inside))
    }

    /// The path of a folder below the top of the repository. Links outside are followed, one after the
    /// other, until one comes to the top; those inside are the revision's.
    fn inside(&self, folder: &Path) -> Option<PathBuf> {
        let mut folder = folder.to_owned();
        for _ in 0..=MAX_LINKS {
            let mut around: Vec<&Path> = folder.ancestors().collect();
            around.reverse();
            if let Some(top) = around.iter().find(|outer| real(outer).as_ref() == Some(&self.top)) {
                return folder.strip_prefix(top).ok().map(Path::to_path_buf);
            }
            let (link, target) = around.into_iter().find_map(|outer| Some((outer, link_target(outer)?)))?;
            folder = target.join(folder.strip_prefix(link).ok()?);
        }
        None
    }

    /// A text with the paths of this folder as paths of the revision: `main:classes/a.yml`.
    pub fn shown(&self, text: &str) -> String {
        let folder = format!("{}/", self.folder.path().display());
        text.replace(&folder, &format!("{}:", self.revision))
    }
}
