//! Command lines turn into what kapicorp-reclass prints for them: its programs and ours run each of them.
//!
//! Needs a Python with kapicorp-reclass, as `tests/oracles/differential`; without one it says so.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reclass::value::Value;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// The name of the configuration file that both read.
const CONFIGURATION: &str = "kapicorp-reclass-config.yml";
/// Our automatic parameters as kapicorp has them (S12).
const FLAGS: &str = "compat_flags: [ComposeNodeNameLiteralDots]\n";

const FILES: &[(&str, &str)] = &[
    (
        "good/nodes/n1.yml",
        "classes: [base, role.web]\napplications: [one, ~gone]\nenvironment: prod\nparameters:\n  own: 1\n  \
         deep: {list: [3, {k: v}], text: \"a\\tb é \\u2028 \\U0001F600\"}\n  none: null\n",
    ),
    ("good/nodes/n2.yml", "classes: [base]\nparameters:\n  copy: ${deep}\n  again: ${deep}\n  day: yes\n"),
    ("good/nodes/bare.yml", "parameters: {x: 1}\n"),
    ("good/nodes/sub/z3.yml", "classes: [role.web]\nenvironment: dev\n"),
    (
        "good/classes/base.yml",
        "applications: [motd, gone]\nparameters:\n  deep: {list: [1, 2], float: 1.5e+3, long: 'word word word \
         word word word word word word word word word word word word word word'}\n  lines: |\n    one\n    two\n",
    ),
    ("good/classes/role/web.yml", "classes: [base]\napplications: [web]\nexports: {e: '${deep:float}'}\n"),
    ("bad/nodes/n.yml", "parameters: {which: bad}\n"),
    ("bad/nodes/broken.yml", "parameters: {x: '${missing}', y: '${gone}'}\n"),
    ("bad/nodes/lost.yml", "classes: [nowhere, there]\napplications: [app]\n"),
    ("bad/classes/there.yml", "parameters: {there: true}\n"),
    ("twice/nodes/a/n.yml", "{}\n"),
    ("twice/nodes/b/n.yml", "{}\n"),
    ("twice/classes/c.yml", "{}\n"),
    ("nodes-elsewhere/m.yml", "classes: [base]\n"),
];

struct Place(TempDir);

impl Place {
    fn new(configuration: &str) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for (name, text) in FILES {
            place.write(name, text);
        }
        place.write(CONFIGURATION, &format!("{FLAGS}{configuration}"));
        fs::create_dir(place.path().join("home")).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

/// What a program did.
#[derive(Debug)]
struct Outcome {
    code: i64,
    output: String,
    messages: String,
}

/// The Python programs.
struct Python(Child);

impl Python {
    fn start() -> Option<Python> {
        let local = Path::new(support::ROOT).join(".venv-oracle/bin/python");
        let named = std::env::var_os("RECLASS_TEST_PYTHON").map(PathBuf::from);
        let test =
            "import reclass.version as v; assert v.VERSION == '2.0.0' and 'kapicorp' in v.RECLASS_NAME";
        let found = named.into_iter().chain([local]).find(|python| {
            let tried = Command::new(python).args(["-c", test]).stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        });
        let Some(python) = found else {
            support::absent("kapicorp-reclass", "make .venv-oracle/.tools");
            return None;
        };
        let script = Path::new(support::ROOT).join("tests/programs/answers/python_programs.py");
        let mut command = Command::new(python);
        command.arg(script).env("PYTHONHASHSEED", "0").stdin(Stdio::piped()).stdout(Stdio::piped());
        Some(Python(command.spawn().unwrap()))
    }

