//! The record of data that were fetched from elsewhere: one small file that all processes share.
//!
//! The file is replaced in one step, so every process sees the state of one fetch, and its fingerprint shows
//! whether another process has fetched since. Fetching needs the lock, reading does not.
#![expect(clippy::disallowed_methods, reason = "the one door to the file system")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::base::lock::Mutex;
use crate::storage::fs::{DiskFingerprint, fingerprint, reason};

/// The last line. A record without it is incomplete.
pub const END: &str = "end";
/// A fetch that fails faster than this is cheap, and new settings may correct it, so there is no extra pause.
const QUICK: Duration = Duration::from_secs(1);
/// Pause after a failed fetch, as a multiple of its duration.
const REST: u32 = 4;
/// Maximum pause after a failed fetch.
const LONGEST_REST: Duration = Duration::from_secs(300);
/// Maximum difference between the clocks of two processes.
const CLOCKS_DIFFER: Duration = Duration::from_secs(600);

/// The file of a record and the file of its lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordFile {
    /// The record.
    pub path: PathBuf,
    /// The file that a fetching process locks.
    pub lock: PathBuf,
}

/// The right to fetch. It ends when the value is dropped, or when this process and the last program that has
/// the file open have ended.
#[derive(Debug)]
pub struct FetchLock(File);

impl FetchLock {
    /// The file that is locked.
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for FetchLock {
    /// Unlocks explicitly. Closing the file is not enough, because a forked child may have it open too.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// The last fetches.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FetchTimes {
    /// Start of the last successful fetch.
    pub fetched: Option<SystemTime>,
    /// The last fetch, if it failed.
    pub failure: Option<FailedFetch>,
}

/// A fetch that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedFetch {
    /// Start of the fetch.
    pub began: SystemTime,
    /// Duration of the fetch.
    pub took: Duration,
    /// The word of the reason.
    pub code: String,
    /// The reason in one line.
    pub message: String,
}

/// What a fetch brought, with its times.
pub trait Fetched {
    /// The last fetches.
    fn times(&self) -> &FetchTimes;
}

/// A record that is in use, and how to renew it.
pub trait RecordSource {
    /// The content of a record.
    type Record: Fetched;
    /// The record, read again only if its file has changed.
    fn cached(&self) -> Option<Arc<Self::Record>>;
    /// The files of the record.
    fn file(&self) -> RecordFile;
    /// Fetches, and writes the new record.
    fn update(&self, lock: &FetchLock, limit: Duration) -> Self::Record;
}

/// The reason for a record that cannot be renewed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Blocked {
    /// Another process has fetched for this long.
    Waited(Duration),
    /// The lock cannot be used.
    Lock(String),
}

/// The record that could not be renewed, if there is one, and the reason.
pub type NotRenewed<R> = (Option<Arc<R>>, Blocked);

/// The current record: fetches first if it is older than its `interval`, unless another process fetches
/// meanwhile. `limit` is the maximum duration of a fetch, for a record with data and for one without.
pub fn current<S: RecordSource>(
    source: &S,
    interval: impl Fn(&S::Record) -> Duration,
    limit: impl Fn(bool) -> Duration,
) -> Result<Arc<S::Record>, NotRenewed<S::Record>> {
    let now = SystemTime::now();
    let is_current = |record: &&Arc<S::Record>| !record.times().is_due(now, interval(record));
    let cached = source.cached();
    if let Some(record) = cached.as_ref().filter(is_current) {
        return Ok(record.clone());
    }
    let limit = limit(cached.as_ref().is_some_and(|record| record.times().fetched.is_some()));
    // Nobody waits for another process to repeat a fetch that failed before.
    let rests = cached.filter(|record| record.times().failure.is_some());
    let lock = source.file().lock(if rests.is_some() { Duration::ZERO } else { limit });
    // Another process may have fetched while we waited for it.
    let is_current = |record: &&Arc<S::Record>| !record.times().is_due(now, interval(record));
    let cached = source.cached();
    if let Some(record) = cached.as_ref().filter(is_current) {
        return Ok(record.clone());
    }
    match lock {
        Ok(Some(lock)) => Ok(Arc::new(source.update(&lock, limit))),
        Ok(None) => rests.ok_or((cached, Blocked::Waited(limit))),
        Err(message) => Err((cached, Blocked::Lock(message))),
    }
}

/// A record, read again only if its file has changed. Equal records keep their identity.
pub fn cached<R: PartialEq>(
    cached: &Mutex<Option<(DiskFingerprint, Arc<R>)>>,
    fingerprint: impl FnOnce() -> Option<DiskFingerprint>,
    read: impl FnOnce() -> Option<(R, DiskFingerprint)>,
) -> Option<Arc<R>> {
    let mut cached = cached.lock();
    if let Some((before, record)) = &*cached
        && fingerprint().is_some_and(|now| now.proves_unchanged(before))
    {
        return Some(record.clone());
    }
    let read = read().map(|(record, fingerprint)| match &*cached {
        Some((_, before)) if **before == record => (fingerprint, before.clone()),
        _ => (fingerprint, Arc::new(record)),
    });
    cached.clone_from(&read);
    read.map(|(_, record)| record)
}

