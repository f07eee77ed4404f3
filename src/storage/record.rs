//! The record of data that were fetched from elsewhere: one small file that all processes share.
//!
//! The file is replaced in one step, so every process sees the state of one fetch, and its fingerprint shows
//! whether another process has fetched since. Fetching needs the lock, reading does not. The form is JSON; a
//! file that does not fit the type, as of another version, counts as none.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use once_cell::race::OnceBox;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use rustix::time::clock_gettime;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::storage::fs::{DiskFingerprint, fingerprint};
use crate::storage::private::{PrivateFolder, message};
use reclass_base::lock::Mutex;

/// A fetch that fails faster than this is cheap, and new settings may correct it, so there is no extra pause.
const QUICK: Duration = Duration::from_millis(800);
/// Pause after a failed fetch, as a multiple of its duration.
const REST: u32 = 4;
/// Maximum pause after a failed fetch.
const LONGEST_REST: Duration = Duration::from_secs(300);

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

/// A point in time, by the clock and by the time since the system started. Somebody may set the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Moment {
    /// The time of the clock.
    pub clock: SystemTime,
    uptime: Duration,
    /// A hash of the name that Linux gives this start of the system; 0 where it is not known.
    #[serde(default)]
    boot: u64,
}

/// A hash of the name of this start of the system, as [`Moment::boot`] has it.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel gives it no size, which the door to files asks for"
)]
fn boot() -> u64 {
    // Found by several threads at once it is the same, and no fork can catch one of them that others wait for.
    static BOOT: OnceBox<u64> = OnceBox::new();
    *BOOT.get_or_init(|| {
        let name = std::fs::read("/proc/sys/kernel/random/boot_id");
        Box::new(name.map_or(0, |name| hash(&name)))
    })
}

impl Moment {
    /// The present.
    pub fn now() -> Moment {
        let uptime = Duration::try_from(clock_gettime(super::os::BOOTTIME)).unwrap_or_default();
        Moment { clock: SystemTime::now(), uptime, boot: boot() }
    }

    /// The time since an earlier moment. Within one start of the system the clock has no say, so that nobody who sets
    /// it lengthens or shortens the time. Zero for a later moment of another start.
    pub fn elapsed_since(self, earlier: Moment) -> Duration {
        if self.boot != 0 && self.boot == earlier.boot {
            return self.uptime.saturating_sub(earlier.uptime);
        }
        self.clock.duration_since(earlier.clock).unwrap_or_default()
    }

    /// The time since an earlier moment; `None` for a later one, and after the clock was set back or the system
    /// started anew.
    pub fn since(self, earlier: Moment) -> Option<Duration> {
        let by_clock = self.clock.duration_since(earlier.clock).ok()?;
        Some(by_clock.max(self.uptime.checked_sub(earlier.uptime)?))
    }
}

/// The last fetches.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct FetchTimes {
    /// Start of the last successful fetch.
    pub fetched: Option<Moment>,
    /// The last fetch, if it failed.
    pub failure: Option<FailedFetch>,
    /// Start of the last fetch that failed, also if a later one succeeded. An earlier version does not know it.
    #[serde(default)]
    pub failed: Option<SystemTime>,
    /// Start of the fetch that brought the current commit of each branch.
    #[serde(default)]
    pub since: BTreeMap<String, SystemTime>,
    /// The commits before it with the same, the newest last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, Vec<(Arc<str>, SystemTime)>>,
}

/// Maximum number of earlier commits of a branch whose fetch is known.
const EARLIER: usize = 16;

impl FetchTimes {
    /// Notes the commits of a fetch that began at this time, after those of the fetch before.
    pub fn note(
        &mut self,
        heads: &BTreeMap<String, Arc<str>>,
        now: SystemTime,
        (earlier, before): (&BTreeMap<String, Arc<str>>, &FetchTimes),
    ) {
        for (branch, commit) in heads {
            let known = earlier.get(branch).zip(before.since.get(branch));
            let mut list = before.before.get(branch).cloned().unwrap_or_default();
            let since = match known {
                Some((old, since)) if old == commit => *since,
                Some((old, since)) => {
                    list.push((old.clone(), *since));
                    now
                }
                None => now,
            };
            list.drain(..list.len().saturating_sub(EARLIER));
            self.since.insert(branch.clone(), since);
            if !list.is_empty() {
                self.before.insert(branch.clone(), list);
            }
        }
    }

