//! Every file operation fails in turn: what is answered all the same is right, what is not is a clear
//! error, files are whole, and the next call answers.
//!
//! A library between the engine and the C library (`preload.rs`, built here by `rustc`) has the n-th
//! operation below the inventory fail, or all from that one on, for n from one until there are no
//! more. `cargo test --test faults -- --nocapture` prints how many. For tests, `rustix` asks the C
//! library and not the kernel itself.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test writes files")]
#![allow(clippy::print_stdout, reason = "a child tells its parent what it did, the parent tells us")]

#[path = "../folders/mod.rs"]
mod folders;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use folders::{inventory, write};
use reclass::edit::cluster::{self, File};
use reclass::edit::tree::Options;
use reclass::engine::{Inventory, Request};
use reclass::error::{Error, Kind};
use reclass::settings::Settings;
use reclass::value::{Map, Value};
use rustix::process::{Resource, Rlimit, setrlimit};

/// Error numbers of Linux, and what `preload.rs` does for numbers below zero.
const FAULTS: [(&str, i32); 11] = [
    ("ENOENT", 2),
    ("EIO", 5),
    ("EACCES", 13),
    ("EMFILE", 24),
    ("ENOSPC", 28),
    ("a short read", -1),
    ("an early end", -2),
    ("ENOENT from then on", 1002),
    ("EIO from then on", 1005),
    ("EACCES from then on", 1013),
    ("EMFILE from then on", 1024),
];

/// More operations than any scenario has.
const ENDLESS: usize = 100_000;

/// Answers by node: what it came to, or the error.
type Answers = BTreeMap<String, Result<Value, Error>>;

/// Has the operation `at` fail; tells how many there were since the last time.
fn arm(at: usize, error: i32) -> usize {
    let seen = fs::read_link(format!("/faults/{at}/{error}")).expect("the library is loaded");
    seen.to_str().unwrap().parse().unwrap()
}

fn answers(inventory: &Inventory) -> Result<Answers, Error> {
    let ask = |name: &str| inventory.nodeinfo(name, &Request::default()).map(|info| info.to_value(""));
    Ok(inventory.nodes()?.iter().map(|name| (name.to_string(), ask(name))).collect())
}

/// Two nodes, classes in folders and behind a link, a query.
fn site(base: &Path) -> Map {
    let mut options = inventory(base);
    options.insert("cache".into(), Value::text("stat"));
    write(&base.join("nodes/a.yml"), "classes: [base, deep.one]\nparameters: {q: '$[ exports:x ]'}\n");
    write(&base.join("nodes/more/b.yml"), "classes: [base, linked.two]\n");
    write(&base.join("classes/base.yml"), "parameters: {v: 1}\nexports: {x: '${v}'}\n");
    write(&base.join("classes/deep/one.yml"), "parameters: {one: '${v}'}\n");
    write(&base.join("elsewhere/two.yml"), "parameters: {two: [1, 2]}\n");
    std::os::unix::fs::symlink("../elsewhere", base.join("classes/linked")).unwrap();
    options
}

/// What is said is the truth, or an error of what could not be read.
fn check(said: Result<Answers, Error>, truth: &Answers, case: &str) -> usize {
    let said = match said {
        Ok(said) => said,
        Err(error) => return usize::from(clear(&error, case)),
    };
    assert_eq!(said.keys().collect::<Vec<_>>(), truth.keys().collect::<Vec<_>>(), "{case}");
    let mut failed = 0;
    for (node, said) in said {
        match said {
            Ok(value) => assert_eq!(Ok(value), truth[&node], "{case}: {node}"),
            Err(error) => failed += usize::from(clear(&error, case)),
        }
    }
    failed
}

/// An error that names a file or folder, or a class whose file is not seen.
fn clear(error: &Error, case: &str) -> bool {
    let kind = &error.first().kind;
    let known = matches!(
        kind,
        Kind::FileUnreadable { .. }
            | Kind::DirectoryNotFound { .. }
            | Kind::ClassNotFound { .. }
            | Kind::QueryFailed { .. }
            | Kind::FileUnwritable { .. }
            | Kind::GitCache { .. }
            | Kind::GitFetch { .. }
            | Kind::GitProgram { .. }
    );
    assert!(known, "{case}: {error}");
    true
}

