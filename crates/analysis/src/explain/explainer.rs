//! Holds the state for explaining one node: the maps of its layers, the merged map, and an evaluator with its
//! memo.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::budget::Budget;
use super::data::{ValuePlace, ValueTrace};
use super::place::ValuePlaces;
use super::references::Answered;
use super::steps::{Folded, LayerStep};
use reclass::parts::engine::{Computation, Layers, OtherNodes};
use reclass::parts::evaluate::{Evaluator, Found, Mode, References, Root, Whnf, without};
use reclass::parts::model::{MapSlot, Prefixes, Slot};
use reclass_base::path::{KeyPath, join_path};
use reclass_base::pattern::PathPattern;
use reclass_base::secrets::Secrets;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};

/// Explains one node's parameters, or its exports.
pub struct Explainer<'a> {
    pub(super) computation: &'a Computation<'a>,
    pub(super) others: &'a OtherNodes<'a>,
    pub(super) places: ValuePlaces<'a>,
    pub(super) evaluator: Evaluator<'a>,
    /// The secrets that the parameters are without.
    pub(super) secrets: Secrets,
    pub(super) prefixes: Prefixes,
    pub(super) parameters: ExplainedSection,
    pub(super) exports: ExplainedSection,
    /// Whether it explains the exports.
    pub(super) in_exports: bool,
    /// The targets of references that this trace already explains.
    pub(super) visited: FxHashSet<Vec<Key>>,
    /// Current nesting depth of references.
    pub(super) depth: usize,
    /// Answers of queries, by the address of the query.
    pub(super) answered: FxHashMap<usize, Answered>,
    /// The lists of layers as they are written, by their address, with what holds them there. Each item has them again.
    pub(super) lists: FxHashMap<usize, (Slot, Value)>,
    pub(super) budget: Budget,
}

pub(super) struct ExplainedSection {
    pub(super) merged: Arc<MapSlot>,
    /// The effects of the layers, once they were needed.
    pub(super) folded: Option<Rc<Folded>>,
}

/// Maximum depth of references in one trace. Deeper targets have traces of their own.
pub(super) const MAX_DEPTH: usize = 24;

/// A requested path of one node.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The path.
    pub path: Vec<Key>,
    /// Whether it is a path of the exports.
    pub export: bool,
    /// Indexes of items, if the value is a list.
    pub items: Vec<usize>,
}

/// The places of a value and its items.
#[derive(Debug)]
pub struct WantedPlaces {
    /// The place of the value. If several layers were merged, the last of them.
    pub place: Option<ValuePlace>,
    /// The places of the requested items.
    pub items: Vec<Option<ValuePlace>>,
}

/// The values at several paths of one node, computed without the secrets among its parameters.
pub fn values_without(of: &ValuePlaces<'_>, wanted: &[Wanted], secrets: &Secrets) -> Vec<Option<Value>> {
    each(of, wanted, secrets, |explainer, wanted| {
        let found = explainer.find(&wanted.path)?;
        explainer.quietly(|evaluator| evaluator.deep_found(&found))
    })
}

/// The places of the values at several paths of one node.
pub fn places(of: &ValuePlaces<'_>, wanted: &[Wanted]) -> Vec<WantedPlaces> {
    each(of, wanted, &Secrets::none(), |explainer, wanted| WantedPlaces {
        place: explainer.place(&wanted.path),
        items: explainer.items(&wanted.path, &wanted.items),
    })
}

/// The steps of the values at several paths of one node, with the references in them.
pub fn traces(of: &ValuePlaces<'_>, wanted: &[Wanted]) -> Vec<ValueTrace> {
    each(of, wanted, &Secrets::none(), |explainer, wanted| {
        explainer.visited.clear();
        explainer.history(&wanted.path)
    })
}

/// The effects of the layers on the values at several paths of one node.
pub fn effects(of: &ValuePlaces<'_>, wanted: &[Wanted]) -> Vec<Vec<LayerStep>> {
    each(of, wanted, &Secrets::none(), |explainer, wanted| explainer.steps_of(&wanted.path).0)
}

