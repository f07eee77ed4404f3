//! Rename: after the edits every node has the values that it had, but for the name.

use std::os::unix::fs::symlink;
use std::path::Path;

use reclass::value::Value;
use reclass::{Inventory, Request};
use serde_json::{Value as Json, json};

use crate::editor::{Editor, options, write_files};

const FILES: &str = "\
=== nodes/web1.yml
classes: [app.web, \"app.web.tls\"]
=== nodes/web2.yml
classes:
- app.web
- team.${team}
=== nodes/db.yml
classes: [app.db]
parameters: {web: {~port: 1, user: 'u ${web:port} ${web:port::none}'}}
=== classes/app/web/init.yml
classes: [.common, .tls]
parameters:
  web: {port: 80, url: 'http://x:${web:port}/${web:user}', user: www}
  team: red
=== classes/app/web/tls.yml
parameters: {tls: true}
=== classes/app/web/common.yml
parameters: {common: 1}
=== classes/app/db.yml
classes: [.web]
parameters: {copy: '${web:port}'}
=== classes/team/red.yml
parameters: {color: red}
";

/// The classes and parameters of all nodes of the files on disk.
fn values(base: &Path) -> Vec<(Vec<String>, Value)> {
    let inventory = Inventory::open(&options(base)).unwrap();
    let of = |node| {
        let info = inventory.nodeinfo(node, &Request::default()).unwrap();
        (info.classes.iter().map(ToString::to_string).collect(), info.parameters.clone())
    };
    ["db", "web1", "web2"].map(of).into()
}

/// What the server answers to a rename at the mark.
fn rename(editor: &mut Editor, new: &str) -> Json {
    let (file, position) = editor.mark.clone();
    let document = json!({ "uri": editor.uri(&file) });
    editor.answer(
        "textDocument/rename",
        json!({ "textDocument": document, "position": position, "newName": new }),
    )
}

/// Makes the changes of an edit on disk, as an editor does.
fn apply(editor: &Editor, edit: &Json) -> usize {
    let path = |uri: &Json| uri.as_str().unwrap().strip_prefix("file://").unwrap().to_owned();
    let changes = edit["documentChanges"].as_array().unwrap();
    for change in changes {
        if change["kind"] == "rename" {
            let new = path(&change["newUri"]);
            std::fs::create_dir_all(Path::new(&new).parent().unwrap()).unwrap();
            std::fs::rename(path(&change["oldUri"]), new).unwrap();
            continue;
        }
        let file = path(&change["textDocument"]["uri"]);
        let mut lines: Vec<String> =
            std::fs::read_to_string(&file).unwrap().split('\n').map(str::to_owned).collect();
        for edit in change["edits"].as_array().unwrap().iter().rev() {
            let number = |place: &Json| usize::try_from(place.as_u64().unwrap()).unwrap();
            let (start, end) = (&edit["range"]["start"], &edit["range"]["end"]);
            assert_eq!(start["line"], end["line"]);
            let columns = number(&start["character"])..number(&end["character"]);
            lines[number(&start["line"])].replace_range(columns, edit["newText"].as_str().unwrap());
        }
        std::fs::write(&file, lines.join("\n")).unwrap();
    }
    assert!(editor.folder.path().exists());
    changes.len()
}

fn marked(before: &str, after: &str) -> Editor {
    assert_eq!(FILES.matches(before).count(), 1, "{before}");
    Editor::open(&FILES.replace(before, after)).checked()
}

#[test]
fn a_class_gets_a_name_in_every_list_and_its_file_moves() {
    for (before, after, old, new, edits) in [
        ("classes: [app.web, \"app", "classes: [app.$0web, \"app", "app.web", "service.front", 5),
        // Its own relative names lead to the same classes, and stay relative where they can.
        ("classes: [.web]", "classes: [.w$0eb]", "app.web", "app.www", 5),
        ("\"app.web.tls\"", "\"app.web.$0tls\"", "app.web.tls", "app.web.ssl", 3),
        ("classes: [app.db]", "classes: [app.d$0b]", "app.db", "db", 3),
    ] {
        let mut editor = marked(before, after);
        let expected: Vec<_> = values(editor.folder.path())
            .into_iter()
            .map(|(classes, values)| {
                let named = |name: String| if name == old { new.to_owned() } else { name };
                (classes.into_iter().map(named).collect::<Vec<_>>(), values)
            })
            .collect();
        let answer = rename(&mut editor, new);
        assert!(answer["error"].is_null(), "{answer}");
        assert_eq!(apply(&editor, &answer["result"]), edits, "{answer}");
        assert_eq!(values(editor.folder.path()), expected, "{new}");
    }
    let mut editor = marked("classes: [.web]", "classes: [.w$0eb]");
    let prepared = editor.at_mark("textDocument/prepareRename");
    assert_eq!(prepared["placeholder"], "app.web");
    let answer = rename(&mut editor, "app.www");
    apply(&editor, &answer["result"]);
    let text = std::fs::read_to_string(editor.path("classes/app/db.yml")).unwrap();
    assert!(text.starts_with("classes: [.www]\n"), "{text}");
}

#[test]
fn a_name_that_changes_values_or_is_no_text_is_refused() {
    let files = "\
=== reclass-config.yml
inventory_base_uri: .
ignore_class_notfound: true
class_wildcards: true
=== nodes/n1.yml
classes: [a$0]
=== nodes/n2.yml
classes: [ghost]
=== nodes/n3.yml
classes: [lib.*]
=== classes/a.yml
parameters: {x: 1}
=== classes/lib/a.yml
parameters: {m: a}
=== classes/lib/b.yml
parameters: {m: b}
";
    let refused = |files: &str, new: &str| {
        let answer = rename(&mut Editor::open(files).checked(), new);
        answer["error"]["message"].as_str().unwrap_or_default().to_owned()
    };
    assert!(
        refused(files, "ghost").contains("values of the node 'n2' would change"),
        "{}",
        refused(files, "ghost")
    );
    let by_order = files.replace("[a$0]", "[lib.$0a]");
    assert!(refused(&by_order, "lib.z").contains("values of the node 'n3' would change"));
    for name in ["null", "yes", "2024", "0x1f", "1.5"] {
        assert!(refused(files, name).contains("another thing than a text"), "{name}");
    }
    assert_eq!(refused(files, "other"), "");
}

#[test]
fn a_parameter_gets_a_name_in_every_file_and_reference() {
    let mut editor = marked("'${web:port}'}\n", "'${web:$0port}'}\n");
    let answer = rename(&mut editor, "listen");
    assert!(answer["error"].is_null(), "{answer}");
    apply(&editor, &answer["result"]);
    let read = |file: &str| std::fs::read_to_string(editor.path(file)).unwrap();
    let node = read("nodes/db.yml");
    assert!(node.contains("{~listen: 1, user: 'u ${web:listen} ${web:listen::none}'}"), "{node}");
    let class = read("classes/app/web/init.yml");
    assert!(class.contains("{listen: 80, url: 'http://x:${web:listen}/${web:user}'"), "{class}");
    assert!(read("classes/app/db.yml").contains("'${web:listen}'"));
    let after = values(editor.folder.path());
    let web = after[0].1.as_map().and_then(|all| all.get("web")).and_then(Value::as_map);
    assert!(web.unwrap().contains_key("listen"));
}

#[test]
fn a_name_that_something_else_may_mean_is_refused() {
    let of = |before: &str, after: &str, new: &str| {
        let answer = rename(&mut marked(before, after), new);
        answer["error"]["message"].as_str().unwrap_or_default().to_owned()
    };
    let class = |new: &str| of("classes: [app.db]", "classes: [app.$0db]", new);
    assert!(class("app.web").contains("the class 'app.web' exists"), "{}", class("app.web"));
    assert!(class("app/x").contains("is no name of a class"), "{}", class("app/x"));
    let by_reference = of(
        "=== classes/team/red.yml\nparameters: {color: red}\n",
        "=== classes/team/red.yml\nparameters: {color: red}\n=== nodes/x.yml\nclasses: [team.$0red]\n",
        "team.blue",
    );
    assert!(
        by_reference.contains("'team.${team}'") && by_reference.contains("names it by a reference"),
        "{by_reference}"
    );
    // A nested reference, a reference to the mapping, and a key beside it.
    let parameter = |text: &str| of("copy: '${web:port}'", text, "listen");
    let nested = parameter("key: port, b: '${web:${key}}', copy: '${web:$0port}'");
    assert!(nested.contains("may name it"), "{nested}");
    let around = parameter("b: '${web}', copy: '${web:$0port}'");
    assert!(around.contains("values of the node 'db' would change"), "{around}");
    let beside = parameter("web: {listen: 1}, copy: '${web:$0port}'");
    assert!(beside.contains("'listen' is set beside it"), "{beside}");
}

/// The reason against a new name for what is at the mark.
fn refused(files: &str, new: &str) -> String {
    let answer = rename(&mut Editor::open(files).checked(), new);
    answer["error"]["message"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_name_that_shows_a_secret_is_refused() {
    let files = "=== nodes/n.yml\nparameters: {db_pass$0word: hunter2, u: 'x${db_password}'}\n";
    assert_eq!(
        refused(files, "db_pw"),
        "the setting 'secret_keys' hides the value of 'db_password', and would not hide it with the name 'db_pw'"
    );
    assert_eq!(refused(files, "password_of_db"), "");
    // All below this key is hidden, whatever its name.
    let below = "=== nodes/n.yml\nparameters: {secrets: {pass$0word: hunter2}}\n";
    assert_eq!(refused(below, "pw"), "");
    assert!(
        refused(&below.replace("{secrets: {pass$0word", "{secre$0ts: {word"), "db").contains("'secrets'")
    );
}

#[test]
fn a_file_with_two_names_is_edited_once_and_keeps_its_class() {
    let linked = |files: &str, target: &str, link: &str| {
        let editor = Editor::open(files);
        symlink(editor.path(target), editor.path(link)).unwrap();
        editor.checked()
    };
    let port = "=== nodes/web1.yml\nparameters:\n  po$0rt: 80\n  see: ${port}\n";
    let mut editor = linked(port, "nodes/web1.yml", "nodes/web2.yml");
    let answer = rename(&mut editor, "tcp");
    assert_eq!(answer["result"]["documentChanges"].as_array().unwrap().len(), 1, "{answer}");
    apply(&editor, &answer["result"]);
    let text = std::fs::read_to_string(editor.path("nodes/web1.yml")).unwrap();
    assert_eq!(text, "parameters:\n  tcp: 80\n  see: ${tcp}\n");
    let class = "=== nodes/n.yml\nclasses: [x.$0a, y.a]\n=== classes/x/a.yml\nparameters: {a: 1}\n";
    let answer = rename(&mut linked(class, "classes/x", "classes/y"), "x.b");
    let reason = answer["error"]["message"].as_str().unwrap();
    assert!(reason.ends_with("classes/y/a.yml', through a symbolic link"), "{reason}");
}

#[test]
fn a_file_that_is_open_by_a_link_is_edited_there() {
    let mut editor =
        Editor::open("=== nodes/n.yml\nclasses: [c]\n=== classes/c.yml\nparameters: {a: 1}\n").checked();
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("c.yml");
    symlink(editor.path("classes/c.yml"), &link).unwrap();
    let uri = format!("file://{}", link.display());
    let item =
        json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": "parameters: {x: 1, a: 1}\n" });
    editor.tell("textDocument/didOpen", json!({ "textDocument": item }));
    let position = json!({ "line": 0, "character": 19 });
    let asked = json!({ "textDocument": { "uri": uri }, "position": position, "newName": "area" });
    let answer = editor.answer("textDocument/rename", asked);
    assert_eq!(answer["result"]["documentChanges"][0]["textDocument"]["uri"], uri.as_str(), "{answer}");
}

/// Two inventories with a folder of classes that both have.
const SHARED: &str = "\
=== prod/reclass-config.yml
classes_uri: [../shared]
=== test/reclass-config.yml
classes_uri: [../shared]
=== prod/nodes/p1.yml
classes: [common]
parameters: {host: x}
=== test/nodes/t1.yml
classes: [common]
parameters: {use: '${common:port}'}
=== shared/common.yml
parameters:
  common:
    port: 80
    url: ${host}
";

#[test]
fn a_file_of_two_inventories_keeps_its_names_and_has_the_problems_of_both() {
    let mut editor = Editor::open("=== readme.yml\n{}\n");
    for (name, text) in write_files(&editor.path(""), SHARED) {
        if name.contains("/nodes/") {
            editor.open_file(&name, &text);
        }
    }
    let common = std::fs::read_to_string(editor.path("shared/common.yml")).unwrap();
    editor.open_file("shared/common.yml", &common);
    let nodes = |editor: &Editor| -> Vec<&str> {
        let found = editor.diagnostics.get("shared/common.yml").into_iter().flatten();
        let texts: Vec<String> = found.map(ToString::to_string).collect();
        // The name alone may be in that of a temporary folder: `/tmp/.tmp1l7YSI`.
        let is_of = |node: &&str| texts.iter().any(|text| text.contains(&format!("(node {node})")));
        ["t1", "p1"].into_iter().filter(is_of).collect()
    };
    editor.until("the problem of a node", |editor| nodes(editor) == ["t1"]);
    editor.put("shared/common.yml", &format!("{common}    more: ${{nowhere}}\n"));
    editor.until("the problems of both", |editor| nodes(editor) == ["t1", "p1"]);
    editor.put("shared/common.yml", &common);
    editor.until("the one problem", |editor| nodes(editor) == ["t1"]);
    let named = common.replace("    url: ${host}\n", "");
    editor.put("shared/common.yml", &named);
    editor.until("no problem", |editor| nodes(editor).is_empty());
    editor.mark = ("shared/common.yml".into(), json!({ "line": 2, "character": 5 }));
    let answer = rename(&mut editor, "tcp");
    let reason = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(reason.contains("has the file") && reason.contains("shared/common.yml"), "{answer}");
}

#[test]
fn a_class_that_a_schema_is_for_keeps_its_name() {
    let files = |scope: &str| {
        format!(
            "=== nodes/n.yml\nclasses: [a$0pp]\n=== classes/app.yml\nparameters: {{port: 80}}\n\
             === schemas/port.yml\nx-reclass: {{classes: {scope}}}\ntype: integer\n"
        )
    };
    let reason = refused(&files("[db, app]"), "application");
    assert!(reason.contains("schemas/port.yml names it: change the schema first"), "{reason}");
    assert_eq!(refused(&files("'app*'"), "application"), "");
}

#[test]
fn a_name_that_a_schema_knows_or_refuses_is_refused() {
    let files = |key: &str, schema: &str| {
        format!(
            "=== nodes/n.yml\nparameters:\n  app: {{{key}: 80, size: 1}}\n=== schemas/app.yml\n{schema}\n"
        )
    };
    let described =
        "type: object\nproperties: {port: {type: integer}, size: {}}\nadditionalProperties: false";
    let reason = refused(&files("po$0rt", described), "prt");
    assert!(reason.contains("schemas/app.yml:2:14 describes 'app:port'"), "{reason}");
    // A key that no schema names, and that one refuses by the new name.
    let pattern = "type: object\npropertyNames: {pattern: '^[a-z]+$'}";
    let reason = refused(&files("po$0rt", pattern), "PORT");
    assert!(reason.contains("would refuse 'app:PORT' of the node 'n'"), "{reason}");
    assert!(reason.contains("schemas/app.yml:2"), "{reason}");
    assert_eq!(refused(&files("po$0rt", pattern), "listen"), "");
    // What was wrong before is no reason, and a rule for all other keys names none.
    assert_eq!(refused(&files("po$0rt", &format!("{pattern}\nrequired: [gone]")), "listen"), "");
    assert_eq!(refused(&files("po$0rt", "additionalProperties: {type: integer}"), "listen"), "");
    // The name of the file is the name of the parameter.
    let reason = refused(&files("port", described).replace("  app", "  ap$0p"), "application");
    assert!(reason.contains("schemas/app.yml describes 'app'"), "{reason}");
}
