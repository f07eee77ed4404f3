//! Repositories of git: reads the YAML files of the branches, each at one commit, and fetches new commits
//! when the last fetch is too old.
//!
//! This uses the program `git` and not a library: see `docs/design.md`, "Git".

mod cache;
mod fetch;
mod objects;
mod program;
pub(crate) mod remote;
pub(crate) mod revision;
mod work_tree;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::storage::TreeLimits;
use crate::storage::fs::{DiskFingerprint, display};
use crate::storage::record::{self, Blocked, FailedFetch, FetchLock, Moment, RecordFile, RecordSource};
use cache::Cache;
pub use cache::Record;
pub use fetch::Login;
use fetch::{FetchSource, Reason};
pub use objects::{Absent, is_yaml, is_yaml_or_json};
use program::{Failure, In, LOCAL, in_words};
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::lock::Mutex;
use reclass_base::value::Text;
use remote::Remote;
pub use work_tree::{CheckedOut, WorkTree, exclude_file};

/// The conditions for a fetch, and the reaction to a failed one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// Maximum age of the last fetch.
    pub interval: Duration,
    /// Maximum duration of a fetch, including the wait for another process.
    pub limit: Duration,
    /// Whether the commits fetched last are served when a fetch fails.
    pub serve_stale: bool,
}

/// Factor by which the first fetch may take longer, because it fetches the whole history.
const FIRST: u32 = 10;
/// Maximum number of attempts to read if the cache is replaced meanwhile.
const ATTEMPTS: usize = 3;

/// The commits of all branches of each repository.
pub type Heads = Vec<std::collections::BTreeMap<String, Arc<str>>>;

/// A repository, its cache, and the bytes in use that were read from it.
#[derive(Debug)]
pub struct Repository {
    /// Its address.
    pub remote: Remote,
    login: Login,
    cache: Cache,
    policy: Policy,
    /// Read instead of the branches, if the repository has it.
    revision: Option<Text>,
    /// Limits for the files of a tree.
    limits: TreeLimits,
    asked_before: AtomicBool,
    record: Mutex<Option<(DiskFingerprint, Arc<Record>)>>,
    blobs: Mutex<FxHashMap<Arc<str>, Weak<Blob>>>,
}

/// The bytes of a file of a commit.
#[derive(Debug)]
pub struct Blob {
    /// Their name in git. Equal bytes have equal names.
    pub object: Arc<str>,
    /// The content.
    pub bytes: Arc<[u8]>,
}

/// A YAML file of a commit.
#[derive(Clone, Debug)]
pub struct GitFile {
    /// Its folders, outermost first.
    pub folders: Arc<[String]>,
    /// Its path below the top of the repository.
    pub path: PathBuf,
    /// Its bytes, or the reason for their absence.
    pub blob: Result<Arc<Blob>, Absent>,
}

impl Repository {
    /// A repository with a cache in these folders. Neither reads nor writes files.
    pub fn new(
        remote: Remote,
        login: Login,
        (caches, locks): (&std::path::Path, &std::path::Path),
        policy: Policy,
        revision: Option<Text>,
        limits: TreeLimits,
    ) -> Repository {
        let cache = Cache { folder: caches.join(&remote.folder), lock: locks.join(&remote.folder) };
        let (record, blobs) = (Mutex::default(), Mutex::default());
        let asked_before = AtomicBool::new(false);
        Repository { remote, login, cache, policy, revision, limits, asked_before, record, blobs }
    }

    /// Whether both have the same address, cache and credentials.
    pub fn is_same(&self, other: &Repository) -> bool {
        (&self.remote, &self.login, &self.cache) == (&other.remote, &other.login, &other.cache)
    }

    /// A record of this name beside the caches, with a lock beside theirs.
    pub fn beside(&self, name: &str) -> RecordFile {
        RecordFile {
            path: self.cache.folder.with_file_name(name),
            lock: self.cache.lock.with_file_name(name),
        }
    }

    /// Whether two addresses lead to the same repository.
    pub fn is_at(&self, other: &Repository) -> bool {
        self.remote.is_at(&other.remote)
    }

