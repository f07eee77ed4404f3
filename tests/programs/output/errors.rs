//! Small inventories turn into each error: one example for each code, in `tests/programs/output/errors/<code>.txt`.
//!
//! A file holds an inventory, `--- path` before each of its files and `--- prepare` before a script for
//! what no text can be. Behind each `--- $ command` is its output, behind `--- concise NODE` the
//! one line that Salt gets, and behind `--- call` what a function says that has no command.
//! `BLESS=1 cargo test --test programs output::errors::` writes these anew, and `docs/errors.md`, which shows them; read
//! the difference before committing it. An example that is called otherwise than a code shows several.

use support::folders;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use folders::{Part, inventory, parts, set, write};
use reclass::error::{Error, Kind};
use reclass::internals::storage::write::unflushed;
use reclass::parts::storage::TreeLock;
use reclass::parts::storage::fs::reason;
use reclass::report;
use reclass::settings::Settings;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use reclass_analysis::compare::{ComparedParts, OldAnswers, compare};
use reclass_analysis::errors::{ROWS, codes};
use reclass_analysis::lint::rule;
use reclass_edit::node::{self, NodeContent};
use reclass_edit::tree::EditOptions;
use reclass_serve::Served;

/// Where the inventory is in the examples.
const SHOWN: &str = "/srv/salt/reclass";

/// The example as it should be.
fn played(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("reclass");
    let mut options = inventory(&base);
    let mut out = String::new();
    for part in parts(text) {
        out.extend(["--- ", &part.name, "\n"]);
        let said = match part.name.split_once(' ') {
            Some(("$", command)) => {
                let output = shell(&base, &format!("exec 2>&1\n{command}"));
                let mut said = String::from_utf8(output.stdout).unwrap();
                match output.status.code() {
                    Some(0) => {}
                    code => writeln!(said, "[exit code {}]", code.unwrap()).unwrap(),
                }
                said
            }
            Some(("concise", node)) => format!("{}\n", concise(&options, node)),
            Some(("call", code)) => {
                let error = call(code, &base, &options).unwrap_err();
                let read = |path: &str| fs::read_to_string(path).ok();
                format!("{}\n\n{}\n", reclass::error::concise(&error), report::full(&error, false, &read))
            }
            _ => {
                out += &part.text;
                match part.name.as_str() {
                    "prepare" => {
                        let output = shell(&base, &part.text);
                        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                    }
                    name => {
                        if name == "reclass-config.yml" {
                            set(&mut options, &part.text);
                            // In these files the folder is `.`, and this test runs in another one.
                            options.extend(inventory(&base));
                        }
                        write(&base.join(name), &part.text);
                    }
                }
                continue;
            }
        };
        out += &neutral(&said, folder.path());
    }
    out
}

/// What a command prints that is run in the inventory.
fn shell(base: &Path, command: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_reclass"));
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("sh")
        .args(["-c", command])
        .current_dir(base)
        .env_clear()
        .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
        .env("RECLASS", program)
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", base.parent().unwrap())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Ada")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ada@example.com")))
        .output()
        .unwrap()
}

/// A text without what is another in each run: the folder, and the time.
fn neutral(text: &str, folder: &Path) -> String {
    let outside = Path::new(SHOWN).parent().unwrap().display().to_string();
    let (folder, text) = (folder.display().to_string(), text.to_owned());
    // The name of a cache is the address of its repository.
    let text = text.replace(&folder.replace('/', "%2F"), &outside.replace('/', "%2F"));
    let text = text.replace(&folder, &outside);
    let time = fancy_regex::Regex::new(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC").unwrap();
    time.replace_all(&text, "2026-11-21 08:00:00 UTC").into_owned()
}

/// The lines that Salt gets for a node: its errors, or its warnings.
fn concise(options: &Map, node: &str) -> String {
    match Inventory::open(options).and_then(|inventory| inventory.nodeinfo(node, &Request::default())) {
        Ok(info) => {
            let lines: Vec<String> = info.warnings.iter().map(reclass::error::concise_warning).collect();
            lines.join("\n")
        }
        Err(error) => error.to_string(),
    }
}

/// Does what ends with an error of this code.
fn call(code: &str, base: &Path, options: &Map) -> Result<(), Error> {
    let settings = Settings::from_options(options)?.0;
    let plain = EditOptions::default();
    let with = |key: &str, value: &str| NodeContent {
        parameters: Map::from_iter([(key.into(), Value::text(value))]),
        ..NodeContent::default()
    };
    let create = |node: &str, folder: &str| {
        node::create(&settings, node, folder, &NodeContent::default(), plain).map(drop)
    };
    match code {
        "edit-refused" => node::update(&settings, "web1", &with("a", "2"), plain).map(drop),
        "edit-breaks" => {
            let content = NodeContent { classes: vec!["role.wbe".into()], ..NodeContent::default() };
            node::update(&settings, "web1", &content, plain).map(drop)
        }
        "edit-reference" => node::update(&settings, "web1", &with("a", "${b}"), plain).map(drop),
        "name-refused" => create("../web1", ""),
        "path-refused" => {
            let outside = base.with_file_name("outside");
            fs::create_dir(&outside).unwrap();
            std::os::unix::fs::symlink(outside, base.join("nodes/rack")).unwrap();
            create("web2", "rack")
        }
        "node-exists" => create("web1", ""),
        "file-unwritable" => {
            // Whoever runs the tests, nobody can write to a folder as to a file.
            fs::create_dir(base.join("nodes/.reclass.lock")).unwrap();
            create("web2", "")
        }
        // No folder that can be made here fails so; tests/storage/faults has one fail.
        "folder-unflushed" => {
            let failed = std::io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error());
            Err(unflushed(&base.join("nodes/web1.yml"), &failed).into())
        }
        // The message of another program is part of an answer.
        "old-refusal" => {
            let pillars = base.join("pillars.json");
            let old = OldAnswers::pillars(pillars.to_str().unwrap())?;
            let comparison = compare(options, &old, &ComparedParts::default(), false)?;
            Err(comparison.causes[0].difference.mended[0].problems[0].fault.clone().into())
        }
        // A file that changes during each attempt; tests/engine/incremental/walks.rs has one.
        "file-changing" => {
            let path = base.join("nodes/web1.yml").display().to_string();
            let message = "it was another one after each of 10 attempts".to_owned();
            Err(reclass::error::Fault::new(Kind::FileChanging { path, message }).into())
        }
        "lock-timeout" => {
            let root = base.join("nodes");
            let _held = TreeLock::take(&root)?;
            std::thread::scope(|scope| scope.spawn(|| create("web2", "")).join().unwrap())
        }
        "class-needs-pillar" => Inventory::open(options)?.top("web1", &Request::default(), false).map(drop),
        "pillar-untrusted" => {
            let input = Map::from_iter([("role".into(), Value::text("web"))]);
            let request = Request { input_data: Some(Value::map(input)), ..Request::default() };
            Inventory::open(options)?.nodeinfo("web1", &request).map(drop)
        }
        "storage-unsupported" => create("web2", ""),
        "wire-type" => {
            let answered = Served::open(options, false)?.pillar("web1", &Request::default(), false, false);
            answered.result.map(drop).map_err(|failed| failed.error)
        }
        // Two processes at the same moment; tests/storage/etcd has some that write for as long as it takes.
        "etcd-conflict" => {
            let key = "/reclass/classes/cluster.prague.overrides/_param/database_address".into();
            Err(reclass::error::Fault::new(Kind::EtcdConflict { key }).into())
        }
        "internal" => TreeLock::take(&base.join("nodes"))?.remove(&base.join("classes/web.yml")),
        other => panic!("no call for {other}"),
    }
}

