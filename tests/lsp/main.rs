//! The language server, asked by an editor in memory: each answer, unsaved text, broken text, and a random walk
//! whose diagnostics are those of lint over the same texts.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test writes files and may panic")]
#![allow(clippy::print_stdout, reason = "a test says how much it tried")]

mod corpus;
mod doors;
mod editor;
mod extracting;
mod queue;
mod relations;
mod renaming;
mod settings;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use editor::{Editor, options, write_files};
use reclass_analysis::lint::lint;
use serde_json::json;

const SMALL: &str = "\
=== nodes/web1.yml
classes: [site, app.web]
parameters:
  name: web1
=== nodes/web2.yml
classes: [site, app.web]
parameters: {nginx: {port: 8080}}
=== classes/site.yml
# What every machine has.
parameters:
  db: {password: hunter22, host: db1}
=== classes/app/web.yml
classes: [.common]
parameters:
  nginx:
    port: 80
    url: 'http://${db:host}:${nginx:port}'
=== classes/app/common.yml
parameters: {nginx: {user: www}}
";

/// The small inventory with a mark in one file.
fn marked(before: &str, after: &str) -> String {
    assert_eq!(SMALL.matches(before).count(), 1, "{before}");
    SMALL.replace(before, after)
}

#[test]
fn an_entry_leads_to_the_file_of_its_class() {
    for (before, after, expected) in [
        ("classes: [.common]", "classes: [.com$0mon]", "classes/app/common.yml:1"),
        ("name: web1", "name: web1$0", ""),
    ] {
        let mut editor = Editor::open(&marked(before, after)).checked();
        let found = editor.at_mark("textDocument/definition");
        assert_eq!(editor.places(&found).join(" "), expected, "{after}");
    }
    let files = "\
=== nodes/n.yml
classes: [base, 'role.$0${role}']
=== classes/base.yml
parameters: {role: db}
=== classes/role/db.yml
parameters: {x: 1}
";
    let mut editor = Editor::open(files).checked();
    let found = editor.at_mark("textDocument/definition");
    assert_eq!(editor.places(&found), ["classes/role/db.yml:1"]);
    // A relative name means the same as for the engine: below its own folder in an `init.yml` alone.
    for (file, expected) in [("classes/a/b.yml", ""), ("classes/a/b/init.yml", "classes/a/b/x.yml:1")] {
        let files = format!(
            "=== {file}\nclasses: [.x$0]\n=== classes/a/b/x.yml\n{{}}\n=== nodes/n.yml\nclasses: [a.b]\n"
        );
        let mut editor = Editor::open(&files).checked();
        let found = editor.at_mark("textDocument/definition");
        assert_eq!(editor.places(&found).join(" "), expected, "{file}");
    }
}

#[test]
fn a_reference_leads_to_the_places_that_set_its_value() {
    let mut editor = Editor::open(&marked("${nginx:port}", "${nginx:$0port}")).checked();
    let found = editor.at_mark("textDocument/definition");
    assert_eq!(editor.places(&found), ["classes/app/web.yml:4"]);
    // The other node has a layer more.
    let file = editor.uri("classes/app/web.yml");
    editor.ask(
        "workspace/executeCommand",
        json!({ "command": "reclass.chooseNode", "arguments": [file, "web2"] }),
    );
    let found = editor.at_mark("textDocument/definition");
    assert_eq!(editor.places(&found), ["nodes/web2.yml:2", "classes/app/web.yml:4"]);
    let found = editor.at_mark("textDocument/references");
    assert_eq!(editor.places(&found), ["classes/app/web.yml:5"]);
    let asked = json!({ "textDocument": { "uri": file } });
    assert_eq!(editor.ask("reclass/nodes", asked), json!({ "nodes": ["web1", "web2"], "node": "web2" }));
}

