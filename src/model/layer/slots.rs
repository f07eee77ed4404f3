//! Builds slots from YAML nodes, and templates from strings.

use std::sync::Arc;

use super::{Builder, grow};
use crate::model::merge::Normalized;
use crate::model::slot::{Entries, ListSlot, MapSlot, RawSlot, Slot};
use crate::model::template::{Parsed, Template, parse};
use reclass_base::error::{Fault, Kind, push_fault};
use reclass_base::source::Origin;
use reclass_base::value::Value;
use reclass_yaml::compose::{Data, Entry, Node};

impl Builder<'_> {
    /// A mapping with merge semantics. The result equals [`crate::model::merge::normalize`] of a raw
    /// mapping.
    pub(super) fn map(&mut self, entries: &[Entry], origin: Origin) -> MapSlot {
        let slots: Vec<Slot> = entries
            .iter()
            .map(|entry| {
                let is_prefixed = self.prefixes.is_prefixed(&entry.key);
                if is_prefixed { self.slot(&entry.value) } else { self.merging(&entry.value) }
            })
            .collect();
        let keys = || entries.iter().map(|entry| &entry.key);
        if !keys().any(|key| self.prefixes.is_prefixed(key))
            && let Some(shared) = self.interner.keys(keys())
        {
            let entries = Entries::with_keys(shared, slots).unwrap_or_default();
            return MapSlot::new(entries, origin, false);
        }
        let mut map = Normalized::with_capacity(entries.len());
        for (key, slot) in keys().zip(slots) {
            map.insert(key.clone(), slot, &self.prefixes);
        }
        let mut map = map.finish(origin);
        self.interner.share_keys(&mut map.entries);
        map
    }

    /// A slot inside such a mapping. A nested mapping merges too.
    fn merging(&mut self, node: &Node) -> Slot {
        match &node.data {
            Data::Map(inner) => {
                let origin = self.origin(node.index);
                Slot::Map(Arc::new(grow(|| self.map(inner, origin))))
            }
            _ => self.slot(node),
        }
    }

    /// A mapping in a list, which does not merge.
    fn raw(&mut self, entries: &[Entry], origin: Origin) -> RawSlot {
        let slots: Vec<Slot> = entries.iter().map(|entry| self.slot(&entry.value)).collect();
        let keys = entries.iter().map(|entry| &entry.key);
        if let Some(shared) = self.interner.keys(keys.clone()) {
            return RawSlot::new(Entries::with_keys(shared, slots).unwrap_or_default(), origin);
        }
        let mut slots: Entries = keys.cloned().zip(slots).collect();
        self.interner.share_keys(&mut slots);
        RawSlot::new(slots, origin)
    }

    /// The replacement for text that does not parse. An embedded query stays a query, so that other nodes
    /// cannot read it as a value (Q6).
    fn placeholder(&mut self, fault: Fault, origin: Origin) -> Slot {
        if let Kind::QueryEmbedded { query } = &fault.kind
            && let Ok(query) = crate::model::query::parse(query, &self.source.settings.delimiter)
        {
            push_fault(&mut self.embedded_queries, fault);
            return Slot::Query(Arc::new(query), origin);
        }
        push_fault(&mut self.faults, fault);
        Slot::Text(Arc::new(Template::new("".into(), Vec::new())), origin)
    }

    fn slot(&mut self, node: &Node) -> Slot {
        let origin = self.origin(node.index);
        match &node.data {
            Data::Value(Value::Str(text)) => match parse(text, self.source.settings) {
                Ok(Parsed::Text(plain)) => Slot::Value(Value::Str(plain), origin),
                Ok(Parsed::Template(template)) => Slot::Text(template, origin),
                Ok(Parsed::Query(query)) => Slot::Query(Arc::new(query), origin),
                Err(fault) => self.placeholder(fault.at(origin), origin),
            },
            Data::Value(value) => Slot::Value(value.clone(), origin),
            Data::List(items) => grow(|| {
                let items = items.iter().map(|item| self.slot(item)).collect();
                Slot::List(Arc::new(ListSlot::new(items, origin)))
            }),
            Data::Map(entries) => grow(|| Slot::Raw(Arc::new(self.raw(entries, origin)))),
        }
    }
}
