//! Finds the place where a value of a node is written, for messages about it.

use std::sync::Arc;

use crate::engine::context::{Computation, NodeRequest};
use crate::evaluate::Locate as _;
use crate::model::slot::{MapSlot, Slot};
use reclass_base::error::Link;
use reclass_base::source::{Origin, Site};
use reclass_base::value::Text;
impl Computation<'_> {
    /// Where the value at a parameter path was written, with the include chain of that file. Follows the
    /// path without evaluation; among layers with equally long matches, the last one counts.
    pub fn locate_value(
        &self,
        name: &str,
        environment: Option<&Text>,
        path: &[Text],
    ) -> Option<(Site, Vec<Link>)> {
        let layers = self.layers(NodeRequest { environment, ..NodeRequest::plain(name) }).ok()?;
        let all = layers.own().rev().chain(layers.linearization.layers().rev());
        let (_, origin) = all
            .map(|layer| deepest(&layer.parameters, path))
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .filter(|(depth, _)| *depth > 0)?;
        let site = self.inputs.site(origin)?;
        Some((site, layers.linearization.include_chains().chain_of_file(origin.file, self.inputs)))
    }
}

/// How many keys of a path a layer has, and the origin of the last one.
fn deepest(parameters: &Arc<MapSlot>, path: &[Text]) -> (usize, Origin) {
    let (mut depth, mut origin) = (0, parameters.origin);
    let mut slot = path.first().and_then(|key| parameters.entries.get(key.as_ref() as &str));
    while let Some(here) = slot {
        depth += 1;
        origin = here.origin();
        let key = path.get(depth);
        slot = match (here, key) {
            (Slot::Map(map), Some(key)) => map.entries.get(key.as_ref() as &str),
            (Slot::Raw(raw), Some(key)) => raw.entries.get(key.as_ref() as &str),
            (Slot::List(list), Some(key)) => key.parse().ok().and_then(|index: usize| list.items.get(index)),
            _ => None,
        };
    }
    (depth, origin)
}
