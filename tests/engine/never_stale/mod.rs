//! Random edits of an inventory that is kept: after each, every answer is that of one that is opened from
//! scratch in a new process.

mod answers;
mod edits;
use support::random;
mod writing;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use reclass::Inventory;

use answers::{answers, options};
use edits::Site;
use random::Random;

/// How many edits are made of each inventory, one to three at a time.
const STEPS: usize = 25;

/// After so many steps nothing is done until the fingerprints of all files are old enough to be trusted.
const BETWEEN_RESTS: usize = 9;

/// How many inventories are edited side by side; most of the time they rest, or wait for a process.
const THREADS: usize = 12;

/// What a process of its own answers: this program, run again for one test.
fn answers_of_a_new_process(site: &Site, cautious: bool) -> String {
    let file = site.elsewhere().join("answers");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["never_stale::answer_from_scratch", "--exact", "--include-ignored"])
        .env("RECLASS_SCRATCH_BASE", site.base())
        .env("RECLASS_SCRATCH_ANSWERS", &file)
        .env("RECLASS_SCRATCH_CAUTIOUS", cautious.to_string())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let answers = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    answers
}

/// What such a process does.
#[test]
#[ignore = "run by the other in a process of its own"]
fn answer_from_scratch() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let options = options(
        Path::new(&variable("RECLASS_SCRATCH_BASE")),
        "off",
        variable("RECLASS_SCRATCH_CAUTIOUS").parse().unwrap(),
    );
    let answers = answers(&Inventory::open(&options).unwrap());
    std::fs::write(variable("RECLASS_SCRATCH_ANSWERS"), answers).unwrap();
}

fn edit_and_compare(seed: u64) {
    let cache = ["auto", "stat", "auto", "off"][usize::try_from(seed % 4).unwrap()];
    // Where classes may be missing there are more answers than errors.
    let cautious = seed % 3 == 0;
    let site = Site::new();
    let kept = Inventory::open(&options(site.base(), cache, cautious)).unwrap();
    let mut random = Random(seed);
    let mut done = Vec::new();
    for step in 1..=STEPS {
        if step % BETWEEN_RESTS == 0 {
            site.rest();
            answers(&kept);
            done.push("rested".to_owned());
        }
        for _ in 0..=random.below(3) {
            done.push(site.edit(&mut random));
        }
        let fresh = answers_of_a_new_process(&site, cautious);
        assert_eq!(answers(&kept), fresh, "seed {seed}, cache {cache}, after {done:#?}");
    }
}

#[test]
fn after_any_edit_the_answers_are_those_of_a_new_process() {
    // More of them on request: RECLASS_NEVER_STALE_COUNT; from RECLASS_NEVER_STALE_FROM on.
    let asked = |name: &str, usual| std::env::var(name).map_or(usual, |count| count.parse().unwrap());
    let from = asked("RECLASS_NEVER_STALE_FROM", 0);
    let count = asked("RECLASS_NEVER_STALE_COUNT", if support::is_long() { 36 } else { 12 });
    let next = AtomicU64::new(from);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    match next.fetch_add(1, Ordering::Relaxed) {
                        seed if seed < from + count => edit_and_compare(seed),
                        _ => break,
                    }
                }
            });
        }
    });
}
