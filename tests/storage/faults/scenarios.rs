//! Scenarios play a question, an edit or a fetch again and again, each time with another operation that
//! fails, and check what is said.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use reclass::error::{Error, Fault, Kind};
use reclass::settings::Settings;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use reclass_edit::cluster::{self, ClusterFile};
use reclass_edit::tree::EditOptions;
use support::is_long;

use super::origin::Origin;
use support::folders::{inventory, until_old, write};

/// How an operation fails.
#[derive(Clone, Copy)]
pub struct Way {
    name: &'static str,
    /// The error number of Linux, or what `preload.rs` does for numbers below zero.
    error: i32,
    /// What kinds of operations can fail like this, as `preload/struck.rs` numbers them.
    kinds: i32,
    /// Whether all of these fail from then on.
    lasting: bool,
}

const OPEN: i32 = 1;
const READ: i32 = 2;
pub const WRITE: i32 = 4;
pub const MAKE: i32 = 8;
const CLOSE: i32 = 16;
const LOOK: i32 = 32;

pub const fn way(name: &'static str, error: i32, kinds: i32, lasting: bool) -> Way {
    Way { name, error, kinds, lasting }
}

const WAYS: [Way; 13] = [
    way("ENOENT", 2, OPEN | MAKE | LOOK, false),
    way("EIO", 5, OPEN | READ | WRITE | MAKE | CLOSE | LOOK, false),
    way("EACCES", 13, OPEN | MAKE | LOOK, false),
    way("EMFILE", 24, OPEN, false),
    way("ENOSPC", 28, WRITE | MAKE, false),
    way("a short read", -1, READ, false),
    way("an early end", -2, READ, false),
    way("a short write", -1, WRITE, false),
    way("ENOENT from then on", 2, OPEN | MAKE | LOOK, true),
    way("EIO from then on", 5, OPEN | READ | WRITE | MAKE | CLOSE | LOOK, true),
    way("EACCES from then on", 13, OPEN | MAKE | LOOK, true),
    way("EMFILE from then on", 24, OPEN, true),
    way("ENOSPC from then on", 28, WRITE | MAKE, true),
];

/// More operations than any scenario has.
pub const ENDLESS: usize = 100_000;

/// How many runs in a row must not come to their operation before there are no more.
const MISSES: usize = 5;

/// Answers by node: what it came to, or the error.
type Answers = BTreeMap<String, Result<Value, Error>>;

/// Has the operation `at` fail.
pub fn arm(at: usize, way: Way) {
    let Way { error, kinds, lasting, .. } = way;
    fs::read_link(format!("/faults/{at}/{error}/{kinds}/{}", u8::from(lasting)))
        .expect("the library is loaded");
}

/// Has nothing fail any more; whether anything did.
pub fn disarm() -> bool {
    let counts = fs::read_link("/faults/0/0/0/0").expect("the library is loaded");
    let (_, struck) = counts.to_str().unwrap().split_once('/').expect("two numbers");
    struck.parse::<usize>().unwrap() > 0
}

fn answers(inventory: &Inventory) -> Result<Answers, Error> {
    let ask = |name: &str| inventory.nodeinfo(name, &Request::default()).map(|info| info.to_value(""));
    Ok(inventory.nodes()?.iter().map(|name| (name.to_string(), ask(name))).collect())
}

/// Two nodes, classes in folders and behind a link, a query.
pub fn site(base: &Path) -> Map {
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
        Err(error) => {
            clear(&error, case);
            return 1;
        }
    };
    assert_eq!(said.keys().collect::<Vec<_>>(), truth.keys().collect::<Vec<_>>(), "{case}");
    let mut failed = 0;
    for (node, said) in said {
        match said {
            Ok(value) => assert_eq!(Ok(value), truth[&node], "{case}: {node}"),
            Err(error) => {
                clear(&error, case);
                failed += 1;
            }
        }
    }
    failed
}

/// An error that names the file, folder or repository, and says what helps.
fn clear(error: &Error, case: &str) {
    for fault in error.faults() {
        clear_fault(fault, &format!("{case}: {error}"));
    }
}

