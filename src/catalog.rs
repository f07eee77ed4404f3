//! The catalog turns the listings of two trees into names: which node and which class is
//! which file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::error::{Fault, Kind, Result};
use crate::settings::Settings;
use crate::storage::fs::display;
use crate::storage::{Found, Listing};
use crate::value::Text;

/// What a name stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The name of the node or class.
    pub name: Text,
    /// Its file, absolute.
    pub path: Arc<Path>,
    /// The path below the root without extension, for `class_mappings_match_path`.
    pub pathname: Text,
    /// The keys of the name for automatic parameters: folders and file where names are composed.
    pub parts: Vec<Text>,
    /// Whether the file is an `init.yml`.
    pub init: bool,
}

/// The names of one tree.
pub type Names = IndexMap<Text, Item, FxBuildHasher>;

/// The names of an inventory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Catalog {
    /// Nodes, sorted by name.
    pub nodes: Names,
    /// Classes, sorted by name.
    pub classes: Names,
}

impl Catalog {
    /// Names everything in the listings; one name with two files is an error (S6).
    pub fn build(nodes: &[Listing], classes: &[Listing], settings: &Settings) -> Result<Catalog> {
        Ok(Catalog {
            nodes: names("node", nodes, |found| node(found, settings))?,
            classes: names("class", classes, class)?,
        })
    }
}

fn names(what: &'static str, listings: &[Listing], name: impl Fn(&Found) -> Item) -> Result<Names> {
    let mut names = Names::default();
    for found in listings.iter().flat_map(|listing| &listing.files) {
        let item = name(found);
        if let Some(other) = names.get(&item.name) {
            let kind = Kind::DuplicateDefinition {
                what,
                name: item.name.to_string(),
                first: display(&other.path),
                second: display(&item.path),
            };
            return Err(Fault::new(kind).into());
        }
        names.insert(item.name.clone(), item);
    }
    names.sort_unstable_keys();
    Ok(names)
}

/// A node is named after its file; with `compose_node_name` its folders come first, unless the
/// outermost begins with `_` (S11).
pub fn node(found: &Found, settings: &Settings) -> Item {
    let inside = found.folders.join("/");
    let below = settings.compose_node_name
        && found.folders.first().is_some_and(|outermost| !outermost.starts_with('_'));
    let mut parts: Vec<&str> =
        if below { found.folders.iter().map(String::as_str).collect() } else { Vec::new() };
    parts.push(&found.stem);
    let name = parts.join(".");
    let pathname = match (inside.is_empty(), settings.compose_node_name) {
        (true, true) => found.stem.clone(),
        // The forks say so, and patterns were written for it (S19).
        (true, false) => format!("./{}", found.stem),
        (false, _) => format!("{inside}/{}", found.stem),
    };
    let parts = if settings.compat_flags.split_literal_dots {
        name.split('.').map(Text::from).collect()
    } else {
        parts.into_iter().map(Text::from).collect()
    };
    Item { name: name.into(), path: path(found), pathname: pathname.into(), parts, init: false }
}

/// A class is named after its folders and its file; `init` stands for its folder.
fn class(found: &Found) -> Item {
    let mut parts: Vec<&str> = found.folders.iter().map(String::as_str).collect();
    let init = found.stem == "init" && !parts.is_empty();
    if !init {
        parts.push(&found.stem);
    }
    let name = Text::from(parts.join("."));
    Item { name, path: path(found), pathname: "".into(), parts: Vec::new(), init }
}

fn path(found: &Found) -> Arc<Path> {
    Arc::from(found.path.as_path())
}

/// The folders of nodes and classes must be apart (S15).
pub fn check_roots(nodes: &[PathBuf], classes: &[PathBuf]) -> Result<()> {
    for node in nodes {
        for class in classes {
            if node.starts_with(class) || class.starts_with(node) {
                let kind = Kind::UriOverlap { nodes: display(node), classes: display(class) };
                return Err(Fault::new(kind).into());
            }
        }
    }
    Ok(())
}
