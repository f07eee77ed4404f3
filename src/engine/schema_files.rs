//! The files with schemas of parameters: read when they are needed, and again after they changed. What is in them is
//! a matter of the analysis.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::trees::Trees;
use crate::model::catalog::Commit;
use crate::storage::git::{Absent, GitFile, is_yaml_or_json};
use crate::storage::location::TreeLocation;
use crate::storage::{DiskFingerprint, TreeLimits, fs};
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::lock::Mutex;
use reclass_base::settings::Settings;

/// A file with a schema.
#[derive(Debug)]
pub struct SchemaFile {
    /// Its path, as messages show it.
    pub shown: Arc<str>,
    /// The keys of the parameter.
    pub keys: Vec<String>,
    /// The names that lead to it from the folder of schemas.
    pub names: Vec<String>,
    /// The number of the folder of schemas.
    pub folder: usize,
    /// Its content, or why it cannot be read.
    pub bytes: Result<Arc<[u8]>, Error>,
}

/// All files with schemas in one state.
#[derive(Default, Debug)]
pub struct SchemaFiles {
    /// The files, sorted by path in each folder.
    pub files: Vec<SchemaFile>,
    /// The folders and files on disk as they were read.
    seen: Vec<(PathBuf, Option<DiskFingerprint>)>,
    /// The commit of a repository.
    commit: Option<Arc<str>>,
}

impl SchemaFiles {
    /// Whether the folders and files on disk are as they were read.
    fn hold(&self) -> bool {
        self.seen.iter().all(|(path, seen)| match (fs::fingerprint(path), seen) {
            (Ok(now), Some(seen)) => now.proves_unchanged(seen),
            (Err(_), None) => true,
            _ => false,
        })
    }
}

/// The texts of files that an editor has.
type SchemaBuffers = BTreeMap<PathBuf, Arc<[u8]>>;

/// Reads the files when they are needed.
#[derive(Default, Debug)]
pub struct SchemaReader {
    known: Mutex<Option<Arc<SchemaFiles>>>,
    buffers: SchemaBuffers,
}

impl SchemaReader {
    /// The files as they are now; the same ones if nothing changed.
    ///
    /// # Errors
    ///
    /// A folder that the settings name and that is not there, and a tree beyond the limits.
    pub fn read(&self, trees: &Trees, settings: &Settings) -> Result<Arc<SchemaFiles>> {
        let mut known = self.known.lock();
        let commit = match &trees.locations.schemas {
            Some(TreeLocation::Git(branch)) => trees.schema_commit(branch),
            _ => None,
        };
        if let Some(known) = &*known
            && known.commit.as_ref() == commit.as_ref().map(|commit| &commit.commit)
            && known.hold()
        {
            return Ok(known.clone());
        }
        let new = Arc::new(read(trees, commit.as_ref(), settings, &self.buffers)?);
        *known = Some(new.clone());
        Ok(new)
    }

    /// Takes a text in place of the bytes of a file in a folder that exists, or its bytes again.
    pub fn set_buffer(&mut self, path: &Path, text: Option<&str>) {
        match text {
            Some(text) => drop(self.buffers.insert(path.to_owned(), text.as_bytes().into())),
            None => drop(self.buffers.remove(path)),
        }
        *self.known.lock() = None;
    }
}

/// A walk through folders of schemas.
struct SchemaWalk<'a> {
    trees: &'a Trees,
    settings: &'a Settings,
    limits: TreeLimits,
    buffers: &'a SchemaBuffers,
    /// The number of the current folder of schemas.
    number: usize,
    found: SchemaFiles,
}

/// The kind of a folder with schemas.
#[derive(Clone, Copy, PartialEq)]
enum SchemaLayout {
    /// The path of a file is the path of the parameter.
    Paths,
    /// Folders of formulas.
    Formulas,
}

impl SchemaLayout {
    /// The keys of the parameter that a file is for, by the names that lead to it; `None` if it is no schema.
    fn keys(self, names: &[String]) -> Option<Vec<String>> {
        let (last, folders) = names.split_last()?;
        let stem = stem(Path::new(last));
        match (self, folders) {
            (SchemaLayout::Paths, _) => Some([folders, &[stem]].concat()),
            (SchemaLayout::Formulas, [formula, schemas]) if schemas == "schemas" => {
                Some(vec![formula.clone(), stem])
            }
            (SchemaLayout::Formulas, _) => None,
        }
    }

    /// Whether a folder may have schemas.
    fn enters(self, names: &[String]) -> bool {
        self == SchemaLayout::Paths
            || matches!(names, [_])
            || matches!(names, [_, schemas] if schemas == "schemas")
    }
}

