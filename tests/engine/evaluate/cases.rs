//! Inventories that once were answered wrongly: `tests/engine/evaluate/cases/<name>/` holds nodes, classes,
//! `settings.json` where there are any, and `expected.json`, which gives for each node the parts
//! of its answer that matter, or the code of its error; `expected.yml` where the types of keys matter.

use std::path::Path;

use reclass::json;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use serde_json::Value as Json;

#[test]
fn cases_are_answered_as_expected() {
    let folder = Path::new(support::ROOT).join("tests/engine/evaluate/cases");
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let wrong: Vec<String> = cases.iter().flat_map(|case| differences(case)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn differences(case: &Path) -> Vec<String> {
    let mut options = match std::fs::read_to_string(case.join("settings.json")) {
        Ok(text) => match reclass_yaml::parse_value(&text).unwrap() {
            Value::Map(map) => (*map).clone(),
            other => panic!("{} has settings that are a {}", case.display(), other.type_name()),
        },
        Err(_) => Map::default(),
    };
    options.insert("inventory_base_uri".into(), Value::text(case.to_str().unwrap()));
    let inventory = Inventory::open(&options).unwrap();
    if let Ok(expected) = std::fs::read_to_string(case.join("expected.yml")) {
        return typed_differences(case, &inventory, &expected);
    }
    let expected = std::fs::read_to_string(case.join("expected.json")).unwrap();
    let expected: serde_json::Map<String, Json> = serde_json::from_str(&expected).unwrap();
    let mut wrong = Vec::new();
    for (node, expected) in &expected {
        let answer = match inventory.nodeinfo(node, &Request::default()) {
            Ok(info) => {
                let text = json::dumps(&info.to_value(""), false);
                let mut answer: serde_json::Map<String, Json> = serde_json::from_str(&text).unwrap();
                answer.retain(|part, _| expected.get(part).is_some());
                Json::Object(answer)
            }
            Err(error) => serde_json::json!({ "error": error.first().code() }),
        };
        if answer != *expected {
            wrong.push(format!("{}: {node}: {answer}\nnot {expected}", case.display()));
        }
    }
    wrong
}

fn typed_differences(case: &Path, inventory: &Inventory, expected: &str) -> Vec<String> {
    let Value::Map(expected) = reclass_yaml::parse_value(expected).unwrap() else { panic!() };
    let mut wrong = Vec::new();
    for (node, expected) in expected.iter() {
        let name = node.as_str().unwrap();
        let mut answer = Map::default();
        match inventory.nodeinfo(name, &Request::default()) {
            Ok(info) => answer.insert("parameters".into(), info.parameters.clone()),
            Err(error) => answer.insert("error".into(), Value::text(error.first().code())),
        };
        let answer = Value::map(answer);
        if answer != *expected {
            wrong.push(format!("{}: {name}: {answer:?}\nnot {expected:?}", case.display()));
        }
    }
    wrong
}
