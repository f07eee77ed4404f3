//! Steps turn the layers of a node into the history of one path: what each layer says there, and
//! what stands there after it.
//!
//! A layer speaks of a path where it has the path itself, or where it has something on the way to
//! it that brings it in or takes it away: a reference, a null, a `~`. What stands there afterwards
//! is what the engine makes of the layers up to this one.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::Story;
use super::place::{Place, Places};
use crate::engine::exports::OtherNodes;
use crate::engine::node::{Computation, Layers};
use crate::error::{Fault, Kind};
use crate::evaluate::{Evaluator, Found, Head, Root, Traced, join_path};
use crate::merge::{Prefixes, merge_maps};
use crate::pattern::{PathPattern, Progress};
use crate::slot::{MapSlot, Prefix, Slot};
use crate::value::{Key, Map, Text, Value};

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
    /// Its reference leads nowhere, and later layers make up for it.
    Missing,
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
        }
    }
}

/// What one layer did to a value.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it did.
    pub effect: Effect,
    /// Where.
    pub place: Place,
    /// How many keys of the path stand at this place: fewer than all where it is about something
    /// further up.
    pub depth: usize,
    /// What the layer says there, references as they are written.
    pub written: Value,
    /// The prefixes in front of the key, or of one further up.
    pub prefix: Prefix,
    /// What its references found.
    pub references: Vec<ReferenceStory>,
    /// The nodes that its inventory query was answered by, with the places of their exports.
    pub answers: Vec<(Text, Option<Place>)>,
    /// What stands at the path after this layer; mappings are left out.
    pub after: Option<Value>,
    /// Whether the final value has something of it.
    pub counts: bool,
    /// The setting that allows or decides it.
    pub setting: Option<&'static str>,
}

/// What a reference found, and where that comes from.
#[derive(Clone, Debug)]
pub struct ReferenceStory {
    /// The reference as written, without its default.
    pub written: Text,
    /// The path that it names, once the references inside of it are resolved.
    pub path: Option<Vec<Key>>,
    /// What it came to; mappings are left out.
    pub value: Option<Value>,
    /// Why it leads nowhere.
    pub fault: Option<Fault>,
    /// Whether its default was taken.
    pub default_used: bool,
    /// The references inside of it.
    pub inner: Vec<ReferenceStory>,
    /// The history of what it found; `None` where it was told before.
    pub story: Option<Box<Story>>,
}

/// One map of parameters that is merged, in order.
struct Ordered {
    map: Arc<MapSlot>,
    /// The layer of what no file wrote.
    elsewhere: &'static str,
}

/// Where the values of several paths of one node stand; a path is one of the exports if so marked.
pub fn places(of: &Places<'_>, paths: &[(&[Key], bool)]) -> Vec<Option<Place>> {
    let (computation, layers) = (of.computation(), of.layers());
    let others = computation.others(layers, None);
    let mut parameters = Teller::new(computation, layers, &others, false);
    let mut exports = Teller::new(computation, layers, &others, true);
    let mut place = |(path, exported): &(&[Key], bool)| {
        let teller = if *exported { &mut exports } else { &mut parameters };
        teller.place(path)
    };
    paths.iter().map(&mut place).collect()
}

/// What one layer says of a path.
struct Said {
    /// The entry, alive as long as its layer.
    map: Arc<MapSlot>,
    /// The steps from the map to the slot: keys, and places in stacks.
    way: Vec<Turn>,
    depth: usize,
    overrides: Option<usize>,
    constant: Option<usize>,
}

#[derive(Clone)]
enum Turn {
    Key(Key),
    Entry(usize),
}

impl Said {
    fn slot(&self) -> Option<&Slot> {
        let mut turns = self.way.iter();
        let Some(Turn::Key(first)) = turns.next() else { return None };
        let mut slot = self.map.entries.get(first)?;
        for turn in turns {
            slot = match (slot, turn) {
                (Slot::Map(map), Turn::Key(key)) => map.entries.get(key)?,
                (Slot::Raw(raw), Turn::Key(key)) => raw.entries.get(key)?,
                (Slot::Stack(stack), Turn::Entry(index)) => &stack.entries.get(*index)?.slot,
                _ => return None,
            };
        }
        Some(slot)
    }
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
            Some(Head::Value(Value::Null)) => Shape::Null,
            Some(Head::Map(_) | Head::Raw(_) | Head::Value(Value::Map(_))) => Shape::Map,
            Some(Head::List(_) | Head::Value(Value::List(_))) => Shape::List,
            Some(Head::Value(_)) => Shape::Scalar,
        }
    }
}

