//! Asks another program for its answers: each node in a process of its own, because the Python programs keep
//! state between nodes. Processes run side by side.
//!
//! | program                          | question                                                       |
//! |----------------------------------|----------------------------------------------------------------|
//! | `reclass` of a Python package    | `reclass --nodeinfo NODE`                                      |
//! | a Python with reclass-rs or one  | a few lines that import the package                            |
//! | ferroclass                       | `ferroclass --nodeinfo NODE`                                   |
//!
//! The program runs in a folder with the current settings under both names of a settings file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustc_hash::FxHashSet;

use super::normal::OldForm;
use super::old::{OldAnswers, OldNode};
use crate::base::error::{Error, Fault, Kind, Result, short};
use crate::base::parallel;
use crate::base::pattern::{Glob, chosen};
use crate::base::progress::WorkUnit;
use crate::base::settings::{FILE_NAMES, Settings, TABLE};
use crate::base::value::{Key, Map, Text, Value};
use crate::engine::Inventory;
use crate::storage::answers::{AnswerFile, ProgramAnswer, WorkFolder, key_of};
use crate::storage::program::{Failure, RunBounds, output};
use crate::storage::{TreeLimits, fs, walk};
use crate::yaml::emit::{EmitOptions, emit};

/// How long one node may take.
const LIMIT: Duration = Duration::from_secs(600);

/// Prints a node, with whichever package this Python has.
const SCRIPT: &str = r#"
import json, sys
base, node, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
try:
    import reclass_rs
except ImportError:
    from reclass.cli import main
    sys.argv = ["reclass", "-b", base, "--nodeinfo=" + node]
    sys.exit(main())
settings = {name: value for name, value in settings.items() if name != "inventory_base_uri"}
config = reclass_rs.Config.from_dict(base, settings)
json.dump(reclass_rs.Reclass.from_config(config).nodeinfo(node).as_dict(), sys.stdout)
"#;

/// Prints the name and version of the package of a Python.
const VERSION: &str = r#"
from importlib.metadata import version, PackageNotFoundError
for name in ("reclass-rs", "kapicorp-reclass", "reclass"):
    try:
        print(name, version(name))
        break
    except PackageNotFoundError:
        pass
"#;

/// The answers of a program, and where they are kept.
#[derive(Debug)]
pub struct ProgramAnswers {
    /// The answers.
    pub old: OldAnswers,
    /// The file that keeps them, if there is one.
    pub file: Option<PathBuf>,
    /// The number of nodes that the program was asked for.
    pub asked: usize,
}

/// A program at work.
struct OldProgram {
    path: String,
    is_python: bool,
    version: String,
    base: String,
    settings: Map,
}

impl OldProgram {
    /// Finds out what a program is.
    fn find(path: &str, options: &Map) -> Result<OldProgram> {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        let is_python = name.starts_with("python") || name.starts_with("pypy");
        let mut command = Command::new(path);
        if is_python {
            command.args(["-c", VERSION]);
        } else {
            command.arg("--version");
        }
        let version = output(command, b"", bounds()).map_err(|failure| unusable(path, &reason(failure)))?;
        let version = String::from_utf8_lossy(&version).trim().to_owned();
        if version.is_empty() {
            let message = if is_python {
                "this Python has neither reclass nor reclass-rs"
            } else {
                "it has no version"
            };
            return Err(unusable(path, message));
        }
        if version.contains("saltext-reclass") {
            return Err(unusable(path, "it is this program"));
        }
        // It runs in another folder.
        let here = if path.contains('/') { fs::absolute(None, Path::new(path)) } else { None };
        let path = here.map_or_else(|| path.to_owned(), |path| fs::display(&path));
        let base = options.get("inventory_base_uri").and_then(Value::as_str).unwrap_or(".");
        let base = fs::absolute(None, Path::new(base)).unwrap_or_else(|| PathBuf::from(base));
        let (base, settings) = (fs::display(&base), settings(options, &base));
        Ok(OldProgram { path, is_python, version, base, settings })
    }

    /// The name of the program for people.
    fn title(&self) -> String {
        let version = self.version.lines().next().unwrap_or_default();
        format!("{} ({version})", self.path)
    }

    fn ask(&self, node: &Text, folder: &Path) -> ProgramAnswer {
        let mut command = Command::new(&self.path);
        // A backtrace would make reclass-rs half as slow again.
        command.current_dir(folder).env_remove("RUST_BACKTRACE").env_remove("RUST_LIB_BACKTRACE");
        if self.is_python {
            let settings = crate::base::json::dumps(&Value::map(self.settings.clone()), false);
            command.args(["-c", SCRIPT, &self.base, node, &settings]);
        } else {
            command.args(["-b", &self.base, &format!("--nodeinfo={node}")]);
        }
        let answer = match output(command, b"", bounds()) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(failure) => Err(reason(failure)),
        };
        ProgramAnswer { node: node.to_string(), answer }
    }

    /// The fingerprint of everything that the answers depend on; `None` if it is not known, as of repositories
    /// whose branches move.
    fn key(&self, options: &Map) -> Result<Option<String>> {
        let (settings, _) = Settings::from_options(options)?;
        if &*settings.storage_type != "yaml_fs" {
            return Ok(None);
        }
        let base = settings.inventory_base_uri.as_deref();
        let mut roots = fs::roots(base, &settings.nodes_uri, "nodes_uri")?;
        roots.extend(fs::roots(base, &settings.classes_uri, "classes_uri")?);
        let limits = TreeLimits::of(&settings);
        let listing = walk::list(&roots, limits, 1)?;
        let mut parts: Vec<Vec<u8>> = vec![
            self.path.clone().into_bytes(),
            self.version.clone().into_bytes(),
            crate::base::json::dumps(&Value::map(self.settings.clone()), false).into_bytes(),
        ];
        for file in listing.paths() {
            let content = fs::read(&file, limits.bytes).map(|(bytes, _)| bytes).unwrap_or_default();
            parts.push(fs::display(&file).into_bytes());
            parts.push(content);
        }
        Ok(Some(key_of(parts.iter().map(Vec::as_slice))))
    }
}

