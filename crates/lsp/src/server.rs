//! Reads messages, keeps the documents and dispatches requests, one after another.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self as notified, Notification as _};
use lsp_types::request::{self as asked, Request as _};
use lsp_types::{
    CallHierarchyItem, CompletionResponse, Diagnostic, DidChangeTextDocumentParams,
    DidChangeWorkspaceFoldersParams, DidOpenTextDocumentParams, DocumentSymbolResponse,
    GotoDefinitionResponse, InitializeParams, Location, MessageType, Position, PublishDiagnosticsParams,
    SemanticTokens, ShowMessageParams, Uri, WorkspaceSymbolResponse,
};
use reclass::error::{Error, concise};
use reclass::settings::LARGEST_FILE;
use reclass::{Finding, Request as NodeRequest};
use reclass_analysis::lint::{errors_as_findings, rule};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::answers::actions::EXTRACT;
use crate::answers::{
    actions, calls, completion, configuration, definition, diagnostics, hover, lens, marks, references,
    rename, symbols,
};
use crate::checker::{self, Checked, Job};
use crate::client::{self, CHOOSE_NODE};
use crate::places::follow;
use crate::text::{Encoding, path_of, uri_of};
use crate::workspace::{Cursor, OpenText, OpenTexts, Workspace, current_text, text_of};
use crate::{Find, FoundInventory};

/// Tells the client which node's values are shown in which file.
const STATUS: &str = "reclass/status";
/// The nodes of a file, for a client that lets people choose.
const NODES: &str = "reclass/nodes";

/// How long the server waits for `exit` after `shutdown`.
const GOODBYE: Duration = Duration::from_secs(30);

