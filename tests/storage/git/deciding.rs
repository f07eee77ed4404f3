//! Who decides about new revisions, and what is no verdict: other settings, lost records, a git that fails.

use super::serving::{BREAKS, all, news, options, serve, served, site, value};
use super::site::Site;
use reclass_serve::Served;

fn record(site: &Site) -> std::path::PathBuf {
    site.cache().join("reclass-record")
}

/// A site whose newest commit breaks some nodes, settings for it, and a process that has decided about the commit.
fn broken() -> (Site, String, Served) {
    let (site, yaml) = (site(), options("serve: tested"));
    let worker = serve(&site, &yaml);
    served(&worker);
    site.commit("site", "master", &BREAKS);
    assert_eq!(served(&worker), all("1", "2"));
    (site, yaml, worker)
}

#[test]
fn there_is_one_decision_whoever_asks() {
    let (site, yaml, master) = broken();
    let beside = |yaml: &str| Served::beside(&site.options(yaml), false).unwrap();
    let lax = beside(&options("serve: tested, ignore_class_notfound: true"));
    assert_eq!(served(&lax), all("1", "2"));
    let one_more = |value: &str| {
        site.commit("site", "master", &[("classes/role.yml", &format!("parameters: {{a: {value}}}\n"))]);
    };
    one_more("3");
    // Whoever is the first one to ask, a guest with other settings tests nothing.
    assert_eq!(served(&lax), all("1", "2"));
    assert!(lax.delivery().unwrap().unwrap().waiting.is_some());
    assert_eq!(served(&master), all("3", "2"));
    assert_eq!(served(&lax), all("3", "2"));
    // With those of the master it is one of its processes, also with settings that no pillar depends on.
    one_more("4");
    assert_eq!(served(&beside(&yaml.replacen('{', "{threads: 1, settle_time: 0, ", 1))), all("4", "2"));
    assert_eq!(served(&lax), all("4", "2"));
}

#[test]
fn a_guest_without_a_decision_makes_none_for_others() {
    let site = site();
    let lax = options("serve: tested, ignore_class_notfound: true");
    let guest = Served::beside(&site.options(&lax), false).unwrap();
    assert_eq!(served(&guest), all("1", "1"));
    assert!(!std::fs::read_to_string(record(&site)).unwrap().contains("\"tested\""));
    let master = serve(&site, &options("serve: tested"));
    assert_eq!(served(&master), all("1", "1"));
    site.commit("site", "master", &BREAKS);
    assert_eq!([served(&master), served(&guest)], [all("1", "2"), all("1", "2")]);
}

#[test]
fn an_older_process_of_a_master_follows_the_newer_one() {
    let (site, _, older) = broken();
    let newer = serve(&site, &options("serve: tested, class_wildcards: true"));
    assert_eq!([served(&newer), served(&older)], [all("1", "2"), all("1", "2")]);
    for value in ["4", "5"] {
        let text = format!("parameters: {{a: {value}}}\n");
        site.commit("site", "master", &[("classes/role.yml", &text), ("classes/other.yml", &text)]);
        assert!(older.delivery().unwrap().unwrap().waiting.is_some());
        assert_eq!([served(&newer), served(&older)], [all(value, value), all(value, value)]);
    }
}

#[test]
fn a_program_without_a_master_takes_no_decision_of_one() {
    let (site, yaml, worker) = broken();
    let asked = |yaml: &str| {
        let asker = reclass_serve::Asker::Masterless;
        served(&Served::shared(&site.options(yaml), asker).unwrap())
    };
    let other = |limit: usize| options(&format!("serve: tested, limit_classes: {limit}"));
    let push = |value: &str| {
        site.commit("site", "master", &[("classes/role.yml", &format!("parameters: {{a: {value}}}\n"))]);
    };
    push("3");
    assert_eq!(asked(&other(100)), all("1", "2"));
    assert_eq!(served(&worker), all("3", "2"));
    // Alone, it decides and keeps its decision with changed settings.
    drop(worker);
    std::fs::remove_file(record(&site)).unwrap();
    site.commit("site", "master", &[("nodes/n02.yml", "classes: [role]\n")]);
    asked(&other(100));
    push("4");
    assert_eq!(asked(&other(100)), asked(&other(101)));
    push("5");
    assert_eq!(value(&serve(&site, &yaml), "n00", "a"), value(&serve(&site, &other(101)), "n00", "a"));
}

