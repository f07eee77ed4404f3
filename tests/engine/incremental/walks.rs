//! Random walks: files change, several at a time, and change back, also all of them to an earlier state, as
//! `git checkout` does it. An inventory that is kept says what a new one says, errors to the letter.
//!
//! The files are few and refer to one another, so that nodes fail, ask for exports that fail, and recover.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use reclass::error::Error;
use reclass::parts::engine::NodeRequest;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use support::random::Random;

/// The edits of a walk.
const EDITS: usize = 20;

const CLASSES: [&str; 6] = ["base", "b", "c", "d/init", "d/e", "f"];

/// What a class list may have: mostly a class of a later file, so that few make a cycle. There is no `none`, ever.
const NAMES: [&str; 6] = ["base", "b", "c", "d", "d.e", "f"];

const ODD_NAMES: [&str; 4] = ["'${k::f}'", "'${k}'", "base", "none"];

const NODES: [&str; 4] = ["n", "m", "o", "p"];

const PARAMETERS: [&str; 12] = [
    "z: 1",
    "z: 2",
    "gone: 1",
    "gone: 2",
    "x: '${z::0}'",
    "x: 4",
    "x: 5",
    "~x: '${z::1}'",
    "w: '${x::1}'",
    "w: 1",
    "=s: 1",
    "k: base",
];

const ODD_PARAMETERS: [&str; 11] = [
    "x: '${gone}'",
    "x: '${gone}'",
    "z: '${gone}'",
    "x: '${z}'",
    "x: '${w}'",
    "x: [1]",
    "~x: {in: '${z}'}",
    "s: 2",
    "k: none",
    "z: [",
    "q: '$[ exports:y ]'",
];

const QUERIES: [&str; 7] = [
    "q: '$[ exports:y ]'",
    "q: '$[ exports:y ]'",
    "q: '$[ +IgnoreErrors exports:y ]'",
    "q: '$[ exports:y if exports:e == 1 ]'",
    "q: '$[ +AllEnvs if exports:e == 1 ]'",
    "q: '$[ exports:y if exports:e == self:gone ]'",
    "r: '$[ exports:e ]'",
];

const EXPORTS: [&str; 6] = ["y: 1", "y: 2", "y: '${x::1}'", "e: 1", "e: 2", "e: '${z::1}'"];

const ODD_EXPORTS: [&str; 3] = ["y: '${x}'", "y: '${gone}'", "y: [1]"];

/// The text of each file; none of one that is not there.
type State = BTreeMap<String, Option<String>>;

/// Some of these, and once in a while an odd one.
fn some(random: &mut Random, items: &[&str], odd: &[&str], most: usize) -> String {
    let mut all: Vec<&str> = (0..random.below(most + 1)).map(|_| random.pick(items)).collect();
    if random.once_in(16) {
        all.push(random.pick(odd));
    }
    all.join(", ")
}

/// A text for a class, by its number, or for a node.
fn text(random: &mut Random, class: Option<usize>) -> Option<String> {
    if random.once_in(20) {
        return None;
    }
    let comment = random.pick(&["", "", "", "# a comment\n"]);
    let later = &NAMES[class.map_or(0, |class| class + 1)..];
    let classes = match later {
        [] => String::new(),
        later => some(random, later, &ODD_NAMES, if class.is_none() { 3 } else { 1 }),
    };
    let mut parameters = some(random, &PARAMETERS, &ODD_PARAMETERS, 2);
    if random.once_in(if class.is_none() { 2 } else { 6 }) {
        parameters = format!("{}, {parameters}", random.pick(&QUERIES));
    }
    let exports = some(random, &EXPORTS, &ODD_EXPORTS, 2);
    let environment = if class.is_none() && random.once_in(6) { "environment: other\n" } else { "" };
    Some(format!(
        "{comment}classes: [{classes}]\nparameters: {{{parameters}}}\nexports: {{{exports}}}\n{environment}"
    ))
}

/// The path of a file, and the number of the class if it is one.
fn file(random: &mut Random) -> (String, Option<usize>) {
    if random.once_in(3) {
        return (format!("nodes/{}.yml", random.pick(&NODES)), None);
    }
    let class = random.below(CLASSES.len());
    (format!("classes/{}.yml", CLASSES[class]), Some(class))
}

