//! The thing at a place of a text.

use std::ops::Range;

use reclass::parts::model::Prefixes;
use reclass_base::path::join_path;
use reclass_base::settings::Settings;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text};
use reclass_yaml::outline::{NodeForm, Outline, OutlineEntry, OutlineNode};

/// A thing that has an answer in the inventory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// An entry of `classes`, as written.
    Class(String),
    /// A reference: its path, without a default.
    Reference(String),
    /// A key of the parameters or exports: its path without prefixes.
    Key {
        /// The path in the notation of references.
        path: String,
        /// Whether it is an export.
        export: bool,
    },
}

/// A thing and its bytes in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemAt {
    /// The thing.
    pub item: Item,
    /// Its bytes.
    pub range: Range<usize>,
}

/// A list of names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameList {
    /// `classes`.
    Classes,
    /// `applications`.
    Applications,
}

/// A name of the outline, with the names below it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The key, or the entry of a list of classes.
    pub name: String,
    /// The bytes of the key.
    pub key: Range<usize>,
    /// The bytes of key and value.
    pub range: Range<usize>,
    /// Whether its value is a mapping or a list.
    pub is_container: bool,
    /// The keys of its value.
    pub inner: Vec<Symbol>,
}

/// The thing at an offset; `None` if there is none, or if the text around a key is no YAML.
pub fn item_at(text: &str, offset: usize, settings: &Settings) -> Option<ItemAt> {
    if let Some(found) = reference_at(text, offset, settings) {
        return Some(found);
    }
    if let Some(found) = operand_at(text, offset, settings) {
        return Some(found);
    }
    let outline = Outline::read(text.as_bytes()).ok()?;
    let root = outline.root.as_ref()?;
    let mut sections = root.entries().iter();
    let classes = sections.find(|section| text.get(section.key.content..section.key.end) == Some("classes"));
    let mut listed = classes.into_iter().flat_map(|section| section.value.items());
    if let Some(entry) = listed.find(|entry| holds(&(entry.content..entry.end), offset)) {
        let item = Item::Class(scalar_text(text, entry)?);
        return Some(ItemAt { item, range: entry.content..entry.end });
    }
    keys_of(text, root, settings).into_iter().find(|key| holds(&key.range, offset))
}

/// The keys of the parameters and exports of a text, in order; none if it is no YAML.
pub fn keys_in(text: &str, settings: &Settings) -> Vec<ItemAt> {
    let outline = Outline::read(text.as_bytes()).ok();
    let root = outline.as_ref().and_then(|outline| outline.root.as_ref());
    root.map_or_else(Vec::new, |root| keys_of(text, root, settings))
}

fn keys_of(text: &str, root: &OutlineNode, settings: &Settings) -> Vec<ItemAt> {
    let prefixes = Prefixes::new(settings);
    let mut found = Vec::new();
    for section in root.entries() {
        let export = match text.get(section.key.content..section.key.end) {
            Some("parameters") => false,
            Some("exports") => true,
            _ => continue,
        };
        collect_keys(&section.value, &prefixes, &mut Vec::new(), &mut |path, range| {
            let path = join_path(path, &settings.delimiter);
            found.push(ItemAt { item: Item::Key { path, export }, range });
        });
    }
    found
}

/// The export or parameter of the node that a query names at an offset.
fn operand_at(text: &str, offset: usize, settings: &Settings) -> Option<ItemAt> {
    let (open, close) = &settings.export_sentinels;
    let query = queries_in(text, settings).into_iter().find(|query| holds(query, offset))?;
    let inside = query.start + open.len()..query.end - close.len();
    let (before, after) = (text.get(inside.start..offset)?, text.get(offset..inside.end)?);
    let start = before.rfind(char::is_whitespace).map_or(inside.start, |at| inside.start + at + 1);
    let end = after.find(char::is_whitespace).map_or(inside.end, |at| offset + at);
    let (first, path) = text[start..end].split_once(&*settings.delimiter)?;
    let item = match first.to_lowercase().as_str() {
        "exports" => Item::Key { path: path.to_owned(), export: true },
        "self" => Item::Reference(path.to_owned()),
        _ => return None,
    };
    Some(ItemAt { item, range: end - path.len()..end })
}

/// The innermost reference around an offset, if its path needs no other reference.
fn reference_at(text: &str, offset: usize, settings: &Settings) -> Option<ItemAt> {
    let start = open_reference(text, offset, settings)?;
    let (open, close) = &settings.reference_sentinels;
    let line = text[start..].lines().next().unwrap_or_default();
    let end = line.find(&**close)?;
    let inside = &line[..end];
    if inside.contains(&**open) {
        return None;
    }
    let default = format!("{0}{0}", settings.delimiter);
    let path = inside.split(&default).next().unwrap_or(inside).trim();
    (!path.is_empty()).then(|| ItemAt { item: Item::Reference(path.to_owned()), range: start..start + end })
}

