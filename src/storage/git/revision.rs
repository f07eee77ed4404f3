//! A revision of the repository that holds an inventory turns into a folder that can be read like
//! any other.
//!
//! The repository is the user's own: git finds it, with its configuration, its alternates and its
//! promisor remotes, as it does for the user's commands.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::objects;
use super::program::{Failure, In, LOCAL, git, output};
use super::scratch::Scratch;
use crate::error::{Fault, Kind, Result};
use crate::storage::fs::reason;

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

/// Takes what a commit has: of the repository, or of one of its submodules at `inside`.
fn take(
    top: &Path,
    inside: &Path,
    commit: &str,
    folders: &mut BTreeSet<PathBuf>,
    files: &mut Vec<Taken>,
) -> Result<(), Failure> {
    let here = top.join(inside);
    let place = In::Around(&here);
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
    for (path, commit) in submodules {
        let inside = inside.join(path);
        // One that nobody has fetched is no part of the inventory as it stands either.
        if top.join(&inside).join(".git").exists() {
            take(top, &inside, &commit, folders, files).map_err(|failure| match failure {
                Failure::Said(text) => Failure::Said(format!("submodule '{}': {text}", inside.display())),
                other => other,
            })?;
        }
    }
    Ok(())
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
        let commit = commit(In::Around(&top), revision).map_err(failed)?;
        let (mut folders, mut files) = (BTreeSet::new(), Vec::new());
        take(&top, Path::new(""), &commit, &mut folders, &mut files).map_err(failed)?;
        let files = files.iter().map(|(path, link, bytes)| (path, *link, bytes));
        let folder = Scratch::with(&folders, files).map_err(broken)?;
        Ok(Checkout { folder, top, revision: revision.to_owned() })
    }

    /// Where a folder of the repository is now; one outside of it stays where it is.
    pub fn place(&self, folder: &Path) -> PathBuf {
        match folder.strip_prefix(&self.top) {
            Ok(inside) => self.folder.path().join(inside),
            Err(_) => folder.to_owned(),
        }
    }

    /// A text with the paths of this folder as paths of the revision: `main:classes/a.yml`.
    pub fn shown(&self, text: &str) -> String {
        let folder = format!("{}/", self.folder.path().display());
        text.replace(&folder, &format!("{}:", self.revision))
    }
}
