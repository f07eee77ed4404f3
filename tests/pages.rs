//! Pages turn into sessions of a shell: every command in a `console` block is run, in order, in a
//! copy of one of the examples that is a git repository, and must print what the page says.
//!
//! `BLESS=1 cargo test --test pages` writes the outputs anew; read the difference before committing
//! it. `[exit code N]` stands below a command that does not end with 0.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test runs programs"
)]

use support::folders;

use std::fs;
use std::path::Path;
use std::process::Command;

use folders::copy;
use tempfile::TempDir;

/// Where the inventory is in the pages.
const SHOWN: &str = "/srv/salt/reclass";
/// Where the home directory is in the pages.
const HOME: &str = "/home/ada";

/// The programs of Ansible, as `make test` installs them.
const ANSIBLE: &str = ".venv-ansible/bin";

struct Place {
    folder: TempDir,
}

impl Place {
    /// A copy of the example in a repository with one commit.
    fn new(example: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        let example = Path::new(support::ROOT).join("examples").join(example);
        copy(&example, &place.folder.path().join("reclass"));
        place.run("git init -q -b main . && git add -A && git commit -q -m 'the example'");
        place
    }

    /// What a command prints, with the paths of the pages.
    fn run(&self, command: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_reclass")).parent().unwrap();
        let ansible = Path::new(support::ROOT).join(ANSIBLE);
        let path = std::env::var("PATH").unwrap_or_default();
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(self.folder.path().join("reclass"))
            .env_clear()
            .env("PATH", format!("{}:{}:{path}", program.display(), ansible.display()))
            .env("SOURCE_DATE_EPOCH", "1795206020")
            // Without one that is UTF-8, Ansible does not start.
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", self.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Ada")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ada@example.com")))
            .output()
            .unwrap();
        let home = self.folder.path().canonicalize().unwrap();
        let folder = home.join("reclass");
        let text = String::from_utf8(output.stdout).unwrap();
        let text = text.replace(&folder.display().to_string(), SHOWN);
        let text = text.replace(&home.display().to_string(), HOME);
        let mut text = text.replace(&program.display().to_string(), "/usr/local/bin");
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        match output.status.code() {
            Some(0) => text,
            code => format!("{text}[exit code {}]\n", code.unwrap()),
        }
    }
}

/// The page as it should be.
fn played(page: &str, example: &str) -> String {
    let place = Place::new(example);
    let mut out = String::new();
    let mut lines = page.lines().peekable();
    let mut inside = false;
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if inside && line.starts_with("$ ") => {
                while lines.next_if(|line| *line != "```" && !line.starts_with("$ ")).is_some() {}
                out.push_str(&place.run(&line[2..]));
            }
            _ => {}
        }
    }
    out
}

fn check(name: &str) {
    check_in(name, "inventory");
}

fn check_in(name: &str, example: &str) {
    let path = Path::new(support::ROOT).join("docs").join(name);
    let page = fs::read_to_string(&path).unwrap();
    let played = played(&page, example);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, played).unwrap();
        return;
    }
    assert!(page.contains("```console"), "{name} shows nothing");
    let differs = page.lines().zip(played.lines()).find(|(said, is)| said != is);
    assert!(page == played, "{name} is out of date; BLESS=1 cargo test --test pages\n{differs:?}\n{played}");
}

#[test]
fn explain() {
    check("explain.md");
}

#[test]
fn lint() {
    check("lint.md");
}

#[test]
fn diff() {
    check("diff.md");
}

#[test]
fn graph() {
    check("graph.md");
}

#[test]
fn listings() {
    check("listings.md");
}

#[test]
fn queries() {
    check_in("queries.md", "database");
}

#[test]
fn cli() {
    check("cli.md");
}

#[test]
fn ansible() {
    if Path::new(support::ROOT).join(ANSIBLE).join("ansible-inventory").exists() {
        check_in("ansible.md", "ansible");
    } else {
        println!("SKIPPED: no Ansible in {ANSIBLE}; make .venv-ansible/.tools");
    }
}

#[test]
fn git() {
    check("git.md");
}
