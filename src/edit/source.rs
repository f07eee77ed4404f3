//! Sources: the files of an inventory as they are written, each on its own, without what classes
//! and references make of them.

use std::path::PathBuf;

use super::{read, tree};
use crate::catalog::{self, Item};
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::storage::fs::{self, display};
use crate::storage::list;
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
    let most = settings.limit_files as usize;
    let nodes = catalog::unambiguous(catalog::nodes(list::list(&node_roots, most)?, settings))?;
    let classes = catalog::unambiguous(catalog::classes(list::list(&class_roots, most)?))?;
    let kinds = [("class", class_roots, classes), ("node", node_roots, nodes)];
    let sources = kinds.into_iter().flat_map(|(kind, roots, names)| {
        let items: Vec<Item> = names.values().cloned().collect();
        items.into_iter().map(move |item| {
            let path = item.path().to_path_buf();
            let data = fs::read(&path, settings.most_bytes())
                .and_then(|(text, _)| read(&text, &display(&path)))
                .map(Option::unwrap_or_default);
            let folder = path
                .parent()
                .and_then(|folder| roots.iter().find_map(|root| folder.strip_prefix(root).ok()).map(display));
            Source { kind, name: item.name, folder: folder.unwrap_or_default(), path, data }
        })
    });
    Ok(sources.collect())
}
