//! The local cache of a remote repository: a bare repository, and a record with the commit of each branch at
//! the last fetch.
//!
//! Only the record decides which commits are read. It is one small file that is replaced in one step. So
//! every process sees the branches of one fetch, even if the references of the repository change meanwhile.
//! Fetching needs the lock, reading does not.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::storage::private::{PrivateFolder, message};
use crate::storage::record::{FetchLock, FetchTimes, Fetched, Moment, RecordFile};

const RECORD: &str = "reclass-record";

/// The folder of a cache and the file of its lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cache {
    /// The bare repository.
    pub folder: PathBuf,
    /// The file that a fetching process locks.
    pub lock: PathBuf,
}

/// The branches at the last fetch.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The last fetches.
    pub times: FetchTimes,
    /// The commits of all branches.
    pub heads: BTreeMap<String, Arc<str>>,
    /// The commits that are served, by inventory, if new ones are tested first (`serve`). The engine writes and
    /// reads them; a fetch keeps them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub served: BTreeMap<String, serde_json::Value>,
    /// Whether the record before this one was there and could not be believed, so that `served` is lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub distrusted: bool,
}

impl Fetched for Record {
    fn times(&self) -> &FetchTimes {
        &self.times
    }
}

impl Record {
    /// Takes over from the record before what a later fetch does not change. The fetch began at this moment.
    pub fn after(&mut self, before: &Record, began: Moment) -> &Record {
        self.times.failed = before.times.failed;
        self.times.note(&self.heads, began.clock, (&before.heads, &before.times));
        self.served.clone_from(&before.served);
        self.distrusted = before.distrusted;
        self
    }
}

impl Cache {
    /// Fails if another user may put a cache in place of this one. Creates the folder of all caches. Removes a
    /// cache that is a link, and one whose configuration others may write, because it names programs.
    pub fn check(&self) -> Result<(), String> {
        self.folder.parent().map_or(Ok(()), |caches| PrivateFolder::make(caches).map(drop))?;
        let config = || PrivateFolder::open(&self.folder)?.file("config".as_ref(), OFlags::RDONLY);
        if self.folder.is_symlink() || self.folder.join("config").exists() && config().is_err() {
            remove(&self.folder)?;
        }
        Ok(())
    }

    /// The record; an empty one without one that can be believed.
    pub fn record(&self) -> Record {
        let file = self.record_file();
        match file.read() {
            Some((record, _)) => record,
            None => Record { distrusted: file.is_there(), ..Record::default() },
        }
    }

    pub fn record_file(&self) -> RecordFile {
        RecordFile { path: self.folder.join(RECORD), lock: self.lock.clone() }
    }

    /// Replaces the record.
    pub fn write(&self, record: &Record) -> Result<(), String> {
        self.record_file().write(record)
    }

    /// Writes a small program into the cache and returns its path.
    pub fn script(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        PrivateFolder::open(&self.folder)?.replace(name.as_ref(), text.as_bytes(), 0o700)?;
        Ok(self.folder.join(name))
    }

    /// Waits for the lock; `None` if another process holds it for longer than `wait`.
    pub fn lock(&self, wait: Duration) -> Result<Option<FetchLock>, String> {
        self.record_file().lock(wait)
    }

    /// Removes the files of a killed git: locks of references, incomplete packs. Nobody uses them, because
    /// the caller holds the lock.
    pub fn sweep(&self) {
        let is_lock = |name: &str| Path::new(name).extension().is_some_and(|end| end == "lock");
        sweep(&self.folder, false, &is_lock);
        sweep(&self.folder.join("refs"), true, &is_lock);
        sweep(&self.folder.join("objects/info"), true, &is_lock);
        sweep(&self.folder.join("objects/pack"), false, &|name| name.starts_with("tmp_"));
    }

    /// An empty cache beside this one, which can replace it.
    pub fn beside(&self) -> Result<Cache, String> {
        let cache = Cache { folder: self.folder.with_extension("new"), lock: self.lock.clone() };
        self.check()?;
        remove(&cache.folder)?;
        PrivateFolder::make(&cache.folder)?;
        Ok(cache)
    }

    /// Replaces this cache by another one.
    pub fn replace_by(&self, other: &Cache) -> Result<(), String> {
        let old = self.folder.with_extension("old");
        remove(&old)?;
        match fs::rename(&self.folder, &old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(message(&self.folder, error));
            }
            _ => {}
        }
        fs::rename(&other.folder, &self.folder).map_err(|error| message(&self.folder, error))?;
        remove(&old)
    }

    /// Removes the cache after a failed first fetch.
    pub fn remove(&self) {
        let _ = remove(&self.folder);
    }
}

/// Removes leftover files from a folder. Files that cannot be examined or removed stay.
fn sweep(folder: &Path, deep: bool, is_left: &dyn Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && deep {
            sweep(&entry.path(), deep, is_left);
        } else if !is_folder && is_left(&entry.file_name().to_string_lossy()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn remove(folder: &Path) -> Result<(), String> {
    let removed = match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(folder),
        Ok(_) => fs::remove_file(folder),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(message(folder, error)),
        _ => Ok(()),
    }
}
