//! Splits a container into its leaves and items, each with its place.

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::place::ValuePlace;
use super::teller::Teller;
use super::written::written;
use crate::base::path::KeyPath;
use crate::base::source::Origin;
use crate::base::stack::grow;
use crate::base::value::{Key, Value};
use crate::engine::linearize::AUTOMATIC;
use crate::evaluate::{Child, Found, Whnf};
use crate::model::slot::Slot;

/// One leaf or item.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ValuePart {
    /// Its path, from the top.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: KeyPath,
    /// Its value; `None` where it cannot be computed.
    pub value: Option<Value>,
    /// What is written there, where that is a reference or a query.
    pub written: Option<Value>,
    /// Where it is written.
    pub place: ValuePlace,
    /// The references on the way that brought a container around it in, outermost first.
    pub via: Vec<ReferencePlace>,
}

/// A reference that brings a container in.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ReferencePlace {
    /// What it says.
    pub written: Value,
    /// Where it stands.
    pub place: ValuePlace,
}

/// A reference that brings a container in.
struct Bringing {
    reference: ReferencePlace,
    /// Origins of the values it brings in; only set if other layers contribute to the container too.
    origins: Option<FxHashSet<Origin>>,
}

impl Bringing {
    /// The reference, if it brings in the value with this origin.
    fn of(&self, origin: Origin) -> Option<ReferencePlace> {
        let brings = self.origins.as_ref().is_none_or(|origins| origins.contains(&origin));
        brings.then(|| self.reference.clone())
    }
}

/// A key of a container and its content.
pub(super) struct Below<'s> {
    pub(super) key: Key,
    pub(super) inner: Child<'s>,
}

impl Teller<'_> {
    /// The leaves of a container, each with its place; `place` is the place of the container, for finished
    /// data.
    pub(super) fn parts(
        &mut self,
        path: &[Key],
        found: &Found,
        place: Option<&ValuePlace>,
    ) -> Vec<ValuePart> {
        let mut parts = Vec::new();
        let mut around = FxHashSet::default();
        let mut path = path.to_vec();
        match (&found.whnf, place) {
            (Whnf::Value(value), Some(place)) => self.data_parts(value, &mut path, place, &mut parts),
            _ => self.collect(found, &mut path, &mut Vec::new(), &mut around, &mut parts),
        }
        parts
    }

    fn collect(
        &mut self,
        found: &Found,
        path: &mut Vec<Key>,
        via: &mut Vec<Bringing>,
        around: &mut FxHashSet<usize>,
        parts: &mut Vec<ValuePart>,
    ) {
        let address = found.whnf.address();
        if address.is_some_and(|address| !around.insert(address)) {
            return;
        }
        for Below { key, inner } in below(&found.whnf) {
            let Child::Slot(slot) = inner else { continue };
            if self.room.is_full() {
                break;
            }
            path.push(key);
            let said = winner(slot);
            let dynamic = matches!(said, Slot::Text(..) | Slot::Query(..));
            let before = self.evaluator.faults.len();
            let whnf = self.evaluator.whnf(slot).ok();
            self.evaluator.faults.truncate(before);
            let container = whnf.as_ref().is_some_and(|found| !leaf(&found.whnf));
            if let (Some(whnf), true) = (&whnf, container) {
                let before = via.len();
                via.extend(self.bringing(slot));
                grow(|| self.collect(whnf, path, via, around, parts));
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
                    written: dynamic.then(|| written(said, &self.prefixes)),
                    place: self.places.of(said.origin(), elsewhere(path)),
                    via: via.iter().filter_map(|one| one.of(said.origin())).collect(),
                };
                self.room.take_part(&part);
                parts.push(part);
            }
            path.pop();
        }
        if let Some(address) = address {
            around.remove(&address);
        }
    }

    /// The leaves of finished data. Their place is the place of the slot that brings the data in.
    fn data_parts(&self, value: &Value, path: &mut Vec<Key>, place: &ValuePlace, parts: &mut Vec<ValuePart>) {
        for Below { key, inner } in below(&Whnf::Value(value.clone())) {
            let Child::Data(value) = inner else { continue };
            if self.room.is_full() {
                break;
            }
            path.push(key);
            let before = parts.len();
            grow(|| self.data_parts(value, path, place, parts));
            if parts.len() == before {
                let (path, place) = (self.key_path(path), place.clone());
                let part =
                    ValuePart { path, value: Some(value.clone()), written: None, place, via: Vec::new() };
                self.room.take_part(&part);
                parts.push(part);
            }
            path.pop();
        }
    }

    /// The references in a slot that bring a container in. If there are several layers, the origins of the
    /// values decide which reference brought each value in.
    fn bringing(&mut self, slot: &Slot) -> Vec<Bringing> {
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
        let mut told = FxHashSet::default();
        all.retain(|reference| told.insert(reference.origin()));
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
                Bringing { reference: ReferencePlace { written, place }, origins }
            })
            .collect()
    }

    /// Collects the origins of everything in a container; `seen` holds the containers visited before.
    fn origins(&mut self, found: &Found, seen: &mut FxHashSet<usize>, origins: &mut FxHashSet<Origin>) {
        if found.whnf.address().is_some_and(|address| !seen.insert(address)) {
            return;
        }
        for Below { inner, .. } in below(&found.whnf) {
            let Child::Slot(slot) = inner else { continue };
            if !self.room.take(1) {
                break;
            }
            origins.insert(winner(slot).origin());
            if let Some(whnf) = self.quietly(|evaluator| evaluator.whnf(slot)) {
                grow(|| self.origins(&whnf, seen, origins));
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
pub(super) fn elsewhere(path: &[Key]) -> &'static str {
    let automatic = path.first().and_then(Key::as_str) == Some(AUTOMATIC);
    if automatic { "automatic parameters" } else { "input data" }
}

/// The value of a stack that counts: the first constant, or else the last value.
pub(super) fn winner(slot: &Slot) -> &Slot {
    let mut slot = slot;
    while let Slot::Stack(stack) = slot {
        let constant = stack.entries.iter().find(|entry| entry.prefix.constant);
        match constant.or(stack.entries.last()) {
            Some(entry) => slot = &entry.slot,
            None => break,
        }
    }
    slot
}
