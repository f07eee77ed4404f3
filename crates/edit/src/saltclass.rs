//! Converts a file of saltclass into a file of reclass, and keeps every other byte.
//!
//! | saltclass                    | reclass                   |
//! |------------------------------|---------------------------|
//! | `pillars`                    | `parameters`              |
//! | `states`                     | `applications`            |
//! | `^` as the first of a list   | `~` in front of the key   |
//!
//! The result is read back, and its data must be those of the table. Nothing is guessed: a file with Jinja stays
//! as it is, and anything else that means something different in reclass is a remark.

use std::collections::BTreeMap;
use std::ops::Range;

use reclass::redact::{MASK, Redaction};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Value};
use reclass_yaml::compose::{Data, Document, Entry, Node, compose};
use reclass_yaml::to_value;

/// The item that makes a list replace the earlier one.
const REPLACE: &str = "^";

/// The beginnings of Jinja.
const JINJA: [&str; 3] = ["{%", "{{", "{#"];

/// A converted file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Conversion {
    /// The new content; `None` for a file that stays as it is, for the reason in the remarks.
    pub bytes: Option<Vec<u8>>,
    /// Whether it has Jinja, which is why it stays as it is. The remarks are the lines with it, without secrets.
    pub has_jinja: bool,
    /// Places to look at.
    pub remarks: Vec<MigrationRemark>,
}

/// A place that needs a person.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MigrationRemark {
    /// The line, from one.
    pub line: u32,
    /// The reason.
    pub text: String,
}

impl Conversion {
    fn left(remarks: Vec<MigrationRemark>) -> Conversion {
        Conversion { remarks, ..Conversion::default() }
    }
}

/// Converts the content of a file. `is_class` is whether it is a class.
pub fn convert(bytes: &[u8], is_class: bool) -> Conversion {
    let remark = |line: u32, text: &str| MigrationRemark { line, text: text.to_owned() };
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Conversion::left(vec![remark(1, "it is not UTF-8")]);
    };
    let has_jinja = |line: &str| JINJA.iter().any(|begin| line.contains(begin));
    if text.lines().any(has_jinja) {
        let shown = Redaction::standard(false).source(text);
        let shown = shown.lines().chain(std::iter::repeat(MASK));
        let remarks = (1..)
            .zip(text.lines().zip(shown))
            .filter(|(_, (line, _))| has_jinja(line))
            .map(|(number, (_, shown))| remark(number, shown.trim()))
            .collect();
        return Conversion { has_jinja: true, ..Conversion::left(remarks) };
    }
    let document = match compose(bytes) {
        Ok(document) => document,
        Err(error) => {
            let first = error.first();
            let line = first.site.as_ref().map_or(1, |site| site.line);
            return Conversion::left(vec![remark(line, &first.kind.to_string())]);
        }
    };
    let entries: &[Entry] = match &document.root {
        None | Some(Node { data: Data::Value(Value::Null), .. }) => &[],
        Some(Node { data: Data::Map(entries), .. }) => entries,
        Some(_) => return Conversion::left(vec![remark(1, "it is no mapping")]),
    };
    let mut converter = Converter { text, document: &document, edits: BTreeMap::new(), remarks: Vec::new() };
    let expected = converter.sections(entries, is_class);
    let Converter { edits, mut remarks, .. } = converter;
    remarks.sort_unstable();
    remarks.dedup();
    let mut output = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for (start, (end, replacement)) in edits {
        // Two edits of one place are of a kind that the comparison below refuses.
        output.push_str(text.get(at..start).unwrap_or_default());
        output.push_str(&replacement);
        at = at.max(end);
    }
    output.push_str(text.get(at..).unwrap_or_default());
    let is_right = compose(output.as_bytes())
        .is_ok_and(|document| document.root.as_ref().map_or(Value::Null, to_value) == expected);
    if !is_right {
        remarks.insert(0, remark(1, "it cannot be converted in place"));
        return Conversion::left(remarks);
    }
    Conversion { bytes: Some(output.into_bytes()), has_jinja: false, remarks }
}

struct Converter<'a> {
    text: &'a str,
    document: &'a Document,
    /// The edits, by the byte where each begins: its end and the new text.
    edits: BTreeMap<usize, (usize, String)>,
    remarks: Vec<MigrationRemark>,
}

