//! Merges and evaluates the layers of a node, and reuses what other nodes with the same classes evaluated.
//!
//! A node reuses a memo of all its classes. Otherwise it reuses a memo of most of them, and stores a memo
//! for nodes with all of them. Otherwise it evaluates everything and stores the first memo. Evaluation with
//! a memo reports nothing: if there is a fault or warning, everything is evaluated again without memo, so
//! that messages never depend on earlier requests.

use std::sync::Arc;

use crate::engine::context::{Computation, Layers};
use crate::engine::counts::Counter;
use crate::engine::exports::OtherNodes;
use crate::engine::prefix::Prefix;
use crate::engine::sequence::AUTOMATIC;
use crate::evaluate::{ClassMemo, Evaluator, Mode, OwnPaths, Root};
use crate::model::layer::Layer;
use crate::model::merge::{Prefixes, merge_maps};
use crate::model::slot::{MapSlot, Slot};
use reclass_base::error::{Fault, Warning};
use reclass_base::value::Value;

/// The evaluated layers of a node.
pub struct Evaluated {
    /// The parameters, unless they failed.
    pub parameters: Option<Value>,
    /// The exports, unless they failed or nobody asked.
    pub exports: Option<Value>,
    /// What went wrong.
    pub faults: Vec<Fault>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
    /// Estimated bytes of the result and of the memo stored with it.
    pub bytes: usize,
}

/// The merged parameters of a node, and how to evaluate them.
struct Plan<'l> {
    parameters: Arc<MapSlot>,
    /// The memo to reuse.
    memo: Option<Arc<ClassMemo>>,
    /// Whether to evaluate without the names needed for messages.
    fast: bool,
    learn: Option<Learn<'l>>,
}

/// The memo to store.
struct Learn<'l> {
    /// The layers that the memo is for.
    prefix: &'l Prefix,
    /// The merged parameters of these layers, with the automatic ones that each node replaces.
    classes: Arc<MapSlot>,
    /// The paths that this node's own layers change.
    own: OwnPaths,
}