#[test]
fn a_tree_of_classes_that_moves_to_another_repository_takes_no_pillar() {
    let (site, yaml) = (site(), options("serve: tested"));
    let held = |yaml: &str| {
        let inventory = serve(&site, yaml);
        (value(&inventory, "n02", "a"), inventory.delivery().unwrap().unwrap().held.len())
    };
    held(&yaml);
    site.commit("site", "master", &[("nodes/n02.yml", "classes: [gone]\n")]);
    assert_eq!(held(&yaml), ("1".to_owned(), 1));
    super::site::git(&site.path("site"), &["clone", "-q", ".", "../moved"]);
    let moved = yaml.replace("SITE/site, root: classes", "SITE/moved, root: classes");
    assert_ne!(moved, yaml);
    assert_eq!(held(&moved), ("1".to_owned(), 1));
    site.commit("moved", "master", &[("classes/role.yml", "parameters: {a: 3}\n")]);
    assert_eq!(held(&moved), ("1".to_owned(), 1));
    assert_eq!(value(&serve(&site, &moved), "n00", "a"), "3");
    // And back again.
    assert_eq!(held(&yaml), ("1".to_owned(), 1));
}

#[test]
fn changed_settings_say_that_no_earlier_commit_was_known() {
    let site = site();
    site.commit("site", "master", &BREAKS);
    assert_eq!(served(&serve(&site, &options("serve: tested"))), all("reference-not-found", "2"));
    let changed = serve(&site, &options("serve: tested, class_wildcards: true"));
    let delivery = changed.delivery().unwrap().unwrap();
    assert!(delivery.is_first && !delivery.first.is_empty());
}

#[test]
fn changed_settings_begin_with_the_commits_that_are_served() {
    let site = site();
    let yaml = options("serve: tested");
    assert_eq!(served(&serve(&site, &yaml)), all("1", "1"));
    site.commit("site", "master", &BREAKS);
    assert_eq!(served(&serve(&site, &yaml)), all("1", "2"));
    let changed = serve(&site, &options("serve: tested, class_wildcards: true"));
    assert_eq!(served(&changed), all("1", "2"));
    assert!(!changed.delivery().unwrap().unwrap().is_first);
    // Not one record for each setting that ever was.
    for limit in 100..120 {
        assert_eq!(
            served(&serve(&site, &options(&format!("serve: tested, limit_classes: {limit}")))),
            all("1", "2")
        );
    }
    assert_eq!(std::fs::read_to_string(record(&site)).unwrap().matches("\"tested\"").count(), 1);
}

#[test]
fn settings_that_come_back_do_not_bring_their_decision_back() {
    let site = site();
    let (yaml, other) = (options("serve: tested"), options("serve: tested, class_wildcards: true"));
    assert_eq!(served(&serve(&site, &yaml)), all("1", "1"));
    assert_eq!(served(&serve(&site, &other)), all("1", "1"));
    site.commit("site", "master", &[("classes/role.yml", "parameters: {a: 7}\n")]);
    assert_eq!(served(&serve(&site, &other)), all("7", "1"));
    site.commit("site", "master", &BREAKS);
    assert_eq!(served(&serve(&site, &yaml)), all("7", "2"), "held where the other settings were");
}

#[test]
fn an_environment_that_comes_and_goes_takes_no_pillar() {
    let (site, yaml, _) = broken();
    super::site::git(&site.path("site"), &["branch", "prod", "master"]);
    let with_environment =
        yaml.replace("classes_uri: {", "classes_uri: {env_overrides: [{prod: {branch: prod}}], ");
    assert_ne!(with_environment, yaml);
    assert_eq!(served(&serve(&site, &with_environment)), all("1", "2"));
    site.commit("site", "master", &[("classes/role.yml", "parameters: {a: 3}\n")]);
    assert_eq!(served(&serve(&site, &with_environment)), all("3", "2"));
    assert_eq!(served(&serve(&site, &yaml)), all("3", "2"), "held where the other settings were");
}

