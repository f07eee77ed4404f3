//! What breaks: remotes that are gone or silent, caches that are damaged, processes that are ended.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use reclass::configuration::with_file;
use reclass::error::{Error, Warning};
use reclass::{Inventory, Request};

use super::site::{ENVIRONMENTS, Site, code, git, parameter, warnings};

fn error(inventory: &Inventory) -> Error {
    inventory.nodeinfo("web1", &Request::default()).unwrap_err()
}

/// The nodes of a repository at an address.
fn at(address: &str, more: &str) -> String {
    format!(
        "{{storage_type: yaml_git, git_fetch_interval: 0, {more} nodes_uri: {{repo: '{address}', root: nodes, CACHE}}, \
         classes_uri: {{repo: '{address}', root: classes, branch: base, CACHE}}}}"
    )
}

#[test]
fn a_remote_that_is_gone_leaves_what_was_fetched_with_a_warning_or_fails() {
    let site = Site::with_environments();
    let inventory = site.open(ENVIRONMENTS);
    assert_eq!(warnings(&inventory, "web1"), [""; 0]);
    let [fresh] = &inventory.fetch_states()[..] else { panic!("one repository") };
    assert!(fresh.stale.is_none() && fresh.source.ends_with("/site"), "{fresh:?}");
    let commits: Vec<_> = fresh.commits.iter().map(|(branch, commit)| (&**branch, &**commit)).collect();
    let head = |branch| git(&site.path("site"), &["rev-parse", branch]);
    assert_eq!(commits, [("base", &*head("base")), ("dev", &head("dev")), ("master", &head("master"))]);
    fs::rename(site.path("site"), site.path("away")).unwrap();
    assert_eq!(warnings(&inventory, "web1"), ["git-stale"]);
    assert_eq!(warnings(&inventory, "web1"), ["git-stale"]);
    let [stale] = &inventory.fetch_states()[..] else { panic!("one repository") };
    assert_eq!(stale.stale.as_ref().map(Warning::code), Some("git-stale"));
    assert_eq!((stale.fetched, &stale.commits), (fresh.fetched, &fresh.commits));
    assert!(stale.fetched.is_some());
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    let all = inventory.inventory().unwrap();
    assert_eq!(all.iter().map(|node| node.warnings.len()).sum::<usize>(), 1, "reported once for all nodes");
    let output = site.program(ENVIRONMENTS, &["nodes"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("git-stale"), "{output:?}");
    let strict = site.open(&ENVIRONMENTS.replace("{storage_type", "{git_fetch_failure: fail, storage_type"));
    let failed = error(&strict);
    assert_eq!(code(&failed), "git-fetch");
    assert!(failed.to_string().contains("does not appear to be a git repository"), "{failed}");
    fs::rename(site.path("away"), site.path("site")).unwrap();
    site.commit("site", "base", &[("classes/role.yml", "parameters: {branch: back}\n")]);
    let end = Instant::now() + Duration::from_secs(600);
    // What failed is left alone for some time.
    while parameter(&inventory, "web1", "branch") != "back" && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(parameter(&inventory, "web1", "branch"), "back");
    assert_eq!(warnings(&inventory, "web1"), [""; 0]);
    assert_eq!(parameter(&strict, "web1", "branch"), "back");
}

#[test]
fn without_anything_fetched_there_is_an_error() {
    let site = Site::new();
    let inventory = site.open(&at("SITE/nowhere", ""));
    assert_eq!(code(&error(&inventory)), "git-fetch");
    assert_eq!(code(&inventory.nodes().unwrap_err()), "git-fetch");
    site.commit("empty", "master", &[]);
    let failed = error(&site.open(&at("SITE/empty", "")));
    assert_eq!(failed.first().code(), "node-not-found");
    git(&site.path("empty"), &["checkout", "-q", "-b", "mastre"]);
    git(&site.path("empty"), &["branch", "-D", "master"]);
    let failed = error(&site.open(&at("SITE/empty", "")));
    assert_eq!(code(&failed), "git-branch");
    assert_eq!(failed.first().kind.help().as_deref(), Some("'mastre' is similar"));
}

#[test]
fn no_password_is_shown() {
    let site = Site::new();
    for address in [
        "http://ada:s3cret%2Fx@127.0.0.1:1/x",
        "https://ada:s3cret%2Fx@127.0.0.1:1/x",
        "ssh://ada:s3cret@127.0.0.1:1/x",
    ] {
        let failed = error(&site.open(&at(address, "")));
        let text = format!("{failed} {failed:?}");
        assert!(text.contains("ada:***@127.0.0.1:1") && !text.contains("s3cret"), "{text}");
        let output = site.program(&at(address, ""), &["-n", "web1"]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("ada:***@") && !text.contains("s3cret"), "{text}");
        assert_eq!(output.status.code(), Some(74), "{text}");
    }
    let options = site.options(&at("https://ada:s3/cret@h/x", ""));
    let text = Inventory::open(&options).unwrap_err().to_string();
    assert!(text.contains("percent") || text.contains("%2F"), "{text}");
    assert!(!text.contains("cret"), "{text}");
}

/// Who forgets `storage_type` has an address where a folder belongs.
#[test]
fn an_address_in_the_place_of_a_folder_is_refused_and_not_shown() {
    let site = Site::new();
    for yaml in [
        "{inventory_base_uri: 'https://ada:s3cret@h/x'}",
        "{nodes_uri: 'https://ada:s3cret@h/x'}",
        "{classes_uri: [classes, 'ssh://ada:s3cret@h/x']}",
        "{nodes_uri: 'https:/ada:s3cret@h/x'}",
        "{config_file: 'https://ada:s3cret@h/x'}",
        &at("https//ada:s3cret@h/x", ""),
        &at("https:/ada:s3cret@h/x", ""),
    ] {
        let options = site.options(yaml);
        let opened = with_file(&options).and_then(|options| Inventory::open(&options));
        let text = opened.unwrap_err().to_string();
        assert!(text.contains("address") && !text.contains("s3cret"), "{text}");
    }
}

/// A server that takes connections and never answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("git://127.0.0.1:{}/x", listener.local_addr().unwrap().port());
    (listener, address)
}