/// The references of a text whose paths need no other reference, in order.
pub fn references_in(text: &str, settings: &Settings) -> Vec<ItemAt> {
    let open = &*settings.reference_sentinels.0;
    let opened = text.match_indices(open).filter(|(at, _)| !is_comment(text, *at));
    opened.filter_map(|(at, _)| reference_at(text, at + open.len(), settings)).collect()
}

/// The bytes of the queries of a text that stand in one line.
pub fn queries_in(text: &str, settings: &Settings) -> Vec<Range<usize>> {
    let (open, close) = &settings.export_sentinels;
    let opened = text.match_indices(&**open).filter(|(at, _)| !is_comment(text, *at));
    let query = |(at, _): (usize, &str)| {
        let line = text[at..].lines().next()?;
        Some(at..at + line.find(&**close)? + close.len())
    };
    opened.filter_map(query).collect()
}

/// Whether the line of an offset is a comment.
fn is_comment(text: &str, offset: usize) -> bool {
    let begin = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    text[begin..].trim_start().starts_with('#')
}

/// The offset behind the opening of the innermost reference that is open at an offset of a line.
pub fn open_reference(text: &str, offset: usize, settings: &Settings) -> Option<usize> {
    open_within(text, offset, &settings.reference_sentinels)
}

/// The offset of the word at an offset, if a query is open there.
pub fn open_query(text: &str, offset: usize, settings: &Settings) -> Option<usize> {
    let start = open_within(text, offset, &settings.export_sentinels)?;
    let word = text.get(start..offset)?.rfind(char::is_whitespace);
    Some(word.map_or(start, |at| start + at + 1))
}