#[test]
fn a_changed_setting_does_not_bring_an_aborted_commit_back() {
    let site = site();
    let master = serve(&site, &options("serve: tested, canary: {match: n00}"));
    served(&master);
    site.commit("site", "master", &[("classes/role.yml", "parameters: {a: 2}\n")]);
    assert_eq!(value(&master, "n00", "a"), "2");
    master.end_trial(false).unwrap();
    for changed in
        ["serve: tested, canary: {match: n00}, class_wildcards: true", "serve: tested", "serve: whole"]
    {
        assert_eq!(served(&serve(&site, &options(changed))), all("1", "1"), "{changed}");
    }
    site.commit("site", "master", &[("classes/role.yml", "parameters: {a: 3}\n")]);
    assert_eq!(served(&serve(&site, &options("serve: tested"))), all("3", "1"));
}

#[test]
fn whole_that_comes_while_nodes_are_held_changes_nothing_and_says_so() {
    let (site, _, _) = broken();
    let whole = serve(&site, &options("serve: whole"));
    let said = news(&whole);
    assert!(said.iter().any(|sentence| sentence.contains("which keep the one before")), "{said:?}");
    assert_eq!(served(&whole), all("1", "2"));
    assert!(whole.delivery().unwrap().unwrap().is_served);
}

#[test]
fn errors_of_other_settings_are_not_those_of_a_commit() {
    let site = site();
    let strict = serve(&site, &options("serve: tested, canary: {match: n06}"));
    served(&strict);
    site.commit("site", "master", &[("nodes/n02.yml", "classes: [role, gone]\n")]);
    strict.of_most().unwrap();
    strict.end_trial(true).unwrap();
    site.commit("site", "master", &[BREAKS[1]]);
    assert_eq!(strict.delivery().unwrap().unwrap().held[0].nodes, ["n02"]);
    let laxer = serve(&site, &options("serve: tested, canary: {match: n06}, ignore_class_notfound: true"));
    assert!(laxer.delivery().unwrap().unwrap().held.is_empty());
}

#[test]
fn a_decision_with_values_that_cannot_be_is_not_believed() {
    let (site, _, worker) = broken();
    let text = std::fs::read_to_string(record(&site)).unwrap();
    let damaged = text.replacen("\":1,\"n", "\":77,\"n", 1);
    assert_ne!(damaged, text);
    std::fs::write(record(&site), damaged).unwrap();
    assert_eq!(served(&worker), all("1", "2"));
}

