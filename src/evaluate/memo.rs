//! A memo keeps the results of slots, and detects slots that need themselves.
//!
//! A result belongs to the content of a slot: the same text from the same place in a file has the same value
//! wherever merging copies it. Whatever changes the content gives it another number.

use rustc_hash::FxHashMap;

use crate::model::slot::Slot;
use reclass_base::number::UniqueNumber;
use reclass_base::source::Origin;

/// Identifies the content of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SlotKey(u64, Origin);

impl SlotKey {
    /// The key of a slot that needs evaluation. A plain value needs none.
    pub(super) fn of(slot: &Slot) -> SlotKey {
        match slot {
            Slot::Value(_, origin) => SlotKey(0, *origin),
            Slot::Text(template, origin) => SlotKey(template.number.get(), *origin),
            Slot::Query(query, origin) => SlotKey(query.number.get(), *origin),
            Slot::List(list) => SlotKey::of_container(&list.results.number),
            Slot::Raw(raw) => SlotKey::of_container(&raw.results.number),
            Slot::Map(map) => SlotKey::of_container(&map.results.number),
            Slot::Stack(stack) => SlotKey::of_container(&stack.number),
        }
    }

    pub(super) fn of_container(number: &UniqueNumber) -> SlotKey {
        SlotKey(number.get(), Origin::NONE)
    }
}

/// The state of a slot or container.
pub(super) enum SlotState<T> {
    /// It is being computed.
    Pending,
    /// It has a result.
    Done {
        result: T,
        /// Whether the result depends on the node's own paths ([`super::partial`]).
        own: bool,
    },
    /// It failed, and its fault is recorded.
    Failed,
}

/// The states of many slots or containers.
pub(super) struct Memo<T> {
    indexes: FxHashMap<SlotKey, usize>,
    states: Vec<(SlotKey, SlotState<T>)>,
}

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo { indexes: FxHashMap::default(), states: Vec::new() }
    }
}

impl<T> Memo<T> {
    /// Reserves capacity for this total.
    pub(super) fn reserve_for(&mut self, indexes: usize) {
        let more = indexes.saturating_sub(self.states.len());
        self.indexes.reserve(more);
        self.states.reserve(more);
    }

    /// The number of started computations.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// Starts a computation, to be finished by [`Memo::end`]. The error is the state of one that was started
    /// before.
    pub(super) fn begin(&mut self, key: SlotKey) -> Result<usize, &SlotState<T>> {
        let new = self.states.len();
        let index = *self.indexes.entry(key).or_insert(new);
        if index < new {
            return Err(&self.states[index].1);
        }
        self.states.push((key, SlotState::Pending));
        Ok(index)
    }

    /// Finishes a computation: `None` if it failed.
    pub(super) fn end(&mut self, index: usize, done: Option<T>, own: bool) {
        self.states[index].1 = done.map_or(SlotState::Failed, |result| SlotState::Done { result, own });
    }

    /// The result of a slot that does not depend on the node's own paths.
    pub(super) fn shared(&self, slot: &Slot) -> Option<&T> {
        match &self.states[*self.indexes.get(&SlotKey::of(slot))?].1 {
            SlotState::Done { result, own: false } => Some(result),
            _ => None,
        }
    }

    /// All results that do not depend on the node's own paths.
    pub(super) fn into_shared(self) -> SharedMemo<T> {
        let shared = self.states.into_iter().filter_map(|(key, state)| match state {
            SlotState::Done { result, own: false } => Some((key, result)),
            _ => None,
        });
        let mut shared: SharedMemo<T> = shared.collect();
        shared.shrink_to_fit();
        shared
    }
}

/// Results for several nodes.
pub(super) type SharedMemo<T> = FxHashMap<SlotKey, T>;
