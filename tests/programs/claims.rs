//! The page on security names tests that exist, one at least for each claim. The README has the times of the
//! page of benchmarks. The maps of the code name files and symbols that exist, and the crates that others use.

use std::collections::{BTreeMap, BTreeSet};
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
        } else if path.extension().is_some_and(|end| ["rs", "py", "ts"].iter().any(|known| end == *known)) {
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
    for folder in ["src", "crates", "tests"] {
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

/// The words in backticks of a page, outside of code blocks.
fn code_words(page: &str) -> BTreeSet<String> {
    let page = fs::read_to_string(root().join(page)).unwrap();
    let prose = page.split("\n```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Whether a path of a map exists: from the top of the repository, or without its ending below `src`.
fn exists(path: &str) -> bool {
    let at = |start: &str, end: &str| root().join(format!("{start}{path}{end}")).exists();
    at("", "") || ["", ".rs", "/mod.rs"].iter().any(|end| at("src/", end)) || at("crates/python/src/", ".rs")
}

#[test]
fn the_maps_name_files_and_symbols_that_exist() {
    let mut code = String::new();
    for folder in ["src", "crates", "tests", "python", "salt"] {
        sources(&root().join(folder), &mut code);
    }
    let code: BTreeSet<&str> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut gone = Vec::new();
    let mut walked = 0;
    for page in ["CONTRIBUTING.md", "docs/design.md"] {
        for word in code_words(page) {
            let is_name = |part: &str| part.chars().all(|c| c.is_alphanumeric() || "_.-".contains(c));
            let room = word.split('/').next().unwrap_or_default();
            let is_path = word.contains('/')
                && word.split('/').all(is_name)
                && (root().join(room).is_dir() || root().join("src").join(room).is_dir());
            let is_symbol = word.contains("::") && word.split("::").all(is_name)
                || word.starts_with(char::is_uppercase)
                    && word.contains(char::is_lowercase)
                    && is_name(&word)
                    && !word.contains('.');
            // What `make` writes is no part of the sources.
            let is_built = ["build/", "target/", "dist/"].iter().any(|folder| word.starts_with(folder));
            let found = match () {
                () if is_built => continue,
                () if is_path => exists(&word),
                () if is_symbol => word.split("::").all(|part| code.contains(part)),
                () => continue,
            };
            walked += 1;
            if !found {
                gone.push(format!("{page}: {word}"));
            }
        }
    }
    assert!(gone.is_empty() && walked > 100, "{walked} {}", gone.join("\n"));
}

/// The crates of the workspace that each of them depends on, by their manifests.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let manifest = |folder: &Path| -> toml::Table {
        toml::from_str(&fs::read_to_string(folder.join("Cargo.toml")).unwrap()).unwrap()
    };
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let manifests: Vec<toml::Table> = crates.chain([root().to_owned()]).map(|path| manifest(&path)).collect();
    let name = |manifest: &toml::Table| manifest["package"]["name"].as_str().unwrap().to_owned();
    let names: BTreeSet<String> = manifests.iter().map(name).collect();
    let used = |manifest: &toml::Table| {
        let all = manifest.get("dependencies").and_then(toml::Value::as_table);
        all.into_iter().flat_map(toml::Table::keys).filter(|name| names.contains(*name)).cloned().collect()
    };
    manifests.iter().map(|manifest| (name(manifest), used(manifest))).collect()
}

#[test]
fn the_design_has_the_arrows_between_crates() {
    let page = fs::read_to_string(root().join("docs/design.md")).unwrap();
    let begin = page.find("reclass-base\nreclass-yaml\n").unwrap();
    let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut above = "";
    for line in page[begin..].lines().take_while(|line| *line != "```") {
        if let Some(used) = line.strip_prefix("├── ").or_else(|| line.strip_prefix("└── ")) {
            assert!(shown.get_mut(above).unwrap().insert(used.to_owned()), "{line}");
        } else {
            assert!(shown.insert(line.to_owned(), BTreeSet::new()).is_none(), "{line}");
            above = line;
        }
    }
    assert_eq!(shown, arrows());
}
