//! The raw data of single files of an inventory, without merging and evaluation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::change::read;
use super::tree;
use reclass::parts::model::{CatalogEntry, NameIndex, catalog};
use reclass::parts::storage::fs::display;
use reclass::parts::storage::{TreeLimits, folders, fs, tree_path};
use reclass_base::error::{Error, Result};
use reclass_base::settings::Settings;
use reclass_base::value::{Text, Value};

/// A class or node file.
#[derive(Clone, PartialEq, Debug)]
pub struct EditSource {
    /// `class` or `node`.
    pub kind: &'static str,
    /// The name of the class or node.
    pub name: Text,
    /// The folder below `classes_uri` or `nodes_uri`, with `/`; empty for the top.
    pub folder: String,
    /// The file.
    pub path: PathBuf,
    /// Its data, or the error of reading it.
    pub data: Result<Value, Error>,
}

/// All classes, then all nodes, each sorted by name; or the file of one node.
///
/// The target of a symbolic link is read if it is in the inventory or in `linked_folders`; otherwise its
/// data is the error `path-refused`. The data of a name with several files is an error, too.
pub fn list(settings: &Settings, node: Option<&str>) -> Result<Vec<EditSource>> {
    let (class_roots, node_roots) = roots(settings)?;
    let limits = TreeLimits::of(settings);
    let nodes = catalog::nodes(folders::list(&node_roots, limits)?, settings);
    let classes = match node {
        Some(_) => NameIndex::default(),
        None => catalog::classes(&folders::list(&class_roots, limits)?),
    };
    let readable = readable(settings, &[&class_roots[..], &node_roots].concat())?;
    let kinds = [("class", class_roots, classes), ("node", node_roots, nodes)];
    let sources = kinds.into_iter().flat_map(|(kind, roots, names)| {
        let readable = &readable;
        let is_wanted = |item: &&Arc<CatalogEntry>| node.is_none_or(|name| *item.name == *name);
        let items: Vec<Arc<CatalogEntry>> = names.values().filter(is_wanted).cloned().collect();
        items.into_iter().map(move |item| {
            let path = item.path().to_path_buf();
            let data = match item.clash() {
                Some(clash) => Err(clash.into()),
                None => data(&path, readable, settings),
            };
            let folder = path
                .parent()
                .and_then(|folder| roots.iter().find_map(|root| folder.strip_prefix(root).ok()).map(display));
            EditSource { kind, name: item.name.clone(), folder: folder.unwrap_or_default(), path, data }
        })
    });
    Ok(sources.collect())
}

/// The folders of the classes and those of the nodes.
pub fn roots(settings: &Settings) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    roots_for(settings, tree::SHOWN)
}

/// The same for edits.
pub(super) fn roots_to_edit(settings: &Settings) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    roots_for(settings, tree::EDITED)
}

fn roots_for(settings: &Settings, operation: &'static str) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let roots = |uri, name| tree::roots(settings, uri, name, operation);
    Ok((roots(&settings.classes_uri, "classes_uri")?, roots(&settings.nodes_uri, "nodes_uri")?))
}

/// The real folders whose files may be read; missing folders are skipped.
fn readable(settings: &Settings, roots: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let linked = settings.linked_folders.iter().cloned().map(Value::Str).collect::<Vec<_>>();
    let linked = match &linked[..] {
        [] => Vec::new(),
        _ => tree::roots(settings, &Value::list(linked), "linked_folders", tree::SHOWN)?,
    };
    Ok(roots.iter().chain(&linked).filter_map(|folder| tree_path::root(folder).ok()).collect())
}

fn data(path: &Path, readable: &[PathBuf], settings: &Settings) -> Result<Value> {
    let (folder, real) = tree_path::found(path, readable)?;
    let (text, _) = fs::read_beneath(folder, &real, settings.max_file_bytes(), settings.settle())?;
    Ok(read(&text, &display(path))?.unwrap_or_default())
}
