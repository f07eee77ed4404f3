//! Answers turn what our engine says about an inventory into the type-faithful JSON of the corpus.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use reclass::error::Error;
use reclass::value::{Key, Map, Value};
use reclass::{Inventory, Request, inventory_value};
use serde_json::{Value as Json, json};

use crate::corpus::Case;

/// What we answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Ours {
    /// Data, as `nodeinfo` of the corpus, with the number of warnings.
    Ok(Json, usize),
    /// A refusal: the codes of its problems, exit code, and the message for people.
    Error(Vec<String>, u8, String),
    /// A defect.
    Panic(String),
}

/// The keys of the answers that are not about one node.
pub const ENUMERATE: &str = "@enumerate";
/// As [`ENUMERATE`].
pub const INVENTORY: &str = "@inventory";

/// All our answers for an inventory, with some settings changed.
pub fn all(case: &Case, changed: &serde_json::Map<String, Json>) -> BTreeMap<String, Ours> {
    let mut answers = BTreeMap::new();
    let inventory = attempt(case, || open(case, changed).map(|inventory| (inventory, 0)));
    let inventory = match inventory {
        Ok((inventory, _)) => inventory,
        Err(refusal) => {
            let listings = [ENUMERATE.to_owned(), INVENTORY.to_owned()];
            for key in case.nodes.iter().chain(&listings) {
                answers.insert(key.clone(), refusal.clone());
            }
            return answers;
        }
    };
    let data = |result: Result<(Json, usize), Ours>| match result {
        Ok((json, warnings)) => Ours::Ok(json, warnings),
        Err(refusal) => refusal,
    };
    answers.insert(
        ENUMERATE.into(),
        data(attempt(case, || inventory.nodes().map(|names| (json!(sorted(names.iter().map(|n| &**n))), 0)))),
    );
    let request = Request {
        input_data: case.input_data.as_ref().map(|data| from_json(data, case)),
        ..Request::default()
    };
    for node in &case.nodes {
        let answer = attempt(case, || {
            let info = inventory.nodeinfo(node, &request)?;
            Ok((node_json(&info.to_value(""), case), info.warnings.len()))
        });
        answers.insert(node.clone(), data(answer));
    }
    if case.inventory_mode {
        let answer = attempt(case, || {
            let nodes = inventory.inventory()?;
            Ok((to_json(&inventory_value(&nodes, ""), case), 0))
        });
        answers.insert(INVENTORY.into(), data(answer));
    }
    answers
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

fn attempt<T>(case: &Case, question: impl FnOnce() -> Result<(T, usize), Error>) -> Result<(T, usize), Ours> {
    match catch_unwind(AssertUnwindSafe(question)) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let message = hide(&error.to_string(), case);
            let codes = error.faults().iter().map(|fault| fault.code().to_owned()).collect();
            Err(Ours::Error(codes, error.exit_code(), message))
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?");
            Err(Ours::Panic(text.chars().take(200).collect()))
        }
    }
}

/// The settings of a case, as in its configuration file.
pub fn configuration(case: &Case, changed: &serde_json::Map<String, Json>) -> Json {
    let mut settings = case.settings.clone();
    settings.extend(changed.clone());
    settings.insert("inventory_base_uri".into(), json!("<INV>"));
    let text = Json::Object(settings).to_string();
    serde_json::from_str(&text.replace("<INV>", &path(case))).expect("a path is no JSON syntax")
}

/// The same as options of an inventory.
pub fn options(case: &Case) -> Map {
    changed_options(case, &serde_json::Map::new())
}

fn changed_options(case: &Case, changed: &serde_json::Map<String, Json>) -> Map {
    match from_json(&configuration(case, changed), case) {
        Value::Map(map) => map.as_ref().clone(),
        _ => Map::default(),
    }
}

