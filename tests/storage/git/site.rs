//! A site turns files into commits, and options into an inventory that reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use reclass::error::Error;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use tempfile::TempDir;

/// A folder with repositories and a cache.
pub struct Site {
    folder: TempDir,
}

/// A `git` that knows nothing of who runs the tests.
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "init.defaultBranch=master", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Ada")))
        .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ada@example.com")))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

impl Site {
    /// Without repositories.
    pub fn new() -> Site {
        Site { folder: tempfile::tempdir().unwrap() }
    }

    /// With one repository, `site`: two nodes, `web1` in the environment `base` and `dev1` in `dev`,
    /// and classes on the branches of these names; the nodes are on `master`.
    pub fn with_environments() -> Site {
        let site = Site::new();
        site.commit(
            "site",
            "master",
            &[
                ("nodes/web1.yml", "classes: [role]\n"),
                ("nodes/dev1.yml", "environment: dev\nclasses: [role]\n"),
            ],
        );
        for branch in ["base", "dev"] {
            let role = format!("classes: [.sub]\nparameters: {{branch: {branch}}}\n");
            let files = [("classes/role.yml", role.as_str()), ("classes/sub.yml", "parameters: {sub: 1}\n")];
            site.commit("site", branch, &files);
        }
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Commits files to a branch, which begins at `master` or is the first one. An empty text takes a
    /// file away.
    pub fn commit(&self, repo: &str, branch: &str, files: &[(&str, &str)]) -> String {
        let folder = self.path(repo);
        if !folder.exists() {
            fs::create_dir(&folder).unwrap();
            git(&folder, &["init", "-q"]);
            git(&folder, &["commit", "-q", "--allow-empty", "-m", "begin"]);
        }
        let known = git(&folder, &["branch", "--list", branch, "--format=x"]);
        let create = if known.is_empty() { &["-b"][..] } else { &[] };
        git(&folder, &[&["checkout", "-q"], create, &[branch]].concat());
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if text.is_empty() {
                fs::remove_file(path).unwrap();
            } else {
                fs::write(path, text).unwrap();
            }
        }
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-q", "--allow-empty", "-m", "change"]);
        git(&folder, &["rev-parse", "HEAD"])
    }

    /// A configuration, with `SITE` for the folder and `CACHE` for the folders of cache and locks.
    pub fn configuration(&self, yaml: &str) -> String {
        let site = self.folder.path().display().to_string();
        yaml.replace("CACHE", "cache_dir: SITE/cache, lock_dir: SITE/lock").replace("SITE", &site)
    }

    pub fn options(&self, yaml: &str) -> Map {
        let Value::Map(map) = reclass_yaml::parse_value(&self.configuration(yaml)).unwrap() else {
            panic!("a mapping: {yaml}")
        };
        map.as_ref().clone()
    }

    pub fn open(&self, yaml: &str) -> Inventory {
        Inventory::open(&self.options(yaml)).unwrap()
    }

    /// What the program says, with a configuration of its own.
    pub fn program(&self, yaml: &str, arguments: &[&str]) -> Output {
        self.command(yaml, arguments).output().unwrap()
    }

    pub fn command(&self, yaml: &str, arguments: &[&str]) -> Command {
        let folder = self.path("configuration");
        fs::create_dir_all(&folder).unwrap();
        let (path, text) = (folder.join("reclass-config.yml"), self.configuration(yaml));
        // Programs of the same configuration may be reading it.
        if fs::read_to_string(&path).is_ok_and(|known| known == text) {
            return self.started(arguments);
        }
        fs::write(path, text).unwrap();
        self.started(arguments)
    }

    fn started(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
        command.args(arguments).current_dir(self.path("configuration"));
        command
    }

    /// Where the cache of a repository is.
    pub fn cache(&self) -> PathBuf {
        let mut caches = fs::read_dir(self.path("cache")).unwrap().map(|entry| entry.unwrap().path());
        caches.find(|path| path.extension().is_some_and(|end| end == "git")).unwrap()
    }
}

/// The nodes on `master`, the classes on the branches of environments; fetched for each answer.
pub const ENVIRONMENTS: &str = "{storage_type: yaml_git, git_fetch_interval: 0, \
     nodes_uri: {repo: SITE/site, root: nodes, CACHE}, classes_uri: {repo: SITE/site, root: classes, CACHE}}";

/// A parameter of a node, as Python prints it, or the code of the error.
pub fn parameter(inventory: &Inventory, node: &str, name: &str) -> String {
    match inventory.nodeinfo(node, &Request::default()) {
        Ok(info) => match &info.parameters {
            Value::Map(map) => map.get(name).map_or_else(|| "-".into(), reclass::pystr::str),
            _ => unreachable!("parameters are a mapping"),
        },
        Err(error) => code(&error),
    }
}

pub fn code(error: &Error) -> String {
    error.first().code().to_owned()
}

/// The codes of the warnings of a node.
pub fn warnings(inventory: &Inventory, node: &str) -> Vec<String> {
    let info = inventory.nodeinfo(node, &Request::default()).unwrap();
    info.warnings.iter().map(|warning| warning.code().to_owned()).collect()
}
