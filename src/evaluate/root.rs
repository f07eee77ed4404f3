//! The root turns the first keys of a reference into the slot of that parameter.
//!
//! Parameters of several sources are merged key by key, and only where a reference leads: a class
//! name, or an export of another node, asks for one or two of hundreds.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::without::slot_without;
use crate::base::lock::Mutex;
use crate::base::secrets::Secrets;
use crate::base::value::{Key, Text};
use crate::model::merge::{Prefixes, fold, merge_slots};
use crate::model::slot::{MapSlot, Slot};

/// Where references begin: parameters, in sources that are merged in their order.
#[derive(Debug, Default)]
pub struct Root {
    sources: Vec<ValueSource>,
    /// Slots that were merged; their addresses stay what they are.
    merged: FxHashMap<Box<[Text]>, Arc<Slot>>,
    /// What is left out.
    without: Option<Secrets>,
    /// Slots from which it was left out.
    shown: FxHashMap<Box<[Text]>, Arc<Slot>>,
}

/// Some of the parameters of a node.
#[derive(Clone, Debug)]
pub enum ValueSource {
    /// A map of its own.
    Map(Arc<MapSlot>),
    /// What it shares with other nodes.
    Shared(Arc<Shared>),
}

/// The parameters of several layers, merged key by key, once for all who share them.
#[derive(Debug)]
pub struct Shared {
    maps: Vec<Arc<MapSlot>>,
    known: Mutex<Places>,
}

/// What is at paths that were asked for.
type Places = FxHashMap<Box<[Text]>, Option<Arc<Place>>>;

/// What the layers have at one path.
#[derive(Debug)]
struct Place {
    /// Whether each of them has a plain map, so that the next key decides.
    plain: bool,
    slots: Vec<Slot>,
    merged: OnceLock<Arc<Slot>>,
}

impl Shared {
    /// The parameters of layers, earliest first.
    pub fn new(maps: Vec<Arc<MapSlot>>, prefixes: &Prefixes) -> Shared {
        let maps = if maps.iter().any(|map| map.prefixed) {
            // Prefixes that are still text take effect when the whole is merged.
            vec![fold(maps, prefixes)]
        } else {
            maps.into_iter().filter(|map| !map.entries.is_empty()).collect()
        };
        Shared { maps, known: Mutex::default() }
    }

    /// What is at a path that leads through plain maps only.
    fn at(&self, path: &[Text]) -> Option<Arc<Place>> {
        if let Some(known) = self.known.lock().get(path) {
            return known.clone();
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
            Arc::new(Place { plain, slots, merged: OnceLock::new() })
        });
        self.known.lock().insert(path.into(), place.clone());
        place
    }
}

impl Place {
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

/// What a source has at a path.
enum Here<'s> {
    Slot(&'s Slot),
    Place(Arc<Place>),
}

impl Here<'_> {
    fn plain(&self) -> bool {
        match self {
            Here::Slot(slot) => plain(slot).is_some(),
            Here::Place(place) => place.plain,
        }
    }
}

impl ValueSource {
    /// What stands at a path; `before` stands at the path without its last key.
    fn at<'s>(&'s self, path: &[Text], before: Option<&Here<'s>>) -> Option<Here<'s>> {
        let key = path.last()?.as_ref() as &str;
        match (self, before) {
            (ValueSource::Shared(shared), _) => shared.at(path).map(Here::Place),
            (ValueSource::Map(map), None) => map.entries.get(key).map(Here::Slot),
            (ValueSource::Map(_), Some(Here::Slot(slot))) => plain(slot)?.entries.get(key).map(Here::Slot),
            (ValueSource::Map(_), Some(Here::Place(_))) => None,
        }
    }
}

impl Root {
    /// Parameters that are merged already.
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

    /// The slot at the beginning of a path, and how many of its keys lead there. Where all sources
    /// have plain maps for a key, the next key decides, so that no more is merged than is named.
    pub(super) fn get(&mut self, path: &[Text], prefixes: &Prefixes) -> Option<(RootSlot, usize)> {
        let Some(secrets) = self.without.take() else { return self.get_all(path, prefixes) };
        let found = self.get_all(path, prefixes);
        let found = found.and_then(|(slot, depth)| {
            let known = self.shown.entry(path[..depth].into());
            let keys: Vec<Key> = path[..depth].iter().cloned().map(Key::from).collect();
            let shown = match slot.slot() {
                Some(slot) => {
                    known.or_insert_with(|| Arc::new(slot_without(&secrets, slot, secrets.at(&keys)))).clone()
                }
                None => return None,
            };
            Some((RootSlot::Merged(shown), depth))
        });
        self.without = Some(secrets);
        found
    }

    fn get_all(&mut self, path: &[Text], prefixes: &Prefixes) -> Option<(RootSlot, usize)> {
        if let [ValueSource::Map(map)] = self.sources.as_slice() {
            let index = map.entries.get_index_of(path.first()?.as_ref() as &str)?;
            return Some((RootSlot::In(map.clone(), index), 1));
        }
        let mut here: Vec<(&ValueSource, Here<'_>)> = Vec::new();
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
                // The maps are there, the key is not: the one who follows the path says so.
                break;
            }
            here = next;
            depth += 1;
        }
        let slot = match here.as_slice() {
            [] => return None,
            [(_, Here::Place(place))] => place.merged(prefixes)?,
            _ => {
                if let Some(slot) = self.merged.get(&path[..depth]) {
                    return Some((RootSlot::Merged(slot.clone()), depth));
                }
                let slots = here.iter().flat_map(|(_, here)| match here {
                    Here::Slot(slot) => std::slice::from_ref(*slot),
                    Here::Place(place) => &place.slots,
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

/// A slot that stays where it is while it is looked at.
pub(super) enum RootSlot {
    /// An entry of a map.
    In(Arc<MapSlot>, usize),
    /// One that was merged.
    Merged(Arc<Slot>),
}

impl RootSlot {
    /// The slot.
    pub(super) fn slot(&self) -> Option<&Slot> {
        match self {
            RootSlot::In(map, index) => map.entries.get_index(*index).map(|(_, slot)| slot),
            RootSlot::Merged(slot) => Some(slot),
        }
    }
}
