//! Deep values are heads with all of their content evaluated.
//!
//! Each container is computed once: a constant one for all nodes, another one for the node or for the nodes
//! that use its memo ([`super::partial`]).

use std::sync::{Arc, OnceLock};

use super::memo::State;
use super::{Evaluator, Found, Head, Stop};
use crate::base::error::MAX_FAULTS;
use crate::base::failpoints::failpoint;
use crate::base::size::ValueSize;
use crate::base::source::Origin;
use crate::base::value::{CONTAINER, Map, Value};
use crate::model::slot::{Entries, ListSlot, MapSlot, RawSlot, Slot};

impl Evaluator<'_> {
    /// The whole value of a slot.
    pub(crate) fn deep(&mut self, slot: &Slot) -> Result<Value, Stop> {
        match slot {
            Slot::Value(value, _) => {
                self.measure = ValueSize::of(value);
                Ok(value.clone())
            }
            Slot::Map(map) => self.deep_map(map),
            Slot::List(list) => self.deep_list(list),
            Slot::Raw(raw) => self.deep_raw(raw),
            // Enough faults are recorded.
            _ if self.faults.len() > MAX_FAULTS => Err(Stop::Reported),
            Slot::Text(..) | Slot::Query(..) | Slot::Stack(_) => {
                let found = self.head(slot)?;
                if found.home.is_none() {
                    return self.deep_found(&found);
                }
                // The value of another path may contain this slot. With this frame, the message of the cycle
                // names it.
                self.push_active(std::ptr::from_ref(slot) as usize, slot.origin());
                let value = self.deep_found(&found);
                self.pop_active();
                value
            }
        }
    }

    /// The whole value of a head. Faults inside are reported at the path of the value.
    pub(crate) fn deep_found(&mut self, found: &Found) -> Result<Value, Stop> {
        match (&found.head, &found.home) {
            (Head::Value(value), _) => {
                self.measure = ValueSize::of(value);
                Ok(value.clone())
            }
            (head, None) => self.deep_head(head),
            (head, Some(home)) => {
                let before = self.enter(home.iter());
                let value = self.deep_head(head);
                self.leave(before);
                value
            }
        }
    }

    fn deep_head(&mut self, head: &Head) -> Result<Value, Stop> {
        match head {
            Head::Value(value) => {
                self.measure = ValueSize::of(value);
                Ok(value.clone())
            }
            Head::List(list) => self.deep_list(list),
            Head::Raw(raw) => self.deep_raw(raw),
            Head::Map(map) => self.deep_map(map),
        }
    }

    pub(super) fn deep_map(&mut self, map: &Arc<MapSlot>) -> Result<Value, Stop> {
        if !map.dynamic && !map.stacked {
            self.look_into(map);
            return self.plain(&map.constant, |evaluator| evaluator.deep_entries(&map.entries));
        }
        self.container(Arc::as_ptr(map) as usize, map.origin, |evaluator| {
            evaluator.look_into(map);
            evaluator.deep_entries(&map.entries)
        })
    }

    fn deep_raw(&mut self, raw: &Arc<RawSlot>) -> Result<Value, Stop> {
        if !raw.dynamic {
            return self.plain(&raw.constant, |evaluator| evaluator.deep_entries(&raw.entries));
        }
        self.container(Arc::as_ptr(raw) as usize, raw.origin, |evaluator| {
            evaluator.deep_entries(&raw.entries)
        })
    }

    fn deep_entries(&mut self, entries: &Entries) -> Result<Value, Stop> {
        let mut values = Vec::with_capacity(entries.len());
        let mut measure = ValueSize::default();
        for (key, slot) in entries {
            if let Slot::Value(value, _) = slot {
                measure.add(ValueSize::of(value));
                values.push(value.clone());
                continue;
            }
            self.push_key(key);
            match self.deep(slot) {
                Ok(value) => {
                    measure.add(self.measure);
                    values.push(value);
                }
                Err(stop) => self.report(stop),
            }
            self.pop_key();
        }
        self.measure = measure.wrapped();
        self.weight += CONTAINER + values.len() * size_of::<Value>();
        // A mapping with a failed entry has no value.
        Map::with_keys_of(entries, values).map(Value::map).ok_or(Stop::Reported)
    }

    fn deep_list(&mut self, list: &Arc<ListSlot>) -> Result<Value, Stop> {
        if !list.dynamic {
            return self.plain(&list.constant, |evaluator| evaluator.deep_items(&list.items));
        }
        self.container(Arc::as_ptr(list) as usize, list.origin, |evaluator| evaluator.deep_items(&list.items))
    }

    fn deep_items(&mut self, slots: &[Slot]) -> Result<Value, Stop> {
        let mut items = Vec::with_capacity(slots.len());
        let mut measure = ValueSize::default();
        for (index, slot) in slots.iter().enumerate() {
            self.push_index(index);
            match self.deep(slot) {
                Ok(value) => {
                    measure.add(self.measure);
                    items.push(value);
                }
                Err(stop) => self.report(stop),
            }
            self.pop_key();
        }
        self.measure = measure.wrapped();
        self.weight += CONTAINER + items.len() * size_of::<Value>();
        // A list with a failed item has no value.
        if items.len() == slots.len() { Ok(Value::list(items)) } else { Err(Stop::Reported) }
    }

    /// The value of a constant container, computed once for all nodes.
    fn plain(
        &mut self,
        constant: &OnceLock<(Value, ValueSize)>,
        compute: impl FnOnce(&mut Self) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let (value, measure) = if let Some(known) = constant.get() {
            known
        } else {
            let value = self.deeper(compute)?;
            constant.get_or_init(|| {
                failpoint("a cell is written");
                (value, self.measure)
            })
        };
        self.measure = *measure;
        Ok(value.clone())
    }

    /// Computes a container once, and detects a container inside of itself.
    fn container(
        &mut self,
        address: usize,
        origin: Origin,
        compute: impl FnOnce(&mut Self) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let known = self.known.as_ref().and_then(|known| known.value(address));
        if let Some((value, measure)) = known {
            self.measure = measure;
            return Ok(value);
        }
        let place = match self.values.begin(address) {
            Ok(place) => place,
            Err(State::Done { result: (value, measure), own, .. }) => {
                self.measure = *measure;
                self.own |= own;
                return Ok(value.clone());
            }
            Err(State::Failed) => return Err(Stop::Reported),
            Err(State::Pending) => return Err(self.cycle(address).into()),
        };
        self.push_active(address, origin);
        let around = std::mem::take(&mut self.own);
        let result = self.deeper(compute).and_then(|value| self.within_limits(value, origin));
        let own = self.own;
        self.own |= around;
        self.pop_active();
        let done = result.as_ref().ok().map(|value| (value.clone(), self.measure));
        self.values.end(place, done, own);
        result
    }

    /// Returns the value unless it is too large for its consumers. Here copies are shared, so
    /// `{a: ${b}, c: ${b}}` takes no memory, however often it is repeated.
    fn within_limits(&mut self, value: Value, origin: Origin) -> Result<Value, Stop> {
        let (depth, values) = (self.settings.limit_depth as usize, self.settings.limit_values as usize);
        let (what, limit, setting) = match self.measure {
            ValueSize { height, .. } if height > depth => {
                ("the nesting of values that references repeat", depth, "limit_depth")
            }
            ValueSize { size, .. } if size > values => {
                ("the number of values that references repeat", values, "limit_values")
            }
            ValueSize { .. } => return Ok(value),
        };
        Err(self.beyond(what, limit, setting, origin))
    }
}
