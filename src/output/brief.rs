//! Writes values as one line of text in flow style. A long value is cut, and two values are cut around their
//! difference. A value requested alone keeps all of its lines.

use std::fmt::Write as _;

use reclass_base::error::inert;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};

/// Maximum width of a value on a line, in characters.
const WIDTH: usize = 96;

/// Number of common characters shown before the difference of two values.
const BEFORE: usize = 32;

/// A value on one line; a long one is cut.
pub fn brief(value: &Value) -> String {
    excerpt(&Flow::of(value, WIDTH * 8).text, 0)
}

/// Two values, each on one line. If they differ only beyond the cut, both begin a few characters before the
/// first difference. So different values always look different.
pub fn briefs(old: &Value, new: &Value) -> (String, String) {
    if old == new {
        return (brief(old), brief(new));
    }
    let mut limit = WIDTH * 8;
    let (old_flow, new_flow, same) = loop {
        let (old_flow, new_flow) = (Flow::of(old, limit), Flow::of(new, limit));
        let chars = old_flow.text.char_indices().zip(new_flow.text.chars());
        let same = chars.take_while(|((_, old), new)| old == new).last();
        let same = same.map_or(0, |((at, last), _)| at + last.len_utf8());
        let is_enough = |flow: &Flow| flow.whole || flow.text[same..].chars().nth(WIDTH).is_some();
        if is_enough(&old_flow) && is_enough(&new_flow) {
            break (old_flow, new_flow, same);
        }
        limit = limit.saturating_mul(8);
    };
    let is_short = [&old_flow, &new_flow].iter().all(|flow| flow.text.chars().nth(WIDTH).is_none());
    let common = &old_flow.text[..same];
    let start = match common.char_indices().rev().nth(BEFORE - 1) {
        Some((start, _)) if !is_short && common.chars().nth(WIDTH - BEFORE).is_some() => start,
        _ => 0,
    };
    // An escape sequence is not cut in the middle.
    let start = start - usize::from(common[..start].ends_with('\\'));
    let mut pieces = [&old_flow, &new_flow].map(|flow| excerpt(&flow.text, start));
    // The texts are equal but the types are not, as with bytes and a string with their base64 form.
    if old_flow.text == new_flow.text && old.type_name() != new.type_name() {
        for (piece, value) in pieces.iter_mut().zip([old, new]) {
            let _ = write!(piece, " ({})", value.type_name());
        }
    }
    let [old, new] = pieces;
    (old, new)
}

/// All of a value on one line. A text of several lines becomes a block scalar indicator, as in YAML, and its
/// lines.
pub fn whole(value: &Value) -> (String, Vec<String>) {
    match value {
        Value::Str(text) if text.trim_end_matches('\n').contains('\n') => {
            let (mark, text) = match text.strip_suffix('\n') {
                None => ("|-", &**text),
                Some(rest) => (if rest.ends_with('\n') { "|+" } else { "|" }, rest),
            };
            (mark.to_owned(), text.split('\n').map(inert).collect())
        }
        _ => (Flow::of(value, usize::MAX).text, Vec::new()),
    }
}

/// A line of text from an offset on; a long one is cut.
fn excerpt(text: &str, start: usize) -> String {
    let (before, quote) = match start {
        0 => ("", ""),
        _ => ("…", if text.starts_with('"') { "\"" } else { "" }),
    };
    let rest = &text[start..];
    match rest.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{quote}{before}{}…{quote}", &rest[..end]),
        None => format!("{quote}{before}{rest}"),
    }
}

/// The beginning of a value in flow style.
struct Flow {
    text: String,
    /// Number of bytes that are enough.
    limit: usize,
    /// Whether the text is the whole value.
    whole: bool,
}

impl Flow {
    /// At least this many bytes of a value, if it has them.
    fn of(value: &Value, limit: usize) -> Flow {
        let mut flow = Flow { text: String::new(), limit, whole: true };
        flow.value(value);
        flow
    }

