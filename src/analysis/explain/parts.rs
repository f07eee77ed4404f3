//! Splits a container into its leaves and items, each with its place.

use rustc_hash::FxHashSet;

use super::data::{ReferencePlace, ValuePart, ValuePlace};
use super::explainer::Explainer;
use crate::base::source::Origin;
use crate::base::stack::grow;
use crate::base::value::{Key, Value};
use crate::engine::sequence::AUTOMATIC;
use crate::evaluate::{Child, Found, Whnf};
use crate::model::slot::Slot;
use crate::output::written::written;

/// A reference whose value is a container.
struct ContainerReference {
    reference: ReferencePlace,
    /// Origins of the values in that container; only set if other layers contribute to it too.
    origins: Option<FxHashSet<Origin>>,
}

impl ContainerReference {
    /// The reference, if the value with this origin comes from it.
    fn of(&self, origin: Origin) -> Option<ReferencePlace> {
        let contains = self.origins.as_ref().is_none_or(|origins| origins.contains(&origin));
        contains.then(|| self.reference.clone())
    }
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
        let mut enclosing = FxHashSet::default();
        let mut path = path.to_vec();
        match (&found.whnf, place) {
            (Whnf::Value(value), Some(place)) => self.data_parts(value, &mut path, place, &mut parts),
            _ => self.collect(found, &mut path, &mut Vec::new(), &mut enclosing, &mut parts),
        }
        parts
    }

    fn collect(
        &mut self,
        found: &Found,
        path: &mut Vec<Key>,
        via: &mut Vec<ContainerReference>,
        enclosing: &mut FxHashSet<usize>,
        parts: &mut Vec<ValuePart>,
    ) {
        let address = found.whnf.address();
        if address.is_some_and(|address| !enclosing.insert(address)) {
            return;
        }
        for Below { key, inner } in below(&found.whnf) {
            let Child::Slot(slot) = inner else { continue };
            if self.budget.is_full() {
                break;
            }
            path.push(key);
            let winner = slot.winner();
            let dynamic = matches!(winner, Slot::Text(..) | Slot::Query(..));
            let before = self.evaluator.faults.len();
            let whnf = self.evaluator.whnf(slot).ok();
            self.evaluator.faults.truncate(before);
            let container = whnf.as_ref().is_some_and(|found| !leaf(&found.whnf));
            if let (Some(whnf), true) = (&whnf, container) {
                let before = via.len();
                via.extend(self.container_references(slot));
                grow(|| self.collect(whnf, path, via, enclosing, parts));
                via.truncate(before);
            } else {
                let value = whnf.and_then(|found| {
                    let before = self.evaluator.faults.len();
                    let value = self.evaluator.deep_found(&found).ok();
                    self.evaluator.faults.truncate(before);
                    value
                });
                let part = ValuePart {
                    path: self.key_path(path),
                    value,
                    written: dynamic.then(|| written(winner, &self.prefixes)),
                    place: self.places.of(winner.origin(), default_layer(path)),
                    via: via.iter().filter_map(|one| one.of(winner.origin())).collect(),
                };
                self.budget.take_part(&part);
                parts.push(part);
            }
            path.pop();
        }
        if let Some(address) = address {
            enclosing.remove(&address);
        }
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
                let place = self.places.of(reference.origin(), "input data");
                let written = written(reference, &self.prefixes);
                ContainerReference { reference: ReferencePlace { written, place }, origins }
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
pub(super) fn below(whnf: &Whnf) -> Vec<Below<'_>> {
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
pub(super) fn default_layer(path: &[Key]) -> &'static str {
    let automatic = path.first().and_then(Key::as_str) == Some(AUTOMATIC);
    if automatic { "automatic parameters" } else { "input data" }
}
