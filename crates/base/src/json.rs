//! Json turns a value into the text that Python's `json.dumps` writes for it: the answers of
//! `--nodeinfo` and `--inventory`. Everything else becomes JSON through serde.
//!
//! Ruling Y7 for what Python refuses: dates are ISO 8601 strings, binary is
//! base64, sets are lists. Keys are strings always, as in Python.

use std::borrow::Cow;
use std::fmt::Write;

use crate::base64;
use crate::pieces::Pieces;
use crate::pystr;
use crate::stack::grow;
use crate::value::{Key, Value};

/// JSON as the Python programs print it: indented by two spaces if `pretty`, else on one line.
pub fn dumps(value: &Value, pretty: bool) -> String {
    let mut text = String::new();
    write(value, pretty, &mut |piece| text.push_str(piece));
    text
}

/// Like [`dumps`], in pieces: an inventory of thousands of nodes is hundreds of megabytes.
pub fn write(value: &Value, pretty: bool, sink: &mut dyn FnMut(&str)) {
    let mut writer = Writer { out: Pieces::new(sink), indent: pretty.then_some(0) };
    writer.value(value);
    writer.out.pass_on();
}

struct Writer<'s> {
    out: Pieces<'s>,
    /// Levels of indent; `None` for one line.
    indent: Option<usize>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            // Writing into a string does not fail.
            Value::Int(number) => drop(write!(*self.out, "{number}")),
            Value::BigInt(number) => drop(write!(*self.out, "{number}")),
            Value::Float(number) => self.out.push_str(&float(*number)),
            Value::Str(text) => self.string(text),
            Value::Binary(bytes) => self.string(&base64::encode(bytes)),
            Value::Date(_) | Value::DateTime(_) => self.string(&pystr::iso(value, 'T')),
            // Only containers nest, so only they need a check of the stack.
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
                grow(|| {
                    self.items('[', items.iter(), ']', |writer, item| {
                        writer.value(item);
                    });
                });
            }
            Value::Map(map) => grow(|| {
                self.items('{', map.iter(), '}', |writer, (key, value)| {
                    writer.key(key);
                    writer.out.push_str(if writer.indent.is_some() { ": " } else { ":" });
                    writer.value(value);
                });
            }),
        }
    }

    fn items<T>(
        &mut self,
        open: char,
        items: impl ExactSizeIterator<Item = T>,
        close: char,
        write: impl Fn(&mut Writer<'_>, T),
    ) {
        self.out.push(open);
        let empty = items.len() == 0;
        self.indent = self.indent.map(|levels| levels + 1);
        for (number, item) in items.enumerate() {
            if number > 0 {
                self.out.push(',');
            }
            self.line();
            write(self, item);
        }
        self.indent = self.indent.map(|levels| levels - 1);
        if !empty {
            self.line();
        }
        self.out.push(close);
    }

    fn line(&mut self) {
        let Some(levels) = self.indent else { return self.out.pass_on_if_full() };
        self.out.push('\n');
        // Here, because standard output needs a second call of the system for a piece that ends within a line.
        self.out.pass_on_if_full();
        self.out.push_spaces(levels * 2);
    }

    fn key(&mut self, key: &Key) {
        match &key.0 {
            Value::Str(text) => self.string(text),
            _ => self.string(&key_text(key)),
        }
    }

    fn string(&mut self, text: &str) {
        self.out.reserve(text.len() + 2);
        self.out.push('"');
        let mut rest = text;
        loop {
            let (plain, other) = rest.split_at(plain_length(rest.as_bytes()));
            self.out.push_str(plain);
            let mut others = other.chars();
            let Some(character) = others.next() else { break };
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\x08' => self.out.push_str("\\b"),
                '\x0c' => self.out.push_str("\\f"),
                _ => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        let _ = write!(*self.out, "\\u{unit:04x}");
                    }
                }
            }
            rest = others.as_str();
        }
        self.out.push('"');
    }
}

/// How many bytes at the beginning need no escape. The loop over a chunk has no exit: nearly all texts are short
/// and need none, and nothing is faster for them.
fn plain_length(bytes: &[u8]) -> usize {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let mut length = 0;
    for chunk in bytes.chunks(32) {
        if !chunk.iter().fold(true, |plain, byte| plain & is_plain(byte)) {
            return length + chunk.iter().take_while(|byte| is_plain(byte)).count();
        }
        length += chunk.len();
    }
    length
}

/// A key as JSON has it: a string.
pub fn key_text(key: &Key) -> Cow<'_, str> {
    Cow::Owned(match &key.0 {
        Value::Str(text) => return Cow::Borrowed(text),
        Value::Float(number) => float(*number),
        Value::Binary(bytes) => base64::encode(bytes),
        value @ (Value::Date(_) | Value::DateTime(_)) => pystr::iso(value, 'T'),
        // Numbers and the like as JSON writes them.
        other => dumps(other, false),
    })
}

/// A float as Python's `json` writes it.
pub fn float(number: f64) -> String {
    if number.is_nan() {
        "NaN".into()
    } else if number.is_infinite() {
        if number < 0.0 { "-Infinity".into() } else { "Infinity".into() }
    } else {
        pystr::float(number)
    }
}
