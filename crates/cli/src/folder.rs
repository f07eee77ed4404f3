//! Writes the files that a program was asked to create. They are not part of an inventory, so the storage
//! does not write them.
#![expect(clippy::disallowed_methods, reason = "the one door to the files that programs write")]

use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use reclass::error::{Error, Fault, Kind, Result};
use reclass::parts::storage::access_error::reason_unwritable;
use reclass::parts::storage::fs::display;
use reclass::parts::storage::outside::replace_below;

use crate::process::environment;

/// An existing folder.
pub struct OutputFolder(PathBuf);

impl OutputFolder {
    /// The folder at this path; it is created with its parents if it does not exist.
    pub fn make(path: &str) -> Result<OutputFolder> {
        let path = PathBuf::from(path);
        fs::create_dir_all(&path).map_err(|error| unwritable(&path, &error))?;
        Ok(OutputFolder(path))
    }

    /// The absolute path with resolved links.
    pub fn path(&self) -> Result<String> {
        self.0.canonicalize().map(|path| display(&path)).map_err(|error| unwritable(&self.0, &error))
    }

    /// Whether the folder contains anything.
    pub fn is_used(&self) -> Result<bool> {
        let mut entries = fs::read_dir(&self.0).map_err(|error| unwritable(&self.0, &error))?;
        Ok(entries.next().is_some())
    }

    /// What prevents a new file of this name, which may contain folders: the file, or no folder in place of one.
    pub fn in_the_way_of<'n>(&self, name: &'n str) -> Option<&'n str> {
        let is_there = |name: &str| self.0.join(name).symlink_metadata().is_ok();
        let folders = name.match_indices('/').map(|(at, _)| &name[..at]);
        let is_no_folder = |name: &&str| is_there(name) && !self.0.join(name).is_dir();
        folders.into_iter().find(is_no_folder).or_else(|| is_there(name).then_some(name))
    }

    /// Writes a file; the name may contain folders, but no links in place of them. Readers see either the old or the
    /// new file. A file that holds these bytes already is not touched.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.0.join(name);
        // A pipe in the place of the file would not end.
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        if is_file && fs::read(&path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        replace_below(&self.0, name.as_ref(), bytes).map_err(|error| unwritable(&path, &error))
    }
}

/// Writes a new file that only its owner can read to the folder for temporary files, and returns its path.
pub fn temporary(prefix: &str, suffix: &str, bytes: &[u8]) -> Result<String> {
    let write = || {
        let mut file = tempfile::Builder::new().prefix(prefix).suffix(suffix).tempfile()?;
        file.write_all(bytes)?;
        file.keep().map(|(_, path)| display(&path)).map_err(|error| error.error)
    };
    write().map_err(|error| unwritable(&std::env::temp_dir(), &error))
}

/// The names and the contents of the YAML files in these folders of a folder, sorted by name. A folder that does
/// not exist has none, but one of them must.
pub fn yaml_files(base: &str, folders: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
    let base = Path::new(base);
    let mut files = Vec::new();
    let mut waiting: Vec<PathBuf> =
        folders.iter().map(|name| base.join(name)).filter(|path| path.is_dir()).collect();
    if waiting.is_empty() {
        let message = format!("it has no folder {}", folders.join(" and no folder "));
        let kind = Kind::DirectoryNotFound { path: display(base), message, similar: None };
        return Err(Fault::new(kind).into());
    }
    while let Some(folder) = waiting.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| unreadable(&folder, &error))?.path();
            let is_link = path.symlink_metadata().is_ok_and(|is| is.is_symlink());
            if path.is_dir() && !is_link {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml") {
                let bytes = fs::read(&path).map_err(|error| unreadable(&path, &error))?;
                let name = path.strip_prefix(base).unwrap_or(&path);
                files.push((display(name), bytes));
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The base folder of paths in a repository: the GitHub workspace or the top of the work tree if the current
/// folder is in it, else the current folder.
pub fn top(current: &Path) -> PathBuf {
    let workspace = environment("GITHUB_WORKSPACE").and_then(|path| PathBuf::from(path).canonicalize().ok());
    let workspace = workspace.filter(|folder| current.starts_with(folder));
    workspace.unwrap_or_else(|| work_tree(current).unwrap_or(current).to_path_buf())
}

/// The top of the work tree of git that a folder is in.
pub fn work_tree(folder: &Path) -> Option<&Path> {
    // In a linked work tree `.git` is a file.
    folder.ancestors().find(|folder| folder.join(".git").exists())
}

/// The first folder in a folder, at most so deep, that has a property. Hidden folders are left out.
pub fn below(folder: &Path, depth: usize, is_it: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let is_shown = |path: &Path| path.file_name().is_none_or(|name| name.as_encoded_bytes()[0] != b'.');
    let mut folders = entries(folder)?;
    folders.retain(|path| path.is_dir() && is_shown(path));
    let found = folders.iter().find(|folder| is_it(folder)).cloned();
    found.or_else(|| folders.iter().filter(|_| depth > 1).find_map(|folder| below(folder, depth - 1, is_it)))
}

/// The paths in a folder, sorted; `None` if it cannot be read.
fn entries(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort_unstable();
    Some(entries)
}

/// A file of this name in a folder, or also in the folders below, that is no YAML file for its ending.
pub fn named_otherwise(folder: &Path, name: &str, below: bool) -> Option<PathBuf> {
    let entries = entries(folder)?;
    let is_meant = |path: &&PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str());
        let ending = file.and_then(|file| file.strip_prefix(name)).unwrap_or_default();
        let is_yaml = [".yml", ".yaml"].iter().any(|end| ending.ends_with(end));
        ending.starts_with('.') && !is_yaml && path.is_file()
    };
    let found = entries.iter().find(is_meant).cloned();
    let inner = || entries.iter().filter(|path| below && path.is_dir() && !path.is_symlink());
    found.or_else(|| inner().find_map(|path| named_otherwise(path, name, below)))
}

/// The path without `.` and `..`, without a look at links.
pub fn lexical(path: &Path) -> PathBuf {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()),
            part => parts.push(part.as_os_str()),
        }
    }
    parts.iter().collect()
}

/// Whether a folder, which may not exist yet, is one of these or inside one.
pub fn is_in(path: &str, folders: &[PathBuf]) -> bool {
    let path = std::path::absolute(path).unwrap_or_default();
    let there = path.ancestors().find_map(|path| path.canonicalize().ok());
    let real = |folder: &PathBuf| folder.canonicalize().ok();
    there.is_some_and(|there| folders.iter().filter_map(real).any(|folder| there.starts_with(folder)))
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    let message = reclass::parts::storage::fs::reason(error);
    Fault::new(Kind::FileUnreadable { path: display(path), message }).into()
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Fault::new(Kind::FileUnwritable { path: display(path), message: reason_unwritable(path, error) }).into()
}
