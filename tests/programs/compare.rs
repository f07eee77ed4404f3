//! Answers of other programs turn into comparisons, and a tree of saltclass into an inventory.
//!
//! kapicorp-reclass and reclass-rs are the real ones, as `make test` installs them; a test without them says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;
use tempfile::TempDir;

/// An inventory whose values differ by a ruling (S12, Y1, S9), and one with a secret.
const FILES: [(&str, &str); 5] = [
    ("reclass-config.yml", "inventory_base_uri: .\nsecret_keys: [password]\n"),
    ("nodes/db1.example.com.yml", "environment: prod\nclasses: [db]\n"),
    ("nodes/web1.yml", "classes: [db]\nparameters:\n  db: {password: swordfish-2}\n  port: 80\n"),
    (
        "classes/db.yml",
        "applications: [db]\nparameters:\n  db: {password: swordfish-1}\n  url: pg://${db:password}@h\n  ssl: 'x'\n  on_boot: yes\n",
    ),
    ("classes/other.yml", "parameters: {x: 1}\n"),
];

struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for (name, text) in FILES {
            place.write(name, text);
        }
        // kapicorp-reclass reads its own name.
        fs::copy(place.path("reclass-config.yml"), place.path("kapicorp-reclass-config.yml")).unwrap();
        fs::create_dir(place.path("home")).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Output {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.0.path()).env_clear().env("HOME", self.path("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).args(arguments).output().unwrap()
    }

    fn reclass(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.run(env!("CARGO_BIN_EXE_reclass"), arguments);
        let [out, messages] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code().unwrap(), out, messages)
    }

    /// The comparison as data, without the name of the old answers.
    fn compared(&self, old: &str) -> Json {
        self.compared_some(old, &[])
    }

    fn compared_some(&self, old: &str, arguments: &[&str]) -> Json {
        let (code, out, messages) = self.reclass(&[&["compare", old, "-o", "json"], arguments].concat());
        assert!(code <= 1, "{old}: {messages}");
        let mut comparison: Json = serde_json::from_str(&out).unwrap();
        comparison["old"].take();
        for cause in comparison["causes"].as_array_mut().unwrap() {
            cause["difference"]["old"].take();
        }
        comparison
    }
}

/// A file of an environment that `make test` makes.
fn installed(what: &str, name: &str) -> Option<String> {
    let path = Path::new(support::ROOT).join(name);
    if path.exists() {
        return Some(path.to_str().unwrap().to_owned());
    }
    support::absent(what, "make test");
    None
}

fn kapicorp() -> Option<String> {
    installed("kapicorp-reclass", ".venv-oracle/bin/reclass")
}

/// The rulings of a comparison.
fn rulings(comparison: &Json) -> Vec<&str> {
    let causes = comparison["causes"].as_array().unwrap().iter();
    let mut rulings: Vec<&str> = causes
        .flat_map(|cause| cause["rulings"].as_array().unwrap())
        .map(|ruling| ruling["ruling"].as_str().unwrap())
        .collect();
    rulings.sort_unstable();
    rulings.dedup();
    rulings
}

#[test]
fn each_form_of_the_old_answers_gives_the_same_comparison() {
    let Some(old) = kapicorp() else { return };
    let place = Place::new();
    let base = place.path("").to_str().unwrap().to_owned();
    for (name, format) in [("old.yml", "yaml"), ("old.json", "json")] {
        let output = place.run(&old, &["-b", &base, "-o", format, "--inventory"]);
        fs::write(place.path(name), output.stdout).unwrap();
    }
    for node in ["db1.example.com", "web1"] {
        let output = place.run(&old, &["-b", &base, "--nodeinfo", node]);
        place.write(&format!("answers/{node}.yml"), std::str::from_utf8(&output.stdout).unwrap());
    }
    let expected = place.compared("old.yml");
    assert_eq!((&expected["nodes"], &expected["touched"]), (&2.into(), &1.into()), "{expected}");
    assert_eq!((rulings(&expected), &expected["unexplained"]), (vec!["S12"], &0.into()), "{expected}");
    assert_eq!(expected["settings"]["compat_flags"][0], "ComposeNodeNameLiteralDots");
    for form in ["old.json", "answers"] {
        assert_eq!(place.compared(form), expected, "{form}");
    }
    // The setting that is named gives the old values back.
    place.write("reclass-config.yml", &format!("{}compat_flags: [ComposeNodeNameLiteralDots]\n", FILES[0].1));
    let (code, out, _) = place.reclass(&["compare", "old.yml"]);
    assert_eq!((code, out.as_str()), (0, "nothing differs in 2 nodes\n"));
}

