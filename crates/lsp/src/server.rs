//! Reads messages, keeps the documents and dispatches requests, one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, select, unbounded};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{self as notified, Notification as _};
use lsp_types::request::{self as asked, Request as _};
use lsp_types::{
    CallHierarchyItem, CallHierarchyServerCapability, CodeActionProviderCapability, CodeLensOptions,
    CompletionOptions, CompletionResponse, DidChangeTextDocumentParams, DidChangeWorkspaceFoldersParams,
    DidOpenTextDocumentParams, DocumentLinkOptions, DocumentSymbolResponse, ExecuteCommandOptions,
    GotoDefinitionResponse, HoverProviderCapability, InitializeParams, MessageType, OneOf, Position,
    PositionEncodingKind, PublishDiagnosticsParams, RenameOptions, SemanticTokens, SemanticTokensFullOptions,
    SemanticTokensOptions, ServerCapabilities, ShowMessageParams, TextDocumentSyncCapability,
    TextDocumentSyncKind, Uri, WorkDoneProgressOptions, WorkspaceFoldersServerCapabilities,
    WorkspaceServerCapabilities, WorkspaceSymbolResponse,
};
use reclass::Request as NodeRequest;
use reclass::error::{Error, concise};
use reclass::report::{Level, grouped};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Find;
use crate::answers::{
    actions, calls, completion, definition, diagnostics, hover, lens, marks, references, rename, symbols,
};
use crate::checker::{self, Checked, Job};
use crate::text::{Encoding, path_of, uri_of};
use crate::workspace::{Cursor, OpenText, OpenTexts, Workspace};

/// The command that chooses the node whose values are shown.
const CHOOSE_NODE: &str = "reclass.chooseNode";
/// Tells the client which node's values are shown in which file.
const STATUS: &str = "reclass/status";
/// The nodes of a file, for a client that lets people choose.
const NODES: &str = "reclass/nodes";

/// Serves one editor.
pub fn serve(connection: &Connection, find: Find) -> Result<(), String> {
    let (id, params) = connection.initialize_start().map_err(|error| error.to_string())?;
    let params: InitializeParams = serde_json::from_value(params).map_err(|error| error.to_string())?;
    let encoding = encoding(&params);
    // Off unless the client asks: a value behind each reference is noisy.
    let options = params.initialization_options.as_ref();
    let shows_values = options.is_some_and(|options| options["inlayHints"] == true);
    let answer = json!({
        "capabilities": capabilities(encoding, shows_values),
        "serverInfo": { "name": "reclass", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, answer).map_err(|error| error.to_string())?;
    let (jobs, waiting) = unbounded();
    let (checked, results) = unbounded();
    std::thread::scope(|scope| {
        scope.spawn(move || checker::run(&waiting, &checked));
        let mut server = Server {
            connection,
            find,
            encoding,
            jobs,
            workspaces: Vec::new(),
            documents: OpenTexts::new(),
            reported: BTreeMap::new(),
            refused: BTreeSet::new(),
            refreshes_lenses: refreshes_lenses(&params),
            requests: 0,
        };
        for folder in folders(&params) {
            server.workspace_in(&folder);
        }
        server.work(&results)
    })
}

/// The folders of the editor's workspace.
fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let named = params.workspace_folders.iter().flatten().filter_map(|folder| path_of(&folder.uri));
    #[expect(deprecated, reason = "older clients send it")]
    let root = params.root_uri.as_ref().and_then(path_of);
    let mut folders: Vec<PathBuf> = named.collect();
    if folders.is_empty() {
        folders.extend(root);
    }
    folders
}

fn encoding(params: &InitializeParams) -> Encoding {
    let general = params.capabilities.general.as_ref();
    let offered = general.and_then(|general| general.position_encodings.as_ref());
    let has_bytes = offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8));
    if has_bytes { Encoding::Utf8 } else { Encoding::Utf16 }
}

