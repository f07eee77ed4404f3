//! Moves keys of a node or class to a new class, which the file then lists last.
//!
//! A class that is listed last comes right before the file itself, so the values are merged in the same order.
//! That is not taken for granted: all nodes are rendered with the new texts and compared. The order of the keys in a
//! mapping may change, as it does for a class that is written by hand; `diff` shows no difference either.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{Action, Change, apply_all};
use crate::rename::same_values;
use reclass::Inventory;
use reclass::parts::model::Prefixes;
use reclass::parts::storage::fs;
use reclass_base::error::concise;
use reclass_base::stack::grow;
use reclass_base::unordered::equal_unordered;
use reclass_base::value::{Key, Text, Value};
use reclass_yaml::outline::{NodeForm, Outline, OutlineEntry, OutlineNode};

/// A new class, and the file that lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extraction {
    /// The name of the class.
    pub class: String,
    /// Its file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// The new text of the file that had the keys.
    pub rest: String,
}

/// The keys below `parameters` whose lines a selection touches, and what leads to them.
struct Selected<'a> {
    /// The keys above, as written, each with the bytes of its line up to its colon.
    above: Vec<(String, &'a OutlineEntry)>,
    entries: Vec<&'a OutlineEntry>,
}

/// The name of the first key that a selection of a text would move; `None` if there is none.
pub fn movable(text: &str, selection: &Range<usize>) -> Option<String> {
    let outline = Outline::read(text.as_bytes()).ok()?;
    selected(text, &outline, selection)?.entries.first()?.name.text()
}

/// Moves the selected keys of a file of the inventory to a new class. `after` is an inventory with the same options
/// and texts, which is left with the new texts.
///
/// # Errors
///
/// The reason, as a sentence for people: the keys cannot be moved as they are written, or a value of a node would
/// change.
pub fn extract(
    inventory: &Inventory,
    after: &Inventory,
    (path, text): (&Path, &str),
    selection: &Range<usize>,
) -> Result<Extraction, String> {
    let (settings, shown) = (inventory.settings(), fs::display(path));
    let outline = Outline::read(text.as_bytes()).map_err(|error| concise(&error))?;
    let selected = selected(text, &outline, selection)
        .ok_or("no key below 'parameters' is selected, in block style".to_owned())?;
    let first = selected.entries.first().and_then(|entry| entry.name.text()).unwrap_or_default();
    let new = new_text(text, &selected)?;
    let (class, file) = free_place(inventory, path, &first)?;
    let list = vec![Value::text(class.clone())];
    let changes: Vec<Change> = std::iter::once(Change::new(&["classes"], Action::Append(list)))
        .chain(deletions(&selected))
        .collect();
    let rest = apply_all(&changes, text.as_bytes(), &shown, &Prefixes::new(settings));
    let rest = rest.map_err(|error| concise(&error))?.and_then(|bytes| String::from_utf8(bytes).ok());
    let rest = rest.ok_or("the file cannot be changed")?;
    after.set_buffer(path, Some(&rest));
    after.set_buffer(&file, Some(&new));
    let added = Text::from(class.as_str());
    same_values(inventory, after, false, &|old, new| {
        let classes = new.classes.iter().filter(|name| **name != added);
        Ok(same_but_order(&new.parameters, &old.parameters)
            && same_but_order(&new.exports, &old.exports)
            && classes.eq(old.classes.iter()))
    })?;
    Ok(Extraction { class, path: file, text: new, rest })
}

/// Whether two values are the same, but for the order of keys: a key that moves to a class is merged before those that
/// stay.
fn same_but_order(one: &Value, other: &Value) -> bool {
    equal_unordered(one, other, Key::same, Value::eq)
}

/// The innermost block mapping below `parameters` that has all of the selection, and its selected keys.
fn selected<'a>(text: &str, outline: &'a Outline, selection: &Range<usize>) -> Option<Selected<'a>> {
    let mut sections = outline.root.as_ref()?.entries().iter();
    let section = sections.find(|section| section.name.text().as_deref() == Some("parameters"))?;
    let (mut above, mut node) = (Vec::new(), &section.value);
    loop {
        let NodeForm::BlockMapping(pairs) = &node.form else { return None };
        let touched = |entry: &&OutlineEntry| {
            let lines = lines(text, entry);
            lines.start < selection.end.max(selection.start + 1) && selection.start < lines.end
        };
        let found: Vec<&OutlineEntry> = pairs.iter().filter(touched).collect();
        let [only] = found[..] else {
            return (!found.is_empty()).then_some(Selected { above, entries: found });
        };
        // A selection that begins below the line of the key is about its inner keys.
        let line_end = text[only.key.end..].find('\n').map_or(text.len(), |length| only.key.end + length);
        if selection.start <= line_end || !matches!(only.value.form, NodeForm::BlockMapping(_)) {
            return Some(Selected { above, entries: found });
        }
        above.push((text.get(only.key.start..only.key.end)?.to_owned(), only));
        node = &only.value;
    }
}