/// Runs a scenario with each operation failing in turn, in each way; where that would take minutes,
/// each operation fails in one way, unless `RECLASS_FAULTS` is `all`.
fn every(name: &str, in_each_way: bool, mut play: impl FnMut(usize, i32, &str) -> (usize, usize)) {
    let in_each_way = in_each_way || std::env::var("RECLASS_FAULTS").is_ok_and(|word| word == "all");
    let ways = if in_each_way { FAULTS.len() } else { 1 };
    let (mut injected, mut errors) = (0, 0);
    for way in 0..ways {
        for at in 1..ENDLESS {
            let (fault, number) = FAULTS[if in_each_way { way } else { at % FAULTS.len() }];
            let case = format!("{name}, {fault} at operation {at}");
            let (seen, failed) = play(at, number, &case);
            if seen < at {
                break;
            }
            injected += 1;
            errors += failed;
        }
    }
    println!("\nFAULTS\t{name}: {injected} faults, {errors} answers were errors");
}

/// The folder of a child's inventory: below it, operations fail.
fn below() -> PathBuf {
    PathBuf::from(std::env::var("FAULTS_BELOW").expect("a child"))
}

/// Opens an inventory and asks for all of it while an operation fails; how many operations there were.
fn first_question(options: &Map, (at, error): (usize, i32)) -> (Inventory, Result<Answers, Error>, usize) {
    arm(at, error);
    let opened = Inventory::open(options).unwrap();
    let said = answers(&opened);
    let seen = arm(0, 0);
    (opened, said, seen)
}

#[test]
#[ignore = "run by others in a process of its own"]
fn reading() {
    let options = site(&below());
    let truth = answers(&Inventory::open(&options).unwrap()).unwrap();
    every("the first question", true, |at, error, case| {
        let (opened, said, seen) = first_question(&options, (at, error));
        let failed = check(said, &truth, case);
        assert_eq!(answers(&opened), Ok(truth.clone()), "{case}: asked again");
        (seen, failed)
    });
}

#[test]
#[ignore = "run by others in a process of its own"]
fn reading_again() {
    let base = below();
    let options = site(&base);
    let kept = Inventory::open(&options).unwrap();
    answers(&kept).unwrap();
    let mut version = 1;
    every("a question after an edit", true, |at, error, case| {
        version += 1;
        edit(&base, version);
        let truth = answers(&Inventory::open(&options).unwrap()).unwrap();
        arm(at, error);
        let said = answers(&kept);
        let seen = arm(0, 0);
        let failed = check(said, &truth, case);
        assert_eq!(answers(&kept), Ok(truth), "{case}: asked again");
        (seen, failed)
    });
}

/// The same without a link: changes are told by the kernel.
fn watched_site(base: &Path) -> Map {
    let mut options = site(base);
    fs::remove_file(base.join("classes/linked")).unwrap();
    write(&base.join("nodes/more/b.yml"), "classes: [base]\n");
    options.insert("cache".into(), Value::text("auto"));
    options
}

fn edit(base: &Path, version: usize) {
    let text = format!("parameters: {{v: {version}}}\nexports: {{x: '${{v}}'}}\n");
    write(&base.join("classes/base.yml"), &text);
}

#[test]
#[ignore = "run by others in a process of its own"]
fn watching() {
    let base = below();
    let options = watched_site(&base);
    let opened = Inventory::open(&options).unwrap();
    answers(&opened).unwrap();
    assert!(opened.cache_info().watching);
    let mut version = 1;
    every("a first question, then an edit that the kernel tells of", true, |at, error, case| {
        let truth = answers(&Inventory::open(&options).unwrap()).unwrap();
        let (opened, said, seen) = first_question(&options, (at, error));
        let failed = check(said, &truth, case);
        // What was not watched must not be taken for unchanged.
        version += 1;
        edit(&base, version);
        let truth = answers(&Inventory::open(&options).unwrap());
        assert_eq!(answers(&opened), truth, "{case}: after an edit");
        (seen, failed)
    });
}

