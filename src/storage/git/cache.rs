//! The local cache of a remote repository: a bare repository, and a record with the commit of each branch at
//! the last fetch.
//!
//! Only the record decides which commits are read. It is one small file that is replaced in one step. So
//! every process sees the branches of one fetch, even if the references of the repository change meanwhile.
//! Fetching needs the lock, reading does not.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::storage::fs::DiskFingerprint;
use crate::storage::record::{END, FetchLock, FetchTimes, Fetched, RecordFile, io_message, make};

/// The first line of a record. A cache with another first line comes from another program or version.
const FORMAT: &str = "reclass cache 1";
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
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Record {
    /// The last fetches.
    pub times: FetchTimes,
    /// The commits of all branches.
    pub heads: BTreeMap<String, Arc<str>>,
}

impl Fetched for Record {
    fn times(&self) -> &FetchTimes {
        &self.times
    }
}

impl Cache {
    /// The record and its fingerprint; `None` without a readable record.
    pub fn record(&self) -> Option<(Record, DiskFingerprint)> {
        let (text, fingerprint) = self.record_file().read()?;
        Some((Record::parse(&text)?, fingerprint))
    }

    /// The fingerprint of the record.
    pub fn fingerprint(&self) -> Option<DiskFingerprint> {
        self.record_file().fingerprint()
    }

    /// The files of the record.
    pub fn record_file(&self) -> RecordFile {
        RecordFile { path: self.folder.join(RECORD), lock: self.lock.clone() }
    }

    /// Replaces the record.
    pub fn write(&self, record: &Record) -> Result<(), String> {
        self.record_file().write(&record.text())
    }

    /// Writes a small program into the cache and returns its path.
    pub fn script(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(true).mode(0o700).open(&path);
        let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map(|()| path.clone()).map_err(|error| io_message(&path, &error))
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
        remove(&cache.folder)?;
        make(&cache.folder)?;
        Ok(cache)
    }

    /// Replaces this cache by another one.
    pub fn replace_by(&self, other: &Cache) -> Result<(), String> {
        let old = self.folder.with_extension("old");
        remove(&old)?;
        match fs::rename(&self.folder, &old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_message(&self.folder, &error));
            }
            _ => {}
        }
        fs::rename(&other.folder, &self.folder).map_err(|error| io_message(&self.folder, &error))?;
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
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_message(folder, &error)),
        _ => Ok(()),
    }
}

impl Record {
    fn text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = format!("{FORMAT}\n{}", self.times.lines());
        for (branch, commit) in &self.heads {
            let _ = writeln!(text, "head {commit} {branch}");
        }
        text + END + "\n"
    }

    fn parse(text: &str) -> Option<Record> {
        let mut lines = text.lines();
        if lines.next() != Some(FORMAT) {
            return None;
        }
        let mut record = Record::default();
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            if record.times.read(word, rest)? {
                continue;
            }
            match word {
                "head" => {
                    let (commit, branch) = rest.split_once(' ')?;
                    record.heads.insert(branch.to_owned(), commit.into());
                }
                END => return Some(record),
                _ => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::storage::record::FailedFetch;

    #[test]
    fn a_record_reads_as_it_was_written() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let mut record = Record::default();
        record.times.fetched = Some(at(7));
        record.heads.insert("feature/a b".into(), "0123".into());
        assert_eq!(Record::parse(&record.text()), Some(record.clone()));
        record.times.failure = Some(FailedFetch {
            began: at(9),
            took: Duration::from_millis(1500),
            code: "fetch".into(),
            message: "no  such repository".into(),
        });
        assert_eq!(Record::parse(&record.text()), Some(record.clone()));
        assert_eq!(record.times.tried(), Some(at(9)));
    }

    #[test]
    fn a_record_that_is_not_whole_or_not_ours_is_none() {
        let record = Record::default().text();
        assert_eq!(Record::parse(&record), Some(Record::default()));
        assert_eq!(Record::parse(record.strip_suffix("end\n").expect("the end")), None);
        assert_eq!(Record::parse(&record.replace("cache 1", "cache 2")), None);
        assert_eq!(Record::parse(""), None);
    }
}
