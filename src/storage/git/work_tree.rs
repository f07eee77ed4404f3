//! Finds the work tree around a folder, and the commit that it is at.

use std::path::{Path, PathBuf};

use super::program::{In, LOCAL, git, output};

/// The work tree around a folder.
#[derive(Clone, Debug)]
pub struct WorkTree {
    /// The commit that is checked out.
    pub commit: String,
    /// The path of the folder from the top, with a slash at its end; empty for the top.
    pub inside: String,
    /// Whether files in the folder differ from the commit.
    pub changed: bool,
}

/// What is checked out around a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedOut {
    /// The top of the work tree.
    pub top: PathBuf,
    /// The commit.
    pub commit: String,
    /// The branch; `HEAD` without one.
    pub branch: String,
    /// The file to which git appends at each move of `HEAD`.
    pub log: PathBuf,
}

impl CheckedOut {
    /// What is checked out around a folder; `None` without a commit, and where git refuses, as it does for
    /// repositories of other users.
    pub fn around(folder: &Path) -> Option<CheckedOut> {
        let wanted =
            ["rev-parse", "HEAD", "--show-toplevel", "--git-path", "logs/HEAD", "--abbrev-ref", "HEAD"];
        let text = text(folder, &wanted)?;
        let mut lines = text.lines();
        let mut next = || lines.next().map(str::to_owned);
        let (commit, top, log, branch) = (next()?, next()?, next()?, next()?);
        Some(CheckedOut { top: top.into(), commit, branch, log: folder.join(log) })
    }

    /// Whether the files in these folders are those of the commit.
    pub fn is_clean(&self, folders: &[&Path]) -> bool {
        let folders = folders.iter().map(|folder| folder.to_string_lossy());
        let folders: Vec<String> = folders.map(std::borrow::Cow::into_owned).collect();
        let mut wanted = vec!["status", "--porcelain", "--"];
        wanted.extend(folders.iter().map(String::as_str));
        text(&self.top, &wanted).is_some_and(|changes| changes.is_empty())
    }
}

/// The file with the names that git leaves out in the repository around a folder; `None` without a repository, and
/// where git refuses.
pub fn exclude_file(folder: &Path) -> Option<PathBuf> {
    let path = text(folder, &["rev-parse", "--git-path", "info/exclude"])?;
    Some(folder.join(path.trim_end_matches('\n')))
}

/// The output of git in the repository around a folder. The repository may name a program that git would run.
fn text(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = git(In::Enclosing(folder));
    command.args(["-c", "core.fsmonitor=false"]).args(arguments);
    let bytes = output(command, b"", LOCAL).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

impl WorkTree {
    /// The work tree around a folder; `None` without one, without a commit or without git.
    pub fn around(folder: &Path) -> Option<WorkTree> {
        let both = text(folder, &["rev-parse", "HEAD", "--show-prefix"])?;
        let mut lines = both.lines();
        let commit = lines.next()?.to_owned();
        let inside = lines.next().unwrap_or_default().to_owned();
        let changed =
            text(folder, &["status", "--porcelain", "--", "."]).is_none_or(|changes| !changes.is_empty());
        Some(WorkTree { commit, inside, changed })
    }
}
