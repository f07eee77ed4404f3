//! News tells what is said for the first time since files changed, so that a log says each thing once.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashSet;

use crate::base::lock::Mutex;

/// What was said of one inventory.
#[derive(Default, Debug)]
pub struct News {
    said: Mutex<Said>,
    watching: AtomicBool,
}

#[derive(Default, Debug)]
struct Said {
    /// How often files had changed.
    revision: u64,
    /// Hashes of texts.
    texts: FxHashSet<u64>,
}

/// How many texts are remembered.
const MOST: usize = 100_000;

impl News {
    /// Whether a text is said for the first time since files changed.
    pub fn is_new(&self, text: &str, revision: u64) -> bool {
        // Never waits: in a forked child the lock may be held for ever.
        let Some(mut said) = self.said.try_lock() else { return true };
        if said.revision != revision || said.texts.len() >= MOST {
            *said = Said { revision, ..Said::default() };
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        said.texts.insert(hasher.finish())
    }

    /// Whether a watch tells of changes, where that was otherwise the last time.
    pub fn mode(&self, watching: bool) -> Option<bool> {
        (self.watching.swap(watching, Ordering::Relaxed) != watching).then_some(watching)
    }
}
