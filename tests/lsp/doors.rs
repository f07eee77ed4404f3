//! No answer of the server holds a secret. Each request is asked at each key, entry and reference of the inventory with
//! the planted secrets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use crate::editor::Editor;

/// The planted secrets, which the commands are asked for too.
const PLANTED: &str = include_str!("../programs/output/secrets/inventory.txt");

/// What a request is about.
enum Asked {
    /// A place of a text.
    Place,
    /// A text.
    Document,
    /// The inventory.
    Inventory,
    /// A place. The edit in the answer has a text of the file that is edited.
    Edit,
    /// What is asked about the answer of another request.
    Item,
}

/// The requests and commands by their names in the sources, with the method and what they are about. One that is missing
/// here fails the test.
const REQUESTS: &[(&str, &str, Asked)] = &[
    ("HoverRequest", "textDocument/hover", Asked::Place),
    ("GotoDefinition", "textDocument/definition", Asked::Place),
    ("References", "textDocument/references", Asked::Place),
    ("Completion", "textDocument/completion", Asked::Place),
    ("DocumentSymbolRequest", "textDocument/documentSymbol", Asked::Document),
    ("WorkspaceSymbolRequest", "workspace/symbol", Asked::Inventory),
    ("CodeActionRequest", "textDocument/codeAction", Asked::Edit),
    ("CodeLensRequest", "textDocument/codeLens", Asked::Document),
    ("PrepareRenameRequest", "textDocument/prepareRename", Asked::Place),
    ("Rename", "textDocument/rename", Asked::Edit),
    ("CallHierarchyPrepare", "textDocument/prepareCallHierarchy", Asked::Place),
    ("CallHierarchyIncomingCalls", "callHierarchy/incomingCalls", Asked::Item),
    ("CallHierarchyOutgoingCalls", "callHierarchy/outgoingCalls", Asked::Item),
    ("DocumentLinkRequest", "textDocument/documentLink", Asked::Document),
    ("SemanticTokensFullRequest", "textDocument/semanticTokens/full", Asked::Document),
    ("InlayHintRequest", "textDocument/inlayHint", Asked::Document),
    ("ExecuteCommand", "workspace/executeCommand", Asked::Inventory),
    ("CHOOSE_NODE", "reclass.chooseNode", Asked::Inventory),
    ("EXTRACT", "reclass.extractClass", Asked::Inventory),
    ("NODES", "reclass/nodes", Asked::Document),
];

/// The requests that the server makes, and the one that ends it.
const OF_THE_SERVER: [&str; 4] = ["ApplyWorkspaceEdit", "CodeLensRefresh", "RegisterCapability", "Shutdown"];

/// The requests that the sources of the server answer: the arms of `match method`, with the names of commands in their
/// conditions, and whatever else has the name of a request.
fn answered() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let text = std::fs::read_to_string(file).unwrap();
        for block in text.split("match method {\n").skip(1) {
            let deep = |line: &str| line.len() - line.trim_start().len();
            let indent = deep(block);
            let lines = block.lines().take_while(|line| line.is_empty() || deep(line) >= indent);
            let arms = lines.filter(|line| deep(line) == indent).filter_map(|line| line.split_once(" =>"));
            for name in arms.flat_map(|(arm, _)| arm.trim().split([' ', '|'])) {
                let name = name.trim_start_matches("asked::").trim_end_matches("::METHOD");
                if !["", "_", "if", "given[\"command\"]", "=="].contains(&name) {
                    found.insert(name.to_owned());
                }
            }
        }
        let named = text.split("asked::").skip(1).filter_map(|behind| behind.split_once("::METHOD"));
        let named = named.map(|(name, _)| name).filter(|name| name.chars().all(char::is_alphanumeric));
        found.extend(named.filter(|name| !OF_THE_SERVER.contains(name)).map(str::to_owned));
    }
    found
}

/// The files in a folder and below it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// An answer without the texts of edits.
fn without_edits(answer: &mut Json) {
    match answer {
        Json::Object(fields) => {
            fields.remove("newText");
            fields.values_mut().for_each(without_edits);
        }
        Json::Array(items) => items.iter_mut().for_each(without_edits),
        _ => {}
    }
}

