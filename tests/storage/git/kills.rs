//! A fetch that is stopped at a chosen stage, by the end of our process or of git's: what was there
//! is answered whole until the fetch is written down, and the next fetch is right.
//!
//! A `git` of the test, in front of the real one, waits at the stage. The test checks that the stage
//! is reached before it kills.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use reclass::Inventory;
use rustix::process::{Pid, Signal, getpgid, kill_process_group};

use super::site::{ENVIRONMENTS, Site, git, parameter};

/// Waits before or after a command of git, or inside `fetch`, until the file `MARK` is gone.
const PROGRAM: &str = r#"#!/bin/sh
pause() { echo $$ > "$MARK.new"; mv "$MARK.new" "$MARK"; while [ -e "$MARK" ]; do sleep 0.02; done; }
for word; do
    case $word in init | fetch | for-each-ref | gc | ls-tree) command=$word; break ;; esac
done
case "$STAGE" in
    "before $command") pause ;;
    "after $command") "$REAL" "$@"; code=$?; pause; exit $code ;;
esac
if [ "$command" = fetch ]; then
    case "$STAGE" in
        "amid a pack") set -- -c fetch.unpackLimit=1 "$@" ;;
        prepared | committed) set -- -c core.hooksPath="$PROGRAMS" "$@" ;;
    esac
    case "$STAGE" in
        amid*) for word; do
            shift
            set -- "$@" "$word"
            [ "$word" = fetch ] && set -- "$@" --upload-pack="$PROGRAMS/upload-pack"
        done ;;
    esac
fi
exec "$REAL" "$@"
"#;

/// What the other side of a fetch runs: it sends some of what it has, and no more.
const UPLOAD_PACK: &str = r#"#!/bin/sh
"$REAL" upload-pack "$@" | {
    # Byte by byte: `head` keeps what it has read until there is more. Git sends up to 65,520 at once.
    dd bs=1 count=130000 2>/dev/null
    echo $$ > "$MARK.new"; mv "$MARK.new" "$MARK"; while [ -e "$MARK" ]; do sleep 0.02; done
}
"#;

/// The hook that git runs around the change of references.
const REFERENCE_TRANSACTION: &str = r#"#!/bin/sh
if [ "$1" = "$STAGE" ] && grep -q refs/heads/base; then
    echo $$ > "$MARK.new"; mv "$MARK.new" "$MARK"; while [ -e "$MARK" ]; do sleep 0.02; done
fi
"#;

/// How far a fetch is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Reached {
    /// Nothing has come.
    Begun,
    /// A part of what comes is there.
    Transfer,
    /// All is there, and the branch is where it was.
    Stored,
    /// The branch is at what came.
    Moved,
    /// The record has the fetch.
    Recorded,
}

/// The stages, in their order, and how far the fetch is then.
const STAGES: [(&str, Reached); 9] = [
    ("before fetch", Reached::Begun),
    ("amid objects", Reached::Transfer),
    ("amid a pack", Reached::Transfer),
    ("prepared", Reached::Stored),
    ("committed", Reached::Moved),
    ("after fetch", Reached::Moved),
    ("after for-each-ref", Reached::Moved),
    ("after gc", Reached::Moved),
    ("before ls-tree", Reached::Recorded),
];

/// A site whose branch `base` has a new commit that was not fetched.
struct Stage {
    site: Site,
    /// Who has asked before the commit, and does not fetch any more.
    before: Option<Inventory>,
    name: &'static str,
    /// The new commit.
    commit: String,
}

