//! The walk turns lists of classes into layers in their order, step by step: what another node with the
//! same first classes has walked is taken from it.

use std::sync::Arc;

use super::{Completeness, IncludedBy, IncludedFile, Linearizer, ListedClass, MAX_FAULTS};
use crate::base::error::{Fault, Kind};
use crate::base::failpoints::failpoint;
use crate::base::source::{FileId, Origin};
use crate::base::stack::grow;
use crate::base::value::Text;
use crate::engine::sequence::SequenceStep;
use crate::model::layer::{ClassEntry, Layer, LayerSource, UnreadableFile};

impl Linearizer<'_> {
    pub(super) fn mapped_classes(&mut self) {
        let mut shown = Vec::new();
        for mapped in self.input.mapped {
            let by = IncludedBy::Mapping(mapped.mapping.clone());
            let (file, settings) = (FileId::NONE, self.settings);
            let subject = LayerSource { file, name: "", init: false, is_class: false, settings };
            // A dot at the start means nothing in a mapping.
            let entry = if mapped.class.starts_with('.') || mapped.literal {
                Ok(ClassEntry::plain(mapped.class.clone()))
            } else {
                let parse = |name: &Text| crate::model::template::parse(name, self.settings);
                crate::model::layer::class_entry(&mapped.class, subject, Origin::NONE, parse)
            };
            match entry {
                Ok(mut entry) => {
                    entry.alternatives.extend(mapped.alternative.clone());
                    shown.extend(self.top(std::slice::from_ref(&entry), Some((&by, &mapped.repeated))));
                }
                Err(fault) => self.fail(self.in_mapping(fault, &mapped.mapping)),
            }
        }
        if !shown.is_empty() {
            self.step(SequenceStep::Shown(shown.clone()), |linearizer| linearizer.list(shown));
        }
    }

    /// A problem for which a class does not come in.
    pub(super) fn fail(&mut self, fault: Fault) {
        self.faults.push(fault);
        self.mark_incomplete();
    }

    /// Takes note that a class did not come in.
    pub(super) fn mark_incomplete(&mut self) {
        if self.completeness == Completeness::Complete {
            self.completeness = Completeness::Partial;
        }
    }

    /// Whether nothing more comes in.
    fn is_over(&self) -> bool {
        self.completeness == Completeness::Stopped || self.faults.len() > MAX_FAULTS
    }

    /// Brings in classes that the node lists, or a mapping gives to it, step by step.
    /// `mapping` is the one that gives them, with further ones that give the same.
    pub(super) fn top(
        &mut self,
        entries: &[ClassEntry],
        mapping: Option<(&IncludedBy, &[Text])>,
    ) -> Vec<Text> {
        let by = mapping.map_or(&IncludedBy::Includer(0), |(by, _)| by);
        let mut shown = Vec::with_capacity(entries.len());
        for entry in entries {
            if self.is_over() {
                break;
            }
            let Some(resolved) = self.name_of(entry, by) else { continue };
            if mapping.is_none() {
                self.listed.push((resolved.clone(), entry.origin));
            }
            let before = (Arc::as_ptr(&self.sequence), self.unused.len(), self.faults.len());
            if entry.alternatives.is_empty() {
                let mapping = match by {
                    IncludedBy::Mapping(text) => Some(text.clone()),
                    _ => None,
                };
                self.step(SequenceStep::Class(resolved.clone(), mapping), |linearizer| {
                    linearizer.include(entry, &resolved, by);
                });
                shown.push(entry.name.clone());
            } else {
                let alternatives = entry.alternatives.iter().map(|name| (name.clone(), entry.origin));
                self.listed.extend(alternatives.filter(|_| mapping.is_none()));
                self.note();
                shown.push(self.include(entry, &resolved, by));
                self.complete();
            }
            if let (Some((by, repeated)), true) = (mapping, self.faults.len() == before.2) {
                let class = shown.last().filter(|shown| **shown != entry.name).unwrap_or(&resolved);
                let added = Arc::as_ptr(&self.sequence) != before.0;
                self.list_unused(class, (!added).then_some(by), before.1, repeated);
            }
        }
        shown
    }

    /// Takes note of what mappings list for nothing: a class by the first of them where that added
    /// nothing in, and by those that repeat it. `noted` is how much was noted before the class.
    fn list_unused(&mut self, class: &Text, first: Option<&IncludedBy>, noted: usize, repeated: &[Text]) {
        // A missing class is noted under its name.
        let missing = self.unused.get(noted).map(|listed| listed.class.clone());
        let first = first.filter(|_| missing.is_none()).cloned();
        let class = missing.unwrap_or_else(|| class.clone());
        let repeated = repeated.iter().cloned().map(IncludedBy::Mapping);
        let all = first.into_iter().chain(repeated);
        self.unused.extend(all.map(|by| ListedClass { class: class.clone(), by, origin: Origin::NONE }));
    }

    /// Takes a step that another node has taken, or takes it for all.
    fn step(&mut self, step: SequenceStep, take: impl FnOnce(&mut Self)) {
        let revision = self.lookup.revision();
        let next = self.sequence.next(&step, revision, |dependencies| self.lookup.is_current(dependencies));
        if let Some(next) = next {
            self.sequence = next;
            return;
        }
        failpoint("a class is brought in");
        self.note();
        self.own = false;
        let warnings = self.warnings.len();
        take(self);
        let before = self.sequence.clone();
        // What failed before may be why nothing fails now.
        let own = self.own || self.warnings.len() > warnings || !self.faults.is_empty();
        self.complete();
        // What added nothing in has nothing to say when it no longer holds.
        if !own && !Arc::ptr_eq(&before, &self.sequence) {
            before.share(step, &self.sequence);
        }
    }

    /// Adds what was added in to the sequence.
    fn complete(&mut self) {
        let mut added = std::mem::take(&mut self.added);
        added.dependencies = self.lookup.end_record();
        if added.layers.is_empty() && added.classes.is_empty() {
            // A class that is there already, or is missing: it may have been asked for all the same.
            self.lookup.record(&added.dependencies);
            return;
        }
        self.sequence = self.sequence.child(added, self.lookup.revision());
        self.noted = self.sequence.clone();
    }

    /// Takes note of what shared steps added in, and begins to record what is asked for.
    fn note(&mut self) {
        self.lookup.begin_record();
        if Arc::ptr_eq(&self.noted, &self.sequence) {
            return;
        }
        for step in self.sequence.steps_after(&self.noted) {
            self.shown.extend(step.classes.iter().cloned());
            self.done.extend(step.included.iter().map(|included| included.name.clone()));
        }
        self.noted = self.sequence.clone();
    }

    /// The name of a class that is listed, its references resolved; `None` where one of them fails.
    fn name_of(&mut self, entry: &ClassEntry, by: &IncludedBy) -> Option<Text> {
        match &entry.template {
            None => Some(entry.lookup.clone()),
            Some(template) => self.resolve(entry, template, by),
        }
    }

    /// Appends the class list of one file that is complete.
    fn list(&mut self, shown: Vec<Text>) {
        for name in shown {
            if self.shown.insert(name.clone()) {
                self.added.classes.push(name);
            }
        }
    }

    /// Brings in the parents of one file; gives back their names as the result shows them.
    fn parents(&mut self, entries: &[ClassEntry], by: &IncludedBy) -> Vec<Text> {
        let mut shown = Vec::with_capacity(entries.len());
        for entry in entries {
            if self.is_over() {
                break;
            }
            // What is merged so far holds what the node itself says.
            self.own |= entry.template.is_some();
            let Some(resolved) = self.name_of(entry, by) else { continue };
            let name = self.include(entry, &resolved, by);
            let resolved = self.displayed_name.take().unwrap_or(resolved);
            let class = if name == entry.name { resolved } else { name.clone() };
            self.added.listings.push(ListedClass { class, by: by.clone(), origin: entry.origin });
            shown.push(name);
        }
        shown
    }

    /// Brings in one class under the first of its names that exists.
    fn include(&mut self, entry: &ClassEntry, resolved: &Text, by: &IncludedBy) -> Text {
        if self.done.contains(resolved) {
            return entry.name.clone();
        }
        for (index, name) in std::iter::once(resolved).chain(&entry.alternatives).enumerate() {
            let shown = if index == 0 { entry.name.clone() } else { name.clone() };
            if self.done.contains(name) {
                return shown;
            }
            if let Some(at) = self.active.iter().position(|(active, ..)| active == name) {
                let fault = self.cycle(at, entry, by);
                self.fail(fault);
                return shown;
            }
            match self.lookup.class(name) {
                Ok(Some(layer)) => {
                    self.enter(name, &shown, &layer, entry.origin, by);
                    return shown;
                }
                Ok(None) => {}
                Err(UnreadableFile { error, rest }) => {
                    let chain = self.chain(by, name, entry.origin);
                    let room = (MAX_FAULTS + 1).saturating_sub(self.faults.len());
                    let told = error.faults().iter().take(room);
                    self.faults.extend(told.map(|fault| Fault { chain: chain.clone(), ..fault.clone() }));
                    if !rest.as_ref().is_some_and(|rest| rest.whole) {
                        self.mark_incomplete();
                    }
                    match rest {
                        Some(rest) => self.enter(name, &shown, &rest.layer, entry.origin, by),
                        None => drop(self.done.insert(name.clone())),
                    }
                    return shown;
                }
            }
        }
        self.missing(entry, resolved, by);
        entry.name.clone()
    }

    fn enter(&mut self, name: &Text, written: &Text, layer: &Arc<Layer>, listed: Origin, by: &IncludedBy) {
        let index = 1 + self.sequence.file_count + self.added.included.len();
        let most = self.settings.limit_classes as usize;
        let deepest = self.settings.limit_include_depth as usize;
        let beyond = if self.active.len() >= deepest {
            Some(("the depth of class includes", deepest, "limit_include_depth"))
        } else {
            (index > most).then_some(("the number of classes of a node", most, "limit_classes"))
        };
        if let Some((what, limit, setting)) = beyond {
            let kind = Kind::EvaluationLimit { what, limit, setting: Some(setting) };
            self.fail(self.place(Fault::new(kind), listed, by));
            self.completeness = Completeness::Stopped;
            return;
        }
        // Where the node's file lists it is for that node alone to know.
        let listed = if matches!(by, IncludedBy::Includer(0)) { Origin::NONE } else { listed };
        let included = IncludedFile { name: name.clone(), file: layer.file, by: by.clone(), listed };
        self.added.included.push(included);
        self.active.push((name.clone(), written.clone(), index));
        let shown = grow(|| self.parents(&layer.classes, &IncludedBy::Includer(index)));
        self.active.pop();
        self.list(shown);
        self.added.layers.push(layer.clone());
        self.done.insert(name.clone());
    }
}
