//! Command lines turn into outcomes of the built program, and those into verdicts.
//!
//! What differs from kapicorp-reclass by the block of automatic parameters (S12) runs once more
//! with `compat_flags: [ComposeNodeNameLiteralDots]`, which asks for kapicorp's block: every byte
//! has to be the same then.

use std::collections::BTreeMap;
use std::path::Path;
use std::process;

use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::deviations::{CommandLine, Deviations, cut, hex};
use super::draft;
use super::print;
use super::verdict::{Line, Sort, Verdict};
use support::answer::{INVENTORY, Ours, configuration, hide, path};
use support::corpus::{Case, Command, Output};

/// The time that the recorded command lines ran at.
const EPOCH: &str = "1795206020";

/// What our program did.
pub struct Outcome {
    pub code: u8,
    pub output: String,
    pub messages: String,
}

/// Runs all recorded command lines.
pub fn judge(
    case: &Case,
    deviations: &Deviations,
    ours: &BTreeMap<String, Ours>,
    answers: &[Line],
) -> Vec<Line> {
    let mut asked: Vec<&Vec<String>> = Vec::new();
    for recorded in case.commands.values().flatten() {
        if !asked.contains(&&recorded.arguments) {
            asked.push(&recorded.arguments);
        }
    }
    let directories = [workplace(case, &Map::new()), workplace(case, &flagged(case))];
    let paths = directories.each_ref().map(tempfile::TempDir::path);
    asked
        .into_iter()
        .map(|arguments| judge_one(case, deviations, (ours, answers), paths, arguments))
        .collect()
}

fn judge_one(
    case: &Case,
    deviations: &Deviations,
    (answers, lines): (&BTreeMap<String, Ours>, &[Line]),
    [directory, flagged]: [&Path; 2],
    arguments: &[String],
) -> Line {
    let (program, rest) = program(arguments);
    let key = format!("$ {program} {}", rest.join(" "));
    let ours = run(case, directory, arguments);
    let recorded = || case.commands.values().flatten().filter(|other| other.arguments == *arguments);
    let same = recorded().any(|recorded| same(&ours, recorded));
    let same_but_path = recorded().any(|recorded| same_but_path(&ours, recorded));
    // S12 explains nothing but the block of a print; where both forks fail there is none.
    let no_print = || recorded().all(|recorded| recorded.code != 0);
    let same_with_flag = || is_kapicorps(case, flagged, arguments);
    let entry =
        deviations.command.iter().find(|entry| entry.case == case.id && entry.arguments == *arguments);
    // What explains the answer for the node explains its print, if that is what is printed.
    let node = node(arguments).unwrap_or(INVENTORY);
    let by_node = lines.iter().find(|line| line.key == node).and_then(Line::ruling);
    let prints_answer = || print::holds(case, arguments, &answers[node], &ours);
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    let holds = |entry: &CommandLine| {
        let output = entry.output.as_deref().is_none_or(|text| dense(&ours.output).contains(&dense(text)));
        entry.code == ours.code && output
    };
    let verdict = match (entry, by_node) {
        (Some(_), _) if same_but_path => {
            Verdict::Unexplained("the entry in deviations.toml no longer differs".into())
        }
        (Some(entry), _) if holds(entry) => Verdict::Ruling(entry.ruling.clone()),
        (None, _) if same => Verdict::Equal,
        (None, _) if ours.code == 0 && same_with_flag() => Verdict::EqualWithFlag,
        (None, _) if same_but_path => Verdict::Ruling("S12".into()),
        (None, Some(ruling)) if ruling != "S12" || no_print() => match prints_answer() {
            Ok(()) => Verdict::Ruling(ruling),
            Err(why) => Verdict::Unexplained(cut(&why)),
        },
        _ => Verdict::Unexplained(cut(&format!("{} {} {}", ours.code, ours.messages, ours.output))),
    };
    let mut line = Line::new(case, Sort::Command, &key, verdict);
    if matches!(line.verdict, Verdict::Unexplained(_)) && entry.is_none() {
        line.draft = Some(draft::command(case, arguments, &ours));
    }
    line
}