fn refreshes_lenses(params: &InitializeParams) -> bool {
    let lenses = params.capabilities.workspace.as_ref().and_then(|workspace| workspace.code_lens.as_ref());
    lenses.and_then(|lenses| lenses.refresh_support).unwrap_or(false)
}

fn capabilities(encoding: Encoding, shows_values: bool) -> ServerCapabilities {
    let triggers = [".", ":", "{", "-", " "].map(str::to_owned).to_vec();
    ServerCapabilities {
        position_encoding: Some(match encoding {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(triggers),
            ..CompletionOptions::default()
        }),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        call_hierarchy_provider: Some(CallHierarchyServerCapability::Simple(true)),
        document_link_provider: Some(DocumentLinkOptions {
            resolve_provider: Some(false),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        inlay_hint_provider: shows_values.then_some(OneOf::Left(true)),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: marks::legend(),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![CHOOSE_NODE.into()],
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    }
}

struct Server<'a> {
    connection: &'a Connection,
    find: Find,
    encoding: Encoding,
    jobs: Sender<Job>,
    workspaces: Vec<Workspace>,
    documents: OpenTexts,
    /// The files with diagnostics, by workspace.
    reported: BTreeMap<usize, BTreeSet<String>>,
    /// The folders whose inventory could not be opened. Each is told once.
    refused: BTreeSet<PathBuf>,
    /// Whether the client asks for the lenses again when it is told to.
    refreshes_lenses: bool,
    /// The number of requests to the client.
    requests: i32,
}

impl Server<'_> {
    fn work(&mut self, results: &Receiver<Checked>) -> Result<(), String> {
        loop {
            select! {
                recv(self.connection.receiver) -> message => match message {
                    Ok(Message::Request(request)) => {
                        // A message between `shutdown` and `exit` ends the server too.
                        if self.connection.handle_shutdown(&request).unwrap_or(true) {
                            return Ok(());
                        }
                        self.request(request);
                    }
                    Ok(Message::Notification(notification)) => self.notification(notification),
                    Ok(Message::Response(_)) => {}
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

    fn send(&self, message: impl Into<Message>) {
        // An editor that is gone ends the loop at the next message.
        let _ = self.connection.sender.send(message.into());
    }

    fn notify(&self, method: &str, params: impl Serialize) {
        self.send(Notification::new(method.to_owned(), params));
    }

    /// The number of the inventory of a node or class. It is opened if it is new.
    fn workspace_of(&mut self, path: &Path) -> Option<usize> {
        if let Some(known) = self.workspaces.iter().position(|workspace| workspace.holds(path)) {
            return Some(known);
        }
        self.workspace_in(path.parent()?).filter(|found| self.workspaces[*found].holds(path))
    }

    /// The number of the inventory that a folder belongs to. It is opened if it is new.
    fn workspace_in(&mut self, folder: &Path) -> Option<usize> {
        let found = (self.find)(folder)?;
        if let Ok(found) = &found
            && let Some(known) = self.workspaces.iter().position(|known| known.found.folder == found.folder)
        {
            return Some(known);
        }
        match found.and_then(Workspace::open) {
            Ok(workspace) => {
                let number = self.workspaces.len();
                self.job(Job::Open {
                    workspace: number,
                    options: workspace.found.options.clone(),
                    file: workspace.found.file.clone(),
                });
                self.workspaces.push(workspace);
                self.check(number);
                Some(number)
            }
            Err(error) => {
                if self.refused.insert(folder.to_path_buf()) {
                    self.tell(&error);
                }
                None
            }
        }
    }

    fn tell(&self, error: &Error) {
        let params = ShowMessageParams { typ: MessageType::ERROR, message: concise(error) };
        self.notify(notified::ShowMessage::METHOD, params);
    }

    fn job(&self, job: Job) {
        let _ = self.jobs.send(job);
    }

    /// Asks for a check of the current texts.
    fn check(&mut self, workspace: usize) {
        let known = &mut self.workspaces[workspace];
        known.generation += 1;
        let generation = known.generation;
        self.job(Job::Check { workspace, generation });
    }

    /// Takes the result of a check. One of older texts is only good for names.
    fn checked(&mut self, checked: Checked) {
        let known = &mut self.workspaces[checked.workspace];
        if let Some(names) = checked.names {
            known.names = names;
        }
        if checked.generation != known.generation || known.closed {
            return;
        }
        known.findings = checked.findings;
        let found = diagnostics::by_file(&known.findings, &known.inventory, &self.documents, self.encoding);
        let now: BTreeSet<String> = found.keys().cloned().collect();
        let before = self.reported.insert(checked.workspace, now).unwrap_or_default();
        for path in before.iter().filter(|path| !found.contains_key(*path)) {
            self.publish(path, Vec::new());
        }
        for (path, diagnostics) in found {
            self.publish(&path, diagnostics);
        }
        let known = &self.workspaces[checked.workspace];
        for node in self.documents.keys().filter_map(|path| known.node_of(path.to_str()?)) {
            known.parameters(&node);
        }
        self.tell_nodes();
    }

    fn publish(&self, path: &str, diagnostics: Vec<lsp_types::Diagnostic>) {
        let Some(uri) = uri_of(path) else { return };
        let version = self.documents.get(Path::new(path)).map(|document| document.version);
        self.notify(
            notified::PublishDiagnostics::METHOD,
            PublishDiagnosticsParams { uri, diagnostics, version },
        );
    }

    /// Tells for each open text whose values are shown.
    fn tell_nodes(&self) {
        for path in self.documents.keys() {
            let (Some(name), Some(workspace)) =
                (path.to_str(), self.workspaces.iter().find(|workspace| workspace.holds(path)))
            else {
                continue;
            };
            let nodes = workspace.names.files.get(name).map_or(0, |file| file.nodes.len());
            let status = json!({ "uri": uri_of(path), "node": workspace.node_of(name), "nodes": nodes });
            self.notify(STATUS, status);
        }
    }

    fn notification(&mut self, notification: Notification) {
        match notification.method.as_str() {
            notified::DidOpenTextDocument::METHOD => {
                let Some(params) = params::<DidOpenTextDocumentParams>(notification.params) else { return };
                let (uri, item) = (params.text_document.uri, params.text_document.text);
                let version = params.text_document.version;
                let Some(path) = path_of(&uri) else { return };
                self.documents.insert(path, OpenText { text: String::new(), version });
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
                let Some(path) = uri.as_ref().and_then(path_of) else { return };
                self.documents.remove(&path);
                if let Some(workspace) = self.workspace_of(&path) {
                    self.workspaces[workspace].inventory.set_buffer(&path, None);
                    self.job(Job::Buffer { workspace, path, text: None });
                    self.check(workspace);
                }
            }
            notified::DidSaveTextDocument::METHOD | notified::DidChangeWatchedFiles::METHOD => {
                self.reopen_changed();
                (0..self.workspaces.len()).for_each(|workspace| self.check(workspace));
            }
            notified::DidChangeWorkspaceFolders::METHOD => {
                let Some(params) = params::<DidChangeWorkspaceFoldersParams>(notification.params) else {
                    return;
                };
                params.event.removed.iter().filter_map(|folder| path_of(&folder.uri)).for_each(|folder| {
                    self.close_in(&folder);
                });
                for folder in params.event.added.iter().filter_map(|folder| path_of(&folder.uri)) {
                    if let Some(workspace) = self.workspace_in(&folder) {
                        self.workspaces[workspace].closed = false;
                        self.check(workspace);
                    }
                }
            }
            _ => {}
        }
    }

    /// Forgets the inventories in a folder that left the workspace.
    fn close_in(&mut self, folder: &Path) {
        for number in 0..self.workspaces.len() {
            let known = &mut self.workspaces[number];
            if known.found.folder.starts_with(folder) {
                known.closed = true;
                for path in self.reported.remove(&number).unwrap_or_default() {
                    self.publish(&path, Vec::new());
                }
            }
        }
    }

    /// Opens inventories whose settings are others now.
    fn reopen_changed(&mut self) {
        self.refused.clear();
        for number in 0..self.workspaces.len() {
            let folder = self.workspaces[number].found.folder.clone();
            let found = match (self.find)(&folder) {
                Some(Ok(found)) => found,
                Some(Err(error)) => {
                    self.tell(&error);
                    continue;
                }
                None => continue,
            };
            if found.options == self.workspaces[number].found.options {
                continue;
            }
            let (options, file) = (found.options.clone(), found.file.clone());
            match Workspace::open(found) {
                Ok(mut workspace) => {
                    let before = &self.workspaces[number];
                    workspace.generation = before.generation;
                    workspace.node.clone_from(&before.node);
                    workspace.names.clone_from(&before.names);
                    workspace.take_texts(&self.documents);
                    self.workspaces[number] = workspace;
                }
                Err(error) => self.tell(&error),
            }
            self.job(Job::Open { workspace: number, options, file });
        }
    }

    /// Changes an open text. A change that comes after its end does not count.
    fn buffer(&mut self, uri: &Uri, version: i32, change: impl FnOnce(&mut String)) {
        let Some(path) = path_of(uri) else { return };
        let Some(document) = self.documents.get_mut(&path) else { return };
        change(&mut document.text);
        document.version = version;
        let text: Arc<str> = document.text.as_str().into();
        if let Some(workspace) = self.workspace_of(&path) {
            self.workspaces[workspace].inventory.set_buffer(&path, Some(&text));
            self.job(Job::Buffer { workspace, path: path.clone(), text: Some(text) });
            self.check(workspace);
            self.report_at_once(workspace, &path);
        }
    }

    /// Reports the errors that the first node with the text has in it. The check of everything comes later.
    fn report_at_once(&mut self, workspace: usize, path: &Path) {
        let known = &self.workspaces[workspace];
        let Some((name, node)) = path.to_str().and_then(|name| Some((name, known.node_of(name)?))) else {
            return;
        };
        let answer = reclass::panics::catch(|| known.inventory.nodeinfo(&node, &NodeRequest::default()));
        let Ok(Err(error)) = answer else { return };
        let errors = grouped(error.into_faults().into_iter().map(|fault| (Level::Error, fault)));
        let mut found = diagnostics::by_file(&errors, &known.inventory, &self.documents, self.encoding);
        if let Some(here) = found.remove(name) {
            self.reported.entry(workspace).or_default().insert(name.to_owned());
            self.publish(name, here);
        }
    }

    fn request(&mut self, request: Request) {
        let (id, method) = (request.id.clone(), request.method.clone());
        let answer = reclass::panics::catch(|| self.answer(&method, request.params));
        let response = match answer {
            Ok(Ok(value)) => Response::new_ok(id, value),
            Ok(Err((code, message))) => Response::new_err(id, code as i32, message),
            Err(_) => {
                // The engine gave up the state that the panic left, and the texts with it.
                self.workspaces.iter().for_each(|workspace| workspace.take_texts(&self.documents));
                let message = "internal error; the state of the inventory is read again".to_owned();
                Response::new_err(id, ErrorCode::InternalError as i32, message)
            }
        };
        self.send(response);
    }

    fn answer(&mut self, method: &str, given: Value) -> Result<Value, (ErrorCode, String)> {
        let nothing = Ok(Value::Null);
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
                let text = path_of(&uri).and_then(|path| Some(&self.documents.get(&path)?.text));
                let found = text.map_or_else(Vec::new, |text| symbols::of_document(text, self.encoding));
                Ok(json!(DocumentSymbolResponse::Nested(found)))
            }
            asked::WorkspaceSymbolRequest::METHOD => {
                let query = given["query"].as_str().unwrap_or_default();
                let found = self.workspaces.iter().flat_map(|known| symbols::of_workspace(known, query));
                Ok(json!(WorkspaceSymbolResponse::Nested(found.collect())))
            }
            asked::CodeActionRequest::METHOD => {
                let params: lsp_types::CodeActionParams =
                    serde_json::from_value(given).map_err(|_| wrong())?;
                let uri = params.text_document.uri;
                let Some(path) = path_of(&uri) else { return nothing };
                let Some(workspace) = self.workspace_of(&path) else { return nothing };
                let Some(document) = self.documents.get(&path) else { return nothing };
                let Some(name) = path.to_str() else { return nothing };
                let known = &self.workspaces[workspace];
                let text = (&uri, name, document.text.as_str());
                Ok(json!(actions::actions(known, text, params.range, self.encoding)))
            }
            asked::CodeLensRequest::METHOD => {
                let Some(path) = uri(&given).and_then(|uri| path_of(&uri)) else { return nothing };
                let Some(workspace) = self.workspace_of(&path) else { return nothing };
                Ok(json!(path.to_str().map(|path| lens::lens(&self.workspaces[workspace], path))))
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
                .of_item(given, |workspace, item, texts, encoding| {
                    json!(calls::incoming(workspace, item, texts, encoding))
                }),
            asked::CallHierarchyOutgoingCalls::METHOD => self
                .of_item(given, |workspace, item, texts, encoding| {
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
            NODES => {
                let path = uri(&given).and_then(|uri| path_of(&uri)).ok_or_else(wrong)?;
                let Some(workspace) = self.workspace_of(&path) else { return nothing };
                let (known, name) = (&self.workspaces[workspace], path.to_str().unwrap_or_default());
                let nodes: Vec<&str> = known.names.nodes_of(name).map(|node| &**node).collect();
                Ok(json!({ "nodes": nodes, "node": known.node_of(name) }))
            }
            _ => Err((ErrorCode::MethodNotFound, format!("no method '{method}'"))),
        }
    }

    /// Shows the values of this node, or again of the first one that has a file. The file is a path or an address.
    fn choose(&mut self, file: &str, node: Option<String>) {
        let path = file.parse().ok().and_then(|uri: Uri| path_of(&uri)).unwrap_or_else(|| file.into());
        if let Some(workspace) = self.workspace_of(&path) {
            self.workspaces[workspace].node = node;
            self.tell_nodes();
            if self.refreshes_lenses {
                self.requests += 1;
                let id = self.requests.into();
                self.send(Request::new(id, asked::CodeLensRefresh::METHOD.to_owned(), Value::Null));
            }
        }
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
        let Some(path) = path_of(&uri) else { return Ok(Value::Null) };
        let Some(workspace) = self.workspace_of(&path) else { return Ok(Value::Null) };
        let (Some(document), Some(name)) = (self.documents.get(&path), path.to_str()) else {
            return Ok(Value::Null);
        };
        Ok(answer(&Cursor {
            workspace: &self.workspaces[workspace],
            documents: &self.documents,
            path: name,
            text: &document.text,
            offset: self.encoding.offset(&document.text, position),
            encoding: self.encoding,
        }))
    }

    /// The answer to a question about a class or node of the call hierarchy.
    fn of_item(
        &mut self,
        mut given: Value,
        answer: impl FnOnce(&Workspace, &CallHierarchyItem, &OpenTexts, Encoding) -> Value,
    ) -> Result<Value, (ErrorCode, String)> {
        let item: CallHierarchyItem = serde_json::from_value(given["item"].take())
            .map_err(|error| (ErrorCode::InvalidParams, error.to_string()))?;
        let Some(path) = path_of(&item.uri) else { return Ok(Value::Null) };
        let Some(workspace) = self.workspace_of(&path) else { return Ok(Value::Null) };
        Ok(answer(&self.workspaces[workspace], &item, &self.documents, self.encoding))
    }
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
