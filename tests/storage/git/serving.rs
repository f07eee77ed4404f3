//! Revisions that are tested before they are served: what breaks nodes reaches none of these, canaries come first,
//! and two processes never disagree.

use std::os::unix::fs::PermissionsExt;

use reclass::{Request, pystr};
use reclass_analysis::explain::{Selection, explain};
use reclass_serve::status::status;
use reclass_serve::{Asker, Served};

use super::site::{Site, code, git, parameter};

/// Five of twenty nodes have the class `role`.
pub fn site() -> Site {
    let site = Site::new();
    let texts: Vec<(String, String)> = (0..20)
        .map(|number| {
            let class = if number < 5 { "role" } else { "other" };
            (format!("nodes/n{number:02}.yml"), format!("classes: [{class}]\n"))
        })
        .collect();
    let mut files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (&**path, &**text)).collect();
    files.push(("classes/role.yml", "parameters: {a: 1, b: '${a}'}\n"));
    files.push(("classes/other.yml", "parameters: {a: 1}\n"));
    site.commit("site", "master", &files);
    site
}

/// An inventory as it is served, of one process.
pub fn serve(site: &Site, yaml: &str) -> Served {
    Served::open(&site.options(yaml), false).unwrap()
}

pub fn options(more: &str) -> String {
    format!(
        "{{storage_type: yaml_git, git_fetch_interval: 0, {more}, nodes_uri: {{repo: SITE/site, root: nodes, CACHE}}, \
         classes_uri: {{repo: SITE/site, root: classes, branch: master, CACHE}}}}"
    )
}

/// The parameter `a` of all nodes.
pub fn served(inventory: &Served) -> Vec<String> {
    (0..20).map(|number| value(inventory, &format!("n{number:02}"), "a")).collect()
}

/// The first five and the others.
pub fn all(first: &str, others: &str) -> Vec<String> {
    let of = |value: &str, number| std::iter::repeat_n(value.to_owned(), number);
    of(first, 5).chain(of(others, 15)).collect()
}

/// A parameter of a node in the state that it gets, or the code of the error.
pub fn value(inventory: &Served, node: &str, name: &str) -> String {
    inventory.of(node).map_or_else(|error| code(&error), |state| parameter(&state, node, name))
}

/// What a question says about tests.
pub fn news(inventory: &Served) -> Vec<String> {
    let remarks = inventory.ask(None, false, |_| Ok(())).remarks;
    remarks.news.tested.into_iter().map(|(_, sentence)| sentence).collect()
}

pub const BREAKS: [(&str, &str); 2] = [
    ("classes/role.yml", "parameters: {a: 2, b: '${gone}'}\n"),
    ("classes/other.yml", "parameters: {a: 2}\n"),
];

#[test]
fn what_breaks_nodes_is_not_served_to_them_or_to_none() {
    for (rule, others) in [("tested", "2"), ("whole", "1")] {
        let site = site();
        let inventory = serve(&site, &options(&format!("serve: {rule}")));
        let other = serve(&site, &options(&format!("serve: {rule}")));
        assert_eq!(served(&inventory), all("1", "1"));
        site.commit("site", "master", &BREAKS);
        assert_eq!(served(&inventory), all("1", others), "{rule}");
        assert_eq!(served(&other), all("1", others), "{rule}");
        let [told] = &news(&inventory)[..] else { panic!("one decision") };
        assert!(told.contains("5 nodes") && told.contains("role.yml:1:"), "{told}");
        assert_eq!(news(&other), [""; 0], "one process has decided");
        let decision = other.decision().unwrap();
        assert_eq!(decision.problems[0].nodes, ["n00", "n01", "n02", "n03", "n04"]);
        // Another commit breaks nothing any more, and a third one breaks another node.
        site.commit("site", "master", &[("classes/role.yml", "parameters: {a: 3}\n")]);
        assert_eq!(served(&other), all("3", "2"), "{rule}");
        site.commit(
            "site",
            "master",
            &[("nodes/n07.yml", "classes: [gone]\n"), ("classes/other.yml", "parameters: {a: 4}\n")],
        );
        let mut now = all("3", if rule == "whole" { "2" } else { "4" });
        now[7] = "2".to_owned();
        assert_eq!(served(&inventory), now, "{rule}");
        assert_eq!(served(&other), now, "{rule}");
        // The whole inventory is that of most nodes.
        let failed =
            inventory.of_most().unwrap().inventory().map_or_else(|error| code(&error), |_| String::new());
        assert_eq!(failed, if rule == "whole" { "" } else { "class-not-found" });
    }
}

