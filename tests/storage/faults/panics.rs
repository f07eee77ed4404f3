//! A panic at every point of the engine in turn, in the middle of its work and under its locks: the next
//! answer is right, no thread waits for ever, and no file is half written.
//!
//! Each test runs in a process of its own: the point that panics and the hook of panics are one for a process.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use reclass::settings::Settings;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use reclass_base::failpoints::arm;
use reclass_base::panics;
use reclass_base::parallel;
use reclass_edit::cluster::{self, ClusterFile};
use reclass_edit::tree::EditOptions;
use reclass_serve::{Asker, Served};

use super::scenarios::{NEW, OLD, site};
use support::folders::write;

/// More points than any question passes.
const ENDLESS: usize = 100_000;

/// Longer than any answer takes; a thread that waits for ever takes more.
const LONG: Duration = Duration::from_secs(600);

/// All nodes with their answers, as text.
fn answers(inventory: &Inventory) -> Vec<String> {
    let nodes = inventory.nodes().unwrap();
    let answer = |name| inventory.nodeinfo(name, &Request::default()).unwrap().to_value("");
    nodes.iter().map(|name| reclass::json::dumps(&answer(name), false)).collect()
}

fn truth(options: &Map) -> Vec<String> {
    answers(&Inventory::open(options).unwrap())
}

/// The name of the point at which the work panicked, if it did.
fn panicking<T>(at: usize, work: impl FnOnce() -> T) -> Option<String> {
    arm(at);
    let done = catch_unwind(AssertUnwindSafe(work));
    arm(0);
    let payload = done.err()?;
    let text = payload.downcast_ref::<String>().expect("a panic of ours has a text");
    let name = text.strip_prefix("a test has '").and_then(|rest| rest.strip_suffix("' panic"));
    Some(name.unwrap_or_else(|| panic!("{at}: {text}")).to_owned())
}

fn edit(base: &Path, version: usize) {
    write(
        &base.join("classes/base.yml"),
        &format!("parameters: {{v: {version}}}\nexports: {{x: '${{v}}'}}\n"),
    );
    let both = format!("parameters: {{two: [{version}], of: '${{v}}', deep: {{a: {{b: 1}}}}}}\n");
    write(&base.join("elsewhere/two.yml"), &both);
}

/// Without the text of every panic in the output.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
        if !text.starts_with("a test has") {
            println!("{panic}");
        }
    }));
    let done = work();
    std::panic::set_hook(before);
    done
}

#[test]
fn the_place_of_a_panic_in_another_thread_is_known() {
    if support::runs_alone() {
        return;
    }
    let ours = thread::current().id();
    let elsewhere = AtomicBool::new(false);
    let wait_or_panic = || {
        if thread::current().id() != ours {
            elsewhere.store(true, SeqCst);
            panic!("of a value");
        }
        while !elsewhere.load(SeqCst) {
            thread::yield_now();
        }
    };
    let items = [(); 100];
    let shared = || {
        parallel::each(2, &items, || (), |(), ()| wait_or_panic(), |()| false);
    };
    let both = || {
        parallel::both(wait_or_panic, || ());
    };
    for work in [&shared as &dyn Fn(), &both] {
        elsewhere.store(false, SeqCst);
        let place = quietly(|| {
            panics::record_locations();
            assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
            panics::take_location()
        });
        assert!(place.starts_with(file!()), "{place}");
    }
}

/// The points of a first question, of one after an edit, and of the inventory that the process shares.
const POINTS: [&str; 12] = [
    "a cell is written",
    "a class is brought in",
    "a file is parsed",
    "a query is asked",
    "a reference is resolved",
    "folders were listed",
    "merged layers are kept",
    "the exports are looked up",
    "the inventories of the process are changed",
    "the table of files is changed",
    "two layers are merged",
    "threads are at work",
];

/// The inventory of the process.
fn shared(options: &Map) -> Arc<Inventory> {
    Served::shared(options, Asker::Master).unwrap().of_most().unwrap()
}

