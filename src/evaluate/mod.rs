//! Evaluation computes the values of merged slots: it follows references and folds stacks.
//!
//! Evaluation is lazy, and each slot is computed once. The *whnf* of a slot is its weak head normal form: its
//! own kind is known, while its items are still slots. `${a:b}` needs only the whnf of `a`, so a mapping may
//! refer to its own parts. A slot that needs its own whnf is a cycle (R9). It is detected by the state of the
//! slot, not by counting.
//!
//! Each problem is recorded at its own path. Values that depend on it fail silently, so one evaluation
//! reports every problem of a node once (R5).

mod deep;
mod fold;
mod further;
mod lists;
mod memo;
mod partial;
mod path_stack;
mod query;
mod reference;
mod root;
mod trace;
mod without;

use std::hash::Hash;
use std::sync::Arc;

use indexmap::Equivalent;

use crate::model::merge::Prefixes;
use crate::model::slot::{ListSlot, MapSlot, RawSlot, Slot};
use crate::model::template::{Part, Template};
use reclass_base::error::{Fault, Kind, MAX_FAULTS, Warning, truncate_faults, truncate_unless_grouped};
use reclass_base::pattern::push_escaped;
use reclass_base::settings::Settings;
use reclass_base::similar::SearchCost;
use reclass_base::size::ValueSize;
use reclass_base::source::{FileId, Origin, Site, Span};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};

pub use lists::ItemEffect;
pub use lists::ItemStep;
use memo::{Memo, SlotKey, SlotState};
pub use partial::{ClassMemo, OwnPaths};
use path_stack::PathStack;
pub use path_stack::{PartSites, site, site_of};
pub use query::{Others, Outcome, Question, UnansweredQuestion, python_equal};
pub use reference::NotFound;
pub use root::{Root, SharedParameters, ValueSource};
pub use trace::Effect;
pub use trace::{FoldStep, FoldTrace, Run, TracedReference};
pub use without::{References, slot_without, without};

/// Finds source positions for messages. Called only if there is a message.
pub trait Locate {
    /// The path of a file and the span of a YAML node in it.
    fn locate(&self, origin: Origin) -> Option<(Arc<str>, Span)>;
    /// The content of a file.
    fn bytes(&self, file: FileId) -> Option<Arc<[u8]>>;
    /// The class or node that this data belongs to, and whether it is a class, if it is in no file of its own.
    fn owner(&self, _: FileId) -> Option<(bool, Text)> {
        None
    }
    /// The source position of a YAML node.
    fn site(&self, origin: Origin) -> Option<Site> {
        self.locate(origin).map(|(path, span)| Site::at(path, span))
    }
}

/// Why the evaluation of a slot failed.
#[derive(Debug)]
pub enum Stop {
    /// The reference in this very slot is missing. A later value may make up for it (R6).
    Missing(Box<NotFound>),
    /// Any other fault, not recorded yet.
    Fault(Box<Fault>),
    /// The fault is already recorded where it happened.
    Reported,
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(Box::new(fault))
    }
}

/// The weak head normal form of a slot: finished data, or a container with its slots.
#[derive(Clone, Debug)]
pub enum Whnf {
    /// Finished data.
    Value(Value),
    /// A list whose items may still be slots.
    List(Arc<ListSlot>),
    /// A mapping inside of a list. Its keys keep their types.
    Raw(Arc<RawSlot>),
    /// A mapping.
    Map(Arc<MapSlot>),
}

