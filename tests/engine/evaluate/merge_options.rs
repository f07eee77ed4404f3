//! Random lists under random merge options, beside a fold of a few lines over plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use reclass::json;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use reclass_analysis::explain::{Selection, explain};
use serde_json::{Map as JsonMap, Value as Json, json};
use support::random::Random;

/// The lists, and whether their items are mappings.
const PATHS: [(&str, bool); 4] =
    [("plain", false), ("m:plain", false), ("m:keyed", true), ("m:n:keyed", true)];
const PATTERNS: [&str; 8] =
    ["plain", "m:*", "**", "m:plain", "m:**:keyed", "m:keyed", "m:n:keyed", "**:plain"];

/// Parameters that items refer to, with their values as YAML. A `~` in them is text (M11).
const REFERENCES: [(&str, &str); 6] = [
    ("text", r#""x""#),
    ("number", "1"),
    ("tilde", r#""~x""#),
    ("word", r#""1""#),
    ("yes", "true"),
    ("y", r#""y""#),
];
const KEYED_REFERENCES: [(&str, &str); 3] = [
    ("web", r#"{"name": "web", "port": 0}"#),
    ("gone", r#"{"name": "~web"}"#),
    ("db", r#"{"name": "db", "port": 1, "options": {"a": 7}}"#),
];

#[derive(Clone, Debug)]
struct Rule {
    pattern: &'static str,
    /// As it is written in the file.
    written: Json,
}

#[derive(Clone, Debug)]
enum List {
    Written(Vec<Json>),
    /// A reference to this list.
    Reference(Vec<Json>),
}

#[derive(Clone, Debug, Default)]
struct Layer {
    rules: Vec<Rule>,
    lists: BTreeMap<&'static str, List>,
    /// Whether a reference brings the whole mapping `m`.
    whole: bool,
}

fn rule(random: &mut Random) -> Rule {
    let remove = random.once_in(2);
    let written = match random.below(7) {
        0 => json!("extend"),
        1 => json!("replace"),
        2 => json!("unique"),
        3 => json!({"strategy": "unique", "remove": remove}),
        4 => json!({"remove": remove}),
        5 => json!({"by": "name", "remove": remove}),
        _ => {
            json!({"by": ["name", "port"], "items": if random.once_in(2) {"merge"} else {"replace"}, "remove": remove})
        }
    };
    Rule { pattern: PATTERNS[random.below(PATTERNS.len())], written }
}

fn item(random: &mut Random, keyed: bool, reference: bool) -> Json {
    let scalars =
        [json!(1), json!(1.0), json!(true), json!("1"), json!("x"), json!("~x"), json!("\\~x"), json!("~1")];
    if !keyed {
        return match random.below(16) {
            8 => json!({"a": 1, "b": [1]}),
            9 => json!({"b": [1], "a": 1}),
            10 if !reference => json!("~${text}"),
            11.. if !reference => json!(format!("${{{}}}", random.pick(&REFERENCES).0)),
            number => scalars[number % 8].clone(),
        };
    }
    if !reference && random.once_in(4) {
        return json!(format!("${{{}}}", random.pick(&KEYED_REFERENCES).0));
    }
    let names = ["web", "db", "~web", "\\~web"];
    let mut item = JsonMap::new();
    item.insert("name".into(), json!(names[random.below(if reference { 2 } else { 4 })]));
    if !random.once_in(10) {
        item.insert("port".into(), json!(random.below(2)));
    }
    if random.below(5) < 3 {
        item.insert("options".into(), json!({random.pick(&["a", "b"]): random.below(3)}));
    }
    Json::Object(item)
}

fn layer(random: &mut Random) -> Layer {
    let rules = (0..random.below(3)).map(|_| rule(random)).collect();
    let mut lists = BTreeMap::new();
    for (path, keyed) in PATHS {
        if random.below(5) < 3 {
            let reference = random.once_in(4);
            let items = (0..random.below(4)).map(|_| item(random, keyed, reference)).collect();
            lists.insert(path, if reference { List::Reference(items) } else { List::Written(items) });
        }
    }
    Layer { rules, lists, whole: random.once_in(5) }
}

/// The text of a layer's file. Lists for references are parameters of their own.
fn file(layer: &Layer, name: &str, classes: &[String]) -> String {
    let mut parameters = json!({"source": {name: {}}});
    let mut set = |path: &str, value: Json| {
        let mut at = &mut parameters;
        for key in path.split(':') {
            at = at.as_object_mut().unwrap().entry(key).or_insert_with(|| json!({}));
        }
        *at = value;
    };
    for (path, list) in &layer.lists {
        let place = if layer.whole { format!("source:{name}:whole:{path}") } else { (*path).to_owned() };
        let source = format!("source:{name}:{}", path.replace(':', "-"));
        match list {
            List::Written(items) => set(&place, json!(items)),
            List::Reference(items) => {
                set(&place, json!(format!("${{{source}}}")));
                set(&source, json!(items));
            }
        }
    }
    if layer.whole && layer.lists.keys().any(|path| path.starts_with("m:")) {
        set("m", json!(format!("${{source:{name}:whole:m}}")));
    }
    if layer.whole && layer.lists.contains_key("plain") {
        set("plain", json!(format!("${{source:{name}:whole:plain}}")));
    }
    for (name, value) in REFERENCES.iter().chain(&KEYED_REFERENCES) {
        set(name, serde_json::from_str(value).unwrap());
    }
    let mut text = String::new();
    let rules: Vec<String> =
        layer.rules.iter().map(|rule| format!("  '{}': {}\n", rule.pattern, rule.written)).collect();
    // The last of equal keys counts, as in any mapping, so each pattern is written once.
    let mut seen = BTreeSet::new();
    let rules: Vec<&String> = rules
        .iter()
        .zip(&layer.rules)
        .filter(|(_, rule)| seen.insert(rule.pattern))
        .map(|(text, _)| text)
        .collect();
    if !rules.is_empty() {
        text.push_str("merge_options:\n");
        text.extend(rules.iter().map(|rule| rule.as_str()));
    }
    let _ = writeln!(text, "classes: {}\nparameters: {parameters}", json!(classes));
    text
}

// ---- the naive fold --------------------------------------------------------------------------------------

fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), _) => matches(rest, path) || !path.is_empty() && matches(pattern, &path[1..]),
        (Some((first, rest)), Some((key, keys))) => (*first == "*" || first == key) && matches(rest, keys),
        _ => false,
    }
}

/// Python's `str()` of the scalars used here.
fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Bool(flag) => {
            if *flag {
                "True".into()
            } else {
                "False".into()
            }
        }
        other => other.to_string(),
    }
}

fn same(one: &Json, other: &Json) -> bool {
    // serde_json tells 1 from 1.0, and compares mappings without order.
    one == other
}

fn resolved(value: &Json) -> Json {
    match value {
        Json::String(text) => {
            let all = REFERENCES.iter().chain(&KEYED_REFERENCES);
            for (name, value) in all {
                if *text == format!("${{{name}}}") {
                    return serde_json::from_str(value).unwrap();
                }
            }
            json!(text.replace("${text}", "x"))
        }
        other => other.clone(),
    }
}

fn merge_item(earlier: &mut Json, later: &Json) {
    for (key, value) in later.as_object().unwrap() {
        match earlier.get_mut(key) {
            Some(before) if before.is_object() => {
                before.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
            }
            Some(before) => *before = value.clone(),
            None => drop(earlier.as_object_mut().unwrap().insert(key.clone(), value.clone())),
        }
    }
}

fn merge(earlier: &[Json], list: &List, written: &Json) -> Result<Vec<Json>, &'static str> {
    let (later, literal) = match list {
        List::Written(items) => (items, true),
        List::Reference(items) => (items, false),
    };
    let remove = literal && written["remove"] == json!(true);
    let strategy = written.as_str().or(written["strategy"].as_str());
    if strategy == Some("replace") {
        return Ok(later.iter().map(resolved).collect());
    }
    let keys: Vec<&str> = match &written["by"] {
        Json::String(key) => vec![key],
        Json::Array(keys) => keys.iter().filter_map(Json::as_str).collect(),
        _ => vec![],
    };
    if !keys.is_empty() {
        return merge_keyed(earlier, later, &keys, written["items"] == json!("replace"), remove);
    }
    let mut merged: Vec<Json> = earlier.to_vec();
    let unique = strategy == Some("unique");
    for item in later {
        let mut value = resolved(item);
        let is_written = item.as_str().is_some_and(|text| text.starts_with(['~', '\\']));
        if let (true, Json::String(word)) = (remove && is_written, &value) {
            if let Some(removed) = word.strip_prefix('~') {
                merged.retain(|one| one.is_object() || text(one) != removed);
                continue;
            }
            value = json!(word.strip_prefix('\\').unwrap_or(word));
        }
        if !unique || !merged.iter().any(|one| same(one, &value)) {
            merged.push(value);
        }
    }
    Ok(merged)
}