/// Serves one editor.
pub fn serve(connection: &Connection, find: Find) -> Result<(), String> {
    // The errors of `lsp-server` have the message that came.
    let odd = |what: &str| format!("the editor did not begin with {what}");
    let (id, params) = connection.initialize_start().map_err(|_| odd("'initialize'"))?;
    let params: InitializeParams =
        serde_json::from_value(params).map_err(|_| odd("parameters of 'initialize'"))?;
    let encoding = client::encoding(&params);
    // Off unless the client asks: a value behind each reference is noisy.
    let options = params.initialization_options.as_ref();
    let shows_values = options.is_some_and(|options| options["inlayHints"] == true);
    let answer = json!({
        "capabilities": client::capabilities(encoding, shows_values),
        "serverInfo": { "name": "reclass", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, answer).map_err(|_| odd("'initialize' and 'initialized'"))?;
    let (jobs, waiting) = unbounded();
    let (checked, results) = unbounded();
    std::thread::scope(|scope| {
        scope.spawn(move || checker::run(&waiting, &checked));
        let mut server = Server {
            connection,
            find,
            encoding,
            jobs,
            workspaces: BTreeMap::new(),
            opened: 0,
            waiting: VecDeque::new(),
            documents: OpenTexts::new(),
            unreported: BTreeSet::new(),
            links: BTreeMap::new(),
            reported: BTreeMap::new(),
            refused: BTreeSet::new(),
            left: BTreeSet::new(),
            told: String::new(),
            refreshes_lenses: client::refreshes_lenses(&params),
            applies_edits: client::applies_edits(&params),
            explains: options.is_some_and(|options| options["explainValue"] == true),
            requests: 0,
        };
        if let Some(watchers) = client::watchers(&params) {
            server.ask(asked::RegisterCapability::METHOD, json!(watchers));
        }
        for folder in client::folders(&params) {
            server.workspace_in(&folder);
        }
        server.work(&results)
    })
}

struct Server<'a> {
    connection: &'a Connection,
    find: Find,
    encoding: Encoding,
    jobs: Sender<Job>,
    /// The inventories by number.
    workspaces: BTreeMap<usize, Workspace>,
    /// How many inventories were opened.
    opened: usize,
    /// The messages that came, and were not looked at.
    waiting: VecDeque<Message>,
    documents: OpenTexts,
    /// The open files whose text changed, and whose errors were not reported since.
    unreported: BTreeSet<PathBuf>,
    /// The open files whose path is another one in their inventory, because a symbolic link leads to them.
    links: BTreeMap<PathBuf, PathBuf>,
    /// The diagnostics of each inventory by its folder, and then by file. Inventories may share files.
    reported: BTreeMap<PathBuf, BTreeMap<String, Vec<Diagnostic>>>,
    /// The folders whose inventory could not be opened.
    refused: BTreeSet<PathBuf>,
    /// The folders of inventories that left the editor's workspace. Only a file that is opened brings one back.
    left: BTreeSet<PathBuf>,
    /// The error that people were told last.
    told: String,
    /// Whether the client can be told to ask for the lenses again.
    refreshes_lenses: bool,
    /// Whether the client makes the edits that a command leads to.
    applies_edits: bool,
    /// Whether the client has the command that shows a value with its layers.
    explains: bool,
    /// The number of requests to the client.
    requests: i32,
}

impl Server<'_> {
    fn work(&mut self, results: &Receiver<Checked>) -> Result<(), String> {
        let receiver = &self.connection.receiver;
        loop {
            self.waiting.extend(receiver.try_iter());
            match self.waiting.pop_front() {
                Some(Message::Request(request)) if request.method == asked::Shutdown::METHOD => {
                    self.send(Response::new_ok(request.id, ()));
                    // Whatever comes then ends the server, not only `exit`.
                    if self.waiting.is_empty() {
                        let _ = receiver.recv_timeout(GOODBYE);
                    }
                    return Ok(());
                }
                Some(Message::Request(request)) => self.request(request),
                Some(Message::Notification(notification)) => self.notification(notification),
                Some(Message::Response(_)) => {}
                None => {
                    self.report();
                    select! {
                        recv(receiver) -> message => match message {
                            Ok(message) => self.waiting.push_back(message),
                            // The editor is gone.
                            Err(_) => return Ok(()),
                        },
                        recv(results) -> checked => match checked {
                            Ok(checked) => self.checked(checked),
                            Err(_) => return Err("the thread that checks ended".into()),
                        },
                    }
                }
            }
        }
    }

    fn send(&self, message: impl Into<Message>) {
        // An editor that is gone ends the loop at the next message.
        let _ = self.connection.sender.send(message.into());
    }

    fn notify(&self, method: &str, params: impl Serialize) {
        self.send(Notification::new(method.to_owned(), params));
    }

    /// The number of the inventory of a node or class. It is opened if it is new.
    fn workspace_of(&mut self, path: &Path) -> Option<usize> {
        let holder = |server: &Self| {
            server.workspaces.iter().find(|(_, known)| known.holds(path)).map(|(number, _)| *number)
        };
        holder(self).or_else(|| {
            self.workspace_in(path.parent()?);
            holder(self)
        })
    }

    /// The inventory of a folder, with the settings as they are in the editor.
    fn find(&self, folder: &Path) -> Option<reclass::error::Result<FoundInventory>> {
        (self.find)(folder, &|path| self.documents.get(path).map(|document| document.text.clone()))
    }

    /// Opens the inventory that a folder belongs to, if it is new.
    fn workspace_in(&mut self, folder: &Path) {
        let Some(found) = self.find(folder) else { return };
        if let Ok(found) = &found {
            let is_known = |known: &Workspace| known.found.folder == found.folder;
            if self.left.contains(&found.folder) || self.workspaces.values().any(is_known) {
                return;
            }
        }
        match found.and_then(Workspace::open) {
            Ok(workspace) => {
                let is_of_it =
                    |refused: &&PathBuf| *refused == folder || refused.starts_with(&workspace.found.folder);
                for refused in self.refused.clone().iter().filter(is_of_it) {
                    self.refused.remove(refused);
                    self.show(refused, BTreeMap::new());
                }
                let number = self.opened;
                self.opened += 1;
                self.told.clear();
                self.job(Job::Open { workspace: number, found: Ok(workspace.found.clone()) });
                workspace.take_texts(&self.documents);
                for (path, document) in self.documents.iter().filter(|(path, _)| workspace.reads(path)) {
                    let text = Some(document.text.as_str().into());
                    self.job(Job::Buffer { workspace: number, path: path.clone(), text });
                }
                self.workspaces.insert(number, workspace);
                self.check(number);
            }
            Err(error) => {
                self.refused.insert(folder.to_path_buf());
                self.tell(&error);
                let findings = errors_as_findings(error.into_faults(), &());
                let text = |path: &str| current_text(&self.documents, path, LARGEST_FILE);
                let found = diagnostics::by_file(&findings, &text, self.encoding);
                self.show(folder, found);
            }
        }
    }

    /// Tells an error, unless it is the last one again, or is seen at its place in an open text.
    fn tell(&mut self, error: &Error) {
        let message = concise(error);
        let site = error.first().site.as_ref();
        let is_seen = site.is_some_and(|site| self.documents.contains_key(Path::new(&*site.path)));
        if !is_seen && self.told != message {
            self.told.clone_from(&message);
            let params = ShowMessageParams { typ: MessageType::ERROR, message };
            self.notify(notified::ShowMessage::METHOD, params);
        }
    }

    fn job(&self, job: Job) {
        let _ = self.jobs.send(job);
    }

    /// Asks for a check of the current texts.
    fn check(&mut self, workspace: usize) {
        let Some(known) = self.workspaces.get_mut(&workspace) else { return };
        known.generation += 1;
        let generation = known.generation;
        self.job(Job::Check { workspace, generation });
    }

    /// Takes the result of a check. One of older texts is only good for names.
    fn checked(&mut self, checked: Checked) {
        let Some(known) = self.workspaces.get_mut(&checked.workspace) else { return };
        if let Some(names) = checked.names {
            known.names = names;
        }
        if let Some((inventory, options)) = checked.inventory
            && options == known.found.options
        {
            known.inventory = inventory;
            known.take_texts(&self.documents);
        }
        if checked.generation != known.generation {
            return;
        }
        known.findings = checked.findings;
        known.baseline = checked.baseline;
        let text = |path: &str| text_of(&known.inventory, &self.documents, path);
        let found = diagnostics::by_file(&known.findings, &text, self.encoding);
        let folder = known.found.folder.clone();
        self.show(&folder, found);
        if !checked.whole {
            return;
        }
        let known = &self.workspaces[&checked.workspace];
        for node in self.documents.keys().filter_map(|path| known.node_of(path.to_str()?)) {
            known.parameters(&node);
        }
        self.tell_nodes();
        self.refresh_lenses();
    }

    /// Shows the diagnostics of an inventory in place of those before.
    fn show(&mut self, folder: &Path, found: BTreeMap<String, Vec<Diagnostic>>) {
        let before = self.reported.remove(folder).unwrap_or_default();
        let paths: BTreeSet<String> = before.into_keys().chain(found.keys().cloned()).collect();
        self.reported.insert(folder.to_owned(), found);
        for path in paths {
            self.publish(&path);
        }
    }

    fn publish(&self, path: &str) {
        let mut all: Vec<&Diagnostic> = Vec::new();
        for one in self.reported.values().filter_map(|found| found.get(path)).flatten() {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        let diagnostics: Vec<Diagnostic> = all.into_iter().cloned().collect();
        let version = self.documents.get(Path::new(path)).map(|document| document.version);
        for uri in self.uris(Path::new(path)) {
            let params = PublishDiagnosticsParams { uri, diagnostics: diagnostics.clone(), version };
            self.notify(notified::PublishDiagnostics::METHOD, params);
        }
    }

    /// The addresses of a file: its own, and that of a link through which it is open.
    fn uris(&self, path: &Path) -> Vec<Uri> {
        let links = self.links.iter().filter(|(_, known)| *known == path).map(|(link, _)| &**link);
        std::iter::once(path).chain(links).filter_map(uri_of).collect()
    }

    /// The path of a file that is open, as its inventory has it.
    fn path_of(&self, uri: &Uri) -> Option<PathBuf> {
        let path = path_of(uri)?;
        Some(self.links.get(&path).cloned().unwrap_or(path))
    }

    /// The same for a file that is being opened, perhaps through a symbolic link.
    fn opened_path(&mut self, uri: &Uri) -> Option<PathBuf> {
        let path = path_of(uri)?;
        self.left.retain(|folder| !path.starts_with(folder));
        self.links.retain(|_, known| *known != path);
        if self.workspaces.values().any(|known| known.reads(&path)) {
            return Some(path);
        }
        let real = |path: &Path| reclass::parts::storage::fs::real(path);
        let real = real(&path).or_else(|| Some(real(path.parent()?)?.join(path.file_name()?)));
        let real = real.unwrap_or_else(|| path.clone());
        let named = |server: &Self| server.workspaces.values().find_map(|known| known.named(&real));
        let mut known = named(self);
        if known.is_none() && self.workspace_of(&path).is_none() && real != path {
            self.workspace_of(&real);
            known = named(self);
        }
        // Of two windows on one file, the first one counts.
        let known = known.filter(|known| *known != path && !self.documents.contains_key(known));
        if let Some(known) = &known {
            self.links.insert(path.clone(), known.clone());
        }
        Some(known.unwrap_or(path))
    }

    /// Tells for each open text whose values are shown.
    fn tell_nodes(&self) {
        for path in self.documents.keys() {
            let (Some(name), Some(workspace)) =
                (path.to_str(), self.workspaces.values().find(|workspace| workspace.holds(path)))
            else {
                continue;
            };
            let nodes = workspace.names.files.get(name).map_or(0, |file| file.nodes.len());
            for uri in self.uris(path) {
                self.notify(STATUS, json!({ "uri": uri, "node": workspace.node_of(name), "nodes": nodes }));
            }
        }
    }

    fn notification(&mut self, notification: Notification) {
        match notification.method.as_str() {
            notified::DidOpenTextDocument::METHOD => {
                let Some(params) = params::<DidOpenTextDocumentParams>(notification.params) else { return };
                let (uri, item) = (params.text_document.uri, params.text_document.text);
                let version = params.text_document.version;
                let Some(path) = self.opened_path(&uri) else { return };
                // The findings are those of the file.
                let text = path.to_str().and_then(|path| current_text(&self.documents, path, LARGEST_FILE));
                self.documents.insert(path, OpenText { text: text.unwrap_or_default(), version });
                self.buffer(&uri, version, |text| *text = item);
            }
            notified::DidChangeTextDocument::METHOD => {
                let Some(params) = params::<DidChangeTextDocumentParams>(notification.params) else { return };
                let encoding = self.encoding;
                self.buffer(&params.text_document.uri, params.text_document.version, |text| {
                    for change in params.content_changes {
                        match change.range {
                            Some(range) => {
                                let start = encoding.offset(text, range.start);
                                let end = encoding.offset(text, range.end).max(start);
                                text.replace_range(start..end, &change.text);
                            }
                            None => *text = change.text,
                        }
                    }
                });
            }
            notified::DidCloseTextDocument::METHOD => {
                let uri =
                    notification.params["textDocument"]["uri"].as_str().and_then(|uri| uri.parse().ok());
                let Some(path) = uri.as_ref().and_then(|uri| self.path_of(uri)) else { return };
                self.documents.remove(&path);
                self.unreported.remove(&path);
                self.links.retain(|_, known| *known != path);
                self.take(&path, None);
            }
            notified::DidSaveTextDocument::METHOD | notified::DidChangeWatchedFiles::METHOD => {
                self.read_settings();
            }
            notified::DidChangeWorkspaceFolders::METHOD => {
                let Some(params) = params::<DidChangeWorkspaceFoldersParams>(notification.params) else {
                    return;
                };
                params.event.removed.iter().filter_map(|folder| path_of(&folder.uri)).for_each(|folder| {
                    self.close_in(&folder);
                });
                for folder in params.event.added.iter().filter_map(|folder| path_of(&folder.uri)) {
                    let inner = |left: &PathBuf| left.starts_with(&folder) || folder.starts_with(left);
                    self.left.retain(|left| !inner(left));
                    self.workspace_in(&folder);
                }
            }
            _ => {}
        }
    }

    /// Closes the inventories in a folder that left the workspace.
    fn close_in(&mut self, folder: &Path) {
        let numbers: Vec<usize> = self.workspaces.keys().copied().collect();
        for workspace in numbers {
            let inner = self.workspaces[&workspace].found.folder.clone();
            if inner.starts_with(folder) {
                self.workspaces.remove(&workspace);
                self.job(Job::Close { workspace });
                self.show(&inner, BTreeMap::new());
                self.left.insert(inner);
            }
        }
        for refused in self.refused.clone().iter().filter(|refused| refused.starts_with(folder)) {
            self.refused.remove(refused);
            self.show(refused, BTreeMap::new());
        }
    }

    /// Takes the settings as they are now, and asks for a check of everything. An inventory whose settings are wrong
    /// answers with those before.
    fn read_settings(&mut self) {
        for folder in self.refused.clone() {
            self.workspace_in(&folder);
        }
        let numbers: Vec<usize> = self.workspaces.keys().copied().collect();
        for number in numbers {
            let Some(found) = self.find(&self.workspaces[&number].found.folder) else { continue };
            if let Err(error) = found.clone().and_then(|found| self.take_settings(number, found)) {
                self.tell(&error);
            }
            self.job(Job::Open { workspace: number, found });
            self.check(number);
        }
    }

    /// Opens an inventory again if its settings are others now.
    fn take_settings(&mut self, number: usize, found: FoundInventory) -> reclass::error::Result<()> {
        let Some(known) = self.workspaces.get_mut(&number) else { return Ok(()) };
        if found.options == known.found.options {
            known.found = found;
            return Ok(());
        }
        let mut workspace = Workspace::open(found)?;
        workspace.generation = known.generation;
        workspace.node.clone_from(&known.node);
        workspace.names.clone_from(&known.names);
        workspace.take_texts(&self.documents);
        *known = workspace;
        self.told.clear();
        Ok(())
    }

    /// Gives the inventories a text in place of a file, or the file again.
    fn take(&mut self, path: &Path, text: Option<&str>) {
        if configuration::is_settings_file(path) {
            self.read_settings();
        }
        self.workspace_of(path);
        let shared: Option<Arc<str>> = text.map(Into::into);
        let numbers: Vec<usize> = self.workspaces.keys().copied().collect();
        for workspace in numbers {
            let known = &self.workspaces[&workspace];
            if known.reads(path) {
                known.inventory.set_buffer(path, text);
                self.job(Job::Buffer { workspace, path: path.to_owned(), text: shared.clone() });
                self.check(workspace);
            }
        }
    }

    /// Changes an open text. A change that comes after its end does not count, and none of an older version that comes
    /// late.
    fn buffer(&mut self, uri: &Uri, version: i32, change: impl FnOnce(&mut String)) {
        let Some(path) = self.path_of(uri) else { return };
        let Some(document) = self.documents.get_mut(&path) else { return };
        if version < document.version {
            return;
        }
        let before = document.text.clone();
        change(&mut document.text);
        document.version = version;
        let text = document.text.clone();
        for known in self.workspaces.values_mut() {
            let name = path.to_str().unwrap_or_default();
            follow(&mut known.findings, name, Some(&before), Some(&text));
        }
        self.take(&path, Some(&text));
        self.unreported.insert(path);
    }

    /// Reports the errors of the texts that changed, once for all the changes that came together.
    fn report(&mut self) {
        for path in std::mem::take(&mut self.unreported) {
            if let Some(workspace) = self.workspace_of(&path) {
                self.report_at_once(workspace, &path);
            }
        }
    }

    /// Reports the errors that the first node with the text has in it, beside what the rules of the last check found in
    /// the lines that are the same. The check of everything comes later.
    fn report_at_once(&mut self, workspace: usize, path: &Path) {
        let Some(known) = self.workspaces.get_mut(&workspace) else { return };
        let Some((name, node)) = path.to_str().and_then(|name| Some((name, known.node_for_errors(name)?)))
        else {
            return;
        };
        let answer = reclass_base::panics::catch(|| known.inventory.nodeinfo(&node, &NodeRequest::default()));
        let error = match answer {
            Ok(Ok(info)) => return known.remember(&node, &info),
            Ok(Err(error)) => error,
            Err(_) => return,
        };
        let mut errors = errors_as_findings(error.into_faults(), &*known.found.file);
        checker::subtract(known.baseline.as_deref(), &mut errors);
        let is_here = |finding: &Finding| finding.fault.site.as_ref().is_some_and(|site| *site.path == *name);
        errors.retain(is_here);
        if errors.is_empty() {
            return;
        }
        // Actions are about the findings that are shown.
        known.findings.retain(|finding| !is_here(finding) || rule(finding.fault.code()).is_some());
        known.findings.extend(errors);
        let shown: Vec<Finding> = known.findings.iter().filter(|finding| is_here(finding)).cloned().collect();
        let text = |path: &str| text_of(&known.inventory, &self.documents, path);
        let mut found = diagnostics::by_file(&shown, &text, self.encoding);
        if let Some(here) = found.remove(name) {
            let folder = known.found.folder.clone();
            self.reported.entry(folder).or_default().insert(name.to_owned(), here);
            self.publish(name);
        }
    }

    fn request(&mut self, request: Request) {
        let (id, method) = (request.id.clone(), request.method.clone());
        self.waiting.extend(self.connection.receiver.try_iter());
        if self.waiting.iter().any(|message| cancels(message, &id)) {
            let message = "the editor no longer wants the answer".to_owned();
            return self.send(Response::new_err(id, ErrorCode::RequestCanceled as i32, message));
        }
        self.report();
        let answer = reclass_base::panics::catch(|| self.answer(&method, request.params));
        let response = match answer {
            Ok(Ok(value)) => Response::new_ok(id, value),
            Ok(Err((code, message))) => Response::new_err(id, code as i32, message),
            Err(_) => {
                // The engine gave up the state that the panic left, and the texts with it.
                self.workspaces.values().for_each(|workspace| workspace.take_texts(&self.documents));
                let message = "internal error; the state of the inventory is read again".to_owned();
                Response::new_err(id, ErrorCode::InternalError as i32, message)
            }
        };
        self.send(response);
    }

    fn answer(&mut self, method: &str, given: Value) -> Result<Value, (ErrorCode, String)> {
        let nothing = Ok(Value::Null);
        if let Some(answer) = self.in_settings(method, &given) {
            return Ok(answer);
        }
        match method {
            asked::HoverRequest::METHOD => self.at(&given, |place| json!(hover::hover(place))),
            asked::GotoDefinition::METHOD => {
                self.at(&given, |place| json!(GotoDefinitionResponse::Array(definition::definition(place))))
            }
            asked::References::METHOD => self.at(&given, |place| json!(references::references(place))),
            asked::Completion::METHOD => {
                self.at(&given, |place| json!(CompletionResponse::Array(completion::completion(place))))
            }
            asked::DocumentSymbolRequest::METHOD => {
                let uri = uri(&given).ok_or_else(wrong)?;
                let Some(path) = self.path_of(&uri) else { return nothing };
                let text = self.documents.get(&path).map_or("", |document| &document.text);
                let found = symbols::of_document(text, self.encoding);
                Ok(json!(DocumentSymbolResponse::Nested(found)))
            }
            asked::WorkspaceSymbolRequest::METHOD => {
                let query = given["query"].as_str().unwrap_or_default();
                let found = self.workspaces.values().flat_map(|known| symbols::of_workspace(known, query));
                Ok(json!(WorkspaceSymbolResponse::Nested(found.collect())))
            }
            asked::CodeActionRequest::METHOD => self.actions(given),
            asked::CodeLensRequest::METHOD => {
                let Some(path) = uri(&given).and_then(|uri| self.path_of(&uri)) else { return nothing };
                let Some(workspace) = self.workspace_of(&path) else { return nothing };
                let text = self.documents.get(&path).map_or("", |document| &document.text);
                let lenses = |path| lens::lenses(&self.workspaces[&workspace], path, text, self.encoding);
                Ok(json!(path.to_str().map(lenses)))
            }
            asked::PrepareRenameRequest::METHOD => self.at(&given, |place| json!(rename::prepare(place))),
            asked::Rename::METHOD => {
                let new = given["newName"].as_str().unwrap_or_default().trim().to_owned();
                let mut refused = None;
                let answer = self.at(&given, |place| match rename::rename(place, &new) {
                    Ok(edit) => json!(edit),
                    Err(reason) => {
                        refused = Some(reason);
                        Value::Null
                    }
                });
                refused.map_or(answer, |reason| Err((ErrorCode::RequestFailed, reason)))
            }
            asked::CallHierarchyPrepare::METHOD => self.at(&given, |place| json!(calls::prepare(place))),
            asked::CallHierarchyIncomingCalls::METHOD => self
                .of_item(&given, |workspace, item, texts, encoding| {
                    json!(calls::incoming(workspace, item, texts, encoding))
                }),
            asked::CallHierarchyOutgoingCalls::METHOD => self
                .of_item(&given, |workspace, item, texts, encoding| {
                    json!(calls::outgoing(workspace, item, texts, encoding))
                }),
            asked::DocumentLinkRequest::METHOD => self.at(&given, |place| json!(marks::links(place))),
            asked::SemanticTokensFullRequest::METHOD => {
                self.at(&given, |place| json!(SemanticTokens { result_id: None, data: marks::tokens(place) }))
            }
            asked::InlayHintRequest::METHOD => {
                let range: lsp_types::Range =
                    serde_json::from_value(given["range"].clone()).map_err(|_| wrong())?;
                self.at(&given, |place| json!(marks::hints(place, &(range.start.line..range.end.line + 1))))
            }
            asked::ExecuteCommand::METHOD if given["command"] == CHOOSE_NODE => {
                let argument = |at: usize| given["arguments"][at].as_str().map(str::to_owned);
                self.choose(&argument(0).ok_or_else(wrong)?, argument(1));
                nothing
            }
            asked::ExecuteCommand::METHOD if given["command"] == EXTRACT => self.extract(&given["arguments"]),
            NODES => {
                let path = uri(&given).and_then(|uri| self.path_of(&uri)).ok_or_else(wrong)?;
                let Some(workspace) = self.workspace_of(&path) else { return nothing };
                let (known, name) = (&self.workspaces[&workspace], path.to_str().unwrap_or_default());
                let nodes: Vec<&str> = known.names.nodes_of(name).map(|node| &**node).collect();
                Ok(json!({ "nodes": nodes, "node": known.node_of(name) }))
            }
            _ => Err((ErrorCode::MethodNotFound, format!("no method '{method}'"))),
        }
    }

    /// The actions for a range of an open text.
    fn actions(&mut self, given: Value) -> Result<Value, (ErrorCode, String)> {
        let nothing = Ok(Value::Null);
        let params: lsp_types::CodeActionParams = serde_json::from_value(given).map_err(|_| wrong())?;
        let uri = params.text_document.uri;
        let Some(path) = self.path_of(&uri) else { return nothing };
        let Some(workspace) = self.workspace_of(&path) else { return nothing };
        let Some(document) = self.documents.get(&path) else { return nothing };
        let Some(name) = path.to_str() else { return nothing };
        let known = &self.workspaces[&workspace];
        let text = (&uri, name, document.text.as_str());
        let mut found = actions::actions(known, text, params.range, self.encoding);
        if self.applies_edits {
            found.extend(actions::extraction(text.2, &uri, params.range, self.encoding));
        }
        let place = self.cursor(known, &path, params.range.start).filter(|_| self.explains);
        found.extend(place.and_then(|place| actions::explanation(&place, params.range.start)));
        Ok(json!(found))
    }

    /// Moves the keys of a range to a new class.
    fn extract(&mut self, arguments: &Value) -> Result<Value, (ErrorCode, String)> {
        let range = serde_json::from_value(arguments[1].clone()).map_err(|_| wrong())?;
        let document = json!({ "textDocument": { "uri": arguments[0] } });
        let mut done = Err("the file is not open".to_owned());
        self.at(&document, |place| {
            done = actions::extracted(place, range);
            Value::Null
        })?;
        let edit = done.map_err(|reason| (ErrorCode::RequestFailed, reason))?;
        self.ask(asked::ApplyWorkspaceEdit::METHOD, json!({ "edit": edit }));
        Ok(Value::Null)
    }

    /// The answer to a question about a place in an open settings file; `None` for other files and questions.
    fn in_settings(&self, method: &str, given: &Value) -> Option<Value> {
        let path = self.path_of(&uri(given)?).filter(|path| configuration::is_settings_file(path))?;
        let text = &self.documents.get(&path)?.text;
        let position = || serde_json::from_value::<Position>(given.get("position")?.clone()).ok();
        let links = || {
            let known = self.workspaces.values().find(|known| path.starts_with(&known.found.folder))?;
            Some(marks::mapping_links(&known.names, text, self.encoding))
        };
        match method {
            asked::HoverRequest::METHOD => Some(json!(configuration::hover(text, position()?))),
            asked::Completion::METHOD => {
                let found = configuration::completion(text, position()?, self.encoding);
                Some(json!(CompletionResponse::Array(found)))
            }
            asked::DocumentLinkRequest::METHOD => Some(json!(links()?)),
            asked::GotoDefinition::METHOD => {
                let (position, links) = (position()?, links()?);
                let mut here =
                    links.into_iter().filter(|link| (link.range.start..=link.range.end).contains(&position));
                let target = here.next().and_then(|link| link.target);
                let found = target.map(|uri| Location::new(uri, lsp_types::Range::default()));
                Some(json!(GotoDefinitionResponse::Array(found.into_iter().collect())))
            }
            _ => None,
        }
    }

    /// Shows the values of this node, or again of the first one that has a file. The file is a path or an address.
    fn choose(&mut self, file: &str, node: Option<String>) {
        let path = file.parse().ok().and_then(|uri: Uri| self.path_of(&uri)).unwrap_or_else(|| file.into());
        if let Some(workspace) = self.workspace_of(&path) {
            self.workspaces.entry(workspace).and_modify(|known| known.node = node);
            self.tell_nodes();
            self.refresh_lenses();
        }
    }

    /// Lenses show what the last check of all files found.
    fn refresh_lenses(&mut self) {
        if self.refreshes_lenses {
            self.ask(asked::CodeLensRefresh::METHOD, Value::Null);
        }
    }

    /// Asks the client, and does not wait for the answer.
    fn ask(&mut self, method: &str, params: Value) {
        self.requests += 1;
        self.send(Request::new(self.requests.into(), method.to_owned(), params));
    }

    /// The answer to a question about an open text, or a place in it; null if the text is no file of an inventory.
    fn at(
        &mut self,
        given: &Value,
        answer: impl FnOnce(&Cursor<'_>) -> Value,
    ) -> Result<Value, (ErrorCode, String)> {
        let uri = uri(given).ok_or_else(wrong)?;
        // A question about the whole text has no position.
        let position: Position = match given.get("position") {
            Some(position) => serde_json::from_value(position.clone()).map_err(|_| wrong())?,
            None => Position::default(),
        };
        let Some(path) = self.path_of(&uri) else { return Ok(Value::Null) };
        let Some(workspace) = self.workspace_of(&path) else { return Ok(Value::Null) };
        let place = self.cursor(&self.workspaces[&workspace], &path, position);
        Ok(place.map_or(Value::Null, |place| answer(&place)))
    }

    /// A place in an open text.
    fn cursor<'c>(
        &'c self,
        workspace: &'c Workspace,
        path: &'c Path,
        position: Position,
    ) -> Option<Cursor<'c>> {
        let document = self.documents.get(path)?;
        Some(Cursor {
            workspace,
            workspaces: &self.workspaces,
            documents: &self.documents,
            links: &self.links,
            path: path.to_str()?,
            text: &document.text,
            offset: self.encoding.offset(&document.text, position),
            encoding: self.encoding,
        })
    }

    /// The answer to a question about a class or node of the call hierarchy.
    fn of_item(
        &mut self,
        given: &Value,
        answer: impl FnOnce(&Workspace, &CallHierarchyItem, &OpenTexts, Encoding) -> Value,
    ) -> Result<Value, (ErrorCode, String)> {
        let item: CallHierarchyItem = serde_json::from_value(given["item"].clone()).map_err(|_| wrong())?;
        let Some(path) = self.path_of(&item.uri) else { return Ok(Value::Null) };
        let Some(workspace) = self.workspace_of(&path) else { return Ok(Value::Null) };
        Ok(answer(&self.workspaces[&workspace], &item, &self.documents, self.encoding))
    }
}

fn cancels(message: &Message, id: &RequestId) -> bool {
    let Message::Notification(told) = message else { return false };
    let named = || serde_json::from_value::<RequestId>(told.params["id"].clone());
    told.method == notified::Cancel::METHOD && named().is_ok_and(|named| named == *id)
}

fn wrong() -> (ErrorCode, String) {
    (ErrorCode::InvalidParams, "the parameters are not those of the method".to_owned())
}

fn uri(params: &Value) -> Option<Uri> {
    params["textDocument"]["uri"].as_str()?.parse().ok()
}

fn params<P: DeserializeOwned>(params: Value) -> Option<P> {
    serde_json::from_value(params).ok()
}
