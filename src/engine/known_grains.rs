//! Grains by node, from the setting `known_grains`: for questions about many nodes, and for programs, which no
//! minion asks.

use std::path::Path;

use rustc_hash::FxHashMap;

use crate::storage::fs::{display, entries, read};
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::settings::Settings;
use reclass_base::value::{Map, Text, Value};
use reclass_yaml::parse_value;

/// The known grains of nodes.
#[derive(Default, Debug)]
pub struct KnownGrains {
    by_node: FxHashMap<Text, Value>,
    /// Grains without the name of a node. They count for every node.
    all: Option<Value>,
}

impl KnownGrains {
    /// The grains that the setting has, or that the files have which it names. Files are read now and not
    /// again.
    pub fn of(settings: &Settings) -> Result<KnownGrains> {
        let mut known = KnownGrains::default();
        match &settings.known_grains {
            Value::Null => {}
            Value::Map(map) => known.add(map.clone()),
            Value::Str(path) if Path::new(&**path).is_dir() => {
                known.add_folder(Path::new(&**path), settings)?;
            }
            Value::Str(path) => known.add(mapping(Path::new(&**path), settings)?),
            other => {
                let expected = "a mapping or a path".to_owned();
                let actual = other.type_name().to_owned();
                return Err(
                    Fault::new(Kind::SettingType { name: "known_grains".into(), expected, actual }).into()
                );
            }
        }
        Ok(known)
    }

    /// The grains of a node.
    pub fn get(&self, node: &str) -> Option<&Value> {
        self.by_node.get(node).or(self.all.as_ref())
    }

    /// Adds grains: those of the minion whose `id` is among them, those of each node if all entries are
    /// mappings, or else those of any node.
    fn add(&mut self, map: std::sync::Arc<Map>) {
        if let Some(Value::Str(id)) = map.get("id") {
            self.by_node.insert(id.clone(), Value::Map(map.clone()));
        } else if map.values().all(|value| matches!(value, Value::Map(_))) {
            for (name, grains) in map.iter() {
                // As `salt-call grains.items --out json` prints them.
                let id = grains.as_map().and_then(|grains| grains.get("id")).and_then(Value::as_str);
                let name = id.filter(|_| name.as_str() == Some("local")).or(name.as_str());
                if let Some(name) = name {
                    self.by_node.insert(name.into(), grains.clone());
                }
            }
        } else {
            self.all = Some(Value::Map(map));
        }
    }

    /// Adds one file for each node: its name is that of the node, with `.yml`, `.yaml` or `.json`.
    fn add_folder(&mut self, folder: &Path, settings: &Settings) -> Result<()> {
        for path in entries(folder).map_err(|error| unusable(folder, &error.to_string()))? {
            let extension = path.extension().and_then(|extension| extension.to_str());
            let (Some("yml" | "yaml" | "json"), Some(name)) =
                (extension, path.file_stem().and_then(|name| name.to_str()))
            else {
                continue;
            };
            self.by_node.insert(name.into(), Value::Map(mapping(&path, settings)?));
        }
        Ok(())
    }
}

/// The mapping in a file of YAML or JSON.
fn mapping(path: &Path, settings: &Settings) -> Result<std::sync::Arc<Map>> {
    let (bytes, _) = read(path, settings.max_file_bytes())?;
    let text = String::from_utf8(bytes).map_err(|_| unusable(path, "it is not UTF-8"))?;
    match parse_value(&text).map_err(|error| unusable(path, &error.first().kind.to_string()))? {
        Value::Map(map) => Ok(map),
        _ => Err(unusable(path, "it is no mapping")),
    }
}

fn unusable(path: &Path, message: &str) -> Error {
    let fault = Fault::new(Kind::FileUnreadable { path: display(path), message: message.to_owned() });
    Fault { setting: Some(("known_grains", display(path).into())), ..fault }.into()
}
