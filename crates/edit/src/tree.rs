//! Applies changes to one file of a tree atomically: locks the tree, reads, changes, looks at the nodes that change,
//! and writes the file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::apply_all;
use super::change::{Change, read};
use super::repair::{FileRepairs, RepairedFile};
use super::source;
use crate::effect::{EditEffect, Touched, effect};
use reclass::parts::model::Prefixes;
use reclass::parts::model::catalog::{class_name, node_name};
use reclass::parts::storage::fs::display;
use reclass::parts::storage::{
    DiskFingerprint, FoundFile, MissingFolders, OverlaidInput, Overlay, TreeLock, fs, tree_path,
};
use reclass_analysis::errors::EDIT_BREAKS;
use reclass_base::error::{Fault, Kind, Result};
use reclass_base::settings::Settings;
use reclass_base::value::Value;

/// How to edit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EditOptions {
    /// Only report the result; write nothing.
    pub test: bool,
    /// Allow references and queries in values.
    pub interpolate: bool,
    /// Make the edit even if it breaks nodes.
    pub force: bool,
}

/// The result of an edit.
#[derive(Clone, PartialEq, Debug)]
pub struct Edited {
    /// The file.
    pub path: PathBuf,
    /// Its text before; `None` without a file.
    pub before: Option<Vec<u8>>,
    /// Its text after; `None` without a file.
    pub after: Option<Vec<u8>>,
    /// A warning about the edit, on one line.
    pub warning: Option<String>,
    /// What it does to the nodes; `None` if nothing changes, or if the inventory gives no answer anyway.
    pub effect: Option<EditEffect>,
}

impl Edited {
    /// True if the text changed.
    pub fn changed(&self) -> bool {
        self.before != self.after
    }

    /// The data before.
    pub fn data_before(&self) -> Result<Value> {
        data(self.before.as_deref(), &self.path)
    }

    /// The data after.
    pub fn data_after(&self) -> Result<Value> {
        data(self.after.as_deref(), &self.path)
    }
}

/// The fault of a file that others write all the time.
fn changing(path: &Path) -> Fault {
    let message = "it changes while it is edited".into();
    Fault::new(Kind::FileUnwritable { path: display(path), message })
}

/// The data of a text; null without a file and for an empty file.
fn data(text: Option<&[u8]>, path: &Path) -> Result<Value> {
    Ok(text.map(|text| read(text, &display(path))).transpose()?.flatten().unwrap_or_default())
}

/// The most broken nodes whose errors a refusal names.
const MOST_BROKEN: usize = 5;

/// What an edit does to the nodes. It is an error (`edit-breaks`) if a node breaks, unless it is forced.
pub(super) fn look(
    settings: &Settings,
    overlay: &Overlay,
    touched: Touched<'_>,
    options: EditOptions,
) -> Result<Option<EditEffect>> {
    let effect = effect(settings, overlay, touched)?;
    if let Some(broken) = effect.as_ref().map(|effect| &effect.broken).filter(|broken| !broken.is_empty())
        && !options.force
    {
        let nodes = if broken.len() == 1 { "a node".to_owned() } else { format!("{} nodes", broken.len()) };
        let message = format!("the edit is refused: it would break {nodes}");
        let mut fault = EDIT_BREAKS.fault(message, Some("pass 'force' to make it all the same"));
        fault.causes = broken.iter().take(MOST_BROKEN).cloned().collect();
        return Err(fault.into());
    }
    Ok(effect)
}

/// A locked tree of an inventory.
#[derive(Debug)]
pub struct EditTree<'s> {
    settings: &'s Settings,
    options: EditOptions,
    /// The folder as the settings name it.
    named: PathBuf,
    root: PathBuf,
    prefixes: Prefixes,
    /// Maximum size of a file in bytes.
    most: usize,
    settle: Duration,
    /// `None` in test mode.
    lock: Option<TreeLock>,
}

/// Maximum number of attempts if programs without the lock write meanwhile.
const ATTEMPTS: usize = 10;

