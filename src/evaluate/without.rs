//! Removes the secrets from parameters before evaluation, so that no result can reveal one.

use std::sync::Arc;

use crate::base::secrets::{Cover, MASK, Secrets};
use crate::base::stack::grow;
use crate::base::value::{Key, Value};
use crate::model::slot::{Entries, ListSlot, MapSlot, RawSlot, Slot, StackEntry, StackSlot};
use crate::model::template::{Part, Template};

/// The treatment of references in texts under secret keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum References {
    /// They are removed with the text.
    Hidden,
    /// They are kept, and the text between them is removed: they still lead along the same paths.
    Kept,
}

/// The same parameters without the secrets in them.
pub fn without(secrets: &Secrets, map: &Arc<MapSlot>, references: References) -> Arc<MapSlot> {
    if secrets.is_none() {
        return map.clone();
    }
    Arc::new(Without { secrets, references }.map(map, Cover::Open))
}

/// The slot at a path without the secrets in it. `cover` says which values the keys of the path hide.
pub fn slot_without(secrets: &Secrets, slot: &Slot, cover: Cover) -> Slot {
    Without { secrets, references: References::Hidden }.slot(slot, cover)
}

struct Without<'s> {
    secrets: &'s Secrets,
    references: References,
}

impl Without<'_> {
    fn map(&self, map: &MapSlot, cover: Cover) -> MapSlot {
        let entries = self.entries(&map.entries, cover);
        MapSlot { prefixed: map.prefixed, typed: map.typed, ..MapSlot::new(entries, map.origin, false) }
    }

    fn entries(&self, entries: &Entries, cover: Cover) -> Entries {
        let slot =
            |(key, slot): (&Key, &Slot)| (key.clone(), self.slot(slot, self.secrets.below(cover, key)));
        entries.iter().map(slot).collect()
    }

    fn slot(&self, slot: &Slot, cover: Cover) -> Slot {
        grow(|| match slot {
            Slot::Value(value, origin) => Slot::Value(self.secrets.hide(value, cover, &|_| false), *origin),
            Slot::Text(..) | Slot::Query(..) if cover == Cover::Open => slot.clone(),
            Slot::Text(template, origin) if self.references == References::Kept => {
                Slot::Text(masked(template), *origin)
            }
            Slot::Text(_, origin) | Slot::Query(_, origin) => Slot::Value(Value::text(MASK), *origin),
            Slot::List(list) => {
                let items = list.items.iter().map(|item| self.slot(item, cover.item())).collect();
                Slot::List(Arc::new(ListSlot::new(items, list.origin)))
            }
            Slot::Raw(raw) => {
                Slot::Raw(Arc::new(RawSlot::new(self.entries(&raw.entries, cover), raw.origin)))
            }
            Slot::Map(map) => Slot::Map(Arc::new(self.map(map, cover))),
            Slot::Stack(stack) => {
                let entry =
                    |entry: &StackEntry| StackEntry { slot: self.slot(&entry.slot, cover), ..entry.clone() };
                Slot::Stack(Arc::new(StackSlot::new(stack.entries.iter().map(entry).collect())))
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
