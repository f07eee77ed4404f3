//! Renders a new value as people write it, while `yaml::emit` writes as `PyYAML` does.
//!
//! Strings are plain if possible, lists and mappings are blocks, characters outside of ASCII are not
//! escaped, long lines are not folded, text of several lines is a literal block.

use std::fmt::Write as _;

use super::layout::Indentation;
use super::splice::Refusal;
use reclass_base::base64;
use reclass_base::pystr;
use reclass_base::stack::grow;
use reclass_base::value::{Map, Value};
use reclass_yaml::emit::{EmitOptions, emit};
use reclass_yaml::{is_break, parse_value};

/// The style of lists and mappings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CollectionStyle {
    /// One line per item.
    Block,
    /// All on one line.
    Flow,
}

/// The quotes of strings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QuoteStyle {
    /// Only if they are needed.
    Needed,
    Single,
    Double,
}

/// A value as text: the rest of the line of its key, and the lines below.
#[derive(Debug, Default)]
pub(super) struct RenderedValue {
    pub(super) head: String,
    pub(super) lines: Vec<String>,
}

/// A value whose key is at `column`.
pub(super) fn value(
    value: &Value,
    column: usize,
    indentation: &Indentation,
    style: CollectionStyle,
    quotes: QuoteStyle,
) -> Result<RenderedValue, Refusal> {
    if style == CollectionStyle::Flow {
        return Ok(RenderedValue { head: flow(value, quotes)?, lines: Vec::new() });
    }
    match value {
        Value::Map(map) if !map.is_empty() => Ok(RenderedValue {
            head: String::new(),
            lines: block(value, column + indentation.step, indentation)?,
        }),
        Value::List(items) if !items.is_empty() => Ok(RenderedValue {
            head: String::new(),
            lines: block(value, column + indentation.list, indentation)?,
        }),
        Value::Str(text) if quotes == QuoteStyle::Needed && is_literal(text) => {
            let (head, body) = match text.strip_suffix('\n') {
                Some(body) => ("|", body),
                None => ("|-", &**text),
            };
            let indent = " ".repeat(column + indentation.step);
            let line = |line: &str| if line.is_empty() { String::new() } else { format!("{indent}{line}") };
            Ok(RenderedValue { head: head.into(), lines: body.split('\n').map(line).collect() })
        }
        Value::List(_) | Value::Map(_) => Ok(RenderedValue { head: flow(value, quotes)?, lines: Vec::new() }),
        scalar => Ok(RenderedValue { head: self::scalar(scalar, false, quotes)?, lines: Vec::new() }),
    }
}

/// An entry of a block mapping at `column`.
pub(super) fn entry(
    key: &Value,
    value: &Value,
    column: usize,
    indentation: &Indentation,
    style: CollectionStyle,
) -> Result<Vec<String>, Refusal> {
    let RenderedValue { head, lines } = self::value(value, column, indentation, style, QuoteStyle::Needed)?;
    let gap = if head.is_empty() { "" } else { " " };
    let first = format!("{}{}:{gap}{head}", " ".repeat(column), scalar(key, true, QuoteStyle::Needed)?);
    Ok([vec![first], lines].concat())
}

/// The lines of a list or mapping at `column`, which is not empty.
fn block(value: &Value, column: usize, indentation: &Indentation) -> Result<Vec<String>, Refusal> {
    let mut lines = Vec::new();
    match value {
        Value::Map(map) => grow(|| {
            for (key, value) in map.iter() {
                lines.extend(entry(&key.0, value, column, indentation, CollectionStyle::Block)?);
            }
            Ok(())
        })?,
        Value::List(items) => grow(|| {
            for item in items.iter() {
                lines.extend(self::item(item, column, indentation, CollectionStyle::Block)?);
            }
            Ok(())
        })?,
        _ => {}
    }
    Ok(lines)
}

/// An item of a block sequence at `column`.
pub(super) fn item(
    value: &Value,
    column: usize,
    indentation: &Indentation,
    style: CollectionStyle,
) -> Result<Vec<String>, Refusal> {
    let indent = " ".repeat(column);
    let parts = match value {
        Value::Map(map) => map.len(),
        Value::List(items) => items.len(),
        _ => 0,
    };
    if parts > 0 && style == CollectionStyle::Block {
        // The `-` replaces the indent of the first line.
        let mut lines = block(value, column + 2, indentation)?;
        if let Some(first) = lines.first_mut() {
            *first = format!("{indent}- {}", first.trim_start_matches(' '));
        }
        return Ok(lines);
    }
    let RenderedValue { head, lines } = self::value(value, column, indentation, style, QuoteStyle::Needed)?;
    Ok([vec![format!("{indent}- {head}")], lines].concat())
}

/// A value on one line, in flow style.
pub(super) fn flow(value: &Value, quotes: QuoteStyle) -> Result<String, Refusal> {
    let list = |items: &[Value]| -> Result<String, Refusal> {
        let items: Result<Vec<String>, Refusal> =
            items.iter().map(|item| flow(item, QuoteStyle::Needed)).collect();
        Ok(items?.join(", "))
    };
    grow(|| match value {
        Value::List(items) => Ok(format!("[{}]", list(items)?)),
        Value::Map(map) => flow_map(map),
        scalar => self::scalar(scalar, true, quotes),
    })
}

fn flow_map(map: &Map) -> Result<String, Refusal> {
    let mut entries = Vec::with_capacity(map.len());
    for (key, value) in map {
        entries.push(flow_entry(&key.0, value)?);
    }
    Ok(format!("{{{}}}", entries.join(", ")))
}

