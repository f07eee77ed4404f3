//! Reads the first configuration file found, and keeps the place of each option.
//!
//! The search order is that of the Python programs: the current directory, the home directory,
//! `/etc/reclass`, the directory of the program. The file is `reclass-config.yml`. The name that
//! kapicorp-reclass uses counts if `reclass-config.yml` does not exist there (ruling S20), and so does its
//! directory in `/etc`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use reclass::configuration::ConfigurationFile;
use reclass::diff::SettingsFile;
use reclass::error::{Error, Fault, Kind, Result, Warning};
use reclass::files::{display, duplicate_keys};
use reclass::formats::{Data, Entry, Node};
use reclass::lint::OptionsFile;
use reclass::pystr;
use reclass::settings::{FILE_NAMES, Settings, TABLE};
use reclass::source::{FileId, Site};
use reclass::value::{Key, Map, Value};
use reclass_lsp::FoundInventory;

use crate::process::{current_folder, environment};
use crate::{flags, folder};

/// The options of a configuration file.
#[derive(Default)]
pub struct Configuration {
    pub options: Map,
    file: Option<ConfigurationFile>,
    /// Whether the user named the file. Then there is no search.
    pub named: bool,
    /// The folder of the inventory, if it was found around the current folder.
    pub around: Option<PathBuf>,
    /// The error if the file exists but cannot be read.
    unread: Option<Error>,
    /// Settings that the command line overrides.
    overruled: Map,
    /// Defaults of a program without any file.
    defaults: Map,
    /// Places of the settings in the file, computed for the first fault.
    places: OnceLock<Places>,
}

/// The YAML nodes of a settings file. The index finds each of thousands of bad patterns directly.
#[derive(Default)]
struct Places {
    /// The keys of the settings.
    settings: HashMap<String, u32>,
    /// The first occurrence of each key and text in a setting, by the node of the setting's key.
    parts: HashMap<(u32, String), u32>,
}

impl Places {
    fn of(entries: &[Entry]) -> Places {
        let mut places = Places::default();
        for entry in entries {
            let Some(name) = entry.key.as_str() else { continue };
            places.settings.entry(name.to_owned()).or_insert(entry.key_index);
            places.take(entry.key_index, &entry.value);
        }
        places
    }

    fn take(&mut self, setting: u32, node: &Node) {
        match &node.data {
            Data::Value(value) => self.part(setting, value, node.index),
            Data::List(items) => items.iter().for_each(|item| self.take(setting, item)),
            Data::Map(entries) => entries.iter().for_each(|entry| {
                self.part(setting, &entry.key.0, entry.key_index);
                self.take(setting, &entry.value);
            }),
        }
    }

    fn part(&mut self, setting: u32, value: &Value, index: u32) {
        self.parts.entry((setting, pystr::str(value))).or_insert(index);
    }
}

impl Configuration {
    fn of(file: Option<ConfigurationFile>) -> Configuration {
        let options = file.as_ref().map(|file| file.options.clone()).unwrap_or_default();
        Configuration { options, file, ..Configuration::default() }
    }

    /// The options of a named file: a settings file, or a Salt configuration.
    pub fn named(path: &str) -> Result<Configuration> {
        Ok(Configuration {
            named: true,
            ..Configuration::of(Some(ConfigurationFile::named(Path::new(path))?))
        })
    }

    /// The inventory in a folder: its settings file, or the folder itself.
    fn in_folder(folder: &Path) -> Result<Configuration> {
        let file = settings_file(folder);
        let options = Map::from_iter([("inventory_base_uri".into(), Value::text(display(folder)))]);
        let base = Configuration { options, ..Configuration::default() };
        let found = match file.and_then(|file| file.to_str().map(Configuration::named)) {
            Some(named) => named?,
            None => base,
        };
        Ok(Configuration { around: Some(folder.to_owned()), ..found })
    }

    /// The same; or the inventory around the current folder, if nothing names one and there is no default
    /// inventory. Without a command, as the Python programs are called, a settings file always names one.
    pub fn or_around(self, is_command: bool) -> Configuration {
        if self.names_an_inventory(is_command) || Path::new(DEFAULT).join("nodes").is_dir() {
            return self;
        }
        let found = around().map_or(Ok(self), |folder| Configuration::in_folder(&folder));
        found.unwrap_or_else(Configuration::unread)
    }

