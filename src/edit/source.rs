//! Sources: the files of an inventory as they are written, each on its own, without what classes
//! and references make of them.

use std::path::PathBuf;

use super::{read, tree};
use crate::catalog;
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::storage::Listing;
use crate::storage::fs::{self, display};
use crate::value::{Text, Value};

/// A class or node file.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// `class` or `node`.
    pub kind: &'static str,
    /// The name of the class or node.
    pub name: Text,
    /// The folder below `classes_uri` or `nodes_uri`, with `/`; empty for none.
    pub folder: String,
    /// The file.
    pub path: PathBuf,
    /// What it says, or why it cannot be read.
    pub data: Result<Value, Error>,
}

/// All classes, then all nodes, each sorted by name.
pub fn list(settings: &Settings) -> Result<Vec<Source>> {
    let class_roots = tree::roots(settings, &settings.classes_uri, "classes_uri")?;
    let node_roots = tree::roots(settings, &settings.nodes_uri, "nodes_uri")?;
    let listings = |roots: &[PathBuf]| -> Result<Vec<Listing>> {
        roots.iter().map(|root| fs::list(root, settings.limit_files as usize)).collect()
    };
    let nodes = catalog::nodes(&listings(&node_roots)?, settings)?;
    let classes = catalog::classes(&listings(&class_roots)?)?;
    let kinds = [("class", class_roots, classes), ("node", node_roots, nodes)];
    let sources = kinds.into_iter().flat_map(|(kind, roots, names)| {
        names.into_values().map(move |item| {
            let data = fs::read(&item.path, settings.most_bytes())
                .and_then(|(text, _)| read(&text, &display(&item.path)))
                .map(Option::unwrap_or_default);
            let folder = item
                .path
                .parent()
                .and_then(|folder| roots.iter().find_map(|root| folder.strip_prefix(root).ok()).map(display));
            Source {
                kind,
                name: item.name,
                folder: folder.unwrap_or_default(),
                path: item.path.to_path_buf(),
                data,
            }
        })
    });
    Ok(sources.collect())
}