/// Tells the histories of one node's parameters, or of its exports.
pub struct Teller<'a> {
    computation: &'a Computation<'a>,
    others: &'a OtherNodes<'a>,
    pub(super) places: Places<'a>,
    pub(super) evaluator: Evaluator<'a>,
    prefixes: Prefixes,
    parameters: Section,
    exports: Section,
    /// Whether it is the exports that are told.
    tells_exports: bool,
    /// Merged maps whose slots the evaluator remembers.
    kept: Vec<Arc<MapSlot>>,
    /// Paths that references led to, told in this story already.
    told: FxHashSet<Vec<Key>>,
    /// References inside of what references found.
    depth: usize,
}

/// The maps of one section of a node.
struct Section {
    ordered: Vec<Ordered>,
    merged: Arc<MapSlot>,
}

/// How far references are followed in one story. Whatever leads further is told by its own story.
const MAX_DEPTH: usize = 24;

impl<'a> Teller<'a> {
    /// A teller for the parameters of a node, or for its exports.
    pub fn new(
        computation: &'a Computation<'a>,
        layers: &'a Layers,
        others: &'a OtherNodes<'a>,
        exports: bool,
    ) -> Teller<'a> {
        let prefixes = Prefixes::new(computation.settings);
        let parameters = computation.merge(layers);
        let mut evaluator =
            Evaluator::new(Root::whole(parameters.clone()), computation.settings, computation.inputs);
        if !exports {
            evaluator = evaluator.with_others(others);
        }
        Teller {
            computation,
            others,
            places: Places::new(computation, layers),
            evaluator,
            parameters: Section { ordered: ordered(layers, false, &prefixes), merged: parameters },
            exports: Section { ordered: ordered(layers, true, &prefixes), merged: layers.exports.clone() },
            prefixes,
            tells_exports: exports,
            kept: Vec::new(),
            told: FxHashSet::default(),
            depth: 0,
        }
    }

    fn section(&self) -> &Section {
        if self.tells_exports { &self.exports } else { &self.parameters }
    }

    /// All parameters, as far as they can be computed.
    pub fn everything(&mut self) -> Value {
        let merged = self.section().merged.clone();
        let mut map = Map::default();
        for (key, slot) in &merged.entries {
            if let Some(value) = self.quietly(|evaluator| evaluator.deep(slot)) {
                map.insert(key.clone(), value);
            }
        }
        Value::map(map)
    }

    /// All of it, leaf by leaf.
    pub fn overview(&mut self) -> Story {
        let merged = self.section().merged.clone();
        let value = self.evaluator.evaluate(&merged);
        let fault = self.evaluator.finish().into_iter().next();
        let parts = self.parts(&[], &Found::from(Head::Map(merged)));
        Story { path: Vec::new(), value, fault, place: None, steps: Vec::new(), parts }
    }

    /// The history of one path.
    pub fn story(&mut self, path: &[Key]) -> Story {
        self.told.clear();
        let mut story = self.history(path);
        if let Some(found) = self.find(path) {
            story.parts = self.parts(path, &found);
        }
        story
    }

    /// The paths that match a pattern, in order; with `**` at its end only leaves.
    pub fn matching(&mut self, pattern: &PathPattern) -> Vec<Vec<Key>> {
        let mut paths = Vec::new();
        let start = Found::from(Head::Map(self.section().merged.clone()));
        let leaves = pattern.source.ends_with("**");
        self.walk(
            &start,
            &mut Vec::new(),
            &mut |path, progress: &Progress, leaf| {
                let next = path.last().map_or_else(|| progress.clone(), |key| pattern.step(progress, key));
                if pattern.is_match(&next) && (leaf || !leaves) && !path.is_empty() {
                    paths.push(path.to_vec());
                }
                next
            },
            &pattern.start(),
        );
        paths
    }

    /// The paths of everything, in the notation of references, for suggestions.
    pub fn paths(&self) -> Vec<String> {
        fn collect(map: &MapSlot, path: &mut Vec<Key>, delimiter: &str, out: &mut Vec<String>) {
            for (key, slot) in &map.entries {
                path.push(key.clone());
                out.push(join_path(path, delimiter));
                if let Slot::Map(inner) = slot {
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || collect(inner, path, delimiter, out));
                }
                path.pop();
            }
        }
        let mut out = Vec::new();
        collect(&self.section().merged, &mut Vec::new(), &self.computation.settings.delimiter, &mut out);
        out
    }

    /// The head of a path.
    fn find(&mut self, path: &[Key]) -> Option<Found> {
        let merged = self.section().merged.clone();
        let (first, rest) = path.split_first()?;
        let slot = merged.entries.get(first)?;
        let before = self.evaluator.faults.len();
        let found = self.evaluator.descend(slot, rest).ok().flatten();
        self.evaluator.faults.truncate(before);
        found
    }

    /// Where the value of a path stands.
    fn place(&mut self, path: &[Key]) -> Option<Place> {
        self.told.clear();
        // What its references found is no matter here.
        self.depth = MAX_DEPTH;
        let place = self.history(path).place;
        self.depth = 0;
        place
    }

    /// Value, place and steps of a path.
    fn history(&mut self, path: &[Key]) -> Story {
        let merged = self.section().merged.clone();
        let (value, fault) = match path.split_first() {
            None => (None, None),
            Some((first, rest)) => match merged.entries.get(first) {
                None => (None, None),
                Some(slot) => match self.evaluator.value_below(slot, rest) {
                    Ok(value) => (value, None),
                    Err(fault) => (None, fault),
                },
            },
        };
        // What is in a list is not merged: it has the history of the list, and its own place.
        let list = (1..path.len()).find(|end| {
            let found = self.find(&path[..*end]);
            matches!(found, Some(Found { head: Head::List(_) | Head::Value(Value::List(_)), .. }))
        });
        let mut steps = self.steps(&path[..list.unwrap_or(path.len())]);
        if list.is_some() {
            steps.retain(|step| step.counts);
        }
        let item = list.and_then(|end| self.item(path, end)).map(|step| Step {
            after: value.clone().filter(|value| !matches!(value, Value::Map(_))),
            ..step
        });
        let place = match &item {
            Some(step) => Some(step.place.clone()),
            None => steps.iter().rev().find(|step| step.counts).map(|step| step.place.clone()),
        };
        steps.extend(item);
        Story { path: path.to_vec(), value, fault, place, steps, parts: Vec::new() }
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
            place: self.places.of(slot.origin(), "input data"),
            depth,
            written: written(slot),
            prefix: Prefix::default(),
            references: self.references(slot),
            answers: self.answers(slot),
            after: None,
            counts: true,
            setting: None,
        })
    }

    fn steps(&mut self, path: &[Key]) -> Vec<Step> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let mut steps: Vec<Step> = Vec::new();
        let mut state = Arc::new(MapSlot::empty());
        let mut shape = Shape::Nothing;
        let mut constant: Option<usize> = None;
        for at in 0..self.section().ordered.len() {
            let map = self.section().ordered[at].map.clone();
            let Some(slot) = map.entries.get(first) else { continue };
            let mut all = Vec::new();
            said(slot, path, &mut Said::new(&map, first), &mut all);
            let entries = std::iter::once((first.clone(), slot.clone())).collect();
            let part = Arc::new(MapSlot::new(entries, map.origin, false));
            state = merge_maps(state, &part, &self.prefixes);
            self.kept.push(state.clone());
            let kept = state.clone();
            let Some(slot) = kept.entries.get(first) else { continue };
            let now = self.quietly(|evaluator| evaluator.descend(slot, rest)).flatten();
            let after = match &now {
                Some(found) if Shape::of(Some(found)) != Shape::Map => {
                    self.quietly(|evaluator| evaluator.deep_found(found))
                }
                _ => None,
            };
            for said in all {
                let elsewhere = self.section().ordered[at].elsewhere;
                if let Some(mut step) = self.step(&said, path, shape, &mut constant, elsewhere) {
                    step.after.clone_from(&after);
                    if matches!(
                        step.effect,
                        Effect::Sets | Effect::Replaces | Effect::Removes | Effect::Missing
                    ) {
                        for earlier in &mut steps {
                            earlier.counts = false;
                        }
                    }
                    steps.push(step);
                }
            }
            shape = Shape::of(now.as_ref());
        }
        steps
    }

    /// What one layer does to the path.
    fn step(
        &mut self,
        said: &Said,
        path: &[Key],
        before: Shape,
        constant: &mut Option<usize>,
        elsewhere: &str,
    ) -> Option<Step> {
        let slot = said.slot()?;
        let faults = self.evaluator.faults.len();
        let result = self.evaluator.descend(slot, &path[said.depth..]);
        let missing = result.is_err()
            && self.evaluator.faults[faults..]
                .iter()
                .any(|f| matches!(f.kind, Kind::ReferenceNotFound { .. }));
        self.evaluator.faults.truncate(faults);
        let new = Shape::of(result.as_ref().ok().and_then(Option::as_ref));
        let settings = self.computation.settings;
        if constant.is_some_and(|held| said.overrides.is_some_and(|at| at < held)) {
            *constant = None;
        }
        let whole = said.depth == path.len();
        // Something further up that has not this key says nothing of it, but what takes it away.
        let further_up = match slot {
            Slot::Text(..) | Slot::Query(..) => said.overrides.is_none(),
            _ => false,
        };
        let (effect, setting) = if constant.is_some() {
            let held = if settings.strict_constant_parameters { Effect::Repeats } else { Effect::Held };
            (held, Some("strict_constant_parameters"))
        } else if missing {
            (Effect::Missing, Some("ignore_overwritten_missing_references"))
        } else {
            match (before, new) {
                (_, Shape::Nothing) if !whole && further_up && self.is_container(slot) => return None,
                (Shape::Nothing, Shape::Nothing) => return None,
                (_, Shape::Nothing) => (Effect::Removes, None),
                (Shape::Nothing, _) => (Effect::Sets, None),
                _ if said.overrides.is_some() => (Effect::Replaces, None),
                (Shape::Map, Shape::Map) => (Effect::Merges, None),
                (Shape::List, Shape::List) => (Effect::Extends, None),
                (Shape::Scalar, Shape::List) => (Effect::Extends, Some("allow_list_over_scalar")),
                (Shape::Scalar, Shape::Map) => (Effect::Replaces, Some("allow_dict_over_scalar")),
                (Shape::Map | Shape::List, Shape::Null) => (Effect::Replaces, Some("allow_none_override")),
                (Shape::Map, _) => (Effect::Replaces, Some("allow_scalar_over_dict")),
                (Shape::List, _) => (Effect::Replaces, Some("allow_scalar_over_list")),
                (Shape::Null | Shape::Scalar, _) => (Effect::Replaces, None),
            }
        };
        if constant.is_none() {
            *constant = said.constant;
        }
        Some(Step {
            effect,
            place: self.places.of(slot.origin(), elsewhere),
            depth: said.depth,
            written: written(slot),
            prefix: Prefix { overrides: said.overrides.is_some(), constant: said.constant.is_some() },
            references: self.references(slot),
            answers: self.answers(slot),
            after: None,
            counts: !matches!(effect, Effect::Held | Effect::Repeats | Effect::Missing),
            setting,
        })
    }

    fn is_container(&mut self, slot: &Slot) -> bool {
        let found = self.quietly(|evaluator| evaluator.head(slot));
        found.is_some_and(|found| found.head.is_container())
    }

    fn quietly<T>(
        &mut self,
        ask: impl FnOnce(&mut Evaluator<'a>) -> Result<T, crate::evaluate::Stop>,
    ) -> Option<T> {
        let before = self.evaluator.faults.len();
        let answer = ask(&mut self.evaluator).ok();
        self.evaluator.faults.truncate(before);
        answer
    }

    /// What the references of a slot found: those of a text, and of all texts in a container that
    /// is written as one.
    fn references(&mut self, slot: &Slot) -> Vec<ReferenceStory> {
        let Slot::Text(template, origin) = slot else { return Vec::new() };
        let traced = self.evaluator.trace(template, *origin);
        traced.into_iter().map(|traced| self.reference(traced)).collect()
    }

    fn reference(&mut self, traced: Traced) -> ReferenceStory {
        let path: Option<Vec<Key>> = traced.path.map(|path| self.keys(&path));
        let (value, fault) = match traced.value {
            Ok(Value::Map(_)) => (None, None),
            Ok(value) => (Some(value), None),
            Err(fault) => (None, Some(*fault)),
        };
        let inner = traced.inner.into_iter().map(|inner| self.reference(inner)).collect();
        let story = match &path {
            Some(path)
                if !traced.default_used && self.depth < MAX_DEPTH && self.told.insert(path.clone()) =>
            {
                self.depth += 1;
                let path = path.clone();
                let story = stacker::maybe_grow(256 * 1024, 2 * 1024 * 1024, || self.parameter(&path));
                self.depth -= 1;
                Some(Box::new(story))
            }
            _ => None,
        };
        ReferenceStory {
            written: traced.written,
            path,
            value,
            fault,
            default_used: traced.default_used,
            inner,
            story,
        }
    }

    /// References name parameters, those of exports too.
    fn parameter(&mut self, path: &[Key]) -> Story {
        let exports = std::mem::replace(&mut self.tells_exports, false);
        let story = self.history(path);
        self.tells_exports = exports;
        story
    }

    /// The keys that the parts of a reference stand for: an index of a list is a number.
    fn keys(&mut self, segments: &[Text]) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::with_capacity(segments.len());
        for segment in segments {
            let length = match self.parameter_head(&keys).map(|found| found.head) {
                Some(Head::List(list)) => Some(list.items.len()),
                Some(Head::Value(Value::List(items))) => Some(items.len()),
                _ => None,
            };
            let number = length.and_then(|length| {
                let number: i64 = segment.trim().parse().ok()?;
                Some(if number < 0 { number + i64::try_from(length).ok()? } else { number })
            });
            keys.push(number.map_or_else(|| Key::from(segment.clone()), |number| Key(Value::Int(number))));
        }
        keys
    }

    fn parameter_head(&mut self, path: &[Key]) -> Option<Found> {
        let parameters = self.parameters.merged.clone();
        let (first, rest) = path.split_first()?;
        let slot = parameters.entries.get(first)?;
        self.quietly(|evaluator| evaluator.descend(slot, rest)).flatten()
    }

    /// Who answered an inventory query, and where those exports are written.
    fn answers(&mut self, slot: &Slot) -> Vec<(Text, Option<Place>)> {
        let Slot::Query(query, _) = slot else { return Vec::new() };
        self.others.asked.borrow_mut().clear();
        let _ = self.quietly(|evaluator| evaluator.compute(slot));
        let asked = self.others.asked.take();
        let paths: Vec<&[Text]> =
            query.comparisons().map(|test| test.export.as_slice()).chain(query.value.as_deref()).collect();
        let nodes = asked.iter().flat_map(super::super::engine::exports::Asked::answering);
        nodes
            .map(|node| {
                let layers = self.computation.layers(node, None, None, false).ok();
                let place = layers.as_ref().and_then(|layers| {
                    let path = paths.last()?;
                    let keys: Vec<Key> = path.iter().cloned().map(Key::from).collect();
                    let origin = deepest(&layers.exports, &keys)?;
                    Some(Places::new(self.computation, layers).of(origin, "node"))
                });
                (node.clone(), place)
            })
            .collect()
    }
}

