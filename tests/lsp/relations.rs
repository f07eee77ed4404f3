//! Relations between files: who else sets a key, who overrides it, which queries ask for an export, and which classes
//! a pattern, a reference or a class mapping leads to.

use serde_json::{Value as Json, json};

use crate::completions_in;
use crate::editor::{Editor, position};

const KEYS: &str = "\
=== nodes/web1.yml
classes: [base, web]
parameters:
  port: 8080
  addresses: $[ exports:address:main if exports:role == self:role ]
=== nodes/web2.yml
classes: [base, other]
exports: {address: {main: 2}, role: db}
=== nodes/alone.yml
parameters: {port: 1}
=== classes/base.yml
parameters:
  port: 80
  role: web
  ports: [1]
  limits:
    soft: 1
    hard: ${port}
  fixed: 1
exports:
  address: {main: '${port}'}
  role: ${role}
=== classes/web.yml
parameters:
  port: 81
  ports: [2]
  limits: {hard: 5}
  =fixed: 2
=== classes/other.yml
parameters:
  ~ports: [3]
  limits: {hard: 6}
  role: db
";

fn places(files: &str, before: &str, after: &str, method: &str) -> Vec<String> {
    assert_eq!(files.matches(before).count(), 1, "{before}");
    let mut editor = Editor::open(&files.replace(before, after)).checked();
    let found = editor.at_mark(&format!("textDocument/{method}"));
    editor.places(&found)
}

#[test]
fn references_of_a_key_are_those_that_refer_to_it_and_those_that_set_it_too() {
    // A node without the class sets a parameter of its own.
    let found = places(KEYS, "  port: 80\n", "  po$0rt: 80\n", "references");
    assert_eq!(found, ["classes/base.yml:7", "classes/base.yml:10", "classes/web.yml:2", "nodes/web1.yml:3"]);
    let found = places(KEYS, "    hard: ${", "    ha$0rd: ${", "references");
    assert_eq!(found, ["classes/other.yml:3", "classes/web.yml:4"]);
    // Queries read the exports of all nodes.
    let found = places(KEYS, "exports: {address: {main: 2}", "exports: {address: {ma$0in: 2}", "references");
    assert_eq!(found, ["classes/base.yml:10", "nodes/web1.yml:4"]);
    let found = places(KEYS, "exports:role ==", "exports:ro$0le ==", "references");
    assert_eq!(found, ["classes/base.yml:11", "nodes/web1.yml:4", "nodes/web2.yml:2"]);
}

#[test]
fn a_name_in_a_query_leads_to_its_definition() {
    let found = places(KEYS, "exports:address:main if", "exports:address:ma$0in if", "definition");
    assert_eq!(found, ["classes/base.yml:10"]);
    let found = places(KEYS, "self:role ]", "self:ro$0le ]", "definition");
    assert_eq!(found, ["classes/base.yml:3"]);
}

/// The titles of the lenses of a file after its first, each with its line.
fn lenses(editor: &mut Editor, file: &str) -> Vec<String> {
    let document = json!({ "textDocument": { "uri": editor.uri(file) } });
    let found = editor.ask("textDocument/codeLens", document);
    let title = |lens: &Json| {
        let line = lens["range"]["start"]["line"].as_u64().unwrap() + 1;
        format!("{line}: {}", lens["command"]["title"].as_str().unwrap())
    };
    found.as_array().unwrap().iter().skip(1).map(title).collect()
}

#[test]
fn a_lens_counts_the_files_that_override_a_key() {
    let mut editor = Editor::open(&KEYS.replace("  port: 80\n", "  port: 80$0\n")).checked();
    // Lists that are extended and mappings that are merged are not overridden.
    assert_eq!(
        lenses(&mut editor, "classes/base.yml"),
        [
            "2: overridden by 1 class and 1 node",
            "3: overridden by 1 class",
            "4: overridden by 1 class",
            "7: overridden by 2 classes",
            "8: overridden by 1 class",
            "10: overridden by 1 node",
            "11: overridden by 1 node",
        ]
    );
    let text = std::fs::read_to_string(editor.path("classes/web.yml")).unwrap();
    editor.open_file("classes/web.yml", &text);
    assert_eq!(lenses(&mut editor, "classes/web.yml"), ["2: overridden by 1 node"]);
}

