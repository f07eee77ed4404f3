//! Redaction of reference cycles, so that their messages reveal no secret.
//!
//! A secret may select the next path, as in `${accounts:${password}}`, and the message about a cycle names
//! the paths. A minion may see it. So a cycle is reported only if it exists without the secrets too.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::engine::context::{Computation, Layers};
use crate::evaluate::{Evaluator, Extent, Mode, References, Root, without};
use reclass_base::error::{Fault, Kind};
use reclass_base::secrets::{MASK, Secrets};

impl Computation<'_> {
    /// Masks the cycles among these faults that do not exist without the secrets.
    pub fn redact_cycles(&self, faults: &mut [Fault], layers: &Layers) {
        let mut cycles = Vec::new();
        collect(faults, &mut cycles);
        let secrets = Secrets::of(self.settings);
        if cycles.is_empty() || secrets.is_none() {
            return;
        }
        let secrets = layers.secrets(&secrets);
        let parameters = without(&secrets, &self.merge(layers), References::Kept);
        let exports = without(&secrets, &layers.exports, References::Kept);
        let root = Root::whole(parameters.clone()).with_grains(layers.extra.grains.clone());
        let mut evaluator = Evaluator::new(root, self.settings, self.inputs)
            .in_extent(Extent::Readable)
            .in_mode(Mode::Silent);
        evaluator.evaluate(&parameters);
        evaluator.examine_replaced();
        evaluator.evaluate_exports(&exports);
        let mut without_secrets = evaluator.finish();
        let mut harmless = Vec::new();
        collect(&mut without_secrets, &mut harmless);
        let harmless: FxHashSet<BTreeSet<String>> = harmless.iter().map(|fault| places(fault)).collect();
        for fault in cycles {
            if !harmless.contains(&places(fault)) {
                fault.kind = Kind::ReferenceCycle { cycle: MASK.into() };
                fault.path = None;
                fault.notes.clear();
            }
        }
    }
}

/// The paths of a cycle, independent of where it was entered.
fn places(fault: &Fault) -> BTreeSet<String> {
    let Kind::ReferenceCycle { cycle } = &fault.kind else { return BTreeSet::new() };
    cycle.split(" -> ").map(str::to_owned).collect()
}

fn collect<'f>(faults: &'f mut [Fault], cycles: &mut Vec<&'f mut Fault>) {
    for fault in faults {
        if matches!(fault.kind, Kind::ReferenceCycle { .. }) {
            cycles.push(fault);
        } else {
            collect(&mut fault.causes, cycles);
        }
    }
}
