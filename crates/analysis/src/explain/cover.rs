//! Redacts an explanation, or a value. Each value is compared with the one computed without the secrets, and is hidden
//! if they differ.

use rustc_hash::FxHashMap;

use super::data::{Leaf, ReferenceTrace, Step, ValuePart, ValueTrace};
use super::explainer::{Wanted, values_without};
use super::place::ValuePlaces;
use reclass::redact::Redaction;
use reclass_base::error::Kind;
use reclass_base::secrets::MASK;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};

/// A value of a node with its path. The flag says that it is one of the exports.
pub type ValueAt<'v> = (bool, &'v [Key], &'v Value);

/// The value at a path of a node with hidden secrets. What depends on a secret is hidden with it: all, if nobody knows
/// the layers. The whole of a section has no path, so its keys are looked at.
pub fn shown(of: Option<&ValuePlaces<'_>>, redaction: &Redaction, value: ValueAt<'_>) -> Value {
    all_shown(of, redaction, &[value]).pop().unwrap_or_else(|| Value::text(MASK))
}

/// The same for many values of one node.
pub fn all_shown(of: Option<&ValuePlaces<'_>>, redaction: &Redaction, values: &[ValueAt<'_>]) -> Vec<Value> {
    if redaction.secrets.is_none() {
        return values.iter().map(|(_, _, value)| Value::clone(value)).collect();
    }
    let wanted = |&(export, path, value): &ValueAt<'_>| -> Vec<Wanted> {
        let wanted = |path| Wanted { path, export, items: Vec::new() };
        match value {
            Value::Map(map) if path.is_empty() => map.keys().map(|key| wanted(vec![key.clone()])).collect(),
            _ => vec![wanted(path.to_vec())],
        }
    };
    let wanted: Vec<Wanted> = values.iter().flat_map(wanted).collect();
    let mut without = match of {
        Some(of) => values_without(of, &wanted, &redaction.secrets),
        None => vec![None; wanted.len()],
    }
    .into_iter();
    let mut unchanged = |value: &Value| redaction.unchanged(value, without.next().flatten().as_ref());
    let shown = |&(_, path, value): &ValueAt<'_>| {
        let shown = match value {
            Value::Map(map) if path.is_empty() => {
                Value::map(map.iter().map(|(key, value)| (key.clone(), unchanged(value))).collect())
            }
            value => unchanged(value),
        };
        redaction.value(path, &shown)
    };
    values.iter().map(shown).collect()
}

/// A part of a container: `V` is its value or what is written, `W` a reference to a container around it.
pub(super) struct CoveredPart<'p, V, W> {
    pub(super) path: &'p [Key],
    pub(super) value: V,
    pub(super) written: V,
    pub(super) via: Vec<W>,
}

type PartToCover<'p> = CoveredPart<'p, &'p mut Option<Value>, &'p mut Value>;
type PartWithout<'p> = CoveredPart<'p, &'p Option<Value>, &'p Value>;

/// Hides in traces.
pub(super) struct TraceCover<'r>(pub &'r Redaction);