/// The parameters of the last layers and of the node itself.
fn later<'m>(layers: &[&'m Arc<Layer>], own: &[&'m MapSlot]) -> Vec<&'m MapSlot> {
    layers.iter().map(|layer| &*layer.parameters).chain(own.iter().copied()).collect()
}

/// Merges the parameters of the node itself into those of its classes.
fn with_own(
    classes: Arc<MapSlot>,
    own: &[&Arc<MapSlot>],
    prefixes: &Prefixes,
    merges: &Counter,
) -> Arc<MapSlot> {
    own.iter().fold(classes, |all, own| {
        merges.add();
        merge_maps(all, own, prefixes)
    })
}

impl Computation<'_> {
    /// Merges and evaluates the layers of a node.
    pub fn evaluate(&self, layers: &Layers, others: &OtherNodes<'_>) -> Evaluated {
        let plan = self.plan(layers);
        let fast = plan.fast;
        let evaluated = self.carry_out(plan, layers, others);
        if evaluated.faults.is_empty() && (!fast || evaluated.warnings.is_empty()) {
            return evaluated;
        }
        others.queries.take();
        self.carry_out(Plan { fast: false, ..self.plan_alone(layers) }, layers, others)
    }

    fn plan<'l>(&self, layers: &'l Layers) -> Plan<'l> {
        let prefixes = Prefixes::new(self.settings);
        let merges = &self.inputs.counters.merged;
        let own = layers.own_parameters();
        let maps: Vec<&MapSlot> = own.iter().map(|own| &***own).collect();
        let linearization = &layers.linearization;
        let Some(all) = linearization.shared(&layers.extra) else { return self.plan_alone(layers) };
        if let Some(memo) = all.memo(&maps) {
            let classes = linearization.with_automatic(memo.classes(), &layers.extra, &prefixes, merges);
            let fast = memo.is_fast();
            return Plan {
                parameters: with_own(classes, &own, &prefixes, merges),
                memo: Some(memo),
                fast,
                learn: None,
            };
        }
        let most = linearization.most();
        let last = all.layers_after(most);
        let Some(memo) = most.memo(&later(&last, &maps)) else { return self.plan_alone(layers) };
        let classes = last.iter().fold(memo.classes().clone(), |classes, layer| {
            merges.add();
            merge_maps(classes, &layer.parameters, &prefixes)
        });
        let classes = linearization.with_automatic(&classes, &layers.extra, &prefixes, merges);
        let mut parameters = with_own(classes.clone(), &own, &prefixes, merges);
        for own in &maps {
            self.share_keys(&mut parameters, own);
        }
        let learn = OwnPaths::of(&maps, &classes).map(|own| Learn { prefix: all, classes, own });
        let fast = memo.is_fast();
        Plan { parameters, memo: Some(memo), fast, learn }
    }

    /// The plan for a node without a memo.
    fn plan_alone<'l>(&self, layers: &'l Layers) -> Plan<'l> {
        let prefixes = Prefixes::new(self.settings);
        let merges = &self.inputs.counters.merged;
        let own: Vec<&MapSlot> = layers.own().map(|layer| &*layer.parameters).collect();
        let linearization = &layers.linearization;
        let learn = linearization.shared(&layers.extra).and_then(|all| {
            let prefix = Some(linearization.most()).filter(|most| most.can_learn()).unwrap_or(all);
            let classes = prefix.merged(&prefixes, merges);
            let classes = linearization.with_automatic(classes, &layers.extra, &prefixes, merges);
            let later = later(&all.layers_after(prefix), &own);
            OwnPaths::of(&later, &classes).map(|own| Learn { prefix, classes, own })
        });
        let mut parameters = self.merge(layers);
        for own in &own {
            self.share_keys(&mut parameters, own);
        }
        Plan { parameters, memo: None, fast: true, learn }
    }

    /// Shares the keys of the maps that this node changed with equal maps of other nodes.
    fn share_keys(&self, parameters: &mut Arc<MapSlot>, own: &MapSlot) {
        let Some(map) = Arc::get_mut(parameters) else { return };
        self.inputs.files.interner().share_keys(&mut map.entries);
        for (key, slot) in &own.entries {
            if let (Slot::Map(own), Some(Slot::Map(inner))) = (slot, map.entries.get_mut(key)) {
                self.share_keys(inner, own);
            }
        }
    }

    fn carry_out(&self, plan: Plan<'_>, layers: &Layers, others: &OtherNodes<'_>) -> Evaluated {
        let Plan { parameters, memo, fast, learn } = plan;
        let counters = &self.inputs.counters;
        let evaluated = if memo.is_some() { &counters.partial } else { &counters.whole };
        evaluated.add();
        let root = Root::whole(parameters.clone()).with_grains(layers.extra.grains.clone());
        let evaluator = Evaluator::new(root, self.settings, self.inputs).with_others(others);
        let mut evaluator = evaluator.in_mode(if fast { Mode::Fast } else { Mode::Full }).with_memo(memo);
        if let Some(Learn { own, .. }) = &learn {
            let automatic = layers.extra.automatic.is_some().then_some(AUTOMATIC);
            evaluator.mark(own, automatic, &parameters);
        }
        let value = evaluator.evaluate(&parameters);
        // A parameter that a `~` key replaced may be a query. An export may not.
        evaluator.examine_replaced();
        let exports = evaluator.evaluate_exports(&layers.exports);
        let faults = evaluator.finish();
        let warnings = std::mem::take(&mut evaluator.warnings);
        let mut bytes = evaluator.bytes;
        if faults.is_empty()
            && (!fast || warnings.is_empty())
            && let Some(Learn { prefix, classes, own }) = learn
            && let Some(memo) =
                evaluator.into_class_memo(own, &classes, &parameters, self.inputs.files.interner())
        {
            bytes += memo.bytes();
            prefix.learn(memo);
        }
        Evaluated { parameters: value, exports, faults, warnings, bytes }
    }
}
