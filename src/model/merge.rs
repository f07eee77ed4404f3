//! Merging turns a map of slots and the map of the next layer into one map of slots.
//!
//! | earlier \ later | scalar  | list     | map            | text with references |
//! |-----------------|---------|----------|----------------|----------------------|
//! | nothing, null   | later   | later    | later          | later                |
//! | scalar          | later   | stack    | stack          | stack                |
//! | list            | stack   | extended | stack          | stack                |
//! | map             | stack   | stack    | merged by key  | stack                |
//! | text, stack     | stack   | stack    | stack          | stack                |
//!
//! A stack leaves the decision to evaluation: a reference must be resolved first, a prefix (`~`, `=`)
//! applies, or the types conflict and the settings decide if that is an error. Everything else is decided
//! here, once for all nodes that share the layers.

use std::sync::Arc;

use crate::model::slot::{
    Entries, KeyPrefix, ListSlot, MapSlot, RawSlot, Results, Slot, StackEntry, StackSlot,
};
use reclass_base::failpoints::failpoint;
use reclass_base::number::UniqueNumber;
use reclass_base::settings::Settings;
use reclass_base::source::Origin;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};

/// The prefixes from the settings.
#[derive(Clone, Debug)]
pub struct Prefixes {
    overrides: Option<char>,
    constant: Option<char>,
}

impl Prefixes {
    /// Reads the prefixes from the settings. Only a single character can be a prefix, because the forks
    /// compare the first character of a key.
    pub fn new(settings: &Settings) -> Prefixes {
        let single = |text: &Text| {
            let mut chars = text.chars();
            chars.next().filter(|_| chars.next().is_none())
        };
        Prefixes {
            overrides: single(&settings.dict_key_override_prefix),
            constant: single(&settings.dict_key_constant_prefix),
        }
    }

    /// Splits a key. A prefix alone is an ordinary key (M6).
    fn split<'k>(&self, key: &'k str) -> (KeyPrefix, &'k str) {
        let mut chars = key.chars();
        let first = chars.next();
        let rest = chars.as_str();
        if first.is_none() || rest.is_empty() {
            return (KeyPrefix::default(), key);
        }
        if first == self.overrides {
            (KeyPrefix { overrides: true, constant: false }, rest)
        } else if first == self.constant {
            (KeyPrefix { overrides: false, constant: true }, rest)
        } else {
            (KeyPrefix::default(), key)
        }
    }

    /// The prefixes of a key as written in a file.
    pub fn text(&self, prefix: KeyPrefix) -> String {
        let overrides = self.overrides.filter(|_| prefix.overrides);
        overrides.into_iter().chain(self.constant.filter(|_| prefix.constant)).collect()
    }

    /// The key without its first prefix.
    pub fn bare<'k>(&self, key: &'k str) -> &'k str {
        self.split(key).1
    }

    /// The key without any of its prefixes, which may follow one another (M6).
    pub fn name<'k>(&self, key: &'k str) -> &'k str {
        let mut name = key;
        loop {
            match self.bare(name) {
                bare if bare == name => return name,
                bare => name = bare,
            }
        }
    }

    /// Whether a key is a prefix alone.
    pub fn is_lone(&self, key: &str) -> bool {
        let mut chars = key.chars();
        let first = chars.next();
        first.is_some() && chars.as_str().is_empty() && (first == self.overrides || first == self.constant)
    }

    /// Whether a key begins with a prefix.
    pub fn is_prefixed(&self, key: &Key) -> bool {
        key.as_str().is_some_and(|text| self.split(text).0.any())
    }
}

/// Converts a mapping as written in a file, with typed keys and prefixes, to a map of slots. Keys become
/// strings (M7), prefixes take effect, and keys that are now equal merge in order.
pub fn normalize(raw: &RawSlot, prefixes: &Prefixes) -> MapSlot {
    let mut map = Normalized::with_capacity(raw.entries.len());
    for (key, slot) in &raw.entries {
        let slot = match slot {
            Slot::Raw(raw) if !prefixes.is_prefixed(key) => Slot::Map(Arc::new(normalize(raw, prefixes))),
            other => other.clone(),
        };
        map.insert(key.clone(), slot, prefixes);
    }
    map.finish(raw.origin)
}

