//! Compares two states of an inventory, to show the effect of a change. All nodes are rendered on both sides.
//! Each difference is reported once, with all its nodes.

mod groups;
mod items;
mod nodes;
mod side;
mod text;
mod values;

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

use groups::{Group, Groups, together};
use items::ListItem;
use nodes::Node;
use side::place;
pub use side::{OwnOptions, SettingsFile, Side};
pub use text::{NAMED, summary, text};
use values::NodeChange;
pub use values::Section;

/// All that differs, as `--output json` and Python get it. `docs/diff.md` describes it.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Difference {
    /// What the first side is called.
    pub old: String,
    /// What the second side is called.
    pub new: String,
    /// Whether the settings files in the base folders differ.
    pub settings_differ: bool,
    /// Whether each state is rendered with the settings of its own.
    #[serde(skip)]
    pub own_settings: bool,
    /// How many nodes there are on either side.
    pub nodes: usize,
    /// In how many of them anything differs.
    pub touched: usize,
    /// Nodes of the second side alone.
    pub added: Vec<Text>,
    /// Those of them that do not render.
    pub unrendered: Vec<NodeProblems>,
    /// Nodes of the first side alone.
    pub removed: Vec<Text>,
    /// Nodes that render on the first side only, with their problems on the second.
    pub broken: Vec<NodeProblems>,
    /// Nodes that render on the second side only, with their problems on the first.
    pub mended: Vec<NodeProblems>,
    /// Nodes that render on neither side, with other problems than before: those of the second.
    pub otherwise: Vec<NodeProblems>,
    /// Nodes that render on neither side, with the same problems: they are not compared.
    #[serde(skip)]
    pub failing: Vec<Text>,
    /// Changes of values, in the order in which they were met.
    pub changes: Vec<ValueChange>,
}

/// A node that does not render on one side.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct NodeProblems {
    /// Its name.
    pub node: Text,
    /// Why.
    pub problems: Vec<Finding>,
}

/// What happens to a value or an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Only the new side has it.
    Added,
    /// Only the old side has it.
    Removed,
    /// Both sides have it. `null` is a value too.
    Changed,
}

/// A change, with all nodes that have it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ValueChange {
    /// The part of the nodes.
    pub section: Section,
    /// The path in it; `*` stands for an index of a list that is not the same in all of the nodes.
    pub path: String,
    /// What happens.
    pub kind: ChangeKind,
    /// The old value, secrets masked; of a list, that of the first of the nodes.
    pub old: Option<Value>,
    /// The new value.
    pub new: Option<Value>,
    /// Where the old value stands, in the first of the nodes.
    pub old_place: Option<ValuePlace>,
    /// Where the new value stands, in the first of the nodes.
    pub new_place: Option<ValuePlace>,
    /// Where both values are lists, what all of the nodes lose and gain.
    pub items: Option<Vec<ItemChange>>,
    /// Whether old and new are those of the first of the nodes, and others have others.
    pub differs_by_node: bool,
    /// The nodes, sorted.
    pub nodes: Vec<Text>,
}

/// An item that a list loses or gains.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ItemChange {
    /// `added` or `removed`.
    pub kind: ChangeKind,
    /// The item, secrets masked.
    pub value: Value,
    /// Where it stands.
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
    fn take(&mut self, nodes: Vec<(Text, Node)>) -> Vec<Group> {
        self.nodes = nodes.len();
        let mut groups = Groups::default();
        for (name, node) in nodes {
            self.touched += usize::from(!matches!(node, Node::Same | Node::Failing));
            match node {
                Node::Same => {}
                Node::Failing => self.failing.push(name),
                Node::Added(faults) => {
                    self.added.push(name.clone());
                    if !faults.is_empty() {
                        self.unrendered.push(NodeProblems::new(name, faults));
                    }
                }
                Node::Removed => self.removed.push(name),
                Node::Broken(faults) => self.broken.push(NodeProblems::new(name, faults)),
                Node::Mended(faults) => self.mended.push(NodeProblems::new(name, faults)),
                Node::Otherwise(faults) => self.otherwise.push(NodeProblems::new(name, faults)),
                Node::Changed(changes) => groups.take(&name, changes),
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
            place(&mut groups, before, &redaction, true);
            place(&mut groups, now, &redaction, false);
            let groups = together(groups).into_iter();
            difference.changes = groups.map(|group| group.into_change(&redaction, &delimiter)).collect();
            Ok::<_, Error>(difference)
        })
    })??
}