    /// Whether the file names an inventory. One beside the nodes need not, because from the folders below its own
    /// folder is the inventory too. Other files have a default.
    fn names_an_inventory(&self, is_command: bool) -> bool {
        let nodes = self.options.get("nodes_uri").and_then(Value::as_str).unwrap_or("nodes");
        let is_beside = |file: &ConfigurationFile| {
            Path::new(&file.path).parent() == Some(Path::new("")) && Path::new(nodes).is_dir()
        };
        match &self.file {
            Some(file) if is_command && is_beside(file) => self.options.contains_key("inventory_base_uri"),
            // An empty file has no options but its own name.
            _ => !self.options.is_empty() || self.unread.is_some(),
        }
    }

    /// The options of a file that cannot be read.
    pub fn unread(error: Error) -> Configuration {
        Configuration { unread: Some(error), ..Configuration::default() }
    }

    /// Fails with the error of the file if it could not be read.
    pub fn usable(&self) -> Result<()> {
        self.unread.clone().map_or(Ok(()), Err)
    }

    /// Records the settings that the command line overrides.
    pub fn overrule(&mut self, settings: &Map) {
        self.overruled.extend(settings.clone());
    }

    /// Records the defaults of a program without any file.
    pub fn set_defaults(&mut self, defaults: &Map) {
        self.defaults.clone_from(defaults);
    }

    /// The options with another settings file in place of this one.
    pub fn options_of(&self, file: Option<&SettingsFile>) -> Result<Map> {
        let mut options = self.defaults.clone();
        let own = match file {
            Some((name, bytes)) => Configuration::of(ConfigurationFile::parse(name, bytes.clone())?),
            None => Configuration::default(),
        };
        // The inventory was found: neither the settings file of today nor that of another state names it.
        if let Some(folder) = &self.around {
            options.insert("inventory_base_uri".into(), Value::text(display(folder)));
        }
        options.extend(own.options.clone());
        options.extend(self.overruled.clone());
        Settings::from_options(&options).map_err(|error| own.placed_all(error))?;
        Ok(options)
    }

    /// Warnings about the file (duplicate keys) and about the settings.
    pub fn noticed(&self, settings: &[Warning]) -> Vec<Warning> {
        let mut noticed = self.duplicate_keys();
        noticed.extend(settings.iter().map(|warning| self.placed(warning.clone())));
        noticed
    }

    fn duplicate_keys(&self) -> Vec<Warning> {
        let Some(ConfigurationFile { path, document, .. }) = &self.file else { return Vec::new() };
        duplicate_keys(document, FileId::NONE)
            .into_iter()
            .map(|mut warning| {
                let span = warning.origin.take().and_then(|origin| document.spans.get(origin.node as usize));
                warning.site = span.map(|span| Site::at(path.as_str(), *span));
                warning
            })
            .collect()
    }

    /// A fault of a setting with its place in the file.
    pub fn placed(&self, fault: Fault) -> Fault {
        let mut fault = with_other_ending(fault);
        if fault.site.is_some() {
            return fault;
        }
        // The folder of the nodes in an inventory of Kapitan.
        if let (Kind::DirectoryNotFound { path, .. }, Some(("nodes_uri", _))) = (&fault.kind, fault.setting())
            && Path::new(path).with_file_name("targets").is_dir()
        {
            fault = fault.note("'targets' is beside it, as in inventories of Kapitan: -u targets", None);
        }
        let Some((name, part)) = fault.setting() else { return fault };
        let part = part.map(str::to_owned);
        // If a folder setting is missing, other settings decide where the folder is.
        let settings: &[&str] = match name {
            "classes_uri" => &["classes_uri", "nodes_uri", "inventory_base_uri"],
            "nodes_uri" => &["nodes_uri", "inventory_base_uri"],
            name => &[name],
        };
        let blames_base = self.is_base_wrong(&fault, name);
        let settings = if blames_base { &["inventory_base_uri"] } else { settings };
        for name in settings {
            let row = TABLE.iter().find(|row| row.name == *name);
            let names: Vec<&str> = std::iter::once(*name)
                .chain(row.into_iter().flat_map(|row| row.aliases.iter().copied()))
                .collect();
            if self.overruled.keys().filter_map(Key::as_str).any(|key| names.contains(&key)) {
                let option = flags::option_of(name).filter(|_| is_folder_missing(&fault));
                let text = option.map_or_else(
                    || "set on the command line".to_owned(),
                    |option| format!("set on the command line by {option}"),
                );
                return fault.note(text, None);
            }
            let site = self.site(&names, part.as_deref());
            if site.is_some() {
                fault.site = site;
                return fault;
            }
        }
        if !is_folder_missing(&fault) {
            return fault;
        }
        // Only folders have a default that people may not know.
        let text = match &self.file {
            None if named_by_variable().is_some() => "RECLASS_BASE names it".to_owned(),
            None if self.around.is_some() => "it belongs to the inventory that was found".to_owned(),
            Some(file) => format!("neither the command line nor '{}' names it: it is the default", file.path),
            None => {
                if let Some(found) = beside_the_default() {
                    fault = fault.note(found, None);
                }
                "no option and no settings file names it: it is the default".to_owned()
            }
        };
        fault.note(text, None)
    }

