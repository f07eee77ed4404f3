//! Code lens: how many nodes have a file, above its first line.

use lsp_types::{CodeLens, Command, Range};

use crate::answers::counted;
use crate::workspace::Workspace;

/// The lens of a file; none for a file that is no class.
pub fn lens(workspace: &Workspace, path: &str) -> Vec<CodeLens> {
    let Some(file) = workspace.names.files.get(path).filter(|file| file.is_class) else {
        return Vec::new();
    };
    let title = counted(file.nodes.len());
    let title = match workspace.node_of(path) {
        Some(node) => format!("{title}, values of {node}"),
        None => title,
    };
    let arguments = Some(vec![serde_json::Value::String(path.to_owned())]);
    let command = Command { title, command: "reclass.chooseNode".into(), arguments };
    vec![CodeLens { range: Range::default(), command: Some(command), data: None }]
}
