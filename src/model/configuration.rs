//! Reads options from a configuration file: a `reclass-config.yml`, or the `reclass` entry in the
//! configuration of a Salt master or minion.

mod salt;

use std::path::{Path, PathBuf};

use crate::storage::address::{refuse_address, without_scheme};
use crate::storage::fs;
use reclass_base::error::{Error, Fault, Kind, Result, Warning, article};
use reclass_base::settings::{FILE_NAMES, LARGEST_FILE, PROGRAM_SETTINGS, Settings, TABLE};
use reclass_base::source::Site;
use reclass_base::value::{Map, Value};
use reclass_yaml as yaml;
use reclass_yaml::compose::{Data, Document, Entry, Node, compose};

/// A configuration file.
#[derive(Debug)]
pub struct ConfigurationFile {
    /// Its path.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its parsed document.
    pub document: Document,
    /// Its options.
    pub options: Map,
    /// Whether the options are in the `reclass` entry of a Salt configuration.
    is_from_salt: bool,
}

impl ConfigurationFile {
    /// Parses a settings file; `None` if it is empty.
    pub fn parse(path: &str, bytes: Vec<u8>) -> Result<Option<ConfigurationFile>> {
        let fault = |message: String| fault(path, message);
        let text = String::from_utf8(bytes).map_err(|_| fault("it is not UTF-8".into()))?;
        let document = compose(text.as_bytes()).map_err(|error| {
            let first = error.first();
            let place = first.site.as_ref().map(|site| Site { path: path.into(), ..site.clone() });
            let (path, message) = (path.to_owned(), first.kind.to_string());
            let mut fault = Fault::new(Kind::ConfigFile { path, message, help: first.kind.help() });
            fault.site = place;
            Error::from(fault)
        })?;
        match document.root.as_ref().map_or(Value::Null, yaml::to_value) {
            Value::Map(map) if map.contains_key("config_file") => {
                Err(fault("it names another configuration file".into()).at_site(Site::file(path)).into())
            }
            Value::Map(map) => {
                let options = map.as_ref().clone();
                Ok(Some(ConfigurationFile {
                    path: path.to_owned(),
                    text,
                    document,
                    options,
                    is_from_salt: false,
                }))
            }
            Value::Null => Ok(None),
            value => {
                let found = value.type_name();
                let message = format!("it must be a mapping, not {}", article(found));
                let kind = Kind::ConfigFile {
                    path: path.to_owned(),
                    message,
                    help: Kind::NotAMapping { found }.help(),
                };
                let span = document.root.as_ref().and_then(|root| document.spans.get(root.index as usize));
                let site = span.map_or_else(|| Site::file(path), |span| Site::at(path, *span));
                Err(Fault::new(kind).at_site(site).into())
            }
        }
    }

    /// Reads a settings file; `None` if it is empty.
    pub fn read(path: &Path) -> Result<Option<ConfigurationFile>> {
        let name = fs::display(path);
        let read = fs::read(path, LARGEST_FILE).map_err(|error| match &error.first().kind {
            Kind::FileUnreadable { message, .. } => fault(&name, message.clone()),
            Kind::YamlLimit { .. } => fault(&name, format!("it has more than {LARGEST_FILE} bytes")),
            other => fault(&name, other.to_string()),
        });
        ConfigurationFile::parse(&name, read?.0)
    }

    /// Reads a configuration file of either kind that the user named. If its options do not name the folder
    /// of the inventory, that is the file's own folder, or Salt's default.
    pub fn named(path: &Path) -> Result<ConfigurationFile> {
        let path = fs::absolute(None, path).unwrap_or_else(|| path.to_owned());
        let read = ConfigurationFile::read(&path)?;
        ConfigurationFile::named_as(&path, read)
    }

    /// The same with another text, which somebody has not saved yet.
    pub fn named_with(path: &Path, text: String) -> Result<ConfigurationFile> {
        let read = ConfigurationFile::parse(&fs::display(path), text.into_bytes())?;
        ConfigurationFile::named_as(path, read)
    }

    fn named_as(path: &Path, read: Option<ConfigurationFile>) -> Result<ConfigurationFile> {
        if salt::is_salt_configuration(path, read.as_ref()) {
            return salt::read(path, read);
        }
        ConfigurationFile::of_settings(path, read)
    }

    /// A settings file whose options name the folder of the inventory.
    fn of_settings(path: &Path, read: Option<ConfigurationFile>) -> Result<ConfigurationFile> {
        let mut file = match read {
            Some(file) => file,
            None => ConfigurationFile {
                path: fs::display(path),
                text: String::new(),
                document: compose(b"")?,
                options: Map::default(),
                is_from_salt: false,
            },
        };
        file.options.insert("inventory_base_uri".into(), base_of(&file.options, path));
        Ok(file)
    }

