//! Partial evaluation keeps what parameters come to where the node itself has no say, for the
//! next node with the same classes.
//!
//! Nodes with the same classes differ in what their own files say, and in what refers to it: a
//! few values of a hundred. So while a first such node is evaluated, each result is marked that
//! looked at a place of the node's own. All others are kept ([`Known`]), and hold for every node
//! with the same classes whose own file says something of the same places ([`Own`]): for it these
//! places are the only ones that may differ. What warns, replaces or asks other nodes is marked
//! too. Nothing is kept of a node that fails.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Evaluator, Found, Head, Measure};
use crate::slot::{MapSlot, Slot};
use crate::value::{Key, Value};

/// The places that a node's own parameters have a say in, as a walk through the map of its classes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Own(Box<[Step]>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    /// All that is at a key.
    At(Key),
    /// Into the map at a key, where classes have a map too.
    In(Key),
    /// Out of it.
    Out,
}

impl Own {
    /// The places in `classes` that `own` has a say in; `None` where prefixes are still text, so
    /// that merging has more to say than keys tell.
    pub fn of(own: &MapSlot, classes: &MapSlot) -> Option<Own> {
        let mut steps = Vec::with_capacity(2 * own.entries.len());
        (!own.prefixed && !classes.prefixed).then(|| walk(own, classes, &mut steps))?;
        Some(Own(steps.into()))
    }
}

fn walk(own: &MapSlot, classes: &MapSlot, steps: &mut Vec<Step>) {
    for (key, slot) in &own.entries {
        match (slot, classes.entries.get(key)) {
            (Slot::Map(own), Some(Slot::Map(classes))) if !classes.entries.is_empty() => {
                steps.push(Step::In(key.clone()));
                walk(own, classes, steps);
                steps.push(Step::Out);
            }
            _ => steps.push(Step::At(key.clone())),
        }
    }
}

/// The same places in the merged parameters of one node, by their addresses.
#[derive(Default)]
pub(super) struct Marks {
    slots: FxHashSet<usize>,
    /// The maps that hold them, at any depth.
    maps: FxHashSet<usize>,
}

impl Marks {
    fn new(own: &Own, automatic: Option<&str>, parameters: &Arc<MapSlot>) -> Option<Marks> {
        let mut marks = Marks::default();
        marks.maps.insert(Arc::as_ptr(parameters) as usize);
        if let Some(slot) = automatic.and_then(|key| parameters.entries.get(key)) {
            marks.slots.insert(std::ptr::from_ref(slot) as usize);
        }
        let mut maps: Vec<&MapSlot> = vec![parameters];
        for step in &own.0 {
            match step {
                Step::At(key) => {
                    let slot = maps.last()?.entries.get(key)?;
                    marks.slots.insert(std::ptr::from_ref(slot) as usize);
                }
                Step::In(key) => match maps.last()?.entries.get(key)? {
                    Slot::Map(map) => {
                        marks.maps.insert(Arc::as_ptr(map) as usize);
                        maps.push(map);
                    }
                    _ => return None,
                },
                Step::Out => drop(maps.pop()),
            }
        }
        Some(marks)
    }
}

/// What the parameters of some classes come to, whatever a node says of its own places.
pub struct Known {
    own: Own,
    /// Whether paths were left out of it.
    quiet: bool,
    /// The merged parameters of the classes, scalars instead of references to them where a node's
    /// own places stand beside.
    classes: Arc<MapSlot>,
    /// By the address of a container that the parameters of all such nodes share.
    values: FxHashMap<usize, (Value, Measure)>,
    /// By the address of a slot in such a container.
    heads: FxHashMap<usize, Found>,
    /// What the addresses belong to.
    _alive: ([Arc<MapSlot>; 2], Vec<Head>),
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").field("own", &self.own).finish_non_exhaustive()
    }
}

impl Known {
    /// The places that may differ.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// Whether it leaves names out of messages.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// The merged parameters of the classes, to merge a node's own into.
    pub fn classes(&self) -> &Arc<MapSlot> {
        &self.classes
    }

    pub(super) fn value(&self, address: usize) -> Option<(Value, Measure)> {
        self.values.get(&address).cloned()
    }

    pub(super) fn head(&self, address: usize) -> Option<Found> {
        self.heads.get(&address).cloned()
    }
}

impl Evaluator<'_> {
    /// Takes over what is known from another node.
    pub fn rely_on(&mut self, known: Arc<Known>) {
        self.known = Some(known);
    }

    /// Marks the places of a node's own before its parameters are evaluated. `automatic` is the
    /// key of parameters that differ from node to node.
    pub fn mark(&mut self, own: &Own, automatic: Option<&str>, parameters: &Arc<MapSlot>) {
        self.marks = Marks::new(own, automatic, parameters);
    }

    /// What other nodes need not evaluate again, once all went well. `classes` are the merged
    /// parameters of the classes, the others those of the node and its exports.
    pub fn into_known(
        mut self,
        own: Own,
        classes: &Arc<MapSlot>,
        [parameters, exports]: [&Arc<MapSlot>; 2],
    ) -> Option<Known> {
        let marks = self.marks.take()?;
        let quiet = self.is_quiet();
        let mut heads = self.heads.into_shared();
        let classes = settled(classes, parameters, &marks, &mut heads);
        let values = self.values.into_shared();
        Some(Known {
            own,
            quiet,
            classes,
            values,
            heads,
            _alive: ([parameters.clone(), exports.clone()], self.made),
        })
    }

    /// A place is looked at.
    pub(super) fn look_at(&mut self, slot: &Slot) {
        if let Some(marks) = &self.marks {
            self.own |= marks.slots.contains(&(std::ptr::from_ref(slot) as usize));
        }
    }

    /// All of a map is looked at.
    pub(super) fn look_into(&mut self, map: &Arc<MapSlot>) {
        if let Some(marks) = &self.marks {
            self.own |= marks.maps.contains(&(Arc::as_ptr(map) as usize));
        }
    }
}

/// A map of the classes that holds places of the node's own, with what references beside them came
/// to; these are no longer looked up by their addresses.
fn settled(
    classes: &Arc<MapSlot>,
    parameters: &Arc<MapSlot>,
    marks: &Marks,
    heads: &mut FxHashMap<usize, Found>,
) -> Arc<MapSlot> {
    let mut entries = classes.entries.clone();
    for (key, slot) in entries.iter_mut() {
        let Some(merged) = parameters.entries.get(key) else { continue };
        let address = std::ptr::from_ref(merged) as usize;
        if marks.slots.contains(&address) {
            continue;
        }
        match (&slot, merged) {
            (Slot::Text(..) | Slot::Stack(_), _) => {
                if let Some(Found { head: Head::Value(value), .. }) = heads.remove(&address)
                    && !matches!(value, Value::Map(_) | Value::List(_))
                {
                    *slot = Slot::Value(value, slot.origin());
                }
            }
            (Slot::Map(map), Slot::Map(merged)) if marks.maps.contains(&(Arc::as_ptr(merged) as usize)) => {
                *slot = Slot::Map(settled(map, merged, marks, heads));
            }
            _ => {}
        }
    }
    Arc::new(MapSlot::new(entries, classes.origin, classes.prefixed))
}