#[test]
fn a_server_that_never_answers_is_left_in_time() {
    let site = Site::with_environments();
    let (listener, address) = silent();
    listener.set_nonblocking(true).unwrap();
    let asked = || std::iter::from_fn(|| listener.accept().ok()).count();
    let begun = Instant::now();
    // The first fetch has ten times as long.
    let output = site.program(&at(&address, "git_fetch_timeout: 1,"), &["-n", "web1"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("error[git-timeout]"), "{text}");
    assert!(begun.elapsed() > Duration::from_secs(9));
    assert!(asked() > 0);
    // Who comes next does not ask the server again.
    let output = site.program(&at(&address, "git_fetch_timeout: 1,"), &["-n", "web1"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("error[git-timeout]"));
    assert_eq!(asked(), 0);
}

#[test]
fn a_server_that_falls_silent_costs_one_wait_and_then_a_rest() {
    let site = Site::with_environments();
    let settings = ENVIRONMENTS.replace("{storage_type", "{git_fetch_timeout: 1, storage_type");
    assert_eq!(parameter(&site.open(&settings), "web1", "branch"), "base");
    // From now on, fetching takes forever.
    let asleep = || {
        let begun = Instant::now();
        let mut command = site.command(&settings, &["-n", "web1"]);
        let output = command.env("PATH", with_sleeping_fetch(&site)).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && errors.contains("git-stale"), "{errors}");
        begun.elapsed()
    };
    let fetches = || fs::read_to_string(site.path("programs/fetches")).unwrap_or_default().lines().count();
    assert!(asleep() >= Duration::from_secs(1));
    let before = fetches();
    assert!(before > 0);
    asleep();
    assert_eq!(fetches(), before, "who comes next does not fetch, and does not wait");
}

/// A `PATH` with a `git` that sleeps instead of fetching.
fn with_sleeping_fetch(site: &Site) -> std::ffi::OsString {
    let programs = site.path("programs");
    fs::create_dir_all(&programs).unwrap();
    let script = programs.join("git");
    let real = which("git");
    let text = format!(
        "#!/bin/sh\nfor word; do case \"$word\" in fetch) echo >> '{}'; sleep 100000;; esac; done\nexec '{}' \"$@\"\n",
        programs.join("fetches").display(),
        real.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path))).unwrap()
}

fn which(program: &str) -> std::path::PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file()).unwrap()
}

