//! Changes that the kernel does not report to a watch are found: those behind hard links, symbolic links,
//! folders with two paths and mounts. After each change a kept inventory says what a new one says.

use support::folders;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use reclass::value::Value;
use reclass::{Inventory, Request};

/// An inventory on disk, and one that was asked often enough to be watched where it can be.
struct Site {
    folder: tempfile::TempDir,
    kept: Option<Inventory>,
    cache: &'static str,
}

impl Site {
    fn new(files: &[(&str, &str)]) -> Site {
        let site = Site { folder: tempfile::tempdir().unwrap(), kept: None, cache: "auto" };
        folders::inventory(site.folder.path());
        for (path, text) in files {
            site.write(path, text);
        }
        site
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file in place.
    fn write(&self, path: &str, text: &str) {
        folders::write(&self.path(path), text);
    }

    fn open(&self, cache: &str) -> Inventory {
        let mut options = folders::inventory(self.folder.path());
        options.insert("cache".into(), Value::text(cache));
        Inventory::open(&options).unwrap()
    }

    /// Asks until a watch would be there.
    fn warm(&mut self) {
        self.kept = Some(self.open(self.cache));
        for _ in 0..3 {
            answers(self.kept());
        }
    }

    fn kept(&self) -> &Inventory {
        self.kept.as_ref().unwrap()
    }

    fn is_watched(&self) -> bool {
        self.kept().cache_info().watching
    }

    /// The answers of the kept inventory, which are those of a new one.
    fn agree(&self, after: &str) -> String {
        let kept = answers(self.kept());
        assert_eq!(kept, answers(&self.open("off")), "cache {}, after {after}", self.cache);
        kept
    }
}

/// Fingerprints are trusted from then on.
fn settle() {
    std::thread::sleep(Duration::from_millis(2_100));
}

/// What each node gets, errors included.
fn answers(inventory: &Inventory) -> String {
    let nodes = match inventory.nodes() {
        Ok(nodes) => nodes,
        Err(error) => return error.to_string(),
    };
    let answer = |name: &str| match inventory.nodeinfo(name, &Request::default()) {
        Ok(info) => reclass::json::dumps(&info.to_value(""), false),
        Err(error) => error.to_string(),
    };
    nodes.iter().map(|name| answer(name)).collect::<Vec<_>>().join("\n")
}

const ONE: &str = "parameters: {v: 1}\n";
const TWO: &str = "parameters: {v: 2}\n";
const THREE: &str = "parameters: {v: 3}\n";

#[test]
fn a_file_with_two_names_is_written_under_the_other() {
    let mut site = Site::new(&[("nodes/n1.yml", ONE)]);
    fs::hard_link(site.path("nodes/n1.yml"), site.path("nodes/n2.yml")).unwrap();
    settle();
    site.warm();
    assert!(!site.is_watched());
    site.write("nodes/n1.yml", TWO);
    assert_eq!(site.agree("n1 was written").matches(r#""v":2"#).count(), 2);

    // The other name is outside.
    let mut site = Site::new(&[("classes/c.yml", ONE), ("nodes/n.yml", "classes: [c]\n")]);
    fs::hard_link(site.path("classes/c.yml"), site.path("kept")).unwrap();
    settle();
    site.warm();
    site.write("kept", TWO);
    assert!(site.agree("the other name was written").contains(r#""v":2"#));
}

#[test]
fn a_file_gets_another_name_while_it_is_watched() {
    // A class that nobody has, a name that is no class, a hidden one; made here or moved here.
    let names = ["classes/d.yml", "classes/c.bak", "classes/.c.yml"];
    let sites = names.into_iter().flat_map(|name| [false, true].map(|moved| (name, moved)));
    let site = || Site::new(&[("classes/c.yml", ONE), ("nodes/n.yml", "classes: [c]\n")]);
    let sites: Vec<_> = sites.map(|case| (site(), case)).collect();
    settle();
    for (mut site, (name, moved)) in sites {
        site.warm();
        assert!(site.is_watched());
        if moved {
            fs::hard_link(site.path("classes/c.yml"), site.path("other")).unwrap();
            fs::rename(site.path("other"), site.path(name)).unwrap();
        } else {
            fs::hard_link(site.path("classes/c.yml"), site.path(name)).unwrap();
        }
        site.agree("the link was made");
        site.agree("nothing");
        assert!(!site.is_watched(), "{name}");
        site.write(name, TWO);
        assert!(site.agree(name).contains(r#""v":2"#));
    }
}

#[test]
fn a_file_that_is_asked_for_late_has_another_name() {
    let mut site = Site::new(&[("classes/c.yml", ONE), ("nodes/n.yml", "classes: []\n")]);
    fs::hard_link(site.path("classes/c.yml"), site.path("kept")).unwrap();
    settle();
    site.warm();
    assert!(site.is_watched());
    site.write("nodes/n.yml", "classes: [c]\n");
    assert!(site.agree("the node got the class").contains(r#""v":1"#));
    assert!(!site.is_watched());
    site.write("kept", TWO);
    assert!(site.agree("the other name was written").contains(r#""v":2"#));
}

#[test]
fn a_link_that_appears_ends_the_watch() {
    // One that leads to nothing yet, one that leads to a folder, one whose name is that of a file.
    let links = [("extra", false), ("extra", true), ("extra.yml", false)];
    let cases = links.into_iter().flat_map(|(name, there)| [false, true].map(|asked| (name, there, asked)));
    let site = |name| {
        let class = format!("classes: [c, {name}.x]\n");
        Site::new(&[("classes/c.yml", ONE), ("nodes/n.yml", &class)])
    };
    let sites: Vec<_> = cases.map(|case| (site(case.0), case)).collect();
    settle();
    for (mut site, (name, there, asked)) in sites {
        site.warm();
        assert!(site.is_watched());
        if there {
            fs::create_dir(site.path("elsewhere")).unwrap();
        }
        symlink(site.path("elsewhere"), site.path("classes").join(name)).unwrap();
        if asked {
            site.agree("the link was made");
        }
        site.write("elsewhere/x.yml", TWO);
        assert!(site.agree("the class was made").contains(r#""v":2"#), "{name}");
        site.write("elsewhere/x.yml", THREE);
        assert!(site.agree("the class was changed").contains(r#""v":3"#), "{name}");
        assert!(!site.is_watched());
    }
}

#[test]
fn a_folder_with_two_paths_is_not_watched() {
    let files = [("classes/c.yml", ONE), ("classes/nn/n.yml", "classes: [c]\n")];
    let mut site = Site::new(&[files[0], files[1], ("classes/nn/m.yml", "classes: [nn.n]\n")]);
    fs::remove_dir(site.path("nodes")).unwrap();
    symlink("classes/nn", site.path("nodes")).unwrap();
    settle();
    site.warm();
    assert!(!site.is_watched());
    for text in ["parameters: {z: 2}\n", "parameters: {z: 3}\n"] {
        site.write("classes/nn/n.yml", text);
        let number = text.chars().nth(16).unwrap();
        assert_eq!(site.agree(text).matches(&format!(r#""z":{number}"#)).count(), 2);
    }
}

#[test]
fn a_folder_that_took_the_place_of_one_that_is_held_open() {
    let mut site = Site::new(&[("classes/sub/x.yml", ONE), ("nodes/n.yml", "classes: [sub.x]\n")]);
    settle();
    site.warm();
    assert!(site.is_watched());
    let held = fs::File::open(site.path("classes/sub")).unwrap();
    fs::remove_dir_all(site.path("classes/sub")).unwrap();
    site.write("classes/sub/x.yml", TWO);
    site.agree("another folder");
    site.agree("nothing");
    assert!(site.is_watched());
    site.write("classes/sub/x.yml", THREE);
    assert!(site.agree("a change in it").contains(r#""v":3"#));
    drop(held);
}

#[test]
fn links_between_come_to_lead_to_another_folder() {
    // Back to the folder around it; to a file; to a file, with the name of one.
    let links = [("extra", "classes"), ("extra", "c"), ("extra.yml", "c")];
    let cases =
        links.into_iter().flat_map(|(name, first)| ["auto", "stat"].map(|cache| (name, first, cache)));
    let site = |(name, first, cache): (&'static str, &'static str, &'static str)| {
        let class = format!("classes: [{name}.x]\n");
        let mut site = Site::new(&[("c", ONE), ("other/x.yml", TWO), ("nodes/n.yml", &class)]);
        site.cache = cache;
        symlink(site.path(first), site.path("between")).unwrap();
        symlink(site.path("between"), site.path("classes").join(name)).unwrap();
        (site, name, first)
    };
    let sites: Vec<_> = cases.map(site).collect();
    settle();
    for (mut site, name, first) in sites {
        site.warm();
        assert!(site.agree("nothing").contains("no class"), "{name} -> {first}");
        fs::remove_file(site.path("between")).unwrap();
        symlink(site.path("other"), site.path("between")).unwrap();
        assert!(site.agree("the link was changed").contains(r#""v":2"#), "{name} -> {first}");
    }
}

#[test]
fn links_that_lead_elsewhere_do_not_list_trees_anew() {
    let mut site = Site::new(&[("c", ONE), ("nodes/n.yml", "classes: [c]\n")]);
    symlink(site.path("classes"), site.path("classes/back")).unwrap();
    symlink(site.path("c"), site.path("classes/c.yml")).unwrap();
    symlink(site.path("c"), site.path("classes/text")).unwrap();
    settle();
    site.warm();
    let before = site.kept().counts().listed;
    assert!(site.agree("nothing").contains(r#""v":1"#));
    assert_eq!(site.kept().counts().listed, before);
}

#[test]
fn a_link_that_cannot_be_followed_is_a_file_if_its_name_says_so() {
    let long = "x".repeat(300);
    let mut site = Site::new(&[("nodes/a.yml", ONE), ("nodes/b.yml", "classes: [z]\n")]);
    symlink(&long, site.path("classes/z.yml")).unwrap();
    settle();
    site.warm();
    let answer = site.agree("nothing");
    assert!(answer.contains(r#""v":1"#) && answer.contains("z.yml': file name too long"), "{answer}");
    fs::remove_file(site.path("classes/z.yml")).unwrap();
    site.write("classes/z.yml", TWO);
    assert!(site.agree("it is a file").contains(r#""v":2"#));
    symlink(&long, site.path("classes/z")).unwrap();
    let answer = site.agree("a link that may be a folder");
    assert!(answer.contains("z': what the link leads to: file name too long"), "{answer}");
}

/// Runs this test again where it may mount; `false` in the process that may.
fn runs_in_a_namespace_of_its_own(name: &str) -> bool {
    const INSIDE: &str = "RECLASS_TEST_MAY_MOUNT";
    if std::env::var_os(INSIDE).is_some() {
        return false;
    }
    let unshare = || Command::new("unshare");
    if !unshare().args(["--map-root-user", "--mount", "true"]).status().is_ok_and(|status| status.success()) {
        support::absent("mount-namespaces", "unshare has to be permitted");
        return true;
    }
    let mut again = unshare();
    again.args(["--map-root-user", "--mount"]).arg(std::env::current_exe().unwrap());
    let ended = again.args(["--exact", name, "--nocapture"]).env(INSIDE, "1").status().unwrap();
    assert!(ended.success());
    true
}

#[test]
fn something_is_mounted_while_it_is_watched() {
    if runs_in_a_namespace_of_its_own("watch::something_is_mounted_while_it_is_watched") {
        return;
    }
    let run = |program: &str, arguments: &[PathBuf]| {
        assert!(Command::new(program).args(arguments).status().unwrap().success(), "{program}");
    };
    let files = [
        ("classes/c.yml", ONE),
        ("classes/sub/x.yml", ONE),
        ("nodes/n.yml", "classes: [c]\n"),
        ("nodes/o.yml", "classes: [sub.x]\n"),
        ("other/x.yml", TWO),
        ("other/c", TWO),
    ];
    // A folder and a file, and the name under which the mounted file is written.
    for (what, place, written) in
        [("other", "classes/sub", "other/x.yml"), ("other/c", "classes/c.yml", "other/c")]
    {
        let mut site = Site::new(&files);
        settle();
        site.warm();
        assert!(site.is_watched());
        // A mount elsewhere changes nothing.
        let elsewhere = site.path("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        run("mount", &["--bind".into(), site.path("other"), elsewhere.clone()]);
        site.agree("a mount elsewhere");
        assert!(site.is_watched());
        run("umount", &[elsewhere]);
        run("mount", &["--bind".into(), site.path(what), site.path(place)]);
        assert!(site.agree("the mount").contains(r#""v":2"#), "{what}");
        assert!(!site.is_watched());
        site.write(written, THREE);
        assert!(site.agree("it was written").contains(r#""v":3"#), "{what}");
        run("umount", &[site.path(place)]);
        assert!(!site.agree("it is gone").contains(r#""v":3"#), "{what}");
    }
}