#[test]
fn the_differences_of_reclass_rs_have_their_rulings() {
    let Some(python) = installed("kapitan", ".venv-kapitan/bin/python") else { return };
    let place = Place::new();
    let page = Path::new(support::ROOT).join("docs/howto/migrate-from-reclass-rs.md");
    let page = fs::read_to_string(page).unwrap();
    let script = page.split("<<'END'\n").nth(1).unwrap().split("END\n").next().unwrap();
    fs::create_dir(place.path("old")).unwrap();
    place.run(python, &["-c", &script.replace("/srv/salt/reclass", ".")]);
    let comparison = place.compared("old");
    assert_eq!(rulings(&comparison), ["S12", "S9", "Y1"], "{comparison}");
    assert_eq!(comparison["unexplained"], 0);
}

#[test]
fn an_empty_file_of_a_node_is_a_refusal() {
    let place = Place::new();
    place.write("old/web1.yml", "");
    let comparison = place.compared("old");
    assert_eq!((&comparison["nodes"], &comparison["unexplained"]), (&1.into(), &1.into()), "{comparison}");
    assert_eq!(comparison["causes"][0]["difference"]["mended"][0]["node"], "web1", "{comparison}");
}

#[test]
fn secrets_of_both_sides_are_masked() {
    let place = Place::new();
    place.write(
        "old.yml",
        "nodes:\n  web1:\n    applications: [db]\n    classes: [db]\n    environment: base\n    parameters:\n      \
         db: {password: old-swordfish}\n      url: pg://old-swordfish@h\n      ssl: has old-swordfish inside\n      port: 81\n",
    );
    for output in ["text", "json"] {
        let arguments = ["compare", "old.yml", "web1", "-o", output];
        let (code, out, messages) = place.reclass(&arguments);
        assert_eq!(code, 1, "{messages}");
        assert!(!out.contains("swordfish") && out.contains("***") && out.contains("81"), "{out}");
        let (_, shown, _) = place.reclass(&[&arguments[..], &["--show-secrets"]].concat());
        for text in ["old-swordfish", "pg://swordfish-2@h", "has old-swordfish inside"] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
    }
}

#[test]
fn exit_codes_say_which_side_is_at_fault() {
    let place = Place::new();
    let own = place.run(env!("CARGO_BIN_EXE_reclass"), &["--inventory"]);
    fs::write(place.path("same.yml"), &own.stdout).unwrap();
    let text = std::str::from_utf8(&own.stdout).unwrap();
    place.write("planted.yml", &text.replace("port: 80", "port: 8080"));
    place.write("none.yml", "a: 1\n");
    place.write("broken.yml", "a: [1\n");
    for (arguments, expected) in [
        (&["same.yml"][..], 0),
        (&["planted.yml"], 1),
        (&["planted.yml", "db1*"], 0),
        (&["planted.yml", "--only", "db"], 0),
        (&["planted.yml", "--except", "po*"], 0),
        (&["none.yml"], 65),
        (&["broken.yml"], 65),
        (&["missing.yml"], 74),
        (&["same.yml", "nope"], 74),
        (&["python:/opt/reclass"], 2),
        (&["pillars:missing.json"], 74),
    ] {
        let (code, out, messages) = place.reclass(&[&["compare"], arguments].concat());
        assert_eq!(code, expected, "{arguments:?}: {out}{messages}");
    }
    // What was planted has no cause, and comes first.
    let (_, out, _) = place.reclass(&["compare", "planted.yml"]);
    assert!(
        out.starts_with("unexplained: see 'reclass explain NODE PATH'\n\nweb1\n  parameters port\n"),
        "{out}"
    );
}

