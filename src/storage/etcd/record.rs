//! The record of the keys in etcd at the last reading, which all processes of a user share.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::storage::overlay::{OverlaidInput, Overlay};
use crate::storage::record::{FetchTimes, Fetched};
use reclass_base::value::Text;

/// A key with its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdKey {
    /// The key, with the prefix.
    pub key: Text,
    /// The revision in which it was created.
    pub created: u64,
    /// The revision of its last change.
    pub revision: u64,
    /// The value: one YAML document.
    #[serde(with = "bytes")]
    pub value: Arc<[u8]>,
}

/// The keys below the prefix at one revision.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdRecord {
    /// The last readings.
    pub times: FetchTimes,
    /// The number of the cluster.
    pub cluster: u64,
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
    /// The record with a key in another state, if the overlay is for a key.
    #[must_use]
    pub fn overlaid(&self, overlay: &Overlay) -> EtcdRecord {
        let OverlaidInput::EtcdKey(own) = &overlay.input else { return self.clone() };
        let others = self.keys.iter().filter(|key| *key.key != **own).cloned();
        let revision = self.revision + 1;
        let key = |value: &Arc<[u8]>| EtcdKey {
            key: own.as_str().into(),
            created: revision,
            revision,
            value: value.clone(),
        };
        let mut keys: Vec<EtcdKey> = others.chain(overlay.bytes.as_ref().map(key)).collect();
        keys.sort_unstable_by(|one, other| one.key.cmp(&other.key));
        EtcdRecord { keys: keys.into(), ..self.clone() }
    }

    /// The sign that a later reading is not of these data as they are now: its server has lost them, has older
    /// ones from a backup, or is another one. Without a reading before there is none. `deleted` is a key that
    /// this process deleted in between.
    pub fn loss_in(&self, later: &EtcdRecord, deleted: Option<&str>) -> Option<String> {
        self.times.fetched?;
        if later.cluster != self.cluster {
            return Some("belongs to another cluster than that of the last reading".into());
        }
        // A revision never goes back.
        if later.revision < self.revision {
            let (now, before) = (later.revision, self.revision);
            return Some(format!("is at revision {now}, before revision {before} of the last reading"));
        }
        if later.revision == self.revision && later.keys != self.keys {
            return Some(format!("has other keys at revision {}, that of the last reading", self.revision));
        }
        let known: FxHashMap<&str, &EtcdKey> = self.keys.iter().map(|key| (&*key.key, key)).collect();
        let is_older = |key: &&EtcdKey| match known.get(&*key.key) {
            Some(before) if key.revision == before.revision => key != before,
            Some(before) => key.created < before.created || key.revision < before.revision,
            None => key.revision <= self.revision,
        };
        if let Some(EtcdKey { key, revision, .. }) = later.keys.iter().find(is_older) {
            return Some(format!("has '{key}' at revision {revision}, as it was not at the last reading"));
        }
        let has_more = self.keys.iter().any(|key| deleted != Some(&*key.key));
        let is_kept =
            |key: &EtcdKey| known.get(&*key.key).is_some_and(|before| before.created == key.created);
        (has_more && !later.keys.iter().any(is_kept))
            .then(|| "has none of the keys of the last reading".into())
    }
}

/// Bytes as base64.
mod bytes {
    use std::sync::Arc;

    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use reclass_base::base64;

    pub(super) fn serialize<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64::encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
        let bytes = base64::decode_exact(&String::deserialize(deserializer)?);
        bytes.map(Into::into).ok_or_else(|| D::Error::custom("no base64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::record::Moment;

    fn key(name: &str, created: u64, revision: u64) -> EtcdKey {
        EtcdKey { key: name.into(), created, revision, value: b"\0\xff\nx"[..].into() }
    }

    /// A reading at revision 9.
    fn record(keys: &[EtcdKey]) -> EtcdRecord {
        let times = FetchTimes { fetched: Some(Moment::now()), ..FetchTimes::default() };
        EtcdRecord { times, cluster: 5, revision: 9, keys: keys.into() }
    }

    #[test]
    fn a_record_reads_as_it_was_written_and_only_whole() {
        let record = record(&[key("/reclass/a b\n", 3, 4), key("/reclass/\u{e9}", 5, 6)]);
        let text = serde_json::to_string(&record).expect("JSON");
        let read = |text: &str| serde_json::from_str::<EtcdRecord>(text).ok();
        assert_eq!(read(&text), Some(record));
        for end in 0..text.len() {
            let part = String::from_utf8_lossy(&text.as_bytes()[..end]);
            assert_eq!(read(&part), None, "{end} bytes");
        }
        assert_eq!(read(&text.replace("\"revision\":9,", "")), None);
        assert_eq!(read(&text.replace("\"revision\":9,", "\"revision\":9,\"more\":1,")), None);
    }

    #[test]
    fn what_became_of_data_is_told_from_other_data() {
        let before = record(&[key("a", 3, 4), key("b", 5, 6)]);
        let loss = |later: &EtcdRecord, deleted| before.loss_in(later, deleted).unwrap_or_default();
        let later = |keys: &[EtcdKey]| EtcdRecord { revision: 20, ..record(keys) };
        for keys in [
            &before.keys[..],
            // Changed, deleted, created anew, new.
            &[key("a", 3, 12), key("b", 5, 6)],
            &[key("b", 5, 6)],
            &[key("a", 11, 12), key("b", 5, 6)],
            &[key("a", 3, 4), key("c", 11, 11)],
        ] {
            assert_eq!(loss(&later(keys), None), "", "{keys:?}");
            assert!(loss(&EtcdRecord { cluster: 6, ..later(keys) }, None).contains("another cluster"));
            assert!(loss(&EtcdRecord { revision: 8, ..later(keys) }, None).contains("at revision 8"));
        }
        for keys in [
            &[key("a", 2, 4), key("b", 5, 6)],
            &[key("a", 3, 3), key("b", 5, 6)],
            &[key("a", 3, 4), key("c", 9, 9)],
        ] {
            assert!(loss(&later(keys), None).contains("as it was not"), "{keys:?}");
        }
        // A server that was set up again, and filled in the same order.
        let other = EtcdKey { value: b"y"[..].into(), ..key("a", 3, 4) };
        assert!(loss(&later(&[other, key("b", 5, 6)]), None).contains("as it was not"));
        assert!(loss(&record(&[key("a", 3, 4)]), None).contains("other keys at revision 9"));
        for keys in [&[][..], &[key("c", 11, 11)], &[key("a", 11, 11), key("b", 12, 12)]] {
            assert_eq!(loss(&later(keys), None), "has none of the keys of the last reading", "{keys:?}");
        }
        let one = record(&[key("a", 3, 4)]);
        assert_eq!(one.loss_in(&later(&[]), Some("a")), None);
        assert!(one.loss_in(&later(&[]), Some("b")).is_some());
        assert_eq!(record(&[]).loss_in(&later(&[key("a", 11, 11)]), None), None);
        assert_eq!(EtcdRecord::default().loss_in(&before, None), None);
    }
}
