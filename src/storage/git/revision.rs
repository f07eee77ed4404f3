//! A revision of the repository that holds an inventory turns into a folder that can be read like
//! any other.
//!
//! The repository is the user's own: git finds it, with its configuration, its alternates and its
//! promisor remotes, as it does for the user's commands.

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

impl Checkout {
    /// Takes the folders, YAML files and links of a revision of the repository that holds `folder`.
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
        let place = In::Around(&top);
        let commit = commit(place, revision).map_err(failed)?;
        let mut entries = objects::entries(place, &commit).map_err(failed)?;
        // A folder of nodes or classes may hold no YAML file yet.
        let folders = entries.keys().filter_map(|path| path.parent()).map(Path::to_path_buf).collect();
        entries.retain(|path, entry| {
            entry.link || matches!(path.extension(), Some(end) if end == "yml" || end == "yaml")
        });
        if let Some((path, _)) = entries.iter().find(|(_, entry)| entry.size > LARGEST) {
            return Err(
                failed(Failure::Said(format!("'{}' has more than {LARGEST} bytes", path.display()))).into()
            );
        }
        let read = objects::read(place, entries.values().map(|entry| &*entry.object)).map_err(failed)?;
        let files = entries.iter().zip(&read).map(|((path, entry), (_, bytes))| (path, entry.link, bytes));
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