fn clear_fault(fault: &Fault, case: &str) {
    let place = match &fault.kind {
        Kind::FileUnreadable { path, .. }
        | Kind::DirectoryNotFound { path, .. }
        | Kind::DirectoryUnreadable { path, .. }
        | Kind::FileUnwritable { path, .. }
        | Kind::FolderUnflushed { path, .. }
        | Kind::GitCache { path, .. } => path,
        Kind::PathRefused { path, reason } => {
            assert!(!reason.is_empty(), "{case}");
            path
        }
        // A class whose file is not seen: where it was looked for, and who asks for it.
        Kind::ClassNotFound { folder, .. } => {
            assert!(fault.site.is_some(), "{case}");
            folder
        }
        Kind::QueryFailed { .. } => {
            assert!(!fault.causes.is_empty(), "{case}");
            fault.causes.iter().for_each(|cause| clear_fault(cause, case));
            return;
        }
        Kind::GitFetch { repo, message } => {
            assert!(!repo.is_empty() && !message.is_empty(), "{case}");
            return;
        }
        Kind::EtcdUnreachable { endpoints, message } => {
            assert!(!endpoints.is_empty() && !message.is_empty(), "{case}");
            return;
        }
        Kind::GitProgram { .. } => {
            assert!(fault.kind.help().is_some(), "{case}");
            return;
        }
        _ => panic!("{case}"),
    };
    assert!(Path::new(place).starts_with(below()), "{case}: {place}");
    assert!(fault.kind.to_string().contains(place.as_str()), "{case}: {place}");
    let refused = !matches!(fault.kind, Kind::ClassNotFound { .. } | Kind::PathRefused { .. });
    assert!(!refused || fault.kind.help().is_some(), "{case}: no way out");
}

/// Opens an inventory with one fault after the other, each time with the next version of its values: what it answers
/// is the truth or an error, and the truth when it is asked again.
fn each_version(name: &str, options: &Map, publish: impl Fn(usize)) {
    let mut version = 1;
    every(name, false, |at, way, case| {
        version += 1;
        publish(version);
        arm(at, way);
        let opened = Inventory::open(options).unwrap();
        let said = answers(&opened);
        let struck = disarm();
        let truth = answers(&Inventory::open(options).unwrap()).unwrap();
        let value = truth["n"].as_ref().map(|value| reclass::json::dumps(value, false));
        let value = value.unwrap();
        assert!(value.contains(&format!("\"v\":{version}")), "{case}: {value}");
        let failed = check(said, &truth, case);
        assert_eq!(answers(&opened), Ok(truth), "{case}: asked again");
        (struck, failed)
    });
}

/// Runs a scenario with operations that fail in turn. In the long form of the tests each operation fails in
/// each way, or in one way where that would take minutes, unless `RECLASS_FAULTS` is `all`. In the short form
/// each operation fails in one way, or only each fourth. Where the calls of the process are traced, the
/// scenario runs once and nothing fails.
///
/// It ends when several runs in a row did not come to their operation: an error on the way may make one run
/// shorter than the next.
fn every(name: &str, in_each_way: bool, mut play: impl FnMut(usize, Way, &str) -> (bool, usize)) {
    if std::env::var_os("FAULTS_TRACE").is_some() {
        let (struck, failed) = play(ENDLESS, WAYS[1], "no fault");
        assert!(!struck && failed == 0);
        return;
    }
    let in_each_way = in_each_way || std::env::var("RECLASS_FAULTS").is_ok_and(|word| word == "all");
    let step = match (in_each_way, is_long()) {
        (true, true) => 1,
        (false, false) => 4 * WAYS.len(),
        _ => WAYS.len(),
    };
    let most = if is_long() { MISSES } else { 2 };
    let (mut injected, mut errors) = (0, 0);
    for (number, way) in WAYS.into_iter().enumerate() {
        let first = 1 + number * step / WAYS.len();
        let mut missed = 0;
        for at in (first..ENDLESS).step_by(step) {
            let case = format!("{name}, {} at operation {at}", way.name);
            let (struck, failed) = play(at, way, &case);
            if struck {
                injected += 1;
                errors += failed;
                missed = 0;
            } else {
                assert_eq!(failed, 0, "{case}: nothing failed");
                missed += 1;
            }
            if missed == most {
                break;
            }
        }
    }
    println!("\nFAULTS\t{name}: {injected} faults, {errors} answers were errors");
}

/// The folder of a child's inventory: below it, operations fail.
pub fn below() -> PathBuf {
    PathBuf::from(std::env::var("FAULTS_BELOW").expect("a child"))
}

/// Opens an inventory and asks for all of it while an operation fails; whether one did.
fn first_question(options: &Map, (at, way): (usize, Way)) -> (Inventory, Result<Answers, Error>, bool) {
    arm(at, way);
    let opened = Inventory::open(options).unwrap();
    let said = answers(&opened);
    let struck = disarm();
    (opened, said, struck)
}

#[test]
#[ignore = "run by others in a process of its own"]
fn reading() {
    let base = below();
    let options = site(&base);
    until_old(&base);
    let truth = answers(&Inventory::open(&options).unwrap()).unwrap();
    every("the first question", true, |at, way, case| {
        let (opened, said, struck) = first_question(&options, (at, way));
        let failed = check(said, &truth, case);
        assert_eq!(answers(&opened), Ok(truth.clone()), "{case}: asked again");
        (struck, failed)
    });
}

