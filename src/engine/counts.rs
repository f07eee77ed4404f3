//! Counts turn what the engine does into numbers for people and for tests.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// One of the [`Counters`].
#[derive(Default, Debug)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts one more.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Each count with its name and the name that `cache_info` has for it.
macro_rules! counts {
    ($( $(#[$doc:meta])* $name:ident $key:literal, )*) => {
        /// What was done so far.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
        pub struct Counts { $( $(#[$doc])* #[serde(rename = $key)] pub $name: u64, )* }

        /// Counts that threads add to.
        #[derive(Default, Debug)]
        pub struct Counters { $( $(#[$doc])* pub $name: Counter, )* }

        impl Counters {
            /// The counts as they are now.
            pub fn counts(&self) -> Counts {
                Counts { $( $name: self.$name.0.load(Ordering::Relaxed), )* }
            }
        }
    };
}

counts! {
    /// Trees listed.
    listed "trees_listed",
    /// Files whose bytes were read.
    read "files_read",
    /// Files that were parsed.
    parsed "files_parsed",
    /// Layers whose parameters were merged into those of the layers before them, for one node or for all
    /// that begin with them.
    merged "layers_merged",
    /// Nodes that were computed.
    computed "nodes_computed",
    /// Nodes of which every parameter was evaluated.
    whole "nodes_evaluated",
    /// Nodes of which those alone were evaluated that their own files or last classes have a say in: the
    /// others were known from another node with the same classes.
    partial "nodes_evaluated_partly",
    /// Exports that were computed for queries.
    exported "exports_computed",
    /// Answers that were given again.
    reused "hits",
}
