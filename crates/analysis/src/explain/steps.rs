//! Computes the steps of a path: the effect of each layer on its value.
//!
//! The maps of all layers are folded as one stack, and the evaluator reports the effect of each map. A trace
//! keeps the values of each key apart, so the fold of a key reports the effects of the layers on that key,
//! and so on down the path. Nothing is decided here. A step of a parent is included only if it adds the path,
//! removes it or prevents a change.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::data::{ItemTrace, Leaf, MergeOptionTrace, Step, ValuePlace, ValueTrace};
use super::explainer::{Explainer, MAX_DEPTH};
use super::parts::default_layer;
use reclass::parts::engine::Layers;
use reclass::parts::evaluate::{
    Effect, Evaluator, FoldStep, FoldTrace, Found, ItemStep, Mode, Root, Run, Stop, Whnf, slot_without,
};
use reclass::parts::model::merge::settled;
use reclass::parts::model::{KeyPrefix, PathRules, Prefixes, Slot, StackEntry};
use reclass::parts::output::written::written;
use reclass_base::error::Fault;
use reclass_base::path::KeyPath;
use reclass_base::secrets::Cover;
use reclass_base::source::Origin;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};

/// The effects of the layers on a leaf, and the names in its value.
pub(super) struct TracedLeaf {
    /// The effects, if there are several.
    pub(super) steps: Vec<LayerStep>,
    /// The targets of the references that contain references.
    pub(super) targets: Vec<Option<KeyPath>>,
    /// The nodes that answered its inventory query.
    pub(super) answers: Option<Rc<[Text]>>,
}

/// A value in one layer.
#[derive(Clone)]
pub struct LayerValue {
    /// Index of the layer.
    layer: usize,
    /// The layer name if no file wrote the value.
    pub default_layer: &'static str,
    /// The value. It may hold secrets.
    pub slot: Slot,
    /// Number of keys of the path that lead to it.
    pub depth: usize,
    /// The prefixes of these keys.
    pub prefix: KeyPrefix,
    /// The merge options in force for it.
    rules: Option<Arc<PathRules>>,
}

impl LayerValue {
    /// Whether it is a mapping written in the layer, so that the layer can have more values below it. Values
    /// from a reference belong to the place of the reference.
    fn is_open(&self) -> bool {
        matches!(self.slot, Slot::Map(_))
    }

    /// Whether it names another value.
    fn refers(&self) -> bool {
        matches!(self.slot, Slot::Text(..) | Slot::Query(..))
    }

    /// Whether it is inside a list, where nothing merges.
    pub(super) fn is_item(&self) -> bool {
        self.layer == usize::MAX
    }

    /// Collects the values that concern a path: the value at the path, or a value above it that ends the
    /// path.
    fn collect(&self, path: &[Key], out: &mut Vec<LayerValue>) {
        let inner = match &self.slot {
            Slot::Map(map) if self.depth < path.len() => map.entries.get(&path[self.depth]),
            _ => return out.push(self.clone()),
        };
        match inner {
            Some(slot) => grow(|| {
                for entry in entries(slot) {
                    self.below(&entry).collect(path, out);
                }
            }),
            // It removes every key that it does not have.
            None if self.prefix.overrides => out.push(self.clone()),
            None => {}
        }
    }

    /// The value one key further down.
    fn below(&self, entry: &StackEntry) -> LayerValue {
        let (slot, prefix) = (entry.slot.clone(), self.prefix.and(entry.prefix));
        LayerValue { slot, prefix, rules: entry.rules.clone(), depth: self.depth + 1, ..self.clone() }
    }
}

/// The effects of the layers at one path: the trace of its fold.
pub(super) struct Folded {
    steps: Vec<(LayerValue, FoldStep)>,
    /// The successive values at this path.
    runs: Vec<Run>,
    /// Whether they are one mapping, to which each layer adds.
    plain: bool,
    /// By run, the values of the layers for the keys that were not folded yet.
    sources: RefCell<FxHashMap<usize, FxHashMap<Key, Vec<LayerValue>>>>,
    /// Cached folds of the keys of these values.
    keys: RefCell<FoldedKeys>,
}

