//! Explains all leaves of a node at once: each with its place, the effects of the layers, and the parameters
//! that it names. Traces of references are left out, because their targets are leaves too.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::budget::Budget;
use super::data::ValuePart;
use super::explainer::Explainer;
use super::steps::LayerStep;
use crate::base::error::{Error, Fault, Result};
use crate::base::path::KeyPath;
use crate::base::value::Text;
use crate::engine::context::{Computation, Layers};
use crate::engine::exports::OtherNodes;
use crate::output::redact::Redaction;

/// A leaf of a node. Secrets are masked, but for the values of steps, which most nodes share: whoever shows them
/// masks them.
pub(crate) struct ExplainedLeaf {
    /// Its value and its place.
    pub part: ValuePart,
    /// The effects of the layers, if there are several.
    pub steps: Vec<LayerStep>,
    /// The targets of the references that contain references, in order; `None` if a target is unknown or
    /// secret.
    pub targets: Vec<Option<KeyPath>>,
    /// The nodes that answered its inventory query.
    pub answers: Option<Arc<[Text]>>,
}

/// The leaves of the parameters or of the exports of a node, and its first fault.
pub(crate) struct ExplainedLeaves {
    /// The leaves in order.
    pub leaves: Vec<ExplainedLeaf>,
    /// The error, if a value cannot be computed.
    pub fault: Option<Fault>,
}

/// All leaves of the parameters of a node, or of its exports.
pub(crate) fn leaves(
    computation: &Computation<'_>,
    layers: &Layers,
    exports: bool,
    redaction: &Redaction,
) -> Result<ExplainedLeaves> {
    let (budget, budget_without) = (Budget::new(computation.settings), Budget::new(computation.settings));
    let others = computation.others(layers, None);
    let mut explainer = Explainer::new(computation, layers, &others, exports).within(&budget);
    let mut trace = explainer.overview();
    let secrets = &redaction.secrets;
    let others_without = OtherNodes { without: Some(secrets.clone()), ..computation.others(layers, None) };
    let mut without = (!secrets.is_none()).then(|| {
        Explainer::without(computation, layers, &others_without, exports, secrets).within(&budget_without)
    });
    if let Some(explainer) = &mut without {
        let without = explainer.overview();
        redaction.cover(&mut trace, Some(&without));
    }
    let mut leaves = Vec::with_capacity(trace.parts.len());
    // The explainer keeps the answer of each query, so its address identifies it.
    let mut answers: FxHashMap<*const Text, Arc<[Text]>> = FxHashMap::default();
    for part in trace.parts {
        let traced = explainer.leaf(&part);
        let mut targets = traced.targets;
        if let Some(explainer) = without.as_mut().filter(|_| !targets.is_empty()) {
            // A target that changes without the secrets has a secret among its keys.
            let same = explainer.leaf(&part).targets;
            for (at, target) in targets.iter_mut().enumerate() {
                *target = target.take().filter(|target| same.get(at) == Some(&Some(target.clone())));
            }
        }
        let answers = traced
            .answers
            .map(|nodes| answers.entry(nodes.as_ptr()).or_insert_with(|| Arc::from(&*nodes)).clone());
        leaves.push(ExplainedLeaf { part, steps: traced.steps, targets, answers });
    }
    if let Some(fault) = budget.fault().or_else(|| budget_without.fault()) {
        return Err(Error::from(Fault { node: Some(layers.name.clone()), ..fault }));
    }
    let mut fault = trace.fault;
    if let Some(fault) = &mut fault {
        computation.complete(fault, layers);
    }
    Ok(ExplainedLeaves { leaves, fault })
}
