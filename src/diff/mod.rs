//! A difference turns two states of an inventory into what a change does: all nodes are rendered on
//! both sides, and only what differs is said, once for all nodes that it is the same in.

mod data;
mod side;
mod text;
mod values;

use indexmap::IndexMap;

use crate::engine::{Inventory, NodeInfo};
use crate::error::{Fault, Result};
use crate::explain::Place;
use crate::pattern::{Glob, chosen};
use crate::secrets::Secrets;
use crate::value::{Key, Map, Text, Value};

pub use side::Side;
pub use text::{summary, text};
pub use values::{Change, Section};

/// A change, and the nodes that have it.
#[derive(Clone, Debug)]
pub struct Group {
    /// What changes.
    pub change: Change,
    /// Where the old value stands, in the first of the nodes.
    pub old_place: Option<Place>,
    /// Where the new value stands, in the first of the nodes.
    pub new_place: Option<Place>,
    /// The nodes, sorted.
    pub nodes: Vec<Text>,
}

/// All that differs.
#[derive(Clone, Debug, Default)]
pub struct Difference {
    /// What the sides are called.
    pub names: (String, String),
    /// How many nodes there are on either side.
    pub nodes: usize,
    /// Changes of values, in the order in which they were met.
    pub changes: Vec<Group>,
    /// Nodes of the second side alone.
    pub added: Vec<Text>,
    /// Nodes of the first side alone.
    pub removed: Vec<Text>,
    /// Nodes that render on the first side only, with their problems on the second.
    pub broken: Vec<(Text, Vec<Fault>)>,
    /// Nodes that render on the second side only.
    pub mended: Vec<(Text, Vec<Fault>)>,
    /// Nodes that render on neither side, with other problems than before: those of the second.
    pub otherwise: Vec<(Text, Vec<Fault>)>,
    /// What is masked wherever the difference is shown.
    pub secrets: Secrets,
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

/// One side, rendered: every node with its data or its problems.
type Rendered = IndexMap<Text, Result<NodeInfo>>;

/// Compares two states. `names` are revisions, folders, or `.` for the inventory as it stands;
/// `secrets` is what is masked.
pub fn diff(options: &Map, names: (&str, &str), nodes: &[String], show_secrets: bool) -> Result<Difference> {
    // Each side takes its files while the other one does.
    let (old, new) = std::thread::scope(|scope| {
        let old = scope.spawn(|| rendered(options, names.0, nodes));
        let new = rendered(options, names.1, nodes);
        (old.join(), new)
    });
    let internal = |_| {
        let message = "one side of a comparison failed".to_owned();
        crate::error::Error::from(Fault::new(crate::error::Kind::Internal { message }))
    };
    let ((old_side, old), (new_side, new)) = (old.map_err(internal)??, new?);
    let secrets = if show_secrets { Secrets::none() } else { Secrets::of(new_side.inventory.settings()) };
    let mut difference =
        Difference { names: (names.0.to_owned(), names.1.to_owned()), secrets, ..Difference::default() };
    compare(&old, &new, &mut difference);
    for group in &difference.changes {
        for rendered in [&old, &new] {
            if let Some(Ok(info)) = group.nodes.first().and_then(|name| rendered.get(name)) {
                difference.secrets.learn(&info.parameters);
            }
        }
    }
    old_side.place(&mut difference.changes, true)?;
    new_side.place(&mut difference.changes, false)?;
    for (faults, side) in [
        (&mut difference.broken, &new_side),
        (&mut difference.mended, &old_side),
        (&mut difference.otherwise, &new_side),
    ] {
        faults.iter_mut().flat_map(|(_, faults)| faults).for_each(|fault| side.show(fault));
    }
    Ok(difference)
}

fn rendered(options: &Map, name: &str, nodes: &[String]) -> Result<(Side, Rendered)> {
    let side = Side::open(options, name)?;
    let rendered = render(&side.inventory, nodes)?;
    Ok((side, rendered))
}

/// Renders the nodes that globs choose. One that is on the other side alone is found there.
fn render(inventory: &Inventory, nodes: &[String]) -> Result<Rendered> {
    let globs: Vec<Glob> = nodes.iter().map(|text| Glob::new(text)).collect();
    inventory.inspect(|computation| {
        let names = computation.catalog.nodes.keys().filter(|name| chosen(&globs, name));
        names
            .map(|name| {
                let answer = computation.answer(name, None, None, false);
                (name.clone(), answer.map(|answer| answer.info))
            })
            .collect()
    })
}

fn compare(old: &Rendered, new: &Rendered, difference: &mut Difference) {
    let mut groups: IndexMap<(Section, Vec<String>, String), Group> = IndexMap::new();
    let mut names: Vec<&Text> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    difference.nodes = names.len();
    for name in names {
        match (old.get(name), new.get(name)) {
            (None, Some(_)) => difference.added.push(name.clone()),
            (Some(_) | None, None) => difference.removed.push(name.clone()),
            (Some(Ok(_)), Some(Err(error))) => {
                difference.broken.push((name.clone(), error.faults().to_vec()));
            }
            (Some(Err(error)), Some(Ok(_))) => {
                difference.mended.push((name.clone(), error.faults().to_vec()));
            }
            (Some(Err(before)), Some(Err(now))) => {
                let sentences = |error: &crate::error::Error| {
                    error
                        .faults()
                        .iter()
                        .map(|fault| (fault.code(), fault.kind.to_string()))
                        .collect::<Vec<_>>()
                };
                if sentences(before) != sentences(now) {
                    difference.otherwise.push((name.clone(), now.faults().to_vec()));
                }
            }
            (Some(Ok(before)), Some(Ok(now))) => {
                for change in values::changes(before, now) {
                    let group = groups.entry(change.key()).or_insert_with(|| Group {
                        change,
                        old_place: None,
                        new_place: None,
                        nodes: Vec::new(),
                    });
                    group.nodes.push(name.clone());
                }
            }
        }
    }
    difference.changes = groups.into_values().collect();
}

/// The keys of a path as texts.
fn texts(path: &[Key]) -> Vec<String> {
    path.iter().map(|key| crate::pystr::repr(&key.0)).collect()
}

/// A list of names as data.
fn names(names: &[Text]) -> Value {
    Value::list(names.iter().cloned().map(Value::Str).collect())
}