impl Whnf {
    /// The whnf of a slot, if it needs no computation.
    pub(crate) fn of(slot: &Slot) -> Option<Whnf> {
        match slot {
            Slot::Value(value, _) => Some(Whnf::Value(value.clone())),
            Slot::List(list) => Some(Whnf::List(list.clone())),
            Slot::Raw(raw) => Some(Whnf::Raw(raw.clone())),
            Slot::Map(map) => Some(Whnf::Map(map.clone())),
            Slot::Text(..) | Slot::Query(..) | Slot::Stack(_) => None,
        }
    }
    /// The slots of the container. Finished data has none.
    pub fn slots(&self) -> std::slice::Iter<'_, Slot> {
        match self {
            Whnf::Value(_) => [].iter(),
            Whnf::List(list) => list.items.iter(),
            Whnf::Raw(raw) => raw.entries.values(),
            Whnf::Map(map) => map.entries.values(),
        }
    }
    /// Identifies the container during its lifetime.
    pub fn address(&self) -> Option<usize> {
        match self {
            Whnf::Value(_) => None,
            Whnf::List(list) => Some(Arc::as_ptr(list) as usize),
            Whnf::Raw(raw) => Some(Arc::as_ptr(raw) as usize),
            Whnf::Map(map) => Some(Arc::as_ptr(map) as usize),
        }
    }
    /// Whether it is a mapping or a list.
    pub fn is_container(&self) -> bool {
        !matches!(self, Whnf::Value(value) if !matches!(value, Value::List(_) | Value::Map(_)))
    }
    /// Whether it is a list.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self, Whnf::List(_) | Whnf::Value(Value::List(_)))
    }
    /// Whether it is null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Whnf::Value(Value::Null))
    }
    /// The child at a key. For a list, `index` returns the index of the item, given the length.
    pub(crate) fn child<K>(&self, key: &K, index: impl FnOnce(usize) -> Option<usize>) -> Option<Child<'_>>
    where
        K: ?Sized + Hash + Equivalent<Key>,
    {
        match self {
            Whnf::Map(map) => map.entries.get(key).map(Child::Slot),
            Whnf::Raw(raw) => raw.entries.get(key).map(Child::Slot),
            Whnf::List(list) => list.items.get(index(list.items.len())?).map(Child::Slot),
            Whnf::Value(Value::Map(map)) => map.get(key).map(Child::Data),
            Whnf::Value(Value::List(items) | Value::Tuple(items)) => {
                items.get(index(items.len())?).map(Child::Data)
            }
            Whnf::Value(_) => None,
        }
    }
}

/// A slot of a container, or a part of finished data. Finished data comes from a query, a default or an
/// automatic parameter.
#[derive(Clone, Copy)]
pub enum Child<'s> {
    /// A slot.
    Slot(&'s Slot),
    /// A part of a final value.
    Data(&'s Value),
}

/// A container of a failed path. It is examined after everything else is evaluated, because its content may
/// refer to unfinished paths.
struct Deferred {
    found: Found,
    path: Vec<Key>,
    /// Whether the path is one of the exports.
    export: bool,
}

/// The whnf of a slot, and the path at which a reference found it.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its weak head normal form.
    pub whnf: Whnf,
    /// The path of the value, if a reference led to another path.
    pub(crate) target: Option<Arc<[Key]>>,
    /// Whether the value comes from a reference (M4).
    pub(crate) from_reference: bool,
}

impl From<Whnf> for Found {
    fn from(whnf: Whnf) -> Found {
        Found { whnf, target: None, from_reference: false }
    }
}

/// The part of a node to evaluate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Everything.
    Whole,
    /// Everything except unreadable values. A value that depends on one fails silently. So does a query,
    /// because the node has failed for other nodes.
    Readable,
}

/// The purpose of an evaluation. It decides which diagnostics are needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// An answer that probably has no problem. Only the depth is tracked, without paths. If there is a
    /// problem, the node is evaluated again in `Full`.
    Fast,
    /// An answer with all problems of all paths.
    Full,
    /// An explanation: only the first problem per path, and no warnings.
    Explain,
    /// An evaluation whose problems are dropped: it does not search for similar names.
    Silent,
}

/// Evaluates the slots of one node.
pub struct Evaluator<'a> {
    /// The checked settings.
    pub(crate) settings: &'a Settings,
    /// The prefixes of keys that override and hold.
    pub(crate) prefixes: Prefixes,
    root: Root,
    sources: &'a dyn Locate,
    /// Who answers queries about other nodes; `None` where there are none.
    pub others: Option<&'a dyn Others>,
    mode: Mode,
    extent: Extent,
    /// Whether the exports are being evaluated.
    exports: bool,
    whnfs: Memo<Found>,
    values: Memo<(Value, ValueSize)>,
    /// The size of the last returned value.
    size: ValueSize,
    /// The total length of all text built from references.
    text: usize,
    /// The number of folded values of layers.
    folded: usize,
    /// Estimated bytes of the values computed by this evaluator.
    pub bytes: usize,
    path_stack: PathStack,
    depth: usize,
    /// Values of layers that a `~` replaced. They are examined last, only for R6.
    replaced: Vec<fold::Replaced>,
    /// Containers of failed paths. They are examined last, only for more problems (R5).
    deferred: Vec<Deferred>,
    /// The memo from another node with the same classes.
    class_memo: Option<Arc<ClassMemo>>,
    /// The node's own paths, if the results for all other paths are to be stored.
    own_slots: Option<partial::OwnSlots>,
    /// Whether the current computation depends on the node's own paths.
    own: bool,
    /// The problems found so far.
    pub faults: Vec<Fault>,
    /// Cost so far of searching for similar names.
    compared: SearchCost,
    /// The warnings found so far.
    pub warnings: Vec<Warning>,
    /// A reference whose default was used.
    pub default_used: Option<Text>,
}

