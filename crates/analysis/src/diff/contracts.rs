//! Which schemas of parameters are broken on one side only.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::data::Difference;
use crate::schema::{NodeVerdict, Schemas};
use reclass::NodeInfo;
use reclass::parts::engine::{Computation, NodeRequest};
use reclass::report::{Level, grouped};
use reclass_base::error::Fault;
use reclass_base::value::Text;

/// The schemas of both sides. What is wrong with the schemas themselves is a matter of lint.
pub(super) type SideSchemas = [Option<Arc<Schemas>>; 2];

pub(super) fn schemas(old: &Computation<'_>, new: &Computation<'_>) -> SideSchemas {
    [old, new].map(|side| Schemas::of_computation(side).ok().flatten())
}

/// What breaks the schemas in a node on both sides; `None` without a difference.
pub(super) type VerdictPair = Option<[NodeVerdict; 2]>;

/// Nodes with what breaks the schemas in them on both sides.
pub(super) type NodeVerdicts = Vec<(Text, [NodeVerdict; 2])>;

pub(super) fn verdicts(schemas: &SideSchemas, infos: [Option<&NodeInfo>; 2]) -> VerdictPair {
    let [old, new] = [0, 1].map(|side| match (&schemas[side], infos[side]) {
        (Some(schemas), Some(info)) => schemas.check(info),
        _ => NodeVerdict::default(),
    });
    let is_same = old.broken.is_empty() && new.broken.is_empty() || old.says_same(&new);
    (!is_same).then_some([old, new])
}

/// Adds what breaks a schema on one side only. A node that is gone breaks nothing, and mends nothing.
pub(super) fn add(
    difference: &mut Difference,
    schemas: &SideSchemas,
    [old, new]: [&Computation<'_>; 2],
    nodes: &NodeVerdicts,
) {
    let (mut broken, mut kept) = (Vec::new(), Vec::new());
    for (name, [before, now]) in nodes {
        let faults = |side: usize, computation: &Computation<'_>, verdict: &NodeVerdict| {
            let schemas = schemas.get(side).and_then(Option::as_ref);
            schemas.map_or_else(Vec::new, |schemas| {
                schemas.faults(computation, NodeRequest::plain(name), verdict)
            })
        };
        let (before, now) = (faults(0, old, before), faults(1, new, now));
        broken.extend(only(&now, &before));
        kept.extend(only(&before, &now));
    }
    let as_errors = |faults: Vec<Fault>| grouped(faults.into_iter().map(|fault| (Level::Error, fault)));
    (difference.schemas_broken, difference.schemas_kept) = (as_errors(broken), as_errors(kept));
}

/// The faults that are not among the others, wherever their places are.
fn only(faults: &[Fault], others: &[Fault]) -> Vec<Fault> {
    let sentence = |fault: &Fault| (fault.code(), fault.kind.to_string());
    let others: FxHashSet<(&str, String)> = others.iter().map(sentence).collect();
    faults.iter().filter(|fault| !others.contains(&sentence(fault))).cloned().collect()
}
