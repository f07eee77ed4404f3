//! Problems turns a node whose layers cannot all be read into everything that is wrong with it.
//!
//! What can be read of it is evaluated as it would be for a pillar, only to look for more problems, so
//! that all are told in one go (R5). What may be a consequence of those that are known is not told: what
//! depends on a value that cannot be read, or on a query; and where a whole file is missing, every
//! reference that leads nowhere, since that file may be the one that sets it.

use crate::engine::node::{Computation, Layers};
use crate::error::{Error, Fault};
use crate::evaluate::{Evaluator, Extent, Root};

/// A node whose layers cannot all be ordered.
pub(super) struct Broken {
    /// Why.
    pub error: Error,
    /// Those that can, and how much of the node they are.
    pub rest: Option<(Layers, Extent)>,
}

impl From<Error> for Box<Broken> {
    fn from(error: Error) -> Box<Broken> {
        Box::new(Broken { error, rest: None })
    }
}

/// One more problem, after which nothing is to be looked for.
pub(super) fn after(faults: &mut Vec<Fault>, error: Error) -> Error {
    faults.extend(error.into_faults());
    Error::new(std::mem::take(faults))
}

impl Computation<'_> {
    /// All problems of a node, those that are known first.
    pub(super) fn all_problems(&self, broken: Broken) -> Error {
        let Broken { error, rest } = broken;
        let Some((layers, extent)) = rest.filter(|_| self.settings.group_errors) else { return error };
        let parameters = self.merge(&layers);
        let root = Root::whole(parameters.clone());
        let mut evaluator = Evaluator::new(root, self.settings, self.inputs).in_extent(extent);
        evaluator.evaluate(&parameters);
        evaluator.examine_replaced();
        evaluator.evaluate_exports(&layers.exports);
        let mut more = evaluator.finish();
        more.extend(self.embedded(&layers));
        for fault in &mut more {
            self.complete(fault, &layers);
        }
        let mut faults: Vec<_> = error.into_faults().into_iter().chain(more).collect();
        self.withhold_ways(&mut faults, &layers);
        Error::new(faults)
    }
}
