//! Checks the class lists of class files that no node uses: unknown classes and cycles. Names with references
//! are skipped, because they depend on the node.

use std::vec::IntoIter;

use rustc_hash::FxHashMap;

use super::linter::Linter;
use super::param::MOST_SIMILAR;
use crate::survey::ClassFiles;
use reclass::parts::model::ClassEntry;
use reclass_base::error::{Fault, Kind};
use reclass_base::value::Text;

/// Checks the lists of all class files that no node uses, or may use.
pub fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let (files, classes) = (&linter.survey.files, linter.survey.class_files());
    let state = vec![VisitState::New; files.len()];
    let mut walk = Walk { linter, classes, state, similar: FxHashMap::default(), found };
    for at in 0..files.len() {
        walk.from(at);
    }
}

/// An entry, and the index of the file of the class that it names.
type Target<'l> = (&'l ClassEntry, Option<usize>);

#[derive(Clone, Copy, PartialEq)]
enum VisitState {
    New,
    /// On the current path from the first file.
    Active,
    Done,
}

struct Walk<'a, 'l> {
    linter: &'l Linter<'l>,
    classes: ClassFiles<'l>,
    state: Vec<VisitState>,
    /// Similar names of unknown classes, cached because many files list the same names.
    similar: FxHashMap<Text, Option<String>>,
    found: &'a mut Vec<Fault>,
}

impl<'l> Walk<'_, 'l> {
    fn from(&mut self, start: usize) {
        // Files with the rest of their entries. An explicit stack, because the depth of includes has no limit.
        let mut path: Vec<(usize, IntoIter<Target<'l>>)> = Vec::new();
        self.enter(start, &mut path);
        while let Some((at, targets)) = path.last_mut() {
            match targets.next() {
                None => {
                    self.state[*at] = VisitState::Done;
                    path.pop();
                }
                Some((entry, None)) => {
                    let leading = path.iter().map(|(at, _)| *at).collect::<Vec<_>>();
                    self.missing(entry, &leading);
                }
                Some((entry, Some(class))) if self.state[class] == VisitState::Active => {
                    self.report_cycle(&path, class, entry);
                }
                Some((_, Some(class))) => self.enter(class, &mut path),
            }
        }
    }

    /// The entries of a file without references, with the classes that they name. A pattern names several.
    fn targets(&self, at: usize) -> IntoIter<Target<'l>> {
        let mut targets = Vec::new();
        for entry in self.entries(at).iter().filter(|entry| entry.template.is_none()) {
            let classes = self.classes.named(entry, at);
            let missing = classes.is_empty().then_some((entry, None));
            targets.extend(classes.into_iter().map(|class| (entry, Some(class))).chain(missing));
        }
        targets.into_iter()
    }

    /// Visits a file, unless nodes use it: they report its faults.
    fn enter(&mut self, at: usize, path: &mut Vec<(usize, IntoIter<Target<'l>>)>) {
        let Some(file) = self.linter.survey.files.get(at) else { return };
        if self.state[at] == VisitState::New && self.linter.is_unused(file) {
            self.state[at] = VisitState::Active;
            path.push((at, self.targets(at)));
        }
    }

    fn entries(&self, at: usize) -> &'l [ClassEntry] {
        let layer = self.linter.survey.files.get(at).and_then(|file| file.layer.as_ref().ok());
        layer.map_or(&[], |layer| &layer.classes)
    }

    /// Reports an entry without a class. `leading` are the files that lead to it: no similar name is one of
    /// theirs.
    fn missing(&mut self, entry: &ClassEntry, leading: &[usize]) {
        let name = entry.lookup.to_string();
        let computation = self.linter.context;
        if computation.ignored.is_some_and(|ignored| ignored.matches(&name).unwrap_or(false)) {
            return;
        }
        let is_sought = self.similar.len() < MOST_SIMILAR;
        let known = self.similar.entry(entry.lookup.clone());
        let similar = known.or_insert_with_key(|name| {
            let similar = || reclass_base::similar::class(name, self.classes.names());
            is_sought.then(similar).flatten().map(str::to_owned)
        });
        let name_of = |at: &usize| self.linter.survey.files.get(*at).map(|file| &*file.name);
        let is_leading = |similar: &String| leading.iter().filter_map(name_of).any(|name| name == similar);
        let similar = similar.clone().filter(|similar| !entry.wild && !is_leading(similar));
        let written = entry.name.to_string();
        self.report(
            Kind::ClassNotFound { name, written, folder: String::new(), similar, shown: None },
            entry,
        );
    }

    fn report_cycle(&mut self, path: &[(usize, IntoIter<Target<'l>>)], class: usize, entry: &ClassEntry) {
        let cycle = path.iter().map(|(at, _)| *at).skip_while(|at| *at != class).chain([class]);
        let names = cycle.filter_map(|at| self.linter.survey.files.get(at)).map(|file| file.name.to_string());
        let cycle = names.collect::<Vec<_>>().join(" -> ");
        self.report(Kind::ClassCycle { cycle }, entry);
    }

    fn report(&mut self, kind: Kind, entry: &ClassEntry) {
        let mut fault = Fault::new(kind).at(entry.origin);
        fault.site = self.linter.site(entry.origin);
        if let (Kind::ClassNotFound { .. }, Some(note)) = (&fault.kind, entry.missing_note()) {
            fault = fault.note(note, None);
        }
        self.found.push(fault);
    }
}
