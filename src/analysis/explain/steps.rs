//! Steps turn the layers of a node into the history of one path: what each layer says there, and
//! what stands there after it.
//!
//! A layer speaks of a path where it has the path itself, or where it has something on the way to
//! it that brings it in or takes it away: a reference, a null, a `~`. What stands there afterwards
//! is what the engine makes of the layers up to this one.

use std::rc::Rc;
use std::sync::Arc;

use super::Story;
use super::parts::elsewhere;
use super::place::ValuePlace;
use super::references::ReferenceStory;
use super::said::{Ordered, Said, said, written};
use super::teller::{MAX_DEPTH, Teller};
use crate::base::error::{Fault, Kind};
use crate::base::stack::grow;
use crate::base::value::{Key, Text, Value};
use crate::evaluate::{Evaluator, Found, Head, Root, Stop};
use crate::model::merge::merge_maps;
use crate::model::slot::{KeyPrefix, MapSlot, Slot};

/// What a layer does to a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It is the first to say anything.
    Sets,
    /// What was there before is gone.
    Replaces,
    /// Its keys are merged with those that are there.
    Merges,
    /// Its items come after those that are there.
    Extends,
    /// It takes the path away, by something that it says further up.
    Removes,
    /// It says once more what a constant says.
    Repeats,
    /// A constant holds, and what it says is left out.
    Held,
    /// Its reference leads nowhere; a later layer may make up for it.
    Missing,
    /// It does not go together with what is there, which is an error.
    Conflicts,
}

impl Effect {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Sets => "sets",
            Effect::Replaces => "replaces",
            Effect::Merges => "merges",
            Effect::Extends => "extends",
            Effect::Removes => "removes",
            Effect::Repeats => "repeats",
            Effect::Held => "held",
            Effect::Missing => "missing",
            Effect::Conflicts => "conflicts",
        }
    }
}

/// What one layer did to a value.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it did.
    pub effect: Effect,
    /// Where.
    pub place: ValuePlace,
    /// How many keys of the path stand at this place: fewer than all where it is about something
    /// further up.
    pub depth: usize,
    /// What the layer says there, references as they are written.
    pub written: Value,
    /// The prefixes in front of the key, or of one further up, as the settings name them.
    pub prefix: String,
    /// What its references found.
    pub references: Vec<ReferenceStory>,
    /// The nodes that its inventory query was answered by, with the places of their exports.
    pub answers: Vec<(Text, Option<ValuePlace>)>,
    /// What stands at the path after this layer; mappings are left out.
    pub after: Option<Value>,
    /// Whether the final value has something of it.
    pub counts: bool,
    /// The setting that allows or decides it.
    pub setting: Option<&'static str>,
}

/// The kinds of values that steps tell apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nothing,
    Null,
    Scalar,
    List,
    Map,
}

impl Shape {
    fn of(found: Option<&Found>) -> Shape {
        match found.map(|found| &found.head) {
            None => Shape::Nothing,
            Some(Head::Value(value)) => Shape::of_value(value),
            Some(Head::Map(_) | Head::Raw(_)) => Shape::Map,
            Some(Head::List(_)) => Shape::List,
        }
    }

    fn of_value(value: &Value) -> Shape {
        match value {
            Value::Null => Shape::Null,
            Value::Map(_) => Shape::Map,
            Value::List(_) => Shape::List,
            _ => Shape::Scalar,
        }
    }
}

/// A map with one key alone, as it stands after a layer.
pub(super) struct State {
    /// Which of the layers.
    at: usize,
    /// The map: the evaluator remembers its slots.
    merged: Arc<MapSlot>,
}

/// How many slots take the memory of a value that is told.
const SLOTS: usize = 4;

/// How many slots a merge copied, for what stands there now and what a layer says: maps on the way to
/// each of its keys, and what it extends.
fn copied(now: &Slot, said: &Slot) -> usize {
    match (now, said) {
        (Slot::Map(now), Slot::Map(said)) => {
            let inner = said.entries.iter().filter_map(|(key, said)| Some((now.entries.get(key)?, said)));
            let inner = inner.map(|(now, said)| grow(|| copied(now, said)));
            now.entries.len() + inner.sum::<usize>()
        }
        (Slot::Map(map), _) => map.entries.len(),
        (Slot::Stack(stack), _) => stack.entries.len(),
        (Slot::List(list), _) => list.items.len(),
        _ => 1,
    }
}