/// The places that set the values that references bring to several paths of the parameters of a node; `None` where the
/// value is written at the path itself.
pub fn referenced(of: &ValuePlaces<'_>, paths: &[Vec<Key>]) -> Vec<Option<ValuePlace>> {
    let wanted = |path: &Vec<Key>| Wanted { path: path.clone(), export: false, items: Vec::new() };
    let wanted: Vec<Wanted> = paths.iter().map(wanted).collect();
    each(of, &wanted, &Secrets::none(), |explainer, wanted| explainer.referenced(&wanted.path))
}

/// Explains several paths of one node without these secrets.
fn each<T>(
    of: &ValuePlaces<'_>,
    wanted: &[Wanted],
    secrets: &Secrets,
    explain: impl Fn(&mut Explainer<'_>, &Wanted) -> T,
) -> Vec<T> {
    let (computation, layers) = (of.computation(), of.layers());
    let without = Some(secrets).filter(|secrets| !secrets.is_none()).cloned();
    let others = OtherNodes { without, ..computation.others(layers, None) };
    let mut explainers = [None, None];
    let mut one = |wanted: &Wanted| {
        let explainer = explainers[usize::from(wanted.export)]
            .get_or_insert_with(|| Explainer::without(computation, layers, &others, wanted.export, secrets));
        explain(explainer, wanted)
    };
    wanted.iter().map(&mut one).collect()
}

/// Whether any parameter of a node matches one of these patterns, including parameters that references bring
/// in.
pub fn has_parameter(computation: &Computation<'_>, layers: &Layers, patterns: &[String]) -> bool {
    let others = computation.others(layers, None);
    let mut explainer = Explainer::new(computation, layers, &others, false);
    let delimiter = &computation.settings.delimiter;
    patterns.iter().any(|pattern| !explainer.matching(&PathPattern::new(pattern, delimiter)).is_empty())
}

/// Whether a map contains a query. Among exports a query is an error.
fn has_query(map: &MapSlot) -> bool {
    let mut found = false;
    map.queries(&mut |_, _, _| found = true);
    found
}

/// An evaluator that keeps the answers of the queries among the parameters and answers no other query. The
/// exports are evaluated in this state. It makes a difference only if they contain a query.
fn after_parameters<'a>(mut evaluator: Evaluator<'a>, parameters: &Arc<MapSlot>) -> Evaluator<'a> {
    evaluator.evaluate(parameters);
    evaluator.examine_replaced();
    evaluator.faults.clear();
    evaluator.warnings.clear();
    evaluator.others = None;
    evaluator
}

