//! S20, S19: a class that only a class mapping brings, and that the old node does not have.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::compare::causes::Cause;
use crate::diff::{NodeChange, Section};
use reclass::parts::engine::context::{Computation, Layers};
use reclass::parts::engine::sequence::IncludedBy;
use reclass_base::source::FileId;
use reclass_base::value::Text;

/// The classes of a node that only class mappings bring, and that the old node does not have, with the cause.
#[derive(Default)]
pub(super) struct Mapped {
    classes: FxHashMap<Text, Cause>,
    /// What they add.
    applications: FxHashMap<Text, Cause>,
}

impl Mapped {
    pub fn of(now: &Computation<'_>, old: Option<&[Text]>, layers: &Layers) -> Mapped {
        let mut mapped = Mapped::default();
        let Some(old) = old.filter(|_| !now.settings.class_mappings.is_empty()) else { return mapped };
        let old: FxHashSet<&Text> = old.iter().collect();
        let tried = tried_before(now, &layers.name);
        // A class comes before the classes that it includes.
        let mut causes: Vec<Option<Cause>> = Vec::new();
        let mut files: FxHashMap<FileId, Cause> = FxHashMap::default();
        for included in layers.linearization.include_chains().all() {
            let by = match &included.by {
                IncludedBy::Node => None,
                IncludedBy::Mapping(mapping) => match &tried {
                    Some(tried) if !tried.contains(mapping) => Some(Cause::MatchedAtTop),
                    _ => Some(Cause::Mapped),
                },
                IncludedBy::Includer(index) => causes.get(*index).copied().flatten(),
            };
            let cause = by.filter(|_| !old.contains(&included.name));
            causes.push(cause);
            if let Some(cause) = cause {
                mapped.classes.insert(included.name, cause);
                files.insert(included.file, cause);
            }
        }
        for layer in layers.all() {
            let Some(cause) = files.get(&layer.file) else { continue };
            for (name, _) in &layer.applications.additions {
                mapped.applications.entry(name.clone()).or_insert(*cause);
            }
        }
        mapped
    }

    /// The cause if one of them brings this class or application.
    pub fn added(&self, change: &NodeChange) -> Option<Cause> {
        let item = change.items.first().filter(|item| item.added)?;
        let name = change.item(item)?.as_str()?;
        let known = if change.section == Section::Classes { &self.classes } else { &self.applications };
        known.get(name).copied()
    }

    /// The cause if it is one of them.
    pub fn class(&self, name: &str) -> Option<Cause> {
        self.classes.get(name).copied()
    }
}

/// The mappings that match a node as the Python programs name it, if that is not as it is named here (S19).
fn tried_before(now: &Computation<'_>, node: &Text) -> Option<FxHashSet<Text>> {
    let item = now.catalog.nodes.get(node).filter(|_| now.settings.class_mappings_match_path)?;
    let classes = now.mappings.classes(&[&item.pathname(now.settings)], None).ok()?;
    Some(classes.into_iter().flat_map(|one| one.repeated.into_iter().chain([one.mapping])).collect())
}
