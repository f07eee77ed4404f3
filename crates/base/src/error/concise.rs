//! The concise form of an error: one line per diagnostic, for exceptions and logs.
//!
//! It holds no source text and no values. Text from files and names passes [`inert`], so a log or a
//! terminal gets no control character.

use std::fmt::Write as _;

use indexmap::IndexMap;

use super::{Error, Fault, Kind, Warning, short};

/// Who reads the concise form.
#[derive(Clone, Copy, PartialEq)]
enum Audience {
    /// Anyone, as a minion: no values.
    Anyone,
    /// Who may see the files: with the names that missing classes come to, which are values. No name depends
    /// on a secret.
    OfFiles,
}

/// One line per fault: `path:line:column: node 'web1': …, at 'a:b' (code)`. No source text, no values.
pub fn concise(error: &Error) -> String {
    lines(error.faults(), Audience::Anyone)
}

/// The same for who may see the files: with the name that a missing class comes to, unless a secret is in it.
pub fn with_names(error: &Error) -> String {
    lines(error.faults(), Audience::OfFiles)
}

fn lines(faults: &[Fault], audience: Audience) -> String {
    let mut lines = Vec::new();
    for fault in faults {
        concise_fault(fault, audience, 0, &mut lines);
    }
    lines.join("\n")
}

/// The concise forms of the faults of nodes, each once with its nodes, without their names in the text.
pub fn by_problem<N>(nodes: impl IntoIterator<Item = (N, Vec<Fault>)>) -> IndexMap<String, Vec<N>> {
    let mut together: IndexMap<String, Vec<N>> = IndexMap::new();
    for (node, faults) in nodes {
        let bare = faults.into_iter().map(|fault| Fault { node: None, ..fault }).collect();
        together.entry(concise(&Error::new(bare))).or_default().push(node);
    }
    together
}

/// The concise form of a warning.
pub fn concise_warning(warning: &Warning) -> String {
    lines(std::slice::from_ref(warning), Audience::Anyone)
}

/// Appends the line of a fault, and the lines of its causes, indented.
fn concise_fault(fault: &Fault, audience: Audience, depth: usize, lines: &mut Vec<String>) {
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
    // Who gets this form alone, as a minion, finds the rule in another file.
    if let (Kind::Schema { .. }, Some(rule)) =
        (&fault.kind, fault.notes.iter().find_map(|note| note.site.as_ref()))
    {
        let _ = write!(line, "; the schema says so at {rule}");
    }
    if let (Audience::OfFiles, Kind::ClassNotFound { shown: Some(name), .. }) = (audience, &fault.kind) {
        let _ = write!(line, "; its name comes to '{name}'");
    }
    lines.push(inert(&line));
    for cause in &fault.causes {
        // Causes of causes have the same indent: deep chains stay readable.
        concise_fault(cause, audience, 1, lines);
    }
}

/// True if the sentence already names the node.
pub fn names_its_node(kind: &Kind) -> bool {
    matches!(kind, Kind::NodeNotFound { .. } | Kind::DuplicateDefinition { what: "node", .. })
}

/// True if the sentence already names the parameter.
pub fn names_its_path(kind: &Kind) -> bool {
    matches!(kind, Kind::Lint { .. } | Kind::Schema { .. })
}

/// Escapes control characters and characters that reorder text, so that a file cannot control a terminal.
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

/// True if a terminal acts on the character instead of showing it.
pub fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
