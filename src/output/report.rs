//! Writes errors and warnings as text for people and programs.
//!
//! [`full`] shows an excerpt of the source, for terminals; the one-line form is `error::concise`. Programs
//! get JSON, GitHub annotations or SARIF (`data`). Texts from files and names pass `error::inert` first, so
//! no form sends a control character to a terminal.

mod data;
mod finding;
mod full;

use std::borrow::Cow;
use std::cell::RefCell;

use rustc_hash::FxHashMap;

pub use data::below;
pub use data::{github, sarif, to_json, to_json_line};
pub use finding::{Finding, Level, grouped};
pub use full::{full, full_findings, full_note, full_warning};

use reclass_base::error::{Fault, Note, names_its_node, names_its_path, short};

/// The lines of files. Each file is read once, because many faults may be in one.
struct Sources<'r> {
    read: &'r dyn Fn(&str) -> Option<String>,
    files: RefCell<FxHashMap<String, Option<SourceText>>>,
}

/// A text with the offsets at which its lines begin.
struct SourceText {
    text: String,
    starts: Vec<usize>,
}

impl<'r> Sources<'r> {
    /// `read` returns the text of a file by its path.
    fn new(read: &'r dyn Fn(&str) -> Option<String>) -> Sources<'r> {
        Sources { read, files: RefCell::default() }
    }

    /// A line of a file, from one, if it has at most so many bytes.
    fn line(&self, path: &str, number: usize, longest: usize) -> Option<String> {
        let known = self.files.borrow().contains_key(path);
        if !known {
            let text = (self.read)(path).map(|text| {
                let starts =
                    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
                SourceText { text, starts }
            });
            self.files.borrow_mut().insert(path.to_owned(), text);
        }
        let files = self.files.borrow();
        let SourceText { text, starts } = files.get(path)?.as_ref()?;
        let index = number.checked_sub(1)?;
        let end = starts.get(index + 1).map_or(text.len(), |next| next - 1);
        text.get(*starts.get(index)?..end).filter(|line| line.len() <= longest).map(str::to_owned)
    }
}

/// All notes on a fault: its own, its include chain, and the parameter that contains it.
fn remarks(fault: &Fault) -> Vec<Note> {
    let mut notes = fault.notes.clone();
    notes.extend(fault.chain.iter().map(|link| Note {
        text: format!("{} includes '{}'", link.includer, link.class),
        site: link.site.clone(),
    }));
    let node = fault.node.as_ref().filter(|_| !names_its_node(&fault.kind));
    let what = if fault.export { "export" } else { "parameter" };
    let path = fault.path.as_ref().filter(|_| !names_its_path(&fault.kind));
    let text = match (path, node) {
        (Some(path), Some(node)) => Some(format!("in {what} '{path}' of node '{node}'")),
        (Some(path), None) => Some(format!("in {what} '{path}'")),
        // An include chain begins with the node and names it.
        (None, Some(node)) if fault.chain.is_empty() => Some(format!("in node '{node}'")),
        (None, _) => None,
    };
    notes.extend(text.map(|text| Note { text, site: None }));
    for note in &mut notes {
        if let Cow::Owned(short) = short(&note.text) {
            note.text = short;
        }
    }
    notes
}