#[test]
fn earlier_revisions_stay_with_the_nodes_that_they_are_the_last_good_ones_of() {
    let site = site();
    let inventory = serve(&site, &options("serve: tested"));
    served(&inventory);
    site.commit("site", "master", &BREAKS);
    assert_eq!(served(&inventory), all("1", "2"));
    site.commit(
        "site",
        "master",
        &[("nodes/n07.yml", "classes: [gone]\n"), ("classes/other.yml", "parameters: {a: 3}\n")],
    );
    let mut now = all("1", "3");
    now[7] = "2".to_owned();
    assert_eq!(served(&inventory), now);
    site.commit("site", "master", &[("nodes/n20.yml", "classes: [other]\n")]);
    assert_eq!((served(&inventory), value(&inventory, "n20", "a")), (now, "3".to_owned()));
}

#[test]
fn a_node_that_failed_before_and_a_node_that_is_new_hold_nothing_back() {
    let site = site();
    site.commit("site", "master", &[("nodes/n19.yml", "classes: [gone]\n")]);
    let inventory = serve(&site, &options("serve: whole"));
    assert_eq!(value(&inventory, "n19", "a"), "class-not-found");
    site.commit("site", "master", &[("classes/other.yml", "parameters: {a: 2}\n"), ("nodes/n18.yml", "")]);
    assert_eq!(value(&inventory, "n17", "a"), "2");
    assert_eq!(value(&inventory, "n18", "a"), "node-not-found");
    // A revision whose trees cannot be read breaks all.
    site.commit(
        "site",
        "master",
        &[
            ("classes/a/b.yml", "{}\n"),
            ("classes/a.b.yml", "{}\n"),
            ("nodes/x.yaml", "{}\n"),
            ("nodes/x.yml", "{}\n"),
        ],
    );
    assert_eq!(value(&inventory, "n17", "a"), "2");
}

#[test]
fn canaries_come_first_until_somebody_decides() {
    for promote in [true, false] {
        let site = site();
        let yaml = options("serve: tested, canary: {match: 'n0[4-6]'}");
        let (inventory, other) = (serve(&site, &yaml), serve(&site, &yaml));
        served(&inventory);
        assert_eq!(inventory.end_trial(promote).unwrap(), None);
        site.commit("site", "master", &BREAKS);
        let mut now = all("1", "1");
        (now[5], now[6]) = ("2".to_owned(), "2".to_owned());
        assert_eq!(served(&inventory), now);
        assert_eq!(served(&other), now);
        let decision = inventory.decision().unwrap();
        assert_eq!(decision.trial.as_ref().unwrap().nodes, ["n05", "n06"]);
        let [held, trial] = &news(&inventory)[..] else { panic!("one node keeps its commit") };
        assert!(held.contains(" breaks 5 nodes, which keep the one before: "), "{held}");
        assert!(trial.ends_with(" of master is on trial with 2 nodes: n05, n06"), "{trial}");
        assert!(other.end_trial(promote).unwrap().unwrap().ends_with(" of master"));
        assert_eq!(served(&inventory), all("1", if promote { "2" } else { "1" }));
        assert_eq!(served(&other), served(&inventory));
        assert_eq!(other.end_trial(promote).unwrap(), None);
    }
}

#[test]
fn a_trial_ends_by_itself_and_a_share_of_the_nodes_is_always_the_same() {
    let site = site();
    let yaml = options("serve: tested, canary: {percent: 30}");
    let (inventory, other) = (serve(&site, &yaml), serve(&site, &yaml));
    served(&inventory);
    site.commit("site", "master", &[BREAKS[1], ("classes/role.yml", "parameters: {a: 2}\n")]);
    let now = served(&inventory);
    let share = now.iter().filter(|value| *value == "2").count();
    assert!((1..15).contains(&share), "{share}");
    assert_eq!(served(&other), now);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let over = serve(&site, &options("serve: tested, canary: {percent: 30}, canary_for: 1"));
    assert_eq!(served(&over), all("2", "2"));
    assert_eq!(served(&inventory), all("2", "2"));
}