impl<'a> Explainer<'a> {
    /// The state for the parameters of a node, or for its exports.
    pub fn new(
        computation: &'a Computation<'a>,
        layers: &'a Layers,
        others: &'a OtherNodes<'a>,
        exports: bool,
    ) -> Explainer<'a> {
        Explainer::without(computation, layers, others, exports, &Secrets::none())
    }

    /// The same without the secrets in the parameters.
    pub fn without(
        computation: &'a Computation<'a>,
        layers: &'a Layers,
        others: &'a OtherNodes<'a>,
        exports: bool,
        secrets: &Secrets,
    ) -> Explainer<'a> {
        let prefixes = Prefixes::new(computation.settings);
        let secrets = &layers.secrets(secrets);
        let parameters = without(secrets, &computation.merge(layers), References::Hidden);
        let merged_exports = without(secrets, &layers.exports, References::Hidden);
        let root = Root::whole(parameters.clone()).with_grains(layers.extra.grains.clone());
        let mut evaluator = Evaluator::new(root, computation.settings, computation.inputs)
            .with_others(others)
            .in_mode(Mode::Explain);
        if exports && has_query(&merged_exports) {
            evaluator = after_parameters(evaluator, &parameters);
        }
        Explainer {
            computation,
            others,
            places: ValuePlaces::new(computation, layers),
            evaluator,
            secrets: secrets.clone(),
            parameters: ExplainedSection { merged: parameters, folded: None },
            exports: ExplainedSection { merged: merged_exports, folded: None },
            prefixes,
            in_exports: exports,
            visited: FxHashSet::default(),
            depth: 0,
            answered: FxHashMap::default(),
            lists: FxHashMap::default(),
            budget: Budget::new(computation.settings),
        }
    }

    /// Shares a budget with others.
    #[must_use]
    pub(super) fn within(mut self, budget: &Budget) -> Explainer<'a> {
        self.budget = budget.clone();
        self
    }

    /// A path with the delimiter of the settings, for output.
    pub(super) fn key_path(&self, keys: &[Key]) -> KeyPath {
        KeyPath::new(keys, &self.computation.settings.delimiter)
    }

    pub(super) fn section(&self) -> &ExplainedSection {
        if self.in_exports { &self.exports } else { &self.parameters }
    }

    /// The whole section, leaf by leaf.
    pub fn overview(&mut self) -> ValueTrace {
        let trace = self.whole();
        let merged = self.section().merged.clone();
        let parts = self.parts(&[], &Found::from(Whnf::Map(merged)), None);
        ValueTrace { parts, ..trace }
    }

    /// The value of the whole section and its first fault.
    pub(super) fn whole(&mut self) -> ValueTrace {
        let merged = self.section().merged.clone();
        let value = self.evaluator.evaluate(&merged);
        let fault = self.evaluator.finish().into_iter().next();
        let trace = ValueTrace { path: self.key_path(&[]), value, fault, ..ValueTrace::default() };
        self.budget.take_trace(&trace);
        trace
    }

    /// The history of one path.
    pub fn trace(&mut self, path: &[Key]) -> ValueTrace {
        self.visited.clear();
        let mut trace = self.history(path);
        if let Some(found) = self.find(path) {
            trace.parts = self.parts(path, &found, trace.place.as_ref());
        }
        trace
    }

    /// All paths in the notation of references, for suggestions.
    pub fn paths(&self) -> Vec<String> {
        fn collect(map: &MapSlot, path: &mut Vec<Key>, delimiter: &str, out: &mut Vec<String>) {
            for (key, slot) in &map.entries {
                path.push(key.clone());
                out.push(join_path(path, delimiter));
                if let Slot::Map(inner) = slot {
                    grow(|| collect(inner, path, delimiter, out));
                }
                path.pop();
            }
        }
        let mut out = Vec::new();
        collect(&self.section().merged, &mut Vec::new(), &self.computation.settings.delimiter, &mut out);
        out
    }

    /// The value at a path in weak head normal form.
    pub(super) fn find(&mut self, path: &[Key]) -> Option<Found> {
        let merged = self.section().merged.clone();
        let (first, rest) = path.split_first()?;
        let slot = merged.entries.get(first)?;
        self.quietly(|evaluator| evaluator.descend(slot, rest)).flatten()
    }

    /// The number of keys up to the first list above the end of a path.
    pub(super) fn first_list(&mut self, path: &[Key]) -> Option<usize> {
        let merged = self.section().merged.clone();
        let slot = merged.entries.get(path.first()?)?;
        let walk = |evaluator: &mut Evaluator<'_>| {
            let mut found = evaluator.descend(slot, &[])?;
            for (end, key) in path.iter().enumerate().skip(1) {
                match found {
                    Some(Found { whnf: Whnf::List(_), .. }) => return Ok(Some(end)),
                    Some(above) => found = evaluator.part(&above, key)?,
                    None => break,
                }
            }
            Ok(None)
        };
        self.quietly(walk).flatten()
    }

    /// The places of items in the list at a path.
    fn items(&mut self, path: &[Key], indexes: &[usize]) -> Vec<Option<ValuePlace>> {
        let found = if indexes.is_empty() { None } else { self.find(path) };
        let Some(Found { whnf: Whnf::List(list), .. }) = &found else { return vec![None; indexes.len()] };
        let place = |at: &usize| Some(self.places.of(list.items.get(*at)?.winner().origin(), "input data"));
        indexes.iter().map(place).collect()
    }
}
