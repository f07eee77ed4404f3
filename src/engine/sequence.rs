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
use crate::engine::files::Dependencies;
use crate::engine::linearize::{AUTOMATIC, IncludedFile, ListedClass};
use crate::engine::prefix::Prefix;
use crate::evaluate::Shared;
use crate::model::catalog::TreeId;
use crate::model::layer::Layer;
use crate::model::merge::{Prefixes, fold};
use crate::model::slot::MapSlot;

/// The empty sequences, one for each tree of classes: the same names are other classes in another tree.
#[derive(Debug)]
pub struct Roots {
    prefix: Arc<Prefix>,
    roots: Mutex<FxHashMap<TreeId, Arc<Sequence>>>,
}

impl Default for Roots {
    fn default() -> Roots {
        Roots { prefix: Prefix::root(), roots: Mutex::default() }
    }
}

impl Roots {
    /// The empty sequence of a tree.
    pub fn of(&self, tree: TreeId) -> Arc<Sequence> {
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
pub struct StepAdditions {
    /// Layers, in the order in which they merge.
    pub layers: Vec<Arc<Layer>>,
    /// ClassNames for `classes` of the result.
    pub classes: Vec<Text>,
    /// The files, in the order in which they were file_count.
    pub included: Vec<IncludedFile>,
    /// The entries of class lists on the way, whether they added their classes in or not.
    pub listings: Vec<ListedClass>,
    /// What was read and looked for.
    pub dependencies: Dependencies,
}

/// ClassNames in their order.
#[derive(Debug)]
struct ClassNames {
    all: Arc<[Text]>,
    set: FxHashSet<Text>,
}

/// The layers of a class list as far as it is read.
#[derive(Debug)]
pub struct Sequence {
    parent: Option<Arc<Sequence>>,
    /// What the last step added in.
    pub added: StepAdditions,
    /// The layers of all steps, for merging.
    pub prefix: Arc<Prefix>,
    /// How many files all steps added in.
    pub file_count: usize,
    /// Whether a layer says something of the automatic parameters.
    pub automatic: bool,
    parameters: OnceLock<Arc<Shared>>,
    exports: OnceLock<Arc<MapSlot>>,
    classes: OnceLock<ClassNames>,
    /// A sequence lives as long as something that was computed from it.
    next: Mutex<FxHashMap<SequenceStep, Weak<Sequence>>>,
    /// The revision in which its files were last found unchanged.
    verified_at: AtomicU64,
}

impl Sequence {
    /// The empty sequence.
    fn root(prefix: Arc<Prefix>) -> Arc<Sequence> {
        Arc::new(Sequence {
            parent: None,
            added: StepAdditions::default(),
            prefix,
            file_count: 0,
            automatic: false,
            parameters: OnceLock::new(),
            exports: OnceLock::new(),
            classes: OnceLock::new(),
            next: Mutex::default(),
            verified_at: AtomicU64::new(0),
        })
    }

    /// The sequence after a step that was worked out before. `current` tells whether files are
    /// what they were; it is asked once in a revision.
    pub fn next(
        &self,
        step: &SequenceStep,
        revision: u64,
        current: impl FnOnce(&Dependencies) -> bool,
    ) -> Option<Arc<Sequence>> {
        let next = self.next.lock().get(step).and_then(Weak::upgrade)?;
        next.is_current(revision, current).then_some(next)
    }

    /// The sequence after a step that was worked out now.
    pub fn child(self: &Arc<Sequence>, added: StepAdditions, revision: u64) -> Arc<Sequence> {
        let prefix = added.layers.iter().fold(self.prefix.clone(), |prefix, layer| prefix.child(layer));
        let says = |layer: &Arc<Layer>| layer.parameters.entries.contains_key(AUTOMATIC);
        Arc::new(Sequence {
            parent: Some(self.clone()),
            file_count: self.file_count + added.included.len(),
            automatic: self.automatic || added.layers.iter().any(says),
            prefix,
            added,
            parameters: OnceLock::new(),
            exports: OnceLock::new(),
            classes: OnceLock::new(),
            next: Mutex::default(),
            verified_at: AtomicU64::new(revision),
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
    pub fn holds(&self, revision: u64, current: impl Fn(&Dependencies) -> bool) -> bool {
        let mut at = Some(self);
        while let Some(sequence) = at {
            if !sequence.is_current(revision, &current) {
                return false;
            }
            at = sequence.parent.as_deref();
        }
        true
    }

    fn is_current(&self, revision: u64, current: impl FnOnce(&Dependencies) -> bool) -> bool {
        if self.verified_at.load(Ordering::Relaxed) == revision {
            return true;
        }
        let is = current(&self.added.dependencies);
        if is {
            self.verified_at.store(revision, Ordering::Relaxed);
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

    /// What the steps after an earlier sequence added in, the last one first.
    pub fn steps_after(&self, earlier: &Arc<Sequence>) -> impl Iterator<Item = &StepAdditions> {
        let end = Arc::as_ptr(earlier);
        std::iter::successors(Some(self), |sequence| sequence.parent.as_deref())
            .take_while(move |sequence| !std::ptr::eq(*sequence, end))
            .map(|sequence| &sequence.added)
    }

    /// The names that all steps added in for `classes` of the result, and `others` behind them.
    pub fn classes(&self, others: &[Text]) -> Arc<[Text]> {
        let names = self.classes.get_or_init(|| {
            let all = self.steps().into_iter().flat_map(|step| &step.added.classes);
            let all: Arc<[Text]> = all.cloned().collect();
            ClassNames { set: all.iter().cloned().collect(), all }
        });
        let new = || others.iter().filter(|name| !names.set.contains(*name));
        if new().next().is_none() {
            return names.all.clone();
        }
        names.all.iter().chain(new()).cloned().collect()
    }

    /// All layers, in the order in which they merge.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = &Arc<Layer>> {
        self.steps().into_iter().flat_map(|step| &step.added.layers)
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
