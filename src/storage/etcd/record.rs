//! The record of the keys in etcd at the last reading, which all processes of a user share.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::base::base64;
use crate::base::value::Text;
use crate::storage::record::{END, FetchTimes, Fetched, hash};

/// The first line. A file with another first line comes from another program or version.
const FORMAT: &str = "reclass etcd 1";

/// A key with its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EtcdKey {
    /// The key, with the prefix.
    pub key: Text,
    /// The revision of its last change.
    pub revision: u64,
    /// The value: one YAML document.
    pub value: Arc<[u8]>,
}

/// The keys below the prefix at one revision.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EtcdRecord {
    /// The last readings.
    pub times: FetchTimes,
    /// The revision of the server.
    pub revision: u64,
    /// The keys, sorted.
    pub keys: Arc<[EtcdKey]>,
}

impl Fetched for EtcdRecord {
    fn times(&self) -> &FetchTimes {
        &self.times
    }
}

impl EtcdRecord {
    /// The text of the record. A checksum in the last line shows damage, because nothing else would.
    pub fn text(&self) -> String {
        let mut text = format!("{FORMAT}\n{}revision {}\n", self.times.lines(), self.revision);
        for EtcdKey { key, revision, value } in self.keys.iter() {
            let (key, value) = (base64::encode(key.as_bytes()), base64::encode(value));
            let _ = writeln!(text, "key {revision} {key} {value}");
        }
        let checksum = hash(text.as_bytes());
        text + &format!("{END} {checksum:016x}\n")
    }

    /// Reads such a text; `None` for a damaged one.
    pub fn parse(text: &str) -> Option<EtcdRecord> {
        let (body, last) = text.strip_suffix('\n')?.rsplit_once('\n')?;
        let body = text.get(..=body.len())?;
        if last.strip_prefix(END)?.trim_start() != format!("{:016x}", hash(body.as_bytes())) {
            return None;
        }
        let mut lines = body.lines();
        if lines.next() != Some(FORMAT) {
            return None;
        }
        let mut record = EtcdRecord::default();
        let mut keys = Vec::new();
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            if record.times.read(word, rest)? {
                continue;
            }
            match word {
                "revision" => record.revision = rest.parse().ok()?,
                "key" => {
                    let mut words = rest.splitn(3, ' ');
                    let revision = words.next()?.parse().ok()?;
                    let key = String::from_utf8(base64::decode(words.next()?)?).ok()?;
                    let value = base64::decode(words.next()?)?;
                    keys.push(EtcdKey { key: key.into(), revision, value: value.into() });
                }
                _ => return None,
            }
        }
        record.keys = keys.into();
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::storage::record::FailedFetch;

    fn example() -> EtcdRecord {
        let key = |key: &str, value: &[u8]| EtcdKey { key: key.into(), revision: 7, value: value.into() };
        let mut record = EtcdRecord { revision: 9, ..EtcdRecord::default() };
        record.times.fetched = Some(UNIX_EPOCH + Duration::from_secs(7));
        record.keys = vec![key("/reclass/a b\n", b""), key("/reclass/\u{e9}", b"\0\xff\nx")].into();
        record
    }

    #[test]
    fn a_record_reads_as_it_was_written() {
        let mut record = example();
        assert_eq!(EtcdRecord::parse(&record.text()), Some(record.clone()));
        record.times.failure = Some(FailedFetch {
            began: UNIX_EPOCH + Duration::from_secs(9),
            took: Duration::from_millis(1500),
            code: "etcd".into(),
            message: "no  connection".into(),
        });
        assert_eq!(EtcdRecord::parse(&record.text()), Some(record));
    }

    #[test]
    fn a_damaged_record_is_none() {
        let text = example().text();
        for end in 0..text.len() {
            assert_eq!(EtcdRecord::parse(&text[..end]), None, "{end} bytes");
        }
        for at in 0..text.len() - 1 {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
            assert_eq!(EtcdRecord::parse(&String::from_utf8_lossy(&bytes)), None, "byte {at}");
        }
    }
}
