//! ByteSource says where the bytes of a file are, on disk or in a commit, gives them, and what proves that
//! they are still the same.

use std::path::Path;
use std::sync::Arc;

use crate::base::error::{Fault, Kind, Result};
use crate::base::settings::Settings;
use crate::engine::counts::Counters;
use crate::model::catalog::CatalogEntry;
use crate::storage::DiskFingerprint;
use crate::storage::fs::{self, display};
use crate::storage::git::Blob;

/// Where the bytes of a file are.
#[derive(Clone, Default, Debug)]
pub enum ByteSource {
    /// In the file system.
    #[default]
    Disk,
    /// In the file system, where a link of a revision leads.
    Outside(Arc<Path>),
    /// In memory: it is a file of a commit.
    Blob(Arc<Blob>),
    /// Nowhere, for this reason.
    Missing(&'static str),
    /// In a commit, and too large to be taken.
    TooLarge,
}

impl ByteSource {
    /// Whether they are in the file system.
    pub fn is_on_disk(&self) -> bool {
        matches!(self, ByteSource::Disk)
    }
}

/// What proves that a file is the one that was loaded.
#[derive(Clone, Debug)]
pub enum Fingerprint {
    /// For a file of the file system.
    Disk(DiskFingerprint),
    /// For one of a commit, the name of its bytes.
    Object(Arc<str>),
}

/// The bytes of a file as they are now.
pub fn read(
    item: &CatalogEntry,
    source: &ByteSource,
    counters: &Counters,
    settings: &Settings,
) -> Result<(Arc<[u8]>, Fingerprint)> {
    let limit = settings.max_file_bytes();
    let from_disk = |path: &Path| {
        let (bytes, stamp) = fs::read_settled(path, limit, settings.settle())?;
        counters.read.add();
        Ok((bytes.into(), Fingerprint::Disk(stamp)))
    };
    match source {
        ByteSource::Disk => from_disk(item.path()),
        ByteSource::Outside(path) => from_disk(path),
        ByteSource::TooLarge => Err(fs::too_large(item.path(), limit)),
        ByteSource::Blob(blob) => Ok((blob.bytes.clone(), Fingerprint::Object(blob.object.clone()))),
        ByteSource::Missing(reason) => {
            let kind = Kind::FileUnreadable { path: display(item.path()), message: (*reason).to_owned() };
            Err(Fault::new(kind).into())
        }
    }
}

impl Fingerprint {
    /// What proves from now on that a file is the one that was loaded, if it is.
    pub fn verify(&self, path: &Path, source: &ByteSource) -> Option<Fingerprint> {
        match (self, source) {
            (Fingerprint::Disk(before), ByteSource::Disk | ByteSource::Outside(_)) => {
                let now =
                    fs::fingerprint(if let ByteSource::Outside(path) = source { path } else { path }).ok()?;
                now.proves_unchanged(before).then_some(Fingerprint::Disk(now))
            }
            (Fingerprint::Object(before), ByteSource::Blob(blob)) => {
                (*before == blob.object).then(|| Fingerprint::Object(before.clone()))
            }
            _ => None,
        }
    }
}
