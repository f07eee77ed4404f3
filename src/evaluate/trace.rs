//! A trace is the evaluator's own report: the effect of each layer's value at a path, and the value of each
//! reference. Explanations are made from traces, so they cannot disagree with the answer.
//!
//! The fold of a stack reports to a [`Tracer`]. Rendering passes `()`, which compiles to nothing.

use std::fmt;

use serde::Serialize;

use super::lists::ItemStep;
use super::{Evaluator, Found, Stop, Whnf};
use crate::model::slot::{Slot, StackEntry};
use crate::model::template::{Part, Reference, Template};
use reclass_base::error::{Fault, Kind};
use reclass_base::source::Origin;
use reclass_base::value::{Key, Text, Value};

/// The effect of a layer's value on the value of earlier layers at the same path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It is the first value of the path.
    Sets,
    /// It replaces the earlier value.
    Replaces,
    /// Its keys are merged into the earlier mapping.
    Merges,
    /// Its items are appended to the earlier list.
    Extends,
    /// It replaces a parent of the path, so the path no longer exists.
    Removes,
    /// It repeats the value of a constant.
    Repeats,
    /// It is ignored, because the earlier value is a constant.
    #[serde(rename = "held")]
    Ignored,
    /// Its reference has no value. A later layer may replace it.
    Missing,
    /// Its type does not fit the earlier value, which is an error.
    Conflicts,
}

impl Effect {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Sets => "sets",
            Effect::Replaces => "replaces",
            Effect::Merges => "merges",
            Effect::Extends => "extends",
            Effect::Removes => "removes",
            Effect::Repeats => "repeats",
            Effect::Ignored => "held",
            Effect::Missing => "missing",
            Effect::Conflicts => "conflicts",
        }
    }
}

/// Its name, as in JSON.
impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Receives the steps of a fold. Each value of the stack is one step.
pub(super) trait Tracer {
    /// Whether merged mappings keep a stack for each key, so that each value is a step at its own path.
    const TRACES: bool;
    /// The next value has this effect, decided by this setting.
    fn step(&mut self, effect: Effect, setting: Option<&'static str>, new: &Found);
    /// The effect of merge options on an item of the value.
    fn item(&mut self, step: ItemStep);
    /// The merge option that decides about the items of the value.
    fn declared(&mut self, origin: Origin, pattern: &str);
    /// The result after the step.
    fn result(&mut self, value: &Found);
    /// The next value replaces this result.
    fn replaced(&mut self, value: Found);
}

impl Tracer for () {
    const TRACES: bool = false;
    fn step(&mut self, _effect: Effect, _setting: Option<&'static str>, _new: &Found) {}
    fn item(&mut self, _step: ItemStep) {}
    fn declared(&mut self, _origin: Origin, _pattern: &str) {}
    fn result(&mut self, _value: &Found) {}
    fn replaced(&mut self, _value: Found) {}
}

/// The steps of one path, as reported by its fold.
pub struct FoldTrace<'k> {
    /// One step for each value.
    pub steps: Vec<FoldStep>,
    /// The results, in order, each until the next one replaced it.
    pub runs: Vec<Run>,
    /// Whether an earlier step failed, so that no later step has a result.
    failed: bool,
    /// Whether a list of this length may be stored.
    keeps: &'k dyn Fn(usize) -> bool,
}

/// The result of some steps, until it was replaced.
pub struct Run {
    /// The number of steps up to its end.
    pub end: usize,
    /// The result.
    pub value: Found,
    /// Whether an earlier step failed.
    pub failed: bool,
}

/// The effect of one value.
pub struct FoldStep {
    /// What the value did to those before.
    pub effect: Effect,
    /// The setting that decided it.
    pub setting: Option<&'static str>,
    /// The value, `None` if its computation failed.
    pub new: Option<Found>,
    /// The result after the step, unless it is a mapping.
    pub after: Option<Found>,
    /// The merge option that decides about its items: where it is declared, and its pattern.
    pub declared: Option<(Origin, String)>,
    /// The effects of that option on items.
    pub items: Vec<ItemStep>,
}

impl FoldStep {
    fn new(effect: Effect, setting: Option<&'static str>, new: Option<Found>) -> FoldStep {
        FoldStep { effect, setting, new, after: None, declared: None, items: Vec::new() }
    }
}

impl Tracer for FoldTrace<'_> {
    const TRACES: bool = true;

    fn step(&mut self, effect: Effect, setting: Option<&'static str>, new: &Found) {
        self.steps.push(FoldStep::new(effect, setting, Some(new.clone())));
    }

    fn item(&mut self, item: ItemStep) {
        // The number of items is the budget of their list.
        if let Some(step) = self.steps.last_mut() {
            step.items.push(item);
        }
    }

    fn declared(&mut self, origin: Origin, pattern: &str) {
        if let Some(step) = self.steps.last_mut() {
            step.declared = Some((origin, pattern.to_owned()));
        }
    }

    fn result(&mut self, value: &Found) {
        let keep = match &value.whnf {
            Whnf::Map(_) | Whnf::Raw(_) => false,
            Whnf::List(list) => (self.keeps)(list.items.len()),
            Whnf::Value(_) => true,
        };
        if let Some(step) = self.steps.last_mut().filter(|_| keep && !self.failed) {
            step.after = Some(value.clone());
        }
    }

