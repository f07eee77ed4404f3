//! A random walk: texts are edited, saved, closed, renamed and taken back. After each step, every answer is that of
//! a server that was just started over the same texts, all of them saved.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use support::random::Random;

use crate::editor::Editor;

const PIECES: [&str; 14] = [
    "\n",
    "  ",
    ": ",
    "- app.common",
    "${",
    "}",
    "a: 1",
    "nginx:port",
    "[",
    "'",
    "classes: [site]\n",
    "parameters:\n",
    "~",
    "é",
];

/// The longest that a check may take until its answers are those of the last text.
const PATIENCE: Duration = Duration::from_secs(40);

struct Walk {
    editor: Editor,
    random: Random,
    /// The text of each file that counts: the open one, or that of the disk.
    texts: BTreeMap<String, String>,
    open: BTreeMap<String, bool>,
    /// Earlier texts, to take edits back.
    history: Vec<(String, String)>,
    counts: BTreeMap<&'static str, usize>,
}

impl Walk {
    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn put(&mut self, file: &str, text: String) {
        if !self.open.get(file).copied().unwrap_or_default() {
            let before = self.texts[file].clone();
            self.editor.open_file(file, &before);
            self.open.insert(file.to_owned(), true);
        }
        let before = self.texts.insert(file.to_owned(), text).unwrap();
        self.history.push((file.to_owned(), before));
    }

    /// A place in a text, and the position of it in units of UTF-16.
    fn place(&mut self, text: &str) -> (usize, Json) {
        let mut at = self.random.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        (at, position(text, at))
    }

    fn step(&mut self) {
        let files: Vec<String> = self.texts.keys().cloned().collect();
        let file = files[self.random.below(files.len())].clone();
        let mut text = self.texts[&file].clone();
        match self.random.below(12) {
            0..=3 => {
                let (at, place) = self.place(&text);
                let piece = self.random.pick(&PIECES);
                let before = text.clone();
                text.insert_str(at, piece);
                self.put(&file, text);
                assert!(before.len() < self.texts[&file].len());
                let range = json!({ "start": place, "end": place });
                self.editor.change(&file, &json!([{ "range": range, "text": piece }]));
                self.count("inserted");
            }
            4..=6 => {
                let (one, first) = self.place(&text);
                let (other, second) = self.place(&text);
                let ((one, first), (other, second)) = if one < other {
                    ((one, first), (other, second))
                } else {
                    ((other, second), (one, first))
                };
                if other - one < 12 {
                    text.replace_range(one..other, "");
                    self.put(&file, text);
                    let range = json!({ "start": first, "end": second });
                    self.editor.change(&file, &json!([{ "range": range, "text": "" }]));
                    self.count("deleted");
                }
            }
            7 | 8 => {
                if let Some((file, before)) = self.history.pop()
                    && self.texts.contains_key(&file)
                {
                    self.put(&file, before.clone());
                    self.history.pop();
                    self.editor.put(&file, &before);
                    self.count("taken back");
                }
            }
            9 => {
                std::fs::create_dir_all(self.editor.path(&file).parent().unwrap()).unwrap();
                std::fs::write(self.editor.path(&file), &text).unwrap();
                let document = json!({ "textDocument": { "uri": self.editor.uri(&file) } });
                self.editor.tell("textDocument/didSave", document.clone());
                self.editor.tell("textDocument/didClose", document);
                self.open.insert(file, false);
                self.count("saved and closed");
            }
            10 => {
                let name =
                    self.random.pick(&["classes/app/new.yml", "nodes/web3.yml", "classes/more/init.yml"]);
                if self.texts.contains_key(name) {
                    if self.open.get(name) == Some(&true) && !self.editor.path(name).exists() {
                        let document = json!({ "textDocument": { "uri": self.editor.uri(name) } });
                        self.editor.tell("textDocument/didClose", document);
                        self.texts.remove(name);
                        self.open.remove(name);
                        self.count("closed unsaved");
                    }
                } else {
                    let text = "classes: [site]\nparameters: {extra: '${db:host}'}\n".to_owned();
                    self.editor.open_file(name, &text);
                    self.open.insert(name.to_owned(), true);
                    self.texts.insert(name.to_owned(), text);
                    self.count("new");
                }
            }
            _ => self.rename(),
        }
    }

