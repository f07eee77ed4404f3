//! The keys of a class are layers after it, those of a node after the node.

use std::fmt::Write as _;
use std::io::Write as _;

use super::server::{ALWAYS, Server, ask, params, said, short, text_of};

#[test]
fn a_key_is_a_layer_after_its_class_or_node() {
    let Some(server) = Server::start() else { return };
    let inventory = server.open(ALWAYS);
    assert_eq!(params(&inventory, "both"), "{a: file, d: file, list: [1], map: {x: 1}}");
    server.put("classes/c/_param/a", "etcd");
    server.put("classes/c/_param/d", "before the file of d");
    server.put("classes/c/_param/new", "7");
    server.put("classes/c/_param/map/y", "2");
    server.put("classes/c/_param/list", "[2]");
    server.put("nodes/both/_param/d", "after the node");
    server.put("nodes/both/_param/deep/er", "{x: [yes]}");
    assert_eq!(
        params(&inventory, "both"),
        "{a: etcd, d: after the node, deep: {er: {x: [true]}}, list: [1, 2], map: {x: 1, y: 2}, new: 7}"
    );
    assert_eq!(
        params(&inventory, "one"),
        "{a: etcd, d: before the file of d, list: [1, 2], map: {x: 1, y: 2}, new: 7}"
    );
    server.delete("nodes/both/_param/d");
    assert!(params(&inventory, "both").contains("d: file,"));
    // A new value replaces the list of the file.
    server.delete("classes/c/_param/list");
    server.put("classes/c/_param/~list", "[3]");
    assert!(params(&inventory, "one").contains("list: [3]"));
    // All nodes at once, and a process without a cache, have the same.
    let all = inventory.inventory().unwrap();
    for (node, info) in ["both", "none", "one"].iter().zip(&all) {
        let alone = server.open("cache: off");
        assert_eq!(short(&info.parameters), short(&ask(&alone, node).unwrap().parameters));
    }
}

#[test]
fn a_class_name_sees_the_parameters_in_etcd() {
    let Some(server) = Server::start() else { return };
    server.write("nodes/named.yml", "classes: [c, '${_param:role}']\n");
    let inventory = server.open(ALWAYS);
    assert!(text_of(ask(&inventory, "named")).contains("(class-reference)"));
    server.put("classes/c/_param/role", "d");
    assert!(params(&inventory, "named").contains("d: file"));
}

#[test]
fn a_value_is_data_unless_references_are_allowed() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/ref", "'${_param:a}'");
    server.put("classes/c/_param/map", "{'~x': 2}");
    let data = server.open(ALWAYS);
    assert_eq!(params(&data, "one"), "{a: file, list: [1], map: {x: 2}, ref: '${_param:a}'}");
    let references = server.open("etcd_interval: 0, etcd_references: true");
    assert_eq!(params(&references, "one"), "{a: file, list: [1], map: {x: 2}, ref: file}");
    server.put("classes/c/_param/ref", "\n\n  - '${_param:missing}'");
    let text = text_of(ask(&references, "one"));
    assert!(text.contains("etcd /reclass/classes/c/_param/ref revision 4:3:"), "{text}");
    assert!(text.contains("(reference-not-found)") && text.contains("node 'one'"), "{text}");
    server.put("classes/c/_param/ref", "a ${}");
    let text = text_of(ask(&references, "one"));
    assert!(
        text.contains("etcd /reclass/classes/c/_param/ref revision 5") && text.contains("(reference-syntax)"),
        "{text}"
    );
}

#[test]
fn a_value_that_is_no_yaml_is_an_error_with_the_key_as_its_place() {
    let Some(server) = Server::start() else { return };
    let inventory = server.open(ALWAYS);
    server.put("classes/c/_param/a", "x: [1");
    server.put("nodes/one/_param/b", "@");
    let text = text_of(ask(&inventory, "one"));
    assert!(text.contains("etcd /reclass/classes/c/_param/a revision 2:2:1"), "{text}");
    assert!(text.contains("etcd /reclass/nodes/one/_param/b revision 3:1:1"), "{text}");
    assert_eq!(text.matches("(yaml-syntax)").count(), 2, "{text}");
    // A node without the class is not concerned.
    assert_eq!(params(&inventory, "none"), "null");
    server.put("classes/c/_param/a", "right");
    server.delete("nodes/one/_param/b");
    assert!(params(&inventory, "one").starts_with("{a: right"));
    // A key is a value and a folder.
    server.put("classes/c/_param/a/b", "1");
    let text = text_of(ask(&inventory, "one"));
    assert!(text.contains("(merge-type)") && text.contains("etcd /reclass/classes/c/_param/a"), "{text}");
}