impl<'a> Teller<'a> {
    /// Value, place and steps of a path.
    pub(super) fn history(&mut self, path: &[Key]) -> Story {
        let merged = self.section().merged.clone();
        let (value, fault) = match path.split_first() {
            None => (None, None),
            Some((first, _)) => match merged.entries.get(first) {
                None => (None, None),
                Some(slot) => match self.evaluator.value_of(path, slot) {
                    Ok(value) => (value, None),
                    Err(Some(fault)) => (None, Some(fault)),
                    // It was told where it was first met; here it is told again.
                    Err(None) => (None, self.told_again(path, slot)),
                },
            },
        };
        // What is in a list is not merged: it has the history of the list, and its own place.
        let list = (1..path.len()).find(|end| {
            let found = self.find(&path[..*end]);
            matches!(found, Some(Found { head: Head::List(_), .. }))
        });
        // It is shown before the steps of the list: its references are told there.
        let item = list.and_then(|end| self.item(path, end));
        let mut steps = self.steps(&path[..list.unwrap_or(path.len())], list.is_none());
        if list.is_some() {
            steps.retain(|step| step.counts);
            // What the whole list was then is told by its own story.
            for step in &mut steps {
                step.after = None;
            }
        }
        for step in &steps {
            self.room.take_step(step);
        }
        let item = item.map(|step| Step {
            after: value.clone().filter(|value| !matches!(value, Value::Map(_))),
            ..step
        });
        let place = match &item {
            Some(step) => Some(step.place.clone()),
            None => steps.iter().rev().find(|step| step.counts).map(|step| step.place.clone()),
        };
        steps.extend(item);
        Story { path: path.to_vec(), exact: false, value, fault, place, steps, parts: Vec::new() }
    }

    /// The problem of a place whose problem was told. What is made to tell it takes room.
    fn told_again(&self, path: &[Key], slot: &Slot) -> Option<Fault> {
        let mut evaluator = self.anew();
        let fault = evaluator.value_of(path, slot).err().flatten();
        self.room.take(evaluator.spent());
        fault
    }