impl<'s> EditTree<'s> {
    /// Opens a tree; waits for its lock, except in test mode.
    pub fn open(named: &Path, settings: &'s Settings, options: EditOptions) -> Result<EditTree<'s>> {
        let root = tree_path::root(named)?;
        let lock = if options.test { None } else { Some(TreeLock::take(&root)?) };
        Ok(EditTree {
            settings,
            options,
            named: named.to_owned(),
            root,
            prefixes: Prefixes::new(settings),
            most: settings.max_file_bytes(),
            settle: settings.settle(),
            lock,
        })
    }

    /// Changes a file or creates it; with `folders`, also its folder.
    pub fn edit(&self, relative: &Path, changes: &[Change], folders: bool) -> Result<Edited> {
        let missing = match (folders, &self.lock) {
            (false, _) => MissingFolders::Refuse,
            (true, Some(_)) => MissingFolders::Make,
            (true, None) => MissingFolders::DryRun,
        };
        self.edit_at(relative, tree_path::file(&self.root, relative, missing)?, changes, false)
    }

    /// Changes an existing file.
    pub fn change(&self, relative: &Path, changes: &[Change]) -> Result<Edited> {
        let path = tree_path::file(&self.root, relative, MissingFolders::Refuse)?;
        self.edit_at(relative, path, changes, true)
    }

    /// What the nodes become with this text of a file.
    fn look(&self, relative: &Path, text: Option<&[u8]>) -> Result<Option<EditEffect>> {
        let found = FoundFile::below(&self.named, relative);
        let name;
        let touched = if source::roots_to_edit(self.settings)?.1.contains(&self.named) {
            name = node_name(&found, self.settings);
            Touched::Node(&name)
        } else {
            name = class_name(&found);
            Touched::OfClass(&name)
        };
        let input = OverlaidInput::File(self.named.join(relative));
        look(self.settings, &Overlay { input, bytes: text.map(Into::into) }, touched, self.options)
    }

    fn edit_at(&self, relative: &Path, path: PathBuf, changes: &[Change], there: bool) -> Result<Edited> {
        for _ in 0..ATTEMPTS {
            let old = read_if_there(&self.root, &path, self.most, self.settle)?;
            if there && old.is_none() {
                let message = "it is gone since it was looked for".into();
                return Err(Fault::new(Kind::FileUnreadable { path: display(&path), message }).into());
            }
            let (text, fingerprint) = match &old {
                Some((text, fingerprint)) => (text.as_slice(), Some(fingerprint)),
                None => (&b""[..], None),
            };
            let Some(text_after) = apply_all(changes, text, &display(&path), &self.prefixes)? else {
                let text = old.map(|(text, _)| text);
                return Ok(Edited { path, before: text.clone(), after: text, warning: None, effect: None });
            };
            let effect = self.look(relative, Some(&text_after))?;
            let written = match &self.lock {
                Some(lock) => lock.replace(&path, &text_after, fingerprint)?,
                None => true,
            };
            if written {
                return Ok(Edited {
                    path,
                    before: old.map(|(text, _)| text),
                    after: Some(text_after),
                    warning: None,
                    effect,
                });
            }
        }
        Err(changing(&path).into())
    }

    /// Repairs an existing file; `None` if no repair is possible.
    pub(super) fn repair(&self, relative: &Path, repairs: &FileRepairs) -> Result<Option<RepairedFile>> {
        let path = tree_path::file(&self.root, relative, MissingFolders::Refuse)?;
        for _ in 0..ATTEMPTS {
            let Some((text, fingerprint)) = read_if_there(&self.root, &path, self.most, self.settle)? else {
                return Ok(None);
            };
            let Some((after, made)) = repairs.apply(&text, &display(&path), &self.prefixes) else {
                return Ok(None);
            };
            let written = match &self.lock {
                Some(lock) => lock.replace(&path, &after, Some(&fingerprint))?,
                None => true,
            };
            if written {
                let edited =
                    Edited { path, before: Some(text), after: Some(after), warning: None, effect: None };
                return Ok(Some(RepairedFile { edited, repairs: made }));
            }
        }
        Err(changing(&path).into())
    }

    /// Deletes a file.
    pub fn remove(&self, relative: &Path) -> Result<Edited> {
        let path = tree_path::file(&self.root, relative, MissingFolders::Refuse)?;
        let before = read_if_there(&self.root, &path, self.most, self.settle)?.map(|(text, _)| text);
        let effect = if before.is_some() { self.look(relative, None)? } else { None };
        if let (Some(lock), Some(_)) = (&self.lock, &before) {
            // Of a symbolic link, only the link: its target may be used elsewhere.
            lock.remove(&self.root.join(relative))?;
        }
        Ok(Edited { path, before, after: None, warning: None, effect })
    }
}

/// The operation on edited files, for errors.
pub const EDITED: &str = "edited";
/// The operation on files of which only the raw data is read, for errors.
pub const SHOWN: &str = "shown as they are written";

/// The text of a file below a root; `None` without the file or its folder.
pub fn read_below(settings: &Settings, root: &Path, relative: &Path) -> Result<Option<(PathBuf, Vec<u8>)>> {
    if !root.join(relative).parent().is_some_and(Path::is_dir) {
        return Ok(None);
    }
    let root = tree_path::root(root)?;
    let path = tree_path::file(&root, relative, MissingFolders::Refuse)?;
    Ok(read_if_there(&root, &path, settings.max_file_bytes(), settings.settle())?
        .map(|(text, _)| (path, text)))
}

fn read_if_there(
    root: &Path,
    path: &Path,
    most: usize,
    settle: Duration,
) -> Result<Option<(Vec<u8>, DiskFingerprint)>> {
    if path.try_exists().is_ok_and(|there| !there) {
        return Ok(None);
    }
    fs::read_beneath(root, path, most, settle).map(Some)
}

/// The absolute folders of a setting. `operation` is for errors.
pub fn roots(
    settings: &Settings,
    uri: &Value,
    name: &'static str,
    operation: &'static str,
) -> Result<Vec<PathBuf>> {
    if &*settings.storage_type != "yaml_fs" {
        let storage = settings.storage_type.to_string();
        return Err(Fault::new(Kind::StorageUnsupported { storage, operation }).into());
    }
    fs::roots(settings.inventory_base_uri.as_deref(), uri, name)
}
