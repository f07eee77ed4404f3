//! A memo keeps the results of slots by their addresses, and detects slots that need themselves.

use rustc_hash::FxHashMap;

/// The state of a slot or container.
pub(super) enum State<T> {
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
    places: FxHashMap<usize, usize>,
    states: Vec<State<T>>,
}

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo { places: FxHashMap::default(), states: Vec::new() }
    }
}

impl<T> Memo<T> {
    /// Reserves capacity for this total.
    pub(super) fn reserve_for(&mut self, places: usize) {
        let more = places.saturating_sub(self.states.len());
        self.places.reserve(more);
        self.states.reserve(more);
    }

    /// The number of started computations.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// Starts a computation, to be finished by [`Memo::end`]. The error is the state of one that was started
    /// before.
    pub(super) fn begin(&mut self, address: usize) -> Result<usize, &State<T>> {
        let new = self.states.len();
        let place = *self.places.entry(address).or_insert(new);
        if place < new {
            return Err(&self.states[place]);
        }
        self.states.push(State::Pending);
        Ok(place)
    }

    /// Finishes a computation: `None` if it failed.
    pub(super) fn end(&mut self, place: usize, done: Option<T>, own: bool) {
        self.states[place] = done.map_or(State::Failed, |result| State::Done { result, own, kept: false });
    }

    /// Moves out a result that does not depend on the node's own paths.
    pub(super) fn take_shared(&mut self, address: usize) -> Option<T> {
        let state = &mut self.states[*self.places.get(&address)?];
        if !matches!(state, State::Done { own: false, kept: false, .. }) {
            return None;
        }
        match std::mem::replace(state, State::Failed) {
            State::Done { result, .. } => Some(result),
            State::Pending | State::Failed => None,
        }
    }

    /// Marks a result as kept for other nodes, unless it depends on the node's own paths.
    pub(super) fn keep(&mut self, address: usize) -> Keeping<'_, T> {
        match self.places.get(&address).map(|place| &mut self.states[*place]) {
            Some(State::Done { own: false, kept: true, .. }) => Keeping::Again,
            Some(State::Done { result, own: false, kept }) => {
                *kept = true;
                Keeping::New(result)
            }
            _ => Keeping::Not,
        }
    }

    /// All kept results, by address.
    pub(super) fn into_kept(mut self) -> FxHashMap<usize, T> {
        let kept = |state: &State<T>| matches!(state, State::Done { kept: true, .. });
        let mut all = FxHashMap::default();
        all.reserve(self.states.iter().filter(|state| kept(state)).count());
        all.extend(self.places.into_iter().filter_map(|(address, place)| {
            match std::mem::replace(&mut self.states[place], State::Failed) {
                State::Done { result, kept: true, .. } => Some((address, result)),
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
