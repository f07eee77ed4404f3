//! Keys become a class of their own: after the edits every node has the values that it had.

use std::path::Path;

use reclass::value::Value;
use reclass::{Inventory, Request};
use serde_json::{Value as Json, json};

use crate::editor::{Editor, options};

const FILES: &str = "\
=== nodes/web1.yml
classes: [site, app.web]
parameters:
  name: web1
  # The port of tests.
  nginx:
    port: 8080
    hosts: [a]
=== nodes/web2.yml
classes:
  - app.web
  - site
=== classes/site.yml
parameters: {nginx: {hosts: [x]}, level: 1}
=== classes/app/web.yml
classes:
- app.common
parameters:
  nginx:
    port: 80
    url: 'http://${name}:${nginx:port}' # with the port
    text: |
      one

      two
  ~level: 2
  name: web
=== classes/app/common.yml
parameters: {nginx: {user: www, port: 81}}
=== classes/app/level.yml
{}
";

/// The parameters of all nodes of the files on disk.
fn values(base: &Path) -> Vec<Value> {
    let inventory = Inventory::open(&options(base)).unwrap();
    ["web1", "web2"]
        .map(|node| inventory.nodeinfo(node, &Request::default()).unwrap().parameters.clone())
        .into()
}

/// The answer to the command of the code action for these lines, from zero.
fn chosen(editor: &mut Editor, file: &str, lines: (u32, u32), title: &str) -> Json {
    let range = json!({
        "start": { "line": lines.0, "character": 2 }, "end": { "line": lines.1, "character": 4 },
    });
    let asked = json!({
        "textDocument": { "uri": editor.uri(file) }, "range": range, "context": { "diagnostics": [] },
    });
    let found = editor.ask("textDocument/codeAction", asked);
    let found = found.as_array().unwrap().iter().find(|one| one["title"] == title);
    let command = found.unwrap_or_else(|| panic!("no action '{title}'"))["command"].clone();
    let given = json!({ "command": command["command"], "arguments": command["arguments"] });
    editor.answer("workspace/executeCommand", given)
}

/// Makes the edit on disk, as an editor does.
fn apply(editor: &Editor) {
    for change in editor.edit["documentChanges"].as_array().unwrap() {
        if change["kind"] == "create" {
            let path = change["uri"].as_str().unwrap().strip_prefix("file://").unwrap();
            std::fs::write(path, "").unwrap();
            continue;
        }
        let path = change["textDocument"]["uri"].as_str().unwrap().strip_prefix("file://").unwrap();
        let mut text = std::fs::read_to_string(path).unwrap();
        let offset = |place: &Json| {
            let number = |name: &str| usize::try_from(place[name].as_u64().unwrap()).unwrap();
            text.split_inclusive('\n').take(number("line")).map(str::len).sum::<usize>() + number("character")
        };
        let edit = &change["edits"][0];
        let range = offset(&edit["range"]["start"])..offset(&edit["range"]["end"]);
        text.replace_range(range, edit["newText"].as_str().unwrap());
        std::fs::write(path, text).unwrap();
    }
}

fn opened(file: &str) -> Editor {
    let text = FILES.split("=== ").find_map(|one| one.strip_prefix(&format!("{file}\n"))).unwrap();
    let marked = FILES.replace(text, &format!("{text}# $0\n"));
    Editor::with(&marked, &json!({ "workspace": { "applyEdit": true } })).checked()
}

