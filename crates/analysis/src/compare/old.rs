//! Reads the answers of another program: the output of `--inventory`, a folder with a file per node, or pillars.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::normal::{OldForm, normal, of_json};
use crate::errors::OLD_ANSWERS;
use reclass::NodeInfo;
use reclass::parts::storage::fs;
use reclass_base::error::{Error, Result, article};
use reclass_base::stack::grow;
use reclass_base::value::{Map, Text, Value};
use reclass_yaml::compose::compose;
use reclass_yaml::to_value;

/// Maximum size of a file with answers, in bytes: an inventory of thousands of nodes has hundreds of megabytes.
const LARGEST: usize = u32::MAX as usize;

/// The answers of another program.
#[derive(Clone, Debug)]
pub struct OldAnswers {
    /// Their name in messages.
    pub name: String,
    /// The form of the values.
    pub form: OldForm,
    /// The answers by node.
    pub nodes: BTreeMap<Text, OldNode>,
    /// Whether these are all nodes of the other program. Otherwise, a node without an answer is not compared.
    pub is_complete: bool,
}

/// The answer for one node.
#[derive(Clone, Debug)]
pub enum OldNode {
    /// The values.
    Answer(OldSections),
    /// There is none: the message of the program.
    Refused(String),
}

/// The recorded sections of a node. A section that was not recorded is not compared.
#[derive(Clone, Default, Debug)]
pub struct OldSections {
    /// The environment.
    pub environment: Option<Value>,
    /// The classes.
    pub classes: Option<Vec<Text>>,
    /// The applications.
    pub applications: Option<Vec<Text>>,
    /// The parameters, a mapping.
    pub parameters: Option<Value>,
    /// The exports, a mapping.
    pub exports: Option<Value>,
}

/// What Salt 3008 prints in place of each text of a pillar, unless `unmask=True` is given.
const SALT_MASK: &str = "**********";

/// Counts the texts of a value, and those that Salt has masked.
fn count_masked(value: &Value, texts: &mut usize, masked: &mut usize) {
    match value {
        Value::Map(map) => grow(|| map.values().for_each(|value| count_masked(value, texts, masked))),
        Value::List(items) => grow(|| items.iter().for_each(|item| count_masked(item, texts, masked))),
        Value::Str(text) => {
            *texts += 1;
            *masked += usize::from(&**text == SALT_MASK);
        }
        _ => {}
    }
}

fn fault(name: &str, message: impl fmt::Display) -> Error {
    OLD_ANSWERS.fault(format!("'{name}' holds no answers to compare: {message}"), None).into()
}

impl OldAnswers {
    /// No answers yet.
    pub fn new(name: &str, form: OldForm) -> OldAnswers {
        let (name, nodes) = (name.to_owned(), BTreeMap::new());
        OldAnswers { name, form, nodes, is_complete: false }
    }

    /// Reads a file with the output of `reclass --inventory`, or a folder with the output of
    /// `reclass --nodeinfo` in a file per node.
    pub fn read(path: &str) -> Result<OldAnswers> {
        let place = Path::new(path);
        if place.is_dir() {
            return OldAnswers::of_folder(path);
        }
        let (data, form) = data_of(place)?;
        let mut answers = OldAnswers::new(path, form);
        let map = data.as_map().ok_or_else(|| not_a_mapping(path, &data))?;
        match map.get("nodes") {
            Some(Value::Map(nodes)) => {
                answers.is_complete = true;
                for (name, node) in nodes.iter() {
                    let name = reclass_base::pystr::str(&name.0);
                    let node = node.as_map().filter(|node| is_nodeinfo(node));
                    let node =
                        node.ok_or_else(|| fault(path, format!("'nodes:{name}' is no answer for a node")))?;
                    answers.add(name.into(), node);
                }
            }
            _ if is_nodeinfo(map) => answers.add(name_of(map, place), map),
            _ => {
                let message = "it has neither the nodes of 'reclass --inventory' nor the answer for one node; for pillars, say pillars:FILE";
                return Err(fault(path, message));
            }
        }
        Ok(answers)
    }

