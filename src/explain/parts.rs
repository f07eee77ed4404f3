//! Parts turn a container into its leaves and items, each with the place that it comes from.

use rustc_hash::FxHashSet;

use super::place::Place;
use super::said::written;
use super::teller::Teller;
use crate::evaluate::{Found, Head};
use crate::linearize::AUTOMATIC;
use crate::pattern::Progress;
use crate::slot::Slot;
use crate::source::Origin;
use crate::value::{Key, Value};

/// One leaf or item.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its path, from the top.
    pub path: Vec<Key>,
    /// Its value; `None` where it cannot be computed.
    pub value: Option<Value>,
    /// What is written there, where that is a reference or a query.
    pub written: Option<Value>,
    /// Where it is written.
    pub place: Place,
    /// The references on the way that brought a container around it in, outermost first: what
    /// they say, and where.
    pub via: Vec<(Value, Place)>,
}

/// A reference that brings a container in.
struct Bringing {
    written: Value,
    place: Place,
    /// Where what it brings is written, where other layers have a part in the container.
    origins: Option<FxHashSet<Origin>>,
}

impl Bringing {
    /// What it says and where, if it brings in what is written at an origin.
    fn of(&self, origin: Origin) -> Option<(Value, Place)> {
        let brings = self.origins.as_ref().is_none_or(|origins| origins.contains(&origin));
        brings.then(|| (self.written.clone(), self.place.clone()))
    }
}

/// A slot below another, and how it is reached.
struct Below<'s> {
    key: Key,
    slot: &'s Slot,
}

impl Teller<'_> {
    /// The leaves of a container, or the thing itself.
    pub(super) fn parts(&mut self, path: &[Key], found: &Found) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut around = FxHashSet::default();
        let mut path = path.to_vec();
        self.collect(found, &mut path, &mut Vec::new(), &mut around, &mut parts);
        parts
    }

    fn collect(
        &mut self,
        found: &Found,
        path: &mut Vec<Key>,
        via: &mut Vec<Bringing>,
        around: &mut FxHashSet<usize>,
        parts: &mut Vec<Part>,
    ) {
        let address = address(&found.head);
        if address.is_some_and(|address| !around.insert(address)) {
            return;
        }
        for Below { key, slot } in below(&found.head) {
            if self.room.is_full() {
                break;
            }
            path.push(key);
            let said = winner(slot);
            let dynamic = matches!(said, Slot::Text(..) | Slot::Query(..));
            let before = self.evaluator.faults.len();
            let head = self.evaluator.head(slot).ok();
            self.evaluator.faults.truncate(before);
            let container = head.as_ref().is_some_and(|found| !leaf(&found.head));
            if let (Some(head), true) = (&head, container) {
                let before = via.len();
                via.extend(self.bringing(slot));
                stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.collect(head, path, via, around, parts));
                via.truncate(before);
            } else {
                let value = head.and_then(|found| {
                    let before = self.evaluator.faults.len();
                    let value = self.evaluator.deep_found(&found).ok();
                    self.evaluator.faults.truncate(before);
                    value
                });
                let automatic = path.first().and_then(Key::as_str) == Some(AUTOMATIC);
                let elsewhere = if automatic { "automatic parameters" } else { "input data" };
                let part = Part {
                    path: path.clone(),
                    value,
                    written: dynamic.then(|| written(said, &self.prefixes)),
                    place: self.places.of(said.origin(), elsewhere),
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

    /// The references at a place that bring a container in: what one of several layers brings in is
    /// known by where it is written.
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
        let alone = !matches!(slot, Slot::Stack(stack) if stack.entries.len() > 1);
        all.into_iter()
            .map(|reference| {
                let origins = (!alone).then(|| {
                    let mut origins = FxHashSet::default();
                    if let Some(found) = self.quietly(|evaluator| evaluator.head(reference)) {
                        self.origins(&found, &mut FxHashSet::default(), &mut origins);
                    }
                    origins
                });
                let place = self.places.of(reference.origin(), "input data");
                Bringing { written: written(reference, &self.prefixes), place, origins }
            })
            .collect()
    }

    /// Where all that is in a container is written; `seen` are those that were looked into.
    fn origins(&mut self, found: &Found, seen: &mut FxHashSet<usize>, origins: &mut FxHashSet<Origin>) {
        if address(&found.head).is_some_and(|address| !seen.insert(address)) {
            return;
        }
        for Below { slot, .. } in below(&found.head) {
            if !self.room.take(1) {
                break;
            }
            origins.insert(winner(slot).origin());
            if let Some(head) = self.quietly(|evaluator| evaluator.head(slot)) {
                stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.origins(&head, seen, origins));
            }
        }
    }

    /// Visits every place below a head, outer ones first.
    pub(super) fn walk(
        &mut self,
        found: &Found,
        path: &mut Vec<Key>,
        visit: &mut dyn FnMut(&[Key], &Progress, bool) -> Progress,
        progress: &Progress,
    ) {
        let mut around = FxHashSet::default();
        self.visit(found, path, visit, progress, &mut around);
    }

    fn visit(
        &mut self,
        found: &Found,
        path: &mut Vec<Key>,
        visit: &mut dyn FnMut(&[Key], &Progress, bool) -> Progress,
        progress: &Progress,
        around: &mut FxHashSet<usize>,
    ) {
        let address = address(&found.head);
        if address.is_some_and(|address| !around.insert(address)) {
            return;
        }
        for Below { key, slot } in below(&found.head) {
            if !self.room.take(1) {
                break;
            }
            path.push(key);
            let before = self.evaluator.faults.len();
            let head = self.evaluator.head(slot).ok();
            self.evaluator.faults.truncate(before);
            let is_leaf = head.as_ref().is_none_or(|found| leaf(&found.head));
            let next = visit(path, progress, is_leaf);
            if let (Some(head), false, false) = (&head, is_leaf, next.is_dead()) {
                stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                    self.visit(head, path, visit, &next, around);
                });
            }
            path.pop();
        }
        if let Some(address) = address {
            around.remove(&address);
        }
    }
}

/// The entries of a container of slots. What an export or input data brought in as finished data
/// has no places inside.
fn below(head: &Head) -> Vec<Below<'_>> {
    match head {
        Head::Map(map) => map.entries.iter().map(|(key, slot)| Below { key: key.clone(), slot }).collect(),
        Head::Raw(raw) => raw.entries.iter().map(|(key, slot)| Below { key: key.clone(), slot }).collect(),
        Head::List(list) => {
            (0i64..).zip(&list.items).map(|(at, slot)| Below { key: Key(Value::Int(at)), slot }).collect()
        }
        Head::Value(_) => Vec::new(),
    }
}

/// Whether nothing below it has a place of its own.
fn leaf(head: &Head) -> bool {
    match head {
        Head::Map(map) => map.entries.is_empty(),
        Head::Raw(raw) => raw.entries.is_empty(),
        Head::List(list) => list.items.is_empty(),
        Head::Value(_) => true,
    }
}

fn address(head: &Head) -> Option<usize> {
    match head {
        Head::Map(map) => Some(std::sync::Arc::as_ptr(map) as usize),
        Head::Raw(raw) => Some(std::sync::Arc::as_ptr(raw) as usize),
        Head::List(list) => Some(std::sync::Arc::as_ptr(list) as usize),
        Head::Value(_) => None,
    }
}

/// The value of a stack that counts: the last, or the first that is a constant.
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
