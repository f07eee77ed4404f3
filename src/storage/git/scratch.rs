//! Scratch turns files and folders into a folder that nobody else may read and that is gone when this process is,
//! in whatever way it ends.
//!
//! A shell waits on a pipe of ours: when that closes without a word, because we were killed, it removes
//! the folder. Where the shell was killed too, the next one who makes such a folder does: the folder is
//! locked as long as we live.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::storage::fs::put;

/// Where Linux has a file system in memory.
const MEMORY: &str = "/dev/shm";

/// What the names of these folders begin with: nobody else's do.
const PREFIX: &str = ".reclass-revision-";

/// A folder that is not locked yet may be this young.
const YOUNG: Duration = Duration::from_secs(60);

/// A file to be made: its path, whether it is a link, and its bytes.
pub type Put<'a> = (&'a PathBuf, bool, &'a Vec<u8>);

/// A folder of our own.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    /// Locked as long as it is open.
    _lock: File,
    watch: Option<Child>,
}

impl Scratch {
    /// A folder with these folders and files. Where there is room in memory, no disk sees them: thousands of them
    /// take a second there. A folder for temporary files that somebody named is the one that is used.
    pub fn with<'a>(
        folders: &BTreeSet<PathBuf>,
        files: impl Iterator<Item = Put<'a>> + Clone,
    ) -> std::io::Result<Scratch> {
        let memory = Path::new(MEMORY);
        let usual = std::env::temp_dir() == Path::new("/tmp") && memory.is_dir();
        let in_memory = usual.then(|| Scratch::below(memory, folders, files.clone()).ok()).flatten();
        in_memory.map_or_else(|| Scratch::below(&std::env::temp_dir(), folders, files), Ok)
    }

    fn below<'a>(
        place: &Path,
        folders: &BTreeSet<PathBuf>,
        mut files: impl Iterator<Item = Put<'a>>,
    ) -> std::io::Result<Scratch> {
        sweep(place);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            // A revision holds secrets.
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(place)?;
        let lock = open(folder.path())?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        // From here on all of it goes, should anything fail.
        let scratch = Scratch { watch: watch(folder.path()), folder, _lock: lock };
        for path in folders {
            std::fs::create_dir_all(scratch.path().join(path))?;
        }
        files.try_for_each(|(path, link, bytes)| put(&scratch.path().join(path), bytes, link))?;
        Ok(scratch)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(mut watch) = self.watch.take() {
            // The folder goes with this value; a word tells the shell that there is nothing to do.
            let told = watch.stdin.take().map(|mut stdin| stdin.write_all(b"done\n"));
            if matches!(told, Some(Ok(()))) {
                // Where nobody may wait for children, they are gone by themselves.
                let _ = watch.wait();
            }
        }
    }
}

/// Starts the shell that removes a folder when this process ends without a word. Without a shell there
/// is none: what is left behind is swept later.
fn watch(folder: &Path) -> Option<Child> {
    const WATCH: &str = "trap '' HUP INT TERM; read -r _ && exit; exec rm -rf -- \"$1\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", WATCH, "sh"]).arg(folder).current_dir("/").process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

#[expect(clippy::disallowed_methods, reason = "a folder of our own, locked and not read")]
fn open(folder: &Path) -> std::io::Result<File> {
    File::open(folder)
}

/// Removes the folders that processes of this user have left behind.
#[expect(clippy::disallowed_methods, reason = "folders of our own, which are no inventory")]
fn sweep(place: &Path) {
    let Ok(entries) = std::fs::read_dir(place) else { return };
    let ours = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for entry in ours {
        let Ok(about) = entry.metadata() else { continue };
        let age = about.modified().ok().and_then(|made| SystemTime::now().duration_since(made).ok());
        let left = about.is_dir() && about.uid() == geteuid().as_raw() && age.is_some_and(|age| age > YOUNG);
        let unlocked = |folder: &File| flock(folder, FlockOperation::NonBlockingLockExclusive).is_ok();
        if left && open(&entry.path()).is_ok_and(|folder| unlocked(&folder)) {
            // Whoever cannot remove it leaves it for the next.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_for_its_owner_alone() {
        for place in [Path::new(MEMORY), &std::env::temp_dir()] {
            if place.is_dir() {
                let scratch = Scratch::below(place, &BTreeSet::new(), std::iter::empty()).expect("a folder");
                let mode = scratch.path().metadata().expect("it is there").permissions().mode();
                assert_eq!(mode & 0o777, 0o700);
                let path = scratch.path().to_owned();
                assert!(path.starts_with(place));
                drop(scratch);
                assert!(!path.exists());
            }
        }
    }

    #[test]
    fn what_was_left_behind_is_swept_and_what_is_in_use_is_not() {
        let place = tempfile::tempdir().expect("a folder");
        let used = Scratch::below(place.path(), &BTreeSet::new(), std::iter::empty()).expect("a folder");
        let left = place.path().join(format!("{PREFIX}left"));
        let young = place.path().join(format!("{PREFIX}young"));
        for folder in [&left, &young] {
            std::fs::create_dir(folder).expect("a folder");
        }
        let long_ago = SystemTime::now() - 2 * YOUNG;
        for folder in [used.path(), &left] {
            open(folder).and_then(|folder| folder.set_modified(long_ago)).expect("its time");
        }
        sweep(place.path());
        assert!(used.path().exists() && young.exists() && !left.exists());
    }
}
