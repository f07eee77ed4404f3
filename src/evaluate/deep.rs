//! A deep value is a whnf with all of its content evaluated.
//!
//! Each container is computed once: a constant one for all nodes, another one for the node or for the nodes
//! that use its memo ([`super::partial`]).

use std::sync::{Arc, OnceLock};

use super::memo::{SlotKey, SlotState};
use super::{Evaluator, Found, Stop, Whnf};
use crate::model::slot::{Entries, ListSlot, MapSlot, RawSlot, Slot};
use reclass_base::error::MAX_FAULTS;
use reclass_base::failpoints::failpoint;
use reclass_base::number::UniqueNumber;
use reclass_base::size::ValueSize;
use reclass_base::source::Origin;
use reclass_base::value::{CONTAINER, Map, Value};

impl Evaluator<'_> {
    /// The whole value of a slot.
    pub(crate) fn deep(&mut self, slot: &Slot) -> Result<Value, Stop> {
        match slot {
            Slot::Value(value, _) => {
                self.size = ValueSize::of(value);
                Ok(value.clone())
            }
            Slot::Map(map) => self.deep_map(map),
            Slot::List(list) => self.deep_list(list),
            Slot::Raw(raw) => self.deep_raw(raw),
            // Enough faults are recorded.
            _ if self.faults.len() > MAX_FAULTS => Err(Stop::Reported),
            Slot::Text(..) | Slot::Query(..) | Slot::Stack(_) => {
                let found = self.whnf(slot)?;
                if found.target.is_none() {
                    return self.deep_found(&found);
                }
                // The value of another path may contain this slot. With this frame, the message of the cycle
                // names it.
                self.push_active(SlotKey::of(slot), slot.origin());
                let value = self.deep_found(&found);
                self.pop_active();
                value
            }
        }
    }

    /// The whole value of a whnf. Faults inside are reported at the path of the value.
    pub fn deep_found(&mut self, found: &Found) -> Result<Value, Stop> {
        let Some(target) = &found.target else { return self.deep_whnf(&found.whnf) };
        let before = self.enter(target.iter());
        let value = self.deep_whnf(&found.whnf);
        self.leave(before);
        value
    }

    fn deep_whnf(&mut self, whnf: &Whnf) -> Result<Value, Stop> {
        match whnf {
            Whnf::Value(value) => {
                self.size = ValueSize::of(value);
                Ok(value.clone())
            }
            Whnf::List(list) => self.deep_list(list),
            Whnf::Raw(raw) => self.deep_raw(raw),
            Whnf::Map(map) => self.deep_map(map),
        }
    }

    pub(super) fn deep_map(&mut self, map: &Arc<MapSlot>) -> Result<Value, Stop> {
        if !map.dynamic && !map.stacked {
            self.use_map(map);
            return self.plain(&map.results.constant, |evaluator| evaluator.deep_entries(&map.entries));
        }
        self.container(&map.results.number, map.origin, |evaluator| {
            evaluator.use_map(map);
            evaluator.deep_entries(&map.entries)
        })
    }

    fn deep_raw(&mut self, raw: &Arc<RawSlot>) -> Result<Value, Stop> {
        if !raw.dynamic {
            return self.plain(&raw.results.constant, |evaluator| evaluator.deep_entries(&raw.entries));
        }
        self.container(&raw.results.number, raw.origin, |evaluator| evaluator.deep_entries(&raw.entries))
    }

    fn deep_entries(&mut self, entries: &Entries) -> Result<Value, Stop> {
        let mut values = Vec::with_capacity(entries.len());
        let mut size = ValueSize::default();
        for (key, slot) in entries {
            if let Slot::Value(value, _) = slot {
                size.add(ValueSize::of(value));
                values.push(value.clone());
                continue;
            }
            self.push_key(key);
            match self.deep(slot) {
                Ok(value) => {
                    size.add(self.size);
                    values.push(value);
                }
                Err(stop) => self.report(stop),
            }
            self.pop_key();
        }
        self.size = size.wrapped();
        self.bytes += CONTAINER + values.len() * size_of::<Value>();
        // A mapping with a failed entry has no value.
        Map::with_keys_of(entries, values).map(Value::map).ok_or(Stop::Reported)
    }

    fn deep_list(&mut self, list: &Arc<ListSlot>) -> Result<Value, Stop> {
        if !list.dynamic {
            return self.plain(&list.results.constant, |evaluator| evaluator.deep_items(&list.items));
        }
        self.container(&list.results.number, list.origin, |evaluator| evaluator.deep_items(&list.items))
    }

    fn deep_items(&mut self, slots: &[Slot]) -> Result<Value, Stop> {
        let mut items = Vec::with_capacity(slots.len());
        let mut size = ValueSize::default();
        for (index, slot) in slots.iter().enumerate() {
            self.push_index(index);
            match self.deep(slot) {
                Ok(value) => {
                    size.add(self.size);
                    items.push(value);
                }
                Err(stop) => self.report(stop),
            }
            self.pop_key();
        }
        self.size = size.wrapped();
        self.bytes += CONTAINER + items.len() * size_of::<Value>();
        // A list with a failed item has no value.
        if items.len() == slots.len() { Ok(Value::list(items)) } else { Err(Stop::Reported) }
    }

    /// The value of a constant container, computed once for all nodes.
    fn plain(
        &mut self,
        constant: &OnceLock<(Value, ValueSize)>,
        compute: impl FnOnce(&mut Self) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let (value, size) = if let Some(constant) = constant.get() {
            constant
        } else {
            let value = self.deeper(compute)?;
            constant.get_or_init(|| {
                failpoint("a cell is written");
                (value, self.size)
            })
        };
        self.size = *size;
        Ok(value.clone())
    }

    /// Computes a container once, and detects a container inside of itself.
    fn container(
        &mut self,
        number: &UniqueNumber,
        origin: Origin,
        compute: impl FnOnce(&mut Self) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let key = SlotKey::of_container(number);
        if let Some((value, size)) = self.class_memo.as_ref().and_then(|memo| memo.value(key)) {
            self.size = *size;
            return Ok(value.clone());
        }
        let index = match self.values.begin(key) {
            Ok(index) => index,
            Err(SlotState::Done { result: (value, size), own }) => {
                self.size = *size;
                self.own |= own;
                return Ok(value.clone());
            }
            Err(SlotState::Failed) => return Err(Stop::Reported),
            Err(SlotState::Pending) => return Err(self.cycle(key).into()),
        };
        self.push_active(key, origin);
        let outer = std::mem::take(&mut self.own);
        let result = self.deeper(compute).and_then(|value| self.within_limits(value, origin));
        let own = self.own;
        self.own |= outer;
        self.pop_active();
        let done = result.as_ref().ok().map(|value| (value.clone(), self.size));
        self.values.end(index, done, own);
        result
    }

    /// Returns the value unless it is too large for its consumers. Here copies are shared, so
    /// `{a: ${b}, c: ${b}}` takes no memory, however often it is repeated.
    fn within_limits(&mut self, value: Value, origin: Origin) -> Result<Value, Stop> {
        let (depth, values) = (self.settings.limit_depth as usize, self.settings.limit_values as usize);
        let (what, limit, setting) = match self.size {
            ValueSize { height, .. } if height > depth => {
                ("the nesting of values that references repeat", depth, "limit_depth")
            }
            ValueSize { size, .. } if size > values => {
                ("the number of values that references repeat", values, "limit_values")
            }
            ValueSize { .. } => return Ok(value),
        };
        Err(self.limit_exceeded(what, limit, setting, origin))
    }
}