#[test]
fn hover_shows_a_value_and_hides_a_secret() {
    let text = |editor: &mut Editor| editor.at_mark("textDocument/hover")["contents"]["value"].to_string();
    let mut editor = Editor::open(&marked("    url:", "    u$0rl:")).checked();
    let shown = text(&mut editor);
    assert!(shown.contains("node **web1**") && shown.contains("http://db1:80"), "{shown}");
    let mut editor = Editor::open(&marked("{password: hunter22", "{pass$0word: hunter22")).checked();
    let shown = text(&mut editor);
    assert!(shown.contains("***") && !shown.contains("hunter22"), "{shown}");
    let mut editor = Editor::open(&marked(
        "classes: [site, app.web]\nparameters:\n",
        "classes: [si$0te, app.web]\nparameters:\n",
    ))
    .checked();
    let shown = text(&mut editor);
    assert!(shown.contains("What every machine has.") && shown.contains("2 nodes: web1, web2"), "{shown}");
    assert!(shown.contains("2 files list it"), "{shown}");
    let files = "\
=== nodes/n.yml
classes: [da$0ta]
=== classes/data.yml
# The database. For tests:
# password: hunter22
parameters: {x: 1}
";
    let shown = text(&mut Editor::open(files).checked());
    assert!(shown.contains("The database.") && !shown.contains("hunter22"), "{shown}");
}

/// The completions at the mark in a text, `TEXT=DETAIL`. The file was right before, as when somebody types.
fn completions(file: &str, marked: &str) -> String {
    completions_in(SMALL, file, marked)
}

fn completions_in(files: &str, file: &str, marked: &str) -> String {
    let item = |item: &serde_json::Value| {
        let text = item["textEdit"]["newText"].as_str().unwrap();
        // Where the label does it, a filter would double what is written, in Neovim up to 0.10.
        assert!(item["filterText"].as_str().is_none_or(|filter| !text.starts_with(filter)), "{item}");
        format!("{text}={}", item["detail"].as_str().unwrap_or_default())
    };
    let found = completion_items(files, file, marked);
    found.as_array().unwrap().iter().map(item).collect::<Vec<_>>().join(" ")
}

fn completion_items(files: &str, file: &str, marked: &str) -> serde_json::Value {
    let mut editor = Editor::open(files);
    let before = std::fs::read_to_string(editor.path(file)).unwrap();
    editor.open_file(file, &before);
    editor.until("the file", |editor| editor.status.contains_key(file));
    editor.put(file, &marked.replace("$0", ""));
    editor.mark = (file.to_owned(), editor::position(marked));
    editor.at_mark("textDocument/completion")
}

#[test]
fn completion_knows_classes_values_and_sections() {
    assert_eq!(completions("nodes/web1.yml", "classes: [site, $0]\n"), "app.= site=2 nodes");
    assert_eq!(completions("classes/site.yml", "classes:\n- app.$0\n"), "app.common=2 nodes app.web=2 nodes");
    let shown = completions("classes/site.yml", "parameters:\n  x: '${$0\n");
    assert!(shown.contains("db=a mapping") && shown.contains("name=web1"), "{shown}");
    let shown = completions("classes/site.yml", "parameters:\n  x: '${db:$0}'\n");
    assert_eq!(shown, "db:password=*** db:host=db1");
    // What depends on a secret is hidden with it.
    let files = marked("  name: web1", "  name: 'x${db:password}'");
    let shown = completions_in(&files, "classes/site.yml", "parameters:\n  x: '${$0\n");
    assert!(shown.contains("name=***") && !shown.contains("hunter22"), "{shown}");
    let shown = completions("classes/site.yml", "cl$0\nparameters: {x: 1}\n");
    assert!(shown.contains("classes:") && !shown.contains("parameters:"), "{shown}");
}

/// The small inventory with a schema of `nginx`, which the editor finds beside the classes.
const SCHEMA: &str = "\
=== schemas/nginx.yml
type: object
properties:
  port: {type: integer, description: The port that it listens on.}
  workers: {type: integer, description: Processes that answer., default: 2}
  tls: {type: object}
";

