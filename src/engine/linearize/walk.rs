//! Walks the class lists depth first, step by step. A step that another node with the same first classes
//! has taken is reused.

use std::sync::Arc;

use super::names::ResolvedName;
use super::{Completeness, IncludedBy, IncludedFile, Linearizer, ListedClass, MAX_FAULTS};
use crate::engine::sequence::SequenceStep;
use crate::model::layer::{ClassEntry, Incomplete, Layer, LayerSource};
use reclass_base::error::{Error, Fault, Kind, Link};
use reclass_base::failpoints::failpoint;
use reclass_base::source::{FileId, Origin};
use reclass_base::stack::grow;
use reclass_base::value::Text;

impl Linearizer<'_> {
    pub(super) fn mapped_classes(&mut self) {
        let mut shown = Vec::new();
        for mapped in self.input.mapped {
            let by = IncludedBy::Mapping(mapped.mapping.clone());
            let (file, settings) = (FileId::NONE, self.settings);
            let subject = LayerSource { file, name: "", init: false, is_class: false, settings };
            // A leading dot has no meaning in a mapping.
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

    /// Adds a fault that keeps a class from being included.
    pub(super) fn fail(&mut self, fault: Fault) {
        self.faults.push(fault);
        self.mark_incomplete();
    }

    /// Records that a class was not included.
    pub(super) fn mark_incomplete(&mut self) {
        if self.completeness == Completeness::Complete {
            self.completeness = Completeness::Partial;
        }
    }

    /// Whether the linearization stops here.
    fn is_over(&self) -> bool {
        self.completeness == Completeness::Stopped || self.faults.len() > MAX_FAULTS
    }

    /// Includes the classes in the node's own list, or in a class mapping, one step for each. `mapping` is
    /// the class mapping, together with later mappings that repeat the class.
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
            match self.matching(&resolved, entry, by) {
                None => shown.push(self.top_class(entry, &resolved.name, mapping)),
                Some(classes) => {
                    if classes.is_empty() && !self.is_over() {
                        self.listed.extend(mapping.is_none().then(|| (resolved.name.clone(), entry.origin)));
                        self.missing(entry, &resolved.name, by);
                    }
                    for class in &*classes {
                        if self.is_over() {
                            break;
                        }
                        shown.push(self.top_class(&entry.of_pattern(class), class, mapping));
                    }
                }
            }
        }
        shown
    }

    /// Includes one class of the node's own list, or of a class mapping. Returns its name as the result shows it.
    fn top_class(
        &mut self,
        entry: &ClassEntry,
        resolved: &Text,
        mapping: Option<(&IncludedBy, &[Text])>,
    ) -> Text {
        let by = mapping.map_or(&IncludedBy::Includer(0), |(by, _)| by);
        let first = self.listed.len();
        if mapping.is_none() {
            self.listed.push((resolved.clone(), entry.origin));
        }
        let before = (Arc::as_ptr(&self.sequence), self.unused.len(), self.faults.len());
        let shown = if entry.alternatives.is_empty() {
            let mapping = match by {
                IncludedBy::Mapping(text) => Some(text.clone()),
                _ => None,
            };
            self.step(SequenceStep::Class(resolved.clone(), mapping), |linearizer| {
                linearizer.include(entry, resolved, by);
            });
            entry.name.clone()
        } else {
            let alternatives = entry.alternatives.iter().map(|name| (name.clone(), entry.origin));
            self.listed.extend(alternatives.filter(|_| mapping.is_none()));
            self.note();
            let shown = self.include(entry, resolved, by);
            self.complete();
            // Of the forms of a relative name, only the one that was found is listed.
            if mapping.is_none() && shown != entry.name {
                self.listed[first].0 = shown.clone();
            }
            self.listed.truncate(first + 1);
            shown
        };
        if let (Some((by, repeated)), true) = (mapping, self.faults.len() == before.2) {
            let class = if shown == entry.name { resolved } else { &shown };
            let added = Arc::as_ptr(&self.sequence) != before.0;
            self.list_unused(class, (!added).then_some(by), before.1, repeated);
        }
        shown
    }

    /// The classes that a name includes as a pattern, without the class whose list is processed. `None` if the
    /// name is no pattern, or if a class has this very name.
    fn matching(
        &mut self,
        resolved: &ResolvedName,
        entry: &ClassEntry,
        by: &IncludedBy,
    ) -> Option<Arc<[Text]>> {
        let pattern = resolved.pattern.as_ref()?;
        if self.lookup.has(&resolved.name) {
            return None;
        }
        let matching = match self.lookup.matching(pattern) {
            Ok(matching) => matching,
            Err(error) => {
                let chain = self.chain(by, &resolved.name, entry.origin);
                self.report(&error, &chain, false);
                self.completeness = Completeness::Stopped;
                return Some(Arc::default());
            }
        };
        match self.active.last() {
            Some((own, ..)) if matching.binary_search(own).is_ok() => {
                Some(matching.iter().filter(|name| *name != own).cloned().collect())
            }
            _ => Some(matching),
        }
    }

    /// Records the entries of class mappings without effect: the first one if it added nothing, and all
    /// that repeat it. `noted` is the number of entries before this class.
    fn list_unused(&mut self, class: &Text, first: Option<&IncludedBy>, noted: usize, repeated: &[Text]) {
        // A missing class is recorded under its displayed name.
        let missing = self.unused.get(noted).map(|listed| listed.class.clone());
        let first = first.filter(|_| missing.is_none()).cloned();
        let class = missing.unwrap_or_else(|| class.clone());
        let repeated = repeated.iter().cloned().map(IncludedBy::Mapping);
        let all = first.into_iter().chain(repeated);
        self.unused.extend(all.map(|by| ListedClass { class: class.clone(), by, origin: Origin::NONE }));
    }

    /// Takes a step: reuses the step of another node, or computes it for all.
    fn step(&mut self, step: SequenceStep, take: impl FnOnce(&mut Self)) {
        let generation = self.computation.generation;
        let next =
            self.sequence.next(&step, generation, |dependencies| self.computation.changed(dependencies));
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
        // An earlier fault may be the reason that this step has none.
        let own = self.own || self.warnings.len() > warnings || !self.faults.is_empty();
        self.complete();
        // A step without additions has no dependencies to verify, so it is not shared.
        if !own && !Arc::ptr_eq(&before, &self.sequence) {
            before.share(step, &self.sequence);
        }
    }

    /// Appends the additions of this step to the sequence.
    fn complete(&mut self) {
        let mut added = std::mem::take(&mut self.added);
        added.dependencies = self.computation.recorder.end();
        if added.layers.is_empty() && added.classes.is_empty() {
            // An included or missing class adds nothing, but its lookup is a dependency.
            self.computation.record(&added.dependencies);
            return;
        }
        self.sequence = self.sequence.child(added, self.computation.generation);
        self.noted = self.sequence.clone();
    }

    /// Catches up with the additions of shared steps, and begins a record of dependencies.
    fn note(&mut self) {
        self.computation.recorder.begin();
        if Arc::ptr_eq(&self.noted, &self.sequence) {
            return;
        }
        for step in self.sequence.steps_after(&self.noted) {
            self.shown.extend(step.classes.iter().cloned());
            self.done.extend(step.included.iter().map(|included| included.name.clone()));
        }
        self.noted = self.sequence.clone();
    }

    /// The class name of an entry, with references resolved; `None` if one of them fails.
    fn name_of(&mut self, entry: &ClassEntry, by: &IncludedBy) -> Option<ResolvedName> {
        match &entry.template {
            None => {
                let name = entry.lookup.clone();
                Some(ResolvedName { pattern: entry.wild.then(|| name.clone()), name })
            }
            Some(template) => self.resolve(entry, template, by),
        }
    }

    /// Appends the class list of one complete file.
    fn list(&mut self, shown: Vec<Text>) {
        for name in shown {
            if self.shown.insert(name.clone()) {
                self.added.classes.push(name);
            }
        }
    }

    /// Includes the parents of one file, and returns their names as the result shows them.
    fn parents(&mut self, entries: &[ClassEntry], by: &IncludedBy) -> Vec<Text> {
        let mut shown = Vec::with_capacity(entries.len());
        for entry in entries {
            if self.is_over() {
                break;
            }
            // The merged parameters contain those of the node, so this step depends on the node.
            self.own |= entry.template.is_some();
            let Some(resolved) = self.name_of(entry, by) else { continue };
            match self.matching(&resolved, entry, by) {
                None => shown.push(self.parent(entry, resolved.name, by)),
                Some(classes) => {
                    if classes.is_empty() && !self.is_over() {
                        self.missing(entry, &resolved.name, by);
                        let class = self.displayed_name.take().unwrap_or(resolved.name);
                        self.added.listings.push(ListedClass { class, by: by.clone(), origin: entry.origin });
                    }
                    for class in &*classes {
                        if self.is_over() {
                            break;
                        }
                        shown.push(self.parent(&entry.of_pattern(class), class.clone(), by));
                    }
                }
            }
        }
        shown
    }

    /// Includes one parent of a file. Returns its name as the result shows it.
    fn parent(&mut self, entry: &ClassEntry, resolved: Text, by: &IncludedBy) -> Text {
        let name = self.include(entry, &resolved, by);
        let resolved = self.displayed_name.take().unwrap_or(resolved);
        let class = if name == entry.name { resolved } else { name.clone() };
        self.added.listings.push(ListedClass { class, by: by.clone(), origin: entry.origin });
        name
    }

    /// Includes a class under the first of its names that exists.
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
                Err(Incomplete { error, rest, whole }) => {
                    let chain = self.chain(by, name, entry.origin);
                    self.report(&error, &chain, whole);
                    match rest {
                        Some(rest) => self.enter(name, &shown, &rest, entry.origin, by),
                        None => drop(self.done.insert(name.clone())),
                    }
                    return shown;
                }
            }
        }
        self.missing(entry, resolved, by);
        entry.name.clone()
    }

    /// Adds the faults of a file that this include chain leads to.
    fn report(&mut self, error: &Error, chain: &[Link], whole: bool) {
        let remaining = (MAX_FAULTS + 1).saturating_sub(self.faults.len());
        let reported = error.faults().iter().take(remaining);
        self.faults.extend(reported.map(|fault| Fault { chain: chain.to_vec(), ..fault.clone() }));
        if !whole {
            self.mark_incomplete();
        }
    }

    /// Adds a layer with the merge options of the one before it.
    fn push_after(&mut self, layer: &Arc<Layer>) {
        let before = self.added.layers.last().and_then(|last| last.rules());
        let layer = self.computation.roots.ruled(layer, before, &self.prefixes);
        self.added.layers.push(layer);
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
        // The position in the node's own file must not be shared with other nodes.
        let listed = if matches!(by, IncludedBy::Includer(0)) { Origin::NONE } else { listed };
        let included = IncludedFile { name: name.clone(), file: layer.file, by: by.clone(), listed };
        self.added.included.push(included);
        self.active.push((name.clone(), written.clone(), index));
        let shown = grow(|| self.parents(&layer.classes, &IncludedBy::Includer(index)));
        self.active.pop();
        self.list(shown);
        let before = self.added.layers.last().map_or(self.sequence.rules.as_ref(), |last| last.rules());
        let layer = self.computation.roots.ruled(layer, before, &self.prefixes);
        self.added.layers.push(layer);
        for layer in self.computation.etcd_layers(true, name).iter() {
            match layer {
                Ok(layer) => self.push_after(layer),
                Err(Incomplete { error, rest, whole }) => {
                    let chain = self.chain(by, name, listed);
                    self.report(error, &chain, *whole);
                    if let Some(rest) = rest {
                        self.push_after(rest);
                    }
                }
            }
        }
        self.done.insert(name.clone());
    }
}