#[test]
fn examples_fail_as_they_say() {
    folders::check("programs/output/errors", played);
    the_page_shows_the_examples();
}

#[test]
fn every_code_has_an_example() {
    for code in codes() {
        if is_in_lint(code) {
            continue;
        }
        let text = fs::read_to_string(folder().join(format!("{code}.txt"))).unwrap_or_default();
        let shown = match code {
            // A report shows its problems in one line each.
            "test-invalid" => format!("({code})"),
            code => format!("[{code}]"),
        };
        assert!(text.contains(&shown), "tests/programs/output/errors/{code}.txt does not end in {shown}");
    }
}

#[test]
fn what_the_system_refuses_has_a_way_out() {
    use rustix::io::Errno as E;
    for errno in
        [E::ACCESS, E::NOENT, E::IO, E::NOSPC, E::DQUOT, E::ROFS, E::MFILE, E::NFILE, E::FBIG, E::INTR]
    {
        let message = reason(&std::io::Error::from(errno));
        let help = Kind::FileUnwritable { path: "/srv/x".into(), message: message.clone() }.help();
        assert!(help.is_some(), "{message}");
    }
}

/// Whether a warning has its example in the rule of lint with its code.
fn is_in_lint(code: &str) -> bool {
    rule(code).is_some_and(|rule| rule.text.contains("```yaml"))
}

/// The page with all examples.
fn page() -> String {
    let mut page = String::from(
        "# Errors and warnings\n\nEvery problem has a code that stays the same and a message. Most have a place, the chain of classes that \
         leads there, and a way out. `reclass explain-error CODE` prints a section of this page in a terminal.\n\n\
         A section has an example: the files of a small inventory in `/srv/salt/reclass`, a command and its \
         output. The line below `Salt:` is the one that a minion and the exceptions of Python get. The page on \
         lint has the codes of [its rules](lint.md#rules), and the examples of warnings.\n\n\
         <!-- Written by `BLESS=1 cargo test --test programs output::errors::`. -->\n",
    );
    let ruling = fancy_regex::Regex::new(r"\(([SMRQY]\d+)\)").unwrap();
    let meanings = Kind::MEANINGS.iter().copied().chain(ROWS.iter().map(|row| row.meaning));
    for (code, meaning) in codes().zip(meanings) {
        let meaning = ruling.replace_all(meaning.trim(), "([$1](semantics.md))");
        writeln!(page, "\n## `{code}`\n\n{meaning}").unwrap();
        if is_in_lint(code) {
            writeln!(page, "\nThe page on lint has [an example](lint.md#{code}).").unwrap();
            continue;
        }
        let text = fs::read_to_string(folder().join(format!("{code}.txt"))).unwrap();
        for Part { name, text } in parts(&text) {
            let text = text.trim_end();
            let shown = match name.split_once(' ') {
                Some(("$", command)) => format!("\n```text\n$ {command}\n{text}\n```\n"),
                Some(("concise", _)) => format!("\nSalt:\n\n```text\n{text}\n```\n"),
                Some(_) => format!("\n```text\n{text}\n```\n"),
                None if name == "prepare" => format!("\n```sh\n{text}\n```\n"),
                None => format!("\n`{name}`:\n\n```yaml\n{text}\n```\n"),
            };
            page += &shown;
        }
    }
    page
}

fn folder() -> PathBuf {
    Path::new(support::ROOT).join("tests/programs/output/errors")
}

fn the_page_shows_the_examples() {
    let path = Path::new(support::ROOT).join("docs/errors.md");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, page()).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), page(), "BLESS=1 writes docs/errors.md anew");
}