    /// Start of the fetch that brought the first commit of a branch after another one, which is not its newest.
    pub fn first_after(&self, branch: &str, commit: Option<&Arc<str>>) -> Option<SystemTime> {
        let list = self.before.get(branch).map_or(&[][..], Vec::as_slice);
        let known = list.iter().rposition(|(known, _)| Some(known) == commit);
        let next = known.map_or(0, |at| at + 1);
        list.get(next).map(|(_, since)| *since).or_else(|| self.since.get(branch).copied())
    }
}

/// A fetch that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedFetch {
    /// Start of the fetch.
    pub began: Moment,
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
    /// The file of the record.
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
    let began = Moment::now();
    let is_current = |record: &&Arc<S::Record>| !record.times().is_due(began, interval(record));
    let cached = source.cached();
    if let Some(record) = cached.as_ref().filter(is_current) {
        return Ok(record.clone());
    }
    let limit = limit(cached.as_ref().is_some_and(|record| record.times().fetched.is_some()));
    let end = Instant::now() + limit;
    // Nobody waits for another process to repeat a fetch that failed before.
    let rests = cached.filter(|record| record.times().failure.is_some());
    let lock = source.file().lock(if rests.is_some() { Duration::ZERO } else { limit });
    // Another process may have fetched while we waited for it.
    let cached = source.cached();
    if let Some(record) = cached.as_ref().filter(is_current) {
        return Ok(record.clone());
    }
    match lock {
        Ok(Some(lock)) => Ok(Arc::new(source.update(&lock, end.saturating_duration_since(Instant::now())))),
        Ok(None) => rests.ok_or((cached, Blocked::Waited(limit))),
        Err(message) => Err((cached, Blocked::Lock(message))),
    }
}

/// A record, read again only if its file has changed. Equal records keep their identity.
pub fn cached<R: PartialEq + DeserializeOwned>(
    cached: &Mutex<Option<(DiskFingerprint, Arc<R>)>>,
    file: &RecordFile,
) -> Option<Arc<R>> {
    let mut cached = cached.lock();
    if let Some((before, record)) = &*cached
        && fingerprint(&file.path).is_ok_and(|now| now.proves_unchanged(before))
    {
        return Some(record.clone());
    }
    let read = file.read().map(|(record, fingerprint)| match &*cached {
        Some((_, before)) if **before == record => (fingerprint, before.clone()),
        _ => (fingerprint, Arc::new(record)),
    });
    cached.clone_from(&read);
    read.map(|(_, record)| record)
}

impl FetchTimes {
    /// Whether a request that began at this moment has to fetch.
    fn is_due(&self, began: Moment, interval: Duration) -> bool {
        let Some(tried) = self.failure.as_ref().map(|failure| failure.began).or(self.fetched) else {
            return true;
        };
        let rest = |failure: &FailedFetch| match failure.took {
            took if took < QUICK => Duration::ZERO,
            took => took + (took * REST).min(LONGEST_REST),
        };
        let interval = self.failure.as_ref().map_or(interval, |failure| interval.max(rest(failure)));
        match began.since(tried) {
            Some(age) => age >= interval,
            // Another process may have fetched since this request began.
            None => Moment::now().since(tried).is_none(),
        }
    }

    /// Start of the last fetch that failed.
    pub fn last_failure(&self) -> Option<SystemTime> {
        self.failure.as_ref().map(|failure| failure.began.clock).or(self.failed)
    }

    /// The time of the last successful fetch, for messages.
    pub fn age_note(&self) -> Option<String> {
        let time = jiff::Timestamp::try_from(self.fetched?.clock).unwrap_or_default();
        Some(format!("fetched last at {}", time.strftime("%Y-%m-%d %H:%M:%S UTC")))
    }
}

