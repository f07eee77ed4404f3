//! The concise form of an error is sent to minions: it never holds the value of a parameter.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test writes files")]

use std::fs;

use reclass::engine::{Inventory, Request};
use reclass::report::concise;
use reclass::value::{Map, Value};

/// What stands for a secret in the inventories below.
const SECRET: &str = "S3CRETVALUE";

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
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::create_dir_all(base.join("classes")).unwrap();
        fs::create_dir_all(base.join("nodes")).unwrap();
        fs::write(base.join("classes/secret.yml"), "parameters: {pw: S3CRETVALUE}\n").unwrap();
        fs::write(base.join("classes/fixed.yml"), "parameters: {=pw: S3CRETVALUE}\n").unwrap();
        fs::write(base.join("nodes/n.yml"), format!("{node}\n")).unwrap();
        let mut options = Map::default();
        options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
        let inventory = Inventory::open(&options).unwrap();
        let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
        assert_eq!(error.first().code(), code, "{node}: {error}");
        let sent = concise(&error);
        assert!(!sent.contains(SECRET), "{node}: {sent}");
        assert!(sent.contains("nodes/n.yml:"), "{node}: {sent}");
    }
}
