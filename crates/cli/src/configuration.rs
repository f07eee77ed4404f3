//! Reads the first configuration file found, and keeps the place of each option.
//!
//! The search order is that of the Python programs: the current directory, the home directory,
//! `/etc/reclass`, the directory of the program. The file is `reclass-config.yml`. The name that
//! kapicorp-reclass uses counts if `reclass-config.yml` does not exist there (ruling S20), and so does its
//! directory in `/etc`.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use reclass::configuration::ConfigurationFile;
use reclass::error::{Error, Fault, Kind, Result, Warning};
use reclass::formats::{Data, Entry, Node};
use reclass::parts::engine::files::duplicate_keys;
use reclass::parts::storage::fs::{display, roots};
use reclass::pystr;
use reclass::settings::{FILE_NAMES, Settings, TABLE};
use reclass::source::{FileId, Site};
use reclass::value::{Key, Map, Value};
use reclass_analysis::diff::SettingsFile;
use reclass_analysis::lint::OptionsFile;
use reclass_lsp::{FoundInventory, Texts};

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
    /// The number of missing files beside which another one was looked for.
    looked_for: AtomicUsize,
}

/// The most missing nodes and classes of a command for which a file with another ending or in another place is named:
/// each costs a look at all names in its folder.
const MOST_LOOKED_FOR: usize = 100;

/// The YAML nodes of a settings file. The index finds each of thousands of bad patterns directly.
#[derive(Default)]
struct Places {
    /// The keys of the settings, and their values.
    settings: HashMap<String, (u32, u32)>,
    /// The first occurrence of each key and text in a setting, by the node of the setting's key.
    parts: HashMap<(u32, String), u32>,
}