fn open_within(text: &str, offset: usize, (open, close): &(Text, Text)) -> Option<usize> {
    let before = text.get(..offset)?;
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    // The cursor may stand within the opening.
    let mut opened = Vec::new();
    let mut at = begin;
    let line_end = text[offset..].find('\n').map_or(text.len(), |length| offset + length);
    while at < line_end {
        let rest = &text[at..line_end];
        if let Some(escaped) = rest.strip_prefix('\\') {
            at += 1 + escaped.chars().next().map_or(0, char::len_utf8);
        } else if rest.starts_with(&**open) && at < offset {
            at += open.len();
            opened.push(at);
        } else if at >= offset {
            break;
        } else if rest.starts_with(&**close) {
            opened.pop();
            at += close.len();
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    opened.pop()
}

/// The list whose entry is written at an offset. Looks at lines alone, because the entry is not finished.
pub fn list_at(text: &str, offset: usize) -> Option<NameList> {
    let before = text.get(..offset)?;
    let mut lines = before.rsplit('\n');
    let current = lines.next()?;
    let named = |line: &str| {
        let name = line.split(':').next()?;
        match name.trim_end() {
            "classes" => Some(NameList::Classes),
            "applications" => Some(NameList::Applications),
            _ => None,
        }
    };
    // `classes: [a, b` stands in one line.
    if let Some(list) = named(current) {
        return current.contains('[').then_some(list);
    }
    if !current.trim_start().starts_with('-') {
        return None;
    }
    let header = lines.find(|line| !line.trim().is_empty() && !line.starts_with([' ', '-', '#', '\t']));
    header.and_then(named)
}

/// The sections, keys, classes, applications and class mappings of a text; nothing if it is no YAML. It has no values of
/// parameters, so no secrets.
pub fn outline(text: &str) -> Vec<Symbol> {
    let Ok(outline) = Outline::read(text.as_bytes()) else { return Vec::new() };
    outline.root.as_ref().map_or_else(Vec::new, |root| symbols(text, root, true))
}

/// The keys of a piece of a text, with the names below them.
fn symbols(text: &str, node: &OutlineNode, is_root: bool) -> Vec<Symbol> {
    let symbol = |pair: &OutlineEntry| {
        let key = pair.key.content..pair.key.end;
        let name = text.get(key.clone()).unwrap_or_default().to_owned();
        let range = key.start..pair.value.end_of_all().max(key.end);
        let inner = if is_root && matches!(&*name, "classes" | "applications" | "class_mappings") {
            pair.value.items().iter().filter_map(|item| entry_symbol(text, item)).collect()
        } else {
            grow(|| symbols(text, &pair.value, false))
        };
        Symbol { name, key, range, is_container: is_container(&pair.value), inner }
    };
    node.entries().iter().filter(|pair| !is_container(&pair.key)).map(symbol).collect()
}

fn is_container(node: &OutlineNode) -> bool {
    matches!(
        node.form,
        NodeForm::BlockMapping(_)
            | NodeForm::FlowMapping(_)
            | NodeForm::BlockSequence(_)
            | NodeForm::FlowSequence(_)
    )
}

/// An entry of a list of names.
fn entry_symbol(text: &str, entry: &OutlineNode) -> Option<Symbol> {
    let name = scalar_text(text, entry)?;
    let range = entry.content..entry.end;
    let quote = usize::from(!matches!(entry.form, NodeForm::Plain));
    let key = range.start + quote..(range.end - quote).max(range.start + quote);
    Some(Symbol { name, key, range, is_container: false, inner: Vec::new() })
}

/// Receives the path of a key and its bytes.
type KeyVisitor<'v> = dyn FnMut(&[Key], Range<usize>) + 'v;

/// Visits the keys of a mapping and of those in it, parents first.
fn collect_keys(node: &OutlineNode, prefixes: &Prefixes, path: &mut Vec<Key>, visitor: &mut KeyVisitor<'_>) {
    for pair in node.entries() {
        let Some(name) = pair.name.text() else { continue };
        path.push(Key::from(prefixes.name(&name)));
        visitor(path, pair.key.content..pair.key.end);
        grow(|| collect_keys(&pair.value, prefixes, path, visitor));
        path.pop();
    }
}

/// The text of a scalar of one line, without quotes.
fn scalar_text(text: &str, node: &OutlineNode) -> Option<String> {
    let written = text.get(node.content..node.end)?;
    match node.form {
        NodeForm::Plain => Some(written.to_owned()),
        NodeForm::SingleQuoted | NodeForm::DoubleQuoted => Some(written.trim_matches(['\'', '"']).to_owned()),
        _ => None,
    }
}

/// Whether an offset is in a range or right behind it.
fn holds(range: &Range<usize>, offset: usize) -> bool {
    (range.start..=range.end).contains(&offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reclass_base::value::Map;

    fn at_mark(text: &str) -> Option<Item> {
        let offset = text.find("$0").expect("a mark");
        let text = text.replacen("$0", "", 1);
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        item_at(&text, offset, &settings).map(|found| found.item)
    }

    #[test]
    fn things_at_a_place() {
        let reference = |path: &str| Some(Item::Reference(path.into()));
        let key = |path: &str| Some(Item::Key { path: path.into(), export: false });
        for (text, expected) in [
            ("classes: [a.b, c$0.d]\n", Some(Item::Class("c.d".into()))),
            ("classes:\n- a\n- 'role.$0web'\n", Some(Item::Class("role.web".into()))),
            ("parameters:\n  a: 'x ${b:$0c} y ${d}'\n", reference("b:c")),
            ("parameters:\n  a: 'x ${b:c} y $0{d}'\n", None),
            ("parameters:\n  a: ${b:${c$0}}\n", reference("c")),
            ("parameters:\n  a: ${b$0:${c}}\n", None),
            ("parameters:\n  a: ${b:c$0::fallback}\n", reference("b:c")),
            ("parameters:\n  a: \\${b$0}\n", None),
            ("parameters:\n  ~ngi$0nx: {listen: 80}\n", key("nginx")),
            ("parameters:\n  nginx: {lis$0ten: 80}\n", key("nginx:listen")),
            ("exports: {a$0: 1}\n", Some(Item::Key { path: "a".into(), export: true })),
            ("environ$0ment: dev\n", None),
            (
                "parameters:\n  a: $[ exports:b$0:c if self:d == 1 ]\n",
                Some(Item::Key { path: "b:c".into(), export: true }),
            ),
            ("parameters:\n  a: $[ exports:b if exports:c == self:d$0 ]\n", reference("d")),
            ("parameters:\n  a: $[ exports:b i$0f exports:c == self:d ]\n", None),
            // A text that is no YAML has references all the same.
            ("parameters:\n  a: [${b$0}\n", reference("b")),
            ("parameters:\n  a$0: [\n", None),
        ] {
            assert_eq!(at_mark(text), expected, "{text}");
        }
    }

    #[test]
    fn lists_at_a_place() {
        for (text, expected) in [
            ("classes:\n- a\n- b", Some(NameList::Classes)),
            ("classes:\n  # roles\n  - a\n\n  - ", Some(NameList::Classes)),
            ("classes: [a, ", Some(NameList::Classes)),
            ("applications:\n- ", Some(NameList::Applications)),
            ("parameters:\n  a:\n  - ", None),
            ("classes:\n- a\nparameters:\n  x", None),
            ("classes", None),
        ] {
            assert_eq!(list_at(text, text.len()), expected, "{text}");
        }
    }
}