#[test]
fn hover_and_completion_know_the_schemas_of_parameters() {
    let files = format!("{}{SCHEMA}", marked("    port: 80", "    po$0rt: 80"));
    let shown = Editor::open(&files).checked().at_mark("textDocument/hover")["contents"]["value"].to_string();
    assert!(shown.contains("The port that it listens on (integer)"), "{shown}");
    let files = format!("{SMALL}{SCHEMA}");
    let keys = |marked: &str| completions_in(&files, "nodes/web1.yml", marked);
    // A key that a file has comes with its value in the file.
    assert_eq!(
        keys("classes: [app.web]\nparameters:\n  nginx:\n    url: x\n    $0\n"),
        "port: =80 user: =www tls:=of the schema workers: =of the schema"
    );
    assert!(keys("classes: [site]\nparameters:\n  $0\n").contains("nginx:=a mapping"));
    // The default of a secret may be one.
    let files = format!(
        "{SMALL}=== schemas/db.yml\nproperties: {{password: {{description: Of the base., default: topsecret}}}}\n"
    );
    let found = completion_items(&files, "nodes/web1.yml", "classes: [site]\nparameters:\n  db:\n    $0\n");
    let found = found.to_string();
    assert!(found.contains("Of the base.") && !found.contains("topsecret"), "{found}");
}

#[test]
fn completion_knows_keys_of_other_files() {
    let shown = completions("nodes/web1.yml", "parameters:\n  ng$0\n");
    assert!(shown.contains("db:=a mapping") && shown.contains("nginx:=a mapping"), "{shown}");
    // Secrets are masked, and a key that is there already is left out.
    let shown = completions("nodes/web1.yml", "parameters:\n  db:\n    host: x\n    $0\n  a: 1\n");
    assert_eq!(shown, "password: =***");
    let shown = completions("nodes/web1.yml", "parameters:\n  ~nginx:\n    ~p$0");
    assert_eq!(shown, "port: =80 url: = user: =www");
    assert_eq!(completions("nodes/web1.yml", "parameters:\n  none:\n    $0"), "");
}

#[test]
fn completion_knows_openings_and_escapes() {
    let shown = completions("nodes/web1.yml", "parameters:\n  a: x $$0\n");
    assert!(shown.starts_with("${}=a reference") && shown.contains("$[ ]=a query"), "{shown}");
    assert!(shown.contains("\\${=the text itself") && shown.contains("\\$[=the text itself"), "{shown}");
    let shown = completions("nodes/web1.yml", "parameters:\n  a: x \\$0\n");
    assert!(shown.starts_with("\\${=the text itself"), "{shown}");
    assert_eq!(completions("nodes/web1.yml", "parameters:\n  # a $$0\n"), "");
}

#[test]
fn a_value_is_hidden_once_it_comes_from_a_secret() {
    let plain = "parameters:\n  db: {password: geheim}\n  url: pg://ada:geheim@h\n";
    let mut editor = Editor::open(&format!("=== nodes/n.yml\n{plain}")).checked();
    let mut shown = |text: &str, character: usize| {
        editor.put("nodes/n.yml", text);
        editor.mark = ("nodes/n.yml".into(), json!({ "line": 3, "character": character }));
        editor.at_mark("textDocument/completion").to_string()
    };
    let open = "  x: ${\n";
    shown(plain, 0);
    assert!(shown(&format!("{plain}{open}"), 7).contains("pg://ada:geheim@h"));
    let secret = plain.replace("ada:geheim", "ada:${db:password}");
    shown(&secret, 0);
    let hidden = shown(&format!("{secret}{open}"), 7);
    assert!(hidden.contains("url") && !hidden.contains("geheim"), "{hidden}");
}

#[test]
fn completion_knows_the_operands_of_queries() {
    let files = format!("{SMALL}=== nodes/web3.yml\nexports: {{site: {{port: 81, password: hunter23}}}}\n");
    let shown = |query: &str| {
        completions_in(&files, "nodes/web1.yml", &format!("classes: [site]\nparameters:\n  a: $[ {query}\n"))
    };
    assert!(shown("$0 ]").starts_with("exports:=an export of each node self:=a parameter of this node"));
    assert!(shown("+$0").contains("+IgnoreErrors=without the nodes"));
    assert_eq!(shown("exports:$0 ]"), "site=a mapping");
    assert_eq!(shown("exports:site:$0"), "site:password=*** site:port=81");
    assert_eq!(shown("exports:site if exports:site:port == self:db:$0 ]"), "db:password=*** db:host=db1");
    assert_eq!(shown("exports:site ] $0"), "");
    // A cursor within an opening.
    for text in ["$$0[ exports:site ]", "$$0{db:host}"] {
        let shown = completions("nodes/web1.yml", &format!("parameters:\n  a: '{text}'\n"));
        assert!(shown.starts_with("${}=a reference"), "{text}: {shown}");
    }
}

