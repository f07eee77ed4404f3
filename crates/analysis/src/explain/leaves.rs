//! Explains all leaves of a node at once: each with its place, the effects of the layers, and the parameters
//! that it names. Traces of references are left out, because their targets are leaves too.
//!
//! Nodes with the same classes differ only in the values of their own files and in what depends on these. So the
//! explanation of the first such node marks what depends on the paths that its own file sets, as evaluation does
//! (`evaluate/partial`). Everything else is the same branch for the next nodes whose files set no other paths. A
//! node that has a fault shares nothing, and neither does one that comes near a limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use super::budget::Budget;
use super::cover::TraceCover;
use super::data::Leaf;
use super::explainer::Explainer;
use super::steps::LayerStep;
use reclass::parts::engine::context::{Computation, Layers};
use reclass::parts::engine::exports::OtherNodes;
use reclass::parts::engine::prefix::Prefix;
use reclass::parts::engine::sequence::AUTOMATIC;
use reclass::parts::evaluate::{OwnPaths, slot_without};
use reclass::parts::model::merge::Prefixes;
use reclass::parts::model::slot::{MapSlot, Slot};
use reclass::parts::output::redact::Redaction;
use reclass::parts::output::written::written;
use reclass_base::error::{Error, Fault, Result};
use reclass_base::lock::Mutex;
use reclass_base::path::KeyPath;
use reclass_base::secrets::Cover;
use reclass_base::size::TEXT_UNIT;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text};

/// A leaf of a node. Secrets are masked, but for the values of steps that their paths hide, which most nodes share:
/// whoever shows them masks them.
pub struct ExplainedLeaf {
    /// Its value and its origin.
    pub leaf: Leaf,
    /// The effects of the layers, if there are several.
    pub steps: Vec<LayerStep>,
    /// The targets of the references that contain references, in order; `None` if a target is unknown or
    /// secret.
    pub targets: Vec<Option<KeyPath>>,
    /// The nodes that answered its inventory query.
    pub answers: Option<Arc<[Text]>>,
}

/// What is at one key of a container.
pub enum LeafBranch {
    Leaf(Box<ExplainedLeaf>),
    /// A container with something in it.
    Inner(Branches),
    /// What several nodes have here.
    Shared(Arc<SharedBranch>),
}

/// The content of a container in order.
pub type Branches = Vec<(Key, LeafBranch)>;

/// A branch that several nodes share. The first node gives it a number.
pub struct SharedBranch(Mutex<SharedState>);

enum SharedState {
    Explained(LeafBranch),
    Numbered(i64),
}

impl SharedBranch {
    /// Its number, which `give` gives to the branch.
    pub fn number(&self, give: impl FnOnce(LeafBranch) -> i64) -> i64 {
        let mut state = self.0.lock();
        let number = match std::mem::replace(&mut *state, SharedState::Numbered(0)) {
            SharedState::Explained(branch) => give(branch),
            SharedState::Numbered(number) => number,
        };
        *state = SharedState::Numbered(number);
        number
    }
}

/// The leaves of the parameters or of the exports of a node, and its first fault.
#[derive(Default)]
pub struct ExplainedLeaves {
    /// The leaves in order.
    pub branches: Branches,
    /// The error, if a value cannot be computed.
    pub fault: Option<Fault>,
}

/// The leaves that nodes share. The key is the address of the prefix of their layers, which the nodes keep alive.
#[derive(Default)]
pub struct LeavesByPrefix {
    /// By all classes.
    all: FxHashMap<usize, Variants>,
    /// By the first classes, those of `Linearization::most`.
    most: FxHashMap<usize, Variants>,
}

/// The leaves that nodes with the same classes share: one variant for each set of paths that later layers set.
#[derive(Default)]
struct Variants {
    /// The number of nodes that are not explained yet.
    nodes: AtomicUsize,
    known: Mutex<Vec<Arc<SharedLeaves>>>,
}

