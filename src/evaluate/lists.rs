//! Merges two lists by a merge option: `unique`, `by` keys, and items that remove others.
//!
//! Items are compared by their values, so those with references are evaluated here. `1`, `1.0`, `true` and
//! `"1"` are four values.

use std::collections::hash_map::Entry;
use std::fmt::Write as _;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::fold::{is_data, items};
use super::trace::Tracer;
use super::{Child, Evaluator, Stop, Whnf};
use crate::model::merge::merge_maps;
use crate::model::merge_options::{Declaration, PathRules, Strategy};
use crate::model::slot::{ListSlot, MapSlot, Slot, StackEntry};
use crate::model::template::Part;
use reclass_base::error::{Fault, Kind};
use reclass_base::pystr;
use reclass_base::source::{FileId, Origin};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};

/// The effect of a merge option on an item of a layer's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ItemEffect {
    /// An equal item is there already.
    Dropped,
    /// It removes earlier items.
    Removes,
    /// It merges into an earlier item with the same keys.
    MergedInto,
    /// It replaces an earlier item with the same keys.
    Replaces,
}

/// The effect on one item.
#[derive(Clone, Copy, Debug)]
pub struct ItemStep {
    /// What became of the item.
    pub effect: ItemEffect,
    /// Its index in the list of its layer.
    pub item: usize,
    /// The number of removed items, or the index of the other item in the list so far.
    pub other: usize,
}

/// How a later list merges over an earlier one.
struct ListMerge<'r> {
    declaration: &'r Declaration,
    /// The merge options for lists inside of items.
    item_rules: Option<PathRules>,
    /// Whether the later list is written in a file. What a reference brings is data (M11).
    written: bool,
}

impl ListMerge<'_> {
    /// Whether a leading `~` removes items.
    fn removes(&self) -> bool {
        self.written && self.declaration.remove
    }
}

/// The list so far. Removal leaves a gap, so that indexes stay valid.
#[derive(Default)]
struct Merged {
    items: Vec<Option<Slot>>,
    /// The indexes of the items by their identity: the value, or the values of the keys.
    known: FxHashMap<String, usize>,
    /// The indexes by the text that a removal names.
    texts: FxHashMap<String, Vec<usize>>,
    /// The number of plain items whose texts are known. Only a removal needs them.
    read: usize,
}

/// What the keys of an item have as values.
#[derive(Default)]
struct ItemIdentity {
    known: String,
    /// The text that a removal names.
    text: String,
}

impl ItemIdentity {
    fn add(&mut self, value: &Value) {
        let _ = write!(self.known, "{}\0", identity(value));
        let _ = write!(self.text, "{}\0", pystr::str(value));
    }
}

impl Merged {
    /// Appends an item with keys. Of several equal ones, the first that is there is met again.
    fn push(&mut self, identity: ItemIdentity, item: Slot) {
        let next = self.items.len();
        let known = self.known.entry(identity.known).or_insert(next);
        if self.items.get(*known).is_some_and(Option::is_none) {
            *known = next;
        }
        self.texts.entry(identity.text).or_default().push(next);
        self.items.push(Some(item));
    }

    /// Removes the items with this text. Returns their number.
    fn remove(&mut self, text: &str) -> usize {
        let indexes = self.texts.remove(text).unwrap_or_default();
        indexes.iter().filter(|index| self.items[**index].take().is_some()).count()
    }
}

/// The meaning of an item as written, where items may remove others.
enum Written {
    /// An ordinary item.
    Item,
    /// `\\~x`, the item `~x`.
    Escaped,
    /// `~x`, which removes the item `x`.
    Removal,
}