#[test]
fn a_canary_that_is_no_node_is_told() {
    let site = site();
    let inventory = serve(&site, &options("serve: tested, canary: {match: 'wbe*'}"));
    served(&inventory);
    let problem = "'match: wbe*' of the setting 'canary' matches no node";
    assert_eq!(inventory.unmatched_canary().unwrap().as_deref(), Some(problem));
    site.commit("site", "master", &[("nodes/n07.yml", "classes: [gone]\n")]);
    served(&inventory);
    let [held, trial, told] = &news(&inventory)[..] else { panic!("three sentences") };
    assert!(held.contains(" breaks 1 node, which keeps the one before: "), "{held}");
    assert!(trial.ends_with(" is on trial with 0 nodes"), "{trial}");
    assert_eq!(told, problem);
    let other = serve(&site, &options("serve: tested, canary: {match: 'n0*'}"));
    assert_eq!(other.unmatched_canary().unwrap(), None);
}

#[test]
fn a_decision_is_forgotten_when_nothing_is_tested_any_more() {
    let site = site();
    let yaml = options("serve: tested");
    served(&serve(&site, &yaml));
    site.commit("site", "master", &BREAKS);
    assert_eq!(served(&serve(&site, &yaml)), all("1", "2"));
    serve(&site, &yaml).forget_decision().unwrap();
    assert_eq!(served(&serve(&site, &yaml)), all("1", "2"), "tests that go on forget nothing");
    for off in ["serve: now", "serve: tested, git_revision: master"] {
        let off = serve(&site, &options(off));
        assert_eq!(served(&off), all("reference-not-found", "2"));
        off.forget_decision().unwrap();
        off.forget_decision().unwrap();
        let since = std::time::SystemTime::now();
        let on = serve(&site, &yaml);
        assert_eq!(served(&on), all("reference-not-found", "2"), "those that were served before");
        assert!(on.decision().unwrap().began() >= Some(since));
    }
}

#[test]
fn a_branch_that_no_location_names_changes_no_decision() {
    let site = site();
    let inventory = serve(&site, &options("serve: tested, canary: {match: n06}"));
    served(&inventory);
    site.commit("site", "master", &[("classes/other.yml", "parameters: {a: 2}\n")]);
    served(&inventory);
    let trial = inventory.decision();
    assert!(trial.as_ref().unwrap().trial.is_some());
    site.commit("site", "unrelated", &[]);
    served(&inventory);
    // It has the time when the trial began, too.
    assert_eq!(inventory.decision(), trial);
    inventory.end_trial(false).unwrap();
    site.commit("site", "unrelated", &[]);
    assert_eq!(served(&inventory), all("1", "1"));
}

#[test]
fn one_process_tests_and_the_others_go_on() {
    let site = site();
    let yaml = options("serve: tested");
    let (engine, worker) = (serve(&site, &yaml), serve(&site, &yaml));
    assert!(engine.watch());
    assert!(!worker.watch());
    served(&worker);
    site.commit("site", "master", &[BREAKS[1]]);
    assert_eq!(served(&worker), all("1", "1"));
    assert_eq!(news(&worker), [""; 0]);
    engine.of_most().unwrap();
    assert_eq!(served(&worker), all("1", "2"));
    assert_eq!(news(&engine).len(), 1);
    drop(engine);
    assert!(worker.watch());
}

#[test]
fn a_process_that_is_killed_at_any_time_leaves_a_decision() {
    let site = site();
    let yaml = options("serve: tested");
    let inventory = serve(&site, &yaml);
    served(&inventory);
    site.commit("site", "master", &BREAKS);
    served(&inventory);
    for step in 0..12_u64 {
        let value = (step + 10).to_string();
        site.commit("site", "master", &[("classes/other.yml", &*format!("parameters: {{a: {value}}}\n"))]);
        let mut child = site.command(&yaml, &["-n", "n07"]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(step * 20));
        child.kill().unwrap();
        child.wait().unwrap();
        let other = serve(&site, &yaml);
        assert_eq!(served(&other), all("1", &value), "killed after {} ms", step * 20);
        assert_eq!(served(&inventory), all("1", &value), "killed after {} ms", step * 20);
    }
}

