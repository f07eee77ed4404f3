//! The settings of a generated inventory, as the options of ours.

use std::path::Path;

use reclass::value::{Map, Value};

use crate::inventory::Inventory;

/// The options of an inventory that was written into a folder.
pub fn options(root: &Path, generated: &Inventory, cache: &str) -> Map {
    let settings = serde_json::to_string(&generated.settings).unwrap();
    let settings = reclass_yaml::parse_value(&settings).unwrap();
    let mut options = settings.as_map().cloned().unwrap_or_default();
    options.insert("inventory_base_uri".into(), Value::text(root.to_str().unwrap()));
    options.insert("cache".into(), Value::text(cache));
    // Nobody else writes the files.
    options.insert("settle_time".into(), Value::Int(0));
    options
}