fn merge_keyed(
    earlier: &[Json],
    later: &[Json],
    keys: &[&str],
    replace: bool,
    remove: bool,
) -> Result<Vec<Json>, &'static str> {
    let mut merged: Vec<Json> = earlier.to_vec();
    let mut own: Vec<Vec<Json>> = Vec::new();
    let names = |one: &Json| -> Option<Vec<String>> {
        keys.iter().map(|key| one.get(key).filter(|value| !value.is_object()).map(text)).collect()
    };
    for item in later {
        // A mapping that a reference brings removes nothing.
        let remove = remove && item.is_object();
        let mut item = resolved(item);
        let Some(values) = keys.iter().map(|key| item.get(key).cloned()).collect::<Option<Vec<Json>>>()
        else {
            return Err("merge-key-missing");
        };
        if remove && values.iter().any(|value| value.as_str().is_some_and(|text| text.starts_with('~'))) {
            if item.as_object().unwrap().len() > keys.len() {
                return Err("removal-with-value");
            }
            let wanted: Vec<String> =
                values.iter().map(|value| text(value).trim_start_matches(['~', '\\']).to_owned()).collect();
            merged.retain(|one| names(one) != Some(wanted.clone()));
            continue;
        }
        if remove {
            for key in keys {
                if let Json::String(text) = &item[key] {
                    item[key] = json!(text.strip_prefix('\\').unwrap_or(text));
                }
            }
        }
        let values: Vec<Json> = keys.iter().map(|key| item[key].clone()).collect();
        if own.contains(&values) {
            return Err("merge-key-duplicate");
        }
        own.push(values.clone());
        let equal = |one: &&mut Json| {
            keys.iter().zip(&values).all(|(key, value)| one.get(key).is_some_and(|one| same(one, value)))
        };
        match merged.iter_mut().find(equal) {
            Some(one) if replace => *one = item,
            Some(one) => merge_item(one, &item),
            None => merged.push(item),
        }
    }
    Ok(merged)
}

