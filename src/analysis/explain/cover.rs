//! Redacts an explanation. Each value is compared with the one computed without the secrets, and is hidden if
//! they differ.

use rustc_hash::FxHashMap;

use super::data::{ReferenceTrace, Step, ValuePart, ValueTrace};
use crate::base::error::Kind;
use crate::base::secrets::MASK;
use crate::base::stack::grow;
use crate::base::value::{Key, Value};
use crate::output::redact::Redaction;

impl Redaction {
    /// Hides values that depend on secrets; `without` is the same trace without the secrets.
    pub(super) fn cover(&self, trace: &mut ValueTrace, without: Option<&ValueTrace>) {
        grow(|| {
            let secret = self.secrets.covers(&*trace.path);
            trace.hidden = secret;
            self.cover_value(&trace.path, &mut trace.value, without.and_then(|trace| trace.value.as_ref()));
            if let Some(Kind::ReferenceCycle { cycle }) = trace.fault.as_mut().map(|fault| &mut fault.kind)
                && !secret
                && without.is_some_and(|without| without.fault.is_none())
            {
                // Without the secrets there is no cycle. So a secret is one of the keys in its path.
                MASK.clone_into(cycle);
            }
            let same = without.filter(|without| without.steps.len() == trace.steps.len());
            for (at, step) in trace.steps.iter_mut().enumerate() {
                self.cover_step(&trace.path, step, same.and_then(|without| without.steps.get(at)));
                if secret {
                    self.hide_found(&mut step.references);
                }
            }
            let without = without.map_or(&[][..], |without| &without.parts);
            let mut by_path = None;
            for (at, part) in trace.parts.iter_mut().enumerate() {
                let same = without.get(at).filter(|without| without.path == part.path);
                let same = same.or_else(|| {
                    let by_path = by_path.get_or_insert_with(|| {
                        without.iter().map(|part| (&*part.path, part)).collect::<FxHashMap<_, _>>()
                    });
                    by_path.get(&*part.path).copied()
                });
                self.cover_part(part, same);
            }
        });
    }

    /// Hides the parts of a value that differ without the secrets, and those that its path hides.
    fn cover_value(&self, path: &[Key], value: &mut Option<Value>, without: Option<&Value>) {
        if let Some(value) = value {
            *value = self.value(path, &self.unchanged(value, without));
        }
    }

    fn cover_step(&self, path: &[Key], step: &mut Step, without: Option<&Step>) {
        step.hidden = self.secrets.covers(&*step.path);
        step.written = self.written(&step.path, &step.written);
        self.cover_value(path, &mut step.after, without.and_then(|step| step.after.as_ref()));
        self.cover_references(&mut step.references, without.map(|step| step.references.as_slice()));
    }

    fn cover_part(&self, part: &mut ValuePart, without: Option<&ValuePart>) {
        self.cover_value(&part.path, &mut part.value, without.and_then(|part| part.value.as_ref()));
        // The text may be a secret that a reference brings in.
        let same = part.written == without.and_then(|part| part.written.clone());
        part.written = part.written.as_ref().map(|written| {
            if same { self.written(&part.path, written) } else { self.written_of_secret(written) }
        });
    }

    fn cover_references(&self, references: &mut [ReferenceTrace], without: Option<&[ReferenceTrace]>) {
        let same = without.filter(|without| without.len() == references.len());
        for (at, reference) in references.iter_mut().enumerate() {
            let without = same.and_then(|without| without.get(at));
            if without.is_none_or(|without| without.path != reference.path) {
                // If a secret is a key of the path, the place of the target reveals it.
                reference.path = None;
                reference.trace = None;
                reference.fault = None;
            }
            let path = reference.path.as_deref().unwrap_or_default();
            self.cover_value(path, &mut reference.value, without.and_then(|without| without.value.as_ref()));
            self.cover_references(&mut reference.inner, without.map(|without| without.inner.as_slice()));
            if let Some(trace) = &mut reference.trace {
                self.cover(trace, without.and_then(|without| without.trace.as_deref()));
            }
        }
    }

    /// Hides the values that references bring into a secret, at each step of their traces.
    fn hide_found(&self, references: &mut [ReferenceTrace]) {
        for reference in references {
            hide(&mut reference.value);
            self.hide_found(&mut reference.inner);
            if let Some(trace) = &mut reference.trace {
                grow(|| self.hide_trace(trace));
            }
        }
    }

    fn hide_trace(&self, trace: &mut ValueTrace) {
        hide(&mut trace.value);
        for step in &mut trace.steps {
            step.written = self.written_of_secret(&step.written);
            hide(&mut step.after);
            self.hide_found(&mut step.references);
        }
    }
}

fn hide(value: &mut Option<Value>) {
    if let Some(value) = value {
        *value = Value::text(MASK);
    }
}
