//! The top of a node, its environment and applications, from its layers alone. Only the parameters that
//! class names refer to are evaluated.

use std::sync::Arc;

use crate::engine::context::{Computation, Layers, NodeRequest};
use crate::engine::sequence::Sequence;
use crate::model::layer::{Applications, Incomplete};
use reclass_base::error::{Error, Fault, Kind, Result, truncate_unless_grouped};
use reclass_base::value::{Text, Value};

/// The top of a node.
#[derive(Clone, Debug)]
pub struct Top {
    /// The environment: usually a string, but the node file may say anything.
    pub environment: Value,
    /// Applications in order of first appearance.
    pub applications: Vec<Text>,
}

impl Computation<'_> {
    /// The top of a node, and its classes. An unreadable parameter is a fault of the pillar only. An
    /// unreadable class or application is a fault of the top.
    pub fn top(&self, request: NodeRequest<'_>) -> Result<(Top, Arc<Sequence>)> {
        let layers = self.order(request).or_else(|incomplete| match *incomplete {
            Incomplete { error, rest: Some(layers), whole: true }
                if !error.faults().iter().any(is_of_applications) =>
            {
                Ok(layers)
            }
            Incomplete { error, .. } => {
                let mut faults = error.into_faults();
                // Faults with a parameter path come last: such a value matters only if a class name needs
                // it, and then another fault says so.
                faults.sort_by_key(|fault| fault.path.is_some());
                truncate_unless_grouped(&mut faults, self.settings.group_errors);
                Err(Error::new(faults))
            }
        })?;
        let applications = Applications::merged(layers.all().map(|layer| &layer.applications));
        let Layers { environment, linearization, .. } = layers;
        Ok((Top { environment, applications }, linearization.sequence))
    }
}

fn is_of_applications(fault: &Fault) -> bool {
    matches!(&fault.kind, Kind::SectionType { section, .. } | Kind::EntryType { section, .. }
        if section == "applications")
}