    /// An evaluator that remembers nothing yet.
    fn anew(&self) -> Evaluator<'a> {
        let root = Root::whole(self.parameters.merged.clone());
        let evaluator = Evaluator::new(root, self.computation.settings, self.computation.inputs);
        let evaluator = evaluator.beside(&self.evaluator).curtly();
        if self.tells_exports { evaluator } else { evaluator.with_others(self.others) }
    }

    /// What stands inside of a list.
    fn item(&mut self, path: &[Key], list: usize) -> Option<Step> {
        let found = self.find(&path[..list])?;
        let mut slot = match (&found.head, &path[list].0) {
            (Head::List(list), Value::Int(at)) => list.items.get(usize::try_from(*at).ok()?)?,
            _ => return None,
        };
        let mut depth = list + 1;
        for key in &path[depth..] {
            slot = match (slot, &key.0) {
                (Slot::Raw(raw), _) => raw.entries.get(key)?,
                (Slot::Map(map), _) => map.entries.get(key)?,
                (Slot::List(list), Value::Int(at)) => list.items.get(usize::try_from(*at).ok()?)?,
                _ => break,
            };
            depth += 1;
        }
        Some(Step {
            effect: Effect::Sets,
            place: self.places.of(slot.origin(), elsewhere(path)),
            depth,
            written: written(slot, &self.prefixes),
            prefix: String::new(),
            references: self.references(slot, path.get(depth..).unwrap_or_default()),
            answers: self.answers(slot, path.get(depth..).unwrap_or_default()),
            after: None,
            counts: true,
            setting: None,
        })
    }

    /// The steps of a path. With `every`, those that do not count are shown too.
    fn steps(&mut self, path: &[Key], every: bool) -> Vec<Step> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        // Those with references have what their layer says.
        let mut steps: Vec<(Step, Option<Said>)> = Vec::new();
        let mut shape = Shape::Nothing;
        // How many keys lead to the outermost constant that holds.
        let mut constant: Option<usize> = None;
        // The one that says nothing of the path, as long as it keeps nothing out.
        let mut silent: Option<Step> = None;
        for State { at, merged } in self.states(first).iter() {
            let at = *at;
            let map = self.section().ordered[at].map.clone();
            let Some(slot) = map.entries.get(first) else { continue };
            let mut all = Vec::new();
            said(slot, path, &mut Said::new(&map, first), &mut all);
            let Some(slot) = merged.entries.get(first) else { continue };
            if self.room.is_full() {
                break;
            }
            let found = self.quietly(|evaluator| evaluator.descend(slot, rest));
            let failed = found.is_none();
            let now = found.flatten();
            let after = match &now {
                Some(found) if !self.places_alone && Shape::of(Some(found)) != Shape::Map => {
                    self.quietly(|evaluator| evaluator.deep_found(found))
                }
                _ => None,
            };
            let elsewhere = self.section().ordered[at].elsewhere;
            let mut last: Option<Said> = None;
            for said in all {
                let shared = last.as_ref().map_or(0, |last| said.shared(last));
                let begins = last.take().and_then(|last| last.holds_from(shared));
                constant = constant.into_iter().chain(begins).min();
                let step = self.step(&said, shared, path, &mut shape, &mut constant, elsewhere);
                let speaker = said.here();
                last = Some(said);
                silent = silent.filter(|_| constant.is_some());
                let Some(mut step) = step else { continue };
                step.after.clone_from(&after);
                if !step.counts && matches!(step.effect, Effect::Sets | Effect::Merges) {
                    silent = Some(step);
                    continue;
                }
                if matches!(step.effect, Effect::Held | Effect::Repeats) {
                    steps.extend(silent.take().map(|step| (step, None)));
                }
                if failed && step.setting.is_some_and(|setting| setting.starts_with("allow_")) {
                    step.effect = Effect::Conflicts;
                }
                if failed && step.effect == Effect::Repeats {
                    // It says something else, and constants are strict.
                    step.effect = Effect::Conflicts;
                    step.setting = Some("strict_constant_parameters");
                }
                if matches!(step.effect, Effect::Sets | Effect::Replaces | Effect::Removes | Effect::Missing)
                {
                    for (earlier, _) in &mut steps {
                        earlier.counts = false;
                    }
                }
                steps.push((step, Some(speaker)));
            }
            let begins = last.and_then(|last| last.holds_from(0));
            constant = constant.into_iter().chain(begins).min();
            shape = Shape::of(now.as_ref());
        }
        if let Some((last, _)) = steps.last_mut().filter(|(step, _)| step.effect == Effect::Missing) {
            // Nothing makes up for it.
            last.setting = None;
            last.counts = true;
        }
        self.refer(&mut steps, path, every && self.depth == 0);
        steps.into_iter().map(|(step, _)| step).collect()
    }

    /// Fills in the references of steps. A place that several lead to is told once, and where it is shown:
    /// by a step that counts, as inside of another story no other is shown, and of those by the last one,
    /// which is shown first.
    fn refer(&mut self, steps: &mut [(Step, Option<Said>)], path: &[Key], every: bool) {
        for counts in [true, false] {
            for (step, said) in steps.iter_mut().rev().filter(|(step, _)| step.counts == counts) {
                let Some((slot, depth)) = said.as_ref().and_then(|said| Some((said.slot()?, said.depth)))
                else {
                    continue;
                };
                let before = self.depth;
                if !every && !counts {
                    self.depth = MAX_DEPTH;
                }
                step.references = self.references(slot, &path[depth..]);
                self.depth = before;
            }
        }
    }

    /// What stands at a first key after each layer that has it, made once for all paths below.
    fn states(&mut self, first: &Key) -> Rc<[State]> {
        let section = (self.tells_exports, first.clone());
        if let Some(states) = self.states.get(&section) {
            return states.clone();
        }
        let mut merged = Arc::new(MapSlot::empty());
        let mut states = Vec::new();
        for (at, ordered) in self.section().ordered.iter().enumerate() {
            let Some(slot) = ordered.map.entries.get(first) else { continue };
            let entries = std::iter::once((first.clone(), slot.clone())).collect();
            let part = Arc::new(MapSlot::new(entries, ordered.map.origin, false));
            merged = merge_maps(merged, &part, &self.prefixes);
            let copies = merged.entries.get(first).map_or(0, |now| copied(now, slot));
            if !self.room.take(1 + copies / SLOTS) {
                break;
            }
            states.push(State { at, merged: merged.clone() });
        }
        let states: Rc<[State]> = states.into();
        self.states.insert(section, states.clone());
        states
    }

    /// Where the value of a path stands, if every layer that speaks of it has the path itself with the same
    /// kind of value and no prefix: then the last of them has a part in it, and what stood there before
    /// it is not asked.
    pub(super) fn plain_place(&mut self, path: &[Key]) -> Option<ValuePlace> {
        let first = path.first()?;
        let speaking = self.speaking(first);
        let mut shape = Shape::Nothing;
        let mut last = None;
        for &at in speaking.iter() {
            let Ordered { map, elsewhere } = &self.section().ordered[at];
            let mut all = Vec::new();
            said(map.entries.get(first)?, path, &mut Said::new(map, first), &mut all);
            for said in &all {
                let slot = said.slot()?;
                let new = match slot {
                    Slot::Value(value, _) => Shape::of_value(value),
                    Slot::List(_) => Shape::List,
                    Slot::Map(_) => Shape::Map,
                    _ => return None,
                };
                let prefixed = !said.overrides.is_empty() || !said.constants.is_empty();
                let same = shape == Shape::Nothing || shape == new;
                if said.depth < path.len() || prefixed || new == Shape::Null || !same {
                    return None;
                }
                shape = new;
                last = Some((slot.origin(), *elsewhere));
            }
        }
        last.map(|(origin, elsewhere)| self.places.of(origin, elsewhere))
    }

    /// The layers that have a first key.
    fn speaking(&mut self, first: &Key) -> Rc<[usize]> {
        let section = (self.tells_exports, first.clone());
        if let Some(speaking) = self.speaking.get(&section) {
            return speaking.clone();
        }
        let all = self.section().ordered.iter().enumerate();
        let speaking = all.filter(|(_, part)| part.map.entries.contains_key(first)).map(|(at, _)| at);
        let speaking: Rc<[usize]> = speaking.collect();
        self.speaking.insert(section, speaking.clone());
        speaking
    }

    /// What one layer does to the path: `shared` are the steps of the way that what it said of it before
    /// has too, `shape` is what stands there, and `constant` how many keys lead to one that holds.
    fn step(
        &mut self,
        said: &Said,
        shared: usize,
        path: &[Key],
        shape: &mut Shape,
        constant: &mut Option<usize>,
        elsewhere: &str,
    ) -> Option<Step> {
        let slot = said.slot()?;
        let whole = said.depth == path.len();
        let replacing = said.overrides.iter().find(|mark| mark.steps > shared).map(|mark| mark.depth);
        // A mapping without the key says nothing of it, but where it replaces all.
        if matches!(slot, Slot::Map(_)) && !whole && replacing.is_none() {
            return self.silent(said, shared, Effect::Merges, elsewhere);
        }
        let faults = self.evaluator.faults.len();
        let reached = self.reach(slot, &path[said.depth..]);
        let missing = reached.is_err()
            && self.evaluator.faults[faults..]
                .iter()
                .any(|f| matches!(f.kind, Kind::ReferenceNotFound { .. }));
        self.evaluator.faults.truncate(faults);
        let (depth, end) = match &reached {
            Ok((keys, found)) => (said.depth + keys, Shape::of(Some(found))),
            Err(_) => (path.len(), Shape::Nothing),
        };
        let new = if depth == path.len() { end } else { Shape::Nothing };
        let settings = self.computation.settings;
        // Something further up that has not this key says nothing of it, but what takes it away.
        let further_up = matches!(slot, Slot::Text(..) | Slot::Query(..)) && replacing.is_none();
        if depth < path.len() && further_up && matches!(end, Shape::Map | Shape::List) {
            return self.silent(said, shared, Effect::Merges, elsewhere);
        }
        // A constant goes with the mapping that it is in.
        let gone = |held: usize| match replacing {
            Some(at) => at < held,
            None => depth < held && end != Shape::Map,
        };
        *constant = constant.filter(|held| !gone(*held));
        let before = *shape;
        let (effect, setting) = if constant.is_some() {
            if settings.strict_constant_parameters {
                (Effect::Repeats, None)
            } else {
                (Effect::Held, Some("strict_constant_parameters"))
            }
        } else if missing {
            (Effect::Missing, Some("ignore_overwritten_missing_references"))
        } else {
            match (before, new) {
                // What cannot be computed is something all the same.
                (Shape::Nothing, Shape::Nothing) if reached.is_err() => (Effect::Sets, None),
                (_, Shape::Nothing) if reached.is_err() => (Effect::Replaces, None),
                (Shape::Nothing, Shape::Nothing) => {
                    return self.silent(said, shared, Effect::Sets, elsewhere);
                }
                (_, Shape::Nothing) => (Effect::Removes, None),
                (Shape::Nothing, _) => (Effect::Sets, None),
                _ if replacing.is_some() => (Effect::Replaces, None),
                (Shape::Map, Shape::Map) => (Effect::Merges, None),
                (Shape::List, Shape::List) => (Effect::Extends, None),
                (Shape::Map, Shape::List) | (Shape::List, Shape::Map) => (Effect::Conflicts, None),
                (Shape::Scalar, Shape::List) => (Effect::Extends, Some("allow_list_over_scalar")),
                (Shape::Scalar, Shape::Map) => (Effect::Replaces, Some("allow_dict_over_scalar")),
                (Shape::Map | Shape::List, Shape::Null) => (Effect::Replaces, Some("allow_none_override")),
                (Shape::Map, _) => (Effect::Replaces, Some("allow_scalar_over_dict")),
                (Shape::List, _) => (Effect::Replaces, Some("allow_scalar_over_list")),
                (Shape::Null | Shape::Scalar, _) => (Effect::Replaces, None),
            }
        };
        match effect {
            Effect::Sets | Effect::Replaces | Effect::Removes => *shape = new,
            Effect::Extends => *shape = Shape::List,
            _ => {}
        }
        Some(Step {
            answers: self.answers(slot, &path[said.depth..]),
            counts: !matches!(effect, Effect::Held | Effect::Repeats | Effect::Missing),
            setting,
            ..self.bare(said, effect, elsewhere)?
        })
    }

    /// A constant further up that says nothing of the path: it is told of where it keeps something out.
    fn silent(&mut self, said: &Said, shared: usize, effect: Effect, elsewhere: &str) -> Option<Step> {
        said.holds_from(shared)?;
        self.bare(said, effect, elsewhere)
    }

    /// A step with what is written there alone.
    fn bare(&mut self, said: &Said, effect: Effect, elsewhere: &str) -> Option<Step> {
        let slot = said.slot()?;
        let prefix =
            KeyPrefix { overrides: !said.overrides.is_empty(), constant: !said.constants.is_empty() };
        Some(Step {
            effect,
            place: self.places.of(slot.origin(), elsewhere),
            depth: said.depth,
            written: written(slot, &self.prefixes),
            prefix: self.prefixes.text(prefix),
            references: Vec::new(),
            answers: Vec::new(),
            after: None,
            counts: false,
            setting: None,
        })
    }

    /// How many keys of a path a slot has, and what stands where they lead to.
    fn reach(&mut self, slot: &Slot, path: &[Key]) -> Result<(usize, Found), Stop> {
        let mut found = self.evaluator.head(slot)?;
        for (keys, key) in path.iter().enumerate() {
            match self.evaluator.part(&found, key)? {
                Some(next) => found = next,
                None => return Ok((keys, found)),
            }
        }
        Ok((path.len(), found))
    }

    pub(super) fn quietly<T>(
        &mut self,
        ask: impl FnOnce(&mut Evaluator<'a>) -> Result<T, Stop>,
    ) -> Option<T> {
        let before = self.evaluator.faults.len();
        let answer = ask(&mut self.evaluator).ok();
        self.evaluator.faults.truncate(before);
        answer
    }
}