    fn of_folder(path: &str) -> Result<OldAnswers> {
        let entries = fs::entries(Path::new(path)).map_err(|error| fault(path, fs::reason(&error)))?;
        let mut answers = OldAnswers::new(path, OldForm::Json);
        let mut forms = Vec::new();
        for file in entries {
            let extension = file.extension().and_then(|extension| extension.to_str());
            if !matches!(extension, Some("json" | "yml" | "yaml")) {
                continue;
            }
            let (data, form) = data_of(&file)?;
            match &data {
                Value::Map(map) if is_nodeinfo(map) => answers.add(name_of(map, &file), map),
                // A shell makes the file of a node, also if the program then refuses it.
                Value::Null => {
                    let refused = OldNode::Refused("its file is empty".into());
                    answers.nodes.insert(name_of(&Map::default(), &file), refused);
                    continue;
                }
                _ => return Err(fault(&fs::display(&file), "it is no answer for a node")),
            }
            forms.push(form);
        }
        // JSON keeps less than YAML, so with one file of JSON all values are compared as JSON.
        if !forms.is_empty() && forms.iter().all(|form| *form == OldForm::Yaml) {
            answers.form = OldForm::Yaml;
        }
        if answers.nodes.is_empty() {
            return Err(fault(path, "it has no file NODE.yml or NODE.json"));
        }
        Ok(answers)
    }

    /// Reads the output of `salt '*' pillar.items --out json --static`.
    pub fn pillars(path: &str) -> Result<OldAnswers> {
        let (data, _) = data_of(Path::new(path))?;
        let map = data.as_map().ok_or_else(|| not_a_mapping(path, &data))?;
        let is_inventory = map.get("nodes").and_then(Value::as_map).is_some_and(|nodes| {
            !nodes.is_empty() && nodes.values().all(|node| node.as_map().is_some_and(is_nodeinfo))
        });
        if is_inventory || is_nodeinfo(map) {
            let message =
                format!("it has the answers of 'reclass', and no pillars: say {path}, without 'pillars:'");
            return Err(fault(path, message));
        }
        let (mut texts, mut masked) = (0, 0);
        map.values().for_each(|pillar| count_masked(pillar, &mut texts, &mut masked));
        if masked > 0 && masked == texts {
            let message =
                "Salt has masked all values: write it again with unmask=True at the end of the command";
            return Err(fault(path, message));
        }
        Ok(OldAnswers::of_pillars(path, map))
    }

    /// Pillars by minion.
    pub fn of_pillars(name: &str, pillars: &Map) -> OldAnswers {
        let mut answers = OldAnswers::new(name, OldForm::Pillar);
        for (minion, pillar) in pillars {
            let minion = Text::from(reclass_base::pystr::str(&minion.0));
            let answer = match pillar.as_map() {
                // Salt puts errors into the pillar that it could not make.
                Some(pillar) if pillar.contains_key("_errors") => {
                    let errors = pillar.get("_errors").map(reclass_base::pystr::str).unwrap_or_default();
                    OldNode::Refused(errors)
                }
                Some(pillar) => OldNode::Answer(OldSections::of_pillar(pillar)),
                // `false`, or a sentence: the minion did not return.
                None => continue,
            };
            answers.nodes.insert(minion, answer);
        }
        answers
    }

    fn add(&mut self, name: Text, nodeinfo: &Map) {
        self.nodes.insert(name, OldNode::Answer(OldSections::of_nodeinfo(nodeinfo)));
    }
}

impl OldNode {
    /// Whether the program gave nothing: an empty pillar. A minion that is in no inventory has it, too.
    pub(super) fn is_nothing(&self) -> bool {
        let OldNode::Answer(sections) = self else { return false };
        sections.classes.is_none()
            && sections.parameters.as_ref().and_then(Value::as_map).is_some_and(Map::is_empty)
    }
}

