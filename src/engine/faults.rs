//! Problems turns a node whose layers cannot all be read into everything that is wrong with it.
//!
//! What can be read of it is evaluated as it would be for a pillar, only to look for more problems, so
//! that all are told in one go (R5). What may be a consequence of those that are known is not told: what
//! depends on a value that cannot be read, or on a query; and where a whole file is missing, all that an
//! evaluation finds, since that file may set or replace any value.

use crate::base::error::{Error, Fault, Kind, MAX_FAULTS, Result, truncate_unless_grouped};
use crate::base::settings::Settings;
use crate::base::source::Origin;
use crate::engine::node::{Computation, Layers, NodeRequest};
use crate::evaluate::{Evaluator, Extent, Locate as _, Root, site_of};

/// A node whose layers cannot all be ordered.
pub(super) struct IncompleteNode {
    /// Why.
    pub error: Error,
    /// Those that can.
    pub rest: Option<Layers>,
    /// Whether these are all, but for values that cannot be read.
    pub whole: bool,
}

impl From<Error> for Box<IncompleteNode> {
    fn from(error: Error) -> Box<IncompleteNode> {
        Box::new(IncompleteNode { error, rest: None, whole: false })
    }
}

impl IncompleteNode {
    /// The problems that are known without looking for more.
    pub fn known_faults(self, settings: &Settings) -> Error {
        let mut faults = self.error.into_faults();
        truncate_unless_grouped(&mut faults, settings.group_errors);
        Error::new(faults)
    }
}

/// One more problem, after which nothing is to be looked for.
pub(super) fn with_earlier(faults: &mut Vec<Fault>, error: Error) -> Error {
    faults.extend(error.into_faults());
    Error::new(std::mem::take(faults))
}

/// Leaves out queries of a node that fail for one of its own exports, where that is told too.
pub(super) fn without_consequences(faults: &mut Vec<Fault>) {
    let told: Vec<(Option<Origin>, Kind)> = faults
        .iter()
        .filter(|fault| fault.causes.is_empty())
        .map(|fault| (fault.origin, fault.kind.clone()))
        .collect();
    let is_told = |cause: &Fault| {
        told.iter()
            .any(|(origin, kind)| *origin == cause.origin && kind.to_string() == cause.kind.to_string())
    };
    faults.retain(|fault| fault.causes.is_empty() || !fault.causes.iter().all(is_told));
}

impl Computation<'_> {
    /// Orders the layers of a node for an answer. An error has all problems of the node; without
    /// `group_errors` the first alone.
    pub fn layers_or_all_faults(&self, request: NodeRequest<'_>) -> Result<Layers> {
        self.order(request).map_err(|incomplete| self.all_faults(*incomplete))
    }

    /// All problems of a node, those that are known first.
    fn all_faults(&self, incomplete: IncompleteNode) -> Error {
        if !self.settings.group_errors {
            return incomplete.known_faults(self.settings);
        }
        let IncompleteNode { error, rest, whole } = incomplete;
        let Some(layers) = rest else { return error };
        let mut more = if whole { self.evaluation_faults(&layers) } else { Vec::new() };
        self.add_embedded(&mut more, &layers);
        for fault in &mut more {
            self.complete(fault, &layers);
        }
        let mut faults: Vec<_> = error.into_faults().into_iter().chain(more).collect();
        self.redact_cycles(&mut faults, &layers);
        Error::new(faults)
    }

    /// Adds the queries with text around them in all layers of a node (Q5), but those that are refused for
    /// standing in an export (Q6).
    pub(super) fn add_embedded(&self, faults: &mut Vec<Fault>, layers: &Layers) {
        let all = layers.all();
        for fault in all.flat_map(|layer| &layer.embedded_queries) {
            let refused =
                |told: &Fault| matches!(told.kind, Kind::QueryInExport { .. }) && told.origin == fault.origin;
            if !faults.iter().any(refused) {
                if faults.len() > MAX_FAULTS {
                    return;
                }
                let bytes = fault.origin.and_then(|origin| self.inputs.bytes(origin.file));
                let site = site_of(self.inputs, fault, &bytes.unwrap_or_default());
                faults.push(Fault { site, ..fault.clone() });
            }
        }
    }

    /// What an evaluation finds of layers that are all there, but for values that cannot be read.
    fn evaluation_faults(&self, layers: &Layers) -> Vec<Fault> {
        let parameters = self.merge(layers);
        let root = Root::whole(parameters.clone());
        let mut evaluator = Evaluator::new(root, self.settings, self.inputs).in_extent(Extent::Readable);
        evaluator.evaluate(&parameters);
        evaluator.examine_replaced();
        evaluator.evaluate_exports(&layers.exports);
        evaluator.finish()
    }
}
