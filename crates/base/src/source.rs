//! Source positions: a value carries an [`Origin`], which a table per file turns into a [`Site`].
//!
//! An origin is a file and a node, never a line. A comment on top of a file changes its [`Spans`]
//! and nothing else, so no result has to be computed again.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// The number of a file in one engine. A number is never reused for another path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u32);

impl FileId {
    /// No file: automatic parameters, input data.
    pub const NONE: FileId = FileId(u32::MAX);
}

/// The provenance of a value: a file and the number of a YAML node in it.
///
/// Nodes are numbered in document order. Comments and blank lines do not change the numbers.
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
    /// The origin of a value that comes from no file.
    pub const NONE: Origin = Origin { file: FileId::NONE, node: 0 };
}

/// The extent of one YAML node in the text. Lines and columns count from zero,
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

impl Span {
    /// The line of a span whose place is the file as a whole.
    pub const NO_LINE: u32 = u32::MAX;
}

/// The spans of all nodes of one file, by node index.
pub type Spans = Arc<[Span]>;

/// A position in a file, for display.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Site {
    /// The absolute path, as written in the settings.
    #[serde(rename = "file")]
    pub path: Arc<str>,
    /// Line, from one; zero if only the file is known.
    pub line: u32,
    /// Column in characters, from one; zero if only the file is known.
    pub column: u32,
    /// Length in characters, zero if unknown.
    #[serde(skip)]
    pub length: u32,
}

impl Site {
    /// The place of a node in a file.
    pub fn at(path: impl Into<Arc<str>>, span: Span) -> Site {
        if span.line == Span::NO_LINE {
            return Site::file(path);
        }
        let number = |from_zero: u32| from_zero.saturating_add(1);
        Site { path: path.into(), line: number(span.line), column: number(span.column), length: 0 }
    }

    /// The position of a whole file.
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
