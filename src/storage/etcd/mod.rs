//! Soft metadata in etcd: the keys below a prefix, read whole at one revision when the last reading is too
//! old.
//!
//! This uses the program `etcdctl` and not a library: see `docs/design.md`, "Etcd".

mod bounds;
mod program;
mod record;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::storage::fs::{self, DiskFingerprint};
use crate::storage::program::{Failure, in_words};
use crate::storage::record::{
    self as records, Blocked, FailedFetch, FetchLock, Moment, RecordFile, RecordSource, file_name,
};
use bounds::Bounds;
use program::Servers;
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::lock::Mutex;
use reclass_base::settings::Settings;
use reclass_base::value::Text;
pub use record::{EtcdKey, EtcdRecord};

/// Maximum number of names in a key below `_param`.
pub const DEEPEST_KEY: usize = 100;
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
    bounds: Bounds,
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
            bounds: Bounds::of(settings),
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
        let began = Moment::now();
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
    pub fn list(&self, name: &str) -> Result<Arc<[EtcdKey]>> {
        let key = format!("{}/{name}/", self.prefix);
        let reading = self.servers.read(&key, self.servers.limit, self.bounds);
        Ok(reading.map_err(|failure| self.failed(&failure))?.keys)
    }

    /// Sets the key with this name below the prefix, or deletes it, if it still has this revision; 0 for a
    /// key that does not exist. The record has the change afterwards.
    pub fn change(&self, name: &str, expected: u64, value: Option<&[u8]>) -> Result<()> {
        let key = format!("{}/{name}", self.prefix);
        let before = self.cached().map_or(0, |record| record.revision);
        let done = self.servers.change(&key, expected, value, self.bounds);
        let done = done.map_err(|failure| self.failed(&failure))?;
        if !done.succeeded {
            return Err(Fault::new(Kind::EtcdConflict { key }).into());
        }
        self.renew(before, done.revision, value.is_none().then_some(&*key));
        Ok(())
    }

    /// Reads anew, unless the record is at least at this revision. A failure is in the record, and the next
    /// question reports it. `before` is the revision of the record before the change: if it is the higher one,
    /// the server has lost data. `deleted` is a key that was deleted.
    fn renew(&self, before: u64, revision: u64, deleted: Option<&str>) {
        let limit = self.servers.limit;
        if let Ok(Some(_lock)) = self.file.lock(limit) {
            let is_new =
                |record: Arc<EtcdRecord>| record.times.failure.is_none() && record.revision >= revision;
            if before > revision || !self.cached().is_some_and(is_new) {
                self.read(limit, deleted);
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
        records::cached(&self.record, &self.file)
    }

    fn file(&self) -> RecordFile {
        self.file.clone()
    }

    fn update(&self, _: &FetchLock, limit: Duration) -> EtcdRecord {
        self.read(limit, None)
    }
}

impl Etcd {
    /// Reads the data, and writes the new record. Needs its lock. `deleted` is a key that this process deleted
    /// since the last reading.
    fn read(&self, limit: Duration, deleted: Option<&str>) -> EtcdRecord {
        let (began, clock) = (Moment::now(), Instant::now());
        let tried = self.servers.read(&format!("{}/", self.prefix), limit, self.bounds);
        let known = self.cached().unwrap_or_default();
        let checked = tried.and_then(|reading| {
            if reading.keys != known.keys {
                self.bounds.check(&reading.keys)?;
            }
            Ok(reading)
        });
        let checked = checked.map_err(|failure| (REACH, self.message(&failure))).and_then(|mut reading| {
            if let Some(loss) = known.loss_in(&reading, deleted) {
                return Err((REACH, self.refusal(&loss)));
            }
            reading.times.fetched = Some(began);
            reading.times.failed = known.times.failed;
            self.file.write(&reading).map(|()| reading).map_err(|message| (RECORD, message))
        });
        checked.unwrap_or_else(|(code, message)| {
            let failure = FailedFetch { began, took: clock.elapsed(), code: code.into(), message };
            let mut record = Arc::unwrap_or_clone(known);
            record.times.failure = Some(failure);
            record.times.failed = Some(began.clock);
            // If the record cannot be written, every process notices the failure itself.
            let _ = self.file.write(&record);
            record
        })
    }

    /// The message about a server that has lost data, and the way out.
    fn refusal(&self, loss: &str) -> String {
        let record = fs::display(&self.file.path);
        format!(
            "the server {loss}, so it has lost data or is another one; if that is intended, run: rm '{record}'"
        )
    }
}