#[test]
fn a_panic_anywhere_in_a_question_leaves_nothing_wrong() {
    if support::runs_alone() {
        return;
    }
    quietly(|| {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let options = site(base);
        // So many that threads share the work.
        for number in 0..80 {
            write(&base.join(format!("nodes/n{number}.yml")), "classes: [base, deep.one]\n");
        }
        let kept = Inventory::open(&options).unwrap();
        shared(&options);
        let (mut seen, mut panics) = (BTreeSet::new(), 0);
        let mut version = 1;
        // Each of the first ones; the more alike they become, the fewer of them.
        for at in std::iter::successors(Some(1), |at| Some(at + 1 + at / 16)) {
            version += 1;
            edit(base, version);
            let truth = truth(&options);
            // One that is asked for the first time, one that knows what was there before the edit, and
            // the one of the process.
            let new = Inventory::open(&options).unwrap();
            let first = panicking(at, || answers(&new));
            let again = panicking(at, || answers(&kept));
            let all = panicking(at, || kept.inventory().unwrap());
            let common = panicking(at, || answers(&shared(&options)));
            for inventory in [&new, &kept, &*shared(&options)] {
                assert_eq!(answers(inventory), truth, "point {at}");
            }
            assert_eq!(kept.inventory().unwrap().len(), truth.len(), "point {at}");
            let named: Vec<String> = [first, again, all, common].into_iter().flatten().collect();
            if named.is_empty() {
                break;
            }
            panics += named.len();
            seen.extend(named);
        }
        println!("PANICS\t{panics} in questions, at {} points: {seen:?}", seen.len());
        assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), {
            let mut points = POINTS;
            points.sort_unstable();
            points
        });
    });
}

#[test]
fn no_thread_waits_for_one_that_panicked() {
    if support::runs_alone() {
        return;
    }
    quietly(|| {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().to_owned();
        let options = Arc::new(site(&base));
        let mut panics = 0;
        for at in (1..80).step_by(3) {
            edit(&base, at);
            let truth = truth(&options);
            let inventory = Arc::new(Inventory::open(&options).unwrap());
            let (sender, results) = mpsc::channel();
            arm(at);
            for _ in 0..4 {
                let (inventory, options, sender) = (inventory.clone(), options.clone(), sender.clone());
                thread::spawn(move || {
                    let done =
                        catch_unwind(AssertUnwindSafe(|| (answers(&inventory), answers(&shared(&options)))));
                    sender.send(done.ok()).unwrap();
                });
            }
            for _ in 0..4 {
                match results.recv_timeout(LONG).expect("no thread waits for ever") {
                    Some((own, shared)) => assert!(own == truth && shared == truth, "point {at}"),
                    None => panics += 1,
                }
            }
            arm(0);
            assert_eq!(answers(&inventory), truth, "point {at}");
        }
        println!("PANICS\t{panics} beside threads that wait");
        assert!(panics > 10, "{panics}");
    });
}

#[test]
fn a_panic_in_an_edit_leaves_the_old_file_and_no_lock() {
    if support::runs_alone() {
        return;
    }
    quietly(|| {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings::from_options(&site(folder.path())).unwrap().0;
        let path = folder.path().join("classes/cluster/prague/overrides.yml");
        let set = || {
            let file = ClusterFile { cluster: "prague", name: "" };
            cluster::set(&settings, file, "a", Value::Int(2), EditOptions::default())
        };
        let mut seen = BTreeSet::new();
        for at in 1..ENDLESS {
            write(&path, OLD);
            let Some(name) = panicking(at, || set().unwrap()) else { break };
            seen.insert(name);
            assert_eq!(fs::read_to_string(&path).unwrap(), OLD, "point {at}");
            set().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), NEW, "point {at}: then");
            let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(names.collect::<Vec<_>>(), ["overrides.yml"], "point {at}: nothing else is left");
        }
        // The others are those of the engine, which renders the nodes that the edit touches.
        for name in ["a text is changed", "folders were listed", "half of a file is written"] {
            assert!(seen.contains(name), "{seen:?}");
        }
    });
}
