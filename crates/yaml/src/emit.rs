//! The emitter: a value to the text that `PyYAML` writes for it.
//!
//! Byte for byte `yaml.dump(value, Dumper=CSafeDumper, default_flow_style=not pretty)`:
//! the types and the order of the keys as in `representer.py`, anchors as in the
//! serializer of `_yaml.pyx`, the layout as in `emitter.c`. Plain lists and
//! mappings are never the same object here, so only dates, sets and tuples
//! get anchors.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::grow;
use super::layout::{Layout, NodeContext, ScalarText, analyze};
use super::order::sort_by_key;
use super::resolve::{self, Tag};
use reclass_base::base64;
use reclass_base::pystr;
use reclass_base::value::{Map, Value};

/// How to write YAML.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmitOptions {
    /// One line per entry; otherwise flow style.
    pub pretty: bool,
    /// No anchors and aliases.
    pub no_refs: bool,
}

/// The YAML text of a value, with a line break at its end.
pub fn emit(value: &Value, options: &EmitOptions) -> String {
    let mut text = String::new();
    write(value, options, &mut |piece| text.push_str(piece));
    text
}

/// Like [`emit`], in pieces.
pub fn write(value: &Value, options: &EmitOptions, sink: &mut dyn FnMut(&str)) {
    let mut emitter = Emitter { layout: Layout::new(sink), options, root: value, anchors: None };
    emitter.node(value, NodeContext::Root);
    emitter.layout.finish();
}

/// The objects that can get an anchor.
#[derive(Default)]
struct Anchors {
    /// By identity; the anchor, if the object occurs several times.
    numbers: FxHashMap<usize, Option<Anchor>>,
    last: usize,
}

#[derive(Clone, Copy)]
struct Anchor {
    number: usize,
    written: bool,
}

/// The identity of the Python object, for types that get aliases.
fn identity(value: &Value) -> Option<usize> {
    match value {
        Value::Date(date) => Some(Arc::as_ptr(date).addr()),
        Value::DateTime(time) => Some(Arc::as_ptr(time).addr()),
        // PyYAML makes no alias of an empty tuple.
        Value::Tuple(items) if items.is_empty() => None,
        Value::Set(items) | Value::Tuple(items) => Some(Arc::as_ptr(items).addr()),
        _ => None,
    }
}

impl Anchors {
    /// Numbers the objects that occur several times, in the order of their second occurrence.
    fn collect(&mut self, value: &Value) {
        if let Some(object) = identity(value) {
            if let Some(anchor) = self.numbers.get_mut(&object) {
                if anchor.is_none() {
                    self.last += 1;
                    *anchor = Some(Anchor { number: self.last, written: false });
                }
                return;
            }
            self.numbers.insert(object, None);
        }
        match value {
            Value::List(items) | Value::Tuple(items) => grow(|| {
                for item in items.iter() {
                    self.collect(item);
                }
            }),
            Value::Set(items) => grow(|| {
                for item in sorted_items(items) {
                    self.collect(item);
                }
            }),
            Value::Map(map) => grow(|| {
                for (key, value) in sorted_entries(map) {
                    self.collect(key);
                    self.collect(value);
                }
            }),
            _ => {}
        }
    }
}

fn sorted_entries(map: &Map) -> Vec<(&Value, &Value)> {
    sort_by_key(map.iter().map(|(key, value)| (&key.0, value)).collect(), |entry| entry.0)
}

fn sorted_items(items: &[Value]) -> Vec<&Value> {
    sort_by_key(items.iter().collect(), |item| *item)
}

struct Emitter<'s> {
    layout: Layout<'s>,
    options: &'s EmitOptions,
    root: &'s Value,
    /// Numbered when the first object that can get an anchor is written: mostly there is none.
    anchors: Option<Anchors>,
}

