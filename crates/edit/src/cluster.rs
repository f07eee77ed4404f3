//! Soft metadata of clusters: the parameters below `parameters:_param` of a class file.
//!
//! The file is `classes/cluster/<cluster>/overrides.yml`, as salt-formula-reclass has it; the settings
//! `cluster_folder` and `cluster_file` name others.

use std::path::{Path, PathBuf};

use super::change::{Action, Change, read};
use super::name;
use super::tree::{self, EditOptions, EditTree, Edited};
use reclass::parts::storage::fs::display;
use reclass::parts::storage::{MissingFolders, tree_path};
use reclass_base::error::Result;
use reclass_base::settings::Settings;
use reclass_base::value::Value;

/// The path of soft parameters in a class file.
pub const PARAMETERS: [&str; 2] = ["parameters", "_param"];

/// The name of a cluster and of a file in it.
#[derive(Clone, Copy, Default, Debug)]
pub struct ClusterFile<'a> {
    /// A folder below `cluster_folder`; empty for that folder itself.
    pub cluster: &'a str,
    /// The name of the file; empty for `cluster_file`.
    pub name: &'a str,
}

/// The path of the file, which may be missing. A missing folder is an error.
pub fn path(settings: &Settings, file: ClusterFile<'_>) -> Result<PathBuf> {
    let (root, relative) = locate(settings, file, tree::SHOWN)?;
    tree_path::file(&tree_path::root(&root)?, &relative, MissingFolders::Refuse)
}

/// The data of the file; null without a file.
pub fn data(settings: &Settings, file: ClusterFile<'_>) -> Result<Value> {
    let (root, relative) = locate(settings, file, tree::SHOWN)?;
    match tree::read_below(settings, &root, &relative)? {
        Some((path, text)) => Ok(read(&text, &display(&path))?.unwrap_or_default()),
        None => Ok(Value::Null),
    }
}

/// Sets a soft parameter.
pub fn set(
    settings: &Settings,
    file: ClusterFile<'_>,
    parameter: &str,
    value: Value,
    options: EditOptions,
) -> Result<Edited> {
    let change = change(parameter, Action::Set(value))?;
    if !options.interpolate {
        change.without_references(settings)?;
    }
    edit(settings, file, &change, options)
}

/// Removes a soft parameter if it exists.
pub fn delete(
    settings: &Settings,
    file: ClusterFile<'_>,
    parameter: &str,
    options: EditOptions,
) -> Result<Edited> {
    edit(settings, file, &change(parameter, Action::Delete)?, options)
}

fn change(parameter: &str, action: Action) -> Result<Change> {
    name::parameter(parameter)?;
    Ok(Change::new(&[PARAMETERS[0], PARAMETERS[1], parameter], action))
}

fn edit(settings: &Settings, file: ClusterFile<'_>, change: &Change, options: EditOptions) -> Result<Edited> {
    let (root, relative) = locate(settings, file, tree::EDITED)?;
    EditTree::open(&root, settings, options)?.edit(&relative, std::slice::from_ref(change), false)
}

/// The root and the path below it: the first folder of `classes_uri` with the file, or the first folder.
fn locate(settings: &Settings, file: ClusterFile<'_>, operation: &'static str) -> Result<(PathBuf, PathBuf)> {
    let relative = relative(settings, file)?;
    let roots = tree::roots(settings, &settings.classes_uri, "classes_uri", operation)?;
    let has_it = |root: &&PathBuf| root.join(&relative).exists();
    let root = roots.iter().find(has_it).or(roots.first()).map_or(Path::new("."), PathBuf::as_path);
    Ok((root.to_owned(), relative))
}

/// The path of the file below a folder of classes.
pub(super) fn relative(settings: &Settings, file: ClusterFile<'_>) -> Result<PathBuf> {
    let file_name = if file.name.is_empty() { &*settings.cluster_file } else { file.name };
    name::path("file", file_name)?;
    name::path("folder", &settings.cluster_folder)?;
    let mut relative = PathBuf::from(&*settings.cluster_folder);
    if !file.cluster.is_empty() {
        name::path("cluster", file.cluster)?;
        relative.push(file.cluster);
    }
    relative.push(file_name);
    Ok(relative)
}