#[test]
fn no_request_shows_a_secret() {
    let known: BTreeSet<String> = REQUESTS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(answered(), known, "a request is not asked");
    let marked = PLANTED.replace("classes: [plants, again]", "classes: [$0plants, again]");
    let mut editor = Editor::open(&marked).checked();
    let mut asked = 0;
    let mut found = Vec::new();
    let mut look = |question: String, answer: &Json| {
        asked += 1;
        // The number of a question is no value.
        let answer = answer.get("result").unwrap_or(answer).to_string();
        if let Some(at) = answer.find("HIDE").or_else(|| answer.find("8151")) {
            let from =
                (0..=at.saturating_sub(80)).rev().find(|from| answer.is_char_boundary(*from)).unwrap_or(0);
            found.push(format!("{question}: {}", answer[from..].chars().take(140).collect::<String>()));
        }
        answer.contains("SHOW")
    };
    let mut shows = BTreeSet::new();
    for (path, text) in PLANTED.split("=== ").filter_map(|file| file.split_once('\n')) {
        editor.open_file(path, text);
        let uri = editor.uri(path);
        let document = json!({ "uri": uri });
        let whole = json!({
            "start": { "line": 0, "character": 0 }, "end": { "line": text.lines().count(), "character": 0 },
        });
        for (name, method, about) in REQUESTS {
            let positions = match about {
                Asked::Place | Asked::Edit => positions(text),
                Asked::Document => vec![(0, 0)],
                Asked::Inventory | Asked::Item => Vec::new(),
            };
            for (line, character) in positions {
                let position = json!({ "line": line, "character": character });
                let range = match about {
                    Asked::Document => whole.clone(),
                    _ => json!({ "start": position, "end": position }),
                };
                let params = json!({
                    "textDocument": document, "position": position, "range": range, "newName": "other",
                    "context": { "includeDeclaration": true, "diagnostics": [] },
                });
                let mut answer = editor.answer(method, params);
                if matches!(about, Asked::Edit) {
                    without_edits(&mut answer);
                }
                if look(format!("{name} {path}:{}:{}", line + 1, character + 1), &answer) {
                    shows.insert(*name);
                }
                for item in answer["result"]
                    .as_array()
                    .filter(|_| *name == "CallHierarchyPrepare")
                    .into_iter()
                    .flatten()
                {
                    for method in ["callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"] {
                        let answer = editor.answer(method, json!({ "item": item }));
                        look(format!("{method} {path}:{}", line + 1), &answer);
                    }
                }
            }
        }
    }
    for query in ["", "HIDE", "SHOW"] {
        let answer = editor.answer("workspace/symbol", json!({ "query": query }));
        look(format!("symbols {query}"), &answer);
    }
    for (command, arguments) in [
        ("reclass.chooseNode", json!([editor.uri("classes/plants.yml"), "n1"])),
        ("reclass.extractClass", json!([editor.uri("nodes/n1.yml")])),
    ] {
        let mut answer =
            editor.answer("workspace/executeCommand", json!({ "command": command, "arguments": arguments }));
        without_edits(&mut answer);
        look(command.to_owned(), &answer);
    }
    editor.listen();
    look("diagnostics".to_owned(), &json!(editor.diagnostics));
    look("status".to_owned(), &json!(editor.status));
    look("messages".to_owned(), &json!(editor.messages));
    println!("{asked} questions");
    assert!(found.is_empty(), "{} leaks:\n{}", found.len(), found.join("\n"));
    let named = ["HoverRequest", "Completion", "DocumentSymbolRequest", "InlayHintRequest"];
    for name in named {
        assert!(shows.contains(name), "{name} shows nothing");
    }
}

/// The places of a text at which something begins or ends.
fn positions(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let characters: Vec<char> = line.chars().collect();
        let is_edge = |at: usize| {
            let before = at.checked_sub(1).and_then(|at| characters.get(at));
            before.is_none_or(|c| !c.is_alphanumeric())
                != characters.get(at).is_none_or(|c| !c.is_alphanumeric())
        };
        found.extend((0..=characters.len()).filter(|at| is_edge(*at)).map(|at| (number, at)));
    }
    found
}