#[test]
fn a_process_that_is_killed_leaves_nothing_behind_and_nobody_waiting() {
    let site = Site::with_environments();
    let (listener, address) = silent();
    let settings = at(&address, "");
    let mut child = site.command(&settings, &["-n", "web1"]).spawn().unwrap();
    let (mut connection, _) = listener.accept().unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // git has ended when its end of the connection is closed.
    let mut request = Vec::new();
    connection.read_to_end(&mut request).unwrap();
    // The lock went with the process.
    drop(listener);
    let output = site.program(&settings, &["-n", "web1"]);
    // Whoever finds the lock held waits, and then has another error.
    assert!(String::from_utf8_lossy(&output.stderr).contains("error[git-fetch]"));
}

#[test]
fn many_processes_that_fetch_at_once_all_answer() {
    let site = Site::with_environments();
    for round in 0..3 {
        let role = format!("parameters: {{branch: round{round}}}\n");
        site.commit("site", "base", &[("classes/role.yml", &role)]);
        let children: Vec<_> = (0..6)
            .map(|_| {
                let mut command = site.command(ENVIRONMENTS, &["-n", "web1"]);
                command
                    .stdout(std::process::Stdio::piped())
                    .stderr(std::process::Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.contains(&format!("branch: round{round}\n")), "{output:?}");
            assert!(output.stderr.is_empty(), "{output:?}");
        }
    }
}

/// What happens to the folder of a cache.
type Damage = fn(&std::path::Path);

#[test]
fn a_cache_that_is_damaged_is_made_anew() {
    let damages: [(&str, Damage); 7] = [
        ("no objects", |cache| fs::remove_dir_all(cache.join("objects")).unwrap()),
        ("no HEAD", |cache| fs::remove_file(cache.join("HEAD")).unwrap()),
        ("no configuration", |cache| fs::write(cache.join("config"), "[broken").unwrap()),
        ("no record", |cache| fs::remove_file(cache.join("reclass-record")).unwrap()),
        ("another format", |cache| fs::write(cache.join("reclass-record"), "reclass cache 99\nx\n").unwrap()),
        ("a file", |cache| {
            fs::remove_dir_all(cache).unwrap();
            fs::write(cache, "").unwrap();
        }),
        ("empty objects", |cache| empty(&cache.join("objects"))),
    ];
    for (name, damage) in damages {
        let site = Site::with_environments();
        let before = site.open(ENVIRONMENTS);
        assert_eq!(parameter(&before, "web1", "branch"), "base");
        damage(&site.cache());
        assert_eq!(parameter(&site.open(ENVIRONMENTS), "web1", "branch"), "base", "{name}");
        assert_eq!(parameter(&before, "dev1", "branch"), "dev", "{name}");
        let left: Vec<_> =
            fs::read_dir(site.path("cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [site.cache()], "{name}");
    }
}

/// Empties all files below a folder, as a file system may that was not shut down.
fn empty(folder: &std::path::Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            empty(&entry.path());
        } else {
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o644)).unwrap();
            fs::write(entry.path(), "").unwrap();
        }
    }
}

#[test]
fn a_reference_that_is_damaged_is_mended() {
    let site = Site::with_environments();
    assert_eq!(parameter(&site.open(ENVIRONMENTS), "web1", "branch"), "base");
    fs::write(site.cache().join("refs/heads/base"), "0".repeat(40)).unwrap();
    fs::write(site.cache().join("refs/heads/dev"), "damaged").unwrap();
    site.commit("site", "base", &[("classes/role.yml", "parameters: {branch: later}\n")]);
    let inventory = site.open(ENVIRONMENTS);
    assert_eq!(parameter(&inventory, "web1", "branch"), "later");
    assert_eq!(parameter(&inventory, "dev1", "branch"), "dev");
}

#[test]
fn what_a_killed_git_left_locked_is_mended() {
    let site = Site::with_environments();
    assert_eq!(parameter(&site.open(ENVIRONMENTS), "web1", "branch"), "base");
    let cache = site.cache();
    for name in [
        "refs/heads/base.lock",
        "packed-refs.lock",
        "config.lock",
        "HEAD.lock",
        "shallow.lock",
        "objects/pack/tmp_pack_x",
    ] {
        fs::write(cache.join(name), "").unwrap();
    }
    site.commit("site", "base", &[("classes/role.yml", "parameters: {branch: later}\n")]);
    assert_eq!(parameter(&site.open(ENVIRONMENTS), "web1", "branch"), "later");
    assert!(!cache.join("objects/pack/tmp_pack_x").exists());
}

