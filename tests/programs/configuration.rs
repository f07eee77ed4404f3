//! Configuration files turn into settings: the one that is found, the one that is named, that of a Salt
//! master, and the one that nobody reads.

use support::folders;

use std::path::Path;
use std::process::{Command, Output};

use folders::write;
use tempfile::TempDir;

/// An inventory in `srv` whose settings file gives node `n` its class, and an empty home folder.
fn site() -> TempDir {
    let site = tempfile::tempdir().unwrap();
    let base = site.path().join("srv");
    write(&base.join("nodes/n.yml"), "parameters: {own: 1}\n");
    write(&base.join("classes/web.yml"), "parameters: {web: 1}\n");
    write(&base.join("reclass-config.yml"), "inventory_base_uri: .\nclass_mappings: ['n web']\n");
    write(&site.path().join("home/.keep"), "");
    site
}

fn run(site: &TempDir, folder: &str, program: &str, arguments: &[&str]) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_reclass")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let shown = site.path().display().to_string();
    Command::new(programs.join(program))
        .args(arguments.iter().map(|word| word.replace("SITE", &shown)))
        .current_dir(site.path().join(folder))
        .env_clear()
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("HOME", site.path().join("home"))
        .output()
        .unwrap()
}

/// What a program prints that ends well, and what it says beside it.
fn said(site: &TempDir, folder: &str, arguments: &[&str]) -> (String, String) {
    let output = run(site, folder, "reclass", arguments);
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{arguments:?}: {err}");
    (out, err)
}

#[test]
fn a_settings_file_that_is_not_read_is_a_note() {
    let site = site();
    let (out, err) = said(&site, "home", &["-b", "SITE/srv", "-n", "n"]);
    assert!(!out.contains("web: 1"), "{out}");
    assert!(err.starts_with("note[configuration-unread]: "), "{err}");
    assert!(err.contains("srv/reclass-config.yml' is not read") && err.contains("(class_mappings)"), "{err}");
    for (program, arguments) in [
        ("reclass", &["explain", "n", "own", "-b", "SITE/srv"][..]),
        ("reclass-salt", &["-b", "SITE/srv", "--top"]),
        ("reclass-ansible", &["-b", "SITE/srv", "--list"]),
    ] {
        let output = run(&site, "home", program, arguments);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && err.contains("note[configuration-unread]"),
            "{arguments:?}: {err}"
        );
    }
    let lint = run(&site, "home", "reclass", &["lint", "-b", "SITE/srv", "-o", "concise"]);
    let found = String::from_utf8_lossy(&lint.stdout).into_owned();
    assert!(found.contains("warning: ") && found.contains("(configuration-unread)"), "{found}");
    assert!(lint.stderr.is_empty(), "lint says it in its answer");
}

#[test]
fn a_settings_file_that_is_read_or_says_the_same_is_no_note() {
    let site = site();
    let (out, err) = said(&site, "srv", &["-n", "n"]);
    assert!(out.contains("web: 1") && err.is_empty(), "{out}{err}");
    // Whatever the command line says instead of it.
    assert_eq!(said(&site, "srv", &["-n", "n", "-a"]).1, "");
    assert_eq!(said(&site, "srv/nodes", &["-n", "n", "--config", "../reclass-config.yml"]).1, "");
    let same = "nodes_uri: ./nodes\nclasses_uri: SITE/srv/classes\noutput: json\ngroup_errors: yes\n";
    let same = same.replace("SITE", &site.path().display().to_string());
    write(&site.path().join("srv/reclass-config.yml"), &same);
    assert_eq!(said(&site, "home", &["-b", "SITE/srv", "-n", "n"]).1, "");
    write(&site.path().join("srv/reclass-config.yml"), "a: [\n");
    assert_eq!(said(&site, "home", &["-b", "SITE/srv", "-n", "n"]).1, "");
}

