//! Reads the values of settings: one implementation of [`FromValue`] per field type.
//!
//! A wrong value that the Python programs accept has the same meaning here, with a warning.

use super::{CompatFlags, NodeNotFound, SettingRow, Shape, canonical_word};
use crate::error::{Fault, Kind, Result, Warning, article};
use crate::value::{Text, Value};

/// Reads the value of a field; the error names the setting and both types.
pub(super) trait FromValue: Sized {
    fn from_value(row: &'static SettingRow, value: &Value, odd: &mut Vec<Warning>) -> Result<Self>;
}

fn wrong(row: &'static SettingRow, value: &Value, expected: &str) -> Fault {
    Fault::new(Kind::SettingType {
        name: row.name.into(),
        expected: expected.into(),
        actual: value.type_name().into(),
    })
}

/// Warns about a wrong value that is accepted.
fn warn(odd: &mut Vec<Warning>, row: &'static SettingRow, value: &Value, expected: &str, counts: &str) {
    let given = match value {
        Value::Null => "no value".to_owned(),
        Value::Str(text) => format!("the text '{text}'"),
        other => article(other.type_name()),
    };
    let message = format!("{given} counts as {counts}; it should be {expected}");
    odd.push(Warning::new(Kind::SettingOdd { name: row.name.into(), message, similar: None }));
}

/// The default, in place of null.
fn default<T: FromValue>(
    row: &'static SettingRow,
    value: &Value,
    expected: &str,
    odd: &mut Vec<Warning>,
) -> Result<T> {
    warn(odd, row, value, expected, &format!("the default, {}", row.default));
    T::from_value(row, &row.default_value(), odd)
}

/// The error for a word that is not allowed, with the nearest one that is.
pub fn unknown_word(name: String, word: &str, known: &[&str]) -> Fault {
    let similar = crate::similar::nearest(word, known.iter().copied()).map(str::to_owned);
    Fault::new(Kind::SettingValue { name, allowed: known.join(", "), similar })
}

/// Parses a boolean word (Y8).
pub fn parse_bool(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" | "null" | "none" | "~" | "" => Some(false),
        _ => None,
    }
}

/// True if the value is a list of strings for this setting.
pub(super) fn is_read(row: &'static SettingRow, value: &Value) -> bool {
    Vec::<Text>::from_value(row, value, &mut Vec::new()).is_ok()
}

/// Python's `bool(value)`.
pub(super) fn python_truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Int(number) => *number != 0,
        Value::Float(number) => *number != 0.0,
        Value::Str(text) => !text.is_empty(),
        Value::List(items) | Value::Tuple(items) => !items.is_empty(),
        Value::Map(map) => !map.is_empty(),
        _ => true,
    }
}

