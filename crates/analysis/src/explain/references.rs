//! Explains the references in a text, each with the trace of its target, and the nodes that answered a query.

use std::rc::Rc;
use std::sync::Arc;

use super::data::{QueryAnswer, ReferenceTrace, ValuePlace};
use super::explainer::{Explainer, MAX_DEPTH};
use super::place::ValuePlaces;
use reclass::parts::engine::{NodeRequest, QueryRecord};
use reclass::parts::evaluate::{Found, TracedReference, Whnf};
use reclass::parts::model::{MapSlot, Part, Query, Slot, Template};
use reclass_base::path::{KeyPath, list_index};
use reclass_base::source::Origin;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};

impl Explainer<'_> {
    /// The references of a text with their values. Other slots have none.
    pub(super) fn references(&mut self, slot: &Slot, rest: &[Key]) -> Vec<ReferenceTrace> {
        let Slot::Text(template, origin) = slot else { return Vec::new() };
        self.budget.take_defaults(template);
        let traced = self.evaluator.trace_references(template, *origin);
        // If the text is a single reference, it may bring a container in. The rest of the path continues
        // there.
        let rest = if template.parts.len() == 1 { rest } else { &[] };
        traced.into_iter().map(|traced| self.reference(traced, rest)).collect()
    }

    /// The place that sets the value that a reference brings to a path. It is behind the last of several references.
    pub(super) fn referenced(&mut self, path: &[Key]) -> Option<ValuePlace> {
        let source = self.last_source(path)?;
        self.visited.clear();
        let references = self.references(&source.slot, path.get(source.depth..)?);
        let (mut references, mut place) = (references.as_slice(), None);
        while let [ReferenceTrace { trace: Some(trace), .. }] = references {
            place.clone_from(&trace.place);
            let last = trace.steps.iter().rfind(|step| step.counts);
            references = last.map_or(&[], |step| &step.references);
        }
        place.filter(|_| !self.budget.is_full())
    }

    fn reference(&mut self, traced: TracedReference, rest: &[Key]) -> ReferenceTrace {
        let path: Option<Vec<Key>> = traced.path.map(|path| self.keys(&path));
        let mut failed = false;
        let (value, fault) = match traced.value {
            Ok(Value::Map(_)) => (None, None),
            Ok(value) => (Some(value), None),
            Err(fault) => {
                failed = true;
                (None, fault.map(|fault| *fault))
            }
        };
        let inner = traced.inner.into_iter().map(|inner| self.reference(inner, &[])).collect();
        let target = path.as_ref().map(|path| [path, rest].concat());
        let trace = match &target {
            Some(path)
                if !traced.default_used && self.depth < MAX_DEPTH && self.visited.insert(path.clone()) =>
            {
                self.depth += 1;
                let path = path.clone();
                let trace = grow(|| self.among_parameters(|explainer| explainer.history(&path)));
                self.depth -= 1;
                Some(Box::new(trace))
            }
            _ => None,
        };
        let reference = ReferenceTrace {
            written: traced.written,
            path: path.map(|path| self.key_path(&path)),
            value,
            default_used: traced.default_used,
            failed,
            fault,
            inner,
            trace,
        };
        self.budget.take_reference(&reference);
        reference
    }

    /// The targets of the references that contain references, without those inside of them.
    pub(super) fn nested_targets(&mut self, template: &Template, origin: Origin) -> Vec<Option<KeyPath>> {
        let fixed = |part: &Part| matches!(part, Part::Reference(reference) if reference.fixed.is_none());
        if !template.parts.iter().any(fixed) {
            return Vec::new();
        }
        let traced = self.evaluator.trace_references(template, origin);
        let references = template.parts.iter().filter(|part| matches!(part, Part::Reference(_)));
        let nested = traced.into_iter().zip(references).filter(|(_, part)| fixed(part));
        let paths: Vec<_> = nested.map(|(traced, _)| traced.path).collect();
        let path = |path: Option<Vec<Text>>| path.map(|path| self.keys(&path));
        let keys: Vec<Option<Vec<Key>>> = paths.into_iter().map(path).collect();
        keys.into_iter().map(|keys| keys.map(|keys| self.key_path(&keys))).collect()
    }

    /// References name parameters, even in exports.
    fn among_parameters<T>(&mut self, ask: impl FnOnce(&mut Self) -> T) -> T {
        let exports = std::mem::replace(&mut self.in_exports, false);
        let answer = ask(self);
        self.in_exports = exports;
        answer
    }

    /// The keys that the segments of a reference mean. A list index becomes a number.
    fn keys(&mut self, segments: &[Text]) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::with_capacity(segments.len());
        for segment in segments {
            let length =
                match self.among_parameters(|explainer| explainer.find(&keys)).map(|found| found.whnf) {
                    Some(Whnf::List(list)) => Some(list.items.len()),
                    Some(Whnf::Value(Value::List(items))) => Some(items.len()),
                    _ => None,
                };
            let number = length.and_then(|length| i64::try_from(list_index(segment, length)?).ok());
            keys.push(number.map_or_else(|| Key::from(segment.clone()), |number| Key(Value::Int(number))));
        }
        keys
    }

    /// The nodes that an inventory query found, with the places of their exports. `rest` is the remaining
    /// path inside the answer. If it leads into the answer of one node, only that node is named.
    pub(super) fn answers(&mut self, slot: &Slot, rest: &[Key]) -> Vec<QueryAnswer> {
        let Slot::Query(query, _) = slot else { return Vec::new() };
        let Answered { found, nodes, .. } = self.answered(query, slot);
        let (only, inside) = match (rest.split_first(), &query.value) {
            (Some((node, inside)), Some(_)) => (node.as_str().map(Text::from), inside),
            (Some((item, _)), None) => {
                let found = found.and_then(|found| self.quietly(|evaluator| evaluator.part(&found, item)));
                match found.flatten().map(|found| found.whnf) {
                    Some(Whnf::Value(Value::Str(node))) => (Some(node), &[][..]),
                    _ => (None, &[][..]),
                }
            }
            (None, _) => (None, &[][..]),
        };
        let paths: Vec<&[Text]> =
            query.comparisons().map(|test| test.export.as_slice()).chain(query.value.as_deref()).collect();
        nodes
            .iter()
            .filter(|node| only.as_ref().is_none_or(|only| only == *node))
            .map(|node| {
                let layers = self.computation.layers(NodeRequest::plain(node)).ok();
                let place = layers.as_ref().and_then(|layers| {
                    let path = paths.last()?;
                    let keys = path.iter().cloned().map(Key::from).chain(inside.iter().cloned());
                    let keys: Vec<Key> = keys.collect();
                    let origin = deepest(&layers.exports, &keys)?;
                    Some(ValuePlaces::new(self.computation, layers).of(origin, "node"))
                });
                QueryAnswer { node: node.clone(), place }
            })
            .collect()
    }

    /// The nodes that an inventory query found.
    pub(super) fn answering_nodes(&mut self, query: &Arc<Query>, slot: &Slot) -> Rc<[Text]> {
        self.answered(query, slot).nodes
    }

    /// The answer of a query. It is cached, because each of its parts needs it.
    fn answered(&mut self, query: &Arc<Query>, slot: &Slot) -> Answered {
        let address = Arc::as_ptr(query) as usize;
        if let Some(answered) = self.answered.get(&address) {
            return answered.clone();
        }
        self.others.queries.borrow_mut().clear();
        let found = self.quietly(|evaluator| evaluator.compute(slot));
        let nodes = self.others.queries.take().iter().flat_map(QueryRecord::found).cloned().collect();
        let answered = Answered { _query: query.clone(), found, nodes };
        self.answered.insert(address, answered.clone());
        answered
    }
}

/// The answer of a query, and the nodes that it found.
#[derive(Clone)]
pub(super) struct Answered {
    /// Keeps the query alive, so that its address identifies it.
    _query: Arc<Query>,
    found: Option<Found>,
    nodes: Rc<[Text]>,
}

/// The origin of the deepest key of a path that a map contains.
fn deepest(map: &MapSlot, path: &[Key]) -> Option<Origin> {
    let (first, rest) = path.split_first()?;
    let slot = map.entries.get(first)?;
    match slot {
        Slot::Map(inner) if !rest.is_empty() => deepest(inner, rest).or(Some(inner.origin)),
        other => Some(other.winner().origin()),
    }
}
