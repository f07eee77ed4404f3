//! Every file operation fails in turn: what is answered all the same is right, what is not is a clear
//! error, files are whole, and the next call answers.
//!
//! A library between the engine and the C library (`preload.rs`, built here by `rustc`) has the n-th
//! operation below the inventory fail, or all from that one on, for n from one until there are no
//! more. `cargo test --test storage faults:: -- --nocapture` prints how many. For tests, `rustix` asks the C
//! library and not the kernel itself.

mod calls;
mod kills;
mod memory;
mod origin;
mod panics;
mod scenarios;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::is_long;
use tempfile::TempDir;

/// A program with the library before it, and the folder below which operations fail.
struct Prepared {
    folder: TempDir,
    library: PathBuf,
    base: PathBuf,
}

/// Builds the library.
fn prepare() -> Prepared {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("preload.so");
    let source = Path::new(support::ROOT).join("tests/storage/faults/preload.rs");
    let built = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=cdylib", "-D", "warnings", "-o"])
        .args([&library, &source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let base = folder.path().join("site");
    fs::create_dir(&base).unwrap();
    Prepared { folder, library, base }
}

/// A folder with an `etcdctl` that has one key, whose value is in the file `version` beside it.
fn etcdctl_of(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let bin = folder.join("bin");
    fs::create_dir(&bin).unwrap();
    // A new value is in a new revision.
    let script = "#!/bin/sh\nvalue=$(base64 < \"${0%/*}/version\")\n\
                  revision=$(($(cat \"${0%/*}/version\") + 9))\n\
                  key=$(printf /reclass/classes/c/_param/v | base64)\n\
                  printf '{\"header\":{\"revision\":%s},\"kvs\":[{\"key\":\"%s\",\"mod_revision\":%s,' \
                  $revision \"$key\" $revision\n\
                  printf '\"value\":\"%s\"}]}' \"$value\"\n";
    let program = bin.join("etcdctl");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    bin
}

/// Runs a scenario as a process of its own.
fn run(test: &str) -> Output {
    let prepared = prepare();
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new(std::env::current_exe().unwrap())
        .env("PATH", format!("{}:{path}", etcdctl_of(prepared.folder.path()).display()))
        .args([&format!("faults::scenarios::{test}"), "--exact", "--nocapture", "--include-ignored"])
        .env("LD_PRELOAD", prepared.library)
        .env("FAULTS_BELOW", prepared.base)
        .output()
        .unwrap()
}

/// Runs a scenario. It must have at least so many faults, in the short form a tenth.
fn scenario(test: &str, least: usize) {
    let least = if is_long() { least } else { least / 10 };
    let output = run(test);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let line = said.lines().find_map(|line| line.strip_prefix("FAULTS\t")).expect("a sum");
    println!("{line}");
    let injected = line.split(": ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(injected.parse::<usize>().unwrap() >= least, "{line}");
}

#[test]
fn the_first_question_is_answered_or_refused() {
    scenario("reading", 100);
}

#[test]
fn a_question_after_an_edit_is_answered_or_refused() {
    scenario("reading_again", 100);
}

#[test]
fn a_watch_misses_nothing() {
    scenario("watching", 100);
}

#[test]
fn a_question_that_a_watch_answers_is_answered_or_refused() {
    scenario("watching_again", 100);
}

#[test]
fn an_edit_is_made_or_refused() {
    scenario("editing", 50);
}

#[test]
fn etcd_is_read_or_the_answer_is_refused() {
    scenario("reading_etcd", 30);
}

#[test]
fn a_fetch_is_made_or_refused() {
    scenario("fetching", 50);
}
