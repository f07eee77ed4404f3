//! Messages that wait, come late, or come while a check runs.

use lsp_server::{Connection, Message, Notification, Request};
use reclass_lsp::serve;
use serde_json::{Value as Json, json};

use crate::editor::{Editor, find, write_files};

#[test]
fn edits_that_wait_lead_to_one_report() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), "=== nodes/n.yml\nparameters: {a: 1}\n");
    let root = format!("file://{}", folder.path().display());
    let uri = format!("{root}/nodes/n.yml");
    let (server, client) = Connection::memory();
    let send = |message: Message| client.sender.send(message).unwrap();
    let tell = |method: &str, params: Json| send(Notification::new(method.into(), params).into());
    let ask =
        |id: i32, method: &str, params: Json| send(Request::new(id.into(), method.into(), params).into());
    let folders = json!([{ "uri": root, "name": "x" }]);
    ask(1, "initialize", json!({ "capabilities": {}, "workspaceFolders": folders }));
    tell("initialized", json!({}));
    let item = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": "parameters: {a: 1}\n" });
    tell("textDocument/didOpen", json!({ "textDocument": item }));
    for number in 2..12 {
        let text = format!("{}parameters: {{a: '${{gone}}'}}\n", "#\n".repeat(number));
        let document = json!({ "uri": uri, "version": number });
        let change = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        tell("textDocument/didChange", change);
    }
    let asked = json!({ "textDocument": { "uri": uri }, "position": { "line": 11, "character": 14 } });
    ask(2, "textDocument/hover", asked.clone());
    ask(3, "textDocument/hover", asked);
    tell("$/cancelRequest", json!({ "id": 2 }));
    ask(4, "shutdown", Json::Null);
    tell("exit", Json::Null);
    serve(&server, find).unwrap();
    let (mut reports, mut codes) = (Vec::new(), Vec::new());
    for message in client.receiver.try_iter() {
        match message {
            Message::Notification(told) if told.method == "textDocument/publishDiagnostics" => {
                reports.push(told.params);
            }
            Message::Response(answer) => {
                codes.push((
                    answer.id.to_string(),
                    serde_json::to_value(&answer).unwrap()["error"]["code"].clone(),
                ));
            }
            _ => {}
        }
    }
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0]["version"], 11);
    assert_eq!(reports[0]["diagnostics"][0]["range"]["start"]["line"], 11);
    let code = |id: i32, code: Json| (id.to_string(), code);
    assert_eq!(
        codes,
        [code(1, json!(null)), code(2, json!(-32800)), code(3, json!(null)), code(4, json!(null))]
    );
}

#[test]
fn a_text_that_comes_late_does_not_count() {
    let mut editor = Editor::open("=== nodes/n.yml\nparameters:\n  a$0: one\n").checked();
    let put = |editor: &Editor, version: i32, value: &str| {
        let document = json!({ "uri": editor.uri("nodes/n.yml"), "version": version });
        let changes = json!([{ "text": format!("parameters:\n  a: {value}\n") }]);
        editor.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    };
    let shown = |editor: &mut Editor| editor.at_mark("textDocument/hover").to_string();
    put(&editor, 9, "nine");
    put(&editor, 7, "seven");
    assert!(shown(&mut editor).contains("nine"), "{}", shown(&mut editor));
    // A text that is opened again begins anew.
    editor.open_file("nodes/n.yml", "parameters:\n  a: opened\n");
    put(&editor, 8, "eight");
    assert!(shown(&mut editor).contains("eight"), "{}", shown(&mut editor));
}

#[test]
fn findings_follow_their_lines_until_the_check() {
    let text = "parameters:\n  a: 0777\n  b: 0666\n";
    let mut editor = Editor::open(&format!("=== nodes/n.yml\n{text}")).checked();
    let lines = |editor: &Editor, code: &str| -> Vec<u64> {
        let found = editor.diagnostics.get("nodes/n.yml").into_iter().flatten();
        let found = found.filter(|one| one["code"] == code);
        found.map(|one| one["range"]["start"]["line"].as_u64().unwrap()).collect()
    };
    let code = editor.codes("nodes/n.yml")[0].clone();
    assert_eq!(lines(&editor, &code), [1, 2]);
    editor.status.clear();
    // Two lines come at the top, and the second value is right now.
    editor.put("nodes/n.yml", "#\n#\nparameters:\n  a: 0777\n  b: '${gone}'\n");
    editor.at_mark("textDocument/hover");
    assert_eq!(lines(&editor, "reference-not-found"), [4]);
    editor.until("the check", |editor| {
        assert!(editor.status.is_empty() || lines(editor, "reference-not-found") == [4]);
        let found = lines(editor, &code);
        assert!(found == [3] || found.is_empty(), "{found:?}");
        !editor.status.is_empty()
    });
}

/// All requests that the server knows.
const REQUESTS: [&str; 18] = [
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "reclass/nodes",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/completion",
    "textDocument/definition",
    "textDocument/documentLink",
    "textDocument/documentSymbol",
    "textDocument/hover",
    "textDocument/inlayHint",
    "textDocument/prepareCallHierarchy",
    "textDocument/prepareRename",
    "textDocument/references",
    "textDocument/rename",
    "textDocument/semanticTokens/full",
    "workspace/executeCommand",
    "workspace/symbol",
];

#[test]
fn odd_parameters_are_refused_without_an_internal_error() {
    let mut editor = Editor::open("=== nodes/n.yml\nparameters: {$0a: 1}\n").checked();
    let uri = editor.uri("nodes/n.yml");
    for method in REQUESTS {
        for params in [
            json!(null),
            json!("secret"),
            json!(5),
            json!([]),
            json!([{}]),
            json!({}),
            json!({ "item": "secret", "textDocument": 5, "query": [], "arguments": 5, "command": {} }),
            json!({ "item": { "uri": uri }, "textDocument": [], "command": "reclass.extractClass", "arguments": [5] }),
            json!({ "textDocument": { "uri": uri }, "position": "secret", "range": [], "newName": 5 }),
        ] {
            let answer = editor.answer(method, params.clone());
            let code = answer["error"]["code"].as_i64();
            assert!(code.is_none_or(|code| code == -32602 || code == -32601), "{method} {params}: {answer}");
            assert!(!answer.to_string().contains("secret"), "{method} {params}: {answer}");
        }
    }
}
