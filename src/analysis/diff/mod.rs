//! Compares two states of an inventory, to show the effect of a change. All nodes are rendered on both sides.
//! Each difference is reported once, with all its nodes.

mod groups;
mod items;
mod nodes;
mod side;
mod text;
mod values;

use std::path::Path;

use serde::Serialize;

use crate::analysis::explain::{ValuePlace, check_nodes};
use crate::base::error::{Error, Fault, Result};
use crate::base::parallel::both;
use crate::base::pattern::Glob;
use crate::base::secrets::Secrets;
use crate::base::settings::Settings;
use crate::base::value::{Map, Text, Value};
use crate::output::redact::Redaction;
use crate::output::report::{Finding, Level};

pub(super) use groups::together;
use groups::{Group, Groups};
use items::ListItem;
pub(super) use nodes::{NodeDifference, Renderer};
pub(super) use side::place;
pub use side::{OwnOptions, SettingsFile, Side};
pub use text::{NAMED, summary, text};
pub(super) use text::{PROGRAMS, blocks, count, summary_lines};
pub use values::Section;
pub(super) use values::{NodeChange, changes};

/// The branches and tags of the repository around a folder, those with the latest commits first. They are
/// names of states, as revisions are; without a repository there are none.
pub fn revisions(folder: &Path) -> Vec<String> {
    crate::storage::git::revision::names(folder)
}

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
    /// The removed and added items, if both values are lists. They are the same in all nodes.
    pub items: Option<Vec<ItemChange>>,
    /// Whether the values of the other nodes differ from `old` and `new`.
    pub differs_by_node: bool,
    /// The nodes, sorted.
    pub nodes: Vec<Text>,
}

/// A removed or added item of a list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ItemChange {
    /// `added` or `removed`.
    pub kind: ChangeKind,
    /// The item, secrets masked.
    pub value: Value,
    /// The place of the item.
    pub place: Option<ValuePlace>,
}

impl NodeProblems {
    fn new(node: Text, faults: Vec<Fault>) -> NodeProblems {
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
        self.touched == 0
    }

    /// Sorts the nodes by their kind of difference. Returns the changes of values.
    pub(super) fn take(&mut self, nodes: Vec<(Text, NodeDifference)>) -> Vec<Group> {
        self.nodes = nodes.len();
        let mut groups = Groups::default();
        for (name, node) in nodes {
            self.touched += usize::from(!matches!(node, NodeDifference::Same | NodeDifference::Failing));
            match node {
                NodeDifference::Same => {}
                NodeDifference::Failing => self.failing.push(name),
                NodeDifference::Added(faults) => {
                    self.added.push(name.clone());
                    if !faults.is_empty() {
                        self.unrendered.push(NodeProblems::new(name, faults));
                    }
                }
                NodeDifference::Removed => self.removed.push(name),
                NodeDifference::Broken(faults) => self.broken.push(NodeProblems::new(name, faults)),
                NodeDifference::Mended(faults) => self.mended.push(NodeProblems::new(name, faults)),
                NodeDifference::Otherwise(faults) => self.otherwise.push(NodeProblems::new(name, faults)),
                NodeDifference::Changed(changes) => groups.take(&name, changes),
            }
        }
        groups.finish()
    }
}

fn content(side: &Side) -> Option<&[u8]> {
    side.settings_file.as_ref().map(|(_, bytes)| bytes.as_slice())
}

/// Compares two states. A name or glob in `nodes` without a node on either side is an error. `names` are
/// revisions, folders, or `.` for the current inventory. If a state uses its own settings, `own` builds its
/// options.
pub fn diff(
    options: &Map,
    own: Option<&OwnOptions<'_>>,
    names: (&str, &str),
    nodes: &[String],
    show_secrets: bool,
) -> Result<Difference> {
    // Both sides read their files at the same time.
    let (old, new) = both(|| Side::open(options, names.0, own), || Side::open(options, names.1, own));
    let (old, new) = (old?, new?);
    let mut redaction = Redaction::none();
    if !show_secrets {
        redaction = Redaction::of(new.inventory.settings());
        redaction.secrets = redaction.secrets.and(Secrets::of(old.inventory.settings()));
    }
    let begun = Difference {
        old: names.0.to_owned(),
        new: names.1.to_owned(),
        settings_differ: content(&old) != content(&new),
        own_settings: own.is_some(),
        ..Difference::default()
    };
    let delimiter = Settings::from_options(options)?.0.delimiter;
    let globs: Vec<Glob> = nodes.iter().map(|text| Glob::new(text)).collect();
    old.inventory.inspect(|before| {
        new.inventory.inspect(|now| {
            check_nodes(&[before.catalog, now.catalog], nodes)?;
            let mut difference = begun.clone();
            let mut groups = difference.take(nodes::nodes(before, now, &globs));
            place(&mut groups, before, &redaction, true, &Value::clone);
            place(&mut groups, now, &redaction, false, &Value::clone);
            let groups = together(groups, false).into_iter();
            difference.changes = groups.map(|group| group.into_change(&redaction, &delimiter)).collect();
            Ok::<_, Error>(difference)
        })
    })??
}
