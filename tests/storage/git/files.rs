//! What is read of a commit: environments, names, links, odd files.

use std::os::unix::fs::symlink;

use reclass::{Inventory, Request};

use super::site::{ENVIRONMENTS, Site, code, git, parameter};

#[test]
fn the_environment_of_a_node_is_the_branch_of_its_classes() {
    let site = Site::with_environments();
    let inventory = site.open(ENVIRONMENTS);
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    assert_eq!(parameter(&inventory, "dev1", "branch"), "dev");
    assert_eq!(parameter(&inventory, "dev1", "sub"), "1", "relative names begin at the root");
    let info = inventory.nodeinfo("dev1", &Request::default()).unwrap();
    assert_eq!(&*info.uri, format!("git_fs://{} master nodes/dev1.yml", site.path("site").display()));
    let names: Vec<String> = info.classes.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["sub", "role"]);
}

#[test]
fn overrides_say_where_the_classes_of_an_environment_are() {
    let site = Site::with_environments();
    site.commit("other", "master", &[("deep/classes/role.yml", "parameters: {branch: other}\n")]);
    site.commit(
        "site",
        "master",
        &[
            ("nodes/none.yml", "environment: none\nclasses: [role]\n"),
            ("nodes/five.yml", "environment: 5\nclasses: [role]\n"),
            ("nodes/plain.yml", "environment: gone\nparameters: {a: 1}\n"),
            ("nodes/gone.yml", "environment: gone\nclasses: [role]\n"),
        ],
    );
    let inventory = site.open(
        "{storage_type: yaml_git, nodes_uri: {repo: SITE/site, root: nodes, CACHE}, classes_uri: {\
         repo: SITE/site, branch: __env__, root: classes, CACHE, env_overrides: [\
         {dev: {branch: base}, none: {repo: SITE/other, branch: master, root: deep/classes/}}, {5: {branch: dev}}]}}",
    );
    let branch = |node| parameter(&inventory, node, "branch");
    assert_eq!(branch("web1"), "base");
    assert_eq!(branch("dev1"), "base");
    assert_eq!(branch("none"), "other");
    assert_eq!(branch("five"), "dev");
    assert_eq!(branch("gone"), "git-branch", "nothing but its node fails");
    assert_eq!(parameter(&inventory, "plain", "a"), "1", "a node without classes needs no branch");
    let error = inventory.nodeinfo("gone", &Request::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("node 'gone': no branch 'gone' in '{}' (git-branch)", site.path("site").display())
    );
}

#[test]
fn nodes_without_an_environment_have_master_or_the_override_none() {
    let site = Site::with_environments();
    let settings = |overrides| {
        format!(
            "{{storage_type: yaml_git, default_environment: null, nodes_uri: {{repo: SITE/site, root: nodes, CACHE}}, \
             classes_uri: {{repo: SITE/site, root: classes, CACHE, env_overrides: [{overrides}]}}}}"
        )
    };
    assert_eq!(parameter(&site.open(&settings("none: {branch: dev}")), "web1", "branch"), "dev");
    assert_eq!(parameter(&site.open(&settings("")), "web1", "branch"), "class-not-found");
}

#[test]
fn mixed_takes_each_tree_from_where_it_is() {
    let site = Site::with_environments();
    std::fs::create_dir_all(site.path("local")).unwrap();
    std::fs::write(site.path("local/role.yml"), "parameters: {branch: local}\n").unwrap();
    let inventory = site.open(
        "{storage_type: mixed, inventory_base_uri: SITE, git_fetch_interval: 0, \
         nodes_uri: {storage_type: yaml_git, repo: site, root: nodes, CACHE}, \
         classes_uri: {storage_type: yaml_git, repo: site, root: classes, CACHE, \
         env_overrides: [{dev: {storage_type: yaml_fs, uri: local}}]}}",
    );
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    assert_eq!(parameter(&inventory, "dev1", "branch"), "local");
    std::fs::write(site.path("local/role.yml"), "parameters: {branch: edited}\n").unwrap();
    assert_eq!(parameter(&inventory, "dev1", "branch"), "edited");
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    site.commit("site", "base", &[("classes/role.yml", "parameters: {branch: pushed}\n")]);
    assert_eq!(parameter(&inventory, "web1", "branch"), "pushed");
    assert_eq!(parameter(&inventory, "dev1", "branch"), "edited");
}

