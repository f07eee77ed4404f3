//! A memo keeps what places came to, by their addresses, and notices those that need themselves.

use rustc_hash::FxHashMap;

/// What is known of a place.
pub(super) enum State<T> {
    /// It is computed at the moment.
    Pending,
    /// What it came to. The flag tells whether a place of the node's own had a say
    /// ([`super::partial`]).
    Done(T, bool),
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
    /// Makes room for some more.
    pub(super) fn reserve(&mut self, places: usize) {
        self.places.reserve(places);
        self.states.reserve(places);
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
        self.states[place] = done.map_or(State::Failed, |done| State::Done(done, own));
    }

    /// All that came to something without a say of the node's own, by their addresses.
    pub(super) fn into_shared(self) -> FxHashMap<usize, T> {
        let mut states: Vec<Option<State<T>>> = self.states.into_iter().map(Some).collect();
        let mut shared = FxHashMap::default();
        shared.reserve(states.len());
        shared.extend(self.places.into_iter().filter_map(|(address, place)| match states[place].take() {
            Some(State::Done(done, false)) => Some((address, done)),
            _ => None,
        }));
        shared.shrink_to_fit();
        shared
    }
}
