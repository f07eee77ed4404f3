//! Evaluation turns merged slots into values: references are followed, stacks folded.
//!
//! Evaluation is lazy and each place is computed once. The *head* of a place is its value
//! without what is inside of it; following `${a:b}` needs only the head of `a`, so a mapping
//! may refer to its own parts. A place that is needed for its own head is a cycle (R9), found
//! as a state, not by counting.
//!
//! Everything that goes wrong is recorded at the place where it stands, and places that depend
//! on it stay silent, so that one run reports every problem of a node once (R5).

mod deep;
mod fold;
mod further;
mod memo;
mod partial;
mod query;
mod reference;
mod root;
pub(crate) mod trace;
mod way;
mod without;

use std::cell::Cell;
use std::hash::Hash;
use std::sync::Arc;

use indexmap::Equivalent;

use crate::base::error::{Fault, Kind, MAX_FAULTS, Warning, truncate_faults, truncate_unless_grouped};
use crate::base::settings::Settings;
use crate::base::size::ValueSize;
use crate::base::source::{FileId, Origin, Site, Span};
use crate::base::stack::grow;
use crate::base::value::{Key, Text, Value};
use crate::model::merge::Prefixes;
use crate::model::slot::{ListSlot, MapSlot, RawSlot, Slot};
use crate::model::template::{Part, Template};

use memo::{Memo, State};
pub use partial::{Known, Own};
pub use query::{Others, Outcome, Question, Told, python_equal};
use reference::NotFound;
pub use root::{Root, Shared, ValueSource};
pub use trace::Effect;
pub(crate) use trace::{FoldStep, FoldTrace, ReferenceTrace, Run};
use way::Way;
pub(crate) use way::{site, site_of};
pub(crate) use without::{References, without};

/// Finds places for messages. Asked only when there is something to say.
pub trait Locate {
    /// The path of the file and the span of a node in it.
    fn locate(&self, origin: Origin) -> Option<(Arc<str>, Span)>;
    /// The bytes of a file.
    fn bytes(&self, file: FileId) -> Option<Arc<[u8]>>;
    /// The place of a node in its file.
    fn site(&self, origin: Origin) -> Option<Site> {
        self.locate(origin).map(|(path, span)| Site::at(path, span))
    }
}

/// What stopped the evaluation of a place.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The reference of this very place leads nowhere; a later value may make up for it (R6).
    Missing(Box<NotFound>),
    /// Anything else, not recorded yet.
    Fault(Box<Fault>),
    /// It is recorded where it happened.
    Reported,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(Box::new(fault))
    }
}

/// A value as far as its type and, for a container, its slots.
#[derive(Clone, Debug)]
pub(crate) enum Head {
    /// A finished value.
    Value(Value),
    /// A list.
    List(Arc<ListSlot>),
    /// A mapping of a list, keys as they are.
    Raw(Arc<RawSlot>),
    /// A mapping.
    Map(Arc<MapSlot>),
}

