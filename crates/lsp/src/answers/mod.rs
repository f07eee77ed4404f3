//! The answers, one file for each kind.

pub mod actions;
pub mod calls;
pub mod completion;
pub mod configuration;
pub mod definition;
pub mod diagnostics;
pub mod hover;
pub mod lens;
pub mod marks;
pub mod references;
pub mod rename;
pub mod symbols;

use std::ops::Range;

use crate::editor::{InventoryNames, outline};
use reclass::brief::brief;
use reclass::redact::MASK;
use reclass::value::{Text, Value};

/// The entries of the class lists in the text of a file: the bytes of each, and the classes that it leads to.
fn listed<'n>(names: &'n InventoryNames, path: &str, text: &str) -> Vec<(Range<usize>, Vec<&'n Text>)> {
    let sections = outline(text);
    let entries =
        sections.iter().filter(|section| section.name == "classes").flat_map(|section| &section.inner);
    entries.map(|entry| (entry.key.clone(), names.classes_of(path, &entry.name))).collect()
}

/// A value in a few words. A mapping is named, and a secret masked.
fn in_words(value: &Value, is_secret: bool) -> String {
    match value {
        Value::Map(_) => "a mapping".to_owned(),
        _ if is_secret => MASK.to_owned(),
        Value::Str(text) if **text == *MASK => MASK.to_owned(),
        value => brief(value),
    }
}
