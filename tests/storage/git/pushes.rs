//! What a push changes: what is computed again, and that nobody sees half of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reclass::Inventory;
use reclass::value::Value;

use super::site::{ENVIRONMENTS, Site, git, parameter};

/// An inventory whose nodes were all asked for.
fn warm(site: &Site) -> Inventory {
    let inventory = site.open(ENVIRONMENTS);
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    assert_eq!(parameter(&inventory, "dev1", "branch"), "dev");
    inventory
}

#[test]
fn a_push_computes_what_it_changed_and_nothing_else() {
    let site = Site::with_environments();
    let inventory = warm(&site);
    let before = inventory.counts();
    site.commit("site", "dev", &[("classes/role.yml", "parameters: {branch: pushed}\n")]);
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    assert_eq!(parameter(&inventory, "dev1", "branch"), "pushed");
    let now = inventory.counts();
    assert_eq!((now.parsed - before.parsed, now.computed - before.computed), (1, 1));
}

#[test]
fn a_push_of_something_else_computes_nothing() {
    let site = Site::with_environments();
    let inventory = warm(&site);
    let before = inventory.counts();
    site.commit("site", "dev", &[("README.md", "x\n"), ("classes/unused.yml", "parameters: {}\n")]);
    site.commit(
        "site",
        "base",
        &[("classes/role.yml", "# new\nclasses: [.sub]\nparameters: {branch: base}\n")],
    );
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    assert_eq!(parameter(&inventory, "dev1", "branch"), "dev");
    assert_eq!(inventory.counts().computed, before.computed, "a comment is no change");
}

#[test]
fn a_class_that_was_missing_is_noticed_when_it_is_pushed() {
    let site = Site::with_environments();
    site.commit("site", "master", &[("nodes/dev1.yml", "environment: dev\nclasses: [role, later]\n")]);
    let mut options = site.options(ENVIRONMENTS);
    options.insert("ignore_class_notfound".into(), Value::Bool(true));
    let inventory = Inventory::open(&options).unwrap();
    assert_eq!(parameter(&inventory, "dev1", "later"), "-");
    site.commit("site", "base", &[("classes/later.yml", "parameters: {later: base}\n")]);
    assert_eq!(parameter(&inventory, "dev1", "later"), "-", "it is a class of another environment");
    site.commit("site", "dev", &[("classes/later.yml", "parameters: {later: dev}\n")]);
    assert_eq!(parameter(&inventory, "dev1", "later"), "dev");
    site.commit("site", "dev", &[("classes/later.yml", "")]);
    assert_eq!(parameter(&inventory, "dev1", "later"), "-");
}

#[test]
fn history_that_is_rewritten_and_branches_that_go_and_come() {
    let site = Site::with_environments();
    let repo = site.path("site");
    let inventory = warm(&site);
    git(&repo, &["checkout", "-q", "--orphan", "fresh"]);
    site.commit("site", "fresh", &[("classes/role.yml", "parameters: {branch: rewritten}\n")]);
    git(&repo, &["branch", "-f", "dev", "fresh"]);
    assert_eq!(parameter(&inventory, "dev1", "branch"), "rewritten");
    git(&repo, &["branch", "-D", "dev"]);
    assert_eq!(parameter(&inventory, "dev1", "branch"), "git-branch");
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    // A folder of references replaces the branch.
    git(&repo, &["branch", "dev/deep", "fresh"]);
    assert_eq!(parameter(&inventory, "dev1", "branch"), "git-branch");
    git(&repo, &["branch", "-D", "dev/deep"]);
    git(&repo, &["branch", "dev", "fresh"]);
    assert_eq!(parameter(&inventory, "dev1", "branch"), "rewritten");
}

#[test]
fn what_is_tidied_away_in_the_cache_is_not_missed() {
    let site = Site::with_environments();
    let inventory = site.open(&ENVIRONMENTS.replace("git_fetch_interval: 0", "git_fetch_interval: 3600"));
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    // Another process fetches a history that was rewritten, and somebody tidies up.
    git(&site.path("site"), &["checkout", "-q", "master"]);
    git(&site.path("site"), &["branch", "-f", "dev", "base"]);
    git(&site.path("site"), &["branch", "-f", "base", "master"]);
    assert_eq!(parameter(&site.open(ENVIRONMENTS), "dev1", "branch"), "base");
    git(&site.cache(), &["gc", "--quiet", "--prune=now"]);
    assert_eq!(parameter(&inventory, "web1", "branch"), "class-not-found", "the new record is seen");
    assert_eq!(parameter(&inventory, "dev1", "branch"), "base");
}

#[test]
fn a_whole_inventory_is_of_one_commit() {
    let site = Site::new();
    let commit = |text: &str| {
        let class = format!("parameters: {{a: {text}}}\n");
        let node = format!("classes: [c]\nparameters: {{b: {text}}}\n");
        site.commit("site", "master", &[("classes/c.yml", &class), ("nodes/n.yml", &node)]);
    };
    commit("0");
    let settings = ENVIRONMENTS.replace("{storage_type", "{default_environment: master, storage_type");
    let pushed = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let inventory = site.open(&settings);
                let first = parameter(&inventory, "n", "a");
                scope.spawn(move || {
                    let mut seen = std::collections::BTreeSet::from([first]);
                    // Once more after the last push.
                    let mut more = true;
                    while more {
                        more = !pushed.load(Ordering::SeqCst);
                        let info = inventory.nodeinfo("n", &reclass::Request::default()).unwrap();
                        let Value::Map(map) = &info.parameters else { panic!("a mapping") };
                        let text = |name: &str| reclass::pystr::str(map.get(name).unwrap());
                        assert_eq!(text("a"), text("b"));
                        seen.insert(text("a"));
                    }
                    seen.len()
                })
            })
            .collect();
        for number in 1..20 {
            commit(&number.to_string());
        }
        pushed.store(true, Ordering::SeqCst);
        for reader in readers {
            assert!(reader.join().unwrap() > 1, "pushes were seen");
        }
    });
}

#[test]
fn between_fetches_nothing_is_asked_of_the_remote() {
    let site = Site::with_environments();
    let settings = ENVIRONMENTS.replace("git_fetch_interval: 0", "git_fetch_interval: 2");
    let inventory = site.open(&settings);
    assert_eq!(parameter(&inventory, "dev1", "branch"), "dev");
    let begun = Instant::now();
    site.commit("site", "dev", &[("classes/role.yml", "parameters: {branch: pushed}\n")]);
    let mut seen = parameter(&inventory, "dev1", "branch");
    assert!(seen == "dev" || begun.elapsed() > Duration::from_secs(1));
    while seen == "dev" && begun.elapsed() < Duration::from_secs(600) {
        std::thread::sleep(Duration::from_millis(100));
        seen = parameter(&inventory, "dev1", "branch");
    }
    assert_eq!(seen, "pushed");
    // The first answer of a process does not rely on what another one fetched.
    site.commit("site", "dev", &[("classes/role.yml", "parameters: {branch: again}\n")]);
    assert_eq!(parameter(&site.open(&settings), "dev1", "branch"), "again");
}