impl Evaluator<'_> {
    /// The earlier and the later list, merged. `entry` is the later one, `before` the origin of the earlier one.
    pub(super) fn merge_lists<T: Tracer>(
        &mut self,
        (earlier, later): (&Whnf, &Whnf),
        before: Origin,
        entry: &StackEntry,
        declaration: &Declaration,
        tracer: &mut T,
    ) -> Result<ListSlot, Stop> {
        if T::TRACES {
            tracer.declared(declaration.origin, &declaration.pattern.source);
        }
        let origin = entry.slot.origin();
        let merge = &ListMerge {
            declaration,
            item_rules: entry.rules.as_deref().and_then(PathRules::items),
            written: origin.file != FileId::NONE
                && matches!(entry.slot, Slot::List(_) | Slot::Value(Value::List(_), _))
                && !entry.rules.as_ref().is_some_and(|rules| rules.data),
        };
        let most = self.settings.limit_values as usize;
        let none = earlier.is_null() || declaration.strategy == Strategy::Replace;
        let earlier = if none { Vec::new() } else { items(earlier, before).collect() };
        let later: Vec<Slot> = items(later, origin).collect();
        if earlier.len() + later.len() > most {
            let what = "the number of values that references repeat";
            return Err(self.limit_exceeded(what, most, "limit_values", origin));
        }
        let mut merged = Merged::default();
        for (index, item) in earlier.iter().enumerate() {
            self.push_index(index);
            let result = self.add(&mut merged, item, merge, None);
            self.pop_key();
            result?;
        }
        let mut own = FxHashSet::default();
        for (index, item) in later.iter().enumerate() {
            self.push_index(index);
            let result = self.add(&mut merged, item, merge, Some(&mut own));
            self.pop_key();
            if let (Some((effect, other)), true) = (result?, T::TRACES) {
                tracer.item(ItemStep { effect, item: index, other });
            }
        }
        let mut list = ListSlot::new(merged.items.into_iter().flatten().collect(), origin);
        // A mapping in a list is evaluated with it.
        list.dynamic |= list.items.iter().any(Slot::stacked);
        Ok(list)
    }

    /// Adds an item of the earlier list, which stays as it is, or of the later one with the identities of its
    /// own items.
    fn add(
        &mut self,
        merged: &mut Merged,
        item: &Slot,
        merge: &ListMerge<'_>,
        own: Option<&mut FxHashSet<String>>,
    ) -> Result<Option<(ItemEffect, usize)>, Stop> {
        match (&merge.declaration.strategy, own) {
            (Strategy::By { keys, .. }, None) => self.add_earlier_keyed(merged, item, keys).map(|()| None),
            (Strategy::By { keys, replace }, Some(own)) => {
                self.add_keyed(merged, item, (keys, *replace), merge, own)
            }
            (strategy, own) => {
                self.add_plain(merged, item, *strategy == Strategy::Unique, merge, own.is_some())
            }
        }
    }

    fn add_plain(
        &mut self,
        merged: &mut Merged,
        item: &Slot,
        unique: bool,
        merge: &ListMerge<'_>,
        own: bool,
    ) -> Result<Option<(ItemEffect, usize)>, Stop> {
        let removes = own && merge.removes();
        let written = if removes { written(item) } else { Written::Item };
        if matches!(written, Written::Item) && !unique {
            // Only a removal needs the value.
            merged.items.push(Some(item.clone()));
            return Ok(None);
        }
        let value = self.deep(item)?;
        let (value, slot) = match (written, &value) {
            (Written::Removal, Value::Str(text)) => {
                self.read_texts(merged)?;
                return Ok(Some((ItemEffect::Removes, merged.remove(bare(text)))));
            }
            (Written::Escaped, Value::Str(text)) => {
                let value = Value::text(bare(text));
                (value.clone(), Slot::Value(value, item.origin()))
            }
            _ => (value, item.clone()),
        };
        if unique {
            self.charge(item)?;
            let next = merged.items.len();
            match merged.known.entry(identity(&value)) {
                Entry::Occupied(known) if merged.items[*known.get()].is_some() => {
                    if own {
                        return Ok(Some((ItemEffect::Dropped, *known.get())));
                    }
                }
                place => drop(place.insert_entry(next)),
            }
        }
        merged.items.push(Some(slot));
        Ok(None)
    }

    /// Counts the last evaluated value: items are compared again for each layer, and references may repeat a
    /// large one.
    fn charge(&mut self, item: &Slot) -> Result<(), Stop> {
        self.folded += self.size.size;
        if self.folded > self.most_folded() { Err(self.too_many(item.origin())) } else { Ok(()) }
    }

    /// Evaluates the items that came since the last removal, for their texts.
    fn read_texts(&mut self, merged: &mut Merged) -> Result<(), Stop> {
        for index in merged.read..merged.items.len() {
            let Some(item) = &merged.items[index] else { continue };
            let value = self.deep(item)?;
            if is_scalar(&value) {
                merged.texts.entry(pystr::str(&value)).or_default().push(index);
            }
        }
        merged.read = merged.items.len();
        Ok(())
    }

    /// Adds an item of the earlier list. One without the keys is never met again.
    fn add_earlier_keyed(&mut self, merged: &mut Merged, item: &Slot, keys: &[Text]) -> Result<(), Stop> {
        let found = self.whnf(item)?;
        let mut identity = ItemIdentity::default();
        for key in keys {
            let value = match found.whnf.child(&**key, |_| None) {
                Some(Child::Slot(slot)) => Some(self.deep(slot)?),
                Some(Child::Data(value)) => Some(value.clone()),
                None => None,
            };
            let Some(value) = value.filter(is_scalar) else {
                merged.items.push(Some(item.clone()));
                return Ok(());
            };
            self.charge(item)?;
            identity.add(&value);
        }
        merged.push(identity, item.clone());
        Ok(())
    }

    fn add_keyed(
        &mut self,
        merged: &mut Merged,
        item: &Slot,
        (keys, replace): (&[Text], bool),
        merge: &ListMerge<'_>,
        own: &mut FxHashSet<String>,
    ) -> Result<Option<(ItemEffect, usize)>, Stop> {
        let found = self.whnf(item)?;
        if !matches!(found.whnf, Whnf::Map(_) | Whnf::Raw(_) | Whnf::Value(Value::Map(_))) {
            return Err(self.key_missing(&keys[0], item.origin()));
        }
        // A mapping that a reference brings is data (M11).
        let is_written = !is_data(item);
        let mut map = self.mapping(found, item.origin());
        let escapes = is_written && merge.removes();
        let is_removal = |key: &Text| {
            map.entries.get(&**key).is_some_and(|slot| matches!(written(slot), Written::Removal))
        };
        let removes = escapes && keys.iter().any(is_removal);
        let mut identity = ItemIdentity::default();
        for key in keys {
            let value = match map.entries.get(&**key) {
                Some(slot) => self.deep(slot)?,
                None => return Err(self.key_missing(key, item.origin())),
            };
            if !is_scalar(&value) {
                return Err(self.key_missing(key, item.origin()));
            }
            self.charge(item)?;
            let marked = escapes
                && map.entries.get(&**key).is_some_and(|slot| !matches!(written(slot), Written::Item));
            identity.add(&if marked { Value::text(bare(&pystr::str(&value))) } else { value });
        }
        if removes {
            if map.entries.len() > keys.len() {
                let kind = Kind::RemovalWithValue { keys: keys.join(", ") };
                return Err(self.place(Fault::new(kind), item.origin(), None).into());
            }
            return Ok(Some((ItemEffect::Removes, merged.remove(&identity.text))));
        }
        if escapes {
            map = self.unescaped(&map, keys)?;
        }
        if let Some(rules) = &merge.item_rules {
            map = rules.apply_to(!is_written, &map, &self.prefixes);
        }
        if !own.insert(identity.known.clone()) {
            let kind = Kind::MergeKeyDuplicate { keys: keys.join(", ") };
            return Err(self.place(Fault::new(kind), item.origin(), None).into());
        }
        let at = merged.known.get(&identity.known).copied();
        match at.and_then(|at| Some((at, merged.items.get_mut(at)?.as_mut()?))) {
            Some((at, slot)) if replace => {
                *slot = Slot::Map(map);
                Ok(Some((ItemEffect::Replaces, at)))
            }
            Some((at, slot)) => {
                let earlier = std::mem::take(slot);
                let found = self.whnf(&earlier)?;
                let earlier = self.mapping(found, earlier.origin());
                *slot = Slot::Map(merge_maps(earlier, &map, &self.prefixes));
                Ok(Some((ItemEffect::MergedInto, at)))
            }
            None => {
                merged.push(identity, Slot::Map(map));
                Ok(None)
            }
        }
    }

    /// The mapping with plain texts for the escaped ones at the keys.
    fn unescaped(&mut self, map: &Arc<MapSlot>, keys: &[Text]) -> Result<Arc<MapSlot>, Stop> {
        let mut entries = map.entries.clone();
        let mut changed = false;
        for key in keys {
            let Some(slot) = map.entries.get(&**key).filter(|slot| matches!(written(slot), Written::Escaped))
            else {
                continue;
            };
            let value = Value::text(bare(&pystr::str(&self.deep(slot)?)));
            entries.insert(Key::from(key.clone()), Slot::Value(value, slot.origin()));
            changed = true;
        }
        Ok(if changed { Arc::new(MapSlot::new(entries, map.origin, map.prefixed)) } else { map.clone() })
    }

    fn key_missing(&self, key: &str, origin: Origin) -> Stop {
        let kind = Kind::MergeKeyMissing { key: key.to_owned() };
        self.place(Fault::new(kind), origin, None).into()
    }
}

/// The meaning of an item as written. Only the text before a reference counts.
fn written(slot: &Slot) -> Written {
    let text = match slot {
        Slot::Value(Value::Str(text), _) => text,
        Slot::Text(template, _) => match template.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => return Written::Item,
        },
        _ => return Written::Item,
    };
    if text.starts_with('~') {
        Written::Removal
    } else if text.starts_with("\\~") {
        Written::Escaped
    } else {
        Written::Item
    }
}

/// The text without the `~` of a removal, or without the backslash in front of it.
fn bare(text: &str) -> &str {
    text.strip_prefix(['~', '\\']).unwrap_or(text)
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::List(_) | Value::Map(_) | Value::Set(_) | Value::Tuple(_))
}

/// A text that two values have in common if they are equal and of one type. The order of keys does not count.
fn identity(value: &Value) -> String {
    grow(|| match value {
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| format!("{}: {}", identity(&key.0), identity(value)));
            let mut entries: Vec<String> = entries.collect();
            entries.sort_unstable();
            format!("{{{}}}", entries.join(", "))
        }
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(identity).collect();
            format!("[{}]", items.join(", "))
        }
        scalar => pystr::repr(scalar),
    })
}
