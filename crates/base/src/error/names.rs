//! The texts that a message quotes from an inventory: queries, paths and settings, to be redacted,
//! replaced or located.

use super::{Fault, Kind};
use crate::path::split_path;
use crate::secrets::{MASK, Secrets};
use crate::value::Key;

impl Fault {
    /// Redacts the query in the message if it is the value of a secret key or names a secret key: a query
    /// contains texts for comparison.
    pub fn redact_query(&mut self, secrets: &Secrets, delimiter: &str) {
        if let Some(query) = self.kind.query_mut() {
            let keys =
                |path: &str| split_path(path, delimiter).into_iter().map(Key::from).collect::<Vec<_>>();
            let secret = |path: &str| secrets.covers(&keys(path));
            let mut words = query.split(|c: char| c.is_whitespace() || matches!(c, '=' | '!' | '\'' | '"'));
            if self.path.as_deref().is_some_and(secret) || words.any(secret) {
                MASK.clone_into(query);
                self.notes.clear();
                if let Kind::QueryOperand { message, .. } = &mut self.kind {
                    "a test has nothing to compare with".clone_into(message);
                }
            }
        }
        self.causes.iter_mut().for_each(|cause| cause.redact_query(secrets, delimiter));
    }
}

impl Kind {
    /// Whether it is a warning about a whole file, which may be the cause of an error elsewhere. An error of a
    /// node has those of its files behind it.
    pub fn is_about_file(&self) -> bool {
        matches!(self, Kind::UnknownSection { .. } | Kind::DuplicateKey { .. } | Kind::FileEmpty { .. })
    }

    /// The setting that caused it, and the key or text in its value.
    pub(super) fn setting(&self) -> Option<(&str, Option<&str>)> {
        match self {
            Kind::UnknownSetting { name, .. }
            | Kind::SettingType { name, .. }
            | Kind::SettingOdd { name, .. } => Some((name, None)),
            Kind::StorageOption { setting, .. } => Some((setting, None)),
            Kind::SettingValue { name, .. } => {
                let (name, key) = name.split_once(':').map_or((name.as_str(), None), |(a, b)| (a, Some(b)));
                Some((name, key))
            }
            Kind::UnknownRule { name, .. } => Some(("lint_levels", Some(name))),
            Kind::SettingPattern { name, pattern, .. } => Some((name, Some(pattern))),
            Kind::UriOverlap { .. } => Some(("classes_uri", None)),
            Kind::StorageUnsupported { .. } => Some(("storage_type", None)),
            // No `_`: whoever adds a kind decides here.
            Kind::ConfigFile { .. }
            | Kind::ConfigurationUnread { .. }
            | Kind::DirectoryNotFound { .. }
            | Kind::DirectoryUnreadable { .. }
            | Kind::FileUnreadable { .. }
            | Kind::FileChanging { .. }
            | Kind::DuplicateDefinition { .. }
            | Kind::NodeNotFound { .. }
            | Kind::GitProgram { .. }
            | Kind::GitFetch { .. }
            | Kind::GitAccess { .. }
            | Kind::GitTimeout { .. }
            | Kind::GitCache { .. }
            | Kind::GitBranch { .. }
            | Kind::GitStale { .. }
            | Kind::EtcdUnreachable { .. }
            | Kind::EtcdStale { .. }
            | Kind::EtcdConflict { .. }
            | Kind::YamlSyntax { .. }
            | Kind::YamlTag { .. }
            | Kind::YamlLimit { .. }
            | Kind::DuplicateKey { .. }
            | Kind::FileEmpty { .. }
            | Kind::NotAMapping { .. }
            | Kind::SectionType { .. }
            | Kind::EntryType { .. }
            | Kind::ClassNameInvalid { .. }
            | Kind::UnknownSection { .. }
            | Kind::ReferenceSyntax { .. }
            | Kind::QuerySyntax { .. }
            | Kind::ClassNotFound { .. }
            | Kind::ClassCycle { .. }
            | Kind::ClassReference { .. }
            | Kind::ClassNeedsPillar { .. }
            | Kind::ClassSkipped { .. }
            | Kind::ReferenceNotFound { .. }
            | Kind::ReferenceCycle { .. }
            | Kind::MergeType { .. }
            | Kind::ConstantChanged { .. }
            | Kind::MergeOption { .. }
            | Kind::MergeKeyMissing { .. }
            | Kind::MergeKeyDuplicate { .. }
            | Kind::RemovalWithValue { .. }
            | Kind::GrainsSet { .. }
            | Kind::GrainsUnknown { .. }
            | Kind::GrainUntrusted { .. }
            | Kind::GrainRefused { .. }
            | Kind::PillarUntrusted { .. }
            | Kind::DefaultSyntax { .. }
            | Kind::OverwrittenReference { .. }
            | Kind::DefaultUsed { .. }
            | Kind::ContainerInText { .. }
            | Kind::DroppedUnrendered { .. }
            | Kind::QueryEmbedded { .. }
            | Kind::QueryInExport { .. }
            | Kind::QueryFailed { .. }
            | Kind::QueryOperand { .. }
            | Kind::EvaluationLimit { .. }
            | Kind::Revision { .. }
            | Kind::NothingToExplain { .. }
            | Kind::NothingMatches { .. }
            | Kind::Lint { .. }
            | Kind::Finding { .. }
            | Kind::Schema { .. }
            | Kind::PathRefused { .. }
            | Kind::FileUnwritable { .. }
            | Kind::FolderUnflushed { .. }
            | Kind::LockTimeout { .. }
            | Kind::WireType { .. }
            | Kind::Usage { .. }
            | Kind::Internal { .. } => None,
        }
    }
}
