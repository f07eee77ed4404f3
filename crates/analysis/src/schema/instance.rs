//! Turns values of parameters into JSON, which schemas are about.

use serde_json::{Map as JsonMap, Number, Value as Json};

use reclass_base::pystr;
use reclass_base::secrets::{Cover, Secrets};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Value};

/// A value as JSON. Keys, dates, binary data and numbers that JSON lacks are texts, as `str` of Python writes them;
/// sets and pairs are lists. Of keys that become equal, the last one counts.
pub(super) fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(number) => Json::from(*number),
        Value::BigInt(number) => number.to_string().parse().map_or(Json::Null, Json::Number),
        Value::Float(number) => {
            Number::from_f64(*number).map_or_else(|| Json::String(pystr::str(value)), Json::Number)
        }
        Value::Str(text) => Json::String(text.as_str().to_owned()),
        Value::Binary(_) | Value::Date(_) | Value::DateTime(_) => Json::String(pystr::str(value)),
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
            grow(|| Json::Array(items.iter().map(json).collect()))
        }
        Value::Map(map) => grow(|| {
            let mut object = JsonMap::with_capacity(map.len());
            for (key, value) in map.iter() {
                object.insert(name(key), json(value));
            }
            Json::Object(object)
        }),
    }
}

/// Whether a value in a schema has a secret. Null, true and false are never secret.
pub(super) fn has_secret(secrets: &Secrets, cover: Cover, value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(_) => false,
        Json::Number(_) | Json::String(_) => cover != Cover::Open,
        Json::Array(items) => grow(|| items.iter().any(|item| has_secret(secrets, cover.item(), item))),
        Json::Object(map) => grow(|| {
            map.iter().any(|(name, value)| {
                has_secret(secrets, secrets.below(cover, &Key::from(name.as_str())), value)
            })
        }),
    }
}

/// A key as JSON has it.
pub(super) fn name(key: &Key) -> String {
    key.as_str().map_or_else(|| pystr::str(&key.0), str::to_owned)
}

/// The entry of a mapping by its name in JSON.
pub(super) fn entry<'m>(map: &'m Map, wanted: &str) -> Option<(Key, &'m Value)> {
    if let Some(value) = map.get(wanted) {
        return Some((Key::from(wanted), value));
    }
    let (key, value) = map.iter().find(|(key, _)| key.as_str().is_none() && name(key) == wanted)?;
    Some((key.clone(), value))
}

/// The keys that lead to a part of a value, as far as it has them.
pub(super) fn keys(value: &Value, names: impl Iterator<Item = String>) -> Vec<Key> {
    let (mut keys, mut value) = (Vec::new(), value);
    for wanted in names {
        let found = match value {
            Value::Map(map) => entry(map, &wanted),
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
                let number = wanted.parse::<i64>().ok();
                let item = number.and_then(|number| items.get(usize::try_from(number).ok()?));
                number.zip(item).map(|(number, item)| (Key(Value::Int(number)), item))
            }
            _ => None,
        };
        let Some((key, below)) = found else { break };
        keys.push(key);
        value = below;
    }
    keys
}