/// Folds by the index of the run and the key.
type FoldedKeys = FxHashMap<(usize, Key), Option<Rc<Folded>>>;

impl Folded {
    /// The steps that contribute to a value.
    fn of_run(&self, run: usize) -> impl Iterator<Item = &(LayerValue, FoldStep)> {
        let start = run.checked_sub(1).map_or(0, |before| self.runs[before].end);
        let parts = |effect| matches!(effect, Effect::Sets | Effect::Replaces | Effect::Merges);
        self.steps[start..self.runs[run].end].iter().filter(move |(_, step)| parts(step.effect))
    }
}

/// The effect of one layer on a value, before it is rendered.
pub struct LayerStep {
    pub source: LayerValue,
    pub effect: Effect,
    /// The setting that decides the effect.
    pub setting: Option<&'static str>,
    /// Whether the layer contributes to the final value.
    pub counts: bool,
    /// The value after this layer.
    after: Option<Found>,
    /// The merge option for its items: where it is declared, its pattern and its effects.
    pub declared: Option<(Origin, String, Vec<ItemTrace>)>,
}

/// The steps of a path found so far.
struct Descent<'p> {
    path: &'p [Key],
    /// Whether a path with a single step needs it.
    needed: bool,
    steps: Vec<LayerStep>,
    /// Whether the path has a value now.
    has_value: bool,
    value: Option<Found>,
}

impl Descent<'_> {
    fn push(&mut self, source: LayerValue, effect: Effect, setting: Option<&'static str>) {
        if matches!(effect, Effect::Sets | Effect::Replaces | Effect::Removes | Effect::Missing) {
            self.steps.iter_mut().for_each(|earlier| earlier.counts = false);
        }
        let counts =
            !matches!(effect, Effect::Ignored | Effect::Repeats | Effect::Missing) && setting != Some(STRICT);
        let after = self.value.clone();
        self.steps.push(LayerStep { source, effect, setting, counts, after, declared: None });
    }

    /// Adds to the last step what a merge option did to its items.
    fn declare(&mut self, traced: &FoldStep) {
        if let (Some(step), Some((origin, pattern))) = (self.steps.last_mut(), &traced.declared) {
            let items = traced.items.iter().map(|step| {
                let &ItemStep { effect, item, other } = step;
                ItemTrace { effect, item, other }
            });
            step.declared = Some((*origin, pattern.clone(), items.collect()));
        }
    }

    /// Adds the constant before a step that it prevents, if the layer of the constant has no step at this
    /// depth or below it: then the constant does not mention the path itself.
    fn push_constant(&mut self, folded: &Folded, at: usize) {
        let ignored = |effect| matches!(effect, Effect::Ignored | Effect::Repeats | Effect::Conflicts);
        let Some((source, step)) = folded.steps[..at].iter().rfind(|(_, step)| !ignored(step.effect)) else {
            return;
        };
        if self
            .steps
            .iter()
            .any(|earlier| earlier.source.layer == source.layer && earlier.source.depth >= source.depth)
        {
            return;
        }
        let container = step.new.as_ref().is_some_and(|new| new.whnf.is_container());
        let effect = if container { Effect::Merges } else { Effect::Sets };
        let after = self.value.clone();
        let source = source.clone();
        self.steps.push(LayerStep { source, effect, setting: None, counts: false, after, declared: None });
    }

    /// Adds a step that starts a new value, or one that cannot be computed.
    fn begin(
        &mut self,
        source: LayerValue,
        setting: Option<&'static str>,
        after: Option<Found>,
        fails: bool,
    ) {
        let effect = if self.has_value { Effect::Replaces } else { Effect::Sets };
        let setting = setting.filter(|_| self.has_value);
        (self.has_value, self.value) = (!fails, after);
        self.push(source, effect, setting);
    }

    /// Adds a step after which the value is gone or cannot be computed.
    fn end(&mut self, source: LayerValue, effect: Effect, setting: Option<&'static str>) {
        (self.has_value, self.value) = (false, None);
        self.push(source, effect, setting);
    }
}

