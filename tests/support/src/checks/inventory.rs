//! A text of several files, `@ nodes/a.yml` before each: all nodes are rendered, and rendered again
//! after further files (`> nodes/a.yml`) took the place of the first.
//!
//! What a kept inventory answers, whole or node by node, is what a new one answers. What comes before
//! the first file are settings. Lint looks at all of it, and every error is shown in all forms.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use reclass::error::Error;
use reclass::json;
use reclass::parts::output::wire;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use reclass_analysis::lint;
use reclass_yaml::emit::{EmitOptions, emit};
use tempfile::TempDir;

use super::shown;

/// Larger inventories take more time than they find.
const MOST: usize = 16 * 1024;
const MOST_FILES: usize = 16;

/// Settings that lead out of the folder, or have programs started.
const FIXED: [&str; 9] = [
    "inventory_base_uri",
    "storage_type",
    "nodes_uri",
    "classes_uri",
    "cache",
    "cache_size",
    "threads",
    "git_revision",
    "git_known_hosts",
];

/// Files and settings as they were asked for.
#[derive(Default)]
struct Asked<'t> {
    settings: Map,
    before: Vec<(PathBuf, &'t [u8])>,
    after: Vec<(PathBuf, &'t [u8])>,
}

impl<'t> Asked<'t> {
    fn read(input: &'t [u8]) -> Asked<'t> {
        let mut asked = Asked::default();
        let mut part: (Option<PathBuf>, bool, usize) = (None, false, 0);
        let mut at = 0;
        for line in input.split_inclusive(|byte| *byte == b'\n') {
            if let [mark @ (b'@' | b'>'), b' ', name @ ..] = line {
                asked.put(&part, &input[part.2..at]);
                part = (path(name), *mark == b'>', at + line.len());
            }
            at += line.len();
        }
        asked.put(&part, &input[part.2..]);
        asked
    }

    fn put(&mut self, (path, later, begin): &(Option<PathBuf>, bool, usize), text: &'t [u8]) {
        match path {
            Some(path) if *later => self.after.push((path.clone(), text)),
            Some(path) => self.before.push((path.clone(), text)),
            None if *begin == 0 => {
                let settings = std::str::from_utf8(text).ok().and_then(written);
                let settings = settings.and_then(|value| value.as_map().cloned()).unwrap_or_default();
                let free =
                    settings.iter().filter(|(key, _)| !FIXED.iter().any(|name| **key == (*name).into()));
                self.settings = free.map(|(key, value)| (key.clone(), value.clone())).collect();
            }
            None => {}
        }
    }
}

/// Settings as they are written; where that is no YAML, the error is shown.
fn written(text: &str) -> Option<Value> {
    match reclass_yaml::parse_value(text) {
        Ok(value) => Some(value),
        Err(error) => {
            shown::error(&error, &|_| Some(text.to_owned()));
            None
        }
    }
}

/// A path below the inventory; `None` for what would lead out of it.
fn path(name: &[u8]) -> Option<PathBuf> {
    let name = std::str::from_utf8(name).ok()?.trim_end_matches('\n');
    let inside =
        name.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && part.len() < 200);
    let tree = name.starts_with("nodes/") || name.starts_with("classes/");
    (inside && tree && name.len() < 400 && !name.contains('\0')).then(|| PathBuf::from(name))
}

/// Renders all nodes.
pub fn check(input: &[u8]) {
    let asked = Asked::read(input);
    if input.len() > MOST || asked.before.len() + asked.after.len() > MOST_FILES {
        return;
    }
    let folder = folder();
    let base = folder.path();
    for name in ["nodes", "classes"] {
        fs::create_dir_all(base.join(name)).expect("a folder");
    }
    write(base, &asked.before);
    let mut options = asked.settings;
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().expect("UTF-8")));
    options.insert("threads".into(), Value::Int(1));
    // Nobody else writes the files.
    options.insert("settle_time".into(), Value::Int(0));
    options.insert("cache".into(), Value::text("stat"));
    let kept = match Inventory::open(&options) {
        Ok(kept) => kept,
        Err(error) => return shown::error(&error, &|_| None),
    };
    shown::warnings(kept.settings_warnings(), &|_| None);
    alike(&kept, &options);
    if !asked.after.is_empty() {
        write(base, &asked.after);
        alike(&kept, &options);
    }
    match lint::lint(&options, &[], &()) {
        Ok(findings) => {
            let faults: Vec<_> = findings.into_iter().map(|finding| finding.fault).collect();
            shown::warnings(&faults, &|path| fs::read_to_string(path).ok());
        }
        Err(error) => shown::error(&error, &|path| fs::read_to_string(path).ok()),
    }
}

/// In memory, where there is such a place.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}

/// Writes what can be written: a name may be a file to one part and a folder to another.
fn write(base: &Path, files: &[(PathBuf, &[u8])]) {
    for (path, text) in files {
        let path = base.join(path);
        let _ = path.parent().map(fs::create_dir_all);
        let _ = fs::write(path, text);
    }
}

/// What is kept is what a new inventory says, in whatever order it is asked.
fn alike(kept: &Inventory, options: &Map) {
    let (forth, back) = (answers(kept, false), answers(kept, true));
    assert_eq!(forth, back, "asked twice");
    let new = Inventory::open(options).expect("what was opened before");
    assert_eq!(forth, answers(&new, true), "kept and new");
    let whole = new.inventory();
    let failed = forth.iter().any(|answer| answer.starts_with("error"));
    // A name that two files have fails the whole inventory, also where no node depends on it (S6).
    let twice = |error: &Error| error.faults().iter().all(|fault| fault.code() == "duplicate-definition");
    let fails = failed || whole.as_ref().is_err_and(twice);
    assert_eq!(whole.is_err(), fails, "node by node and whole: {whole:?} {forth:?}");
}

/// What an inventory says of each node, errors and warnings included, by name.
fn answers(inventory: &Inventory, backwards: bool) -> Vec<String> {
    let read = |path: &str| inventory.text(path);
    let mut names = match inventory.nodes() {
        Ok(names) => names,
        Err(error) => {
            shown::error(&error, &read);
            return vec![format!("error: {error}")];
        }
    };
    if backwards {
        names.reverse();
    }
    let answer = |name: &reclass::value::Text| match inventory.nodeinfo(name, &Request::default()) {
        Ok(info) => {
            shown::warnings(&info.warnings, &read);
            let value = info.to_value("");
            let mut said = emit(&value, &EmitOptions { pretty: true, no_refs: false });
            json::dumps(&value, true);
            if let Err(error) = wire::carry(&info.parameters, "parameters", ":") {
                shown::error(&error, &read);
            }
            for warning in &info.warnings {
                let _ = writeln!(said, "{}", reclass::error::concise_warning(warning));
            }
            format!("{name}: {said}")
        }
        Err(error) => {
            shown::error(&error, &read);
            format!("error of {name}: {error}")
        }
    };
    let mut answers: Vec<String> = names.iter().map(answer).collect();
    answers.sort();
    answers
}
