//! Our answers about an inventory, in the words of the oracle.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use reclass::Inventory as Engine;
use reclass::error::{Error, Fault};
use reclass::value::{Key, Map, Value};
use serde_json::{Value as Json, json};

use support::faithful::{faithful, in_order};
use support::inventory::{Inventory, folder};

/// What is said about one node.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// Its data without the time stamp, and whether there was a warning.
    Value(Data, bool),
    /// A refusal: what is wrong, the exit code, and the message for people.
    Error(Vec<String>, u64, String),
    /// A Python exception that is not one of reclass: its class, the function, the message.
    Uncaught(String, String, String),
    /// A panic of ours.
    Panic(String),
}

/// Type-faithful JSON in which the folder of the inventory has no part.
#[derive(Clone, PartialEq, Debug)]
pub struct Data(pub Json);

impl Data {
    fn of(json: &Json, root: &Path) -> Data {
        let root = root.to_str().expect("the folder has a plain name");
        let text = json.to_string().replace(root, "");
        Data(serde_json::from_str(&text).expect("the folder has a plain name"))
    }
}

/// Answers by node, or the one answer for all of them.
pub type Answers = Result<BTreeMap<String, Answer>, Answer>;

impl Answer {
    /// That there is an answer for each of these nodes.
    pub fn nodes(nodes: &BTreeMap<String, Answer>) -> Answer {
        Answer::Value(Data(json!(nodes.keys().collect::<Vec<_>>())), false)
    }
    /// The answer in a few words.
    pub fn kind(&self) -> String {
        match self {
            Answer::Value(..) => "a value".into(),
            Answer::Error(codes, ..) => codes.join(" "),
            Answer::Uncaught(class, place, _) => format!("{class} in {place}"),
            Answer::Panic(_) => "a panic".into(),
        }
    }
    /// The answer for people.
    pub fn show(&self) -> String {
        match self {
            Answer::Value(Data(json), warned) => {
                format!("{}{}", plain(json), if *warned { "  (with a warning)" } else { "" })
            }
            Answer::Error(codes, exit, message) => format!("{} ({exit}): {message}", codes.join(" ")),
            Answer::Uncaught(class, place, message) => format!("{class} in {place}: {message}"),
            Answer::Panic(message) => format!("panic: {message}"),
        }
    }
}

/// What the oracle said.
pub fn theirs(answer: &Json, root: &Path) -> Answers {
    if let Some(failure) = answer.get("storage") {
        return Err(their(failure, root));
    }
    let nodes = answer["nodes"].as_object().into_iter().flatten();
    Ok(nodes.map(|(name, result)| (name.clone(), their(result, root))).collect())
}

fn their(result: &Json, root: &Path) -> Answer {
    let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
    if let Some(value) = result.get("value") {
        Answer::Value(Data::of(&in_order(value), root), result["warned"] == true)
    } else if result.get("error").is_some() {
        Answer::Error(vec![text("error")], result["rc"].as_u64().unwrap_or(0), text("message"))
    } else if result.get("timeout").is_some() {
        Answer::Uncaught("timeout".into(), String::new(), String::new())
    } else {
        Answer::Uncaught(text("uncaught"), text("where"), text("message"))
    }
}

/// What we say, with some settings changed.
pub fn ours(inventory: &Inventory, changed: &[(&str, Json)]) -> Answers {
    let folder = folder();
    let root = folder.path();
    inventory.write(root).expect("the temporary folder can be written");
    let mut options = inventory.settings.clone();
    options.insert("inventory_base_uri".into(), json!(root));
    // A watch that is set up for a moment takes the kernel longer than all the rest.
    options.insert("cache".into(), json!("stat"));
    options.extend(changed.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let options: Map = options.iter().map(|(name, value)| (name.as_str().into(), value_of(value))).collect();
    attempt(|| {
        let inventory = Engine::open(&options)?;
        let names = inventory.nodes()?;
        let answers = names.iter().map(|name| {
            let answer = attempt(|| {
                let info = inventory.nodeinfo(name, &reclass::Request::default())?;
                Ok(Answer::Value(Data::of(&nodeinfo(&info), root), !info.warnings.is_empty()))
            });
            (name.to_string(), answer.unwrap_or_else(|refusal| refusal))
        });
        Ok(answers.collect())
    })
}

fn nodeinfo(info: &reclass::NodeInfo) -> Json {
    let mut json = faithful(&info.to_value(""));
    if let Some(about) = json["$map"][0][1]["$map"].as_array_mut() {
        about.retain(|pair| pair[0] != "timestamp");
    }
    in_order(&json)
}

fn attempt<T>(question: impl FnOnce() -> Result<T, Error>) -> Result<T, Answer> {
    match catch_unwind(AssertUnwindSafe(question)) {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            let mut codes = Vec::new();
            error.faults().iter().for_each(|fault| collect(fault, &mut codes));
            Err(Answer::Error(codes, u64::from(error.exit_code()), error.to_string()))
        }
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?");
            Err(Answer::Panic(text.to_owned()))
        }
    }
}

/// The codes of a fault and of its causes.
fn collect(fault: &Fault, codes: &mut Vec<String>) {
    if !codes.iter().any(|code| code == fault.code()) {
        codes.push(fault.code().to_owned());
    }
    fault.causes.iter().for_each(|cause| collect(cause, codes));
}

fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => Value::Int(number.as_i64().unwrap_or_default()),
        Json::String(text) => Value::text(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(value_of).collect()),
        Json::Object(map) => {
            Value::map(map.iter().map(|(key, value)| (Key::from(key.as_str()), value_of(value))).collect())
        }
    }
}

/// Type-faithful JSON in fewer signs.
fn plain(json: &Json) -> String {
    if let Some(pairs) = json["$map"].as_array() {
        let pairs: Vec<String> =
            pairs.iter().map(|pair| format!("{}: {}", plain(&pair[0]), plain(&pair[1]))).collect();
        return format!("{{{}}}", pairs.join(", "));
    }
    match json {
        Json::Array(items) => {
            format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(", "))
        }
        _ => json.to_string(),
    }
}
