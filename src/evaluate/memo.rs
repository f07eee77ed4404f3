//! A memo keeps what places came to, by their addresses, and notices those that need themselves.

use rustc_hash::FxHashMap;

/// What is known of a place.
pub(super) enum State<T> {
    /// It is computed at the moment.
    Pending,
    /// What it came to. The flag tells whether a place of the node's own had a say
    /// ([`super::partial`]).
    Done(T, bool),
    /// What it came to, kept for other nodes.
    Kept(T),
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
        self.states[place] = done.map_or(State::Failed, |done| State::Done(done, own));
    }

    /// Takes out what a place came to without a say of the node's own.
    pub(super) fn take_shared(&mut self, address: usize) -> Option<T> {
        let place = *self.places.get(&address)?;
        match std::mem::replace(&mut self.states[place], State::Failed) {
            State::Done(done, false) => Some(done),
            other => {
                self.states[place] = other;
                None
            }
        }
    }

    /// Marks what a place came to as one to be kept for other nodes, if the node's own had no say.
    pub(super) fn keep(&mut self, address: usize) -> Keeping<'_, T> {
        let Some(place) = self.places.get(&address) else { return Keeping::Not };
        let state = &mut self.states[*place];
        match std::mem::replace(state, State::Failed) {
            State::Done(done, false) => {
                *state = State::Kept(done);
                match state {
                    State::Kept(done) => Keeping::New(done),
                    _ => Keeping::Not,
                }
            }
            other => {
                let known = matches!(other, State::Kept(_));
                *state = other;
                if known { Keeping::Again } else { Keeping::Not }
            }
        }
    }

    /// All that is to be kept.
    pub(super) fn into_kept(self) -> Kept<T> {
        let Memo { places: all, states } = self;
        let mut results =
            Vec::with_capacity(states.iter().filter(|state| matches!(state, State::Kept(_))).count());
        let moved: Vec<Option<u32>> = states
            .into_iter()
            .map(|state| match state {
                State::Kept(done) => {
                    results.push(done);
                    u32::try_from(results.len() - 1).ok()
                }
                _ => None,
            })
            .collect();
        let mut places = FxHashMap::default();
        places.reserve(results.len());
        places.extend(all.into_iter().filter_map(|(address, place)| Some((address, moved[place]?))));
        Kept { places, results }
    }
}

/// What is kept of many places, by their addresses.
pub(super) struct Kept<T> {
    places: FxHashMap<usize, u32>,
    results: Vec<T>,
}

impl<T> Kept<T> {
    /// What a place came to.
    pub(super) fn get(&self, address: usize) -> Option<&T> {
        self.results.get(*self.places.get(&address)? as usize)
    }

    /// All of them.
    pub(super) fn all(&self) -> &[T] {
        &self.results
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
