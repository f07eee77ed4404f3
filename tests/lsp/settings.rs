//! Settings, schemas, baselines and folders in an editor: what is not saved counts, and what comes and goes is found.

use std::os::unix::fs::symlink;

use reclass_analysis::lint::lint;
use serde_json::{Value as Json, json};

use crate::editor::{Editor, found_in, write_files};

const SETTINGS: &str = "reclass-config.yml";

const SLOPPY: &str = "\
=== nodes/n.yml
classes: [c]
parameters: {version: 1.10}
=== classes/c.yml
parameters: {other: 1.20, broken: '${gone}'}
";

fn close(editor: &Editor, file: &str) {
    let document = json!({ "textDocument": { "uri": editor.uri(file) } });
    editor.tell("textDocument/didClose", document);
}

/// Something changed on the disk.
fn changed(editor: &Editor) {
    editor.tell("workspace/didChangeWatchedFiles", json!({ "changes": [] }));
}

#[test]
fn known_findings_are_not_shown() {
    let baseline = r#"{"version": 1, "findings": [
        {"file": "../nodes/n.yml", "code": "scalar-misread", "message": "'1.10' is read as #.#"},
        {"file": "../classes/c.yml", "code": "reference-not-found", "path": "broken"}]}"#;
    let files =
        format!("{SLOPPY}=== ci/known.json\n{baseline}\n=== {SETTINGS}\nlint_baseline: ci/known.json\n");
    let mut editor = Editor::open(&files).checked();
    editor.until("the other finding", |editor| editor.codes("classes/c.yml") == ["scalar-misread"]);
    assert!(editor.codes("nodes/n.yml").is_empty(), "{:?}", editor.diagnostics);
    let found = found_in(editor.folder.path(), &|_| None).unwrap();
    let linted = lint(&found.options, &[], &*found.file).unwrap();
    assert_eq!(linted.iter().map(|one| one.fault.code()).collect::<Vec<_>>(), ["scalar-misread"]);
    // Neither is an error of the open text, at once or after the pause.
    editor.put("nodes/n.yml", "classes: [c]\nparameters: {version: 1.10, more: 1.30}\n");
    editor.until("one more", |editor| editor.codes("nodes/n.yml") == ["scalar-misread"]);
    assert_eq!(editor.codes("classes/c.yml"), ["scalar-misread"]);
    // One that is none is an error of the setting.
    std::fs::write(editor.path("ci/known.json"), "[]").unwrap();
    changed(&editor);
    editor.until("the error of the baseline", |editor| {
        editor.codes(SETTINGS) == ["baseline-invalid"] && editor.codes("classes/c.yml").len() == 2
    });
}

#[test]
fn findings_about_settings_are_in_their_file() {
    let files = format!(
        "{SLOPPY}=== {SETTINGS}\n# Ours.\nclass_mappings: ['none* c']\nlint_levels: {{class-mapping-unused: warning}}\n"
    );
    let mut editor = Editor::open(&files).checked();
    editor.until("the finding", |editor| editor.codes(SETTINGS) == ["class-mapping-unused"]);
    assert_eq!(editor.diagnostics[SETTINGS][0]["range"]["start"]["line"], 1);
    // The open text counts before it is saved, and its places do.
    let text = "lint_levels: {class-mapping-unused: warning}\n\n\nclass_mappings: ['none* c']\n";
    editor.open_file(SETTINGS, text);
    let line = |editor: &Editor| {
        editor.diagnostics[SETTINGS].first().map(|one| one["range"]["start"]["line"].clone())
    };
    editor.until("the new place", |editor| line(editor) == Some(json!(3)));
    editor.put(SETTINGS, "lint_levels: {scalar-misread: error, tab: loud}\n");
    editor.until("the new level", |editor| {
        editor.diagnostics["nodes/n.yml"].first().is_some_and(|one| one["severity"] == 1)
            && editor.codes(SETTINGS) == ["setting-value"]
    });
    // While it is broken, the answers are those of the settings before, and nobody is disturbed.
    editor.put(SETTINGS, "lint_levels: {scalar-misread: error\n");
    editor.until("the syntax error", |editor| editor.codes(SETTINGS) == ["config-file"]);
    editor.mark = ("nodes/n.yml".into(), json!({ "line": 0, "character": 10 }));
    let found = editor.at_mark("textDocument/definition");
    assert_eq!(editor.places(&found), ["classes/c.yml:1"]);
    editor.put(SETTINGS, "classes_uri: nodes\n");
    editor.until("the wrong folder", |editor| editor.codes(SETTINGS) == ["uri-overlap"]);
    let found = editor.at_mark("textDocument/definition");
    assert_eq!(editor.places(&found), ["classes/c.yml:1"]);
    assert!(editor.messages.is_empty(), "{:?}", editor.messages);
    // Closed without being saved, it is the file again.
    close(&editor, SETTINGS);
    editor.until("the saved text", |editor| line(editor) == Some(json!(1)));
    assert_eq!(editor.codes(SETTINGS), ["class-mapping-unused"]);
}

#[test]
fn wrong_settings_at_the_start_are_diagnostics_too() {
    let files = format!("{SLOPPY}=== {SETTINGS}\nclasses_uri: nodes\n");
    let mut editor = Editor::open(&files);
    editor.until("the error", |editor| editor.codes(SETTINGS) == ["uri-overlap"]);
    assert_eq!(editor.messages.len(), 1, "{:?}", editor.messages);
    editor.open_file(SETTINGS, "lint_levels: {}\n");
    editor.until("the inventory", |editor| {
        editor.codes(SETTINGS).is_empty() && editor.codes("nodes/n.yml") == ["scalar-misread"]
    });
}