impl FromValue for bool {
    fn from_value(row: &'static SettingRow, value: &Value, odd: &mut Vec<Warning>) -> Result<bool> {
        let word = match value {
            Value::Bool(flag) => Some(*flag),
            // Salt users write `0` and `1`, and `-z False` arrives as text (Y8).
            Value::Int(number @ (0 | 1)) => Some(*number == 1),
            Value::Str(text) => parse_bool(text),
            Value::Null if row.default == "false" => Some(false),
            _ => None,
        };
        Ok(word.unwrap_or_else(|| {
            let flag = python_truth(value);
            warn(odd, row, value, "true or false", if flag { "true" } else { "false" });
            flag
        }))
    }
}
impl FromValue for u32 {
    fn from_value(row: &'static SettingRow, value: &Value, odd: &mut Vec<Warning>) -> Result<u32> {
        let expected = match row.shape {
            Shape::UpTo(most) => format!("a whole number from 1 to {most}"),
            _ => "a whole number from zero on".to_owned(),
        };
        let number: Option<u32> = match value {
            Value::Int(number) => u32::try_from(*number).ok(),
            Value::Str(text) => text.parse().ok(),
            Value::Null => return default(row, value, &expected, odd),
            _ => None,
        };
        let fits = |number: &u32| match row.shape {
            Shape::UpTo(most) => (1..=most).contains(number),
            _ => true,
        };
        number.filter(fits).ok_or_else(|| wrong(row, value, &expected).into())
    }
}
impl FromValue for Text {
    fn from_value(row: &'static SettingRow, value: &Value, odd: &mut Vec<Warning>) -> Result<Text> {
        if let Shape::OneOf(words) = row.shape {
            // YAML reads a bare `off` as false.
            let is = |word: &&&str| matches!(value, Value::Bool(flag) if parse_bool(word) == Some(*flag));
            return match (value, words.iter().find(is)) {
                (_, Some(word)) => Ok((*word).into()),
                (Value::Str(text), None) => match words.iter().find(|word| **word == canonical_word(text)) {
                    Some(word) => Ok((*word).into()),
                    None => Err(unknown_word(row.name.into(), text, words).into()),
                },
                (Value::Null, None) => default(row, value, "a word", odd),
                _ => Err(wrong(row, value, "a string").into()),
            };
        }
        match value {
            Value::Str(text) if !text.is_empty() => Ok(text.clone()),
            Value::Null => default(row, value, "a string", odd),
            // Python compares them with the first character of a key, and finds none or any text.
            _ if row.name.starts_with("dict_key_") => Ok(crate::pystr::str(value).into()),
            Value::Str(_) if row.name == "escape_character" => {
                warn(odd, row, value, "a character", "no character: nothing can be escaped");
                Ok("".into())
            }
            Value::Str(_) => Err(wrong(row, value, "a string that is not empty").into()),
            _ => Err(wrong(row, value, "a string").into()),
        }
    }
}
impl FromValue for Option<Text> {
    fn from_value(row: &'static SettingRow, value: &Value, _: &mut Vec<Warning>) -> Result<Option<Text>> {
        match value {
            Value::Null | Value::Bool(false) => Ok(None),
            Value::Str(text) => Ok(Some(text.clone())),
            _ => Err(wrong(row, value, "a string").into()),
        }
    }
}
impl FromValue for Vec<Text> {
    fn from_value(row: &'static SettingRow, value: &Value, odd: &mut Vec<Warning>) -> Result<Vec<Text>> {
        let expected = "a list of strings";
        let word = |item: &Value| match item {
            Value::Str(text) => Ok(text.clone()),
            _ => Err(wrong(row, item, expected).into()),
        };
        match value {
            Value::Null if row.default == "[]" => Ok(Vec::new()),
            Value::Null => default(row, value, expected, odd),
            Value::Str(text) if row.shape == Shape::Words => Ok(vec![text.clone()]),
            Value::List(items) | Value::Tuple(items) => items.iter().map(word).collect(),
            // Python goes through the characters of a text, none of which can be a mapping, unless it is a
            // space, and through the keys of a mapping.
            Value::Str(text) if row.name == "class_mappings" && !text.contains(char::is_whitespace) => {
                warn(odd, row, value, expected, "an empty list");
                Ok(Vec::new())
            }
            Value::Map(map) if row.name == "class_mappings" => {
                warn(odd, row, value, expected, "the list of its keys");
                map.keys().map(|key| word(&key.0)).collect()
            }
            _ if row.name == "class_mappings" && !python_truth(value) => {
                warn(odd, row, value, expected, "an empty list");
                Ok(Vec::new())
            }
            _ => Err(wrong(row, value, expected).into()),
        }
    }
}
impl FromValue for (Text, Text) {
    fn from_value(row: &'static SettingRow, value: &Value, odd: &mut Vec<Warning>) -> Result<(Text, Text)> {
        let expected = "a list of two strings";
        match value {
            Value::List(items) | Value::Tuple(items) => {
                if let [Value::Str(open), Value::Str(close)] = items.as_slice()
                    && !open.is_empty()
                    && !close.is_empty()
                {
                    return Ok((open.clone(), close.clone()));
                }
            }
            Value::Str(text) => {
                if let &[open, close] = text.chars().collect::<Vec<_>>().as_slice() {
                    warn(odd, row, value, expected, "its two characters");
                    return Ok((open.to_string().into(), close.to_string().into()));
                }
            }
            Value::Null => return default(row, value, expected, odd),
            _ => {}
        }
        Err(wrong(row, value, expected).into())
    }
}
impl FromValue for Value {
    fn from_value(row: &'static SettingRow, value: &Value, odd: &mut Vec<Warning>) -> Result<Value> {
        let expected = "a path, a list of paths or a mapping";
        match value {
            _ if row.shape != Shape::Uri => Ok(value.clone()),
            // As in the forks, whose `nodes_uri or 'nodes'` takes nothing for the default.
            Value::Str(text) if text.is_empty() => Ok(row.default_value()),
            _ if !python_truth(value) => default(row, value, expected, odd),
            Value::Str(_) | Value::List(_) | Value::Tuple(_) | Value::Map(_) => Ok(value.clone()),
            _ => Err(wrong(row, value, expected).into()),
        }
    }
}
impl FromValue for CompatFlags {
    fn from_value(row: &'static SettingRow, value: &Value, odd: &mut Vec<Warning>) -> Result<CompatFlags> {
        const KNOWN: [&str; 4] = [
            "ComposeNodeNameLiteralDots",
            "NestedReferenceNullAsNull",
            "NestedReferenceNullAsNone",
            "ExpandTabs",
        ];
        let mut flags = CompatFlags::default();
        for word in Vec::<Text>::from_value(row, value, odd)? {
            // reclass-rs accepts its flags in these three spellings.
            match word.replace('_', "-").as_str() {
                "ComposeNodeNameLiteralDots" | "compose-node-name-literal-dots" => {
                    flags.split_literal_dots = true;
                }
                "NestedReferenceNullAsNull" | "nested-reference-null-as-null" => flags.null_as_null = true,
                "NestedReferenceNullAsNone" | "nested-reference-null-as-none" => flags.null_as_none = true,
                "ExpandTabs" | "expand-tabs" => flags.expand_tabs = true,
                _ => {
                    let message = format!("there is no flag '{word}'; it does not count");
                    let similar = crate::similar::nearest(&word, KNOWN).map(str::to_owned);
                    let kind = Kind::SettingOdd { name: row.name.into(), message, similar };
                    odd.push(Warning::new(kind));
                }
            }
        }
        Ok(flags)
    }
}
impl FromValue for NodeNotFound {
    fn from_value(row: &'static SettingRow, value: &Value, odd: &mut Vec<Warning>) -> Result<NodeNotFound> {
        Ok(match &*Text::from_value(row, value, odd)? {
            "empty" => NodeNotFound::Empty,
            "mappings" => NodeNotFound::Mappings,
            _ => NodeNotFound::Error,
        })
    }
}
