//! Command lines turn into what a terminal shows: colours, progress, completions.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

/// Back to the first column, and nothing to the right of it.
const WIPE: &str = "\r\u{1b}[K";

/// A terminal, and what was written to it.
struct Terminal {
    keys: File,
    screen: Receiver<Vec<u8>>,
    shown: String,
}

impl Terminal {
    /// A new one, and the end that programs get.
    fn open() -> (Terminal, File) {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let name = ptsname(&keys, Vec::new()).unwrap();
        let end = File::options().read(true).write(true).open(OsStr::from_bytes(name.to_bytes())).unwrap();
        let keys = File::from(keys);
        let mut reads = keys.try_clone().unwrap();
        let (sends, screen) = channel();
        // It ends when no program has the terminal any more.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = reads.read(&mut bytes) {
                if sends.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        (Terminal { keys, screen, shown: String::new() }, end)
    }

    /// Reads until `text` is there; false if nothing comes for a while.
    fn waits_for(&mut self, text: &str) -> bool {
        let begun = Instant::now();
        while !self.shown.contains(text) && begun.elapsed() < Duration::from_secs(600) {
            match self.screen.recv_timeout(Duration::from_secs(5)) {
                Ok(bytes) => self.shown.push_str(&String::from_utf8_lossy(&bytes)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.shown.contains(text)
    }

    /// All that was shown, once no program writes any more.
    fn all(mut self) -> String {
        self.waits_for("\u{0}never\u{0}");
        self.shown
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_reclass")).parent().unwrap().to_owned()
}

fn workplace() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a/nodes/web1.yml", "classes: [role.web]\n"),
        ("a/nodes/db1.yml", "parameters: {x: '${gone}'}\n"),
        ("a/classes/role/web.yml", "parameters: {listen: 80}\n"),
    ] {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn reclass(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.args(arguments).current_dir(directory).env_clear().env("HOME", directory).env("TERM", "xterm");
    command
}

/// What the terminal shows of a command whose standard error, and output if it is asked for, it is.
fn shown(mut command: Command, output: bool) -> String {
    let (terminal, end) = Terminal::open();
    command.stdout(if output { Stdio::from(end.try_clone().unwrap()) } else { Stdio::null() });
    command.stderr(end);
    let mut child: Child = command.spawn().unwrap();
    drop(command);
    child.wait().unwrap();
    terminal.all()
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let place = workplace();
    for line in
        [&["-b", "a", "-n", "db1"][..], &["-Q"], &["explain", "-b", "a", "web1", "listen"], &["--help"]]
    {
        let coloured = |change: fn(&mut Command)| {
            let mut command = reclass(place.path(), line);
            change(&mut command);
            let text = shown(command, true);
            assert!(text.len() > 20, "{line:?}: {text}");
            text.contains("\u{1b}[")
        };
        assert!(coloured(|_| {}), "{line:?}");
        assert!(!coloured(|command| _ = command.env("NO_COLOR", "1")), "{line:?}");
        assert!(!coloured(|command| _ = command.env("TERM", "dumb")), "{line:?}");
        let output = reclass(place.path(), line).output().unwrap();
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{line:?}");
    }
}

/// Programs that read standard error get no such line.
#[test]
fn an_error_on_a_terminal_names_its_explanation() {
    let place = workplace();
    let line = "For an explanation: reclass explain-error reference-not-found";
    let arguments = &["-b", "a", "-n", "db1"];
    let text = shown(reclass(place.path(), arguments), false);
    assert_eq!(text.lines().last(), Some(line), "{text}");
    let piped = reclass(place.path(), arguments).output().unwrap();
    assert!(!String::from_utf8(piped.stderr).unwrap().contains("explain-error"));
    let usage = shown(reclass(place.path(), &["-b", "a", "-n", "db1", "--output-dir", "x"]), false);
    assert!(usage.contains("error[usage]") && !usage.contains("explain-error"), "{usage}");
}

/// A page of half a megabyte in a terminal helps nobody.
#[test]
fn the_page_of_the_graph_is_opened_and_not_printed() {
    let place = workplace();
    let text = shown(reclass(place.path(), &["graph", "-b", "a"]), true);
    assert!(text.contains("error[usage]") && text.contains("--open") && !text.contains("<html"), "{text}");
    assert!(shown(reclass(place.path(), &["graph", "-b", "a", "-o", "mermaid"]), true).contains("flowchart"));

    let run = |opener: &str| {
        let bin = place.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        for name in ["xdg-open", "open"] {
            fs::write(bin.join(name), format!("#!/bin/sh\n{opener}\n")).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let mut command = reclass(place.path(), &["graph", "-b", "a", "--open"]);
        command
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("TMPDIR", place.path())
            .output()
            .unwrap()
    };
    let opened = run("cp \"$1\" opened.html");
    let path = String::from_utf8(opened.stdout).unwrap();
    assert_eq!((opened.status.code(), opened.stderr.len()), (Some(0), 0));
    let page = fs::read_to_string(path.trim_end()).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert_eq!(page, fs::read_to_string(place.path().join("opened.html")).unwrap());
    assert_eq!(fs::metadata(path.trim_end()).unwrap().permissions().mode() & 0o777, 0o600);
    let failed = run("exit 3");
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8(failed.stderr).unwrap().contains("could not open the page"));
    let wrong = reclass(place.path(), &["graph", "-b", "a", "-o", "dot", "--open"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

/// The answer of `lint` is an output: the line is there if the output is a terminal.
#[test]
fn findings_on_a_terminal_name_the_explanation_of_the_most_severe() {
    let place = workplace();
    fs::write(place.path().join("a/nodes/aa.yml"), "parametrs: {}\n").unwrap();
    let line = "For an explanation: reclass explain-error reference-not-found";
    for form in ["full", "concise"] {
        let arguments = &["lint", "-b", "a", "-o", form];
        let text = shown(reclass(place.path(), arguments), true);
        assert_eq!(text.lines().last(), Some(line), "{text}");
        assert_eq!(text.matches("explain-error").count(), 1, "{text}");
        let piped = reclass(place.path(), arguments).output().unwrap();
        assert!(!String::from_utf8(piped.stdout).unwrap().contains("explain-error"));
    }
    for arguments in [&["lint", "-b", "a", "-o", "json"][..], &["lint", "-b", "a", "web1"]] {
        let text = shown(reclass(place.path(), arguments), true);
        assert!(!text.contains("explain-error"), "{arguments:?}: {text}");
    }
}

/// An inventory that takes more than two seconds, on whatever machine this is.
fn slow() -> TempDir {
    let place = workplace();
    fs::remove_file(place.path().join("a/nodes/db1.yml")).unwrap();
    fs::write(place.path().join("reclass-config.yml"), "threads: 1\n").unwrap();
    let lines: Vec<String> =
        (0..20_000).map(|key| format!("  key{key}: [1, two, {{three: '${{listen}}'}}]\n")).collect();
    let node = format!("classes: [role.web]\nparameters:\n{}", lines.concat());
    let (mut written, mut wanted) = (0, 4);
    loop {
        for number in written..wanted {
            fs::write(place.path().join(format!("a/nodes/web{number}.yml")), &node).unwrap();
        }
        written = wanted;
        // One thread takes at least as long by the clock as it has the processor, however busy that is.
        let shell = format!("'{}' -b a -i > /dev/null && times", env!("CARGO_BIN_EXE_reclass"));
        let times = Command::new("sh").args(["-c", &shell]).current_dir(place.path()).output().unwrap();
        let times = String::from_utf8(times.stdout).unwrap();
        let (minutes, seconds) = times.lines().nth(1).unwrap().split_once('m').unwrap();
        let seconds: f64 = seconds.split('s').next().unwrap().parse().unwrap();
        if minutes != "0" || seconds > 3.0 {
            break;
        }
        // As many as take long enough, as far as can be said from these.
        while seconds.max(0.1) / f64::from(written) * f64::from(wanted) <= 3.3 {
            wanted += 1;
        }
    }
    place
}

#[test]
fn what_takes_long_says_so_on_a_terminal() {
    let place = slow();
    let line = ["-b", "a", "-i"];
    let text = shown(reclass(place.path(), &line), false);
    let first = text.strip_prefix(&format!("{WIPE}rendering ")).expect(&text);
    let (counts, _) = first.split_once(" nodes, ").expect(&text);
    let (done, total) = counts.split_once('/').unwrap();
    assert!(done.parse::<usize>().unwrap() <= total.parse().unwrap(), "{counts}");
    assert!(text.contains("/s, "), "a rate: {text:?}");
    assert!(text.ends_with(WIPE), "the line is gone at the end: {text:?}");
    assert!(!text.contains('\n'), "{text:?}");
    assert_eq!(
        shown(reclass(place.path(), &["-b", "a", "--nodeapps", "nope"]), false).matches("rendering").count(),
        0
    );
    let mut dumb = reclass(place.path(), &line);
    dumb.env("TERM", "dumb");
    assert_eq!(shown(dumb, false), "");
    let piped = reclass(place.path(), &line).output().unwrap();
    assert!(piped.stderr.is_empty());
}

/// In real shells: the keys are typed, and the words they complete to appear.
#[test]
fn shells_complete_options_nodes_and_classes() {
    let place = workplace();
    let web = "parameters: {listen: 80, nginx: {user: a, workers: 2}}\n";
    fs::write(place.path().join("a/classes/role/web.yml"), web).unwrap();
    let git = "git init -q -b main . && git add -A && git -c user.name=a -c user.email=a@b commit -q -m 1 && git branch some-branch";
    assert!(Command::new("sh").args(["-c", git]).current_dir(place.path()).status().unwrap().success());
    let sized = "stty cols 200; ";
    for (shell, arguments, begin) in [
        ("bash", &["--norc", "--noprofile", "-i"][..], "source <(reclass completions bash)"),
        ("zsh", &["-f", "-i"], "autoload -U compinit; compinit -u -D; source <(reclass completions zsh)"),
    ] {
        let (mut terminal, end) = Terminal::open();
        let path = std::env::var("PATH").unwrap_or_default();
        let started = Command::new(shell)
            .args(arguments)
            .current_dir(place.path())
            .env_clear()
            .env("PATH", format!("{}:{path}", programs().display()))
            .envs([("HOME", place.path()), ("TERM", Path::new("dumb")), ("PS1", Path::new("> "))])
            .stdin(end.try_clone().unwrap())
            .stdout(end.try_clone().unwrap())
            .stderr(end)
            .spawn();
        let Ok(mut child) = started else {
            support::absent(shell, "install it");
            continue;
        };
        terminal.types(&format!("{sized}{begin}; echo re''ady\n"));
        assert!(terminal.waits_for("ready"), "{shell}: {}", terminal.shown);
        for (keys, line) in [
            ("reclass -b a --nodei\tw\t", "reclass -b a --nodeinfo web1"),
            ("reclass -u a/nodes -c a/classes -b . -n d\t", "reclass -u a/nodes -c a/classes -b . -n db1"),
            ("reclass nodes -b a --class r\t", "reclass nodes -b a --class role.web"),
            ("reclass classes -b a r\t", "reclass classes -b a role.web"),
            ("reclass gra\t-b a w\t", "reclass graph -b a web1"),
            ("reclass explain-error reference-n\t", "reclass explain-error reference-not-found"),
            ("reclass lint -b a --lev\te\t", "reclass lint -b a --level error"),
            ("reclass-salt -b a --pil\td\t", "reclass-salt -b a --pillar db1"),
            ("reclass-ansible -b a -o j\t", "reclass-ansible -b a -o json"),
            ("reclass -b nowhere -n w\t", "reclass -b nowhere -n w"),
            ("reclass explain -b a web1 li\t", "reclass explain -b a web1 listen"),
            ("reclass explain -b a web1 ng\tw\t", "reclass explain -b a web1 nginx:workers"),
            ("reclass params -b a nginx:u\t", "reclass params -b a nginx:user"),
            ("reclass nodes -b a --file a/classes/r\t", "reclass nodes -b a --file a/classes/role/web.yml"),
            ("reclass diff -b a some-b\t", "reclass diff -b a some-branch"),
            ("reclass compare -b a a/nodes/d\t", "reclass compare -b a a/nodes/db1.yml"),
        ] {
            // Once it is complete, the line is not run but echoed: Ctrl-A is its beginning.
            terminal.types(&format!("{keys}\u{1}echo 'se''en' \n"));
            let seen = terminal.waits_for(&format!("seen {line}"));
            assert!(seen, "{shell}: {keys:?} shows {:?}, not {line:?}", terminal.shown);
            terminal.shown.clear();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// `complete -C` of fish prints the completions.
#[test]
fn fish_completes_too() {
    let place = workplace();
    let path = std::env::var("PATH").unwrap_or_default();
    for (line, word) in [
        ("reclass -b a --nodei", "--nodeinfo"),
        ("reclass -b a --nodeinfo w", "web1"),
        ("reclass nodes -b a --class r", "role.web"),
        ("reclass-salt -b a -p d", "db1"),
        ("reclass-ansible -b a --li", "--list"),
    ] {
        let script = format!("reclass completions fish | source; complete -C '{line}'");
        let started = Command::new("fish")
            .args(["--no-config", "-c", &script])
            .current_dir(place.path())
            .env_clear()
            .env("PATH", format!("{}:{path}", programs().display()))
            .env("HOME", place.path())
            .output();
        let Ok(output) = started else {
            support::absent("fish", "install it");
            return;
        };
        let said = String::from_utf8(output.stdout).unwrap();
        // A word, and after a tab what it means.
        let words: Vec<&str> = said.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(words, [word], "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What a terminal of this width shows of a command.
fn shown_at(width: u16, command: Command) -> String {
    let (terminal, end) = Terminal::open();
    let size = rustix::termios::Winsize { ws_row: 50, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&end, size).unwrap();
    let mut command = command;
    command.stdout(end.try_clone().unwrap()).stderr(end);
    let mut child: Child = command.spawn().unwrap();
    drop(command);
    child.wait().unwrap();
    terminal.all().replace("\r\n", "\n")
}

#[test]
fn colours_are_chosen_by_the_option_then_by_the_environment() {
    let place = workplace();
    let line = ["explain", "-b", "a", "web1", "listen"];
    let coloured = |option: &[&str], change: fn(&mut Command)| {
        let mut command = reclass(place.path(), &[&line[..], option].concat());
        change(&mut command);
        command.output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!coloured(&[], |_| {}));
    assert!(coloured(&["--color", "always"], |_| {}));
    assert!(coloured(&["--color=always"], |command| _ = command.env("NO_COLOR", "1")));
    assert!(coloured(&[], |command| _ = command.env("FORCE_COLOR", "1")));
    assert!(!coloured(&[], |command| _ = command.env("FORCE_COLOR", "0")));
    assert!(!coloured(&[], |command| _ = command.env("FORCE_COLOR", "1").env("NO_COLOR", "1")));
    assert!(!coloured(&["--color=never"], |command| _ = command.env("FORCE_COLOR", "1")));
    let never = shown(reclass(place.path(), &[&line[..], &["--color", "never"]].concat()), true);
    assert!(!never.contains("\u{1b}["), "{never}");
    let wrong = reclass(place.path(), &[&line[..], &["--color", "mauve"]].concat()).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    // The abbreviation of the Python programs.
    let old = reclass(place.path(), &["-b", "a", "--co", "-n", "web1"]).output().unwrap();
    assert_eq!(old.status.code(), Some(0), "{}", String::from_utf8_lossy(&old.stderr));
}

/// Places on a terminal are those that people type; in a pipe they are whole.
#[test]
fn places_begin_where_the_user_is() {
    let place = workplace();
    let base = place.path().canonicalize().unwrap();
    let inner = base.join("a/nodes");
    for (folder, option, path) in [
        (&base, "a", "a/classes/role/web.yml:1:22"),
        (&base.join("a"), ".", " classes/role/web.yml:1:22"),
        (&inner, "..", " ../classes/role/web.yml:1:22"),
    ] {
        let line = ["explain", "-b", option, "web1", "listen", "--color", "never"];
        let text = shown(reclass(folder, &line), true);
        assert!(text.contains(path) && !text.contains(base.to_str().unwrap()), "{option}: {text}");
        let piped = String::from_utf8(reclass(folder, &line).output().unwrap().stdout).unwrap();
        assert!(piped.contains(base.join("a/classes/role/web.yml:1:22").to_str().unwrap()), "{piped}");
    }
    let error = shown(reclass(&base, &["-b", "a", "-n", "db1", "--color", "never"]), false);
    assert!(error.contains("╭▸ a/nodes/db1.yml:1:18"), "{error}");
    let found = shown(reclass(&base, &["lint", "-b", "a", "-o", "concise"]), true);
    assert!(found.contains("error: a/nodes/db1.yml:1:18: "), "{found}");
}

#[test]
fn places_are_links_where_the_terminal_has_links() {
    let place = workplace();
    let base = place.path().canonicalize().unwrap();
    let linked = |arguments: &[&str]| {
        let mut command = reclass(&base, arguments);
        command.env("FORCE_HYPERLINK", "1");
        shown(command, true)
    };
    let link = |file: &str| format!("\u{1b}]8;;file://{}/{file}\u{1b}\\{file}", base.display());
    let text = linked(&["explain", "-b", "a", "web1", "listen"]);
    assert!(text.contains(&link("a/classes/role/web.yml")), "{text:?}");
    for arguments in [&["-b", "a", "-n", "db1"][..], &["lint", "-b", "a"]] {
        let text = linked(arguments);
        assert!(text.contains(&link("a/nodes/db1.yml")), "{text:?}");
    }
    let text = shown(reclass(&base, &["explain", "-b", "a", "web1", "listen"]), true);
    assert!(!text.contains("\u{1b}]8"), "{text:?}");
}

#[test]
fn lines_have_the_width_of_the_terminal() {
    let place = workplace();
    let words = "word ".repeat(40);
    fs::write(
        place.path().join("a/nodes/long.yml"),
        format!("parameters: {{x: '{words}', y: '${{nothing_at_all}}'}}\n"),
    )
    .unwrap();
    for arguments in [
        &["explain", "-b", "a", "web1"][..],
        &["lint", "-b", "a", "--level", "info", "-o", "concise"],
        &["nodes", "-b", "a", "-l"],
    ] {
        let arguments = [arguments, &["--color", "never"]].concat();
        let text = shown_at(50, reclass(place.path(), &arguments));
        let whole = shown_at(5_000, reclass(place.path(), &arguments));
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= 50 || line.trim().split(' ').count() == 1, "{width}: {line:?} of {text}");
        }
        // No word is lost or broken.
        let words = |text: &str| -> Vec<String> {
            let words = text.split_whitespace().filter(|word| !["│", "├"].contains(word));
            words.map(str::to_owned).collect()
        };
        assert_eq!(words(&text), words(&whole), "{arguments:?}");
    }
}

#[test]
fn columns_of_lists_are_aligned() {
    let place = workplace();
    fs::write(place.path().join("a/classes/a-class-with-a-long-name.yml"), "{}\n").unwrap();
    let line = ["classes", "-b", "a", "--color", "never"];
    let text = shown_at(200, reclass(place.path(), &line));
    let at: Vec<usize> = text.lines().filter_map(|line| line.find(" node")).collect();
    assert!(at.len() >= 2 && at.windows(2).all(|two| two[0].abs_diff(two[1]) <= 1), "{text}");
    let piped = String::from_utf8(reclass(place.path(), &line).output().unwrap().stdout).unwrap();
    assert!(piped.contains("role.web  1 node  "), "{piped}");
}
