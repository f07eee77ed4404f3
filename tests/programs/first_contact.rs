//! The first things that people type: `reclass` alone, a node's name, `show`, `init` in a folder that is not empty,
//! and commands without `-b` in an inventory or below it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::folders::write;
use tempfile::TempDir;

/// An inventory in a repository, in a home folder.
fn workplace() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().join("home/repository/inventory");
    write(
        &base.join("nodes/web1.example.com.yml"),
        "classes: [app]\nparameters: {nginx: {listen: 80}, text: \"a 'b'\"}\n",
    );
    write(&base.join("nodes/db.yml"), "classes: [app]\n");
    write(&base.join("classes/app.yml"), "applications: [app]\nparameters: {db: {password: hunter22}}\n");
    fs::create_dir_all(base.join("classes/deep/below")).unwrap();
    fs::create_dir(directory.path().join("home/repository/.git")).unwrap();
    directory
}

fn run(place: &TempDir, folder: &str, arguments: &[&str], variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
    command.current_dir(place.path().join(folder)).env_clear().env("HOME", place.path().join("home"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(variables.iter().copied());
    command.args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const INVENTORY: &str = "home/repository/inventory";

#[test]
fn reclass_alone_says_what_it_is() {
    let place = workplace();
    let output = run(&place, INVENTORY, &[], &[]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""));
    let said = err(&output);
    assert_eq!(said.lines().count(), 6, "{said}");
    for command in ["show NODE", "explain NODE PATH", "lint", "init FOLDER", "--help"] {
        assert!(said.contains(&format!("reclass {command}")), "{said}");
    }
}

#[test]
fn words_that_people_type_are_right_or_lead_on() {
    let place = workplace();
    let ask =
        |arguments: &[&str]| run(&place, INVENTORY, arguments, &[("SOURCE_DATE_EPOCH", Path::new("0"))]);
    for (words, options) in [
        (&["nodeinfo", "db"][..], &["--nodeinfo", "db"][..]),
        (&["inventory"], &["--inventory"]),
        (&["version"], &["--version"]),
        (&["-V"], &["--version"]),
        (&["help", "show"], &["show", "--help"]),
    ] {
        let (word, option) = (ask(words), ask(options));
        assert_eq!((out(&word), word.status), (out(&option), option.status), "{words:?}");
        assert!(word.status.success(), "{words:?}: {}", err(&word));
    }
    let output = ask(&["web1.example.com"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("'reclass show web1.example.com' shows the data of the node"),
        "{}",
        err(&output)
    );
}

#[test]
fn words_and_options_of_other_programs_lead_on() {
    let place = workplace();
    let class = place.path().join(INVENTORY).join("classes/app/nginx.yml");
    write(&class, "parameters: {nginx: {workers: 4}}\n");
    write(&place.path().join(INVENTORY).join("nodes/db.yml"), "classes: [app, app.nginx]\n");
    for (arguments, said) in [
        (&["check"][..], "'reclass lint' checks"),
        (&["ls"], "'reclass nodes' lists"),
        (&["render", "web1"], "'reclass show NODE'"),
        (&["query", "nginx:workers"], "'reclass params PATH'"),
        (&["search", "nginx"], "'reclass params'"),
        (&["tree"], "'reclass graph'"),
        (&["pillar", "web1"], "'reclass-salt --pillar NODE'"),
        (&["top"], "'reclass-salt --top'"),
        (&["show", "web1", "--json"], "'-o json' prints JSON"),
        (&["lint", "--strict"], "ends with 1 for a warning"),
        (&["diff", "--staged"], "'reclass diff HEAD'"),
        (&["-n", "-o", "json"], "'-n' needs a node, and took '-o' for its name"),
        (&["--nodeinfo", "-b", "."], "'--nodeinfo NODE -b .'"),
        (&["reclass-salt", "--pillar", "-b", "."], "'--pillar NODE -b .'"),
        (&["reclass-salt", "web1"], "'reclass-salt --pillar web1'"),
        (&["reclass-ansible", "--host", "-b", "."], "'--host NODE -b .'"),
        (&["explain", "nginx:listen"], "the node comes first: 'NODE nginx:listen'"),
        (&["explain", "nginx"], "the node comes first: 'NODE nginx'"),
        (&["show", "web1,db"], "takes a glob too, as 'web*'"),
        (&["nodes", "-c", "app.nginx"], "'--class NAME' chooses nodes"),
    ] {
        let output = run(&place, INVENTORY, arguments, &[]);
        assert!(!output.status.success(), "{arguments:?}");
        let message = err(&output);
        assert!(message.contains(said) && !message.contains("use '-- "), "{arguments:?}: {message}");
        assert!(!message.contains("similar"), "{arguments:?}: {message}");
    }
    for (name, subject) in [("app.nginx", "class:app.nginx"), ("nginx:workers", "parameter:nginx:workers")] {
        let [short, long] = [name, subject].map(|name| out(&run(&place, INVENTORY, &["impact", name], &[])));
        assert!(!short.is_empty() && short == long, "{name}: {short}");
    }
}

#[test]
fn the_short_help_is_short_and_the_long_one_has_everything() {
    let place = workplace();
    let help = |arguments: &[&str]| out(&run(&place, INVENTORY, arguments, &[]));
    let rare = ["--ignore-class-notfound", "--storage-type", "--grains"];
    for command in [&[][..], &["show"], &["lint"]] {
        let (short, long) = (help(&[command, &["-h"]].concat()), help(&[command, &["--help"]].concat()));
        assert!(rare.iter().all(|option| !short.contains(option)), "{command:?}: {short}");
        // What all commands share is said once.
        let has_all = rare.iter().all(|option| long.contains(option));
        assert!(has_all == command.is_empty(), "{command:?}: {long}");
        assert!(command.is_empty() || long.contains("see 'reclass --help'"), "{command:?}: {long}");
    }
    // Every command is in a group.
    let (help, version) = (help(&["-h"]), help(&["--version"]));
    let commands = version.lines().find_map(|line| line.strip_prefix("commands:")).unwrap();
    for name in commands.split_whitespace() {
        assert!(help.contains(&format!("\n  {name} ")), "no `GROUPS` of the commands has '{name}'");
    }
}

#[test]
fn show_prints_values() {
    let place = workplace();
    let show = |arguments: &[&str]| run(&place, INVENTORY, &[&["show"], arguments].concat(), &[]);
    for (arguments, expected) in [
        (&["web1", "nginx:listen"][..], "80\n"),
        (&["web1", "nginx"], "listen: 80\n"),
        (&["web1", "text"], "a 'b'\n"),
        (&["web1", "text", "--raw"], "a 'b'\n"),
        (&["web1", "nginx", "text"], "nginx:\n  listen: 80\ntext: a 'b'\n"),
        (&["web1", "nginx", "-o", "json"], "{\n  \"listen\": 80\n}\n"),
        (&["web1", "db:password"], "'***'\n"),
        (&["web1", "db:password", "--raw"], "***\n"),
        (&["web1", "db:password", "--raw", "--show-secrets"], "hunter22\n"),
    ] {
        let output = show(arguments);
        assert_eq!((out(&output).as_str(), err(&output).as_str()), (expected, ""), "{arguments:?}");
    }
    let whole = out(&show(&["web1"]));
    for part in
        ["applications:\n- app\n", "classes:\n- app\n", "environment: base\n", "exports: {}\n", "'***'"]
    {
        assert!(whole.contains(part), "{whole}");
    }
    let coloured = out(&show(&["web1", "nginx", "--color", "always"]));
    assert_eq!(coloured, "\u{1b}[36mlisten\u{1b}[0m: 80\n");
    for (arguments, code, message) in [
        (&["web1", "nginx", "--raw"][..], 2, "--raw prints one text or number"),
        (&["web1", "nginx:lisen"], 74, "'nginx:listen' is similar"),
        (&["web1", "ngnix:*"], 74, "no parameter 'ngnix:*' in this node"),
        (&["web1", "nginx[0]"], 74, "no parameter 'nginx[0]' in this node"),
        (&["web9"], 74, "no node 'web9'"),
    ] {
        let output = show(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(err(&output).contains(message), "{arguments:?}: {}", err(&output));
    }
}

#[test]
fn a_short_name_is_one_node() {
    let place = workplace();
    assert!(run(&place, INVENTORY, &["explain", "web1", "nginx:listen"], &[]).status.success());
    write(&place.path().join(INVENTORY).join("nodes/web1.example.org.yml"), "{}\n");
    let output = run(&place, INVENTORY, &["show", "web1"], &[]);
    assert_eq!(output.status.code(), Some(74));
    let message = err(&output);
    assert!(message.contains("short name: 'web1.example.com', 'web1.example.org'"), "{message}");
}

#[test]
fn commands_on_nodes_take_short_names() {
    let place = workplace();
    for arguments in [&["diff", ".", ".", "web1"][..], &["lint", "web1"], &["graph", "-o", "dot", "web1"]] {
        let output = run(&place, INVENTORY, arguments, &[]);
        assert!(!err(&output).contains("no node"), "{arguments:?}: {}", err(&output));
    }
}

#[test]
fn show_prints_a_value_of_each_node() {
    let place = workplace();
    write(&place.path().join(INVENTORY).join("nodes/db.yml"), "parameters: {nginx: {listen: '81'}}\n");
    write(&place.path().join(INVENTORY).join("nodes/without.yml"), "{}\n");
    let show = |arguments: &[&str]| run(&place, INVENTORY, &[&["show"], arguments].concat(), &[]);
    for (arguments, expected) in [
        (&["*", "nginx:listen"][..], "db: '81'\nweb1.example.com: 80\n"),
        (&["d*", "nginx:*", "-o", "json"], "{\n  \"db\": {\n    \"nginx:listen\": \"81\"\n  }\n}\n"),
    ] {
        let output = show(arguments);
        assert_eq!((out(&output).as_str(), err(&output).as_str()), (expected, ""), "{arguments:?}");
    }
    for (arguments, code, message) in [
        (&["*", "nginx:lisen"][..], 74, "no parameter matches 'nginx:lisen'"),
        (&["mail*"], 74, "no node 'mail*'"),
        (&["*", "nginx:listen", "--raw"], 2, "--raw takes one NODE"),
    ] {
        let output = show(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", err(&output));
        assert!(err(&output).contains(message), "{arguments:?}: {}", err(&output));
    }
    // A node that fails does not hide the others.
    write(&place.path().join(INVENTORY).join("nodes/without.yml"), "parameters: {nginx: '${gone}'}\n");
    let output = show(&["*", "nginx"]);
    assert!(out(&output).contains("listen: 80") && err(&output).contains("${gone}"), "{}", err(&output));
    assert_eq!(output.status.code(), Some(65));
}

#[test]
fn an_inventory_is_found_from_inside() {
    let place = workplace();
    let base = place.path().join(INVENTORY);
    let nodes = |folder: &str, variables: &[(&str, &Path)]| run(&place, folder, &["nodes"], variables);
    let found = |folder: &str| out(&nodes(folder, &[])) == "db\nweb1.example.com\n";
    for folder in
        [INVENTORY, "home/repository/inventory/nodes", "home/repository/inventory/classes/deep/below"]
    {
        assert!(found(folder), "{folder}");
    }
    // Beside it, and above the repository, there is none.
    assert!(!found("home/repository") && !found("home"));
    let elsewhere = [("RECLASS_BASE", base.as_path())];
    assert_eq!(out(&nodes("home", &elsewhere)), "db\nweb1.example.com\n");
    // The settings file of the inventory counts, with paths that begin at its folder.
    fs::rename(base.join("nodes"), base.join("machines")).unwrap();
    fs::write(base.join("reclass-config.yml"), "nodes_uri: machines\n").unwrap();
    assert!(found("home/repository/inventory/classes/deep") && found("home/repository/inventory/machines"));
    // In its own folder it need not name that folder either.
    assert!(found(INVENTORY));
    // A folder on the command line counts alone. The variable counts before a settings file that is found, except
    // where the Python programs would take this one.
    let output = run(&place, "home/repository/inventory/classes", &["nodes", "-b", ".."], &[]);
    assert!(err(&output).contains("/nodes'"), "{}", err(&output));
    fs::write(place.path().join("home/reclass-config.yml"), "inventory_base_uri: /nowhere\n").unwrap();
    assert_eq!(out(&nodes("home", &elsewhere)), "db\nweb1.example.com\n");
    for (arguments, variables) in [(&["nodes"][..], &[][..]), (&["--inventory"], &elsewhere)] {
        let output = run(&place, "home", arguments, variables);
        assert!(err(&output).contains("/nowhere"), "{arguments:?}: {}", err(&output));
    }
    // A search that passed the top of a repository would find what is not meant.
    fs::remove_file(place.path().join("home/reclass-config.yml")).unwrap();
    fs::create_dir(base.join("classes/deep/.git")).unwrap();
    assert!(!found("home/repository/inventory/classes/deep/below"));
}

#[test]
fn a_settings_file_beside_the_nodes_is_about_its_folder_without_a_command_too() {
    if Path::new("/etc/reclass").exists() {
        return;
    }
    let place = workplace();
    let base = place.path().join(INVENTORY);
    let settings = |text: &str| fs::write(base.join("reclass-config.yml"), text).unwrap();
    let works = |text: &str| {
        for arguments in
            [&["nodes"][..], &["show", "db"], &["lint", "--select", "directory-*"], &["-n", "db"], &["-i"]]
        {
            let output = run(&place, INVENTORY, arguments, &[]);
            assert!(output.status.success(), "{text}{arguments:?}: {}", err(&output));
        }
    };
    for text in ["class_mappings: ['db app']\n", "inventory_base_url: .\n", "# settings\n", "", "{}\n"] {
        settings(text);
        works(text);
    }
    // A warning stands apart from the error below it.
    settings("inventory_base_url: .\n");
    let said = err(&run(&place, INVENTORY, &["-n", "gone"], &[]));
    assert!(said.starts_with("warning") && said.contains("is similar\n\nerror[node-not-found]"), "{said}");
    // The help for an inventory of Kapitan.
    fs::rename(base.join("nodes"), base.join("targets")).unwrap();
    settings("");
    let said = err(&run(&place, INVENTORY, &["-n", "db"], &[]));
    assert!(said.contains("'nodes_uri: targets' in reclass-config.yml"), "{said}");
    settings("nodes_uri: targets\n");
    works("targets");
    // A file that names an inventory is obeyed.
    settings("inventory_base_uri: /nowhere\nnodes_uri: targets\n");
    let said = err(&run(&place, INVENTORY, &["-n", "db"], &[]));
    assert!(said.contains("'/nowhere/targets'"), "{said}");
    // One that sets nothing is no inventory.
    fs::create_dir(place.path().join("home/empty")).unwrap();
    fs::write(place.path().join("home/empty/reclass-config.yml"), "# settings\n").unwrap();
    for arguments in [&["nodes"][..], &["-i"]] {
        let said = err(&run(&place, "home/empty", arguments, &[]));
        assert!(said.contains("no inventory in this folder or above"), "{arguments:?}: {said}");
    }
}

#[test]
fn init_works_beside_other_files() {
    let place = workplace();
    let folder = place.path().join("home/new");
    for name in [".git/HEAD", "README.md", ".gitignore"] {
        write(&folder.join(name), "x\n");
    }
    let output = run(&place, "home/new", &["init", "."], &[]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(fs::read_to_string(folder.join("README.md")).unwrap(), "x\n");
    assert!(run(&place, "home/new", &["show", "web1", "nginx:listen"], &[]).status.success());
    let output = run(&place, "home/new", &["init", "."], &[]);
    assert_eq!(output.status.code(), Some(65));
    assert!(err(&output).contains("reclass-config.yml' is in the way"), "{}", err(&output));
    // A file in place of a folder, too, is found before anything is written.
    let half = place.path().join("home/half");
    write(&half.join("classes"), "x\n");
    let output = run(&place, "home/half", &["init", "."], &[]);
    assert!(err(&output).contains("classes' is in the way"), "{}", err(&output));
    assert_eq!(fs::read_dir(&half).unwrap().count(), 1);
}

#[test]
fn show_has_the_problems_and_warnings_of_nodeinfo() {
    let place = workplace();
    let text = "parameter: {x: 1}\nparameters:\n  password: abc\n  accounts: {abc: {home: '${accounts:${password}}'}}\n  one: ${gone}\nexports: {peers: '${missing}'}\n";
    let file = place.path().join("home/repository/inventory/nodes/db.yml");
    write(&file, text);
    let ask = |arguments: &[&str]| run(&place, "home/repository/inventory", arguments, &[]);
    let (shown, asked) = (ask(&["show", "db"]), ask(&["--nodeinfo", "db"]));
    assert_eq!((shown.status.code(), err(&shown)), (asked.status.code(), err(&asked)));
    assert!(err(&shown).contains("in export 'peers'") && err(&shown).contains("unknown section 'parameter'"));
    // The way of the cycle is a secret, for one value too.
    for arguments in [["show", "db", "accounts"], ["explain", "db", "accounts"]] {
        let output = ask(&arguments);
        let said = out(&output) + &err(&output);
        assert!(said.contains("references form a cycle: ***") && !said.contains("accounts:abc"), "{said}");
    }
    write(&file, "parameter: {x: 1}\nparameters: {a: 1}\n");
    let shown = ask(&["show", "db", "a"]);
    assert_eq!((shown.status.code(), out(&shown)), (Some(0), "1\n".into()));
    assert!(err(&shown).contains("unknown section 'parameter'"), "{}", err(&shown));
}

#[test]
fn commits_before_the_settings_file_are_compared_in_an_inventory_that_was_found() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("home/new");
    write(&base.join("nodes/n.yml"), "parameters: {a: 1}\n");
    write(&base.join("classes/c.yml"), "{}\n");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x@x", "-c", "init.defaultBranch=main"]);
        let done = git.current_dir(&base).args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", err(&done));
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=one"]);
    let differs = |arguments: &[&str]| {
        let output = run(&place, "home/new", arguments, &[]);
        assert!(out(&output).contains("parameters a"), "{arguments:?}: {}{}", out(&output), err(&output));
    };
    write(&base.join("nodes/n.yml"), "parameters: {a: 2}\n");
    differs(&["diff", "HEAD"]);
    write(&base.join("reclass-config.yml"), "pretty_print: true\n");
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=two"]);
    differs(&["diff", "HEAD~1", "HEAD"]);
    let output = run(&place, "home/new", &["diff", "HEAD~1..HEAD"], &[]);
    assert!(err(&output).contains("diff HEAD~1 HEAD"), "{}", err(&output));
}

#[test]
fn without_an_inventory_or_an_argument_the_way_on_is_said_once() {
    let place = workplace();
    write(&place.path().join("home/new/nodes/web1.lan.yml"), "{}\n");
    write(&place.path().join("home/new/classes/role.yml"), "{}\n");
    fs::create_dir_all(place.path().join("home/empty")).unwrap();
    let said = |folder: &str, arguments: &[&str]| err(&run(&place, folder, arguments, &[]));
    let nothing = said("home/empty", &["nodes"]);
    assert_eq!(nothing.matches("error").count(), 1, "{nothing}");
    assert!(
        nothing.contains("no inventory in this folder or above") && nothing.contains("reclass init DIR"),
        "{nothing}"
    );
    for (arguments, way_on) in [
        (&["show"][..], "'reclass nodes' lists the nodes"),
        (&["diff"], "'reclass diff HEAD'"),
        (&["init"], "'reclass init .'"),
        (&["list"], "'reclass nodes'"),
        (&["test"], "where the command line names none, the tests are in this folder"),
        (&["explain-error", "nosuch"], "'reclass explain-error' lists all codes"),
        (&["get"], "'reclass show NODE PATH'"),
        (&["web1"], "'reclass show web1' shows the data of the node"),
        (&["wbe1"], "'reclass show web1.lan' shows the data of the node"),
        (&["show", "role"], "'role' is a class: 'reclass nodes --class role'"),
    ] {
        let text = said("home/new", arguments);
        assert!(text.contains(way_on), "{arguments:?}: {text}");
    }
    // A settings file of another folder that names no inventory leads to the one around, with its settings.
    write(&place.path().join("home/reclass-config.yml"), "output: json\n");
    write(&place.path().join("home/nodes/web1.lan.yml"), "{}\n");
    for arguments in [&["-n", "web1.lan"][..], &["show", "web1"]] {
        let output = run(&place, "home/new/nodes", arguments, &[]);
        assert!(output.status.success(), "{arguments:?}: {}", err(&output));
    }
    assert!(out(&run(&place, "home/new/nodes", &["-n", "web1.lan"], &[])).starts_with('{'));
    // One that names a folder is obeyed.
    write(&place.path().join("home/reclass-config.yml"), "nodes_uri: nowhere\n");
    let default = said("home/new", &["-n", "web1.lan"]);
    assert!(default.contains("'/etc/reclass/nowhere'"), "{default}");
    let unknown = said("home/new", &["nosuchnode"]);
    assert!(!unknown.contains("shows the data"), "{unknown}");
}

#[test]
fn half_an_inventory_and_a_file_with_another_ending_are_named() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("home/new");
    write(&base.join("nodes/web1.lan.yml"), "{}\n");
    let said = |folder: &str, arguments: &[&str]| err(&run(&place, folder, arguments, &[]));
    let missing = said("home/new", &["nodes"]);
    assert!(missing.contains("'nodes' is here, but not 'classes'"), "{missing}");
    write(&base.join("classes/app.txt"), "{}\n");
    let below = said("home", &["nodes"]);
    assert!(below.contains("is an inventory: -b"), "{below}");
    let short = said("home/new", &["--nodeinfo", "web1"]);
    assert!(short.contains("its name is 'web1.lan'") && !short.contains("does not end in"), "{short}");
    write(&base.join("nodes/n.yml"), "classes: [app]\n");
    write(&base.join("nodes/db.yaml.bak"), "{}\n");
    for (node, file) in [("n", "classes/app.txt'"), ("db", "nodes/db.yaml.bak'")] {
        let message = said("home/new", &["show", node]);
        assert!(message.contains(file) && message.contains("does not end in .yml or .yaml"), "{message}");
    }
}
