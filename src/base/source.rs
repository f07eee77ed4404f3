//! Sources turn the small numbers that values carry into places in files.
//!
//! A value carries an [`Origin`] (which file, which node of it), never a line:
//! a comment added on top of a file changes the [`Spans`] of the file and
//! nothing else, so nothing that was computed from it has to be computed again.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// The number of a file within one engine. Never used again for another path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u32);

impl FileId {
    /// Values that no file wrote: automatic parameters, input data.
    pub const NONE: FileId = FileId(u32::MAX);
}

/// Where a value was written: a file and the number of a YAML node in it.
///
/// Nodes are numbered in document order, so that the numbers depend on the
/// structure of a document and not on its comments and blank lines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    /// The file.
    pub file: FileId,
    /// The index of the node in the file's [`Spans`].
    pub node: u32,
}

impl Default for Origin {
    fn default() -> Origin {
        Origin::NONE
    }
}

impl Origin {
    /// The origin of values that no file wrote.
    pub const NONE: Origin = Origin { file: FileId::NONE, node: 0 };
}

/// The stretch of text of one YAML node. Lines and columns count from zero,
/// columns in characters, offsets in bytes, as libyaml counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// Byte offset of the first character.
    pub start: u32,
    /// Byte offset after the last character.
    pub end: u32,
    /// Line of the first character, from zero.
    pub line: u32,
    /// Column of the first character, from zero, in characters.
    pub column: u32,
}

/// The spans of all nodes of one file, by node index.
pub type Spans = Arc<[Span]>;

/// A place in a file, ready to be shown.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Site {
    /// The path as the user wrote the inventory: absolute, for display.
    #[serde(rename = "file")]
    pub path: Arc<str>,
    /// Line, from one; zero where only the file is known.
    pub line: u32,
    /// Column in characters, from one; zero where only the file is known.
    pub column: u32,
    /// Length in characters of what is meant, zero where unknown.
    #[serde(skip)]
    pub length: u32,
}

impl Site {
    /// The place of a node in a file.
    pub fn at(path: impl Into<Arc<str>>, span: Span) -> Site {
        let number = |from_zero: u32| from_zero.saturating_add(1);
        Site { path: path.into(), line: number(span.line), column: number(span.column), length: 0 }
    }

    /// A place that is a whole file.
    pub fn file(path: impl Into<Arc<str>>) -> Site {
        Site { path: path.into(), line: 0, column: 0, length: 0 }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            write!(f, "{}", self.path)
        } else {
            write!(f, "{}:{}:{}", self.path, self.line, self.column)
        }
    }
}
