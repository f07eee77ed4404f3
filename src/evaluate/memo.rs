//! A memo keeps what places came to, by their addresses, and notices those that need themselves.

use rustc_hash::FxHashMap;

/// What is known of a place.
pub(super) enum State<T> {
    /// It is computed at the moment.
    Pending,
    /// What it came to.
    Done {
        result: T,
        /// Whether a place of the node's own had a say ([`super::partial`]).
        own: bool,
        /// Whether it is kept for other nodes.
        kept: bool,
    },
    /// Its problem was reported.
    Failed,
}

/// What is known of many.
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
    /// Makes room for so many in all.
    pub(super) fn reserve_for(&mut self, places: usize) {
        let more = places.saturating_sub(self.states.len());
        self.places.reserve(more);
        self.states.reserve(more);
    }

    /// How many places were begun.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// Begins to compute a place, to be ended by [`Memo::end`]; the error is what is known of one
    /// that was begun before.
    pub(super) fn begin(&mut self, address: usize) -> Result<usize, &State<T>> {
        let new = self.states.len();
        let place = *self.places.entry(address).or_insert(new);
        if place < new {
            return Err(&self.states[place]);
        }
        self.states.push(State::Pending);
        Ok(place)
    }

    /// Ends it: `None` where it failed.
    pub(super) fn end(&mut self, place: usize, done: Option<T>, own: bool) {
        self.states[place] = done.map_or(State::Failed, |result| State::Done { result, own, kept: false });
    }

    /// Takes out what a place came to without a say of the node's own.
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

    /// Marks what a place came to as one to be kept for other nodes, if the node's own had no say.
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

    /// All that is to be kept, by address.
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

/// What became of an attempt to keep something.
pub(super) enum Keeping<'m, T> {
    /// It is kept from now on.
    New(&'m T),
    /// It was kept already.
    Again,
    /// Nothing is known of it, or the node itself had a say.
    Not,
}
