//! Comparing turns our answer and the recorded ones into a verdict.
//!
//! The one difference that every node of every inventory has, the block of automatic parameters
//! (ruling S12), is taken out here: the recorded block is replaced by the one that the ruling
//! gives, and whoever needed that is counted as a deviation by S12.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use support::answer::{ENUMERATE, INVENTORY, Ours};
use support::corpus::{Case, Recorded};

/// Our answer, compared with that of one program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Likeness {
    /// The same.
    Same,
    /// The same except for the block of automatic parameters (S12).
    SameButName,
    /// Different.
    Different,
}

/// Compares our answer with one recorded one.
pub fn likeness(case: &Case, key: &str, ours: &Ours, recorded: &Recorded) -> Likeness {
    match (ours, recorded) {
        (Ours::Ok(ours, warnings), Recorded::Ok(answer)) => {
            let same = match key {
                ENUMERATE => text(ours) == text(&answer["nodes"]),
                INVENTORY => return inventory(case, ours, answer),
                _ => text(ours) == text(&answer["nodeinfo"]),
            };
            let warned = |line: &Json| line.as_str().is_some_and(|line| line.contains("[WARNING]"));
            let silent = *warnings == 0 && answer["stderr"].as_array().into_iter().flatten().any(warned);
            match same {
                _ if silent => Likeness::Different,
                true => Likeness::Same,
                false if key == ENUMERATE => Likeness::Different,
                false if text(ours) == text(&ruled(case, &answer["nodeinfo"])) => Likeness::SameButName,
                false => Likeness::Different,
            }
        }
        (Ours::Error(ours, exit, _), Recorded::Error { class, code: recorded, uncaught }) => {
            // A traceback says nothing about what a program should do: any error of ours is as good.
            // In a whole inventory the forks meet another error first, that of their queries.
            let expected = |allowed: &[&str]| ours.iter().any(|code| allowed.contains(&code.as_str()));
            let same =
                *uncaught || (exit == recorded && (key == INVENTORY || codes(class).is_none_or(expected)));
            if same { Likeness::Same } else { Likeness::Different }
        }
        _ => Likeness::Different,
    }
}

/// The whole inventory: who has which class and application, and the nodes as they are alone.
fn inventory(case: &Case, ours: &Json, answer: &Json) -> Likeness {
    let same = ["classes", "applications"].iter().all(|key| members(&ours[key]) == members(&answer[key]));
    let mut differing = answer["nodes_differing_from_nodeinfo"].as_object().into_iter().flatten();
    let alone = differing.all(|(name, theirs)| {
        let alone = nodes(ours).into_iter().find(|(node, _)| node == name);
        alone.is_some_and(|(_, alone)| text(&alone) == text(&ruled(case, theirs)))
    });
    if same && alone { Likeness::Same } else { Likeness::Different }
}

/// Who has which class or application, by its name, sorted.
pub fn members(index: &Json) -> BTreeMap<String, Vec<String>> {
    let name = |node: &Json| node.as_str().unwrap_or_default().to_owned();
    let sorted = |nodes: &Json| {
        let mut nodes: Vec<String> = nodes.as_array().into_iter().flatten().map(name).collect();
        nodes.sort();
        nodes
    };
    entries(index).map(|(name, nodes)| (name.to_owned(), sorted(nodes))).collect()
}

/// The nodes of our whole inventory, each as if it were asked for alone.
pub fn nodes(whole: &Json) -> Vec<(String, Json)> {
    let timeless = |node: &Json| {
        let mut node = node.clone();
        if let Some(about) = node.get_mut("__reclass__").and_then(Json::as_object_mut) {
            about.remove("timestamp");
        }
        node
    };
    entries(&whole["nodes"]).map(|(name, node)| (name.to_owned(), timeless(node))).collect()
}

/// The entries of a mapping with string keys, in both of its spellings.
fn entries(map: &Json) -> impl Iterator<Item = (&str, &Json)> {
    let pairs = map["$map"].as_array().into_iter().flatten();
    let odd = pairs.filter_map(|pair| Some((pair[0].as_str()?, &pair[1])));
    let plain = map.as_object().into_iter().flatten().filter(|(name, _)| *name != "$map");
    odd.chain(plain.map(|(name, node)| (name.as_str(), node)))
}