impl LeavesByPrefix {
    /// Nothing yet, for these nodes.
    pub fn of<'l>(nodes: impl Iterator<Item = &'l Layers>) -> LeavesByPrefix {
        let mut leaves = LeavesByPrefix::default();
        for linearization in nodes.map(|layers| &layers.linearization) {
            for (variants, prefix) in
                [(&mut leaves.all, &linearization.sequence.prefix), (&mut leaves.most, linearization.most())]
            {
                *variants.entry(address(prefix)).or_default().nodes.get_mut() += 1;
            }
        }
        leaves
    }

    /// All leaves of the parameters of one of the nodes.
    pub fn explain(
        &self,
        computation: &Computation<'_>,
        layers: &Layers,
        redaction: &Redaction,
    ) -> Result<ExplainedLeaves> {
        let linearization = &layers.linearization;
        let (all, most) = (&linearization.sequence.prefix, linearization.most());
        let (all, most) = (&self.all[&address(all)], &self.most[&address(most)]);
        let leaves = parameter_leaves(computation, layers, (all, most), redaction);
        for variants in [all, most] {
            // After the last node nobody needs them.
            if variants.nodes.fetch_sub(1, Ordering::Relaxed) == 1 {
                variants.known.lock().clear();
            }
        }
        leaves
    }
}

impl Variants {
    /// Whether the leaves of one more node can be shared.
    fn can_learn(&self, known: &[Arc<SharedLeaves>]) -> bool {
        known.len() < MAX_VARIANTS && self.nodes.load(Ordering::Relaxed) > 1
    }
}

fn address(prefix: &Arc<Prefix>) -> usize {
    Arc::as_ptr(prefix) as usize
}

/// The first variant that is valid for a node with these parameters after the classes.
fn valid(variants: &[Arc<SharedLeaves>], later: &[&MapSlot]) -> Option<Arc<SharedLeaves>> {
    let covers =
        |shared: &SharedLeaves, map: &MapSlot| !map.prefixed && shared.own.cover(map, &shared.classes);
    variants.iter().find(|shared| later.iter().all(|map| covers(shared, map))).cloned()
}

/// The most variants. With more of them, nodes differ too much.
const MAX_VARIANTS: usize = 8;

/// The leaves of nodes with the same classes whose later layers set only these paths.
struct SharedLeaves {
    own: OwnPaths,
    classes: Arc<MapSlot>,
    branches: KnownBranches,
    cost: Cost,
}

/// The shared branches of a container. What depends on the node itself is missing.
type KnownBranches = FxHashMap<Key, KnownBranch>;

enum KnownBranch {
    Whole(Arc<SharedBranch>),
    Within(Box<KnownBranches>),
}

/// The cost of an explanation: what it took from the budget, and the work of the evaluators.
#[derive(Clone, Copy)]
struct Cost {
    budget: usize,
    spent: usize,
}

/// All leaves of the exports of a node.
pub fn export_leaves(
    computation: &Computation<'_>,
    layers: &Layers,
    redaction: &Redaction,
) -> Result<ExplainedLeaves> {
    if layers.exports.entries.is_empty() {
        return Ok(ExplainedLeaves::default());
    }
    with_explainer(computation, layers, true, redaction, |explainer| Ok(explainer.first(None)?.0))
}

