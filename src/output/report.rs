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

pub use data::{github, sarif, to_json, to_json_line};
pub use finding::{Finding, Level, grouped};
pub use full::{full, full_finding, full_note, full_warning};

use crate::base::error::{Fault, Note, names_its_node, names_its_path, short};

/// A reader that reads each file only once, because many faults may be in one file.
pub fn once(read: impl Fn(&str) -> Option<String>) -> impl Fn(&str) -> Option<String> {
    let texts: RefCell<FxHashMap<String, Option<String>>> = RefCell::default();
    move |path| {
        if let Some(text) = texts.borrow().get(path) {
            return text.clone();
        }
        let text = read(path);
        texts.borrow_mut().insert(path.to_owned(), text.clone());
        text
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
