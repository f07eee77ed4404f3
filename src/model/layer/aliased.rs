//! Finds the secrets that YAML aliases bring to keys that are not secret: `password: &x S` and `copy: *x` are one
//! place in a file, which lies below a secret key. A value whose place is below another key is not one of them: as
//! the parameter that a reference names, it is shown there.

use rustc_hash::FxHashMap;

use super::Layer;
use crate::model::slot::Slot;
use reclass_base::secrets::{Cover, Secrets};
use reclass_base::source::Origin;
use reclass_base::stack::grow;
use reclass_base::value::Key;

impl Layer {
    /// The same policy, which also hides what aliases in these layers bring to other keys.
    pub fn with_aliased<'l>(secrets: &Secrets, layers: impl IntoIterator<Item = &'l Layer>) -> Secrets {
        let aliased = layers.into_iter().filter(|layer| layer.aliased && !secrets.is_none());
        let mut places = Vec::new();
        for layer in aliased {
            let mut walk = AliasWalk { secrets, first: FxHashMap::default() };
            let mut sections = [&layer.parameters, &layer.exports];
            // An anchor comes before its aliases, so the first place of a value is its own.
            sections.sort_by_key(|map| map.origin.node);
            for map in sections {
                walk.entries(map.entries.iter(), Cover::Open);
            }
            places.extend(walk.first.into_iter().filter(|(_, secret)| *secret).map(|(origin, _)| origin));
        }
        secrets.with_places(places)
    }
}

struct AliasWalk<'s> {
    secrets: &'s Secrets,
    /// Whether the first place of a scalar is below a secret key.
    first: FxHashMap<Origin, bool>,
}

impl AliasWalk<'_> {
    fn entries<'e>(&mut self, entries: impl Iterator<Item = (&'e Key, &'e Slot)>, cover: Cover) {
        for (key, slot) in entries {
            self.slot(slot, self.secrets.below(cover, key));
        }
    }

    fn slot(&mut self, slot: &Slot, cover: Cover) {
        grow(|| match slot {
            Slot::Value(_, origin) | Slot::Text(_, origin) | Slot::Query(_, origin) => {
                self.first.entry(*origin).or_insert(cover != Cover::Open);
            }
            Slot::List(list) => list.items.iter().for_each(|item| self.slot(item, cover.item())),
            Slot::Raw(raw) => self.entries(raw.entries.iter(), cover),
            Slot::Map(map) => self.entries(map.entries.iter(), cover),
            Slot::Stack(stack) => stack.entries.iter().for_each(|entry| self.slot(&entry.slot, cover)),
        });
    }
}
