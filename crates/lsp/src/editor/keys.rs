//! The key that somebody is writing, and the keys that other files and schemas have at the same path.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::editor::names::InventoryNames;
use reclass::Inventory;
use reclass::parts::engine::NodeRequest;
use reclass::parts::model::{Layer, MapSlot, Prefixes, Slot};
use reclass::redact::Redaction;
use reclass_analysis::schema::{Description, Schemas};
use reclass_base::secrets::Secrets;
use reclass_base::settings::Settings;
use reclass_base::value::{Key, Text, Value};

/// The place of a key that is not finished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyPlace {
    /// Whether it is below `exports`.
    pub export: bool,
    /// The keys above it, without prefixes.
    pub path: Vec<Text>,
    /// The keys beside it, without prefixes.
    pub beside: BTreeSet<String>,
    /// The offset of its first character, behind its prefixes.
    pub start: usize,
}

/// A key that files of the inventory have at one path.
#[derive(Clone, PartialEq, Debug)]
pub struct KnownKey {
    /// The names of the nodes and classes whose files have it.
    pub files: Vec<Text>,
    /// Whether its value is a mapping in the first of them.
    pub is_mapping: bool,
    /// Its value in the first of them, if it is a scalar without references.
    pub value: Option<Value>,
}

/// The key of a block mapping that is written at an offset; `None` elsewhere. Looks at lines alone, because the
/// text is not finished.
pub fn key_place_at(text: &str, offset: usize, settings: &Settings) -> Option<KeyPlace> {
    let prefixes = Prefixes::new(settings);
    let before = text.get(..offset)?;
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let current = &before[begin..];
    let written = current.trim_start_matches(' ');
    let mut indent = current.len() - written.len();
    let is_key = |c: char| c.is_alphanumeric() || "-_.~=".contains(c);
    if indent == 0 || !written.chars().all(is_key) || written.starts_with('-') {
        return None;
    }
    let start = offset - prefixes.name(written).len();
    let key_of = |line: &str| {
        let (key, rest) = line.trim_start().split_once(':')?;
        let rest = rest.trim_start();
        let opens = rest.is_empty() || rest.starts_with(['#', '&']);
        Some((prefixes.name(key.trim_matches(['\'', '"'])).to_owned(), opens))
    };
    let counts = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let own = indent;
    let mut beside = BTreeSet::new();
    let after = text[offset..].split('\n').skip(1).filter(counts);
    let below = after.take_while(|line| depth(line) >= own).filter(|line| depth(line) == own);
    beside.extend(below.filter_map(|line| Some(key_of(line)?.0)));
    let mut path = Vec::new();
    for line in before[..begin].lines().rev().filter(counts) {
        let (inner, key) = (depth(line), key_of(line));
        if inner == own && path.is_empty() {
            beside.extend(key.map(|(key, _)| key));
        } else if inner < indent {
            // A list, a text of several lines, or a key with a value: there are no keys below it.
            let (key, _) =
                key.filter(|(_, opens)| *opens).filter(|_| !line.trim_start().starts_with("- "))?;
            indent = inner;
            if inner == 0 {
                path.reverse();
                let export = key == "exports";
                return (export || key == "parameters").then_some(KeyPlace { export, path, beside, start });
            }
            path.push(Text::from(key));
        }
    }
    None
}

