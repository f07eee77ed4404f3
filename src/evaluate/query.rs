//! Queries: evaluates `$[ … ]` to the exports of the nodes that pass its tests.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::base::error::{Fault, Kind};
use crate::base::failpoints::failpoint;
use crate::base::size::ValueSize;
use crate::base::source::Origin;
use crate::base::value::{CONTAINER, Key, Text, Value};
use crate::evaluate::{Evaluator, Extent, Found, Stop, Whnf};
use crate::model::query::{Connective, Operand, Query};
use crate::model::slot::{Entries, MapSlot, Slot};

/// The interface of a query to other nodes.
pub trait Others {
    /// The names of the nodes in scope, sorted: all, or those in the environment of the asking node (Q2).
    fn nodes(&self, all_environments: bool) -> Result<Vec<Text>, Fault>;

    /// The exports of nodes at these paths, in order. A node has one value for each path: `None` if the
    /// export does not exist, or if it fails and errors are ignored. A node that is left out because it is
    /// unreadable has `None` instead of values. The error is that of the first node that fails, with its
    /// name.
    fn exports(
        &self,
        nodes: Vec<Text>,
        paths: &[&[Text]],
        ignore_errors: bool,
    ) -> Result<Told, (Text, Fault)>;

    /// Records a completed question and its outcome.
    fn answered(&self, question: Question, outcome: Outcome);
}

/// The exports of each node, as a query gets them.
pub type Told = Vec<(Text, Option<Vec<Option<Value>>>)>;

/// The nodes that passed the tests of a query, with their values in a value query.
pub type Outcome = Vec<(Text, Option<Value>)>;

/// A query with the values that it takes from the asking node.
#[derive(Clone, Debug)]
pub struct Question {
    query: Arc<Query>,
    /// The value to compare with, for each comparison.
    operands: Vec<Value>,
    /// Whether failed exports are left out.
    pub ignore_errors: bool,
}

impl Question {
    /// The query as written in its layer.
    pub fn query(&self) -> &Arc<Query> {
        &self.query
    }

    /// Whether the nodes of all environments are in scope.
    pub fn all_environments(&self) -> bool {
        self.query.all_environments
    }

    /// The paths of the requested exports: those of the tests, and the value.
    pub fn paths(&self) -> Vec<&[Text]> {
        let tested = self.query.comparisons().map(|test| test.export.as_slice());
        tested.chain(self.query.value.as_deref()).collect()
    }

    /// The outcome for these exports.
    pub fn outcome(&self, told: &Told) -> Outcome {
        told.iter()
            .filter_map(|(node, exports)| {
                let exports = exports.as_ref()?;
                let value = exports.last().cloned().flatten();
                let wanted = self.query.value.is_none() || value.is_some();
                (wanted && self.passes(exports))
                    .then(|| (node.clone(), value.filter(|_| self.query.value.is_some())))
            })
            .collect()
    }

    fn passes(&self, exports: &[Option<Value>]) -> bool {
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
        let failed = |evaluator: &Self, node: &str, cause: Fault| {
            let kind = Kind::QueryFailed { query: source.clone(), node: node.to_owned() };
            let mut fault = evaluator.place(Fault::new(kind), origin, None);
            fault.causes.push(cause);
            Stop::from(fault)
        };
        let nodes = match others.nodes(query.all_environments) {
            Ok(nodes) => nodes,
            Err(cause) => {
                let node = cause.node.as_ref().map_or_else(String::new, ToString::to_string);
                return Err(failed(self, &node, cause));
            }
        };
        let told = match others.exports(nodes, &question.paths(), ignore_errors) {
            Ok(told) => told,
            Err((node, cause)) => return Err(failed(self, &node, cause)),
        };
        let outcome = question.outcome(&told);
        let nodes = outcome.iter().cloned();
        let value = if query.value.is_some() {
            Value::map(nodes.filter_map(|(node, value)| Some((node.into(), value?))).collect())
        } else {
            Value::list(nodes.map(|(node, _)| Value::Str(node)).collect())
        };
        // Each node takes memory in the stored outcome, in the value, and in its keys, which are not shared.
        self.bytes += CONTAINER + outcome.len() * (size_of::<(Text, Option<Value>)>() + 4 * size_of::<Key>());
        others.answered(question, outcome);
        Ok(Whnf::Value(value).into())
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
                    Ok(self.without_failures(&found, &mut Left::new()).map(|(value, _)| value))
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
    fn without_failures(&mut self, found: &Found, left: &mut Left) -> Option<(Value, ValueSize)> {
        if let Ok(value) = self.deep_found(found) {
            return Some((value, self.size));
        }
        let address = found.whnf.address()?;
        if let Some(known) = left.known.get(&address) {
            return known.clone();
        }
        if let Some(place) = left.inside.iter().position(|around| *around == address) {
            left.outermost = left.outermost.min(place);
            return None;
        }
        left.looks += 1;
        if left.looks > MOST_FAILING {
            return None;
        }
        let depth = left.inside.len();
        left.inside.push(address);
        let outermost = std::mem::replace(&mut left.outermost, usize::MAX);
        let rest = self.deeper(|evaluator| {
            let mut measure = ValueSize::default();
            let mut part = |slot: &Slot| {
                let found = evaluator.whnf(slot).ok()?;
                let (value, part) = evaluator.without_failures(&found, left)?;
                measure.add(part);
                Some(value)
            };
            let mut map = |entries: &Entries| {
                let left = entries.iter().filter_map(|(key, slot)| Some((key.clone(), part(slot)?)));
                Value::map(left.collect())
            };
            let value = match &found.whnf {
                Whnf::Map(found) => map(&found.entries),
                Whnf::Raw(found) => map(&found.entries),
                Whnf::List(found) => Value::list(found.items.iter().filter_map(part).collect()),
                Whnf::Value(value) => value.clone(),
            };
            Ok((value, measure.wrapped()))
        });
        left.inside.pop();
        // The remaining parts are shared here, but consumers get a copy for each occurrence.
        let most = self.settings.limit_values as usize;
        let rest = rest.ok().filter(|(_, measure)| measure.size <= most);
        if left.outermost >= depth {
            left.outermost = outermost;
            left.known.insert(address, rest.clone());
        } else {
            // The result depends on the containers outside, so it is not stored.
            left.outermost = left.outermost.min(outermost);
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
struct Left {
    /// The containers around the current one. A container inside of itself fails there.
    inside: Vec<usize>,
    /// The index of the outermost of them that was met again inside the current one.
    outermost: usize,
    /// The remaining values of containers whose result is the same at every path.
    known: FxHashMap<usize, Option<(Value, ValueSize)>>,
    /// The number of visited containers.
    looks: usize,
}

impl Left {
    fn new() -> Left {
        Left { inside: Vec::new(), outermost: usize::MAX, known: FxHashMap::default(), looks: 0 }
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