    /// Renames whatever the server offers at the first entry or key of a file.
    fn rename(&mut self) {
        let marks =
            [("nodes/web1.yml", "app."), ("classes/app/web.yml", "port:"), ("nodes/web2.yml", "site")];
        let (file, mark) = self.random.pick(&marks);
        let Some(at) = self.texts.get(file).and_then(|text| text.find(mark)) else { return };
        self.put(file, self.texts[file].clone());
        let new = if mark == "port:" { "listen" } else { "app.front" };
        let asked = json!({
            "textDocument": { "uri": self.editor.uri(file) }, "position": position(&self.texts[file], at + 1),
            "newName": new,
        });
        let answer = self.editor.answer("textDocument/rename", asked);
        let Some(changes) = answer["result"]["documentChanges"].as_array().cloned() else {
            return self.count("rename refused");
        };
        let root = self.editor.uri("");
        let name = |uri: &Json| uri.as_str().unwrap().strip_prefix(&format!("{root}/")).unwrap().to_owned();
        for change in changes {
            if change["kind"] == "rename" {
                let (old, new) = (name(&change["oldUri"]), name(&change["newUri"]));
                let text = self.texts.remove(&old).unwrap();
                self.open.remove(&old);
                let document = json!({ "textDocument": { "uri": self.editor.uri(&old) } });
                self.editor.tell("textDocument/didClose", document);
                let _ = std::fs::remove_file(self.editor.path(&old));
                self.editor.open_file(&new, &text);
                self.open.insert(new.clone(), true);
                self.texts.insert(new, text);
                continue;
            }
            let file = name(&change["textDocument"]["uri"]);
            let mut text = self.texts[&file].clone();
            let edits = change["edits"].as_array().unwrap();
            for edit in edits.iter().rev() {
                let range = offset(&text, &edit["range"]["start"])..offset(&text, &edit["range"]["end"]);
                text.replace_range(range, edit["newText"].as_str().unwrap());
            }
            self.put(&file, text.clone());
            self.editor.put(&file, &text);
        }
        self.count("renamed");
    }

    /// Fails if an answer about a random place is not that of a new server over the same texts.
    fn compare(&mut self, step: usize) {
        let files: Vec<String> = self.texts.keys().cloned().collect();
        let file = files[self.random.below(files.len())].clone();
        let text = self.texts[&file].clone();
        let place = self.place(&text).1;
        // As people do: the question is about an open text.
        self.put(&file, text.clone());
        self.history.pop();
        let all: Vec<String> = self.texts.iter().map(|(name, text)| format!("=== {name}\n{text}")).collect();
        let all = all.concat();
        let mut fresh = Editor::open(&all).checked();
        fresh.open_file(&file, &text);
        let begun = Instant::now();
        loop {
            let expected = answers(&mut fresh, &file, &place);
            let found = answers(&mut self.editor, &file, &place);
            if expected == found {
                break;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "step {step}, {file} {place}:\n{}\n{all}",
                differences(&found, &expected)
            );
            self.editor.listen();
            fresh.listen();
        }
        self.count("compared");
    }
}

fn position(text: &str, at: usize) -> Json {
    let begin = text[..at].rfind('\n').map_or(0, |found| found + 1);
    json!({ "line": text[..at].matches('\n').count(), "character": text[begin..at].encode_utf16().count() })
}