#[test]
fn unsaved_schemas_count() {
    let files = SLOPPY.replace(", broken: '${gone}'", "");
    let mut editor = Editor::open(&format!("{files}=== schemas/other.yml\ntype: string\n")).checked();
    let has_error =
        |editor: &Editor| editor.diagnostics.values().flatten().any(|one| one["code"] == "schema");
    editor.until("the error", has_error);
    editor.open_file("schemas/other.yml", "type: number\n");
    editor.until("no error", |editor| !has_error(editor));
    // One that is new.
    editor.open_file("schemas/version.yml", "type: string\n");
    editor.until("the error of the new one", has_error);
    close(&editor, "schemas/version.yml");
    editor.until("no error again", |editor| !has_error(editor));
    close(&editor, "schemas/other.yml");
    editor.until("the error again", has_error);
}

#[test]
fn a_file_that_is_opened_through_a_link_is_the_file() {
    let mut editor = Editor::open(SLOPPY).checked();
    let place = tempfile::tempdir().unwrap();
    let (file, folder) = (place.path().join("a.yml"), place.path().join("folder"));
    symlink(editor.path("classes/c.yml"), &file).unwrap();
    symlink(editor.path("classes"), &folder).unwrap();
    for (link, new) in [(file, "one"), (folder.join("c.yml"), "two")] {
        let uri = format!("file://{}", link.display());
        let text = format!("parameters: {{other: '${{{new}}}'}}\n");
        let item = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
        editor.tell("textDocument/didOpen", json!({ "textDocument": item }));
        let message = |editor: &Editor, file: &str| {
            let found = editor.diagnostics.get(file).into_iter().flatten();
            found.into_iter().any(|one| one["message"].as_str().unwrap().contains(&format!("'${{{new}}}'")))
        };
        editor.until("the error at both", |editor| message(editor, "classes/c.yml") && message(editor, &uri));
        let asked = json!({ "textDocument": { "uri": uri } });
        let nodes = editor.ask("reclass/nodes", asked.clone());
        assert_eq!(nodes, json!({ "nodes": ["n"], "node": "n" }));
        editor.tell("textDocument/didClose", asked);
    }
    editor.until("the file again", |editor| editor.codes("classes/c.yml").contains(&"scalar-misread".into()));
}

fn folders(editor: &Editor, added: &[&str], removed: &[&str]) {
    let list = |names: &[&str]| -> Vec<Json> {
        names.iter().map(|name| json!({ "uri": editor.uri(name), "name": "x" })).collect()
    };
    let event = json!({ "added": list(added), "removed": list(removed) });
    editor.tell("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
}

#[test]
fn a_folder_that_leaves_the_workspace_comes_back() {
    let mut editor = Editor::open(SLOPPY).checked();
    editor.until("a finding", |editor| editor.codes("nodes/n.yml") == ["scalar-misread"]);
    folders(&editor, &[], &[""]);
    editor.until("no finding", |editor| editor.diagnostics.values().all(Vec::is_empty));
    // What changes meanwhile counts when it is back.
    editor.put("nodes/n.yml", "classes: [c]\nparameters: {a: 1.10, b: 1.20}\n");
    editor.mark = ("nodes/n.yml".into(), json!({ "line": 0, "character": 10 }));
    assert!(editor.at_mark("textDocument/definition").is_null());
    assert!(editor.diagnostics.values().all(Vec::is_empty), "{:?}", editor.diagnostics);
    folders(&editor, &[""], &[]);
    editor.until("both findings", |editor| editor.codes("nodes/n.yml") == ["scalar-misread"; 2]);
    // So does a file of it that is opened.
    folders(&editor, &[], &[""]);
    editor.until("no finding", |editor| editor.diagnostics.values().all(Vec::is_empty));
    editor.open_file("classes/c.yml", "parameters: {c: 1.30}\n");
    editor.until("its findings", |editor| editor.codes("classes/c.yml") == ["scalar-misread"]);
}

#[test]
fn an_inventory_that_is_made_later_is_found() {
    let mut editor = Editor::open("=== readme.yml\n{}\n");
    editor.open_file("new/nodes/n.yml", "classes: [c]\nparameters: {a: 1.10}\n");
    editor.mark = ("new/nodes/n.yml".into(), json!({ "line": 0, "character": 10 }));
    assert!(editor.at_mark("textDocument/definition").is_null());
    write_files(&editor.path("new"), "=== nodes/other.yml\nclasses: [c]\n=== classes/c.yml\n{}\n");
    editor.open_file("new/classes/c.yml", "parameters: {b: 1.20}\n");
    // The texts that were open before count too.
    editor.until("the findings", |editor| {
        ["new/nodes/n.yml", "new/classes/c.yml"].iter().all(|file| editor.codes(file) == ["scalar-misread"])
    });
}

#[test]
fn changes_outside_of_the_editor_are_asked_for() {
    let watches = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    let mut editor = Editor::with(SLOPPY, &watches).checked();
    let asked = &editor.registered[0];
    assert_eq!(asked["method"], "workspace/didChangeWatchedFiles");
    assert_eq!(asked["registerOptions"]["watchers"][0]["globPattern"], "**/*.{yml,yaml,json}");
    std::fs::write(editor.path("classes/c.yml"), "parameters: {other: 1.20}\n").unwrap();
    changed(&editor);
    editor.until("the new text", |editor| editor.codes("classes/c.yml") == ["scalar-misread"]);
    assert!(Editor::open(SLOPPY).checked().registered.is_null(), "other clients are not asked");
}
