//! Command lines of the verbs of `reclass` turn into exit codes and output.
//!
//! The pages of the documentation show the output of the verbs; `tests/programs/pages.rs` runs those.

use support::folders;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use folders::copy;
use serde_json::Value as Json;
use tempfile::TempDir;

const SECRET: &str = "fisher22";

/// An inventory with a secret, a node that fails because of it, and one that lists what is not there.
fn workplace() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("a");
    for (name, text) in [
        ("nodes/n.yml", "classes: [c]\nparameters:\n  db: {password: fisher22, port: 5432}\n"),
        ("nodes/broken.yml", "classes: [c]\nparameters:\n  admin_password: fisher22 ${gone}\n"),
        ("nodes/lost.yml", "classes: [nowhere]\n"),
        ("nodes/lost2.yml", "classes: [also]\n"),
        ("classes/also.yml", "classes: [nowhere]\n"),
        (
            "classes/c.yml",
            "applications: [one]\nparameters:\n  url: pg://${db:password}@h\n  db: {password: x}\n",
        ),
    ] {
        let path = base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn run(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.current_dir(directory).env_clear().env("HOME", directory.join("home"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    let text = [output.stdout.clone(), output.stderr.clone()].concat();
    String::from_utf8(text).unwrap()
}

/// The answer alone, without the line about nodes that do not render.
fn rows(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_status_of_folders_and_of_a_work_tree() {
    let place = workplace();
    let base = place.path().join("a");
    let status = |more: &[&str]| {
        let output = run(&base, &[&["status"], more].concat());
        assert!(output.status.success(), "{output:?}");
        assert!(!text(&output).contains(SECRET), "{output:?}");
        rows(&output)
    };
    let json = || serde_json::from_str::<Json>(&status(&["-o", "json"])).unwrap();
    let found = json();
    let [source] = &found["sources"].as_array().unwrap()[..] else { panic!("{found}") };
    let fingerprint = source["fingerprint"].as_str().unwrap();
    assert_eq!(found["revision"], fingerprint[..8]);
    assert_eq!((&found["nodes"], &found["failing"]), (&4.into(), &3.into()));
    assert_eq!(found["failing_nodes"], serde_json::json!(["broken", "lost", "lost2"]));
    assert_eq!(found["engine"], env!("CARGO_PKG_VERSION"));
    let git = |arguments: &[&str]| {
        let person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
        assert!(
            Command::new("git").current_dir(&base).args(person).args(arguments).status().unwrap().success()
        );
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    let clean = json();
    let commit = clean["sources"][0]["commits"]["main"].as_str().unwrap();
    assert_eq!(clean["revision"], format!("{} of main", &commit[..8]));
    assert!(clean["since"].as_str() >= found["since"].as_str(), "{clean}");
    fs::write(base.join("classes/c.yml"), "parameters: {}\n").unwrap();
    let shown = status(&[]);
    assert!(shown.starts_with(&format!("revision {} of main with changes ", &commit[..8])), "{shown}");
    assert!(shown.contains("\n4 nodes, 3 fail: broken, lost, lost2\n"), "{shown}");
    // A node that breaks a schema has its pillar, unless the setting refuses that.
    fs::create_dir(base.join("schemas")).unwrap();
    fs::write(base.join("schemas/db.yml"), "type: integer\n").unwrap();
    assert_eq!(json()["failing"], 3);
    fs::write(base.join("reclass-config.yml"), "inventory_base_uri: .\nschema_check: error\n").unwrap();
    assert_eq!(json()["failing_nodes"], serde_json::json!(["broken", "lost", "lost2", "n"]));
}

#[test]
fn exit_codes() {
    let place = workplace();
    let codes: [(&[&str], i32); 19] = [
        (&["explain", "-b", "a", "n", "url"], 0),
        (&["-b", "a", "explain", "n", "url"], 0),
        (&["explain", "-b", "a", "nope"], 74),
        (&["explain", "-b", "a", "n", "nope"], 74),
        (&["explain", "-b", "a", "lost"], 65),
        (&["explain"], 2),
        (&["explain", "-b", "a", "n", "-o", "yaml"], 2),
        (&["lint", "-b", "a"], 1),
        (&["lint", "-b", "a", "nope"], 74),
        (&["lint", "-b", "gone"], 1),
        (&["diff", "-b", "a", "a", "."], 0),
        (&["diff", "-b", "a", "--", "--output=x", "."], 74),
        (&["diff", "-b", "a", "a", ".", "nope"], 74),
        (&["diff", "-b", "a", "a", ".", "n"], 0),
        (&["nodes", "-b", "a"], 0),
        (&["nodes", "-b", "a", "--file", "nope.yml"], 74),
        (&["refs", "-b", "a"], 0),
        (&["explain", "-b", "a", "n", "--application", "t*"], 0),
        (&["explain", "-b", "a", "n", "--application", "two"], 74),
    ];
    for (arguments, expected) in codes {
        let output = run(place.path(), arguments);
        assert_eq!(output.status.code(), Some(expected), "{arguments:?}: {}", text(&output));
    }
}

#[test]
fn a_path_that_is_missing_does_not_hide_the_others() {
    let place = workplace();
    for output in ["text", "json"] {
        let out = run(place.path(), &["explain", "-b", "a", "n", "nope", "db:port", "-o", output]);
        assert_eq!(out.status.code(), Some(74), "{}", text(&out));
        assert!(String::from_utf8_lossy(&out.stdout).contains("5432"), "{}", text(&out));
        assert!(String::from_utf8_lossy(&out.stderr).contains("'nope'"), "{}", text(&out));
    }
    let out = run(place.path(), &["explain", "-b", "a", "n", "nope", "-o", "json"]);
    assert_eq!((out.status.code(), out.stdout.len()), (Some(74), 0), "{}", text(&out));
}

#[test]
fn secrets_are_masked_in_every_answer() {
    let place = workplace();
    let arguments: [&[&str]; 15] = [
        &["explain", "n", "**"],
        &["explain", "n", "-o", "json"],
        &["explain", "broken", "**"],
        &["lint", "--level", "info"],
        &["lint", "-o", "json"],
        &["diff", "a", "other"],
        &["diff", "a", "other", "-o", "json"],
        &["params", "-l"],
        &["params", "-o", "json"],
        &["graph"],
        &["docs"],
        &["docs", "-o", "json"],
        &["schema", "infer", "db", "--show-secrets"],
        &["-n", "broken"],
        &["-i"],
    ];
    copy(&place.path().join("a"), &place.path().join("other"));
    let changed = place.path().join("other/nodes/n.yml");
    fs::write(&changed, fs::read_to_string(&changed).unwrap().replace(SECRET, "fisher23")).unwrap();
    for arguments in arguments {
        let arguments = [arguments, &["-b", "a"]].concat();
        let said = support::page::unpacked(&text(&run(place.path(), &arguments)));
        assert!(said.len() > 40, "{arguments:?}: {said}");
        assert!(!said.contains("fisher"), "{arguments:?}: {said}");
    }
    for arguments in [&["explain", "n", "url"][..], &["params", "-l"], &["diff", "a", "other"], &["graph"]] {
        let said = text(&run(place.path(), &[arguments, &["-b", "a", "--show-secrets"]].concat()));
        let said = support::page::unpacked(&said);
        assert!(said.contains(SECRET), "{arguments:?}: {said}");
    }
    fs::write(place.path().join("reclass-config.yml"), "secret_keys: []\n").unwrap();
    assert!(text(&run(place.path(), &["explain", "-b", "a", "n", "url"])).contains(SECRET));
}

#[test]
fn what_is_wrong_with_the_settings_is_found_by_lint_in_each_form() {
    let place = workplace();
    for (settings, code, line) in [
        ("delimiter: [x]\n", "setting-type", Some(1)),
        ("output: json\nclass_mappings:\n  - /(/ default\n", "setting-pattern", Some(3)),
        ("output: json\noutput: [\n", "config-file", Some(3)),
        ("- a\n", "config-file", Some(1)),
    ] {
        fs::write(place.path().join("reclass-config.yml"), settings).unwrap();
        let lint = |form: &str| {
            let output = run(place.path(), &["lint", "-b", "a", "-o", form]);
            assert_eq!(output.status.code(), Some(1), "{settings}{}", text(&output));
            assert!(output.stderr.is_empty(), "{settings}{}", text(&output));
            text(&output)
        };
        let found: Json = serde_json::from_str(&lint("json")).unwrap();
        assert_eq!(found[0]["code"], code, "{settings}");
        assert_eq!(found[0]["level"], "error");
        assert_eq!(found[0]["site"]["file"], "reclass-config.yml");
        assert_eq!(found[0]["site"]["line"].as_u64(), line, "{settings}");
        let log: Json = serde_json::from_str(&lint("sarif")).unwrap();
        assert_eq!(log["runs"][0]["results"][0]["ruleId"], code);
        assert!(lint("github").starts_with("::error file=reclass-config.yml,"), "{settings}");
        assert!(lint("concise").ends_with("1 error, 0 warnings\n"), "{settings}");
        assert!(lint("full").starts_with(&format!("error[{code}]: ")), "{settings}");
        // Nothing was asked that could be answered.
        let other = run(place.path(), &["nodes", "-b", "a", "-o", "json"]);
        assert_eq!(other.status.code(), Some(65), "{settings}");
        assert!(other.stdout.is_empty() && !other.stderr.is_empty(), "{settings}");
    }
}

#[test]
fn what_a_class_mapping_may_give_to_a_broken_node_is_not_unused() {
    for (mapping, class) in
        [("* k.${p}", "classes: []\n"), ("* k.${_param:inmap::z}", "classes: [nowhere]\n")]
    {
        let settings = format!("class_mappings: ['{mapping}']\n");
        let place = inventory(&settings, &[("nodes/n.yml", class), ("classes/k/z.yml", "parameters: {}\n")]);
        let said =
            |arguments: &[&str]| text(&run(&place.path().join("a"), &[arguments, &["-b", "."]].concat()));
        let found = said(&["lint", "--level", "info"]);
        assert!(found.contains("this node does not render") && !found.contains("'k.z'"), "{found}");
        // People delete what nobody uses.
        let unused = run(&place.path().join("a"), &["classes", "--unused", "-b", "."]);
        assert_eq!(unused.status.code(), Some(65), "{mapping}");
        assert!(unused.stdout.is_empty() && text(&unused).contains("node 'n'"), "{}", text(&unused));
    }
}

#[test]
fn what_is_not_there_is_no_line() {
    let place = workplace();
    for arguments in [
        &["explain", "n", "--application", "x*"][..],
        &["explain", "n", "--class", "x*"],
        &["explain", "n", "x*"],
    ] {
        let output = run(place.path(), &[arguments, &["-b", "a"]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(text(&output), "", "{arguments:?}");
    }
    // A list that a glob leaves empty says so.
    for (verb, what) in [
        ("nodes", "node"),
        ("classes", "class"),
        ("applications", "application"),
        ("params", "parameter"),
        ("refs", "parameter"),
    ] {
        let output = run(place.path(), &[verb, "x*", "-b", "a"]);
        assert_eq!(output.status.code(), Some(74), "{verb}");
        let said = text(&output);
        assert!(said.starts_with(&format!("note[nothing-matches]: no {what} matches 'x*'\n")), "{said}");
    }
    // A name that nothing has is most likely a slip, and the others are answered all the same.
    for (arguments, said, similar) in [
        (&["nodes", "web", "nosuch"][..], "web\n", ""),
        (&["nodes", "--class", "nosuch"], "", ""),
        (&["nodes", "--application", "nosuch", "-o", "json"], "[]\n", ""),
        (&["nodes", "--environment", "bsae"], "", "base"),
        (&["nodes", "--param", "lisen"], "", "listen"),
        (&["classes", "nosuch"], "", ""),
        (&["applications", "--node", "wbe"], "", "web"),
        (&["params", "lisen"], "", "listen"),
        (&["refs", "lisen"], "", "listen"),
    ] {
        let place = inventory(
            "",
            &[("nodes/web.yml", "environment: base\nparameters: {listen: 80, own: '${listen}'}\n")],
        );
        let output = run(place.path(), &[arguments, &["-b", "a"]].concat());
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!((output.status.code(), out.as_str()), (Some(74), said), "{arguments:?}: {err}");
        assert!(err.starts_with("note[nothing-matches]: no "), "{arguments:?}: {err}");
        assert_eq!(err.contains(&format!("'{similar}' is similar")), !similar.is_empty(), "{err}");
    }
    // The question is asked the wrong way round.
    let other = inventory("", &[("nodes/web1.lan.yml", "classes: [nginx]\n"), ("classes/nginx.yml", "{}\n")]);
    for (arguments, said) in [
        (["classes", "web1"], "'web1.lan' is a node"),
        (["nodes", "nginx"], "'nginx' is a class"),
        (["params", "nginx"], "'nginx' is a class"),
    ] {
        let output = run(other.path(), &[&arguments[..], &["-b", "a"]].concat());
        assert!(text(&output).contains(said), "{arguments:?}: {}", text(&output));
    }
    let output = run(other.path(), &["show", "web1", "exports", "-b", "a"]);
    assert!(text(&output).contains("--export PATH"), "{}", text(&output));
    // Names that are there, and nothing that has all: that is an answer.
    let place_of_two = inventory("", &[("nodes/web.yml", "applications: [a]\n"), ("nodes/db.yml", "{}\n")]);
    let none = ["nodes", "db", "--application", "a", "-b", "a"];
    assert_eq!(run(place_of_two.path(), &none).status.code(), Some(0));
    assert_eq!(run(place_of_two.path(), &["nodes", "--class", "none", "-b", "a"]).status.code(), Some(0));
    // Without a path, all of them.
    let all = text(&run(place.path(), &["refs", "-b", "a"]));
    assert_eq!(all.lines().filter(|line| !line.starts_with("hint: ")).count(), 2, "{all}");
}

/// An inventory of these files in the folder `a`, with these settings.
fn inventory(settings: &str, files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files.iter().chain(&[("classes/none.yml", "{}\n"), ("reclass-config.yml", settings)])
    {
        let path = directory.path().join("a").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

#[test]
fn queries_and_class_mappings_refer_to_parameters() {
    let place = inventory(
        "class_mappings: ['m* map-${_param:mp}', 'x* ${_param:nobody}']\n",
        &[
            ("nodes/n.yml", "classes: []\nparameters: {q: '$[ exports:x if exports:x == self:_param:q ]'}\n"),
            ("nodes/m.yml", "parameters: {_param: {q: 1}, db_password: '${none:${db_password}::HUNTER}'}\n"),
        ],
    );
    for (path, expected) in [
        ("_param:q", "a/nodes/n.yml:2:17  self:_param:q in q  1 node\n"),
        ("_param:mp", "class_mappings  ${_param:mp} in class mapping 'm* map-${_param:mp}'  1 node\n"),
        (
            "_param:nobody",
            "class_mappings  ${_param:nobody} in class mapping 'x* ${_param:nobody}'  0 nodes\n",
        ),
    ] {
        let said = rows(&run(&place.path().join("a"), &["refs", path, "-b", "."]));
        let base = format!("{}/", fs::canonicalize(place.path()).unwrap().display());
        assert_eq!(said.replace(&base, ""), expected);
    }
    let json = text(&run(&place.path().join("a"), &["refs", "-b", ".", "-o", "json"]));
    assert!(json.contains("\"site\": null") && !json.contains("HUNTER"), "{json}");
}

#[test]
fn what_a_reference_names_beside_those_inside_of_it_is_known() {
    let place = inventory(
        "{}\n",
        &[(
            "nodes/n.yml",
            "parameters: {table: {a: {b: 1}, k: a}, look: '${table:${table:k}:b}', d: '${nope::${web:port}}'}\n",
        )],
    );
    for (path, expected) in [
        ("table", "${table:${table:k}:b} (inside) in look  1 node\n${table:k} (inside) in look  1 node\n"),
        ("table:a", "${table:${table:k}:b} (perhaps) in look  1 node\n"),
        ("table:k", "${table:${table:k}:b} (perhaps) in look  1 node\n${table:k} in look  1 node\n"),
        ("table:a:c", ""),
        ("nope", "${nope} in d  1 node\n"),
        ("web:port", "${web:port} in d  1 node\n"),
    ] {
        let said = rows(&run(&place.path().join("a"), &["refs", path, "-b", "."]));
        let references: String =
            said.lines().filter_map(|line| Some(line.split_once("  ")?.1.to_owned() + "\n")).collect();
        assert_eq!(references, expected, "{path}: {said}");
    }
}

#[test]
fn an_explanation_reports_all_errors_of_a_node() {
    let place =
        inventory("{}\n", &[("nodes/n.yml", "parameters: {a: '${', b: '${gone}', c: 'x $[ exports:x ]'}\n")]);
    let report =
        |arguments: &[&str]| text(&run(&place.path().join("a"), &[arguments, &["-b", "."]].concat()));
    let problems = report(&["-n", "n"]);
    for code in ["reference-syntax", "reference-not-found", "query-embedded"] {
        assert!(problems.contains(code), "{problems}");
    }
    assert_eq!(report(&["explain", "n"]), problems);
}

#[test]
fn a_missing_class_of_a_mapping_is_in_the_graph() {
    let place = inventory(
        "class_mappings: ['* gone']\nignore_class_notfound: true\n",
        &[("nodes/n.yml", "classes: [away]\n")],
    );
    let dot = text(&run(&place.path().join("a"), &["graph", "-b", ".", "-o", "dot"]));
    for line in ["[label=\"gone\", shape=box, style=dashed]", "[label=\"away\", shape=box, style=dashed]"] {
        assert!(dot.contains(line), "{dot}");
    }
    assert_eq!(dot.matches(" -> ").count(), 2, "{dot}");
}

#[test]
fn mappings_that_change_nothing_are_in_the_graph_and_have_a_place() {
    let files = [("nodes/n.yml", "{}\n"), ("classes/d.yml", "classes: [b]\n"), ("classes/b.yml", "{}\n")];
    let place = inventory("class_mappings: ['n* d', 'n b']\n", &files);
    let folder = place.path().join("a");
    let graph = text(&run(&folder, &["graph", "-b", ".", "-o", "mermaid"]));
    // The node comes first, then the classes b and d.
    assert!(graph.contains("v0 --> v1") && graph.contains("v0 --> v2"), "{graph}");
    let found = text(&run(&folder, &["lint", "-b", ".", "-o", "concise", "--level", "info"]));
    let redundant =
        "info: reclass-config.yml:1:26: every node that 'n b' matches already includes 'b' (1 node)";
    assert!(found.contains(redundant), "{found}");
}

#[test]
fn nodes_have_what_queries_and_the_indexes_of_references_find() {
    let files = [
        ("nodes/a.yml", "exports: {e: {k: 1}}\n"),
        ("nodes/b.yml", "parameters: {q: '$[ exports:e ]', l: [{k: 1}, {m: 2}]}\n"),
    ];
    let place = inventory("", &files);
    for (path, expected) in
        [("q:a:k", "b"), ("q:*:k", "b"), ("l:-1:m", "b"), ("l:-2:m", ""), ("_reclass_:name:parts:0", "a b")]
    {
        let listed = run(place.path(), &["nodes", "-b", "a", "--param", path, "-o", "json"]);
        let rows: Vec<Json> = serde_json::from_slice(&listed.stdout).unwrap();
        let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
        assert_eq!(names.join(" "), expected, "{path}");
    }
}

#[test]
fn the_target_of_a_link_is_a_file_of_the_inventory() {
    let place = inventory("{}\n", &[("nodes/n.yml", "classes: [c]\n"), ("nodes/other.yml", "{}\n")]);
    fs::write(place.path().join("shared.yml"), "parameters: {a: .nan}\n").unwrap();
    std::os::unix::fs::symlink("../../shared.yml", place.path().join("a/classes/c.yml")).unwrap();
    assert_eq!(text(&run(place.path(), &["nodes", "-b", "a", "--file", "shared.yml"])), "n\n");
    let json = text(&run(place.path(), &["explain", "n", "-b", "a", "-o", "json"]));
    let read: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(read["parameters"][0]["value"]["a"], "NaN", "{json}");
}

#[test]
fn a_difference_names_as_many_nodes_as_are_asked_for() {
    let place = workplace();
    for side in ["a", "other"] {
        let base = place.path().join(side);
        fs::create_dir_all(base.join("nodes")).unwrap();
        fs::create_dir_all(base.join("classes")).unwrap();
        fs::write(base.join("classes/c.yml"), format!("parameters: {{x: {side}}}\n")).unwrap();
        for number in 1..=9 {
            fs::write(base.join(format!("nodes/w{number}.yml")), "classes: [c]\n").unwrap();
        }
    }
    let arguments = ["diff", "a", "other", "-b", "a", "--", "w*"];
    let few = text(&run(place.path(), &arguments));
    assert!(few.contains("w1, w2, w3, w4, w5, w6 and 3 more (9 nodes)\n"), "{few}");
    let all = text(&run(place.path(), &[&["diff", "--all-nodes"], &arguments[1..]].concat()));
    assert!(all.contains("w1, w2, w3, w4, w5, w6, w7, w8, w9 (9 nodes)\n"), "{all}");
}

#[test]
fn references_below_a_secret_key_are_names() {
    let place = workplace();
    let node = "parameters:\n  passwords: [{a: '${gone:name}'}]\n  secrets: {b: ['x${gone:name}fisher22']}\n";
    fs::write(place.path().join("a/nodes/looks.yml"), node).unwrap();
    for arguments in [&["refs"][..], &["refs", "-o", "json"], &["lint", "looks", "-o", "full"]] {
        let said = text(&run(place.path(), &[arguments, &["-b", "a"]].concat()));
        assert!(said.contains("${gone:name}") && !said.contains(SECRET), "{arguments:?}: {said}");
    }
}

#[test]
fn both_prefixes_of_a_key_are_no_part_of_its_path() {
    let place = workplace();
    let class = "parameters:\n  ~=n: {a: '${x}'}\n  m: {=~o: 1, ~=~p: 2}\n  l: [{~=i: '${x}'}]\n  =~=q: 3\n";
    fs::write(place.path().join("a/classes/twice.yml"), class).unwrap();
    let paths = |pattern: &str| rows(&run(place.path(), &["params", pattern, "-b", "a"]));
    for path in ["n:a", "m:o", "m:p", "l", "=q"] {
        assert_eq!(paths(path), format!("{path}  1 place, 0 nodes\n"));
    }
    let said = text(&run(place.path(), &["refs", "x", "-b", "a"]));
    assert!(said.contains("in n:a  ") && said.contains("in l:0:~=i  "), "{said}");
}

#[test]
fn parameters_are_found_by_what_holds_them_and_in_lists() {
    let place = workplace();
    let class = "parameters:\n  pg:\n    hba:\n      - {db: all, user: ada}\n      - {db: shop, user: [bob, eve]}\n    \
                 port: 5432\n  admins: [ada, '${pg:port}', {password: fisher22}]\n  empty: {}\n";
    fs::write(place.path().join("a/classes/paths.yml"), class).unwrap();
    for (pattern, paths) in [
        ("pg", &["pg:hba", "pg:port"][..]),
        ("pg:hba:0", &["pg:hba:0:db", "pg:hba:0:user"]),
        ("pg:hba:*:user", &["pg:hba:0:user", "pg:hba:1:user"]),
        ("pg:hba:1:user:-1", &["pg:hba:1:user:1"]),
        ("**:hba:*:db", &["pg:hba:0:db", "pg:hba:1:db"]),
        ("pg:**", &["pg:hba", "pg:port"]),
        ("admins:0", &["admins:0"]),
        ("admins:9", &[]),
        ("pg:port:x", &[]),
        ("empty", &["empty"]),
    ] {
        let said = rows(&run(place.path(), &["params", pattern, "-b", "a"]));
        let found: Vec<&str> = said.lines().map(|line| line.split("  ").next().unwrap()).collect();
        assert_eq!(found, paths, "{pattern}");
    }
    let said = text(&run(place.path(), &["params", "admins:1", "admins:2", "-l", "-b", "a"]));
    assert!(said.contains("paths.yml:7:17  \"${pg:port}\"") && said.contains("\"***\""), "{said}");
}

#[test]
fn annotations_have_the_paths_of_the_repository() {
    let place = workplace();
    let base = place.path().join("salt/reclass");
    fs::create_dir_all(base.join("nodes")).unwrap();
    fs::create_dir_all(base.join("classes")).unwrap();
    fs::write(base.join("nodes/n.yml"), "parameters: {x: 1_0}\n").unwrap();
    fs::write(base.join("reclass-config.yml"), "output: yaml\nunknown: 1\n").unwrap();
    let files = |form: &str| {
        let said = text(&run(&base, &["lint", "-b", ".", "-o", form]));
        ["nodes/n.yml", "reclass-config.yml"].map(|name| {
            let before = said.split(name).next().unwrap();
            let from = before.rfind(['=', '"']).unwrap();
            before[from + 1..].to_owned()
        })
    };
    assert_eq!([files("github"), files("sarif")], [["", ""], ["", ""]]);
    fs::create_dir(place.path().join(".git")).unwrap();
    let folder = "salt/reclass/";
    assert_eq!([files("github"), files("sarif")], [[folder, folder], [folder, folder]]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.current_dir(&base).env("GITHUB_WORKSPACE", place.path().join("salt"));
    let said = text(&command.args(["lint", "-b", ".", "-o", "github"]).output().unwrap());
    assert!(said.contains("file=reclass/nodes/n.yml,"), "{said}");
}

#[test]
fn lists_look_only_at_the_nodes_that_are_asked_for() {
    let place = workplace();
    let base = place.path().join("b");
    fs::create_dir_all(base.join("classes")).unwrap();
    fs::create_dir_all(base.join("nodes")).unwrap();
    for (path, text) in [
        ("classes/web.yml", "applications: [nginx]\nparameters: {x: '${y}'}\n"),
        ("classes/db.yml", "applications: [pg]\nparameters: {y: 1, z: '${y}'}\n"),
        ("classes/none.yml", "parameters: {n: '${y}'}\n"),
        ("nodes/w1.yml", "classes: [web]\nenvironment: dev\nparameters: {y: 2}\n"),
        ("nodes/w2.yml", "classes: [web, db]\n"),
        ("nodes/d1.yml", "classes: [db]\n"),
    ] {
        fs::write(base.join(path), text).unwrap();
    }
    let listed = |arguments: &[&str]| {
        let said = text(&run(place.path(), &[arguments, &["-b", "b"]].concat()));
        let folder = format!("{}/", base.canonicalize().unwrap().display());
        let line = |line: &str| {
            let parts: Vec<&str> = line.split("  ").filter(|part| !part.contains(&*folder)).collect();
            parts.join("  ")
        };
        said.lines().map(line).collect::<Vec<_>>().join("/")
    };
    for (arguments, expected) in [
        (&["classes", "--environment", "dev"][..], "web  1 node"),
        (&["classes", "--node", "w*", "--class", "db"], "db  1 node/web  1 node"),
        (&["classes", "--node", "w1", "--unused"], "db  0 nodes/none  0 nodes"),
        (&["classes", "--unused"], "none  0 nodes"),
        (&["applications", "--node", "w1"], "nginx  1 node"),
        (&["applications", "--class", "web"], "nginx  2 nodes/pg  1 node"),
        (&["applications", "--application", "pg", "--environment", "base"], "nginx  1 node/pg  2 nodes"),
        (&["params", "--class", "web", "x", "y", "n"], "x  1 place, 2 nodes/y  2 places, 2 nodes"),
        (&["params", "--environment", "dev"], "x  1 place, 1 node/y  1 place, 1 node"),
        (&["refs", "y", "--application", "nginx", "--node", "w*"], "${y} in z  1 node/${y} in x  2 nodes"),
        (&["refs", "y", "--environment", "dev"], "${y} in x  1 node"),
        (&["refs", "y", "--node", "x*"], "note[nothing-matches]: no node matches 'x*'"),
    ] {
        assert_eq!(listed(arguments), expected, "{arguments:?}");
    }
    fs::write(base.join("nodes/lost.yml"), "classes: [nowhere, db]\n").unwrap();
    let left_out = "hint: 1 node does not render and is left out; 'reclass lint' shows why";
    assert_eq!(listed(&["classes", "--node", "lost"]), left_out);
    assert_eq!(listed(&["classes", "--environment", "dev"]), format!("web  1 node/{left_out}"));
    assert_eq!(listed(&["params", "--node", "w*", "y"]), "y  2 places, 2 nodes");
}

#[test]
fn nodes_that_do_not_render_are_left_out_and_counted() {
    let place = workplace();
    for (name, class) in [("free", "x: 1\n  y: ${x}\n"), ("seen", "x: 2\n  z: ${x}\n")] {
        let path = place.path().join(format!("a/classes/{name}.yml"));
        fs::write(path, format!("applications: [{name}]\nparameters:\n  {class}")).unwrap();
    }
    fs::write(place.path().join("a/nodes/lost.yml"), "classes: [nowhere, seen]\n").unwrap();
    fs::write(place.path().join("a/nodes/asks.yml"), "parameters: {q: '$[ exports:e ]'}\n").unwrap();
    let two = "hint: 2 nodes do not render and are left out; 'reclass lint' shows why\n";
    let one = "hint: 1 node does not render and is left out; 'reclass lint' shows why\n";
    for (arguments, rows, hint) in [
        (&["nodes", "--class", "c"][..], "broken\nn\n", two),
        (&["nodes", "--file", "classes/c.yml"], "asks  (by an inventory query)\nbroken\nn\n", two),
        (&["nodes", "--file", "classes/free.yml"], "", two),
        (
            &["nodes", "--file", "nodes/lost.yml"],
            "asks  (by an inventory query)\nlost  error[class-not-found]\n",
            one,
        ),
        (&["nodes", "lost", "n", "--class", "c"], "n\n", one),
        (&["nodes", "lost"], "lost  error[class-not-found]\n", ""),
        (&["params", "y"], "y  1 place, 0 nodes\n", two),
        (&["refs", "x", "--node", "n"], "", ""),
    ] {
        let output = run(place.path(), &[arguments, &["-b", "a"]].concat());
        assert_eq!(text(&output), format!("{rows}{hint}"), "{arguments:?}");
        let json = run(place.path(), &[arguments, &["-b", "a", "-o", "json"]].concat());
        assert!(serde_json::from_slice::<Json>(&json.stdout).is_ok(), "{arguments:?}");
    }
}

#[test]
fn json_is_json() {
    let place = workplace();
    for arguments in [
        &["explain", "n", "-o", "json"][..],
        &["lint", "-o", "json"],
        &["lint", "-o", "sarif"],
        &["diff", "a", ".", "-o", "json"],
        &["nodes", "-o", "json"],
        &["classes", "-o", "json"],
        &["applications", "-o", "json"],
        &["params", "-o", "json"],
        &["refs", "db", "-o", "json"],
    ] {
        let output = run(place.path(), &[arguments, &["-b", "a"]].concat());
        let read: Result<Json, _> = serde_json::from_slice(&output.stdout);
        assert!(read.is_ok_and(|json| json.is_array() || json.is_object()), "{arguments:?}");
        let notes = String::from_utf8(output.stderr).unwrap();
        assert!(
            notes.lines().all(|line| line.starts_with("hint: 2 nodes do not render")),
            "{arguments:?}: {notes}"
        );
    }
}

#[test]
fn the_whole_inventory_says_all_its_problems_once() {
    let place = workplace();
    let output = run(place.path(), &["-b", "a", "-i"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(65));
    assert_eq!(said.matches("error[reference-not-found]").count(), 1, "{said}");
    assert_eq!(said.matches("error[class-not-found]").count(), 2, "{said}");
    let single = text(&run(place.path(), &["-b", "a", "-i", "-1"]));
    assert_eq!(single.matches("error[").count(), 1, "{single}");
}

#[test]
fn verbs_are_in_the_help() {
    let place = workplace();
    let help = text(&run(place.path(), &["--help"]));
    for verb in [
        "explain",
        "lint",
        "diff",
        "nodes",
        "classes",
        "applications",
        "params",
        "refs",
        "graph",
        "docs",
        "explore",
        "schema",
    ] {
        assert!(help.contains(&format!("  {verb} ")), "{verb} in\n{help}");
        let own = text(&run(place.path(), &[verb, "--help"]));
        assert!(
            own.contains("\nDocumentation: ") && own.contains("as -b and --config: see 'reclass --help'"),
            "{own}"
        );
    }
}

/// Runs git in a folder, with a home and a name of its own.
fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    let mut command = Command::new("git");
    command.current_dir(folder).env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.args(identity).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_revision_may_have_no_class_or_no_node_yet() {
    for (with, without) in [("nodes/n.yml", "classes/.gitkeep"), ("classes/c.yml", "nodes/.gitkeep")] {
        let place = tempfile::tempdir().unwrap();
        for name in [with, without] {
            let path = place.path().join(name);
            fs::create_dir(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        git(place.path(), &["init", "-q"]);
        git(place.path(), &["add", "-A"]);
        git(place.path(), &["commit", "-q", "-m", "one"]);
        fs::write(place.path().join("nodes/new.yml"), "").unwrap();
        let output = run(place.path(), &["diff", "-b", ".", "HEAD", "."]);
        let said = text(&output);
        assert!(said.starts_with("new nodes\n  new\n"), "{without}: {said}");
        assert_eq!(output.status.code(), Some(1), "{without}");
    }
}

#[test]
fn problems_of_a_revision_show_its_name() {
    let place = workplace();
    let base = place.path().join("a");
    let git = |arguments: &[&str]| git(&base, arguments);
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "one"]);
    // The nodes that fail as before are no difference, though each side is a folder of its own.
    fs::write(base.join("nodes/lost.yml"), "classes: [elsewhere]\n").unwrap();
    git(&["commit", "-q", "-a", "-m", "two"]);
    let said = text(&run(place.path(), &["diff", "-b", "a", "HEAD~1", "HEAD"]));
    let otherwise = "does not render, as before, but for another reason";
    let problem = "HEAD:nodes/lost.yml:1:11: no class 'elsewhere' in 'HEAD:classes' (class-not-found)";
    assert_eq!(
        said,
        format!(
            "lost\n  {otherwise}\n    {problem}\n\n2 nodes are not compared, they render in neither state: \
             broken, lost2\n1 of 4 nodes differs: 1 fails otherwise\n"
        )
    );
    // What keeps the whole inventory from being read.
    fs::create_dir(base.join("classes/c")).unwrap();
    fs::write(base.join("classes/c/init.yml"), "{}\n").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "three"]);
    let output = run(place.path(), &["diff", "-b", "a", "HEAD~1", "HEAD"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output);
    assert!(
        said.starts_with(
            "n\n  stops rendering\n    HEAD:classes/c/init.yml: class 'c' is defined twice, in \
             'HEAD:classes/c/init.yml' and in 'HEAD:classes/c.yml'"
        ),
        "{said}"
    );
}

#[test]
fn settings_that_differ_between_states_are_reported() {
    let place = workplace();
    let base = place.path().join("a");
    let git = |arguments: &[&str]| git(&base, arguments);
    let settings = |text: &str| fs::write(base.join("reclass-config.yml"), text).unwrap();
    settings("class_mappings: ['* one']\n");
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "one"]);
    settings("class_mappings: ['* two']\n");
    let note = "reclass-config.yml differs: both states are rendered with the settings as they stand\n";
    let same = "3 nodes are not compared, they render in neither state: broken, lost, lost2\n\
                nothing differs in 4 nodes\n";
    for states in [&["HEAD"][..], &["HEAD", "."], &[".", "HEAD"]] {
        for summary in [&[][..], &["--summary"]] {
            let output = run(place.path(), &[&["diff", "-b", "a"], summary, states].concat());
            let said = String::from_utf8(output.stdout).unwrap();
            assert_eq!(said, format!("{note}{same}"));
            assert_eq!(output.status.code(), Some(0));
        }
    }
    let output = run(place.path(), &["diff", "-b", "a", "HEAD", "-o", "json"]);
    assert!(text(&output).contains("\"settings_differ\": true"), "{}", text(&output));
    for states in [["HEAD", "HEAD"], [".", "."]] {
        let output = run(place.path(), &[&["diff", "-b", "a"][..], &states].concat());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), same);
    }
}

#[test]
fn states_are_compared_with_the_grains_that_are_given() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path();
    let put = |name: &str, text: &str| folders::write(&base.join(name), text);
    put("reclass-config.yml", "grains: [os]\n");
    put("classes/empty.yml", "classes: []\n");
    put("nodes/web1.yml", "parameters: {motd: '${_grains_:os}'}\n");
    git(base, &["init", "-q"]);
    git(base, &["add", "-A"]);
    git(base, &["commit", "-q", "-m", "one"]);
    put("nodes/web1.yml", "parameters: {motd: 'Welcome to ${_grains_:os}'}\n");
    put("grains.json", "{\"id\": \"web1\", \"os\": \"Debian\"}\n");
    let said = text(&run(base, &["-b", ".", "diff", "HEAD", "--grains", "grains.json"]));
    assert!(said.contains("- Debian") && said.contains("+ Welcome to Debian"), "{said}");
}

#[test]
fn in_the_base_folder_each_state_has_the_settings_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path();
    let put = |name: &str, text: &str| {
        let path = base.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("hosts/web1.yml", "parameters: {a: 1}\n");
    put("classes/one.yml", "parameters: {b: 1}\n");
    put("reclass-config.yml", "nodes_uri: hosts\nclass_mappings: ['web* one']\n");
    git(base, &["init", "-q"]);
    git(base, &["add", "-A"]);
    git(base, &["commit", "-q", "-m", "one"]);
    // A class is renamed, and its mapping with it; the folder of the nodes moves.
    fs::rename(base.join("classes/one.yml"), base.join("classes/two.yml")).unwrap();
    fs::rename(base.join("hosts"), base.join("nodes")).unwrap();
    put("reclass-config.yml", "class_mappings: ['web* two']\n");
    let note = "reclass-config.yml differs: each state is rendered with its own\n";
    let changes =
        "\nweb1\n  classes\n    - one  class mapping 'web* one'\n    + two  class mapping 'web* two'\n";
    let output = run(base, &["diff", "-b", ".", "HEAD"]);
    let said = text(&output);
    assert!(
        said.contains(changes.trim_start())
            && said.ends_with(&format!("{note}1 of 1 node differs: 1 change\n")),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
    // So has another folder.
    let copy = tempfile::tempdir().unwrap();
    git(copy.path(), &["clone", "-q", base.to_str().unwrap(), "old"]);
    let old = copy.path().join("old");
    let output = run(base, &["diff", "-b", ".", old.to_str().unwrap(), "--summary"]);
    assert!(text(&output).contains(note), "{}", text(&output));
    assert_eq!(output.status.code(), Some(1));
    // What the command line says counts for both.
    let output = run(base, &["diff", "-b", ".", "--nodes-uri", "nowhere", "HEAD"]);
    assert!(text(&output).contains("nowhere"), "{}", text(&output));
    // Without a file, and with one that is broken.
    fs::remove_file(base.join("reclass-config.yml")).unwrap();
    let output = run(base, &["diff", "-b", ".", "HEAD", "--summary"]);
    assert!(text(&output).contains(note), "{}", text(&output));
    put("reclass-config.yml", "class_mappings: [\n");
    git(base, &["commit", "-q", "-a", "-m", "two"]);
    fs::remove_file(base.join("reclass-config.yml")).unwrap();
    let said = text(&run(base, &["diff", "-b", ".", "HEAD"]));
    assert!(said.contains("'HEAD:reclass-config.yml'"), "{said}");
    // A setting of a state that is none has its place there; what is a secret in either state is masked.
    put("reclass-config.yml", "delimiter: 5\n");
    git(base, &["commit", "-q", "-a", "-m", "three"]);
    put("reclass-config.yml", "secret_keys: []\n");
    let said = text(&run(base, &["diff", "-b", ".", "HEAD"]));
    assert!(said.contains("HEAD:reclass-config.yml:1:1"), "{said}");
    git(base, &["rm", "-q", "-f", "reclass-config.yml"]);
    put("nodes/web1.yml", "parameters: {password: HUNTER1, url: '${password}@h', port: 1}\n");
    git(base, &["add", "-A"]);
    git(base, &["commit", "-q", "-a", "-m", "four"]);
    put("reclass-config.yml", "secret_keys: []\n");
    put("nodes/web1.yml", "parameters: {password: HUNTER3, url: '${password}@h', port: 2}\n");
    for output in ["text", "json"] {
        let said = text(&run(base, &["diff", "-b", ".", "HEAD", "-o", output]));
        assert!(said.contains("url") && !said.contains("HUNTER"), "{said}");
    }
}

#[test]
fn a_submodule_in_a_revision_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let (system, base) = (place.path().join("system"), place.path().join("a"));
    let put = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(&system.join("db.yml"), "parameters: {connections: 40}\n");
    put(&base.join("nodes/n.yml"), "classes: [system.db]\n");
    put(&base.join("classes/web.yml"), "{}\n");
    for folder in [&system, &base] {
        git(folder, &["init", "-q"]);
        git(folder, &["add", "-A"]);
        git(folder, &["commit", "-q", "-m", "one"]);
    }
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", system.to_str().unwrap()];
    git(&base, &[&add[..], &["beside"]].concat());
    git(&base, &["commit", "-q", "-a", "-m", "beside the inventory"]);
    fs::write(base.join("nodes/n.yml"), "classes: [web]\n").unwrap();
    git(&base, &["commit", "-q", "-a", "-m", "web"]);
    let output = run(place.path(), &["diff", "-b", "a", "HEAD", "HEAD"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let refused = |arguments: &[&str], part: &str| {
        let output = run(place.path(), arguments);
        let said = text(&output);
        let expected = format!("'{part}' is in a submodule, and submodules are not read");
        assert!(said.contains(&expected), "{said}");
        assert_eq!(output.status.code(), Some(74));
    };
    // The folder itself, and a link in the inventory that leads there.
    refused(&["diff", "-b", "a", "-c", "beside", "HEAD"], "beside");
    std::os::unix::fs::symlink("../beside", base.join("classes/link")).unwrap();
    git(&base, &["add", "-A"]);
    git(&base, &["commit", "-q", "-m", "link"]);
    refused(&["diff", "-b", "a", "HEAD"], "link");
    git(&base, &["rm", "-q", "classes/link"]);
    git(&base, &[&add[..], &["classes/system"]].concat());
    git(&base, &["commit", "-q", "-a", "-m", "inside"]);
    refused(&["diff", "-b", "a", "HEAD"], "system");
}

#[test]
fn links_around_a_revision_are_followed() {
    let place = tempfile::tempdir().unwrap();
    let put = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    std::os::unix::fs::symlink(place.path(), place.path().join("up")).unwrap();
    // A link from outside to one that the repository has: the revision says where that leads.
    let inner = place.path().join("b");
    for version in ["v1", "v2"] {
        put(&inner.join(version).join("nodes/n.yml"), &format!("parameters: {{v: {version}}}\n"));
        put(&inner.join(version).join("classes/c.yml"), "{}\n");
    }
    git(&inner, &["init", "-q"]);
    for version in ["v1", "v2"] {
        let _ = fs::remove_file(inner.join("current"));
        std::os::unix::fs::symlink(version, inner.join("current")).unwrap();
        git(&inner, &["add", "-A"]);
        git(&inner, &["commit", "-q", "-m", version]);
    }
    std::os::unix::fs::symlink("b/current", place.path().join("now")).unwrap();
    for way in ["b/current", "now", "up/now"] {
        let output = run(place.path(), &["diff", "-b", way, "HEAD~1", "HEAD"]);
        assert!(text(&output).contains("- v1") && text(&output).contains("+ v2"), "{}", text(&output));
    }
    // A link that leads out of the repository leads to what is there now.
    let shared = place.path().join("shared");
    put(&shared.join("deep/c.yml"), "parameters: {shared: 1}\n");
    std::os::unix::fs::symlink(&shared, inner.join("v2/classes/shared")).unwrap();
    std::os::unix::fs::symlink(shared.join("deep/c.yml"), inner.join("v2/classes/one.yml")).unwrap();
    put(&inner.join("v2/nodes/n.yml"), "classes: [shared.deep.c, one]\nparameters: {v: v2}\n");
    git(&inner, &["add", "-A"]);
    git(&inner, &["commit", "-q", "-m", "shared"]);
    let output = run(place.path(), &["diff", "-b", "now", "HEAD~1", "HEAD"]);
    for part in ["+ shared.deep.c  HEAD:current/nodes/n.yml:1:11", "+ 1  HEAD:current/classes/one.yml:1:22"] {
        assert!(text(&output).contains(part), "{}", text(&output));
    }
}

#[test]
fn a_name_with_two_files_hides_nothing_else() {
    let place = workplace();
    let base = place.path().join("a");
    fs::create_dir(base.join("classes/c")).unwrap();
    fs::write(base.join("classes/c/init.yml"), "{}\n").unwrap();
    fs::write(base.join("classes/free.yml"), "applications: [web]\nparameters: {x: 1, y: '${x}'}\n").unwrap();
    fs::write(base.join("nodes/free.yml"), "classes: [free]\n").unwrap();
    for (arguments, expected) in [
        (&["nodes"][..], "free\n"),
        (&["classes"], "free  1 node"),
        (&["applications"], "web  1 node\n"),
        (&["params"], "x  1 place, 1 node\n"),
        (&["refs"], "${x} in y  1 node\n"),
        (&["graph", "-o", "mermaid"], "\"free\""),
    ] {
        let output = run(place.path(), &[arguments, &["-b", "a"]].concat());
        let answer = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(answer.contains(expected), "{arguments:?}: {answer}");
        let problem = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!(problem.matches("error[duplicate-definition]").count(), 1, "{arguments:?}: {problem}");
        assert_eq!(output.status.code(), Some(65), "{arguments:?}");
    }
    let output = run(place.path(), &["explain", "free", "y", "-b", "a"]);
    assert_eq!(output.status.code(), Some(0), "of one node: {}", text(&output));
    // All that is wrong is said of the whole inventory; a node that does not depend on the name is answered (S6).
    let output = run(place.path(), &["-b", "a", "-i"]);
    assert_eq!(output.status.code(), Some(65));
    let said = text(&output);
    assert!(said.starts_with("error[duplicate-definition]"), "{said}");
    assert_eq!(said.matches("error[class-not-found]").count(), 2, "{said}");
    assert_eq!(run(place.path(), &["-b", "a", "-n", "free"]).status.code(), Some(0));
}

#[test]
fn the_slips_of_people_are_met_with_the_name_they_mean() {
    let place = inventory(
        "",
        &[
            ("nodes/web1.example.com.yml", "classes: [role.web]\n"),
            ("classes/role/web.yml", "parameters: {nginx: {listen: 80}}\n"),
        ],
    );
    let web1 = "'web1.example.com' is similar";
    let listen = "'nginx:listen' is similar";
    for (arguments, help) in [
        (&["-n", "web1"][..], "its name is 'web1.example.com'; 'reclass show web1'"),
        (&["-n", "WEB1.example.com"], web1),
        (&["-n", "nodes/web1.example.com.yml"], web1),
        (&["explain", "web1.example.org.yml"], web1),
        (&["lint", "Web1"], web1),
        (&["explain", "web1.example.com", "nginx.listen"], listen),
        (&["explain", "web1.example.com", "nginx/listen"], listen),
        (&["explain", "web1.example.com", "listen"], listen),
        (&["explain", "web1.example.com", "${nginx:listen}"], listen),
        (&["explain", "web1.example.com", "Nginx:Listen"], listen),
        (&["explain", "web1.example.com", "--class", "role/web"], "'role.web' is similar"),
        (&["nodes", "--class", "classes/role/web.yml"], "'role.web' is similar"),
        (&["nodes", "--class", "web"], "'role.web' is similar"),
    ] {
        let output = run(place.path(), &[arguments, &["-b", "a"]].concat());
        let said = format!("{}{}", text(&output), String::from_utf8_lossy(&output.stderr));
        assert!(said.contains(help), "{arguments:?}: {said}");
    }
    // An abbreviation of two letters is no option that somebody meant.
    for arguments in [&["--cox"][..], &["lint", "--cox"]] {
        let output = run(place.path(), arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("unexpected argument") && !said.contains("tip:"), "{said}");
        assert!(!said.contains("--co ") && !said.contains("--compose"), "{said}");
    }
}

/// Which folder was looked in, and why.
#[test]
fn a_missing_folder_names_the_option_the_file_or_the_default() {
    let place = inventory("", &[("nodes/n.yml", "{}\n"), ("classes/c.yml", "{}\n")]);
    let base = place.path().canonicalize().unwrap();
    let said = |arguments: &[&str]| {
        let output = run(place.path(), arguments);
        assert_eq!(output.status.code(), Some(74), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap().replace(base.to_str().unwrap(), "TOP")
    };
    let option = "note: set on the command line by -b\n";
    let relative = "nodes_uri: nodes\nclasses_uri: classes\n";
    for settings in ["", relative] {
        fs::write(place.path().join("reclass-config.yml"), settings).unwrap();
        for wrong in ["a/nodes", ".", "a/gone/there"] {
            let text = said(&["-b", wrong, "-i"]);
            assert!(text.contains(option), "{settings}{wrong}: {text}");
        }
        let text = said(&["-b", "aa", "-i"]);
        assert!(
            text.contains("error[directory-not-found]: cannot read the folder 'TOP/aa/nodes': no such"),
            "{text}"
        );
        assert!(text.contains(option), "{text}");
    }
    let text = said(&["-b", "a", "-u", "node", "-i"]);
    assert!(text.contains("set on the command line by -u") && text.contains("'nodes' is similar"), "{text}");
    let file = format!("{relative}inventory_base_uri: bb\n");
    fs::write(place.path().join("reclass-config.yml"), file).unwrap();
    let text = said(&["-i"]);
    assert!(text.contains("reclass-config.yml:3:1") && text.contains("'TOP/bb/nodes'"), "{text}");
    fs::write(place.path().join("reclass-config.yml"), "output: json\n").unwrap();
    if !std::path::Path::new("/etc/reclass").exists() {
        let text = said(&["-i"]);
        let because = "neither the command line nor 'reclass-config.yml' names it: it is the default";
        assert!(text.contains("'/etc/reclass/nodes'") && text.contains(because), "{text}");
        fs::remove_file(place.path().join("reclass-config.yml")).unwrap();
        let text = said(&["-i"]);
        assert!(text.contains("no inventory in this folder or above, and none in '/etc/reclass'"), "{text}");
    }
}

#[test]
fn a_circle_of_classes_shows_each_step_once() {
    let place = inventory(
        "",
        &[
            ("nodes/n.yml", "classes: [a]\n"),
            ("classes/a.yml", "classes: [b]\n"),
            ("classes/b.yml", "classes: [c]\n"),
            ("classes/c.yml", "classes: [b]\n"),
        ],
    );
    let output = run(place.path(), &["-b", "a", "-n", "n"]);
    let said = String::from_utf8(output.stderr).unwrap();
    for step in ["nodes/n.yml:1:11", "classes/a.yml:1:11", "classes/b.yml:1:11", "classes/c.yml:1:11"] {
        assert_eq!(said.matches(step).count(), 1, "{step}: {said}");
    }
}
