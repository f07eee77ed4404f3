//! Node files: made, changed and taken away by the name of the node.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::cluster::PARAMETERS;
use super::tree::{self, Edited, Options, Tree};
use super::{Action, Change, name};
use crate::catalog;
use crate::error::{Fault, Kind, Result};
use crate::settings::Settings;
use crate::similar;
use crate::storage::fs::display;
use crate::storage::{Found, Listing, walk};
use crate::value::{Map, Text, Value};

/// What a node file is to say.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Content {
    /// Classes: those that it does not list yet come last.
    pub classes: Vec<Text>,
    /// Soft parameters, `parameters:_param`.
    pub parameters: Map,
    /// More entries, by the keys that lead to them.
    pub entries: IndexMap<Vec<Text>, Value>,
}

/// Makes the file of a node in a folder below `nodes_uri`, empty for none. A node that has a file
/// is an error (`node-exists`).
pub fn create(
    settings: &Settings,
    node: &str,
    folder: &str,
    content: &Content,
    options: Options,
) -> Result<Edited> {
    name::node(node)?;
    if !folder.is_empty() {
        name::path("folder", folder)?;
    }
    let changes = changes(settings, content, options)?;
    let root = first_root(settings)?;
    let tree = Tree::open(&root, settings, options)?;
    if let Some((_, _, path)) = find(settings, node)? {
        return Err(Fault::new(Kind::NodeExists { name: node.into(), path: display(&path) }).into());
    }
    let relative = Path::new(folder).join(format!("{node}.yml"));
    if catalog::node_name(&Found::below(&root, &relative), settings) != node {
        // With `compose_node_name`, the folder would become a part of the name.
        let reason = "the node would have another name there (compose_node_name)";
        return Err(Fault::new(Kind::PathRefused { path: display(&relative), reason }).into());
    }
    tree.edit(&relative, &changes, true)
}

/// Changes the file of a node: adds classes, gives parameters their values.
pub fn update(settings: &Settings, node: &str, content: &Content, options: Options) -> Result<Edited> {
    name::node(node)?;
    let changes = changes(settings, content, options)?;
    let (tree, relative) = locked(settings, node, options)?;
    tree.change(&relative, &changes)
}

/// Takes the file of a node away.
pub fn delete(settings: &Settings, node: &str, options: Options) -> Result<Edited> {
    name::node(node)?;
    let (tree, relative) = locked(settings, node, options)?;
    tree.remove(&relative)
}

/// How often a node may move from one folder of nodes to another one while its file is looked for.
const ATTEMPTS: usize = 10;

/// The tree of a node under its lock, and the path of the file in it. Somebody may have moved it, or
/// taken it away, before the lock was ours: it is looked for again.
fn locked(settings: &Settings, node: &str, options: Options) -> Result<(Tree, PathBuf)> {
    let (mut root, _, mut path) = existing(settings, node)?;
    for _ in 0..ATTEMPTS {
        let tree = Tree::open(&root, settings, options)?;
        let now = existing(settings, node)?;
        if now.0 == root {
            return Ok((tree, now.1));
        }
        (root, _, path) = now;
    }
    let message = "it moves while it is edited".into();
    Err(Fault::new(Kind::FileUnwritable { path: display(&path), message }).into())
}

fn changes(settings: &Settings, content: &Content, options: Options) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    for class in &content.classes {
        name::class(class, options.interpolate)?;
    }
    if !content.classes.is_empty() {
        let classes = content.classes.iter().cloned().map(Value::Str).collect();
        changes.push(Change::new(&["classes"], Action::Append(classes)));
    }
    for (key, value) in &content.parameters {
        let key = crate::pystr::str(&key.0);
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

fn listings(settings: &Settings) -> Result<Vec<(PathBuf, Listing)>> {
    let roots = tree::roots(settings, &settings.nodes_uri, "nodes_uri")?;
    let limits = settings.tree_limits();
    roots
        .into_iter()
        .map(|root| Ok((root.clone(), walk::list(std::slice::from_ref(&root), limits, 1)?)))
        .collect()
}

fn first_root(settings: &Settings) -> Result<PathBuf> {
    let roots = tree::roots(settings, &settings.nodes_uri, "nodes_uri")?;
    Ok(roots.into_iter().next().unwrap_or_default())
}

/// The root of a node, its path below it, and its path.
fn find(settings: &Settings, node: &str) -> Result<Option<(PathBuf, PathBuf, PathBuf)>> {
    for (root, listing) in listings(settings)? {
        let names = catalog::unambiguous(catalog::nodes(listing, settings))?;
        if let Some(item) = names.get(node) {
            let path = item.path().to_path_buf();
            let relative = path.strip_prefix(&root).unwrap_or(&path).to_owned();
            return Ok(Some((root, relative, path)));
        }
    }
    Ok(None)
}

fn existing(settings: &Settings, node: &str) -> Result<(PathBuf, PathBuf, PathBuf)> {
    if let Some(found) = find(settings, node)? {
        return Ok(found);
    }
    let names: Vec<Text> = list_names(settings)?;
    let similar = similar::nearest(node, names.iter().map(|name| &**name)).map(str::to_owned);
    let folder = display(&first_root(settings)?);
    Err(Fault::new(Kind::NodeNotFound { name: node.into(), folder, similar }).into())
}

fn list_names(settings: &Settings) -> Result<Vec<Text>> {
    let mut names = Vec::new();
    for (_, listing) in listings(settings)? {
        names.extend(catalog::unambiguous(catalog::nodes(listing, settings))?.keys().cloned());
    }
    Ok(names)
}