#[test]
fn a_tree_of_saltclass_becomes_an_inventory() {
    let place = Place::new();
    let jinja = "pillars:\n{% if x %}\n  a: {{ minion_id }}\n{% endif %}\n";
    for (name, text) in [
        ("nodes/eu/n1.yml", "environment: base\nclasses: [site]\npillars:\n  dns: # two\n  - ^\n  - b\n"),
        ("classes/site/init.yml", "states: [motd]\npillars: {dns: [a], name: '${dns}'}\n"),
        ("classes/jinja.yml", jinja),
        ("classes/broken.yml", "pillars: [a\n"),
        ("classes/notes.txt", "no YAML\n"),
    ] {
        place.write(&format!("tree/{name}"), text);
    }
    let (code, out, messages) = place.reclass(&["migrate", "saltclass", "tree", "new"]);
    assert_eq!(code, 0, "{messages}");
    for line in
        ["classes/jinja.yml:2: {% if x %}", "classes/jinja.yml:3: a: {{ minion_id }}", "classes/broken.yml:"]
    {
        assert!(out.contains(line), "{line}: {out}");
    }
    assert_eq!(fs::read_to_string(place.path("new/classes/jinja.yml")).unwrap(), jinja);
    assert!(!place.path("new/classes/notes.txt").exists());
    assert_eq!(
        fs::read_to_string(place.path("new/nodes/eu/n1.yml")).unwrap(),
        "environment: base\nclasses: [site]\nparameters:\n  ~dns: # two\n  - b\n"
    );
    let (code, out, messages) = place.reclass(&["-b", "new", "-o", "json", "--nodeinfo", "n1"]);
    assert_eq!(code, 0, "{messages}");
    let node: Json = serde_json::from_str(&out).unwrap();
    assert_eq!(node["parameters"]["name"], serde_json::json!(["b"]));
    assert_eq!(node["applications"], serde_json::json!(["motd"]));
    // Nothing is overwritten, and the tree is as it was.
    assert_eq!(place.reclass(&["migrate", "saltclass", "tree", "new"]).0, 65);
    assert_eq!(place.reclass(&["migrate", "saltclass", "nowhere", "newer"]).0, 74);
    assert!(fs::read_to_string(place.path("tree/classes/site/init.yml")).unwrap().starts_with("states:"));
}

