//! What breaks the schemas of parameters in the nodes of an inventory. Nodes are checked while they are rendered, and
//! the places are looked for afterwards.

use std::convert::identity;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::linter::{Linter, lint_fault};
use crate::schema::{FoundViolations, NodeVerdict, Schemas};
use reclass::NodeInfo;
use reclass::parts::engine::{Computation, NodeRequest};
use reclass_base::error::{Error, Fault};
use reclass_base::source::Site;
use reclass_base::value::Key;

/// The schemas, and what breaks them.
#[derive(Default)]
pub struct Contracts {
    schemas: Option<Arc<Schemas>>,
    /// Why the schemas cannot be read.
    unread: Option<Error>,
    /// The nodes of the survey that break a schema.
    broken: Vec<(usize, NodeVerdict)>,
    /// For each schema whether it is for a node with its parameter.
    used: Vec<bool>,
}

impl Contracts {
    pub fn of(computation: &Computation<'_>) -> Contracts {
        match Schemas::of_computation(computation) {
            Ok(schemas) => Contracts { schemas, ..Contracts::default() },
            Err(error) => Contracts { unread: Some(error), ..Contracts::default() },
        }
    }

    /// Why schemas are none. Their values are not checked.
    pub fn own_faults(&self) -> Vec<Fault> {
        let unread = self.unread.iter().flat_map(|error| error.faults().iter().cloned());
        unread.chain(self.schemas.iter().flat_map(|schemas| schemas.own_faults())).collect()
    }

    /// What breaks the schemas in a node.
    pub fn verdict(&self, info: &NodeInfo) -> Option<NodeVerdict> {
        self.schemas.as_ref().map(|schemas| schemas.check(info))
    }

    /// Keeps what breaks the schemas in a node of the survey.
    pub fn keep(&mut self, node: usize, verdict: Option<NodeVerdict>) {
        let Some(verdict) = verdict else { return };
        self.used.resize(self.used.len().max(verdict.used.len()), false);
        self.used.iter_mut().zip(&verdict.used).for_each(|(all, used)| *all |= used);
        if !verdict.broken.is_empty() {
            self.broken.push((node, verdict));
        }
    }
}

/// The findings of the rule `schema`.
pub(super) fn check(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let contracts = &linter.contracts;
    let Some(schemas) = &contracts.schemas else { return };
    let nodes = alike(linter);
    let placed = linter
        .context
        .each_node(&nodes, identity, |computation, nodes| faults(linter, schemas, computation, nodes));
    found.extend(placed.into_iter().flatten());
    found.extend(unchecked(linter));
}

/// That nodes do not render, so that nobody knows whether their values break a schema.
fn unchecked(linter: &Linter<'_>) -> Option<Fault> {
    let nodes = linter.survey.nodes.iter().zip(&linter.rendered.done).enumerate();
    let mut failed = nodes.filter(|(number, (_, done))| !**done && linter.is_chosen(*number));
    let (_, (first, _)) = failed.next()?;
    let message = match failed.count() {
        0 => "the schemas are not checked: this node does not render".to_owned(),
        more => format!("the schemas are not checked: this node and {more} more do not render"),
    };
    Some(lint_fault("schema", message, None).at_site(Site::file(first.path.clone())))
}

/// Nodes whose violations have the same places: they share the wrong values and the classes, and set nothing below the
/// parameter themselves.
fn alike<'v>(linter: &'v Linter<'_>) -> Vec<Vec<&'v (usize, NodeVerdict)>> {
    let mut groups: FxHashMap<(usize, Vec<usize>), usize> = FxHashMap::default();
    let mut all: Vec<Vec<&(usize, NodeVerdict)>> = Vec::new();
    for one in &linter.contracts.broken {
        let (number, verdict) = one;
        let Some(node) = linter.survey.nodes.get(*number) else { continue };
        let own = node.layers.iter().flat_map(|layers| layers.own());
        let is_broken = |key: &Key| {
            let name = key.as_str().map(|name| linter.prefixes.bare(name));
            verdict.broken.iter().any(|one| one.keys.first().and_then(Key::as_str) == name)
        };
        let is_own = own.into_iter().any(|layer| layer.parameters.entries.keys().any(is_broken));
        let values = verdict.broken.iter();
        let values = values.map(|one| one.found.as_ref().map_or(one.schema, FoundViolations::address));
        let key = (node.kind, values.collect());
        match groups.get(&key) {
            Some(at) if !is_own => all[*at].push(one),
            _ => {
                if !is_own {
                    groups.insert(key, all.len());
                }
                all.push(vec![one]);
            }
        }
    }
    all
}

/// The faults of nodes with the same violations and places.
fn faults(
    linter: &Linter<'_>,
    schemas: &Schemas,
    computation: &Computation<'_>,
    nodes: &[&(usize, NodeVerdict)],
) -> Vec<Fault> {
    let names = nodes.iter().filter_map(|(number, _)| Some(linter.survey.nodes.get(*number)?.name.clone()));
    let names: Vec<_> = names.collect();
    let (Some((_, verdict)), Some(first)) = (nodes.first(), names.first()) else { return Vec::new() };
    let faults = schemas.faults(computation, NodeRequest::plain(first), verdict);
    let for_node = |fault: &Fault, node| Fault { node: Some(node), ..fault.clone() };
    faults.iter().flat_map(|fault| names.iter().map(|node| for_node(fault, node.clone()))).collect()
}

/// The schemas of parameters that no node has, and keywords that are probably misspelled.
pub(super) fn check_unused(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    let contracts = &linter.contracts;
    let Some(schemas) = &contracts.schemas else { return };
    let is_rendered = linter.rendered.done.iter().all(|done| *done);
    for (parameter, has_scope, site) in schemas.unused(&contracts.used).into_iter().filter(|_| is_rendered) {
        let whom = if has_scope { "no node for which 'x-reclass' says it is" } else { "no node" };
        let message = format!("{whom} has the parameter '{parameter}' of this schema");
        found.push(lint_fault("schema-unused", message, None).at_site(site));
    }
}

pub(super) fn check_keywords(linter: &Linter<'_>, found: &mut Vec<Fault>) {
    found.extend(linter.contracts.schemas.iter().flat_map(|schemas| schemas.slips().iter().cloned()));
}
