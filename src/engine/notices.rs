//! Remembers which messages were logged, so that each is logged only once until files change.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashSet;

use reclass_base::lock::Mutex;

/// The messages logged for one inventory.
#[derive(Default, Debug)]
pub struct Notices {
    seen: Mutex<NoticeSet>,
    watching: AtomicBool,
}

#[derive(Default, Debug)]
struct NoticeSet {
    /// The number of file changes when the set was started.
    revision: u64,
    texts: FxHashSet<u64>,
}

/// The most texts to remember.
const MAX_TEXTS: usize = 100_000;

impl Notices {
    /// Whether a text was not logged yet since files changed.
    pub fn is_new(&self, text: &str, revision: u64) -> bool {
        // Never waits: in a forked child, the thread that holds the lock may not exist.
        let Some(mut seen) = self.seen.try_lock() else { return true };
        if seen.revision != revision || seen.texts.len() >= MAX_TEXTS {
            *seen = NoticeSet { revision, ..NoticeSet::default() };
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        seen.texts.insert(hasher.finish())
    }

    /// Whether a watch is active, if that changed since the last call.
    pub fn watch_mode_change(&self, watching: bool) -> Option<bool> {
        (self.watching.swap(watching, Ordering::Relaxed) != watching).then_some(watching)
    }
}
