//! The slot visitor: visits everything inside a slot, and finds the slot at a path.

use crate::model::query::Query;
use crate::model::slot::{MapSlot, Slot};
use crate::model::template::{Part, Reference, Template};
use reclass_base::source::Origin;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};

/// Receives each slot with its path. Returns whether to visit its inside.
pub type Visitor<'v, 's> = dyn FnMut(&[Key], &'s Slot) -> bool + 'v;

impl Slot {
    /// The value of a stack that counts: the first constant, or else the last value.
    pub fn winner(&self) -> &Slot {
        let mut slot = self;
        while let Slot::Stack(stack) = slot {
            let constant = stack.entries.iter().find(|entry| entry.prefix.constant);
            match constant.or(stack.entries.last()) {
                Some(entry) => slot = &entry.slot,
                None => break,
            }
        }
        slot
    }
}

impl MapSlot {
    /// Visits every slot in the map in order, parents before children. The values of a stack have the path
    /// of the stack.
    pub fn visit<'s>(&'s self, visitor: &mut Visitor<'_, 's>) {
        let mut path = Vec::new();
        for (key, slot) in &self.entries {
            below(key.clone(), slot, &mut path, visitor);
        }
    }

    /// Visits the leaves, including those under prefixed keys.
    pub fn leaves<'s>(&'s self, visitor: &mut dyn FnMut(&[Key], &'s Slot)) {
        self.visit(&mut |path, slot| {
            let is_inner = matches!(slot, Slot::Map(map) if !map.entries.is_empty());
            if !is_inner && !matches!(slot, Slot::Stack(_)) {
                visitor(path, slot);
                return false;
            }
            true
        });
    }

    /// Visits the texts with references.
    pub fn texts<'s>(&'s self, visitor: &mut dyn FnMut(&[Key], &'s Template, Origin)) {
        self.visit(&mut |path, slot| {
            if let Slot::Text(template, origin) = slot {
                visitor(path, template, *origin);
            }
            slot.dynamic()
        });
    }

    /// Visits the inventory queries.
    pub fn queries<'s>(&'s self, visitor: &mut dyn FnMut(&[Key], &'s Query, Origin)) {
        self.visit(&mut |path, slot| {
            if let Slot::Query(query, origin) = slot {
                visitor(path, query, *origin);
            }
            slot.dynamic()
        });
    }

    /// The slot at a path, with an empty rest. If a slot on the path is no mapping, that slot with the rest
    /// of the path. `None` if a mapping lacks the key.
    pub fn at<'s, 'p>(&'s self, path: &'p [Key]) -> Option<(&'s Slot, &'p [Key])> {
        let (first, mut rest) = path.split_first()?;
        let mut slot = self.entries.get(first)?;
        while let (Slot::Map(map), Some((first, behind))) = (slot, rest.split_first()) {
            (slot, rest) = (map.entries.get(first)?, behind);
        }
        Some((slot, rest))
    }
}

/// Visits the references in a text, parents before children.
pub fn references<'t>(parts: &'t [Part], visitor: &mut dyn FnMut(&'t Reference)) {
    for part in parts {
        if let Part::Reference(reference) = part {
            visitor(reference);
            references(&reference.parts, visitor);
        }
    }
}

fn below<'s>(key: Key, slot: &'s Slot, path: &mut Vec<Key>, visitor: &mut Visitor<'_, 's>) {
    path.push(key);
    visit(slot, path, visitor);
    path.pop();
}

fn visit<'s>(slot: &'s Slot, path: &mut Vec<Key>, visitor: &mut Visitor<'_, 's>) {
    if !visitor(path, slot) {
        return;
    }
    grow(|| match slot {
        Slot::Map(map) => map.entries.iter().for_each(|(key, slot)| below(key.clone(), slot, path, visitor)),
        Slot::Raw(raw) => raw.entries.iter().for_each(|(key, slot)| below(key.clone(), slot, path, visitor)),
        Slot::List(list) => {
            let items = (0i64..).zip(&list.items);
            items.for_each(|(index, slot)| below(Key(Value::Int(index)), slot, path, visitor));
        }
        Slot::Stack(stack) => stack.entries.iter().for_each(|entry| visit(&entry.slot, path, visitor)),
        Slot::Value(..) | Slot::Text(..) | Slot::Query(..) => {}
    });
}
