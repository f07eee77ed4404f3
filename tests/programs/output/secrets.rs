//! The concise form of an error is sent to minions: it never holds the value of a parameter.

use std::fs;

use reclass::error::concise;
use reclass::redact::Redaction;
use reclass::report::full;
use reclass::value::{Key, Map, Value};
use reclass::{Inventory, Request};
use reclass_base::secrets::MASK;
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
fn neither_the_message_nor_the_log_shows_what_is_under_a_secret_key() {
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
        // References and queries.
        ("parameters: {password: 'S3CRETVALUE${a}'}", "reference-not-found"),
        ("parameters: {passwords: [{a: 'S3CRETVALUE${a}'}]}", "reference-not-found"),
        ("parameters: {token: '${b:${a::S3CRETVALUE}}'}", "reference-not-found"),
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
        // A query under another key is shown in the excerpt.
        if !node.contains("exports:password") {
            let redaction = Redaction::of(inventory.settings());
            let logged =
                full(&error, false, &|path| Some(redaction.source(&fs::read_to_string(path).unwrap())));
            assert!(!logged.contains(SECRET), "{node}: {logged}");
            assert!(logged.contains("nodes/n.yml:"), "{node}: {logged}");
        }
        drop(folder);
    }
}

#[test]
fn a_reference_under_a_secret_key_is_a_name() {
    let (_folder, inventory) = inventory(&[("nodes/n.yml", "parameters:\n  password: ${_param:x}\n")]);
    let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
    assert!(concise(&error).contains("'${_param:x}'"), "{error}");
    let redaction = Redaction::of(inventory.settings());
    let logged = full(&error, false, &|path| Some(redaction.source(&fs::read_to_string(path).unwrap())));
    assert!(logged.contains("  password: ${_param:x}\n"), "{logged}");
}

/// The places of a cycle are names. A name that a secret chooses is not shown.
#[test]
fn a_cycle_is_shown_unless_a_secret_chooses_its_path() {
    for (node, shown) in [
        ("a_password: '${b_password}'\n  b_password: 'x${a_password}'", true),
        ("all: {S3CRETVALUE: '${x}'}\n  name: S3CRETVALUE\n  x: '${all:${name}}'", true),
        ("all: {S3CRETVALUE: '${x}'}\n  password: S3CRETVALUE\n  x: '${all:${password}}'", false),
        ("all: {aS3CRETVALUE: '${x}'}\n  password: S3CRETVALUE\n  x: '${all:a${password}}'", false),
        (
            "all: {S3CRETVALUE: '${x}'}\n  b: c\n  password: S3CRETVALUE\n  x: '${all:${password}} ${b}'",
            false,
        ),
    ] {
        let (_folder, inventory) = inventory(&[("nodes/n.yml", &format!("parameters:\n  {node}\n"))]);
        let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
        assert_eq!(error.first().code(), "reference-cycle", "{node}: {error}");
        assert_eq!(concise(&error).contains("form a cycle: ***"), !shown, "{node}: {}", concise(&error));
        assert!(shown || !concise(&error).contains(SECRET), "{node}: {}", concise(&error));
    }
}

/// Values are hidden as a whole, by their key or because they change without the secrets. What is equal to
/// a secret, or holds its text, is no secret.
#[test]
fn answers_hide_secrets_and_nothing_else() {
    const NODE: &str = "classes: [c]
parameters:
  keystone: {tokens: {engine: cache, list: [SHOW-a]}}
  glance: {engine: memcached}
  copy: x cache SHOW-b
  domain: cz.${_param:domain}
  url: SHOW://${db:password}@h
  secret: {name: SHOW, password_auth: false}
  users: [{name: SHOW, password: HIDE-c}]
  auth_tokens: [HIDE-h, {name: HIDE-i, of: [HIDE-j]}]
  tokens: ['SHOW${_param:domain}', '${db:password}']
  fallback: ${gone:password::SHOW-d}
exports: {domain: '${_param:domain}', token: HIDE-e}
";
    const CLASS: &str = "parameters:
  _param: {domain: SHOW.cz, pw: SHOW-f}
  db: {password: '${_param:pw}', token: 'HIDE-g${_param:domain}', key: '${db:password}'}
";
    let (_folder, inventory) = inventory(&[("nodes/n.yml", NODE), ("classes/c.yml", CLASS)]);
    let redaction = Redaction::of(inventory.settings());

    let filter = reclass_analysis::list::NodeFilter::default();
    let parameters = reclass_analysis::list::parameters(&inventory, &[], &filter, &redaction).unwrap().rows;
    let options = reclass_graph::PageOptions::default();
    let page = reclass_graph::data(&inventory, &[], &redaction, &options).unwrap();
    let selection = reclass_analysis::explain::Selection {
        parameters: vec!["**".into()],
        exports: vec!["**".into()],
        redaction: redaction.clone(),
        ..reclass_analysis::explain::Selection::default()
    };
    let explanation =
        reclass_analysis::explain::explain(&inventory, "n", &Request::default(), &selection).unwrap();
    let text = reclass_analysis::explain::to_text(&explanation, reclass::style::Paint::PLAIN);
    let data = reclass::report::to_json(&explanation);
    for shown in [&format!("{parameters:?}"), &page.values, &text, &data] {
        assert!(shown.contains("memcached") && shown.contains("SHOW-b"), "{shown}");
        assert!(!shown.contains("HIDE"), "{shown}");
        for (at, _) in shown.match_indices(MASK) {
            let alone = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !"@/.$}*".contains(c));
            let (before, after) = (&shown[..at], &shown[at + MASK.len()..]);
            assert!(alone(before.chars().last()) && alone(after.chars().next()), "{at} in {shown}");
        }
    }
    let value = |path: &str| {
        let path: Vec<Key> = path.split(':').map(Key::from).collect();
        let trace = explanation.parameters.iter().find(|trace| *trace.path == *path).unwrap();
        redaction.value(&path, trace.value.as_ref().unwrap()).as_str().map(str::to_owned)
    };
    for (path, expected) in [
        ("glance:engine", "memcached"),
        ("keystone:tokens:engine", "cache"),
        ("domain", "cz.SHOW.cz"),
        ("url", MASK),
        ("secret:name", "SHOW"),
        ("db:password", MASK),
        ("db:token", MASK),
        ("db:key", MASK),
        ("_param:pw", "SHOW-f"),
        ("fallback", "SHOW-d"),
    ] {
        assert_eq!(value(path).as_deref(), Some(expected), "{path}");
    }
    // The text that brings the secret in is a name.
    assert!(text.contains("\"${_param:pw}\"") && text.contains("\"SHOW://${db:password}@h\""), "{text}");
}

