//! `PyYAML` answers what a text means; the answer of the library is compared with it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use reclass::json;
use reclass::pystr;
use reclass::value::Value;
use reclass_yaml::compose::compose;
use reclass_yaml::emit::{EmitOptions, emit};
use reclass_yaml::to_value;
use serde_json::{Value as Json, json};

use crate::faithful::{faithful, in_order};

/// A Python that has `PyYAML` with libyaml; says so if there is none.
pub fn python() -> Option<PathBuf> {
    let local = Path::new(crate::ROOT).join(".venv/bin/python");
    let named = std::env::var_os("RECLASS_TEST_PYTHON").map(PathBuf::from);
    let found = named.into_iter().chain([local]).find(|python| {
        let tried =
            Command::new(python).args(["-c", "import yaml; yaml.CSafeLoader"]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    });
    if found.is_none() {
        crate::absent("pyyaml", "make build");
    }
    found
}

/// The YAML files of the corpus, with their paths.
pub fn corpus() -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for case in crate::corpus::load() {
        let mut folders = vec![case.inventory.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let is_yaml = path.extension().is_some_and(|end| end == "yml" || end == "yaml");
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(path),
                    Ok(kind) if kind.is_file() && is_yaml => {
                        files.extend(std::fs::read(&path).ok().map(|text| (path, text)));
                    }
                    _ => {}
                }
            }
        }
    }
    files.sort();
    files
}

/// What is said of a text and of Python's answer about it; nothing if they agree.
pub type Difference = fn(&[u8], &Json) -> Option<String>;

/// Asks a script in `tests/yaml` about all texts; gives the differences.
pub fn compare(python: &Path, script: &str, texts: &[Vec<u8>], difference: Difference) -> Vec<String> {
    let script = Path::new(crate::ROOT).join("tests/support/src/yaml").join(script);
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python starts");
    let mut input = child.stdin.take().expect("stdin is piped");
    let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let mut differences = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for text in texts {
                let job = json!({"text": json::dumps(&Value::Binary(std::sync::Arc::new(text.clone())), false).trim_matches('"')});
                if writeln!(input, "{job}").is_err() {
                    return;
                }
            }
        });
        let mut answers = output.lines();
        for text in texts {
            let line = answers.next().expect("python answers every text").expect("python answers in UTF-8");
            let answer: Json = serde_json::from_str(&line).expect("python answers in JSON");
            if let Some(difference) = difference(text, &answer) {
                differences.push(format!("{difference}\n--- {:?}\n", String::from_utf8_lossy(text)));
            }
        }
    });
    child.wait().expect("python ends");
    differences
}

/// Where the values differ, or the errors, or what is printed of the value.
pub fn difference(text: &[u8], answer: &Json) -> Option<String> {
    let document = match (compose(text), answer.get("error")) {
        // PyYAML goes on with a value that holds itself, and some end well after all.
        (Err(error), _) if error.first().kind.to_string().ends_with("is within its own anchor") => {
            return None;
        }
        (Err(error), Some(theirs)) => {
            let line = error.first().site.as_ref().map(|site| u64::from(site.line));
            let expected = answer["line"].as_u64();
            let same = expected.is_none() || line == expected;
            return (!same).then(|| {
                format!(
                    "error in line {line:?}, not {expected:?}: {:?}, {theirs}: {}",
                    error.first().kind,
                    answer["message"]
                )
            });
        }
        (Err(error), None) => {
            return Some(format!("error {:?} for {}", error.first(), answer["value"]));
        }
        (Ok(_), Some(error)) => {
            return Some(format!("no error, but {error} in line {}: {}", answer["line"], answer["message"]));
        }
        (Ok(document), None) => document,
    };
    let value = document.root.as_ref().map_or(Value::Null, to_value);
    let (ours, theirs) = (faithful(&value), in_order(&answer["value"]));
    if ours != theirs {
        return Some(format!("read  {ours}\nnot   {theirs}"));
    }
    let printed = |name: &str, ours: String| {
        let theirs = answer.get(name)?.as_str()?;
        (ours != theirs).then(|| format!("{name}\n{ours}\nnot\n{theirs}"))
    };
    let dumped = || {
        let combinations = [(true, false), (true, true), (false, false), (false, true)];
        combinations.into_iter().enumerate().find_map(|(number, (pretty, no_refs))| {
            let theirs = answer.get("yaml")?.get(number)?.as_str()?;
            let ours = emit(&value, &EmitOptions { pretty, no_refs });
            (ours != theirs)
                .then(|| format!("emit, pretty {pretty}, no_refs {no_refs}\n{ours}\nnot\n{theirs}"))
        })
    };
    printed("str", pystr::str(&value))
        .or_else(|| printed("repr", pystr::repr(&value)))
        .or_else(|| printed("json", json::dumps(&value, false)))
        .or_else(|| printed("json_pretty", json::dumps(&value, true)))
        .or_else(dumped)
}
