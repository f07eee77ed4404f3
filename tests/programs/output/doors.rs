//! No command shows a secret. An inventory has secrets of each form and depth, and references, queries, exports and
//! aliases that bring them elsewhere, beside files that are no YAML. Every command is asked in each of its formats.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::folders::write;
use support::page::unpacked;

/// What is asked of a command: the arguments of each question, or why it has no values to show.
enum Asked {
    Questions(&'static [&'static str]),
    Nothing(&'static str),
}
use Asked::{Nothing, Questions};

/// A command that is missing here fails the test.
const COMMANDS: &[(&str, Asked)] = &[
    ("show", Questions(&["n1", "n2", "n3", "b1", "n1 **", "n1 copy --raw", "n1 pasword", "*"])),
    (
        "explain",
        Questions(&[
            "n1",
            "n2",
            "n3",
            "b2",
            "n1 **",
            "n2 **",
            "n1 copy:0 two url",
            "n1 --export **",
            "n1 --class *",
            "n1 tokn",
        ]),
    ),
    ("nodes", Questions(&["", "-l", "--param db:password -l", "--file classes/plants.yml"])),
    ("classes", Questions(&["", "-l", "--unused"])),
    ("applications", Questions(&["", "-l"])),
    ("params", Questions(&["", "-l", "-l **", "-l aliased:**"])),
    ("refs", Questions(&["", "-l", "-l db:password"])),
    ("graph", Questions(&["", "n1"])),
    ("docs", Questions(&["-", "pages"])),
    ("explore", Questions(&["--no-open", "n1 n3 --no-open"])),
    (
        "lint",
        Questions(&[
            "",
            "--level info",
            "--summary",
            "--fix --dry-run --unsafe-fixes --level info",
            "--mask-excerpts",
        ]),
    ),
    ("test", Questions(&["", "--all", "--snapshot"])),
    (
        "schema",
        Questions(&[
            "files",
            "files db",
            "infer db",
            "infer secrets",
            "infer copy",
            "infer aliased",
            "infer url",
            "infer users",
            "infer token",
        ]),
    ),
    ("diff", Questions(&["HEAD", "HEAD --summary", "HEAD --all-nodes", "HEAD HEAD"])),
    (
        "impact",
        Questions(&[
            "HEAD",
            "parameter:db:password",
            "classes/plants.yml",
            "classes/plants.yml:5",
            "--all-nodes HEAD",
        ]),
    ),
    ("status", Questions(&[""])),
    ("compare", Questions(&["old.yml", "old.yml --summary", "old.yml --all-nodes"])),
    ("init", Nothing("it knows no inventory")),
    ("migrate", Questions(&["saltclass saltclass made"])),
    ("explain-error", Nothing("it knows no inventory")),
    ("lsp", Nothing("its requests are asked in tests/lsp/doors.rs")),
    ("completions", Nothing("it knows no inventory; the words for a shell are names")),
    ("manual", Nothing("it knows no inventory")),
];

/// The questions of the Python programs. What they print of a node that renders is what Salt gets, with its secrets.
const MODES: &[(&str, &str)] = &[
    ("reclass", "--nodeinfo n3"),
    ("reclass", "--nodeinfo b5"),
    ("reclass", "--nodeinfo n1x"),
    ("reclass", "--inventory"),
    ("reclass", "--inventory --mask-excerpts"),
    ("reclass-salt", "-b . --pillar n3"),
    ("reclass-salt", "-b . --top"),
    ("reclass-ansible", "-b . --host n3"),
    ("reclass-ansible", "-b . --list"),
];

struct Inventory(tempfile::TempDir);