#[test]
fn completion_knows_grains_and_settings() {
    let settings = "\
grains: [os, 'locale_info:*', 'disks:first']
trusted_grains: {os_family: [Debian, RedHat]}
";
    let files = format!("{SMALL}=== reclass-config.yml\n{settings}");
    let shown = completions_in(&files, "nodes/web1.yml", "parameters:\n  a: ${$0}\n");
    assert!(shown.contains("_grains_=the grains of the minion"), "{shown}");
    let shown = completions_in(&files, "nodes/web1.yml", "parameters:\n  a: ${_grains_:$0}\n");
    assert!(shown.contains("_grains_:id=the name of the node"), "{shown}");
    assert!(shown.contains("_grains_:os_family=a grain that may choose classes"), "{shown}");
    assert!(shown.contains("_grains_:os=a grain of the minion"), "{shown}");
    let shown = completions_in(&files, "nodes/web1.yml", "parameters:\n  a: ${_grains_:disks:$0}\n");
    assert_eq!(shown, "_grains_:disks:first=a grain of the minion");
    let mut editor = Editor::open(&files);
    let asked = |editor: &mut Editor, marked: &str, method: &str| {
        editor.open_file("reclass-config.yml", &marked.replace("$0", ""));
        editor.mark = ("reclass-config.yml".to_owned(), editor::position(marked));
        editor.at_mark(method)
    };
    let found = asked(&mut editor, "cache: auto\nempty$0\n", "textDocument/completion");
    let of = |name: &str| found.as_array().unwrap().iter().find(|one| one["label"] == name).cloned();
    assert_eq!(of("cache"), None, "it is set already");
    let item = of("empty_files").unwrap();
    assert_eq!(item["textEdit"]["newText"], "empty_files: ");
    assert!(!item["documentation"]["value"].as_str().unwrap().is_empty() && item["detail"].is_string());
    let found = asked(&mut editor, "empty_files: $0\n", "textDocument/completion");
    assert!(found.as_array().unwrap().iter().any(|one| one["label"] == "error"), "{found}");
    let found = asked(&mut editor, "ca$0che: auto\n", "textDocument/hover");
    assert!(found["contents"]["value"].as_str().unwrap().starts_with("**cache**\n\n"), "{found}");
}

#[test]
fn unsaved_text_counts_and_values_never_mix() {
    let mut editor = Editor::open(&marked("    port: 80\n", "    po$0rt: 80\n")).checked();
    let hover = |editor: &mut Editor| editor.at_mark("textDocument/hover")["contents"]["value"].to_string();
    assert!(hover(&mut editor).contains("80"));
    let text = std::fs::read_to_string(editor.path("classes/app/web.yml")).unwrap();
    editor.put("classes/app/web.yml", &text.replace("port: 80", "port: 8181"));
    assert!(hover(&mut editor).contains("8181"));
    // What another program saves meanwhile does not count while the text is open.
    std::fs::write(editor.path("classes/app/web.yml"), text.replace("port: 80", "port: 9999")).unwrap();
    let shown = hover(&mut editor);
    assert!(shown.contains("8181") && !shown.contains("9999"), "{shown}");
    let document = json!({ "textDocument": { "uri": editor.uri("classes/app/web.yml") } });
    editor.tell("textDocument/didClose", document);
    editor.open_file("classes/app/web.yml", &text.replace("port: 80", "port: 9999"));
    assert!(hover(&mut editor).contains("9999"));
}

