//! Command lines of `reclass-salt`, `reclass-ansible` and of the tools of `reclass` turn into output and
//! files. What the Python programs have too, `tests/programs/python.rs` compares with them.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

const PROGRAMS: [&str; 3] = ["reclass", "reclass-salt", "reclass-ansible"];

/// Inventories `a`, `bad` with a node that fails, and `deep` with nodes in folders.
fn workplace() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a/nodes/n1.example.com.yml", "classes: [c]\napplications: [one]\nparameters: {day: 2001-01-01}\n"),
        ("a/nodes/n2.yml", "classes: [c]\nenvironment: dev\n"),
        ("a/nodes/alone.yml", "parameters: {x: 1}\n"),
        ("a/classes/c.yml", "applications: [two]\nparameters: {who: '${_reclass_:name:full}'}\n"),
        ("bad/nodes/good.yml", "applications: [one]\n"),
        ("bad/nodes/n.yml", "parameters: {x: '${gone}'}\n"),
        ("bad/classes/c.yml", "{}\n"),
        ("deep/nodes/north/web.yml", "classes: [c]\n"),
        ("deep/nodes/south/web.yml", "classes: [c]\n"),
        ("deep/classes/c.yml", "{}\n"),
    ] {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_reclass")).with_file_name(name)
}

fn command(directory: &Path, name: &str) -> Command {
    let mut command = Command::new(program(name));
    command.current_dir(directory).env_clear().env("HOME", directory.join("home"));
    command.env("SOURCE_DATE_EPOCH", "1795206020");
    command
}

