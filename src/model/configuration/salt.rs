//! Reads the options of reclass from the configuration of a Salt master or minion and the files that it
//! includes, with Salt's rules.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{ConfigurationFile, fault};
use crate::storage::fs;
use reclass_base::error::{Result, article};
use reclass_base::pattern::Glob;
use reclass_base::stack::grow;
use reclass_base::value::{Map, Value};
use reclass_yaml::compose::{Data, Entry};

/// The most included files, and the deepest inclusion. Salt has no limit.
const MAX_FILES: usize = 1_000;
const MAX_DEPTH: usize = 16;

/// Salt's default of `file_roots`.
const DEFAULT_FILE_ROOT: &str = "/srv/salt";

/// Whether a file is a Salt configuration, by its content or its name.
pub(super) fn is_salt_configuration(path: &Path, file: Option<&ConfigurationFile>) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let has_salt_keys = |file: &ConfigurationFile| {
        ["ext_pillar", "master_tops"].iter().any(|key| file.options.contains_key(*key))
    };
    file.is_some_and(has_salt_keys) || matches!(name, Some("master" | "minion"))
}

/// Reads the `reclass` entry of `ext_pillar`, or of `master_tops` if only that has one.
pub(super) fn read(path: &Path, file: Option<ConfigurationFile>) -> Result<ConfigurationFile> {
    let mut included = IncludeReader { files: Vec::new(), depth: 0 };
    let mut all = file.as_ref().map(|file| file.options.clone()).unwrap_or_default();
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| *name == "minion");
    let default = Value::text(format!("{}.d/*.conf", name.unwrap_or("master")));
    let [default, more] = [("default_include", default), ("include", Value::Null)]
        .map(|(key, otherwise)| all.get(key).cloned().unwrap_or(otherwise));
    for include in [default, more] {
        // As in Salt: included files merge with each other, then replace keys of the main file.
        all.extend(included.read(&include, path)?);
    }
    let Some(entry) = entry(&all) else {
        let message = "neither ext_pillar nor master_tops has 'reclass'".into();
        return Err(fault(&fs::display(path), message).into());
    };
    let mut options = match entry {
        Value::Map(map) => map.as_ref().clone(),
        Value::Null => Map::default(),
        other => {
            let given = article(other.type_name());
            let message = format!("the options of 'reclass' must be a mapping, not {given}");
            return Err(fault(&fs::display(path), message).into());
        }
    };
    if let Some(Value::Str(named)) = options.get("config_file") {
        let named = fs::absolute(None, Path::new(&**named)).unwrap_or_default();
        let mut all = ConfigurationFile::of_settings(&named, ConfigurationFile::read(&named)?)?.options;
        all.extend(options);
        options = all;
    }
    if !options.contains_key("inventory_base_uri") {
        options.insert("inventory_base_uri".into(), root(&all));
    }
    // The last file with the entry; diagnostics about options point there.
    let files = included.files.into_iter().rev().chain(file);
    let mut files = files.filter(|file| self::entry(&file.options).is_some());
    let file = files.next();
    let file = file.ok_or_else(|| fault(&fs::display(path), "its 'reclass' entry is gone".into()))?;
    Ok(ConfigurationFile { options, is_from_salt: true, ..file })
}

/// The first `reclass` entry of `ext_pillar`, or the one of `master_tops`.
fn entry(all: &Map) -> Option<&Value> {
    let of = |value: &'_ Value| matches!(value, Value::Map(map) if map.contains_key("reclass"));
    let pillar = match all.get("ext_pillar") {
        Some(Value::List(items)) => items.iter().find(|item| of(item)),
        _ => None,
    };
    let Value::Map(map) = pillar.or_else(|| all.get("master_tops"))? else { return None };
    map.get("reclass")
}