/// The inventory of a case, with some settings changed.
pub fn open(case: &Case, changed: &serde_json::Map<String, Json>) -> Result<Inventory, Error> {
    Inventory::open(&changed_options(case, changed))
}

/// The path of the inventory as text.
pub fn path(case: &Case) -> String {
    case.inventory.display().to_string()
}

/// The text with `<INV>` for the path of the inventory.
pub fn hide(text: &str, case: &Case) -> String {
    text.replace(&path(case), "<INV>")
}

/// The data of a node without its time stamp.
fn node_json(value: &Value, case: &Case) -> Json {
    let mut json = to_json(value, case);
    if let Some(about) = json["__reclass__"].as_object_mut() {
        about.remove("timestamp");
    }
    json
}

/// A value of the corpus that holds nothing but JSON.
fn from_json(json: &Json, case: &Case) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::text(text.replace("<INV>", &path(case))),
        Json::Array(items) => Value::list(items.iter().map(|item| from_json(item, case)).collect()),
        Json::Object(map) => Value::map(
            map.iter().map(|(key, value)| (Key(Value::text(key.as_str())), from_json(value, case))).collect(),
        ),
    }
}

/// The type-faithful JSON of a value.
pub fn to_json(value: &Value, case: &Case) -> Json {
    let list = |items: &[Value]| Json::Array(items.iter().map(|item| to_json(item, case)).collect());
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => json!(flag),
        Value::Int(number) => json!(number),
        Value::BigInt(number) => match u64::try_from(number.as_ref()) {
            Ok(number) => json!(number),
            Err(_) => json!({ "$int": number.to_string() }),
        },
        Value::Float(number) if number.is_finite() => json!(number),
        Value::Float(number) if number.is_nan() => json!({ "$float": "nan" }),
        Value::Float(number) => json!({ "$float": if *number > 0.0 { "inf" } else { "-inf" } }),
        Value::Str(text) => json!(hide(text, case)),
        Value::Binary(bytes) => json!({ "$binary": base64(bytes) }),
        Value::Date(date) => {
            json!({ "$date": format!("{:04}-{:02}-{:02}", date.year, date.month, date.day) })
        }
        Value::DateTime(time) => json!({ "$datetime": isoformat(time) }),
        Value::List(items) => list(items),
        Value::Tuple(items) => json!({ "$tuple": list(items) }),
        Value::Set(items) => json!({ "$set": list(items) }),
        Value::Map(map) => {
            let plain = map.keys().all(|key| key.as_str().is_some_and(|key| !key.starts_with('$')));
            if plain {
                let pairs = map.iter().filter_map(|(key, value)| Some((key.as_str()?, value)));
                pairs.map(|(key, value)| (hide(key, case), to_json(value, case))).collect()
            } else {
                let pairs =
                    map.iter().map(|(key, value)| json!([to_json(&key.0, case), to_json(value, case)]));
                json!({ "$map": pairs.collect::<Vec<_>>() })
            }
        }
    }
}

fn isoformat(time: &reclass::value::DateTime) -> String {
    let date = time.date;
    let day = format!("{:04}-{:02}-{:02}", date.year, date.month, date.day);
    let clock = format!("{:02}:{:02}:{:02}", time.hour, time.minute, time.second);
    let fraction = if time.microsecond == 0 { String::new() } else { format!(".{:06}", time.microsecond) };
    let offset = time.offset.map_or_else(String::new, |offset| {
        let (sign, seconds) = (if offset < 0 { '-' } else { '+' }, offset.abs());
        let rest = if seconds % 60 == 0 { String::new() } else { format!(":{:02}", seconds % 60) };
        format!("{sign}{:02}:{:02}{rest}", seconds / 3600, seconds / 60 % 60)
    });
    format!("{day}T{clock}{fraction}{offset}")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = char::from(DIGITS[(number >> (18 - 6 * place) & 63) as usize]);
            text.push(if place > chunk.len() { '=' } else { digit });
        }
    }
    text
}
