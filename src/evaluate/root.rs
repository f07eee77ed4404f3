//! The root looks up the first keys of a reference and returns the slot of that parameter.
//!
//! Parameters of several sources are merged key by key, and only at the paths of references: a class name, or
//! an export of another node, needs one or two parameters of hundreds.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::without::slot_without;
use crate::model::grains::Grains;
use crate::model::merge::{Prefixes, fold, merge_slots};
use crate::model::slot::{MapSlot, Slot};
use reclass_base::lock::Mutex;
use reclass_base::secrets::Secrets;
use reclass_base::value::{Key, Text};

/// The start of every reference: parameters in sources, which are merged in order.
#[derive(Debug, Default)]
pub struct Root {
    sources: Vec<ValueSource>,
    /// Merged slots. Their addresses are stable.
    merged: FxHashMap<Box<[Text]>, Arc<Slot>>,
    /// The paths that were looked up, if they are recorded.
    looked_up: Option<Vec<Box<[Text]>>>,
    /// The grains, which are no parameters.
    grains: Option<Arc<Grains>>,
    /// The secrets to leave out.
    without: Option<Secrets>,
    /// Slots without the secrets.
    redacted: FxHashMap<Box<[Text]>, Arc<Slot>>,
}

/// Some of the parameters of a node.
#[derive(Clone, Debug)]
pub enum ValueSource {
    /// The node's own map.
    Map(Arc<MapSlot>),
    /// Parameters shared with other nodes.
    Shared(Arc<SharedParameters>),
}

/// The parameters of several layers, merged key by key, once for all nodes that share them.
#[derive(Debug)]
pub struct SharedParameters {
    maps: Vec<Arc<MapSlot>>,
    memo: Mutex<PathMemo>,
}

/// The values at the requested paths.
type PathMemo = FxHashMap<Box<[Text]>, Option<Arc<PathValues>>>;

/// The values that the layers have at one path.
#[derive(Debug)]
struct PathValues {
    /// Whether every value is a plain map. If so, the next key is looked up in each of them.
    plain: bool,
    slots: Vec<Slot>,
    merged: OnceLock<Arc<Slot>>,
}

impl SharedParameters {
    /// The parameters of layers, earliest first.
    pub fn new(maps: Vec<Arc<MapSlot>>, prefixes: &Prefixes) -> SharedParameters {
        let maps = if maps.iter().any(|map| map.prefixed) {
            // Prefixes that are still text take effect only when whole maps are merged.
            vec![fold(maps, prefixes)]
        } else {
            maps.into_iter().filter(|map| !map.entries.is_empty()).collect()
        };
        SharedParameters { maps, memo: Mutex::default() }
    }

    /// The values at a path that leads only through plain maps.
    fn at(&self, path: &[Text]) -> Option<Arc<PathValues>> {
        if let Some(memo) = self.memo.lock().get(path) {
            return memo.clone();
        }
        let (last, outer) = path.split_last()?;
        let slots: Vec<Slot> = if outer.is_empty() {
            self.maps.iter().filter_map(|map| map.entries.get(last.as_ref() as &str).cloned()).collect()
        } else {
            let outer = self.at(outer)?;
            outer
                .slots
                .iter()
                .filter_map(|slot| plain(slot)?.entries.get(last.as_ref() as &str).cloned())
                .collect()
        };
        let place = (!slots.is_empty()).then(|| {
            let plain = slots.iter().all(|slot| plain(slot).is_some());
            Arc::new(PathValues { plain, slots, merged: OnceLock::new() })
        });
        self.memo.lock().insert(path.into(), place.clone());
        place
    }
}

impl PathValues {
    fn merged(&self, prefixes: &Prefixes) -> Option<Arc<Slot>> {
        if let Some(merged) = self.merged.get() {
            return Some(merged.clone());
        }
        let merged = Arc::new(merge_slots(&self.slots, prefixes)?);
        Some(self.merged.get_or_init(|| merged).clone())
    }
}

/// A map whose keys can be looked up before it is merged.
fn plain(slot: &Slot) -> Option<&Arc<MapSlot>> {
    match slot {
        Slot::Map(map) if !map.prefixed => Some(map),
        _ => None,
    }
}

/// The value of one source at a path.
enum SourceValue<'s> {
    Slot(&'s Slot),
    Shared(Arc<PathValues>),
}

impl SourceValue<'_> {
    fn plain(&self) -> bool {
        match self {
            SourceValue::Slot(slot) => plain(slot).is_some(),
            SourceValue::Shared(place) => place.plain,
        }
    }
}

impl ValueSource {
    /// The value at a path. `before` is the value at the path without its last key.
    fn at<'s>(&'s self, path: &[Text], before: Option<&SourceValue<'s>>) -> Option<SourceValue<'s>> {
        let key = path.last()?.as_ref() as &str;
        match (self, before) {
            (ValueSource::Shared(shared), _) => shared.at(path).map(SourceValue::Shared),
            (ValueSource::Map(map), None) => map.entries.get(key).map(SourceValue::Slot),
            (ValueSource::Map(_), Some(SourceValue::Slot(slot))) => {
                plain(slot)?.entries.get(key).map(SourceValue::Slot)
            }
            (ValueSource::Map(_), Some(SourceValue::Shared(_))) => None,
        }
    }
}

impl Root {
    /// Parameters that are already merged.
    pub fn whole(map: Arc<MapSlot>) -> Root {
        Root { sources: vec![ValueSource::Map(map)], ..Root::default() }
    }