#[test]
fn a_cache_that_cannot_be_written_is_an_error() {
    let site = Site::with_environments();
    fs::write(site.path("cache"), "").unwrap();
    let failed = error(&site.open(ENVIRONMENTS));
    assert_eq!(code(&failed), "git-cache", "{failed}");
    fs::remove_file(site.path("cache")).unwrap();
    fs::write(site.path("lock"), "").unwrap();
    assert_eq!(code(&error(&site.open(ENVIRONMENTS))), "git-cache");
}

#[test]
fn a_disk_that_is_full_keeps_what_was_fetched() {
    let site = Site::with_environments();
    assert_eq!(parameter(&site.open(ENVIRONMENTS), "web1", "branch"), "base");
    let mut noise = String::from("parameters:\n");
    for number in 0_u64..20_000 {
        writeln!(noise, "  k{number}: {:x}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).unwrap();
    }
    site.commit("site", "base", &[("classes/role.yml", &noise)]);
    // No file may grow beyond 32 KB: the next pack does not fit.
    let limited = |yaml: &str| {
        let program = site.command(yaml, &["-n", "web1"]);
        let script = format!("ulimit -f 64; exec '{}' -n web1", program.get_program().display());
        let folder = program.get_current_dir().unwrap();
        std::process::Command::new("sh").args(["-c", &script]).current_dir(folder).output().unwrap()
    };
    let output = limited(ENVIRONMENTS);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("git-stale"), "{text}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("branch: base"), "{text}");
    fs::remove_dir_all(site.path("cache")).unwrap();
    let output = limited(ENVIRONMENTS);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(74), "{text}");
    assert!(text.contains("error[git-"), "{text}");
    let end = Instant::now() + Duration::from_secs(600);
    while parameter(&site.open(ENVIRONMENTS), "web1", "k1") != "9e3779b97f4a7c15" {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_cannot_be_locked_or_written_down_is_served_as_it_was() {
    let site = Site::with_environments();
    let inventory = site.open(ENVIRONMENTS);
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    fs::remove_dir_all(site.path("lock")).unwrap();
    fs::write(site.path("lock"), "").unwrap();
    assert_eq!(warnings(&inventory, "web1"), ["git-stale"]);
    fs::remove_file(site.path("lock")).unwrap();
    // A folder has the path of the new record.
    fs::create_dir(site.cache().join("reclass-record.new")).unwrap();
    site.commit("site", "base", &[("classes/role.yml", "parameters: {branch: later}\n")]);
    assert_eq!(warnings(&inventory, "web1"), ["git-stale"]);
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    fs::remove_dir(site.cache().join("reclass-record.new")).unwrap();
    assert_eq!(parameter(&inventory, "web1", "branch"), "later");
}

#[test]
fn a_cache_that_somebody_else_may_write_is_not_used() {
    let site = Site::with_environments();
    assert_eq!(parameter(&site.open(ENVIRONMENTS), "web1", "branch"), "base");
    let record = site.cache().join("reclass-record");
    let forged = fs::read_to_string(&record).unwrap().replace("\"base\"", "\"other\"");
    let hour = ENVIRONMENTS.replace("git_fetch_interval: 0", "git_fetch_interval: 3600");
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::write(&record, forged).unwrap();
    mode(&record, 0o666);
    assert_eq!(parameter(&site.open(&hour), "web1", "branch"), "base");
    // The cache is made anew, with a folder as it should be.
    mode(&site.cache(), 0o777);
    assert_eq!(parameter(&site.open(&hour), "web1", "branch"), "base");
    assert_eq!(fs::metadata(site.cache()).unwrap().permissions().mode() & 0o777, 0o700);
    mode(&site.cache().join("config"), 0o666);
    assert_eq!(parameter(&site.open(&hour), "web1", "branch"), "base");
    assert_eq!(fs::metadata(site.cache().join("config")).unwrap().permissions().mode() & 0o022, 0);
    // A link in its place becomes a folder.
    let cache = site.cache();
    fs::rename(&cache, site.path("moved")).unwrap();
    std::os::unix::fs::symlink(site.path("moved"), &cache).unwrap();
    assert_eq!(parameter(&site.open(&hour), "web1", "branch"), "base");
    assert!(!site.cache().is_symlink());
    mode(&site.path("lock"), 0o777);
    assert_eq!(warnings(&site.open(&hour), "web1"), ["git-stale"]);
    mode(&site.path("lock"), 0o755);
    mode(&site.path("cache"), 0o777);
    let text = error(&site.open(&hour)).to_string();
    assert!(text.contains("(git-cache)") && text.contains("run: chmod go-w"), "{text}");
    mode(&site.path("cache"), 0o755);
    assert_eq!(parameter(&site.open(&hour), "web1", "branch"), "base");
    // A record that is a pipe does not hang anybody.
    fs::remove_file(&record).unwrap();
    assert!(Command::new("mkfifo").arg(&record).status().unwrap().success());
    assert_eq!(parameter(&site.open(&hour), "web1", "branch"), "base");
}

#[test]
fn a_clock_that_was_set_back_hides_no_push() {
    let site = Site::with_environments();
    let hour = ENVIRONMENTS.replace("git_fetch_interval: 0", "git_fetch_interval: 3600");
    let inventory = site.open(&hour);
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    site.commit("site", "base", &[("classes/role.yml", "parameters: {branch: later}\n")]);
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    let record = site.cache().join("reclass-record");
    let text = fs::read_to_string(&record).unwrap();
    let seconds = text.split("secs_since_epoch\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let ahead = seconds.parse::<u64>().unwrap() + 590;
    fs::write(&record, text.replace(seconds, &ahead.to_string())).unwrap();
    assert_eq!(parameter(&inventory, "web1", "branch"), "later");
}

#[test]
fn without_the_program_there_is_a_clear_error() {
    let site = Site::with_environments();
    let output = site.command(ENVIRONMENTS, &["-n", "web1"]).env("PATH", "/nowhere").output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("error[git-program]"), "{text}");
    assert_eq!(output.status.code(), Some(74), "{text}");
}

#[test]
fn what_a_repository_would_run_is_not_run() {
    let site = Site::with_environments();
    let (upstream, marker) = (site.path("site"), site.path("ran"));
    let program = site.path("program");
    fs::write(&program, format!("#!/bin/sh\necho $0 >> {}\ncat\n", marker.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let hooks = upstream.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let program = program.to_str().unwrap();
    let plant = || {
        for hook in
            ["post-checkout", "post-merge", "pre-auto-gc", "reference-transaction", "post-index-change"]
        {
            let path = hooks.join(hook);
            let _ = fs::remove_file(&path);
            fs::copy(program, path).unwrap();
        }
        for key in
            ["core.fsmonitor", "uploadpack.packObjectsHook", "filter.x.smudge", "diff.external", "core.pager"]
        {
            git(&upstream, &["config", key, program]);
        }
    };
    let inventory = site.open(ENVIRONMENTS);
    assert_eq!(parameter(&inventory, "web1", "branch"), "base");
    let files =
        [("classes/role.yml", "parameters: {branch: later}\n"), (".gitattributes", "* filter=x diff=x\n")];
    site.commit("site", "base", &files);
    plant();
    assert_eq!(parameter(&inventory, "web1", "branch"), "later");
    // Two revisions of a repository that somebody works in.
    let output = Command::new(env!("CARGO_BIN_EXE_reclass"))
        .args(["diff", "base~1", "base", "-b", ".", "--nodes-uri", "classes", "--classes-uri", "nodes"])
        .current_dir(&upstream)
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert!(!marker.exists(), "{}", fs::read_to_string(&marker).unwrap_or_default());
    // They would run: git itself does it here.
    let _ = Command::new("git").arg("-C").arg(&upstream).args(["checkout", "-q", "master"]).output().unwrap();
    assert!(marker.exists());
}

#[test]
fn a_hook_of_git_leads_nowhere_else() {
    let site = Site::with_environments();
    let other = site.path("site/.git");
    let mut command = site.command(ENVIRONMENTS, &["-n", "web1"]);
    let output =
        command.env("GIT_DIR", &other).env("GIT_INDEX_FILE", "x").env("GIT_WORK_TREE", "/").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("branch: base"), "{output:?}");
    assert!(!other.join("reclass-record").exists());
}
