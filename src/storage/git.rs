//! A revision of a git repository turns into a folder that can be read like any other.
//!
//! The program `git` is asked, not a library: it is there wherever a repository is, and it knows
//! the repository's configuration, its alternates and its promisor remotes as the user's own
//! commands do. Files are taken as they are in the revision (`ls-tree`, `cat-file --batch`), not
//! as `git archive` or a checkout would change them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::error::{Fault, Kind, Result};

/// The YAML files of a revision, as long as this lives.
#[derive(Debug)]
pub struct Checkout {
    folder: TempDir,
    /// The top of the repository.
    top: PathBuf,
    /// The revision as it was named.
    pub revision: String,
}

/// The largest file that is taken, in bytes; reading one has the same limit.
const MAX_FILE: usize = 64 * 1024 * 1024;

/// Where Linux has a file system in memory.
const MEMORY: &str = "/dev/shm";

fn failed(revision: &str, message: impl Into<String>) -> Fault {
    Fault::new(Kind::Revision { revision: revision.to_owned(), message: message.into() })
}

/// A `git` that neither asks nor writes.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
    command.env("LC_ALL", "C").stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// What a command prints.
fn output(revision: &str, command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().map_err(|error| failed(revision, super::fs::reason(&error)))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ").to_owned();
    Err(failed(revision, line).into())
}

/// One entry of a tree.
struct Entry {
    link: bool,
    object: String,
}

impl Checkout {
    /// Takes the YAML files and links of a revision of the repository that holds `folder`.
    pub fn of(revision: &str, folder: &Path) -> Result<Checkout> {
        // What begins with a dash would be an option.
        if revision.starts_with('-') {
            return Err(failed(revision, "no revision begins with a dash").into());
        }
        let top = output(revision, git(folder).args(["rev-parse", "--show-toplevel"]))?;
        let top = PathBuf::from(String::from_utf8_lossy(&top).trim_end_matches('\n'));
        let name = format!("{revision}^{{commit}}");
        let commit = output(revision, git(&top).args(["rev-parse", "--verify", "--end-of-options", &name]))?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        let tree = output(revision, git(&top).args(["ls-tree", "-r", "-z", "--full-tree", &commit]))?;
        let entries = entries(&tree);
        if let Some(checkout) = Checkout::in_memory(revision, &top, &entries) {
            return Ok(checkout);
        }
        Checkout::below(&std::env::temp_dir(), revision, &top, &entries)
    }

    /// Where there is room in memory, no disk sees the files: thousands of them take a second there.
    /// A folder for temporary files that somebody named is the one that is used.
    fn in_memory(revision: &str, top: &Path, entries: &BTreeMap<PathBuf, Entry>) -> Option<Checkout> {
        let folder = Path::new(MEMORY);
        let usual = std::env::temp_dir() == Path::new("/tmp") && folder.is_dir();
        usual.then(|| Checkout::below(folder, revision, top, entries).ok()).flatten()
    }

    fn below(
        folder: &Path,
        revision: &str,
        top: &Path,
        entries: &BTreeMap<PathBuf, Entry>,
    ) -> Result<Checkout> {
        let folder = tempfile::Builder::new()
            .prefix("reclass-")
            // A revision holds secrets.
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(folder)
            .map_err(|error| failed(revision, super::fs::reason(&error)))?;
        let checkout = Checkout { folder, top: top.to_owned(), revision: revision.to_owned() };
        checkout.take(entries)?;
        Ok(checkout)
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

    fn take(&self, entries: &BTreeMap<PathBuf, Entry>) -> Result<()> {
        let revision = &self.revision;
        let broken = |error: std::io::Error| failed(revision, super::fs::reason(&error));
        let mut command = git(&self.top);
        command
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(broken)?;
        let (Some(mut asks), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(revision, "git takes no questions").into());
        };
        let mut names = entries.values().map(|entry| entry.object.as_str()).collect::<Vec<_>>().join("\n");
        names.push('\n');
        let taken = std::thread::scope(|scope| {
            // Both pipes may be full: one thread asks, one listens.
            scope.spawn(move || asks.write_all(names.as_bytes()));
            let mut answers = BufReader::new(answers);
            entries.iter().try_for_each(|(path, entry)| self.take_one(&mut answers, path, entry))
        });
        let _ = child.wait();
        taken
    }

    fn take_one(&self, answers: &mut impl std::io::BufRead, path: &Path, entry: &Entry) -> Result<()> {
        let revision = &self.revision;
        let broken = |error: std::io::Error| failed(revision, super::fs::reason(&error));
        let mut header = String::new();
        answers.by_ref().take(4096).read_line(&mut header).map_err(broken)?;
        let size = header.trim_end().rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
        let Some(size) = size.filter(|size| *size <= MAX_FILE) else {
            return Err(failed(revision, format!("cannot read '{}'", path.display())).into());
        };
        let mut bytes = vec![0; size];
        answers.read_exact(&mut bytes).map_err(broken)?;
        answers.read_exact(&mut [0]).map_err(broken)?;
        let target = self.folder.path().join(path);
        super::fs::put(&target, &bytes, entry.link).map_err(broken)?;
        Ok(())
    }
}

/// The YAML files and links of a listing; a path that leads out of the folder is none.
fn entries(listing: &[u8]) -> BTreeMap<PathBuf, Entry> {
    let mut entries = BTreeMap::new();
    for line in listing.split(|byte| *byte == 0).map(String::from_utf8_lossy) {
        let Some((about, path)) = line.split_once('\t') else { continue };
        let mut words = about.split(' ');
        let (mode, object) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
        let link = mode == "120000";
        let yaml = mode.starts_with("100") && matches!(path.rsplit_once('.'), Some((_, "yml" | "yaml")));
        let path = PathBuf::from(path);
        let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
        if inside && (link || yaml) {
            entries.insert(path, Entry { link, object: object.to_owned() });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_for_its_owner_alone() {
        for folder in [Path::new(MEMORY), &std::env::temp_dir()] {
            if folder.is_dir() {
                let checkout = Checkout::below(folder, "HEAD", Path::new("."), &BTreeMap::new());
                let checkout = checkout.expect("a folder");
                let mode = checkout.folder.path().metadata().expect("it is there").permissions().mode();
                assert_eq!(mode & 0o777, 0o700);
                assert!(checkout.folder.path().starts_with(folder));
            }
        }
    }
}