impl RecordFile {
    /// The record and its fingerprint; `None` without a record that can be believed.
    pub fn read<R: DeserializeOwned>(&self) -> Option<(R, DiskFingerprint)> {
        let (folder, name) = (self.path.parent()?, self.path.file_name()?);
        let (bytes, fingerprint) = PrivateFolder::open(folder).ok()?.read(name).ok()?;
        Some((serde_json::from_slice(&bytes).ok()?, fingerprint))
    }

    /// Whether a file of this name is there, whatever it is.
    pub fn is_there(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Replaces the record. Needs its lock.
    pub fn write(&self, record: &impl Serialize) -> Result<(), String> {
        let text = serde_json::to_vec(record).map_err(|error| error.to_string())?;
        let folder = PrivateFolder::make(self.path.parent().unwrap_or(Path::new("/")))?;
        folder.replace(self.path.file_name().unwrap_or_default(), &text, 0o600)
    }

    /// Removes the record, if there is one.
    pub fn remove(&self) -> Result<(), String> {
        let Some((folder, name)) = self.path.parent().zip(self.path.file_name()) else { return Ok(()) };
        match fingerprint(&self.path) {
            Ok(_) => PrivateFolder::open(folder)?.remove(name),
            Err(_) => Ok(()),
        }
    }

    /// Waits for the lock; `None` if another process holds it for longer than `wait`.
    pub fn lock(&self, wait: Duration) -> Result<Option<FetchLock>, String> {
        const PAUSE: Duration = Duration::from_millis(10);
        let folder = PrivateFolder::make(self.lock.parent().unwrap_or(Path::new("/")))?;
        let name = self.lock.file_name().unwrap_or_default();
        let file = folder.file(name, OFlags::RDWR | OFlags::CREATE)?;
        let end = Instant::now() + wait;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(FetchLock(file))),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(error) => return Err(message(&self.lock, error.into())),
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_makes_nothing_young() {
        const MINUTE: Duration = Duration::from_secs(60);
        let now = Moment::now();
        let due = |clock: SystemTime, uptime: Duration, interval| {
            let fetched = Some(Moment { clock, uptime, boot: 0 });
            FetchTimes { fetched, ..FetchTimes::default() }.is_due(now, interval)
        };
        let earlier = now.clock - MINUTE;
        let uptime =
            now.uptime.checked_sub(Duration::from_secs(30)).expect("the system has run for a minute");
        assert!(!due(earlier, uptime, MINUTE * 2));
        assert!(due(earlier, uptime, MINUTE));
        assert!(due(earlier, Duration::ZERO, MINUTE));
        // The clock was ahead at the fetch.
        for ahead in [1, 590, 100_000] {
            assert!(due(now.clock + Duration::from_secs(ahead), uptime, MINUTE * 2), "{ahead}");
        }
        // The clock was ahead, and its time has come meanwhile.
        assert!(due(now.clock, uptime, Duration::from_secs(30)));
        // The system started anew.
        assert!(due(earlier, now.uptime + MINUTE, MINUTE * 2));
        // Within one start of the system, nobody who sets the clock ends a trial or makes it longer.
        let (day, start) = (Duration::from_secs(86_400), Moment { clock: now.clock, uptime, boot: 7 });
        for clock in [now.clock + day, now.clock - day, now.clock] {
            let (then, age) = (Moment { clock, ..now }, now.uptime.saturating_sub(uptime));
            assert_eq!(Moment { boot: 7, ..then }.elapsed_since(start), age);
            assert_eq!(
                Moment { boot: 8, ..now }.elapsed_since(Moment { clock: now.clock - day, ..start }),
                day
            );
        }
        assert_ne!(now.boot, 0, "Linux names each start");
        // Another process fetched after this request began.
        let later = Moment::now();
        assert!(!due(later.clock, later.uptime, Duration::ZERO));
    }
}