/// Writes what differs from the state before.
fn put(base: &Path, before: &State, state: &State, replace: bool) {
    for (path, text) in state.iter().filter(|(path, text)| before.get(*path) != Some(text)) {
        let path = base.join(path);
        match text {
            Some(text) if replace => {
                let beside = path.with_extension("new");
                fs::write(&beside, text).unwrap();
                fs::rename(beside, path).unwrap();
            }
            Some(text) => fs::write(path, text).unwrap(),
            None => drop(fs::remove_file(path)),
        }
    }
}

/// The next state: another text for some files, an earlier text of some files, or an earlier state as a whole, mostly
/// the one before.
fn next(random: &mut Random, states: &[State]) -> State {
    match random.below(6) {
        0..=1 => return states[states.len().saturating_sub(2)].clone(),
        2 => return states[random.below(states.len())].clone(),
        _ => {}
    }
    let mut state = states.last().unwrap().clone();
    for _ in 0..=random.below(4) {
        let (path, class) = file(random);
        let text = match random.below(6) {
            0 => None,
            1..=2 => states[random.below(states.len())].get(&path).cloned().flatten(),
            _ => text(random, class),
        };
        state.insert(path, text);
    }
    state
}

fn options(base: &Path, cache: &str, seed: u64) -> Map {
    let mut options = super::options(base, cache);
    let names = [
        "ignore_class_notfound",
        "inventory_ignore_failed_node",
        "inventory_ignore_failed_render",
        "class_wildcards",
    ];
    for (bit, name) in names.iter().enumerate() {
        // Mostly as they are by default.
        options.insert((*name).into(), Value::Bool(seed >> (2 + 2 * bit) & 3 == 3));
    }
    options.insert("group_errors".into(), Value::Bool(seed & 2 == 0));
    options
}

/// An error with all that people see of it.
fn whole(error: &Error, base: &Path) -> String {
    let read = |path: &str| fs::read_to_string(base.join(path)).ok();
    format!("{error}\n{}", reclass::report::full(error, false, &read))
}

/// What an inventory says of a node, or of all nodes.
fn answer(inventory: &Inventory, base: &Path, node: &str) -> String {
    let answer = match node {
        "" => inventory.inventory().map(|all| {
            let lines = all.iter().map(|info| reclass::json::dumps(&info.to_value(""), false));
            lines.collect::<Vec<_>>().join("\n")
        }),
        node => inventory
            .nodeinfo(node, &Request::default())
            .map(|info| reclass::json::dumps(&info.to_value(""), false)),
    };
    answer.unwrap_or_else(|error| whole(&error, base))
}

/// What a walk met.
#[derive(Default, Debug)]
pub struct Met {
    pub states: usize,
    pub answers: usize,
    pub errors: usize,
}

pub fn walk(seed: u64, met: &mut Met) {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    for inner in ["nodes", "classes/d"] {
        fs::create_dir_all(base.join(inner)).unwrap();
    }
    let mut random = Random(seed);
    let mut state = State::new();
    for (class, name) in CLASSES.iter().enumerate() {
        state.insert(format!("classes/{name}.yml"), text(&mut random, Some(class)));
    }
    for name in NODES {
        state.insert(format!("nodes/{name}.yml"), text(&mut random, None));
    }
    put(base, &State::new(), &state, false);
    let cache = ["auto", "stat"][usize::from(seed % 8 > 5)];
    let kept = Inventory::open(&options(base, cache, seed)).unwrap();
    let mut states = vec![state];
    for edit in 0..=EDITS {
        if edit > 0 {
            let state = next(&mut random, &states);
            put(base, states.last().unwrap(), &state, random.once_in(2));
            states.push(state);
        }
        met.states += 1;
        let fresh = Inventory::open(&options(base, "off", seed)).unwrap();
        // Half of the walks ask for all nodes, and half for a few, so that some parts of the kept one are older.
        let mut asked = NODES.to_vec();
        if seed % 2 == 0 {
            asked =
                (0..random.below(2 * NODES.len())).map(|_| random.pick(&["", "n", "m", "o", "p"])).collect();
        }
        for node in asked {
            let (was, is) = (answer(&fresh, base, node), answer(&kept, base, node));
            met.answers += 1;
            met.errors += usize::from(!is.starts_with('{'));
            assert_eq!(is, was, "'{node}' in walk {seed} with cache {cache} after edit {edit}: {states:#?}");
        }
    }
}

