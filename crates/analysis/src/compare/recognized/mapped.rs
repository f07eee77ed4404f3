//! S20, S19: a class mapping brings a class that the old node does not have, or has at another place.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::compare::causes::Cause;
use crate::compare::normal::{OldForm, in_form};
use crate::diff::{NodeChange, Section};
use crate::explain::ValueTrace;
use reclass::parts::engine::{Computation, IncludedBy, Layers};
use reclass_base::error::{Fault, Kind};
use reclass_base::source::FileId;
use reclass_base::value::{Text, Value};

/// The classes of a node that class mappings bring, with the cause.
#[derive(Default)]
pub(super) struct Mapped {
    /// Those that the old node does not have.
    classes: FxHashMap<Text, Cause>,
    /// Those that the old node has at another place: its own files list them too.
    reordered: FxHashMap<Text, Cause>,
    /// What both add or remove.
    applications: FxHashMap<Text, Cause>,
}

impl Mapped {
    pub fn of(now: &Computation<'_>, old: Option<&[Text]>, new: &[Text], layers: &Layers) -> Mapped {
        let mut mapped = Mapped::default();
        let Some(classes) = old.filter(|_| !now.settings.class_mappings.is_empty()) else { return mapped };
        let old: FxHashSet<&Text> = classes.iter().collect();
        let in_both: FxHashSet<&Text> = new.iter().filter(|name| old.contains(name)).collect();
        let is_common = |name: &&Text| in_both.contains(name);
        let is_reordered = !classes.iter().filter(is_common).eq(new.iter().filter(is_common));
        let tried = tried_before(now, &layers.name);
        // A class comes before the classes that it includes.
        let mut causes: Vec<Option<(Cause, bool)>> = Vec::new();
        let mut files: FxHashMap<FileId, Cause> = FxHashMap::default();
        for included in layers.linearization.include_chains().all() {
            let by = match &included.by {
                IncludedBy::Node => None,
                IncludedBy::Mapping(mapping) => Some((cause(tried.as_ref(), mapping), true)),
                IncludedBy::Includer(index) => causes.get(*index).copied().flatten(),
            };
            let is_new = !old.contains(&included.name);
            let cause = by.filter(|(_, by_new)| if is_new { *by_new } else { is_reordered });
            causes.push(cause.map(|(cause, _)| (cause, is_new)));
            if let Some((cause, _)) = cause {
                let known = if is_new { &mut mapped.classes } else { &mut mapped.reordered };
                known.insert(included.name, cause);
                files.insert(included.file, cause);
            }
        }
        // What another class removes too, the old program had to remove (S8).
        let others = layers.all().filter(|layer| !files.contains_key(&layer.file));
        let removed: FxHashSet<&Text> =
            others.flat_map(|layer| &layer.applications.removals).map(|(name, _)| name).collect();
        for layer in layers.all() {
            let Some(cause) = files.get(&layer.file) else { continue };
            let removals = layer.applications.removals.iter().filter(|(name, _)| !removed.contains(name));
            for (name, _) in layer.applications.additions.iter().chain(removals) {
                mapped.applications.entry(name.clone()).or_insert(*cause);
            }
        }
        mapped
    }

    /// The cause if one of them brings, moves or removes this class or application.
    pub fn item(&self, change: &NodeChange) -> Option<Cause> {
        let item = change.items.first()?;
        let (known, moving) = if change.section == Section::Classes {
            (&self.classes, &self.reordered)
        } else {
            (&self.applications, &self.applications)
        };
        // Of two items that change places, either counts as moved.
        let moved = || moving.values().min().filter(|_| item.moved);
        known.get(change.item(item)?.as_str()?).or_else(moved).copied()
    }

    /// The cause if it is one of them, and the old node does not have it.
    pub fn class(&self, name: &str) -> Option<Cause> {
        self.classes.get(name).copied()
    }

    /// The cause if one of them gives the old value from its old place.
    pub fn reordered(&self, change: &NodeChange, trace: &ValueTrace, form: OldForm) -> Option<Cause> {
        let gives = |after: Option<&Value>| {
            let is_old = |old: &Value| after.is_some_and(|after| in_form(after, form) == *old);
            !change.items.is_empty() || change.old.as_ref().is_none_or(is_old)
        };
        let mut steps = trace.steps.iter().filter(|step| gives(step.after.as_ref()));
        steps.find_map(|step| self.reordered.get(step.place.class.as_ref()?)).copied()
    }
}

/// The cause of an error in a class mapping, or in a class that one brings and the old node does not have.
pub(super) fn of_fault(now: &Computation<'_>, node: &Text, old: &[Text], fault: &Fault) -> Option<Cause> {
    let tried = || tried_before(now, node);
    if let Some(("class_mappings", mapping)) = &fault.setting {
        let is_old =
            matches!(&fault.kind, Kind::ClassNotFound { name, .. } if old.iter().any(|old| **old == **name));
        return (!is_old).then(|| cause(tried().as_ref(), mapping));
    }
    // No file lists a class that a mapping brings.
    let mapped = fault.chain.first().filter(|link| link.site.is_none() && !old.contains(&link.class))?;
    Some(cause(tried().as_ref(), &mapped.class))
}

/// The cause of what a mapping brings, by the mapping or by its class.
fn cause(tried: Option<&FxHashSet<Text>>, name: &Text) -> Cause {
    if tried.is_some_and(|tried| !tried.contains(name)) { Cause::MatchedAtTop } else { Cause::Mapped }
}

/// The mappings that match a node as the Python programs name it, and their classes, if that is not as it is named
/// here (S19).
fn tried_before(now: &Computation<'_>, node: &Text) -> Option<FxHashSet<Text>> {
    let item = now.catalog.nodes.get(node).filter(|_| now.settings.class_mappings_match_path)?;
    let classes = now.mappings.classes(&[&item.pathname(now.settings)], None).ok()?;
    Some(
        classes
            .into_iter()
            .flat_map(|one| one.repeated.into_iter().chain([one.mapping, one.class]))
            .collect(),
    )
}