pub(super) fn flow_entry(key: &Value, value: &Value) -> Result<String, Refusal> {
    Ok(format!("{}: {}", scalar(key, true, QuoteStyle::Needed)?, flow(value, QuoteStyle::Needed)?))
}

fn scalar(value: &Value, in_flow: bool, quotes: QuoteStyle) -> Result<String, Refusal> {
    Ok(match value {
        Value::Str(text) => string(text, in_flow, quotes),
        Value::Date(_) | Value::DateTime(_) => pystr::iso(value, ' '),
        Value::Binary(bytes) => format!("!!binary \"{}\"", base64::encode(bytes)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
            let options = EmitOptions { pretty: true, no_refs: true };
            emit(value, &options).trim_end().to_owned()
        }
        _ => {
            return Err(Refusal::new(format!(
                "{} cannot be written",
                reclass_base::error::article(value.type_name())
            )));
        }
    })
}

/// A string, in quotes if it needs them or if they are wanted.
fn string(text: &str, in_flow: bool, quotes: QuoteStyle) -> String {
    let single = text.chars().all(is_shown);
    match quotes {
        QuoteStyle::Needed if single && is_plain(text, in_flow) => text.to_owned(),
        QuoteStyle::Needed | QuoteStyle::Single if single => format!("'{}'", text.replace('\'', "''")),
        _ => double_quoted(text),
    }
}

/// True if the text needs no quotes. Unusual texts get quotes even if YAML does not need them.
fn is_plain(text: &str, in_flow: bool) -> bool {
    let odd_start =
        text.starts_with(|first: char| "-?:,[]{}#&*!|>'\"%@`=~<.".contains(first) || first == ' ');
    let odd_end = text.ends_with([' ', ':']);
    let odd_inside = text.contains(": ") || text.contains(" #");
    // PyYAML without libyaml reads `?` as the start of a key.
    let odd_in_flow = in_flow && text.contains([',', '[', ']', '{', '}', ':', '#', '?']);
    !(text.is_empty() || odd_start || odd_end || odd_inside || odd_in_flow)
        && parse_value(text).is_ok_and(|value| value == Value::text(text))
}

/// True if a text of several lines can be a literal block.
fn is_literal(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.ends_with("\n\n")
        && text.chars().all(|character| is_shown(character) || character == '\n')
}

/// True if a character needs no escape.
fn is_shown(character: char) -> bool {
    !character.is_control()
        && !is_break(character)
        && !matches!(character, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
}

fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            shown if is_shown(shown) => out.push(shown),
            other => {
                let code = u32::from(other);
                let (letter, width) = if code <= 0xffff { ('u', 4) } else { ('U', 8) };
                // Writing to a string cannot fail.
                let _ = write!(out, "\\{letter}{code:0width$x}");
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use reclass_yaml::outline::Outline;

    #[test]
    fn values_are_read_back() {
        let indentation = Indentation::of("", &Outline::default());
        let short = [
            "", " ", "a", "a b", "yes", "No", "12", "1e3", "1_0", "0x1f", "~", "null", "=", "<<", "a: b",
            "a #b", "#a", "a:", "- a", "-", "[", "{a}", "it's", "\"", "\\", "a\nb", "a\nb\n", "\na", " a\nb",
            "a\n\n", "\t", "a\tb", "größe", "\u{85}", "\u{2028}", "%a", "@a", "`a", "${a:b}", "a,b", "---",
            "...", "!x", "&x", "*x", "?", "? a", "|", ">", "a\r\nb", "\u{7f}", "1:30", "0o14", "014", ".5",
            "+1", "y", "n", "on", "a ", "'", "''", "a'b\"c",
        ];
        let long = ["http://x:80/?a=b", "a\n\n b\n", "\u{1f600}", "\u{202e}x", "2001-01-01", "\u{feff}a"];
        for text in short.into_iter().chain(long) {
            let wanted = Value::text(text);
            for style in [CollectionStyle::Block, CollectionStyle::Flow] {
                for quotes in [QuoteStyle::Needed, QuoteStyle::Single, QuoteStyle::Double] {
                    let RenderedValue { head, lines } =
                        value(&wanted, 2, &indentation, style, quotes).expect("strings can be written");
                    let written = format!("  x: {}\n{}\n", head, lines.join("\n"));
                    let found = parse_value(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
                    assert_eq!(found.as_map().and_then(|map| map.get("x")), Some(&wanted), "{written:?}");
                }
            }
            let key = format!("{}: 1", string(text, true, QuoteStyle::Needed));
            let found = parse_value(&key).unwrap_or_else(|error| panic!("{key}: {error}"));
            assert_eq!(found.as_map().and_then(|map| map.get(text)), Some(&Value::Int(1)), "{key:?}");
        }
    }

    #[test]
    fn as_people_write() {
        let indentation = Indentation { step: 2, list: 0 };
        let wanted = parse_value("{a: [1, {b: 'x\n\n  y', c: [], d: {}}, [2, 3]], 'yes': 'no', e: größe}")
            .expect("YAML");
        let RenderedValue { head, lines } =
            value(&wanted, 0, &indentation, CollectionStyle::Block, QuoteStyle::Needed)
                .expect("can be written");
        assert_eq!(head, "");
        let expected = [
            "  a:",
            "  - 1",
            "  - b: |-",
            "      x",
            "      y",
            "    c: []",
            "    d: {}",
            "  - - 2",
            "    - 3",
            "  'yes': 'no'",
            "  e: größe",
        ];
        assert_eq!(lines, expected);
    }
}
