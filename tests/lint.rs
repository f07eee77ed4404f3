//! Small inventories turn into findings: one example for each rule, in `tests/lint/<rule>.txt`.
//!
//! A file holds an inventory, `--- path` before each of its files, `--- settings` where there are
//! any, and behind `--- findings` what lint says of it. `BLESS=1 cargo test --test lint` writes that
//! anew; read the difference before committing it.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test writes files")]

use std::fs;
use std::path::{Path, PathBuf};

use reclass::error::Error;
use reclass::lint::{RULES, lint};
use reclass::report;
use reclass::value::{Map, Value};

/// What stands under a heading.
struct Part {
    name: String,
    text: String,
}

fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("--- "), parts.last_mut()) {
            (Some(name), _) => parts.push(Part { name: name.trim().to_owned(), text: String::new() }),
            (None, Some(part)) => part.text.push_str(line),
            (None, None) => panic!("a file begins with a heading"),
        }
    }
    parts
}

/// What lint says of an inventory, one line each, with paths below its folder.
fn findings(parts: &[Part]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let mut options = Map::default();
    for part in parts.iter().filter(|part| part.name != "findings") {
        if part.name == "settings" {
            let Value::Map(settings) = reclass::yaml::parse_value(&part.text).unwrap() else { continue };
            options.extend((*settings).clone());
            continue;
        }
        let path = base.join(&part.name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &part.text).unwrap();
    }
    for name in ["nodes", "classes"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    let lines = lint(&options, &[]).unwrap().into_iter().map(|finding| {
        let text = report::concise(&Error::from(finding.fault));
        let nodes =
            if finding.nodes.len() > 1 { format!(" [{} nodes]", finding.nodes.len()) } else { String::new() };
        format!("{}: {}{nodes}\n", finding.level.name(), text.replace(&format!("{}/", base.display()), ""))
    });
    lines.collect()
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn examples_are_found() {
    let mut wrong = Vec::new();
    for path in examples() {
        let text = fs::read_to_string(&path).unwrap();
        let parts = parts(&text);
        let found = findings(&parts);
        let expected = parts.iter().find(|part| part.name == "findings").map_or("", |part| &part.text);
        if found == expected {
            continue;
        }
        if std::env::var_os("BLESS").is_some() {
            let before = text.split("--- findings").next().unwrap();
            fs::write(&path, format!("{before}--- findings\n{found}")).unwrap();
        } else {
            wrong.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "BLESS=1 writes the findings anew\n{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_an_example() {
    for rule in RULES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/lint/{}.txt", rule.id));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let found = text.split("--- findings").nth(1).unwrap_or_default();
        assert!(found.contains(&format!("({})", rule.id)), "no example of {} in {}", rule.id, path.display());
    }
}

#[test]
fn every_rule_stands_in_the_page() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/lint.md")).unwrap();
    for rule in RULES {
        let row = format!("| `{}` | {} | {} |", rule.id, rule.level.name(), rule.about);
        assert!(page.contains(&row), "docs/lint.md lacks\n{row}");
    }
}

#[test]
fn levels_are_checked() {
    for (levels, code) in
        [("{no-such-rule: off}", "setting-value"), ("{tab: loud}", "setting-value"), ("[]", "setting-value")]
    {
        let mut options = Map::default();
        options.insert("lint_levels".into(), reclass::yaml::parse_value(levels).unwrap());
        assert_eq!(lint(&options, &[]).unwrap_err().first().code(), code, "{levels}");
    }
}

#[test]
fn files_without_a_name_of_their_own_are_a_finding() {
    let part = |name: &str| Part { name: name.into(), text: "parameters: {}\n".into() };
    let found = findings(&[part("classes/a.yml"), part("classes/a/init.yml")]);
    assert_eq!(found.matches("duplicate-definition").count(), 1, "{found}");
}
