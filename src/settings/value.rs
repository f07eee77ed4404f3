//! Values are what a configuration gives to settings: each type of a field reads its own, and says what
//! is wrong with another one.

use super::{CompatFlags, NodeNotFound, Row, Shape};
use crate::error::{Fault, Kind, Result};
use crate::value::{Text, Value};

/// How a field reads its value; the error names the setting and both types.
pub(super) trait FromValue: Sized {
    fn from_value(row: &'static Row, value: &Value) -> Result<Self>;
}

fn wrong(row: &'static Row, value: &Value, expected: &str) -> Fault {
    Fault::new(Kind::SettingType {
        name: row.name.into(),
        expected: expected.into(),
        actual: value.type_name().into(),
    })
}

/// A word that is none of the known ones, and the one that may have been meant.
pub fn not_among(name: String, word: &str, known: &[&str]) -> Fault {
    let similar = crate::similar::nearest(word, known.iter().copied()).map(str::to_owned);
    Fault::new(Kind::SettingValue { name, allowed: known.join(", "), similar })
}

/// What a word means where true or false is expected (Y8).
pub fn truth(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" | "" => Some(false),
        _ => None,
    }
}

impl FromValue for bool {
    fn from_value(row: &'static Row, value: &Value) -> Result<bool> {
        match value {
            Value::Bool(flag) => Ok(*flag),
            // Salt users write `0` and `1`, and `-z False` arrives as text (Y8).
            Value::Int(number @ (0 | 1)) => Ok(*number == 1),
            Value::Str(text) => truth(text).ok_or_else(|| wrong(row, value, "true or false").into()),
            Value::Null => Ok(false),
            _ => Err(wrong(row, value, "true or false").into()),
        }
    }
}
impl FromValue for u32 {
    fn from_value(row: &'static Row, value: &Value) -> Result<u32> {
        let number = match value {
            Value::Int(number) => u32::try_from(*number).ok(),
            Value::Str(text) => text.parse().ok(),
            _ => None,
        };
        match row.shape {
            Shape::UpTo(most) => number
                .filter(|number| (1..=most).contains(number))
                .ok_or_else(|| wrong(row, value, &format!("a whole number from 1 to {most}")).into()),
            _ => number.ok_or_else(|| wrong(row, value, "a whole number from zero on").into()),
        }
    }
}
impl FromValue for Text {
    fn from_value(row: &'static Row, value: &Value) -> Result<Text> {
        match (value, row.shape) {
            (Value::Str(text), Shape::OneOf(words)) if !words.contains(&&**text) => {
                Err(not_among(row.name.into(), text, words).into())
            }
            (Value::Str(text), _) if !text.is_empty() || row.shape != Shape::Word => Ok(text.clone()),
            (Value::Str(_), _) => Err(wrong(row, value, "a string that is not empty").into()),
            _ => Err(wrong(row, value, "a string").into()),
        }
    }
}
impl FromValue for Option<Text> {
    fn from_value(row: &'static Row, value: &Value) -> Result<Option<Text>> {
        match value {
            Value::Null | Value::Bool(false) => Ok(None),
            Value::Str(text) => Ok(Some(text.clone())),
            _ => Err(wrong(row, value, "a string").into()),
        }
    }
}
impl FromValue for Vec<Text> {
    fn from_value(row: &'static Row, value: &Value) -> Result<Vec<Text>> {
        let word = |item: &Value| match item {
            Value::Str(text) => Ok(text.clone()),
            _ => Err(wrong(row, item, "a list of strings").into()),
        };
        match value {
            Value::Null => Ok(Vec::new()),
            Value::Str(text) if row.shape == Shape::Words => Ok(vec![text.clone()]),
            Value::List(items) | Value::Tuple(items) => items.iter().map(word).collect(),
            _ => Err(wrong(row, value, "a list of strings").into()),
        }
    }
}
impl FromValue for (Text, Text) {
    fn from_value(row: &'static Row, value: &Value) -> Result<(Text, Text)> {
        if let Value::List(items) | Value::Tuple(items) = value
            && let [Value::Str(open), Value::Str(close)] = items.as_slice()
            && !open.is_empty()
            && !close.is_empty()
        {
            return Ok((open.clone(), close.clone()));
        }
        Err(wrong(row, value, "a list of two strings").into())
    }
}
impl FromValue for Value {
    fn from_value(row: &'static Row, value: &Value) -> Result<Value> {
        // As in the forks, whose `nodes_uri or 'nodes'` takes nothing for the default.
        if row.shape == Shape::Uri && matches!(value, Value::Str(text) if text.is_empty()) {
            return crate::yaml::parse_value(row.default);
        }
        if row.shape == Shape::Uri
            && !matches!(value, Value::Str(_) | Value::List(_) | Value::Tuple(_) | Value::Map(_))
        {
            return Err(wrong(row, value, "a path, a list of paths or a mapping").into());
        }
        Ok(value.clone())
    }
}
impl FromValue for CompatFlags {
    fn from_value(row: &'static Row, value: &Value) -> Result<CompatFlags> {
        let mut flags = CompatFlags::default();
        for word in Vec::<Text>::from_value(row, value)? {
            match &*word {
                "ComposeNodeNameLiteralDots" | "compose-node-name-literal-dots" => {
                    flags.split_literal_dots = true;
                }
                "NestedReferenceNullAsNull" | "nested-reference-null-as-null" => flags.null_as_null = true,
                // What is so anyway (R2).
                "NestedReferenceNullAsNone" | "nested-reference-null-as-none" => {}
                "ExpandTabs" | "expand-tabs" => flags.expand_tabs = true,
                other => {
                    let known = [
                        "ComposeNodeNameLiteralDots",
                        "NestedReferenceNullAsNull",
                        "NestedReferenceNullAsNone",
                        "ExpandTabs",
                    ];
                    return Err(not_among(row.name.into(), other, &known).into());
                }
            }
        }
        Ok(flags)
    }
}
impl FromValue for NodeNotFound {
    fn from_value(row: &'static Row, value: &Value) -> Result<NodeNotFound> {
        Ok(match &*Text::from_value(row, value)? {
            "empty" => NodeNotFound::Empty,
            "mappings" => NodeNotFound::Mappings,
            _ => NodeNotFound::Error,
        })
    }
}