/// The value of a key with a prefix. Its mappings keep their typed keys until a later layer merges into them
/// (M7). Prefixes in them take effect (M9).
fn typed(slot: Slot, prefixes: &Prefixes) -> Slot {
    let Slot::Raw(raw) = slot else { return slot };
    let mut entries = Entries::with_capacity(raw.entries.len());
    for (key, slot) in &raw.entries {
        let (mut key, mut slot) = (key.clone(), grow(|| typed(slot.clone(), prefixes)));
        while let Some((prefix, name)) = key.as_str().map(|text| prefixes.split(text))
            && prefix.any()
        {
            slot = single(slot, prefix);
            key = Key::from(name);
        }
        insert::<false>(&mut entries, key, slot, prefixes);
    }
    let typed = entries.keys().any(|key| key.as_str().is_none());
    let map = MapSlot::new(entries, raw.origin, false);
    Slot::Map(Arc::new(MapSlot { typed: map.typed || typed, ..map }))
}

/// The mapping with strings as keys.
fn with_string_keys(map: Arc<MapSlot>, prefixes: &Prefixes) -> Arc<MapSlot> {
    if !map.typed {
        return map;
    }
    let mut entries = Entries::with_capacity(map.entries.len());
    for (key, slot) in &map.entries {
        let slot = match slot {
            Slot::Map(map) => Slot::Map(grow(|| with_string_keys(map.clone(), prefixes))),
            other => other.clone(),
        };
        insert::<false>(&mut entries, string_key(key.clone()), slot, prefixes);
    }
    Arc::new(MapSlot::new(entries, map.origin, map.prefixed))
}

/// Builds the result of [`normalize`], entry by entry.
#[derive(Debug)]
pub struct Normalized {
    entries: Entries,
    prefixed: bool,
}

impl Normalized {
    /// An empty map with capacity for entries.
    pub fn with_capacity(capacity: usize) -> Normalized {
        let entries = Entries::with_capacity(capacity);
        Normalized { entries, prefixed: false }
    }

    /// Adds the next entry of the file. A mapping in the slot must be normalized already, unless the key has a
    /// prefix.
    pub fn insert(&mut self, key: Key, slot: Slot, prefixes: &Prefixes) {
        let key = string_key(key);
        let (prefix, name) = prefixes.split(key.as_str().unwrap_or_default());
        if prefix.any() {
            let key = Key::from(name);
            self.prefixed |= prefixes.is_prefixed(&key);
            insert::<false>(&mut self.entries, key, single(typed(slot, prefixes), prefix), prefixes);
        } else {
            insert::<false>(&mut self.entries, key, slot, prefixes);
        }
    }

    /// The merged mapping.
    pub fn finish(self, origin: Origin) -> MapSlot {
        MapSlot::new(self.entries, origin, self.prefixed)
    }
}

/// Merges the map of a later layer over an earlier one. A map with one owner changes in place. A shared map
/// is copied, one level at a time.
pub fn merge_maps(earlier: Arc<MapSlot>, later: &Arc<MapSlot>, prefixes: &Prefixes) -> Arc<MapSlot> {
    merge_entries::<false>(earlier, later, prefixes)
}

/// The same for a trace, without decisions. The values that two layers have for one key become a stack, so
/// that its fold decides and reports each step.
pub(crate) fn stack_maps(earlier: Arc<MapSlot>, later: &Arc<MapSlot>, prefixes: &Prefixes) -> Arc<MapSlot> {
    merge_entries::<true>(earlier, later, prefixes)
}

fn merge_entries<const STACKS: bool>(
    earlier: Arc<MapSlot>,
    later: &Arc<MapSlot>,
    prefixes: &Prefixes,
) -> Arc<MapSlot> {
    let mut earlier = with_string_keys(earlier, prefixes);
    let strings = later.typed.then(|| with_string_keys(later.clone(), prefixes));
    let later = strings.as_ref().unwrap_or(later);
    if later.entries.is_empty() {
        return earlier;
    }
    if earlier.entries.is_empty() && !later.prefixed {
        return later.clone();
    }
    failpoint("two layers are merged");
    let mut merged = match Arc::get_mut(&mut earlier) {
        Some(own) => std::mem::take(own),
        // Keys and children are shared.
        None => MapSlot { results: Results::default(), entries: earlier.entries.clone(), ..*earlier },
    };
    if later.prefixed {
        for (key, slot) in &later.entries {
            let (prefix, name) = prefixes.split(key.as_str().unwrap_or_default());
            if prefix.any() {
                let key = Key::from(name);
                merged.prefixed |= prefixes.is_prefixed(&key);
                insert::<STACKS>(&mut merged.entries, key, single(slot.clone(), prefix), prefixes);
            } else {
                insert::<STACKS>(&mut merged.entries, key.clone(), slot.clone(), prefixes);
            }
        }
    } else {
        let entries = &later.entries;
        merged.entries.merge_all(entries, |earlier, later| join::<STACKS>(earlier, later.clone(), prefixes));
    }
    // Merging replaces only null and scalars, so it removes nothing that needs evaluation.
    merged.dynamic |= later.dynamic;
    // Slots that cannot be merged here become a stack, at any depth.
    merged.stacked = merged.stacked || merged.entries.values().any(Slot::stacked);
    merged.prefixed |= later.prefixed;
    merged.origin = later.origin;
    merged.results = Results::default();
    Arc::new(merged)
}

