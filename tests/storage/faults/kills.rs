//! A process that fetches is killed at each of its own writes in turn, those of the record included: what
//! was there is answered whole, and the next fetch is right.
//!
//! The stages of a fetch at which git is at work are those of `tests/storage/git/kills.rs`.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use support::is_long;

use super::origin::Origin;
use super::prepare;
use super::scenarios::{ENDLESS, MAKE, WRITE, Way, arm, disarm, way};

/// The process is killed at what writes, makes, flushes or renames.
const KILLED: Way = way("killed", -3, WRITE | MAKE, false);

/// What there is before the fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Before {
    Nothing,
    Fetched,
    /// A cache that has to be made anew.
    Damaged,
}

/// The value of the class as the node has it.
fn value(inventory: &Inventory) -> usize {
    let answer = inventory.nodeinfo("n", &Request::default()).unwrap().to_value("");
    let text = reclass::json::dumps(&answer, false);
    let (_, rest) = text.split_once("\"v\":").expect("the value");
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

/// What a child does: fetches once, and is killed at one operation.
#[test]
#[ignore = "run by others in a process of its own"]
fn fetch_once() {
    let at: usize = std::env::var("KILLED_AT").unwrap().parse().unwrap();
    let options = reclass_yaml::parse_value(&std::env::var("KILLED_OPTIONS").unwrap()).unwrap();
    let Value::Map(options) = options else { panic!("options are a mapping") };
    arm(at, KILLED);
    let inventory = Inventory::open(&options).unwrap();
    let _ = value(&inventory);
    assert!(!disarm());
}

/// The folders and files of caches that are to take the place of others.
fn left_over(caches: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let is_left = |path: &PathBuf| path.extension().is_some_and(|end| end == "new" || end == "old");
    let caches = entries(caches);
    let files = caches.iter().flat_map(|cache| entries(cache));
    files.chain(caches.iter().cloned()).filter(is_left).collect()
}

fn with(options: &Map, setting: &str, value: Value) -> Map {
    let mut options = options.clone();
    options.insert(setting.into(), value);
    options
}

fn killed(state: Before, least: usize) {
    let (prepared, origin) = (prepare(), Origin::new());
    let caches = prepared.base.join("cache");
    let options = origin.options(&prepared.base);
    origin.commit(1);
    let mut killed = 0;
    // In the short form, at each fourth write.
    let step = if is_long() { 1 } else { 4 };
    for (old, at) in (1..).zip((1..ENDLESS).step_by(step)) {
        if state == Before::Nothing {
            let _ = fs::remove_dir_all(&caches);
        }
        // Who has asked before, and does not fetch any more.
        let patient = with(&options, "git_fetch_interval", Value::Int(3_600));
        let patient = (state != Before::Nothing).then(|| Inventory::open(&patient).unwrap());
        if let Some(patient) = &patient {
            assert_eq!(value(patient), old, "{state:?} {at}");
        }
        if state == Before::Damaged {
            let cache = fs::read_dir(&caches).unwrap().next().unwrap().unwrap().path();
            fs::remove_dir_all(cache.join("objects")).unwrap();
        }
        let new = old + 1;
        origin.commit(new);
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["faults::kills::fetch_once", "--exact", "--nocapture", "--include-ignored"])
            .env("LD_PRELOAD", &prepared.library)
            .env("FAULTS_BELOW", &prepared.base)
            .env("KILLED_AT", at.to_string())
            .env("KILLED_OPTIONS", reclass::json::dumps(&Value::map(options.clone()), false))
            .output()
            .unwrap();
        if output.status.success() {
            break;
        }
        assert_eq!(output.status.signal(), Some(9), "{}", String::from_utf8_lossy(&output.stderr));
        killed += 1;
        if let Some(patient) = patient.filter(|_| state == Before::Fetched) {
            assert!([old, new].contains(&value(&patient)), "{state:?} {at}");
        }
        assert_eq!(value(&Inventory::open(&options).unwrap()), new, "{state:?} {at}");
        assert_eq!(left_over(&caches), Vec::<PathBuf>::new(), "{state:?} {at}");
    }
    println!("KILLED\tat {killed} writes of a fetch, before it: {state:?}");
    assert!(killed >= least / step, "{killed}");
}

#[test]
fn a_process_that_is_killed_at_any_write_of_a_fetch_leaves_what_was_there() {
    killed(Before::Fetched, 10);
}

#[test]
fn a_process_that_is_killed_at_any_write_of_the_first_fetch_leaves_nothing_that_harms() {
    killed(Before::Nothing, 15);
}

#[test]
fn a_process_that_is_killed_while_a_cache_is_made_anew_leaves_nothing_that_harms() {
    killed(Before::Damaged, 15);
}
