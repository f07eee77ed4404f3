//! Cover turns an explanation into what may be shown of it: each value is compared with what it comes
//! to without the secrets among the parameters, and what differs is masked.

use rustc_hash::FxHashMap;

use super::{Part, ReferenceStory, Step, Story};
use crate::secrets::{MASK, Secrets, masked};
use crate::value::Value;

impl Secrets {
    /// Masks what secrets have a part in; `without` is the same story without them.
    pub(super) fn cover(&self, story: &mut Story, without: Option<&Story>) {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
            self.cover_value(&mut story.value, without.and_then(|story| story.value.as_ref()));
            // What can be computed without the secrets fails in what one of them says.
            let secret = without.is_some_and(|without| without.fault.is_none() && without.value.is_some());
            if let Some(fault) = story.fault.as_mut().filter(|_| secret || self.covers(&story.path)) {
                fault.kind.withhold();
                fault.notes.clear();
            }
            let same = without.filter(|without| without.steps.len() == story.steps.len());
            for (at, step) in story.steps.iter_mut().enumerate() {
                self.cover_step(step, same.and_then(|without| without.steps.get(at)));
                if self.covers(&story.path) {
                    hide_failed(&mut step.references);
                    hide_values(&mut step.references);
                }
            }
            let without = without.map_or(&[][..], |without| &without.parts);
            let mut by_path = None;
            for (at, part) in story.parts.iter_mut().enumerate() {
                let same = without.get(at).filter(|without| without.path == part.path);
                let same = same.or_else(|| {
                    let by_path = by_path.get_or_insert_with(|| {
                        without.iter().map(|part| (&part.path, part)).collect::<FxHashMap<_, _>>()
                    });
                    by_path.get(&part.path).copied()
                });
                self.cover_part(part, same);
            }
        });
    }

    fn cover_value(&self, value: &mut Option<Value>, without: Option<&Value>) {
        if let Some(value) = value {
            *value = self.shown(value, without);
        }
    }

    fn cover_step(&self, step: &mut Step, without: Option<&Step>) {
        self.cover_value(&mut step.after, without.and_then(|step| step.after.as_ref()));
        self.cover_references(&mut step.references, without.map(|step| step.references.as_slice()));
    }

    fn cover_part(&self, part: &mut Part, without: Option<&Part>) {
        self.cover_value(&mut part.value, without.and_then(|part| part.value.as_ref()));
        // A text of a secret that a reference brings in is one wherever it is brought in.
        let written = without.and_then(|part| part.written.clone());
        if part.written.is_some() && part.written != written {
            part.written = Some(written.unwrap_or_else(|| Value::text(MASK)));
        }
    }

    fn cover_references(&self, references: &mut [ReferenceStory], without: Option<&[ReferenceStory]>) {
        let same = without.filter(|without| without.len() == references.len());
        for (at, reference) in references.iter_mut().enumerate() {
            let without = same.and_then(|without| without.get(at));
            self.cover_value(&mut reference.value, without.and_then(|without| without.value.as_ref()));
            if without.is_none_or(|without| without.path != reference.path) {
                // Where a secret is a key of the path, its place tells it.
                reference.path = None;
                reference.story = None;
                reference.fault = None;
            }
            self.cover_references(&mut reference.inner, without.map(|without| without.inner.as_slice()));
            if let Some(story) = &mut reference.story {
                self.cover(story, without.and_then(|without| without.story.as_deref()));
            }
        }
    }
}

/// Hides what references come to that a secret is made of, or was before a later layer replaced it.
fn hide_values(references: &mut [ReferenceStory]) {
    for reference in references {
        reference.value = reference.value.as_ref().map(masked);
        hide_values(&mut reference.inner);
        if let Some(story) = &mut reference.story {
            stacker::maybe_grow(128 * 1024, 1024 * 1024, || hide_values_of(story));
        }
    }
}

fn hide_values_of(story: &mut Story) {
    story.value = story.value.as_ref().map(masked);
    for step in &mut story.steps {
        step.written = masked(&step.written);
        step.after = step.after.as_ref().map(masked);
        hide_values(&mut step.references);
    }
    for part in &mut story.parts {
        part.value = part.value.as_ref().map(masked);
        part.written = part.written.as_ref().map(masked);
    }
}

/// Hides references that come to nothing below a secret key: what looks like one may be a part of the secret.
fn hide_failed(references: &mut [ReferenceStory]) {
    for reference in references {
        if reference.failed {
            reference.written = MASK.into();
            reference.path = None;
            reference.fault = None;
            reference.story = None;
            reference.inner.clear();
        }
        hide_failed(&mut reference.inner);
    }
}
