//! One input in another state than it has now, to find out what a change would do before it is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An input and its bytes; `None` if it does not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overlay {
    /// What the bytes are of.
    pub input: OverlaidInput,
    /// The bytes.
    pub bytes: Option<Arc<[u8]>>,
}

/// What an overlay is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OverlaidInput {
    /// A file of a folder, by its path below the folder as settings name it.
    File(PathBuf),
    /// A key of etcd, with the prefix.
    EtcdKey(String),
}

impl Overlay {
    /// The path of the file.
    pub fn file(&self) -> Option<&Path> {
        match &self.input {
            OverlaidInput::File(path) => Some(path),
            OverlaidInput::EtcdKey(_) => None,
        }
    }
}
