//! Files tell the secrets that they write out: what stands under secret keys, what references take in
//! place of secrets, and what stands at the place that a reference alone under a secret key names.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Secrets, deeper};
use crate::layer::Layer;
use crate::merge::{Prefixes, settled};
use crate::slot::{Entries, MapSlot, Slot};
use crate::template::{Part, Reference};
use crate::value::{Key, Text, Value};
use crate::yaml;

impl Secrets {
    /// The secrets that files write out, in lists and mappings too.
    pub fn written_in<'l>(
        &self,
        layers: impl IntoIterator<Item = &'l Layer>,
        prefixes: &Prefixes,
    ) -> Vec<Value> {
        if self.is_none() {
            return Vec::new();
        }
        let mut walk = Walk { secrets: self, found: Vec::new(), places: Vec::new() };
        let mut parameters: Vec<Arc<MapSlot>> = Vec::new();
        for layer in layers {
            let own = settled(&layer.parameters, prefixes);
            walk.entries(&own.entries, false);
            parameters.push(own);
            walk.entries(&settled(&layer.exports, prefixes).entries, false);
        }
        // What is found there may name further places.
        let mut known: FxHashSet<Vec<Text>> = FxHashSet::default();
        while let Some(place) = walk.places.pop() {
            if known.insert(place.clone()) {
                for map in &parameters {
                    walk.place(&map.entries, &place);
                }
            }
        }
        walk.found
    }
}

struct Walk<'s> {
    secrets: &'s Secrets,
    found: Vec<Value>,
    /// Places that references under secret keys name.
    places: Vec<Vec<Text>>,
}

impl Walk<'_> {
    fn entries(&mut self, entries: &Entries, secret: bool) {
        for (key, slot) in entries {
            let secret = secret || self.secrets.is_secret(key);
            deeper(|| self.slot(slot, secret));
        }
    }

    fn slot(&mut self, slot: &Slot, secret: bool) {
        match slot {
            Slot::Map(map) => self.entries(&map.entries, secret),
            Slot::Raw(raw) => self.entries(&raw.entries, secret),
            Slot::List(list) => list.items.iter().for_each(|item| deeper(|| self.slot(item, secret))),
            Slot::Stack(stack) => stack.entries.iter().for_each(|entry| self.slot(&entry.slot, secret)),
            Slot::Value(value, _) => self.data(value, secret),
            Slot::Text(template, _) if secret => {
                self.references(&template.parts);
                // A reference alone is the secret; what stands in a text may be a part of a URL.
                if let [Part::Reference(Reference { fixed: Some(path), .. })] = template.parts.as_slice() {
                    self.places.push(path.segments.clone());
                }
            }
            Slot::Text(template, _) => {
                let secrets = self.secrets;
                secrets.each_default(&template.parts, &mut |reference| self.default(reference));
            }
            Slot::Query(..) => {}
        }
    }

    /// Data that holds no references.
    fn data(&mut self, value: &Value, secret: bool) {
        match value {
            value if secret => self.found.push(value.clone()),
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    let secret = self.secrets.is_secret(key);
                    deeper(|| self.data(value, secret));
                }
            }
            Value::List(items) => items.iter().for_each(|item| deeper(|| self.data(item, false))),
            _ => {}
        }
    }

    /// What the references in a secret take in place of others.
    fn references(&mut self, parts: &[Part]) {
        for part in parts {
            if let Part::Reference(reference) = part {
                self.default(reference);
                deeper(|| self.references(&reference.parts));
            }
        }
    }

    fn default(&mut self, reference: &Reference) {
        if let Some(text) = reference.fixed.as_ref().and_then(|path| path.default.as_ref()) {
            self.found.push(yaml::parse_value(text).unwrap_or_else(|_| Value::Str(text.clone())));
        }
    }

    /// What stands at a place: all of it is secret.
    fn place(&mut self, entries: &Entries, place: &[Text]) {
        let Some((first, rest)) = place.split_first() else { return };
        let Some(slot) = entries.get(&Key::from(first.clone())) else { return };
        self.below(slot, rest);
    }

    fn below(&mut self, slot: &Slot, rest: &[Text]) {
        match slot {
            Slot::Stack(stack) => stack.entries.iter().for_each(|entry| self.below(&entry.slot, rest)),
            slot if rest.is_empty() => self.slot(slot, true),
            Slot::Map(map) => self.place(&map.entries, rest),
            Slot::Raw(raw) => self.place(&raw.entries, rest),
            _ => {}
        }
    }
}
