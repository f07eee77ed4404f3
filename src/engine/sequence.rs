//! Sequences turn the beginning of a node's class list into its layers in order, worked out once
//! for all nodes whose lists begin the same.
//!
//! A sequence is its parent's and one step more: what entering one more class brings in. A step
//! in which a class name needed the parameters of the node is nobody else's, and not shared.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::lock::Mutex;
use crate::base::value::Text;
use crate::engine::files::Sources;
use crate::engine::linearize::{AUTOMATIC, Included, Listed};
use crate::engine::prefix::Prefix;
use crate::evaluate::Shared;
use crate::model::catalog::Tree;
use crate::model::layer::Layer;
use crate::model::merge::{Prefixes, fold};
use crate::model::slot::MapSlot;

/// The empty sequences, one for each tree of classes: the same names are other classes in another tree.
#[derive(Debug)]
pub struct Roots {
    prefix: Arc<Prefix>,
    roots: Mutex<FxHashMap<Tree, Arc<Sequence>>>,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots { prefix: Prefix::root(), roots: Mutex::default() }
    }
}

impl Roots {
    /// The empty sequence of a tree.
    pub fn of(&self, tree: Tree) -> Arc<Sequence> {
        self.roots.lock().entry(tree).or_insert_with(|| Sequence::root(self.prefix.clone())).clone()
    }
}

/// What leads from a sequence to the next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SequenceStep {
    /// A class by this name, from the node's list or, by its text, from a class mapping.
    Class(Text, Option<Text>),
    /// The names that class mappings gave are shown.
    Shown(Vec<Text>),
}

/// What one step brings in.
#[derive(Debug, Default)]
pub struct Brought {
    /// Layers, in the order in which they merge.
    pub layers: Vec<Arc<Layer>>,
    /// Names for `classes` of the result.
    pub classes: Vec<Text>,
    /// The files, in the order in which they were entered.
    pub included: Vec<Included>,
    /// The entries of class lists on the way, whether they brought their classes in or not.
    pub listings: Vec<Listed>,
    /// What was read and looked for.
    pub sources: Sources,
}

/// Names in their order.
#[derive(Debug)]
struct Names {
    all: Arc<[Text]>,
    set: FxHashSet<Text>,
}

/// The layers of a class list as far as it is read.
#[derive(Debug)]
pub struct Sequence {
    parent: Option<Arc<Sequence>>,
    /// What the last step brought in.
    pub brought: Brought,
    /// The layers of all steps, for merging.
    pub prefix: Arc<Prefix>,
    /// How many files all steps brought in.
    pub entered: usize,
    /// Whether a layer says something of the automatic parameters.
    pub automatic: bool,
    parameters: OnceLock<Arc<Shared>>,
    exports: OnceLock<Arc<MapSlot>>,
    classes: OnceLock<Names>,
    /// A sequence lives as long as something that was computed from it.
    next: Mutex<FxHashMap<SequenceStep, Weak<Sequence>>>,
    /// The generation in which its files were last found unchanged.
    checked: AtomicU64,
}

impl Sequence {
    /// The empty sequence.
    fn root(prefix: Arc<Prefix>) -> Arc<Sequence> {
        Arc::new(Sequence {
            parent: None,
            brought: Brought::default(),
            prefix,
            entered: 0,
            automatic: false,
            parameters: OnceLock::new(),
            exports: OnceLock::new(),
            classes: OnceLock::new(),
            next: Mutex::default(),
            checked: AtomicU64::new(0),
        })
    }

    /// The sequence after a step that was worked out before. `current` tells whether files are
    /// what they were; it is asked once in a generation.
    pub fn next(
        &self,
        step: &SequenceStep,
        generation: u64,
        current: impl FnOnce(&Sources) -> bool,
    ) -> Option<Arc<Sequence>> {
        let next = self.next.lock().get(step).and_then(Weak::upgrade)?;
        next.is_current(generation, current).then_some(next)
    }