#[test]
fn a_new_file_counts_before_it_is_saved() {
    let mut editor = Editor::open(&marked("classes: [.common]", "classes: [.common, new.$0extra]")).checked();
    let missing =
        |editor: &Editor| editor.codes("classes/app/web.yml").contains(&"class-not-found".to_owned());
    editor.until("the missing class", missing);
    // Its folder does not exist either.
    editor.open_file("classes/new/extra.yml", "parameters: {nginx: {port: 8282}, x: '${gone}'}\n");
    editor.until("the error in the new file", |editor| {
        editor.codes("classes/new/extra.yml").contains(&"reference-not-found".to_owned())
    });
    editor.put("classes/new/extra.yml", "# Not saved.\nparameters: {nginx: {port: 8282}}\n");
    editor.until("no error", |editor| !missing(editor) && editor.codes("classes/new/extra.yml").is_empty());
    let found = editor.at_mark("textDocument/definition");
    assert_eq!(editor.places(&found), ["classes/new/extra.yml:1"]);
    let shown = editor.at_mark("textDocument/hover")["contents"]["value"].to_string();
    assert!(shown.contains("Not saved.") && shown.contains("2 nodes: web1, web2"), "{shown}");
    assert!(!editor.path("classes/new").exists());
    // A class or node that is closed without being saved is gone.
    let document = json!({ "textDocument": { "uri": editor.uri("classes/new/extra.yml") } });
    editor.tell("textDocument/didClose", document);
    editor.until("the missing class again", missing);
    editor.until_empty("textDocument/definition");
    // One that is saved and closed stays.
    editor.put("classes/app/web.yml", "parameters: {nginx: {port: 80}}\n");
    editor.open_file("nodes/sub/web3.yml", "classes: [site]\n");
    editor.until("the node", |editor| {
        editor.status.get("nodes/sub/web3.yml").is_some_and(|status| status["node"] == "web3")
    });
    std::fs::create_dir_all(editor.path("nodes/sub")).unwrap();
    std::fs::write(editor.path("nodes/sub/web3.yml"), "classes: [site]\n").unwrap();
    let document = json!({ "textDocument": { "uri": editor.uri("nodes/sub/web3.yml") } });
    editor.tell("textDocument/didSave", document.clone());
    editor.tell("textDocument/didClose", document);
    editor.open_file("classes/site.yml", "parameters: {x: 1}\n");
    let lens = json!({ "textDocument": { "uri": editor.uri("classes/site.yml") } });
    editor.until("a check", |editor| {
        editor.status.get("classes/site.yml").is_some_and(|one| one["nodes"] == 3)
    });
    let found = editor.ask("textDocument/codeLens", lens);
    assert_eq!(found[0]["command"]["title"], "3 nodes, values of web1");
}

#[test]
fn quoted_entries_are_entries() {
    let mut editor = Editor::open(
        &marked("parameters: {nginx: {port: 8080}}", "# $0")
            .replace("[site, app.web]\n# ", "[\"site\", 'app.$0web']\n# "),
    )
    .checked();
    let document = json!({ "textDocument": { "uri": editor.uri("nodes/web2.yml") } });
    let links = editor.ask("textDocument/documentLink", document);
    let targets: Vec<&str> =
        links.as_array().unwrap().iter().map(|one| one["target"].as_str().unwrap()).collect();
    assert_eq!(targets, [editor.uri("classes/site.yml"), editor.uri("classes/app/web.yml")]);
    // The link is the name without its quotes.
    assert_eq!(links[0]["range"]["start"]["character"], 11);
    assert_eq!(links[0]["range"]["end"]["character"], 15);
    let found = editor.at_mark("textDocument/references");
    assert_eq!(editor.places(&found), ["nodes/web1.yml:1", "nodes/web2.yml:1"]);
    let item = editor.at_mark("textDocument/prepareCallHierarchy")[0].clone();
    let incoming = editor.ask("callHierarchy/incomingCalls", json!({ "item": item }));
    assert_eq!(incoming.as_array().unwrap().len(), 2);
}

