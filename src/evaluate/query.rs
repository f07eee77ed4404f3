//! Queries: evaluates `$[ … ]` to the exports of the nodes that pass its tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use crate::evaluate::{Evaluator, Extent, Found, Stop, Whnf};
use crate::model::query::{Connective, Operand, Query};
use crate::model::slot::{Entries, MapSlot, Slot};
use reclass_base::error::{Fault, Kind};
use reclass_base::failpoints::failpoint;
use reclass_base::size::ValueSize;
use reclass_base::source::Origin;
use reclass_base::value::{CONTAINER, Key, ObjectCopies, Text, Value, has_objects};

/// The interface of a query to other nodes.
pub trait Others {
    /// Asks all nodes in scope: those of every environment, or those in the environment of the asking node (Q2).
    /// Nodes that ask the same share the outcome.
    fn ask(&self, question: Question) -> Result<Arc<Outcome>, UnansweredQuestion>;
}

/// Why a question has no outcome: the first node that fails, by name, and its fault.
pub type UnansweredQuestion = (Text, Fault);

/// The exports of one node at the paths of a question, in order. `None` for an export that does not exist, or
/// that fails while errors are ignored.
pub type ExportedValues = [Option<Value>];

/// The outcome of a question.
#[derive(Debug)]
pub struct Outcome {
    /// The nodes that passed the tests, sorted by name, with their values in a value query.
    pub nodes: Vec<(Text, Option<Value>)>,
    /// The value of the query: a mapping of the values by node, or a list of the nodes.
    value: Value,
    /// Whether the value has objects, which each query copies (Y7).
    has_objects: bool,
    /// Whether the memory of the outcome is counted for a node that asked.
    counted: AtomicBool,
}

impl Outcome {
    /// The value for one query of one node.
    fn value(&self) -> Value {
        match &self.value {
            Value::Map(map) if self.has_objects => {
                let copies =
                    map.iter().map(|(node, value)| (node.clone(), ObjectCopies::default().value(value)));
                Value::map(copies.collect())
            }
            value => value.clone(),
        }
    }
}

/// A query with the values that it takes from the asking node.
#[derive(Clone, Debug)]
pub struct Question {
    query: Arc<Query>,
    /// The value to compare with, for each comparison.
    pub operands: Vec<Value>,
    /// Whether failed exports are left out.
    pub ignore_errors: bool,
}

impl Question {
    /// The query as written in its layer.
    pub fn query(&self) -> &Arc<Query> {
        &self.query
    }

    /// The paths of the requested exports: those of the tests, and the value.
    pub fn paths(&self) -> impl Iterator<Item = &Vec<Text>> {
        self.query.comparisons().map(|test| &test.export).chain(&self.query.value)
    }

    /// The outcome for the exports of these nodes, sorted by name.
    pub fn outcome<'n>(&self, nodes: impl Iterator<Item = (&'n Text, &'n ExportedValues)>) -> Outcome {
        let wanted = self.query.value.is_some();
        let passed = nodes.filter_map(|(node, exports)| {
            let value = exports.last().filter(|_| wanted).cloned().flatten();
            (wanted == value.is_some() && self.passes(exports)).then(|| (node.clone(), value))
        });
        let nodes: Vec<(Text, Option<Value>)> = passed.collect();
        let value = if wanted {
            let values = nodes.iter().filter_map(|(node, value)| Some((node.clone().into(), value.clone()?)));
            Value::map(values.collect())
        } else {
            Value::list(nodes.iter().map(|(node, _)| Value::Str(node.clone())).collect())
        };
        Outcome { nodes, has_objects: has_objects(&value), value, counted: AtomicBool::new(false) }
    }

    fn passes(&self, exports: &ExportedValues) -> bool {
        let mut passed = true;
        for (index, (comparison, operand)) in self.query.comparisons().zip(&self.operands).enumerate() {
            let equal = exports[index].as_ref().map(|value| python_equal(value, operand));
            let holds = equal.is_some_and(|equal| equal == comparison.equal);
            passed = match index.checked_sub(1).map(|before| self.query.rest[before].0) {
                None => holds,
                Some(Connective::And) => passed && holds,
                Some(Connective::Or) => passed || holds,
            };
        }
        passed
    }
}

