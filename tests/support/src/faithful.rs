//! Values turn into JSON that keeps their types, as the oracles in Python write them.

use reclass::json;
use reclass::pystr;
use reclass::value::Value;
use serde_json::{Value as Json, json};

/// The encoding of the oracles: types are kept, and the order of mappings.
pub fn faithful(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => json!(flag),
        Value::Int(number) => json!(number),
        Value::BigInt(number) => json!({"$int": format!("{:#x}", **number)}),
        Value::Float(number) if number.is_nan() => json!({"$float": "nan"}),
        Value::Float(number) => json!({"$float": format!("{:016x}", number.to_bits())}),
        Value::Str(text) => json!(text.as_str()),
        Value::Binary(_) => {
            json!({"$binary": json::dumps(value, false).trim_matches('"')})
        }
        Value::Date(_) => json!({"$date": pystr::str(value)}),
        Value::DateTime(_) => json!({"$datetime": pystr::str(value).replacen(' ', "T", 1)}),
        Value::List(items) => items.iter().map(faithful).collect(),
        Value::Tuple(items) => json!({"$tuple": items.iter().map(faithful).collect::<Json>()}),
        Value::Set(items) => in_order(&json!({"$set": items.iter().map(faithful).collect::<Json>()})),
        Value::Map(map) => {
            let entries: Json =
                map.iter().map(|(key, value)| json!([faithful(&key.0), faithful(value)])).collect();
            json!({"$map": entries})
        }
    }
}

/// The same with every set in order.
pub fn in_order(value: &Json) -> Json {
    match value {
        Json::Array(items) => items.iter().map(in_order).collect(),
        Json::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let mut value = in_order(value);
                if let (Json::Array(items), "$set") = (&mut value, name.as_str()) {
                    items.sort_by_key(Json::to_string);
                }
                (name.clone(), value)
            });
            let mut fields: serde_json::Map<String, Json> = fields.collect();
            fields.sort_keys();
            Json::Object(fields)
        }
        _ => value.clone(),
    }
}
