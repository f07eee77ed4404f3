//! The rooms of `src`: a lower room never imports from a higher one, every module has a room, and a public
//! type name means one thing.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test reads the sources")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// From the lowest room to the highest.
const ROOMS: [&str; 9] =
    ["base", "yaml", "storage", "model", "evaluate", "engine", "output", "analysis", "edit"];

/// Type names that stand in several places. Each of them means the same thing everywhere.
const SHARED_NAMES: [&str; 2] = ["Inventory", "Iter"];

/// The sources below a folder, by path.
fn sources(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.insert(path, text);
        }
    }
    found
}

/// The words behind `crate::` in a source without its unit tests and comments.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| {
        line.match_indices("crate::").map(|(at, word)| {
            let rest = &line[at + word.len()..];
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap()
        })
    })
}

#[test]
fn rooms_import_from_lower_rooms_only() {
    let src = Path::new(support::ROOT).join("src");
    let mut wrong = Vec::new();
    for (path, text) in sources(&src) {
        let local = path.strip_prefix(&src).unwrap();
        let room = local.iter().next().unwrap().to_str().unwrap();
        if local == Path::new("lib.rs") {
            continue;
        }
        let Some(height) = ROOMS.iter().position(|name| *name == room) else {
            wrong.push(format!("{}: a module without a room", local.display()));
            continue;
        };
        for import in imports(&text) {
            match ROOMS.iter().position(|name| *name == import) {
                Some(above) if above > height => {
                    wrong.push(format!(
                        "{}: imports from '{import}', which is above '{room}'",
                        local.display()
                    ));
                }
                Some(_) => {}
                None => {
                    wrong.push(format!("{}: imports 'crate::{import}', which is no room", local.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_public_type_name_means_one_thing() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in ["src", "crates"] {
        for (path, text) in sources(&Path::new(support::ROOT).join(folder)) {
            for line in text.lines() {
                let Some(rest) = ["pub struct ", "pub enum ", "pub trait ", "pub type "]
                    .iter()
                    .find_map(|start| line.strip_prefix(start))
                else {
                    continue;
                };
                let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
                places.entry(name.to_owned()).or_default().push(path.display().to_string());
            }
        }
    }
    let wrong: Vec<String> = places
        .iter()
        .filter(|(name, places)| places.len() > 1 && !SHARED_NAMES.contains(&name.as_str()))
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