/// The lists of all layers, and the codes of what is wrong.
fn naive(layers: &[Layer]) -> (BTreeMap<&'static str, Vec<Json>>, BTreeSet<&'static str>) {
    let mut rules: Vec<Rule> = Vec::new();
    let (mut lists, mut wrong) = (BTreeMap::<_, Vec<Json>>::new(), BTreeSet::new());
    for layer in layers {
        let mut seen = BTreeSet::new();
        for rule in layer.rules.iter().filter(|rule| seen.insert(rule.pattern)) {
            rules.retain(|one| one.pattern != rule.pattern);
            rules.push(rule.clone());
        }
        let rule = |path: &[&str]| {
            let rule = rules.iter().rfind(|rule| matches(&rule.pattern.split(':').collect::<Vec<_>>(), path));
            rule.map_or(json!("extend"), |rule| rule.written.clone())
        };
        for (path, list) in &layer.lists {
            let dashed = path.replace(':', "-");
            let whole: Vec<&str> = ["source", "layer", "whole"].into_iter().chain(path.split(':')).collect();
            // The list that a reference names is under the rules of its own path.
            let list = match list {
                List::Written(_) => Ok(list.clone()),
                List::Reference(items) => {
                    let written = List::Written(items.clone());
                    merge(&[], &written, &rule(&["source", "layer", &dashed])).map(List::Reference)
                }
            };
            let list = if layer.whole {
                list.and_then(|list| merge(&[], &list, &rule(&whole)).map(List::Reference))
            } else {
                list
            };
            let earlier = lists.entry(*path).or_default();
            let keys: Vec<&str> = path.split(':').collect();
            match list.and_then(|list| merge(earlier, &list, &rule(&keys))) {
                Ok(merged) => *earlier = merged,
                Err(code) => drop(wrong.insert(code)),
            }
        }
    }
    (lists, wrong)
}