/// The map of a layer after prefixes that are still text took effect, as in a first layer.
pub fn settled(map: &Arc<MapSlot>, prefixes: &Prefixes) -> Arc<MapSlot> {
    if map.prefixed { merge_maps(Arc::new(MapSlot::empty()), map, prefixes) } else { map.clone() }
}

/// Merges maps in order.
pub fn fold(maps: impl IntoIterator<Item = Arc<MapSlot>>, prefixes: &Prefixes) -> Arc<MapSlot> {
    let empty = Arc::new(MapSlot::empty());
    maps.into_iter().fold(empty, |merged, map| merge_maps(merged, &map, prefixes))
}

/// Merges the slots that layers have for one path, earliest first, without merging the maps that contain
/// them. These maps must not have prefixed keys ([`MapSlot::prefixed`]).
pub fn merge_slots<'s>(slots: impl IntoIterator<Item = &'s Slot>, prefixes: &Prefixes) -> Option<Slot> {
    let mut slots = slots.into_iter();
    let first = settle(slots.next()?.clone(), prefixes);
    Some(slots.fold(first, |earlier, later| merge(earlier, later.clone(), prefixes)))
}

/// The map with an entry at this index. If the same key is already there, its value is replaced.
pub fn with_entry(map: &MapSlot, index: usize, key: Key, slot: Slot) -> Arc<MapSlot> {
    let mut entries = map.entries.clone();
    match entries.get_index_mut(index) {
        Some((there, place)) if *there == key => *place = slot,
        _ => entries.shift_insert(index.min(map.entries.len()), key, slot),
    }
    Arc::new(MapSlot::new(entries, map.origin, map.prefixed))
}

/// A map that a reference found, with its stacks closed: each is evaluated as at its own path, and its `~`
/// and `=` do not affect earlier or later values (M4). Keys below a `~` or `=` become strings (M7).
pub fn with_closed_stacks(map: &Arc<MapSlot>, prefixes: &Prefixes) -> Arc<MapSlot> {
    if !map.stacked {
        return map.clone();
    }
    let closed = |slot: &Slot| closed(slot.clone(), prefixes);
    let entries = map.entries.iter().map(|(key, slot)| (key.clone(), closed(slot))).collect();
    Arc::new(MapSlot { typed: map.typed, ..MapSlot::new(entries, map.origin, false) })
}

fn closed(slot: Slot, prefixes: &Prefixes) -> Slot {
    match slot {
        Slot::Map(map) => Slot::Map(with_closed_stacks(&map, prefixes)),
        Slot::Stack(stack) => single(ordinary(Slot::Stack(stack), prefixes), KeyPrefix::default()),
        other => other,
    }
}

/// The slot with strings as keys, also below a `~` or `=`.
fn ordinary(slot: Slot, prefixes: &Prefixes) -> Slot {
    if !has_typed(&slot) {
        return slot;
    }
    match slot {
        Slot::Map(map) => {
            let mut entries = Entries::with_capacity(map.entries.len());
            for (key, slot) in &map.entries {
                let slot = grow(|| ordinary(slot.clone(), prefixes));
                insert::<false>(&mut entries, string_key(key.clone()), slot, prefixes);
            }
            Slot::Map(Arc::new(MapSlot::new(entries, map.origin, map.prefixed)))
        }
        Slot::Stack(stack) => {
            let entry = |entry: &StackEntry| StackEntry {
                slot: ordinary(entry.slot.clone(), prefixes),
                ..entry.clone()
            };
            let entries = stack.entries.iter().map(entry).collect();
            let (dynamic, number) = (stack.dynamic, UniqueNumber::default());
            Slot::Stack(Arc::new(StackSlot { entries, dynamic, number }))
        }
        other => other,
    }
}

/// Whether a key has another type than text, also below a `~` or `=`.
fn has_typed(slot: &Slot) -> bool {
    match slot {
        Slot::Map(map) => map.typed || map.stacked && map.entries.values().any(has_typed),
        Slot::Stack(stack) => stack.entries.iter().any(|entry| has_typed(&entry.slot)),
        _ => false,
    }
}