impl Inventory {
    /// The inventory, and one with other secrets as its last commit.
    fn planted() -> Inventory {
        let inventory = Inventory(tempfile::tempdir().unwrap());
        let text = include_str!("secrets/inventory.txt");
        inventory
            .write(&text.replace("HIDE-", "HIDE-old-").replace("SHOW-key\n", "SHOW-key # HIDE-comment\n"));
        inventory.write("=== saltclass/nodes/n.yml\nclasses: [a]\npillars: {password: HIDE-90, b: [}\n=== saltclass/classes/a.yml\npillars:\n  password: HIDE-91\n  token: '{{ HIDE-92 }}'\n  private_key: |\n    {% HIDE-94 %}\n  __env__: HIDE-93\n");
        for arguments in ["init -q -b main", "add -A", "commit -q -m planted"] {
            let output = inventory.run("git", arguments);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        inventory.write(text);
        inventory
    }

    fn write(&self, files: &str) {
        for file in files.split("=== ").skip(1) {
            let (path, text) = file.split_once('\n').unwrap();
            write(&self.0.path().join(path), text);
        }
    }

    fn command(&self, program: &str, arguments: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .args(arguments.split(' ').filter(|word| !word.is_empty()))
            .current_dir(self.0.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.0.path().parent().unwrap())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Ada")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ada@example.com")));
        command
    }

    fn run(&self, program: &str, arguments: &str) -> Output {
        self.command(program, arguments).output().unwrap()
    }

    /// What the server of a command prints, its page, all that the page asks for, and the page of an error.
    fn served(&self, program: &str, arguments: &str) -> String {
        let mut command = self.command(program, arguments);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut shown = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut shown).unwrap();
        let (host, folder) = shown.trim_end().strip_prefix("http://").unwrap().split_once('/').unwrap();
        let get = |name: &str| {
            let mut stream = TcpStream::connect(host).unwrap();
            // HTTP/1.0: the text ends with the connection.
            write!(stream, "GET /{folder}{name} HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 "), "{name}: {answer}");
            unpacked(&answer)
        };
        let mut answers = get("");
        let asked = ["fetch(\"", "href=\"", "src=\""].map(|before| answers.split(before).skip(1));
        let names = asked.into_iter().flatten().filter_map(|behind| behind.split_once('"'));
        let names: BTreeSet<&str> = names.map(|(name, _)| name).collect();
        assert_eq!(names, BTreeSet::from(["state"]));
        answers += &names.iter().map(|name| get(name)).collect::<String>();
        let [nodes, away] = ["nodes", "away"].map(|name| self.0.path().join(name));
        fs::rename(&nodes, &away).unwrap();
        answers += &get("");
        assert!(answers.contains("directory-not-found"));
        fs::rename(&away, &nodes).unwrap();
        process.kill().unwrap();
        let printed = process.wait_with_output().unwrap();
        shown + &answers + &String::from_utf8(printed.stderr).unwrap()
    }

    /// What a command shows, and the files that it makes.
    fn answer(&self, program: &str, arguments: &str) -> String {
        if arguments.starts_with("explore") {
            return self.served(program, arguments);
        }
        let output = self.run(program, arguments);
        let mut shown = unpacked(&String::from_utf8(output.stdout).unwrap());
        shown += &String::from_utf8(output.stderr).unwrap();
        assert!(!shown.contains("panicked"), "{arguments}: {shown}");
        for made in ["pages", "tests/snapshots"] {
            read_all(&self.0.path().join(made), &mut shown);
        }
        shown
    }
}

fn read_all(folder: &Path, shown: &mut String) {
    for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
        if entry.path().is_dir() {
            read_all(&entry.path(), shown);
        } else {
            *shown += &fs::read_to_string(entry.path()).unwrap();
        }
    }
}

/// The commands of a program, as the parser of its command line knows them: each has a page.
fn commands(folder: &Path) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_reclass")).arg("manual").arg(folder).output().unwrap();
    assert!(output.status.success());
    let pages = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let own = pages.filter_map(|page| Some(page.strip_prefix("reclass-")?.strip_suffix(".1")?.to_owned()));
    own.filter(|page| !page.starts_with("salt") && !page.starts_with("ansible")).collect()
}

/// The formats of the option `-o`, as its help lists them.
fn formats(command: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_reclass")).args([command, "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let Some((_, behind)) = help.split_once("--output <FORMAT>") else { return vec![String::new()] };
    let (list, _) = behind.split_once("[possible values: ").unwrap().1.split_once(']').unwrap();
    list.split(", ").map(|format| format!(" -o {format}")).collect()
}

/// The lines with something that has to be hidden. The name of a commit can have the digits of the number by chance.
fn leaks(shown: &str) -> Vec<&str> {
    let has_number =
        |line: &&str| line.split(|letter: char| !letter.is_ascii_hexdigit()).any(|word| word == "8151");
    shown.lines().filter(|line| line.contains("HIDE") || has_number(line)).collect()
}

