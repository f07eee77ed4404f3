//! Searches for further problems of a failed path, so that all problems of a node are reported at once (R5).
//!
//! The evaluation of a path ends with its first problem. This module evaluates the parts that the path needs
//! regardless of that problem: the other references of a text, those inside of a reference, and the values of
//! later layers. It leaves out possible consequences: a reference with a missing one in its name, and the
//! values of earlier layers, which the missing value may replace. If two containers conflict, it evaluates
//! both. No value depends on this module.

use super::fold::{FailedEntry, standing};
use super::memo::SlotKey;
use super::{Deferred, Evaluator, Found, Mode, Stop};
use crate::model::slot::{Slot, StackEntry, StackSlot};
use crate::model::template::{Part, Template};
use reclass_base::error::{Fault, Kind, MAX_FAULTS};
use reclass_base::source::Origin;
use reclass_base::value::Text;

/// The maximum number of faults in layers' values to report per path. After each one, the later values are
/// folded again.
const MOST_FOLDS: usize = 16;

/// Which missing references of a text to report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// All of them.
    All,
    /// Only those inside of other references. The others are forgiven if a later layer replaces the text
    /// (R6).
    Certain,
}

impl Evaluator<'_> {
    /// Reports the other problems of a failed text.
    pub(super) fn report_further_in_text(&mut self, template: &Template, origin: Origin) {
        self.rest_of_text(template, origin, Rest::All);
    }

    /// Reports the other problems of a failed slot.
    pub(super) fn report_further(&mut self, slot: &Slot) {
        if self.first_is_enough() {
            return;
        }
        self.push_active(SlotKey::of(slot), slot.origin());
        // Nothing is examined beyond the depth limit.
        let _: Result<(), Stop> = self.deeper(|evaluator| {
            evaluator.rest_of(slot, Rest::All);
            Ok(())
        });
        self.pop_active();
    }

    /// Reports the other problems of a failed text: its other references.
    fn rest_of_text(&mut self, template: &Template, origin: Origin, rest: Rest) {
        if self.first_is_enough() {
            return;
        }
        match template.parts.as_slice() {
            // This is the reference that failed.
            [Part::Reference(reference)] => {
                self.rest_of_parts(&reference.parts, &template.source, origin, Rest::All);
            }
            parts => drop(self.rest_of_parts(parts, &template.source, origin, rest)),
        }
    }

    /// Whether the first problem is enough.
    fn first_is_enough(&self) -> bool {
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

    /// Evaluates all references of a text, or those inside of a reference. If a reference fails, those inside
    /// of it come first. Returns whether all of them have a value.
    fn rest_of_parts(&mut self, parts: &[Part], source: &Text, origin: Origin, rest: Rest) -> bool {
        let mut all = true;
        for part in parts {
            let Part::Reference(reference) = part else { continue };
            if self.first_is_enough() {
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
                    // The text may be forgiven because of this reference, whatever else is wrong in it.
                    return false;
                }
                self.report_once(stop);
                all = false;
            }
        }
        all
    }

    /// Examines the entries of a stack after the one that failed.
    fn rest_of_stack(&mut self, stack: &StackSlot) {
        let forgive = self.settings.ignore_overwritten_missing_references;
        if let Some(found) = self.rest_of_entries(standing(&stack.entries), forgive, false) {
            self.defer(found);
        }
    }

    /// Stores a container of this path for examination.
    fn defer(&mut self, found: Found) {
        if found.whnf.is_container() {
            let (path, export) = (self.path_keys().to_vec(), self.is_export());
            self.deferred.push(Deferred { found, path, export });
        }
    }

    /// Folds entries whose first one is a container that conflicts with the values before it, and returns the
    /// result. Its problems remain however the conflict is fixed, unless later layers replace them. If a
    /// later entry conflicts in turn, stores the fold of the others for examination, unless a setting may let
    /// that entry replace them.
    fn rest_of_container(&mut self, entries: &[StackEntry], forgive: bool) -> Option<Found> {
        let failed = match self.fold_entries(entries, entries.len(), forgive) {
            Ok(found) => return Some(found),
            Err(failed) => failed,
        };
        self.defer_others(entries, &failed, forgive);
        None
    }

    /// One of these entries failed. If it is a container that no setting lets replace the values before it,
    /// stores the fold of the other entries for examination: later ones may replace faulty parts of earlier
    /// ones.
    fn defer_others(&mut self, entries: &[StackEntry], failed: &FailedEntry, forgive: bool) {
        let conflict = entries.get(failed.at).and_then(|entry| conflict(&failed.stop, entry));
        if !matches!(conflict, Some(Kind::MergeType { setting: None, .. })) {
            return;
        }
        let (before, behind) = entries.split_at(failed.at);
        let others = [before, &behind[1..]].concat();
        if let Ok(found) = self.fold_entries(&others, others.len(), forgive) {
            self.defer(found);
        }
    }

    /// Reports the faults of layers' values for one path, one after the other. Returns the fold of those
    /// after the last fault. `forgive` is whether later values may make up for a missing reference. Values
    /// that later ones replaced (`replaced`) always have later values, and may be cycles (R16).
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
                    if found.whnf.is_container() {
                        // Nothing makes up for a missing reference that a container replaces (R6).
                        for (template, origin) in uncertain {
                            self.rest_of_parts(&template.parts, &template.source, origin, Rest::All);
                        }
                    }
                    return Some(found);
                }
                Err(failed) => failed,
            };
            if !replaced {
                self.defer_others(rest, &problem, forgive);
            }
            let FailedEntry { at, stop, certain } = problem;
            let cycle = |fault: &Fault| matches!(fault.kind, Kind::ReferenceCycle { .. });
            if replaced && matches!(&stop, Stop::Fault(fault) if cycle(fault)) {
                return None;
            }
            let (failed, behind) = rest.split_at(at + 1);
            let conflicts = failed.last().is_some_and(|entry| {
                matches!(entry.slot, Slot::Map(_) | Slot::Raw(_) | Slot::List(_))
                    && conflict(&stop, entry).is_some()
            });
            self.report_once(stop);
            if self.first_is_enough() {
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

    /// Reports the problems inside of the containers of failed paths.
    pub(super) fn examine_deferred(&mut self) {
        while !self.deferred.is_empty() {
            for Deferred { found, path, export } in std::mem::take(&mut self.deferred) {
                let before = self.enter(path.iter());
                self.exports = export;
                let recorded = self.faults.len();
                if let Err(stop) = self.deep_found(&found) {
                    self.report_once(stop);
                }
                // Two containers may have the same content at different indexes.
                let new = self.faults.split_off(recorded);
                for fault in new {
                    if !self.faults.iter().any(|recorded| same_message(recorded, &fault)) {
                        self.faults.push(fault);
                    }
                }
                self.leave(before);
            }
        }
    }

    /// Records a fault unless it is already recorded.
    pub(super) fn report_once(&mut self, stop: Stop) {
        let fault = match &stop {
            Stop::Missing(not_found) => &not_found.fault,
            Stop::Fault(fault) => fault,
            Stop::Reported => return,
        };
        if !self.faults.iter().any(|recorded| recorded.path == fault.path && same_message(recorded, fault)) {
            self.report(stop);
        }
    }
}

/// The conflict of an entry with the values before it.
fn conflict<'s>(stop: &'s Stop, entry: &StackEntry) -> Option<&'s Kind> {
    let Stop::Fault(fault) = stop else { return None };
    let own = matches!(fault.kind, Kind::MergeType { .. }) && fault.origin == Some(entry.slot.origin());
    own.then_some(&fault.kind)
}

/// Whether a fault has the same origin and message as another one.
fn same_message(recorded: &Fault, fault: &Fault) -> bool {
    (recorded.origin, recorded.sub_span) == (fault.origin, fault.sub_span)
        && recorded.kind.to_string() == fault.kind.to_string()
}
