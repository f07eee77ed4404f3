//! Limits as settings: each is an error that names its setting, and at its highest value nothing runs
//! out of stack.

use support::folders;

use std::fs;
use std::path::Path;
use std::process::Command;

use folders::{inventory, set, write};
use reclass::error::Error;
use reclass::error::concise;
use reclass::settings::TABLE;
use reclass::{Inventory, Request};

/// A limit, a value that is low, settings beside it, and an inventory whose node `n` goes beyond that
/// and not beyond the default.
type Low = (&'static str, &'static str, &'static str, fn(&Path));

const LOW: [Low; 11] = [
    ("limit_file_size", "1", "", |base| {
        class(base, &format!("parameters: {{a: {}}}\n", "x".repeat(1 << 21)));
    }),
    ("limit_file_values", "10", "", |base| class(base, "parameters: {a: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n")),
    ("limit_files", "3", "", |base| (0..5).for_each(|number| write(&named(base, number), "{}\n"))),
    ("limit_folder_depth", "2", "", |base| nested(base, "nodes", 4)),
    ("limit_depth", "3", "", |base| class(base, "parameters: {a: {b: {c: {d: 1}}}}\n")),
    ("limit_references", "3", "", |base| chain(base, "${p#}", 5)),
    ("limit_values", "20", "", |base| chain(base, "['${p#}', '${p#}']", 6)),
    ("limit_text", "1", "", |base| chain(base, "'${p#}${p#}'", 20)),
    ("limit_classes", "2", "", |base| includes(base, 4)),
    ("limit_include_depth", "2", "", |base| includes(base, 4)),
    ("limit_backtracking", "20", "class_mappings: ['/^(a|aa)+$(?<!x)/ c'], ", |base| {
        fs::rename(base.join("nodes/n.yml"), base.join(format!("nodes/{}b.yml", "a".repeat(10)))).unwrap();
    }),
];

fn class(base: &Path, text: &str) {
    write(&base.join("classes/c.yml"), text);
}

fn named(base: &Path, number: usize) -> std::path::PathBuf {
    base.join(format!("classes/k{number}.yml"))
}

/// Folders in one another, and a file in the innermost of them. Folders of nodes are always listed, folders of
/// classes when a name leads into them, or by those who list all.
fn nested(base: &Path, top: &str, count: usize) {
    write(&base.join(top).join("d/".repeat(count)).join("deep.yml"), "parameters: {deep: 1}\n");
}

/// `p0` to `p{count}`, each made from the number of the next.
fn chain(base: &Path, each: &str, count: usize) {
    let lines: String =
        (0..count).map(|at| format!("  p{at}: {}\n", each.replace('#', &(at + 1).to_string()))).collect();
    class(base, &format!("parameters:\n{lines}  p{count}: end\n"));
}

/// Classes in a row, each of which includes the next.
fn includes(base: &Path, count: usize) {
    for number in 1..count {
        write(&named(base, number - 1), &format!("classes: [k{number}]\n"));
    }
    write(&named(base, count - 1), "parameters: {deep: 1}\n");
    class(base, "classes: [k0]\n");
}

/// The answer for the one node, with these settings.
fn ask(settings: &str, make: &dyn Fn(&Path)) -> Result<String, Error> {
    let folder = tempfile::tempdir().unwrap();
    let mut options = inventory(folder.path());
    set(&mut options, settings);
    class(folder.path(), "{}\n");
    write(&folder.path().join("nodes/n.yml"), "classes: [c]\n");
    make(folder.path());
    let inventory = Inventory::open(&options)?;
    let node = inventory.nodes()?[0].clone();
    let answer = inventory.nodeinfo(&node, &Request::default())?;
    Ok(reclass::json::dumps(&answer.to_value(""), false))
}

#[test]
fn each_limit_names_its_setting() {
    let _busy = crate::busy();
    let limits = TABLE.iter().map(|row| row.name).filter(|name| name.starts_with("limit_"));
    let mut tried: Vec<&str> = LOW.iter().map(|(name, ..)| *name).collect();
    tried.sort_unstable();
    let mut limits: Vec<&str> = limits.collect();
    limits.sort_unstable();
    assert_eq!(tried, limits);
    for (name, low, more, make) in LOW {
        let error = ask(&format!("{{{more}{name}: {low}}}"), &make).unwrap_err();
        let said = concise(&error);
        assert!(said.ends_with(&format!("; '{name}' is the limit")), "{said}");
        ask(&format!("{{{more}}}"), &make).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_limit_is_not_set_beyond_what_holds() {
    for (name, most) in [("limit_folder_depth", 500), ("limit_include_depth", 10_000), ("limit_depth", 1_000)]
    {
        let error = ask(&format!("{{{name}: {}}}", most + 1), &|_| ()).unwrap_err();
        assert_eq!(error.first().code(), "setting-type");
        assert!(error.to_string().contains(&format!("a whole number from 1 to {most}")), "{error}");
    }
}

#[test]
fn folders_hold_at_the_highest_limit() {
    let _busy = crate::busy();
    // In the stack of a thread, and with the open files that a process has by default.
    let deep = |count: usize| ask("{limit_folder_depth: 500}", &|base| nested(base, "nodes", count));
    deep(499).unwrap();
    assert_eq!(deep(501).unwrap_err().first().code(), "yaml-limit");
}

#[test]
fn includes_hold_at_the_highest_limit() {
    let _busy = crate::busy();
    let settings = "{limit_include_depth: 10000, limit_classes: 20000}";
    let answer = ask(settings, &|base| includes(base, 9_999)).unwrap();
    assert!(answer.contains("\"deep\":1"), "{answer:.100}");
    let error = ask(settings, &|base| includes(base, 10_001)).unwrap_err();
    assert!(
        error.to_string().contains("the depth of class includes exceeds the limit of 10000"),
        "{error:.500}"
    );
}

/// What goes through classes apart from the answer to a node has room for as many, and for as deep folders.
#[test]
fn programs_hold_at_the_highest_limit() {
    let _busy = crate::busy();
    programs_answer("limit_include_depth: 10000\nlimit_classes: 20000\n", |base| includes(base, 9_990));
    programs_answer("limit_folder_depth: 500\n", |base| {
        class(base, "parameters: {deep: 1}\n");
        nested(base, "classes", 499);
    });
}

/// Each command ends by itself, with an answer.
fn programs_answer(settings: &str, make: impl Fn(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    inventory(base);
    write(&base.join("nodes/n.yml"), "classes: [c]\n");
    write(&base.join("reclass-config.yml"), settings);
    make(base);
    for arguments in [
        &["-n", "n"] as &[&str],
        &["-i"],
        &["explain", "n", "deep"],
        &["lint"],
        &["graph", "n"],
        &["diff", ".", "."],
        &["nodes"],
        &["classes"],
        &["params", "deep"],
        &["refs", "deep"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
        let output = command.current_dir(base).args(["-b", "."]).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some(), "{arguments:?}: {} {said:.500}", output.status);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {} {said:.500}", output.status);
    }
}