    /// The record of the last fetch. Fetches first if the record is too old, and on the first call in any
    /// case, unless another process fetches meanwhile.
    pub fn current_record(&self) -> Result<Arc<Record>> {
        if !self.asked_before.load(Ordering::Relaxed) {
            self.cache.check().map_err(|message| self.unusable(message))?;
        }
        let asked_before = self.asked_before.swap(true, Ordering::Relaxed);
        let interval = if asked_before { self.policy.interval } else { Duration::ZERO };
        let limit = |known| if known { self.policy.limit } else { self.policy.limit * FIRST };
        let began = Moment::now();
        let (cached, blocked) = match record::current(self, |_| interval, limit) {
            Ok(record) => return self.usable(record),
            Err(blocked) => blocked,
        };
        let (code, message) = match blocked {
            Blocked::Waited(limit) => {
                (Reason::Time, format!("another process has fetched for {}", in_words(limit)))
            }
            Blocked::Lock(message) => (Reason::Cache, message),
        };
        let failure = FailedFetch { began, took: Duration::ZERO, code: code.word().into(), message };
        let mut record = cached.as_deref().cloned().unwrap_or_default();
        record.times.failure = Some(failure);
        self.usable(Arc::new(record))
    }

    /// The warning about the last failed fetch, if older data is served.
    pub fn warning(&self, record: &Record) -> Option<Fault> {
        let failure = record.times.failure.as_ref()?;
        let repo = self.remote.shown.clone();
        let fault = Fault::new(Kind::GitStale { repo, message: failure.message.clone() });
        Some(match record.times.age_note() {
            Some(note) => fault.note(note, None),
            None => fault,
        })
    }

    /// The requested revision and its commit, if the repository has it.
    pub fn revision_commit(&self, record: &Record) -> Result<Option<(Text, Arc<str>)>> {
        let Some(revision) = &self.revision else { return Ok(None) };
        Ok(self.commit_named(record, revision)?.map(|commit| (revision.clone(), commit)))
    }

    /// The commit of a branch, a tag or a commit's name; `None` if the repository does not have it.
    pub fn commit_named(&self, record: &Record, name: &str) -> Result<Option<Arc<str>>> {
        if let Some(commit) = record.heads.get(name) {
            return Ok(Some(commit.clone()));
        }
        match revision::commit(In::Bare(&self.cache.folder), name) {
            Ok(commit) => Ok(Some(commit.into())),
            Err(Failure::Exited(_)) => Ok(None),
            Err(failure) => Err(self.failed(&failure)),
        }
    }

    /// The record of the last fetch, if there is one that can be believed. Fetches nothing.
    pub fn known_record(&self) -> Option<Arc<Record>> {
        self.cached()
    }

    /// Changes the record while nobody fetches. If `change` returns false, it stays as it is.
    ///
    /// # Errors
    ///
    /// Another process fetches for longer than `wait`, or the record cannot be written.
    pub fn change_record(&self, wait: Duration, change: impl FnOnce(&mut Record) -> bool) -> Result<()> {
        let unusable = |message: String| self.unusable(message);
        let Some(_lock) = self.cache.lock(wait).map_err(unusable)? else {
            return Err(self.unusable("another process has its lock".into()));
        };
        let mut record = self.cache.record();
        if change(&mut record) { self.cache.write(&record).map_err(unusable) } else { Ok(()) }
    }

    /// The files of a commit with such names that `wanted` accepts, sorted by path. A tree beyond the limits is an
    /// error. Bytes that are still in use are not read again.
    ///
    /// A damaged cache is replaced by a new one. If the new cache lacks a commit of an earlier record, the
    /// result is an error, and the next call uses the new record.
    pub fn files(
        &self,
        commit: &str,
        root: &str,
        named: fn(&Path) -> bool,
        wanted: &dyn Fn(&[String], &str) -> bool,
    ) -> Result<Vec<GitFile>> {
        let mut attempt = 1;
        loop {
            match self.read(commit, root, named, wanted) {
                Ok(files) => return Ok(files),
                Err(Failure::Exited(_)) if attempt < ATTEMPTS => {
                    attempt += 1;
                    self.repair()?;
                }
                Err(failure) => return Err(self.failed(&failure)),
            }
        }
    }

