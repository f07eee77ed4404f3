//! Finds names and globs that match nothing in the inventory. Most likely they are typos.

use super::names::{NameRow, applications, classes};
use super::nodes::{ListedRows, NodeFilter, nodes};
use super::parameters::parameters;
use super::references::references;
use crate::base::error::{Fault, Kind, Result};
use crate::base::pattern::{Glob, is_wild};
use crate::base::pystr;
use crate::base::similar;
use crate::engine::Inventory;
use crate::output::redact::Redaction;

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
            let kind = Kind::NothingMatches { what: what.name(), name: glob.clone(), similar };
            faults.push(Fault::new(kind));
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
                listing.rows.into_iter().map(|row| row.path).collect()
            }
        })
    }
}