#[test]
fn an_override_of_mixed_keeps_the_branch_and_one_of_git_is_its_own() {
    let site = Site::with_environments();
    let settings = |kind: &str, own: &str| {
        format!(
            "{{storage_type: {kind}, nodes_uri: {{{own} repo: SITE/site, root: nodes, CACHE}}, classes_uri: {{{own} \
             repo: SITE/site, branch: base, root: x, CACHE, env_overrides: [{{dev: {{root: classes}}}}]}}}}"
        )
    };
    assert_eq!(parameter(&site.open(&settings("yaml_git", "")), "dev1", "branch"), "dev");
    assert_eq!(
        parameter(&site.open(&settings("mixed", "storage_type: yaml_git,")), "dev1", "branch"),
        "base"
    );
}

/// One repository with both trees on `master`.
const MASTER: &str = "{storage_type: yaml_git, default_environment: master, git_fetch_interval: 0, \
     nodes_uri: {repo: SITE/site, root: nodes, CACHE}, classes_uri: {repo: SITE/site, root: classes, CACHE}}";

#[test]
fn a_pattern_of_classes_sees_those_of_the_branch_and_the_next_commit() {
    let site = Site::with_environments();
    let node = ("nodes/dev1.yml", "environment: dev\nclasses: ['apps.*']\n");
    site.commit("site", "master", &[node]);
    site.commit("site", "dev", &[("classes/apps/a.yml", "parameters: {apps: [a]}\n")]);
    site.commit("site", "base", &[("classes/apps/other.yml", "parameters: {apps: [other]}\n")]);
    let inventory = site.open(&ENVIRONMENTS.replacen('{', "{class_wildcards: true, ", 1));
    assert_eq!(parameter(&inventory, "dev1", "apps"), "['a']");
    site.commit("site", "dev", &[("classes/apps/b.yml", "parameters: {apps: [b]}\n")]);
    assert_eq!(parameter(&inventory, "dev1", "apps"), "['a', 'b']");
    let before = inventory.counts().computed;
    site.commit("site", "dev", &[("classes/far/c.yml", "parameters: {apps: [c]}\n")]);
    assert_eq!(parameter(&inventory, "dev1", "apps"), "['a', 'b']");
    assert_eq!(inventory.counts().computed, before, "a class that does not match");
}