    /// The sequence after a step that was worked out now.
    pub fn child(self: &Arc<Sequence>, brought: Brought, generation: u64) -> Arc<Sequence> {
        let prefix = brought.layers.iter().fold(self.prefix.clone(), |prefix, layer| prefix.child(layer));
        let says = |layer: &Arc<Layer>| layer.parameters.entries.contains_key(AUTOMATIC);
        Arc::new(Sequence {
            parent: Some(self.clone()),
            entered: self.entered + brought.included.len(),
            automatic: self.automatic || brought.layers.iter().any(says),
            prefix,
            brought,
            parameters: OnceLock::new(),
            exports: OnceLock::new(),
            classes: OnceLock::new(),
            next: Mutex::default(),
            checked: AtomicU64::new(generation),
        })
    }

    /// The sequence without its last step.
    pub fn before(&self) -> Option<&Arc<Sequence>> {
        self.parent.as_ref()
    }

    /// Lets all nodes have a child.
    pub fn share(&self, step: SequenceStep, child: &Arc<Sequence>) {
        let mut next = self.next.lock();
        if next.len() >= 16 && next.len().is_power_of_two() {
            next.retain(|_, child| child.strong_count() > 0);
        }
        next.insert(step, Arc::downgrade(child));
    }

    /// Whether all its files are what they were.
    pub fn holds(&self, generation: u64, current: impl Fn(&Sources) -> bool) -> bool {
        let mut at = Some(self);
        while let Some(sequence) = at {
            if !sequence.is_current(generation, &current) {
                return false;
            }
            at = sequence.parent.as_deref();
        }
        true
    }

    fn is_current(&self, generation: u64, current: impl FnOnce(&Sources) -> bool) -> bool {
        if self.checked.load(Ordering::Relaxed) == generation {
            return true;
        }
        let is = current(&self.brought.sources);
        if is {
            self.checked.store(generation, Ordering::Relaxed);
        }
        is
    }

    /// All steps, the first one first.
    pub fn steps(&self) -> Vec<&Sequence> {
        let mut steps: Vec<&Sequence> =
            std::iter::successors(Some(self), |sequence| sequence.parent.as_deref()).collect();
        steps.reverse();
        steps
    }

    /// What the steps after an earlier sequence brought in, the last one first.
    pub fn steps_after(&self, earlier: &Arc<Sequence>) -> impl Iterator<Item = &Brought> {
        let end = Arc::as_ptr(earlier);
        std::iter::successors(Some(self), |sequence| sequence.parent.as_deref())
            .take_while(move |sequence| !std::ptr::eq(*sequence, end))
            .map(|sequence| &sequence.brought)
    }

    /// The names that all steps brought in for `classes` of the result, and `others` behind them.
    pub fn classes(&self, others: &[Text]) -> Arc<[Text]> {
        let known = self.classes.get_or_init(|| {
            let all = self.steps().into_iter().flat_map(|step| &step.brought.classes);
            let all: Arc<[Text]> = all.cloned().collect();
            Names { set: all.iter().cloned().collect(), all }
        });
        let new = || others.iter().filter(|name| !known.set.contains(*name));
        if new().next().is_none() {
            return known.all.clone();
        }
        known.all.iter().chain(new()).cloned().collect()
    }

    /// All layers, in the order in which they merge.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = &Arc<Layer>> {
        self.steps().into_iter().flat_map(|step| &step.brought.layers)
    }

    /// The parameters of all layers, merged key by key as they are asked for, once for all nodes.
    pub fn parameters(&self, prefixes: &Prefixes) -> &Arc<Shared> {
        self.parameters.get_or_init(|| {
            let maps = self.layers().map(|layer| layer.parameters.clone());
            Arc::new(Shared::new(maps.collect(), prefixes))
        })
    }

    /// The exports of all layers, merged.
    pub fn exports(&self, prefixes: &Prefixes) -> &Arc<MapSlot> {
        self.exports.get_or_init(|| fold(self.layers().map(|layer| layer.exports.clone()), prefixes))
    }
}

impl Drop for Sequence {
    /// Long sequences are taken apart one by one: their natural drop would recurse.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut sequence) = parent.and_then(Arc::into_inner) {
            parent = sequence.parent.take();
        }
    }
}
