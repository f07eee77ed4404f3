//! The same repositories, read by kapicorp-reclass and by us: every byte of what is printed is the
//! same, names and addresses included.
//!
//! Asked is what its git storage can answer: addresses of `file`, no `env_overrides` (it ends in a
//! traceback), no relative class names below a root (it looks for them below the root twice).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::site::Site;

/// A Python with kapicorp-reclass and pygit2.
fn python() -> Option<PathBuf> {
    let local = Path::new(support::ROOT).join(".venv-oracle/bin/python");
    let named = std::env::var_os("RECLASS_TEST_PYTHON").map(PathBuf::from);
    let found = named.into_iter().chain([local]).find(|python| {
        let tried =
            Command::new(python).args(["-c", "import reclass, pygit2"]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    });
    if found.is_none() {
        support::absent("kapicorp-reclass", "make .venv-oracle/.tools");
    }
    found
}

fn site() -> Site {
    let site = Site::new();
    let odd = "exports: {ö: 1}\nparameters: {sevén: 7, file: '${_reclass_:name:full}'}\n";
    site.commit(
        "nodes",
        "master",
        &[
            ("web/web1.example.com.yml", "classes: [role.web, site]\nparameters: {a: '${b}'}\n"),
            ("_hidden/db1.yml", "environment: dev\nclasses: [site, role]\napplications: [db]\n"),
            ("plain.yaml", "environment: dev\n"),
            ("deep/er/n.yml", "classes: [odd.ö]\n"),
            ("README.md", "no node\n"),
        ],
    );
    for (branch, b) in [("base", 1), ("dev", 2)] {
        let site_class = format!("parameters: {{b: {b}, list: [{b}], branch: {branch}}}\n");
        site.commit(
            "site",
            branch,
            &[
                ("classes/site.yml", &site_class),
                ("classes/role/init.yml", "classes: [role.web]\nparameters: {list: [role]}\n"),
                ("classes/role/web.yml", "classes: [site]\nparameters: {list: [web], text: 'x ${b}'}\n"),
                ("classes/odd/ö.yml", odd),
            ],
        );
    }
    site.commit(
        "both",
        "master",
        &[
            ("nodes/n.yml", "classes: [a]\n"),
            ("nodes/below/m.yml", "classes: [a]\nenvironment: master\n"),
            ("classes/a.yml", "parameters: {a: both}\n"),
        ],
    );
    site
}

#[test]
fn kapicorp_prints_the_same() {
    let Some(python) = python() else { return };
    let site = site();
    let nodes = "{repo: 'file://SITE/nodes', cache_dir: SITE/CACHES, lock_dir: SITE/LOCKS}";
    let classes = "{repo: 'file://SITE/site', root: classes, cache_dir: SITE/CACHES, lock_dir: SITE/LOCKS";
    let apart = format!("storage_type: yaml_git, nodes_uri: {nodes}, classes_uri: {classes}}}");
    let both = "default_environment: master, nodes_uri: {repo: 'file://SITE/both', root: nodes, \
                cache_dir: SITE/CACHES, lock_dir: SITE/LOCKS}, classes_uri: {repo: 'file://SITE/both', \
                root: classes, cache_dir: SITE/CACHES, lock_dir: SITE/LOCKS}";
    let mixed = format!(
        "storage_type: mixed, nodes_uri: {{storage_type: yaml_fs, uri: SITE/nodes}}, \
         classes_uri: {classes}, storage_type: yaml_git, env_overrides: [{{dev: {{branch: base}}}}, \
         {{other: {{storage_type: yaml_fs, uri: SITE/both/classes}}}}]}}"
    );
    let all = ["web1.example.com", "db1", "plain", "n"];
    let composed = ["web.web1.example.com", "db1", "plain", "deep.er.n"];
    let literal = "compat_flags: [ComposeNodeNameLiteralDots]";
    let cases: [(String, &[&str]); 7] = [
        (apart.clone(), &all),
        (format!("{apart}, compose_node_name: true"), &composed),
        (format!("{apart}, class_mappings: ['web* site', '* odd.ö'], class_mappings_match_path: true"), &all),
        (format!("storage_type: yaml_git, {both}"), &["n", "m"]),
        (format!("storage_type: yaml_git, compose_node_name: true, {both}"), &["nodes.n", "nodes.below.m"]),
        (
            format!(
                "storage_type: yaml_git, class_mappings: ['nodes/* a'], class_mappings_match_path: true, {both}"
            ),
            &["n", "m"],
        ),
        (mixed, &all),
    ];
    let mut compared = 0;
    for (number, (settings, nodes)) in cases.into_iter().enumerate() {
        let ours = format!("{{{settings}, {literal}}}").replace("CACHES", "cache").replace("LOCKS", "lock");
        let theirs = format!("{{{settings}}}")
            .replace("CACHES", &format!("theirs{number}"))
            .replace("LOCKS", "theirs-lock");
        let folder = site.path("theirs");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("kapicorp-reclass-config.yml"), site.configuration(&theirs)).unwrap();
        for node in nodes {
            let script = Path::new(support::ROOT).join("tests/storage/git/kapicorp.py");
            let theirs = Command::new(&python)
                .args(["-W", "ignore"])
                .arg(script)
                .args(["-n", node])
                .current_dir(&folder)
                .output()
                .unwrap();
            let ours = site.program(&ours, &["-n", node]);
            let lines = |text: &[u8]| -> Vec<String> {
                let text = String::from_utf8_lossy(text).into_owned();
                text.lines().filter(|line| !line.starts_with("  timestamp: ")).map(str::to_owned).collect()
            };
            let said = String::from_utf8_lossy(&theirs.stderr).into_owned();
            assert!(theirs.status.success(), "{settings}: {node}: {said}");
            let errors = String::from_utf8_lossy(&ours.stderr).into_owned();
            assert_eq!(lines(&ours.stdout), lines(&theirs.stdout), "{settings}: {node}: {errors}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared} answers were compared");
}
