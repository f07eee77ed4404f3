//! Names of classes turn from templates into what they come to (S4), and into what may be shown of that.
//!
//! References in them see the parameters merged so far.

use std::sync::Arc;

use super::{By, Gathered, Given, Linearizer, sources};
use crate::error::{Fault, Kind};
use crate::evaluate::{Evaluator, Root, Source};
use crate::layer::ClassEntry;
use crate::secrets::{MASK, Secrets};
use crate::source::Origin;
use crate::template::Template;
use crate::value::Text;

impl Linearizer<'_> {
    /// A problem with what the name of a class comes to. That is not in the sentence: the name holds a
    /// parameter's value, and the sentence may reach a minion. A secret in it is masked.
    pub(super) fn with_name(&self, fault: Fault, entry: &ClassEntry, name: &Text) -> Fault {
        let Some(template) = &entry.template else { return fault };
        match self.shown_name(template, entry.origin, name) {
            Some(shown) => fault.note(format!("its name comes to '{shown}'"), None),
            None => fault.note("a secret is in its name", None),
        }
    }

    /// What the name of a class comes to without the secrets in it, if that can be computed.
    fn shown_name(&self, template: &Arc<Template>, origin: Origin, name: &Text) -> Option<Text> {
        let secrets = Secrets::of(self.settings);
        let root = self.merged_so_far().without(&secrets);
        let mut evaluator = Evaluator::new(root, self.settings, self.sources);
        let without = secrets.template(template);
        let shown = evaluator.class_name(without.as_ref().unwrap_or(template), origin).ok()?;
        (shown == **name || shown.contains(MASK)).then(|| shown.into())
    }

    /// The name of a missing class as explanations and graphs show it, without a secret in it.
    pub(super) fn listed_name(&self, entry: &ClassEntry, name: &Text) -> Text {
        let Some(template) = &entry.template else { return name.clone() };
        self.shown_name(template, entry.origin, name).unwrap_or_else(|| MASK.into())
    }

    /// The text of a class name with references (S4). After a class is missing, nobody knows what such
    /// a name would come to (R5).
    pub(super) fn resolve(&mut self, entry: &ClassEntry, template: &Arc<Template>, by: &By) -> Option<Text> {
        if self.gathered != Gathered::All {
            return None;
        }
        let mut evaluator = Evaluator::new(self.merged_so_far(), self.settings, self.sources);
        match evaluator.class_name(template, entry.origin) {
            Ok(name) => Some(name.into()),
            Err(faults) => {
                // Without a problem, it is one of a value that cannot be read.
                self.not_all();
                let unresolved = |reference: &str, similar: Option<&String>| Kind::ClassReference {
                    written: entry.name.to_string(),
                    reference: reference.to_owned(),
                    similar: similar.cloned(),
                };
                let mut behind = Vec::new();
                for mut fault in faults {
                    match &fault.kind {
                        Kind::ReferenceNotFound { reference, similar, .. }
                            if fault.origin == Some(entry.origin) =>
                        {
                            fault.kind = unresolved(reference, similar.as_ref());
                            fault.path = None;
                            fault.chain = self.chain_of(by);
                            self.faults.push(match by {
                                By::Mapping(mapping) => self.in_mapping(fault, mapping),
                                By::Node | By::Includer(_) => fault,
                            });
                        }
                        _ => behind.push(fault),
                    }
                }
                if !behind.is_empty() {
                    // What the name refers to cannot be resolved itself.
                    let mut fault = self.place(Fault::new(unresolved(&entry.name, None)), entry.origin, by);
                    fault.causes = behind;
                    self.faults.push(fault);
                }
                None
            }
        }
    }

    /// What references in class names see.
    fn merged_so_far(&self) -> Root {
        let none = Given::default();
        let given = if self.before_node { &none } else { self.subjects.given };
        // The scalars of the node come before everything: what classes say counts.
        let scalars = given.scalars.iter().cloned().map(Source::Map);
        let mapped = if self.before_node { &self.sequence } else { &self.mapped };
        let classes = sources(&self.sequence, mapped, &self.brought.layers, given, &self.prefixes);
        Root::of(scalars.chain(classes).collect(), &self.prefixes)
    }
}