impl Stage {
    fn new(name: &'static str, first: bool) -> Stage {
        let site = Site::with_environments();
        let before = (!first).then(|| site.open(&ENVIRONMENTS.replace("interval: 0", "interval: 3600")));
        if let Some(inventory) = &before {
            assert_eq!(parameter(inventory, "web1", "branch"), "base");
        }
        // Noise, for the transfer to have a middle.
        let mut noise = String::new();
        for number in 0_u64..20_000 {
            writeln!(noise, "{:x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).unwrap();
        }
        let files = [("classes/role.yml", "parameters: {branch: later}\n"), ("noise.txt", &noise)];
        let commit = site.commit("site", "base", &files);
        let programs = site.path("programs");
        fs::create_dir(&programs).unwrap();
        let texts = [
            ("git", PROGRAM),
            ("upload-pack", UPLOAD_PACK),
            ("reference-transaction", REFERENCE_TRANSACTION),
        ];
        for (program, text) in texts {
            fs::write(programs.join(program), text).unwrap();
            fs::set_permissions(programs.join(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Stage { site, before, name, commit }
    }

    fn mark(&self) -> PathBuf {
        self.site.path("mark")
    }

    /// Asks, and waits until git has reached the stage.
    fn reach(&self) -> Child {
        let path = std::env::var_os("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|path| path.is_file());
        let programs = self.site.path("programs");
        let with_ours = std::iter::once(programs.clone()).chain(std::env::split_paths(&path));
        let child = self
            .site
            .command(ENVIRONMENTS, &["-n", "web1"])
            .env("PATH", std::env::join_paths(with_ours).unwrap())
            .env("REAL", real.unwrap())
            .env("PROGRAMS", programs)
            .env("STAGE", self.name)
            .env("MARK", self.mark())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until(self.name, || self.mark().exists());
        child
    }

    /// Fails unless the cache is as far as the stage says.
    fn check(&self, reached: Reached) {
        let caches = fs::read_dir(self.site.path("cache")).unwrap().map(|entry| entry.unwrap().path());
        let caches: Vec<_> = caches.collect();
        // The first fetch goes to a folder beside, which takes its place in the end.
        let [cache] = &caches[..] else { panic!("{}: {caches:?}", self.name) };
        let says = |arguments: &[&str]| {
            let output = Command::new("git").arg("--git-dir").arg(cache).args(arguments).output().unwrap();
            output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let has = |what: &str| says(&["cat-file", "-e", what]).is_some();
        let stored = || has(&self.commit) && has(&format!("{}:noise.txt", self.commit));
        let moved = || says(&["rev-parse", "base"]).as_ref() == Some(&self.commit);
        let record = fs::read_to_string(cache.join("reclass-record")).unwrap_or_default();
        assert_eq!(record.contains(&self.commit), reached >= Reached::Recorded, "{}: {record}", self.name);
        assert_eq!(moved(), reached >= Reached::Moved, "{}", self.name);
        assert_eq!(stored(), reached >= Reached::Stored, "{}", self.name);
        match self.name {
            // They come one by one, the commit first.
            "amid objects" => until(self.name, || has(&self.commit)),
            "amid a pack" => until(self.name, || left(&cache.join("objects")).len() == 1),
            "prepared" => assert!(cache.join("refs/heads/base.lock").exists()),
            _ => {}
        }
    }

    /// Fails unless the next answers are right, and nothing is left over.
    fn check_next(&self) {
        let begun = Instant::now();
        while parameter(&self.site.open(ENVIRONMENTS), "web1", "branch") != "later" {
            assert!(begun.elapsed() < Duration::from_secs(600), "{}", self.name);
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(parameter(&self.site.open(ENVIRONMENTS), "dev1", "branch"), "dev", "{}", self.name);
        let caches = fs::read_dir(self.site.path("cache")).unwrap().map(|entry| entry.unwrap().path());
        assert_eq!(caches.collect::<Vec<_>>(), [self.site.cache()], "{}", self.name);
        let left = left(&self.site.cache());
        assert!(left.is_empty(), "{}: {left:?}", self.name);
        git(&self.site.cache(), &["fsck", "--strict", "--connectivity-only"]);
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(600), "{what} is not reached");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What a process leaves that is ended amid its work: locks, and files that are not whole.
fn left(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.append(&mut left(&entry.path()));
        } else if name.starts_with("tmp_")
            || entry.path().extension().is_some_and(|end| end == "lock" || end == "new")
        {
            found.push(entry.path());
        }
    }
    found
}

/// Our process is killed at each stage.
fn we_are_killed(first: bool) {
    let init = [("before init", Reached::Begun), ("after init", Reached::Begun)];
    let stages = STAGES.iter().chain(init.iter().filter(|_| first));
    for (name, reached) in stages.copied() {
        let stage = Stage::new(name, first);
        let mut child = stage.reach();
        stage.check(reached);
        child.kill().unwrap();
        child.wait().unwrap();
        let _ = fs::remove_file(stage.mark());
        if let Some(inventory) = &stage.before {
            let expected = if reached == Reached::Recorded { "later" } else { "base" };
            assert_eq!(parameter(inventory, "web1", "branch"), expected, "{name}");
        }
        stage.check_next();
    }
}

/// Git is killed at each stage, as by a system without memory, and we are not.
fn git_is_killed(first: bool) {
    for (name, reached) in STAGES {
        let stage = Stage::new(name, first);
        let child = stage.reach();
        stage.check(reached);
        let one: i32 = fs::read_to_string(stage.mark()).unwrap().trim().parse().unwrap();
        let group = getpgid(Pid::from_raw(one)).unwrap();
        kill_process_group(group, Signal::KILL).unwrap();
        let _ = fs::remove_file(stage.mark());
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        let (said, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        // Tidying up is nothing that an answer needs.
        let answered = name == "after gc";
        let recorded = reached == Reached::Recorded;
        match status.code() {
            Some(0) if answered => {
                assert!(said.contains("branch: later\n") && errors.is_empty(), "{name}: {errors}");
            }
            Some(0) if !first && !recorded => {
                assert!(said.contains("branch: base\n") && errors.contains("git-stale"), "{name}: {errors}");
            }
            Some(74) if first || recorded => {
                assert!(said.is_empty() && errors.contains("error[git-"), "{name}: {errors}");
            }
            _ => panic!("{name}: {status}: {said}{errors}"),
        }
        stage.check_next();
    }
}

#[test]
fn a_process_that_is_killed_at_any_stage_of_a_fetch_leaves_what_was_there() {
    we_are_killed(false);
}

#[test]
fn a_process_that_is_killed_at_any_stage_of_the_first_fetch_leaves_nothing_that_harms() {
    we_are_killed(true);
}

#[test]
fn a_git_that_is_killed_at_any_stage_of_a_fetch_is_an_old_answer_with_a_warning() {
    git_is_killed(false);
}

#[test]
fn a_git_that_is_killed_at_any_stage_of_the_first_fetch_is_a_clear_error() {
    git_is_killed(true);
}