// ---- the comparison --------------------------------------------------------------------------------------

fn open(base: &Path, merge_options: Value) -> Inventory {
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    options.insert("merge_options".into(), merge_options);
    options.insert("settle_time".into(), Value::Int(0));
    options.insert("cache".into(), Value::text("stat"));
    Inventory::open(&options).unwrap()
}

/// The parameters, or the code of the first error. Further ones may be found in later layers alone.
fn parameters(inventory: &Inventory, node: &str) -> Result<Json, &'static str> {
    match inventory.nodeinfo(node, &Request::default()) {
        Ok(info) => Ok(plain(&info.parameters)),
        Err(error) => Err(error.first().code()),
    }
}

fn plain(value: &Value) -> Json {
    serde_json::from_str(&json::dumps(value, false)).unwrap()
}

fn write(base: &Path, layers: &[Layer]) {
    fs::create_dir_all(base.join("nodes")).unwrap();
    fs::create_dir_all(base.join("classes")).unwrap();
    let (own, classes) = layers.split_last().unwrap();
    let names: Vec<String> = (0..classes.len()).map(|number| format!("c{number}")).collect();
    for (layer, name) in classes.iter().zip(&names) {
        fs::write(base.join(format!("classes/{name}.yml")), file(layer, name, &[])).unwrap();
    }
    fs::write(base.join("nodes/n.yml"), file(own, "own", &names)).unwrap();
}

fn compare(inventory: &Inventory, layers: &[Layer]) {
    let (lists, wrong) = naive(layers);
    let about = || {
        let texts = layers.iter().enumerate().map(|(number, layer)| file(layer, &format!("c{number}"), &[]));
        texts.collect::<Vec<String>>().join("---\n")
    };
    let parameters = match parameters(inventory, "n") {
        Ok(parameters) => parameters,
        Err(code) => {
            assert!(wrong.contains(code), "{code} {wrong:?} {}", about());
            return;
        }
    };
    assert!(wrong.is_empty(), "{wrong:?} {}", about());
    for (path, list) in &lists {
        let found = parameters.pointer(&format!("/{}", path.replace(':', "/"))).unwrap();
        assert_eq!(found, &json!(list), "{path} {}", about());
        let selection = Selection { parameters: vec![(*path).to_owned()], ..Selection::default() };
        let explanation = explain(inventory, "n", &Request::default(), &selection).unwrap();
        let trace = explanation.parameters.iter().find(|trace| trace.path.to_string() == *path).unwrap();
        let after = trace.steps.iter().rfind(|step| step.counts).and_then(|step| step.after.clone());
        let after: Json = serde_json::from_str(&json::dumps(&after.unwrap(), false)).unwrap();
        assert_eq!(after, json!(list), "explain {path} {}", about());
    }
}

/// `RECLASS_MERGE_OPTIONS_SEEDS` is the number of inventories.
fn seeds(short: u64) -> std::ops::Range<u64> {
    let named = std::env::var("RECLASS_MERGE_OPTIONS_SEEDS").ok().and_then(|text| text.parse().ok());
    0..named.unwrap_or(if support::is_long() { 4_000 } else { short })
}

#[test]
fn random_lists_merge_as_in_a_naive_fold() {
    let folder = support::inventory::folder();
    for seed in seeds(400) {
        let mut random = Random(seed);
        let base = folder.path().join(seed.to_string());
        let mut layers: Vec<Layer> = (0..2 + random.below(4)).map(|_| layer(&mut random)).collect();
        write(&base, &layers);
        let inventory = open(&base, Value::Bool(true));
        compare(&inventory, &layers);
        // An edit of one layer, its rules included. The answer is kept, and only that file is read again.
        let changed = random.below(layers.len());
        layers[changed] = layer(&mut random);
        write(&base, &layers);
        compare(&inventory, &layers);
        fs::remove_dir_all(&base).unwrap();
    }
}