#[test]
fn a_first_decision_gives_way_to_one_that_a_process_remembers() {
    for lost in
        ["{", r#"{"times":{"fetched":null,"failure":null},"heads":{},"served":{"KEY":{"commits":[]}}}"#]
    {
        let (site, yaml, worker) = broken();
        let text = std::fs::read_to_string(record(&site)).unwrap();
        let key = text.split_once("\"served\":{\"").unwrap().1.split('"').next().unwrap();
        std::fs::write(record(&site), lost.replace("KEY", key)).unwrap();
        // The program of an administrator knows nothing.
        let program = serve(&site, &yaml);
        assert_eq!(served(&program), all("reference-not-found", "2"));
        let delivery = program.delivery().unwrap().unwrap();
        assert!(delivery.is_first && delivery.distrusted);
        assert_eq!(served(&worker), all("1", "2"));
        assert_eq!(served(&program), all("1", "2"));
        assert_eq!(served(&serve(&site, &yaml)), all("1", "2"));
    }
}

#[test]
fn a_commit_that_breaks_all_canaries_has_no_trial() {
    let site = site();
    let inventory = serve(&site, &options("serve: tested, canary: {match: 'n0[0-4]'}, canary_for: 1"));
    served(&inventory);
    site.commit("site", "master", &BREAKS);
    assert_eq!(served(&inventory), all("1", "1"));
    let delivery = inventory.delivery().unwrap().unwrap();
    assert!(delivery.trial.is_none() && !delivery.is_served);
    // No trial ends, so nothing changes with time.
    assert_eq!(served(&inventory), all("1", "1"));
}

#[test]
fn an_aborted_commit_is_named() {
    let site = site();
    let inventory = serve(&site, &options("serve: tested, canary: {match: n00}"));
    served(&inventory);
    let broken = ("nodes/n02.yml", "classes: [gone]\n");
    site.commit("site", "master", &[broken, BREAKS[1], ("classes/role.yml", "parameters: {a: 2}\n")]);
    assert_eq!(value(&inventory, "n00", "a"), "2");
    inventory.end_trial(false).unwrap();
    assert_eq!(served(&inventory), all("1", "1"));
    let text = reclass_serve::status::text(&reclass_serve::status::status(&inventory).unwrap());
    assert!(text.contains("served to none, as its trial was aborted"), "{text}");
    assert!(text.contains("served to none, held for"), "{text}");
}

#[test]
fn a_node_that_a_trial_would_mend_is_held_until_it_is_promoted() {
    for promote in [true, false] {
        let site = site();
        let inventory = serve(&site, &options("serve: tested, canary: {match: n06}"));
        served(&inventory);
        site.commit("site", "master", &[("nodes/n02.yml", "classes: [gone]\n")]);
        inventory.of_most().unwrap();
        inventory.end_trial(true).unwrap();
        let held = || inventory.delivery().unwrap().unwrap().held;
        let broken = held();
        assert_eq!((&*broken[0].nodes, &broken[0].revision), (&["n02".to_owned()][..], &None));
        let revision = inventory.delivery().unwrap().unwrap().tested;
        site.commit("site", "master", &[("nodes/n02.yml", "classes: [role]\n"), BREAKS[1]]);
        assert_eq!([value(&inventory, "n06", "a"), value(&inventory, "n07", "a")], ["2", "1"]);
        assert_eq!(held()[0].revision.as_deref(), Some(&*revision), "it is on trial");
        inventory.end_trial(promote).unwrap();
        let text = reclass_serve::status::text(&reclass_serve::status::status(&inventory).unwrap());
        assert_eq!(text.contains(&format!("{revision}: held for n02")), !promote, "{text}");
        assert_eq!(text.contains("its trial was aborted"), !promote, "{text}");
        assert_eq!(held().is_empty(), promote);
    }
}

#[test]
fn the_names_of_nodes_are_those_of_each_state_in_use() {
    let site = site();
    let inventory = serve(&site, &options("serve: tested"));
    assert_eq!(inventory.nodes().unwrap().len(), 20);
    // Most nodes are held, and one is new.
    let mut files: Vec<(String, &str)> =
        (0..15).map(|number| (format!("nodes/n{number:02}.yml"), "classes: [gone]\n")).collect();
    files.push(("nodes/n20.yml".to_owned(), "classes: [gone]\n"));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    site.commit("site", "master", &files);
    let nodes = inventory.nodes().unwrap();
    assert_eq!((nodes.len(), &*nodes[20]), (21, "n20"));
    assert!(!inventory.of_most().unwrap().nodes().unwrap().contains(&nodes[20]));
    assert_eq!(value(&inventory, "n20", "a"), "class-not-found");
}

#[test]
fn grains_that_a_process_knows_change_no_decision() {
    let site = site();
    let yaml = "serve: tested, grains: ['*']";
    let master = serve(&site, &options(yaml));
    let runner = serve(&site, &options(&format!("{yaml}, known_grains: {{n01: {{os: a}}}}")));
    for inventory in [&master, &runner] {
        assert_eq!(value(inventory, "n01", "a"), "1");
    }
    site.commit(
        "site",
        "master",
        &[
            ("nodes/n01.yml", "classes: [other]\nparameters: {os: '${_grains_:os}', a: '${gone}'}\n"),
            BREAKS[1],
        ],
    );
    // Whoever asks first: with grains or without, the node had a pillar and has none.
    assert_eq!(value(&runner, "n01", "a"), "1");
    assert_eq!(value(&master, "n01", "a"), "1");
    assert_eq!(runner.delivery().unwrap().unwrap().held[0].nodes, ["n01"]);
    site.commit("site", "master", &[("nodes/n02.yml", "parameters: {os: '${_grains_:os}', a: 5}\n")]);
    assert_eq!(value(&runner, "n02", "a"), value(&master, "n02", "a"));
}
