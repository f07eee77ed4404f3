//! Command lines turn into outcomes of the built program, and those into verdicts.

use std::path::Path;
use std::process;

use serde_json::Map;
use sha2::{Digest as _, Sha256};

use crate::answer::{INVENTORY, configuration, hide, path};
use crate::corpus::{Case, Command, Output};
use crate::deviations::{CommandLine, Deviations, cut, hex};
use crate::draft;
use crate::verdict::{Line, Sort, Verdict};

/// The time that the recorded command lines ran at.
const EPOCH: &str = "1795206020";

/// What our program did.
pub struct Outcome {
    pub code: u8,
    pub output: String,
    pub messages: String,
}

/// Runs all recorded command lines but those of the adapters.
pub fn judge(case: &Case, deviations: &Deviations, answers: &[Line]) -> Vec<Line> {
    let mut asked: Vec<&Vec<String>> = Vec::new();
    for recorded in case.commands.values().flatten() {
        if !is_adapter(&recorded.arguments) && !asked.contains(&&recorded.arguments) {
            asked.push(&recorded.arguments);
        }
    }
    let directory = workplace(case);
    asked
        .into_iter()
        .map(|arguments| judge_one(case, deviations, answers, directory.path(), arguments))
        .collect()
}

fn judge_one(
    case: &Case,
    deviations: &Deviations,
    answers: &[Line],
    directory: &Path,
    arguments: &[String],
) -> Line {
    let key = format!("$ reclass {}", arguments.join(" "));
    let ours = run(case, directory, arguments);
    let recorded = || case.commands.values().flatten().filter(|other| other.arguments == *arguments);
    let same = recorded().any(|recorded| same(&ours, recorded));
    let same_but_name = recorded().any(|recorded| same_but_name(&ours, recorded));
    let entry =
        deviations.command.iter().find(|entry| entry.case == case.id && entry.arguments == *arguments);
    // What explains the answer for the node explains its print.
    let node = node(arguments).unwrap_or(INVENTORY);
    let by_node = answers.iter().find(|line| line.key == node).and_then(Line::ruling);
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    let holds = |entry: &CommandLine| {
        let output = entry.output.as_deref().is_none_or(|text| dense(&ours.output).contains(&dense(text)));
        entry.code == ours.code && output
    };
    let verdict = match (entry, by_node) {
        (Some(_), _) if same_but_name => {
            Verdict::Unexplained("the entry in deviations.toml no longer differs".into())
        }
        (Some(entry), _) if holds(entry) => Verdict::Ruling(entry.ruling.clone()),
        (None, _) if same => Verdict::Equal,
        (None, _) if same_but_name => Verdict::Ruling("S12".into()),
        (None, Some(ruling)) if ours.code != 101 => Verdict::Ruling(ruling),
        _ => Verdict::Unexplained(cut(&format!("{} {} {}", ours.code, ours.messages, ours.output))),
    };
    let mut line = Line::new(case, Sort::Command, &key, verdict);
    if matches!(line.verdict, Verdict::Unexplained(_)) && entry.is_none() {
        line.draft = Some(draft::command(case, arguments, &ours));
    }
    line
}

/// An empty directory that holds only the configuration file of a case.
fn workplace(case: &Case) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let settings = configuration(case, &Map::new()).to_string();
    std::fs::write(directory.path().join("reclass-config.yml"), settings).expect("it is empty");
    directory
}

/// Runs our program there.
fn run(case: &Case, directory: &Path, arguments: &[String]) -> Outcome {
    let output = process::Command::new(env!("CARGO_BIN_EXE_reclass"))
        .args(arguments.iter().map(|argument| argument.replace("<INV>", &path(case))))
        .current_dir(directory)
        .env_clear()
        .env("HOME", directory)
        .env("SOURCE_DATE_EPOCH", EPOCH)
        .output()
        .expect("the program was built");
    let text = |bytes: &[u8]| hide(&String::from_utf8_lossy(bytes), case);
    Outcome {
        code: output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255),
        output: text(&output.stdout),
        messages: text(&output.stderr),
    }
}

/// Whether a program of Python's did the same.
fn same(ours: &Outcome, recorded: &Command) -> bool {
    alike(ours, recorded, unfolded)
}

/// The same but for the block of automatic parameters (S12), which the answers of nodes compare.
fn same_but_name(ours: &Outcome, recorded: &Command) -> bool {
    alike(ours, recorded, |text| nameless(&unfolded(text)))
}

fn alike(ours: &Outcome, recorded: &Command, form: impl Fn(&str) -> String) -> bool {
    // A traceback says nothing about what a program should do: any failure of ours is as good.
    if recorded.code == 1 {
        return ours.code != 0 && ours.code != 101;
    }
    // Help and version are the program's own.
    let own = recorded.arguments.iter().any(|argument| argument == "-h" || argument == "--version");
    ours.code == recorded.code
        && (recorded.code != 0
            || own
            || match &recorded.output {
                Output::Text(text) => form(text) == form(&ours.output),
                Output::Sha256(hash) => *hash == hex(&Sha256::digest(ours.output.as_bytes())),
            })
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The text, YAML or JSON, without what stands below `name` in `_reclass_`.
fn nameless(text: &str) -> String {
    let (mut inside, mut below) = (None, None);
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        let word = line.trim_start();
        if below.is_some_and(|name| indent(line) > name) {
            continue;
        }
        below = None;
        if inside.is_some_and(|block| indent(line) <= block) {
            inside = None;
        }
        if word.starts_with("_reclass_:") || word.starts_with("\"_reclass_\": {") {
            inside = Some(indent(line));
        } else if inside.is_some() && (word.starts_with("name:") || word.starts_with("\"name\": {")) {
            below = Some(indent(line));
        }
        kept.push_str(line);
    }
    kept
}

/// The text with the addresses of files on one line each: where YAML breaks them at a space
/// depends on the length of the path that stands for `<INV>`.
fn unfolded(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match lines.last_mut() {
            Some(last) if last.trim_start().starts_with("uri: yaml_fs://") && indent(line) > indent(last) => {
                let joined = format!("{} {}", last.trim_end(), line.trim_start());
                *last = joined;
            }
            _ => lines.push(line.to_owned()),
        }
    }
    lines.concat()
}

/// The node that a command line asks for.
fn node(arguments: &[String]) -> Option<&str> {
    let at = arguments.iter().position(|argument| argument == "-n")?;
    arguments.get(at + 1).map(String::as_str)
}

/// Whether a command line is of a program that is not compared here.
fn is_adapter(arguments: &[String]) -> bool {
    arguments.first().is_some_and(|first| first.starts_with('!'))
}