impl FetchTimes {
    /// Start of the last attempt to fetch.
    pub fn tried(&self) -> Option<SystemTime> {
        self.failure.as_ref().map(|failure| failure.began).max(self.fetched)
    }

    /// Whether a request at the time `now` has to fetch.
    pub fn is_due(&self, now: SystemTime, interval: Duration) -> bool {
        let Some(tried) = self.tried() else { return true };
        let rest = |failure: &FailedFetch| match failure.took {
            took if took < QUICK => Duration::ZERO,
            took => took + (took * REST).min(LONGEST_REST),
        };
        let interval = self.failure.as_ref().map_or(interval, |failure| interval.max(rest(failure)));
        match now.duration_since(tried) {
            Ok(age) => age >= interval,
            // Another process fetched after `now`, or a clock was set back.
            Err(ahead) => ahead.duration() > CLOCKS_DIFFER,
        }
    }

    /// The lines of a record that tell the times.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        if let Some(fetched) = self.fetched {
            let _ = writeln!(text, "fetched {}", milliseconds(fetched));
        }
        if let Some(FailedFetch { began, took, code, message }) = &self.failure {
            let message = message.replace(char::is_control, " ");
            let _ = writeln!(text, "failed {} {} {code} {message}", milliseconds(*began), took.as_millis());
        }
        text
    }

    /// Reads such a line, which begins with `word`; whether it is one. `None` for a damaged line.
    pub fn read(&mut self, word: &str, rest: &str) -> Option<bool> {
        match word {
            "fetched" => self.fetched = Some(time(rest)?),
            "failed" => {
                let mut words = rest.splitn(4, ' ');
                self.failure = Some(FailedFetch {
                    began: time(words.next()?)?,
                    took: Duration::from_millis(words.next()?.parse().ok()?),
                    code: words.next()?.to_owned(),
                    message: words.next()?.to_owned(),
                });
            }
            _ => return Some(false),
        }
        Some(true)
    }

    /// The time of the last successful fetch, for messages.
    pub fn age_note(&self) -> Option<String> {
        let time = jiff::Timestamp::try_from(self.fetched?).unwrap_or_default();
        Some(format!("fetched last at {}", time.strftime("%Y-%m-%d %H:%M:%S UTC")))
    }
}

impl RecordFile {
    /// The text of the record and its fingerprint; `None` without a readable record.
    pub fn read(&self) -> Option<(String, DiskFingerprint)> {
        let fingerprint = self.fingerprint()?;
        Some((fs::read_to_string(&self.path).ok()?, fingerprint))
    }

    /// The fingerprint of the record.
    pub fn fingerprint(&self) -> Option<DiskFingerprint> {
        fingerprint(&self.path).ok()
    }

    /// Replaces the record. Only its owner can read it, because its content may be secret.
    pub fn write(&self, text: &str) -> Result<(), String> {
        let beside = self.path.with_extension("new");
        if let Some(folder) = self.path.parent() {
            make(folder)?;
        }
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&beside);
        let written = file.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)
        });
        written.map_err(|error| io_message(&self.path, &error))
    }

    /// Waits for the lock; `None` if another process holds it for longer than `wait`.
    pub fn lock(&self, wait: Duration) -> Result<Option<FetchLock>, String> {
        const PAUSE: Duration = Duration::from_millis(10);
        let failed = |error: io::Error| io_message(&self.lock, &error);
        if let Some(folder) = self.lock.parent() {
            make(folder)?;
        }
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&self.lock);
        let file = file.map_err(failed)?;
        let end = Instant::now() + wait;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(FetchLock(file))),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// The message of a failed access to a file.
pub fn io_message(path: &Path, error: &io::Error) -> String {
    format!("{}: {}", path.display(), reason(error))
}

/// Creates a folder that only its owner can read, because its content may be secret.
pub fn make(folder: &Path) -> Result<(), String> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| io_message(folder, &error))
}

/// A file name for an address. Different addresses have different names.
pub fn file_name(address: &str) -> String {
    /// Maximum length of the readable part, because a file name has at most 255 bytes.
    const LONGEST: usize = 200;
    let mut name = String::new();
    for byte in address.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte) {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02X}");
        }
    }
    if name.len() > LONGEST {
        name = format!("{:016x}-{}", hash(address.as_bytes()), &name[name.len() - LONGEST..]);
    }
    name
}

/// FNV-1a, of 64 bits.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn milliseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}

fn time(text: &str) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(text.parse().ok()?))
}
