//! The corpus of mistakes: the examples of errors and of lint. The diagnostics are the findings of lint.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use reclass::Inventory;
use reclass::parts::storage::fs::percent_encoded;
use reclass::report::Level;
use reclass_analysis::lint::{lint, lint_options};
use support::folders::{Part, examples, parts};

use crate::editor::{Editor, found_in};

/// The file, line, column, severity, code and first words of each finding.
type Found = BTreeSet<(String, u64, u64, u64, String, String)>;

/// The findings of lint about places of files. Those about keys of etcd have no file.
fn linted(base: &Path) -> Found {
    let found = found_in(base, &|_| None).unwrap();
    let findings = lint(&found.options, &[], &*found.file).unwrap().into_iter();
    let one = |finding: reclass::Finding| {
        let site = finding.fault.site.as_ref().filter(|site| site.path.starts_with('/'))?;
        let severity = match finding.level {
            Level::Error => 1,
            Level::Warning => 2,
            Level::Info | Level::Off => 3,
        };
        let place = |number: u32| u64::from(number.saturating_sub(1));
        // As addresses have it.
        let path = percent_encoded(&site.path.replace(&format!("{}/", base.display()), ""));
        let message = finding.fault.kind.to_string();
        Some((path, place(site.line), place(site.column), severity, finding.fault.code().to_owned(), message))
    };
    findings.filter_map(one).collect()
}

/// The same of the diagnostics. A message begins with that of the finding.
fn diagnosed(editor: &Editor, expected: &Found) -> Found {
    let all = editor.diagnostics.iter().flat_map(|(path, found)| found.iter().map(move |one| (path, one)));
    let one = |(path, one): (&String, &serde_json::Value)| {
        let start = |name: &str| one["range"]["start"][name].as_u64().unwrap();
        let message = one["message"].as_str().unwrap();
        let known = expected.iter().map(|known| &known.5).filter(|known| message.starts_with(known.as_str()));
        let message = known.max_by_key(|known| known.len()).map_or(message, String::as_str);
        let code = one["code"].as_str().unwrap().to_owned();
        (
            path.clone(),
            start("line"),
            start("character"),
            one["severity"].as_u64().unwrap(),
            code,
            message.to_owned(),
        )
    };
    all.map(one).collect()
}

/// The files of an example, as the editor of the tests takes them; `None` for what no text can be.
fn files(text: &str) -> Option<String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for Part { name, text } in parts(text) {
        match name.as_str() {
            "prepare" => return None,
            "settings" => drop(files.insert("reclass-config.yml".into(), text)),
            name if name.contains(' ') || name == "findings" => {}
            name => drop(files.insert(name.to_owned(), text)),
        }
    }
    let has_node = files.keys().any(|name| name.starts_with("nodes/"));
    // The first one is opened: a file of the inventory.
    let mut files: Vec<_> = files.iter().collect();
    files.sort_by_key(|(name, _)| !name.starts_with("nodes/"));
    let written: Vec<String> = files.iter().map(|(name, text)| format!("=== {name}\n{text}")).collect();
    has_node.then(|| written.concat())
}

#[test]
fn every_diagnostic_of_the_corpus_is_a_finding_of_lint() {
    let all: Vec<PathBuf> = [examples("programs/output/errors"), examples("analysis/lint")].concat();
    let (mut texts, mut refused, mut diagnostics) = (0, 0, 0);
    for path in &all {
        let text = std::fs::read_to_string(path).unwrap();
        // A mark would be one of this test, and other storages have no files to edit.
        let is_text = |files: &String| !files.contains("$0") && !files.contains("storage_type");
        let Some(files) = files(&text).filter(is_text) else { continue };
        let mut editor = Editor::open(&files);
        let base = editor.folder.path().to_owned();
        let found = found_in(&base, &|_| None);
        if found.and_then(|found| Inventory::open(&lint_options(&found.options))).is_err() {
            editor.until(&path.display().to_string(), |editor| !editor.messages.is_empty());
            refused += 1;
            continue;
        }
        let expected = linted(&base);
        editor.until(&path.display().to_string(), |editor| !editor.status.is_empty());
        let found = diagnosed(&editor, &expected);
        assert_eq!(found, expected, "{}", path.display());
        texts += 1;
        diagnostics += found.len();
    }
    println!("{texts} inventories, {diagnostics} diagnostics; {refused} with settings that are wrong");
    assert!(texts > 80 && diagnostics > texts, "{texts} {diagnostics}");
}