fn run(directory: &Path, line: &[&str]) -> Output {
    command(directory, line[0]).args(&line[1..]).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn printed(directory: &Path, line: &[&str]) -> String {
    let output = run(directory, line);
    assert_eq!(output.status.code(), Some(0), "{line:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn json(directory: &Path, line: &[&str]) -> Json {
    serde_json::from_str(&printed(directory, line)).unwrap()
}

#[test]
fn salt_gets_what_is_printed() {
    let place = workplace();
    let formulas = |more: &[&str]| {
        json(place.path(), &[&["reclass-salt", "-b", "a", "-o", "json", "-f", "n2"], more].concat())
    };
    assert_eq!(formulas(&[]), serde_json::json!({ "dev": ["two"] }));
    assert_eq!(formulas(&["-e", "prod"]), serde_json::json!({ "prod": ["two"] }));
    let pillar = printed(place.path(), &["reclass-salt", "-b", "a", "-p", "n1.example.com"]);
    assert!(pillar.contains("\nday: 2001-01-01\n") && pillar.contains("\nwho: n1.example.com\n"), "{pillar}");
    assert!(pillar.contains("\n  nodename: n1.example.com\n"), "{pillar}");
}

#[test]
fn ansible_gets_the_variables_of_all_hosts_at_once() {
    let place = workplace();
    let list = json(place.path(), &["reclass-ansible", "-b", "a", "--list"]);
    let hosts = list["_meta"]["hostvars"].as_object().unwrap();
    let mut names: Vec<&String> = hosts.keys().collect();
    names.sort();
    assert_eq!(names, ["alone", "n1.example.com", "n2"]);
    for (name, variables) in hosts {
        assert_eq!(*variables, json(place.path(), &["reclass-ansible", "-b", "a", "--host", name]));
    }
    assert_eq!(hosts["n1.example.com"]["__reclass__"]["applications"], serde_json::json!(["two", "one"]));
    assert_eq!(list["c"], serde_json::json!(["n1.example.com", "n2"]));
    assert_eq!(list["one_hosts"], serde_json::json!(["n1.example.com"]));
    let mapping = json(place.path(), &["reclass-ansible", "-b", "a", "--list", "--group-form", "mapping"]);
    assert_eq!(mapping["c"], serde_json::json!({ "hosts": ["n1.example.com", "n2"] }));
    assert_eq!(mapping["_meta"], list["_meta"]);
}

#[test]
fn a_host_without_a_group_is_reported() {
    let place = workplace();
    let said = text(&run(place.path(), &["reclass-ansible", "-b", "a", "--list"]).stderr);
    assert!(said.starts_with("warning[host-without-group]: node 'alone' "), "{said}");
    assert_eq!(said.matches("warning[").count(), 1, "{said}");
    assert!(run(place.path(), &["reclass-ansible", "-b", "a", "--host", "alone"]).stderr.is_empty());
}

#[test]
fn one_node_that_fails_fails_the_whole() {
    let place = workplace();
    for line in [&["reclass-ansible", "-b", "bad", "-l"][..], &["reclass-salt", "-b", "bad", "-t"]] {
        let output = run(place.path(), line);
        assert_eq!(output.status.code(), Some(65), "{line:?}");
        assert!(output.stdout.is_empty(), "{line:?}");
        assert!(text(&output.stderr).contains("${gone}"), "{line:?}");
    }
    assert_eq!(run(place.path(), &["reclass-ansible", "-b", "bad", "-t", "good"]).status.code(), Some(0));
}

#[test]
fn a_file_for_each_node() {
    let place = workplace();
    let write = |more: &[&str]| run(place.path(), &[&["reclass", "-b", "a", "-i"], more].concat());
    let output = write(&["--output-dir", "out/inner"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()));
    let out = place.path().join("out/inner");
    let files = |out: &Path| {
        let mut names: Vec<String> = fs::read_dir(out)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(files(&out), ["alone.yml", "n1.example.com.yml", "n2.yml"]);
    for name in ["alone", "n1.example.com", "n2"] {
        let file = fs::read_to_string(out.join(format!("{name}.yml"))).unwrap();
        let shown = printed(place.path(), &["reclass", "-b", "a", "-n", name]);
        let timeless = shown.replace("  timestamp: Fri Nov 20 20:20:20 2026\n", "");
        assert_eq!(file, timeless.trim_end().to_owned() + "\n", "{name}");
    }
    // What is the same already is not written again.
    let stamp = |name: &str| fs::metadata(out.join(name)).unwrap().modified().unwrap();
    let before = (stamp("n2.yml"), stamp("alone.yml"));
    fs::write(place.path().join("a/nodes/alone.yml"), "parameters: {x: 2}\n").unwrap();
    write(&["--output-dir", "out/inner"]);
    assert_eq!(stamp("n2.yml"), before.0);
    assert_ne!(stamp("alone.yml"), before.1);

    let output = write(&["--output-dir", "json", "-o", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let file = fs::read_to_string(place.path().join("json/n1.example.com.json")).unwrap();
    let node: Json = serde_json::from_str(&file).unwrap();
    assert_eq!(node["parameters"]["day"], "2001-01-01");
    assert!(file.ends_with("}\n") && node["__reclass__"]["timestamp"].is_null());

    let deep = ["reclass", "-b", "deep", "-a", "-i", "--output-dir", "composed"];
    printed(place.path(), &deep);
    assert_eq!(files(&place.path().join("composed")), ["north.web.yml", "south.web.yml"]);
}

#[test]
fn folders_that_cannot_be_written() {
    let place = workplace();
    fs::write(place.path().join("file"), "").unwrap();
    std::os::unix::fs::symlink(place.path().join("a/classes"), place.path().join("link")).unwrap();
    fs::create_dir_all(place.path().join("used/n2.yml/in-the-way")).unwrap();
    fs::write(place.path().join("used/reclass-config.yml"), "").unwrap();
    for (line, code, said) in [
        (&["reclass", "-b", "a", "-i", "--output-dir", "file"][..], 74, "file-unwritable"),
        (&["reclass", "-b", "a", "-i", "--output-dir", "file/inner"], 74, "file-unwritable"),
        (&["reclass", "-b", "a", "-i", "--output-dir", "/proc/none"], 74, "file-unwritable"),
        (&["reclass", "-b", "a", "-i", "--output-dir", "used"], 74, "used/n2.yml"),
        (&["reclass", "-b", "a", "-i", "--output-dir", "a/nodes"], 65, "path-refused"),
        (&["reclass", "-b", "a", "-i", "--output-dir", "link/new"], 65, "path-refused"),
        (&["reclass", "-b", "a", "-i", "--output-dir", ""], 2, "--output-dir"),
        (&["reclass", "-b", "bad", "-i", "--output-dir", "none"], 65, "reference-not-found"),
        (
            &["reclass", "-b", "a", "-n", "n2", "--output-dir", "none"],
            2,
            "--output-dir goes with --inventory",
        ),
        (&["reclass", "-b", "a", "-i", "--output-dir"], 2, "--output-dir"),
        (&["reclass", "init", "used"], 65, "used/reclass-config.yml' is in the way"),
        (&["reclass", "init", "file"], 74, "file-unwritable"),
        (&["reclass", "init"], 2, "DIR"),
        (&["reclass", "init", ""], 2, "DIR"),
        (&["reclass", "manual", "file"], 74, "file-unwritable"),
        (&["reclass", "completions", "tcsh"], 2, "tcsh"),
    ] {
        let output = run(place.path(), line);
        assert_eq!(output.status.code(), Some(code), "{line:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(said), "{line:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{line:?}");
    }
    assert!(!place.path().join("none").exists(), "nothing is written where there is nothing whole");
}

#[test]
fn a_new_inventory_renders() {
    let place = workplace();
    let said = printed(place.path(), &["reclass", "init", "new/my inventory's"]);
    let new = place.path().join("new/my inventory's");
    let node =
        json(place.path(), &["reclass", "-b", new.to_str().unwrap(), "-n", "web1.example.com", "-o", "json"]);
    assert_eq!(node["parameters"]["nginx"]["listen"], "10.0.0.11:80");
    assert_eq!(node["applications"], serde_json::json!(["motd", "nginx"]));
    // In its own folder, with its settings, there is nothing to complain of.
    let lint = run(&new, &["reclass", "lint", "--level", "info"]);
    assert_eq!((lint.status.code(), text(&lint.stderr)), (Some(0), String::new()), "{}", text(&lint.stdout));
    // The configuration is YAML, and leads a master to this inventory with these settings.
    let (_, salt) = said.split_once("Salt master:\n\n").unwrap();
    fs::write(place.path().join("master"), salt).unwrap();
    let of_master =
        run(place.path(), &["reclass", "--config", "master", "-n", "web1.example.com", "-o", "json"]);
    assert_eq!((of_master.status.code(), text(&of_master.stderr)), (Some(0), String::new()));
    assert!(text(&of_master.stdout).contains("10.0.0.11:80"));
    // Each command that it suggests does what it says, as typed.
    let (_, suggested) = said.split_once("Look at its node:\n").unwrap();
    let typed = suggested.split("\n\n").next().unwrap();
    assert_eq!(typed.lines().count(), 3, "{typed}");
    let program = Path::new(env!("CARGO_BIN_EXE_reclass")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let shell = format!("set -e\n{typed}");
    let done = Command::new("sh").args(["-c", &shell]).env("PATH", path).env("HOME", "/").output().unwrap();
    assert_eq!((done.status.code(), text(&done.stderr)), (Some(0), String::new()), "{typed}");
    assert_eq!(text(&done.stdout).matches("10.0.0.11").count(), 5, "{}", text(&done.stdout));
    // The words for the shell are words for the shell.
    let entering = said.lines().find(|line| line.trim().starts_with("cd ")).unwrap();
    let went = Command::new("sh").args(["-c", &format!("{entering} && pwd")]).output().unwrap();
    assert_eq!(text(&went.stdout).trim(), new.canonicalize().unwrap().to_str().unwrap());
    assert_eq!(printed(place.path(), &["reclass", "init", "a/empty"]).lines().count(), said.lines().count());
}

/// `make man` writes them.
#[test]
fn the_manual_pages_are_those_of_the_options() {
    let place = workplace();
    fs::write(place.path().join("reclass-config.yml"), "output: json\n").unwrap();
    printed(place.path(), &["reclass", "manual", "man1"]);
    let kept = Path::new(support::ROOT).join("docs/man");
    let read = |folder: &Path| -> Vec<(String, String)> {
        let mut pages: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
            })
            .collect();
        pages.sort();
        pages
    };
    let (made, kept) = (read(&place.path().join("man1")), read(&kept));
    assert!(made == kept, "docs/man is out of date: make man");
    for name in PROGRAMS {
        assert!(made.iter().any(|(page, _)| *page == format!("{name}.1")), "{name}");
    }
}

/// Examples of manual pages: the lines between `.EX` and `.EE`.
fn examples(page: &str) -> Vec<String> {
    let parts = page.split("\n.EX\n").skip(1).filter_map(|part| part.split("\n.EE\n").next());
    parts.map(|line| line.trim().replace("\\-", "-").replace("\\*(Aq", "'")).collect()
}

#[test]
fn the_examples_of_the_manual_pages_run() {
    let place = workplace();
    let shell = |command: &str| {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", program("reclass").parent().unwrap().display());
        let shell = ["-c", command];
        Command::new("bash")
            .args(shell)
            .current_dir(place.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", place.path())
            .output()
            .unwrap()
    };
    // The inventory of the examples: a repository with two commits, which the settings lead to.
    let inventory = place.path().join("inventory-of-examples");
    support::folders::copy(&Path::new(support::ROOT).join("examples/inventory"), &inventory);
    let prepared = shell(
        "(grep -v inventory_base_uri inventory-of-examples/reclass-config.yml; echo 'inventory_base_uri: inventory-of-examples') > reclass-config.yml \
         && mkdir ansible && cd inventory-of-examples && git init -q && git config user.name Ada && git config user.email a@example.com \
         && git add . && git commit -q -m one && git commit -q --allow-empty -m two",
    );
    assert!(prepared.status.success(), "{}", text(&prepared.stderr));
    // The other program and its answers, and a tree of saltclass.
    let prepared = shell(
        "mkdir -p schemas saltclass/nodes opt/reclass/bin \
         && printf '#!/bin/sh\\nexec reclass \"$@\"\\n' > opt/reclass/bin/reclass \
         && chmod +x opt/reclass/bin/reclass && reclass --inventory > old.yml \
         && (echo '{\"web1.example.com\":'; reclass-salt -o json --pillar web1.example.com; echo '}') > pillars.json",
    );
    assert!(prepared.status.success(), "{}", text(&prepared.stderr));
    let mut found = 0;
    for page in fs::read_dir(Path::new(support::ROOT).join("docs/man")).unwrap() {
        let path = page.unwrap().path();
        for section in ["EXAMPLES", "\"EXIT STATUS\"", "ENVIRONMENT", "\"SEE ALSO\""] {
            let page = fs::read_to_string(&path).unwrap();
            assert!(page.contains(&format!("\n.SH {section}\n")), "{} has no {section}", path.display());
        }
        assert!(!fs::read_to_string(&path).unwrap().contains('`'), "{}", path.display());
        let examples = examples(&fs::read_to_string(&path).unwrap());
        assert!(!examples.is_empty(), "{}", path.display());
        for example in examples {
            let command = example
                .replace("/srv/salt/reclass", inventory.to_str().unwrap())
                .replace("/etc/ansible", place.path().join("ansible").to_str().unwrap())
                .replace("/opt/reclass", place.path().join("opt/reclass").to_str().unwrap())
                // A test has no browser.
                .replace("graph --open", "graph > page.html")
                .replace("/srv/", &format!("{}/", place.path().display()));
            // These answer until somebody ends them.
            if command.contains("reclass explore") || command.contains("reclass lsp") {
                let output = shell(&format!(
                    "sleep 5 | timeout 1 {}",
                    command.replace("explore", "explore --no-open")
                ));
                assert_eq!(output.status.code(), Some(124), "{example}: {}", text(&output.stderr));
                found += 1;
                continue;
            }
            let output = shell(&command);
            let said = text(&output.stderr);
            let said: String = said.lines().filter(|line| !line.starts_with("hint: ")).collect();
            assert_eq!((output.status.code(), said), (Some(0), String::new()), "{example}");
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
}

#[test]
fn every_code_is_explained() {
    let place = workplace();
    for code in reclass_analysis::lint::codes() {
        let said = printed(place.path(), &["reclass", "explain-error", code]);
        let rest = said.strip_prefix(&format!("{code}\n\n")).unwrap();
        assert!(rest.lines().next().unwrap().len() > 20 && !rest.contains("```"), "{said}");
        assert!(rest.contains(&format!("#{code}\n")) && rest.contains("\nDocumentation: "), "{said}");
    }
    let said = printed(place.path(), &["reclass", "explain-error", "unknown-section"]);
    // Both pages have it: the meaning, and the rule with an example.
    assert!(said.contains("    # Bad: nodes/web.yml") && said.contains("\nLevel: `warning`. "), "{said}");
    assert!(!said.contains("](") && said.contains("without a meaning (Y6)"), "{said}");
    assert!(!said.contains("The page on lint has"), "the example is below: {said}");
    for (code, expected) in
        [("unkown-section", "; 'unknown-section' is similar"), ("lint", "no error"), ("", "no error")]
    {
        let output = run(place.path(), &["reclass", "explain-error", code]);
        assert_eq!(output.status.code(), Some(2), "{code}");
        assert!(
            output.stdout.is_empty() && text(&output.stderr).contains(expected),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn without_a_code_all_codes_are_listed() {
    let said = printed(workplace().path(), &["reclass", "explain-error"]);
    let lines: Vec<_> = said.lines().filter_map(|line| line.split_once("  ")).collect();
    let listed: Vec<_> = lines.iter().map(|(code, _)| *code).collect();
    let mut codes: Vec<_> = reclass_analysis::lint::codes().collect();
    codes.sort_unstable();
    assert_eq!(listed, codes);
    for (code, meaning) in lines {
        let meaning = meaning.trim();
        assert!(meaning.len() > 20 && meaning.ends_with('.') && !meaning.contains("]("), "{code}: {meaning}");
    }
}

/// `explain-error` explains the error of that file.
#[test]
fn tools_work_beside_a_broken_settings_file() {
    let place = workplace();
    fs::write(place.path().join("reclass-config.yml"), "foo: [").unwrap();
    assert_eq!(run(place.path(), &["reclass", "nodes", "-b", "a"]).status.code(), Some(65));
    for line in [
        &["reclass", "explain-error", "config-file"][..],
        &["reclass", "explain-error", "--help"],
        &["reclass", "-b", "a", "explain-error", "config-file"],
        &["reclass", "init", "new"],
        &["reclass", "completions", "bash"],
        &["reclass", "manual", "man1"],
    ] {
        let output = run(place.path(), line);
        let said = (output.status.code(), text(&output.stderr));
        assert_eq!(said, (Some(0), String::new()), "{line:?}");
    }
    let output = run(place.path(), &["reclass", "explain-error", "confg-file"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn no_abbreviation_is_suggested() {
    let place = workplace();
    for (option, tip) in [("--nosuch", None), ("--outptu", Some("'--output'"))] {
        let output = run(place.path(), &["reclass", option]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("unexpected argument '{option}'")), "{said}");
        assert_eq!(said.contains("a similar argument exists"), tip.is_some(), "{said}");
        assert!(tip.is_none_or(|tip| said.contains(tip)), "{said}");
    }
    printed(place.path(), &["reclass", "-b", "a", "-n", "n2", "--ou", "json"]);
}

/// Helps and manual pages name the address of Cargo.toml, as `setup.py` does.
#[test]
fn the_address_of_the_documentation_is_that_of_the_package() {
    let read = |name: &str| -> toml::Table {
        fs::read_to_string(Path::new(support::ROOT).join(name)).unwrap().parse().unwrap()
    };
    let address = read("Cargo.toml")["workspace"]["package"]["homepage"].as_str().unwrap().to_owned();
    let help = printed(workplace().path(), &["reclass", "lint", "--help"]);
    // Until there is a site, the page of `man`, which the wheel has, and that of the sources.
    let sources = || "man reclass-lint, and docs/lint.md in the sources".to_owned();
    let page = if address.is_empty() { sources() } else { format!("{address}lint.html") };
    assert!(help.contains(&format!("Documentation: {page}\n")), "{help}");
}

#[test]
fn versions_and_help() {
    let place = workplace();
    for name in PROGRAMS {
        let version = printed(place.path(), &[name, "--version"]);
        let first = format!("{name} {} (saltext-reclass)\n", env!("CARGO_PKG_VERSION"));
        assert!(version.starts_with(&first), "{version}");
        assert!(version.contains("\nstorage:    yaml_fs"), "{version}");
        let help = printed(place.path(), &[name, "--help"]);
        assert!(help.len() > printed(place.path(), &[name, "-h"]).len(), "{name}");
        for option in [
            "-s,",
            "-b,",
            "-u,",
            "-c,",
            "-z,",
            "-a,",
            "-x,",
            "-e,",
            "-o,",
            "-y,",
            "-r,",
            "-0,",
            "-1,",
            "Examples:",
        ] {
            assert!(help.contains(option), "{name} {option}");
        }
        let wide = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{name}");
    }
}

#[test]
fn broken_pipes_and_closed_streams_are_quiet() {
    let place = workplace();
    let keys: Vec<String> = (0..5_000).map(|number| format!("  key{number}: it fills the pipe\n")).collect();
    fs::write(place.path().join("a/nodes/n2.yml"), format!("parameters:\n{}", keys.concat())).unwrap();
    for line in [
        "reclass -b a -i",
        "reclass-salt -b a -p n2",
        "reclass-ansible -b a -l",
        "reclass explain -b a n2 '**'",
        "reclass params -b a",
        "reclass --help",
    ] {
        for (before, after) in
            [("", "| head -c 1 >/dev/null; exit ${PIPESTATUS[0]}"), ("", ">&-"), ("", ">&- 2>&-")]
        {
            let path = program("").display().to_string();
            let output = Command::new("bash")
                .args(["-c", &format!("{before} {line} {after}")])
                .current_dir(place.path())
                .env("PATH", format!("{path}:/usr/bin:/bin"))
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(0), "{line} {after}: {}", text(&output.stderr));
            let said = text(&output.stderr).replace("warning[host-without-group]", "");
            assert!(!said.contains("error") && !said.contains("panic"), "{line} {after}: {said}");
        }
    }
    for arguments in [&["-b", "a", "-i"][..], &["--help"], &["--version"], &["explain", "--help"]] {
        let mut full = command(place.path(), "reclass");
        full.args(arguments).stdout(fs::File::create("/dev/full").unwrap()).stderr(Stdio::piped());
        let output = full.spawn().unwrap().wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.starts_with("error: cannot write the answer"), "{arguments:?}: {said}");
    }
}

#[test]
fn arguments_that_are_no_text() {
    let place = workplace();
    let odd = || std::ffi::OsString::from_vec(b"n\xff".to_vec());
    for name in PROGRAMS {
        for arguments in
            [vec![odd()], vec!["-b".into(), odd()], vec!["-n".into(), odd()], vec!["init".into(), odd()]]
        {
            let output = command(place.path(), name).args(&arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{name} {arguments:?}: {}", text(&output.stderr));
            assert!(text(&output.stderr).starts_with("error: "), "{name} {arguments:?}");
        }
    }
}

/// Where `reclass` does not lie beside them, the small programs say so.
#[test]
fn a_program_without_the_other() {
    let place = workplace();
    for name in &PROGRAMS[1..] {
        let alone = place.path().join(name);
        // In a process of its own: what another test starts meanwhile would hold a copy of ours open, and
        // a file that is open for writing cannot be run.
        assert!(Command::new("cp").arg(program(name)).arg(&alone).status().unwrap().success());
        let output = Command::new(&alone).arg("--help").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(said.starts_with("error: cannot start '") && said.contains("/reclass': "), "{said}");
    }
}