impl Places {
    fn of(entries: &[Entry]) -> Places {
        let mut places = Places::default();
        for entry in entries {
            let Some(name) = entry.key.as_str() else { continue };
            let place = (entry.key_index, entry.value.index);
            places.settings.entry(name.to_owned()).or_insert(place);
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
    fn in_folder(folder: &Path, texts: &Texts<'_>) -> Result<Configuration> {
        let options = Map::from_iter([("inventory_base_uri".into(), Value::text(display(folder)))]);
        let base = Configuration { options, ..Configuration::default() };
        let found = match settings_file(folder, texts) {
            Some(path) => {
                let file = match texts(&path) {
                    Some(text) => ConfigurationFile::named_with(&path, text)?,
                    None => ConfigurationFile::named(&path)?,
                };
                Configuration { named: true, ..Configuration::of(Some(file)) }
            }
            None => base,
        };
        Ok(Configuration { around: Some(folder.to_owned()), ..found })
    }

    /// The same; or the inventory around the current folder, if nothing names one and there is no default
    /// inventory. With a command, the variable counts before files that were found, because somebody set it. A path
    /// that the command line asks about counts before the current folder.
    pub fn or_around(self, is_command: bool, path: Option<&Path>) -> Configuration {
        let is_found = self.names_an_inventory() || self.has_nodes(DEFAULT);
        let folder = if is_found { named_by_variable().filter(|_| is_command) } else { around(path) };
        let Some(folder) = folder else { return self };
        let mut found = Configuration::in_folder(&folder, &|_| None).unwrap_or_else(Configuration::unread);
        if found.file.is_none() && found.unread.is_none() && !is_found {
            // The file that names no inventory is the only one with settings.
            let base = std::mem::replace(&mut found.options, self.options);
            found.options.extend(base);
            found.file = self.file;
        }
        found
    }

    /// Whether the file names an inventory. One beside the nodes need not, because from the folders below its own
    /// folder is the inventory too. One in the current folder without nodes has the default.
    fn names_an_inventory(&self) -> bool {
        let is_here = |file: &ConfigurationFile| Path::new(&file.path).parent() == Some(Path::new(""));
        let sets = |name: &&str| self.options.contains_key(*name);
        match &self.file {
            Some(file) if is_here(file) => sets(&"inventory_base_uri") || !self.has_nodes("."),
            Some(_) => ["inventory_base_uri", "nodes_uri", "classes_uri"].iter().any(sets),
            None => self.unread.is_some(),
        }
    }

    /// Whether the folder of the nodes exists in an inventory at this place.
    fn has_nodes(&self, base: &str) -> bool {
        let standard = Value::text("nodes");
        let uri = self.options.get("nodes_uri").unwrap_or(&standard);
        roots(Some(base), uri, "nodes_uri").is_ok_and(|roots| roots.iter().any(|root| root.is_dir()))
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
        let mut fault = self.with_other_file(fault);
        if fault.site.is_some() {
            return fault;
        }
        // The folder of the nodes in an inventory of Kapitan.
        if let (Kind::DirectoryNotFound { path, .. }, Some(("nodes_uri", _))) = (&fault.kind, fault.setting())
            && Path::new(path).with_file_name("targets").is_dir()
        {
            if let Kind::DirectoryNotFound { message, .. } = &mut fault.kind {
                // The help for it is the note below.
                "it does not exist".clone_into(message);
            }
            let text = "this looks like an inventory of Kapitan: '-u targets', or 'nodes_uri: targets' in reclass-config.yml";
            fault = fault.note(text, None);
        }
        let Some((name, part)) = fault.setting() else { return fault };
        let part = part.map(str::to_owned);
        // If a folder setting is missing, other settings decide where the folder is.
        let settings: &[&str] = match name {
            // It is the kind of storage that does not go with the folder.
            "nodes_uri" | "classes_uri" if matches!(fault.kind, Kind::SettingType { .. }) => {
                &[name, "storage_type"]
            }
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
            let site = self.site(&names, part.as_deref(), &fault.kind);
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
            None if self.around.is_some() && self.around == named_by_variable() => {
                "RECLASS_BASE names it".to_owned()
            }
            None if self.around.is_some() => "it belongs to the inventory that was found".to_owned(),
            Some(file) => {
                let is_beside = Path::new(&file.path).with_file_name("nodes").is_dir();
                let way = if is_beside { "; 'inventory_base_uri: .' in it names its own folder" } else { "" };
                format!("neither the command line nor '{}' names it: it is the default{way}", file.path)
            }
            None => {
                if let Some(found) = beside_the_default() {
                    fault = fault.note(found, None);
                }
                let base = self.defaults.get("inventory_base_uri").and_then(Value::as_str);
                if base == Some(DEFAULT) {
                    "no option and no settings file names it: it is the default".to_owned()
                } else {
                    let unread = environment("RECLASS_BASE")
                        .map_or("", |_| "; this program does not read RECLASS_BASE");
                    format!(
                        "no option and no settings file names it, so it is the folder of the program: '-b DIR' names another{unread}"
                    )
                }
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

    /// One of the first nodes or classes without a file, with a note if there is one that another ending or place hides.
    fn with_other_file(&self, fault: Fault) -> Fault {
        let is_missing = matches!(fault.kind, Kind::ClassNotFound { .. } | Kind::NodeNotFound { .. });
        let is_looked_for = is_missing && self.looked_for.fetch_add(1, Ordering::Relaxed) < MOST_LOOKED_FOR;
        if is_looked_for { with_other_file(fault) } else { fault }
    }

    /// An error with the places of its settings.
    pub fn placed_all(&self, error: Error) -> Error {
        let faults = error.into_faults();
        if self.is_nowhere() && faults.iter().all(is_of_the_default) {
            return Configuration::nowhere();
        }
        Error::new(faults.into_iter().map(|fault| self.placed(fault)).collect())
    }

    /// Whether there is no inventory: no file and no option names one, and none is around the current folder.
    pub fn is_nowhere(&self) -> bool {
        let nothing = self.file.is_none() && self.unread.is_none() && self.around.is_none();
        nothing && self.overruled.is_empty() && !self.has_nodes(DEFAULT)
    }

    /// The error if there is no inventory.
    pub fn nowhere() -> Error {
        let message = format!("no inventory in this folder or above, and none in '{DEFAULT}'");
        let fault = Fault::new(Kind::DirectoryNotFound { path: String::new(), message, similar: None });
        beside_the_default().into_iter().fold(fault, |fault, text| fault.note(text, None)).into()
    }

    /// The place of a setting: a part of its value, a wrong value as a whole, or else the name.
    fn site(&self, names: &[&str], part: Option<&str>, kind: &Kind) -> Option<Site> {
        let file = self.file.as_ref()?;
        let ConfigurationFile { path, document, text, .. } = file;
        let places = self.places.get_or_init(|| Places::of(file.entries()));
        let (setting, value) = names.iter().filter_map(|name| places.settings.get(*name)).min()?;
        let part = part.and_then(|part| places.parts.get(&(*setting, part.to_owned())));
        let is_value =
            matches!(kind, Kind::SettingOdd { .. } | Kind::SettingType { .. } | Kind::SettingValue { .. });
        let span = |index: &u32| document.spans.get(*index as usize).copied();
        // No value has no place.
        let value = span(value).filter(|span| is_value && span.start < span.end);
        let span = part.and_then(span).or(value).or_else(|| span(setting))?;
        let written = text.get(span.start as usize..span.end as usize)?;
        let length = written.lines().next().map_or(0, |line| line.chars().count());
        Some(Site { length: u32::try_from(length).unwrap_or(0), ..Site::at(path.as_str(), span) })
    }
}

/// A node or class without a file, with a note if there is one that another ending or place hides.
fn with_other_file(fault: Fault) -> Fault {
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
    let found = match folder::named_otherwise(folder, name, is_node) {
        Some(file) => format!("'{}' does not end in .yml or .yaml", display(&file)),
        None if is_node => return fault,
        None if path.is_dir() => format!("'{}' is a folder without init.yml", display(&path)),
        None => match outside(&fault) {
            Some(file) => format!("'{}' is not in the folder of the classes", display(&file)),
            None => return fault,
        },
    };
    fault.note(found, None)
}

/// The file that a missing class would have, beside the folder of the classes, or in another folder beside it.
fn outside(fault: &Fault) -> Option<PathBuf> {
    let Kind::ClassNotFound { name, folder, .. } = &fault.kind else { return None };
    let classes = Path::new(folder);
    let base = classes.parent().filter(|_| classes.is_dir())?;
    let file = format!("{}.yml", name.replace('.', "/"));
    let is_it = |folder: &Path| {
        let file = folder.join(&file);
        !file.starts_with(classes) && file.is_file()
    };
    let place = if is_it(base) { base.to_path_buf() } else { folder::below(base, 1, &is_it)? };
    Some(place.join(file))
}

fn is_folder_missing(fault: &Fault) -> bool {
    matches!(fault.kind, Kind::DirectoryNotFound { .. })
}

/// Whether an error says that the default inventory does not exist.
fn is_of_the_default(fault: &Fault) -> bool {
    match &fault.kind {
        Kind::DirectoryNotFound { path, .. } | Kind::FileUnreadable { path, .. } => {
            Path::new(path).starts_with(DEFAULT)
        }
        Kind::Revision { message, .. } => message.starts_with("not a git repository"),
        _ => false,
    }
}

impl OptionsFile for Configuration {
    fn noticed(&self, settings: &[Warning]) -> Vec<Warning> {
        Configuration::noticed(self, settings)
    }

    fn text(&self, path: &str) -> Option<String> {
        self.file.as_ref().filter(|file| file.path == path).map(|file| file.text.clone())
    }

    fn placed(&self, fault: Fault) -> Fault {
        Configuration::placed(self, fault)
    }
}

/// The folder of the default inventory.
pub const DEFAULT: &str = "/etc/reclass";

/// What looks like an inventory in the current folder, as a sentence, if the default is used all the same.
fn beside_the_default() -> Option<String> {
    let is_here = |name: &str| Path::new(name).is_dir();
    Some(match (is_here("nodes"), is_here("classes"), is_here("targets")) {
        (true, false, _) => "'nodes' is here, but not 'classes': an inventory has both folders".to_owned(),
        (false, true, true) => {
            "this looks like an inventory of Kapitan: '-b . -u targets', or 'nodes_uri: targets' in reclass-config.yml".to_owned()
        }
        (false, true, false) => {
            "'classes' is here, but not 'nodes': an inventory has both folders".to_owned()
        }
        _ => format!(
            "'{0}' is an inventory: -b {0}",
            display(&folder::below(Path::new("."), 1, &|folder| is_inventory(folder, &|_| None))?)
        ),
    })
}

/// The inventory that the variable names, or else the nearest one around a path or below it, or around the current
/// folder.
fn around(path: Option<&Path>) -> Option<PathBuf> {
    let of_path = |path: &Path| {
        inventory_above(path, &|_| None)
            .or_else(|| folder::below(path, 3, &|one| is_inventory(one, &|_| None)))
    };
    named_by_variable()
        .or_else(|| path.and_then(of_path))
        .or_else(|| inventory_above(&current_folder()?, &|_| None))
}

fn named_by_variable() -> Option<PathBuf> {
    environment("RECLASS_BASE").and_then(|base| std::path::absolute(base).ok())
}

/// The nearest inventory around a folder. The search ends at the top of a repository and at the home folder.
fn inventory_above(folder: &Path, texts: &Texts<'_>) -> Option<PathBuf> {
    let home = std::env::home_dir();
    let last = [folder::work_tree(folder), home.as_deref()];
    for folder in folder.ancestors() {
        if is_inventory(folder, texts) {
            return Some(folder.to_path_buf());
        }
        if last.contains(&Some(folder)) {
            break;
        }
    }
    None
}

fn is_inventory(folder: &Path, texts: &Texts<'_>) -> bool {
    settings_file(folder, texts).is_some()
        || ["nodes", "classes"].iter().all(|name| folder.join(name).is_dir())
}

/// The inventory that the files of a folder belong to, for an editor: as for programs, or else one in the folder,
/// up to three folders deep. The text of a settings file that is open counts.
pub fn of_folder(folder: &Path, texts: &Texts<'_>) -> Option<Result<FoundInventory>> {
    let found = named_by_variable().or_else(|| inventory_above(folder, texts));
    let folder = found.or_else(|| folder::below(folder, 3, &|folder| is_inventory(folder, texts)))?;
    Some(Configuration::in_folder(&folder, texts).map(|configuration| {
        let mut options = configuration.options.clone();
        if let Some(file) = &configuration.file {
            // Its text on disk is not one that is left unread.
            options.insert("config_file".into(), Value::text(file.path.as_str()));
        }
        FoundInventory { folder, options, file: Arc::new(configuration) }
    }))
}

/// The settings file of a folder. One without settings is none.
fn settings_file(folder: &Path, texts: &Texts<'_>) -> Option<PathBuf> {
    let mut paths = FILE_NAMES.map(|name| folder.join(name)).into_iter();
    let path = paths.find(|path| path.is_file() || texts(path).is_some())?;
    let read = texts(&path).map_or_else(
        || ConfigurationFile::read(&path),
        |text| ConfigurationFile::parse(&display(&path), text.into_bytes()),
    );
    (!matches!(read, Ok(None))).then_some(path)
}

/// Reads the configuration file for a program called as `program`. Without a file there are no options. An entry
/// with the right name that is not a file is an error, because the intended settings would be missing otherwise.
pub fn read(program: Option<&OsStr>) -> Result<Configuration> {
    let found = directories(program)
        .into_iter()
        .flat_map(|directory| FILE_NAMES.map(|name| directory.join(name)))
        .find(|path| path.symlink_metadata().is_ok());
    let Some(path) = found else { return Ok(Configuration::default()) };
    let Some(file) = ConfigurationFile::read(&path)? else { return Ok(Configuration::default()) };
    let mut configuration = Configuration::of(Some(file));
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