/// The codes of ours that stand for an exception of the Python programs; `None` for any.
fn codes(class: &str) -> Option<&'static [&'static str]> {
    match class {
        "ExpressionError" => Some(&["query-operand", "query-syntax", "reference-not-found"]),
        _ => crate::codes(class),
    }
}

/// JSON in one spelling: what has no order is sorted.
pub fn text(json: &Json) -> String {
    canonical(json).to_string()
}

fn canonical(json: &Json) -> Json {
    match json {
        Json::Array(items) => Json::Array(items.iter().map(canonical).collect()),
        Json::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let mut value = canonical(value);
                if let ("$map" | "$set", Json::Array(items)) = (key.as_str(), &mut value) {
                    items.sort_by_key(Json::to_string);
                }
                (key.clone(), value)
            })
            .collect::<BTreeMap<_, _>>()
            .into_iter()
            .collect(),
        _ => json.clone(),
    }
}

/// A recorded `nodeinfo` with the block of automatic parameters that ruling S12 gives.
pub fn ruled(case: &Case, nodeinfo: &Json) -> Json {
    let mut nodeinfo = nodeinfo.clone();
    let name = nodeinfo["__reclass__"]["name"].as_str().unwrap_or_default().to_owned();
    let uri = nodeinfo["__reclass__"]["uri"].as_str().unwrap_or_default().to_owned();
    let block = automatic(&mut nodeinfo["parameters"]);
    let Some(block) = block.and_then(|block| block.get_mut("name")) else { return nodeinfo };
    let ruled = name_block(case, &name, &uri);
    let parts: Vec<&str> = name.split('.').collect();
    let (first, last) = (parts.first(), parts.last());
    for (key, value) in ruled.as_object().into_iter().flatten() {
        // What an inventory itself writes there is not touched.
        let own = match (key.as_str(), &block[key]) {
            (_, Json::Null) => false,
            ("full", recorded) => *recorded != name.as_str(),
            ("short", recorded) => recorded.as_str() != first.copied() && recorded.as_str() != last.copied(),
            ("path", recorded) => *recorded != joined(&parts).as_str(),
            (_, recorded) => *recorded != json!(parts),
        };
        if !own {
            block[key] = value.clone();
        }
    }
    nodeinfo
}

/// The parts as `os.path.join` joins them: an empty one adds no second slash.
fn joined(parts: &[&str]) -> String {
    parts.iter().fold(String::new(), |path, part| match path.as_str() {
        "" => (*part).to_owned(),
        start if start.ends_with('/') => path + part,
        _ => path + "/" + part,
    })
}

/// The automatic parameters, in both spellings of a mapping.
pub fn automatic(parameters: &mut Json) -> Option<&mut Json> {
    if parameters.get("$map").is_none() {
        return parameters.get_mut("_reclass_");
    }
    let pairs = parameters["$map"].as_array_mut()?;
    pairs.iter_mut().find(|pair| pair[0] == "_reclass_").map(|pair| &mut pair[1])
}

fn name_block(case: &Case, name: &str, uri: &str) -> Json {
    let composed = case.settings.get("compose_node_name") == Some(&Json::Bool(true));
    if !composed {
        let short = name.split('.').next().unwrap_or_default();
        return json!({ "full": name, "short": short, "path": name, "parts": [name] });
    }
    let flags = ["compat_flags", "reclass_rs_compat_flags"].map(|key| case.settings.get(key).map(text));
    let split = flags.into_iter().flatten().any(|flags| {
        flags.contains("ComposeNodeNameLiteralDots") || flags.contains("compose-node-name-literal-dots")
    });
    let parts: Vec<&str> = if split {
        name.split('.').collect()
    } else {
        // By directory: as many components from the end of the path as the name is made of.
        let path = uri.rsplit_once('.').map_or(uri, |(stem, _)| stem);
        let mut parts = Vec::new();
        let mut rest = name.len();
        for part in path.rsplit('/') {
            parts.insert(0, part);
            if part.len() >= rest {
                break;
            }
            rest -= part.len() + 1;
        }
        parts
    };
    let short = parts.last().copied().unwrap_or_default();
    json!({ "full": name, "short": short, "path": parts.join("/"), "parts": parts })
}
