//! The ground of a ruling: what is wrong with the oracle's answer that the ruling corrects.
//!
//! Some rulings correct answers that are corrupt, or that depend on who else reads a value. Where the oracle's
//! answer is neither, such a ruling explains nothing.

use serde_json::Value as Json;

use super::answer::{Answer, Data};
use super::oracle::Oracle;
use support::inventory::{Inventory, Node};

/// The rulings that need a ground. `order` and `closed` are parts of R14 and M4.
pub const GROUNDED: [&str; 4] = ["M9", "R14", "order", "closed"];

/// The parameter that reads others.
const READER: &str = "zz_reader";

/// Whether the oracle's answer about a node is no answer, is corrupt, or depends on a reader that has nothing
/// to do with the rest.
pub fn has_ground(
    inventory: &Inventory,
    node: &str,
    theirs: &Answer,
    ours: &Answer,
    oracle: &mut Oracle,
) -> bool {
    let Answer::Value(Data(their), _) = theirs else { return true };
    let our = match ours {
        Answer::Value(Data(our), _) => our.to_string(),
        _ => String::new(),
    };
    let their_text = their.to_string();
    // Objects of the program, references that are left, and prefixes that are left.
    let mut marks = ["Item(", "Value(", "ValueList(", "${", "$["].map(str::to_owned).to_vec();
    for (setting, default) in [("dict_key_override_prefix", "~"), ("dict_constant_parameter_prefix", "=")] {
        let prefix = inventory.settings.get(setting).and_then(Json::as_str).unwrap_or(default);
        marks.extend((!prefix.is_empty()).then(|| format!("\"{prefix}")));
    }
    if marks.iter().any(|mark| their_text.matches(mark).count() > our.matches(mark).count()) {
        return true;
    }
    let mut paths = Vec::new();
    collect(field(their, "parameters"), "", &mut paths);
    let mut ask = |paths: &[String]| {
        oracle.ask(&with_reader(inventory, paths), &[]);
        let answer = oracle.answer().ok()?.remove(node)?;
        match answer {
            Answer::Value(Data(json), _) => Some(field(&json, "parameters").map(without_reader)),
            _ => None,
        }
    };
    let Some(plain) = ask(&[]) else { return false };
    let outer: Vec<String> = paths.iter().rev().cloned().collect();
    if [&paths, &outer].into_iter().any(|paths| ask(paths).is_some_and(|answer| answer != plain)) {
        return true;
    }
    paths.iter().take(60).any(|path| ask(std::slice::from_ref(path)).is_some_and(|answer| answer != plain))
}

/// The value of a key of type-faithful JSON.
fn field<'j>(json: &'j Json, name: &str) -> Option<&'j Json> {
    let pairs = json.get("$map")?.as_array()?;
    pairs.iter().find(|pair| pair[0] == name).map(|pair| &pair[1])
}

/// The paths of all values, inner ones first.
fn collect(json: Option<&Json>, above: &str, paths: &mut Vec<String>) {
    for pair in json.and_then(|json| json.get("$map")?.as_array()).into_iter().flatten() {
        if let Some(key) =
            pair[0].as_str().filter(|key| !key.contains([':', '$', '{', '}', '[', ']', '\\', '~', '=']))
        {
            let path = if above.is_empty() { key.to_owned() } else { format!("{above}:{key}") };
            collect(Some(&pair[1]), &path, paths);
            paths.push(path);
        }
    }
}

fn without_reader(json: &Json) -> Json {
    let mut json = json.clone();
    if let Some(pairs) = json.get_mut("$map").and_then(Json::as_array_mut) {
        pairs.retain(|pair| pair[0] != READER);
    }
    json
}

/// The inventory with a first class that reads these paths.
fn with_reader(inventory: &Inventory, paths: &[String]) -> Inventory {
    let mut inventory = inventory.clone();
    for (_, document) in inventory.files.iter_mut().filter(|(name, _)| name.starts_with("nodes/")) {
        let Node::Map(entries) = document else { continue };
        let is_classes = |key: &Node| matches!(key, Node::Text(key) | Node::Raw(key) if key == "classes");
        match entries.iter_mut().find(|(key, _)| is_classes(key)) {
            Some((_, Node::List(classes))) => classes.insert(0, Node::text(READER)),
            Some(_) => {}
            None => entries.insert(0, (Node::text("classes"), Node::texts([READER.to_owned()]))),
        }
    }
    let readers = Node::texts(paths.iter().map(|path| format!("${{{path}}}")));
    let document = Node::map([("parameters", Node::map([(READER, readers)]))]);
    inventory.files.insert(format!("classes/{READER}.yml"), document);
    inventory
}