#[test]
fn diagnostics_follow_the_text_and_name_other_nodes() {
    let mut editor = Editor::open(&marked("classes: [.common]", "classes: [.common]$0"));
    editor.until("a clean file", |editor| !editor.status.is_empty());
    let text = std::fs::read_to_string(editor.path("classes/app/web.yml")).unwrap();
    editor.put("classes/app/web.yml", &text.replace("db:host", "db:hosst"));
    // One node is asked at once, and all of them by the check.
    editor.until("the error", |editor| {
        let found = editor.diagnostics.get("classes/app/web.yml").into_iter().flatten();
        found.into_iter().any(|one| one["message"].as_str().unwrap().contains("1 more node"))
    });
    let found = editor.diagnostics["classes/app/web.yml"].clone();
    let error = found.iter().find(|one| one["code"] == "reference-not-found").unwrap();
    assert_eq!(error["severity"], 1);
    assert_eq!(error["range"]["start"], json!({ "line": 4, "character": 17 }));
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("(node web1)\n") && message.contains("1 more node") && message.contains("similar"),
        "{message}"
    );
    let related = error["relatedInformation"].to_string();
    assert!(related.contains("includes class 'app.web'"), "{related}");
    editor.put("classes/app/web.yml", &text.replace("port: 80", "port: [80"));
    editor.until("the syntax error", |editor| {
        editor.codes("classes/app/web.yml").contains(&"yaml-syntax".into())
    });
    editor.put("classes/app/web.yml", &text);
    editor.until("no error", |editor| {
        !editor
            .codes("classes/app/web.yml")
            .iter()
            .any(|code| code == "yaml-syntax" || code == "reference-not-found")
    });
}

#[test]
fn the_similar_name_takes_the_place_of_the_missing_key() {
    let files = "=== nodes/n.yml\nparameters:\n  network: {nets: 1, x: '${network:net}'}\n";
    let mut editor = Editor::open(files).checked();
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
    let uri = editor.uri("nodes/n.yml");
    let asked = json!({ "textDocument": { "uri": uri }, "range": whole, "context": { "diagnostics": [] } });
    let found = editor.ask("textDocument/codeAction", asked);
    let change = found.as_array().unwrap().iter().find(|one| one["title"] == "Change to 'nets'").unwrap();
    let range = &change["edit"]["changes"][uri][0]["range"];
    assert_eq!((&range["start"]["character"], &range["end"]["character"]), (&json!(35), &json!(38)));
}

/// Between double quotes YAML needs two backslashes.
#[test]
fn text_of_a_shell_gets_a_backslash() {
    let files = "=== nodes/n.yml\nparameters:\n  a: ${HOSTNAME}\n  b: \"é ${f%.txt}\"\n  c: '$[ 1 + 2 ]'\n";
    let mut editor = Editor::open(files).checked();
    let uri = editor.uri("nodes/n.yml");
    for (line, column, mark) in [(1, 5, "\\"), (2, 8, "\\\\"), (3, 6, "\\")] {
        let place = json!({ "line": line, "character": column });
        let asked = json!({ "textDocument": { "uri": uri }, "range": { "start": place, "end": place }, "context": { "diagnostics": [] } });
        let found = editor.ask("textDocument/codeAction", asked);
        let title = "Write it as text, with a backslash";
        let action = found.as_array().unwrap().iter().find(|one| one["title"] == title).unwrap();
        let edit = &action["edit"]["changes"][&uri][0];
        assert_eq!(edit["newText"], mark, "{line}");
        assert_eq!((&edit["range"]["start"], &edit["range"]["end"]), (&place, &place));
    }
}

#[test]
fn actions_repair_rename_and_create() {
    let files = "\
=== nodes/n.yml
classes: [sitte, gone]
parameters:
  a: 0777
=== classes/site.yml
parameters: {x: 1}
";
    let mut editor = Editor::open(files).checked();
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
    let asked = json!({ "textDocument": { "uri": editor.uri("nodes/n.yml") }, "range": whole, "context": { "diagnostics": [] } });
    let found = editor.ask("textDocument/codeAction", asked);
    let titles: Vec<&str> =
        found.as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect();
    assert!(titles.contains(&"Change to 'site'"), "{titles:?}");
    assert!(titles.contains(&"Create the class 'gone'"), "{titles:?}");
    assert!(titles.iter().any(|title| title.starts_with("Repair: ")), "{titles:?}");
    let repair = found
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["title"].as_str().unwrap().starts_with("Repair: "))
        .unwrap();
    let edit = &repair["edit"]["changes"][editor.uri("nodes/n.yml")][0];
    assert_eq!(edit["newText"], "\"0777\"");
    assert_eq!(edit["range"]["start"], json!({ "line": 2, "character": 5 }));
}