impl InventoryNames {
    /// The keys that files had at a path when the inventory was last checked, without secrets.
    pub fn keys_at(&self, place: &KeyPlace, redaction: &Redaction) -> BTreeMap<Text, KnownKey> {
        let mut found: BTreeMap<Text, KnownKey> = BTreeMap::new();
        for file in self.files.values() {
            let Some(layer) = &file.layer else { continue };
            let redaction = redaction.within(layer);
            let inner = below(layer, place.export, &place.path);
            for (key, slot) in inner.into_iter().flat_map(|map| map.entries.iter()) {
                let Some(name) = key.as_str().filter(|name| !place.beside.contains(*name)) else { continue };
                let known = found.entry(Text::from(name)).or_insert_with(|| KnownKey {
                    files: Vec::new(),
                    is_mapping: mapping(slot).is_some()
                        || matches!(plain(slot), Slot::Value(Value::Map(_), _)),
                    value: match plain(slot) {
                        Slot::Value(Value::Map(_) | Value::List(_), _) => None,
                        Slot::Value(value, origin) => {
                            let path = place.path.iter().cloned().chain([Text::from(name)]).map(Key::from);
                            let path: Vec<Key> = path.collect();
                            let cover = redaction.secrets.at_place(redaction.secrets.at(&path), *origin);
                            Some(redaction.secrets.hide(value, cover, &|_| false))
                        }
                        _ => None,
                    },
                });
                known.files.push(file.name.clone());
            }
        }
        found
    }
}

/// The keys that schemas know at the place of a key, for a node that has the file, with what they say about each.
pub fn schema_keys(inventory: &Inventory, node: &str, place: &KeyPlace) -> BTreeMap<String, Description> {
    let path: Vec<String> = place.path.iter().map(ToString::to_string).collect();
    let found = inventory.inspect(|computation| {
        let Ok(Some(schemas)) = Schemas::of_computation(computation) else { return BTreeMap::new() };
        // A text that is not finished may break the node. A schema for some classes is left out then.
        let layers = computation.layers(NodeRequest::plain(node)).ok();
        let classes = layers.map_or_else(|| Arc::from([]), |layers| layers.linearization.classes());
        let classes = classes.iter().map(|class| &**class).collect();
        let scope = schemas.scope([(node, classes)]);
        let mut keys = schemas.keys_below(&scope, &path, &Secrets::of(computation.settings));
        keys.retain(|name, _| !place.beside.contains(name));
        keys
    });
    if place.export { BTreeMap::new() } else { found.unwrap_or_default() }
}

/// The mapping that a file has at a path.
pub fn below<'l>(layer: &'l Layer, export: bool, path: &[Text]) -> Option<&'l MapSlot> {
    let root = if export { &layer.exports } else { &layer.parameters };
    path.iter().try_fold(&**root, |map, key| mapping(map.entries.get(&Key::from(key.clone()))?))
}

/// A value without its prefixes.
pub(super) fn plain(slot: &Slot) -> &Slot {
    match slot {
        Slot::Stack(stack) => stack.entries.last().map_or(slot, |entry| &entry.slot),
        slot => slot,
    }
}

pub(super) fn mapping(slot: &Slot) -> Option<&MapSlot> {
    match plain(slot) {
        Slot::Map(map) => Some(map),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reclass_base::value::Map;

    #[test]
    fn the_path_of_a_key_that_is_written() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        for (text, expected) in [
            ("parameters:\n  ng$0\n", Some("ng|")),
            ("parameters:\n  a: 1\n  b:\n    # c\n    d: 1\n\n    $0\n    e: 2\n  f: 3\n", Some("|b|d e")),
            ("parameters:\n  ~a:\n    'b':\n      ~c$0", Some("c|a b")),
            ("exports:\n  a$0", Some("a|")),
            ("parameters:\n  a: 1\n    b$0", None),
            ("parameters:\n  a:\n  - b\n  - c$0", None),
            ("parameters:\n  a:\n  - b:\n      c$0", None),
            ("classes:\n  a$0", None),
            ("para$0", None),
            ("parameters:\n  a: b$0", None),
        ] {
            let offset = text.find("$0").expect("a mark");
            let text = text.replacen("$0", "", 1);
            let found = key_place_at(&text, offset, &settings).map(|place| {
                let beside: Vec<&str> = place.beside.iter().map(String::as_str).collect();
                let shown =
                    format!("{}|{}|{}", &text[place.start..offset], place.path.join(" "), beside.join(" "));
                shown.trim_end_matches('|').to_owned()
            });
            let expected = expected.map(|text| text.trim_end_matches('|').to_owned());
            assert_eq!(found, expected, "{text}");
        }
    }
}
