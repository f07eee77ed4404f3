//! Completion proposes words for an unfinished command line.
//!
//! `reclass completions SHELL` prints the script that connects a shell with it. At each Tab the shell runs
//! the program again with a special environment variable. Options come from the definitions that parse the
//! command line, names of nodes and classes from the inventory of the line.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, ValueHint};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{Bash, EnvCompleter, Fish, Shells, Zsh};
use reclass::Inventory;
use reclass::error::{Fault, Kind, Result};
use reclass::redact::Redaction;
use reclass::value::{Map, Text, Value};
use reclass_analysis::list::{NodeFilter, parameters};

use crate::commands::tool::Tool;
use crate::configuration::Configuration;
use crate::manual_page::Manual;
use crate::process::current_folder;
use crate::process::environment;
use crate::program::Program;
use crate::session::command_line;
use crate::{flags, programs::PROGRAMS, screen, terminal};

/// The variable that requests completions.
const VARIABLE: &str = "RECLASS_COMPLETE";

const SHELLS: &[&dyn EnvCompleter] = &[&Bash, &Zsh, &Fish];

/// The `completions` tool.
pub const TOOL: Tool = Tool {
    name: "completions",
    about: "Print a script with which a shell completes options and names",
    manual: Manual {
        page: "cli",
        description: "Prints a script that connects the shell with the program. The shell then completes commands, options, the names of nodes, classes, parameters and files of the inventory, revisions of git, and the codes of errors, for all three programs. In bash it takes the colon out of COMP_WORDBREAKS, because a parameter is one word.",
        examples: &[("In this shell, bash:", "source <(reclass completions bash)")],
        exits: &[],
    },
    arguments: |command| {
        let names = PossibleValuesParser::new(SHELLS.iter().map(|shell| shell.name()));
        command.arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(names)
                .help("In bash: source <(reclass completions bash)"),
        )
    },
    run,
};

