//! The inside of a layer turns into the texts with references and the queries in it, one by one.

use crate::base::source::Origin;
use crate::base::stack::grow;
use crate::base::value::{Key, Value};
use crate::model::query::Query;
use crate::model::slot::{MapSlot, Slot};
use crate::model::template::{Part, Reference, Template};

/// Visits references, inner ones after the one that they stand in.
pub(crate) fn each<'t>(parts: &'t [Part], visit: &mut dyn FnMut(&'t Reference)) {
    for part in parts {
        if let Part::Reference(reference) = part {
            visit(reference);
            each(&reference.parts, visit);
        }
    }
}

/// Visits the texts with references in a map, with their paths.
pub(crate) fn texts_in<'m>(map: &'m MapSlot, visit: &mut dyn FnMut(&[Key], &'m Template, Origin)) {
    inside(map, &mut Vec::new(), &mut |path, slot| {
        if let Slot::Text(template, origin) = slot {
            visit(path, template, *origin);
        }
    });
}

/// Visits the queries in a map, with their paths.
pub(crate) fn queries_in(map: &MapSlot, visit: &mut dyn FnMut(&[Key], &Query, Origin)) {
    inside(map, &mut Vec::new(), &mut |path, slot| {
        if let Slot::Query(query, origin) = slot {
            visit(path, query, *origin);
        }
    });
}

/// Visits what has to be evaluated in a map: texts with references, and queries.
fn inside<'m>(map: &'m MapSlot, path: &mut Vec<Key>, visit: &mut dyn FnMut(&[Key], &'m Slot)) {
    fn step<'m>(key: Key, slot: &'m Slot, path: &mut Vec<Key>, visit: &mut dyn FnMut(&[Key], &'m Slot)) {
        path.push(key);
        found(slot, path, visit);
        path.pop();
    }
    fn found<'m>(slot: &'m Slot, path: &mut Vec<Key>, visit: &mut dyn FnMut(&[Key], &'m Slot)) {
        grow(|| match slot {
            Slot::Text(..) | Slot::Query(..) => visit(path, slot),
            Slot::Map(map) => inside(map, path, visit),
            Slot::Raw(raw) if raw.dynamic => {
                raw.entries.iter().for_each(|(key, slot)| step(key.clone(), slot, path, visit));
            }
            Slot::List(list) if list.dynamic => {
                let items = (0i64..).zip(&list.items);
                items.for_each(|(index, slot)| step(Key(Value::Int(index)), slot, path, visit));
            }
            Slot::Stack(stack) => stack.entries.iter().for_each(|entry| found(&entry.slot, path, visit)),
            _ => {}
        });
    }
    if map.dynamic {
        map.entries.iter().for_each(|(key, slot)| step(key.clone(), slot, path, visit));
    }
}
