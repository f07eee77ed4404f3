//! The page on security names tests that exist, one at least for each claim. The README has the times of the
//! page of benchmarks.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test reads files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(support::ROOT)
}

/// The text of all sources and tests below a folder.
fn sources(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|end| end == "rs" || end == "py") {
            out.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// The name after a word at the beginning of a line, up to the parenthesis.
fn named<'t>(line: &'t str, word: &str) -> Option<&'t str> {
    line.strip_prefix(word)?.split_once('(').map(|(name, _)| name)
}

/// The names of the tests in a text of sources: a function below `#[test]` that is not left out by
/// `#[ignore]`, and a function of Python that pytest takes for one.
fn tests(code: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut attributes = Vec::new();
    for line in code.lines() {
        let inner = line.trim_start();
        if inner.starts_with("#[") {
            attributes.push(inner);
        } else if let Some(name) = named(inner, "fn ") {
            let left_out = attributes.iter().any(|attribute| attribute.starts_with("#[ignore"));
            if attributes.contains(&"#[test]") && !left_out {
                found.insert(name);
            }
            attributes.clear();
        } else if !inner.starts_with("//") {
            attributes.clear();
            found.extend(named(line, "def ").filter(|name| name.starts_with("test_")));
        }
    }
    found
}

#[test]
fn a_test_is_what_is_run_as_one() {
    let code = "#[test]\n// Why.\n#[should_panic]\nfn one() {}\nfn two() {}\n    #[test]\n    fn three() {}\n\
                #[test]\n#[ignore = \"x\"]\nfn four() {}\n#[test]\nconst X: u8 = 1;\nfn five() {}\n\
                def test_six(a):\ndef seven():\n    def test_eight():\n// fn nine() is called\n";
    assert_eq!(tests(code), BTreeSet::from(["one", "three", "test_six"]));
}

#[test]
fn every_claim_about_security_has_a_test() {
    let mut code = String::new();
    for folder in ["src", "tests"] {
        sources(&root().join(folder), &mut code);
    }
    let known = tests(&code);
    let page = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let mut claims = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 4) {
        let tests = row.rsplit('|').nth(1).unwrap().trim();
        if tests == "test" {
            continue;
        }
        claims += 1;
        assert!(tests.contains('`'), "no test: {row}");
        for test in tests.split('`').skip(1).step_by(2) {
            assert!(known.contains(test), "there is no test '{test}'");
        }
    }
    assert!(claims > 20, "{claims}");
}

/// The cells of a row of a table.
fn cells(row: &str) -> Vec<&str> {
    row.trim_matches('|').split('|').map(str::trim).collect()
}

#[test]
fn the_times_of_the_readme_are_those_of_the_benchmarks() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let page = fs::read_to_string(root().join("docs/benchmarks.md")).unwrap();
    let table =
        readme.lines().skip_while(|line| *line != "| | saltext-reclass | kapicorp-reclass | reclass-rs |");
    let rows: Vec<&str> = table.skip(2).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 2, "{rows:?}");
    for row in rows {
        let said = cells(row);
        let scenario = format!("{} (L)", said[0]);
        let measured = page.lines().map(cells).find(|cells| cells[0] == scenario).unwrap();
        for (said, measured) in said.iter().zip(measured).skip(1) {
            let time = measured.split([':', '(']).next().unwrap().trim();
            assert_eq!(*said, time, "README.md, {scenario}");
        }
    }
}

#[test]
fn there_is_no_unsafe_code() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("unsafe_code = \"forbid\""));
    let mut code = String::new();
    sources(&root().join("src"), &mut code);
    assert!(!code.contains("allow(unsafe_code") && !code.contains("expect(unsafe_code"));
}