fn parameter_leaves(
    computation: &Computation<'_>,
    layers: &Layers,
    (kind, larger): (&Variants, &Variants),
    redaction: &Redaction,
) -> Result<ExplainedLeaves> {
    let explained = |base: Option<&SharedLeaves>, learn: Option<OwnToLearn>| {
        let found = with_explainer(computation, layers, false, redaction, |explainer| match base {
            Some(base) => explainer.beside(base, learn).map(Ok),
            None => Some(explainer.first(learn)),
        });
        let alone = || with_explainer(computation, layers, false, redaction, |one| one.first(None));
        found.unwrap_or_else(alone)
    };
    let linearization = &layers.linearization;
    let own: Vec<&MapSlot> = layers.own_parameters().into_iter().map(|own| &**own).collect();
    let Some(all) = linearization.shared(&layers.extra) else { return Ok(explained(None, None)?.0) };
    // Other threads wait here, because they need the same branches.
    let mut known = kind.known.lock();
    if let Some(base) = valid(&known, &own) {
        drop(known);
        return Ok(explained(Some(&base), None)?.0);
    }
    let (prefixes, merges) = (Prefixes::new(computation.settings), &computation.inputs.counters.merged);
    let most = linearization.most();
    let learn = |prefix: &Prefix, later: &[&MapSlot]| {
        let classes = prefix.merged(&prefixes, merges);
        let classes = linearization.with_automatic(classes, &layers.extra, &prefixes, merges);
        OwnPaths::of(later, &classes).map(|own| OwnToLearn { own, classes })
    };
    let later = all.layers_after(most);
    let later: Vec<&MapSlot> =
        later.iter().map(|layer| &*layer.parameters).chain(own.iter().copied()).collect();
    let mut known_larger = larger.known.lock();
    let base = valid(&known_larger, &later);
    if base.is_none() && larger.can_learn(&known_larger) {
        drop(known);
        let (leaves, learned) = explained(None, learn(most, &later))?;
        known_larger.extend(learned.map(Arc::new));
        return Ok(leaves);
    }
    drop(known_larger);
    let learn = if kind.can_learn(&known) { learn(all, &own) } else { None };
    if learn.is_none() {
        drop(known);
        return Ok(explained(base.as_deref(), None)?.0);
    }
    let (leaves, learned) = explained(base.as_deref(), learn)?;
    known.extend(learned.map(Arc::new));
    Ok(leaves)
}

/// Explains a section of one node.
fn with_explainer<T>(
    computation: &Computation<'_>,
    layers: &Layers,
    exports: bool,
    redaction: &Redaction,
    explain: impl FnOnce(LeafExplainer<'_>) -> T,
) -> T {
    let (budget, budget_without) = (Budget::new(computation.settings), Budget::new(computation.settings));
    let others = computation.others(layers, None);
    let secrets = &redaction.secrets;
    let others_without = OtherNodes { without: Some(secrets.clone()), ..computation.others(layers, None) };
    let with = Explainer::new(computation, layers, &others, exports).within(&budget);
    let without = (!secrets.is_none()).then(|| {
        Explainer::without(computation, layers, &others_without, exports, secrets).within(&budget_without)
    });
    explain(LeafExplainer { with, without, redaction, answers: FxHashMap::default() })
}

/// Explains the leaves of one node.
struct LeafExplainer<'a> {
    with: Explainer<'a>,
    /// The same without the secrets, if there are any.
    without: Option<Explainer<'a>>,
    redaction: &'a Redaction,
    /// The explainer keeps the answer of each query, so its address identifies it.
    answers: FxHashMap<*const Text, Arc<[Text]>>,
}

/// What the next nodes are to share: all that does not depend on these paths.
struct OwnToLearn {
    own: OwnPaths,
    classes: Arc<MapSlot>,
}

impl<'a> LeafExplainer<'a> {
    /// The leaves, all of them explained.
    fn first(mut self, learn: Option<OwnToLearn>) -> Result<(ExplainedLeaves, Option<SharedLeaves>)> {
        let learn = learn.filter(|learn| self.mark(learn));
        let mut fault = self.with.whole().fault;
        if let Some(without) = &mut self.without {
            without.whole();
        }
        let branches = tree(self.explained(&[]), 0);
        let layers = self.with.places.layers();
        if let Some(fault) = self.explainers().find_map(|explainer| explainer.budget.fault()) {
            return Err(Error::from(Fault { node: Some(layers.name.clone()), ..fault }));
        }
        let cost = self.cost();
        let (branches, shared) = share_with(branches, learn.filter(|_| fault.is_none()), cost);
        if let Some(fault) = &mut fault {
            self.with.computation.complete(fault, layers);
        }
        Ok((ExplainedLeaves { branches, fault }, shared))
    }

