//! The bounds of all keys together: those of one file.
//!
//! A key with its value becomes a layer of its own, and each of its names a mapping. So they count like values.

use super::EtcdKey;
use crate::storage::program::Failure;
use reclass_base::settings::Settings;
use reclass_yaml::compose::{DocumentLimits, compose_within};

/// The bounds of all keys together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// Maximum size of all keys and values.
    pub bytes: usize,
    /// Its `nodes` are for all values together.
    limits: DocumentLimits,
}

/// What the bound of bytes counts.
pub const SIZE: &str = "the size of the keys and values in etcd";
/// The setting of this bound.
pub const SIZE_SETTING: &str = "limit_file_size";
/// How many values a key counts, in addition to its names and its value. This is about the memory of its layer.
const KEY: usize = 10;

impl Bounds {
    /// The bounds in the settings.
    pub fn of(settings: &Settings) -> Bounds {
        Bounds { bytes: settings.max_file_bytes(), limits: DocumentLimits::of(settings) }
    }

    /// The failure of an answer with too many bytes.
    pub fn too_large(self) -> Failure {
        Failure::TooMuch(SIZE, self.bytes, SIZE_SETTING)
    }

    pub fn most_keys(self) -> usize {
        self.limits.nodes / KEY
    }

    /// Fails if the keys are more than one file may hold. A value that is no YAML counts nothing: it is an error
    /// where it is used.
    pub fn check(self, keys: &[EtcdKey]) -> Result<(), Failure> {
        let mut count = 0;
        for EtcdKey { key, value, .. } in keys {
            count += KEY + key.split('/').count();
            if count <= self.limits.nodes {
                let document = compose_within(value, self.limits);
                count += document.map_or(0, |document| document.spans.len());
            }
        }
        if count > self.limits.nodes {
            return Err(Failure::TooMuch(
                "the number of values in etcd",
                self.limits.nodes,
                "limit_file_values",
            ));
        }
        Ok(())
    }
}
