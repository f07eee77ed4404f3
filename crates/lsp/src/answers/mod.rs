//! The answers, one file for each kind.

pub mod actions;
pub mod calls;
pub mod completion;
pub mod definition;
pub mod diagnostics;
pub mod hover;
pub mod lens;
pub mod marks;
pub mod references;
pub mod rename;
pub mod symbols;

use std::ops::Range;

use reclass::brief::brief;
use reclass::editor::{InventoryNames, outline};
use reclass::redact::MASK;
use reclass::value::{Text, Value};

/// The entries of the class lists in the text of a file: the bytes of each, and the class that it names.
fn listed<'n>(names: &'n InventoryNames, path: &str, text: &str) -> Vec<(Range<usize>, &'n Text)> {
    let sections = outline(text);
    let entries =
        sections.iter().filter(|section| section.name == "classes").flat_map(|section| &section.inner);
    entries.filter_map(|entry| Some((entry.key.clone(), names.class(path, &entry.name)?))).collect()
}

/// A value in a few words. A mapping is named, and a secret masked.
fn in_words(value: &Value, is_secret: bool) -> String {
    match value {
        Value::Map(_) => "a mapping".to_owned(),
        _ if is_secret => MASK.to_owned(),
        value => brief(value),
    }
}

/// `1 node`, `12 nodes`
fn counted(nodes: usize) -> String {
    if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") }
}