#[test]
fn links_are_followed_inside_of_the_repository() {
    let site = Site::new();
    site.commit(
        "site",
        "master",
        &[
            ("nodes/n.yml", "classes: [file, chain, in.folder, up.a]\n"),
            ("nodes/dangling.yml", "classes: [gone]\n"),
            ("nodes/outside.yml", "classes: [out]\n"),
            ("nodes/circle.yml", "classes: [circle]\n"),
            ("classes/real/folder.yml", "parameters: {folder: 1}\n"),
            ("classes/a.yml", "parameters: {a: 1}\n"),
        ],
    );
    let link = |target: &str, name: &str| symlink(target, site.path("site/classes").join(name)).unwrap();
    link("a.yml", "file.yml");
    link("file.yml", "chain.yml");
    link("real", "in");
    link("nowhere.yml", "gone.yml");
    link("/etc/passwd", "out.yml");
    link("circle.yml", "circle.yml");
    std::fs::create_dir(site.path("site/classes/up")).unwrap();
    symlink("../../classes", site.path("site/classes/up/again")).unwrap();
    symlink("../real/../a.yml", site.path("site/classes/up/a.yml")).unwrap();
    site.commit("site", "master", &[]);
    let inventory = site.open(MASTER);
    assert_eq!(parameter(&inventory, "n", "a"), "1");
    assert_eq!(parameter(&inventory, "n", "folder"), "1");
    for (node, reason) in [
        ("dangling", "a symbolic link leads to nothing"),
        ("outside", "a symbolic link leads out of the repository"),
        ("circle", "too many symbolic links lead to one another"),
    ] {
        let error = inventory.nodeinfo(node, &Request::default()).unwrap_err();
        assert_eq!(code(&error), "file-unreadable");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn links_that_multiply_are_a_limit() {
    let site = Site::new();
    site.commit(
        "site",
        "master",
        &[("nodes/n.yml", "classes: [c]\n"), ("classes/c.yml", "{}\n"), ("d30/x.yml", "{}\n")],
    );
    for number in 0..30 {
        let folder = site.path("site").join(format!("d{number}"));
        std::fs::create_dir(&folder).unwrap();
        let next = format!("../d{}", number + 1);
        symlink(&next, folder.join("a")).unwrap();
        symlink(&next, folder.join("b")).unwrap();
    }
    symlink("../d0", site.path("site/classes/d")).unwrap();
    site.commit("site", "master", &[]);
    let error = site.open(MASTER).nodes().unwrap_err();
    assert_eq!(code(&error), "yaml-limit", "{error}");
}

#[test]
fn limits_of_a_tree_are_those_of_a_folder() {
    let site = Site::new();
    let large = format!("parameters: {{a: {}}}\n", "x".repeat(1 << 21));
    let files = [("nodes/n.yml", "classes: [c]\n"), ("classes/c.yml", &large), ("classes/a/b/d.yml", "{}\n")];
    site.commit("site", "master", &files);
    let ask = |low: &str| {
        let settings = MASTER.replace("interval: 0", &format!("interval: 0{low}"));
        let inventory = site.open(&settings);
        inventory.nodeinfo("n", &Request::default()).map(|_| ())
    };
    ask("").unwrap();
    for (setting, low, what) in [
        ("limit_files", 3, "the number of files and folders in '"),
        ("limit_folder_depth", 1, "the depth of folders in '"),
        ("limit_file_size", 1, "the size of '"),
    ] {
        let error = ask(&format!(", {setting}: {low}")).unwrap_err();
        assert_eq!(code(&error), "yaml-limit");
        assert!(error.first().kind.to_string().starts_with(what), "{error}");
        assert_eq!(error.first().kind.help(), Some(format!("'{setting}' is the limit")));
    }
}

#[test]
fn odd_names_and_bytes_are_as_in_a_folder() {
    use std::os::unix::ffi::OsStrExt as _;
    let site = Site::new();
    site.commit(
        "site",
        "master",
        &[
            (".gitattributes", "*.yml text eol=crlf export-ignore\n"),
            (".gitlab-ci.yml", "{broken"),
            ("nodes/.hidden.yml", "{broken"),
            ("nodes/.git-hidden/n.yml", "{broken"),
            ("nodes/CVS/n.yml", "{broken"),
            ("nodes/n.yml", "classes: ['größe mit.ein:fach', new]\nparameters: {n: 1}\n"),
            ("nodes/read.me", "{broken"),
            ("nodes-old/n.yml", "{broken"),
            ("classes/größe mit/ein:fach.yml", "parameters: {umlaut: 1}\n"),
            ("classes/new.yaml", "parameters:\n  text: |\n    a\n    b\n"),
        ],
    );
    let odd = std::ffi::OsStr::from_bytes(b"site/classes/\xff\nline.yml");
    std::fs::write(site.path("").join(odd), "parameters: {}\n").unwrap();
    site.commit("site", "master", &[]);
    let inventory = site.open(MASTER);
    let names: Vec<String> = inventory.nodes().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["n"]);
    // A class name cannot have a space; the file is there all the same.
    assert_eq!(parameter(&inventory, "n", "umlaut"), "class-name-invalid");
    site.commit("site", "master", &[("nodes/n.yml", "classes: [new]\nparameters: {n: 1}\n")]);
    assert_eq!(parameter(&inventory, "n", "text"), "a\nb\n", "as committed, not as checked out");
}

#[test]
fn carriage_returns_are_those_of_the_commit() {
    let site = Site::new();
    site.commit("site", "master", &[("nodes/n.yml", "parameters:\r\n  text: |\r\n    a\r\n    b\r\n")]);
    site.commit("site", "master", &[("classes/x.yml", "parameters: {}\n")]);
    let inventory = site.open(MASTER);
    assert_eq!(parameter(&inventory, "n", "text"), "a\nb\n");
}

#[test]
fn submodules_are_other_repositories() {
    let site = Site::new();
    site.commit("sub", "master", &[("n.yml", "parameters: {}\n")]);
    site.commit("site", "master", &[("nodes/n.yml", "parameters: {n: 1}\n"), ("classes/x.yml", "{}\n")]);
    let sub = site.path("sub").display().to_string();
    git(&site.path("site"), &["submodule", "--quiet", "add", &sub, "nodes/sub"]);
    site.commit("site", "master", &[]);
    assert_eq!(parameter(&site.open(MASTER), "n", "n"), "1");
}

#[test]
fn one_name_with_two_files_is_an_error_with_both() {
    let site = Site::new();
    site.commit(
        "site",
        "master",
        &[("nodes/n.yml", "classes: [a]\n"), ("classes/a.yml", "{}\n"), ("classes/a/init.yml", "{}\n")],
    );
    let inventory = site.open(MASTER);
    let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
    let repo = site.path("site").display().to_string();
    assert_eq!(
        error.to_string(),
        format!(
            "{repo} master classes/a/init.yml: node 'n': class 'a' is defined twice, in '{repo} master \
             classes/a/init.yml' and in '{repo} master classes/a.yml' (duplicate-definition); remove or \
             rename all of these files but one"
        )
    );
    site.commit("site", "master", &[("nodes/deep/n.yml", "{}\n"), ("nodes/free.yml", "{}\n")]);
    let error = inventory.nodeinfo("n", &Request::default()).unwrap_err();
    assert!(error.to_string().contains("node 'n' is defined twice"), "{error}");
    inventory.nodeinfo("free", &Request::default()).unwrap();
    assert_eq!(code(&inventory.inventory().unwrap_err()), "duplicate-definition");
}

#[test]
fn queries_reach_nodes_of_other_branches() {
    let site = Site::new();
    for branch in ["base", "dev"] {
        let role = format!("exports: {{branch: {branch}}}\n");
        site.commit("site", branch, &[("classes/role.yml", &role)]);
    }
    site.commit(
        "site",
        "master",
        &[
            (
                "nodes/asks.yml",
                "parameters: {all: '$[ +AllEnvs exports:branch ]', own: '$[ exports:branch ]'}\n",
            ),
            ("nodes/b.yml", "classes: [role]\n"),
            ("nodes/d.yml", "environment: dev\nclasses: [role]\n"),
        ],
    );
    let inventory = site.open(ENVIRONMENTS);
    assert_eq!(parameter(&inventory, "asks", "all"), "{'b': 'base', 'd': 'dev'}");
    assert_eq!(parameter(&inventory, "asks", "own"), "{'b': 'base'}");
    site.commit("site", "dev", &[("classes/role.yml", "exports: {branch: changed}\n")]);
    assert_eq!(parameter(&inventory, "asks", "all"), "{'b': 'base', 'd': 'changed'}");
}

#[test]
fn a_survey_sees_every_branch_that_a_node_has() {
    let site = Site::with_environments();
    let settings =
        ENVIRONMENTS.replace("root: classes", "root: classes, env_overrides: [{dev: {}}, {base: {}}]");
    for settings in [ENVIRONMENTS, &settings] {
        let output = site.program(settings, &["classes"]);
        let text = String::from_utf8_lossy(&output.stdout);
        let classes: Vec<_> = text.lines().map(|line| line.split("  ").next().unwrap_or_default()).collect();
        assert_eq!(classes, ["role", "sub", "role", "sub"], "{text}");
    }
    let output = site.program(&settings, &["lint", "-o", "concise"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("class-unused"), "{text}");
}

#[test]
fn what_fails_alike_at_two_revisions_is_no_difference() {
    let site = Site::with_environments();
    site.commit("site", "master", &[("nodes/broken.yml", "classes: [gone]\n")]);
    site.commit("site", "master", &[("nodes/plain.yml", "parameters: {a: 1}\n")]);
    let settings = ENVIRONMENTS.replace("root: classes", "root: classes, branch: master");
    let output = site.program(&settings, &["diff", "master~1", "master"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let failing = "3 nodes are not compared, they render in neither state: broken, dev1, web1";
    assert!(text.contains("plain") && text.contains(failing), "{output:?}");
    assert_eq!(text.matches("broken").count(), 1, "{output:?}");
}

#[test]
fn a_revision_is_read_where_a_repository_has_it() {
    let site = Site::with_environments();
    let first = git(&site.path("site"), &["rev-parse", "base"]);
    git(&site.path("site"), &["tag", "-a", "-m", "v1", "v1", "base"]);
    site.commit("site", "base", &[("classes/role.yml", "parameters: {branch: later}\n")]);
    let at = |revision: &str| {
        let mut options = site.options(
            "{storage_type: yaml_git, nodes_uri: {repo: SITE/nodes, CACHE}, \
             classes_uri: {repo: SITE/site, branch: base, root: classes, CACHE}}",
        );
        options.insert("git_revision".into(), reclass::value::Value::text(revision));
        Inventory::open(&options).unwrap()
    };
    site.commit("nodes", "master", &[("web1.yml", "classes: [role]\n")]);
    assert_eq!(parameter(&at("v1"), "web1", "branch"), "base");
    assert_eq!(parameter(&at(&first), "web1", "branch"), "base");
    assert_eq!(parameter(&at("dev"), "web1", "branch"), "dev");
    assert_eq!(parameter(&at("nowhere"), "web1", "branch"), "later");
    assert_eq!(parameter(&at("--output=/x"), "web1", "branch"), "later");
    let output = site.program(ENVIRONMENTS, &["diff", "base", "nowhere"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("cannot read the revision 'nowhere'"), "{text}");
}

#[test]
fn schemas_stand_beside_the_nodes_in_their_repository_or_where_a_setting_says() {
    let site = Site::new();
    site.commit(
        "site",
        "master",
        &[
            ("inventory/nodes/n.yml", "classes: [c]\n"),
            ("inventory/classes/c.yml", "parameters: {web: {port: x}}\n"),
            ("inventory/schemas/web.yaml", "properties: {port: {type: integer}}\n"),
        ],
    );
    site.commit("types", "stable", &[("of/web.yaml", "properties: {port: {type: boolean}}\n")]);
    let settings = |more: &str| {
        format!(
            "{{storage_type: yaml_git, git_fetch_interval: 0, {more} \
             nodes_uri: {{repo: SITE/site, branch: master, root: inventory/nodes, CACHE}}, \
             classes_uri: {{repo: SITE/site, branch: master, root: inventory/classes, CACHE}}}}"
        )
    };
    let lint = |settings: &str| {
        let output = site.program(settings, &["lint", "--select", "schema"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let found = lint(&settings(""));
    assert!(found.contains("'web:port' must be an integer, not a string"), "{found}");
    assert!(found.contains("inventory/classes/c.yml:1:26"), "{found}");
    assert!(found.contains("inventory/schemas/web.yaml:1:21"), "{found}");
    let elsewhere = "schemas_uri: {repo: SITE/types, branch: stable, root: of, CACHE},";
    let found = lint(&settings(elsewhere));
    assert!(found.contains("'web:port' must be a boolean, not a string"), "{found}");
    site.commit("site", "master", &[("inventory/classes/c.yml", "parameters: {web: {port: 80}}\n")]);
    assert_eq!(lint(&settings("")), "0 errors, 0 warnings\n");
}
