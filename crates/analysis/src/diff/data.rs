//! The difference between two states as data.

use serde::Serialize;

use super::values::Section;
use crate::explain::ValuePlace;
use reclass::report::{Finding, Level};
use reclass_base::error::Fault;
use reclass_base::value::{Text, Value};

/// The difference between two states, as in `--output json` and Python. `docs/diff.md` describes it.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Difference {
    /// The name of the first side: a revision, a folder or `.`.
    pub old: String,
    /// The name of the second side.
    pub new: String,
    /// Whether the settings files in the base folders differ.
    pub settings_differ: bool,
    /// Whether each state is rendered with its own settings.
    #[serde(skip)]
    pub own_settings: bool,
    /// The number of nodes on both sides together.
    pub nodes: usize,
    /// The number of nodes that differ.
    pub touched: usize,
    /// Nodes that exist on the second side only.
    pub added: Vec<Text>,
    /// The added nodes that do not render.
    pub unrendered: Vec<NodeProblems>,
    /// Nodes that exist on the first side only.
    pub removed: Vec<Text>,
    /// Nodes that render on the first side only, with their problems on the second.
    pub broken: Vec<NodeProblems>,
    /// Nodes that render on the second side only, with their problems on the first.
    pub mended: Vec<NodeProblems>,
    /// Nodes that render on neither side, with different problems: those of the second.
    pub otherwise: Vec<NodeProblems>,
    /// Nodes that render on neither side, with the same problems. They are not compared.
    #[serde(skip)]
    pub failing: Vec<Text>,
    /// Changes of values, in the order of the nodes.
    pub changes: Vec<ValueChange>,
    /// What breaks the schema of a parameter on the second side only. Left out if nothing does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schemas_broken: Vec<Finding>,
    /// What breaks the schema of a parameter on the first side only. Left out if nothing does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schemas_kept: Vec<Finding>,
}

/// A node that does not render on one side.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct NodeProblems {
    /// The name of the node.
    pub node: Text,
    /// The errors on that side.
    pub problems: Vec<Finding>,
}

/// The kind of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The value exists on the new side only.
    Added,
    /// The value exists on the old side only.
    Removed,
    /// The value differs. `null` is a value too.
    Changed,
    /// An item of a list has another place among the items that stay.
    Moved,
}

/// A change of a value, with all nodes that have this change.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ValueChange {
    /// The section of the nodes.
    pub section: Section,
    /// The path in the section; `*` is a list index that differs between the nodes.
    pub path: String,
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The old value of the first node, secrets masked.
    pub old: Option<Value>,
    /// The new value of the first node.
    pub new: Option<Value>,
    /// The place of the old value in the first node.
    pub old_place: Option<ValuePlace>,
    /// The place of the new value in the first node.
    pub new_place: Option<ValuePlace>,
    /// The removed, added and moved items, if both values are lists. They are the same in all nodes.
    pub items: Option<Vec<ItemChange>>,
    /// Whether the values of the other nodes differ from `old` and `new`.
    pub differs_by_node: bool,
    /// The nodes, sorted.
    pub nodes: Vec<Text>,
}

/// A removed, added or moved item of a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ItemChange {
    /// `added`, `removed` or `moved`.
    pub kind: ChangeKind,
    /// The item, secrets masked.
    pub value: Value,
    /// The place of the item; of a moved one the new place.
    pub place: Option<ValuePlace>,
}

impl NodeProblems {
    pub(super) fn new(node: Text, faults: Vec<Fault>) -> NodeProblems {
        let finding = |fault: Fault| {
            let nodes = fault.node.iter().cloned().collect();
            Finding { fault, level: Level::Error, nodes }
        };
        NodeProblems { node, problems: faults.into_iter().map(finding).collect() }
    }
}

impl Difference {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.touched == 0 && self.schemas_broken.is_empty() && self.schemas_kept.is_empty()
    }
}