impl Emitter<'_> {
    /// The anchor of an object that occurs several times.
    fn anchor(&mut self, value: &Value) -> Option<&mut Anchor> {
        let object = identity(value)?;
        let anchors = self.anchors.get_or_insert_with(|| {
            let mut anchors = Anchors::default();
            if !self.options.no_refs {
                anchors.collect(self.root);
            }
            anchors
        });
        anchors.numbers.get_mut(&object)?.as_mut()
    }

    fn node(&mut self, value: &Value, context: NodeContext) {
        let anchor =
            self.anchor(value).map(|anchor| (anchor.number, std::mem::replace(&mut anchor.written, true)));
        if let Some((number, true)) = anchor {
            self.layout.write_alias(number, context);
            return;
        }
        let number = anchor.map(|(number, _)| number);
        match value {
            Value::List(items) | Value::Tuple(items) => {
                if let Some(number) = number {
                    self.layout.write_anchor(number);
                }
                grow(|| self.sequence(items, context));
            }
            Value::Set(items) => {
                if let Some(number) = number {
                    self.layout.write_anchor(number);
                }
                self.layout.write_tag("set");
                let entries = sorted_items(items).into_iter().map(|item| (item, &Value::Null)).collect();
                grow(|| self.mapping(entries));
            }
            Value::Map(map) => grow(|| self.mapping(sorted_entries(map))),
            _ => with_scalar(value, |scalar| {
                self.layout.write_scalar(scalar, number, context);
            }),
        }
    }

    fn sequence(&mut self, items: &[Value], context: NodeContext) {
        if items.is_empty() || !self.options.pretty {
            self.layout.write_indicator("[", true, true, false);
            let before = self.layout.increase_indent(true, false);
            self.layout.flow_level += 1;
            for (number, item) in items.iter().enumerate() {
                if number > 0 {
                    self.layout.write_indicator(",", false, false, false);
                }
                self.layout.wrap_flow();
                self.node(item, NodeContext::Item);
            }
            self.layout.flow_level -= 1;
            self.layout.restore_indent(before);
            self.layout.write_indicator("]", false, false, false);
            return;
        }
        let indentless = self.layout.is_indentless(context);
        let before = self.layout.increase_indent(false, indentless);
        for item in items {
            self.layout.write_indent();
            self.layout.write_indicator("-", true, false, true);
            self.node(item, NodeContext::Item);
        }
        self.layout.restore_indent(before);
    }

    fn mapping(&mut self, entries: Vec<(&Value, &Value)>) {
        let flow = entries.is_empty() || !self.options.pretty;
        if flow {
            self.layout.write_indicator("{", true, true, false);
            self.layout.flow_level += 1;
        }
        let before = self.layout.increase_indent(flow, false);
        for (number, (key, value)) in entries.into_iter().enumerate() {
            if flow {
                if number > 0 {
                    self.layout.write_indicator(",", false, false, false);
                }
                self.layout.wrap_flow();
            } else {
                self.layout.write_indent();
            }
            if self.write_simple_key(key) {
                self.layout.write_indicator(":", false, false, false);
            } else {
                self.layout.write_indicator("?", true, false, !flow);
                self.node(key, NodeContext::Entry);
                if flow {
                    self.layout.wrap_flow();
                } else {
                    self.layout.write_indent();
                }
                self.layout.write_indicator(":", true, false, !flow);
            }
            self.node(value, NodeContext::Entry);
        }
        self.layout.restore_indent(before);
        if flow {
            self.layout.flow_level -= 1;
            self.layout.write_indicator("}", false, false, false);
        }
    }

    /// Writes a key if it can be before a `:` on the same line.
    fn write_simple_key(&mut self, key: &Value) -> bool {
        let anchor = self.anchor(key).copied();
        let simple = match (key, anchor) {
            // Nearly all keys are texts: they are looked at once.
            (Value::Str(text), _) => {
                let scalar = string(text);
                if scalar.is_simple_key(None) {
                    self.layout.write_scalar(scalar, None, NodeContext::SimpleKey);
                    return true;
                }
                false
            }
            (_, Some(Anchor { written: true, .. })) => true,
            _ => with_scalar(key, |scalar| scalar.is_simple_key(anchor.map(|anchor| anchor.number))),
        };
        if simple {
            self.node(key, NodeContext::SimpleKey);
        }
        simple
    }
}