#[test]
fn files_that_change_and_change_back_are_as_in_a_new_inventory() {
    // Others on request: RECLASS_WALKS, from RECLASS_WALKS_FROM on.
    let asked = |name: &str, usual| std::env::var(name).map_or(usual, |count| count.parse().unwrap());
    let from: u64 = asked("RECLASS_WALKS_FROM", 0);
    let count = asked("RECLASS_WALKS", if support::is_long() { 2_000 } else { 60 });
    let mut met = Met::default();
    (from..from + count).for_each(|seed| walk(seed, &mut met));
    assert!(met.errors * 10 > met.answers && met.errors * 10 < met.answers * 9, "{met:?}");
    println!("{count} walks: {met:?}");
}

/// `git checkout` of another branch, and back: one class goes and comes back while another changes.
#[test]
fn a_failing_node_with_a_query_fails_as_before_when_its_classes_come_back() {
    for cache in ["auto", "stat"] {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let (first, second) = ("parameters: {z: 1}\n", "parameters: {x: '${gone}'}\n");
        super::write(base, "classes/base.yml", first);
        super::write(base, "classes/b.yml", second);
        super::write(base, "nodes/n.yml", "classes: [base, b]\nparameters: {q: '$[ exports:y ]'}\n");
        let kept = Inventory::open(&super::options(base, cache)).unwrap();
        let before = [answer(&kept, base, "n"), answer(&kept, base, "")];
        assert!(before[0].contains("no parameter 'gone'"), "{}", before[0]);
        fs::remove_file(base.join("classes/b.yml")).unwrap();
        super::write(base, "classes/base.yml", "{}\n");
        assert!(answer(&kept, base, "n").contains("no class 'b'"));
        super::write(base, "classes/base.yml", first);
        super::write(base, "classes/b.yml", second);
        let parsed = kept.counts().parsed;
        for _ in 0..3 {
            assert_eq!([answer(&kept, base, "n"), answer(&kept, base, "")], before, "{cache}");
        }
        assert_eq!(kept.counts().parsed, parsed + 2, "no file that is in use was forgotten");
    }
}

/// What changes during each attempt is named; what stops changing is waited for.
#[test]
fn a_file_that_keeps_changing_is_named() {
    for cache in ["auto", "stat"] {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        super::write(base, "classes/a.yml", "");
        super::write(base, "classes/b.yml", "");
        super::write(base, "nodes/n.yml", "classes: [a, b]\n");
        let kept = Inventory::open(&super::options(base, cache)).unwrap();
        let (attempts, written) = (Cell::new(0), Cell::new(0));
        // A file changes during so many attempts.
        let ask = |path: &str, changes: usize| {
            attempts.set(0);
            kept.inspect(|computation| {
                for item in computation.catalog.nodes.values() {
                    computation.layers(NodeRequest::plain(&item.name)).unwrap();
                }
                attempts.set(attempts.get() + 1);
                if attempts.get() <= changes {
                    written.set(written.get() + 1);
                    let number = written.get().to_string();
                    super::write(
                        base,
                        &path.replace('*', &number),
                        &format!("parameters: {{v: {number}}}\n"),
                    );
                }
            })
        };
        for path in ["classes/b.yml", "nodes/n.yml", "nodes/new*.yml"] {
            ask(path, 0).unwrap();
            assert_eq!(attempts.get(), 1, "{path}");
            ask(path, 6).unwrap();
            assert_eq!(attempts.get(), 7, "{path}");
            let error = ask(path, usize::MAX).unwrap_err().to_string();
            let path = path.replace('*', &written.get().to_string());
            assert!(error.contains(&format!("{path}' keeps changing while it is read: ")), "{error}");
            assert!(error.contains("after each of 10 attempts (file-changing)"), "{error}");
            assert_eq!(attempts.get(), 10, "{path}");
        }
    }
}
