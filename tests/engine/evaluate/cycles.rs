//! Errors of references that form a cycle: every path of the cycle, and the place of the last (R9).

use std::fs;
use std::path::Path;

use reclass::value::{Map, Value};
use reclass::{Inventory, Request};

/// An inventory with the parameters of a node and of a class that it includes.
fn inventory(base: &Path, class: &str, node: &str) -> Map {
    fs::create_dir_all(base.join("classes")).unwrap();
    fs::create_dir_all(base.join("nodes")).unwrap();
    fs::write(base.join("classes/c.yml"), format!("parameters:\n{class}\n")).unwrap();
    fs::write(base.join("nodes/n.yml"), format!("classes: [c]\nparameters:\n{node}\n")).unwrap();
    Map::from_iter([("inventory_base_uri".into(), Value::text(base.to_str().unwrap()))])
}

/// The cycle of a node that includes a class, and the place of the reference that closes it.
fn cycle(class: &str, node: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let options = inventory(folder.path(), class, node);
    let inventory = Inventory::open(&options).unwrap();
    let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
    let fault = error.first();
    assert_eq!(fault.code(), "reference-cycle", "{error}");
    let site = fault.site.as_ref().unwrap();
    let file = site.path.rsplit('/').next().unwrap();
    let cycle = fault.kind.to_string().replace("references form a cycle: ", "");
    (cycle, format!("{file}:{}:{} {}", site.line, site.column, fault.path.as_deref().unwrap()))
}

#[test]
fn from_parameter_to_parameter() {
    let found = cycle("  a: ${b}\n  b: ${c}\n  c: ${a}", "  x: 1");
    assert_eq!(found, ("a -> b -> c -> a".into(), "c.yml:4:6 c".into()));
}

#[test]
fn through_the_inside_of_containers() {
    let found = cycle("  a:\n    b:\n      c: ${a}", "  x: 1");
    assert_eq!(found, ("a -> a:b:c -> a".into(), "c.yml:4:10 a:b:c".into()));
    let found = cycle("  x: {y: '${p}'}\n  p:\n    q: [1, '${x}']", "  z: 1");
    assert_eq!(found, ("x -> x:y -> p:q:1 -> x".into(), "c.yml:4:12 p:q:1".into()));
    let found = cycle("  a: {b: 'x${a}'}", "  z: 1");
    assert_eq!(found, ("a -> a:b -> a".into(), "c.yml:2:10 a:b".into()));
}

#[test]
fn where_a_later_layer_writes_over_it() {
    let found = cycle("  a: ${q}\n  q: ${a}", "  a: ${z}\n  z: {y: 1}");
    assert_eq!(found, ("a -> q -> a".into(), "c.yml:3:6 q".into()));
    let found = cycle("  q: ${a}", "  a: 1\n  q: ${q}");
    assert_eq!(found, ("q -> q".into(), "n.yml:4:6 q".into()));
}

#[test]
fn where_a_later_layer_ends_it_there_is_none() {
    let value = |class: &str, node: &str| {
        let folder = tempfile::tempdir().unwrap();
        let options = inventory(folder.path(), class, node);
        let inventory = Inventory::open(&options).unwrap();
        let answer = inventory.nodeinfo("n", &Request::default()).unwrap().parameters.clone();
        let text = reclass::json::dumps(&answer, false);
        text.rsplit_once("\"a\":").unwrap().1.to_owned()
    };
    assert_eq!(value("  a:\n    b: ${a}", "  a: {b: {~b: 5}}"), r#"{"b":{"b":5}}}"#);
    assert_eq!(value("  a:\n    b: ${a}", "  a: {~b: 5}"), r#"{"b":5}}"#);
}

#[test]
fn where_a_container_is_merged_into_its_own_inside() {
    let found = cycle("  a:\n    c: ${a}", "  a:\n    c: ${b}\n  b: {e: 1}");
    assert_eq!(found, ("a -> a:c -> a".into(), "c.yml:3:8 a:c".into()));
    let found = cycle("  a: {c: '${b}'}\n  b: {d: '${a}'}", "  a: {c: {x: 1}}\n  b: {d: {y: 1}}");
    assert_eq!(found, ("a -> a:c:d -> a".into(), "c.yml:3:10 a:c:d".into()));
    // Each level has twice as many values as the one above it.
    for [class, node] in [["${a}", "${a}"], ["${a::x}", "${a}"], ["${a}", "${a::x}"]] {
        let layer = |text: &str| format!("  a:\n    b: {text}");
        let found = cycle(&layer(class), &layer(node));
        assert_eq!(found, ("a -> a:b -> a".into(), "n.yml:4:8 a:b".into()), "{class} {node}");
    }
}
