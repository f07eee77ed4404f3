//! Y9: a merge key (`<<`) brings the new value, and the old one is in another mapping of the file.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::lookup;
use crate::compare::normal::{OldForm, in_form};
use crate::diff::NodeChange;
use reclass::parts::engine::Computation;
use reclass_base::pystr;
use reclass_base::source::FileId;
use reclass_base::stack::grow;
use reclass_base::value::{Text, Value};
use reclass_yaml::compose::{Data, Node, compose};
use reclass_yaml::to_value;

/// The distinct values of each key of a file that uses merge keys.
type KeyValues = FxHashMap<Text, ValuesOfKey>;

/// The distinct values of a key in the mappings of a file, by their text.
#[derive(Default)]
struct ValuesOfKey {
    /// In mappings with merge keys.
    merged: IndexMap<String, Value>,
    /// In all mappings.
    all: IndexMap<String, Value>,
}

/// The files of an inventory that use merge keys.
#[derive(Default)]
pub(super) struct MergeKeys {
    /// By file; `None` for one without merge keys.
    files: FxHashMap<FileId, Option<KeyValues>>,
}

impl MergeKeys {
    /// Whether a merge key of a file brings the new value, and the old one is the value of another mapping of it.
    pub fn bring(&mut self, now: &Computation<'_>, file: FileId, change: &NodeChange, form: OldForm) -> bool {
        let Some(values) = self.files.entry(file).or_insert_with(|| key_values(now, file, form)) else {
            return false;
        };
        (0..change.path.len()).any(|at| {
            let (key, below) = (&change.path[at], &change.path[at + 1..]);
            let Some(known) = key.as_str().and_then(|key| values.get(key)) else { return false };
            let has = |values: &IndexMap<String, Value>, wanted: Option<&Value>| {
                values.values().any(|value| lookup(value, below) == wanted)
            };
            has(&known.merged, change.new.as_ref()) && has(&known.all, change.old.as_ref())
        })
    }
}

/// The values of a file by key; `None` without merge keys.
fn key_values(now: &Computation<'_>, file: FileId, form: OldForm) -> Option<KeyValues> {
    let text = now.inputs.files.text(&now.inputs.files.path_of(file)?)?;
    let document = compose(text.contains("<<").then_some(text.as_bytes())?).ok()?;
    let mut values = KeyValues::default();
    collect(document.root.as_ref()?, form, &mut values);
    values.values().any(|known| !known.merged.is_empty()).then_some(values)
}

fn collect(node: &Node, form: OldForm, values: &mut KeyValues) {
    match &node.data {
        Data::Value(_) => {}
        Data::List(items) => grow(|| items.iter().for_each(|item| collect(item, form, values))),
        Data::Map(entries) => grow(|| {
            // The keys of a mapping come after it. What a merge key brings is written before.
            let has_merge_key = entries.iter().any(|entry| entry.key_index < node.index);
            for entry in entries.iter() {
                if let Some(key) = entry.key.as_str() {
                    let value = in_form(&to_value(&entry.value), form);
                    let known = values.entry(key.into()).or_default();
                    let text = pystr::repr(&value);
                    if has_merge_key {
                        known.merged.entry(text.clone()).or_insert_with(|| value.clone());
                    }
                    known.all.entry(text).or_insert(value);
                }
                collect(&entry.value, form, values);
            }
        }),
    }
}