impl Head {
    /// The head of a slot that there is nothing to compute of.
    pub(crate) fn of(slot: &Slot) -> Option<Head> {
        match slot {
            Slot::Value(value, _) => Some(Head::Value(value.clone())),
            Slot::List(list) => Some(Head::List(list.clone())),
            Slot::Raw(raw) => Some(Head::Raw(raw.clone())),
            Slot::Map(map) => Some(Head::Map(map.clone())),
            Slot::Text(..) | Slot::Query(..) | Slot::Stack(_) => None,
        }
    }
    /// The slots in it: finished data has none.
    pub(crate) fn slots(&self) -> std::slice::Iter<'_, Slot> {
        match self {
            Head::Value(_) => [].iter(),
            Head::List(list) => list.items.iter(),
            Head::Raw(raw) => raw.entries.values(),
            Head::Map(map) => map.entries.values(),
        }
    }
    /// What tells it from other containers as long as it lives.
    pub(crate) fn address(&self) -> Option<usize> {
        match self {
            Head::Value(_) => None,
            Head::List(list) => Some(Arc::as_ptr(list) as usize),
            Head::Raw(raw) => Some(Arc::as_ptr(raw) as usize),
            Head::Map(map) => Some(Arc::as_ptr(map) as usize),
        }
    }
    /// Whether what is in it has to be computed.
    fn is_dynamic(&self) -> bool {
        match self {
            Head::Value(_) => false,
            Head::List(list) => list.dynamic,
            Head::Raw(raw) => raw.dynamic,
            Head::Map(map) => map.dynamic || map.stacked,
        }
    }
    pub(crate) fn is_container(&self) -> bool {
        !matches!(self, Head::Value(value) if !matches!(value, Value::List(_) | Value::Map(_)))
    }
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Head::Value(Value::Null))
    }
    /// What stands at a key; `index` makes the index of an item of it, for a list of this length.
    pub(crate) fn child<K>(&self, key: &K, index: impl FnOnce(usize) -> Option<usize>) -> Option<Child<'_>>
    where
        K: ?Sized + Hash + Equivalent<Key>,
    {
        match self {
            Head::Map(map) => map.entries.get(key).map(Child::Slot),
            Head::Raw(raw) => raw.entries.get(key).map(Child::Slot),
            Head::List(list) => list.items.get(index(list.items.len())?).map(Child::Slot),
            Head::Value(Value::Map(map)) => map.get(key).map(Child::Data),
            Head::Value(Value::List(items) | Value::Tuple(items)) => {
                items.get(index(items.len())?).map(Child::Data)
            }
            Head::Value(_) => None,
        }
    }
}

/// A slot of a container, or a part of finished data: of what a query, a default or an automatic parameter
/// brings in.
#[derive(Clone, Copy)]
pub(crate) enum Child<'s> {
    Slot(&'s Slot),
    Data(&'s Value),
}

/// The head of a place, and where a reference found it.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) head: Head,
    /// The path of the place, where a reference led to another one.
    pub(crate) home: Option<Arc<[Key]>>,
    /// Whether a reference brought it in (M4).
    pub(crate) brought: bool,
}

impl From<Head> for Found {
    fn from(head: Head) -> Found {
        Found { head, home: None, brought: false }
    }
}

/// How much of a node there is to evaluate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// All of it.
    Whole,
    /// All but values that cannot be read: what depends on them fails and tells nothing, and so does
    /// what asks other nodes, for which this one has failed.
    Readable,
}

/// What an evaluation is for, and so what is to be known of its problems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// An answer that probably has none: only the depth is tracked, and paths are left out. Where there is a
    /// problem, the node is evaluated again in full.
    Fast,
    /// An answer with all problems of all places.
    Full,
    /// An explanation, which tells the first problem of a place alone, and no warnings.
    Explain,
    /// A question whose problems are dropped: names that are similar are not searched.
    Silent,
}

/// Evaluates the places of one node.
pub struct Evaluator<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) prefixes: Prefixes,
    root: Root,
    sources: &'a dyn Locate,
    pub(crate) others: Option<&'a dyn Others>,
    mode: Mode,
    extent: Extent,
    /// Whether it is the exports that are evaluated.
    exports: bool,
    heads: Memo<Found>,
    values: Memo<(Value, ValueSize)>,
    /// The measure of the value that was given back last.
    measure: ValueSize,
    /// The length of all text that references built.
    text: usize,
    /// The number of values of layers that were folded.
    folded: usize,
    /// About how many bytes the values take that were made here.
    pub weight: usize,
    /// Keeps alive what was made on the way: addresses are keys.
    made: Vec<Head>,
    way: Way,
    depth: usize,
    /// Layers' values that a `~` replaced: looked at last, for R6 alone.
    replaced: Vec<fold::Replaced>,
    /// Containers of places that failed: looked into last, for more problems alone (R5).
    hidden: Vec<further::Hidden>,
    /// What is known from another node with the same classes.
    known: Option<Arc<Known>>,
    /// The node's own places, where what the others come to is to be kept.
    marks: Option<partial::Marks>,
    /// Whether what is computed at the moment is the node's own.
    own: bool,
    pub(crate) faults: Vec<Fault>,
    /// How much was compared to find similar names.
    compared: Cell<usize>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
    /// A reference whose default was used.
    pub default_used: Option<Text>,
}

/// How many steps into one another fit into the stack that one of them asks for.
const STEPS: usize = 8;

