//! A sequence is the ordered beginning of a class list, computed once for all nodes whose lists begin with
//! the same classes.
//!
//! A sequence is its parent plus one step; a step is what including one more class adds. A step whose class
//! name depends on the node's parameters is not shared.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::engine::files::Dependencies;
use crate::engine::prefix::Prefix;
use crate::evaluate::SharedParameters;
use crate::model::catalog::TreeId;
use crate::model::layer::Layer;
use crate::model::merge::{Prefixes, fold};
use crate::model::merge_options::MergeRules;
use crate::model::slot::MapSlot;
use reclass_base::lock::Mutex;
use reclass_base::source::{FileId, Origin};
use reclass_base::value::Text;

/// The key of the automatic parameters.
pub const AUTOMATIC: &str = "_reclass_";

/// A file among the layers of a node.
#[derive(Clone, Debug)]
pub struct IncludedFile {
    /// The name of the class, or of the node for its own file.
    pub name: Text,
    /// Its file.
    pub file: FileId,
    /// What includes it.
    pub by: IncludedBy,
    /// Where it is listed. For classes in the node's own list, only `Linearization` has the position.
    pub listed: Origin,
}

/// An entry of a class list.
#[derive(Clone, Debug)]
pub struct ListedClass {
    /// The resolved class name.
    pub class: Text,
    /// The owner of the list.
    pub by: IncludedBy,
    /// Where the entry is written.
    pub origin: Origin,
}

/// What includes a class.
#[derive(Clone, Debug)]
pub enum IncludedBy {
    /// Nothing: this is the node itself.
    Node,
    /// A class mapping, by its text.
    Mapping(Text),
    /// The file with this index. The node's own file has index 0.
    Includer(usize),
}

/// The empty sequences, one for each tree of classes. The same name is a different class in each tree.
#[derive(Debug)]
pub struct Roots {
    prefix: Arc<Prefix>,
    roots: Mutex<FxHashMap<TreeId, Arc<Sequence>>>,
    /// The merge options of the settings.
    rules: Option<Arc<MergeRules>>,
    /// Layers under merge options, by the address of the layer of their file, which they keep alive.
    ruled: Mutex<FxHashMap<usize, Vec<Weak<Layer>>>>,
}

impl Roots {
    /// No sequences yet; `rules` are the merge options of the settings.
    pub fn new(rules: Option<Arc<MergeRules>>) -> Roots {
        Roots { prefix: Prefix::root(), roots: Mutex::default(), rules, ruled: Mutex::default() }
    }

    /// The empty sequence of a tree.
    pub fn of(&self, tree: TreeId) -> Arc<Sequence> {
        let root = || Sequence::root(self.prefix.clone(), self.rules.clone());
        self.roots.lock().entry(tree).or_insert_with(root).clone()
    }

    /// A layer after layers with these merge options. The same layer after the same options is one layer for
    /// all nodes, so that they share what is merged from it.
    pub fn ruled(
        &self,
        layer: &Arc<Layer>,
        before: Option<&Arc<MergeRules>>,
        prefixes: &Prefixes,
    ) -> Arc<Layer> {
        let Some(rules) = MergeRules::after(before, &layer.merge_options) else { return layer.clone() };
        let mut all = self.ruled.lock();
        if all.len() >= 1_024 && all.len().is_power_of_two() {
            all.retain(|_, layers| layers.iter().any(|layer| layer.strong_count() > 0));
        }
        let layers = all.entry(Arc::as_ptr(layer) as usize).or_default();
        let same = |known: &Arc<Layer>| {
            known
                .ruled
                .as_ref()
                .is_some_and(|ruled| Arc::ptr_eq(&ruled.layer, layer) && ruled.rules.same(&rules))
        };
        if let Some(known) = layers.iter().filter_map(Weak::upgrade).find(same) {
            return known;
        }
        layers.retain(|layer| layer.strong_count() > 0);
        let new = Arc::new(layer.under(rules, prefixes));
        layers.push(Arc::downgrade(&new));
        new
    }
}

/// Identifies the step from a sequence to the next.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SequenceStep {
    /// A class name from the node's list, or from a class mapping with this text.
    Class(Text, Option<Text>),
    /// The display of names from class mappings.
    Shown(Vec<Text>),
}

/// What one class adds to the lists of a node.
#[derive(Debug, Default)]
pub struct StepAdditions {
    /// Layers in merge order.
    pub layers: Vec<Arc<Layer>>,
    /// Names for `classes` of the result.
    pub classes: Vec<Text>,
    /// The included files, in inclusion order.
    pub included: Vec<IncludedFile>,
    /// The entries of the visited class lists, with or without effect.
    pub listings: Vec<ListedClass>,
    /// The files read and the classes looked up.
    pub dependencies: Dependencies,
}

/// Class names in order, with a set for lookups.
#[derive(Debug)]
struct ClassNames {
    all: Arc<[Text]>,
    set: FxHashSet<Text>,
}