impl Said {
    fn new(map: &Arc<MapSlot>, first: &Key) -> Said {
        Said {
            map: map.clone(),
            way: vec![Turn::Key(first.clone())],
            depth: 1,
            overrides: None,
            constant: None,
        }
    }
    fn here(&self) -> Said {
        Said { map: self.map.clone(), way: self.way.clone(), ..*self }
    }
}

/// Collects what a slot of a layer says of a path, of which `here.depth` keys lead to the slot.
fn said(slot: &Slot, path: &[Key], here: &mut Said, out: &mut Vec<Said>) {
    match slot {
        Slot::Stack(stack) => {
            for (index, entry) in stack.entries.iter().enumerate() {
                let before = (here.overrides, here.constant);
                here.overrides = here.overrides.or(entry.prefix.overrides.then_some(here.depth));
                here.constant = here.constant.or(entry.prefix.constant.then_some(here.depth));
                here.way.push(Turn::Entry(index));
                said(&entry.slot, path, here, out);
                here.way.pop();
                (here.overrides, here.constant) = before;
            }
        }
        Slot::Map(inner) if here.depth < path.len() => {
            let key = &path[here.depth];
            match inner.entries.get(key) {
                Some(slot) => {
                    here.way.push(Turn::Key(key.clone()));
                    here.depth += 1;
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || said(slot, path, here, out));
                    here.depth -= 1;
                    here.way.pop();
                }
                None if here.overrides.is_some() => out.push(here.here()),
                None => {}
            }
        }
        _ => out.push(here.here()),
    }
}

