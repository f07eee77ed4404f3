//! Counts of the engine's work, for `cache_info` and for tests.

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

/// Defines each count with its field name and its key in `cache_info`.
macro_rules! counts {
    ($( $(#[$doc:meta])* $name:ident $key:literal, )*) => {
        /// The counts of the work done so far.
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
        pub struct Counts { $( $(#[$doc])* #[serde(rename = $key)] pub $name: u64, )* }

        /// The same counts, as threads add to them.
        #[derive(Default, Debug)]
        pub struct Counters { $( $(#[$doc])* pub $name: Counter, )* }

        impl Counters {
            /// The current counts.
            pub fn counts(&self) -> Counts {
                Counts { $( $name: self.$name.0.load(Ordering::Relaxed), )* }
            }
        }
    };
}

counts! {
    /// Folders listed.
    listed "folders_listed",
    /// Files whose bytes were read.
    read "files_read",
    /// Files parsed.
    parsed "files_parsed",
    /// Layers merged into the parameters of the layers before them, whether for one node or for a shared
    /// prefix.
    merged "layers_merged",
    /// Nodes computed.
    computed "nodes_computed",
    /// Nodes whose parameters were all evaluated.
    whole "nodes_evaluated",
    /// Nodes for which only some parameters were evaluated; the others came from a node with the same
    /// classes.
    partial "nodes_evaluated_partly",
    /// Exports computed for queries.
    exported "exports_computed",
    /// Answers given from the cache.
    reused "hits",
}