/// The number of nested steps that fit into the stack requested by one of them.
const STEPS: usize = 8;

/// About how many references a node has, and how many containers with references. The first number is without
/// a memo of another node, the second with one.
const EXPECTED: [usize; 2] = [448, 112];

impl<'a> Evaluator<'a> {
    /// Creates an evaluator that looks up references in `root`.
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
            whnfs: Memo::default(),
            values: Memo::default(),
            size: ValueSize::default(),
            text: 0,
            folded: 0,
            bytes: 0,
            path_stack: PathStack::default(),
            depth: 0,
            replaced: Vec::new(),
            deferred: Vec::new(),
            class_memo: None,
            own_slots: None,
            own: false,
            faults: Vec::new(),
            compared: SearchCost::default(),
            warnings: Vec::new(),
            default_used: None,
        }
    }

    /// Changes the mode.
    #[must_use]
    pub fn in_mode(mut self, mode: Mode) -> Evaluator<'a> {
        self.mode = mode;
        self
    }

    /// Adds other nodes, for queries.
    #[must_use]
    pub fn with_others(mut self, others: &'a dyn Others) -> Evaluator<'a> {
        self.others = Some(others);
        self
    }

    /// Continues with the search cost of another evaluator for the same node.
    #[must_use]
    pub fn with_cost_of(self, other: &Evaluator<'_>) -> Evaluator<'a> {
        self.compared.set(other.compared.spent());
        self
    }

    /// Restricts the evaluation to a part of the node. For evaluations that serve only to find problems.
    #[must_use]
    pub fn in_extent(mut self, extent: Extent) -> Evaluator<'a> {
        self.extent = extent;
        self
    }

    /// Cost so far, in units of one value.
    pub fn spent(&self) -> usize {
        self.whnfs.len() + self.folded + self.bytes / reclass_base::size::TEXT_UNIT
    }

    /// The paths of the references that were followed, if the root records them.
    pub fn read_paths(&self) -> impl Iterator<Item = &[Text]> {
        self.root.looked_up()
    }

    /// Evaluates all exports, after the parameters. Records faults.
    pub fn evaluate_exports(&mut self, exports: &Arc<MapSlot>) -> Option<Value> {
        self.others = None;
        self.exports = true;
        self.evaluate(exports)
    }

    /// Evaluates a whole map. Records faults.
    pub fn evaluate(&mut self, map: &Arc<MapSlot>) -> Option<Value> {
        let expected = EXPECTED[usize::from(self.class_memo.is_some())];
        self.whnfs.reserve_for(expected);
        self.values.reserve_for(expected);
        match self.deep_map(map) {
            Ok(value) => Some(value),
            Err(stop) => {
                self.report(stop);
                None
            }
        }
    }

    /// Examines the replaced values and returns all faults.
    pub fn finish(&mut self) -> Vec<Fault> {
        self.examine_replaced();
        let mut faults = std::mem::take(&mut self.faults);
        truncate_faults(&mut faults, MAX_FAULTS);
        truncate_unless_grouped(&mut faults, self.settings.group_errors);
        faults
    }

    /// The text of a class name with references, or all its faults.
    pub fn class_name(&mut self, template: &Template, origin: Origin) -> Result<String, Vec<Fault>> {
        let result = match template.parts.as_slice() {
            [Part::Reference(reference)] => self
                .resolve(reference, &template.source, origin)
                .and_then(|found| self.deep_found(&found))
                .map(|value| reclass_base::pystr::str(&value)),
            parts => self.text(parts, &template.source, origin),
        };
        match result {
            Ok(name) if self.faults.is_empty() => Ok(name),
            Ok(_) => Err(std::mem::take(&mut self.faults)),
            Err(stop) => {
                self.report(stop);
                self.report_further_in_text(template, origin);
                Err(std::mem::take(&mut self.faults))
            }
        }
    }

    /// The class names that a name with wildcards and references stands for, as a glob: only the wildcards
    /// outside of the references count. `None` if a reference has no value.
    pub fn class_pattern(&mut self, template: &Template, origin: Origin) -> Option<String> {
        let mut glob = String::new();
        for part in &template.parts {
            match part {
                Part::Literal(text) => glob.push_str(text),
                Part::Reference(_) => {
                    let text = self.text(std::slice::from_ref(part), &template.source, origin).ok()?;
                    push_escaped(&mut glob, &text);
                }
            }
        }
        Some(glob)
    }

    // ---- weak head normal forms --------------------------------------------------------------------------

    /// The whnf of a slot, computed once. Records faults.
    pub fn whnf(&mut self, slot: &Slot) -> Result<Found, Stop> {
        if let Some(whnf) = Whnf::of(slot) {
            return Ok(whnf.into());
        }
        let key = SlotKey::of(slot);
        if let Some(found) = self.class_memo.as_ref().and_then(|memo| memo.whnf(key)) {
            return Ok(found.clone());
        }
        let index = match self.whnfs.begin(key) {
            Ok(index) => index,
            Err(SlotState::Done { result: found, own }) => {
                self.own |= own;
                return Ok(found.clone());
            }
            Err(SlotState::Failed) => return Err(Stop::Reported),
            Err(SlotState::Pending) => return Err(self.cycle(key).into()),
        };
        self.push_active(key, slot.origin());
        let outer = std::mem::take(&mut self.own);
        let result = self.deeper(|evaluator| evaluator.compute(slot));
        self.pop_active();
        if let Ok(Found { whnf: Whnf::Map(map), .. }) = &result {
            self.use_map(map);
        }
        let result = result.map_err(|stop| {
            self.report(stop);
            // A reference back to this slot is a cycle, whatever else is wrong.
            self.report_further(slot);
            Stop::Reported
        });
        let own = self.own;
        self.own |= outer;
        self.whnfs.end(index, result.as_ref().ok().cloned(), own);
        result
    }

    pub(super) fn child_whnf(&mut self, child: Child<'_>) -> Result<Found, Stop> {
        match child {
            Child::Slot(slot) => self.whnf(slot),
            Child::Data(value) => Ok(Whnf::Value(value.clone()).into()),
        }
    }

    /// The whnf of a slot, without memo. The caller handles its fault.
    pub fn compute(&mut self, slot: &Slot) -> Result<Found, Stop> {
        match slot {
            Slot::Text(template, origin) => {
                match template.parts.as_slice() {
                    [Part::Reference(reference)] => {
                        return self.resolve(reference, &template.source, *origin);
                    }
                    // The value is unreadable. The fault of its file reports it (see `layer::Incomplete`).
                    [] => return Err(Stop::Reported),
                    _ => {}
                }
                let text = self.text(&template.parts, &template.source, *origin)?;
                Ok(Whnf::Value(Value::Str(text.into())).into())
            }
            Slot::Query(query, origin) => self.query(query, *origin),
            Slot::Stack(stack) => self.fold(stack),
            _ => self.whnf(slot),
        }
    }

    /// Text with references, each value as Python's `str()` writes it (R2).
    pub(crate) fn text(&mut self, parts: &[Part], source: &Text, origin: Origin) -> Result<String, Stop> {
        let mut out = String::with_capacity(source.len());
        for part in parts {
            match part {
                Part::Literal(text) => out.push_str(text),
                Part::Reference(reference) => {
                    let found = self.resolve(reference, source, origin)?;
                    let value = self.deep_found(&found)?;
                    if self.settings.verbose_warnings && matches!(value, Value::Map(_) | Value::List(_)) {
                        let (reference_text, found) = (reference.written.to_string(), value.type_name());
                        let kind = Kind::ContainerInText { reference: reference_text, found };
                        let warning = self.place(Fault::new(kind), origin, Some((source, reference.span)));
                        self.warn(warning);
                    }
                    match &value {
                        Value::Str(text) => out.push_str(text),
                        Value::Null if self.settings.compat_flags.null_as_null => out.push_str("null"),
                        value => out.push_str(&reclass_base::pystr::str(value)),
                    }
                }
            }
            let limit = self.settings.limit_text as usize * 1024 * 1024;
            if self.text.saturating_add(out.len()) > limit {
                let what = "the length of all text that references build, in bytes,";
                return Err(self.limit_exceeded(what, limit, "limit_text", origin));
            }
        }
        self.text += out.len();
        self.bytes += reclass_base::value::TEXT + out.len();
        Ok(out)
    }

    /// The error for exceeding the limit of a setting.
    fn limit_exceeded(
        &self,
        what: &'static str,
        limit: usize,
        setting: &'static str,
        origin: Origin,
    ) -> Stop {
        let kind = Kind::EvaluationLimit { what, limit, setting: Some(setting) };
        self.place(Fault::new(kind), origin, None).into()
    }

    // ---- steps --------------------------------------------------------------------------

    /// Runs one step deeper, with enough stack, up to the limit.
    fn deeper<T>(&mut self, compute: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        let limit = self.settings.limit_references as usize;
        if self.depth >= limit {
            let what = "the depth of references and containers";
            return Err(self.limit_exceeded(what, limit, "limit_references", self.active_origin()));
        }
        self.depth += 1;
        // One request for stack is enough for several steps.
        let result = if self.depth % STEPS == 1 { grow(|| compute(self)) } else { compute(self) };
        self.depth -= 1;
        result
    }
}
