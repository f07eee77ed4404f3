//! Edits look at the nodes before they write: an edit that breaks a node is refused, and its effect is counted.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use reclass::error::Result;
use reclass::settings::Settings;
use reclass::value::{Map, Value};
use reclass_edit::cluster::{self, ClusterFile};
use reclass_edit::effect::EditEffect;
use reclass_edit::node::{self, NodeContent};
use reclass_edit::tree::{EditOptions, Edited};
use tempfile::TempDir;

const PRAGUE: ClusterFile<'_> = ClusterFile { cluster: "prague", name: "" };
const PLAIN: EditOptions = EditOptions { test: false, interpolate: true, force: false };

const FILES: [(&str, &str); 8] = [
    ("classes/cluster/prague/overrides.yml", "parameters: {_param: {a: 1}}\n"),
    ("classes/cluster/brno/.keep", ""),
    ("classes/web.yml", "parameters: {port: 80}\n"),
    ("nodes/web1.yml", "classes: [web, cluster.prague.overrides]\nparameters: {a: '${_param:a}'}\n"),
    ("nodes/web2.yml", "classes: [cluster.prague.overrides]\n"),
    ("nodes/db1.yml", "classes: [web]\n"),
    ("nodes/broken.yml", "classes: [gone]\n"),
    ("nodes/asks.yml", "parameters: {all: '$[ exports:port ]'}\n"),
];

fn inventory(more: &[(&str, Value)]) -> (TempDir, Settings) {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in FILES {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }
    let mut options =
        Map::from_iter([("inventory_base_uri".into(), Value::text(folder.path().to_str().expect("UTF-8")))]);
    options.extend(more.iter().map(|(name, value)| ((*name).into(), value.clone())));
    let settings = Settings::from_options(&options).expect("settings").0;
    (folder, settings)
}

fn text(folder: &Path, path: &str) -> String {
    fs::read_to_string(folder.join(path)).expect("a file")
}

/// The numbers of nodes that were rendered, that change and that break.
fn numbers(edited: Result<Edited>) -> (usize, usize, usize) {
    let EditEffect { rendered, changed, broken } = edited.expect("an edit").effect.expect("an effect");
    (rendered, changed, broken.len())
}

fn classes(names: &[&str]) -> NodeContent {
    NodeContent { classes: names.iter().map(|name| (*name).into()).collect(), ..NodeContent::default() }
}

#[test]
fn only_the_nodes_that_an_edit_touches_are_rendered() {
    let (_folder, settings) = inventory(&[]);
    // The two nodes of the cluster, and the one whose classes are unknown.
    assert_eq!(numbers(cluster::set(&settings, PRAGUE, "b", Value::Int(2), PLAIN)), (3, 2, 0));
    // A file that no node asks for.
    let brno = ClusterFile { cluster: "brno", name: "" };
    assert_eq!(numbers(cluster::set(&settings, brno, "b", Value::Int(2), PLAIN)), (1, 0, 0));
    assert_eq!(
        numbers(node::update(&settings, "db1", &classes(&["cluster.brno.overrides"]), PLAIN)),
        (1, 1, 0)
    );
    assert_eq!(numbers(node::create(&settings, "web3", "new/in", &classes(&["web"]), PLAIN)), (1, 1, 0));
    assert_eq!(numbers(node::delete(&settings, "web3", PLAIN)), (1, 1, 0));
}