#[test]
fn a_named_file_takes_the_place_of_the_one_that_is_found() {
    let site = site();
    write(&site.path().join("home/reclass-config.yml"), "inventory_base_uri: [\n");
    // Its folder is that of the inventory, whether it says `.` or nothing.
    for text in ["inventory_base_uri: .\n", "", "nodes_uri: nodes\n"] {
        let text = format!("{text}class_mappings: ['n web']\n");
        write(&site.path().join("srv/reclass-config.yml"), &text);
        for arguments in [
            &["--config", "../srv/reclass-config.yml", "-n", "n"][..],
            &["--config=SITE/srv/reclass-config.yml", "-n", "n"],
            &["params", "web", "--config", "~/../srv/reclass-config.yml", "--node", "n"],
        ] {
            let (out, err) = said(&site, "home", arguments);
            assert!(out.contains("web") && err.is_empty(), "{text}: {out}{err}");
        }
    }
    for (text, code, says) in [
        ("config_file: b.yml\n", 65, "it names another configuration file"),
        ("cache: [1]\n", 65, "bad.yml:1:8"),
        ("a: [\n", 65, "config-file"),
    ] {
        write(&site.path().join("srv/bad.yml"), text);
        let output = run(&site, "home", "reclass", &["--config", "../srv/bad.yml", "-n", "n"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && err.contains(says), "{text}: {err}");
    }
    let output = run(&site, "home", "reclass", &["--config", "gone.yml", "-n", "n"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("gone.yml': no such file"));
}

#[test]
fn the_configuration_of_a_master_is_read_as_salt_reads_it() {
    let entry = "{inventory_base_uri: SITE/srv, class_mappings: [n web]}";
    let pillar = format!("ext_pillar: [{{other: 1}}, {{reclass: {entry}}}]\n");
    for files in [
        &[("master", pillar.as_str())][..],
        &[("master", "interface: 127.0.0.1\n"), ("master.d/b.conf", &pillar)],
        // Of two files the lists come one after the other, and both take the place of the first one's.
        &[
            ("master", "ext_pillar: [{reclass: {inventory_base_uri: /gone}}]\n"),
            ("master.d/a.conf", "ext_pillar: [{other: 2}]\n"),
            ("master.d/b.conf", &pillar),
        ],
        &[("master", "include: 'more/*'\n"), ("more/x", &pillar), ("more/.hidden", "ext_pillar: 1\n")],
        &[("master", "default_include: a.d/*.conf\n"), ("a.d/x.conf", "include: y\n"), ("a.d/y", &pillar)],
        &[("minion", ""), ("minion.d/x.conf", &pillar)],
        &[("master", &format!("reclass: &r {entry}\nmaster_tops: {{reclass: *r}}\n"))],
        // The first of file_roots, where the options name no folder.
        &[("master", "file_roots: {base: [SITE/s*v]}\next_pillar: [{reclass: {class_mappings: [n web]}}]\n")],
        &[("master", "ext_pillar: [{reclass: {config_file: SITE/srv/reclass-config.yml}}]\n")],
        &[("any.conf", &pillar)],
    ] {
        let site = site();
        for (name, text) in files {
            let text = text.replace("SITE", &site.path().display().to_string());
            write(&site.path().join("etc").join(name), &text);
        }
        let config = format!("SITE/etc/{}", files[0].0);
        let (out, _) = said(&site, "home", &["--config", &config, "-n", "n"]);
        assert!(out.contains("web: 1"), "{files:?}: {out}");
    }
}

#[test]
fn what_is_wrong_in_the_configuration_of_a_master_has_its_place() {
    for (text, code, says) in [
        ("ext_pillar: []\n", 65, "neither ext_pillar nor master_tops has 'reclass'"),
        ("ext_pillar: [{reclass: []}]\n", 65, "must be a mapping, not a list"),
        ("ext_pillar:\n  - reclass:\n      cache: never\n", 65, "master:3:14"),
        ("include: master\next_pillar: []\n", 65, "it includes more than"),
        ("ext_pillar: [{reclass: {config_file: SITE/etc/master}}]\n", 0, ""),
    ] {
        let site = site();
        let text = text.replace("SITE", &site.path().display().to_string());
        write(&site.path().join("etc/master"), &text);
        let output = run(&site, "home", "reclass", &["--config", "SITE/etc/master", "-n", "n"]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains(says), "{text}: {err}");
        assert!(code == 0 || output.status.code() == Some(code), "{text}: {err}");
    }
}

#[test]
fn the_version_names_the_programs_that_a_shell_starts() {
    let site = site();
    let theirs = site.path().join("theirs");
    write(&theirs.join("reclass"), "#!/usr/bin/python3\nprint('theirs')\n");
    let programs = Path::new(env!("CARGO_BIN_EXE_reclass")).parent().unwrap().display().to_string();
    let version = |path: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_reclass")).arg("--version").env("PATH", path).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let said = version(&format!("{}:{programs}", theirs.display()));
    let line = format!("\n  reclass           {}/reclass\n", theirs.display());
    assert!(said.contains(&line), "{said}");
    assert!(said.contains(&format!("\n  reclass-salt      {programs}/reclass-salt\n")), "{said}");
    assert_eq!(version("/nowhere").matches("  not there").count(), 3);
}