#[test]
fn symbols_and_lens() {
    let mut editor =
        Editor::open(&marked("# What every machine has.", "# What every machine has.$0")).checked();
    let document = json!({ "textDocument": { "uri": editor.uri("classes/site.yml") } });
    let found = editor.ask("textDocument/documentSymbol", document.clone());
    assert_eq!(found[0]["name"], "parameters");
    assert_eq!(found[0]["children"][0]["children"][1]["name"], "host");
    let found = editor.ask("textDocument/codeLens", document);
    assert_eq!(found[0]["command"]["title"], "2 nodes, values of web1");
    let found = editor.ask("workspace/symbol", json!({ "query": "web app" }));
    assert_eq!(found[0]["name"], "app.web");
    let found = editor.at_mark("textDocument/references");
    assert_eq!(editor.places(&found), ["nodes/web1.yml:1", "nodes/web2.yml:1"]);
}

#[test]
fn calls_links_colours_and_values_behind_references() {
    let given = json!({ "inlayHints": true });
    let mut editor =
        Editor::with_options(&marked("classes: [.common]", "classes: [.com$0mon]"), &json!({}), &given)
            .checked();
    let names = |answer: &serde_json::Value, end: &str| -> Vec<String> {
        let calls = answer.as_array().unwrap();
        calls.iter().map(|call| call[end]["name"].as_str().unwrap().to_owned()).collect()
    };
    let item = editor.at_mark("textDocument/prepareCallHierarchy")[0].clone();
    assert_eq!(item["name"], "app.common");
    let incoming = editor.ask("callHierarchy/incomingCalls", json!({ "item": item }));
    assert_eq!(names(&incoming, "from"), ["app.web"]);
    let above = editor.ask("callHierarchy/incomingCalls", json!({ "item": incoming[0]["from"] }));
    assert_eq!(names(&above, "from"), ["web1", "web2"]);
    let outgoing = editor.ask("callHierarchy/outgoingCalls", json!({ "item": above[0]["from"] }));
    assert_eq!(names(&outgoing, "to"), ["site", "app.web"]);
    let document = json!({ "textDocument": { "uri": editor.uri("classes/app/web.yml") } });
    let links = editor.ask("textDocument/documentLink", document.clone());
    assert_eq!(links[0]["target"], editor.uri("classes/app/common.yml"));
    // Line, column, length, kind: `db:host` and `nginx:port`.
    let tokens = editor.ask("textDocument/semanticTokens/full", document.clone());
    assert_eq!(tokens["data"], json!([4, 19, 7, 0, 0, 0, 11, 10, 0, 0]));
    let mut asked = document;
    asked["range"] = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
    let hints = editor.ask("textDocument/inlayHint", asked);
    let labels: Vec<&str> =
        hints.as_array().unwrap().iter().map(|hint| hint["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["= db1", "= 80"]);
}

#[test]
fn errors_of_the_open_text_are_there_before_the_check() {
    let mut editor = Editor::open(&marked("classes: [.common]", "classes: [.common]$0")).checked();
    let text = std::fs::read_to_string(editor.path("classes/app/web.yml")).unwrap();
    editor.put("classes/app/web.yml", &text.replace("port: 80", "port: [80"));
    // The answer to the next question comes after the diagnostics of the text.
    editor.at_mark("textDocument/hover");
    assert_eq!(editor.codes("classes/app/web.yml"), ["yaml-syntax"]);
}

#[test]
fn columns_count_units_of_utf_16_or_bytes() {
    for (capabilities, character) in
        [(json!({}), 11), (json!({ "general": { "positionEncodings": ["utf-8", "utf-16"] } }), 15)]
    {
        let files = "=== nodes/n.yml\nparameters: {é: ä, 😀: '${gone}'}\n";
        let mut editor = Editor::with(files, &capabilities);
        editor
            .until("the error", |editor| editor.codes("nodes/n.yml").contains(&"reference-not-found".into()));
        let found = editor.diagnostics["nodes/n.yml"]
            .iter()
            .find(|one| one["code"] == "reference-not-found")
            .unwrap()
            .clone();
        assert_eq!(found["range"]["start"]["character"], character + 13, "{found}");
    }
}

/// The diagnostics of the texts, as `lint` gives them for the same texts on disk.
fn linted(files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<(u64, String)>> {
    let copy = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = copy.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut found: BTreeMap<String, BTreeSet<(u64, String)>> = BTreeMap::new();
    for finding in lint(&options(copy.path()), &[], &()).unwrap() {
        let Some(site) = &finding.fault.site else { continue };
        let path = site.path.strip_prefix(&format!("{}/", copy.path().display())).unwrap().to_owned();
        let line = u64::from(site.line.saturating_sub(1));
        found.entry(path).or_default().insert((line, finding.fault.code().to_owned()));
    }
    found
}

#[test]
fn a_random_walk_of_edits_has_the_findings_of_lint() {
    let mut editor = Editor::open(SMALL).checked();
    let place = tempfile::tempdir().unwrap();
    let mut files: BTreeMap<String, String> = write_files(place.path(), SMALL).into_iter().collect();
    let paths: Vec<String> = files.keys().cloned().collect();
    for path in &paths[..] {
        editor.open_file(path, &files[path]);
    }
    let pieces = [
        "\n",
        "  ",
        ": ",
        "- ",
        "${",
        "}",
        "a",
        "nginx:port",
        "[",
        "'",
        "classes: [site]\n",
        "parameters:\n",
        "~",
        "0777",
        "\t",
        "é",
    ];
    let mut number: u64 = 20_261_126;
    let mut random = move |below: usize| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(number >> 33).unwrap() % below
    };
    for step in 0..120 {
        // Several edits between two checks, as people type; some are undone.
        for _ in 0..=random(4) {
            let path = &paths[random(paths.len())];
            let text = files.get_mut(path).unwrap();
            let mut at = random(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match random(3) {
                0 if at < text.len() => drop(text.remove(at)),
                1 if step % 3 == 0 => {
                    let whole = write_files(place.path(), SMALL).into_iter().collect::<BTreeMap<_, _>>();
                    text.clone_from(&whole[path]);
                }
                _ => text.insert_str(at, pieces[random(pieces.len())]),
            }
            let text = text.clone();
            editor.put(path, &text);
        }
        let expected = linted(&files);
        let is_same = |editor: &Editor| {
            paths.iter().all(|path| {
                let found = editor.diagnostics.get(path).into_iter().flatten();
                let found: BTreeSet<(u64, String)> = found
                    .map(|one| {
                        let line = one["range"]["start"]["line"].as_u64().unwrap();
                        (line, one["code"].as_str().unwrap().to_owned())
                    })
                    .collect();
                found == expected.get(path).cloned().unwrap_or_default()
            })
        };
        editor.until(&format!("step {step}: {expected:?} {files:?}"), is_same);
    }
}

#[test]
fn text_that_is_typed_never_ends_the_server() {
    let mut editor = Editor::open(SMALL).checked();
    let whole = "classes:\n- site\nparameters:\n  a: 'x ${nginx:${db:host}} \\${ é'\n  b: {c: [1, *x]}\n? {a: b}\n: 1\n";
    for (end, _) in whole.char_indices() {
        let text = &whole[..end];
        editor.put("nodes/web1.yml", text);
        let line = text.matches('\n').count();
        let character = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
        editor.mark = ("nodes/web1.yml".into(), json!({ "line": line, "character": character }));
        for method in ["hover", "definition", "references", "completion"] {
            editor.at_mark(&format!("textDocument/{method}"));
        }
    }
    // Positions outside of the text, files outside of the inventory, unknown methods.
    editor.mark.1 = json!({ "line": 9_999_999, "character": 4_000_000_000_u32 });
    editor.at_mark("textDocument/hover");
    editor.change("nodes/web1.yml", &json!([{ "range": { "start": { "line": 5, "character": 0 }, "end": { "line": 0, "character": 0 } }, "text": "x" }]));
    let outside =
        json!({ "textDocument": { "uri": "file:///none/x.yml" }, "position": { "line": 0, "character": 0 } });
    assert_eq!(editor.ask("textDocument/hover", outside), json!(null));
    editor.tell("$/unknown", json!(null));
    editor.at_mark("textDocument/hover");
}