#[test]
fn a_minion_that_got_nothing_is_a_difference() {
    let place = Place::new();
    // A minion that is in no inventory got nothing before, and gets nothing now.
    place.write("pillars.json", r#"{"web1": {}, "stranger": {}, "db1.example.com": false}"#);
    let comparison = place.compared("pillars:pillars.json");
    assert_eq!((&comparison["nodes"], &comparison["touched"]), (&1.into(), &1.into()), "{comparison}");
    assert_eq!(comparison["unanswered"], serde_json::json!(["db1.example.com"]), "{comparison}");
}

#[test]
fn the_output_of_inventory_is_no_file_of_pillars() {
    let place = Place::new();
    let (_, inventory, _) = place.reclass(&["--inventory", "-o", "json"]);
    let (_, node, _) = place.reclass(&["--nodeinfo", "web1"]);
    for (name, text) in [("inventory.json", inventory), ("node.yml", node)] {
        place.write(name, &text);
        let (code, _, messages) = place.reclass(&["compare", &format!("pillars:{name}")]);
        assert_eq!(code, 65, "{messages}");
        assert!(messages.contains(&format!("say {name}, without 'pillars:'")), "{messages}");
        assert_eq!(place.reclass(&["compare", name]).0, 0);
    }
}

#[test]
fn a_key_that_json_writes_as_true_is_no_difference() {
    let place = Place::new();
    place.write("nodes/web1.yml", "parameters: {yes: 1, no: {~: 2}}\n");
    place.write("pillars.json", r#"{"web1": {"true": 1, "false": {"null": 2}}}"#);
    let (code, out, _) = place.reclass(&["compare", "pillars:pillars.json", "--except", "_reclass_"]);
    assert_eq!(code, 0, "{out}");
}

#[test]
fn a_documented_name_of_a_setting_that_the_old_program_ignores_is_a_cause() {
    let place = Place::new();
    let settings = "inventory_base_uri: .\nignore_class_notfound: true\nignore_class_regexp: ['service.*']\n";
    place.write("reclass-config.yml", settings);
    place.write("nodes/web1.yml", "classes: [foo.missing, service.x]\n");
    place.write(
        "old/web1.json",
        r#"{"parameters": {}, "classes": ["foo.missing", "service.x"], "applications": [], "exports": {}}"#,
    );
    let comparison = place.compared("old");
    assert!(rulings(&comparison).contains(&"S16"), "{comparison}");
    assert_eq!(
        comparison["settings"]["ignore_class_notfound_regexp"],
        serde_json::json!([".*"]),
        "{comparison}"
    );
}

/// The causes of a comparison: each path below its ruling, or below `-`; and the nodes that only render here.
fn by_ruling(comparison: &Json) -> Vec<String> {
    let mut all = Vec::new();
    for cause in comparison["causes"].as_array().unwrap() {
        let ruling = cause["rulings"][0]["ruling"].as_str().unwrap_or("-");
        for (side, what) in [("mended", "renders"), ("broken", "stops")] {
            for node in cause["difference"][side].as_array().unwrap() {
                all.push(format!("{ruling} {what} {}", node["node"].as_str().unwrap()));
            }
        }
        for change in cause["difference"]["changes"].as_array().unwrap() {
            let (section, path) = (change["section"].as_str().unwrap(), change["path"].as_str().unwrap());
            all.push(format!("{ruling} {section} {path}").trim_end().to_owned());
        }
    }
    all.sort();
    all
}

#[test]
fn a_class_mapping_that_the_old_program_did_not_have_is_recognized() {
    let place = Place::new();
    place.write("classes/more.yml", "applications: [more]\nparameters: {more: [1], port: 70}\n");
    place.write(
        "classes/mapped.yml",
        "classes: [db, more]\napplications: [db, mapped]\nparameters: {more: [2]}\n",
    );
    place.write("nodes/web1.yml", "classes: [db]\nparameters:\n  port: 80\n  more: [3]\n");
    let (_, old, _) = place.reclass(&["--inventory"]);
    let config = "ext_pillar:\n- reclass:\n    inventory_base_uri: .\n    class_mappings: ['web* mapped']\n";
    place.write("master", config);
    let compared = |old: &str| {
        place.write("old.yml", old);
        let (code, out, messages) =
            place.reclass(&["compare", "old.yml", "--config", "master", "-o", "json"]);
        assert_eq!(code, 1, "{messages}");
        serde_json::from_str::<Json>(&out).unwrap()
    };
    let comparison = compared(&old);
    let mapped = ["S20 applications", "S20 classes", "S20 parameters more"];
    assert_eq!(
        (by_ruling(&comparison), &comparison["unexplained"]),
        (mapped.map(String::from).to_vec(), &0.into())
    );
    assert_eq!(comparison["new_settings"], "master");
    assert_eq!(comparison["old_settings"], "the configuration file that the old program read");
    // What the class does not bring has no cause, and a class that the old node has is no cause.
    let comparison = compared(&old.replace("port: 80", "port: 70").replace("- 3", "- 4"));
    let mut all = mapped.map(String::from).to_vec();
    all.splice(0..0, ["- parameters more", "- parameters port"].map(String::from));
    assert_eq!(by_ruling(&comparison), all, "{comparison}");
    let comparison = compared(&old.replace("    - db\n", "    - db\n    - more\n    - mapped\n"));
    assert!(!rulings(&comparison).contains(&"S20"), "{comparison}");
    // A mapping that matches by the path matches a node at the top as the old program does not try it.
    place.write("master", &format!("{config}    class_mappings_match_path: true\n"));
    assert_eq!(by_ruling(&compared(&old)), mapped.map(|line| line.replace("S20", "S19")));
    place.write(
        "master",
        &format!("{}    class_mappings_match_path: true\n", config.replace("web*", "./web*")),
    );
    assert_eq!(by_ruling(&compared(&old)), mapped);
    place.write("master", config);
    // The text names both sides.
    place.write("old.yml", &old);
    let (_, out, _) = place.reclass(&["compare", "old.yml", "--config", "master", "--summary"]);
    let sides = "settings here: master; of the old answers: the configuration file that the old program read";
    assert!(out.contains(sides), "{out}");
    assert!(out.contains("S20: a class mapping of the settings here brings a class"), "{out}");
    let (code, out, _) = place.reclass(&["compare", "old.yml"]);
    assert_eq!((code, out.as_str()), (0, "nothing differs in 2 nodes\n"));
}

/// Compares with a mapping of the node one to the class mapped, which the old program does not have. `edit` changes
/// the old answers.
fn of_mapping(files: &[(&str, &str)], edit: impl Fn(&str) -> String) -> Vec<String> {
    let place = Place::new();
    for (name, text) in files {
        place.write(name, text);
    }
    let (_, old, messages) = place.reclass(&["--inventory"]);
    assert!(!old.is_empty(), "{messages}");
    place.write("old.yml", &edit(&old));
    place.write("reclass-config.yml", "inventory_base_uri: .\nclass_mappings: ['one mapped']\n");
    by_ruling(&place.compared_some("old.yml", &[]))
}

#[test]
fn a_class_mapping_of_a_class_that_the_node_lists_too_is_recognized() {
    let files = [
        (
            "classes/a.yml",
            "applications: [web, '~x', y]\nparameters: {port: 1, l: [1], ~m: {j: 1}, only: 1}\nexports: {p: '${port}'}\n",
        ),
        (
            "classes/mapped.yml",
            "classes: [base]\napplications: [x, '~y']\nparameters: {port: 2, l: [2], m: {k: 2}, own: 2}\n",
        ),
        ("classes/base.yml", "parameters: {deep: 2}\n"),
        ("classes/b.yml", "parameters: {deep: 1, t: 'at ${port}'}\n"),
        ("nodes/one.yml", "classes: [a, b, mapped]\n"),
    ];
    let values = ["deep", "l", "m:k", "port", "t"].map(|path| format!("S20 parameters {path}"));
    let mut all = ["S20 applications", "S20 classes", "S20 exports p"].map(String::from).to_vec();
    all.extend(values);
    assert_eq!(of_mapping(&files, str::to_owned), all);
    // Another old value has no cause, nor has what refers to it.
    let open = ["exports p", "parameters port", "parameters t"];
    let is_open = |line: &String| open.iter().any(|open| *line == format!("S20 {open}"));
    let mut edited = open.map(|open| format!("- {open}")).to_vec();
    edited.insert(1, "- parameters only".into());
    edited.extend(all.into_iter().filter(|line| !is_open(line)));
    let edit = |old: &str| old.replace("port: 2", "port: 3").replace("only: 1", "only: 2");
    assert_eq!(of_mapping(&files, edit), edited);
    // With the same order of classes, both programs have the mapping.
    let same = [("nodes/one.yml", "classes: [mapped]\n"), files[1], files[2]];
    assert_eq!(of_mapping(&same, |old| old.replace("port: 2", "port: 3")), ["- parameters port"]);
}

#[test]
fn an_error_that_a_class_mapping_brings_is_recognized() {
    let node = ("nodes/one.yml", "classes: [db]\n");
    let missing = ("classes/mapped.yml", "classes: [gone]\n");
    let broken = ("classes/mapped.yml", "parameters: {a: '${gone}'}\n");
    for files in [&[node][..], &[node, missing], &[node, broken]] {
        assert_eq!(of_mapping(files, str::to_owned), ["S20 stops one"], "{files:?}");
    }
    // Not that of a class that the node lists too.
    let listed = ("nodes/one.yml", "classes: [db, mapped]\n");
    let whole = ("classes/mapped.yml", "parameters: {a: 1}\n");
    let place = Place::new();
    for (name, text) in [listed, whole] {
        place.write(name, text);
    }
    let (_, old, _) = place.reclass(&["--inventory"]);
    place.write("old.yml", &old);
    place.write("reclass-config.yml", "inventory_base_uri: .\nclass_mappings: ['one mapped']\n");
    place.write(broken.0, broken.1);
    assert_eq!(by_ruling(&place.compared("old.yml")), ["- stops one"]);
}

#[test]
fn an_application_that_a_mapped_class_removes_is_recognized() {
    let files = [
        ("classes/mapped.yml", "classes: [less]\n"),
        ("classes/less.yml", "classes: [db]\napplications: ['~db']\n"),
        ("nodes/one.yml", "classes: [db]\n"),
    ];
    assert_eq!(of_mapping(&files, str::to_owned), ["S20 applications", "S20 classes"]);
    // Another class removes it too, and the old program does not.
    let other = ("nodes/one.yml", "classes: [db]\napplications: ['~db']\n");
    let edit = |old: &str| old.replacen("applications: []", "applications: [db]", 1);
    assert_eq!(of_mapping(&[files[0], files[1], other], edit), ["S20 classes", "S8 applications"]);
}

#[test]
fn a_query_has_the_cause_of_the_exports_that_answer_it() {
    let files = [
        ("classes/mapped.yml", "parameters: {role: db}\nexports: {port: 80, only: 1}\n"),
        ("classes/db.yml", "parameters: {role: web}\nexports: {role: '${role}', size: 1}\n"),
        (
            "classes/queries.yml",
            "parameters: {ports: '$[ exports:port ]', databases: '$[ if exports:port == 80 ]', sizes: '$[ exports:size ]', only: '$[ exports:only ]'}\n",
        ),
        ("nodes/one.yml", "classes: [db]\n"),
        ("nodes/two.yml", "classes: [queries]\nparameters: {first: '${ports}', text: 'of ${databases}'}\n"),
        ("nodes/web1.yml", "exports: {port: 81}\n"),
    ];
    let expected = [
        "S20 classes",
        "S20 exports only",
        "S20 exports port",
        "S20 parameters databases",
        "S20 parameters first:one",
        "S20 parameters only",
        "S20 parameters ports:one",
        "S20 parameters text",
    ];
    let mut all = of_mapping(&files, str::to_owned);
    all.retain(|line| !line.starts_with("S20 parameters role"));
    assert_eq!(all, expected);
    // A value that the mapping does not bring has no cause.
    let edit = |old: &str| old.replace("one: 1", "one: 2");
    assert!(of_mapping(&files, edit).contains(&"- parameters sizes:one".to_owned()));
}

#[test]
fn a_value_merged_over_a_reference_is_recognized() {
    let place = Place::new();
    for (name, text) in [
        ("classes/a.yml", "parameters: {n: '${m}', m: {k: v}, s: 1}\n"),
        ("classes/b.yml", "parameters: {m: {k: '${s}'}}\n"),
        ("nodes/one.yml", "classes: [a, b]\nparameters: {n: {k: 3}}\n"),
        ("classes/c.yml", "parameters: {~c: {k: [1]}, d: {k: [0]}}\n"),
        ("nodes/two.yml", "classes: [c]\nparameters: {d: '${c}', c: {~k: [2]}}\n"),
    ] {
        place.write(name, text);
    }
    // As kapicorp-reclass answers.
    let of_one = "{classes: [a, b], parameters: {m: {k: 3}, n: {k: 3}, s: 1}}";
    let of_two = "{classes: [c], parameters: {c: {k: [2]}, d: {k: [2]}}}";
    let place_old = |one: &str, two: &str| {
        place.write("old.yml", &format!("nodes:\n  one: {one}\n  two: {two}\n"));
        place.compared_some("old.yml", &["one", "two", "--except", "_reclass_"])
    };
    let comparison = place_old(of_one, of_two);
    assert_eq!(by_ruling(&comparison), ["R4 parameters d:k", "R4 parameters m:k"], "{comparison}");
    assert_eq!(comparison["unexplained"], 0);
    // Another old value has another cause.
    let comparison = place_old(&of_one.replace("m: {k: 3}", "m: {k: 4}"), &of_two.replace("s: 1", "s: 2"));
    assert_eq!(by_ruling(&comparison), ["- parameters m:k", "R4 parameters d:k"], "{comparison}");
    // Through two references, and one inside of another.
    for (name, text) in [
        ("classes/a.yml", "parameters: {n: '${o}', o: '${m}', m: {k: v}, s: 1}\n"),
        ("classes/c.yml", "parameters: {~c: {k: [1]}, d: {k: [0]}, w: c}\n"),
        ("nodes/two.yml", "classes: [c]\nparameters: {d: '${${w}}', c: {~k: [2]}}\n"),
    ] {
        place.write(name, text);
    }
    let of_one = of_one.replace("n:", "o: {k: 3}, n:");
    let comparison = place_old(&of_one, &of_two.replace("c: {", "w: c, c: {"));
    let expected = ["R4 parameters d:k", "R4 parameters m:k", "R4 parameters o:k"];
    assert_eq!(by_ruling(&comparison), expected, "{comparison}");
    // The old programs change no mapping of one layer: there is an edit between the answers.
    place.write("classes/a.yml", "parameters: {n: '${m}', m: {k: 1}, o: '${m}', s: 1}\n");
    place.write("classes/b.yml", "{}\n");
    let comparison = place_old(&of_one, "{classes: [c], parameters: {c: {k: [2]}, d: {k: [0, 2]}, w: c}}");
    assert_eq!(by_ruling(&comparison), ["- parameters m:k", "- parameters o:k"], "{comparison}");
}

#[test]
fn a_merge_key_of_another_version_of_pyyaml_is_recognized() {
    let place = Place::new();
    place.write(
        "nodes/one.yml",
        "parameters:\n  o: &o {k: 1}\n  p: &p {<<: *o, k: 2}\n  q: {<<: *p}\n  \
         base: &base {port: 80, deep: {a: 1}}\n  extra: &extra {port: 81, deep: {a: 2, b: 3}}\n  \
         web: {<<: [*base, *extra]}\n  plain: {port: 80}\n",
    );
    // As PyYAML 6.0.4 reads it, but for `plain`.
    let old = "nodes:\n  one: {classes: [], parameters: {o: {k: 1}, p: {k: 2}, q: {k: 1}, plain: {port: 82}, \
               base: {port: 80, deep: {a: 1}}, extra: {port: 81, deep: {a: 2, b: 3}}, \
               web: {port: 81, deep: {a: 2, b: 3}}}}\n";
    place.write("old.yml", old);
    let comparison = place.compared_some("old.yml", &["one", "--except", "_reclass_"]);
    let expected = ["- parameters plain:port", "Y9 parameters q:k", "Y9 parameters web:deep:a"];
    let expected = [&expected[..], &["Y9 parameters web:deep:b", "Y9 parameters web:port"]].concat();
    assert_eq!(by_ruling(&comparison), expected, "{comparison}");
}

/// Compares one node with an old answer, as YAML in one line, or as JSON.
fn of_one(files: &[(&str, &str)], old: &str) -> Vec<String> {
    let place = Place::new();
    for (name, text) in files {
        place.write(name, text);
    }
    let form = if old.starts_with("{\"") { "json" } else { "yml" };
    place.write(&format!("old/one.{form}"), old);
    by_ruling(&place.compared_some("old", &["one", "--except", "_reclass_"]))
}

#[test]
fn what_two_values_show_is_recognized() {
    let applications = [
        ("classes/db.yml", "applications: [db]\n"),
        ("classes/more.yml", "classes: [db, less]\n"),
        ("classes/less.yml", "applications: ['~db', web]\n"),
        ("nodes/one.yml", "classes: [more]\n"),
    ];
    let old = |values: &str| format!("{{classes: [], parameters: {{{values}}}}}");
    let answer = |applications: &str| {
        format!("{{classes: [db, less, more], applications: {applications}, parameters: {{}}}}")
    };
    assert_eq!(of_one(&applications, &answer("[db, web]")), ["S8 applications"]);
    assert_eq!(of_one(&applications, &answer("[web, other]")), ["- applications"]);
    let early =
        [("nodes/one.yml", "classes: [db]\n"), ("classes/db.yml", "applications: ['~web', db, web]\n")];
    let rust = "{classes: [db], applications: [db], parameters: {}}";
    assert_eq!(of_one(&early, rust), ["S8 applications"]);
    for (values, before, expected) in [
        ("t: \"a\\t${n}\", n: 1", "t: 'a       1', n: 1", &["R13 parameters t"][..]),
        ("t: \"a\\t${n}\", n: 1", "t: 'a       2', n: 1", &["- parameters t"]),
        (
            "t: 'x ${m}', m: {a: [~, true]}",
            "t: 'x {\"a\":[null,true]}', m: {a: [~, true]}",
            &["R2 parameters t"],
        ),
        (
            "a: yes, b: 014, c: [on], d: 1e3",
            "a: 'yes', b: 14, c: ['on'], d: 1000.0",
            &["Y1 parameters a", "Y1 parameters b", "Y1 parameters c", "Y1 parameters d"],
        ),
        ("a: yes, b: 014", "a: 'no', b: 15", &["- parameters a", "- parameters b"]),
        // What refers to such a value has its cause, also in a list.
        (
            "a: yes, t: 'is ${a}', l: ['x${a}'], r: '${a}', u: '${n}', n: 1",
            "a: 'yes', t: is yes, l: [xyes], r: 'yes', u: 2, n: 1",
            &["- parameters u", "Y1 parameters a", "Y1 parameters l", "Y1 parameters r", "Y1 parameters t"],
        ),
        ("'~~': 1", "'': 1", &["M6 parameters", "M6 parameters ~"]),
        (
            "t: 'x ${m}', m: {k: '${n}'}, n: 1",
            "t: \"x {'k': <reclass.values.value.Value object at 0x1>}\", m: {k: 1}, n: 1",
            &["R14 parameters t"],
        ),
    ] {
        let file = format!("parameters: {{{values}}}\n");
        let found = of_one(&[("nodes/one.yml", &file)], &old(before));
        assert_eq!(found, expected, "{values}");
    }
    // A key of JSON is a text.
    let keys = of_one(
        &[("nodes/one.yml", "parameters: {m: {yes: 1}}\n")],
        "{\"classes\": [], \"parameters\": {\"m\": {\"yes\": 1}}}",
    );
    assert!(
        keys.contains(&"Y1 parameters m:yes".to_owned()) && keys.contains(&"Y1 parameters m:true".to_owned()),
        "{keys:?}"
    );
}

#[test]
fn what_only_this_program_accepts_is_the_cause_of_a_refusal() {
    let mapping = "inventory_base_uri: .\nclass_mappings: ['/(o)ne/ x${1}']\n";
    let lone = [("nodes/one.yml", "parameters: {'': 1}\n")];
    let default = [("nodes/one.yml", "parameters: {a: 'x ${n::1}'}\n")];
    let nested = [("nodes/one.yml", "parameters: {a: '${b:${c}::1}', c: d}\n")];
    let group = [("reclass-config.yml", mapping), ("classes/xo.yml", "{}\n"), ("nodes/one.yml", "{}\n")];
    let names = [("nodes/one.yml", "parameters: {a: '${_reclass_:name:path}'}\n")];
    let plain = [("nodes/one.yml", "parameters: {a: 1}\n")];
    for (files, expected) in [
        (&lone[..], "M6 renders one"),
        (&default, "R7 renders one"),
        (&nested, "R7 renders one"),
        (&group, "S13 renders one"),
        (&plain, "- renders one"),
    ] {
        assert_eq!(of_one(files, ""), [expected]);
    }
    // An empty file says nothing about the program. reclass-rs has JSON alone, and it knows these names.
    assert_eq!(of_one(&names, ""), ["- renders one"]);
    let place = Place::new();
    place.write("nodes/web1.yml", "parameters: {a: 1, a: 2}\n");
    place.write("old/web1.json", "");
    assert_eq!(by_ruling(&place.compared("old")), ["Y2 renders web1"]);
}

#[test]
fn items_of_other_nodes_are_recognized() {
    let Some(old) = kapicorp() else { return };
    let place = Place::new();
    place.write("classes/list.yml", "parameters: {~l: [x], l: [y], plain: [x]}\n");
    for node in ["n1", "n2"] {
        place.write(&format!("nodes/{node}.yml"), &format!("classes: [list]\nparameters: {{l: [{node}]}}\n"));
    }
    let base = place.path("").to_str().unwrap().to_owned();
    let output = place.run(&old, &["-b", &base, "--inventory"]);
    let text = String::from_utf8(output.stdout).unwrap();
    place.write("old.yml", &text);
    let all = by_ruling(&place.compared_some("old.yml", &["n1", "n2"]));
    assert!(all.iter().any(|line| line == "M10 parameters l"), "{all:?}");
    assert!(all.iter().all(|line| line == "M10 parameters l"), "{all:?}");
}

#[test]
fn a_value_that_refers_to_one_with_a_cause_has_its_cause() {
    let Some(old) = kapicorp() else { return };
    let place = Place::new();
    place.write(
        "classes/db.yml",
        "exports: {host: '${host}'}\nparameters: {host: '${_reclass_:name:short}.lan'}\n",
    );
    place.write("nodes/db1.example.com.yml", "classes: [db]\nparameters: {all: ['${host}', b]}\n");
    let base = place.path("").to_str().unwrap().to_owned();
    let output = place.run(&old, &["-b", &base, "--nodeinfo", "db1.example.com"]);
    place.write("old/db1.example.com.yml", std::str::from_utf8(&output.stdout).unwrap());
    let comparison = place.compared("old");
    assert_eq!((rulings(&comparison), &comparison["unexplained"]), (vec!["S12"], &0.into()), "{comparison}");
    for path in ["host", "all"] {
        assert!(by_ruling(&comparison).contains(&format!("S12 parameters {path}")), "{comparison}");
    }
    assert!(by_ruling(&comparison).contains(&"S12 exports host".to_owned()), "{comparison}");
    // Also where that one is not compared.
    let comparison = place.compared_some("old", &["--except", "_reclass_"]);
    assert_eq!((rulings(&comparison), &comparison["unexplained"]), (vec!["S12"], &0.into()), "{comparison}");
}
