//! Notices tells what is seen for the first time since files changed, so that a log says each thing once.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashSet;

use crate::base::lock::Mutex;

/// What was seen of one inventory.
#[derive(Default, Debug)]
pub struct Notices {
    seen: Mutex<NoticeSet>,
    watching: AtomicBool,
}

#[derive(Default, Debug)]
struct NoticeSet {
    /// How often files had changed.
    revision: u64,
    /// Hashes of texts.
    texts: FxHashSet<u64>,
}

/// How many texts are remembered.
const MAX_TEXTS: usize = 100_000;

impl Notices {
    /// Whether a text is seen for the first time since files changed.
    pub fn is_new(&self, text: &str, revision: u64) -> bool {
        // Never waits: in a forked child the lock may be held for ever.
        let Some(mut seen) = self.seen.try_lock() else { return true };
        if seen.revision != revision || seen.texts.len() >= MAX_TEXTS {
            *seen = NoticeSet { revision, ..NoticeSet::default() };
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        seen.texts.insert(hasher.finish())
    }

    /// Whether a watch tells of changes, where that was otherwise the last time.
    pub fn watch_mode_change(&self, watching: bool) -> Option<bool> {
        (self.watching.swap(watching, Ordering::Relaxed) != watching).then_some(watching)
    }
}
