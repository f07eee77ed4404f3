//! Report turns errors and warnings into text for people and programs.

use crate::error::Error;

/// One line a problem: `path:line:column: node 'web1': …`. No source text, no values.
pub fn concise(error: &Error) -> String {
    todo!("{error:?}")
}