#[test]
#[ignore = "run by others in a process of its own"]
fn watching_again() {
    let base = below();
    let options = watched_site(&base);
    let mut version = 1;
    every("a question after an edit that the kernel tells of", true, |at, error, case| {
        let kept = Inventory::open(&options).unwrap();
        answers(&kept).unwrap();
        assert!(kept.cache_info().watching);
        version += 1;
        edit(&base, version);
        let truth = answers(&Inventory::open(&options).unwrap()).unwrap();
        arm(at, error);
        let said = answers(&kept);
        let seen = arm(0, 0);
        let failed = check(said, &truth, case);
        assert_eq!(answers(&kept), Ok(truth), "{case}: asked again");
        (seen, failed)
    });
}

const OLD: &str = "parameters:\n  _param:\n    a: 1 # why\n";
const NEW: &str = "parameters:\n  _param:\n    a: 2 # why\n";

#[test]
#[ignore = "run by others in a process of its own"]
fn editing() {
    let base = below();
    let options = site(&base);
    let settings = Settings::from_options(&options).unwrap().0;
    let path = base.join("classes/cluster/prague/overrides.yml");
    let set = || {
        let file = File { cluster: "prague", name: "" };
        cluster::set(&settings, file, "a", Value::Int(2), Options::default())
    };
    every("an edit", true, |at, error, case| {
        write(&path, OLD);
        arm(at, error);
        let edited = set();
        let seen = arm(0, 0);
        let text = fs::read_to_string(&path).unwrap();
        let failed = match edited {
            Ok(_) => {
                assert_eq!(text, NEW, "{case}: it is said to be done");
                0
            }
            Err(error) => {
                let known = matches!(
                    error.first().code(),
                    "file-unwritable" | "file-unreadable" | "directory-not-found" | "path-refused"
                );
                assert!(known, "{case}: {error}");
                1
            }
        };
        assert!([OLD, NEW].contains(&text.as_str()), "{case}: {text}");
        set().unwrap_or_else(|error| panic!("{case}: then {error}"));
        assert_eq!(fs::read_to_string(&path).unwrap(), NEW, "{case}: then");
        (seen, failed)
    });
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=master"]);
    let done = command.arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
#[ignore = "run by others in a process of its own"]
fn fetching() {
    let base = below();
    let origin = tempfile::tempdir().unwrap();
    write(&origin.path().join("nodes/n.yml"), "classes: [c]\n");
    write(&origin.path().join("classes/c.yml"), "parameters: {v: 0}\n");
    git(origin.path(), &["init", "-q"]);
    let commit = |version: usize| {
        write(&origin.path().join("classes/c.yml"), &format!("parameters: {{v: {version}}}\n"));
        git(origin.path(), &["add", "."]);
        git(origin.path(), &["commit", "-q", "-m", "x"]);
    };
    commit(1);
    let tree = |root: &str| {
        let text = |text: &str| Value::text(text);
        let entries = [
            ("repo", text(origin.path().to_str().unwrap())),
            ("branch", text("master")),
            ("root", text(root)),
            ("cache_dir", text(base.join("cache").to_str().unwrap())),
            ("lock_dir", text(base.join("locks").to_str().unwrap())),
        ];
        Value::map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
    };
    let options: Map = [
        ("storage_type", Value::text("yaml_git")),
        ("nodes_uri", tree("nodes")),
        ("classes_uri", tree("classes")),
        ("git_fetch_interval", Value::Int(0)),
        ("git_fetch_failure", Value::text("fail")),
    ]
    .into_iter()
    .map(|(key, value)| (key.into(), value))
    .collect();
    let mut version = 1;
    every("a fetch", false, |at, error, case| {
        version += 1;
        commit(version);
        arm(at, error);
        let opened = Inventory::open(&options).unwrap();
        let said = answers(&opened);
        let seen = arm(0, 0);
        let truth = answers(&Inventory::open(&options).unwrap()).unwrap();
        let value = truth["n"].as_ref().map(|value| reclass::json::dumps(value, false).unwrap());
        let value = value.unwrap();
        assert!(value.contains(&format!("\"v\":{version}")), "{case}: {value}");
        let failed = check(said, &truth, case);
        assert_eq!(answers(&opened), Ok(truth), "{case}: asked again");
        (seen, failed)
    });
}

/// Builds the library, and runs one of the tests above with it.
fn run(test: &str, more: &[(&str, &str)]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("preload.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/preload.rs");
    let built = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=cdylib", "-D", "warnings", "-o"])
        .args([&library, &source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let base = folder.path().join("site");
    fs::create_dir(&base).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--include-ignored"])
        .env("LD_PRELOAD", library)
        .env("FAULTS_BELOW", base)
        .envs(more.iter().copied())
        .output()
        .unwrap()
}

/// Runs a scenario; how many faults it had.
fn scenario(test: &str, least: usize) {
    let output = run(test, &[]);
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
fn a_fetch_is_made_or_refused() {
    scenario("fetching", 50);
}

#[test]
fn a_panic_in_the_engine_leaves_nothing_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let options = site(folder.path());
    let kept = Inventory::open(&options).unwrap();
    let truth = answers(&kept).unwrap();
    for _ in 0..3 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            kept.inspect(|computation| -> () { panic!("{} nodes", computation.catalog.nodes.keys().count()) })
        }));
        assert!(panicked.is_err());
        assert_eq!(answers(&kept), Ok(truth.clone()));
        write(&folder.path().join("classes/deep/one.yml"), "parameters: {one: changed}\n");
        let changed = answers(&Inventory::open(&options).unwrap());
        assert_eq!(answers(&kept), changed);
        write(&folder.path().join("classes/deep/one.yml"), "parameters: {one: '${v}'}\n");
    }
}

