//! Answers beside somebody who truncates a file and writes it again, as editors and `cat >` do: each is
//! from before or from after, none from between.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use reclass::value::{Map, Value};
use reclass::{Inventory, Request};

/// How many answers each inventory gives at least, and how often the file is written meanwhile.
const ANSWERS: usize = 2_000;
const WRITES: usize = 25;

/// How long the file is empty, and then half written. How long it is left alone between two writes.
const GAP: Duration = Duration::from_millis(3);
const REST: Duration = Duration::from_millis(150);

/// The setting: much longer than a gap, for machines with much else to do.
const SETTLE: u32 = 100;

fn text(number: usize) -> String {
    format!("parameters:\n  first: {number}\n  second: {number}\n")
}

/// Writes the file anew; the longest time between two steps of it.
fn write(path: &Path, number: usize) -> Duration {
    let text = text(number);
    let (first, second) = text.split_at(text.len() / 2);
    let mut file = File::create(path).unwrap();
    let mut longest = Duration::ZERO;
    for part in [first, second] {
        let begun = Instant::now();
        thread::sleep(GAP);
        file.write_all(part.as_bytes()).unwrap();
        longest = longest.max(begun.elapsed());
    }
    longest
}

/// What an answer has of the class.
fn seen(inventory: &Inventory) -> (Value, Value) {
    let info = inventory.nodeinfo("n", &Request::default()).unwrap();
    let parameters = info.parameters.as_map().unwrap();
    let value = |key: &str| parameters.get(key).cloned().unwrap_or_default();
    (value("first"), value("second"))
}

/// The answers from between beside a writer; `None` where the machine held the writer up for too long to
/// tell anything.
fn answers_from_between() -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    for name in ["nodes", "classes"] {
        fs::create_dir(base.join(name)).unwrap();
    }
    fs::write(base.join("nodes/n.yml"), "classes: [c]\n").unwrap();
    let class = base.join("classes/c.yml");
    fs::write(&class, text(0)).unwrap();
    let inventory = |cache| {
        let mut options = Map::default();
        options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
        options.insert("cache".into(), Value::text(cache));
        options.insert("settle_time".into(), Value::Int(SETTLE.into()));
        Inventory::open(&options).unwrap()
    };
    let (done, held_up, between) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=WRITES {
                let longest = write(&class, number);
                held_up.fetch_or(longest > Duration::from_millis(u64::from(SETTLE) / 2), Ordering::Relaxed);
                thread::sleep(REST);
                done.store(number, Ordering::Relaxed);
            }
        });
        for cache in ["auto", "stat", "off"] {
            let (inventory, done, between) = (inventory(cache), &done, &between);
            scope.spawn(move || {
                let mut given = 0;
                while given < ANSWERS || done.load(Ordering::Relaxed) < WRITES {
                    let (first, second) = seen(&inventory);
                    if first != second || !matches!(first, Value::Int(_)) {
                        between.lock().unwrap().push(format!("cache {cache}: {first:?} {second:?}"));
                    }
                    given += 1;
                    // Most answers are to be beside writes.
                    thread::sleep(Duration::from_micros(200));
                }
                assert_eq!(seen(&inventory).0, Value::Int(WRITES.try_into().unwrap()));
            });
        }
    });
    (!held_up.into_inner()).then(|| between.into_inner().unwrap())
}

#[test]
fn a_file_that_is_being_written_is_not_believed() {
    let between = (0..5).find_map(|_| answers_from_between());
    assert_eq!(between, Some(Vec::new()), "None: the machine is too busy");
}

#[test]
fn many_files_written_at_once_take_one_wait() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    fs::create_dir(base.join("classes")).unwrap();
    fs::create_dir(base.join("nodes")).unwrap();
    for number in 0..200 {
        fs::write(base.join(format!("nodes/n{number}.yml")), "parameters: {v: 1}\n").unwrap();
    }
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    options.insert("settle_time".into(), Value::Int(1_000));
    options.insert("threads".into(), Value::Int(1));
    let inventory = Inventory::open(&options).unwrap();
    // Each wait has its end on the clock, so the later files find it reached.
    let begun = Instant::now();
    assert_eq!(inventory.inventory().unwrap().len(), 200);
    assert!(begun.elapsed() > Duration::from_millis(500), "{:?}", begun.elapsed());
}

#[test]
fn a_file_that_is_never_left_alone_is_an_error_and_no_wait_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    for name in ["nodes", "classes"] {
        fs::create_dir(base.join(name)).unwrap();
    }
    let node = base.join("nodes/n.yml");
    fs::write(&node, "parameters: {v: 1}\n").unwrap();
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    options.insert("settle_time".into(), Value::Int(40));
    let inventory = Inventory::open(&options).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // Several writers, because a busy machine may hold one of them up for longer than `settle_time`.
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    File::options().append(true).open(&node).unwrap().write_all(b"#\n").unwrap();
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let error = (0..20).find_map(|_| inventory.nodeinfo("n", &Request::default()).err());
        stop.store(true, Ordering::Relaxed);
        let error = error.unwrap();
        let error = error.to_string();
        // Writes during each read have another message.
        let expected =
            ["it is never left alone for 40 ms (settle_time)", "it was another one after each of 6 attempts"];
        assert!(expected.iter().any(|text| error.contains(text)), "{error}");
        assert!(error.contains("n.yml' keeps changing") && error.contains("(file-changing)"), "{error}");
    });
    inventory.nodeinfo("n", &Request::default()).unwrap();
}

/// A busy machine may hold a writer up between truncating a file and writing it.
#[test]
fn an_empty_file_waits_longer_than_others() {
    use reclass::internals::storage::fs::read_settled;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("n.yml");
    let settle = Duration::from_millis(20);
    for (text, least) in [("", settle * 10), ("a: 1\n", settle)] {
        fs::write(&path, text).unwrap();
        let written = Instant::now();
        read_settled(&path, 1_000, settle).unwrap();
        assert!(written.elapsed() >= least, "{text:?}: {:?}", written.elapsed());
    }
    fs::write(&path, "").unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(settle * 4);
            fs::write(&path, "a: 1\n").unwrap();
        });
        assert_eq!(read_settled(&path, 1_000, settle).unwrap().0, b"a: 1\n");
    });
}
