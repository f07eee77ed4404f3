//! A program as data: its modes and the function that answers. A session is what this function gets.

use std::collections::BTreeSet;
use std::sync::Arc;

use clap::{ArgMatches, Command};
use reclass::error::{Error, Fault, Result};
use reclass::parts::engine::NodeRequest;
use reclass::report::{Level, grouped};
use reclass::value::{Map, Value};
use reclass::{Inventory, NodeInfo};
use reclass_serve::Served;

use crate::configuration::Configuration;
use crate::manual_page::Manual;
use crate::{flags, terminal};

/// The description of a program, and its function.
pub struct Program {
    pub name: &'static str,
    /// Its examples and documentation.
    pub manual: Manual,
    /// Its own options and modes, beside the shared ones. The defaults are for the help.
    pub command: fn(Command, &Map) -> Command,
    /// The names of its modes.
    pub modes: &'static [&'static str],
    /// Whether it has verbs and tools beside its modes.
    pub verbs: bool,
    /// Its own defaults for a program in this folder. The configuration file overrides them.
    pub defaults: fn(&str) -> Map,
    /// Computes the answer; `None` if there is nothing to print.
    pub answer: fn(&Session<'_>) -> Result<Option<Value>>,
}

/// One checked command line with its inventory.
pub struct Session<'a> {
    /// The parsed command line.
    pub matches: &'a ArgMatches,
    /// The mode and its node.
    pub mode: (&'static str, Option<&'a str>),
    pub served: Served,
    /// The configuration file, which holds the class mappings.
    pub configuration: &'a Configuration,
    /// The time in the form of Python's `time.strftime('%c')`.
    pub timestamp: String,
}

impl Session<'_> {
    /// All nodes, sorted by name; prints their warnings. If a node fails, the error contains the faults of
    /// all nodes.
    pub fn all_nodes(&self) -> Result<Vec<Arc<NodeInfo>>> {
        let inventory = self.served.of_most()?;
        let nodes = inventory.inventory().map_err(|error| everything_wrong(&inventory, error))?;
        self.warn(nodes.iter().map(Arc::as_ref));
        Ok(nodes)
    }

    /// One node in the state that it gets. If that is not the newest, a hint says so, and also with an error.
    pub fn node(&self, name: &str) -> Result<Arc<NodeInfo>> {
        let info = self.served.of(name)?.nodeinfo(name, &flags::request(self.matches));
        terminal::hint_of_older(&self.served, name);
        let info = info?;
        self.warn([info.as_ref()]);
        Ok(info)
    }

    /// Prints the warnings of nodes, each once: every node that includes a class has the warnings of the
    /// class.
    pub fn warn<'n>(&self, nodes: impl IntoIterator<Item = &'n NodeInfo>) {
        let mut seen = BTreeSet::new();
        for warning in nodes.into_iter().flat_map(|node| &node.warnings) {
            let warning = self.configuration.placed(warning.clone());
            let place = warning.site.as_ref().map(ToString::to_string);
            if seen.insert((place, warning.kind.to_string())) {
                terminal::warn(&warning);
            }
        }
    }
}

/// A copy of the mapping under a key of a mapping.
pub fn entries(map: &Value, key: &str) -> Map {
    map.as_map().and_then(|map| map.get(key)).and_then(Value::as_map).cloned().unwrap_or_default()
}

/// The faults of all nodes, each once, after the first one has stopped the inventory.
fn everything_wrong(inventory: &Inventory, first: Error) -> Error {
    if !inventory.settings().group_errors {
        return first;
    }
    let findings = inventory.inspect(|computation| {
        let names = computation.catalog.nodes.keys();
        let failed = names.filter_map(|name| computation.answer(NodeRequest::plain(name)).err());
        let clashes = computation.clashes();
        let faults = clashes.into_iter().chain(failed.flat_map(Error::into_faults));
        grouped(faults.map(|fault| (Level::Error, fault)))
    });
    let Ok(findings) = findings else { return first };
    let mut faults: Vec<Fault> = findings.into_iter().map(|finding| finding.fault).collect();
    // The exit code is that of the first node that fails.
    let same = |one: &Fault, other: &Fault| (one.code(), &one.site) == (other.code(), &other.site);
    let is_first = |fault: &Fault| {
        // A failed query is reported with its causes.
        let of_first = std::iter::once(first.first()).chain(&first.first().causes);
        of_first.into_iter().any(|cause| same(fault, cause))
    };
    match faults.iter().position(is_first) {
        Some(at) => {
            faults[..=at].rotate_right(1);
            Error::new(faults)
        }
        None => first,
    }
}