/// The scalar of `SafeRepresenter`.
fn with_scalar<T>(value: &Value, write: impl FnOnce(ScalarText<'_>) -> T) -> T {
    let (tag, name, text) = match value {
        Value::Str(text) => return write(string(text)),
        Value::Bool(flag) => (Tag::Bool, "bool", if *flag { "true".into() } else { "false".into() }),
        Value::Float(number) => (Tag::Float, "float", float(*number)),
        Value::Int(_) | Value::BigInt(_) => (Tag::Int, "int", pystr::str(value)),
        Value::Date(_) | Value::DateTime(_) => (Tag::Timestamp, "timestamp", pystr::iso(value, ' ')),
        Value::Binary(bytes) => (Tag::Binary, "binary", lines_of_base64(bytes)),
        Value::Null | Value::List(_) | Value::Tuple(_) | Value::Set(_) | Value::Map(_) => {
            (Tag::Null, "null", "null".into())
        }
    };
    let plain_implicit = resolve::implicit(&text) == tag;
    write(ScalarText {
        text: &text,
        analysis: analyze(&text),
        tag: name,
        plain_implicit,
        quoted_implicit: false,
        literal: tag == Tag::Binary,
    })
}

fn string(text: &str) -> ScalarText<'_> {
    let plain_implicit = resolve::implicit(text) == Tag::Str;
    let analysis = analyze(text);
    ScalarText { text, analysis, tag: "str", plain_implicit, quoted_implicit: true, literal: false }
}

/// A float as YAML 1.1 reads it: Python's `repr()` with a point before the exponent.
fn float(number: f64) -> String {
    if number.is_nan() {
        return ".nan".into();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-.inf".into() } else { ".inf".into() };
    }
    let text = pystr::float(number);
    if text.contains('.') { text } else { text.replacen('e', ".0e", 1) }
}

/// Python's `base64.encodebytes`: 76 characters a line, each with a line break.
fn lines_of_base64(bytes: &[u8]) -> String {
    bytes.chunks(57).map(|line| base64::encode(line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_value;

    #[test]
    fn as_yaml_dump() {
        let table = [
            ("{b: [1, {c: d}], a: }", true, "a: null\nb:\n- 1\n- c: d\n"),
            ("{b: [1, {c: d}], a: }", false, "{a: null, b: [1, {c: d}]}\n"),
            (
                "['yes', '1', a b, ' x', \"a\\nb\", '']",
                true,
                "- 'yes'\n- '1'\n- a b\n- ' x'\n- 'a\n\n  b'\n- ''\n",
            ),
            (
                "[&d 2001-01-01, *d, !!binary AQI=, !!set {b, a}]",
                true,
                "- &id001 2001-01-01\n- *id001\n- !!binary |\n  AQI=\n- !!set\n  a: null\n  b: null\n",
            ),
            ("[2001-01-01 01:02:03]", false, "[! '2001-01-01 01:02:03']\n"),
            (r#"["\xe9\u2028\U0001F600\t"]"#, true, "- \"\\xE9\\L\\U0001F600\\t\"\n"),
            ("[1.0e+16, .inf, 1.0e-7]", true, "- 1.0e+16\n- .inf\n- 1.0e-07\n"),
            ("{1: a, b: c}", true, "1: a\nb: c\n"),
        ];
        for (yaml, pretty, expected) in table {
            let value = parse_value(yaml).expect(yaml);
            assert_eq!(emit(&value, &EmitOptions { pretty, no_refs: false }), expected, "{yaml}");
        }
    }
}
