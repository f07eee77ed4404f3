//! Paths turn the number of a node of a document into the path of the parameter that it stands in, for
//! messages.

use super::grow;
use crate::template::join_path;
use crate::value::{Key, Value};
use crate::yaml::compose::{Data, Document, Node};

/// The path, in the notation of references, and whether it is one of the exports; none for what is
/// neither among the parameters nor among the exports.
pub(super) fn place(document: &Document, index: u32, delimiter: &str) -> Option<(String, bool)> {
    let Some(Node { data: Data::Map(entries), .. }) = &document.root else { return None };
    let mut path = Vec::new();
    let section = entries
        .iter()
        .filter(|entry| matches!(entry.key.as_str(), Some("parameters" | "exports")))
        .find(|entry| find(&entry.value, index, &mut path))?;
    (!path.is_empty()).then(|| (join_path(&path, delimiter), section.key.as_str() == Some("exports")))
}

fn find(node: &Node, index: u32, path: &mut Vec<Key>) -> bool {
    let mut inside = |key: Key, node: &Node| {
        path.push(key);
        let found = grow(|| find(node, index, path));
        if !found {
            path.pop();
        }
        found
    };
    node.index == index
        || match &node.data {
            Data::Value(_) => false,
            Data::List(items) => items.iter().zip(0i64..).any(|(item, at)| inside(Key(Value::Int(at)), item)),
            Data::Map(entries) => entries.iter().any(|entry| {
                let name = crate::pystr::str(&entry.key.0);
                inside(Key::from(name.trim_start_matches(['~', '='])), &entry.value)
            }),
        }
}
