//! Brings values to the form in which the old ones were recorded, so that only differences of meaning remain.
//!
//! | form   | what it cannot keep                                                                  |
//! |--------|--------------------------------------------------------------------------------------|
//! | YAML   | tuples                                                                               |
//! | JSON   | tuples and sets, dates, binary data, the types of keys, numbers that are not finite  |
//! | pillar | the same, and what Salt's wire changes before ([`wire`](reclass::parts::output::wire))        |
//!
//! The order of keys has no meaning, so keys are sorted.

use num_bigint::BigInt;

use reclass::parts::output::wire::carry;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Value};
use reclass_base::{base64, json, pystr};

/// The form of recorded values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OldForm {
    /// YAML, as the Python programs print it.
    Yaml,
    /// JSON, as the Python programs print it.
    Json,
    /// JSON of the pillar of a minion.
    Pillar,
}

impl OldForm {
    /// The source of the settings of the old answers, in words.
    pub(super) fn settings(self) -> &'static str {
        match self {
            OldForm::Pillar => "the configuration of the master that gave the pillars",
            OldForm::Yaml | OldForm::Json => "the configuration file that the old program read",
        }
    }
}

/// A value of this program in this form. One that Salt's wire cannot carry stays as it is.
pub(super) fn in_form(value: &Value, form: OldForm) -> Value {
    match carry(value, "", ":") {
        Ok(carried) if form == OldForm::Pillar => normal(&carried, form),
        _ => normal(value, form),
    }
}

pub(super) fn normal(value: &Value, form: OldForm) -> Value {
    let is_json = form != OldForm::Yaml;
    match value {
        Value::Map(map) => grow(|| {
            let key = |key: &Key| if is_json { json_key(key) } else { key.clone() };
            let mut entries: Vec<(Key, Value)> =
                map.iter().map(|(name, value)| (key(name), normal(value, form))).collect();
            entries.sort_by_cached_key(|(key, _)| pystr::repr(&key.0));
            Value::map(entries.into_iter().collect::<Map>())
        }),
        Value::List(items) | Value::Tuple(items) => {
            grow(|| Value::list(items.iter().map(|item| normal(item, form)).collect()))
        }
        Value::Set(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| normal(item, form)).collect();
            items.sort_by_cached_key(pystr::repr);
            Value::list(items)
        }
        // As Salt prints an object that JSON does not have.
        Value::DateTime(_) if form == OldForm::Pillar => Value::text(pystr::repr(value)),
        Value::Date(_) | Value::DateTime(_) if is_json => Value::text(pystr::iso(value, 'T')),
        Value::Binary(bytes) if is_json => Value::text(base64::encode(bytes)),
        Value::Float(number) if is_json && !number.is_finite() => Value::text(json::float(*number)),
        Value::BigInt(number) if is_json => beyond(number),
        other => other.clone(),
    }
}

/// A key of JSON, which has the text of Python's `True` as `true`: the types of keys are lost (M7).
pub(super) fn json_key(key: &Key) -> Key {
    let text = json::key_text(key);
    Key::from(match &*text {
        "True" => "true",
        "False" => "false",
        "None" => "null",
        other => other,
    })
}

/// A number that JSON readers keep only up to 64 bits.
fn beyond(number: &BigInt) -> Value {
    let text = number.to_string();
    match (text.parse::<u64>(), text.parse::<f64>()) {
        (Err(_), Ok(float)) => Value::Float(float),
        _ => Value::BigInt(number.clone().into()),
    }
}

pub(super) fn of_json(data: &serde_json::Value) -> Value {
    match data {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(flag) => Value::Bool(*flag),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::Int(number),
            (None, Some(number)) => Value::BigInt(BigInt::from(number).into()),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::text(text.as_str()),
        serde_json::Value::Array(items) => Value::list(items.iter().map(of_json).collect()),
        serde_json::Value::Object(map) => {
            Value::map(map.iter().map(|(key, value)| (Key::from(key.as_str()), of_json(value))).collect())
        }
    }
}
