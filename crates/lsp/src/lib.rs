//! Turns the messages of an editor into answers about the inventory whose files it edits: the language server.
//!
//! Invariants: the server knows no analysis, and the analyses know no protocol; each answer is a question to
//! [`reclass_analysis`], with positions translated. Unsaved text counts: a buffer of the editor takes the place of the
//! file.
//!
//! | file | task |
//! |---|---|
//! | `stdio` | bytes into messages, and messages into bytes |
//! | `server` | takes messages, keeps documents, dispatches requests |
//! | `client` | what the client can do, and what the server tells it of itself |
//! | `checker` | runs lint in a thread of its own, after a pause |
//! | `places` | the places of findings while the text changes |
//! | `workspace` | one inventory: where it is, its state, the node whose values are shown |
//! | `text` | offsets, positions, addresses |
//! | `editor` | the thing at a place of a text, the nodes and classes of the inventory; knows no protocol |
//! | `answers` | one file for each kind of answer |

mod answers;
mod checker;
mod client;
mod editor;
mod places;
mod server;
mod stdio;
mod text;
mod workspace;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{bounded, unbounded};
use lsp_server::Connection;
use reclass::error::Result;
use reclass::value::Map;
use reclass_analysis::lint::OptionsFile;

/// An inventory that was found.
#[derive(Clone)]
pub struct FoundInventory {
    /// Its folder.
    pub folder: PathBuf,
    /// Its settings.
    pub options: Map,
    /// The file of the settings.
    pub file: Arc<dyn OptionsFile + Send + Sync>,
}

/// The texts of the files that are open.
pub type Texts<'t> = dyn Fn(&Path) -> Option<String> + 't;

/// Finds the inventory that a folder belongs to; `None` if there is none. The text of an open settings file counts.
pub type Find = fn(&Path, &Texts<'_>) -> Option<Result<FoundInventory>>;

/// Serves one editor until it says goodbye or is gone. The error is a sentence about the connection.
pub fn serve(connection: &Connection, find: Find) -> std::result::Result<(), String> {
    server::serve(connection, find)
}

/// Serves the editor at the other end of standard input and output.
pub fn serve_stdio(find: Find) -> std::result::Result<(), String> {
    // The server looks at all messages that wait; those to the editor wait until it reads.
    let ((arrived, receiver), (sender, leaving)) = (unbounded(), bounded(0));
    std::thread::scope(|scope| {
        let read = move || stdio::read(&mut std::io::stdin().lock(), &arrived, stdio::write_value);
        let threads = [scope.spawn(read), scope.spawn(move || stdio::write(&leaving))];
        let done = serve(&Connection { sender, receiver }, find);
        for thread in threads {
            match thread.join() {
                // An editor that died has closed its pipes, perhaps in the middle of a message.
                Ok(Err(error)) if !is_gone(error.kind()) => return Err(error.to_string()),
                Ok(_) => {}
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}

/// Whether an error of a pipe means that the editor has ended.
fn is_gone(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof)
}
