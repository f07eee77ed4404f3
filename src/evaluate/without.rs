//! Removes the secrets from parameters before evaluation, so that no result can reveal one.

use std::sync::Arc;

use crate::model::slot::{Entries, ListSlot, MapSlot, RawSlot, Slot, StackEntry, StackSlot};
use crate::model::template::{Part, Template};
use reclass_base::secrets::{Cover, MASK, Secrets};
use reclass_base::stack::grow;
use reclass_base::value::Value;

/// The treatment of references in texts under secret keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum References {
    /// They are removed with the text.
    Hidden,
    /// They are kept, and the text between them is removed: they still lead along the same paths.
    Kept,
}

/// The same parameters without the secrets in them. A container without a secret is shared with them.
pub fn without(secrets: &Secrets, map: &Arc<MapSlot>, references: References) -> Arc<MapSlot> {
    let without = Without { secrets, references };
    let redacted = if secrets.is_none() { None } else { without.map(map, Cover::Open) };
    redacted.map_or_else(|| map.clone(), Arc::new)
}

/// The slot at a path without the secrets in it. `cover` says which values the keys of the path hide.
pub fn slot_without(secrets: &Secrets, slot: &Slot, cover: Cover) -> Slot {
    Without { secrets, references: References::Hidden }.slot(slot, cover).unwrap_or_else(|| slot.clone())
}

struct Without<'s> {
    secrets: &'s Secrets,
    references: References,
}

/// `None` stands for something without a secret.
impl Without<'_> {
    fn map(&self, map: &MapSlot, cover: Cover) -> Option<MapSlot> {
        let entries = self.entries(&map.entries, cover)?;
        let changed = MapSlot::new(entries, map.origin, false);
        Some(MapSlot { prefixed: map.prefixed, typed: map.typed, ..changed })
    }

    fn entries(&self, entries: &Entries, cover: Cover) -> Option<Entries> {
        let slots = entries.iter().map(|(key, slot)| (slot, self.secrets.below(cover, key)));
        Entries::with_keys_of(entries, self.slots(slots)?)
    }

    /// Slots, each with its cover.
    fn slots<'a>(&self, slots: impl Iterator<Item = (&'a Slot, Cover)> + Clone) -> Option<Vec<Slot>> {
        let mut found = slots.clone().enumerate();
        let (first, slot) = found.find_map(|(at, (slot, cover))| Some((at, self.slot(slot, cover)?)))?;
        let before = slots.take(first).map(|(slot, _)| slot.clone());
        let behind = found.map(|(_, (slot, cover))| self.slot(slot, cover).unwrap_or_else(|| slot.clone()));
        Some(before.chain([slot]).chain(behind).collect())
    }

    fn slot(&self, slot: &Slot, cover: Cover) -> Option<Slot> {
        let cover = match slot {
            Slot::Value(_, origin) | Slot::Text(_, origin) | Slot::Query(_, origin) => {
                self.secrets.at_place(cover, *origin)
            }
            _ => cover,
        };
        grow(|| match slot {
            Slot::Value(value, origin) => {
                let hidden = self.secrets.hide(value, cover, &|_| false);
                (hidden != *value).then_some(Slot::Value(hidden, *origin))
            }
            Slot::Text(..) | Slot::Query(..) if cover == Cover::Open => None,
            Slot::Text(template, origin) if self.references == References::Kept => {
                Some(Slot::Text(masked(template), *origin))
            }
            Slot::Text(_, origin) | Slot::Query(_, origin) => Some(Slot::Value(Value::text(MASK), *origin)),
            Slot::List(list) => {
                let items = self.slots(list.items.iter().map(|item| (item, cover.item())))?;
                Some(Slot::List(Arc::new(ListSlot::new(items, list.origin))))
            }
            Slot::Raw(raw) => {
                Some(Slot::Raw(Arc::new(RawSlot::new(self.entries(&raw.entries, cover)?, raw.origin))))
            }
            Slot::Map(map) => Some(Slot::Map(Arc::new(self.map(map, cover)?))),
            Slot::Stack(stack) => {
                let slots = self.slots(stack.entries.iter().map(|entry| (&entry.slot, cover)))?;
                let entries = stack.entries.iter().zip(slots);
                let entries = entries.map(|(entry, slot)| StackEntry { slot, ..entry.clone() });
                Some(Slot::Stack(Arc::new(StackSlot::new(entries.collect()))))
            }
        })
    }
}

/// A text with a mask between its references.
fn masked(template: &Template) -> Arc<Template> {
    let part = |part: &Part| match part {
        Part::Literal(_) => Part::Literal(MASK.into()),
        Part::Reference(_) => part.clone(),
    };
    let parts = template.parts.iter().map(part).collect();
    Arc::new(Template::new(template.source.clone(), parts))
}