/// The setting that makes a change of a constant an error.
const STRICT: &str = "strict_constant_parameters";

/// Memory cost of a step of a leaf, in values.
const LEAF_STEP: usize = 8;

/// Number of slots with the memory cost of one value in an explanation.
const SLOTS: usize = 4;

/// The maps of a node in merge order (S2).
pub(super) fn ordered(layers: &Layers, exports: bool, prefixes: &Prefixes) -> Vec<LayerValue> {
    let all: Vec<_> = layers.all().collect();
    let file = |map| (settled(map, prefixes), "class mapping");
    let rules = layers.linearization.mapped.rules.as_ref();
    let maps: Vec<_> = if exports {
        all.iter().map(|layer| file(&layer.exports)).collect()
    } else {
        let mapped = layers.linearization.mapped.layers().count().min(all.len());
        let (mapped, classes) = all.split_at(mapped);
        let given = |map: &Option<_>, default_layer| map.clone().map(|map| (map, default_layer));
        mapped
            .iter()
            .map(|layer| file(&layer.parameters))
            .chain(given(&layers.extra.input_after(rules, prefixes), "input data"))
            .chain(given(&layers.extra.automatic, "automatic parameters"))
            .chain(classes.iter().map(|layer| file(&layer.parameters)))
            .collect()
    };
    let source = |(layer, (map, default_layer))| LayerValue {
        layer,
        default_layer,
        slot: Slot::Map(map),
        depth: 0,
        prefix: KeyPrefix::default(),
        rules: None,
    };
    maps.into_iter().enumerate().map(source).collect()
}

impl<'a> Explainer<'a> {
    /// Value, place and steps of a path.
    pub(super) fn history(&mut self, path: &[Key]) -> ValueTrace {
        if let Some(trace) = self.grain(path) {
            return trace;
        }
        let merged = self.section().merged.clone();
        let slot = path.first().and_then(|first| merged.entries.get(first));
        let (value, fault) = match slot.map(|slot| self.evaluator.value_of(path, slot)) {
            None => (None, None),
            Some(Ok(value)) => (value, None),
            Some(Err(Some(fault))) => (None, Some(fault)),
            // The error was reported where it occurred first. Here it is computed again.
            Some(Err(None)) => (None, slot.and_then(|slot| self.recompute_fault(path, slot))),
        };
        let (traced, list) = self.steps_of(path);
        let path_to = |source: &LayerValue| if source.is_item() { path } else { &path[..list] };
        let sources: Vec<(LayerValue, &[Key])> =
            traced.iter().map(|traced| (traced.source.clone(), path_to(&traced.source))).collect();
        let mut steps = Vec::with_capacity(traced.len());
        for (traced, (_, path)) in traced.into_iter().zip(&sources) {
            steps.push(self.step(traced, path));
        }
        if let (Some(item), Some((source, _))) = (steps.last_mut(), sources.last())
            && source.is_item()
        {
            item.after = value.clone().filter(|value| !matches!(value, Value::Map(_)));
        }
        self.add_references(&mut steps, &sources, list == path.len() && self.depth == 0);
        let place = steps.iter().rev().find(|step| step.counts).map(|step| step.place.clone());
        ValueTrace { path: self.key_path(path), value, fault, place, steps, ..ValueTrace::default() }
    }

    /// The provenance of a grain.
    fn grain(&self, path: &[Key]) -> Option<ValueTrace> {
        let grains = self.places.layers().extra.grains.as_ref()?;
        let (first, rest) = path.split_first()?;
        let segments: Vec<Text> = rest.iter().map(|key| reclass_base::pystr::str(&key.0).into()).collect();
        let value = grains.has_key(first.as_str()?).then(|| grains.value(&segments))?.cloned();
        let place = self.places.of(Origin::NONE, grains.source);
        let step = value.as_ref().map(|value| Step {
            effect: Effect::Sets,
            counts: true,
            place: place.clone(),
            path: self.key_path(path),
            hidden: false,
            prefix: String::new(),
            written: value.clone(),
            after: None,
            setting: None,
            merge_option: None,
            references: Vec::new(),
            answers: Vec::new(),
        });
        let place = step.as_ref().map(|_| place);
        let steps = step.into_iter().collect();
        Some(ValueTrace { path: self.key_path(path), value, place, steps, ..ValueTrace::default() })
    }