    fn read(
        &self,
        commit: &str,
        root: &str,
        named: fn(&Path) -> bool,
        wanted: &dyn Fn(&[String], &str) -> bool,
    ) -> Result<Vec<GitFile>, Failure> {
        let place = In::Bare(&self.cache.folder);
        let mut files = objects::files(place, commit, root, named, self.limits)?;
        files.retain(|file| {
            let stem = file.path.file_stem().unwrap_or_default().to_string_lossy();
            wanted(&file.folders, &stem)
        });
        let mut blobs = self.blobs.lock();
        let mut found: FxHashMap<Arc<str>, Arc<Blob>> = FxHashMap::default();
        let mut missing = Vec::new();
        for object in files.iter().filter_map(|file| file.object.as_ref().ok()) {
            if found.contains_key(object) {
                continue;
            }
            match blobs.get(object).and_then(Weak::upgrade) {
                Some(blob) => drop(found.insert(object.clone(), blob)),
                None => missing.push(&**object),
            }
        }
        missing.sort_unstable();
        missing.dedup();
        for (object, bytes) in objects::read(place, missing.into_iter())? {
            let blob = Arc::new(Blob { object: object.into(), bytes: bytes.into() });
            blobs.insert(blob.object.clone(), Arc::downgrade(&blob));
            found.insert(blob.object.clone(), blob);
        }
        blobs.retain(|_, blob| blob.strong_count() > 0);
        let mut inside: Arc<[String]> = Arc::default();
        let file = |file: objects::TreeFile| {
            if *inside != *file.folders {
                inside = file.folders.into();
            }
            let blob = file.object.map(|object| found.get(&object).expect("it was found or read").clone());
            GitFile { folders: inside.clone(), path: file.path, blob }
        };
        Ok(files.into_iter().map(file).collect())
    }

    /// The bare repository that is fetched into.
    pub fn folder(&self) -> &Path {
        &self.cache.folder
    }

    /// Pushes a commit of a bare repository to a branch, unless others have changed it. The error is the message
    /// of git.
    pub fn push(&self, folder: &Path, commit: &str, branch: &str) -> Result<(), String> {
        fetch::push(self.source(), folder, commit, branch, self.policy.limit).map_err(|(_, message)| message)
    }

    fn source(&self) -> FetchSource<'_> {
        FetchSource { cache: &self.cache, remote: &self.remote, login: &self.login }
    }

    /// Replaces the cache by a new one if it is damaged.
    fn repair(&self) -> Result<()> {
        let limit = self.policy.limit * FIRST;
        let Some(lock) = self.cache.lock(limit).map_err(|message| self.unusable(message))? else {
            return Ok(());
        };
        let repaired = fetch::repair(self.source(), &lock, limit);
        repaired.map_err(|(reason, message)| self.fault(reason, message).into())
    }

    /// The record, or its failure if the policy forbids older data.
    fn usable(&self, record: Arc<Record>) -> Result<Arc<Record>> {
        match &record.times.failure {
            Some(failure) if record.times.fetched.is_none() || !self.policy.serve_stale => {
                Err(self.fault(Reason::of_word(&failure.code), failure.message.clone()).into())
            }
            _ => Ok(record),
        }
    }

    fn fault(&self, reason: Reason, message: String) -> Fault {
        let repo = self.remote.shown.clone();
        Fault::new(match reason {
            Reason::Program => Kind::GitProgram { message },
            Reason::Access => Kind::GitAccess { repo, message },
            Reason::Time => Kind::GitTimeout { repo, message },
            Reason::Cache => return self.unusable(message).into_faults().swap_remove(0),
            Reason::Other => Kind::GitFetch { repo, message },
        })
    }

    /// The error of a cache that cannot be used.
    pub fn unusable(&self, message: String) -> Error {
        Fault::new(Kind::GitCache { path: display(&self.cache.folder), message }).into()
    }

    fn failed(&self, failure: &Failure) -> Error {
        match failure {
            Failure::NotRun(message) => self.fault(Reason::Program, message.clone()).into(),
            Failure::TimedOut(_) => self.unusable(format!("it cannot be read within {}", in_words(LOCAL))),
            Failure::Exited(message) => self.unusable(message.clone()),
            Failure::TooMuch(what, limit, setting) => {
                let what = format!("{what} in '{}'", self.remote.shown);
                Fault::new(Kind::YamlLimit { what, limit: *limit, setting: Some(setting) }).into()
            }
        }
    }
}

impl RecordSource for Repository {
    type Record = Record;

    fn cached(&self) -> Option<Arc<Record>> {
        record::cached(&self.record, &self.cache.record_file())
    }

    fn file(&self) -> RecordFile {
        self.cache.record_file()
    }

    fn update(&self, lock: &FetchLock, limit: Duration) -> Record {
        fetch::update(self.source(), lock, limit)
    }
}