/// The maps of a node in the order in which they are merged (S2).
fn ordered(layers: &Layers, exports: bool, prefixes: &Prefixes) -> Vec<Ordered> {
    let file = |map: &Arc<MapSlot>| Ordered { map: settled(map, prefixes), elsewhere: "class mapping" };
    let linearization = &layers.linearization;
    if exports {
        let all = linearization.layers().chain(std::iter::once(&layers.layer));
        return all.map(|layer| file(&layer.exports)).collect();
    }
    let all: Vec<_> = linearization.layers().collect();
    let (mapped, classes) = all.split_at(linearization.mapped.layers().count().min(all.len()));
    let given = |map: &Option<Arc<MapSlot>>, elsewhere| map.clone().map(|map| Ordered { map, elsewhere });
    let mut all: Vec<Ordered> = mapped.iter().map(|layer| file(&layer.parameters)).collect();
    all.extend(given(&layers.given.input, "input data"));
    all.extend(given(&layers.given.automatic, "automatic parameters"));
    all.extend(
        classes.iter().copied().chain(std::iter::once(&layers.layer)).map(|layer| file(&layer.parameters)),
    );
    all
}

/// A map whose prefixes that are still text have taken effect.
fn settled(map: &Arc<MapSlot>, prefixes: &Prefixes) -> Arc<MapSlot> {
    if map.prefixed { merge_maps(Arc::new(MapSlot::empty()), map, prefixes) } else { map.clone() }
}

