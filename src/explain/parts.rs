//! Parts turn a container into its leaves and items, each with the place that it comes from.

use rustc_hash::FxHashSet;

use super::place::Place;
use super::said::written;
use super::teller::Teller;
use crate::evaluate::{Found, Head};
use crate::linearize::AUTOMATIC;
use crate::pattern::Progress;
use crate::slot::Slot;
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

/// How many parts are listed; what references repeat may be more than anyone reads.
const MAX_PARTS: usize = 200_000;

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
        via: &mut Vec<(Value, Place)>,
        around: &mut FxHashSet<usize>,
        parts: &mut Vec<Part>,
    ) {
        let address = address(&found.head);
        if address.is_some_and(|address| !around.insert(address)) {
            return;
        }
        for Below { key, slot } in below(&found.head) {
            if parts.len() >= MAX_PARTS {
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
                if dynamic {
                    via.push((written(said), self.places.of(said.origin(), "input data")));
                }
                stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.collect(head, path, via, around, parts));
                if dynamic {
                    via.pop();
                }
            } else {
                let value = head.and_then(|found| {
                    let before = self.evaluator.faults.len();
                    let value = self.evaluator.deep_found(&found).ok();
                    self.evaluator.faults.truncate(before);
                    value
                });
                let automatic = path.first().and_then(Key::as_str) == Some(AUTOMATIC);
                let elsewhere = if automatic { "automatic parameters" } else { "input data" };
                parts.push(Part {
                    path: path.clone(),
                    value,
                    written: dynamic.then(|| written(said)),
                    place: self.places.of(said.origin(), elsewhere),
                    via: via.clone(),
                });
            }
            path.pop();
        }
        if let Some(address) = address {
            around.remove(&address);
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
