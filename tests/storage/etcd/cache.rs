//! When the server is asked, and what is computed again.

use std::path::Path;
use std::process::Command;

use reclass::Inventory;
use reclass::value::Value;
use support::folders::until_old;

use super::server::{ALWAYS, Server, ask, params, said};

/// The nodes computed by a question.
fn computed(inventory: &Inventory, node: &str) -> u64 {
    let before = inventory.counts().computed;
    ask(inventory, node).unwrap();
    inventory.counts().computed - before
}

#[test]
fn an_edit_of_a_key_computes_only_the_nodes_with_its_class() {
    let Some(server) = Server::start() else { return };
    let nodes = ["both", "none", "one"];
    // Without any key, the data would count as lost.
    server.put("classes/unknown/_param/kept", "1");
    for cache in ["auto", "stat"] {
        let inventory = server.open(&format!("{ALWAYS}, cache: {cache}"));
        for _ in 0..3 {
            for node in nodes {
                ask(&inventory, node).unwrap();
            }
        }
        let now = |key: &str, value: &str| {
            if value.is_empty() {
                server.delete(key);
            } else {
                server.put(key, value);
            }
            nodes.map(|node| computed(&inventory, node))
        };
        assert_eq!(now("classes/d/_param/x", "1"), [1, 0, 0]);
        assert_eq!(now("classes/d/_param/x", "2"), [1, 0, 0]);
        assert_eq!(now("classes/d/_param/x", ""), [1, 0, 0]);
        assert_eq!(now("classes/c/_param/x", "1"), [1, 0, 1]);
        assert_eq!(now("nodes/none/_param/x", "1"), [0, 1, 0]);
        // Nobody has these.
        assert_eq!(now("classes/unknown/_param/x", "1"), [0, 0, 0]);
        assert_eq!(now("classes/c/other/x", "1"), [0, 0, 0]);
        for key in
            ["classes/c/_param/x", "nodes/none/_param/x", "classes/unknown/_param/x", "classes/c/other/x"]
        {
            server.delete(key);
        }
    }
}

#[test]
fn an_export_of_another_node_sees_an_edit() {
    let Some(server) = Server::start() else { return };
    server.write("nodes/exporting.yml", "classes: [c]\nexports: {a: '${_param:a}'}\n");
    server.write("nodes/asking.yml", "parameters: {all: '$[ exports:a ]'}\n");
    let inventory = server.open(ALWAYS);
    let all = |inventory: &Inventory| super::server::short(&ask(inventory, "asking").unwrap().parameters);
    assert!(all(&inventory).contains("all: {exporting: file}"), "{}", all(&inventory));
    server.put("classes/c/_param/a", "etcd");
    assert!(all(&inventory).contains("all: {exporting: etcd}"));
    let before = inventory.counts().computed;
    server.put("classes/d/_param/a", "other");
    assert!(all(&inventory).contains("all: {exporting: etcd}"));
    assert_eq!(inventory.counts().computed, before);
}

#[test]
fn all_processes_share_one_reading() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/a", "first");
    let path = server
        .fake_ctl("counting", &format!("echo x >> '{}'; exec $real \"$@\"", server.path("calls").display()));
    let calls = || std::fs::read_to_string(server.path("calls")).unwrap_or_default().lines().count();
    let shown = |more: &str| {
        let output = server.program(more, &["--nodeinfo", "one"]).env("PATH", &path).output().unwrap();
        let (text, errors) = said(&output);
        assert!(output.status.success() && errors.is_empty(), "{text}{errors}");
        text.lines().find_map(|line| line.trim().strip_prefix("a: ").map(str::to_owned)).unwrap()
    };
    let inventory = server.open("etcd_interval: 3600");
    assert!(params(&inventory, "one").contains("a: first"));
    assert_eq!((shown("etcd_interval: 3600"), calls()), ("first".into(), 0));
    server.put("classes/c/_param/a", "second");
    assert_eq!((shown("etcd_interval: 3600"), calls()), ("first".into(), 0));
    // One process asks, and the others see what it got.
    assert_eq!((shown("etcd_interval: 0"), calls()), ("second".into(), 1));
    assert!(params(&inventory, "one").contains("a: second"));
    assert_eq!((shown("etcd_interval: 3600"), calls()), ("second".into(), 1));
}

#[test]
fn nothing_is_asked_without_endpoints() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    let path = server.fake_ctl("failing", "exit 1");
    let output =
        server.program("etcd_endpoints: []", &["--nodeinfo", "one"]).env("PATH", path).output().unwrap();
    let (text, errors) = said(&output);
    assert!(output.status.success() && errors.is_empty() && text.contains("a: file"), "{text}{errors}");
    assert!(!server.path("record").exists());
}

/// The marks around the warm questions, as calls that the trace has.
const MARKS: [&str; 2] = ["/mark/begin", "/mark/end"];
const WARM: usize = 10;

#[test]
#[ignore = "the child of the test below"]
fn warm_questions() {
    let Ok(text) = std::env::var("ETCD_TEST_OPTIONS") else { return };
    let value = reclass_yaml::parse_value(&text).unwrap();
    let inventory = Inventory::open(value.as_map().unwrap()).unwrap();
    ask(&inventory, "one").unwrap();
    // The data of the server itself are in the same folder.
    let option = |name| Path::new(value.as_map().unwrap().get(name).and_then(Value::as_str).unwrap());
    let base = option("inventory_base_uri");
    [&*base.join("nodes"), &*base.join("classes"), option("etcd_cache_dir")].into_iter().for_each(until_old);
    for _ in 0..3 {
        ask(&inventory, "one").unwrap();
    }
    let _ = std::fs::metadata(MARKS[0]);
    for _ in 0..WARM {
        ask(&inventory, "one").unwrap();
    }
    let _ = std::fs::metadata(MARKS[1]);
}

/// The system calls of the warm questions; `None` where nothing can be traced.
fn calls(server: &Server, more: &str) -> Option<Vec<String>> {
    let trace = server.path("trace");
    let output = Command::new("strace")
        .args(["-f", "-q", "-s", "200", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["etcd::cache::warm_questions", "--exact", "--include-ignored", "--nocapture"])
        .env("ETCD_TEST_OPTIONS", server.options_text(more))
        .output()
        .ok()?;
    let (text, errors) = said(&output);
    if errors.contains("ptrace") {
        return None;
    }
    assert!(output.status.success(), "{text}{errors}");
    let trace = std::fs::read_to_string(trace).unwrap();
    let calls = trace.lines().skip_while(|line| !line.contains(MARKS[0])).skip(1);
    let calls = calls.take_while(|line| !line.contains(MARKS[1]));
    Some(calls.map(|line| line.split_once(' ').map_or(line, |(_, call)| call).to_owned()).collect())
}

#[test]
fn a_warm_answer_costs_one_stamp_more() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    for cache in ["auto", "stat"] {
        let Some(with) = calls(&server, &format!("etcd_interval: 3600, cache: {cache}")) else {
            support::absent("strace", "install it, and let it trace");
            return;
        };
        let is_record = |call: &String| call.contains(".record\"");
        let (stamps, with): (Vec<_>, Vec<_>) = with.into_iter().partition(is_record);
        assert_eq!(stamps.len(), WARM, "{stamps:?}");
        assert!(stamps.iter().all(|call| call.contains("stat")), "{stamps:?}");
        let server_less = format!("etcd_interval: 3600, cache: {cache}, etcd_endpoints: []");
        let without = calls(&server, &server_less).unwrap();
        assert_eq!(with.len(), without.len(), "{with:#?} {without:#?}");
    }
}