/// What a child does that has little memory.
#[test]
#[ignore = "run by others in a process of its own"]
fn editing_in_little_memory() {
    let base = below();
    let settings = Settings::from_options(&inventory(&base)).unwrap().0;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmSize")).unwrap();
    let now: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let more: u64 = std::env::var("FAULTS_MEMORY").unwrap().parse().unwrap();
    let limit = Some(now * 1024 + more);
    setrlimit(Resource::As, Rlimit { current: limit, maximum: limit }).unwrap();
    let file = File { cluster: "prague", name: "" };
    let edited = cluster::set(&settings, file, "a", Value::Int(2), Options::default());
    println!("\nEDITED\t{}", edited.is_ok());
}

#[test]
fn a_process_without_memory_leaves_the_old_file_or_the_new_one() {
    const MIB: u64 = 1024 * 1024;
    let large = format!("{OLD}    list: [{}]\n", "x, ".repeat(400_000));
    let mut ended = BTreeMap::new();
    for limit in (0..96).step_by(8) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("classes/cluster/prague/overrides.yml");
        write(&path, &large);
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["editing_in_little_memory", "--exact", "--nocapture", "--include-ignored"])
            .env("FAULTS_BELOW", folder.path())
            .env("FAULTS_MEMORY", (limit * MIB).to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let word = match said.lines().find_map(|line| line.strip_prefix("EDITED\t")) {
            Some("true") => "edited",
            Some(_) => "refused",
            None => "ended",
        };
        let text = fs::read_to_string(&path).unwrap();
        let new = large.replace("a: 1", "a: 2");
        assert!(text == large || text == new, "{limit} MiB: {} bytes", text.len());
        assert!(word != "edited" || text == new, "{limit} MiB");
        *ended.entry(word).or_insert(0) += 1;
    }
    println!("{ended:?}");
    assert!(ended.contains_key("ended") && ended.contains_key("edited"), "{ended:?}");
}
