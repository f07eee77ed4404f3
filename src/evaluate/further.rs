//! Looking further turns a place that failed into what else is wrong with it.
//!
//! The evaluation of a place ends with its first problem. What the place needs whatever that comes to is
//! looked at here, so that all problems of a node are told in one go (R5): the other references of a
//! text, those inside of a reference, and the values that later layers have for the place. What may be a
//! consequence is left alone: a reference with a missing one in its name, and what earlier layers say,
//! which the missing value may replace. Of two containers that do not fit, both are looked into. No value
//! depends on anything here.

use super::fold::{Failed, standing};
use super::{Evaluator, Found, Mode, Stop};
use crate::base::error::{Fault, Kind, MAX_FAULTS};
use crate::base::source::Origin;
use crate::base::value::{Key, Text};
use crate::model::slot::{Slot, StackEntry, StackSlot};
use crate::model::template::{Part, Template};

/// A container of a place that failed, to be looked into when all else is known: what is in it may refer
/// to places that are not finished.
pub(super) struct Hidden {
    found: Found,
    path: Vec<Key>,
    /// Whether it stands among the exports.
    export: bool,
}

/// How many problems with the values of layers for one place are told: what is behind each of them is
/// folded anew.
const MOST_FOLDS: usize = 16;

/// Which references of a text are told that lead nowhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// All of them.
    All,
    /// Those inside of others: the others are forgiven where a later layer replaces the text (R6).
    Certain,
}

