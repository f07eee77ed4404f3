//! Held says where the bytes of a file are, on disk or in a commit, gives them, and what proves that
//! they are still the same.

use std::path::Path;
use std::sync::Arc;

use crate::base::error::{Fault, Kind, Result};
use crate::base::settings::Settings;
use crate::engine::counts::Counters;
use crate::model::catalog::Item;
use crate::storage::Stamp;
use crate::storage::fs::{self, display};
use crate::storage::git::Blob;

/// Where the bytes of a file are.
#[derive(Clone, Default, Debug)]
pub enum Held {
    /// In the file system.
    #[default]
    Disk,
    /// In the file system, where a link of a revision leads.
    Outside(Arc<Path>),
    /// In memory: it is a file of a commit.
    Blob(Arc<Blob>),
    /// Nowhere, for this reason.
    Nothing(&'static str),
    /// In a commit, and too large to be taken.
    TooLarge,
}

impl Held {
    /// Whether they are in the file system.
    pub fn is_on_disk(&self) -> bool {
        matches!(self, Held::Disk)
    }
}

/// What proves that a file is the one that was loaded.
#[derive(Clone, Debug)]
pub enum Proof {
    /// For a file of the file system.
    Stamp(Stamp),
    /// For one of a commit, the name of its bytes.
    Object(Arc<str>),
}

/// The bytes of a file as they are now.
pub fn read(
    item: &Item,
    held: &Held,
    counters: &Counters,
    settings: &Settings,
) -> Result<(Arc<[u8]>, Proof)> {
    let most = settings.most_bytes();
    let from_disk = |path: &Path| {
        let (bytes, stamp) = fs::read_settled(path, most, settings.settle())?;
        counters.read.add();
        Ok((bytes.into(), Proof::Stamp(stamp)))
    };
    match held {
        Held::Disk => from_disk(item.path()),
        Held::Outside(path) => from_disk(path),
        Held::TooLarge => Err(fs::too_large(item.path(), most)),
        Held::Blob(blob) => Ok((blob.bytes.clone(), Proof::Object(blob.object.clone()))),
        Held::Nothing(reason) => {
            let kind = Kind::FileUnreadable { path: display(item.path()), message: (*reason).to_owned() };
            Err(Fault::new(kind).into())
        }
    }
}

impl Proof {
    /// What proves from now on that a file is the one that was loaded, if it is.
    pub fn still_holds(&self, path: &Path, held: &Held) -> Option<Proof> {
        match (self, held) {
            (Proof::Stamp(before), Held::Disk | Held::Outside(_)) => {
                let now = fs::stamp(if let Held::Outside(path) = held { path } else { path }).ok()?;
                now.proves_unchanged(before).then_some(Proof::Stamp(now))
            }
            (Proof::Object(before), Held::Blob(blob)) => {
                (*before == blob.object).then(|| Proof::Object(before.clone()))
            }
            _ => None,
        }
    }
}