/// Where the last key of a path that a map has stands.
fn deepest(map: &MapSlot, path: &[Key]) -> Option<crate::source::Origin> {
    let (first, rest) = path.split_first()?;
    let slot = map.entries.get(first)?;
    match slot {
        Slot::Map(inner) if !rest.is_empty() => deepest(inner, rest).or(Some(inner.origin)),
        other => Some(super::parts::winner(other).origin()),
    }
}

/// What a slot says, references as they are written.
pub(crate) fn written(slot: &Slot) -> Value {
    let deeper = |body: &dyn Fn() -> Value| stacker::maybe_grow(64 * 1024, 1024 * 1024, body);
    match slot {
        Slot::Value(value, _) => value.clone(),
        Slot::Text(template, _) => Value::Str(template.source.clone()),
        Slot::Query(query, _) => Value::text(format!("$[ {} ]", query.source)),
        Slot::List(list) => deeper(&|| Value::list(list.items.iter().map(written).collect())),
        Slot::Raw(raw) => deeper(&|| map_of(raw.entries.iter())),
        Slot::Map(map) => deeper(&|| map_of(map.entries.iter())),
        Slot::Stack(_) => deeper(&|| written(super::parts::winner(slot))),
    }
}

fn map_of<'s>(entries: impl Iterator<Item = (&'s Key, &'s Slot)>) -> Value {
    Value::map(entries.map(|(key, slot)| (key.clone(), written(slot))).collect::<Map>())
}