    fn replaced(&mut self, value: Found) {
        let end = self.steps.len();
        if self.runs.last().map_or(0, |run| run.end) < end {
            self.runs.push(Run { end, value, failed: self.failed });
        }
    }
}

/// The result of a reference in a text.
#[derive(Debug)]
pub struct TracedReference {
    /// The reference as written.
    pub written: Text,
    /// Its path, if the references inside of it were resolved.
    pub path: Option<Vec<Text>>,
    /// Its value or its default. A problem that was reported before is `Err(None)`.
    pub value: Result<Value, Option<Box<Fault>>>,
    /// Whether the path had no value and the default was used.
    pub default_used: bool,
    /// The references inside of it.
    pub inner: Vec<TracedReference>,
}

impl Evaluator<'_> {
    /// The whnf at a path below a slot, `None` if there is no value.
    pub fn descend(&mut self, slot: &Slot, path: &[Key]) -> Result<Option<Found>, Stop> {
        let mut found = self.whnf(slot)?;
        for key in path {
            match self.part(&found, key)? {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// The whnf of one child of a container.
    pub fn part(&mut self, found: &Found, key: &Key) -> Result<Option<Found>, Stop> {
        let child = found.whnf.child(key, |_| index(key));
        child.map(|child| self.child_whnf(child)).transpose()
    }

    /// The whole value of a path, given the slot of its first key. The error is the first fault.
    pub fn value_of(&mut self, path: &[Key], slot: &Slot) -> Result<Option<Value>, Option<Fault>> {
        let before = self.faults.len();
        let before_path = self.enter(path.first());
        let value = self.deep_at(path.get(1..).unwrap_or_default(), slot);
        self.leave(before_path);
        value.map_err(|stop| {
            self.report(stop);
            let mut new = self.faults.split_off(before.min(self.faults.len()));
            if new.is_empty() { None } else { Some(new.swap_remove(0)) }
        })
    }

    fn deep_at(&mut self, rest: &[Key], slot: &Slot) -> Result<Option<Value>, Stop> {
        let mut found = self.whnf(slot)?;
        for key in rest {
            self.push_key(key);
            match self.part(&found, key)? {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        self.deep_found(&found).map(Some)
    }

    /// Folds the values of one path and reports each of them, including those that a `~` replaced and those
    /// after a problem.
    pub fn trace_fold<'k>(
        &mut self,
        entries: &[StackEntry],
        keeps: &'k dyn Fn(usize) -> bool,
    ) -> FoldTrace<'k> {
        let mut trace = FoldTrace { steps: Vec::new(), runs: Vec::new(), failed: false, keeps };
        let forgive = self.settings.ignore_overwritten_missing_references;
        let constant = entries.iter().position(|entry| entry.prefix.constant).unwrap_or(entries.len());
        let begins = |at: usize| at <= constant && entries[at].prefix.overrides;
        while trace.steps.len() < entries.len() {
            let start = trace.steps.len();
            trace.failed &= !begins(start);
            let end = (start + 1..entries.len()).find(|at| begins(*at)).unwrap_or(entries.len());
            let mut output = Whnf::Value(Value::Null).into();
            let faults = self.faults.len();
            let result = self.fold_into(&mut output, &entries[start..end], usize::MAX, forgive, &mut trace);
            self.faults.truncate(faults);
            trace.replaced(output);
            let Err(failed) = result else { continue };
            trace.failed = true;
            let failing = trace.steps.iter_mut().skip(start + failed.at);
            failing.for_each(|step| step.after = None);
            if start + failed.at == trace.steps.len() {
                let effect = match failed.stop {
                    Stop::Missing(_) => Effect::Missing,
                    Stop::Fault(fault) if matches!(fault.kind, Kind::EvaluationLimit { .. }) => break,
                    _ => Effect::Sets,
                };
                trace.steps.push(FoldStep::new(effect, None, None));
            }
        }
        trace
    }

    /// The outermost references of a text, with their results.
    pub fn trace_references(&mut self, template: &Template, origin: Origin) -> Vec<TracedReference> {
        self.trace_parts(&template.parts, &template.source, origin)
    }

    fn trace_parts(&mut self, parts: &[Part], source: &Text, origin: Origin) -> Vec<TracedReference> {
        let reference = |part: &Part| match part {
            Part::Reference(reference) => Some(self.trace_reference(reference, source, origin)),
            Part::Literal(_) => None,
        };
        parts.iter().filter_map(reference).collect()
    }

    fn trace_reference(&mut self, reference: &Reference, source: &Text, origin: Origin) -> TracedReference {
        let before = self.faults.len();
        let (path, found) = match self.path_of(reference, source, origin) {
            Ok(path) => {
                let found = self.at_path(reference, &path, source, origin);
                (Some(path.segments.clone()), found)
            }
            Err(stop) => (None, Err(stop)),
        };
        let default_used = matches!(found, Ok((_, true)));
        let value = found.and_then(|(found, _)| self.deep_found(&found)).map_err(|stop| {
            self.report(stop);
            self.faults.get(before).cloned().map(Box::new)
        });
        self.faults.truncate(before);
        let inner = self.trace_parts(&reference.parts, source, origin);
        TracedReference { written: reference.written.clone(), path, value, default_used, inner }
    }
}

fn index(key: &Key) -> Option<usize> {
    match &key.0 {
        Value::Int(number) => usize::try_from(*number).ok(),
        Value::Str(text) => text.parse().ok(),
        _ => None,
    }
}