#[test]
fn keys_become_a_class_and_no_value_changes() {
    for (file, lines, title, class, new, rest) in [
        (
            "nodes/web1.yml",
            (4, 6),
            "Move 'nginx' to a new class",
            "classes/nginx.yml",
            "parameters:\n  nginx:\n    port: 8080\n    hosts: [a]\n",
            "classes: [site, app.web, nginx]\nparameters:\n  name: web1\n",
        ),
        (
            "classes/app/web.yml",
            (5, 9),
            "Move 'url' to a new class",
            "classes/app/url.yml",
            "parameters:\n  nginx:\n    url: 'http://${name}:${nginx:port}' # with the port\n    text: |\n      one\n\n      two\n",
            "classes:\n- app.common\n- app.url\nparameters:\n  nginx:\n    port: 80\n  ~level: 2\n  name: web\n",
        ),
        (
            "classes/app/web.yml",
            (10, 10),
            "Move '~level' to a new class",
            "classes/app/level_2.yml",
            "parameters:\n  ~level: 2\n",
            "classes:\n- app.common\n- app.level_2\nparameters:\n  nginx:\n    port: 80\n",
        ),
    ] {
        let mut editor = opened(file);
        let before = values(editor.folder.path());
        let answer = chosen(&mut editor, file, lines, title);
        assert!(answer["error"].is_null(), "{answer}");
        apply(&editor);
        assert_eq!(std::fs::read_to_string(editor.path(class)).unwrap(), new);
        let text = std::fs::read_to_string(editor.path(file)).unwrap();
        assert!(text.starts_with(rest), "{text}");
        assert_eq!(values(editor.folder.path()), before, "{file}");
    }
}

#[test]
fn a_move_that_would_change_a_value_is_refused() {
    // A class of a mapping comes before the classes of the file, so the new class overrides it too late.
    let files = "\
=== nodes/n.yml
classes: [a]
parameters:
  x: &x 1 # $0
  y: *x
  z: {_: 1}
=== classes/a.yml
parameters: {x: 0}
";
    let mut editor = Editor::with(files, &json!({ "workspace": { "applyEdit": true } })).checked();
    let answer = chosen(&mut editor, "nodes/n.yml", (2, 2), "Move 'x' to a new class");
    let reason = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(reason.contains("anchor or alias"), "{answer}");
    let files = files.replace("&x 1", "'${gone}'").replace("*x", "1");
    let mut editor = Editor::with(&files, &json!({ "workspace": { "applyEdit": true } })).checked();
    let answer = chosen(&mut editor, "nodes/n.yml", (3, 3), "Move 'y' to a new class");
    let reason = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(reason.contains("the node 'n' has errors"), "{answer}");
    assert!(editor.edit.is_null());
}

#[test]
fn a_key_that_comes_after_others_becomes_a_class_too() {
    let files = "\
=== nodes/web1.yml
classes: [app]
=== nodes/web2.yml
classes: [app]
parameters: {z: {own: 1}}
=== classes/app.yml
parameters:
  a: 1 # $0
  z:
    b: [1, {d: 1, c: 2}]
";
    let mut editor = Editor::with(files, &json!({ "workspace": { "applyEdit": true } })).checked();
    let before = values(editor.folder.path());
    let answer = chosen(&mut editor, "classes/app.yml", (2, 2), "Move 'z' to a new class");
    assert!(answer["error"].is_null(), "{answer}");
    apply(&editor);
    let after = values(editor.folder.path());
    // The class is merged before the file, so `z` is the first key now.
    assert_ne!(after, before);
    let json = |values: &[Value]| serde_json::to_value(values).unwrap();
    assert_eq!(json(&after), json(&before));
}

#[test]
fn a_client_that_shows_documents_gets_the_explanation_of_a_value() {
    let given = json!({ "explainValue": true });
    let mut editor = Editor::with_options(FILES, &json!({}), &given).checked();
    let at = json!({ "line": 6, "character": 5 });
    let asked = json!({
        "textDocument": { "uri": editor.uri("nodes/web1.yml") }, "range": { "start": at, "end": at },
        "context": { "diagnostics": [] },
    });
    let found = editor.ask("textDocument/codeAction", asked);
    let found = found.as_array().unwrap();
    assert!(found.iter().any(|one| one["command"]["command"] == "reclass.explainValue"), "{found:?}");
    // The other action needs a client that applies edits.
    assert!(!found.iter().any(|one| one["kind"] == "refactor.extract"), "{found:?}");
}
