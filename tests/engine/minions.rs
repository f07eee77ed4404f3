//! The name that a minion sends is only looked up. It is never a path, a reference or a pattern.

use support::folders;

use std::path::Path;

use folders::{inventory, write};
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};

const SECRET: &str = "S3CRETVALUE";

/// A node, a class, a file beside the inventory, and a class whose name is a secret.
fn site(base: &Path) -> Map {
    let options = inventory(&base.join("site"));
    write(&base.join("site/nodes/n.yml"), "classes: [c]\n");
    write(&base.join("site/classes/c.yml"), &format!("parameters: {{pw: {SECRET}}}\n"));
    write(&base.join(format!("site/classes/role/{SECRET}.yml")), "parameters: {found: true}\n");
    write(&base.join("outside.yml"), "parameters: {outside: true}\n");
    options
}

#[test]
fn an_id_is_a_name_and_no_path() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Inventory::open(&site(folder.path())).unwrap();
    let absolute = folder.path().join("outside");
    kept.nodeinfo("n", &Request::default()).unwrap();
    let read = kept.counts().read;
    for id in ["../outside", "../../outside", "n.yml", "./n", "N", "", "n\0", "n/", "*", "/n/", "${pw}", "c"]
        .into_iter()
        .chain(absolute.to_str())
    {
        let error = kept.nodeinfo(id, &Request::default()).unwrap_err();
        assert_eq!(error.first().code(), "node-not-found", "{id:?}: {error}");
    }
    assert_eq!(kept.counts().read, read, "no file was read for it");
}

#[test]
fn an_id_is_not_searched_for_references() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = site(folder.path());
    let mappings = ["* c", r"/^x-(.*)$/ role.\\1"].map(Value::text);
    options.insert("class_mappings".into(), Value::list(mappings.to_vec()));
    let kept = Inventory::open(&options).unwrap();
    let ask = |id: &str| kept.database().answer(id, &Request::default(), true);
    // A mapping that makes a class of the name does so with the very name.
    assert_eq!(ask(&format!("x-{SECRET}")).unwrap().classes.len(), 2);
    let error = ask("x-${pw}").unwrap_err();
    assert_eq!(error.first().code(), "class-not-found", "{error}");
    assert!(!error.to_string().contains(SECRET), "{error}");
    assert!(error.to_string().contains("role.${pw}"), "{error}");
    let info = ask("${pw}").unwrap();
    let about = reclass::json::dumps(&info.parameters, false);
    assert!(about.contains(r#""full":"${pw}""#), "{about}");
}

#[test]
fn an_environment_of_a_request_is_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = site(folder.path());
    options.insert("allow_adapter_env_override".into(), Value::Bool(true));
    let kept = Inventory::open(&options).unwrap();
    for environment in ["${pw}", "../outside", "$[ exports:pw ]"] {
        let request = Request { environment: Some(environment.into()), ..Request::default() };
        let info = kept.nodeinfo("n", &request).unwrap();
        assert_eq!(info.environment, Value::text(environment));
        assert!(!format!("{:?}", info.parameters).contains("outside: true"));
    }
}
