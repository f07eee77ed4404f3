//! The language server: answers an editor about the inventory whose files it edits.
//!
//! The server knows the protocol, and the library knows reclass: each answer is a question to [`reclass`], with
//! positions translated. Unsaved text counts: a buffer of the editor takes the place of the file.
//!
//! | file | task |
//! |---|---|
//! | `server` | reads messages, keeps documents, dispatches requests |
//! | `checker` | runs lint in a thread of its own, after a pause |
//! | `workspace` | one inventory: where it is, its state, the node whose values are shown |
//! | `text` | offsets, positions, addresses |
//! | `answers` | one file for each kind of answer |

mod answers;
mod checker;
mod server;
mod text;
mod workspace;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_server::Connection;
use reclass::error::Result;
use reclass::lint::OptionsFile;
use reclass::value::Map;

/// An inventory that was found.
pub struct FoundInventory {
    /// Its folder.
    pub folder: PathBuf,
    /// Its settings.
    pub options: Map,
    /// The file of the settings.
    pub file: Arc<dyn OptionsFile + Send + Sync>,
}

/// Finds the inventory that a folder belongs to; `None` if there is none.
pub type Find = fn(&Path) -> Option<Result<FoundInventory>>;

/// Serves one editor until it says goodbye or is gone. The error is a sentence about the connection.
pub fn serve(connection: &Connection, find: Find) -> std::result::Result<(), String> {
    server::serve(connection, find)
}

/// Serves the editor at the other end of standard input and output.
pub fn serve_stdio(find: Find) -> std::result::Result<(), String> {
    let (connection, threads) = Connection::stdio();
    let done = serve(&connection, find);
    drop(connection);
    threads.join().map_err(|error| error.to_string())?;
    done
}
