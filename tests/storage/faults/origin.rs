//! Origin is a repository somewhere, with one node and its class, that an inventory is fetched from.

use std::path::Path;
use std::process::Command;

use reclass::value::{Map, Value};
use tempfile::TempDir;

use support::folders::write;

/// A repository with the branch `master`.
pub struct Origin(TempDir);

impl Origin {
    /// One without a commit.
    pub fn new() -> Origin {
        let origin = Origin(tempfile::tempdir().unwrap());
        origin.git(&["init", "-q"]);
        origin
    }

    fn git(&self, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=master"]);
        let done = command.arg("-C").arg(self.0.path()).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// Commits a class with this value of `v`.
    pub fn commit(&self, version: usize) {
        write(&self.0.path().join("nodes/n.yml"), "classes: [c]\n");
        write(&self.0.path().join("classes/c.yml"), &format!("parameters: {{v: {version}}}\n"));
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", "x"]);
    }

    /// The options of an inventory that is fetched from here for every answer, with its caches below `base`.
    pub fn options(&self, base: &Path) -> Map {
        let tree = |root: &str| {
            let text = |text: &str| Value::text(text);
            let entries = [
                ("repo", text(self.0.path().to_str().unwrap())),
                ("branch", text("master")),
                ("root", text(root)),
                ("cache_dir", text(base.join("cache").to_str().unwrap())),
                ("lock_dir", text(base.join("locks").to_str().unwrap())),
            ];
            Value::map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
        };
        let options = [
            ("storage_type", Value::text("yaml_git")),
            ("nodes_uri", tree("nodes")),
            ("classes_uri", tree("classes")),
            ("git_fetch_interval", Value::Int(0)),
            ("git_fetch_failure", Value::text("fail")),
        ];
        options.into_iter().map(|(key, value)| (key.into(), value)).collect()
    }
}