/// The bytes of the lines of an entry.
fn lines(text: &str, entry: &OutlineEntry) -> Range<usize> {
    let end = entry.value.end_of_all().max(entry.key.end);
    let begin = text[..entry.key.start].rfind('\n').map_or(0, |at| at + 1);
    // A text of several lines may end with its last line break.
    let inner = end - usize::from(text[..end].ends_with('\n'));
    begin..text[inner..].find('\n').map_or(text.len(), |length| inner + length + 1)
}

/// The text of the new class: the lines as they are, below the keys that led to them.
fn new_text(text: &str, selected: &Selected<'_>) -> Result<String, String> {
    let mut new = "parameters:\n".to_owned();
    for (_, entry) in &selected.above {
        let begin = text[..entry.key.start].rfind('\n').map_or(0, |at| at + 1);
        let line = text[begin..].lines().next().unwrap_or_default();
        if entry.key.anchor.is_some() || entry.value.anchor.is_some() {
            return Err(format!("'{}' has an anchor of YAML", line.trim()));
        }
        new.push_str(&text[begin..entry.key.end]);
        new.push_str(":\n");
    }
    for entry in &selected.entries {
        if entry.name.text().is_none() || has_anchor(&entry.key) || has_anchor(&entry.value) {
            return Err("an anchor or alias of YAML is among the keys".to_owned());
        }
        let lines = &text[lines(text, entry)];
        new.push_str(lines);
        if !lines.ends_with('\n') {
            new.push('\n');
        }
    }
    Ok(new)
}

fn has_anchor(node: &OutlineNode) -> bool {
    node.anchor.is_some()
        || grow(|| match &node.form {
            NodeForm::Alias => true,
            NodeForm::BlockMapping(pairs) | NodeForm::FlowMapping(pairs) => pairs
                .iter()
                .any(|pair| pair.name.text().is_none() || has_anchor(&pair.key) || has_anchor(&pair.value)),
            NodeForm::BlockSequence(items) | NodeForm::FlowSequence(items) => items.iter().any(has_anchor),
            _ => false,
        })
}

/// The removal of the keys. A mapping that would be empty goes as well.
fn deletions(selected: &Selected<'_>) -> Vec<Change> {
    let name = |entry: &OutlineEntry| Text::from(entry.name.text().unwrap_or_default());
    let mut keys = vec![Text::from("parameters")];
    keys.extend(selected.above.iter().map(|(_, entry)| name(entry)));
    let delete = |keys: Vec<Text>| Change { keys, action: Action::Delete };
    let mut removed = selected.entries.len();
    for depth in (0..selected.above.len()).rev() {
        if selected.above[depth].1.value.entries().len() != removed {
            break;
        }
        removed = 1;
        if depth == 0 || selected.above[depth - 1].1.value.entries().len() != 1 {
            return vec![delete(keys[..depth + 2].to_vec())];
        }
    }
    selected.entries.iter().map(|entry| delete([&keys[..], &[name(entry)]].concat())).collect()
}

/// A name that no class has, beside the class of the file, and its file.
fn free_place(inventory: &Inventory, path: &Path, key: &str) -> Result<(String, PathBuf), String> {
    let settings = inventory.settings();
    let base = settings.inventory_base_uri.as_deref();
    let roots = fs::roots(base, &settings.classes_uri, "classes_uri").map_err(|error| concise(&error))?;
    let own = roots.iter().find_map(|root| Some((root, path.strip_prefix(root).ok()?.parent()?)));
    let (root, folder) = match own {
        Some((root, folder)) => (root, folder),
        None => (roots.first().ok_or("there is no folder of classes")?, Path::new("")),
    };
    let plain: String = key.chars().map(|c| if c.is_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let plain = plain.trim_matches(['_', '-']);
    let plain = if plain.is_empty() || plain == "init" { "values" } else { plain };
    let above = folder.iter().fold(String::new(), |above, name| above + &name.to_string_lossy() + ".");
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("yml");
    for number in 1..1000 {
        let name = if number == 1 { plain.to_owned() } else { format!("{plain}_{number}") };
        let file = |ending: &str| root.join(folder).join(format!("{name}.{ending}"));
        let is_file =
            |file: PathBuf| fs::fingerprint(&file).is_ok() || inventory.text(&fs::display(&file)).is_some();
        let is_taken = ["yml", "yaml"].iter().any(|ending| is_file(file(ending)))
            || fs::fingerprint(&root.join(folder).join(&name)).is_ok();
        if !is_taken {
            return Ok((format!("{above}{name}"), file(ending)));
        }
    }
    Err(format!("too many classes have a name like '{plain}'"))
}