/// The settings that other programs know, with the absolute folder of the inventory.
fn settings(options: &Map, base: &Path) -> Map {
    let known = |name: &str| TABLE.iter().any(|row| row.name == name || row.aliases.contains(&name));
    let own = ["config_file", "cache", "inventory_base_uri", "output", "pretty_print", "no_refs"];
    let entries = options
        .iter()
        .filter(|(key, _)| key.as_str().is_some_and(|name| known(name) && !own.contains(&name)));
    let mut settings: Map = entries.map(|(key, value)| (key.clone(), value.clone())).collect();
    settings.insert(Key::from("inventory_base_uri"), Value::text(fs::display(base)));
    settings
}

fn bounds() -> RunBounds {
    RunBounds { program: "the program", limit: LIMIT, largest: None, summary }
}

fn unusable(program: &str, message: &str) -> Error {
    let kind = Kind::OldProgram { program: program.to_owned(), message: message.to_owned() };
    Fault::new(kind).into()
}

fn reason(failure: Failure) -> String {
    match failure {
        Failure::NotRun(text) | Failure::Exited(text) => text,
        Failure::TimedOut(limit) => format!("it takes longer than {} seconds", limit.as_secs()),
        Failure::TooMuch(what, most, _) => format!("{what} exceeds {most}"),
    }
}

/// The message of a Python program on one line, without tracebacks.
fn summary(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut inside = false;
    for line in text.lines().filter(|line| !line.trim().is_empty() && *line != "NoneType: None") {
        match line {
            _ if line.starts_with("Traceback (") => inside = true,
            _ if inside && line.starts_with(' ') => {}
            _ => {
                inside = false;
                lines.push(line.trim());
            }
        }
    }
    short(&lines.join(" ")).into_owned()
}

/// Asks a program for all nodes, or for those that the globs match. Answers are kept in a file of `folder`, and
/// taken from there.
pub fn ask_program(
    options: &Map,
    program: &str,
    nodes: &[String],
    folder: Option<&Path>,
) -> Result<ProgramAnswers> {
    let asked = OldProgram::find(program, options)?;
    let inventory = Inventory::open(options)?;
    let globs: Vec<Glob> = nodes.iter().map(|text| Glob::new(text)).collect();
    let names: Vec<Text> = inventory.nodes()?.into_iter().filter(|name| chosen(&globs, name)).collect();
    let key = if folder.is_some() { asked.key(options)? } else { None };
    let kept = folder.zip(key).map(|(folder, key)| AnswerFile::open(folder, &key, &asked.title()));
    let (file, known) = match kept {
        Some(Ok((file, known))) => (Some(file), known),
        // Without a file everything is asked again next time.
        Some(Err(_)) | None => (None, Vec::new()),
    };
    let answered: FxHashSet<&str> = known.iter().map(|answer| &*answer.node).collect();
    let missing: Vec<Text> = names.into_iter().filter(|name| !answered.contains(&**name)).collect();
    let new = ask_all(&asked, &missing, file.as_ref()).map_err(|message| unusable(program, &message))?;
    let mut old = OldAnswers::new(&asked.title(), OldForm::Yaml);
    let all: Vec<ProgramAnswer> = known.into_iter().chain(new).collect();
    let wanted = |answer: &&ProgramAnswer| chosen(&globs, &answer.node);
    for answer in all.iter().filter(wanted) {
        let node = Text::from(&*answer.node);
        match &answer.answer {
            Ok(output) => old.add_output(&node, output),
            Err(message) => drop(old.nodes.insert(node, OldNode::Refused(message.clone()))),
        }
    }
    refuse_useless(program, &old)?;
    Ok(ProgramAnswers { old, file: file.map(|file| file.path), asked: missing.len() })
}

fn ask_all(
    asked: &OldProgram,
    names: &[Text],
    file: Option<&AnswerFile>,
) -> std::result::Result<Vec<ProgramAnswer>, String> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let folder = WorkFolder::new()?;
    let settings = emit(&Value::map(asked.settings.clone()), &EmitOptions { pretty: true, no_refs: true });
    for name in FILE_NAMES {
        folder.put(name, &settings)?;
    }
    let answers = parallel::each_waiting(WorkUnit::Nodes, names, |name| {
        let answer = asked.ask(name, folder.path());
        if let Some(file) = file {
            file.add(&answer);
        }
        answer
    });
    Ok(answers)
}

/// Fails if the program has the same complaint about every node: then it is about the program.
fn refuse_useless(program: &str, old: &OldAnswers) -> Result<()> {
    let mut nodes = old.nodes.values();
    let Some(OldNode::Refused(first)) = nodes.next() else { return Ok(()) };
    if nodes.all(|node| matches!(node, OldNode::Refused(message) if message == first)) && old.nodes.len() > 1
    {
        return Err(unusable(program, first));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn messages_have_no_traceback() {
        let text = "Traceback (most recent call last):\n  File \"x\", line 1\n    run()\nKeyError: 'a'\n";
        assert_eq!(summary(text), "KeyError: 'a'");
        let text = "NoneType: None\n-> web1\n   Cannot resolve ${x}, at a\n";
        assert_eq!(summary(text), "-> web1 Cannot resolve ${x}, at a");
    }
}
