//! Splits a container into its leaves and items, each with its place.

use rustc_hash::FxHashSet;

use super::data::{Leaf, ReferencePlace, ValuePart, ValuePlace};
use super::explainer::Explainer;
use reclass::parts::engine::AUTOMATIC;
use reclass::parts::evaluate::{Child, Found, Whnf};
use reclass::parts::model::Slot;
use reclass::parts::output::written::written;
use reclass_base::source::Origin;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};

/// A reference whose value is a container.
struct ContainerReference {
    reference: (Value, Origin),
    /// Origins of the values in that container; only set if other layers contribute to it too.
    origins: Option<FxHashSet<Origin>>,
}

impl ContainerReference {
    /// The reference, if the value with this origin comes from it.
    fn of(&self, origin: Origin) -> Option<(Value, Origin)> {
        let contains = self.origins.as_ref().is_none_or(|origins| origins.contains(&origin));
        contains.then(|| self.reference.clone())
    }
}

/// A walk through a container.
#[derive(Default)]
struct LeafWalk {
    path: Vec<Key>,
    via: Vec<ContainerReference>,
    /// The enclosing containers. A container that contains itself is not entered again.
    enclosing: FxHashSet<usize>,
    /// The number of keys up to the first list around.
    list: Option<usize>,
    leaves: Vec<Leaf>,
}

/// A key of a container and its content.
pub(super) struct Below<'s> {
    pub(super) key: Key,
    pub(super) inner: Child<'s>,
}

impl Explainer<'_> {
    /// The leaves of a container, each with its place; `place` is the place of the container, for finished
    /// data.
    pub(super) fn parts(
        &mut self,
        path: &[Key],
        found: &Found,
        place: Option<&ValuePlace>,
    ) -> Vec<ValuePart> {
        let mut parts = Vec::new();
        let mut path = path.to_vec();
        if let (Whnf::Value(value), Some(place)) = (&found.whnf, place) {
            self.data_parts(value, &mut path, place, &mut parts);
            return parts;
        }
        let mut walk = LeafWalk { path, ..LeafWalk::default() };
        self.collect(found, &mut walk);
        walk.leaves.into_iter().map(|leaf| self.part(leaf)).collect()
    }

    fn part(&self, leaf: Leaf) -> ValuePart {
        let Leaf { path, value, written, origin, via, .. } = leaf;
        let place = self.places.of(origin, default_layer(&path));
        let via = via
            .into_iter()
            .map(|(written, origin)| ReferencePlace { written, place: self.places.of(origin, "input data") });
        ValuePart { path: self.key_path(&path), value, written, place, via: via.collect() }
    }

    /// All leaves of the section.
    pub(super) fn leaves(&mut self) -> Vec<Leaf> {
        let mut walk = LeafWalk::default();
        let map = self.section().merged.clone();
        self.collect(&Whnf::Map(map).into(), &mut walk);
        walk.leaves
    }

    /// Collects the leaves of a container.
    fn collect(&mut self, found: &Found, walk: &mut LeafWalk) {
        let address = found.whnf.address();
        if address.is_some_and(|address| !walk.enclosing.insert(address)) {
            return;
        }
        for Below { key, inner } in below(&found.whnf) {
            let Child::Slot(slot) = inner else { continue };
            if self.budget.is_full() {
                break;
            }
            walk.path.push(key);
            self.collect_slot(slot, walk);
            walk.path.pop();
        }
        if let Some(address) = address {
            walk.enclosing.remove(&address);
        }
    }

    /// Collects the leaves of a slot at the path of the walk.
    fn collect_slot(&mut self, slot: &Slot, walk: &mut LeafWalk) {
        let winner = slot.winner();
        let before = self.evaluator.faults.len();
        let whnf = self.evaluator.whnf(slot).ok();
        self.evaluator.faults.truncate(before);
        if let Some(whnf) = whnf.as_ref().filter(|found| !leaf(&found.whnf)) {
            let before = walk.via.len();
            let via = self.container_references(slot);
            walk.via.extend(via);
            let list = walk.list;
            walk.list = list.or_else(|| matches!(whnf.whnf, Whnf::List(_)).then_some(walk.path.len()));
            grow(|| self.collect(whnf, walk));
            walk.list = list;
            walk.via.truncate(before);
            return;
        }
        let value = whnf.and_then(|found| self.quietly(|evaluator| evaluator.deep_found(&found)));
        let dynamic = matches!(winner, Slot::Text(..) | Slot::Query(..));
        let leaf = Leaf {
            path: walk.path.clone(),
            value,
            written: dynamic.then(|| written(winner, &self.prefixes)),
            origin: winner.origin(),
            list: walk.list,
            via: walk.via.iter().filter_map(|one| one.of(winner.origin())).collect(),
        };
        self.budget.take_leaf(&leaf, |origin| self.places.links(origin));
        walk.leaves.push(leaf);
    }

    /// The leaves of finished data. Their place is the place of the slot that brings the data in.
    fn data_parts(&self, value: &Value, path: &mut Vec<Key>, place: &ValuePlace, parts: &mut Vec<ValuePart>) {
        for Below { key, inner } in below(&Whnf::Value(value.clone())) {
            let Child::Data(value) = inner else { continue };
            if self.budget.is_full() {
                break;
            }
            path.push(key);
            let before = parts.len();
            grow(|| self.data_parts(value, path, place, parts));
            if parts.len() == before {
                let (path, place) = (self.key_path(path), place.clone());
                let part =
                    ValuePart { path, value: Some(value.clone()), written: None, place, via: Vec::new() };
                self.budget.take_part(&part);
                parts.push(part);
            }
            path.pop();
        }
    }

    /// The references in a slot whose values are containers. If there are several layers, the origins of the
    /// values decide from which reference each value comes.
    fn container_references(&mut self, slot: &Slot) -> Vec<ContainerReference> {
        fn references<'s>(slot: &'s Slot, all: &mut Vec<&'s Slot>) {
            match slot {
                Slot::Text(..) | Slot::Query(..) => all.push(slot),
                Slot::Stack(stack) => {
                    let first = stack.entries.iter().rposition(|entry| entry.prefix.overrides);
                    let entries = stack.entries.iter().skip(first.unwrap_or(0));
                    entries.for_each(|entry| references(&entry.slot, all));
                }
                Slot::Value(..) | Slot::List(_) | Slot::Raw(_) | Slot::Map(_) => {}
            }
        }
        let mut all = Vec::new();
        references(slot, &mut all);
        let mut origins = FxHashSet::default();
        all.retain(|reference| origins.insert(reference.origin()));
        let alone = !matches!(slot, Slot::Stack(stack) if stack.entries.len() > 1);
        all.into_iter()
            .map(|reference| {
                let origins = (!alone).then(|| {
                    let mut origins = FxHashSet::default();
                    if let Some(found) = self.quietly(|evaluator| evaluator.whnf(reference)) {
                        self.origins(&found, &mut FxHashSet::default(), &mut origins);
                    }
                    origins
                });
                let reference = (written(reference, &self.prefixes), reference.origin());
                ContainerReference { reference, origins }
            })
            .collect()
    }

    /// Collects the origins of everything in a container; `visited` holds the containers visited before.
    fn origins(&mut self, found: &Found, visited: &mut FxHashSet<usize>, origins: &mut FxHashSet<Origin>) {
        if found.whnf.address().is_some_and(|address| !visited.insert(address)) {
            return;
        }
        for Below { inner, .. } in below(&found.whnf) {
            let Child::Slot(slot) = inner else { continue };
            if !self.budget.take(1) {
                break;
            }
            origins.insert(slot.winner().origin());
            if let Some(whnf) = self.quietly(|evaluator| evaluator.whnf(slot)) {
                grow(|| self.origins(&whnf, visited, origins));
            }
        }
    }
}