fn insert<const STACKS: bool>(entries: &mut Entries, key: Key, later: Slot, prefixes: &Prefixes) {
    entries.merge(key, |earlier| join::<STACKS>(earlier, later, prefixes));
}

fn join<const STACKS: bool>(earlier: Option<Slot>, later: Slot, prefixes: &Prefixes) -> Slot {
    match earlier {
        Some(earlier) if STACKS => stack(earlier, settle(later, prefixes)),
        Some(earlier) => merge(earlier, later, prefixes),
        None => settle(later, prefixes),
    }
}

/// The slot as the first value of its path. Prefixes below it that are still text take effect now, because
/// the forks merge even a first mapping into an empty one.
fn settle(slot: Slot, prefixes: &Prefixes) -> Slot {
    match slot {
        Slot::Map(map) if map.prefixed => Slot::Map(merge_maps(Arc::new(MapSlot::empty()), &map, prefixes)),
        Slot::Raw(raw) => Slot::Map(Arc::new(normalize(&raw, prefixes))),
        other => other,
    }
}

/// Merges a later slot over an earlier one, see the table above.
fn merge(earlier: Slot, later: Slot, prefixes: &Prefixes) -> Slot {
    match (earlier, later) {
        (
            Slot::Value(Value::Null, _),
            later @ (Slot::Value(..) | Slot::List(_) | Slot::Text(..) | Slot::Query(..)),
        ) => later,
        (Slot::Value(Value::Null, _), later @ (Slot::Map(_) | Slot::Raw(_))) => settle(later, prefixes),
        (Slot::Value(earlier, _), Slot::Value(later, origin)) if is_scalar(&earlier) && is_scalar(&later) => {
            Slot::Value(later, origin)
        }
        (Slot::List(earlier), Slot::List(later)) => {
            // A list with one owner grows in place.
            let mut list = Arc::try_unwrap(earlier).unwrap_or_else(|shared| {
                let mut items = Vec::with_capacity(shared.items.len() + later.items.len());
                items.extend_from_slice(&shared.items);
                ListSlot::new(items, shared.origin)
            });
            list.extend(later.items.iter().cloned(), later.origin);
            Slot::List(Arc::new(list))
        }
        (Slot::Map(earlier), Slot::Map(later)) => Slot::Map(merge_maps(earlier, &later, prefixes)),
        (Slot::Map(earlier), Slot::Raw(later)) => {
            Slot::Map(merge_maps(earlier, &Arc::new(normalize(&later, prefixes)), prefixes))
        }
        (earlier, later) => stack(earlier, settle(later, prefixes)),
    }
}

/// Finished containers are no scalars: evaluation must check their types.
fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::List(_) | Value::Map(_))
}

fn stack(earlier: Slot, later: Slot) -> Slot {
    let alone = |slot: Slot| StackSlot::new(vec![StackEntry::plain(slot)]);
    // A stack with one owner grows in place.
    let mut merged = match earlier {
        Slot::Stack(stack) => Arc::try_unwrap(stack).unwrap_or_else(|shared| (*shared).clone()),
        other => alone(other),
    };
    match later {
        Slot::Stack(stack) => {
            merged.dynamic |= stack.dynamic;
            merged.entries.extend(stack.entries.iter().cloned());
        }
        other => {
            let StackSlot { entries, dynamic, .. } = alone(other);
            merged.dynamic |= dynamic;
            merged.entries.extend(entries);
        }
    }
    merged.number = UniqueNumber::default();
    Slot::Stack(Arc::new(merged))
}

/// A value with a prefix. The two prefixes of `~=key` are applied one after the other.
fn single(slot: Slot, prefix: KeyPrefix) -> Slot {
    if prefix.any()
        && let Slot::Stack(stack) = &slot
        && let [only] = stack.entries.as_slice()
    {
        let only = StackEntry { prefix: only.prefix.and(prefix), ..only.clone() };
        return Slot::Stack(Arc::new(StackSlot::new(vec![only])));
    }
    Slot::Stack(Arc::new(StackSlot::new(vec![StackEntry { prefix, ..StackEntry::plain(slot) }])))
}

fn string_key(key: Key) -> Key {
    match key.0 {
        Value::Str(_) => key,
        other => Key(Value::Str(reclass_base::pystr::str(&other).into())),
    }
}

/// Converts a layer of finished data, such as automatic parameters, to a map.
pub fn map_of_values(map: &reclass_base::value::Map, origin: Origin, prefixes: &Prefixes) -> MapSlot {
    normalize(&RawSlot::new(crate::model::slot::entries_from_map(map, origin), origin), prefixes)
}