    fn run(&mut self, place: &Place, called: &Path, program: &str, arguments: &[&str]) -> Outcome {
        let job = json!({
            "program": program, "arguments": arguments, "folder": place.path(), "called": called,
            "home": place.path().join("home"),
        });
        let (input, output) = (self.0.stdin.as_mut().unwrap(), self.0.stdout.as_mut().unwrap());
        writeln!(input, "{job}").unwrap();
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).unwrap();
        let answer: Json = serde_json::from_str(&line).unwrap();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        Outcome { code: answer["code"].as_i64().unwrap(), output: text("output"), messages: text("messages") }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn ours(place: &Place, called: &Path, arguments: &[&str]) -> Outcome {
    let output = Command::new(called)
        .args(arguments)
        .current_dir(place.path())
        .env_clear()
        .env("HOME", place.path().join("home"))
        .env("SOURCE_DATE_EPOCH", "1795206020")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Outcome {
        code: output.status.code().unwrap().into(),
        output: text(&output.stdout),
        messages: text(&output.stderr),
    }
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_reclass")).with_file_name(name)
}

/// Whether an output of `reclass-ansible` is the same except for `_meta`, which the Python program does
/// not have: JSON to the byte, YAML as data, since it begins with `_meta`.
fn same_groups(theirs: &str, ours: &str) -> bool {
    if ours.starts_with("_meta") || ours.starts_with("{_meta") {
        let data = |text: &str| match reclass_yaml::parse_value(text).unwrap() {
            Value::Map(map) => {
                let groups = map.as_ref().clone().into_iter();
                let groups = groups.filter(|(key, _)| key.as_str() != Some("_meta")).collect();
                reclass::pystr::repr(&Value::map(groups))
            }
            other => panic!("no mapping: {other:?}"),
        };
        return data(theirs) == data(ours);
    }
    for (begin, end) in [("\n  \"_meta\": {", "\n}\n"), ("\"_meta\":{", "}\n")] {
        if let Some((groups, _)) = ours.split_once(begin) {
            let groups = groups.trim_end_matches(',');
            return theirs == groups.to_owned() + if groups == "{" { "}\n" } else { end };
        }
    }
    theirs == ours
}

/// Whether nothing is printed, and an error said.
fn refuses(ours: &Outcome) -> bool {
    ours.output.is_empty() && ours.messages.contains("error")
}

/// What differs, if it is more than the words of an error.
fn differs(name: &str, theirs: &Outcome, ours: &Outcome) -> Option<String> {
    let same = match theirs.code {
        0 => {
            let same = theirs.output == ours.output
                || name == "reclass-ansible" && same_groups(&theirs.output, &ours.output);
            ours.code == 0 && same
        }
        // A traceback says nothing about what a program should do: any refusal is as good.
        1 => [2, 65, 74].contains(&ours.code) && refuses(ours),
        code => code == ours.code && refuses(ours),
    };
    (!same).then(|| format!("theirs {theirs:#?}\nours {ours:#?}"))
}

const MODES: &[(&str, &[&[&str]])] = &[
    ("reclass", &[&["-n", "n1"], &["--nodeinfo=n2"], &["-i"], &["--inventory"], &["-nz3"]]),
    ("reclass-salt", &[&["-p", "n1"], &["--pillar", "n2"], &["-t"], &["--top"]]),
    ("reclass-ansible", &[&["-t", "n1"], &["--host=n2"], &["-l"], &["--list"]]),
];

fn check(python: &mut Python, place: &Place, name: &str, arguments: &[&str], failures: &mut Vec<String>) {
    let called = program(name);
    let theirs = python.run(place, &called, name, arguments);
    if let Some(how) = differs(name, &theirs, &ours(place, &called, arguments)) {
        failures.push(format!("{name} {arguments:?}: {how}"));
    }
}

fn assert_none(failures: &[String], of: usize) {
    assert!(failures.is_empty(), "{} of {of} differ:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_mode_with_every_option() {
    let Some(mut python) = Python::start() else { return };
    let place = Place::new("");
    let elsewhere = place.path().join("nodes-elsewhere");
    let options: &[&[&str]] = &[
        &[],
        &["-o", "yaml"],
        &["-o", "json"],
        &["--output", "json", "--pretty-print"],
        &["--outp=json", "-y"],
        &["--o", "yaml"],
        &["-r"],
        &["--no-refs", "-ojson"],
        &["-o", "json", "-o", "yaml"],
        &["-a"],
        &["--compose-node-name", "-o", "json"],
        &["-0"],
        &["-1"],
        &["-s", "yaml_fs"],
        &["-z", "True"],
        &["-z", "False", "-x", "no.*"],
        &["-u", "nodes", "-c", "classes"],
        &["-u", ""],
        &["--nodes-uri", elsewhere.to_str().unwrap()],
        &["-u", "../nodes-elsewhere", "-c", "./classes/../classes"],
        &["-c", "nowhere"],
        &["-u", "nowhere"],
        &["-b", "nowhere"],
        &["--"],
    ];
    let (mut failures, mut count) = (Vec::new(), 0);
    for (name, modes) in MODES {
        for mode in *modes {
            for options in options {
                let arguments = [&["-b", "good"], *mode, *options].concat();
                check(&mut python, &place, name, &arguments, &mut failures);
                count += 1;
            }
        }
    }
    assert_none(&failures, count);
}

#[test]
fn errors_and_exit_codes() {
    let Some(mut python) = Python::start() else { return };
    let place = Place::new("");
    let modes = [("reclass", "-n", "-i"), ("reclass-salt", "-p", "-t"), ("reclass-ansible", "-t", "-l")];
    let (mut failures, mut count) = (Vec::new(), 0);
    for (name, node, all) in modes {
        let lines: &[&[&str]] = &[
            &[],
            &[node],
            &[node, ""],
            &["-b", "good", node, "nope"],
            &["-b", "good", node, "--nope"],
            &["-b", "good", node, "n1", node, "n1"],
            &["-b", "good", all, all],
            &["-b", "good", all, node, "n1"],
            &["-b", "good", all, "extra"],
            &["extra", "-b", "good", all],
            &["-b", "good", all, "--", "extra"],
            &["-b", "good", all, "--"],
            &["--", "-b", "good", all],
            &[all, "-b"],
            &[all, "--nope"],
            &[all, "-Q"],
            &[all, "--no"],
            &["-b", "good", all, "--no-re"],
            &["-b", "good", all, "--pretty-print=yes"],
            &["-b", "good", all, "-o", "xml"],
            &["-b", "good", all, "-s", "nope"],
            &["-b", "-b", all],
            &["-b", "bad", node, "n"],
            &["-b", "bad", node, "broken"],
            &["-b", "bad", node, "broken", "-1"],
            &["-b", "bad", node, "broken", "-0", "-1", "-0"],
            &["-b", "bad", node, "lost"],
            &["-b", "bad", node, "lost", "-z", "True"],
            &["-b", "bad", node, "lost", "-z", "nope"],
            &["-b", "bad", node, "lost", "-z", ""],
            &["-b", "bad", node, "lost", "-z", "True", "-x", "no"],
            &["-b", "bad", node, "lost", "-z", "True", "-x", "where"],
            &["-b", "bad", node, "lost", "-z", "True", "--ignore-class-notfound-regexp", "not(here"],
            &["-b", "bad", all],
            &["-b", "bad", all, "-z", "True"],
            &["-b", "twice", all],
            &["-b", "twice", "-a", all],
            &["-b", "twice", node, "n"],
            &["-b", "twice", "-a", node, "a.n"],
            &["-b", "good", "-u", "classes", all],
            &["-b", "good", "-u", ".", all],
        ];
        for arguments in lines {
            check(&mut python, &place, name, arguments, &mut failures);
            count += 1;
        }
    }
    assert_none(&failures, count);
}

#[test]
fn configuration_files() {
    let Some(mut python) = Python::start() else { return };
    let (mut failures, mut count) = (Vec::new(), 0);
    for configuration in [
        "inventory_base_uri: good\n",
        "inventory_base_uri: ./good/\noutput: json\npretty_print: false\n",
        "inventory_base_uri: good\noutput: yaml\npretty_print: false\nno_refs: true\n",
        "inventory_base_uri: good\nclass_mappings: ['* role.web', '/^n(\\d)$/ base']\n",
        "inventory_base_uri: good\ncompose_node_name: true\ndefault_environment: other\n",
        "inventory_base_uri: good\nautomatic_parameters: false\n",
        "inventory_base_uri: good\napplications_postfix: ''\n",
        "inventory_base_uri: good\napplications_postfix: _group\noutput: yaml\n",
        "inventory_base_uri: nowhere\nnodes_uri: ../good/nodes\nclasses_uri: ../good/classes\n",
        "inventory_base_uri: bad\nignore_class_notfound: true\nignore_class_notfound_regexp: [no.*]\n",
        "inventory_base_uri: [good\n",
        "nodes_uri: good/nodes\nclasses_uri: good/classes\n",
    ] {
        let place = Place::new(configuration);
        for (name, modes) in MODES {
            for mode in *modes {
                // Where the Python programs fail, ours takes the inventory beside the file (S20).
                if *name == "reclass" && !configuration.contains("inventory_base_uri") {
                    let called = program(name);
                    assert_eq!(python.run(&place, &called, name, mode).code, 74);
                    assert_eq!(ours(&place, &called, mode).code, 0, "{mode:?}");
                    continue;
                }
                check(&mut python, &place, name, mode, &mut failures);
                count += 1;
            }
        }
        let ansible = ["--list", "--applications-postfix", "_x"];
        check(&mut python, &place, "reclass-ansible", &ansible, &mut failures);
        check(&mut python, &place, "reclass-ansible", &["-l", "--app="], &mut failures);
        count += 2;
    }
    assert_none(&failures, count);
}

/// The adapters are called by a link beside the inventory, and take it and its configuration from there.
#[test]
fn the_folder_of_the_program() {
    let Some(mut python) = Python::start() else { return };
    let (mut failures, mut count) = (Vec::new(), 0);
    for (name, modes) in MODES {
        let place = Place::new("");
        let called = place.path().join("good/any-name");
        std::os::unix::fs::symlink(program(name), &called).unwrap();
        for (configured, called) in [
            (None, called.clone()),
            (None, PathBuf::from("good/any-name")),
            (Some("good"), PathBuf::from("./good/any-name")),
            (Some("home"), called.clone()),
        ] {
            fs::remove_file(place.path().join(CONFIGURATION)).ok();
            place.write(
                &format!("{}/{CONFIGURATION}", configured.unwrap_or("good")),
                &format!(
                    "{FLAGS}pretty_print: {}\n{}",
                    configured.is_none(),
                    if configured == Some("home") { "inventory_base_uri: good\n" } else { "" },
                ),
            );
            for mode in *modes {
                let theirs = python.run(&place, &called, name, mode);
                if let Some(how) = differs(name, &theirs, &ours(&place, &place.path().join(&called), mode)) {
                    failures.push(format!("{} {mode:?}, {configured:?}: {how}", called.display()));
                }
                count += 1;
            }
        }
    }
    assert_none(&failures, count);
}
