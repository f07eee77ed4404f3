//! Exploration turns a path into what stands there, and a reference into what it found: the
//! questions of an explanation, asked of the same heads and references as evaluation itself.

use super::{Evaluator, Found, Head, Stop};
use crate::base::error::Fault;
use crate::base::source::Origin;
use crate::base::value::{Key, Text, Value};
use crate::model::slot::Slot;
use crate::model::template::{Part, Reference, Template};

/// What a reference of a text led to.
#[derive(Debug)]
pub(crate) struct Traced {
    /// The reference as written.
    pub(crate) written: Text,
    /// The path it came to, where the references inside of it could be resolved.
    pub(crate) path: Option<Vec<Text>>,
    /// What it came to, its default counted; a problem that was told before is none here.
    pub(crate) value: Result<Value, Option<Box<Fault>>>,
    /// Whether nothing stood there and its default was taken.
    pub(crate) default_used: bool,
    /// The references inside of it.
    pub(crate) inner: Vec<Traced>,
}

impl Evaluator<'_> {
    /// The head of the place that a path leads to from a slot; `None` where nothing stands there.
    /// The slot must live as long as the evaluator: heads are remembered by their addresses.
    pub(crate) fn descend(&mut self, slot: &Slot, path: &[Key]) -> Result<Option<Found>, Stop> {
        let mut found = self.head(slot)?;
        for key in path {
            match self.part(&found, key)? {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// The whole value of a parameter; `None` where nothing stands there, or it cannot be computed.
    pub(crate) fn parameter(&mut self, path: &[Key]) -> Option<Value> {
        let (first, rest) = path.split_first()?;
        let first = Text::from(crate::base::pystr::str(&first.0));
        let (place, _) = self.root.get(&[first], &self.prefixes)?;
        self.below(place.slot()?, rest)
    }

    /// The same for what a path leads to from a slot, which must live as long as the evaluator.
    pub(crate) fn below(&mut self, slot: &Slot, path: &[Key]) -> Option<Value> {
        let found = self.descend(slot, path).ok().flatten()?;
        self.deep_found(&found).ok()
    }

    /// The head of one part of a container.
    pub(crate) fn part(&mut self, found: &Found, key: &Key) -> Result<Option<Found>, Stop> {
        let head = match &found.head {
            Head::Map(map) => map.entries.get(key).map(|slot| self.head(slot)).transpose()?,
            Head::Raw(raw) => raw.entries.get(key).map(|slot| self.head(slot)).transpose()?,
            Head::List(list) => {
                index(key).and_then(|at| list.items.get(at)).map(|slot| self.head(slot)).transpose()?
            }
            Head::Value(Value::Map(map)) => map.get(key).map(|value| Head::Value(value.clone()).into()),
            Head::Value(Value::List(items) | Value::Tuple(items)) => {
                index(key).and_then(|at| items.get(at)).map(|value| Head::Value(value.clone()).into())
            }
            Head::Value(_) => None,
        };
        Ok(head)
    }

    /// The whole value of a path whose first key has this slot, and what went wrong first where
    /// there is none.
    pub(crate) fn value_of(&mut self, path: &[Key], slot: &Slot) -> Result<Option<Value>, Option<Fault>> {
        let before = self.faults.len();
        let way = self.enter(path.first());
        let value = self.deep_at(path.get(1..).unwrap_or_default(), slot);
        self.leave(way);
        value.map_err(|stop| {
            self.report(stop);
            let mut new = self.faults.split_off(before.min(self.faults.len()));
            if new.is_empty() { None } else { Some(new.swap_remove(0)) }
        })
    }

    fn deep_at(&mut self, rest: &[Key], slot: &Slot) -> Result<Option<Value>, Stop> {
        let mut found = self.head(slot)?;
        for key in rest {
            self.push_key(key);
            match self.part(&found, key)? {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        self.deep_found(&found).map(Some)
    }

    /// All references of a text, outermost ones, with what they found.
    pub(crate) fn trace(&mut self, template: &Template, origin: Origin) -> Vec<Traced> {
        self.trace_parts(&template.parts, &template.source, origin)
    }

    fn trace_parts(&mut self, parts: &[Part], source: &Text, origin: Origin) -> Vec<Traced> {
        let mut traced = Vec::new();
        for part in parts {
            if let Part::Reference(reference) = part {
                traced.push(self.trace_one(reference, source, origin));
            }
        }
        traced
    }

    fn trace_one(&mut self, reference: &Reference, source: &Text, origin: Origin) -> Traced {
        let before = self.faults.len();
        let path = match &reference.fixed {
            Some(path) => Some(path.clone()),
            None => self.inside(&reference.parts, source, origin).ok(),
        };
        let default_used = path.as_ref().is_some_and(|path| {
            path.default.is_some() && {
                let way = self.enter([]);
                let missing = matches!(self.follow(&path.segments), Ok(Err(_)));
                self.leave(way);
                missing
            }
        });
        let value = self.resolve(reference, source, origin).and_then(|found| self.deep_found(&found));
        let value = value.map_err(|stop| {
            self.report(stop);
            self.faults.get(before).cloned().map(Box::new)
        });
        self.faults.truncate(before);
        let inner = self.trace_parts(&reference.parts, source, origin);
        Traced {
            written: reference.written.clone(),
            path: path.map(|path| path.segments),
            value,
            default_used,
            inner,
        }
    }
}

fn index(key: &Key) -> Option<usize> {
    match &key.0 {
        Value::Int(number) => usize::try_from(*number).ok(),
        Value::Str(text) => text.parse().ok(),
        _ => None,
    }
}
