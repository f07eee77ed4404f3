//! Explains all leaves of a node at once: each with its place, the effects of the layers, and the parameters
//! that it names. Traces of references are left out, because their targets are leaves too.

use super::budget::Budget;
use super::cover::TraceCover;
use super::data::Leaf;
use super::explainer::Explainer;
use super::steps::LayerStep;
use reclass::parts::engine::{Computation, Layers, OtherNodes};
use reclass::parts::evaluate::slot_without;
use reclass::parts::model::Slot;
use reclass::parts::output::written::written;
use reclass::redact::Redaction;
use reclass_base::error::{Error, Fault, Result};
use reclass_base::path::KeyPath;
use reclass_base::secrets::Cover;
use reclass_base::value::Text;

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
    pub answers: Option<Vec<Text>>,
}

/// The leaves of the parameters or of the exports of a node in order, and its first fault.
#[derive(Default)]
pub struct ExplainedLeaves {
    pub leaves: Vec<ExplainedLeaf>,
    /// The error, if a value cannot be computed.
    pub fault: Option<Fault>,
}

/// All leaves of the parameters of a node, or of its exports. Fails if the explanation exceeds a limit.
pub fn leaves(
    computation: &Computation<'_>,
    layers: &Layers,
    exports: bool,
    redaction: &Redaction,
) -> Result<ExplainedLeaves> {
    if exports && layers.exports.entries.is_empty() {
        return Ok(ExplainedLeaves::default());
    }
    let (budget, budget_without) = (Budget::new(computation.settings), Budget::new(computation.settings));
    let others = computation.others(layers, None);
    let secrets = &redaction.secrets;
    let others_without = OtherNodes { without: Some(secrets.clone()), ..computation.others(layers, None) };
    let with = Explainer::new(computation, layers, &others, exports).within(&budget);
    let without = (!secrets.is_none()).then(|| {
        Explainer::without(computation, layers, &others_without, exports, secrets).within(&budget_without)
    });
    LeafExplainer { with, without, redaction }.explain(layers)
}

/// Explains the leaves of one node.
struct LeafExplainer<'a> {
    with: Explainer<'a>,
    /// The same without the secrets, if there are any.
    without: Option<Explainer<'a>>,
    redaction: &'a Redaction,
}

impl LeafExplainer<'_> {
    fn explain(mut self, layers: &Layers) -> Result<ExplainedLeaves> {
        let mut fault = self.with.whole().fault;
        if let Some(without) = &mut self.without {
            without.whole();
        }
        let leaves = self.leaves();
        let mut explainers = std::iter::once(&self.with).chain(&self.without);
        if let Some(fault) = explainers.find_map(|explainer| explainer.budget.fault()) {
            return Err(Error::from(Fault { node: Some(layers.name.clone()), ..fault }));
        }
        if let Some(fault) = &mut fault {
            self.with.computation.complete(fault, layers);
        }
        Ok(ExplainedLeaves { leaves, fault })
    }

    fn leaves(&mut self) -> Vec<ExplainedLeaf> {
        let mut leaves = self.with.leaves();
        if let Some(without) = &mut self.without {
            let without = without.leaves();
            let others: Vec<_> = without.iter().map(Leaf::without).collect();
            TraceCover(self.redaction).cover_parts(leaves.iter_mut().map(Leaf::covered_part), &others);
        }
        leaves.into_iter().map(|leaf| self.explained(leaf)).collect()
    }

    fn explained(&mut self, leaf: Leaf) -> ExplainedLeaf {
        let mut traced = self.with.leaf(&leaf);
        self.cover_steps(&leaf, &mut traced.steps);
        let mut targets = traced.targets;
        if let Some(without) = self.without.as_mut().filter(|_| !targets.is_empty()) {
            // A target that changes without the secrets has a secret among its keys.
            let same = without.leaf(&leaf).targets;
            for (at, target) in targets.iter_mut().enumerate() {
                *target = target.take().filter(|target| same.get(at) == Some(&Some(target.clone())));
            }
        }
        let answers = traced.answers.map(|nodes| nodes.to_vec());
        ExplainedLeaf { leaf, steps: traced.steps, targets, answers }
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
}
