//! Report turns errors and warnings into text for people and programs.
//!
//! Two forms for people: [`concise`], one line a problem, for exceptions and logs; and
//! [`full`], with an excerpt of the source, for terminals. Programs get JSON, annotations of
//! GitHub or SARIF (`data`). The concise form never holds source text. Whatever comes from a file or a name is made inert
//! first ([`inert`]): no form sends a control character to a terminal.

mod data;
mod finding;
mod full;
mod short;

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write as _;

use rustc_hash::FxHashMap;

pub use data::{findings_value, github, link_value, sarif, site_value};
pub use finding::{Finding, Level, grouped};
pub use full::{full, full_finding, full_warning};
pub use short::short;

use crate::error::{Error, Fault, Kind, Note, Warning};

/// One line a problem: `path:line:column: node 'web1': …, at 'a:b' (code)`. No source text, no values.
pub fn concise(error: &Error) -> String {
    let mut lines = Vec::new();
    for fault in error.faults() {
        concise_fault(fault, 0, &mut lines);
    }
    lines.join("\n")
}

/// The concise form of a warning.
pub fn concise_warning(warning: &Warning) -> String {
    let mut lines = Vec::new();
    concise_fault(warning, 0, &mut lines);
    lines.join("\n")
}

/// Appends the line of a problem, and those of its causes, each level two spaces further in.
fn concise_fault(fault: &Fault, depth: usize, lines: &mut Vec<String>) {
    let mut line = "  ".repeat(depth);
    // Writing to a string cannot fail.
    if let Some(site) = &fault.site {
        let _ = write!(line, "{site}: ");
    }
    if let Some(node) = fault.node.as_ref().filter(|_| !names_its_node(&fault.kind)) {
        let _ = write!(line, "node '{}': ", short(node));
    }
    let _ = write!(line, "{}", fault.kind);
    if let Some(path) = fault.path.as_ref().filter(|_| !names_its_path(&fault.kind)) {
        let export = if fault.export { "export " } else { "" };
        let _ = write!(line, ", at {export}'{}'", short(path));
    }
    let _ = write!(line, " ({})", fault.code());
    if let Some(help) = fault.kind.help() {
        let _ = write!(line, "; {help}");
    }
    lines.push(inert(&line));
    for cause in &fault.causes {
        // Causes of causes stand on one level: the text stays readable whatever the depth.
        concise_fault(cause, 1, lines);
    }
}

/// Whether the sentence already says which node it is about.
fn names_its_node(kind: &Kind) -> bool {
    matches!(kind, Kind::NodeNotFound { .. } | Kind::DuplicateDefinition { what: "node", .. })
}

/// Whether it says which parameter it is about.
fn names_its_path(kind: &Kind) -> bool {
    matches!(kind, Kind::Lint { .. })
}

/// The same reader of files, which reads each of them once: many problems stand in one file.
pub fn once(read: impl Fn(&str) -> Option<String>) -> impl Fn(&str) -> Option<String> {
    let known: RefCell<FxHashMap<String, Option<String>>> = RefCell::default();
    move |path| {
        if let Some(text) = known.borrow().get(path) {
            return text.clone();
        }
        let text = read(path);
        known.borrow_mut().insert(path.to_owned(), text.clone());
        text
    }
}

/// All remarks on a problem: its notes, how its file came in, and which parameter holds it.
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
        // A chain begins with the node and names it.
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

/// The text with every control character and every character that reorders text written out,
/// so that a file cannot talk to a terminal.
pub fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_active(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether a terminal does something else with the character than to show it.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
