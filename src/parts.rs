//! The interface for the crates that analyse, edit and serve inventories: the names of the rooms that they use, and no
//! others. Other programs use the facade; here, names may change with the rooms.
//!
//! A type is named by its room, a function by its module too. An analysis asks `Inventory::inspect` for a
//! [`Computation`](engine::Computation), gets [`Layers`](engine::Layers) and [`Slot`](model::Slot)s from it, and has an
//! [`Evaluator`](evaluate::Evaluator) say what becomes of them.

/// What the files say: the layer of a file with its slots, and the syntax of texts with references and queries.
pub mod model {
    pub use crate::model::catalog::{Catalog, CatalogEntry, NameIndex, TreeId};
    pub use crate::model::layer::{Applications, ClassEntry, Layer, LayerResult};
    pub use crate::model::merge::Prefixes;
    pub use crate::model::merge_options::{Declaration, PathRules, Strategy};
    pub use crate::model::query::{Operand, Query};
    pub use crate::model::slot::{KeyPrefix, MapSlot, Slot, StackEntry};
    pub use crate::model::template::{Parsed, Part, Reference, Template};

    /// Files and the names of their classes and nodes.
    pub mod catalog {
        pub use crate::model::catalog::{class_name, classes, node_name, nodes};
    }
    /// Names in a layer, and its keys that mean something else than they look like.
    pub mod layer {
        pub use crate::model::layer::{absolute_names, keys_with_same_text, unknown_sections};
    }
    /// Patterns of class mappings.
    pub mod mappings {
        pub use crate::model::mappings::regex;
    }
    /// Two layers into one.
    pub mod merge {
        pub use crate::model::merge::settled;
    }
    /// What the settings and the files declare about lists.
    pub mod merge_options {
        pub use crate::model::merge_options::{enabled, of_settings};
    }
    /// A text into its parts.
    pub mod template {
        pub use crate::model::template::{glob, parse};
    }
    /// A walk over the references of a slot.
    pub mod visit {
        pub use crate::model::visit::references;
    }
}

/// What becomes of the slots: an evaluator, what it finds, and the trace of how it came to it.
pub mod evaluate {
    pub use crate::evaluate::{Child, Evaluator, Found, Locate, Mode, References, Root, Stop, Whnf};
    pub use crate::evaluate::{Effect, FoldStep, FoldTrace, ItemEffect, ItemStep, Run, TracedReference};
    pub use crate::evaluate::{PartSites, site, slot_without, without};
}

/// What the engine knows of a node, and what its answers depend on.
pub mod engine {
    pub use crate::engine::class_names::ClassName;
    pub use crate::engine::context::{Answer, Computation, EngineContext, Layers, NodeRequest};
    pub use crate::engine::database::Database;
    pub use crate::engine::etcd::EtcdOwner;
    pub use crate::engine::exports::{OtherNodes, QueryRecord};
    pub use crate::engine::files::{Dependencies, Version};
    pub use crate::engine::inputs::Inputs;
    pub use crate::engine::linearize::IncludeChains;
    pub use crate::engine::question::ComputedAnswer;
    pub use crate::engine::schema_files::{SchemaFile, SchemaFiles};
    pub use crate::engine::sequence::{
        AUTOMATIC, IncludedBy, IncludedFile, ListedClass, Sequence, StepAdditions,
    };
    pub use crate::engine::trees::{LastFetch, branches_in_use};

    /// The parameters that every node has.
    pub mod automatic {
        pub use crate::engine::automatic::join;
    }
    /// What the text of a file says twice.
    pub mod files {
        pub use crate::engine::files::duplicate_keys;
    }
    /// The time of a state.
    pub mod sources {
        pub use crate::engine::sources::utc;
    }
}

/// The places that settings name: files, repositories of git, keys of etcd; and texts that take the place of files.
pub mod storage {
    pub use crate::storage::etcd::{DEEPEST_KEY, Etcd, EtcdKey};
    pub use crate::storage::git::revision::Revision;
    pub use crate::storage::git::{Heads, Record, Repository, WorkTree};
    pub use crate::storage::location::{Branch, TreeLocation, TreeLocations};
    pub use crate::storage::overlay::{OverlaidInput, Overlay};
    pub use crate::storage::path_context::PathContext;
    pub use crate::storage::record::{FetchLock, Moment, RecordFile};
    pub use crate::storage::tree_path::MissingFolders;
    pub use crate::storage::write::TreeLock;
    pub use crate::storage::{DiskFingerprint, FoundFile, TreeLimits};

    /// Why a file cannot be written.
    pub mod access_error {
        pub use crate::storage::access_error::reason_unwritable;
    }
    /// All files below a folder.
    pub mod folders {
        pub use crate::storage::folders::list;
    }
    /// Files and folders by their paths, as messages name them.
    pub mod fs {
        pub use crate::storage::fs::{
            absolute, display, percent_decoded, percent_encoded, real, real_relative,
        };
        pub use crate::storage::fs::{entries, fingerprint, read, read_beneath, roots};
        pub use crate::storage::fs::{folder_unreadable, reason, too_large};
    }
    /// Repositories of git.
    pub mod git {
        /// Commits by their names.
        pub mod revision {
            pub use crate::storage::git::revision::names;
        }
    }
    /// Files that belong to no inventory.
    #[cfg(unix)]
    pub mod outside {
        pub use crate::storage::outside::replace_below;
    }
    /// Records beside the caches of git.
    pub mod record {
        pub use crate::storage::record::hash;
    }
    /// The path of a file in a tree.
    pub mod tree_path {
        pub use crate::storage::tree_path::{file, found, root};
    }
}

/// How values leave the process, beside `brief`, `redact`, `report` and `style` of the facade.
pub mod output {
    /// Values as Salt can carry them.
    pub mod wire {
        pub use crate::output::wire::carry;
    }
    /// Values as a file would have them.
    pub mod written {
        pub use crate::output::written::written;
    }
}
