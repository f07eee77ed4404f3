//! An editor for tests: fixtures with a mark in the text, over a connection in memory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use reclass::configuration::ConfigurationFile;
use reclass::error::{Fault, Result, Warning};
use reclass::source::Site;
use reclass::value::{Map, Value};
use reclass_analysis::lint::OptionsFile;
use reclass_lsp::{FoundInventory, Texts, serve};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// The longest that a test waits for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

const SETTINGS: &str = "reclass-config.yml";

/// The options of an inventory in a folder.
pub fn options(base: &Path) -> Map {
    Map::from_iter([("inventory_base_uri".into(), Value::text(base.to_str().unwrap()))])
}

/// A settings file. The place of a setting is its line.
pub struct Settings {
    path: String,
    text: String,
}

impl OptionsFile for Settings {
    fn noticed(&self, settings: &[Warning]) -> Vec<Warning> {
        settings.iter().map(|warning| self.placed(warning.clone())).collect()
    }

    fn text(&self, path: &str) -> Option<String> {
        (path == self.path).then(|| self.text.clone())
    }

    fn placed(&self, fault: Fault) -> Fault {
        let Some((name, part)) = fault.setting().filter(|_| fault.site.is_none()) else { return fault };
        let number = |found: Option<usize>| found.and_then(|line| u32::try_from(line + 1).ok());
        let of_part = part.and_then(|part| number(self.text.lines().position(|line| line.contains(part))));
        let line = of_part.or_else(|| number(self.text.lines().position(|line| line.starts_with(name))));
        let column = if of_part.is_some() { 5 } else { 1 };
        match line {
            Some(line) => fault.at_site(Site { line, column, ..Site::file(&*self.path) }),
            None => fault,
        }
    }
}

/// The inventory in a folder, with the options of its settings file.
pub fn found_in(base: &Path, texts: &Texts<'_>) -> Result<FoundInventory> {
    let (path, mut all) = (base.join(SETTINGS), options(base));
    let text = texts(&path).or_else(|| std::fs::read_to_string(&path).ok()).unwrap_or_default();
    let path = path.to_str().unwrap().to_owned();
    if let Some(file) = ConfigurationFile::parse(&path, text.clone().into_bytes())? {
        all.extend(file.options);
        // A relative one would be below the folder of the tests.
        all.extend(options(base));
        all.insert("config_file".into(), Value::text(path.as_str()));
    }
    Ok(FoundInventory { folder: base.to_owned(), options: all, file: Arc::new(Settings { path, text }) })
}

/// The inventory around a folder.
pub fn find(folder: &Path, texts: &Texts<'_>) -> Option<Result<FoundInventory>> {
    let base = folder.ancestors().find(|folder| folder.join("nodes").is_dir())?;
    Some(found_in(base, texts))
}

/// An editor with one inventory.
pub struct Editor {
    pub folder: TempDir,
    client: Connection,
    server: Option<JoinHandle<()>>,
    requests: i32,
    versions: i32,
    /// The last diagnostics of each file, by its path in the inventory.
    pub diagnostics: BTreeMap<String, Vec<Json>>,
    /// The last status of each file.
    pub status: BTreeMap<String, Json>,
    /// The last edit that the server asked for.
    pub edit: Json,
    /// What the server told people.
    pub messages: Vec<String>,
    /// What the server asked the client to tell of.
    pub registered: Json,
    /// The file and the position of the mark.
    pub mark: (String, Json),
}

/// Writes files. Each begins with a line `=== PATH`.
pub fn write_files(base: &Path, files: &str) -> Vec<(String, String)> {
    let mut written = Vec::new();
    for file in files.split("=== ").skip(1) {
        let (path, text) = file.split_once('\n').unwrap();
        let target = base.join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, text.replace("$0", "")).unwrap();
        written.push((path.to_owned(), text.to_owned()));
    }
    std::fs::create_dir_all(base.join("classes")).unwrap();
    written
}

impl Editor {
    /// Opens the file with the mark `$0`, or the first one, and waits for the first check.
    pub fn open(files: &str) -> Editor {
        Editor::with(files, &json!({}))
    }

    pub fn with(files: &str, capabilities: &Json) -> Editor {
        Editor::with_options(files, capabilities, &Json::Null)
    }

    pub fn with_options(files: &str, capabilities: &Json, given: &Json) -> Editor {
        let folder = tempfile::tempdir().unwrap();
        let written = write_files(folder.path(), files);
        let (server, client) = Connection::memory();
        let server = std::thread::spawn(move || serve(&server, find).unwrap());
        let mut editor = Editor {
            folder,
            client,
            server: Some(server),
            requests: 0,
            versions: 0,
            diagnostics: BTreeMap::new(),
            status: BTreeMap::new(),
            edit: Json::Null,
            messages: Vec::new(),
            registered: Json::Null,
            mark: (String::new(), Json::Null),
        };
        let root = editor.uri("");
        editor.ask(
            "initialize",
            json!({
                "capabilities": capabilities, "initializationOptions": given,
                "workspaceFolders": [{ "uri": root, "name": "x" }],
            }),
        );
        editor.tell("initialized", json!({}));
        let marked = written.iter().find(|(_, text)| text.contains("$0")).unwrap_or(&written[0]).clone();
        editor.mark = (marked.0.clone(), position(&marked.1));
        editor.open_file(&marked.0, &marked.1.replace("$0", ""));
        editor
    }

    pub fn path(&self, file: &str) -> PathBuf {
        if file.is_empty() { self.folder.path().into() } else { self.folder.path().join(file) }
    }