#[test]
fn no_command_shows_a_secret() {
    let inventory = Inventory::planted();
    let known: BTreeSet<String> = COMMANDS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(commands(&inventory.0.path().join("man")), known, "a command is not asked");
    let program = env!("CARGO_BIN_EXE_reclass");
    let (mut asked, mut found) = (0, Vec::new());
    for (name, questions) in COMMANDS {
        let questions = match questions {
            Questions(questions) => *questions,
            Nothing(why) => {
                println!("{name}: {why}");
                continue;
            }
        };
        for format in formats(name) {
            let mut is_open = false;
            for question in questions {
                let arguments = format!("{name} {question}{format}");
                let shown = inventory.answer(program, &arguments);
                is_open |= shown.contains("SHOW") || shown.contains("plants") || shown.contains("n1");
                found.extend(leaks(&shown).iter().map(|line| format!("{arguments}: {line}")));
                asked += 1;
            }
            assert!(is_open || *name == "migrate", "{name}{format} answers nothing");
        }
    }
    let folder = Path::new(program).parent().unwrap();
    for (program, arguments) in MODES {
        let output = inventory.run(folder.join(program).to_str().unwrap(), arguments);
        let shown = String::from_utf8(output.stderr).unwrap();
        assert!(shown.contains("n3") || shown.contains("b5") || shown.contains("n1x"), "{program}: {shown}");
        found.extend(leaks(&shown).iter().map(|line| format!("{program} {arguments}: {line}")));
        asked += 1;
    }
    println!("{asked} questions");
    assert!(found.is_empty(), "{} leaks:\n{}", found.len(), found.join("\n"));
}

/// With the option, an excerpt has no values at all: in the errors of each program, of a node and of all files, beside
/// data in JSON, and below an error of the settings, which are not known then.
#[test]
fn excerpts_without_values() {
    let inventory = Inventory::planted();
    let values = ["SHOW://", "SHOW-key", "plants", "broken.", "1:30"];
    let look = |program: &str, arguments: &str, shows: bool| {
        let output = inventory.run(program, arguments);
        let shown = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let excerpts: Vec<&str> = shown.lines().filter(|line| line.contains(" │ ")).collect();
        let has = |excerpt: &&&str| values.iter().any(|value| excerpt.contains(value));
        assert_eq!(excerpts.iter().find(has).is_some(), shows, "{arguments}: {}", excerpts.join("\n"));
        assert!(shows || excerpts.iter().any(|excerpt| excerpt.contains("***")), "{arguments}: {shown}");
    };
    let program = env!("CARGO_BIN_EXE_reclass");
    let folder = Path::new(program).parent().unwrap();
    for question in ["lint", "show n3", "show n3 -o json"] {
        look(program, question, true);
        look(program, &format!("{question} --mask-excerpts"), false);
        look(program, &format!("--mask-excerpts {question}"), false);
    }
    for (program, arguments) in
        [("reclass", "--nodeinfo n3"), ("reclass-salt", "--pillar n3"), ("reclass-ansible", "--host n3")]
    {
        let program = folder.join(program);
        look(program.to_str().unwrap(), &format!("-b . {arguments}"), true);
        look(program.to_str().unwrap(), &format!("-b . {arguments} --mask-excerpts"), false);
    }
    for (settings, option) in [
        ("nodes_uri: SHOW-key: [\n", " --mask-excerpts"),
        ("delimiter: {a: SHOW-key}\n", " --mask-excerpts"),
        ("mask_excerpts: true\ndelimiter: {a: SHOW-key}\n", ""),
    ] {
        inventory.write(&format!("=== reclass-config.yml\n{settings}"));
        for question in ["lint", "show n3", "--nodeinfo n3"] {
            look(program, question, !option.is_empty());
            look(program, &format!("{question}{option}"), false);
        }
    }
}

/// Two secrets of another length look the same in an excerpt.
#[test]
fn an_excerpt_does_not_tell_the_length_of_a_secret() {
    let program = env!("CARGO_BIN_EXE_reclass");
    for text in [
        "parameters: {password: 'SECRET${x}', a: 1}\n",
        "parameters:\n  password: SECRET${x}  # a comment\n",
        "parameters:\n  password: |\n    SECRET\n    ${x}\n",
        "parameters:\n  password: @SECRET\n",
        "parameters:\n  password SECRET\n",
    ] {
        let excerpt = |secret: &str| {
            let inventory = Inventory(tempfile::tempdir().unwrap());
            inventory
                .write(&format!("=== classes/c.yml\n=== nodes/n.yml\n{}", text.replace("SECRET", secret)));
            let shown = inventory.answer(program, "show n");
            assert!(shown.contains("***"), "{shown}");
            let lines: Vec<String> =
                shown.lines().filter(|line| line.contains('│')).map(str::to_owned).collect();
            lines.join("\n")
        };
        assert_eq!(excerpt("x"), excerpt(&"x".repeat(40)), "{text}");
    }
}