impl OldSections {
    fn of_nodeinfo(map: &Map) -> OldSections {
        OldSections {
            environment: map.get("environment").cloned(),
            classes: map.get("classes").map(names),
            applications: map.get("applications").map(names),
            parameters: map.get("parameters").cloned(),
            exports: map.get("exports").cloned(),
        }
    }

    /// The pillar of a minion. Salt's adapters put the other sections under a key of their own.
    fn of_pillar(map: &Map) -> OldSections {
        let about = map.get("__reclass__").and_then(Value::as_map);
        let section = |name: &str| about.and_then(|about| about.get(name));
        let parameters = map.iter().filter(|(key, _)| key.as_str() != Some("__reclass__"));
        let parameters: Map = parameters.map(|(key, value)| (key.clone(), value.clone())).collect();
        OldSections {
            environment: section("environment").cloned(),
            classes: section("classes").map(names),
            applications: section("applications").map(names),
            parameters: Some(Value::map(parameters)),
            exports: None,
        }
    }

    /// The recorded node as an answer. Sections that were not recorded are those of `now`.
    pub(super) fn completed(&self, now: &NodeInfo, form: OldForm) -> NodeInfo {
        let value = |section: &Option<Value>, now: &Value| {
            section.as_ref().map_or_else(|| now.clone(), |value| normal(value, form))
        };
        NodeInfo {
            environment: value(&self.environment, &now.environment),
            classes: self.classes.as_ref().map_or_else(|| now.classes.clone(), |names| names.clone().into()),
            applications: self.applications.clone().unwrap_or_else(|| now.applications.clone()),
            parameters: value(&self.parameters, &now.parameters),
            exports: value(&self.exports, &now.exports),
            ..now.clone()
        }
    }
}

fn names(value: &Value) -> Vec<Text> {
    match value {
        Value::List(items) => items.iter().map(|item| reclass_base::pystr::str(item).into()).collect(),
        _ => Vec::new(),
    }
}

fn is_nodeinfo(map: &Map) -> bool {
    let has = |key: &str| map.contains_key(key);
    has("parameters") && (has("classes") || has("applications") || has("__reclass__"))
}

/// The name of a node in its own answer, or the name of the file.
fn name_of(map: &Map, path: &Path) -> Text {
    let about = map.get("__reclass__").and_then(Value::as_map);
    let own = about.and_then(|about| about.get("name").or_else(|| about.get("node")));
    match own {
        Some(Value::Str(name)) => name.clone(),
        _ => path.file_stem().unwrap_or_default().to_string_lossy().into_owned().into(),
    }
}

fn not_a_mapping(path: &str, data: &Value) -> Error {
    fault(path, format!("it must be a mapping, not {}", article(data.type_name())))
}

fn data_of(path: &Path) -> Result<(Value, OldForm)> {
    let (bytes, _) = fs::read(path, LARGEST)?;
    read(&bytes).map_err(|message| fault(&fs::display(path), message))
}

/// Data in JSON or YAML.
fn read(bytes: &[u8]) -> std::result::Result<(Value, OldForm), String> {
    // YAML may begin like JSON, and JSON of Python may hold NaN, which only a YAML reader accepts.
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|byte| b"{[".contains(byte))
        && let Ok(data) = serde_json::from_slice::<serde_json::Value>(bytes)
    {
        return Ok((of_json(&data), OldForm::Json));
    }
    let document = compose(bytes).map_err(|error| {
        let first = error.first();
        match &first.site {
            Some(site) => format!("line {}, column {}: {}", site.line, site.column, first.kind),
            None => first.kind.to_string(),
        }
    })?;
    let value = document.root.as_ref().map_or(Value::Null, to_value);
    let is_json = first == Some(&b'{') && bytes.trim_ascii_end().ends_with(b"}");
    Ok((value, if is_json { OldForm::Json } else { OldForm::Yaml }))
}