    /// The place of the value at a path; `None` if the answer exceeds the budget.
    pub(super) fn place(&mut self, path: &[Key]) -> Option<ValuePlace> {
        let (traced, _) = self.steps_of(path);
        let last = traced.iter().rev().find(|traced| traced.counts)?;
        let place = self.places.of(last.source.slot.origin(), last.source.default_layer);
        // Some steps may be missing then.
        Some(place).filter(|_| !self.budget.is_full())
    }

    /// The layer's value that has the last word at a path.
    pub(super) fn last_source(&mut self, path: &[Key]) -> Option<LayerValue> {
        let (traced, _) = self.steps_of(path);
        traced.into_iter().rfind(|traced| traced.counts).map(|traced| traced.source)
    }

    /// The effects of the layers on a leaf, and the names in its value.
    pub(super) fn leaf(&mut self, leaf: &Leaf) -> TracedLeaf {
        let traced = self.steps_in(&leaf.path, leaf.list.unwrap_or(leaf.path.len()), leaf.written.is_some());
        let (mut targets, mut answers) = (Vec::new(), None);
        if let (Some(last), Some(_)) = (traced.iter().rfind(|traced| traced.counts), &leaf.written) {
            match &last.source.slot {
                Slot::Text(template, origin) => targets = self.nested_targets(&template.clone(), *origin),
                slot @ Slot::Query(query, _) => answers = Some(self.answering_nodes(query, slot)),
                _ => {}
            }
        }
        let mut steps = if traced.len() > 1 { traced } else { Vec::new() };
        for step in &mut steps {
            step.after = None;
            self.budget.take(LEAF_STEP);
        }
        TracedLeaf { steps, targets, answers }
    }

    /// The error of a path whose error was already reported. The new evaluation counts against the budget.
    fn recompute_fault(&self, path: &[Key], slot: &Slot) -> Option<Fault> {
        let grains = self.places.layers().extra.grains.clone();
        let root = Root::whole(self.parameters.merged.clone()).with_grains(grains);
        let evaluator = Evaluator::new(root, self.computation.settings, self.computation.inputs);
        let evaluator = evaluator.with_cost_of(&self.evaluator).in_mode(Mode::Explain);
        let mut evaluator = if self.in_exports { evaluator } else { evaluator.with_others(self.others) };
        let fault = evaluator.value_of(path, slot).err().flatten();
        self.budget.take(evaluator.spent());
        fault
    }

    /// The steps of a path, and the number of its keys up to the first list or to the end. List content is
    /// not merged: an item has the steps of the list, and one step of its own at the end. If one layer alone wrote
    /// the list, the item has its own step only.
    pub(super) fn steps_of(&mut self, path: &[Key]) -> (Vec<LayerStep>, usize) {
        let list = self.first_list(path).unwrap_or(path.len());
        (self.steps_in(path, list, true), list)
    }

    /// The same for a known number of keys. A single step that sets a written value may be missing unless it is
    /// `needed`.
    fn steps_in(&mut self, path: &[Key], list: usize, needed: bool) -> Vec<LayerStep> {
        let needed = needed || list < path.len();
        let mut descent =
            Descent { path: &path[..list], needed, steps: Vec::new(), has_value: false, value: None };
        if !path.is_empty() {
            let root = self.root();
            self.follow(&root, 0, &mut descent);
        }
        let mut steps = descent.steps;
        if let Some(last) = steps.last_mut().filter(|last| last.effect == Effect::Missing) {
            // No later layer replaces the missing value.
            (last.setting, last.counts) = (None, true);
        }
        // If a layer has several steps, each shows the value after the last of them.
        for at in (1..steps.len()).rev() {
            if let [.., before, step] = &mut steps[..=at]
                && before.source.layer == step.source.layer
            {
                before.after.clone_from(&step.after);
            }
        }
        if list < path.len() {
            steps.retain(|step| step.counts);
            // The trace of the list shows its value after each layer.
            for step in &mut steps {
                step.after = None;
            }
            let item = self.item(path, list);
            // The layer that alone wrote the list wrote the item with it.
            if item.is_some()
                && let [only] = &*steps
                && only.effect == Effect::Sets
                && !only.source.refers()
            {
                steps.clear();
            }
            steps.extend(item);
        }
        steps
    }

