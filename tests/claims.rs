//! The page on security names tests that exist, one at least for each claim.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test reads files")]

use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
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

#[test]
fn every_claim_about_security_has_a_test() {
    let mut code = String::new();
    for folder in ["src", "tests"] {
        sources(&root().join(folder), &mut code);
    }
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
            let found = code.contains(&format!("fn {test}(")) || code.contains(&format!("def {test}("));
            assert!(found, "there is no test '{test}'");
        }
    }
    assert!(claims > 20, "{claims}");
}

#[test]
fn there_is_no_unsafe_code() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("unsafe_code = \"forbid\""));
    let mut code = String::new();
    sources(&root().join("src"), &mut code);
    assert!(!code.contains("allow(unsafe_code") && !code.contains("expect(unsafe_code"));
}
