//! Finds names and globs that match nothing in the inventory. Most likely they are typos.

use super::names::{NameRow, applications, classes};
use super::nodes::{ListedRows, NodeFilter, nodes};
use super::parameters::parameters;
use super::references::references;
use reclass::Inventory;
use reclass::redact::Redaction;
use reclass_base::error::{Fault, Kind, Result, article};
use reclass_base::pattern::{Glob, is_wild};
use reclass_base::pystr;
use reclass_base::similar;

/// The kind of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A node.
    Node,
    /// A class.
    Class,
    /// An application.
    Application,
    /// An environment.
    Environment,
    /// The path of a parameter.
    Parameter,
    /// The path of a parameter, or a path that a reference names.
    Reference,
}

/// The names and globs that match nothing. A name comes with a similar one.
pub fn unmatched<'g>(
    inventory: &Inventory,
    asked: impl IntoIterator<Item = (What, &'g [String])>,
) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for (what, globs) in asked {
        let mut known = None;
        for glob in globs {
            if what.has(inventory, glob)? {
                continue;
            }
            if is_wild(glob) {
                let kind = Kind::NothingMatches { what: what.name(), name: glob.clone(), similar: None };
                faults.push(Fault::new(kind));
                continue;
            }
            let known = match &mut known {
                Some(known) => known,
                none => none.insert(what.known(inventory)?),
            };
            let similar = what.similar(glob, known.iter().map(String::as_str)).map(str::to_owned);
            let elsewhere = if similar.is_none() { what.elsewhere(inventory, glob)? } else { None };
            let kind = Kind::NothingMatches { what: what.name(), name: glob.clone(), similar };
            let fault = Fault::new(kind);
            faults.push(match elsewhere {
                Some(text) => fault.note(text, None),
                None => fault,
            });
        }
    }
    Ok(faults)
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Node => "node",
            What::Class => "class",
            What::Application => "application",
            What::Environment => "environment",
            What::Parameter | What::Reference => "parameter",
        }
    }

    /// The existing name that is meant.
    fn similar<'a>(self, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
        match self {
            What::Node => similar::node(name, known),
            What::Class => similar::class(name, known),
            What::Parameter | What::Reference => similar::path(name, known),
            What::Application | What::Environment => similar::nearest(name, known),
        }
    }

    /// The thing of another kind that has this name, as a sentence. A node may be named by its host alone.
    fn elsewhere(self, inventory: &Inventory, name: &str) -> Result<Option<String>> {
        for other in [What::Node, What::Class, What::Application].into_iter().filter(|other| *other != self) {
            let known = other.known(inventory)?;
            let is_host = |known: &&String| other == What::Node && known.split('.').next() == Some(name);
            if let Some(found) =
                known.iter().find(|known| *known == name).or_else(|| known.iter().find(is_host))
            {
                return Ok(Some(format!("'{found}' is {}", article(other.name()))));
            }
        }
        Ok(None)
    }

    /// Whether anything matches in the whole inventory, without the node filter.
    fn has(self, inventory: &Inventory, glob: &str) -> Result<bool> {
        let (globs, all) = ([glob.to_owned()], NodeFilter::default());
        Ok(match self {
            What::Node | What::Environment => {
                let glob = Glob::new(glob);
                self.known(inventory)?.iter().any(|name| glob.matches(name))
            }
            What::Class => !classes(inventory, &globs, &all, false)?.rows.is_empty(),
            What::Application => !applications(inventory, &globs, &all)?.rows.is_empty(),
            What::Parameter => {
                !parameters(inventory, &globs, &all, &Redaction::none())?.rows.is_empty()
                    // References bring in paths that no file sets.
                    || !nodes(inventory, &NodeFilter { parameters: globs.to_vec(), ..all })?.rows.is_empty()
            }
            What::Reference => {
                !references(inventory, &globs, &all)?.rows.is_empty()
                    || What::Parameter.has(inventory, glob)?
            }
        })
    }

    /// The existing names.
    fn known(self, inventory: &Inventory) -> Result<Vec<String>> {
        let all = NodeFilter::default();
        let named =
            |listing: ListedRows<NameRow>| listing.rows.into_iter().map(|row| row.name.to_string()).collect();
        Ok(match self {
            What::Node => inventory.nodes()?.iter().map(ToString::to_string).collect(),
            What::Class => named(classes(inventory, &[], &all, false)?),
            What::Application => named(applications(inventory, &[], &all)?),
            What::Environment => {
                nodes(inventory, &all)?.rows.iter().map(|row| pystr::str(&row.environment)).collect()
            }
            What::Parameter | What::Reference => {
                let listing = parameters(inventory, &[], &all, &Redaction::none())?;
                let delimiter = &*inventory.settings().delimiter;
                // Also the mappings on the way, which have no rows.
                let ways = listing.rows.iter().flat_map(|row| {
                    let ends = row.path.match_indices(delimiter).map(|(end, _)| end);
                    ends.chain([row.path.len()]).map(|end| row.path[..end].to_owned())
                });
                ways.collect()
            }
        })
    }
}