/// The entries of a container. Entries of finished data have no place of their own.
pub fn below(whnf: &Whnf) -> Vec<Below<'_>> {
    fn slots<'s>(entries: impl Iterator<Item = (&'s Key, &'s Slot)>) -> Vec<Below<'s>> {
        entries.map(|(key, slot)| Below { key: key.clone(), inner: Child::Slot(slot) }).collect()
    }
    fn items<'s>(inner: impl Iterator<Item = Child<'s>>) -> Vec<Below<'s>> {
        (0i64..).zip(inner).map(|(at, inner)| Below { key: Key(Value::Int(at)), inner }).collect()
    }
    match whnf {
        Whnf::Map(map) => slots(map.entries.iter()),
        Whnf::Raw(raw) => slots(raw.entries.iter()),
        Whnf::List(list) => items(list.items.iter().map(Child::Slot)),
        Whnf::Value(Value::Map(map)) => {
            map.iter().map(|(key, value)| Below { key: key.clone(), inner: Child::Data(value) }).collect()
        }
        Whnf::Value(Value::List(list) | Value::Tuple(list)) => items(list.iter().map(Child::Data)),
        Whnf::Value(_) => Vec::new(),
    }
}

/// Whether nothing below it has a place of its own.
pub(super) fn leaf(whnf: &Whnf) -> bool {
    whnf.slots().len() == 0
}

/// The layer name for values that no file wrote, derived from the path.
pub fn default_layer(path: &[Key]) -> &'static str {
    let automatic = path.first().and_then(Key::as_str) == Some(AUTOMATIC);
    if automatic { "automatic parameters" } else { "input data" }
}
