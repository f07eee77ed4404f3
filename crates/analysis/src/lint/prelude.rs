//! The names that most rules use.

pub use std::sync::Arc;

pub use rustc_hash::{FxHashMap, FxHashSet};

pub use crate::lint::file_text::{FileText, ScalarRole, WrittenScalar};
pub use crate::lint::layers::{Prefixed, alone, has, known_layers, prefixed_keys, scalars};
pub use crate::lint::linter::{Linter, MergedSection, lint_fault};
pub use crate::lint::mentions::Mentions;
pub use crate::lint::rule::{Check, Rule};
pub use crate::survey::{Surveyed, SurveyedFile};
pub use reclass::parts::model::Layer;
pub use reclass::parts::model::{KeyPrefix, MapSlot, Slot};
pub use reclass::report::Level;
pub use reclass_base::error::Fault;
pub use reclass_base::path::join_path;
pub use reclass_base::source::{FileId, Origin, Site, Span};
pub use reclass_base::value::{Key, Text, Value};
