//! Creates, changes and deletes node files by the name of the node.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::change::{Action, Change};
use super::cluster::PARAMETERS;
use super::name;
use super::tree::{self, EditOptions, EditTree, Edited};
use reclass::parts::model::{NameIndex, catalog};
use reclass::parts::storage::fs::display;
use reclass::parts::storage::{FoundFile, TreeLimits, folders};
use reclass_analysis::errors::NODE_EXISTS;
use reclass_base::error::{Fault, Kind, Result};
use reclass_base::settings::Settings;
use reclass_base::similar::no_node;
use reclass_base::value::{Map, Text, Value};

/// The content for a node file.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct NodeContent {
    /// Classes; new ones are appended.
    pub classes: Vec<Text>,
    /// Soft parameters, `parameters:_param`.
    pub parameters: Map,
    /// More entries, by their keys.
    pub entries: IndexMap<Vec<Text>, Value>,
}

/// Creates the file of a node in a folder below `nodes_uri`; an empty folder means `nodes_uri` itself.
///
/// An existing node is an error (`node-exists`), except if another process has just created it with the
/// same content.
pub fn create(
    settings: &Settings,
    node: &str,
    folder: &str,
    content: &NodeContent,
    options: EditOptions,
) -> Result<Edited> {
    name::node(node)?;
    if !folder.is_empty() {
        name::path("folder", folder)?;
    }
    let mut changes = changes(settings, content, options)?;
    if changes.is_empty() {
        // An empty file would be a warning.
        changes.push(Change::new(&["classes"], Action::Set(Value::list(Vec::new()))));
    }
    let exists = |path: &Path| {
        NODE_EXISTS.fault(format!("node '{node}' exists already, in '{}'", display(path)), None)
    };
    let root = first_root(settings)?;
    if let Some(path) = find(&names(settings)?, node)? {
        return Err(exists(&path).into());
    }
    let tree = EditTree::open(&root, settings, options)?;
    if find(&names(settings)?, node)?.is_some() {
        let (root, relative, path) = existing(settings, node)?;
        let as_test = EditOptions { test: true, ..options };
        let edited = EditTree::open(&root, settings, as_test)?.change(&relative, &changes)?;
        return if edited.changed() { Err(exists(&path).into()) } else { Ok(edited) };
    }
    let relative = Path::new(folder).join(format!("{node}.yml"));
    if catalog::node_name(&FoundFile::below(&root, &relative), settings) != node {
        // With `compose_node_name`, the folder is part of the name.
        let reason = "the node would have another name there (compose_node_name)";
        return Err(Fault::new(Kind::PathRefused { path: display(&relative), reason }).into());
    }
    tree.edit(&relative, &changes, true)
}

/// Changes the file of a node: adds classes, sets parameters.
pub fn update(
    settings: &Settings,
    node: &str,
    content: &NodeContent,
    options: EditOptions,
) -> Result<Edited> {
    name::node(node)?;
    let changes = changes(settings, content, options)?;
    let (tree, relative) = locked(settings, node, options)?;
    tree.change(&relative, &changes)
}

/// Deletes the file of a node. It is no error if another process deletes it meanwhile.
pub fn delete(settings: &Settings, node: &str, options: EditOptions) -> Result<Edited> {
    name::node(node)?;
    let (_, _, path) = existing(settings, node)?;
    match locked(settings, node, options).and_then(|(tree, relative)| tree.remove(&relative)) {
        Err(error) if matches!(error.first().kind, Kind::NodeNotFound { .. }) => {
            Ok(Edited { path, before: None, after: None, warning: None, effect: None })
        }
        removed => removed,
    }
}

/// Maximum number of attempts to lock a node that moves between folders.
const ATTEMPTS: usize = 10;

/// The locked tree of a node, and the path of its file. Another process may move or delete the file
/// before the lock is acquired, so it is located again.
fn locked<'s>(settings: &'s Settings, node: &str, options: EditOptions) -> Result<(EditTree<'s>, PathBuf)> {
    let (mut root, _, mut path) = existing(settings, node)?;
    for _ in 0..ATTEMPTS {
        let tree = EditTree::open(&root, settings, options)?;
        let now = existing(settings, node)?;
        if now.0 == root {
            return Ok((tree, now.1));
        }
        (root, _, path) = now;
    }
    let message = "it moves while it is edited".into();
    Err(Fault::new(Kind::FileUnwritable { path: display(&path), message }).into())
}

fn changes(settings: &Settings, content: &NodeContent, options: EditOptions) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for class in &content.classes {
        name::class(class, options.interpolate)?;
    }
    if !content.classes.is_empty() {
        let classes = content.classes.iter().cloned().map(Value::Str).collect();
        changes.push(Change::new(&["classes"], Action::Append(classes)));
    }
    for (key, value) in &content.parameters {
        let key = reclass_base::pystr::str(&key.0);
        name::parameter(&key)?;
        changes.push(Change::new(&[PARAMETERS[0], PARAMETERS[1], &key], Action::Set(value.clone())));
    }
    for (keys, value) in &content.entries {
        changes.push(Change { keys: keys.clone(), action: Action::Set(value.clone()) });
    }
    if !options.interpolate {
        changes.iter().try_for_each(|change| change.without_references(settings))?;
    }
    Ok(changes)
}

fn roots(settings: &Settings) -> Result<Vec<PathBuf>> {
    tree::roots(settings, &settings.nodes_uri, "nodes_uri", tree::EDITED)
}

fn first_root(settings: &Settings) -> Result<PathBuf> {
    Ok(roots(settings)?.into_iter().next().unwrap_or_default())
}

/// The names of all nodes.
fn names(settings: &Settings) -> Result<NameIndex> {
    Ok(catalog::nodes(folders::list(&roots(settings)?, TreeLimits::of(settings))?, settings))
}

/// The path of a node. A name of several files is an error.
fn find(names: &NameIndex, node: &str) -> Result<Option<PathBuf>> {
    match names.get(node) {
        Some(item) => {
            item.clash().map_or_else(|| Ok(Some(item.path().to_path_buf())), |clash| Err(clash.into()))
        }
        None => Ok(None),
    }
}

/// The root of a node, its path below it, and its path.
fn existing(settings: &Settings, node: &str) -> Result<(PathBuf, PathBuf, PathBuf)> {
    let names = names(settings)?;
    let Some(path) = find(&names, node)? else {
        let folder = display(&first_root(settings)?);
        return Err(Fault::new(no_node(node, folder, names.keys().map(|name| &**name))).into());
    };
    let root = roots(settings)?.into_iter().find(|root| path.starts_with(root)).unwrap_or_default();
    let relative = path.strip_prefix(&root).unwrap_or(&path).to_owned();
    Ok((root, relative, path))
}
