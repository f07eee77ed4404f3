//! Soft metadata in etcd: the keys below a prefix, read whole at one revision when the last reading is too
//! old.
//!
//! This uses the program `etcdctl` and not a library: see `docs/design.md`, "Etcd".

mod program;
mod record;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::base::error::{Error, Fault, Kind, Result};
use crate::base::lock::Mutex;
use crate::base::settings::Settings;
use crate::base::value::Text;
use crate::storage::fs::{self, DiskFingerprint};
use crate::storage::program::{Failure, in_words};
use crate::storage::record::{
    self as records, Blocked, FailedFetch, FetchLock, FetchTimes, RecordFile, RecordSource, file_name,
};
use program::{Largest, Servers};
pub use record::{EtcdKey, EtcdRecord};

/// Maximum number of names in a key below `_param`.
pub const DEEPEST_KEY: usize = 100;
/// The setting that bounds the values.
const SIZE_SETTING: &str = "limit_file_size";
/// The words of the reasons in a record.
const REACH: &str = "reach";
const RECORD: &str = "record";

/// The keys below a prefix, and their record.
#[derive(Debug)]
pub struct Etcd {
    servers: Servers,
    /// The prefix, without a slash at its end.
    prefix: Text,
    file: RecordFile,
    interval: Duration,
    serve_stale: bool,
    largest: Largest,
    record: Mutex<Option<(DiskFingerprint, Arc<EtcdRecord>)>>,
}

impl Etcd {
    /// The keys that the settings name; `None` without `etcd_endpoints`. Reads nothing.
    pub fn of(settings: &Settings) -> Result<Option<Etcd>> {
        if settings.etcd_endpoints.is_empty() {
            return Ok(None);
        }
        let fault = |setting: &str, message: &str| -> Error {
            Fault::new(Kind::StorageOption { setting: setting.into(), message: message.into() }).into()
        };
        for endpoint in &settings.etcd_endpoints {
            let is_odd = |character: char| character.is_whitespace() || character.is_control();
            if endpoint.is_empty() || endpoint.contains([',', '@']) || endpoint.chars().any(is_odd) {
                let message = "an endpoint is 'host:port', 'http://host:port' or 'https://host:port'";
                return Err(fault("etcd_endpoints", message));
            }
        }
        if settings.etcd_timeout == 0 {
            let allowed = "the whole numbers from 1 on".to_owned();
            let kind = Kind::SettingValue { name: "etcd_timeout".into(), allowed, similar: None };
            return Err(Fault::new(kind).into());
        }
        let base = settings.inventory_base_uri.as_deref();
        let path = |file: &Option<Text>| -> Option<String> {
            let file = fs::absolute(base, Path::new(&**file.as_ref()?))?;
            Some(file.to_string_lossy().into_owned())
        };
        let login = match (&settings.etcd_user, path(&settings.etcd_password_file)) {
            (Some(user), _) if user.is_empty() || user.contains([':', '\0']) => {
                return Err(fault("etcd_user", "a user has a name without ':'"));
            }
            (Some(user), Some(file)) => Some((user.to_string(), file)),
            (Some(_), None) => return Err(fault("etcd_user", "a user needs 'etcd_password_file'")),
            (None, Some(_)) => return Err(fault("etcd_password_file", "a password needs 'etcd_user'")),
            (None, None) => None,
        };
        let prefix = Text::from(settings.etcd_prefix.trim_end_matches('/'));
        let endpoints = settings.etcd_endpoints.iter().map(|text| &**text).collect::<Vec<_>>().join(",");
        let user = login.as_ref().map_or("", |(user, _)| user);
        let folder = fs::absolute(base, Path::new(&*settings.etcd_cache_dir)).unwrap_or_default();
        if !folder.is_absolute() || folder.starts_with("~") {
            return Err(fault("etcd_cache_dir", "there is no home folder; name another one"));
        }
        let name = file_name(&format!("{user}@{endpoints}{prefix}"));
        let beside = |extension: &str| folder.join(format!("{name}.{extension}"));
        Ok(Some(Etcd {
            servers: Servers {
                endpoints,
                ca: path(&settings.etcd_ca),
                cert: path(&settings.etcd_cert),
                key: path(&settings.etcd_key),
                login,
                limit: Duration::from_secs(settings.etcd_timeout.into()),
            },
            prefix,
            file: RecordFile { path: beside("record"), lock: beside("lock") },
            interval: Duration::from_secs(settings.etcd_interval.into()),
            serve_stale: &*settings.etcd_failure == "serve",
            largest: Largest { bytes: settings.max_file_bytes(), setting: SIZE_SETTING },
            record: Mutex::default(),
        }))
    }

    /// The addresses of the servers, joined by commas.
    pub fn endpoints(&self) -> &str {
        &self.servers.endpoints
    }

    /// The prefix of all keys, without a slash at its end.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The record of the last reading. Reads first if the record is too old, unless another process reads
    /// meanwhile.
    pub fn current_record(&self) -> Result<Arc<EtcdRecord>> {
        let began = SystemTime::now();
        let limit = self.servers.limit;
        // An error is tried again at once: its reason may be gone.
        let interval = |record: &EtcdRecord| match self.refused(record) {
            Some(_) => Duration::ZERO,
            None => self.interval,
        };
        let (cached, message) = match records::current(self, interval, |_| limit) {
            Ok(record) => return self.usable(record),
            Err((cached, Blocked::Waited(waited))) => {
                (cached, format!("another process has read for {}", in_words(waited)))
            }
            Err((cached, Blocked::Lock(message))) => (cached, message),
        };
        let mut record = cached.as_deref().cloned().unwrap_or_default();
        let took = Duration::ZERO;
        record.times.failure = Some(FailedFetch { began, took, code: RECORD.into(), message });
        self.usable(Arc::new(record))
    }

