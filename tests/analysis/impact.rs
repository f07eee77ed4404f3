//! What a place, a name or a change touches, in the example inventory and in small ones.

use support::folders;

use std::path::Path;

use folders::{copy, inventory, write};
use reclass::value::{Map, Value};
use reclass_analysis::impact::{Impact, impact, markdown, of_states, text};

fn example() -> (tempfile::TempDir, Map) {
    let folder = tempfile::tempdir().unwrap();
    copy(&Path::new(support::ROOT).join("examples/inventory"), folder.path());
    let options = inventory(folder.path());
    (folder, options)
}

fn of(options: &Map, subject: &str) -> Impact {
    impact(options, subject, ".", &[]).unwrap()
}

/// The paths with their numbers of nodes.
fn paths(impact: &Impact) -> Vec<(&str, usize)> {
    impact.paths.iter().map(|(path, nodes)| (path.as_str(), *nodes)).collect()
}

#[test]
fn a_line_counts_for_the_nodes_whose_values_it_has_a_part_in() {
    let (_folder, options) = example();
    // web1 replaces the number of workers.
    let line = of(&options, "classes/app/nginx.yml:6");
    assert_eq!(line.names, ["web-dev.example.com".into(), "web2.example.com".into()]);
    assert_eq!((paths(&line), line.differ, line.nodes), (vec![("nginx:workers", 2)], 2, 4));
    assert_eq!(of(&options, "classes/app/nginx.yml:6:14").names, line.names);
    // A reference leads from the address to another parameter.
    let address = of(&options, "parameter:network:address");
    assert_eq!(paths(&address), [("network:address", 4), ("nginx:listen", 3)]);
    let some = impact(&options, "parameter:network:address", ".", &["db*".to_owned()]).unwrap();
    assert_eq!(paths(&some), [("network:address", 1)]);
}

#[test]
fn a_class_counts_for_all_its_nodes_and_an_entry_for_those_that_read_it() {
    let (folder, options) = example();
    let class = of(&options, "class:app.nginx");
    assert_eq!(class.differ, 3);
    assert_eq!(
        class.applications.iter().map(|(name, nodes)| (&**name, *nodes)).collect::<Vec<_>>(),
        [("nginx", 3)]
    );
    assert_eq!(of(&options, "classes/app/nginx.yml").names, class.names);
    assert_eq!(of(&options, "classes/role/web.yml:2").names, class.names);
    // A node that has the class for another reason does not read this entry.
    write(&folder.path().join("nodes/own.yml"), "classes: [app.nginx]\n");
    assert_eq!(of(&options, "class:app.nginx").differ, 4);
    assert_eq!(of(&options, "classes/role/web.yml:2").differ, 3);
    assert_eq!(of(&options, "nodes/own.yml:1").names, ["own".into()]);
}

#[test]
fn a_node_that_asks_other_nodes_depends_on_them() {
    let folder = tempfile::tempdir().unwrap();
    let options = inventory(folder.path());
    write(&folder.path().join("classes/unused.yml"), "parameters: {z: 1}\n");
    write(&folder.path().join("nodes/a.yml"), "parameters: {port: 80}\nexports: {port: '${port}'}\n");
    write(&folder.path().join("nodes/b.yml"), "parameters:\n  all: $[ exports:port ]\n");
    let found = of(&options, "nodes/a.yml:1");
    assert_eq!(found.names, ["a".into(), "b".into()]);
    assert_eq!(paths(&found), [("all:a", 1), ("exports port", 1), ("port", 1)]);
    assert_eq!(of(&options, "class:unused").names, []);
}

