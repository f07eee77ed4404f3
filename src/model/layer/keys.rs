//! Finds keys that differ in YAML but become the same text in reclass, such as `80` and `'80'` (M7).

use rustc_hash::{FxHashMap, FxHashSet};

use super::grow;
use reclass_base::error::{Fault, Kind, MAX_FAULTS, truncate_faults};
use reclass_base::pystr;
use reclass_base::source::{FileId, Origin};
use reclass_base::value::Value;
use reclass_yaml::compose::{Data, Document, Entry, Node};

/// A warning for each such key in parameters and exports, without sites, at most as many as are reported.
/// Mappings in lists keep the types of their keys.
pub fn keys_with_same_text(document: &Document, file: FileId) -> Vec<Fault> {
    let mut check = KeyCheck { document, file, checked: FxHashSet::default(), found: Vec::new() };
    if let Some(Node { data: Data::Map(sections), .. }) = &document.root {
        let sections = sections.iter();
        for section in sections.filter(|one| matches!(one.key.as_str(), Some("parameters" | "exports"))) {
            check.at(&section.value);
        }
    }
    truncate_faults(&mut check.found, MAX_FAULTS);
    check.found
}

struct KeyCheck<'a> {
    document: &'a Document,
    file: FileId,
    /// The mappings already checked. Aliases refer to the same ones.
    checked: FxHashSet<u32>,
    found: Vec<Fault>,
}

impl KeyCheck<'_> {
    fn at(&mut self, node: &Node) {
        let Data::Map(entries) = &node.data else { return };
        if self.found.len() > MAX_FAULTS || !self.checked.insert(node.index) {
            return;
        }
        if entries.iter().any(|entry| entry.key.as_str().is_none()) {
            let mut seen: FxHashMap<String, &Entry> = FxHashMap::default();
            // Keys merged in with `<<` are meant to be replaced.
            for entry in entries.iter().filter(|entry| entry.key_index > node.index) {
                let name = pystr::str(&entry.key.0);
                match seen.get(&name) {
                    None => drop(seen.insert(name, entry)),
                    Some(earlier) => {
                        let fault = self.collision(name, earlier, entry);
                        self.found.push(fault);
                    }
                }
            }
        }
        for entry in entries.iter() {
            grow(|| self.at(&entry.value));
        }
    }

    fn collision(&self, key: String, earlier: &Entry, later: &Entry) -> Fault {
        let types = |entry: &Entry| Value::type_name(&entry.key.0);
        let kind = Kind::DuplicateKey { key, types: Some((types(earlier), types(later))), written: None };
        let fault = Fault::new(kind).at(Origin { file: self.file, node: later.key_index });
        match self.document.spans.get(earlier.key_index as usize) {
            Some(span) => {
                let (line, column) = (span.line + 1, span.column + 1);
                fault.note(format!("the first one is at line {line}, column {column}"), None)
            }
            None => fault,
        }
    }
}
