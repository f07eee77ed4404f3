//! A memo keeps the results of slots by their addresses, and detects slots that need themselves.

use rustc_hash::FxHashMap;

/// The state of a slot or container.
pub(super) enum SlotState<T> {
    /// It is being computed.
    Pending,
    /// It has a result.
    Done {
        result: T,
        /// Whether the result depends on the node's own paths ([`super::partial`]).
        own: bool,
        /// Whether the result is kept for other nodes.
        kept: bool,
    },
    /// It failed, and its fault is recorded.
    Failed,
}

/// The states of many slots or containers.
pub(super) struct Memo<T> {
    indexes: FxHashMap<usize, usize>,
    states: Vec<SlotState<T>>,
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
    pub(super) fn begin(&mut self, address: usize) -> Result<usize, &SlotState<T>> {
        let new = self.states.len();
        let index = *self.indexes.entry(address).or_insert(new);
        if index < new {
            return Err(&self.states[index]);
        }
        self.states.push(SlotState::Pending);
        Ok(index)
    }

    /// Finishes a computation: `None` if it failed.
    pub(super) fn end(&mut self, index: usize, done: Option<T>, own: bool) {
        self.states[index] =
            done.map_or(SlotState::Failed, |result| SlotState::Done { result, own, kept: false });
    }

    /// Moves out a result that does not depend on the node's own paths.
    pub(super) fn take_shared(&mut self, address: usize) -> Option<T> {
        let state = &mut self.states[*self.indexes.get(&address)?];
        if !matches!(state, SlotState::Done { own: false, kept: false, .. }) {
            return None;
        }
        match std::mem::replace(state, SlotState::Failed) {
            SlotState::Done { result, .. } => Some(result),
            SlotState::Pending | SlotState::Failed => None,
        }
    }

    /// Marks a result as kept for other nodes, unless it depends on the node's own paths.
    pub(super) fn keep(&mut self, address: usize) -> Keeping<'_, T> {
        match self.indexes.get(&address).map(|index| &mut self.states[*index]) {
            Some(SlotState::Done { own: false, kept: true, .. }) => Keeping::Again,
            Some(SlotState::Done { result, own: false, kept }) => {
                *kept = true;
                Keeping::New(result)
            }
            _ => Keeping::Not,
        }
    }

    /// All kept results, by address.
    pub(super) fn into_kept(mut self) -> FxHashMap<usize, T> {
        let kept = |state: &SlotState<T>| matches!(state, SlotState::Done { kept: true, .. });
        let mut all = FxHashMap::default();
        all.reserve(self.states.iter().filter(|state| kept(state)).count());
        all.extend(self.indexes.into_iter().filter_map(|(address, index)| {
            match std::mem::replace(&mut self.states[index], SlotState::Failed) {
                SlotState::Done { result, kept: true, .. } => Some((address, result)),
                _ => None,
            }
        }));
        all
    }
}

/// The outcome of [`Memo::keep`].
pub(super) enum Keeping<'m, T> {
    /// The result is kept from now on.
    New(&'m T),
    /// The result was already kept.
    Again,
    /// There is no result, or it depends on the node's own paths.
    Not,
}
