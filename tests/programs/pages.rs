//! Pages turn into sessions of a shell: every command in a `console` block is run, in order, in a
//! copy of one of the examples that is a git repository, and must print what the page says. Lines that
//! begin with `>` continue a command, as a shell shows it.
//!
//! `BLESS=1 cargo test --test programs pages::` writes the outputs anew; read the difference before committing
//! it. `[exit code N]` follows a command that does not end with 0.

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

/// The programs of Ansible and Salt, as `make test` installs them.
const ANSIBLE: &str = ".venv-ansible/bin";
const SALT: &str = ".venv/bin";
/// kapicorp-reclass, as `make test` installs it.
const OLD: &str = ".venv-oracle";

struct Place {
    folder: TempDir,
    /// Whether commands print to a terminal. The pages have no colours.
    terminal: bool,
}

impl Place {
    /// A copy of the example in a repository with one commit.
    fn new(example: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap(), terminal: false };
        let example = Path::new(support::ROOT).join("examples").join(example);
        copy(&example, &place.folder.path().join("reclass"));
        place.run("git init -q -b main . && git add -A && git commit -q -m 'the example'");
        place
    }

    /// An empty folder, for the page that begins with nothing.
    fn empty() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap(), terminal: false };
        fs::create_dir(place.folder.path().join("reclass")).unwrap();
        place
    }

    /// What a command prints, with the paths of the pages.
    fn run(&self, command: &str) -> String {
        let program = Path::new(env!("CARGO_BIN_EXE_reclass")).parent().unwrap();
        let [ansible, salt] = [ANSIBLE, SALT].map(|folder| Path::new(support::ROOT).join(folder));
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{}:{path}", program.display(), ansible.display(), salt.display());
        let mut shell = Command::new(if self.terminal { "script" } else { "sh" });
        if self.terminal {
            shell.args(["-qec", command, "/dev/null"]);
        } else {
            shell.args(["-c", &format!("exec 2>&1\n{command}")]);
        }
        let output = shell
            .current_dir(self.folder.path().join("reclass"))
            .env_clear()
            .env("PATH", path)
            .env("SOURCE_DATE_EPOCH", "1795206020")
            // Without one that is UTF-8, Ansible does not start.
            .env("LC_ALL", "C.UTF-8")
            .env("HOME", self.folder.path())
            .env("TERM", "dumb")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Ada")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ada@example.com")))
            .output()
            .unwrap();
        let home = self.folder.path().canonicalize().unwrap();
        let folder = home.join("reclass");
        let text = String::from_utf8(output.stdout).unwrap();
        let colour = fancy_regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
        let text = colour.replace_all(&text, "").replace("\r\n", "\n");
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
fn played(page: &str, place: &Place) -> String {
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
                let mut command = line[2..].to_owned();
                while let Some(more) = lines.next_if(|line| *line == ">" || line.starts_with("> ")) {
                    out.push_str(more);
                    out.push('\n');
                    command.push('\n');
                    command.push_str(more.get(2..).unwrap_or_default());
                }
                while lines.next_if(|line| *line != "```" && !line.starts_with("$ ")).is_some() {}
                out.push_str(&place.run(&command));
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
    check_at(name, &Place::new(example));
}

fn check_at(name: &str, place: &Place) {
    let path = Path::new(support::ROOT).join("docs").join(name);
    let page = fs::read_to_string(&path).unwrap();
    let played = played(&page, place);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, played).unwrap();
        return;
    }
    assert!(page.contains("```console"), "{name} shows nothing");
    let differs = page.lines().zip(played.lines()).find(|(said, is)| said != is);
    assert!(
        page == played,
        "{name} is out of date; BLESS=1 cargo test --test programs pages::\n{differs:?}\n{played}"
    );
}

#[test]
fn explain() {
    check("explain.md");
}

#[test]
fn classes_by_pattern() {
    check("classes-by-pattern.md");
}

#[test]
fn merge_options() {
    check("merge-options.md");
}

#[test]
fn grains() {
    check("grains.md");
}

#[test]
fn lint() {
    check("lint.md");
}

#[test]
fn testing() {
    check("testing.md");
}

#[test]
fn documenting() {
    check("documenting.md");
}

#[test]
fn inferred_schemas() {
    check("inferred-schemas.md");
}

#[test]
fn parameter_schemas() {
    check("parameter-schemas.md");
}

#[test]
fn diff() {
    check("diff.md");
}

#[test]
fn compare() {
    let old = Path::new(support::ROOT).join(OLD);
    if old.join("bin/reclass").exists() {
        let place = Place::new("inventory");
        std::os::unix::fs::symlink(old, place.folder.path().join("kapicorp")).unwrap();
        check_at("compare.md", &place);
    } else {
        println!("SKIPPED: no kapicorp-reclass in {OLD}; make .venv-oracle/.tools");
    }
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

#[test]
fn etcd() {
    let is_there = |program: &str| Command::new(program).arg("--help").output().is_ok();
    if is_there("etcd") && is_there("etcdctl") {
        check("etcd.md");
    } else {
        println!("SKIPPED: no etcd and etcdctl in PATH; install etcd-server and etcd-client");
    }
}

#[test]
fn readme() {
    check("../README.md");
}

#[test]
fn howto_ci() {
    check("howto/ci.md");
}

#[test]
fn howto_saltclass() {
    check_at("howto/migrate-from-saltclass.md", &Place::empty());
}

#[test]
fn tutorial() {
    if Path::new(support::ROOT).join(SALT).join("salt-call").exists() {
        check_at("tutorial.md", &Place { terminal: true, ..Place::empty() });
    } else {
        println!("SKIPPED: no Salt in {SALT}; make build");
    }
}

#[test]
fn the_commands_of_every_page_are_run() {
    let docs = Path::new(support::ROOT).join("docs");
    for folder in [docs.clone(), docs.join("howto")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&docs).unwrap().to_str().unwrap();
            // `tests/python/test_language.py` runs those of the language.
            let is_page = path.extension().is_some_and(|end| end == "md") && name != "language.md";
            if is_page && fs::read_to_string(&path).unwrap().contains("\n```console\n") {
                assert!(include_str!("pages.rs").contains(&format!("\"{name}\"")), "no test runs {name}");
            }
        }
    }
}
