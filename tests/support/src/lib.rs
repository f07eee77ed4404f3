//! What several tests use: inventories as texts into folders, answers into what can be compared, generated inventories.
//!
//! Invariants: nothing here asserts what an inventory means, except `checks`, which tests and fuzzers run alike. What is
//! chosen by chance is chosen by a seed.
#![allow(missing_docs, reason = "read by tests alone")]
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by a panic")]
#![allow(clippy::disallowed_methods, reason = "tests write files")]
#![allow(clippy::print_stdout, reason = "a test says what it did")]

pub mod answer;
pub mod checks;
pub mod corpus;
pub mod faithful;
pub mod folders;
pub mod generate;
pub mod inventory;
pub mod links;
pub mod options;
pub mod page;
pub mod random;
pub mod yaml;

/// Whether the long forms of tests run, as in `make test-long` and in CI. The short forms try fewer cases.
pub fn is_long() -> bool {
    std::env::var_os("RECLASS_LONG").is_some()
}

/// A test cannot run without this program or data. It fails, unless `RECLASS_WITHOUT` names it; then `make test`
/// lists the test as skipped. `way` says how to get it.
pub fn absent(what: &str, way: &str) {
    let without = std::env::var("RECLASS_WITHOUT").unwrap_or_default();
    assert!(
        without.split(',').any(|one| one == what),
        "there is no {what}: {way}. RECLASS_WITHOUT={what} skips the tests that need it."
    );
    note_skipped(&format!("without {what}"));
}

/// Adds a line to the list that `make test` prints at its end.
pub fn note_skipped(why: &str) {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(|path| path.file_stem()?.to_str()?.split('-').next());
    let test = std::thread::current().name().filter(|name| *name != "main").unwrap_or_default().to_owned();
    let line = format!("{} {test}: {why}\n", program.unwrap_or_default());
    let list = std::path::Path::new(ROOT).join("target/skipped-tests");
    let file = std::fs::OpenOptions::new().create(true).append(true).open(list);
    std::io::Write::write_all(&mut file.expect("the list can be written"), line.as_bytes())
        .expect("the list can be written");
}

/// Runs the test that calls this once more, in a process of its own, for what is one for a process: its time, its
/// panics, its failpoints. `false` in that process, and where tests do not run side by side.
pub fn runs_alone() -> bool {
    const ALONE: &str = "RECLASS_TEST_ALONE";
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("main");
    if name == "main" || std::env::var_os(ALONE).is_some() {
        return false;
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--include-ignored"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

/// The top of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