const PATTERNS: &str = "\
=== reclass-config.yml
class_wildcards: true
class_mappings:
  - 'web* mapped.one'
  - '/^(db)/ mapped.\\\\1'
=== nodes/web1.yml
classes: ['app.*', 'role.${role}']
=== nodes/db1.yml
classes: [role.y, mapped.one]
=== classes/app/a.yml
parameters: {role: x}
=== classes/app/b.yml
classes: ['.*']
=== classes/app/unused.yml
{}
=== classes/role/x.yml
{}
=== classes/role/y.yml
{}
=== classes/mapped/one.yml
{}
=== classes/mapped/db.yml
{}
";

#[test]
fn patterns_references_and_mappings_lead_to_classes() {
    let of = |file: &str, method: &str| {
        let files = PATTERNS.replace(&format!("=== {file}\n"), &format!("=== {file}\n# $0\n"));
        let mut editor = Editor::open(&files).checked();
        let found = editor.at_mark(&format!("textDocument/{method}"));
        (editor, found)
    };
    for (file, expected) in [
        ("classes/app/a.yml", "classes/app/b.yml:1 nodes/web1.yml:1"),
        ("classes/role/x.yml", "nodes/web1.yml:1"),
        ("classes/role/y.yml", "nodes/db1.yml:1"),
        ("classes/mapped/one.yml", "nodes/db1.yml:1 reclass-config.yml:3"),
        ("classes/mapped/db.yml", "reclass-config.yml:4"),
    ] {
        let (editor, found) = of(file, "references");
        assert_eq!(editor.places(&found).join(" "), expected, "{file}");
    }
    for (file, expected) in [
        ("classes/app/a.yml", ["app.b", "web1"].as_slice()),
        ("classes/role/x.yml", &["web1"]),
        ("classes/mapped/one.yml", &["db1", "web1"]),
        ("classes/mapped/db.yml", &["db1"]),
    ] {
        let (mut editor, items) = of(file, "prepareCallHierarchy");
        let incoming = editor.ask("callHierarchy/incomingCalls", json!({ "item": items[0] }));
        let names: Vec<&str> =
            incoming.as_array().unwrap().iter().map(|call| call["from"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, expected, "{file}");
    }
    // The class whose list has the pattern is left out, and a file that no node has is answered too.
    for (before, after, expected) in [
        ("['.*']", "['.$0*']", "classes/app/a.yml:1 classes/app/unused.yml:1"),
        ("['app.*'", "['app$0.*'", "classes/app/a.yml:1 classes/app/b.yml:1 classes/app/unused.yml:1"),
        ("role.${role}", "role$0.${role}", "classes/role/x.yml:1"),
    ] {
        let mut found = places(PATTERNS, before, after, "definition");
        found.sort();
        assert_eq!(found.join(" "), expected, "{after}");
    }
    let mut editor = Editor::open(&PATTERNS.replace(" mapped.one]", " mapped.$0one]")).checked();
    let shown = editor.at_mark("textDocument/hover")["contents"]["value"].to_string();
    assert!(
        shown.contains("1 file lists it: db1") && shown.contains("class mapping `web* mapped.one`"),
        "{shown}"
    );
    let mut editor = Editor::open(&PATTERNS.replace("['.*']", "['.*'] # $0")).checked();
    let document = json!({ "textDocument": { "uri": editor.uri("classes/app/b.yml") } });
    let links = editor.ask("textDocument/documentLink", document);
    assert_eq!(links[0]["target"], editor.uri("classes/app/a.yml"));
    assert_eq!(links[0]["tooltip"], "2 classes: app.a, app.unused");
    // The class mappings in the settings file.
    let text = std::fs::read_to_string(editor.path("reclass-config.yml")).unwrap();
    editor.open_file("reclass-config.yml", &text);
    let document = json!({ "textDocument": { "uri": editor.uri("reclass-config.yml") } });
    let links = editor.ask("textDocument/documentLink", document);
    assert_eq!(links.as_array().unwrap().len(), 1, "{links}");
    assert_eq!(links[0]["target"], editor.uri("classes/mapped/one.yml"));
    editor.mark = ("reclass-config.yml".to_owned(), json!({ "line": 2, "character": 10 }));
    assert_eq!(links[0]["range"]["start"], editor.mark.1);
    let found = editor.at_mark("textDocument/definition");
    assert_eq!(editor.places(&found), ["classes/mapped/one.yml:1"]);
}

#[test]
fn relative_names_are_completed() {
    let files = "\
=== nodes/n.yml
classes: [a.b.c, a.d]
=== classes/a/b/init.yml
{}
=== classes/a/b/c.yml
{}
=== classes/a/b/e/f.yml
{}
=== classes/a/d.yml
{}
";
    for (file, marked, expected) in [
        ("classes/a/b/c.yml", "classes: [.$0]\n", ".e.=a.b.e."),
        ("classes/a/b/c.yml", "classes:\n- .e.$0\n", ".e.f=a.b.e.f, 0 nodes"),
        ("classes/a/b/c.yml", "classes: [..$0]\n", "..b=a.b, 0 nodes ..b.=a.b. ..d=a.d, 1 node"),
        // In an `init.yml`, a dot is the folder above or its own.
        ("classes/a/b/init.yml", "classes: ['.$0']\n", ".b.=a.b. .d=a.d, 1 node .c=a.b.c, 1 node .e.=a.b.e."),
        ("classes/a/d.yml", "classes: [.b.$0]\n", ".b.c=a.b.c, 1 node .b.e.=a.b.e."),
    ] {
        assert_eq!(completions_in(files, file, marked), expected, "{file}: {marked}");
    }
}

#[test]
fn grains_that_other_files_read_are_completed() {
    let files = "\
=== reclass-config.yml
grains: ['os*', 'locale_info']
=== nodes/n.yml
{}
=== classes/a.yml
parameters: {a: '${_grains_:os}', b: '${_grains_:locale_info:defaultlanguage::C} ${_grains_:secret}'}
=== classes/b.yml
classes: ['os.${_grains_:oscodename}']
";
    let shown = |marked: &str| completions_in(files, "nodes/n.yml", marked);
    assert_eq!(
        shown("parameters:\n  a: ${_grains_:$0}\n"),
        "_grains_:id=the name of the node _grains_:locale_info=a grain of the minion \
         _grains_:os=a grain of the minion _grains_:oscodename=a grain of the minion"
    );
    assert_eq!(
        shown("parameters:\n  a: ${_grains_:locale_info:$0}\n"),
        "_grains_:locale_info:defaultlanguage=a grain of the minion"
    );
}

#[test]
fn a_word_that_yaml_reads_as_a_boolean_can_be_quoted() {
    let files = "=== nodes/n.yml\nparameters:\n  country: no$0\n";
    let mut editor = Editor::open(files).checked();
    editor.until("the finding", |editor| editor.codes("nodes/n.yml").contains(&"scalar-implicit".into()));
    let (uri, at) = (editor.uri("nodes/n.yml"), editor.mark.1.clone());
    let asked = json!({
        "textDocument": { "uri": uri }, "range": { "start": at, "end": at }, "context": { "diagnostics": [] },
    });
    let found = editor.ask("textDocument/codeAction", asked);
    let quote =
        found.as_array().unwrap().iter().find(|one| one["title"].as_str().unwrap().starts_with("Quote"));
    let quote = quote.unwrap_or_else(|| panic!("{found}"));
    assert_eq!(quote["edit"]["changes"][&uri][0]["newText"], "\"no\"");
    // It changes the value.
    assert_eq!(quote["isPreferred"], false);
}

#[test]
fn a_line_separator_of_unicode_ends_no_line() {
    let files = "\
=== nodes/n.yml
parameters:
  text: 'one\u{2028}two'
  other: '${gone}'
  third: ${text}$0
";
    let mut editor = Editor::open(files).checked();
    let found = editor.diagnostics["nodes/n.yml"].iter().find(|one| one["code"] == "reference-not-found");
    assert_eq!(found.unwrap()["range"]["start"], json!({ "line": 2, "character": 10 }));
    editor.put("nodes/n.yml", "parameters:\n  text: 'one\u{2028}two'\n  third: ${text}\n");
    let marked = "parameters:\n  text: 'one\u{2028}two'\n  third: ${te$0xt}\n";
    editor.mark.1 = position(marked);
    let found = editor.at_mark("textDocument/definition");
    assert_eq!(editor.places(&found), ["nodes/n.yml:2"]);
}