    pub fn uri(&self, file: &str) -> String {
        format!("file://{}", self.path(file).display())
    }

    pub fn tell(&self, method: &str, params: Json) {
        let message = Notification { method: method.into(), params };
        self.client.sender.send(Message::Notification(message)).unwrap();
    }

    pub fn open_file(&mut self, file: &str, text: &str) {
        self.versions += 1;
        let item =
            json!({ "uri": self.uri(file), "languageId": "yaml", "version": self.versions, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": item }));
    }

    pub fn change(&mut self, file: &str, changes: &Json) {
        self.versions += 1;
        let document = json!({ "uri": self.uri(file), "version": self.versions });
        self.tell("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// Puts a whole text into a buffer.
    pub fn put(&mut self, file: &str, text: &str) {
        self.change(file, &json!([{ "text": text }]));
    }

    /// The result of a request.
    pub fn ask(&mut self, method: &str, params: Json) -> Json {
        let value = self.answer(method, params);
        assert!(value.get("error").is_none(), "{method}: {value}");
        value["result"].clone()
    }

    /// The answer to a request, perhaps an error; diagnostics are kept on the way.
    pub fn answer(&mut self, method: &str, params: Json) -> Json {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        let request = Request { id: id.clone(), method: method.into(), params };
        self.client.sender.send(Message::Request(request)).unwrap();
        loop {
            if let Message::Response(response) = self.receive() {
                assert_eq!(response.id, id);
                return serde_json::to_value(&response).unwrap();
            }
        }
    }

    fn receive(&mut self) -> Message {
        let message = self.client.receiver.recv_timeout(PATIENCE).expect("an answer");
        self.note(&message);
        message
    }

    /// Keeps what the server tells.
    fn note(&mut self, message: &Message) {
        if let Message::Request(request) = message {
            match request.method.as_str() {
                "workspace/applyEdit" => self.edit = request.params["edit"].clone(),
                "client/registerCapability" => {
                    self.registered = request.params["registrations"].clone();
                }
                _ => {}
            }
        }
        if let Message::Notification(notification) = message {
            let name = |uri: &Json| {
                let uri = uri.as_str().unwrap_or_default().to_owned();
                uri.strip_prefix(&format!("{}/", self.uri(""))).map(str::to_owned).unwrap_or(uri)
            };
            let params = &notification.params;
            let file = name(&params["uri"]);
            match notification.method.as_str() {
                "textDocument/publishDiagnostics" => {
                    let found = params["diagnostics"].as_array().unwrap().clone();
                    self.diagnostics.insert(file, found);
                }
                "window/showMessage" => {
                    self.messages.push(params["message"].as_str().unwrap().to_owned());
                }
                "reclass/status" => drop(self.status.insert(file, params.clone())),
                _ => {}
            }
        }
    }

    /// Waits until a check has the result that the test needs.
    pub fn until(&mut self, what: &str, is: impl Fn(&Editor) -> bool) {
        let begun = std::time::Instant::now();
        while !is(self) {
            assert!(begun.elapsed() < PATIENCE, "{what}: {:?}", self.diagnostics);
            let message = self.client.receiver.recv_timeout(PATIENCE);
            self.note(&message.unwrap_or_else(|_| panic!("{what}: {:?}", self.diagnostics)));
        }
    }

    /// Takes what the server told, and waits a moment if there is nothing.
    pub fn listen(&mut self) {
        let mut message = self.client.receiver.recv_timeout(Duration::from_millis(50));
        while let Ok(told) = message {
            self.note(&told);
            message = self.client.receiver.recv_timeout(Duration::ZERO);
        }
    }

    /// Waits for the first check, after which names are known.
    pub fn checked(mut self) -> Editor {
        self.until("a check", |editor| !editor.status.is_empty());
        self
    }

    /// A question about the mark.
    pub fn at_mark(&mut self, method: &str) -> Json {
        let (file, position) = self.mark.clone();
        let params = json!({
            "textDocument": { "uri": self.uri(&file) }, "position": position,
            "context": { "includeDeclaration": false },
        });
        self.ask(method, params)
    }

    /// Waits until the answer to a question about the mark is empty.
    pub fn until_empty(&mut self, method: &str) {
        let begun = std::time::Instant::now();
        while !self.at_mark(method).as_array().is_none_or(Vec::is_empty) {
            assert!(begun.elapsed() < PATIENCE, "{method}");
            self.listen();
        }
    }

    /// The codes of the diagnostics of a file.
    pub fn codes(&self, file: &str) -> Vec<String> {
        let found = self.diagnostics.get(file).into_iter().flatten();
        found.map(|one| one["code"].as_str().unwrap().to_owned()).collect()
    }

    /// Places as `FILE:LINE`, from one.
    pub fn places(&self, answer: &Json) -> Vec<String> {
        let root = format!("{}/", self.uri(""));
        let places = answer.as_array().into_iter().flatten();
        places
            .map(|place| {
                let file = place["uri"].as_str().unwrap().strip_prefix(&root).unwrap();
                format!("{file}:{}", place["range"]["start"]["line"].as_u64().unwrap() + 1)
            })
            .collect()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.ask("shutdown", Json::Null);
            self.tell("exit", Json::Null);
            self.server.take().unwrap().join().unwrap();
        }
    }
}

/// The position of the mark in units of UTF-16.
pub fn position(text: &str) -> Json {
    let offset = text.find("$0").unwrap_or(0);
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let begun = before.rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": line, "character": before[begun..].encode_utf16().count() })
}