#[test]
#[ignore = "run by others in a process of its own"]
fn reading_again() {
    let base = below();
    let options = site(&base);
    until_old(&base);
    let kept = Inventory::open(&options).unwrap();
    answers(&kept).unwrap();
    let mut version = 1;
    every("a question after an edit", true, |at, way, case| {
        version += 1;
        edit(&base, version);
        let truth = answers(&Inventory::open(&options).unwrap()).unwrap();
        arm(at, way);
        let said = answers(&kept);
        let struck = disarm();
        let failed = check(said, &truth, case);
        assert_eq!(answers(&kept), Ok(truth), "{case}: asked again");
        (struck, failed)
    });
}

/// The same without a link, so that the kernel reports changes.
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
    until_old(&base);
    let opened = Inventory::open(&options).unwrap();
    answers(&opened).unwrap();
    assert!(opened.cache_info().watching);
    let mut version = 1;
    every("a first question, then an edit that the kernel reports", true, |at, way, case| {
        let truth = answers(&Inventory::open(&options).unwrap()).unwrap();
        let (opened, said, struck) = first_question(&options, (at, way));
        let failed = check(said, &truth, case);
        // What was not watched must not be taken for unchanged.
        version += 1;
        edit(&base, version);
        let truth = answers(&Inventory::open(&options).unwrap());
        assert_eq!(answers(&opened), truth, "{case}: after an edit");
        (struck, failed)
    });
}

#[test]
#[ignore = "run by others in a process of its own"]
fn watching_again() {
    let base = below();
    let options = watched_site(&base);
    until_old(&base);
    let mut version = 1;
    every("a question after an edit that the kernel reports", true, |at, way, case| {
        let kept = Inventory::open(&options).unwrap();
        answers(&kept).unwrap();
        assert!(kept.cache_info().watching);
        version += 1;
        edit(&base, version);
        let truth = answers(&Inventory::open(&options).unwrap()).unwrap();
        arm(at, way);
        let said = answers(&kept);
        let struck = disarm();
        let failed = check(said, &truth, case);
        assert_eq!(answers(&kept), Ok(truth), "{case}: asked again");
        (struck, failed)
    });
}

pub const OLD: &str = "parameters:\n  _param:\n    a: 1 # why\n";
pub const NEW: &str = "parameters:\n  _param:\n    a: 2 # why\n";

/// Files that were to take the place of others.
fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .flat_map(|entry| {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() { left_behind(&path) } else { vec![path] }
        })
        .filter(|path| path.to_string_lossy().contains("reclass-new"))
        .collect()
}

#[test]
#[ignore = "run by others in a process of its own"]
fn editing() {
    let base = below();
    let options = site(&base);
    let settings = Settings::from_options(&options).unwrap().0;
    let path = base.join("classes/cluster/prague/overrides.yml");
    let set = || {
        let file = ClusterFile { cluster: "prague", name: "" };
        cluster::set(&settings, file, "a", Value::Int(2), EditOptions::default())
    };
    let mut unflushed = 0;
    every("an edit", true, |at, way, case| {
        write(&path, OLD);
        arm(at, way);
        let edited = set();
        let struck = disarm();
        let text = fs::read_to_string(&path).unwrap();
        let failed = match edited {
            Ok(_) => {
                assert_eq!(text, NEW, "{case}: it is said to be done");
                0
            }
            Err(error) => {
                clear(&error, case);
                let made = matches!(error.first().kind, Kind::FolderUnflushed { .. });
                assert_eq!(text, if made { NEW } else { OLD }, "{case}: {error}");
                unflushed += usize::from(made);
                1
            }
        };
        set().unwrap_or_else(|error| panic!("{case}: then {error}"));
        assert_eq!(fs::read_to_string(&path).unwrap(), NEW, "{case}: then");
        assert_eq!(left_behind(&base), Vec::<PathBuf>::new(), "{case}: then");
        (struck, failed)
    });
    assert!(
        unflushed > 0 || !is_long() || std::env::var_os("FAULTS_TRACE").is_some(),
        "no folder failed to be flushed"
    );
}

#[test]
#[ignore = "run by others in a process of its own"]
fn fetching() {
    let base = below();
    let origin = Origin::new();
    origin.commit(1);
    let options = origin.options(&base);
    each_version("a fetch", &options, |version| origin.commit(version));
}

/// The record is below the folder where operations fail, the inventory is not.
#[test]
#[ignore = "run by others in a process of its own"]
fn reading_etcd() {
    let base = below();
    let site = tempfile::tempdir().unwrap();
    let mut options = inventory(site.path());
    write(&site.path().join("nodes/n.yml"), "classes: [c]\n");
    write(&site.path().join("classes/c.yml"), "parameters: {_param: {v: file}}\n");
    options.insert("etcd_endpoints".into(), Value::list(vec![Value::text("127.0.0.1:1")]));
    options.insert("etcd_cache_dir".into(), Value::text(base.join("record").to_str().unwrap()));
    options.insert("etcd_interval".into(), Value::Int(0));
    options.insert("etcd_failure".into(), Value::text("fail"));
    let place = base.with_file_name("bin").join("version");
    each_version("a reading of etcd", &options, |version| write(&place, &version.to_string()));
}
