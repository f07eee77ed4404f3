//! A difference turns two states of an inventory into what a change does: all nodes are rendered on
//! both sides, and only what differs is said, once for all nodes that it is the same in.

mod data;
mod groups;
mod items;
mod nodes;
mod side;
mod text;
mod values;

use crate::analysis::explain::check_nodes;
use crate::base::error::{Error, Fault, Result};
use crate::base::parallel::both;
use crate::base::pattern::Glob;
use crate::base::secrets::Secrets;
use crate::base::value::{Map, Text, Value};
use crate::output::redact::Redaction;

pub use groups::Group;
use groups::{Groups, together};
pub use items::ListItem;
use nodes::Node;
use side::place;
pub use side::{OwnOptions, SettingsFile, Side};
pub use text::{NAMED, summary, text};
pub use values::{Section, ValueChange};

/// All that differs.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// What the sides are called.
    pub names: (String, String),
    /// How many nodes there are on either side.
    pub nodes: usize,
    /// Whether the settings files in the base folders differ.
    pub settings_differ: bool,
    /// Whether each state is rendered with the settings of its own.
    pub own_settings: bool,
    /// Changes of values, in the order in which they were met.
    pub changes: Vec<Group>,
    /// Nodes of the second side alone.
    pub added: Vec<Text>,
    /// Those of them that do not render, with their problems.
    pub unrendered: Vec<(Text, Vec<Fault>)>,
    /// Nodes of the first side alone.
    pub removed: Vec<Text>,
    /// Nodes that render on the first side only, with their problems on the second.
    pub broken: Vec<(Text, Vec<Fault>)>,
    /// Nodes that render on the second side only.
    pub mended: Vec<(Text, Vec<Fault>)>,
    /// Nodes that render on neither side, with other problems than before: those of the second.
    pub otherwise: Vec<(Text, Vec<Fault>)>,
    /// Nodes that render on neither side, with the same problems: they are not compared.
    pub failing: Vec<Text>,
    /// What is masked wherever the difference is shown.
    pub redaction: Redaction,
}

impl Difference {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.broken.is_empty()
            && self.mended.is_empty()
            && self.otherwise.is_empty()
    }

    /// Puts together what is the same in several nodes.
    fn fill(&mut self, nodes: Vec<(Text, Node)>) {
        self.nodes = nodes.len();
        let mut groups = Groups::default();
        for (name, node) in nodes {
            match node {
                Node::Same => {}
                Node::Failing => self.failing.push(name),
                Node::Added(faults) => {
                    self.added.push(name.clone());
                    if !faults.is_empty() {
                        self.unrendered.push((name, faults));
                    }
                }
                Node::Removed => self.removed.push(name),
                Node::Broken(faults) => self.broken.push((name, faults)),
                Node::Mended(faults) => self.mended.push((name, faults)),
                Node::Otherwise(faults) => self.otherwise.push((name, faults)),
                Node::Changed(changes) => groups.take(&name, changes),
            }
        }
        self.changes = groups.finish();
    }

    /// The nodes in which anything differs.
    pub fn touched(&self) -> Vec<&Text> {
        let problems = self.broken.iter().chain(&self.mended).chain(&self.otherwise).map(|(name, _)| name);
        let names = self.changes.iter().flat_map(|group| &group.nodes);
        let mut all: Vec<&Text> = names.chain(&self.added).chain(&self.removed).chain(problems).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn content(side: &Side) -> Option<&[u8]> {
    side.settings_file.as_ref().map(|(_, bytes)| bytes.as_slice())
}

/// Compares two states. A name or glob in `nodes` that finds no node on either side is an error. `names` are revisions, folders, or `.` for the inventory as it stands;
/// `own` makes the options of a state that has settings of its own, where these count.
pub fn diff(
    options: &Map,
    own: Option<&OwnOptions<'_>>,
    names: (&str, &str),
    nodes: &[String],
    show_secrets: bool,
) -> Result<Difference> {
    // Each side takes its files while the other one does.
    let (old, new) = both(|| Side::open(options, names.0, own), || Side::open(options, names.1, own));
    let (old, new) = (old?, new?);
    let mut redaction = Redaction::none();
    if !show_secrets {
        redaction = Redaction::of(new.inventory.settings());
        redaction.secrets = redaction.secrets.and(Secrets::of(old.inventory.settings()));
    }
    let begun = Difference {
        names: (names.0.to_owned(), names.1.to_owned()),
        settings_differ: content(&old) != content(&new),
        own_settings: own.is_some(),
        redaction,
        ..Difference::default()
    };
    let globs: Vec<Glob> = nodes.iter().map(|text| Glob::new(text)).collect();
    old.inventory.inspect(|before| {
        new.inventory.inspect(|now| {
            check_nodes(&[before.catalog, now.catalog], nodes)?;
            let mut difference = begun.clone();
            difference.fill(nodes::nodes(before, now, &globs));
            place(&mut difference.changes, before, &begun.redaction, true);
            place(&mut difference.changes, now, &begun.redaction, false);
            difference.changes = together(difference.changes);
            Ok::<_, Error>(difference)
        })
    })??
}

/// A list of names as data.
fn names(names: &[Text]) -> Value {
    Value::list(names.iter().cloned().map(Value::Str).collect())
}