#[test]
fn the_program_asks_the_same_decision_and_folders_have_none() {
    let site = site();
    let yaml = options("serve: tested");
    let inventory = serve(&site, &yaml);
    served(&inventory);
    site.commit("site", "master", &BREAKS);
    let output = site.program(&yaml, &["-n", "n00"]);
    assert_eq!(news(&inventory), [""; 0]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("a: 1"), "{output:?}");
    assert_eq!(served(&inventory), all("1", "2"));
    let fixed = serve(&site, &options("serve: tested, git_revision: master"));
    assert_eq!(value(&fixed, "n00", "a"), "reference-not-found");
    // Who works on folders reads them; what is shared is served.
    let folders = site.options("{serve: tested, inventory_base_uri: SITE}");
    assert!(Served::open(&folders, false).is_ok_and(|inventory| !inventory.tests_commits()));
    let error = Served::shared(&folders, Asker::Master).unwrap_err();
    assert_eq!(code(&error), "setting-value");
    for canary in ["{percent: 200}", "web*", "{match: 1}", "{other: 1}"] {
        let error = Served::open(&site.options(&options(&format!("canary: {canary}"))), false).unwrap_err();
        assert_eq!(code(&error), "setting-value", "{canary}");
    }
}

#[test]
fn the_program_looks_for_a_node_in_the_commit_that_it_gets() {
    let site = site();
    let yaml = options("serve: tested");
    served(&serve(&site, &yaml));
    // Most nodes keep the commit before, which has a class of the name of the new node.
    let files =
        [("classes/other.yml", "parameters: {a: '${gone}'}\n"), ("nodes/other.yml", "classes: [role]\n")];
    site.commit("site", "master", &files);
    let output = site.program(&yaml, &["show", "other", "a"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n", "{output:?}");
}

#[test]
fn an_error_of_an_earlier_commit_comes_with_the_name_of_that_commit() {
    let site = site();
    site.commit("site", "master", &[("nodes/n19.yml", "classes: [gone]\n")]);
    let yaml = options("serve: whole");
    assert_eq!(value(&serve(&site, &yaml), "n19", "a"), "class-not-found");
    site.commit("site", "master", &[BREAKS[0], ("nodes/n19.yml", "classes: [other]\n")]);
    let output = site.program(&yaml, &["--nodeinfo", "n19"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("which 'n19' gets; the newest one is ") && told.contains("'gone'"), "{told}");
}

#[test]
fn who_asks_for_the_age_of_the_data_fetches_and_tests_nothing() {
    let site = site();
    let inventory = serve(&site, &options("serve: tested"));
    assert_eq!(inventory.fetch_states().len(), 0);
    served(&inventory);
    let commits = || {
        let [state] = &inventory.fetch_states()[..] else { panic!("one repository") };
        state.commits.clone()
    };
    let (before, decision) = (commits(), inventory.decision());
    site.commit("site", "master", &BREAKS);
    assert_eq!((commits(), inventory.decision()), (before.clone(), decision));
    // Those of most nodes.
    assert_eq!(value(&inventory, "n00", "a"), "1");
    assert_eq!(value(&inventory, "n07", "a"), "2");
    assert_eq!(value(&inventory, "n00", "a"), "1");
    assert_ne!(commits(), before);
}

/// A schema for the parameter `a`, which must be a number.
const SCHEMA: (&str, &str) = ("schemas/a.yaml", "type: integer\n");

fn with_schemas(more: &str) -> String {
    options(&format!(
        "schema_check: error, schemas_uri: {{repo: SITE/site, branch: master, root: schemas, CACHE}}, {more}"
    ))
}

/// The pillar of a minion: its parameter `a`, or the code of the error.
fn pillar(inventory: &Served, node: &str) -> String {
    match inventory.pillar(node, &Request::default(), false, false).result {
        Ok(Some(pillar)) => pillar.node.parameters.as_map().unwrap().get("a").map_or("-".into(), pystr::str),
        Ok(None) => "no node".to_owned(),
        Err(failed) => code(&failed.error),
    }
}

/// The value that an explanation of a node has.
fn explained(inventory: &Served, node: &str) -> String {
    let selection = Selection { parameters: vec!["a".to_owned()], ..Selection::default() };
    let state = inventory.of(node).unwrap();
    let explanation = explain(&state, node, &Request::default(), &selection).unwrap();
    explanation.parameters[0].value.as_ref().map_or("-".into(), pystr::str)
}

#[test]
fn everything_about_a_node_is_of_its_commit() {
    let site = site();
    let yaml = with_schemas("serve: tested");
    let (asked_before, explained_before) = (serve(&site, &yaml), serve(&site, &yaml));
    site.commit("site", "master", &[("nodes/n07.yml", "classes: [other]\nparameters: {a: eighty}\n")]);
    assert_eq!([pillar(&asked_before, "n07"), pillar(&asked_before, "n08")], ["eighty", "1"]);
    assert_eq!(explained(&explained_before, "n07"), "eighty");
    // The commit breaks the node by a class that is not there, and brings a schema that its value breaks.
    site.commit(
        "site",
        "master",
        &[SCHEMA, ("nodes/n07.yml", "classes: [other, gone]\nparameters: {a: eighty}\n"), BREAKS[1]],
    );
    for inventory in [&asked_before, &explained_before, &serve(&site, &yaml)] {
        for _ in 0..2 {
            assert_eq!([pillar(inventory, "n07"), pillar(inventory, "n08")], ["eighty", "2"]);
            assert_eq!([explained(inventory, "n08"), explained(inventory, "n07")], ["2", "eighty"]);
        }
        let status = status(inventory).unwrap();
        assert_eq!((status.nodes, status.failing), (20, 0), "a held node has a pillar");
        assert_eq!(status.delivery.unwrap().held[0].nodes, ["n07"]);
    }
}

#[test]
fn a_canary_is_explained_by_its_own_commit() {
    let site = site();
    let yaml = options("serve: tested, canary: {match: n06}");
    let inventory = serve(&site, &yaml);
    served(&inventory);
    site.commit("site", "master", &[("classes/other.yml", "parameters: {a: 2}\n")]);
    assert_eq!([pillar(&inventory, "n06"), pillar(&inventory, "n07")], ["2", "1"]);
    assert_eq!([explained(&inventory, "n06"), explained(&inventory, "n07")], ["2", "1"]);
    assert_eq!(inventory.older_for("n06"), None);
    assert!(inventory.older_for("n07").is_some());
}

#[test]
fn a_commit_breaks_a_node_by_a_schema_and_by_a_value_that_salt_refuses() {
    let values = [
        // Only a schema.
        vec![("schemas/a.yaml", "type: string\n")],
        vec![("classes/other.yml", "parameters: {a: 2, big: 99999999999999999999999}\n")],
        vec![("classes/other.yml", "parameters: {a: 2, [1]: x}\n")],
    ];
    for files in values {
        let site = site();
        site.commit("site", "master", &[SCHEMA]);
        let inventory = serve(&site, &with_schemas("serve: whole"));
        assert_eq!(pillar(&inventory, "n07"), "1");
        site.commit("site", "master", &files);
        assert_eq!(pillar(&inventory, "n07"), "1", "{files:?}");
        let delivery = inventory.delivery().unwrap().unwrap();
        assert!(
            !delivery.is_served && delivery.held.iter().map(|held| held.nodes.len()).sum::<usize>() >= 15,
            "{delivery:?}"
        );
        assert_eq!(status(&inventory).unwrap().failing, 0);
    }
}

#[test]
fn a_commit_that_breaks_most_nodes_is_not_named_as_the_one_that_is_served() {
    let site = site();
    let inventory = serve(
        &site,
        &format!(
            "{{node_not_found: mappings, class_mappings: ['* other'], {}",
            &options("serve: tested")[1..]
        ),
    );
    served(&inventory);
    let good = inventory.of_most().unwrap().state().unwrap().revision;
    // Fifteen of twenty nodes, and then all.
    site.commit("site", "master", &[("classes/other.yml", "parameters: {a: '${gone}'}\n")]);
    for _ in 0..2 {
        assert_eq!(pillar(&inventory, "n07"), "1");
        let status = status(&inventory).unwrap();
        assert_eq!((status.state.revision, status.failing), (good.clone(), 0));
        let delivery = status.delivery.unwrap();
        assert_eq!(delivery.served, good);
        assert!(delivery.trial.is_none());
        // A minion without a node is served the good one too.
        assert_eq!(pillar(&inventory, "unknown"), "1");
        site.commit("site", "master", &[("classes/role.yml", "parameters: {a: '${gone}'}\n")]);
    }
    assert!(!inventory.delivery().unwrap().unwrap().is_served);
}

#[test]
fn at_most_three_commits_are_served_at_once() {
    let site = site();
    let inventory = serve(&site, &options("serve: tested"));
    let mut expected = all("1", "1");
    assert_eq!(served(&inventory), expected);
    let mut repairs = Vec::new();
    // Each commit breaks one more node.
    for turn in 2..=5_usize {
        let (node, class) = (format!("nodes/n{turn:02}.yml"), format!("parameters: {{a: {turn}}}\n"));
        let files =
            [(&*node, "classes: [gone]\n"), ("classes/role.yml", &*class), ("classes/other.yml", &*class)];
        site.commit("site", "master", &files);
        if turn < 4 {
            expected = (0..20)
                .map(|at| match at {
                    // It broke in the commit of its own turn, and has the one before.
                    2.. if at <= turn => (at - 1).to_string(),
                    _ => turn.to_string(),
                })
                .collect();
        }
        assert_eq!(served(&inventory), expected, "{turn}");
        repairs.push(node);
    }
    let [.., told] = &news(&inventory)[..] else { panic!("decisions are told") };
    assert!(told.contains("because nodes keep two earlier ones already"), "{told}");
    let repaired: Vec<(&str, &str)> = repairs.iter().map(|node| (&**node, "classes: [role]\n")).collect();
    site.commit("site", "master", &repaired);
    assert_eq!(served(&inventory), all("5", "5"));
}

#[test]
fn a_commit_that_mends_held_nodes_has_room_for_its_trial() {
    let site = site();
    let inventory = serve(&site, &options("serve: tested, canary: {match: n06}"));
    served(&inventory);
    // Each commit breaks one more node and is promoted, until there is no room.
    for node in ["n02", "n03", "n04"] {
        site.commit("site", "master", &[(&*format!("nodes/{node}.yml"), "classes: [gone]\n")]);
        inventory.of_most().unwrap();
        inventory.end_trial(true).unwrap();
    }
    let repaired = ["n02", "n03", "n04"].map(|node| format!("nodes/{node}.yml"));
    let mut files: Vec<_> = repaired.iter().map(|path| (&**path, "classes: [role]\n")).collect();
    files.push(("classes/other.yml", "parameters: {a: 2}\n"));
    site.commit("site", "master", &files);
    assert_eq!([value(&inventory, "n06", "a"), value(&inventory, "n07", "a")], ["2", "1"], "it is on trial");
    inventory.end_trial(true).unwrap();
    assert_eq!(served(&inventory), all("1", "2"));
    assert!(inventory.delivery().unwrap().unwrap().held.is_empty());
}

#[test]
fn without_a_decision_the_newest_commit_is_tested_and_serve_from_names_a_good_one() {
    let site = site();
    let good = git(&site.path("site"), &["rev-parse", "HEAD"]);
    site.commit("site", "master", &BREAKS);
    let inventory = serve(&site, &options("serve: tested"));
    assert_eq!(served(&inventory), all("reference-not-found", "2"));
    let delivery = inventory.delivery().unwrap().unwrap();
    assert_eq!((delivery.first[0].nodes.len(), delivery.held.len()), (5, 0));
    let new = site.path("new");
    let elsewhere = |more: &str| {
        options(more).replace("CACHE", &format!("cache_dir: {0}/c, lock_dir: {0}/l", new.display()))
    };
    let from = serve(&site, &elsewhere(&format!("serve: tested, serve_from: {good}")));
    assert_eq!(served(&from), all("1", "2"));
    std::fs::remove_dir_all(&new).unwrap();
    let wrong = serve(&site, &elsewhere("serve: tested, serve_from: nothing"));
    assert_eq!(value(&wrong, "n00", "a"), "setting-value");
}

#[test]
fn a_record_that_is_lost_is_no_new_beginning_for_a_process_that_knows_it() {
    type Harm = fn(&std::path::Path);
    let harms: [(Harm, bool); 5] = [
        (|record| std::fs::remove_file(record).unwrap(), false),
        (|record| std::fs::remove_dir_all(record.parent().unwrap()).unwrap(), false),
        (|record| std::fs::write(record, "{").unwrap(), true),
        (|record| std::fs::set_permissions(record, PermissionsExt::from_mode(0o666)).unwrap(), true),
        (
            |record| {
                std::fs::rename(record, record.with_extension("else")).unwrap();
                std::os::unix::fs::symlink(record.with_extension("else"), record).unwrap();
            },
            true,
        ),
    ];
    for (number, (harm, is_problem)) in harms.into_iter().enumerate() {
        let site = site();
        let yaml = options("serve: tested");
        let inventory = serve(&site, &yaml);
        served(&inventory);
        site.commit("site", "master", &BREAKS);
        assert_eq!(served(&inventory), all("1", "2"), "{number}");
        harm(&site.cache().join("reclass-record"));
        site.commit("site", "master", &[("classes/other.yml", "parameters: {a: 3}\n")]);
        assert_eq!(pillar(&inventory, "n00"), "1", "{number}");
        assert_eq!(inventory.last_delivery().unwrap().distrusted, is_problem, "{number}");
        // This question tests the commit.
        assert!(!inventory.delivery().unwrap().unwrap().distrusted, "{number}");
        assert_eq!(served(&inventory), all("1", "3"), "{number}");
        // A new process begins with what that one wrote.
        assert_eq!(served(&serve(&site, &yaml)), all("1", "3"), "{number}");
    }
}

#[test]
fn a_warm_pillar_takes_the_lock_of_its_state_once() {
    let site = site();
    let folders =
        site.options("{inventory_base_uri: SITE/site, schema_check: warn, revision_in_pillar: true}");
    let git = site.options(
        &with_schemas("serve: tested, revision_in_pillar: true").replace("interval: 0", "interval: 60"),
    );
    for options in [folders, git] {
        let inventory = Served::open(&options, false).unwrap();
        for node in ["n01", "n02", "n01"] {
            pillar(&inventory, node);
        }
        let state = inventory.of("n01").unwrap();
        let before = state.locked();
        let reply = inventory.pillar("n01", &Request::default(), false, false);
        assert!(reply.remarks.remembered);
        assert_eq!(state.locked() - before, 1);
        inventory.top("n01", &Request::default(), false).result.unwrap();
        assert_eq!(state.locked() - before, 2);
    }
}

/// A site, a process that has the role of the tester and does nothing, and a worker.
fn stuck() -> (Site, Served, Served) {
    let (site, yaml) = (site(), options("serve: tested"));
    let (stuck, worker) = (serve(&site, &yaml), serve(&site, &yaml));
    assert!(stuck.watch());
    served(&worker);
    (site, stuck, worker)
}

#[test]
fn a_deputy_that_does_nothing_holds_a_commit_no_longer() {
    let (site, _stuck, worker) = stuck();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let folder = site.path("lock");
    let role = std::fs::read_dir(&folder).unwrap().map(name).find_map(|name| {
        let role = name.strip_prefix("reclass-serve-")?.strip_suffix("-test")?;
        Some(format!("reclass-serve-{role}-deputy"))
    });
    let deputy = std::fs::File::create(folder.join(role.unwrap())).unwrap();
    deputy.lock().unwrap();
    site.commit("site", "master", &[BREAKS[1]]);
    while pillar(&worker, "n07") == "1" {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    assert_eq!(pillar(&worker, "n07"), "2");
}

#[test]
fn another_process_tests_a_commit_that_has_waited_for_a_tester_that_does_nothing() {
    let (site, _stuck, worker) = stuck();
    site.commit("site", "master", &[BREAKS[1]]);
    assert_eq!(pillar(&worker, "n07"), "1");
    assert!(worker.delivery().unwrap().unwrap().waiting.is_some());
    // Commits that come meanwhile neither lengthen the wait nor hide it.
    let begin = std::time::Instant::now();
    for number in 0.. {
        if pillar(&worker, "n07") == "2" {
            break;
        }
        let waiting = worker.delivery().unwrap().unwrap().waiting;
        assert!(waiting.is_none_or(|waiting| waiting + 2 >= begin.elapsed().as_secs()), "{waiting:?}");
        let text = format!("parameters: {{a: 1, b: {number}}}\n");
        site.commit("site", "master", &[("classes/role.yml", &text)]);
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}
