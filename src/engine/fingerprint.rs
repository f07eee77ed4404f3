//! Fingerprints prove that the bytes of a file are unchanged, whether the file is on disk, in a commit or in etcd.

use std::path::Path;
use std::sync::Arc;

use crate::engine::counts::Counters;
use crate::model::catalog::CatalogEntry;
use crate::storage::DiskFingerprint;
use crate::storage::fs::{self, display};
use crate::storage::git::Blob;
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::settings::Settings;

/// Where the bytes of a file come from.
#[derive(Clone, Default, Debug)]
pub enum ByteSource {
    /// The file system.
    #[default]
    Disk,
    /// The file system, for a symbolic link that leads out of a revision.
    Outside(Arc<Path>),
    /// Bytes in memory, of a commit or of etcd.
    Blob(Arc<Blob>),
    /// The file has no bytes, for this reason.
    Missing(&'static str),
    /// A blob of a commit that exceeds the size limit.
    TooLarge,
}

impl ByteSource {
    /// Whether the bytes come from the file system.
    pub fn is_on_disk(&self) -> bool {
        matches!(self, ByteSource::Disk)
    }
}

/// Identifies the content of a file.
#[derive(Clone, PartialEq, Debug)]
pub enum Fingerprint {
    /// Size, times and inode of a file on disk.
    Disk(DiskFingerprint),
    /// The object name of a blob.
    Object(Arc<str>),
}

/// Reads the bytes of a file, and their fingerprint.
pub fn read(
    item: &CatalogEntry,
    source: &ByteSource,
    counters: &Counters,
    settings: &Settings,
) -> Result<(Arc<[u8]>, Fingerprint)> {
    let limit = settings.max_file_bytes();
    let from_disk = |path: &Path| {
        let (bytes, fingerprint) = fs::read_settled(path, limit, settings.settle())?;
        counters.read.add();
        Ok((bytes.into(), Fingerprint::Disk(fingerprint)))
    };
    match source {
        ByteSource::Disk => from_disk(item.path()),
        ByteSource::Outside(path) => from_disk(path),
        ByteSource::TooLarge => Err(fs::too_large(item.path(), limit)),
        ByteSource::Blob(blob) => Ok((blob.bytes.clone(), Fingerprint::Object(blob.object.clone()))),
        ByteSource::Missing(reason) => Err(unreadable(item, reason)),
    }
}

fn unreadable(item: &CatalogEntry, reason: &str) -> Error {
    let kind = Kind::FileUnreadable { path: display(item.path()), message: reason.to_owned() };
    Fault::new(kind).into()
}

impl Fingerprint {
    /// The fingerprint to keep if the file is unchanged; `None` if it may have changed.
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