impl Evaluator<'_> {
    pub(super) fn query(&mut self, query: &Arc<Query>, origin: Origin) -> Result<Found, Stop> {
        failpoint("a query is asked");
        let source = query.source.to_string();
        // Other nodes change, and each node has its own environment.
        self.own = true;
        let Some(others) = self.others else {
            if self.extent != Extent::Whole && !self.exports {
                return Err(Stop::Reported);
            }
            return Err(self.place(Fault::new(Kind::QueryInExport { query: source }), origin, None).into());
        };
        let operands = query
            .comparisons()
            .map(|comparison| self.operand(&comparison.operand, &source, origin))
            .collect::<Result<Vec<_>, Stop>>()?;
        let ignore_errors = query.ignore_errors || self.settings.inventory_ignore_failed_render;
        let question = Question { query: query.clone(), operands, ignore_errors };
        let outcome = match others.ask(question) {
            Ok(outcome) => outcome,
            Err((node, cause)) => {
                let kind = Kind::QueryFailed { query: source, node: node.to_string() };
                let mut fault = self.place(Fault::new(kind), origin, None);
                fault.causes.push(cause);
                return Err(fault.into());
            }
        };
        self.bytes += CONTAINER;
        if !outcome.counted.swap(true, Ordering::Relaxed) {
            // Each node takes memory in the outcome, in its value, and in the keys of the value.
            self.bytes += outcome.nodes.len() * (size_of::<(Text, Option<Value>)>() + 4 * size_of::<Key>());
        }
        Ok(Whnf::Value(outcome.value()).into())
    }

    /// The value of an export, `None` if it does not exist. Faults are recorded, or left out if errors are
    /// ignored. The path leads only through mappings: the path of a query has no indexes.
    pub fn export(&mut self, exports: &Arc<MapSlot>, path: &[Text], ignore_errors: bool) -> Option<Value> {
        self.exports = true;
        let mut found = Found::from(Whnf::Map(exports.clone()));
        let before = self.enter([]);
        let mut result = Ok(None);
        for (index, key) in path.iter().enumerate() {
            self.push_text(key);
            let child = found.whnf.child(key.as_ref() as &str, |_| None);
            let next = child.map(|child| self.child_whnf(child));
            match next {
                None => break,
                Some(Err(stop)) => {
                    result = Err(stop);
                    break;
                }
                Some(Ok(whnf)) => found = whnf,
            }
            if index + 1 == path.len() {
                result = if ignore_errors {
                    Ok(self.without_failures(&found, &mut FailureSearch::new()).map(|(value, _)| value))
                } else {
                    self.deep_found(&found).map(Some)
                };
            }
        }
        self.leave(before);
        result.unwrap_or_else(|stop| {
            self.report(stop);
            None
        })
    }

    /// A value without its failed entries and items (Q4), and its size.
    fn without_failures(&mut self, found: &Found, search: &mut FailureSearch) -> Option<(Value, ValueSize)> {
        if let Ok(value) = self.deep_found(found) {
            return Some((value, self.size));
        }
        let address = found.whnf.address()?;
        if let Some(result) = search.memo.get(&address) {
            return result.clone();
        }
        if let Some(place) = search.inside.iter().position(|outer| *outer == address) {
            search.outermost = search.outermost.min(place);
            return None;
        }
        search.visited += 1;
        if search.visited > MOST_FAILING {
            return None;
        }
        let depth = search.inside.len();
        search.inside.push(address);
        let outermost = std::mem::replace(&mut search.outermost, usize::MAX);
        let rest = self.deeper(|evaluator| {
            let mut cost = ValueSize::default();
            let mut part = |slot: &Slot| {
                let found = evaluator.whnf(slot).ok()?;
                let (value, part) = evaluator.without_failures(&found, search)?;
                cost.add(part);
                Some(value)
            };
            let mut map = |entries: &Entries| {
                let parts = entries.iter().filter_map(|(key, slot)| Some((key.clone(), part(slot)?)));
                Value::map(parts.collect())
            };
            let value = match &found.whnf {
                Whnf::Map(found) => map(&found.entries),
                Whnf::Raw(found) => map(&found.entries),
                Whnf::List(found) => Value::list(found.items.iter().filter_map(part).collect()),
                Whnf::Value(value) => value.clone(),
            };
            Ok((value, cost.wrapped()))
        });
        search.inside.pop();
        // The remaining parts are shared here, but consumers get a copy for each occurrence.
        let most = self.settings.limit_values as usize;
        let rest = rest.ok().filter(|(_, cost)| cost.size <= most);
        if search.outermost >= depth {
            search.outermost = outermost;
            search.memo.insert(address, rest.clone());
        } else {
            // The result depends on the containers outside, so it is not stored.
            search.outermost = search.outermost.min(outermost);
        }
        rest
    }

    /// The value that a test compares with. Null cannot be compared.
    pub(super) fn operand(&mut self, operand: &Operand, query: &str, origin: Origin) -> Result<Value, Stop> {
        let unfit = |evaluator: &Self, message: String| {
            let kind = Kind::QueryOperand { query: query.to_owned(), message };
            Stop::from(evaluator.place(Fault::new(kind), origin, None))
        };
        match operand {
            Operand::Data(value) => Ok(value.clone()),
            Operand::Missing => Err(unfit(self, "a test has no value to compare with".into())),
            Operand::Parameter(path) => {
                let found = self.resolve_path(path, origin)?;
                match self.deep_found(&found)? {
                    Value::Null => {
                        let path: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
                        let path = path.join(&self.settings.delimiter);
                        Err(unfit(self, format!("'self:{path}' is null")))
                    }
                    value => Ok(value),
                }
            }
        }
    }
}

/// The maximum number of failed containers to visit for one export.
const MOST_FAILING: usize = 100_000;

/// The state of a search for the parts of failed containers that have a value.
struct FailureSearch {
    /// The containers around the current one. A container inside of itself fails there.
    inside: Vec<usize>,
    /// The index of the outermost of them that was met again inside the current one.
    outermost: usize,
    /// The remaining values of containers whose result is the same at every path.
    memo: FxHashMap<usize, Option<(Value, ValueSize)>>,
    /// The number of visited containers.
    visited: usize,
}

impl FailureSearch {
    fn new() -> FailureSearch {
        FailureSearch { inside: Vec::new(), outermost: usize::MAX, memo: FxHashMap::default(), visited: 0 }
    }
}

/// Python's `==`: numbers and booleans compare across types.
pub fn python_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| python_equal(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| python_equal(value, other)))
        }
        (Value::List(_) | Value::Map(_), _) | (_, Value::List(_) | Value::Map(_)) => false,
        (Value::Set(a), Value::Set(b)) => {
            a.len() == b.len() && a.iter().all(|item| b.iter().any(|other| python_equal(item, other)))
        }
        // NaN is the only float that differs from itself.
        (Value::Float(a), Value::Float(b)) if a.is_nan() || b.is_nan() => false,
        _ => Key(a.clone()) == Key(b.clone()),
    }
}
