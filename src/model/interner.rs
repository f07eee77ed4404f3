//! The interner keeps one index for the same keys of all mappings of an inventory.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use rustc_hash::{FxHashMap, FxHasher};

use reclass_base::keys::Keys;
use reclass_base::lock::Mutex;
use reclass_base::table::Table;
use reclass_base::value::{Key, Value};

/// The keys of mappings in use, by a hash of them in order.
#[derive(Debug, Default)]
pub struct Interner(Mutex<FxHashMap<u64, Weak<Keys>>>);

/// The least number of keys before dead ones are removed.
const SWEEP_FROM: usize = 1_024;

/// A hash of strings in order; `None` if a key is not a string.
fn fingerprint<'k>(keys: impl Iterator<Item = &'k Key>) -> Option<u64> {
    let mut hasher = FxHasher::default();
    for key in keys {
        let Value::Str(text) = &key.0 else { return None };
        text.hash(&mut hasher);
    }
    Some(hasher.finish())
}

impl Interner {
    /// The shared keys of mappings with these keys.
    pub fn keys<'k>(&self, keys: impl ExactSizeIterator<Item = &'k Key> + Clone) -> Option<Arc<Keys>> {
        let number = fingerprint(keys.clone())?;
        let known = self.0.lock().get(&number).and_then(Weak::upgrade)?;
        known.are(keys).then_some(known)
    }

    /// Replaces the keys of a mapping by shared ones.
    pub fn share_keys<V>(&self, mapping: &mut Table<V>) {
        let Some(number) = fingerprint(mapping.keys()) else { return };
        let mut shared = self.0.lock();
        if let Some(known) = shared.get(&number).and_then(Weak::upgrade)
            && mapping.take_keys(&known)
        {
            return;
        }
        if shared.len() >= SWEEP_FROM && shared.len().is_power_of_two() {
            shared.retain(|_, keys| keys.strong_count() > 0);
        }
        shared.insert(number, Arc::downgrade(mapping.shared_keys()));
    }
}
