//! Code lens: how many nodes have a file, above its first line, and how many files override a key, above the key.

use std::collections::HashMap;

use crate::editor::{Item, ItemAt, keys_in};
use lsp_types::{CodeLens, Command, Range};
use reclass_base::words::count;

use crate::text::{Encoding, Lines};
use crate::workspace::Workspace;

/// The lenses of a file; none for a file that is no class. Without its text, that of its nodes alone.
pub fn lenses(workspace: &Workspace, path: &str, text: &str, encoding: Encoding) -> Vec<CodeLens> {
    let Some(file) = workspace.names.files.get(path).filter(|file| file.is_class) else {
        return Vec::new();
    };
    let title = count(file.nodes.len(), "node");
    let title = match workspace.node_of(path) {
        Some(node) => format!("{title}, values of {node}"),
        None => title,
    };
    let arguments = Some(vec![serde_json::Value::String(path.to_owned())]);
    let command = Command { title, command: "reclass.chooseNode".into(), arguments };
    let nodes = CodeLens { range: Range::default(), command: Some(command), data: None };
    let settings = workspace.inventory.settings();
    let lines = Lines::new(text, encoding);
    let keys: HashMap<Item, std::ops::Range<usize>> =
        keys_in(text, settings).into_iter().map(|ItemAt { item, range }| (item, range)).collect();
    let overridden = workspace.names.overridden(path, &settings.delimiter).into_iter().filter_map(|key| {
        let range = lines.range(keys.get(&Item::Key { path: key.path, export: key.export })?);
        let by = [(key.classes, "class", "classes"), (key.nodes, "node", "nodes")];
        let by = by.into_iter().filter(|(count, ..)| *count > 0);
        let by = by.map(|(count, one, more)| format!("{count} {}", if count == 1 { one } else { more }));
        let title = format!("overridden by {}", by.collect::<Vec<_>>().join(" and "));
        // Editors show a command without a name as a text.
        let command = Command { title, command: String::new(), arguments: None };
        Some(CodeLens { range, command: Some(command), data: None })
    });
    std::iter::once(nodes).chain(overridden).collect()
}
