//! What only the tests and fuzzers of this project see.

pub mod model {
    pub mod catalog {
        pub use crate::model::catalog::TreeId;
    }
    pub mod layer {
        pub use crate::model::layer::{Applications, Layer};
    }
    pub mod mappings {
        pub use crate::model::mappings::Mappings;
    }
    pub mod merge {
        pub use crate::model::merge::{Prefixes, fold, merge_maps};
    }
    pub mod merge_options {
        pub use crate::model::merge_options::MergeRules;
    }
    pub mod query {
        pub use crate::model::query::parse;
    }
    pub mod slot {
        pub use crate::model::slot::MapSlot;
    }
    pub mod template {
        pub use crate::model::template::split_default;
    }
}

pub mod evaluate {
    pub use crate::evaluate::{ClassMemo, SharedParameters};
}

pub mod engine {
    pub mod counts {
        pub use crate::engine::counts::{Counter, Counts};
    }
    pub mod files {
        pub use crate::engine::files::Dependencies;
    }
}

pub mod storage {
    pub mod fs {
        pub use crate::storage::fs::read_settled;
    }
    pub mod git {
        pub mod remote {
            pub use crate::storage::git::remote::{Remote, Transport};
        }
    }
    pub mod write {
        pub use crate::storage::write::{WriteStep, unflushed};
    }
}