    /// Whether the base folder is the cause of a missing folder, and not the setting that names a folder in it.
    fn is_base_wrong(&self, fault: &Fault, setting: &str) -> bool {
        let Kind::DirectoryNotFound { path, .. } = &fault.kind else { return false };
        let absolute = |options: &Map| {
            let base = options.get("inventory_base_uri").and_then(Value::as_str)?;
            std::path::absolute(base).ok().map(|base| folder::lexical(&base))
        };
        match absolute(&self.overruled) {
            Some(_) if self.overruled.get(setting).is_some() => false,
            // Every inventory has folders of these names.
            Some(base) => {
                let path = Path::new(path);
                !base.is_dir() || path == base.join("nodes") || path == base.join("classes")
            }
            // Without any, the default of the program counts.
            None => absolute(&self.options)
                .or_else(|| absolute(&self.defaults))
                .is_some_and(|base| !base.is_dir()),
        }
    }

    /// An error with the places of its settings.
    pub fn placed_all(&self, error: Error) -> Error {
        Error::new(error.into_faults().into_iter().map(|fault| self.placed(fault)).collect())
    }

    fn site(&self, names: &[&str], part: Option<&str>) -> Option<Site> {
        let file = self.file.as_ref()?;
        let ConfigurationFile { path, document, text, .. } = file;
        let places = self.places.get_or_init(|| Places::of(file.entries()));
        let setting = names.iter().filter_map(|name| places.settings.get(*name)).min()?;
        let part = part.and_then(|part| places.parts.get(&(*setting, part.to_owned())));
        let index = *part.unwrap_or(setting);
        let span = *document.spans.get(index as usize)?;
        let written = text.get(span.start as usize..span.end as usize)?;
        let length = written.lines().next().map_or(0, |line| line.chars().count());
        Some(Site { length: u32::try_from(length).unwrap_or(0), ..Site::at(path.as_str(), span) })
    }
}