    /// Parameters of several sources, earliest first.
    pub fn of(sources: Vec<ValueSource>, prefixes: &Prefixes) -> Root {
        let is_text = |source: &ValueSource| matches!(source, ValueSource::Map(map) if map.prefixed);
        if sources.len() > 1 && sources.iter().any(is_text) {
            let maps = sources.iter().flat_map(|source| match source {
                ValueSource::Map(map) => std::slice::from_ref(map),
                ValueSource::Shared(shared) => &shared.maps,
            });
            return Root::whole(fold(maps.cloned(), prefixes));
        }
        Root { sources, ..Root::default() }
    }

    /// The same parameters without the secrets in them.
    #[must_use]
    pub fn without(self, secrets: &Secrets) -> Root {
        Root { without: Some(secrets.clone()), ..self }
    }

    /// The same parameters, and grains beside them.
    #[must_use]
    pub fn with_grains(self, grains: Option<Arc<Grains>>) -> Root {
        Root { grains, ..self }
    }

    /// The same parameters, with a record of the paths that are looked up.
    #[must_use]
    pub fn recording(self, records: bool) -> Root {
        Root { looked_up: records.then(Vec::new), ..self }
    }

    /// The paths that were looked up, if they are recorded.
    pub(super) fn looked_up(&self) -> impl Iterator<Item = &[Text]> {
        self.looked_up.iter().flatten().map(AsRef::as_ref)
    }

    /// Whether a reference with this first key reads grains. `Some(false)` if nobody knows them.
    pub(super) fn reads_grains(&self, path: &[Text]) -> Option<bool> {
        let grains =
            self.grains.as_ref().filter(|grains| path.first().is_some_and(|key| grains.has_key(key)))?;
        Some(grains.read(&path[1..]))
    }

    /// The slot at the start of a path, and the number of keys that lead to it. While all sources have plain
    /// maps, the next key is looked up first, so that only the named part is merged.
    pub(super) fn get(&mut self, path: &[Text], prefixes: &Prefixes) -> Option<(RootSlot, usize)> {
        if let Some(looked_up) = &mut self.looked_up {
            looked_up.push(path.into());
        }
        let Some(secrets) = self.without.take() else { return self.get_all(path, prefixes) };
        let found = self.get_all(path, prefixes);
        let found = found.and_then(|(slot, depth)| {
            let memo = self.redacted.entry(path[..depth].into());
            let keys: Vec<Key> = path[..depth].iter().cloned().map(Key::from).collect();
            let redacted = match slot.slot() {
                Some(slot) => {
                    memo.or_insert_with(|| Arc::new(slot_without(&secrets, slot, secrets.at(&keys)))).clone()
                }
                None => return None,
            };
            Some((RootSlot::Merged(redacted), depth))
        });
        self.without = Some(secrets);
        found
    }

    fn get_all(&mut self, path: &[Text], prefixes: &Prefixes) -> Option<(RootSlot, usize)> {
        if let Some(grains) = &self.grains
            && grains.has_key(path.first()?)
        {
            return Some((RootSlot::Merged(grains.known()?), 1));
        }
        if let [ValueSource::Map(map)] = self.sources.as_slice() {
            let index = map.entries.get_index_of(path.first()?.as_ref() as &str)?;
            return Some((RootSlot::In(map.clone(), index), 1));
        }
        let mut here: Vec<(&ValueSource, SourceValue<'_>)> = Vec::new();
        let mut depth = 0;
        while depth < path.len() && here.iter().all(|(_, here)| here.plain()) {
            let path = &path[..=depth];
            let next: Vec<_> = if depth == 0 {
                self.sources.iter().filter_map(|source| Some((source, source.at(path, None)?))).collect()
            } else {
                here.iter()
                    .filter_map(|(source, here)| Some((*source, source.at(path, Some(here))?)))
                    .collect()
            };
            if next.is_empty() {
                // The maps exist, but the key is missing. The caller reports it.
                break;
            }
            here = next;
            depth += 1;
        }
        let slot = match here.as_slice() {
            [] => return None,
            [(_, SourceValue::Shared(place))] => place.merged(prefixes)?,
            _ => {
                if let Some(slot) = self.merged.get(&path[..depth]) {
                    return Some((RootSlot::Merged(slot.clone()), depth));
                }
                let slots = here.iter().flat_map(|(_, here)| match here {
                    SourceValue::Slot(slot) => std::slice::from_ref(*slot),
                    SourceValue::Shared(place) => &place.slots,
                });
                let slot = Arc::new(merge_slots(slots, prefixes)?);
                self.merged.insert(path[..depth].into(), slot.clone());
                slot
            }
        };
        Some((RootSlot::Merged(slot), depth))
    }

    /// The names of all parameters, for messages.
    pub(super) fn names(&self) -> Vec<&str> {
        let maps = self.sources.iter().flat_map(|source| match source {
            ValueSource::Map(map) => std::slice::from_ref(map),
            ValueSource::Shared(shared) => &shared.maps,
        });
        maps.flat_map(|map| map.entries.keys().filter_map(Key::as_str)).collect()
    }
}

/// A slot that a lookup found.
pub(super) enum RootSlot {
    /// An entry of a map.
    In(Arc<MapSlot>, usize),
    Merged(Arc<Slot>),
}

impl RootSlot {
    pub(super) fn slot(&self) -> Option<&Slot> {
        match self {
            RootSlot::In(map, index) => map.entries.get_index(*index).map(|(_, slot)| slot),
            RootSlot::Merged(slot) => Some(slot),
        }
    }
}