fn read(
    trees: &Trees,
    commit: Option<&Commit>,
    settings: &Settings,
    buffers: &SchemaBuffers,
) -> Result<SchemaFiles> {
    let limits = TreeLimits::of(settings);
    let mut walk = SchemaWalk { trees, settings, limits, buffers, number: 0, found: SchemaFiles::default() };
    match &trees.locations.schemas {
        Some(TreeLocation::Folders(folders)) => {
            let is_default = settings.schemas_uri.as_str() == Some("schemas");
            folders.iter().try_for_each(|folder| walk.folder(folder, is_default, SchemaLayout::Paths))?;
        }
        Some(TreeLocation::Git(_)) => {
            if let Some(commit) = commit {
                let top = crate::model::catalog::top(commit);
                let root = commit.branch.root.split('/').filter(|name| !name.is_empty()).count();
                for file in trees.schemas(commit)? {
                    walk.take(&top, &file, file.folders.get(root..).unwrap_or_default(), SchemaLayout::Paths);
                }
                walk.found.commit = Some(commit.commit.clone());
            }
        }
        None => {}
    }
    for folder in &trees.locations.formulas {
        walk.folder(folder, false, SchemaLayout::Formulas)?;
    }
    Ok(walk.found)
}

impl SchemaWalk<'_> {
    /// Takes the files below a folder. One that is `optional` may be missing.
    fn folder(&mut self, folder: &Path, optional: bool, layout: SchemaLayout) -> Result<()> {
        self.number += 1;
        let revision = self.trees.locations.revision.as_deref();
        match revision.and_then(|revision| revision.files(folder, is_yaml_or_json, self.limits)) {
            Some(Ok(files)) => {
                let top = fs::display(folder);
                let top = if top.ends_with(':') { top } else { top + "/" };
                for file in &files {
                    self.take(&top, file, &file.folders, layout);
                }
                Ok(())
            }
            Some(Err(error)) if optional && is_missing(&error) => Ok(()),
            Some(Err(error)) => Err(error),
            None if optional && !folder.exists() => {
                self.found.seen.push((folder.to_owned(), None));
                Ok(())
            }
            None => self.below(folder, &mut Vec::new(), layout),
        }
    }

    /// The same for a folder on disk. Hidden files and folders are skipped.
    fn below(&mut self, folder: &Path, names: &mut Vec<String>, layout: SchemaLayout) -> Result<()> {
        let limit = |what: &str, limit, setting| {
            let what = format!("{what} in '{}'", fs::display(folder));
            Err(Fault::new(Kind::YamlLimit { what, limit, setting: Some(setting) }).into())
        };
        if names.len() > self.limits.depth.min(DEPTH) {
            return limit("the depth of folders", self.limits.depth, "limit_folder_depth");
        }
        let seen = fs::fingerprint(folder).ok();
        self.found.seen.push((folder.to_owned(), seen));
        let mut entries =
            fs::entries(folder).map_err(|error| Error::from(fs::folder_unreadable(folder, &error)))?;
        entries.extend(self.buffers.keys().filter(|path| path.parent() == Some(folder)).cloned());
        entries.sort();
        entries.dedup();
        for path in entries {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with('.') {
                continue;
            }
            if self.found.seen.len() > self.limits.files {
                return limit("the number of files and folders", self.limits.files, "limit_files");
            }
            names.push(name);
            if path.is_dir() {
                if layout.enters(names) {
                    self.below(&path, names, layout)?;
                }
            } else if is_yaml_or_json(&path)
                && let Some(keys) = layout.keys(names)
            {
                let bytes = match self.buffers.get(&path) {
                    Some(bytes) => Ok(bytes.clone()),
                    None => self.bytes(&path),
                };
                let (shown, names) = (fs::display(&path).into(), names.clone());
                self.found.files.push(SchemaFile { shown, keys, names, folder: self.number, bytes });
            }
            names.pop();
        }
        Ok(())
    }

    fn bytes(&mut self, path: &Path) -> Result<Arc<[u8]>> {
        let read = fs::read_settled(path, self.settings.max_file_bytes(), self.settings.settle());
        self.found.seen.push((path.to_owned(), read.as_ref().ok().map(|(_, seen)| *seen)));
        read.map(|(bytes, _)| bytes.into())
    }

    /// Takes a file of a tree of git.
    fn take(&mut self, top: &str, file: &GitFile, folders: &[String], layout: SchemaLayout) {
        let name = file.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let names = [folders, &[name]].concat();
        let Some(keys) = layout.keys(&names) else { return };
        let shown = crate::model::catalog::shown(top, file);
        let bytes = match &file.blob {
            Ok(blob) => Ok(blob.bytes.clone()),
            Err(Absent::TooLarge) => Err(fs::too_large(&shown, self.settings.max_file_bytes())),
            Err(Absent::Outside(path)) => {
                fs::read(path, self.settings.max_file_bytes()).map(|(bytes, _)| bytes.into())
            }
            Err(Absent::Link(reason)) => {
                let (path, message) = (fs::display(&shown), (*reason).to_owned());
                Err(Fault::new(Kind::FileUnreadable { path, message }).into())
            }
        };
        self.found.files.push(SchemaFile {
            shown: fs::display(&shown).into(),
            keys,
            names,
            folder: self.number,
            bytes,
        });
    }
}

/// More folders than this below each other are those of a link that leads back.
const DEPTH: usize = 20;

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_missing(error: &Error) -> bool {
    matches!(error.first().kind, Kind::DirectoryNotFound { .. })
}
