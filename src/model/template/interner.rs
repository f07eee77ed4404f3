//! The interner keeps one copy of each string and of the keys of each kind of mapping of an inventory.

use std::cell::RefCell;
use std::hash::Hasher;
use std::sync::{Arc, Weak};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::{Parsed, parse};
use crate::base::error::Fault;
use crate::base::keys::Keys;
use crate::base::lock::Mutex;
use crate::base::settings::Settings;
use crate::base::table::Table;
use crate::base::value::{Key, Text, Value};

/// One allocation for each distinct string, and one for the same keys in the same order.
///
/// All calls must use the same settings. Unused strings are freed when the number of strings has doubled: a
/// process that runs for months reads many versions of a file.
#[derive(Debug, Default)]
pub struct Interner {
    strings: Mutex<StringTable>,
    /// The keys of mappings, by a hash of their addresses.
    keys: Mutex<FxHashMap<u64, Weak<Keys>>>,
}

#[derive(Debug, Default)]
struct StringTable {
    texts: FxHashSet<Text>,
    /// The number of strings in use after the last sweep.
    used: usize,
}

/// The least number of new strings before a sweep.
const SWEEP_THRESHOLD: usize = 16_384;

impl Interner {
    /// A view for one thread, with a cache of its own.
    pub fn for_thread(&self) -> ThreadInterner<'_> {
        ThreadInterner { shared: self, strings: RefCell::default() }
    }

    fn text(&self, text: &str) -> Text {
        let strings = &mut *self.strings.lock();
        if let Some(known) = strings.texts.get(text) {
            return known.clone();
        }
        if strings.texts.len() > SWEEP_THRESHOLD + 2 * strings.used {
            strings.texts.retain(|text| !text.is_alone());
            strings.used = strings.texts.len();
            strings.texts.shrink_to(2 * strings.used);
        }
        let text = Text::from(text);
        if strings.texts.is_empty() {
            strings.texts.reserve(STRINGS_PER_NODE);
        }
        strings.texts.insert(text.clone());
        text
    }
}

/// The initial capacity: about the number of strings of one node with all its classes.
const STRINGS_PER_NODE: usize = 800;

/// A hash of interned strings in order, from their addresses.
fn fingerprint<'k>(keys: impl Iterator<Item = &'k Key>) -> Option<u64> {
    let mut hasher = FxHasher::default();
    for key in keys {
        let Value::Str(text) = &key.0 else { return None };
        hasher.write_usize(text.address());
    }
    Some(hasher.finish())
}

/// A view of an [`Interner`] for one thread. It locks the shared one only once for each string.
#[derive(Debug)]
pub struct ThreadInterner<'p> {
    shared: &'p Interner,
    strings: RefCell<FxHashSet<Text>>,
}

impl ThreadInterner<'_> {
    /// The interned string.
    pub fn text(&self, text: &str) -> Text {
        let mut strings = self.strings.borrow_mut();
        if let Some(known) = strings.get(text) {
            return known.clone();
        }
        let text = self.shared.text(text);
        if strings.is_empty() {
            strings.reserve(STRINGS_PER_NODE);
        }
        strings.insert(text.clone());
        text
    }

    /// The shared keys of mappings with these keys.
    pub fn keys<'k>(&self, keys: impl ExactSizeIterator<Item = &'k Key> + Clone) -> Option<Arc<Keys>> {
        let number = fingerprint(keys.clone())?;
        let known = self.shared.keys.lock().get(&number).and_then(Weak::upgrade)?;
        known.are(keys).then_some(known)
    }

    /// Replaces the keys of a mapping by shared ones.
    pub fn share_keys<V>(&self, mapping: &mut Table<V>) {
        let Some(number) = fingerprint(mapping.keys()) else { return };
        let mut shared = self.shared.keys.lock();
        if let Some(known) = shared.get(&number).and_then(Weak::upgrade)
            && mapping.take_keys(&known)
        {
            return;
        }
        if shared.len() >= SWEEP_THRESHOLD / 16 && shared.len().is_power_of_two() {
            shared.retain(|_, keys| keys.strong_count() > 0);
        }
        shared.insert(number, Arc::downgrade(mapping.shared_keys()));
    }

    /// Parses a string like [`parse`]. Plain text is shared.
    pub fn parse(&self, source: &Text, settings: &Settings) -> Result<Parsed, Fault> {
        Ok(match parse(source, settings)? {
            Parsed::Text(plain) if !plain.same(source) => Parsed::Text(self.text(&plain)),
            parsed => parsed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_nobody_has_any_longer_are_forgotten() {
        let shared = Interner::default();
        let kept = shared.for_thread().text("${kept}");
        for number in 0..5 * SWEEP_THRESHOLD {
            let interner = shared.for_thread();
            interner.text(&format!("${{a{number}}}"));
        }
        assert!(shared.strings.lock().texts.len() <= SWEEP_THRESHOLD + 10);
        assert!(shared.for_thread().text("${kept}").same(&kept));
    }
}