/// Whether our program prints there what kapicorp's printed. A failure is no print to compare.
fn is_kapicorps(case: &Case, directory: &Path, arguments: &[String]) -> bool {
    let printed = |recorded: &&Command| recorded.code == 0 && recorded.arguments == *arguments;
    let mut recorded = case.commands.get("kapicorp").into_iter().flatten().filter(printed);
    recorded.next().is_some_and(|recorded| same(&run(case, directory, arguments), recorded))
}

/// The settings that make our block of automatic parameters that of kapicorp.
fn flagged(case: &Case) -> Map<String, Json> {
    let name = if case.settings.contains_key("reclass_rs_compat_flags") {
        "reclass_rs_compat_flags"
    } else {
        "compat_flags"
    };
    let mut flags = case.settings.get(name).and_then(Json::as_array).cloned().unwrap_or_default();
    flags.push(json!("ComposeNodeNameLiteralDots"));
    Map::from_iter([(name.to_owned(), Json::Array(flags))])
}

/// An empty directory that holds only the configuration file of a case, with settings changed.
fn workplace(case: &Case, changed: &Map<String, Json>) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let settings = configuration(case, changed).to_string();
    std::fs::write(directory.path().join("reclass-config.yml"), settings).expect("it is empty");
    directory
}

/// Runs our program there.
fn run(case: &Case, directory: &Path, arguments: &[String]) -> Outcome {
    let (program, arguments) = program(arguments);
    let output = process::Command::new(Path::new(env!("CARGO_BIN_EXE_reclass")).with_file_name(program))
        .args(arguments.iter().map(|argument| argument.replace("<INV>", &path(case))))
        .current_dir(directory)
        .env_clear()
        .env("HOME", directory)
        .env("SOURCE_DATE_EPOCH", EPOCH)
        .output()
        .expect("the program was built");
    let text = |bytes: &[u8]| hide(&String::from_utf8_lossy(bytes), case);
    let printed = text(&output.stdout);
    Outcome {
        code: output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255),
        output: if program == "reclass-ansible" { without_hosts(&printed) } else { printed },
        messages: text(&output.stderr),
    }
}

/// Whether a program of Python's did the same.
fn same(ours: &Outcome, recorded: &Command) -> bool {
    alike(ours, recorded, unfolded)
}

/// The same except for the automatic parameters that salt-formulas' program does not have (S12).
fn same_but_path(ours: &Outcome, recorded: &Command) -> bool {
    alike(ours, recorded, |text| pathless(&unfolded(text)))
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

/// The text, YAML or JSON, without `path` and `parts` below `name` in `_reclass_`.
fn pathless(text: &str) -> String {
    let (mut inside, mut below) = (None, None);
    let mut left_out = false;
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        let word = line.trim_start();
        below = below.filter(|name| indent(line) > *name);
        inside = inside.filter(|block| indent(line) > *block);
        if below.is_some() {
            let key = word.trim_start_matches('"').split([':', '"']).next().unwrap_or_default();
            // The items of `parts` are no keys.
            let item = word.starts_with(['-', ']']) || !word.contains(':');
            left_out = if item { left_out } else { matches!(key, "path" | "parts") };
            if !left_out {
                // In JSON, the last key has no comma behind it.
                kept.push_str(line.trim_end().trim_end_matches(','));
                kept.push('\n');
            }
            continue;
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
    let option = match arguments.first().map(String::as_str) {
        Some("!salt") => "-p",
        Some("!ansible") => "-t",
        _ => "-n",
    };
    let at = arguments.iter().position(|argument| argument == option)?;
    arguments.get(at + 1).map(String::as_str)
}

/// The program of a command line, by its first word, and its arguments.
fn program(arguments: &[String]) -> (&'static str, &[String]) {
    match arguments.split_first() {
        Some((first, rest)) if first == "!salt" => ("reclass-salt", rest),
        Some((first, rest)) if first == "!ansible" => ("reclass-ansible", rest),
        _ => ("reclass", arguments),
    }
}

/// What `reclass-ansible --list` prints, without the variables of the hosts: the Python programs
/// leave Ansible to ask for each of them. `tests/programs/programs.rs` compares them with `--host`.
fn without_hosts(output: &str) -> String {
    match output.split_once("\n  \"_meta\": {") {
        Some(("{", _)) => "{}\n".into(),
        Some((groups, _)) => groups.trim_end_matches(',').to_owned() + "\n}\n",
        None => output.to_owned(),
    }
}