impl TraceCover<'_> {
    /// Hides values that depend on secrets; `without` is the same trace without the secrets.
    pub(super) fn cover(&self, trace: &mut ValueTrace, without: Option<&ValueTrace>) {
        grow(|| {
            let secret = self.0.secrets.covers(&*trace.path);
            trace.hidden = secret;
            self.cover_value(&trace.path, &mut trace.value, without.and_then(|trace| trace.value.as_ref()));
            if let Some(Kind::ReferenceCycle { cycle }) = trace.fault.as_mut().map(|fault| &mut fault.kind)
                && !secret
                && without.is_some_and(|without| without.fault.is_none())
            {
                // Without the secrets there is no cycle. So a secret is one of the keys in its path.
                MASK.clone_into(cycle);
            }
            let steps = without.map_or(&[][..], |without| &without.steps);
            let same = Some(steps).filter(|steps| steps.len() == trace.steps.len());
            for (at, step) in trace.steps.iter_mut().enumerate() {
                // An item of a list may be a secret that a reference brings to an open path.
                let is_same = |other: &&Step| other.path == step.path && other.place.site == step.place.site;
                let written = same.and_then(|steps| steps.get(at)).filter(is_same);
                let written = written.or_else(|| steps.iter().find(is_same)).map(|other| &other.written);
                step.written = self.0.written_unchanged(&step.written, written);
                self.cover_step(&trace.path, step, same.and_then(|steps| steps.get(at)));
                if secret {
                    self.hide_found(&mut step.references);
                }
            }
            let without = without.map_or(&[][..], |without| &without.parts);
            let without: Vec<_> = without.iter().map(ValuePart::without).collect();
            self.cover_parts(trace.parts.iter_mut().map(ValuePart::covered_part), &without);
        });
    }

    /// Hides the parts of a value that differ without the secrets, and those that its path hides.
    fn cover_value(&self, path: &[Key], value: &mut Option<Value>, without: Option<&Value>) {
        if let Some(value) = value {
            *value = self.0.value(path, &self.0.unchanged(value, without));
        }
    }

    fn cover_step(&self, path: &[Key], step: &mut Step, without: Option<&Step>) {
        step.hidden = self.0.secrets.covers(&*step.path);
        step.written = self.0.written(&step.path, &step.written);
        self.cover_value(path, &mut step.after, without.and_then(|step| step.after.as_ref()));
        self.cover_references(&mut step.references, without.map(|step| step.references.as_slice()));
    }

    /// Hides the values and texts that differ without the secrets.
    pub(super) fn cover_parts<'p>(
        &self,
        parts: impl Iterator<Item = PartToCover<'p>>,
        without: &[PartWithout<'_>],
    ) {
        let mut by_path: Option<FxHashMap<&[Key], usize>> = None;
        for (at, part) in parts.enumerate() {
            let path = part.path;
            let counterpart = Some(at).filter(|at| without.get(*at).is_some_and(|other| other.path == path));
            let counterpart = counterpart.or_else(|| {
                let all = || without.iter().zip(0..).map(|(part, at)| (part.path, at)).collect();
                by_path.get_or_insert_with(all).get(path).copied()
            });
            let other = counterpart.map(|at| &without[at]);
            self.cover_value(path, part.value, other.and_then(|other| other.value.as_ref()));
            // The text may be a secret that a reference brings in.
            if let Some(written) = part.written {
                let without = other.and_then(|other| other.written.as_ref());
                *written = self.0.written(path, &self.0.written_unchanged(written, without));
            }
            for (at, written) in part.via.into_iter().enumerate() {
                let without = other.and_then(|other| other.via.get(at).copied());
                *written = self.0.written_unchanged(written, without);
            }
        }
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
            step.written = self.0.written_of_secret(&step.written);
            hide(&mut step.after);
            self.hide_found(&mut step.references);
        }
    }
}

impl ValuePart {
    fn covered_part(&mut self) -> PartToCover<'_> {
        let ValuePart { path, value, written, via, .. } = self;
        CoveredPart { path, value, written, via: via.iter_mut().map(|one| &mut one.written).collect() }
    }

    fn without(&self) -> PartWithout<'_> {
        let ValuePart { path, value, written, via, .. } = self;
        CoveredPart { path, value, written, via: via.iter().map(|one| &one.written).collect() }
    }
}

impl Leaf {
    pub(super) fn covered_part(&mut self) -> PartToCover<'_> {
        let Leaf { path, value, written, via, .. } = self;
        CoveredPart { path, value, written, via: via.iter_mut().map(|(written, _)| written).collect() }
    }

    pub(super) fn without(&self) -> PartWithout<'_> {
        let Leaf { path, value, written, via, .. } = self;
        CoveredPart { path, value, written, via: via.iter().map(|(written, _)| written).collect() }
    }
}

fn hide(value: &mut Option<Value>) {
    if let Some(value) = value {
        *value = Value::text(MASK);
    }
}
