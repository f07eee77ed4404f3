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
    files: FxHashMap<FileId, Cause>,
}

impl Mapped {
    pub fn of(now: &Computation<'_>, old: Option<&[Text]>, layers: &Layers) -> Mapped {
        let mut mapped = Mapped::default();
        let Some(old) = old.filter(|_| !now.settings.class_mappings.is_empty()) else { return mapped };
        let old: FxHashSet<&Text> = old.iter().collect();
        let tried = tried_before(now, &layers.name);
        // A class comes before the classes that it includes.
        let mut causes: Vec<Option<Cause>> = Vec::new();
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
                mapped.files.insert(included.file, cause);
            }
        }
        mapped
    }

    /// The cause if one of them brings this class or application.
    pub fn added(&self, change: &NodeChange, layers: &Layers) -> Option<Cause> {
        let item = change.items.first().filter(|item| item.added)?;
        let name = change.item(item)?.as_str()?;
        if change.section == Section::Classes {
            return self.class(name);
        }
        let mut adding = layers
            .all()
            .filter(|layer| layer.applications.additions.iter().any(|(known, _)| &**known == name));
        adding.find_map(|layer| self.files.get(&layer.file)).copied()
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
