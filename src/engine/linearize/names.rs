//! Resolves references in class names (S4), and decides what messages may show of the result.
//!
//! The references see the parameters merged so far.

use std::sync::Arc;

use super::{Completeness, ExtraParameters, IncludedBy, Linearizer, sources};
use crate::evaluate::{Evaluator, Mode, Root, ValueSource};
use crate::model::layer::{ClassEntry, Layer};
use crate::model::slot::{MapSlot, Slot};
use crate::model::template::Template;
use reclass_base::error::{Fault, Kind};
use reclass_base::path::join_path;
use reclass_base::pattern::PathPattern;
use reclass_base::secrets::{MASK, Secrets};
use reclass_base::source::Origin;
use reclass_base::value::{Key, Text};

/// A class name without references.
pub(super) struct ResolvedName {
    pub name: Text,
    /// The name as a pattern of class names, if the entry has wildcards. Wildcards that a reference brings are
    /// text in it.
    pub pattern: Option<Text>,
}

impl Linearizer<'_> {
    /// Adds the resolved class name as a note. The main message must not contain it: the name holds a
    /// parameter's value, and a minion may see the message. A name that depends on a secret is hidden.
    pub(super) fn with_name(&self, mut fault: Fault, entry: &ClassEntry, name: &Text) -> Fault {
        let Some(template) = &entry.template else { return fault };
        let Some(name) = self.shown_name(template, entry.origin, name) else {
            return fault.note("a secret is in its name", None);
        };
        if let Kind::ClassNotFound { shown, .. } = &mut fault.kind {
            *shown = Some(name.to_string());
        }
        fault.note(format!("its name comes to '{name}'"), None)
    }

    /// The resolved name, if it does not depend on a secret.
    fn shown_name(&self, template: &Arc<Template>, origin: Origin, name: &Text) -> Option<Text> {
        let layers = self.sequence.layers().chain(&self.added.layers).map(|layer| &**layer);
        let secrets = Layer::with_aliased(&Secrets::of(self.settings), layers);
        let root = self.merged_so_far().without(&secrets);
        let mut evaluator = Evaluator::new(root, self.settings, self.sources).in_mode(Mode::Silent);
        let shown = evaluator.class_name(template, origin).ok()?;
        (shown == **name).then(|| shown.into())
    }

    /// The name of a missing class as explanations and graphs show it.
    pub(super) fn listed_name(&self, entry: &ClassEntry, name: &Text) -> Text {
        let Some(template) = &entry.template else { return name.clone() };
        self.shown_name(template, entry.origin, name).unwrap_or_else(|| MASK.into())
    }

    /// Resolves a class name with references (S4). After a missing class the merged parameters are
    /// incomplete, so nothing is resolved (R5).
    pub(super) fn resolve(
        &mut self,
        entry: &ClassEntry,
        template: &Arc<Template>,
        by: &IncludedBy,
    ) -> Option<ResolvedName> {
        if self.completeness != Completeness::Complete {
            return None;
        }
        let root = self.merged_so_far().recording(!self.settings.trusted_pillar.is_empty());
        let mut evaluator = Evaluator::new(root, self.settings, self.sources);
        let unknown_input = self.input.extra.unknown_input && !self.before_node;
        // A parameter that is missing here may be in the input data.
        let unresolved = |reference: &str, similar: Option<&String>, missing: bool| {
            let (written, reference) = (entry.name.to_string(), reference.to_owned());
            if missing && unknown_input {
                return Kind::ClassNeedsPillar { written, reference };
            }
            Kind::ClassReference { written, reference, similar: similar.cloned() }
        };
        let name = evaluator.class_name(template, entry.origin);
        if let Some(kind) = self.untrusted(&evaluator) {
            self.fail(self.place(Fault::new(kind), entry.origin, by));
            return None;
        }
        match (name, evaluator.default_used.take()) {
            (Ok(_), Some(reference)) if unknown_input => {
                let fault = Fault::new(unresolved(&reference, None, true));
                self.fail(self.place(fault, entry.origin, by));
                None
            }
            (Ok(name), _) => {
                let pattern = entry.wild.then(|| evaluator.class_pattern(template, entry.origin)).flatten();
                Some(ResolvedName { name: name.into(), pattern: pattern.map(Text::from) })
            }
            (Err(faults), _) => {
                // Without faults, the reference led to an unreadable value.
                self.mark_incomplete();
                let mut behind = Vec::new();
                for mut fault in faults {
                    match &fault.kind {
                        Kind::ReferenceNotFound { reference, similar, .. }
                            if fault.origin == Some(entry.origin) =>
                        {
                            fault.kind = unresolved(reference, similar.as_ref(), true);
                            fault.path = None;
                            fault.chain = self.chain_of(by);
                            self.faults.push(match by {
                                IncludedBy::Mapping(mapping) => self.in_mapping(fault, mapping),
                                IncludedBy::Node | IncludedBy::Includer(_) => fault,
                            });
                        }
                        Kind::GrainsUnknown { .. } if fault.origin == Some(entry.origin) => {
                            let kind = fault.kind.clone();
                            self.faults.push(self.place(Fault::new(kind), entry.origin, by));
                        }
                        _ => behind.push(fault),
                    }
                }
                if !behind.is_empty() {
                    // The referenced value itself cannot be resolved.
                    let is_missing = |fault: &Fault| matches!(fault.kind, Kind::ReferenceNotFound { .. });
                    let kind = unresolved(&entry.name, None, behind.iter().any(is_missing));
                    let mut fault = self.place(Fault::new(kind), entry.origin, by);
                    fault.causes = behind;
                    self.faults.push(fault);
                }
                None
            }
        }
    }

    /// Why the class name that was evaluated must not choose a class: it depends on data that a minion writes.
    fn untrusted(&self, evaluator: &Evaluator<'_>) -> Option<Kind> {
        let grains = self.input.extra.grains.as_ref();
        let refused = grains.and_then(|grains| self.computation.grain_rules?.refuse(&grains.reads()));
        let trusted = &self.settings.trusted_pillar;
        if refused.is_some() || trusted.is_empty() || self.before_node {
            return refused;
        }
        let input = self.input.extra.input.as_ref()?;
        let delimiter = &self.settings.delimiter;
        let trusted: Vec<PathPattern> =
            trusted.iter().map(|pattern| PathPattern::new(pattern, delimiter)).collect();
        evaluator.read_paths().find_map(|path| {
            let keys = given(input, path)?;
            let covers = |pattern: &PathPattern| {
                let mut progress = pattern.start();
                keys.iter().any(|key| {
                    progress = pattern.step(&progress, key);
                    pattern.is_match(&progress)
                })
            };
            (!trusted.iter().any(covers)).then(|| Kind::PillarUntrusted { path: join_path(&keys, delimiter) })
        })
    }

    /// The parameters that references in class names see.
    fn merged_so_far(&self) -> Root {
        let none = ExtraParameters::default();
        let extra = if self.before_node { &none } else { self.input.extra };
        // The node's scalars come first, so that values of classes override them.
        let scalars = extra.scalars.iter().cloned().map(ValueSource::Map);
        let mapped = if self.before_node { &self.sequence } else { &self.mapped };
        let classes = sources(&self.sequence, mapped, &self.added.layers, extra, &self.prefixes);
        let root = Root::of(scalars.chain(classes).collect(), &self.prefixes);
        root.with_grains(self.input.extra.grains.clone())
    }
}

/// The keys of a path that the input data has, if it has a value there.
fn given(input: &MapSlot, path: &[Text]) -> Option<Vec<Key>> {
    let mut map = input;
    let mut keys = Vec::new();
    for key in path {
        let slot = map.entries.get(key.as_ref() as &str)?;
        keys.push(Key::from(key.clone()));
        match slot {
            Slot::Map(inner) => map = inner,
            _ => break,
        }
    }
    Some(keys)
}
