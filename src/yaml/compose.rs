//! Composition turns events into a tree of nodes, aliases shared, scalars resolved.

use std::sync::Arc;

use crate::error::{Result, Warning};
use crate::source::Spans;
use crate::value::{Key, Value};

/// A YAML document: the tree, and beside it where everything stands.
#[derive(Clone, Debug)]
pub struct Document {
    /// The root; `None` for an empty stream (`PyYAML` gives `None` for it as for `null`).
    pub root: Option<Node>,
    /// The spans of all nodes, by [`Node::index`].
    pub spans: Spans,
    /// Duplicate keys, with [`crate::error::Fault::site`] still to be filled in from `spans`:
    /// the `u32` is the index of the later key, the second that of the earlier.
    pub warnings: Vec<(u32, u32, Warning)>,
}

/// One node of a document.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The number of the node, in document order.
    pub index: u32,
    /// What it is.
    pub data: Data,
}

/// The content of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// A scalar, a set, an `!!omap`: finished data that reclass does not look into.
    Value(Value),
    /// A sequence.
    List(Arc<Vec<Node>>),
    /// A mapping, merge keys (`<<`) already applied, in Python's order of keys.
    Map(Arc<Vec<Entry>>),
}

/// One entry of a mapping.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The number of the node of the key.
    pub key_index: u32,
    /// The value.
    pub value: Node,
}

/// Reads the text of a file. `bytes` as they are on disk.
pub fn compose(bytes: &[u8]) -> Result<Document> {
    todo!("{}", bytes.len())
}
