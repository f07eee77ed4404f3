//! Inventories that would grow without end are refused, soon and with a place.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test writes files")]

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use reclass::engine::{Inventory, Request};
use reclass::value::{Map, Value};

/// The code of the first problem of a node with these parameters; `ok` where there is none.
fn outcome(parameters: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("classes")).unwrap();
    fs::create_dir_all(folder.path().join("nodes")).unwrap();
    fs::write(folder.path().join("nodes/n.yml"), format!("parameters:\n{parameters}")).unwrap();
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(folder.path().to_str().unwrap()));
    let inventory = Inventory::open(&options).unwrap();
    let begin = Instant::now();
    let outcome = match inventory.nodeinfo("n", &Request::default()) {
        Ok(_) => "ok".to_owned(),
        Err(error) => {
            let first = error.first();
            assert!(first.site.as_ref().is_some_and(|site| site.line > 0), "{error}");
            format!("{}: {}", first.code(), first.kind)
        }
    };
    assert!(begin.elapsed() < Duration::from_secs(20), "{outcome} took {:?}", begin.elapsed());
    outcome
}

/// `p0` to `p{count}`, each made from the name of the next.
fn chain(count: usize, last: &str, each: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for number in 0..count {
        writeln!(out, "  p{number}: {}", each(number + 1)).unwrap();
    }
    writeln!(out, "  p{count}: {last}").unwrap();
    out
}

#[test]
fn a_long_chain_of_references_is_no_problem() {
    assert_eq!(outcome(&chain(5_000, "end", |next| format!("${{p{next}}}"))), "ok");
}

#[test]
fn lists_that_double_are_refused() {
    let doubling = chain(60, "end", |next| format!("['${{p{next}}}', '${{p{next}}}']"));
    assert!(outcome(&doubling).contains("number of values"), "{}", outcome(&doubling));
    let mappings = chain(60, "end", |next| format!("{{a: '${{p{next}}}', b: '${{p{next}}}'}}"));
    assert!(outcome(&mappings).contains("number of values"));
}

#[test]
fn text_that_doubles_is_refused() {
    let doubling = chain(60, "end", |next| format!("'${{p{next}}}${{p{next}}}'"));
    assert!(outcome(&doubling).contains("length of all text"), "{}", outcome(&doubling));
}

#[test]
fn containers_without_end_are_refused() {
    let nested = chain(3_000, "end", |next| format!("{{a: '${{p{next}}}'}}"));
    assert!(outcome(&nested).contains("nesting"), "{}", outcome(&nested));
    assert_eq!(outcome(&chain(300, "end", |next| format!("['${{p{next}}}']"))), "ok");
}