    /// The leaves, those of another node where they do not depend on this one; `None` if this node has a fault or
    /// comes near a limit.
    fn beside(
        mut self,
        base: &SharedLeaves,
        learn: Option<OwnToLearn>,
    ) -> Option<(ExplainedLeaves, Option<SharedLeaves>)> {
        let settings = self.with.computation.settings;
        let learn = learn.filter(|learn| self.mark(learn));
        // The values without the secrets are evaluated where they are compared.
        if self.with.whole().fault.is_some() {
            return None;
        }
        let merged = self.with.parameters.merged.clone();
        let branches = self.branches(&merged, &base.branches, &mut Vec::new());
        let Cost { budget, spent } = self.cost();
        let cost = Cost { budget: base.cost.budget + 2 * budget, spent: base.cost.spent + spent };
        let (values, text) = (settings.limit_values as usize, settings.limit_text as usize);
        if cost.budget >= values || cost.spent >= (values / 8).min((text << 20) / TEXT_UNIT) {
            return None;
        }
        let (branches, shared) = share_with(branches, learn, cost);
        Some((ExplainedLeaves { branches, fault: None }, shared))
    }

    /// Marks these paths; `false` if that is not possible.
    fn mark(&mut self, learn: &OwnToLearn) -> bool {
        let automatic = self.with.places.layers().extra.automatic.is_some().then_some(AUTOMATIC);
        self.explainers().fold(true, |marked, explainer| {
            let parameters = explainer.parameters.merged.clone();
            explainer.evaluator.mark(&learn.own, automatic, &parameters);
            marked && explainer.evaluator.is_marked()
        })
    }

    fn branches(&mut self, map: &MapSlot, known: &KnownBranches, path: &mut Vec<Key>) -> Branches {
        let mut branches = Vec::with_capacity(map.entries.len());
        for (key, slot) in &map.entries {
            path.push(key.clone());
            match (known.get(key), slot) {
                (Some(KnownBranch::Whole(shared)), _) => {
                    branches.push((key.clone(), LeafBranch::Shared(shared.clone())));
                }
                (Some(KnownBranch::Within(known)), Slot::Map(map)) if !map.entries.is_empty() => {
                    let inner = grow(|| self.branches(map, known, path));
                    branches.push((key.clone(), LeafBranch::Inner(inner)));
                }
                _ => branches.extend(tree(self.explained(path), path.len() - 1)),
            }
            path.pop();
        }
        branches
    }

    fn explainers(&mut self) -> impl Iterator<Item = &mut Explainer<'a>> {
        std::iter::once(&mut self.with).chain(&mut self.without)
    }

    /// The leaves at a path, in order.
    #[expect(clippy::vec_box, reason = "they are moved into branches")]
    fn explained(&mut self, path: &[Key]) -> Vec<Box<ExplainedLeaf>> {
        let mut leaves = self.with.leaves_at(path);
        if let Some(without) = &mut self.without {
            let without = without.leaves_at(path);
            let others: Vec<_> = without.iter().map(Leaf::without).collect();
            let counterparts =
                TraceCover(self.redaction).cover_parts(leaves.iter_mut().map(Leaf::covered_part), &others);
            for (leaf, at) in leaves.iter_mut().zip(counterparts) {
                leaf.own |= at.is_none_or(|at| without[at].own);
            }
        }
        let mut explained = Vec::with_capacity(leaves.len());
        for mut leaf in leaves {
            let mut traced = self.with.leaf(&leaf);
            self.cover_steps(&leaf, &mut traced.steps);
            let mut targets = traced.targets;
            if let Some(explainer) = self.without.as_mut().filter(|_| !targets.is_empty()) {
                // A target that changes without the secrets has a secret among its keys.
                let same = explainer.leaf(&leaf).targets;
                for (at, target) in targets.iter_mut().enumerate() {
                    *target = target.take().filter(|target| same.get(at) == Some(&Some(target.clone())));
                }
            }
            let answers = traced.answers.map(|nodes| {
                self.answers.entry(nodes.as_ptr()).or_insert_with(|| Arc::from(&*nodes)).clone()
            });
            for explainer in self.explainers() {
                leaf.own |= explainer.evaluator.take_own();
            }
            explained.push(Box::new(ExplainedLeaf { leaf, steps: traced.steps, targets, answers }));
        }
        explained
    }

    /// Masks the texts of steps that are secrets under an open path: those that an alias brings, and the last one
    /// if it is an item of a list that differs without the secrets.
    fn cover_steps(&mut self, leaf: &Leaf, steps: &mut [LayerStep]) {
        let Some(without) = &mut self.without else { return };
        if without.secrets.has_places() {
            for step in &mut *steps {
                step.source.slot = slot_without(&without.secrets, &step.source.slot, Cover::Open);
            }
        }
        if let (Some(list), Some(step)) = (leaf.list, steps.last_mut().filter(|step| step.source.is_item())) {
            let slot = &mut step.source.slot;
            let own = written(slot, &self.with.prefixes);
            let same =
                without.item(&leaf.path, list).map(|item| written(&item.source.slot, &self.with.prefixes));
            let shown = self.redaction.written_unchanged(&own, same.as_ref());
            if shown != own {
                *slot = Slot::Value(shown, slot.origin());
            }
        }
    }

    fn cost(&mut self) -> Cost {
        let costs = self.explainers().map(|one| (one.budget.taken(), one.evaluator.spent()));
        let (budget, spent) = costs.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1))).unwrap_or_default();
        Cost { budget, spent }
    }
}

