//! Answers of the conformance corpus turn into questions: every path of a node's parameters and exports
//! is explained, with the value at that path, and with a place.
//!
//! Of large nodes a part of the paths is checked.

use support::answer;
use support::corpus;

use std::collections::HashMap;

use reclass::value::{Key, Value};
use reclass::{Inventory, Request};
use reclass_analysis::explain::{Selection, ValueTrace, explain};
use reclass_base::path::{join_path, split_path};

/// How many nodes of one inventory are looked at, and how many paths of one node.
const MOST: (usize, usize) = (3, 240);

/// All paths of a value, those of containers too.
fn paths(value: &Value, path: &mut Vec<Key>, all: &mut Vec<(Vec<Key>, Value)>) {
    let mut inside = |key: Key, value: &Value| {
        path.push(key);
        all.push((path.clone(), value.clone()));
        paths(value, path, all);
        path.pop();
    };
    match value {
        Value::Map(map) => map.iter().for_each(|(key, value)| inside(key.clone(), value)),
        Value::List(items) | Value::Tuple(items) => {
            (0i64..).zip(items.iter()).for_each(|(at, item)| inside(Key(Value::Int(at)), item));
        }
        _ => {}
    }
}

/// Whether a path can be asked for: the notation has no word for a backslash before a delimiter, and `**`
/// is any number of keys.
fn can_be_asked(path: &[Key], delimiter: &str) -> bool {
    let text = join_path(path, delimiter);
    let keys: Vec<String> = path.iter().map(|key| reclass::pystr::str(&key.0)).collect();
    split_path(&text, delimiter).iter().map(ToString::to_string).eq(keys.iter().cloned())
        && !keys.iter().any(|key| key == "**")
}

/// What is wrong with the explanations of a node, and how many there are.
fn check(inventory: &Inventory, node: &str) -> Option<(Vec<String>, usize)> {
    let info = inventory.nodeinfo(node, &Request::default()).ok()?;
    let delimiter = inventory.settings().delimiter.to_string();
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for (exports, value) in [(false, &info.parameters), (true, &info.exports)] {
        let mut all = Vec::new();
        paths(value, &mut Vec::new(), &mut all);
        all.retain(|(path, _)| can_be_asked(path, &delimiter));
        let every = all.len() / MOST.1 + 1;
        let all: Vec<_> = all.into_iter().step_by(every).collect();
        let texts: Vec<String> = all.iter().map(|(path, _)| join_path(path, &delimiter)).collect();
        if texts.is_empty() {
            continue;
        }
        let selection = if exports {
            Selection { exports: texts, ..Selection::default() }
        } else {
            Selection { parameters: texts, ..Selection::default() }
        };
        let explanation = match explain(inventory, node, &Request::default(), &selection) {
            Ok(explanation) => explanation,
            Err(error) => {
                wrong.push(format!("{node}: {error}"));
                continue;
            }
        };
        let traces = if exports { explanation.exports } else { explanation.parameters };
        let traces: HashMap<String, &ValueTrace> =
            traces.iter().map(|trace| (format!("{:?}", &*trace.path), trace)).collect();
        for (path, value) in &all {
            looked += 1;
            let explained = traces.get(&format!("{path:?}"));
            let same = explained.is_some_and(|trace| {
                trace.place.is_some()
                    && trace.value.as_ref().map(reclass::pystr::repr) == Some(reclass::pystr::repr(value))
            });
            if !same {
                let path = join_path(path, &delimiter);
                wrong.push(format!(
                    "{node}: '{path}' is {}, and explained as\n{explained:#?}",
                    reclass::pystr::repr(value)
                ));
            }
        }
    }
    Some((wrong, looked))
}

#[test]
fn every_path_of_an_answer_is_explained() {
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for case in corpus::load() {
        let Ok(inventory) = answer::open(&case, &serde_json::Map::new()) else { continue };
        let nodes = case.nodes.iter().filter_map(|node| check(&inventory, node));
        for (faults, count) in nodes.take(MOST.0) {
            wrong.extend(faults.into_iter().map(|fault| format!("{}: {fault}", case.id)));
            looked += count;
        }
    }
    println!("{looked} paths");
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong[..wrong.len().min(6)].join("\n\n"));
    assert!(looked > 5000, "{looked}");
}
