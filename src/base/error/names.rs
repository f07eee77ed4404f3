//! Names turn a problem into what its sentence quotes of an inventory, to be masked, shown otherwise, or
//! looked for: classes, queries, files, settings.

use super::Kind;
use crate::secrets::MASK;

impl Kind {
    /// Takes out what it quotes of a value, which is a secret; tells whether there was anything.
    pub fn withhold(&mut self) -> bool {
        match self {
            Kind::ReferenceNotFound { reference, missing, container, similar } => {
                MASK.clone_into(reference);
                missing.clear();
                container.clear();
                *similar = None;
            }
            Kind::OverwrittenReference { reference: quoted }
            | Kind::DefaultUsed { reference: quoted }
            | Kind::DefaultSyntax { reference: quoted, .. }
            | Kind::QueryEmbedded { query: quoted }
            | Kind::QueryInExport { query: quoted }
            | Kind::QueryFailed { query: quoted, .. } => MASK.clone_into(quoted),
            Kind::QueryOperand { query, message } => {
                MASK.clone_into(query);
                "a test has nothing to compare with".clone_into(message);
            }
            _ => return false,
        }
        true
    }

    /// The names of classes in its sentence, as they are written, and what says a finding.
    pub fn written_mut(&mut self) -> Vec<&mut String> {
        match self {
            Kind::ClassNotFound { written, .. } => vec![written],
            Kind::ClassReference { written, reference, .. } => vec![written, reference],
            Kind::ClassNameInvalid { name, .. } | Kind::ClassSkipped { name } => vec![name],
            Kind::Lint { message, help, .. } => std::iter::once(message).chain(help).collect(),
            _ => Vec::new(),
        }
    }

    /// The inventory query in its sentence.
    pub fn query(&self) -> Option<&str> {
        match self {
            Kind::QueryEmbedded { query }
            | Kind::QueryInExport { query }
            | Kind::QueryFailed { query, .. }
            | Kind::QueryOperand { query, .. } => Some(query),
            _ => None,
        }
    }

    /// The files and folders of the inventory in its sentence. Where one stands for another, as a
    /// folder for a revision, they are shown by its name.
    pub fn paths_mut(&mut self) -> Vec<&mut String> {
        match self {
            Kind::DirectoryNotFound { path, .. } | Kind::FileUnreadable { path, .. } => vec![path],
            Kind::DuplicateDefinition { files, .. } => files.iter_mut().collect(),
            Kind::NodeNotFound { folder, .. } | Kind::ClassNotFound { folder, .. } => vec![folder],
            _ => Vec::new(),
        }
    }

    /// The setting that it is about, and what in it: a key or a text of its value.
    pub(super) fn setting(&self) -> Option<(&str, Option<&str>)> {
        match self {
            Kind::UnknownSetting { name, .. } | Kind::SettingType { name, .. } => Some((name, None)),
            Kind::StorageOption { setting, .. } => Some((setting, None)),
            Kind::SettingValue { name, .. } => {
                let (name, key) = name.split_once(':').map_or((name.as_str(), None), |(a, b)| (a, Some(b)));
                Some((name, key))
            }
            Kind::UnknownRule { name, .. } => Some(("lint_levels", Some(name))),
            Kind::SettingPattern { name, pattern, .. } => Some((name, Some(pattern))),
            Kind::UriOverlap { .. } => Some(("classes_uri", None)),
            Kind::StorageUnsupported { .. } => Some(("storage_type", None)),
            _ => None,
        }
    }
}
