//! What the client can do, and what the server tells it of itself.

use std::path::PathBuf;

use lsp_types::notification::{DidChangeWatchedFiles, Notification as _};
use lsp_types::{
    CallHierarchyServerCapability, CodeActionProviderCapability, CodeLensOptions, CompletionOptions,
    DidChangeWatchedFilesRegistrationOptions, DocumentLinkOptions, ExecuteCommandOptions, FileSystemWatcher,
    GlobPattern, HoverProviderCapability, InitializeParams, OneOf, PositionEncodingKind, Registration,
    RegistrationParams, RenameOptions, SemanticTokensFullOptions, SemanticTokensOptions, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, WorkDoneProgressOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use crate::answers::actions::EXTRACT;
use crate::answers::marks;
use crate::text::{Encoding, path_of};

/// The command that chooses the node whose values are shown.
pub const CHOOSE_NODE: &str = "reclass.chooseNode";

/// The folders of the editor's workspace.
pub fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    let named = params.workspace_folders.iter().flatten().filter_map(|folder| path_of(&folder.uri));
    #[expect(deprecated, reason = "older clients send it")]
    let root = params.root_uri.as_ref().and_then(path_of);
    let mut folders: Vec<PathBuf> = named.collect();
    if folders.is_empty() {
        folders.extend(root);
    }
    folders
}

/// What a column is.
pub fn encoding(params: &InitializeParams) -> Encoding {
    let general = params.capabilities.general.as_ref();
    let offered = general.and_then(|general| general.position_encodings.as_ref());
    let has_bytes = offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8));
    if has_bytes { Encoding::Utf8 } else { Encoding::Utf16 }
}

/// Whether the client asks for the lenses again on request.
pub fn refreshes_lenses(params: &InitializeParams) -> bool {
    let lenses = params.capabilities.workspace.as_ref().and_then(|workspace| workspace.code_lens.as_ref());
    lenses.and_then(|lenses| lenses.refresh_support).unwrap_or(false)
}

/// Whether the client makes the edits that a command leads to.
pub fn applies_edits(params: &InitializeParams) -> bool {
    params.capabilities.workspace.as_ref().and_then(|workspace| workspace.apply_edit).unwrap_or(false)
}

/// Asks the client to tell of changes that are made outside of it: of nodes, classes, schemas, settings and
/// baselines. `None` if it cannot be asked.
pub fn watchers(params: &InitializeParams) -> Option<RegistrationParams> {
    let watched = params.capabilities.workspace.as_ref()?.did_change_watched_files.as_ref()?;
    let options = DidChangeWatchedFilesRegistrationOptions {
        watchers: vec![FileSystemWatcher {
            glob_pattern: GlobPattern::String("**/*.{yml,yaml,json}".into()),
            kind: None,
        }],
    };
    let registration = Registration {
        id: "files".into(),
        method: DidChangeWatchedFiles::METHOD.into(),
        register_options: serde_json::to_value(options).ok(),
    };
    watched.dynamic_registration?.then(|| RegistrationParams { registrations: vec![registration] })
}

/// What the server can do.
pub fn capabilities(encoding: Encoding, shows_values: bool) -> ServerCapabilities {
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
            commands: vec![CHOOSE_NODE.into(), EXTRACT.into()],
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