#[test]
fn a_subject_that_nothing_has_is_an_error() {
    let (folder, options) = example();
    write(&folder.path().join("classes/open.yml"), "parameters: {a: [1\n");
    let error = |subject: &str| impact(&options, subject, ".", &[]).unwrap_err().first().kind.to_string();
    for (subject, message) in [
        ("class:app.ngin", "no class matches 'app.ngin'"),
        ("parameter:nginx:worker", "no parameter matches 'nginx:worker'"),
        ("classes/app/apache.yml:1", "'classes/app/apache.yml'"),
        ("classes/app/nginx.yml:3", "'classes/app/nginx.yml:3' sets no value"),
        ("class:open", "did not find expected ',' or ']'"),
        ("classes/open.yml:1", "did not find expected ',' or ']'"),
        ("yml", "revision"),
    ] {
        assert!(error(subject).contains(message), "{}", error(subject));
    }
}

#[test]
fn a_comment_has_a_verdict_and_no_fence_that_a_value_closes() {
    let (old, _) = example();
    let (new, mut options) = example();
    write(&new.path().join("nodes/web2.example.com.yml"), "classes: [role.wbe]\n");
    write(&new.path().join("nodes/db1.example.com.yml"), "parameters: {text: '```\n\n<script>'}\n");
    options.insert("inventory_base_uri".into(), Value::text(new.path().to_str().unwrap()));
    let names = (old.path().to_str().unwrap(), ".");
    let (impact_of_both, difference) = of_states(&options, None, names, &[], false).unwrap();
    let written = markdown(&impact_of_both, &difference);
    assert!(written.starts_with("**2 of 4 nodes differ, 1 breaks.**\n\n`web2.example.com` breaks:\n\n```\n"));
    assert!(written.contains("no class 'role.wbe'"));
    let said = text(&impact(&options, names.0, ".", &[]).unwrap(), 6);
    assert!(said.contains("\n1 node  breaks: web2.example.com\n"), "{said}");
    assert!(said.ends_with("\n2 of 4 nodes differ, 1 breaks"), "{said}");
}

#[test]
fn a_node_breaks_by_its_pillar() {
    let (old, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [old.path(), new.path()] {
        for node in ["n1", "n2", "n3", "n4", "n5"] {
            write(&folder.join(format!("nodes/{node}.yml")), "classes: [c]\nparameters: {port: 80}\n");
        }
        write(&folder.join("classes/c.yml"), "parameters: {a: 1}\n");
    }
    // By a schema, which is new; by a value that no minion can have; by a class that is gone. Others only change.
    write(&old.path().join("nodes/n1.yml"), "classes: [c]\nparameters: {port: high}\n");
    write(&new.path().join("nodes/n1.yml"), "classes: [c]\nparameters: {port: high}\n");
    write(&new.path().join("schemas/port.yml"), "{type: integer}\n");
    write(
        &new.path().join("nodes/n2.yml"),
        "classes: [c]\nparameters: {port: 80, big: 123456789012345678901}\n",
    );
    write(&new.path().join("nodes/n3.yml"), "classes: [gone]\n");
    write(&new.path().join("nodes/n4.yml"), "classes: [c]\nparameters: {port: 81}\n");
    let mut options = inventory(new.path());
    options.insert("schema_check".into(), Value::text("error"));
    let found = impact(&options, old.path().to_str().unwrap(), ".", &[]).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect::<Vec<_>>();
    assert_eq!(found.breaks, names(&["n1", "n2", "n3"]), "{:?}", found.problems);
    assert_eq!((found.names, found.differ), (names(&["n1", "n2", "n3", "n4"]), 4));
    assert_eq!(found.problems.len(), 3, "{:?}", found.problems);
    // A comment on a merge request says the same.
    let states = (old.path().to_str().unwrap(), ".");
    let (impact_of_both, difference) = of_states(&options, None, states, &[], false).unwrap();
    let written = markdown(&impact_of_both, &difference);
    assert!(written.starts_with("**4 of 5 nodes differ, 3 break.**\n"), "{written}");
    assert!(written.contains("`n1` breaks:") && written.contains("`n2` breaks:"), "{written}");
    options.insert("schema_check".into(), Value::text("warn"));
    let found = impact(&options, old.path().to_str().unwrap(), ".", &[]).unwrap();
    assert_eq!((found.breaks, found.differ), (names(&["n2", "n3"]), 3));
}