/// A node or class without a file, with a note if there is a file whose ending hides it.
fn with_other_ending(fault: Fault) -> Fault {
    let (path, is_node) = match &fault.kind {
        Kind::NodeNotFound { name, folder, .. } => (Path::new(folder).join(name), true),
        Kind::ClassNotFound { name, folder, .. } => (Path::new(folder).join(name.replace('.', "/")), false),
        _ => return fault,
    };
    if path.is_relative() {
        // There is no folder to look in.
        return fault;
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else {
        return fault;
    };
    let hidden = folder::named_otherwise(folder, name, is_node);
    match hidden {
        Some(file) => fault.note(format!("'{}' does not end in .yml or .yaml", display(&file)), None),
        None => fault,
    }
}

fn is_folder_missing(fault: &Fault) -> bool {
    matches!(fault.kind, Kind::DirectoryNotFound { .. })
}

impl OptionsFile for Configuration {
    fn noticed(&self, settings: &[Warning]) -> Vec<Warning> {
        Configuration::noticed(self, settings)
    }

    fn text(&self, path: &str) -> Option<String> {
        self.file.as_ref().filter(|file| file.path == path).map(|file| file.text.clone())
    }
}

/// The folder of the default inventory.
pub const DEFAULT: &str = "/etc/reclass";

/// What looks like an inventory in the current folder, as a sentence, if the default is used all the same.
fn beside_the_default() -> Option<String> {
    let is_here = |name: &str| Path::new(name).is_dir();
    Some(match (is_here("nodes"), is_here("classes"), is_here("targets")) {
        (true, false, _) => "'nodes' is here, but not 'classes': an inventory has both folders".to_owned(),
        (false, true, true) => "'targets' is here, as in inventories of Kapitan: -b . -u targets".to_owned(),
        (false, true, false) => {
            "'classes' is here, but not 'nodes': an inventory has both folders".to_owned()
        }
        _ => format!(
            "'{0}' is an inventory: -b {0}",
            display(&folder::below(Path::new("."), 1, &is_inventory)?)
        ),
    })
}

/// The inventory that the variable names, or else the nearest one around the current folder.
fn around() -> Option<PathBuf> {
    named_by_variable().or_else(|| inventory_above(&current_folder()?))
}

fn named_by_variable() -> Option<PathBuf> {
    environment("RECLASS_BASE").and_then(|base| std::path::absolute(base).ok())
}

/// The nearest inventory around a folder. The search ends at the top of a repository and at the home folder.
fn inventory_above(folder: &Path) -> Option<PathBuf> {
    let home = std::env::home_dir();
    let last = [folder::work_tree(folder), home.as_deref()];
    for folder in folder.ancestors() {
        if is_inventory(folder) {
            return Some(folder.to_path_buf());
        }
        if last.contains(&Some(folder)) {
            break;
        }
    }
    None
}

fn is_inventory(folder: &Path) -> bool {
    settings_file(folder).is_some() || ["nodes", "classes"].iter().all(|name| folder.join(name).is_dir())
}

/// The inventory that the files of a folder belong to, for an editor: as for programs, or else one in the folder,
/// up to three folders deep.
pub fn of_folder(folder: &Path) -> Option<Result<FoundInventory>> {
    let found = named_by_variable().or_else(|| inventory_above(folder));
    let folder = found.or_else(|| folder::below(folder, 3, &is_inventory))?;
    Some(Configuration::in_folder(&folder).and_then(|configuration| {
        configuration.usable()?;
        Ok(FoundInventory { folder, options: configuration.options.clone(), file: Arc::new(configuration) })
    }))
}

fn settings_file(folder: &Path) -> Option<PathBuf> {
    FILE_NAMES.map(|name| folder.join(name)).into_iter().find(|path| path.is_file())
}

/// Reads the configuration file for a program called as `program`. Without a file there are no options. An entry
/// with the right name that is not a file is an error, because the intended settings would be missing otherwise.
pub fn read(program: Option<&OsStr>) -> Result<Configuration> {
    let found = directories(program)
        .into_iter()
        .flat_map(|directory| FILE_NAMES.map(|name| directory.join(name)))
        .find(|path| path.symlink_metadata().is_ok());
    let Some(path) = found else { return Ok(Configuration::default()) };
    let mut configuration = Configuration::of(ConfigurationFile::read(&path)?);
    // The inventory must know which file is in use.
    configuration.options.insert("config_file".into(), Value::text(path.display().to_string()));
    Ok(configuration)
}

/// The directory that a program was started from, as in Python's `sys.argv[0]`: adapters are linked into the
/// directory of an inventory.
fn program_directory(program: Option<&OsStr>) -> Option<PathBuf> {
    let program = Path::new(program?);
    if program.components().count() > 1 {
        return program.parent().map(Path::to_path_buf);
    }
    found_on_path(program).and_then(|path| path.parent().map(Path::to_path_buf))
}

/// The file that a shell runs for this name.
pub fn found_on_path(program: impl AsRef<Path>) -> Option<PathBuf> {
    let path = environment("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(&program)).find(|path| path.is_file())
}

/// The same as an absolute path. It is the default inventory of an adapter.
pub fn folder_of(program: Option<&OsStr>) -> String {
    let folder = program_directory(program).unwrap_or_default();
    // An empty path is the current directory, as for Python's `os.path.abspath`.
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder };
    std::path::absolute(&folder).unwrap_or(folder).display().to_string()
}

fn directories(program: Option<&OsStr>) -> Vec<PathBuf> {
    let mut directories = vec![PathBuf::new()];
    directories.extend(std::env::home_dir());
    directories.extend(["/etc/reclass".into(), "/etc/kapicorp-reclass".into()]);
    directories.extend(program_directory(program));
    directories
}
