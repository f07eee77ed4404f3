//! The parameters of a node as an editor may show them.

use reclass::parts::engine::NodeRequest;
use reclass::redact::Redaction;
use reclass::{Inventory, NodeInfo};
use reclass_analysis::explain::{ValuePlaces, shown};
use reclass_base::value::Value;

/// The parameters in the answer for a node with hidden secrets. `None` if its layers are not known any more.
pub fn shown_parameters(inventory: &Inventory, info: &NodeInfo, redaction: &Redaction) -> Option<Value> {
    if redaction.secrets.is_none() {
        return Some(info.parameters.clone());
    }
    let found = inventory.inspect(|computation| {
        let layers = computation.layers(NodeRequest::plain(&info.name)).ok()?;
        Some(shown(Some(&ValuePlaces::new(computation, &layers)), redaction, (false, &[], &info.parameters)))
    });
    found.ok().flatten()
}