impl Converter<'_> {
    fn span(&self, node: u32) -> Range<usize> {
        let span = self.document.spans.get(node as usize).copied().unwrap_or_default();
        span.start as usize..span.end as usize
    }

    fn remark(&mut self, node: u32, text: String) {
        let span = self.document.spans.get(node as usize).copied().unwrap_or_default();
        self.remarks.push(MigrationRemark { line: span.line.saturating_add(1), text });
    }

    /// Converts the top of a file, and returns its data as they should be.
    fn sections(&mut self, entries: &[Entry], is_class: bool) -> Value {
        if entries.is_empty() {
            return self.document.root.as_ref().map_or(Value::Null, to_value);
        }
        let mut sections = Map::with_capacity(entries.len());
        for entry in entries {
            let mut key = entry.key.clone();
            let value = match key.as_str() {
                Some("pillars") => {
                    key = self.rename(entry, "parameters");
                    self.value(&entry.value)
                }
                Some("states") => {
                    key = self.rename(entry, "applications");
                    self.names(
                        &entry.value,
                        '~',
                        "is removed by reclass, and has no such meaning in saltclass",
                    );
                    to_value(&entry.value)
                }
                Some("classes") => {
                    for wildcard in ['*', '?'] {
                        let message = "is a wildcard: list the classes, or set 'class_wildcards: true'";
                        self.names(&entry.value, wildcard, message);
                    }
                    to_value(&entry.value)
                }
                name => {
                    if name == Some("environment") && is_class {
                        let text = "the environment of a class means nothing: write it into the nodes";
                        self.remark(entry.key_index, text.into());
                    }
                    if matches!(name, Some("parameters" | "applications" | "exports")) {
                        let text = "reclass reads this section, and saltclass does not";
                        self.remark(entry.key_index, text.into());
                    }
                    to_value(&entry.value)
                }
            };
            sections.insert(key, value);
        }
        Value::map(sections)
    }

    fn rename(&mut self, entry: &Entry, name: &str) -> Key {
        let span = self.span(entry.key_index);
        self.edits.insert(span.start, (span.end, name.to_owned()));
        Key::from(name)
    }

    /// Remarks on names with a character that means something.
    fn names(&mut self, list: &Node, character: char, text: &str) {
        let Data::List(items) = &list.data else { return };
        for item in items.iter() {
            if let Data::Value(Value::Str(name)) = &item.data
                && (name.starts_with(character) || character != '~' && name.contains(character))
            {
                self.remark(item.index, format!("'{name}' {text}"));
            }
        }
    }

    /// Converts a value of pillars, and returns it as it should be.
    fn value(&mut self, node: &Node) -> Value {
        match &node.data {
            Data::Value(value) => {
                if value.as_str().is_some_and(|text| text.contains("$[")) {
                    self.remark(node.index, "'$[' begins an inventory query in reclass".into());
                }
                value.clone()
            }
            Data::List(items) => grow(|| Value::list(items.iter().map(|item| self.value(item)).collect())),
            Data::Map(entries) => grow(|| {
                let mut map = Map::with_capacity(entries.len());
                for entry in entries.iter() {
                    let (key, value) = self.entry(entry);
                    map.insert(key, value);
                }
                Value::map(map)
            }),
        }
    }

    /// Converts an entry of a mapping. Only lists in mappings replace others.
    fn entry(&mut self, entry: &Entry) -> (Key, Value) {
        let name = reclass_base::pystr::str(&entry.key.0);
        if name.starts_with(['~', '=']) {
            let text = format!("'{name}' begins with a prefix that means something in reclass");
            self.remark(entry.key_index, text);
        }
        let Data::List(items) = &entry.value.data else {
            return (entry.key.clone(), self.value(&entry.value));
        };
        let is_replacing =
            |item: &Node| matches!(&item.data, Data::Value(Value::Str(text)) if **text == *REPLACE);
        let Some((first, rest)) = items.split_first().filter(|(first, _)| is_replacing(first)) else {
            return (entry.key.clone(), self.value(&entry.value));
        };
        let key = self.span(entry.key_index);
        let quoted = self.text[key.clone()].starts_with(['\'', '"']);
        let start = key.start + usize::from(quoted);
        self.edits.insert(start, (start, "~".into()));
        self.remove_item(first, key.end, rest.is_empty());
        let rest = rest.iter().map(|item| self.value(item)).collect();
        (Key::from(&*format!("~{name}")), Value::list(rest))
    }

    /// Removes the first item of a list. An empty list needs brackets.
    fn remove_item(&mut self, item: &Node, key_end: usize, is_alone: bool) {
        let span = self.span(item.index);
        let line_start = self.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let after = &self.text[span.end..];
        let rest = after.split('\n').next().unwrap_or_default();
        if self.text[line_start..span.start].trim() == "-" {
            let is_blank = rest.trim().is_empty() || rest.trim_start().starts_with('#');
            let end = if is_blank { (span.end + rest.len() + 1).min(self.text.len()) } else { span.end };
            self.edits.insert(line_start, (end, String::new()));
            if is_alone && let Some(colon) = self.text[key_end..].find(':') {
                let at = key_end + colon + 1;
                self.edits.insert(at, (at, " []".into()));
            }
            return;
        }
        // In brackets, with the comma and the blanks behind it.
        let comma = after.find(|c: char| !c.is_whitespace()).filter(|at| after[*at..].starts_with(','));
        let end = comma.map_or(span.end, |comma| {
            let behind = &after[comma + 1..];
            let blanks = behind.len() - behind.trim_start_matches([' ', '\t']).len();
            span.end + comma + 1 + blanks
        });
        self.edits.insert(span.start, (end, String::new()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(text: &str) -> String {
        let conversion = convert(text.as_bytes(), true);
        String::from_utf8(conversion.bytes.unwrap_or_else(|| panic!("{:?}", conversion.remarks)))
            .expect("UTF-8")
    }

    fn remarks(text: &str) -> Vec<(u32, String)> {
        convert(text.as_bytes(), true).remarks.into_iter().map(|remark| (remark.line, remark.text)).collect()
    }

    #[test]
    fn words_and_lists_change_and_nothing_else() {
        for (text, expected) in [
            ("", ""),
            ("# only a comment\n", "# only a comment\n"),
            (
                "classes: [a]\npillars: # the data\n  a: 1\nstates:\n- x # one\n",
                "classes: [a]\nparameters: # the data\n  a: 1\napplications:\n- x # one\n",
            ),
            (
                "pillars:\n  n:\n    dns:\n      - ^   # replaces\n      - 10.0.0.9\n",
                "parameters:\n  n:\n    ~dns:\n      - 10.0.0.9\n",
            ),
            ("pillars:\n  'a b': ['^', 1, 2]\n", "parameters:\n  '~a b': [1, 2]\n"),
            ("pillars: {a: [ ^ , x ]}\n", "parameters: {~a: [ x ]}\n"),
            ("pillars: {a: [^]}\n", "parameters: {~a: []}\n"),
            ("pillars:\n  a: # none\n  - ^\n  b: 1\n", "parameters:\n  ~a: [] # none\n  b: 1\n"),
            ("pillars:\n  80:\n  - ^\n  - x", "parameters:\n  ~80:\n  - x"),
            ("pillars:\n  a: [x, ^]\n  b: [[^, y]]\n", "parameters:\n  a: [x, ^]\n  b: [[^, y]]\n"),
            ("pillars:\r\n  a:\r\n  - ^\r\n  - x\r\n", "parameters:\r\n  ~a:\r\n  - x\r\n"),
            ("pillars:\n  a: &l\n  - ^\n  - x\n  b: *l\n", "parameters:\n  ~a: &l\n  - x\n  ~b: *l\n"),
        ] {
            assert_eq!(converted(text), expected, "{text}");
        }
    }

    #[test]
    fn what_needs_a_person_is_said_with_its_line() {
        for (text, expected) in [
            ("states:\n{% if x %}\n- y\n{% endif %}\n", &[(2, "{% if x %}"), (4, "{% endif %}")][..]),
            ("pillars:\n  a: {{ minion_id }}\n", &[(2, "a: {{ minion_id }}")]),
            (
                "classes:\n- default\n- app.*\n",
                &[(3, "'app.*' is a wildcard: list the classes, or set 'class_wildcards: true'")],
            ),
            (
                "environment: dev\n",
                &[(1, "the environment of a class means nothing: write it into the nodes")],
            ),
            (
                "pillars:\n  ~a: 1\n  b: '$[ x ]'\n",
                &[
                    (2, "'~a' begins with a prefix that means something in reclass"),
                    (3, "'$[' begins an inventory query in reclass"),
                ],
            ),
            ("[a]\n", &[(1, "it is no mapping")]),
        ] {
            let expected: Vec<(u32, String)> =
                expected.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
            assert_eq!(remarks(text), expected, "{text}");
        }
        assert_eq!(convert(b"a: {{ x }}\n", false).bytes, None);
    }
}
