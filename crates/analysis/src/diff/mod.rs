//! Compares two states of an inventory, to show the effect of a change. All nodes are rendered on both sides.
//! Each difference is reported once, with all its nodes.

mod contracts;
mod data;
mod groups;
mod items;
mod nodes;
mod side;
mod text;
mod unchanged;
mod values;

use std::path::Path;

use crate::survey::node_globs;
use reclass::redact::Redaction;
use reclass_base::error::{Error, Result};
use reclass_base::parallel::both;
use reclass_base::secrets::Secrets;
use reclass_base::value::{Map, Text, Value};

pub use data::{ChangeKind, Difference, ItemChange, NodeProblems, ValueChange};
pub(super) use groups::together;
use groups::{Group, Groups};
pub(super) use nodes::NodeDifference;
pub use nodes::Renderer;
pub(super) use side::place;
pub use side::{OwnOptions, SettingsFile, Side};
pub use text::{NAMED, summary, text};
pub(super) use text::{PROGRAMS, blocks, summary_lines};
pub use unchanged::OldInputs;
pub use values::Section;
pub use values::differ;
pub(super) use values::{NodeChange, changes};

/// The branches and tags of the repository around a folder, those with the latest commits first. They are
/// names of states, as revisions are; without a repository there are none.
pub fn revisions(folder: &Path) -> Vec<String> {
    reclass::parts::storage::git::revision::names(folder)
}

impl Difference {
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
    let (old, new) = sides(options, own, names, "diff")?;
    between(&old, &new, names, nodes, show_secrets, own.is_some())
}

/// Opens two states for this command. Both read their files at the same time.
pub(super) fn sides(
    options: &Map,
    own: Option<&OwnOptions<'_>>,
    names: (&str, &str),
    command: &str,
) -> Result<(Side, Side)> {
    let (old, new) = both(|| Side::open(options, names.0, own), || Side::open(options, names.1, own));
    let explained = |error| side::explained(error, options, names.0, command);
    Ok((old.map_err(explained)?, new.map_err(explained)?))
}

/// The difference of two open sides.
pub(super) fn between(
    old: &Side,
    new: &Side,
    names: (&str, &str),
    nodes: &[String],
    show_secrets: bool,
    own_settings: bool,
) -> Result<Difference> {
    let settings = new.inventory.settings();
    let mut redaction = Redaction::none();
    if !show_secrets {
        redaction = Redaction::of(settings);
        redaction.secrets = redaction.secrets.and(Secrets::of(old.inventory.settings()));
    }
    let begun = Difference {
        old: names.0.to_owned(),
        new: names.1.to_owned(),
        settings_differ: content(old) != content(new),
        own_settings,
        ..Difference::default()
    };
    old.inventory.inspect(|before| {
        new.inventory.inspect(|now| {
            let globs = node_globs(|| before.catalog.nodes.keys().chain(now.catalog.nodes.keys()), nodes)?;
            let mut difference = begun.clone();
            let schemas = contracts::schemas(before, now);
            let (nodes, verdicts) = nodes::nodes(before, now, &globs, &schemas);
            let mut groups = difference.take(nodes);
            contracts::add(&mut difference, &schemas, [before, now], &verdicts);
            place(&mut groups, before, &redaction, true, &Value::clone);
            place(&mut groups, now, &redaction, false, &Value::clone);
            let groups = together(groups, false).into_iter();
            let change = |group: Group| group.into_change(&redaction, &settings.delimiter);
            difference.changes = groups.map(change).collect();
            Ok::<_, Error>(difference)
        })
    })??
}
