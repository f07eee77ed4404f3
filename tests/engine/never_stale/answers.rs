//! All that an inventory answers, as one text, errors included.

use std::fmt::Write as _;
use std::path::Path;

use reclass::error::Result;
use reclass::json::dumps;
use reclass::parts::engine::Computation;
use reclass::report::to_json_line;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request, inventory_value};
use reclass_analysis::explain::{Selection, explain};
use reclass_analysis::list;

/// The settings; a cautious inventory is right without classes that are missing.
pub fn options(base: &Path, cache: &str, cautious: bool) -> Map {
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    options.insert("cache".into(), Value::text(cache));
    options.insert("ignore_class_notfound".into(), Value::Bool(cautious));
    options
}

/// Every answer: for each node, for all at once, and for questions about the whole.
pub fn answers(inventory: &Inventory) -> String {
    let mut out = String::new();
    let mut tell = |what: &str, answer: Result<Value>| match answer {
        Ok(value) => writeln!(out, "{what}: {}", dumps(&value, false)).unwrap(),
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
    let names = |computation: &Computation<'_>| {
        Value::list(computation.catalog.nodes.keys().cloned().map(Value::Str).collect())
    };
    tell("names", inventory.inspect(names));
    let classes = list::classes(inventory, &[], &list::NodeFilter::default(), false);
    tell("classes", classes.map(|rows| Value::text(to_json_line(&rows.rows))));
    let selection = Selection::default();
    let explained = explain(inventory, "n0", &Request::default(), &selection);
    tell("explained", explained.map(|explained| Value::text(to_json_line(&explained))));
    out
}
