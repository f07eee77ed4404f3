//! Command lines of the verbs of `reclass` turn into exit codes and output.
//!
//! What the verbs say stands in the pages of the documentation, which `tests/pages.rs` runs.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests make files and may panic")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value as Json;
use tempfile::TempDir;

const SECRET: &str = "hunter22";

/// An inventory with a secret, a node that fails because of it, and one that lists what is not there.
fn workplace() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("a");
    for (name, text) in [
        ("nodes/n.yml", "classes: [c]\nparameters:\n  db: {password: hunter22, port: 5432}\n"),
        ("nodes/broken.yml", "classes: [c]\nparameters:\n  admin_password: hunter22 ${gone}\n"),
        ("nodes/lost.yml", "classes: [nowhere]\n"),
        ("nodes/lost2.yml", "classes: [also]\n"),
        ("classes/also.yml", "classes: [nowhere]\n"),
        (
            "classes/c.yml",
            "applications: [one]\nparameters:\n  url: pg://${db:password}@h\n  db: {password: x}\n",
        ),
    ] {
        let path = base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.current_dir(directory).env_clear().env("HOME", directory.join("home"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    let text = [output.stdout.clone(), output.stderr.clone()].concat();
    String::from_utf8(text).unwrap()
}

#[test]
fn exit_codes() {
    let place = workplace();
    let codes: [(&[&str], i32); 15] = [
        (&["explain", "-b", "a", "n", "url"], 0),
        (&["-b", "a", "explain", "n", "url"], 0),
        (&["explain", "-b", "a", "nope"], 74),
        (&["explain", "-b", "a", "n", "nope"], 74),
        (&["explain", "-b", "a", "lost"], 65),
        (&["explain"], 2),
        (&["explain", "-b", "a", "n", "-o", "yaml"], 2),
        (&["lint", "-b", "a"], 1),
        (&["lint", "-b", "a", "nope"], 74),
        (&["lint", "-b", "gone"], 74),
        (&["diff", "-b", "a", "a", "."], 0),
        (&["diff", "-b", "a", "--", "--output=x", "."], 74),
        (&["nodes", "-b", "a"], 0),
        (&["nodes", "-b", "a", "--file", "nope.yml"], 74),
        (&["refs", "-b", "a"], 2),
    ];
    for (arguments, expected) in codes {
        let output = run(place.path(), arguments);
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}: {}", text(&output));
    }
}

#[test]
fn secrets_are_masked_in_every_answer() {
    let place = workplace();
    let arguments: [&[&str]; 12] = [
        &["explain", "n", "**"],
        &["explain", "n", "-o", "json"],
        &["explain", "broken", "**"],
        &["lint", "--level", "info"],
        &["lint", "-o", "json"],
        &["diff", "a", "other"],
        &["diff", "a", "other", "-o", "json"],
        &["params", "-l"],
        &["params", "-o", "json"],
        &["graph"],
        &["-n", "broken"],
        &["-i"],
    ];
    copy(&place.path().join("a"), &place.path().join("other"));
    let changed = place.path().join("other/nodes/n.yml");
    fs::write(&changed, fs::read_to_string(&changed).unwrap().replace(SECRET, "hunter23")).unwrap();
    for arguments in arguments {
        let arguments = [arguments, &["-b", "a"]].concat();
        let said = text(&run(place.path(), &arguments));
        assert!(said.len() > 40, "{arguments:?}: {said}");
        assert!(!said.contains("hunter"), "{arguments:?}: {said}");
    }
    for arguments in [&["explain", "n", "url"][..], &["params", "-l"], &["diff", "a", "other"], &["graph"]] {
        let said = text(&run(place.path(), &[arguments, &["-b", "a", "--show-secrets"]].concat()));
        assert!(said.contains(SECRET), "{arguments:?}: {said}");
    }
    fs::write(place.path().join("reclass-config.yml"), "secret_keys: []\n").unwrap();
    assert!(text(&run(place.path(), &["explain", "-b", "a", "n", "url"])).contains(SECRET));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn json_is_json() {
    let place = workplace();
    for arguments in [
        &["explain", "n", "-o", "json"][..],
        &["lint", "-o", "json"],
        &["lint", "-o", "sarif"],
        &["diff", "a", ".", "-o", "json"],
        &["nodes", "-o", "json"],
        &["classes", "-o", "json"],
        &["applications", "-o", "json"],
        &["params", "-o", "json"],
        &["refs", "db", "-o", "json"],
    ] {
        let output = run(place.path(), &[arguments, &["-b", "a"]].concat());
        let read: Result<Json, _> = serde_json::from_slice(&output.stdout);
        assert!(read.is_ok_and(|json| json.is_array() || json.is_object()), "{arguments:?}");
        assert!(output.stderr.is_empty(), "{arguments:?}: {}", text(&output));
    }
}

#[test]
fn the_whole_inventory_says_all_its_problems_once() {
    let place = workplace();
    let output = run(place.path(), &["-b", "a", "-i"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(65));
    assert_eq!(said.matches("error[reference-not-found]").count(), 1, "{said}");
    assert_eq!(said.matches("error[class-not-found]").count(), 2, "{said}");
    let single = text(&run(place.path(), &["-b", "a", "-i", "-1"]));
    assert_eq!(single.matches("error[").count(), 1, "{single}");
}

#[test]
fn verbs_stand_in_the_help() {
    let place = workplace();
    let help = text(&run(place.path(), &["--help"]));
    for verb in ["explain", "lint", "diff", "nodes", "classes", "applications", "params", "refs", "graph"] {
        assert!(help.contains(&format!("  {verb} ")), "{verb} in\n{help}");
        let own = text(&run(place.path(), &[verb, "--help"]));
        assert!(own.contains("docs/") && own.contains("--inventory-base-uri"), "{own}");
    }
}
