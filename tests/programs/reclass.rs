//! Command lines of `reclass` turn into exit codes, output and messages.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A directory with two small inventories, `a` and `b`, that say which one they are.
fn workplace() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let base = directory.path().join(name);
        fs::create_dir_all(base.join("nodes")).unwrap();
        fs::create_dir_all(base.join("classes")).unwrap();
        let node = format!("applications: [app]\nparameters: {{which: {name}}}\n");
        fs::write(base.join("nodes/n.yml"), node).unwrap();
        fs::write(base.join("nodes/broken.yml"), "parameters:\n  x: ${missing}\n  y: ${gone}\n").unwrap();
        fs::write(base.join("nodes/lost.yml"), "classes: [nowhere]\n").unwrap();
    }
    directory
}

fn reclass(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.current_dir(directory).env_clear().env("HOME", directory.join("home"));
    command.env("SOURCE_DATE_EPOCH", "1795206020");
    command
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    reclass(directory).args(arguments).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn command_lines_without_sense_end_with_2() {
    let place = workplace();
    let wrong: [&[&str]; 10] = [
        &["-n"],
        &["-n", ""],
        &["-i", "-n", "n"],
        &["-n", "n", "-n", "n"],
        &["-n", "n", "-f", "n"],
        &["-n", "n", "extra"],
        &["--nope"],
        &["-i", "-e"],
        &["-n", "n", "-o", "xml"],
        &["-n", "n", "-s", "nope"],
    ];
    for arguments in wrong {
        let output = run(place.path(), arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(text(&output.stderr).starts_with("error: "), "{arguments:?}");
    }
}

#[test]
fn help_and_version_need_no_inventory() {
    let place = workplace();
    let help = run(place.path(), &["--help"]);
    assert_eq!(code(&help), 0);
    for option in [
        "-s,", "-b,", "-u,", "-c,", "-z,", "-a,", "-x,", "-e,", "-o,", "-y,", "-r,", "-0,", "-1,", "-n,",
        "-i,", "-f,",
    ] {
        assert!(text(&help.stdout).contains(option), "{option}");
    }
    assert_eq!(code(&run(place.path(), &["--version"])), 0);
}

#[test]
fn yaml_ends_with_two_newlines() {
    let place = workplace();
    let output = run(place.path(), &["-b", "a", "-n", "n"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let uri = place.path().canonicalize().unwrap();
    let expected = format!(
        "__reclass__:\n  environment: base\n  name: n\n  node: n\n  timestamp: Fri Nov 20 20:20:20 2026\n  \
         uri: yaml_fs://{}/a/nodes/n.yml\napplications:\n- app\nclasses: []\nenvironment: base\nexports: {{}}\n\
         parameters:\n  _reclass_:\n    environment: base\n    name:\n      full: n\n      parts:\n      - n\n      \
         path: n\n      short: n\n  which: a\n\n",
        uri.display()
    );
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn applications_alone() {
    let place = workplace();
    let output = run(place.path(), &["-b", "a", "--nodeapps", "n"]);
    assert_eq!(text(&output.stdout), "applications:\n- app\n\n");
}

#[test]
fn options_may_be_abbreviated_and_repeated() {
    let place = workplace();
    let output =
        run(place.path(), &["--inventory-b=b", "-b", "a", "-o", "yaml", "--outp", "json", "-ay", "-nn"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("\"which\": \"a\""));
}

/// Which of the two inventories a configuration leads to.
fn which(place: &TempDir, arguments: &[&str]) -> String {
    let output = run(place.path(), &[&["-n", "n", "-o", "json"], arguments].concat());
    let stdout = text(&output.stdout);
    let at = stdout.find("\"which\": \"").map_or(stdout.len(), |at| at + 10);
    stdout.get(at..=at).map_or_else(|| text(&output.stderr), str::to_owned)
}

#[test]
fn the_first_configuration_file_counts() {
    let place = workplace();
    let base = |name: &str| format!("inventory_base_uri: {}\n", place.path().join(name).display());
    fs::create_dir_all(place.path().join("home")).unwrap();
    fs::write(place.path().join("home/reclass-config.yml"), base("b")).unwrap();
    assert_eq!(which(&place, &[]), "b", "home");
    fs::write(place.path().join("kapicorp-reclass-config.yml"), base("a")).unwrap();
    assert_eq!(which(&place, &[]), "a", "the other name, here, before the home directory");
    fs::write(place.path().join("reclass-config.yml"), base("b")).unwrap();
    assert_eq!(which(&place, &[]), "b", "the other name counts only without this one beside it");
    assert_eq!(which(&place, &["-b", "a"]), "a", "the command line counts most, from the current directory");
    fs::write(place.path().join("reclass-config.yml"), "output: yaml\n").unwrap();
    assert!(which(&place, &[]).contains("/etc/reclass"), "no second file is read");
    fs::write(place.path().join("reclass-config.yml"), "# nothing\n").unwrap();
    let said = which(&place, &[]);
    assert!(said.contains("/etc/reclass"), "an empty file is a file");
    assert!(said.contains("'-b DIR'") && said.contains("'inventory_base_uri'"), "{said}");
}

#[test]
fn a_broken_configuration_file_is_an_error_with_its_place() {
    let place = workplace();
    for text_of_file in ["inventory_base_uri: [\n", "- a list\n", "a: 1\n\tb: 2\n"] {
        fs::write(place.path().join("reclass-config.yml"), text_of_file).unwrap();
        let output = run(place.path(), &["-n", "n"]);
        assert_eq!(code(&output), 65, "{text_of_file}");
        assert!(text(&output.stderr).starts_with("error[config-file]"), "{}", text(&output.stderr));
    }
    fs::write(place.path().join("reclass-config.yml"), "compose_node_names: true\noutput: json\n").unwrap();
    let output = run(place.path(), &["-b", "a", "-n", "n"]);
    assert_eq!(code(&output), 0);
    let said = text(&output.stderr);
    assert!(
        said.starts_with(
            "warning[unknown-setting]: unknown setting 'compose_node_names'\n  ╭▸ reclass-config.yml:1:1\n"
        ),
        "{said}"
    );
}

/// What the program says of a configuration file that it cannot use; it does not wait for one that never ends.
fn refused(place: &TempDir) -> String {
    let output = run(place.path(), &["-n", "n"]);
    assert_eq!(code(&output), 65);
    let said = text(&output.stderr);
    assert!(said.starts_with("error[config-file]: cannot use the configuration file"), "{said}");
    said
}

#[test]
fn a_configuration_that_is_no_file_is_an_error_and_is_not_waited_for() {
    let place = workplace();
    let path = place.path().join("reclass-config.yml");
    fs::write(place.path().join("kapicorp-reclass-config.yml"), "inventory_base_uri: a\n").unwrap();
    assert_eq!(which(&place, &[]), "a");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert!(refused(&place).contains("it is not a regular file"), "a pipe");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(refused(&place).contains("it is not a regular file"), "a folder");
    fs::remove_dir(&path).unwrap();
    symlink("/dev/zero", &path).unwrap();
    assert!(refused(&place).contains("it is not a regular file"), "a device");
    fs::remove_file(&path).unwrap();
    symlink("gone", &path).unwrap();
    assert!(refused(&place).contains("which does not exist"), "a link to nothing");
    fs::remove_file(&path).unwrap();
    fs::write(&path, [&b"output: json\n#"[..], &vec![b'x'; 4 * 1024 * 1024]].concat()).unwrap();
    assert!(refused(&place).contains("it has more than 4194304 bytes"), "a large one");
    fs::write(&path, b"output: \xff\n").unwrap();
    assert!(refused(&place).contains("it is not UTF-8"), "bytes");
}

#[test]
fn a_class_that_never_ends_is_an_error_without_an_excerpt() {
    let place = workplace();
    fs::write(place.path().join("a/nodes/n.yml"), "classes: [c]\n").unwrap();
    for device in [false, true] {
        let path = place.path().join("a/classes/c.yml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        if device {
            symlink("/dev/zero", &path).unwrap();
        } else {
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        }
        let output = run(place.path(), &["-b", "a", "-n", "n"]);
        assert_eq!(code(&output), 74);
        let said = text(&output.stderr);
        assert!(said.contains("it is not a regular file") && said.contains("a/classes/c.yml"), "{said}");
    }
}

/// As large as such a file may be: what it takes grows with its size, and no faster.
#[test]
fn a_large_configuration_file_is_read_soon() {
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let mappings = |pattern: &dyn Fn(usize) -> String| {
        format!("class_mappings:\n{}", lines(200_000, &|number| format!("- '{}'\n", pattern(number))))
    };
    for (settings, exit, problems, says) in [
        (mappings(&|number| format!("x{number}* c")), 0, 0, "error"),
        (mappings(&|number| format!("/x{number}/ c")), 0, 0, "error"),
        (mappings(&|number| format!("/({number}/ c")), 65, 1_000, "error[setting-pattern]"),
        (format!("class_mappings: [/{}/ c]\n", "x".repeat(4_000_000)), 65, 1, "more than 262144 bytes"),
        (lines(300_000, &|number| format!("k{number}: 1\n")), 0, 1_000, "warning[unknown-setting]"),
        (lines(300_000, &|number| format!("k{}: 1\n", number % 150_000)), 0, 1_000, "warning[duplicate-key]"),
    ] {
        let place = workplace();
        fs::write(place.path().join("reclass-config.yml"), &settings).unwrap();
        // Seconds of the processor, whoever else is busy.
        let limited = format!("ulimit -t 60; exec '{}' -b a -n n", env!("CARGO_BIN_EXE_reclass"));
        let output = Command::new("sh").args(["-c", &limited]).current_dir(place.path()).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{settings:.40}: {said:.300}");
        let reported = said.lines().filter(|line| line.contains(says)).count();
        assert_eq!(reported, problems, "{settings:.40}: {said:.300}");
    }
}

#[test]
fn problems_of_settings_have_a_place_in_the_configuration_file() {
    let place = workplace();
    for (arguments, config, expected) in [
        (
            &["-n", "n"][..],
            "group_errors: [1]\noutput: jsn\n",
            "reclass-config.yml:2:9: setting 'output' must be",
        ),
        (
            &["-n", "n"],
            "class_mappings:\n  - '* a'\n  - /(/ b\n",
            "reclass-config.yml:3:5: setting 'class_map",
        ),
        (
            &["-n", "n"],
            "class_mappings: ['* nowhere']\n",
            "reclass-config.yml:1:18: node 'n': no class 'nowhere'",
        ),
        (
            &["-n", "n"],
            "ignore_class_regexp: {}\n",
            "reclass-config.yml:1:22: setting 'ignore_class_notfound_regexp'",
        ),
        (
            &["-n", "n"],
            "ignore_class_notfound: true\nignore_class_regexp: ['service\\..*', 'a(']\n",
            "reclass-config.yml:2:38: setting 'ignore_class_notfound_regexp': 'a('",
        ),
        (
            &["-n", "n"],
            "ignore_class_notfound: true\nignore_class_regexp: 'a${b}'\nclass_mappings: ['* nowhere']\n",
            "reclass-config.yml:2:22: setting 'ignore_class_notfound_regexp': 'a${b}': '$' is the end of a name",
        ),
        (
            &["-n", "n"],
            "ignore_class_notfound: true\nignore_class_regexp: '(n|nn)*$(?<!x)(?<=y)'\nclass_mappings: ['*              nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnx']\n",
            "reclass-config.yml:2:22: node 'n': setting 'ignore_class_notfound_regexp': '(n|nn)*$(?<!x)(?<=y)'",
        ),
        (
            &["-n", "n"],
            "storage_type: yaml_gti\n",
            "reclass-config.yml:1:15: setting 'storage_type' must be one",
        ),
        (
            &["lint"],
            "lint_levels: {tab: off, tba: off}\n",
            "reclass-config.yml:1:25: setting 'lint_levels': no",
        ),
        (&["lint"], "no_refs: true\nno_refs: false\n", "reclass-config.yml:2:1: duplicate key 'no_refs'"),
        (&["lint"], "pretty_pint: true\n", "reclass-config.yml:1:1: unknown setting 'pretty_pint'"),
        (&["lint"], "class_mappings: ['* nowhere']\n", "reclass-config.yml:1:18: "),
        (
            &["nodes"],
            "class_mappings: 5\n",
            "reclass-config.yml:1:17: setting 'class_mappings' must be a list",
        ),
        (
            &["-n", "n"],
            "class_mappings: ['* env.${nope}']\n",
            "reclass-config.yml:1:18: cannot resolve '${nope}'",
        ),
        (&["-n", "n"], "nodes_uri: nods\n", "reclass-config.yml:1:12: cannot read the folder"),
        (
            &["-n", "n"],
            "classes_uri:\n  - classes\n  - clsses\n",
            "reclass-config.yml:3:5: cannot read the folder",
        ),
        (&["-n", "n"], "nodes_uri: classes\n", "reclass-config.yml:1:1: must not be the same folder"),
        (
            &["-n", "n"],
            "storage_type: yaml_git\nnodes_uri: {repo: '/x', brnch: y}\nclasses_uri: {repo: '/y'}\n",
            "reclass-config.yml:2:25: unknown setting 'nodes_uri: brnch'",
        ),
        (
            &["-n", "n"],
            "storage_type: yaml_git\nnodes_uri: {repo: '/x'}\nclasses_uri: {repo: 3}\n",
            "reclass-config.yml:3:15: 'repo' must be a string",
        ),
    ] {
        fs::write(place.path().join("reclass-config.yml"), config).unwrap();
        let output = run(place.path(), &[arguments, &["-b", "a"]].concat());
        let said = text(&output.stdout) + &text(&output.stderr);
        let (site, sentence) = expected.split_once(": ").unwrap();
        assert!(said.contains(&format!("▸ {site}\n")), "{config}: {said}");
        assert!(
            said.contains(sentence.rsplit_once(": ").map_or(sentence, |(_, rest)| rest)),
            "{config}: {said}"
        );
    }
    // What the command line says instead is not in the file.
    fs::write(place.path().join("reclass-config.yml"), "nodes_uri: x\n").unwrap();
    let said = text(&run(place.path(), &["-b", "a", "-u", "/x", "-c", "/x/y", "-n", "n"]).stderr);
    assert!(said.contains("note: set on the command line") && !said.contains("config.yml"), "{said}");
}

#[test]
fn all_problems_of_settings_are_said_at_once() {
    let place = workplace();
    let config = "class_mappings: ['/(/ a', '/[/ b']\nignore_class_notfound: true\nignore_class_notfound_regexp: '('\n\
                  output: jsn\nlimit_depth: x\nnodes_uri: a\nclasses_uri: a\n";
    fs::write(place.path().join("reclass-config.yml"), config).unwrap();
    let said = text(&run(place.path(), &["-n", "n"]).stderr);
    for (code, times) in
        [("setting-pattern", 3), ("setting-value", 1), ("setting-type", 1), ("uri-overlap", 1)]
    {
        assert_eq!(said.matches(&format!("error[{code}]")).count(), times, "{code}: {said}");
    }
    // What a wrong kind of storage makes of the other settings is not said.
    fs::write(place.path().join("reclass-config.yml"), "storage_type: git\nnodes_uri: {repo: x}\n").unwrap();
    let said = text(&run(place.path(), &["-n", "n"]).stderr);
    assert_eq!((said.matches("error[").count(), said.matches("setting-value").count()), (1, 1), "{said}");
    // Folders too.
    fs::write(place.path().join("reclass-config.yml"), "nodes_uri: x\nclasses_uri: y\n").unwrap();
    let said = text(&run(place.path(), &["-n", "n"]).stderr);
    assert_eq!(said.matches("error[directory-not-found]").count(), 2, "{said}");
}

#[test]
fn a_comment_silences_a_line_of_the_configuration_file() {
    let place = workplace();
    for (config, found) in [
        ("pretty_pint: true\n", 1),
        ("pretty_pint: true  # reclass: ignore\n", 0),
        ("# reclass: ignore[unknown-setting]\npretty_pint: true\n", 0),
        ("# reclass: ignore[duplicate-key]\npretty_pint: true\n", 1),
        ("pretty_pint: '# reclass: ignore'\n", 1),
    ] {
        fs::write(place.path().join("reclass-config.yml"), config).unwrap();
        let said = text(&run(place.path(), &["lint", "-b", "a", "-o", "concise"]).stdout);
        assert_eq!(said.matches("(unknown-setting)").count(), found, "{config}: {said}");
    }
}

#[test]
fn exit_codes_are_those_of_the_python_programs() {
    let place = workplace();
    let codes: [(&[&str], i32); 7] = [
        (&["-n", "n"], 0),
        (&["-n", "nope"], 74),
        (&["-n", "broken"], 65),
        (&["-n", "lost"], 65),
        (&["-n", "lost", "-z", "True"], 0),
        (&["-n", "lost", "-z", "False"], 65),
        (&["-n", "n", "-u", "gone"], 74),
    ];
    let words = ["off", "no", "NO", "0", "null", "~", ""].map(|word| (word, 65));
    let words = words.into_iter().chain(["on", "yes", "1", "true"].map(|word| (word, 0)));
    let words: Vec<_> = words.map(|(word, code)| (vec!["-n", "lost", "-z", word], code)).collect();
    let words = words.iter().map(|(arguments, code)| (arguments.as_slice(), *code));
    for (arguments, expected) in codes.into_iter().chain(words) {
        let output = run(place.path(), &[&["-b", "a"], arguments].concat());
        assert_eq!(code(&output), expected, "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(output.stdout.is_empty(), expected != 0, "{arguments:?}");
    }
}

#[test]
fn all_errors_of_a_node_or_the_first() {
    let place = workplace();
    let count = |option: &str| {
        let output = run(place.path(), &["-b", "a", "-n", "broken", option]);
        text(&output.stderr).matches("error[reference-not-found]").count()
    };
    assert_eq!((count("-0"), count("-1")), (2, 1));
    let last = run(place.path(), &["-b", "a", "-n", "broken", "-0", "-1"]);
    assert_eq!(text(&last.stderr).matches("error[").count(), 1, "the last of both counts");
}

#[test]
fn pipes_get_no_colours_and_may_break() {
    let place = workplace();
    let output = run(place.path(), &["-b", "a", "-n", "broken"]);
    assert!(!text(&output.stderr).contains('\u{1b}'));
    let lines: Vec<String> =
        (0..50_000).map(|number| format!("  key{number}: it fills the pipe\n")).collect();
    fs::write(place.path().join("a/nodes/n.yml"), format!("parameters:\n{}", lines.concat())).unwrap();
    let mut child = reclass(place.path())
        .args(["-b", "a", "-n", "n"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), text(&output.stderr)), (0, String::new()));
}

#[test]
fn the_environment_can_be_chosen() {
    let place = workplace();
    let output = run(place.path(), &["-b", "a", "-n", "n", "-e", "dev", "-o", "json"]);
    assert!(text(&output.stdout).contains("\"environment\": \"dev\""), "{}", text(&output.stderr));
}

#[test]
fn snapshots_are_not_written_through_a_link() {
    let directory = workplace();
    let (base, elsewhere) = (directory.path().join("a"), directory.path().join("elsewhere"));
    fs::create_dir_all(base.join("tests")).unwrap();
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(base.join("tests/n.yml"), "- {name: a, node: n, expect: {which: snapshot}}\n").unwrap();
    symlink(&elsewhere, base.join("tests/snapshots")).unwrap();
    let arguments = ["test", "-b", "a", "--snapshot"];
    let output = run(directory.path(), &arguments);
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(code(&output) != 0 && said.contains("'snapshots' is no folder, or a symbolic link"), "{said}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::remove_file(base.join("tests/snapshots")).unwrap();
    assert_eq!(code(&run(directory.path(), &arguments)), 0);
    assert!(base.join("tests/snapshots/n.yml").is_file());
}