    /// The entries of the document that set options.
    pub fn entries(&self) -> &[Entry] {
        let Some(Node { data: Data::Map(root), .. }) = &self.document.root else { return &[] };
        if self.is_from_salt { salt::entries(root) } else { root }
    }
}

fn fault(path: &str, message: String) -> Fault {
    Fault::new(Kind::ConfigFile { path: path.to_owned(), message, help: None })
}

/// The folder of the inventory for a settings file at this path. Relative paths begin at the file's folder.
fn base_of(options: &Map, path: &Path) -> Value {
    let folder = path.parent().unwrap_or(Path::new("/"));
    match options.get("inventory_base_uri") {
        Some(Value::Str(base)) => {
            let base = fs::absolute(folder.to_str(), Path::new(&**base));
            Value::text(base.map_or_else(|| fs::display(folder), |base| fs::display(&base)))
        }
        Some(Value::Null | Value::Bool(false)) | None => Value::text(fs::display(folder)),
        Some(other) => other.clone(),
    }
}

/// Adds the options of the file in `config_file`. Options in `options` override them.
pub fn with_file(options: &Map) -> Result<Map> {
    let Some(Value::Str(path)) = options.get("config_file") else { return Ok(options.clone()) };
    refuse_address("config_file", path, "a file")?;
    let mut all = ConfigurationFile::named(Path::new(&**path))?.options;
    all.extend(options.clone());
    Ok(all)
}

/// A warning if the folder of the inventory contains a configuration file that is not in use and has other
/// settings.
pub fn unread_file(options: &Map, settings: &Settings) -> Option<Warning> {
    if &*settings.storage_type != "yaml_fs" {
        return None;
    }
    let base = settings.inventory_base_uri.as_deref().unwrap_or(".");
    let base = fs::absolute(None, Path::new(without_scheme(base)))?;
    let path = FILE_NAMES.iter().map(|name| base.join(name)).find(|path| path.is_file());
    let mut paths: Vec<PathBuf> =
        fs::names(&base).iter().filter(|name| is_meant(name)).map(|name| base.join(name)).collect();
    paths.sort_unstable();
    path.into_iter().chain(paths).find_map(|path| unread(&path, &base, options, settings))
}

/// Whether a name is nearly that of a configuration file: `reclass-config.yaml`, `reclass.yml`, `reclass_config.yml`.
fn is_meant(name: &str) -> bool {
    let end = name.rsplit_once('.').filter(|(_, end)| ["yml", "yaml"].contains(end));
    let word: String = end.map_or("", |(begin, _)| begin).chars().filter(|c| !"-_.".contains(*c)).collect();
    ["reclass", "reclassconfig", "reclassconf", "kapicorpreclassconfig"].contains(&&*word)
        && !FILE_NAMES.contains(&name)
}

/// The warning for one of these files.
fn unread(path: &Path, base: &Path, options: &Map, settings: &Settings) -> Option<Warning> {
    let used = settings.config_file.as_deref().and_then(|used| fs::absolute(None, Path::new(used)));
    if used.is_some_and(|used| fs::real(&used) == fs::real(path)) {
        return None;
    }
    // An unusable file sets nothing that could be missed.
    let file = ConfigurationFile::read(path).ok()??;
    let names: Vec<&str> = TABLE
        .iter()
        .filter(|row| !PROGRAM_SETTINGS.contains(&row.name))
        .filter_map(|row| {
            let spellings = || std::iter::once(&row.name).chain(row.aliases).copied();
            let value = spellings().find_map(|name| file.options.get(name))?;
            let rest = options.iter().filter(|(key, _)| !spellings().any(|name| key.as_str() == Some(name)));
            let mut options: Map = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
            options.insert(row.name.into(), value.clone());
            let (other, _) = Settings::from_options(&options).ok()?;
            (!same(row.name, settings, &other, base)).then_some(row.name)
        })
        .collect();
    let kind = Kind::ConfigurationUnread { path: fs::display(path), names: names.join(", ") };
    (!names.is_empty()).then(|| Warning::new(kind))
}

/// Whether a setting has the same effect in both. The paths of `other` begin at `base`.
fn same(name: &str, one: &Settings, other: &Settings, base: &Path) -> bool {
    let folders = |settings: &Settings, base: Option<&str>| -> Option<Vec<PathBuf>> {
        let uri = if name == "nodes_uri" { &settings.nodes_uri } else { &settings.classes_uri };
        fs::roots(base, uri, "nodes_uri").ok()
    };
    match name {
        // It only names the folder of the file.
        "inventory_base_uri" => true,
        "nodes_uri" | "classes_uri" => {
            folders(one, one.inventory_base_uri.as_deref()) == folders(other, base.to_str())
        }
        _ => one == other,
    }
}
