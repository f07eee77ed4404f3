//! Counts turn what the engine does into numbers for people and for tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// What was done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Trees listed.
    pub listed: u64,
    /// Files whose bytes were read.
    pub read: u64,
    /// Files that were parsed.
    pub parsed: u64,
    /// Layers whose parameters were merged into those of the layers before them, for one node or for all
    /// that begin with them.
    pub merged: u64,
    /// Nodes that were computed.
    pub computed: u64,
    /// Nodes of which every parameter was evaluated.
    pub whole: u64,
    /// Nodes of which those alone were evaluated that their own files or last classes have a say in: the
    /// others were known from another node with the same classes.
    pub partial: u64,
    /// Exports that were computed for queries.
    pub exported: u64,
    /// Answers that were given again.
    pub reused: u64,
}

/// Counts that threads add to.
#[derive(Default, Debug)]
pub struct Counters {
    /// See [`Counts`].
    pub listed: Counter,
    /// See [`Counts`].
    pub read: Counter,
    /// See [`Counts`].
    pub parsed: Counter,
    /// See [`Counts`].
    pub merged: Counter,
    /// See [`Counts`].
    pub computed: Counter,
    /// See [`Counts`].
    pub whole: Counter,
    /// See [`Counts`].
    pub partial: Counter,
    /// See [`Counts`].
    pub exported: Counter,
    /// See [`Counts`].
    pub reused: Counter,
}

/// One of them.
#[derive(Default, Debug)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts one more.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Counters {
    /// The counts as they are now.
    pub fn counts(&self) -> Counts {
        Counts {
            listed: self.listed.get(),
            read: self.read.get(),
            parsed: self.parsed.get(),
            merged: self.merged.get(),
            computed: self.computed.get(),
            whole: self.whole.get(),
            partial: self.partial.get(),
            exported: self.exported.get(),
            reused: self.reused.get(),
        }
    }
}
