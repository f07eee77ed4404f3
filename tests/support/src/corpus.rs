//! The corpus turns recorded answers of the Python programs and of reclass-rs into results to compare with.
//!
//! The small inventories are in `tests/oracles/conformance/cases`, one file for each area; its `README.md` describes
//! the format. The real inventories belong to other people and are outside of the repository.

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
    /// The folder that was made for it, if there is one. Its files are gone with it.
    pub made: Option<tempfile::TempDir>,
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

/// The number of real inventories that answers were recorded for.
const REAL: usize = 46;

/// The real inventories beside the repository, or where `RECLASS_SHARED` says.
fn real() -> Option<PathBuf> {
    let shared = std::env::var_os("RECLASS_SHARED")
        .map_or_else(|| Path::new(crate::ROOT).join("../shared"), PathBuf::from);
    fs::canonicalize(shared.join("conformance/real")).ok()
}

/// All cases by name, then all real inventories. Without these it notes how much is not tested.
pub fn load() -> Vec<Case> {
    let mut files = folders(&Path::new(crate::ROOT).join("tests/oracles/conformance/cases"));
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    let mut cases: Vec<Case> = files.iter().flat_map(|file| small_cases(file)).collect();
    cases.sort_by(|one, other| one.id.cmp(&other.id));
    if let Some(real) = real() {
        let real = folders(&real).into_iter().filter(|path| path.join("case.json").is_file());
        cases.extend(real.map(|folder| real_case(&folder)));
    } else {
        let why = format!("{REAL} real inventories are not beside the repository (RECLASS_SHARED)");
        println!("not tested: {why}");
        crate::note_skipped(&why);
    }
    cases
}

fn folders(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the corpus can be read");
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// The cases of one area.
fn small_cases(file: &Path) -> Vec<Case> {
    let text = fs::read_to_string(file).expect("the cases are UTF-8");
    format!("\n{text}").split("\n=== ").skip(1).map(small_case).collect()
}

/// A case: its name, what is asked, its files, then the answers and the output of command lines.
fn small_case(text: &str) -> Case {
    let json = |text: &str| -> Value {
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let mut sections = text.split("\n--- ");
    let (name, asked) = sections.next().and_then(|head| head.split_once('\n')).expect("a name and a line");
    let made = crate::inventory::folder();
    // About as long as the path when the answers were recorded: YAML in flow style breaks lines by it.
    let long = "answers-recorded-by-four-programs/inventory";
    let inventory = fs::canonicalize(made.path()).expect("it exists").join(long);
    let (mut expected, mut commands) = (json("{}"), BTreeMap::<String, Vec<Value>>::new());
    for section in sections {
        let (head, body) = match section.split_once('\n') {
            Some((head, body)) => (head, format!("{body}\n")),
            None => (section, String::new()),
        };
        let lines = || body.lines().filter(|line| !line.is_empty());
        match head {
            "answers" => lines().for_each(|line| {
                let (program, rest) = line.split_once(' ').expect("a program");
                let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
                let mut next = || values.next().expect("two values").expect("JSON");
                let node = next();
                expected[program][node.as_str().expect("a name")] = next();
            }),
            "commands" => lines().for_each(|line| {
                let (program, rest) = line.split_once(' ').expect("a program");
                let mut command = json(rest);
                if let Some(same) = command["stdout"]["same_as"].as_str() {
                    let equal = |one: &&Value| one["args"] == command["args"];
                    command["stdout"] =
                        commands[same].iter().find(equal).expect("a command")["stdout"].clone();
                }
                commands.entry(program.to_owned()).or_default().push(command);
            }),
            _ => write(&inventory, head, &body),
        }
    }
    let commands = exact_commands(&Value::Object(
        commands.into_iter().map(|(program, all)| (program, Value::Array(all))).collect(),
    ));
    case(name.to_owned(), &json(asked), &expected, commands, (inventory, Some(made)))
}

/// Writes a file of a case: its text as it stands, a JSON string of its text or of its bytes, or a link.
fn write(inventory: &Path, head: &str, body: &str) {
    let (kind, name) = match head.split_once(' ') {
        Some((kind @ ("text" | "bytes" | "link"), name)) => (kind, name),
        _ => ("", head),
    };
    let path = inventory.join(name);
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("the folder is ours");
    let text = || serde_json::from_str::<String>(body).expect("a JSON string");
    let bytes = match kind {
        "text" => text().into_bytes(),
        "bytes" => text().chars().map(|byte| u8::try_from(byte).expect("a byte")).collect(),
        "link" => {
            return std::os::unix::fs::symlink(body.trim_end(), path).expect("the folder is ours");
        }
        _ => body.as_bytes().to_vec(),
    };
    fs::write(path, bytes).expect("the folder is ours");
}

fn read(path: &Path) -> Option<Value> {
    let text = fs::read_to_string(path).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn real_case(folder: &Path) -> Case {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let asked = read(&folder.join("case.json")).unwrap_or_default();
    let expected = read(&folder.join("expected.json")).unwrap_or_default();
    let commands = hashed_commands(&read(&folder.join("expected-cli-sha256.json")).unwrap_or_default());
    let inventory = links::restored(&folder.join("inventory"));
    case(format!("real/{name}"), &asked, &expected, commands, inventory)
}

fn case(
    id: String,
    asked: &Value,
    expected: &Value,
    commands: BTreeMap<String, Vec<Command>>,
    (inventory, made): (PathBuf, Option<tempfile::TempDir>),
) -> Case {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Case {
        inventory,
        made,
        id,
        settings: asked["settings"].as_object().cloned().unwrap_or_default(),
        nodes: asked["nodes"].as_array().into_iter().flatten().map(text).collect(),
        inventory_mode: asked["inventory_mode"] == Value::Bool(true),
        input_data: asked.get("input_data").filter(|data| !data.is_null()).cloned(),
        recorded: recorded(expected),
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