/// Nodes with the same classes share results. Each asks for itself, or all are asked at once, in any order.
#[test]
fn nodes_with_the_same_classes_have_their_own_lists() {
    let folder = support::inventory::folder();
    for seed in seeds(200) {
        let mut random = Random(seed);
        let base = folder.path().join(seed.to_string());
        let classes: Vec<Layer> = (0..=random.below(3)).map(|_| layer(&mut random)).collect();
        let names: Vec<String> = (0..classes.len()).map(|number| format!("c{number}")).collect();
        let mut nodes = Vec::new();
        for number in 0..4 {
            let layers = [classes.clone(), vec![layer(&mut random)]].concat();
            write(&base, &layers);
            let name = format!("n{number}");
            let own = file(&layers[classes.len()], &name, &names);
            fs::write(base.join(format!("nodes/{name}.yml")), own).unwrap();
            nodes.push((name, naive(&layers)));
        }
        fs::remove_file(base.join("nodes/n.yml")).unwrap();
        let inventory = open(&base, Value::Bool(true));
        let check = |name: &str, found: &Json| {
            let (_, (lists, wrong)) = nodes.iter().find(|(one, _)| one == name).unwrap();
            assert!(wrong.is_empty(), "seed {seed} {name}: {wrong:?}");
            for (path, list) in lists {
                let found = found.pointer(&format!("/{}", path.replace(':', "/"))).unwrap();
                assert_eq!(found, &json!(list), "seed {seed} {name} {path}");
            }
        };
        for _ in 0..8 {
            if random.once_in(3) {
                let is_right = nodes.iter().all(|(_, (_, wrong))| wrong.is_empty());
                let all = inventory.inventory();
                assert_eq!(all.is_ok(), is_right, "seed {seed}");
                for info in all.into_iter().flatten() {
                    check(&info.name, &plain(&info.parameters));
                }
            } else {
                let (name, (_, wrong)) = &nodes[random.below(nodes.len())];
                match parameters(&inventory, name) {
                    Ok(found) => check(name, &found),
                    Err(code) => assert!(wrong.contains(code), "seed {seed} {name}: {code} {wrong:?}"),
                }
            }
        }
        fs::remove_dir_all(&base).unwrap();
    }
}

#[test]
fn without_the_setting_the_section_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..100 {
        let mut random = Random(seed);
        let layers: Vec<Layer> = (0..4).map(|_| layer(&mut random)).collect();
        let plain: Vec<Layer> =
            layers.iter().map(|layer| Layer { rules: Vec::new(), ..layer.clone() }).collect();
        let base = folder.path().join(seed.to_string());
        write(&base, &layers);
        compare(&open(&base, Value::Bool(false)), &plain);
    }
}

#[test]
fn the_setting_counts_before_all_files() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..100 {
        let mut random = Random(seed);
        let mut layers: Vec<Layer> = (0..4).map(|_| layer(&mut random)).collect();
        let setting = rule(&mut random);
        let base = folder.path().join(seed.to_string());
        write(&base, &layers);
        let text = format!("'{}': {}", setting.pattern, setting.written);
        let inventory = open(&base, reclass_yaml::parse_value(&text).unwrap());
        layers.insert(0, Layer { rules: vec![setting], ..Layer::default() });
        compare(&inventory, &layers);
    }
}

#[test]
fn another_value_of_the_setting_is_an_error_and_not_off() {
    for value in ["maybe", "1", "[l]", "'true'"] {
        let mut options = Map::default();
        let value = reclass_yaml::parse_value(value).unwrap();
        options.insert("merge_options".into(), value.clone());
        let error = Inventory::open(&options).unwrap_err();
        assert!(
            error.to_string().contains("'merge_options' must be true, false or a mapping"),
            "{value:?}: {error}"
        );
    }
}
