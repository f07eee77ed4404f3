//! The concise form of an error is sent to minions: it never holds the value of a parameter.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test writes files")]

use std::fs;

use reclass::engine::{Inventory, Request};
use reclass::report::{concise, full};
use reclass::secrets::Secrets;
use reclass::value::{Map, Value};
use tempfile::TempDir;

/// What stands for a secret in the inventories below.
const SECRET: &str = "S3CRETVALUE";

/// An inventory of these files.
fn inventory(files: &[(&str, &str)]) -> (TempDir, Inventory) {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    for name in ["nodes", "classes"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    for (name, text) in files {
        let path = base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    (folder, Inventory::open(&options).unwrap())
}

#[test]
fn neither_the_sentence_nor_the_log_tells_what_is_under_a_secret_key() {
    const NAME: &str = "classes: [base, 'a.${db:password}']\n";
    const INDIRECT: &str = "classes: [base, 'a.${link}']\n";
    for (node, code) in [
        // Names of classes, by whatever way.
        (NAME, "class-not-found"),
        (INDIRECT, "class-not-found"),
        // What YAML takes for something else.
        ("parameters: {password: !S3CRETVALUE }", "yaml-tag"),
        ("parameters: {password: *S3CRETVALUE }", "yaml-syntax"),
        ("parameters: {token: &S3CRETVALUE 1, password: &S3CRETVALUE 2}", "yaml-syntax"),
        ("parameters: {password: &S3CRETVALUE [*S3CRETVALUE ]}", "yaml-syntax"),
        ("parameters: {password: !x!S3CRETVALUE }", "yaml-syntax"),
        ("parameters: {password: \"S3CRETVALUE\\q\"}", "yaml-syntax"),
        ("parameters: {password: S3CRETVALUE: x}", "yaml-syntax"),
        ("parameters:\n  password: @S3CRETVALUE", "yaml-syntax"),
        ("parameters:\n  password: a\n   b: S3CRETVALUE", "yaml-syntax"),
        // References and queries that are none.
        ("parameters: {password: 'x${S3CRETVALUE}y'}", "reference-not-found"),
        ("parameters: {db: {a: 1}, password: '${db:S3CRETVALUE}'}", "reference-not-found"),
        ("parameters: {passwords: [{a: '${S3CRETVALUE}'}]}", "reference-not-found"),
        ("parameters: {token: {a: {b: ['x${S3CRETVALUE}']}}}", "reference-not-found"),
        ("parameters: {password: 'x${S3CRETVALUE'}", "reference-syntax"),
        ("parameters: {password: ['x$[ exports:S3CRETVALUE ]y']}", "query-embedded"),
        ("parameters: {password: '$[ a S3CRETVALUE ]'}", "query-syntax"),
        ("parameters: {password: '$[ S3CRETVALUE ]'}", "query-syntax"),
        ("parameters: {password: '${a::[S3CRETVALUE}'}", "default-syntax"),
        (
            "parameters: {x: '$[ exports:a if exports:password == S3CRETVALUE and exports:a == exports:a ]'}",
            "query-operand",
        ),
    ] {
        let base = "parameters: {db: {password: S3CRETVALUE}, link: '${db:password}'}\n";
        let (folder, inventory) =
            inventory(&[("nodes/n.yml", &format!("{node}\n")), ("classes/base.yml", base)]);
        let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
        assert_eq!(error.first().code(), code, "{node}: {error}");
        let sent = concise(&error);
        assert!(!sent.contains(SECRET), "{node}: {sent}");
        assert!(sent.contains("nodes/n.yml:"), "{node}: {sent}");
        // Queries under other keys are shown where they stand: who reads the log may have to mend them.
        if !node.contains("exports:password") {
            let secrets = Secrets::of(inventory.settings());
            let logged =
                full(&error, false, &|path| Some(secrets.source(&fs::read_to_string(path).unwrap())));
            assert!(!logged.contains(SECRET), "{node}: {logged}");
            assert!(logged.contains("nodes/n.yml:"), "{node}: {logged}");
        }
        drop(folder);
    }
}

#[test]
fn what_files_write_of_secrets_is_masked_wherever_it_stands() {
    // In a list with references, in place of a secret that is not set, and where a secret key refers to:
    // what another layer or another node has there is a secret of somebody, too.
    const NODE: &str = "classes: [c]
parameters:
  name: bob
  users: [{name: '${name}', password: SECRET-a}, [{token: SECRET-b}]]
  tokens: ['${name}', SECRET-c]
  secret: '${nothing::SECRET-d}'
  copies: [SECRET-a, x SECRET-b, SECRET-c, {d: SECRET-d}]
  _param: {crm_pw: SECRET-new, table: {x: SECRET-table}, way: '${_param:table:x}'}
";
    const CLASS: &str = "parameters:
  _param: {crm_pw: SECRET-old}
  db: {password: '${_param:crm_pw}', password2: '${_param:way}'}
";
    let nodes: Vec<String> = (0..30).map(|number| format!("nodes/n{number}.yml")).collect();
    let mut files: Vec<(&str, &str)> = nodes.iter().map(|name| (name.as_str(), NODE)).collect();
    files.extend([
        ("classes/c.yml", CLASS),
        ("nodes/other.yml", "parameters: {_param: {crm_pw: SECRET-other}}\n"),
    ]);
    let (_folder, inventory) = inventory(&files);
    let secrets = Secrets::of(inventory.settings());

    let parameters =
        reclass::list::parameters(&inventory, &[], &reclass::list::NodeFilter::default(), &secrets).unwrap();
    for row in &parameters {
        let shown = format!("{:?}", row.places);
        assert!(!shown.contains("SECRET"), "{shown}");
    }
    assert!(format!("{parameters:?}").contains("\"bob\""));

    let graph = reclass::graph::graph(&inventory, &[], &secrets).unwrap();
    let page = reclass::graph::html(&graph).unwrap();
    assert!(page.contains("bob") && !page.contains("SECRET"));

    let selection = reclass::explain::Selection {
        parameters: vec!["**".into()],
        secrets: secrets.clone(),
        ..reclass::explain::Selection::default()
    };
    let told = reclass::explain::explain(&inventory, "n1", &Request::default(), &selection).unwrap();
    let mut secrets = secrets;
    told.teach(&mut secrets);
    let text = reclass::explain::to_text(&told, ":", &secrets, reclass::style::Paint(false));
    let data = reclass::json::dumps(&told.to_value(":", &secrets), false).unwrap();
    assert!(text.contains("bob") && !text.contains("SECRET"), "{text}");
    assert!(!data.contains("SECRET"), "{data}");
}

#[test]
fn a_class_name_that_holds_no_secret_is_told() {
    let base = "parameters: {role: web, db: {password: S3CRETVALUE}}\n";
    for (node, note) in [
        ("classes: [base, 'a.${role}']\n", "its name comes to 'a.web'"),
        ("classes: [base, 'a.${role}.${db:password}']\n", "its name comes to 'a.web.***'"),
    ] {
        let (_folder, inventory) = inventory(&[("nodes/n.yml", node), ("classes/base.yml", base)]);
        let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
        assert_eq!(error.first().notes[0].text, note);
    }
}

#[test]
fn no_problem_names_a_value() {
    for (node, code) in [
        ("parameters: {pw: S3CRETVALUE, db: {a: 1}, x: '${db:${pw}}'}", "reference-not-found"),
        ("parameters: {pw: S3CRETVALUE, x: '${none:${pw}:more}'}", "reference-not-found"),
        ("parameters: {pw: S3CRETVALUE, x: '${pw:part}'}", "reference-not-found"),
        ("parameters: {x: '${none::[S3CRETVALUE}'}", "default-syntax"),
        ("classes: ['a.${pw}']\nparameters: {pw: S3CRETVALUE}", "class-reference"),
        ("classes: [secret, 'a.${pw}']", "class-not-found"),
        ("classes: [secret]\nparameters: {pw: {a: S3CRETVALUE}}", "merge-type"),
        ("classes: [secret]\nparameters: {pw: [S3CRETVALUE]}", "merge-type"),
        ("classes: [fixed]\nparameters: {pw: S3CRETVALUE2}", "constant-changed"),
        ("parameters: {pw: S3CRETVALUE, q: '$[ if exports:a == self:none ]'}", "reference-not-found"),
        ("parameters: {pw: !secret S3CRETVALUE}", "yaml-tag"),
        ("parameters: {pw: 'S3CRETVALUE}", "yaml-syntax"),
        ("parameters: S3CRETVALUE", "section-type"),
    ] {
        let (_folder, inventory) = inventory(&[
            ("classes/secret.yml", "parameters: {pw: S3CRETVALUE}\n"),
            ("classes/fixed.yml", "parameters: {=pw: S3CRETVALUE}\n"),
            ("nodes/n.yml", &format!("{node}\n")),
        ]);
        let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
        assert_eq!(error.first().code(), code, "{node}: {error}");
        let sent = concise(&error);
        assert!(!sent.contains(SECRET), "{node}: {sent}");
        assert!(sent.contains("nodes/n.yml:"), "{node}: {sent}");
    }
}

/// The name of a file is no value, though a value names it: who makes class names of secrets has them in
/// the names of files. The sentence does not say which one it is.
#[test]
fn a_class_by_a_value_is_named_by_its_file() {
    let (_folder, inventory) = inventory(&[
        ("classes/base.yml", "parameters: {db: {password: S3CRETVALUE}}\n"),
        ("classes/a/S3CRETVALUE.yml", "parameters: {x: '${none}'}\n"),
        ("nodes/n.yml", "classes: [base, 'a.${db:password}']\n"),
    ]);
    let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
    let sent = concise(&error);
    let (place, sentence) = sent.split_once(": node 'n': ").unwrap();
    assert!(place.ends_with("classes/a/S3CRETVALUE.yml:1:18"), "{sent}");
    assert!(!sentence.contains(SECRET), "{sent}");
}
