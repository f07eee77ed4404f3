//! The corpus turns recorded answers of the Python programs and of reclass-rs into results to compare with.
//!
//! `README.md` of the corpus describes the format. Compact results of the real inventories are expanded here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::links;

/// One inventory with what the programs answered.
pub struct Case {
    /// `class-init`, or `real/commodore-apps`.
    pub id: String,
    /// The folder of the inventory, canonical.
    pub inventory: PathBuf,
    /// Where a copy of it is, if it needed one.
    _copy: Option<tempfile::TempDir>,
    /// The content of the configuration file, without `inventory_base_uri`.
    pub settings: Map<String, Value>,
    /// The names that were asked for.
    pub nodes: Vec<String>,
    /// Whether the whole inventory was asked for.
    pub inventory_mode: bool,
    /// Data merged before the node.
    pub input_data: Option<Value>,
    /// By program, then by node, `@enumerate` or `@inventory`.
    pub recorded: BTreeMap<String, BTreeMap<String, Recorded>>,
    /// By program.
    pub commands: BTreeMap<String, Vec<Command>>,
}

/// The Python programs whose command lines are compared: what is released of the two forks.
pub const FORKS: [&str; 2] = ["kapicorp", "saltformulas"];

/// What a program answered.
#[derive(Clone, Debug)]
pub enum Recorded {
    /// Data: the whole result object.
    Ok(Value),
    /// A refusal.
    Error {
        /// The class of the exception.
        class: String,
        /// The exit code.
        code: u8,
        /// Whether it was an ordinary Python exception, a bug.
        uncaught: bool,
    },
}

/// One recorded command line.
pub struct Command {
    pub arguments: Vec<String>,
    pub code: u8,
    /// The text, or its hash.
    pub output: Output,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    Text(String),
    Sha256(String),
}

/// The corpus beside the repository, or where `RECLASS_SHARED` says.
pub fn directory() -> Option<PathBuf> {
    let shared = std::env::var_os("RECLASS_SHARED")
        .map_or_else(|| Path::new(crate::ROOT).join("../shared"), PathBuf::from);
    fs::canonicalize(shared.join("conformance")).ok().filter(|path| path.join("cases").is_dir())
}

/// All cases, then all real inventories, by name.
pub fn load(directory: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in ["cases", "real"] {
        let mut folders: Vec<PathBuf> = fs::read_dir(directory.join(kind))
            .expect("the corpus has both folders")
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.join("case.json").is_file())
            .collect();
        folders.sort();
        cases.extend(folders.iter().map(|folder| load_case(kind, folder)));
    }
    cases
}

fn read(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn load_case(kind: &str, folder: &Path) -> Case {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let case = read(&folder.join("case.json")).unwrap_or_default();
    let expected = read(&folder.join("expected.json")).unwrap_or_default();
    let commands = match read(&folder.join("expected-cli.json")) {
        Some(commands) => exact_commands(&commands),
        None => hashed_commands(&read(&folder.join("expected-cli-sha256.json")).unwrap_or_default()),
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (inventory, copy) = links::restored(&folder.join("inventory"));
    Case {
        inventory,
        _copy: copy,
        id: if kind == "real" { format!("real/{name}") } else { name.to_owned() },
        settings: case["settings"].as_object().cloned().unwrap_or_default(),
        nodes: case["nodes"].as_array().into_iter().flatten().map(text).collect(),
        inventory_mode: case["inventory_mode"] == Value::Bool(true),
        input_data: case.get("input_data").filter(|data| !data.is_null()).cloned(),
        recorded: recorded(&expected),
        commands,
    }
}

fn recorded(expected: &Value) -> BTreeMap<String, BTreeMap<String, Recorded>> {
    let programs = expected.as_object().into_iter().flatten();
    programs
        .map(|(program, answers)| {
            let answers = answers.as_object().into_iter().flatten();
            let answers = answers
                .map(|(node, answer)| (node.clone(), result(&expand(expected, node, answer))))
                .collect();
            (program.clone(), answers)
        })
        .collect()
}

fn result(answer: &Value) -> Recorded {
    if answer["status"] == "ok" {
        return Recorded::Ok(answer.clone());
    }
    Recorded::Error {
        class: answer["type"].as_str().unwrap_or("crash").to_owned(),
        code: answer["rc"].as_u64().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
        uncaught: answer["uncaught"] == Value::Bool(true) || answer["status"] != "error",
    }
}

/// `same_as` and `base`/`set`/`del` of the compact form.
fn expand(expected: &Value, node: &str, answer: &Value) -> Value {
    if let Some(program) = answer["same_as"].as_str() {
        return expected[program][node].clone();
    }
    let Some(program) = answer["base"].as_str() else { return answer.clone() };
    let mut info = expected[program][node]["nodeinfo"].clone();
    for path in answer["del"].as_array().into_iter().flatten() {
        let path = path.as_array().map(Vec::as_slice).unwrap_or_default();
        if let Some((last, parents)) = path.split_last() {
            let parent = descend(&mut info, parents);
            parent.as_object_mut().and_then(|map| map.remove(last.as_str()?));
        }
    }
    for pair in answer["set"].as_array().into_iter().flatten() {
        let path = pair[0].as_array().map(Vec::as_slice).unwrap_or_default();
        *descend(&mut info, path) = pair[1].clone();
    }
    let mut whole = answer.clone();
    whole["nodeinfo"] = info;
    whole
}

fn descend<'a>(value: &'a mut Value, path: &[Value]) -> &'a mut Value {
    path.iter().fold(value, |value, key| match (key.as_str(), key.as_u64()) {
        (Some(key), _) => &mut value[key],
        (None, index) => &mut value[usize::try_from(index.unwrap_or_default()).unwrap_or_default()],
    })
}

fn exact_commands(commands: &Value) -> BTreeMap<String, Vec<Command>> {
    let command = |command: &Value| Command {
        arguments: command["args"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|argument| argument.as_str().unwrap_or_default().to_owned())
            .collect(),
        code: command["rc"].as_u64().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
        output: Output::Text(command["stdout"].as_str().unwrap_or_default().to_owned()),
    };
    let list = |program: &str| commands[program].as_array().into_iter().flatten().map(command).collect();
    FORKS.into_iter().map(|program| (program.to_owned(), list(program))).collect()
}

fn hashed_commands(commands: &Value) -> BTreeMap<String, Vec<Command>> {
    let mut all = BTreeMap::new();
    for program in FORKS {
        let mut list = Vec::new();
        for (node, formats) in commands[program].as_object().into_iter().flatten() {
            for (format, answer) in formats.as_object().into_iter().flatten() {
                list.push(Command {
                    arguments: ["-n", node, "-o", format].map(str::to_owned).to_vec(),
                    code: answer["rc"].as_u64().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
                    output: Output::Sha256(answer["sha256"].as_str().unwrap_or_default().to_owned()),
                });
            }
        }
        all.insert(program.to_owned(), list);
    }
    all
}