#[test]
fn a_class_name_that_holds_no_secret_is_shown() {
    let base = "parameters: {role: web, db: {password: S3CRETVALUE}}\n";
    for (node, note) in [
        ("classes: [base, 'a.${role}']\n", "its name comes to 'a.web'"),
        ("classes: [base, 'a.${role}.${db:password}']\n", "a secret is in its name"),
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

/// The place of an item of a list is below the secret key, wherever a reference or an alias brings the list. So its
/// text is hidden there too.
#[test]
fn what_a_reference_or_an_alias_brings_from_below_a_secret_key_is_hidden() {
    const CLASS: &str = "parameters:
  db: {password: [HIDE-a, [HIDE-b], {SHOW: HIDE-c}], SHOW-open: SHOW-d}
  secrets: {SHOW-e: [HIDE-e], other: {SHOW-f: {SHOW-g: [HIDE-g]}}}
  copy: ${db:password}
  chain: ${copy:0}
  whole: ${db}
  part: {inner: '${secrets}'}
  items: ['${db:password}', '${secrets:other}']
  two: [SHOW-h]
  map: {SHOW-i: SHOW-j}
  passwords: {SHOW-k: '${map::HIDE-k}'}
  given: ${passwords}
  alias: {token: &list [HIDE-l], pass: &text HIDE-m, secrets: &map {SHOW-n: HIDE-n}}
  aliased: {SHOW-o: *list, SHOW-p: *text, SHOW-q: *map, SHOW-r: [*text], <<: *map}
  open: &open [SHOW-s]
  closed: {password: *open}
exports: {e: '${copy}', x: *text}
";
    let (_folder, inventory) = inventory(&[
        ("classes/c.yml", CLASS),
        ("nodes/n.yml", "classes: [c]\nparameters: {two: '${db:password}', chain: '${copy:1}'}\n"),
        ("nodes/m.yml", "parameters: {q: '$[ exports:e ]', one: '${q:n}', l: ['$[ exports:x ]']}\n"),
    ]);
    let redaction = Redaction::of(inventory.settings());
    let mut shown = Vec::new();
    for node in ["n", "m"] {
        let selection = reclass_analysis::explain::Selection {
            parameters: vec!["**".into()],
            exports: vec!["**".into()],
            redaction: redaction.clone(),
            ..reclass_analysis::explain::Selection::default()
        };
        let everything = reclass_analysis::explain::Selection {
            parameters: Vec::new(),
            exports: Vec::new(),
            ..selection.clone()
        };
        for selection in [selection, everything] {
            let explained =
                reclass_analysis::explain::explain(&inventory, node, &Request::default(), &selection)
                    .unwrap();
            shown.push(reclass_analysis::explain::to_text(&explained, reclass::style::Paint::PLAIN));
            shown.push(reclass::report::to_json(&explained));
        }
    }
    let filter = reclass_analysis::list::NodeFilter::default();
    shown.push(format!(
        "{:?}",
        reclass_analysis::list::parameters(&inventory, &[], &filter, &redaction).unwrap().rows
    ));
    let page =
        reclass_graph::data(&inventory, &[], &redaction, &reclass_graph::PageOptions::default()).unwrap();
    shown.extend([
        page.values,
        reclass::report::to_json(&reclass_analysis::docs::docs(&inventory, &redaction).unwrap()),
    ]);
    for shown in &shown {
        assert!(shown.contains(MASK) && !shown.contains("HIDE"), "{shown}");
    }
    // What lies below an open key, and the names that bring secrets in, are no secrets.
    let text = &shown[0];
    for name in
        "dehijkopqrs".chars().map(|letter| format!("SHOW-{letter}")).chain(["${db:password}".to_owned()])
    {
        assert!(text.contains(&name), "{name} in {text}");
    }
}