impl Evaluator<'_> {
    /// Tells what else is wrong with a place that failed.
    pub(super) fn look_further(&mut self, slot: &Slot) {
        if self.tells_one() {
            return;
        }
        self.push_active(std::ptr::from_ref(slot) as usize, slot.origin());
        // Beyond the limit of the depth nothing is looked at.
        let _: Result<(), Stop> = self.deeper(|evaluator| {
            evaluator.rest_of(slot, Rest::All);
            Ok(())
        });
        self.pop_active();
    }

    /// Tells what else is wrong with a text that failed: its other references.
    pub(super) fn rest_of_text(&mut self, template: &Template, origin: Origin, rest: Rest) {
        if self.tells_one() {
            return;
        }
        match template.parts.as_slice() {
            // It is the one that failed.
            [Part::Reference(reference)] => {
                self.rest_of_parts(&reference.parts, &template.source, origin, Rest::All);
            }
            parts => drop(self.rest_of_parts(parts, &template.source, origin, rest)),
        }
    }

    /// Whether one problem says all that is asked for.
    fn tells_one(&self) -> bool {
        matches!(self.mode, Mode::Fast | Mode::Explain)
            || !self.settings.group_errors
            || self.faults.len() > MAX_FAULTS
    }

    fn rest_of(&mut self, slot: &Slot, rest: Rest) {
        match slot {
            Slot::Text(template, origin) => self.rest_of_text(template, *origin, rest),
            Slot::Stack(stack) => self.rest_of_stack(stack),
            Slot::Query(query, origin) if self.others.is_some() => {
                for comparison in query.comparisons() {
                    if let Err(stop) = self.operand(&comparison.operand, &query.source, *origin) {
                        self.report_once(stop);
                    }
                }
            }
            _ => {}
        }
    }

    /// Looks at all references of a text or inside of a reference, of one that fails at those inside of it
    /// first; tells whether all of them have a value.
    fn rest_of_parts(&mut self, parts: &[Part], source: &Text, origin: Origin, rest: Rest) -> bool {
        let mut all = true;
        for part in parts {
            let Part::Reference(reference) = part else { continue };
            if self.tells_one() {
                return false;
            }
            let value = self.resolve(reference, source, origin).and_then(|found| self.deep_found(&found));
            if let Err(stop) = value {
                if reference.fixed.is_none()
                    && !self.rest_of_parts(&reference.parts, source, origin, Rest::All)
                {
                    all = false;
                    continue;
                }
                if rest == Rest::Certain && matches!(stop, Stop::Missing(_)) {
                    // The text may be forgiven for it, whatever else is in it.
                    return false;
                }
                self.report_once(stop);
                all = false;
            }
        }
        all
    }

    /// Looks at what stands in a stack behind the value that failed.
    fn rest_of_stack(&mut self, stack: &StackSlot) {
        let forgive = self.settings.ignore_overwritten_missing_references;
        if let Some(found) = self.rest_of_entries(standing(&stack.entries), forgive, false) {
            self.hide(found);
        }
    }

    /// Keeps a container of this place to be looked into.
    fn hide(&mut self, found: Found) {
        if found.head.is_container() {
            let (path, export) = (self.path_keys().to_vec(), self.is_export());
            self.hidden.push(Hidden { found, path, export });
        }
    }

    /// The first of these is a container that does not fit what stands before it. What is wrong in it is
    /// so however that is mended, but for what later layers replace: gives back what all of them come to.
    /// Where a later one does not fit in turn, what stands before that is kept to be looked into, unless a
    /// setting may let it replace all.
    fn rest_of_container(&mut self, entries: &[StackEntry], forgive: bool) -> Option<Found> {
        let failed = match self.fold_entries(entries, entries.len(), forgive) {
            Ok(found) => return Some(found),
            Err(failed) => failed,
        };
        self.hide_around(entries, &failed, forgive);
        None
    }

    /// One of these failed. If it is a container that cannot replace what stands before it by any setting,
    /// what the others come to is kept to be looked into: later ones may replace what is wrong in earlier.
    fn hide_around(&mut self, entries: &[StackEntry], failed: &Failed, forgive: bool) {
        let conflict = entries.get(failed.at).and_then(|entry| conflict(&failed.stop, entry));
        if !matches!(conflict, Some(Kind::MergeType { setting: None, .. })) {
            return;
        }
        let (before, behind) = entries.split_at(failed.at);
        let others = [before, &behind[1..]].concat();
        if let Ok(found) = self.fold_entries(&others, others.len(), forgive) {
            self.hide(found);
        }
    }

    /// Tells what is wrong with the values of layers for one place, one after the other; gives back what
    /// those behind the last problem come to. `forgive` tells whether later values may make up for a
    /// missing reference. Those that a `~` replaced have values behind them, and may go in a circle (R16).
    pub(super) fn rest_of_entries(
        &mut self,
        entries: &[StackEntry],
        forgive: bool,
        replaced: bool,
    ) -> Option<Found> {
        let mut rest = entries;
        let mut uncertain: Vec<(&Template, Origin)> = Vec::new();
        for _ in 0..MOST_FOLDS {
            if rest.is_empty() {
                return None;
            }
            let total = if replaced { usize::MAX } else { rest.len() };
            let problem = match self.fold_entries(rest, total, forgive) {
                Ok(found) => {
                    if found.head.is_container() {
                        // Nothing makes up for what a container replaces (R6).
                        for (template, origin) in uncertain {
                            self.rest_of_parts(&template.parts, &template.source, origin, Rest::All);
                        }
                    }
                    return Some(found);
                }
                Err(failed) => failed,
            };
            if !replaced {
                self.hide_around(rest, &problem, forgive);
            }
            let Failed { at, stop, certain } = problem;
            let circle = |fault: &Fault| matches!(fault.kind, Kind::ReferenceCycle { .. });
            if replaced && matches!(&stop, Stop::Fault(fault) if circle(fault)) {
                return None;
            }
            let (failed, behind) = rest.split_at(at + 1);
            let conflicts = failed.last().is_some_and(|entry| {
                matches!(entry.slot, Slot::Map(_) | Slot::Raw(_) | Slot::List(_))
                    && conflict(&stop, entry).is_some()
            });
            self.report_once(stop);
            if self.tells_one() {
                return None;
            }
            if conflicts
                && !replaced
                && let Some(found) = self.rest_of_container(&rest[at..], forgive)
            {
                return Some(found);
            }
            if let Some(entry) = failed.last()
                && (!replaced || matches!(entry.slot, Slot::Text(..)))
            {
                self.rest_of(&entry.slot, if certain { Rest::All } else { Rest::Certain });
            }
            uncertain.extend(failed.iter().filter_map(|entry| match &entry.slot {
                Slot::Text(template, origin) => Some((&**template, *origin)),
                _ => None,
            }));
            rest = behind;
        }
        None
    }

    /// Tells what is wrong inside of the containers of places that failed.
    pub(super) fn examine_hidden(&mut self) {
        while !self.hidden.is_empty() {
            for Hidden { found, path, export } in std::mem::take(&mut self.hidden) {
                let before = self.enter(path.iter());
                self.exports = export;
                let told = self.faults.len();
                if let Err(stop) = self.deep_found(&found) {
                    self.report_once(stop);
                }
                // Two containers may hold the same, at another index.
                let new = self.faults.split_off(told);
                for fault in new {
                    if !self.faults.iter().any(|told| is_told(told, &fault)) {
                        self.faults.push(fault);
                    }
                }
                self.leave(before);
            }
        }
    }

    /// Takes note of a problem that may have been told.
    pub(super) fn report_once(&mut self, stop: Stop) {
        let fault = match &stop {
            Stop::Missing(not_found) => &not_found.fault,
            Stop::Fault(fault) => fault,
            Stop::Reported => return,
        };
        if !self.faults.iter().any(|told| told.path == fault.path && is_told(told, fault)) {
            self.report(stop);
        }
    }
}

/// The problem of an entry that does not fit what stands before it.
fn conflict<'s>(stop: &'s Stop, entry: &StackEntry) -> Option<&'s Kind> {
    let Stop::Fault(fault) = stop else { return None };
    let own = matches!(fault.kind, Kind::MergeType { .. }) && fault.origin == Some(entry.slot.origin());
    own.then_some(&fault.kind)
}

/// Whether a problem stands where another one does, in the same words.
fn is_told(told: &Fault, fault: &Fault) -> bool {
    (told.origin, told.sub_span) == (fault.origin, fault.sub_span)
        && told.kind.to_string() == fault.kind.to_string()
}