/// About how many references a node has, and how many containers with references; and how many of them
/// one has that relies on another node.
const USUAL: [usize; 2] = [448, 112];

impl<'a> Evaluator<'a> {
    /// An evaluator whose references are looked up in `root`.
    pub fn new(root: Root, settings: &'a Settings, sources: &'a dyn Locate) -> Evaluator<'a> {
        Evaluator {
            settings,
            prefixes: Prefixes::new(settings),
            root,
            sources,
            others: None,
            mode: Mode::Full,
            extent: Extent::Whole,
            exports: false,
            heads: Memo::default(),
            values: Memo::default(),
            measure: ValueSize::default(),
            text: 0,
            folded: 0,
            weight: 0,
            made: Vec::new(),
            way: Way::default(),
            depth: 0,
            replaced: Vec::new(),
            hidden: Vec::new(),
            known: None,
            marks: None,
            own: false,
            faults: Vec::new(),
            compared: Cell::new(0),
            warnings: Vec::new(),
            default_used: None,
        }
    }

    /// The same for another purpose.
    #[must_use]
    pub(crate) fn in_mode(mut self, mode: Mode) -> Evaluator<'a> {
        self.mode = mode;
        self
    }

    /// The same, with other nodes to ask.
    #[must_use]
    pub fn with_others(mut self, others: &'a dyn Others) -> Evaluator<'a> {
        self.others = Some(others);
        self
    }

    /// The same, beside one that has compared names for problems of the same node.
    #[must_use]
    pub(crate) fn beside(self, other: &Evaluator<'_>) -> Evaluator<'a> {
        self.compared.set(other.compared.get());
        self
    }

    /// The same for a part of a node, of which only problems are to be known.
    #[must_use]
    pub fn in_extent(mut self, extent: Extent) -> Evaluator<'a> {
        self.extent = extent;
        self
    }

    /// How many values the memory and the time of what was computed here would make.
    pub(crate) fn spent(&self) -> usize {
        self.heads.len() + self.folded + self.weight / crate::base::size::TEXT_UNIT
    }

    /// The value of all exports, after that of the parameters; what fails is recorded.
    pub fn evaluate_exports(&mut self, exports: &Arc<MapSlot>) -> Option<Value> {
        self.others = None;
        self.exports = true;
        self.evaluate(exports)
    }

    /// The value of a whole map; what fails is recorded.
    pub fn evaluate(&mut self, map: &Arc<MapSlot>) -> Option<Value> {
        let usual = USUAL[usize::from(self.known.is_some())];
        self.heads.reserve_for(usual);
        self.values.reserve_for(usual);
        match self.deep_map(map) {
            Ok(value) => Some(value),
            Err(stop) => {
                self.report(stop);
                None
            }
        }
    }

    /// Finishes: looks at what was replaced, and gives back what went wrong.
    pub fn finish(&mut self) -> Vec<Fault> {
        self.examine_replaced();
        let mut faults = std::mem::take(&mut self.faults);
        truncate_faults(&mut faults, MAX_FAULTS);
        truncate_unless_grouped(&mut faults, self.settings.group_errors);
        faults
    }

    /// The text of a class name with references, or everything that is wrong with it.
    pub fn class_name(&mut self, template: &Template, origin: Origin) -> Result<String, Vec<Fault>> {
        let result = match template.parts.as_slice() {
            [Part::Reference(reference)] => self
                .resolve(reference, &template.source, origin)
                .and_then(|found| self.deep_found(&found))
                .map(|value| crate::base::pystr::str(&value)),
            parts => self.text(parts, &template.source, origin),
        };
        match result {
            Ok(name) if self.faults.is_empty() => Ok(name),
            Ok(_) => Err(std::mem::take(&mut self.faults)),
            Err(stop) => {
                self.report(stop);
                self.rest_of_text(template, origin, further::Rest::All);
                Err(std::mem::take(&mut self.faults))
            }
        }
    }

    // ---- heads --------------------------------------------------------------------------

    /// The head of a place, computed once; what goes wrong is recorded here.
    pub(crate) fn head(&mut self, slot: &Slot) -> Result<Found, Stop> {
        if let Some(head) = Head::of(slot) {
            return Ok(head.into());
        }
        let address = std::ptr::from_ref(slot) as usize;
        if let Some(found) = self.known.as_ref().and_then(|known| known.head(address)) {
            return Ok(found);
        }
        let place = match self.heads.begin(address) {
            Ok(place) => place,
            Err(State::Done { result: found, own, .. }) => {
                self.own |= own;
                return Ok(found.clone());
            }
            Err(State::Failed) => return Err(Stop::Reported),
            Err(State::Pending) => return Err(self.cycle(address).into()),
        };
        self.push_active(address, slot.origin());
        let around = std::mem::take(&mut self.own);
        let result = self.deeper(|evaluator| evaluator.compute(slot));
        self.pop_active();
        if let Ok(Found { head: Head::Map(map), .. }) = &result {
            self.look_into(map);
        }
        let result = result.map_err(|stop| {
            self.report(stop);
            // What leads back here is a circle, whatever else is wrong.
            self.look_further(slot);
            Stop::Reported
        });
        let own = self.own;
        self.own |= around;
        self.heads.end(place, result.as_ref().ok().cloned(), own);
        result
    }

    /// The head of what stands at a key. Whoever asks keeps the container alive meanwhile.
    pub(super) fn child_head(&mut self, child: Child<'_>) -> Result<Found, Stop> {
        match child {
            Child::Slot(slot) => {
                self.look_at(slot);
                self.head(slot)
            }
            Child::Data(value) => Ok(Head::Value(value.clone()).into()),
        }
    }

    /// The head of a slot, not remembered, with its own problem left to the caller.
    pub(crate) fn compute(&mut self, slot: &Slot) -> Result<Found, Stop> {
        match slot {
            Slot::Text(template, origin) => {
                match template.parts.as_slice() {
                    [Part::Reference(reference)] => {
                        return self.resolve(reference, &template.source, *origin);
                    }
                    // It cannot be read, which is told where its file is (see `layer::Rest`).
                    [] => return Err(Stop::Reported),
                    _ => {}
                }
                let text = self.text(&template.parts, &template.source, *origin)?;
                Ok(Head::Value(Value::Str(text.into())).into())
            }
            Slot::Query(query, origin) => self.query(query, *origin),
            Slot::Stack(stack) => self.fold(stack),
            _ => self.head(slot),
        }
    }

    /// Text with references in it, as Python's `str()` of each part (R2).
    pub(crate) fn text(&mut self, parts: &[Part], source: &Text, origin: Origin) -> Result<String, Stop> {
        let mut out = String::with_capacity(source.len());
        for part in parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Reference(reference) => {
                    let found = self.resolve(reference, source, origin)?;
                    let value = self.deep_found(&found)?;
                    match &value {
                        Value::Str(text) => out.push_str(text),
                        Value::Null if self.settings.compat_flags.null_as_null => out.push_str("null"),
                        value => out.push_str(&crate::base::pystr::str(value)),
                    }
                }
            }
            let limit = self.settings.limit_text as usize * 1024 * 1024;
            if self.text.saturating_add(out.len()) > limit {
                let what = "the length of all text that references build, in bytes,";
                return Err(self.beyond(what, limit, "limit_text", origin));
            }
        }
        self.text += out.len();
        self.weight += crate::base::value::TEXT + out.len();
        Ok(out)
    }

    /// The error for what a setting limits.
    fn beyond(&self, what: &'static str, limit: usize, setting: &'static str, origin: Origin) -> Stop {
        let kind = Kind::EvaluationLimit { what, limit, setting: Some(setting) };
        self.place(Fault::new(kind), origin, None).into()
    }

    // ---- steps --------------------------------------------------------------------------

    /// Runs one step deeper, with stack to stand on, up to the limit.
    fn deeper<T>(&mut self, compute: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        let limit = self.settings.limit_references as usize;
        if self.depth >= limit {
            let what = "the depth of references and containers";
            return Err(self.beyond(what, limit, "limit_references", self.active_origin()));
        }
        self.depth += 1;
        // Some steps have room to stand on once one has.
        let result = if self.depth % STEPS == 1 { grow(|| compute(self)) } else { compute(self) };
        self.depth -= 1;
        result
    }
}