/// The same entry in the document, with positions.
pub(super) fn entries(root: &[Entry]) -> &[Entry] {
    fn under<'d>(entries: &'d [Entry], key: &str) -> Option<&'d Data> {
        entries.iter().rfind(|entry| entry.key.as_str() == Some(key)).map(|entry| &entry.value.data)
    }
    let of = |data: &'_ Data| matches!(data, Data::Map(entries) if under(entries, "reclass").is_some());
    let pillar = match under(root, "ext_pillar") {
        Some(Data::List(items)) => items.iter().map(|item| &item.data).find(|data| of(data)),
        _ => None,
    };
    let Some(Data::Map(map)) = pillar.or_else(|| under(root, "master_tops")) else { return &[] };
    match under(map, "reclass") {
        Some(Data::Map(options)) => options,
        _ => &[],
    }
}

/// The folder of the inventory if no option names it: the first `base` folder of `file_roots`.
fn root(all: &Map) -> Value {
    let base = match all.get("file_roots") {
        Some(Value::Map(roots)) => roots.get("base"),
        _ => return Value::text(DEFAULT_FILE_ROOT),
    };
    match base {
        Some(Value::List(folders)) => match folders.first() {
            Some(Value::Str(folder)) => {
                let found = matching(Path::new(&**folder));
                found
                    .first()
                    .map_or_else(|| Value::Str(folder.clone()), |path| Value::text(fs::display(path)))
            }
            _ => Value::text(DEFAULT_FILE_ROOT),
        },
        _ => Value::text(DEFAULT_FILE_ROOT),
    }
}

struct IncludeReader {
    files: Vec<ConfigurationFile>,
    depth: usize,
}

impl IncludeReader {
    /// The merged options of the files that `include` names.
    fn read(&mut self, include: &Value, from: &Path) -> Result<Map> {
        let mut all = Map::default();
        let patterns = match include {
            Value::List(items) => items.iter().filter_map(Value::as_str).collect(),
            Value::Str(pattern) => vec![&**pattern],
            _ => Vec::new(),
        };
        let folder = from.parent().unwrap_or(Path::new("/"));
        for pattern in patterns {
            let pattern = fs::absolute(folder.to_str(), Path::new(pattern));
            for path in pattern.map(|pattern| matching(&pattern)).unwrap_or_default() {
                let Some(file) = ConfigurationFile::read(&path)? else { continue };
                if self.files.len() >= MAX_FILES || self.depth >= MAX_DEPTH {
                    let message = format!("it includes more than {MAX_FILES} files, or {MAX_DEPTH} in a row");
                    return Err(fault(&fs::display(from), message).into());
                }
                let mut options = file.options.clone();
                self.files.push(file);
                if let Some(further) = options.get("include").cloned() {
                    self.depth += 1;
                    options.extend(self.read(&further, &path)?);
                    self.depth -= 1;
                }
                merge(&mut all, options);
            }
        }
        Ok(all)
    }
}

/// Merges with Salt's rules: mappings by key, and lists by appending new items.
fn merge(into: &mut Map, from: Map) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Map(there)), Value::Map(more)) => {
                let mut map = there.as_ref().clone();
                grow(|| merge(&mut map, more.as_ref().clone()));
                *there = std::sync::Arc::new(map);
            }
            (Some(Value::List(there)), Value::List(more)) => {
                let new = more.iter().filter(|item| !there.contains(item)).cloned();
                let items: Vec<Value> = there.iter().cloned().chain(new).collect();
                *there = std::sync::Arc::new(items);
            }
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

/// The paths that match a path with globs, sorted. As in a shell, a glob does not match a leading dot.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let mut found = BTreeSet::from([PathBuf::new()]);
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        found = if text.contains(['*', '?', '[']) {
            let glob = Glob::new(&text);
            let fits = |name: &str| glob.matches(name) && (!name.starts_with('.') || text.starts_with('.'));
            let names = |folder: &PathBuf| {
                let names = fs::names(folder).into_iter().filter(|name| fits(name));
                names.map(|name| folder.join(name)).collect::<Vec<_>>()
            };
            found.iter().flat_map(names).collect()
        } else {
            found.into_iter().map(|folder| folder.join(part)).filter(|path| path.exists()).collect()
        };
    }
    found.into_iter().collect()
}