/// The processed beginning of a class list.
#[derive(Debug)]
pub struct Sequence {
    parent: Option<Arc<Sequence>>,
    /// The additions of the last step.
    pub added: StepAdditions,
    /// The layers of all steps, for merging.
    pub prefix: Arc<Prefix>,
    /// The number of files of all steps.
    pub file_count: usize,
    /// Whether a layer sets automatic parameters.
    pub automatic: bool,
    /// The merge options in force after all steps.
    pub rules: Option<Arc<MergeRules>>,
    parameters: OnceLock<Arc<SharedParameters>>,
    exports: OnceLock<Arc<MapSlot>>,
    classes: OnceLock<ClassNames>,
    /// A sequence lives as long as a result that uses it.
    next: Mutex<FxHashMap<SequenceStep, Weak<Sequence>>>,
    /// The last generation in which the dependencies were verified.
    generation: AtomicU64,
}

impl Sequence {
    /// The empty sequence.
    fn root(prefix: Arc<Prefix>, rules: Option<Arc<MergeRules>>) -> Arc<Sequence> {
        Arc::new(Sequence {
            parent: None,
            added: StepAdditions::default(),
            prefix,
            file_count: 0,
            automatic: false,
            rules,
            parameters: OnceLock::new(),
            exports: OnceLock::new(),
            classes: OnceLock::new(),
            next: Mutex::default(),
            generation: AtomicU64::new(0),
        })
    }

    /// The next sequence for a step, if it was computed before. `changed` verifies its dependencies, once
    /// in a generation.
    pub fn next<T>(
        &self,
        step: &SequenceStep,
        generation: u64,
        changed: impl FnOnce(&Dependencies) -> Option<T>,
    ) -> Option<Arc<Sequence>> {
        let next = self.next.lock().get(step).and_then(Weak::upgrade)?;
        next.changed_step(generation, changed).is_none().then_some(next)
    }

    /// The next sequence with these additions.
    pub fn child(self: &Arc<Sequence>, added: StepAdditions, generation: u64) -> Arc<Sequence> {
        let prefix = added.layers.iter().fold(self.prefix.clone(), |prefix, layer| prefix.child(layer));
        let sets_automatic = |layer: &Arc<Layer>| layer.parameters.entries.contains_key(AUTOMATIC);
        Arc::new(Sequence {
            parent: Some(self.clone()),
            file_count: self.file_count + added.included.len(),
            automatic: self.automatic || added.layers.iter().any(sets_automatic),
            rules: added.layers.last().map_or_else(|| self.rules.clone(), |last| last.rules().cloned()),
            prefix,
            added,
            parameters: OnceLock::new(),
            exports: OnceLock::new(),
            classes: OnceLock::new(),
            next: Mutex::default(),
            generation: AtomicU64::new(generation),
        })
    }

    /// The sequence without its last step.
    pub fn before(&self) -> Option<&Arc<Sequence>> {
        self.parent.as_ref()
    }

    /// Shares a child with all nodes.
    pub fn share(&self, step: SequenceStep, child: &Arc<Sequence>) {
        let mut next = self.next.lock();
        if next.len() >= 16 && next.len().is_power_of_two() {
            next.retain(|_, child| child.strong_count() > 0);
        }
        next.insert(step, Arc::downgrade(child));
    }

    /// The first change among the dependencies of all steps, as `changed` sees it.
    pub fn changed<T>(&self, generation: u64, changed: impl Fn(&Dependencies) -> Option<T>) -> Option<T> {
        std::iter::successors(Some(self), |sequence| sequence.parent.as_deref())
            .find_map(|sequence| sequence.changed_step(generation, &changed))
    }

    fn changed_step<T>(
        &self,
        generation: u64,
        changed: impl FnOnce(&Dependencies) -> Option<T>,
    ) -> Option<T> {
        if self.generation.load(Ordering::Relaxed) == generation {
            return None;
        }
        let found = changed(&self.added.dependencies);
        if found.is_none() {
            self.generation.store(generation, Ordering::Relaxed);
        }
        found
    }

    /// All steps in order.
    pub fn steps(&self) -> Vec<&Sequence> {
        let mut steps: Vec<&Sequence> =
            std::iter::successors(Some(self), |sequence| sequence.parent.as_deref()).collect();
        steps.reverse();
        steps
    }

    /// The additions after an earlier sequence, the last one first.
    pub fn steps_after(&self, earlier: &Arc<Sequence>) -> impl Iterator<Item = &StepAdditions> {
        let end = Arc::as_ptr(earlier);
        std::iter::successors(Some(self), |sequence| sequence.parent.as_deref())
            .take_while(move |sequence| !std::ptr::eq(*sequence, end))
            .map(|sequence| &sequence.added)
    }

    /// The names of all steps for `classes` of the result, followed by new names from `others`.
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

    /// All layers in merge order.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = &Arc<Layer>> {
        self.steps().into_iter().flat_map(|step| &step.added.layers)
    }

    /// The parameters of all layers, merged key by key on demand, once for all nodes.
    pub fn parameters(&self, prefixes: &Prefixes) -> &Arc<SharedParameters> {
        self.parameters.get_or_init(|| {
            let maps = self.layers().map(|layer| layer.parameters.clone());
            Arc::new(SharedParameters::new(maps.collect(), prefixes))
        })
    }

    /// The merged exports of all layers.
    pub fn exports(&self, prefixes: &Prefixes) -> &Arc<MapSlot> {
        self.exports.get_or_init(|| fold(self.layers().map(|layer| layer.exports.clone()), prefixes))
    }
}

impl Drop for Sequence {
    /// Drops long chains iteratively: a recursive drop could overflow the stack.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut sequence) = parent.and_then(Arc::into_inner) {
            parent = sequence.parent.take();
        }
    }
}
