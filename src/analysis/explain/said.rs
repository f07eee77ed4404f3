//! What one layer says of a path: the slot that it has there, or one on the way to it that brings
//! the path in or takes it away.

use std::sync::Arc;

use crate::base::stack::grow;
use crate::base::value::{Key, Map, Value};
use crate::engine::node::Layers;
use crate::model::merge::{Prefixes, settled};
use crate::model::slot::{MapSlot, Slot, StackEntry};

/// One map of parameters that is merged, in order.
pub(super) struct Ordered {
    pub(super) map: Arc<MapSlot>,
    /// The layer of what no file wrote.
    pub(super) elsewhere: &'static str,
}

/// What one layer says of a path.
pub(super) struct Said {
    /// The entry, alive as long as its layer.
    map: Arc<MapSlot>,
    /// The steps from the map to the slot: keys, and places in stacks.
    way: Vec<Turn>,
    /// How many keys of the path lead to the slot.
    pub(super) depth: usize,
    /// The `~` on the way, outermost first.
    pub(super) overrides: Vec<Mark>,
    /// The `=` on the way, outermost first.
    pub(super) constants: Vec<Mark>,
}

/// A prefix on the way to a slot.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    /// How many keys lead to it.
    pub(super) depth: usize,
    /// How many steps of the way do: what shares them stands below this very prefix.
    pub(super) steps: usize,
}

#[derive(Clone, PartialEq)]
pub(super) enum Turn {
    Key(Key),
    Entry(usize),
}

impl Said {
    pub(super) fn slot(&self) -> Option<&Slot> {
        let mut turns = self.way.iter();
        let Some(Turn::Key(first)) = turns.next() else { return None };
        let mut slot = self.map.entries.get(first)?;
        for turn in turns {
            slot = match (slot, turn) {
                (Slot::Map(map), Turn::Key(key)) => map.entries.get(key)?,
                (Slot::Raw(raw), Turn::Key(key)) => raw.entries.get(key)?,
                (Slot::Stack(stack), Turn::Entry(index)) => &stack.entries.get(*index)?.slot,
                _ => return None,
            };
        }
        Some(slot)
    }
}

impl Said {
    pub(super) fn new(map: &Arc<MapSlot>, first: &Key) -> Said {
        Said {
            map: map.clone(),
            way: vec![Turn::Key(first.clone())],
            depth: 1,
            overrides: Vec::new(),
            constants: Vec::new(),
        }
    }
    /// What is said here.
    pub(super) fn here(&self) -> Said {
        Said {
            map: self.map.clone(),
            way: self.way.clone(),
            depth: self.depth,
            overrides: self.overrides.clone(),
            constants: self.constants.clone(),
        }
    }
    /// How many steps of the way it shares with what the same layer says before it.
    pub(super) fn shared(&self, before: &Said) -> usize {
        self.way.iter().zip(&before.way).take_while(|(one, other)| one == other).count()
    }
    /// The outermost of its constants that another way, which shares these steps, is not below.
    pub(super) fn holds_from(&self, shared: usize) -> Option<usize> {
        self.constants.iter().find(|mark| mark.steps > shared).map(|mark| mark.depth)
    }
}

/// Collects what a slot of a layer says of a path, of which `here.depth` keys lead to the slot.
pub(super) fn said(slot: &Slot, path: &[Key], here: &mut Said, out: &mut Vec<Said>) {
    match slot {
        Slot::Stack(stack) => {
            for (index, entry) in stack.entries.iter().enumerate() {
                let before = (here.overrides.len(), here.constants.len());
                here.way.push(Turn::Entry(index));
                let mark = Mark { depth: here.depth, steps: here.way.len() };
                here.overrides.extend(entry.prefix.overrides.then_some(mark));
                here.constants.extend(entry.prefix.constant.then_some(mark));
                said(&entry.slot, path, here, out);
                here.way.pop();
                here.overrides.truncate(before.0);
                here.constants.truncate(before.1);
            }
        }
        Slot::Map(inner) if here.depth < path.len() => {
            let key = &path[here.depth];
            match inner.entries.get(key) {
                Some(slot) => {
                    here.way.push(Turn::Key(key.clone()));
                    here.depth += 1;
                    grow(|| said(slot, path, here, out));
                    here.depth -= 1;
                    here.way.pop();
                }
                // What it has not, a `~` takes away, and a `=` keeps out.
                None if !here.overrides.is_empty() || !here.constants.is_empty() => out.push(here.here()),
                None => {}
            }
        }
        _ => out.push(here.here()),
    }
}

/// The maps of a node in the order in which they are merged (S2).
pub(super) fn ordered(layers: &Layers, exports: bool, prefixes: &Prefixes) -> Vec<Ordered> {
    let file = |map: &Arc<MapSlot>| Ordered { map: settled(map, prefixes), elsewhere: "class mapping" };
    let linearization = &layers.linearization;
    if exports {
        let all = linearization.layers().chain(std::iter::once(&layers.layer));
        return all.map(|layer| file(&layer.exports)).collect();
    }
    let all: Vec<_> = linearization.layers().collect();
    let (mapped, classes) = all.split_at(linearization.mapped.layers().count().min(all.len()));
    let given = |map: &Option<Arc<MapSlot>>, elsewhere| map.clone().map(|map| Ordered { map, elsewhere });
    let mut all: Vec<Ordered> = mapped.iter().map(|layer| file(&layer.parameters)).collect();
    all.extend(given(&layers.extra.input, "input data"));
    all.extend(given(&layers.extra.automatic, "automatic parameters"));
    all.extend(
        classes.iter().copied().chain(std::iter::once(&layers.layer)).map(|layer| file(&layer.parameters)),
    );
    all
}

/// What a slot of a layer says, references and the prefixes of keys as they are written.
pub(crate) fn written(slot: &Slot, prefixes: &Prefixes) -> Value {
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
        Slot::Stack(_) => grow(|| written(super::parts::winner(slot), prefixes)),
    }
}

/// The entries that a layer has for one name: `~a` beside `a` are two.
fn entries(key: &Key, slot: &Slot, prefixes: &Prefixes) -> Vec<(Key, Value)> {
    let Slot::Stack(stack) = slot else { return vec![(key.clone(), written(slot, prefixes))] };
    let name = crate::base::pystr::str(&key.0);
    let entry = |entry: &StackEntry| {
        let key = Key::from(format!("{}{name}", prefixes.text(entry.prefix)).as_str());
        (key, written(&entry.slot, prefixes))
    };
    stack.entries.iter().map(entry).collect()
}
