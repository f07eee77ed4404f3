//! Collects all faults of a node whose layers cannot all be read.
//!
//! The readable part is evaluated only to find more faults, so that one message reports all of them (R5). A
//! fault that may be a consequence of a known one is left out. That is the case for what depends on an
//! unreadable value or on a query; and, if a whole file is missing, for every fault of the evaluation,
//! because that file may set or replace any value.

use crate::engine::context::{Computation, Layers, NodeRequest};
use crate::evaluate::{Evaluator, Extent, Locate as _, Root, site_of};
use crate::model::layer::Incomplete;
use reclass_base::error::{Error, Fault, Kind, MAX_FAULTS, Result, truncate_unless_grouped};
use reclass_base::settings::Settings;
use reclass_base::source::Origin;

/// The faults found so far, without a search for more.
pub(super) fn known_faults(error: Error, settings: &Settings) -> Error {
    let mut faults = error.into_faults();
    truncate_unless_grouped(&mut faults, settings.group_errors);
    Error::new(faults)
}

/// An error after which no more faults are searched, together with the earlier ones.
pub(super) fn with_earlier(faults: &mut Vec<Fault>, error: Error) -> Error {
    faults.extend(error.into_faults());
    Error::new(std::mem::take(faults))
}

/// Removes queries that fail because of an export of the same node, if that export's fault is reported too.
pub(super) fn without_consequences(faults: &mut Vec<Fault>) {
    let reported: Vec<(Option<Origin>, Kind)> = faults
        .iter()
        .filter(|fault| fault.causes.is_empty())
        .map(|fault| (fault.origin, fault.kind.clone()))
        .collect();
    let is_reported = |cause: &Fault| {
        reported
            .iter()
            .any(|(origin, kind)| *origin == cause.origin && kind.to_string() == cause.kind.to_string())
    };
    faults.retain(|fault| fault.causes.is_empty() || !fault.causes.iter().all(is_reported));
}

impl Computation<'_> {
    /// Orders the layers of a node for an answer. The error has all faults of the node; without
    /// `group_errors`, only the first.
    pub fn layers_or_all_faults(&self, request: NodeRequest<'_>) -> Result<Layers> {
        self.order(request).map_err(|incomplete| self.all_faults(*incomplete))
    }

    /// All faults of a node, with those already found first.
    fn all_faults(&self, incomplete: Incomplete<Layers>) -> Error {
        if !self.settings.group_errors {
            return known_faults(incomplete.error, self.settings);
        }
        let Incomplete { error, rest, whole } = incomplete;
        let Some(layers) = rest else { return error };
        let mut more = if whole { self.evaluation_faults(&layers) } else { Vec::new() };
        self.add_embedded(&mut more, &layers);
        for fault in &mut more {
            self.complete(fault, &layers);
        }
        let mut faults: Vec<_> = error.into_faults().into_iter().chain(more).collect();
        self.redact_cycles(&mut faults, &layers);
        self.add_file_warnings(&mut faults, &layers);
        Error::new(faults)
    }

    /// Adds the warnings about the files of a node that fails: they may be the cause, as `parameter:` for
    /// `parameters:` is.
    pub(super) fn add_file_warnings(&self, faults: &mut Vec<Fault>, layers: &Layers) {
        let warnings = layers.all().flat_map(|layer| &layer.warnings).filter(|one| one.kind.is_about_file());
        for warning in warnings {
            let mut warning = warning.clone();
            self.complete(&mut warning, layers);
            faults.push(warning);
        }
    }

    /// Adds queries embedded in text from all layers of a node (Q5). Leaves out queries already refused
    /// because they are in an export (Q6).
    pub(super) fn add_embedded(&self, faults: &mut Vec<Fault>, layers: &Layers) {
        let all = layers.all();
        for fault in all.flat_map(|layer| &layer.embedded_queries) {
            let refused = |reported: &Fault| {
                matches!(reported.kind, Kind::QueryInExport { .. }) && reported.origin == fault.origin
            };
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

    /// The faults that an evaluation finds in layers that are complete except for unreadable values.
    fn evaluation_faults(&self, layers: &Layers) -> Vec<Fault> {
        let parameters = self.merge(layers);
        let root = Root::whole(parameters.clone()).with_grains(layers.extra.grains.clone());
        let mut evaluator = Evaluator::new(root, self.settings, self.inputs).in_extent(Extent::Readable);
        evaluator.evaluate(&parameters);
        evaluator.examine_replaced();
        evaluator.evaluate_exports(&layers.exports);
        evaluator.finish()
    }
}