#[test]
fn an_explanation_names_the_key_and_its_revision() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    server.put("nodes/one/_param/password", "hunter2");
    let explain =
        |more: &[&str]| said(&server.program("", &[&["explain", "one"], more].concat()).output().unwrap());
    let (text, errors) = explain(&["_param:a"]);
    assert!(text.contains("etcd /reclass/classes/c/_param/a revision 2  c < node 'one'"), "{text}{errors}");
    assert!(text.contains("classes/c.yml:1:"), "{text}");
    let (text, errors) = explain(&["_param:password"]);
    assert!(text.contains("etcd /reclass/nodes/one/_param/password revision 3"), "{text}{errors}");
    assert!(
        text.contains("***") && !text.contains("hunter2") && !errors.contains("hunter2"),
        "{text}{errors}"
    );
    let (json, _) = explain(&["_param:a", "-o", "json"]);
    assert!(json.contains("\"file\": \"etcd /reclass/classes/c/_param/a revision 2\""), "{json}");
}

#[test]
fn the_text_of_a_secret_is_not_shown() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/password", "hunter2: @ hunter3");
    let (text, errors) = said(&server.program("", &["--nodeinfo", "one"]).output().unwrap());
    assert!(!text.contains("hunter") && !errors.contains("hunter"), "{text}{errors}");
    assert!(errors.contains("etcd /reclass/classes/c/_param/password revision 2"), "{errors}");
    server.put("classes/c/_param/password", "hunter2");
    server.put("classes/c/_param/ref", "- '${_param:password:x}'\n- ${_param:}");
    let more = "etcd_references: true, etcd_interval: 0";
    let (_, errors) = said(&server.program(more, &["--nodeinfo", "one"]).output().unwrap());
    assert!(!errors.contains("hunter2") && errors.contains("/_param/ref revision 4"), "{errors}");
}

#[test]
fn lint_finds_keys_without_a_class_or_node() {
    let Some(server) = Server::start() else { return };
    for key in [
        "classes/c/_param/a",
        "nodes/one/_param/a",
        "classes/cc/_param/a",
        "nodes/on/_param/a",
        "classes/c/x",
    ] {
        server.put(key, "1");
    }
    let (text, errors) = said(&server.program("", &["lint", "--select", "etcd-orphan"]).output().unwrap());
    for part in [
        "there is no class 'cc' for the key '/reclass/classes/cc/_param/a'",
        "there is no node 'on' for the key '/reclass/nodes/on/_param/a'",
        "no layer has the key '/reclass/classes/c/x'",
    ] {
        assert!(text.contains(part), "{part}: {text}{errors}");
    }
    assert_eq!(text.matches("etcd-orphan").count(), 3, "{text}");
}

#[test]
fn lint_knows_the_parameters_in_etcd() {
    let Some(server) = Server::start() else { return };
    server.write("nodes/one.yml", "classes: [c]\nparameters: {x: '${_param:new}'}\n");
    let lint = || said(&server.program(ALWAYS, &["lint"]).output().unwrap()).0;
    assert!(lint().contains("reference-not-found") || lint().contains("parameter-never-set"));
    server.put("classes/c/_param/new", "1");
    let text = lint();
    assert!(!text.contains("parameter-never-set") && !text.contains("reference-not-found"), "{text}");
}

#[test]
fn a_thousand_keys_are_read_at_once() {
    let Some(server) = Server::start() else { return };
    let mut classes = String::from("classes:\n");
    for class in 0..100 {
        server.write(&format!("classes/k{class}.yml"), "parameters: {}\n");
        writeln!(classes, "- k{class}").unwrap();
    }
    server.write("nodes/many.yml", &classes);
    for chunk in 0..10 {
        let mut input = String::from("\n");
        for number in chunk * 100..(chunk + 1) * 100 {
            writeln!(input, "put /reclass/classes/k{}/_param/p{number} value{number}", number % 100).unwrap();
        }
        input += "\n\n";
        let mut command = server.ctl_command(&["txn"]);
        let mut child =
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
    let inventory = server.open(ALWAYS);
    let text = params(&inventory, "many");
    assert_eq!(text.matches("value").count(), 1000, "{text}");
    server.put("classes/k7/_param/p7", "edited");
    assert!(params(&inventory, "many").contains("p7: edited"));
}