    /// The warning about the last failed reading, if an older one is served.
    pub fn warning(&self, record: &EtcdRecord) -> Option<Fault> {
        let message = record.times.failure.as_ref()?.message.clone();
        let fault = Fault::new(Kind::EtcdStale { endpoints: self.servers.endpoints.clone(), message });
        Some(match record.times.age_note() {
            Some(note) => fault.note(note, None),
            None => fault,
        })
    }

    /// The keys below a name below the prefix, as the server has them now.
    pub fn list(&self, name: &str) -> Result<Vec<EtcdKey>> {
        let key = format!("{}/{name}/", self.prefix);
        let reading = self.servers.read(&key, true, self.largest);
        Ok(reading.map_err(|failure| self.failed(&failure))?.keys)
    }

    /// Sets the key with this name below the prefix, or deletes it, if it still has this revision; 0 for a
    /// key that does not exist. The record has the change afterwards.
    pub fn change(&self, name: &str, expected: u64, value: Option<&[u8]>) -> Result<()> {
        let key = format!("{}/{name}", self.prefix);
        let before = self.cached().map_or(0, |record| record.revision);
        let done = self.servers.change(&key, expected, value, self.largest);
        let done = done.map_err(|failure| self.failed(&failure))?;
        if !done.succeeded {
            return Err(Fault::new(Kind::EtcdConflict { key }).into());
        }
        self.renew(before, done.revision);
        Ok(())
    }

    /// Reads anew, unless the record is at least at this revision. A failure is in the record, and the next
    /// question reports it. `before` is the revision of the record before the change: if it is the higher one,
    /// the server has lost data.
    fn renew(&self, before: u64, revision: u64) {
        let limit = self.servers.limit;
        if let Ok(Some(lock)) = self.file.lock(limit) {
            let is_new =
                |record: Arc<EtcdRecord>| record.times.failure.is_none() && record.revision >= revision;
            if before > revision || !self.cached().is_some_and(is_new) {
                self.update(&lock, limit);
            }
        }
    }

    /// The record, or its failure if the policy forbids older data.
    fn usable(&self, record: Arc<EtcdRecord>) -> Result<Arc<EtcdRecord>> {
        match self.refused(&record) {
            Some(failure) => Err(self.fault(failure.message.clone()).into()),
            None => Ok(record),
        }
    }

    /// The failure that makes a record no answer.
    fn refused<'r>(&self, record: &'r EtcdRecord) -> Option<&'r FailedFetch> {
        let times = &record.times;
        times.failure.as_ref().filter(|_| times.fetched.is_none() || !self.serve_stale)
    }

    /// The reason for a failed request.
    fn message(&self, failure: &Failure) -> String {
        let late = || format!("no answer within {}", in_words(self.servers.limit));
        match failure {
            Failure::NotRun(message) => format!("cannot run the program 'etcdctl': {message}"),
            Failure::TimedOut(_) => late(),
            Failure::Exited(message) => message.replacen("context deadline exceeded", &late(), 1),
            Failure::TooMuch(what, limit, setting) => {
                format!("{what} exceeds the limit of {limit}; '{setting}' is the limit")
            }
        }
    }

    /// The reason for refusing a server whose revision is before that of the record.
    fn lost(&self, revision: u64, known: u64) -> String {
        let record = fs::display(&self.file.path);
        format!(
            "the server is at revision {revision}, before revision {known} of the last reading, so it has lost \
             data or is another one; if that is intended, remove '{record}'"
        )
    }

    fn fault(&self, message: String) -> Fault {
        Fault::new(Kind::EtcdUnreachable { endpoints: self.servers.endpoints.clone(), message })
    }

    fn failed(&self, failure: &Failure) -> Error {
        match failure {
            Failure::TooMuch(what, limit, setting) => {
                let what = (*what).to_owned();
                Fault::new(Kind::YamlLimit { what, limit: *limit, setting: Some(setting) }).into()
            }
            failure => self.fault(self.message(failure)).into(),
        }
    }
}

impl RecordSource for Etcd {
    type Record = EtcdRecord;

    fn cached(&self) -> Option<Arc<EtcdRecord>> {
        records::cached(
            &self.record,
            || self.file.fingerprint(),
            || {
                let (text, fingerprint) = self.file.read()?;
                Some((EtcdRecord::parse(&text)?, fingerprint))
            },
        )
    }

    fn file(&self) -> RecordFile {
        self.file.clone()
    }

    fn update(&self, _: &FetchLock, _: Duration) -> EtcdRecord {
        let (began, clock) = (SystemTime::now(), Instant::now());
        let tried = self.servers.read(&format!("{}/", self.prefix), true, self.largest);
        let known = self.cached().map_or(0, |record| record.revision);
        let tried = tried.map_err(|failure| (REACH, self.message(&failure))).and_then(|reading| {
            // A revision never goes back, so this is another server, or one that lost data.
            if reading.revision < known {
                return Err((REACH, self.lost(reading.revision, known)));
            }
            let times = FetchTimes { fetched: Some(began), failure: None };
            let record = EtcdRecord { times, revision: reading.revision, keys: reading.keys.into() };
            self.file.write(&record.text()).map(|()| record).map_err(|message| (RECORD, message))
        });
        tried.unwrap_or_else(|(code, message)| {
            let failure = FailedFetch { began, took: clock.elapsed(), code: code.into(), message };
            let mut record = self.cached().as_deref().cloned().unwrap_or_default();
            record.times.failure = Some(failure);
            // If the record cannot be written, every process notices the failure itself.
            let _ = self.file.write(&record.text());
            record
        })
    }
}
