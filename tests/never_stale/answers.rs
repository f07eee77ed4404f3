//! All that an inventory answers, as one text, errors included.

use std::fmt::Write as _;
use std::path::Path;

use reclass::engine::{Inventory, Request, inventory_value};
use reclass::error::Result;
use reclass::json::dumps;
use reclass::value::{Map, Value};

/// The settings; a cautious inventory is right without classes that are missing.
pub fn options(base: &Path, cache: &str, cautious: bool) -> Map {
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    options.insert("cache".into(), Value::text(cache));
    options.insert("ignore_class_notfound".into(), Value::Bool(cautious));
    options
}

/// Every answer: for each node, and for all at once.
pub fn answers(inventory: &Inventory) -> String {
    let mut out = String::new();
    let mut tell = |what: &str, answer: Result<Value>| match answer {
        Ok(value) => writeln!(out, "{what}: {}", dumps(&value, false).unwrap()).unwrap(),
        Err(error) => writeln!(out, "{what}: {error}").unwrap(),
    };
    match inventory.nodes() {
        Ok(nodes) => {
            for node in nodes {
                let info = inventory.nodeinfo(&node, &Request::default());
                tell(&node, info.map(|info| info.to_value("")));
            }
        }
        Err(error) => tell("nodes", Err(error)),
    }
    tell("inventory", inventory.inventory().map(|nodes| inventory_value(&nodes, "")));
    out
}
