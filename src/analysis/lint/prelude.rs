//! The names that most rules use.

pub use std::sync::Arc;

pub use rustc_hash::{FxHashMap, FxHashSet};

pub use crate::analysis::lint::file_text::{FileText, ScalarRole, WrittenScalar};
pub use crate::analysis::lint::layers::{Prefixed, alone, has, known_layers, prefixed_keys, scalars};
pub use crate::analysis::lint::linter::{Linter, MergedSection, lint_fault};
pub use crate::analysis::lint::mentions::Mentions;
pub use crate::analysis::lint::rule::{Check, Rule};
pub use crate::analysis::survey::{Surveyed, SurveyedFile};
pub use crate::model::layer::Layer;
pub use crate::model::slot::{KeyPrefix, MapSlot, Slot};
pub use crate::output::report::Level;
pub use reclass_base::error::Fault;
pub use reclass_base::path::join_path;
pub use reclass_base::source::{FileId, Origin, Site, Span};
pub use reclass_base::value::{Key, Text, Value};