fn run(matches: &ArgMatches) -> Result<String> {
    let name = matches.get_one::<String>("shell").map_or("", String::as_str);
    let mut script = Vec::new();
    let written = PROGRAMS.iter().try_for_each(|program| {
        let shell = Shells(SHELLS).completer(name).ok_or(std::io::ErrorKind::NotFound)?;
        shell.write_registration(VARIABLE, program.name, program.name, program.name, &mut script)
    });
    if name == "bash" {
        // A parameter is one word, `nginx:listen`.
        script.extend_from_slice(b"COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}\n");
    }
    written.map_err(|error| Fault::new(Kind::Internal { message: error.to_string() }))?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Whether a shell requests completions.
pub fn is_asked() -> bool {
    environment(VARIABLE).is_some()
}

/// Prints the candidates at the cursor.
pub fn answer(program: &Program, defaults: &Map, arguments: Vec<OsString>) -> ExitCode {
    let line = Arc::new(Line {
        command: command_line(program, defaults),
        defaults: defaults.clone(),
        words: words(&arguments),
    });
    let complete = CompleteEnv::with_factory(|| completing(line.command.clone(), &line))
        .var(VARIABLE)
        .shells(Shells(SHELLS));
    match complete.try_complete(arguments, current_folder().as_deref()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => terminal::usage(&error),
    }
}

/// The command line so far.
struct Line {
    command: Command,
    defaults: Map,
    words: Vec<OsString>,
}

/// The words of the line after the leading `--`. The word to complete may not be a valid value yet, so a
/// placeholder replaces it.
fn words(arguments: &[OsString]) -> Vec<OsString> {
    let begin = arguments.iter().position(|word| word == "--").map_or(arguments.len(), |at| at + 1);
    let mut words = arguments[begin..].to_vec();
    let index = environment("_CLAP_COMPLETE_INDEX").and_then(|index| index.to_str()?.parse().ok());
    let index: usize = index.unwrap_or(words.len().saturating_sub(1));
    match words.get_mut(index) {
        Some(word) => *word = "x".into(),
        None => words.push("x".into()),
    }
    words
}

/// The command and its subcommands, with completers for their values.
fn completing(command: Command, line: &Arc<Line>) -> Command {
    let is_diff = command.get_name() == "diff";
    command
        .mut_args(|argument| {
            let named = |name: &str| {
                argument.get_value_names().is_some_and(|names| names.iter().any(|one| one == name))
            };
            let completer = if named("NODE") || named("NODE|FILE") || argument.get_id() == "node" {
                names(line, Inventory::nodes)
            } else if named("CLASS") || argument.get_id() == "class" {
                names(line, |inventory| {
                    inventory.inspect(|computation| {
                        let trees = computation.all_classes();
                        trees.iter().flat_map(|names| names.keys()).cloned().collect()
                    })
                })
            } else if named("PATH") && argument.get_id() != "export" {
                paths(line)
            } else if argument.get_id() == "file" {
                files(line)
            } else if ["old", "new"].contains(&argument.get_id().as_str()) {
                if !is_diff {
                    return argument.value_hint(ValueHint::AnyPath);
                }
                revisions(line)
            } else if named("FILE") {
                return argument.value_hint(ValueHint::FilePath);
            } else if named("CODE") {
                ArgValueCompleter::new(|begun: &OsStr| {
                    let begun = begun.to_string_lossy();
                    let fitting = reclass_analysis::lint::codes().filter(|code| code.starts_with(&*begun));
                    fitting.map(CompletionCandidate::new).collect()
                })
            } else if named("URI") || named("DIR") {
                return argument.value_hint(ValueHint::DirPath);
            } else {
                return argument;
            };
            argument.add(completer)
        })
        .mut_subcommands(|inner| completing(inner, line))
}

/// Completes with names from the inventory.
fn names(line: &Arc<Line>, list: fn(&Inventory) -> Result<Vec<Text>>) -> ArgValueCompleter {
    let line = line.clone();
    ArgValueCompleter::new(move |begun: &OsStr| {
        // Without an inventory there are no names to offer. Running the line reports the error.
        let names = line.inventory().and_then(|inventory| list(&inventory)).unwrap_or_default();
        let begun = begun.to_string_lossy();
        let fitting = names.iter().filter(|name| name.starts_with(&*begun));
        fitting.map(|name| CompletionCandidate::new(&**name)).collect()
    })
}

/// Completes with the parameters that files set, key by key. After a node only with those of its files.
fn paths(line: &Arc<Line>) -> ArgValueCompleter {
    let line = line.clone();
    ArgValueCompleter::new(move |begun: &OsStr| {
        let Ok(inventory) = line.inventory() else { return Vec::new() };
        let filter = NodeFilter { names: line.word("node").into_iter().collect(), ..NodeFilter::default() };
        let rows = parameters(&inventory, &[], &filter, &Redaction::none())
            .map_or_else(|_| Vec::new(), |listing| listing.rows);
        let paths: Vec<String> = rows.into_iter().map(|row| row.path).collect();
        let fitting = next_keys(&paths, &begun.to_string_lossy(), &inventory.settings().delimiter);
        fitting.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// The beginnings of paths up to the next key that is not unique.
fn next_keys(paths: &[String], begun: &str, delimiter: &str) -> BTreeSet<String> {
    let mut begun = begun.to_owned();
    loop {
        let fitting = paths.iter().filter(|path| path.starts_with(&begun));
        let keys: BTreeSet<String> = fitting
            .map(|path| match path[begun.len()..].find(delimiter) {
                Some(at) => path[..begun.len() + at + delimiter.len()].to_owned(),
                None => path.clone(),
            })
            .collect();
        match keys.first() {
            Some(only) if keys.len() == 1 && only.ends_with(delimiter) && *only != begun => {
                begun.clone_from(only);
            }
            _ => return keys,
        }
    }
}

/// Completes with the files of the inventory.
fn files(line: &Arc<Line>) -> ArgValueCompleter {
    let line = line.clone();
    ArgValueCompleter::new(move |begun: &OsStr| {
        let files = line.inventory().and_then(|inventory| {
            inventory.inspect(|computation| {
                let trees = computation.all_classes();
                let classes = trees.iter().flat_map(|names| names.values());
                let classes = classes.map(|item| item.path().to_path_buf());
                let nodes = computation.catalog.nodes.values().map(|item| item.path().to_path_buf());
                classes.chain(nodes).collect::<BTreeSet<_>>()
            })
        });
        let begun = begun.to_string_lossy();
        let shown = files.unwrap_or_default().into_iter().map(|file| {
            let file = file.display().to_string();
            if begun.starts_with('/') { file } else { screen::shown_path(&file) }
        });
        shown.filter(|file| file.starts_with(&*begun)).map(CompletionCandidate::new).collect()
    })
}

/// Completes with branches and tags.
fn revisions(line: &Arc<Line>) -> ArgValueCompleter {
    let line = line.clone();
    ArgValueCompleter::new(move |begun: &OsStr| {
        let base = line
            .options()
            .ok()
            .and_then(|options| options.get("inventory_base_uri").and_then(Value::as_str).map(PathBuf::from));
        let folder = current_folder().unwrap_or_default().join(base.unwrap_or_default());
        let names = ["HEAD".to_owned()].into_iter().chain(reclass_analysis::diff::revisions(&folder));
        let begun = begun.to_string_lossy();
        names.filter(|name| name.starts_with(&*begun)).map(CompletionCandidate::new).collect()
    })
}

impl Line {
    /// The inventory of the line, as far as it is written.
    fn inventory(&self) -> Result<Inventory> {
        Inventory::open(&self.options()?)
    }

    /// The line as far as it can be parsed.
    fn matches(&self) -> Option<ArgMatches> {
        self.command.clone().ignore_errors(true).try_get_matches_from(&self.words).ok()
    }

    /// The value of an argument of the verb.
    fn word(&self, name: &str) -> Option<String> {
        let matches = self.matches()?;
        let (_, rest) = matches.subcommand()?;
        rest.try_get_one::<String>(name).ok().flatten().cloned()
    }

    fn options(&self) -> Result<Map> {
        let mut options = self.defaults.clone();
        if let Some(matches) = self.matches() {
            if let Some(file) = flags::configuration_file(&matches) {
                options.extend(Configuration::named(file)?.options);
            }
            options.extend(flags::settings(&matches));
            if let Some((_, rest)) = matches.subcommand() {
                options.extend(flags::database_settings(rest));
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::next_keys;

    #[test]
    fn paths_complete_key_by_key() {
        let paths = ["nginx:server:listen", "nginx:server:name", "nginx:user", "network:dns:first", "name"];
        let paths = paths.map(str::to_owned);
        let keys = |begun: &str| next_keys(&paths, begun, ":").into_iter().collect::<Vec<_>>();
        assert_eq!(keys("n"), ["name", "network:", "nginx:"]);
        assert_eq!(keys("ne"), ["network:dns:first"]);
        assert_eq!(keys("nginx"), ["nginx:server:", "nginx:user"]);
        assert_eq!(keys("nginx:s"), ["nginx:server:listen", "nginx:server:name"]);
        assert_eq!(keys("x"), [""; 0]);
    }
}