    /// The step of a value inside a list.
    pub(super) fn item(&mut self, path: &[Key], list: usize) -> Option<LayerStep> {
        let found = self.find(&path[..list])?;
        let mut slot = match (&found.whnf, &path[list].0) {
            (Whnf::List(list), Value::Int(at)) => list.items.get(usize::try_from(*at).ok()?)?,
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
        let (slot, prefix) = (slot.clone(), KeyPrefix::default());
        let source = LayerValue {
            layer: usize::MAX,
            default_layer: default_layer(path),
            slot,
            depth,
            prefix,
            rules: None,
        };
        let (effect, counts) = (Effect::Sets, true);
        Some(LayerStep { source, effect, setting: None, counts, after: None, declared: None })
    }

    fn written(&mut self, slot: &Slot) -> Value {
        let Slot::List(list) = slot else { return written(slot, &self.prefixes) };
        let all = self.lists.entry(Arc::as_ptr(list) as usize);
        all.or_insert_with(|| (slot.clone(), written(slot, &self.prefixes))).1.clone()
    }

    fn step(&mut self, traced: LayerStep, path: &[Key]) -> Step {
        let is_item = traced.source.is_item();
        let LayerValue { slot, depth, prefix, default_layer, .. } = traced.source;
        let after = traced.after.and_then(|found| self.quietly(|evaluator| evaluator.deep_found(&found)));
        let step = Step {
            effect: traced.effect,
            counts: traced.counts,
            place: self.places.of(slot.origin(), default_layer),
            path: self.key_path(&path[..depth]),
            hidden: false,
            prefix: self.prefixes.text(prefix),
            written: self.written(&slot),
            after: after.filter(|value| !matches!(value, Value::Map(_))),
            setting: traced.setting,
            merge_option: traced.declared.map(|(origin, pattern, items)| MergeOptionTrace {
                pattern,
                place: self.places.of(origin, "settings"),
                items,
            }),
            references: Vec::new(),
            answers: self.answers(&slot, &path[depth..]),
        };
        if !is_item {
            self.budget.take_step(&step);
        }
        step
    }

    /// Fills in the references of the steps. If several references have the same target, only one gets its
    /// trace, and that one must be visible. It belongs to a step that counts, because nested traces show no
    /// others. Of those it belongs to the last step, which is shown first.
    fn add_references(&mut self, steps: &mut [Step], sources: &[(LayerValue, &[Key])], every: bool) {
        for counts in [true, false] {
            for (step, (source, path)) in steps.iter_mut().zip(sources).rev() {
                if step.counts != counts {
                    continue;
                }
                let before = self.depth;
                if !every && !counts {
                    self.depth = MAX_DEPTH;
                }
                step.references = self.references(&source.slot, &path[source.depth..]);
                self.depth = before;
            }
        }
    }

    /// The effects of the layers at the top.
    fn root(&mut self) -> Rc<Folded> {
        if let Some(folded) = &self.section().folded {
            return folded.clone();
        }
        let mut sources = ordered(self.places.layers(), self.in_exports, &self.prefixes);
        if self.secrets.has_places() {
            // An alias brings the text of a secret to an open path of a layer.
            for source in &mut sources {
                source.slot = slot_without(&self.secrets, &source.slot, Cover::Open);
            }
        }
        let entry = |source: &LayerValue| StackEntry {
            slot: source.slot.clone(),
            prefix: source.prefix,
            rules: source.rules.clone(),
        };
        let entries: Vec<StackEntry> = sources.iter().map(entry).collect();
        let folded = self.fold(sources, &entries, false);
        let section = if self.in_exports { &mut self.exports } else { &mut self.parameters };
        section.folded = Some(folded.clone());
        folded
    }

    fn fold(&mut self, sources: Vec<LayerValue>, entries: &[StackEntry], failed: bool) -> Rc<Folded> {
        let budget = self.budget.clone();
        budget.take(1 + entries.len() / SLOTS);
        let keeps = |items: usize| budget.take(items / SLOTS);
        let FoldTrace { mut steps, mut runs, .. } = self.evaluator.trace_fold(entries, &keeps);
        if failed {
            for step in &mut steps {
                step.after = None;
            }
            for run in &mut runs {
                run.failed = true;
            }
        }
        let adds = |step: &FoldStep| matches!(step.effect, Effect::Sets | Effect::Merges);
        let plain = runs.len() == 1 && !failed && steps.iter().all(adds);
        let steps = sources.into_iter().zip(steps).collect();
        Rc::new(Folded { steps, runs, plain, sources: RefCell::default(), keys: RefCell::default() })
    }

    /// The effects of the layers on a key of one successive value. Computed once for all paths through this
    /// key.
    fn fold_key(&mut self, folded: &Folded, run: usize, key: &Key) -> Option<Rc<Folded>> {
        let place = (run, key.clone());
        if let Some(inner) = folded.keys.borrow().get(&place) {
            return inner.clone();
        }
        let inner = self.fold_new_key(folded, run, key);
        folded.keys.borrow_mut().insert(place, inner.clone());
        inner
    }

    fn fold_new_key(&mut self, folded: &Folded, run: usize, key: &Key) -> Option<Rc<Folded>> {
        let Whnf::Map(map) = &folded.runs[run].value.whnf else { return None };
        let all = entries(map.entries.get(key)?);
        if !folded.sources.borrow().contains_key(&run) {
            let sources = self.sources(folded, run);
            folded.sources.borrow_mut().insert(run, sources);
        }
        let sources = folded.sources.borrow_mut().get_mut(&run).and_then(|sources| sources.remove(key));
        Some(self.fold(sources.unwrap_or_default(), &all, folded.runs[run].failed))
    }

    /// The values of the layers for each key of one successive value.
    fn sources(&mut self, folded: &Folded, run: usize) -> FxHashMap<Key, Vec<LayerValue>> {
        let mut sources: FxHashMap<Key, Vec<LayerValue>> = FxHashMap::default();
        for (one, step) in folded.of_run(run) {
            let Some(new) = step.new.clone() else { continue };
            let map = self.evaluator.mapping(new, one.slot.origin());
            // A value from a reference belongs to the place of the reference.
            let inside = |entry: &StackEntry| if one.is_open() { one.below(entry) } else { one.clone() };
            for (key, slot) in &map.entries {
                let values = entries(slot);
                sources.entry(key.clone()).or_default().extend(values.iter().map(inside));
            }
        }
        sources
    }

    /// Adds the steps that concern a path, from a container above it or from the path itself.
    fn follow(&mut self, folded: &Folded, depth: usize, descent: &mut Descent<'_>) {
        let whole = depth == descent.path.len();
        let mut run = 0;
        for (at, (source, step)) in folded.steps.iter().enumerate() {
            if self.budget.is_full() {
                break;
            }
            while folded.runs.get(run).is_some_and(|run| run.end <= at) {
                run += 1;
            }
            let setting = step.setting;
            match (step.effect, &step.new) {
                (Effect::Sets | Effect::Replaces, None) => descent.begin(source.clone(), None, None, true),
                (Effect::Sets | Effect::Replaces, _) if whole => {
                    descent.begin(source.clone(), setting, step.after.clone(), false);
                    descent.declare(step);
                }
                (Effect::Sets | Effect::Replaces, Some(new)) => {
                    self.follow_run(folded, run, depth, (source, new), descent);
                }
                (Effect::Merges | Effect::Extends, _) if whole => {
                    (descent.has_value, descent.value) = (true, step.after.clone());
                    descent.push(source.clone(), step.effect, setting);
                    descent.declare(step);
                }
                // Part of the value that began before.
                (Effect::Merges | Effect::Extends | Effect::Removes, _) => {}
                (Effect::Missing, _) => {
                    let setting = Some("ignore_overwritten_missing_references");
                    descent.end(source.clone(), Effect::Missing, setting);
                }
                (Effect::Conflicts, new) if setting != Some(STRICT) => {
                    if descent.has_value
                        || !self.ignored_values(source, new.as_ref(), depth, descent.path).is_empty()
                    {
                        descent.end(source.clone(), Effect::Conflicts, setting);
                    }
                }
                (effect @ (Effect::Ignored | Effect::Repeats | Effect::Conflicts), new) => {
                    let ignored = self.ignored_values(source, new.as_ref(), depth, descent.path);
                    if !ignored.is_empty() {
                        descent.push_constant(folded, at);
                    }
                    for source in ignored {
                        if effect == Effect::Conflicts {
                            (descent.has_value, descent.value) = (false, None);
                        }
                        descent.push(source, effect, setting);
                    }
                }
            }
        }
    }

    /// The same for a container above the path, whose value begins with this step.
    fn follow_run(
        &mut self,
        folded: &Folded,
        run: usize,
        depth: usize,
        (source, new): (&LayerValue, &Found),
        descent: &mut Descent<'_>,
    ) {
        let rest = &descent.path[depth..];
        if !source.is_open() && folded.of_run(run).count() == 1 {
            // The value of the run has the merge options of its lists; `new` is the value as a reference brings it.
            let ruled = source.rules.is_some() && !folded.runs[run].failed;
            let value = if ruled { &folded.runs[run].value } else { new };
            match self.reach(value, rest) {
                Ok((keys, found)) if keys == rest.len() => {
                    let after = Some(found).filter(|_| !folded.runs[run].failed);
                    descent.begin(source.clone(), None, after, false);
                }
                Ok(_) if descent.has_value => descent.end(source.clone(), Effect::Removes, None),
                Ok(_) => {}
                Err(_) => descent.begin(source.clone(), None, None, true),
            }
            return;
        }
        let inner = self.fold_key(folded, run, &rest[0]);
        let first = inner.as_ref().and_then(|inner| inner.steps.first());
        if descent.has_value && first.is_none_or(|(first, _)| first.layer != source.layer) {
            descent.end(source.clone(), Effect::Removes, None);
        }
        // Everything that one layer alone has at this key was set by it.
        let is_alone = |inner: &Folded| matches!(&*inner.steps, [(source, _)] if source.is_open());
        descent.needed |= !folded.plain;
        let skip = |inner: &Folded| !descent.needed && is_alone(inner);
        if let Some(inner) = inner.filter(|inner| !skip(inner)) {
            grow(|| self.follow(&inner, depth + 1, descent));
        }
    }

    /// The values for the path in a container that a constant prevents.
    fn ignored_values(
        &mut self,
        source: &LayerValue,
        new: Option<&Found>,
        depth: usize,
        path: &[Key],
    ) -> Vec<LayerValue> {
        let mut all = Vec::new();
        if source.is_open() || depth == path.len() {
            source.collect(path, &mut all);
        } else if new
            .and_then(|new| self.reach(new, &path[depth..]).ok())
            .is_none_or(|(keys, found)| depth + keys == path.len() || !found.whnf.is_container())
        {
            all.push(source.clone());
        }
        all
    }

    /// The number of keys of a path that exist from here, and the value they lead to.
    fn reach(&mut self, found: &Found, path: &[Key]) -> Result<(usize, Found), Stop> {
        let faults = self.evaluator.faults.len();
        let mut found = found.clone();
        let mut result = Ok(());
        let mut keys = 0;
        for key in path {
            match self.evaluator.part(&found, key) {
                Ok(Some(next)) => found = next,
                Ok(None) => break,
                Err(stop) => {
                    result = Err(stop);
                    break;
                }
            }
            keys += 1;
        }
        self.evaluator.faults.truncate(faults);
        result.map(|()| (keys, found))
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

/// The values of layers in a slot.
fn entries(slot: &Slot) -> Vec<StackEntry> {
    match slot {
        Slot::Stack(stack) => stack.entries.clone(),
        other => vec![StackEntry::plain(other.clone())],
    }
}