#[test]
fn an_edit_that_breaks_a_node_is_refused_unless_it_is_forced() {
    let (folder, settings) = inventory(&[]);
    let overrides = "classes/cluster/prague/overrides.yml";
    let before = text(folder.path(), overrides);
    let refused = |edited: Result<Edited>, nodes: usize, code: &str, place: &str| {
        let error = edited.expect_err("refused");
        let fault = error.first();
        assert_eq!((fault.code(), fault.causes.len()), ("edit-breaks", nodes), "{error}");
        assert_eq!(fault.causes[0].code(), code, "{error}");
        let site = fault.causes[0].site.as_ref().expect("a place").to_string();
        assert!(site.ends_with(place), "{site}");
    };
    let reference = || Value::text("${_param:typo}");
    refused(
        cluster::set(&settings, PRAGUE, "b", reference(), PLAIN),
        2,
        "reference-not-found",
        "overrides.yml:1:33",
    );
    refused(cluster::delete(&settings, PRAGUE, "a", PLAIN), 1, "reference-not-found", "web1.yml:2:18");
    let number = Value::BigInt(Arc::new("99999999999999999999999".parse().expect("a number")));
    refused(cluster::set(&settings, PRAGUE, "b", number, PLAIN), 2, "wire-type", "overrides.yml:1:32");
    refused(node::update(&settings, "db1", &classes(&["wbe"]), PLAIN), 1, "class-not-found", "db1.yml:1:16");
    refused(
        node::create(&settings, "web3", "new", &classes(&["wbe"]), PLAIN),
        1,
        "class-not-found",
        "web3.yml:2:5",
    );
    assert_eq!(text(folder.path(), overrides), before);
    assert_eq!(text(folder.path(), "nodes/db1.yml"), "classes: [web]\n");
    assert!(!folder.path().join("nodes/new/web3.yml").exists());

    // What is broken already may stay broken.
    assert_eq!(numbers(node::update(&settings, "broken", &classes(&["web"]), PLAIN)), (1, 0, 0));
    let forced = EditOptions { force: true, ..PLAIN };
    assert_eq!(numbers(cluster::set(&settings, PRAGUE, "b", reference(), forced)), (3, 2, 2));
    assert!(text(folder.path(), overrides).contains("${_param:typo}"));
}

#[test]
fn all_nodes_are_rendered_if_exports_change() {
    let (_folder, settings) = inventory(&[("inventory_ignore_failed_node", Value::Bool(true))]);
    let mut content = classes(&["web"]);
    content.entries.insert(vec!["exports".into(), "port".into()], Value::Int(80));
    // The new node, and the one that asks for its export.
    assert_eq!(numbers(node::create(&settings, "web3", "", &content, PLAIN)), (6, 2, 0));
    let mut query = classes(&[]);
    query.entries.insert(vec!["parameters".into(), "first".into()], Value::text("${all:web3}"));
    assert_eq!(numbers(node::update(&settings, "asks", &query, PLAIN)), (1, 1, 0));
    let error = node::delete(&settings, "web3", PLAIN).expect_err("refused");
    assert_eq!(error.first().causes[0].node.as_deref(), Some("asks"), "{error}");
}

#[test]
fn a_class_that_appears_is_found_by_those_who_asked_for_it() {
    let (folder, settings) = inventory(&[("ignore_class_notfound", Value::Bool(true))]);
    fs::write(folder.path().join("nodes/web4.yml"), "classes: [cluster.brno.overrides]\n").expect("written");
    let brno = ClusterFile { cluster: "brno", name: "" };
    assert_eq!(numbers(cluster::set(&settings, brno, "b", Value::Int(2), PLAIN)), (1, 1, 0));
}

#[test]
fn a_linked_inventory_is_looked_at_too() {
    let (folder, _) = inventory(&[]);
    let link = folder.path().join("current");
    std::os::unix::fs::symlink(folder.path(), &link).expect("a link");
    let base = Value::text(link.to_str().expect("UTF-8"));
    let settings = Settings::from_options(&Map::from_iter([("inventory_base_uri".into(), base)]));
    let settings = settings.expect("settings").0;
    assert_eq!(numbers(cluster::set(&settings, PRAGUE, "b", Value::Int(2), PLAIN)), (3, 2, 0));
    let error = node::update(&settings, "db1", &classes(&["wbe"]), PLAIN).expect_err("refused");
    assert_eq!(error.first().code(), "edit-breaks");
}
