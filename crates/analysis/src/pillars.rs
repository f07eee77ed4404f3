//! Says which nodes have a pillar, and why others have none. Whoever speaks of nodes that break asks here.
//!
//! A pillar fails if the node cannot be rendered, if Salt cannot carry a value, and if a value breaks a schema with
//! `schema_check: error`. It is that of a request without grains and without an earlier pillar.

use std::sync::Arc;

use crate::diff::Renderer;
use crate::schema::Schemas;
use reclass::parts::engine::{Computation, NodeRequest};
use reclass::parts::output::wire;
use reclass::{Inventory, NodeInfo};
use reclass_base::error::{Error, Fault, Kind, Result, truncate_unless_grouped};
use reclass_base::path::split_path;
use reclass_base::value::{Text, Value};

/// What a pillar must not break.
#[derive(Debug)]
pub struct PillarCheck {
    /// The schemas that refuse pillars.
    schemas: Option<Arc<Schemas>>,
}

impl PillarCheck {
    /// The check in one state of an inventory.
    ///
    /// # Errors
    ///
    /// A folder of schemas that cannot be read.
    pub fn of(computation: &Computation<'_>) -> Result<PillarCheck> {
        let refuses = &*computation.settings.schema_check == "error";
        Ok(PillarCheck { schemas: if refuses { Schemas::of_computation(computation)? } else { None } })
    }

    /// The answer for a node that has a pillar, or the reason why it has none; `None` without a node.
    fn answer(&self, renderer: &Renderer<'_>, name: &Text) -> Option<Result<NodeInfo>> {
        let answer = renderer.render(name)?;
        Some(answer.and_then(|info| match self.fault(renderer, &info) {
            Some(error) => Err(error),
            None => Ok(info),
        }))
    }

    /// Why a node that renders has no pillar.
    pub fn fault(&self, renderer: &Renderer<'_>, info: &NodeInfo) -> Option<Error> {
        if let Some(fault) = not_carried(renderer, info) {
            return Some(fault.into());
        }
        let schemas = self.schemas.as_ref()?;
        let verdict = schemas.check(info);
        if !verdict.is_refused() {
            return None;
        }
        let computation = renderer.computation();
        let mut faults: Vec<Fault> = schemas.faults(computation, NodeRequest::plain(&info.name), &verdict);
        faults.retain(is_error);
        truncate_unless_grouped(&mut faults, computation.settings.group_errors);
        Some(Error::new(faults))
    }
}

/// Whether a value breaks its schema. One that is only deprecated does not.
pub fn is_error(fault: &Fault) -> bool {
    !matches!(fault.kind, Kind::Lint { .. })
}

/// All nodes of an inventory, sorted, each with the reason why it has no pillar.
///
/// # Errors
///
/// Nodes that cannot be listed, and a folder of schemas that cannot be read.
pub fn of_all(inventory: &Inventory) -> Result<Vec<(Text, Option<Error>)>> {
    inventory.inspect(|computation| {
        let names: Vec<Text> = computation.catalog.nodes.keys().cloned().collect();
        let errors = errors(computation, &names)?;
        Ok(names.into_iter().zip(errors).collect())
    })?
}

/// The same for some nodes. One that is not there has a pillar as little as one that breaks.
pub fn of_some(inventory: &Inventory, names: &[Text]) -> Result<Vec<bool>> {
    inventory.inspect(|computation| {
        let there = |name: &Text| computation.catalog.nodes.contains_key(name);
        let errors = errors(computation, names)?;
        Ok(names.iter().zip(errors).map(|(name, error)| there(name) && error.is_none()).collect())
    })?
}

/// Why each of these nodes has no pillar; nothing for one that is not there.
pub(crate) fn errors_of(inventory: &Inventory, names: &[Text]) -> Result<Vec<Option<Error>>> {
    inventory.inspect(|computation| errors(computation, names))?
}

fn errors(computation: &Computation<'_>, names: &[Text]) -> Result<Vec<Option<Error>>> {
    let check = PillarCheck::of(computation)?;
    let error = |renderer: &Renderer<'_>, name: &Text| check.answer(renderer, name).and_then(Result::err);
    Ok(computation.context().each_node(names, Renderer::new, error))
}

/// The first fault of a value that Salt cannot carry to a minion.
fn not_carried(renderer: &Renderer<'_>, node: &NodeInfo) -> Option<Fault> {
    let delimiter = renderer.delimiter();
    let carry = |value: &Value, root| wire::carry(value, root, delimiter).err();
    let error = carry(&node.parameters, "parameters").or_else(|| carry(&node.environment, "environment"))?;
    let mut fault = error.into_faults().into_iter().next()?;
    fault.node = Some(node.name.clone());
    let path = fault.path.as_deref().map(|path| split_path(path, delimiter));
    let place = path.and_then(|path| renderer.computation().locate_value(&node.name, None, &path));
    if let (None, Some((site, chain))) = (&fault.site, place) {
        (fault.site, fault.chain) = (Some(site), chain);
    }
    Some(fault)
}