    /// Whether there is enough text. The rest would be cut, so it is not written.
    fn is_full(&mut self) -> bool {
        let full = self.text.len() > self.limit;
        self.whole &= !full;
        full
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Bool(flag) => self.text.push_str(if *flag { "true" } else { "false" }),
            Value::Str(text) if is_plain(text) => self.text.push_str(text),
            Value::Str(text) => self.quoted(text),
            Value::Map(map) => {
                self.text.push('{');
                for (index, (key, value)) in map.iter().enumerate() {
                    if self.is_full() {
                        return;
                    }
                    self.text.push_str(if index > 0 { ", " } else { "" });
                    self.key(key);
                    self.text.push_str(": ");
                    grow(|| self.value(value));
                }
                self.text.push('}');
            }
            Value::List(list) | Value::Tuple(list) | Value::Set(list) => {
                self.text.push('[');
                for (index, value) in list.iter().enumerate() {
                    if self.is_full() {
                        return;
                    }
                    self.text.push_str(if index > 0 { ", " } else { "" });
                    grow(|| self.value(value));
                }
                self.text.push(']');
            }
            Value::Date(_) | Value::DateTime(_) => self.text.push_str(&reclass_base::pystr::iso(value, 'T')),
            Value::Binary(bytes) => self.text.push_str(&reclass_base::base64::encode(bytes)),
            Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
                self.text.push_str(&reclass_base::pystr::str(value));
            }
        }
    }

    /// A key as in paths. A text that reads as another type is quoted.
    fn key(&mut self, key: &Key) {
        match &key.0 {
            Value::Str(text) if is_read_otherwise(text) => self.quoted(text),
            other => self.text.push_str(&inert(&reclass_base::pystr::str(other))),
        }
    }

    fn quoted(&mut self, text: &str) {
        let text = inert(&text.replace('\\', "\\\\")).replace('"', "\\\"");
        let _ = write!(self.text, "\"{text}\"");
    }
}

/// Whether an unquoted key reads as something other than text.
fn is_read_otherwise(text: &str) -> bool {
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "+-._:".contains(c));
    text == "None" || (is_word && !matches!(reclass_yaml::parse_value(text), Ok(Value::Str(_))))
}

/// Whether a string needs no quotes: neither YAML nor a person reads it as another value.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.starts_with(['"', '\'', '[', '{', '&', '!', '|', '>', '%', '@', '`', '#'])
        && !text.contains([',', ']', '}', '\n', '\t', '\r', '"'])
        && inert(text) == text
        && matches!(reclass_yaml::parse_value(text), Ok(Value::Str(same)) if *same == *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::text(text)
    }

    #[test]
    fn what_is_shown_of_two_values_differs_where_they_do() {
        let long = "a".repeat(200);
        let lines = |size: &str| {
            let begin = "server {\n".to_owned() + &"  location / { return 404; }\n".repeat(9);
            text(&format!("{begin}  client_max_body_size {size};\n  keepalive_timeout 5;\n}}\n"))
        };
        let list = |last: i64| {
            let items = (0..60).chain([last]).map(Value::Int);
            Value::list(items.collect())
        };
        for (old, new, shown) in [
            (text("a"), text("b"), ("a", "b")),
            (
                lines("1m"),
                lines("20m"),
                (
                    "\"… 404; }\\n  client_max_body_size 1m;\\n  keepalive_timeout 5;\\n}\\n\"",
                    "\"… 404; }\\n  client_max_body_size 20m;\\n  keepalive_timeout 5;\\n}\\n\"",
                ),
            ),
            (
                text(&long),
                text(&format!("{long}b")),
                ("…aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "…aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"),
            ),
            (
                list(1),
                list(2),
                ("…52, 53, 54, 55, 56, 57, 58, 59, 1]", "…52, 53, 54, 55, 56, 57, 58, 59, 2]"),
            ),
            (text("YWI="), Value::Binary(b"ab".to_vec().into()), ("YWI= (string)", "YWI= (binary)")),
            (text("a,\\n"), text("a,\n"), ("\"a,\\\\n\"", "\"a,\\n\"")),
        ] {
            let (before, now) = briefs(&old, &new);
            assert_eq!((&*before, &*now), shown);
        }
    }

    #[test]
    fn a_difference_far_behind_is_shown() {
        let value = |end: &str| text(&("line\n".repeat(100_000) + end + &"\nline".repeat(1000)));
        let (old, new) = briefs(&value("old"), &value("new"));
        assert!(old.starts_with("\"…\\nline") && old.contains("\\nold\\n"), "{old}");
        assert_eq!(old.replace("old", "new"), new);
    }

    #[test]
    fn keys_that_are_texts_are_no_numbers() {
        let map = |key: Value| Value::map([(Key(key), Value::Int(1))].into_iter().collect());
        assert_eq!(brief(&map(Value::Int(1))), "{1: 1}");
        assert_eq!(brief(&map(text("1"))), "{\"1\": 1}");
        assert_eq!(brief(&map(text("a b"))), "{a b: 1}");
    }

    #[test]
    fn all_of_a_text_has_its_lines() {
        let lines = |value: &str| {
            let (mark, lines) = whole(&text(value));
            format!("{mark} {}", lines.join("/"))
        };
        assert_eq!(lines("a\n\nb\u{1b}\n"), "| a//b\\u{1b}");
        assert_eq!(lines("a\nb"), "|- a/b");
        assert_eq!(lines("a\nb\n\n"), "|+ a/b/");
        assert_eq!(lines("a\n"), "\"a\\n\" ");
    }
}
