//! Finds the work tree around a folder, and the commit that it is at.

use std::path::Path;

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

impl WorkTree {
    /// The work tree around a folder; `None` without one, without a commit or without git.
    pub fn around(folder: &Path) -> Option<WorkTree> {
        let text = |arguments: &[&str]| {
            let mut command = git(In::Enclosing(folder));
            command.args(arguments);
            let bytes = output(command, b"", LOCAL).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let both = text(&["rev-parse", "HEAD", "--show-prefix"])?;
        let mut lines = both.lines();
        let commit = lines.next()?.to_owned();
        let inside = lines.next().unwrap_or_default().to_owned();
        let changed = text(&["status", "--porcelain", "--", "."]).is_none_or(|changes| !changes.is_empty());
        Some(WorkTree { commit, inside, changed })
    }
}
