//! The options of `reclass lint` with which a team adopts it: summaries, selections, baselines, repairs.

use std::fs;
use std::process::Command;

use serde_json::Value as Json;
use tempfile::TempDir;

/// The texts of a run: standard output, standard error, and the exit code.
struct Ran {
    out: String,
    err: String,
    code: i32,
}

struct Place(TempDir);

impl Place {
    fn new(files: &[(&str, &str)]) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for folder in ["nodes", "classes"] {
            fs::create_dir(place.0.path().join(folder)).unwrap();
        }
        for (name, text) in files {
            place.write(name, text);
        }
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    fn lint(&self, arguments: &[&str]) -> Ran {
        self.lint_in("", arguments)
    }

    fn lint_in(&self, folder: &str, arguments: &[&str]) -> Ran {
        let base = self.0.path().canonicalize().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_reclass"))
            .args(["lint", "-b"])
            .arg(&base)
            .args(arguments)
            .current_dir(self.0.path().join(folder))
            .env_clear()
            .env("HOME", "/nonexistent")
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(base.to_str().unwrap(), "BASE");
        Ran { out: text(output.stdout), err: text(output.stderr), code: output.status.code().unwrap() }
    }
}

fn sloppy() -> Place {
    Place::new(&[
        ("nodes/n.yml", "classes: [a, b]\nparameters:\n  version: 1.10\n  port: 012\n  size: 1_000\n"),
        ("classes/a.yml", "classes:\n- c\n- b\nparameters: {gone: '${nowhere}'}\n"),
        ("classes/b.yml", "parameters:\n\tx: 1\n"),
        ("classes/c.yml", "parameters: {}\n"),
    ])
}

/// An inventory with findings of several levels that renders.
fn adopted() -> Place {
    Place::new(&[
        ("nodes/n.yml", "classes: [a, b]\nparameters:\n  version: 1.10\n  port: 012\n  size: 1_000\n"),
        ("classes/a.yml", "classes: [b]\nparameters: {_param: {unused: 1}}\n"),
        ("classes/b.yml", "parameters: {x: 1}\n"),
    ])
}

#[test]
fn a_summary_counts_findings_and_files_of_each_rule() {
    let place = adopted();
    let ran = place.lint(&["--summary", "--level", "info"]);
    assert_eq!(
        ran.out,
        "3  warning  scalar-misread    in 1 file\n\
         1  info     class-redundant   in 1 file\n\
         1  info     parameter-unused  in 1 file\n\n\
         0 errors, 3 warnings, 2 notes\n"
    );
    assert_eq!(ran.code, 1);
    let json: Json = serde_json::from_str(&place.lint(&["--summary", "-o", "json"]).out).unwrap();
    assert_eq!(
        json,
        serde_json::json!([{"code": "scalar-misread", "level": "warning", "findings": 3, "files": 1}])
    );
    let ran = place.lint(&["--summary", "-o", "sarif"]);
    assert_eq!((ran.code, &*ran.out), (2, ""), "{}", ran.err);
    assert!(ran.err.contains("--summary has no form 'sarif'"), "{}", ran.err);
}

#[test]
fn the_summary_line_says_how_to_see_the_others() {
    let place = adopted();
    let last = |arguments: &[&str]| place.lint(arguments).out.lines().last().unwrap().to_owned();
    assert_eq!(last(&[]), "0 errors, 3 warnings; 2 notes not shown: --level info shows them");
    assert_eq!(
        last(&["--level", "error"]),
        "0 errors; 3 warnings, 2 notes not shown: --level info shows them"
    );
    assert_eq!(
        last(&["--ignore", "parameter-unused"]),
        "0 errors, 3 warnings; 1 note not shown: --level info shows it"
    );
    assert_eq!(last(&["--level", "info"]), "0 errors, 3 warnings, 2 notes");
}

#[test]
fn codes_are_selected_and_ignored_by_name_or_glob() {
    let place = adopted();
    let codes = |arguments: &[&str]| {
        let out = place.lint(&[arguments, &["-o", "json", "--level", "info"]].concat()).out;
        let found: Vec<Json> = serde_json::from_str(&out).unwrap();
        let mut codes: Vec<String> =
            found.iter().map(|one| one["code"].as_str().unwrap().to_owned()).collect();
        codes.dedup();
        codes
    };
    assert_eq!(codes(&["--select", "class-*,parameter-unused"]), ["parameter-unused", "class-redundant"]);
    assert_eq!(codes(&["--select", "class-redundant", "--select", "tab"]), ["class-redundant"]);
    assert_eq!(codes(&["--ignore", "scalar-*", "--ignore", "parameter-unused"]), ["class-redundant"]);
    assert_eq!(codes(&["--select", "scalar-*,class-*", "--ignore", "scalar-misread"]), ["class-redundant"]);
    let ran = place.lint(&["--select", "scalar-misred"]);
    assert_eq!(ran.code, 74);
    assert!(ran.err.contains("no rule or error matches 'scalar-misred'"), "{}", ran.err);
    assert!(ran.err.contains("'scalar-misread' is similar"), "{}", ran.err);
    // A rule that is off is on where it is asked for.
    place.write("classes/b.yml", "parameters: {x: '${no::1}'}\n");
    assert_eq!(codes(&["--select", "default-used"]), ["default-used"]);
    assert!(!codes(&[]).contains(&"default-used".to_owned()));
}

