//! Values for serde, with the types of JSON (ruling Y7): dates are ISO 8601 strings, binary is base64,
//! sets and tuples are lists, `NaN` and the infinities are strings, and keys are strings.
//!
//! Python has types for all of them. [`apart`] keeps the values of a result as they are.

use std::cell::RefCell;

use serde::ser::{Error as _, Serialize, Serializer};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Text, Value};
use crate::stack::grow;
use crate::{base64, json, pystr};

/// The key of a mapping that holds the index of a value, in data from [`apart`].
pub const INDEX: &str = "reclass::Value";

thread_local! {
    /// The values of the result that [`apart`] serializes.
    static VALUES: RefCell<Option<Vec<Value>>> = const { RefCell::new(None) };
}

/// A result as data, and its values apart, with their types: in place of each is `{INDEX: index}`.
#[expect(clippy::missing_panics_doc, reason = "keys are strings, and nothing else fails")]
pub fn apart(result: &impl Serialize) -> (serde_json::Value, Vec<Value>) {
    VALUES.set(Some(Vec::new()));
    let data = serde_json::to_value(result);
    let values = VALUES.take().unwrap_or_default();
    (data.expect("keys are strings, and nothing else fails"), values)
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        String::deserialize(deserializer).map(Text::from)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = VALUES.with_borrow_mut(|values| {
            values.as_mut().map(|values| {
                values.push(self.clone());
                values.len() - 1
            })
        });
        if index.is_some() {
            return serializer.collect_map([(INDEX, index)]);
        }
        grow(|| match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::BigInt(number) => {
                RawValue::from_string(number.to_string()).map_err(S::Error::custom)?.serialize(serializer)
            }
            Value::Float(number) if number.is_finite() => serializer.serialize_f64(*number),
            Value::Float(number) => serializer.serialize_str(&json::float(*number)),
            Value::Str(text) => serializer.serialize_str(text),
            Value::Binary(bytes) => serializer.serialize_str(&base64::encode(bytes)),
            Value::Date(_) | Value::DateTime(_) => serializer.serialize_str(&pystr::iso(self, 'T')),
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
                serializer.collect_seq(items.iter())
            }
            Value::Map(map) => {
                serializer.collect_map(map.iter().map(|(key, value)| (json::key_text(key), value)))
            }
        })
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Text, Value};

    impl JsonSchema for Text {
        fn inline_schema() -> bool {
            true
        }
        fn schema_name() -> Cow<'static, str> {
            "Text".into()
        }
        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            String::json_schema(generator)
        }
    }

    impl JsonSchema for Value {
        fn inline_schema() -> bool {
            true
        }
        fn schema_name() -> Cow<'static, str> {
            "Value".into()
        }
        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!(true)
        }
    }
}