fn offset(text: &str, place: &Json) -> usize {
    let number = |name: &str| usize::try_from(place[name].as_u64().unwrap()).unwrap();
    let begin: usize = text.split_inclusive('\n').take(number("line")).map(str::len).sum();
    let line = text[begin..].split('\n').next().unwrap();
    let mut units = 0;
    let found = line.char_indices().find(|(_, c)| {
        let is_here = units >= number("character");
        units += c.len_utf16();
        is_here
    });
    begin + found.map_or(line.len(), |(at, _)| at)
}

/// The answers that differ.
fn differences(found: &BTreeMap<String, Json>, expected: &BTreeMap<String, Json>) -> String {
    let other = expected.iter().filter(|(method, answer)| found.get(*method) != Some(*answer));
    let shown = other.map(|(method, answer)| {
        format!("{method}: {}\nin place of {answer}\n", found.get(method).unwrap_or(&Json::Null))
    });
    shown.collect()
}

/// All answers about a place and its text, and the diagnostics of all files.
fn answers(editor: &mut Editor, file: &str, place: &Json) -> BTreeMap<String, Json> {
    let mut found = BTreeMap::new();
    let document = json!({ "uri": editor.uri(file) });
    let asked = json!({
        "textDocument": document, "position": place, "context": { "includeDeclaration": false, "diagnostics": [] },
        "range": { "start": place, "end": place },
    });
    for method in [
        "hover",
        "definition",
        "references",
        "prepareCallHierarchy",
        "prepareRename",
        "documentLink",
        "documentSymbol",
        "codeLens",
        "semanticTokens/full",
        "codeAction",
        "inlayHint",
        "completion",
    ] {
        let answer = editor.ask(&format!("textDocument/{method}"), asked.clone());
        found.insert(method.to_owned(), answer);
    }
    found.insert("symbols".to_owned(), editor.ask("workspace/symbol", json!({ "query": "" })));
    let diagnostics = editor.diagnostics.iter().filter(|(_, found)| !found.is_empty());
    found.insert("diagnostics".to_owned(), json!(diagnostics.collect::<BTreeMap<_, _>>()));
    // While a node does not render, values of references are those of when it last did.
    let is_broken = found["diagnostics"].to_string().contains("\"severity\":1");
    if is_broken {
        found.remove("completion");
        found.remove("inlayHint");
    }
    let root = editor.folder.path().display().to_string();
    for answer in found.values_mut() {
        *answer = serde_json::from_str(&answer.to_string().replace(&root, "")).unwrap();
    }
    found
}

#[test]
fn after_each_step_the_answers_are_those_of_a_new_server() {
    let steps = if support::is_long() { 1500 } else { 150 };
    // One list has lines of its own and quotes.
    let (before, after) = ("web2.yml\nclasses: [site, app.web]", "web2.yml\nclasses:\n- site\n- \"app.web\"");
    let files = crate::marked(before, after);
    let texts: BTreeMap<String, String> = files
        .split("=== ")
        .skip(1)
        .map(|file| file.split_once('\n').map(|(name, text)| (name.to_owned(), text.to_owned())).unwrap())
        .collect();
    let given = json!({ "inlayHints": true });
    let mut walk = Walk {
        editor: Editor::with_options(&files, &json!({}), &given).checked(),
        random: Random(20_261_126),
        open: BTreeMap::from([("nodes/web1.yml".to_owned(), true)]),
        texts,
        history: Vec::new(),
        counts: BTreeMap::new(),
    };
    for step in 0..steps {
        walk.step();
        if step % 3 == 2 {
            walk.compare(step);
        }
        // Most texts are broken after some steps, and broken texts have few answers.
        if step % 12 == 11 {
            while let Some((file, text)) = walk.history.pop() {
                if walk.texts.contains_key(&file) {
                    walk.put(&file, text.clone());
                    walk.history.pop();
                    walk.editor.put(&file, &text);
                }
            }
        }
    }
    println!("{steps} steps: {:?}", walk.counts);
    let done = ["inserted", "deleted", "taken back", "saved and closed", "new", "renamed", "compared"];
    assert!(done.iter().all(|what| walk.counts.contains_key(what)), "{:?}", walk.counts);
}
