//! Slots turn parameters into the same with a mask in place of each secret, so that what they are
//! evaluated to cannot tell one.
//!
//! Text is not searched for secrets then, however short they are: a URL with a reference to a password
//! comes to a URL with the mask in it, and what a secret chooses, as in `${table:${pin}}`, is not found.

use std::sync::Arc;

use super::{MASK, Secrets, deeper, masked};
use crate::slot::{Entries, ListSlot, MapSlot, RawSlot, Slot, StackEntry, StackSlot};
use crate::value::{Key, Map, Value};

impl Secrets {
    /// The same parameters without the secrets in them.
    pub fn without(&self, map: &Arc<MapSlot>) -> Arc<MapSlot> {
        if self.is_none() { map.clone() } else { Arc::new(self.map(map, false)) }
    }

    fn map(&self, map: &MapSlot, secret: bool) -> MapSlot {
        let entries = self.entries(&map.entries, secret);
        MapSlot { prefixed: map.prefixed, ..MapSlot::new(entries, map.origin, false) }
    }

    fn entries(&self, entries: &Entries, secret: bool) -> Entries {
        let slot = |(key, slot): (&Key, &Slot)| (key.clone(), self.slot(slot, secret || self.is_secret(key)));
        entries.iter().map(slot).collect()
    }

    /// What stands at a place without the secrets in it; all of it is `secret` below a secret key.
    pub fn slot(&self, slot: &Slot, secret: bool) -> Slot {
        deeper(|| match slot {
            Slot::Value(value, origin) if secret => Slot::Value(masked(value), *origin),
            Slot::Value(value, origin) => Slot::Value(self.by_keys(value), *origin),
            Slot::Text(_, origin) | Slot::Query(_, origin) if secret => {
                Slot::Value(Value::text(MASK), *origin)
            }
            Slot::Query(query, origin)
                if query.value.iter().flatten().any(|key| self.is_secret_name(key)) =>
            {
                Slot::Value(Value::text(MASK), *origin)
            }
            Slot::Text(template, origin) => match self.template(template) {
                Some(template) => Slot::Text(template, *origin),
                None => slot.clone(),
            },
            Slot::Query(..) => slot.clone(),
            Slot::List(list) => {
                let items = list.items.iter().map(|item| self.slot(item, secret)).collect();
                Slot::List(Arc::new(ListSlot::new(items, list.origin)))
            }
            Slot::Raw(raw) => {
                Slot::Raw(Arc::new(RawSlot::new(self.entries(&raw.entries, secret), raw.origin)))
            }
            Slot::Map(map) => Slot::Map(Arc::new(self.map(map, secret))),
            Slot::Stack(stack) => {
                let entry = |entry: &StackEntry| StackEntry {
                    slot: self.slot(&entry.slot, secret),
                    prefix: entry.prefix,
                };
                Slot::Stack(Arc::new(StackSlot::new(stack.entries.iter().map(entry).collect())))
            }
        })
    }

    /// The same parameters with a mask for what references take in place of secrets, and nothing else.
    pub fn without_defaults(&self, map: &Arc<MapSlot>) -> Arc<MapSlot> {
        if self.is_none() || !map.dynamic { map.clone() } else { Arc::new(self.templates_in(map)) }
    }

    fn templates_in(&self, map: &MapSlot) -> MapSlot {
        MapSlot { prefixed: map.prefixed, ..MapSlot::new(self.templates(&map.entries), map.origin, false) }
    }

    fn templates(&self, entries: &Entries) -> Entries {
        entries.iter().map(|(key, slot)| (key.clone(), self.templates_of(slot))).collect()
    }

    fn templates_of(&self, slot: &Slot) -> Slot {
        deeper(|| match slot {
            Slot::Text(template, origin) => {
                Slot::Text(self.template(template).unwrap_or_else(|| template.clone()), *origin)
            }
            Slot::List(list) if list.dynamic => {
                let items = list.items.iter().map(|item| self.templates_of(item)).collect();
                Slot::List(Arc::new(ListSlot::new(items, list.origin)))
            }
            Slot::Raw(raw) if raw.dynamic => {
                Slot::Raw(Arc::new(RawSlot::new(self.templates(&raw.entries), raw.origin)))
            }
            Slot::Map(map) if map.dynamic => Slot::Map(Arc::new(self.templates_in(map))),
            Slot::Stack(stack) => {
                let entry = |entry: &StackEntry| StackEntry {
                    slot: self.templates_of(&entry.slot),
                    prefix: entry.prefix,
                };
                Slot::Stack(Arc::new(StackSlot::new(stack.entries.iter().map(entry).collect())))
            }
            other => other.clone(),
        })
    }

    /// Finished data without what stands under secret keys.
    fn by_keys(&self, value: &Value) -> Value {
        match value {
            Value::Map(map) => deeper(|| {
                let entry = |(key, value): (&Key, &Value)| {
                    let value = if self.is_secret(key) { masked(value) } else { self.by_keys(value) };
                    (key.clone(), value)
                };
                Value::map(map.iter().map(entry).collect::<Map>())
            }),
            Value::List(items) => {
                deeper(|| Value::list(items.iter().map(|item| self.by_keys(item)).collect()))
            }
            other => other.clone(),
        }
    }

    /// What is shown for a value: `masked` is what it comes to without the secrets, where that can be
    /// computed. Where both are the same, no secret had a part in it.
    pub fn shown(&self, value: &Value, without: Option<&Value>) -> Value {
        if self.is_none() {
            return value.clone();
        }
        match (value, without) {
            (value, Some(without)) if value == without => value.clone(),
            (Value::Map(map), Some(Value::Map(without))) => deeper(|| {
                let entry = |(key, value): (&Key, &Value)| (key.clone(), self.shown(value, without.get(key)));
                Value::map(map.iter().map(entry).collect::<Map>())
            }),
            (Value::List(items), Some(Value::List(without))) if items.len() == without.len() => {
                deeper(|| {
                    let pairs = items.iter().zip(without.iter());
                    Value::list(pairs.map(|(item, without)| self.shown(item, Some(without))).collect())
                })
            }
            (_, Some(Value::Str(text))) if text.contains(MASK) => Value::Str(text.clone()),
            (value, _) => masked(value),
        }
    }
}