impl LeafBranch {
    /// Whether anything in it depends on the node's own paths.
    fn is_own(&self) -> bool {
        match self {
            LeafBranch::Leaf(leaf) => leaf.leaf.own,
            LeafBranch::Inner(branches) => grow(|| branches.iter().any(|(_, branch)| branch.is_own())),
            LeafBranch::Shared(_) => false,
        }
    }
}

/// The branches of leaves whose paths have the first keys in common.
#[expect(clippy::vec_box, reason = "they are moved from level to level")]
fn tree(leaves: Vec<Box<ExplainedLeaf>>, depth: usize) -> Branches {
    let mut branches = Branches::new();
    let mut leaves = leaves.into_iter().peekable();
    while let Some(first) = leaves.next() {
        let Some(key) = first.leaf.path.get(depth).cloned() else { continue };
        let branch = if first.leaf.path.len() == depth + 1 {
            LeafBranch::Leaf(first)
        } else {
            let mut inner = vec![first];
            inner.extend(std::iter::from_fn(|| {
                leaves.next_if(|next| next.leaf.path.get(depth) == Some(&key))
            }));
            LeafBranch::Inner(grow(|| tree(inner, depth + 1)))
        };
        branches.push((key, branch));
    }
    branches
}

fn share_with(branches: Branches, learn: Option<OwnToLearn>, cost: Cost) -> (Branches, Option<SharedLeaves>) {
    let Some(OwnToLearn { own, classes }) = learn else { return (branches, None) };
    let (branches, known) = share(branches);
    (branches, Some(SharedLeaves { own, classes, branches: known, cost }))
}

/// Shares the branches in which nothing depends on the node's own paths.
fn share(branches: Branches) -> (Branches, KnownBranches) {
    let mut known = KnownBranches::default();
    let share = |(key, branch): (Key, LeafBranch)| {
        let branch = match branch {
            branch if !branch.is_own() => {
                let shared = match branch {
                    LeafBranch::Shared(shared) => shared,
                    branch => Arc::new(SharedBranch(Mutex::new(SharedState::Explained(branch)))),
                };
                known.insert(key.clone(), KnownBranch::Whole(shared.clone()));
                LeafBranch::Shared(shared)
            }
            LeafBranch::Inner(inner) => {
                let (inner, within) = grow(|| share(inner));
                known.insert(key.clone(), KnownBranch::Within(Box::new(within)));
                LeafBranch::Inner(inner)
            }
            branch => branch,
        };
        (key, branch)
    };
    let branches = branches.into_iter().map(share).collect();
    (branches, known)
}
