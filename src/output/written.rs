//! Turns a slot of a layer back into a value, with references and key prefixes as written.

use crate::model::merge::Prefixes;
use crate::model::slot::{Slot, StackEntry};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Value};

/// The value of a slot as written in its layer.
pub fn written(slot: &Slot, prefixes: &Prefixes) -> Value {
    match slot {
        Slot::Value(value, _) => value.clone(),
        Slot::Text(template, _) => Value::Str(template.source.clone()),
        Slot::Query(query, _) => Value::text(format!("$[ {} ]", query.source)),
        Slot::List(list) => {
            grow(|| Value::list(list.items.iter().map(|item| written(item, prefixes)).collect()))
        }
        Slot::Raw(raw) => grow(|| {
            let entries = raw.entries.iter().map(|(key, slot)| (key.clone(), written(slot, prefixes)));
            Value::map(entries.collect::<Map>())
        }),
        Slot::Map(map) => grow(|| {
            Value::map(
                map.entries.iter().flat_map(|(key, slot)| entries(key, slot, prefixes)).collect::<Map>(),
            )
        }),
        Slot::Stack(_) => grow(|| written(slot.winner(), prefixes)),
    }
}

/// The entries of a layer for one name: `~a` and `a` are two.
fn entries(key: &Key, slot: &Slot, prefixes: &Prefixes) -> Vec<(Key, Value)> {
    let Slot::Stack(stack) = slot else { return vec![(key.clone(), written(slot, prefixes))] };
    let name = reclass_base::pystr::str(&key.0);
    let entry = |entry: &StackEntry| {
        let key = Key::from(format!("{}{name}", prefixes.text(entry.prefix)).as_str());
        (key, written(&entry.slot, prefixes))
    };
    stack.entries.iter().map(entry).collect()
}