#[test]
fn a_baseline_leaves_new_findings_only() {
    let place = sloppy();
    let ran = place.lint(&["--baseline", "ci/base.json", "--write-baseline"]);
    assert_eq!((&*ran.err, ran.code), ("", 0));
    assert!(ran.out.ends_with(" findings written to 'ci/base.json'\n"), "{}", ran.out);
    let written = place.text("ci/base.json");
    let json: Json = serde_json::from_str(&written).unwrap();
    let files: Vec<&str> =
        json["findings"].as_array().unwrap().iter().filter_map(|one| one["file"].as_str()).collect();
    assert!(files.iter().all(|file| file.starts_with("../")), "{files:?}");
    assert!(files.is_sorted(), "{files:?}");
    place.lint(&["--baseline", "ci/base.json", "--write-baseline"]);
    assert_eq!(place.text("ci/base.json"), written, "it is stable");

    // Lines move and another place is asked from: nothing is new.
    let node = place.text("nodes/n.yml");
    place.write("nodes/n.yml", &format!("# a\n# b\n# c\n{node}"));
    let ran = place.lint_in("classes", &["--baseline", "../ci/base.json", "--level", "info"]);
    assert_eq!((ran.code, &*ran.err), (0, ""), "{}", ran.out);
    assert!(ran.out.starts_with("0 errors, 0 warnings, 0 notes; "), "{}", ran.out);
    assert!(ran.out.ends_with(" in the baseline\n"), "{}", ran.out);

    // One more of a kind is new.
    place.write("nodes/n.yml", &format!("{node}  other: 3.20\n"));
    let ran = place.lint(&["--baseline", "ci/base.json", "-o", "concise"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("'3.20' is read as 3.2") && !ran.out.contains("1.10"), "{}", ran.out);

    // What is gone is a hint, if all nodes and its rule were checked.
    place.write("nodes/n.yml", &node.replace("1.10", "1.1"));
    let ran = place.lint(&["--baseline", "ci/base.json"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert_eq!(
        ran.err,
        "hint: 1 finding of 'ci/base.json' is gone (scalar-misread in '../nodes/n.yml'); --write-baseline leaves it out\n"
    );
    assert_eq!(place.lint(&["--baseline", "ci/base.json", "--select", "tab"]).err, "");
    assert_eq!(place.lint(&["--baseline", "ci/base.json", "n"]).err, "");
}

#[test]
fn the_setting_names_the_baseline() {
    let place = sloppy();
    let ran = place.lint(&["--write-baseline"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--baseline FILE, or the setting 'lint_baseline'"), "{}", ran.err);
    place.write("reclass-config.yml", "lint_baseline: ci/base.json\n");
    let ran = place.lint(&[]);
    assert_eq!(ran.code, 74, "{}", ran.err);
    assert!(ran.err.contains("file-unreadable") && ran.err.contains("reclass-config.yml:"), "{}", ran.err);
    assert_eq!(place.lint(&["--write-baseline"]).code, 0);
    let ran = place.lint(&["--level", "info"]);
    assert!(ran.out.starts_with("0 errors, 0 warnings, 0 notes; "), "{}", ran.out);
    assert_eq!(place.lint(&["--baseline", ""]).code, 1);
}

#[test]
fn a_baseline_that_is_none_is_an_error() {
    let place = adopted();
    let ran = place.lint(&["--baseline", "none.json"]);
    assert_eq!(ran.code, 74, "{}", ran.err);
    assert!(ran.err.contains("file-unreadable"), "{}", ran.err);
    place.write("none.json", "[1]");
    let ran = place.lint(&["--baseline", "none.json"]);
    assert_eq!(ran.code, 65, "{}", ran.err);
    assert!(ran.err.starts_with("error[baseline-invalid]: 'none.json' is not a baseline: "), "{}", ran.err);
    assert_eq!(place.lint(&["--write-baseline"]).code, 2);
    // An inventory that cannot be opened has no known findings.
    place.write("reclass-config.yml", "nodes_uri: gone\n");
    let ran = place.lint(&["--baseline", "new.json", "--write-baseline"]);
    assert_eq!(ran.code, 74, "{}", ran.err);
    assert!(!place.0.path().join("new.json").exists());
}

#[test]
fn repairs_change_nothing_else() {
    let place = Place::new(&[
        (
            "nodes/n.yml",
            "# node\r\nclasses: [ a, b , a ] # list\r\nparameters:\r\n  version:   1.10   # why\r\n  ports: [012, 80]\r\n  size: 1_000\r\n",
        ),
        ("classes/a.yml", "applications:\n# first\n- x  # one\n- y\n- x  # two\n- z\nenvironment: e\n"),
        ("classes/b.yml", "parameters: {a: &v 0778, b: *v, '012': 1}\n"),
    ]);
    let errors = place.lint(&["--fix", "--level", "error"]);
    assert!(
        errors.out.starts_with("0 findings fixed in 0 files; 4 more with --level warning\n"),
        "{}",
        errors.out
    );
    let before: Vec<String> =
        ["nodes/n.yml", "classes/a.yml", "classes/b.yml"].map(|name| place.text(name)).to_vec();
    let test = place.lint(&["--fix", "--dry-run"]);
    assert_eq!(test.code, 1, "the findings are still there");
    assert!(test.out.contains("4 findings to fix in 2 files"), "{}", test.out);
    let ran = place.lint(&["--fix"]);
    assert_eq!(place.text("classes/a.yml"), before[1].replace("- x  # two\n", ""));
    assert_eq!(
        place.text("nodes/n.yml"),
        before[0]
            .replace("1.10 ", "\"1.10\" ")
            .replace("[012,", "[\"012\",")
            .replace("[ a, b , a ]", "[ a, b ]")
    );
    assert_eq!(place.text("classes/b.yml"), before[2], "an alias has the value, and a key is a name");
    assert!(ran.out.contains("4 findings fixed in 2 files"), "{}", ran.out);
    assert!(
        ran.out.contains(
            "--- classes/a.yml\n+++ classes/a.yml\n@@ -3,5 +3,4 @@\n - x  # one\n - y\n-- x  # two\n - z\n environment: e\n"
        ),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("'1_000' is read as 1000"), "people decide: {}", ran.out);
    let again = place.lint(&["--fix"]);
    assert!(again.out.starts_with("0 findings fixed in 0 files\n"), "{}", again.out);
}

#[test]
fn repairs_of_one_file_are_made_together() {
    let place = Place::new(&[
        (
            "nodes/n.yml",
            "applications: []\nclasses:\n  - a\n  - b # b\n  - a # again\n  # kept\n  - b\n  - a\nparameters: {x: 1:30, y: [1:31, 1:32]}\n",
        ),
        ("nodes/m.yml", "classes: [a, b, a,\n  b, # the last\n  a, a]\n"),
        ("nodes/o.yml", "classes: [\n  a,\n  a,\n  b,\n  b,\n  ]\napplications: [x, x, x]\n"),
        ("classes/a.yml", "{}\n"),
        ("classes/b.yml", "{}\n"),
    ]);
    let ran = place.lint(&["--fix"]);
    assert!(ran.out.contains("14 findings fixed in 3 files"), "{}", ran.out);
    assert_eq!(
        place.text("nodes/n.yml"),
        "applications: []\nclasses:\n  - a\n  - b # b\n  # kept\nparameters: {x: \"1:30\", y: [\"1:31\", \"1:32\"]}\n"
    );
    assert_eq!(place.text("nodes/m.yml"), "classes: [a, b, # the last\n  ]\n");
    assert_eq!(place.text("nodes/o.yml"), "classes: [\n  a,\n  b,\n  ]\napplications: [x]\n");
}

#[test]
fn repairs_are_those_of_the_shown_findings_and_not_of_the_baseline() {
    let place = adopted();
    place.lint(&["--baseline", "base.json", "--write-baseline"]);
    let node = place.text("nodes/n.yml");
    let ran = place.lint(&["--baseline", "base.json", "--fix"]);
    assert!(ran.out.starts_with("0 findings fixed in 0 files\n"), "{}", ran.out);
    // A note is not shown, and its repair is unsafe.
    let ran = place.lint(&["--fix", "--select", "class-redundant", "-o", "json"]);
    let hint = "hint: 0 findings fixed in 0 files; 1 more with --level info --unsafe-fixes, which can change the order of classes\n";
    assert_eq!(ran.err, hint);
    let ran = place.lint(&["--fix", "--unsafe-fixes", "--select", "class-redundant"]);
    let said = "0 findings fixed in 0 files; 1 more with --level info\n";
    assert!(ran.out.starts_with(said), "{}", ran.out);
    let shown = ["--fix", "--select", "class-redundant", "--level", "info", "-o", "json"];
    let ran = place.lint(&shown);
    let hint = "hint: 0 findings fixed in 0 files; 1 more with --unsafe-fixes, which can change the order of classes\n";
    assert_eq!(ran.err, hint);
    assert_eq!(place.text("nodes/n.yml"), node);
    let ran = place.lint(&[&shown[..], &["--unsafe-fixes"]].concat());
    assert_eq!(serde_json::from_str::<Json>(&ran.out).unwrap(), serde_json::json!([]));
    assert_eq!(ran.err, "hint: 1 finding fixed in 1 file\n");
    assert_eq!(place.text("nodes/n.yml"), node.replace("[a, b]", "[a]"));
}

#[test]
fn the_only_entry_leaves_an_empty_list_and_the_values_stay() {
    let place = Place::new(&[
        ("nodes/n.yml", "classes:\n- a\n- b\n"),
        ("classes/a.yml", "classes:\n- c\nparameters: {x: 1}\n"),
        ("classes/b.yml", "classes:\n# again\n- c\nparameters: {y: 2}\n"),
        ("classes/c.yml", "parameters: {z: 3}\n"),
    ]);
    let values = |place: &Place| {
        let base = place.0.path();
        let output = Command::new(env!("CARGO_BIN_EXE_reclass"))
            .args(["-n", "n", "-o", "json", "-b"])
            .arg(base)
            .env_clear()
            .output()
            .unwrap();
        let json: Json = serde_json::from_slice(&output.stdout).unwrap();
        (json["classes"].clone(), json["parameters"].clone())
    };
    let before = values(&place);
    let ran = place.lint(&["--fix", "--unsafe-fixes", "--level", "info"]);
    assert!(ran.out.contains("1 finding fixed in 1 file"), "{}", ran.out);
    assert!(place.text("classes/b.yml").starts_with("classes: []"), "{}", place.text("classes/b.yml"));
    assert_eq!(values(&place), before);
}

/// The difference is an answer: secrets are hidden in it.
#[test]
fn secrets_are_hidden_in_the_changes() {
    let place = Place::new(&[(
        "nodes/n.yml",
        "parameters:\n  password: 'hunter22'\n  version: 1.10\n  token: abc123XYZ99\n",
    )]);
    let ran = place.lint(&["--fix"]);
    assert!(ran.out.contains("+  version: \"1.10\""), "{}", ran.out);
    assert!(!ran.out.contains("hunter22") && !ran.out.contains("abc123"), "{}", ran.out);
    assert!(place.text("nodes/n.yml").contains("hunter22"));
}

/// People type files and folders, as for other linters.
#[test]
fn files_and_folders_choose_findings() {
    let slip = "parameters: {version: 1.10}\n";
    let place =
        Place::new(&[("nodes/n.yml", "classes: [a, b]\n"), ("classes/a.yml", slip), ("classes/b.yml", slip)]);
    place.write("notes.yml", "{}\n");
    place.write("tests/t.yml", "{}\n");
    for (folder, words, summary, code) in [
        ("", &["."][..], "0 errors, 2 warnings\n", 1),
        ("", &["classes/a.yml"], "0 errors, 1 warning; 1 more in other files\n", 1),
        ("classes", &["a.yml", "../classes/b.yml"], "0 errors, 2 warnings\n", 1),
        ("", &["nodes"], "0 errors, 0 warnings; 2 more in other files\n", 0),
        ("classes", &["."], "0 errors, 2 warnings\n", 1),
    ] {
        let ran = place.lint_in(folder, &[words, &["-o", "concise"]].concat());
        assert!(ran.out.ends_with(summary) && ran.err.is_empty(), "{words:?}: {}{}", ran.out, ran.err);
        assert_eq!(ran.code, code, "{words:?}");
    }
    // What nobody looks at is said, and a wrong name is an error.
    for (words, said, code) in [
        (&["notes.yml"][..], "hint: 'notes.yml' is no file of the inventory\n", 0),
        (&["tests"], "hint: 'tests' is no file of the inventory\n", 0),
        (&["classes/gone.yml"], "cannot read 'classes/gone.yml'", 74),
        (&["n", "classes/a.yml"], "'n' is a node and 'classes/a.yml' is a file", 2),
    ] {
        let ran = place.lint(words);
        assert!(ran.err.contains(said), "{words:?}: {}", ran.err);
        assert_eq!(ran.code, code, "{words:?}");
    }
    // The repairs and the baseline are about the same files.
    place.lint(&["--baseline", "base.json", "--write-baseline"]);
    let ran = place.lint(&["--baseline", "base.json", "classes/a.yml"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("0 errors, 0 warnings; 1 in the baseline\n", ""));
    place.lint(&["--fix", "classes/a.yml"]);
    assert_eq!(place.text("classes/b.yml"), slip);
    assert_ne!(place.text("classes/a.yml"), slip);
    // A path leads to its inventory.
    let above = place.0.path().parent().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_reclass"))
        .arg("lint")
        .arg(place.0.path().join("classes/a.yml"))
        .current_dir(above)
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
