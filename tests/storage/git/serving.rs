//! Revisions that are tested before they are served: what breaks nodes reaches none of these, canaries come first,
//! and two processes never disagree.

use reclass::internals::engine::Inventory;

use crate::site::{Site, code, parameter};

/// Five of twenty nodes have the class `role`.
fn site() -> Site {
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

fn options(more: &str) -> String {
    format!(
        "{{storage_type: yaml_git, git_fetch_interval: 0, {more}, nodes_uri: {{repo: SITE/site, root: nodes, CACHE}}, \
         classes_uri: {{repo: SITE/site, root: classes, branch: master, CACHE}}}}"
    )
}

/// The parameter `a` of all nodes.
fn served(inventory: &Inventory) -> Vec<String> {
    (0..20).map(|number| parameter(inventory, &format!("n{number:02}"), "a")).collect()
}

/// The first five and the others.
fn all(first: &str, others: &str) -> Vec<String> {
    let of = |value: &str, number| std::iter::repeat_n(value.to_owned(), number);
    of(first, 5).chain(of(others, 15)).collect()
}

fn news(inventory: &Inventory) -> Vec<String> {
    inventory.serving().unwrap().take_news().into_iter().map(|(_, sentence)| sentence).collect()
}

const BREAKS: [(&str, &str); 2] = [
    ("classes/role.yml", "parameters: {a: 2, b: '${gone}'}\n"),
    ("classes/other.yml", "parameters: {a: 2}\n"),
];

#[test]
fn what_breaks_nodes_is_not_served_to_them_or_to_none() {
    for (serve, others) in [("tested", "2"), ("whole", "1")] {
        let site = site();
        let inventory = site.open(&options(&format!("serve: {serve}")));
        let other = site.open(&options(&format!("serve: {serve}")));
        assert_eq!(served(&inventory), all("1", "1"));
        site.commit("site", "master", &BREAKS);
        assert_eq!(served(&inventory), all("1", others), "{serve}");
        assert_eq!(served(&other), all("1", others), "{serve}");
        let [told] = &news(&inventory)[..] else { panic!("one decision") };
        assert!(told.contains("5 nodes") && told.contains("role.yml:1:"), "{told}");
        assert_eq!(news(&other), [""; 0], "one process has decided");
        let decision = other.serving().unwrap().decision().unwrap();
        assert_eq!(decision.problems[0].nodes, ["n00", "n01", "n02", "n03", "n04"]);
        // Another commit breaks nothing any more, and a third one breaks another node.
        site.commit("site", "master", &[("classes/role.yml", "parameters: {a: 3}\n")]);
        assert_eq!(served(&other), all("3", "2"), "{serve}");
        site.commit(
            "site",
            "master",
            &[("nodes/n07.yml", "classes: [gone]\n"), ("classes/other.yml", "parameters: {a: 4}\n")],
        );
        let mut now = all("3", if serve == "whole" { "2" } else { "4" });
        now[7] = "2".to_owned();
        assert_eq!(served(&inventory), now, "{serve}");
        assert_eq!(served(&other), now, "{serve}");
        // The whole inventory is that of most nodes.
        let failed = inventory.inventory().map_or_else(|error| code(&error), |_| String::new());
        assert_eq!(failed, if serve == "whole" { "" } else { "class-not-found" });
    }
}

#[test]
fn earlier_revisions_stay_with_the_nodes_that_they_are_the_last_good_ones_of() {
    let site = site();
    let inventory = site.open(&options("serve: tested"));
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
    assert_eq!((served(&inventory), parameter(&inventory, "n20", "a")), (now, "3".to_owned()));
}

#[test]
fn a_node_that_failed_before_and_a_node_that_is_new_hold_nothing_back() {
    let site = site();
    site.commit("site", "master", &[("nodes/n19.yml", "classes: [gone]\n")]);
    let inventory = site.open(&options("serve: whole"));
    assert_eq!(parameter(&inventory, "n19", "a"), "class-not-found");
    site.commit("site", "master", &[("classes/other.yml", "parameters: {a: 2}\n"), ("nodes/n18.yml", "")]);
    assert_eq!(parameter(&inventory, "n17", "a"), "2");
    assert_eq!(parameter(&inventory, "n18", "a"), "node-not-found");
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
    assert_eq!(parameter(&inventory, "n17", "a"), "2");
}

#[test]
fn canaries_come_first_until_somebody_decides() {
    for promote in [true, false] {
        let site = site();
        let yaml = options("serve: tested, canary: {match: 'n0[4-6]'}");
        let (inventory, other) = (site.open(&yaml), site.open(&yaml));
        served(&inventory);
        assert_eq!(inventory.serving().unwrap().end_trial(promote).unwrap(), None);
        site.commit("site", "master", &BREAKS);
        let mut now = all("1", "1");
        (now[5], now[6]) = ("2".to_owned(), "2".to_owned());
        assert_eq!(served(&inventory), now);
        assert_eq!(served(&other), now);
        let decision = inventory.serving().unwrap().decision().unwrap();
        assert_eq!(decision.trial.as_ref().unwrap().nodes, ["n05", "n06"]);
        let [held, trial] = &news(&inventory)[..] else { panic!("one node keeps its commit") };
        assert!(held.contains(" breaks 5 nodes, which keep the one before: "), "{held}");
        assert!(trial.ends_with(" of master is on trial with 2 nodes: n05, n06"), "{trial}");
        assert!(other.serving().unwrap().end_trial(promote).unwrap().unwrap().ends_with(" of master"));
        assert_eq!(served(&inventory), all("1", if promote { "2" } else { "1" }));
        assert_eq!(served(&other), served(&inventory));
        assert_eq!(other.serving().unwrap().end_trial(promote).unwrap(), None);
    }
}

#[test]
fn a_trial_ends_by_itself_and_a_share_of_the_nodes_is_always_the_same() {
    let site = site();
    let yaml = options("serve: tested, canary: {percent: 30}");
    let (inventory, other) = (site.open(&yaml), site.open(&yaml));
    served(&inventory);
    site.commit("site", "master", &[BREAKS[1], ("classes/role.yml", "parameters: {a: 2}\n")]);
    let now = served(&inventory);
    let share = now.iter().filter(|value| *value == "2").count();
    assert!((1..15).contains(&share), "{share}");
    assert_eq!(served(&other), now);
    std::thread::sleep(std::time::Duration::from_secs(1));
    let over = site.open(&options("serve: tested, canary: {percent: 30}, canary_for: 1"));
    assert_eq!(served(&over), all("2", "2"));
    assert_eq!(served(&inventory), all("2", "2"));
}

#[test]
fn a_canary_that_is_no_node_is_told() {
    let site = site();
    let inventory = site.open(&options("serve: tested, canary: {match: 'wbe*'}"));
    served(&inventory);
    let problem = "'match: wbe*' of the setting 'canary' matches no node";
    let nodes = inventory.nodes().unwrap();
    assert_eq!(inventory.serving().unwrap().unmatched_canary(&nodes).as_deref(), Some(problem));
    site.commit("site", "master", &[("nodes/n07.yml", "classes: [gone]\n")]);
    served(&inventory);
    let [held, trial, told] = &news(&inventory)[..] else { panic!("three sentences") };
    assert!(held.contains(" breaks 1 node, which keeps the one before: "), "{held}");
    assert!(trial.ends_with(" is on trial with 0 nodes"), "{trial}");
    assert_eq!(told, problem);
    let other = site.open(&options("serve: tested, canary: {match: 'n0*'}"));
    assert_eq!(other.serving().unwrap().unmatched_canary(&nodes), None);
}

#[test]
fn a_decision_is_forgotten_when_nothing_is_tested_any_more() {
    let site = site();
    let yaml = options("serve: tested");
    served(&site.open(&yaml));
    site.commit("site", "master", &BREAKS);
    assert_eq!(served(&site.open(&yaml)), all("1", "2"));
    site.open(&yaml).forget_served().unwrap();
    assert_eq!(served(&site.open(&yaml)), all("1", "2"), "only `serve: now` forgets");
    let off = site.open(&options("serve: now"));
    assert_eq!(served(&off), all("reference-not-found", "2"));
    off.forget_served().unwrap();
    off.forget_served().unwrap();
    let since = std::time::SystemTime::now();
    let on = site.open(&yaml);
    assert_eq!(served(&on), all("reference-not-found", "2"), "what was served before");
    assert!(on.serving().unwrap().decision().unwrap().began() >= Some(since));
}

#[test]
fn a_branch_that_no_location_names_changes_no_decision() {
    let site = site();
    let inventory = site.open(&options("serve: tested, canary: {match: n06}"));
    served(&inventory);
    site.commit("site", "master", &[("classes/other.yml", "parameters: {a: 2}\n")]);
    served(&inventory);
    let trial = inventory.serving().unwrap().decision();
    assert!(trial.as_ref().unwrap().trial.is_some());
    site.commit("site", "unrelated", &[]);
    served(&inventory);
    // It has the time when the trial began, too.
    assert_eq!(inventory.serving().unwrap().decision(), trial);
    inventory.serving().unwrap().end_trial(false).unwrap();
    site.commit("site", "unrelated", &[]);
    assert_eq!(served(&inventory), all("1", "1"));
}

#[test]
fn one_process_tests_and_the_others_go_on() {
    let site = site();
    let yaml = options("serve: tested");
    let (engine, worker) = (site.open(&yaml), site.open(&yaml));
    assert!(engine.serving().unwrap().watch());
    assert!(!worker.serving().unwrap().watch());
    served(&worker);
    site.commit("site", "master", &[BREAKS[1]]);
    assert_eq!(served(&worker), all("1", "1"));
    assert_eq!(news(&worker), [""; 0]);
    engine.nodes().unwrap();
    assert_eq!(served(&worker), all("1", "2"));
    assert_eq!(news(&engine).len(), 1);
    drop(engine);
    assert!(worker.serving().unwrap().watch());
}

#[test]
fn a_process_that_is_killed_at_any_time_leaves_a_decision() {
    let site = site();
    let yaml = options("serve: tested");
    let inventory = site.open(&yaml);
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
        let other = site.open(&yaml);
        assert_eq!(served(&other), all("1", &value), "killed after {} ms", step * 20);
        assert_eq!(served(&inventory), all("1", &value), "killed after {} ms", step * 20);
    }
}

#[test]
fn the_program_asks_the_same_decision_and_folders_have_none() {
    let site = site();
    let yaml = options("serve: tested");
    let inventory = site.open(&yaml);
    served(&inventory);
    site.commit("site", "master", &BREAKS);
    let output = site.program(&yaml, &["-n", "n00"]);
    assert_eq!(news(&inventory), [""; 0]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("a: 1"), "{output:?}");
    assert_eq!(served(&inventory), all("1", "2"));
    let fixed = site.open(&options("serve: tested, git_revision: master"));
    assert_eq!(parameter(&fixed, "n00", "a"), "reference-not-found");
    // Who works on folders reads them; what is shared is served.
    let folders = site.options("{serve: tested, inventory_base_uri: SITE}");
    assert!(Inventory::open(&folders).is_ok_and(|inventory| inventory.serving().is_none()));
    let error = Inventory::shared(&folders).unwrap_err();
    assert_eq!(code(&error), "setting-value");
    for canary in ["{percent: 200}", "web*", "{match: 1}", "{other: 1}"] {
        let error = Inventory::open(&site.options(&options(&format!("canary: {canary}")))).unwrap_err();
        assert_eq!(code(&error), "setting-value", "{canary}");
    }
}
