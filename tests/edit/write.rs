//! Writing: a process that ends anywhere leaves the old file or the new one; writers lose nothing
//! of one another; the rights of a file stay; no path leads out.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reclass::error::Error;
use reclass::internals::storage::write::WriteStep;
use reclass::parts::storage::folders::list;
use reclass::parts::storage::{TreeLimits, TreeLock};
use reclass::settings::Settings;
use reclass::value::{Map, Value};
use reclass_edit::cluster::{self, ClusterFile};
use reclass_edit::node::{self, NodeContent};
use reclass_edit::tree::EditOptions;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use tempfile::TempDir;

const OLD: &str = "parameters:\n  _param:\n    a: 1\n";

/// An inventory with the metadata file of one cluster, and its settings.
fn inventory() -> (TempDir, Settings, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = folder.path().join("classes/cluster/prague");
    fs::create_dir_all(&cluster).expect("folders");
    fs::create_dir_all(folder.path().join("nodes")).expect("folders");
    let file = cluster.join("overrides.yml");
    fs::write(&file, OLD).expect("a file");
    // An edit must not break a node.
    for class in ["a", "base", "later", "role/web", "site/lan"] {
        let path = folder.path().join("classes").join(class).with_extension("yml");
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, "classes: []\n").expect("a class");
    }
    let settings = settings(folder.path());
    (folder, settings, file)
}

fn settings(base: &Path) -> Settings {
    let base = Value::text(base.to_str().expect("a name in UTF-8"));
    Settings::from_options(&Map::from_iter([("inventory_base_uri".into(), base)])).expect("settings").0
}

const PRAGUE: ClusterFile<'static> = ClusterFile { cluster: "prague", name: "" };

/// Starts this program again to run one test of it, with a task in its environment.
fn child(test: &str, task: &[(&str, &str)]) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args([&format!("write::{test}"), "--exact", "--nocapture", "--include-ignored"])
        .envs(task.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child")
}

/// What children do that stop at a step.
#[test]
#[ignore = "run by others in a process of its own"]
fn write_until_a_step() {
    let task = |name: &str| std::env::var(name).expect("a task");
    let (path, step) = (PathBuf::from(task("WRITE_PATH")), task("WRITE_STEP"));
    let root = path.parent().expect("a folder");
    let lock = TreeLock::take(root).expect("the lock");
    let fingerprint = reclass::parts::storage::fs::fingerprint(&path).ok();
    let mut tell = |at: WriteStep| {
        if format!("{at:?}") == step {
            println!("\nREACHED");
            // Until the parent kills this process.
            loop {
                std::thread::park();
            }
        }
    };
    lock.replace_by_steps(&path, b"new: text\n", fingerprint.as_ref(), &mut tell).expect("written");
}

#[test]
fn a_process_that_is_killed_leaves_the_old_file_or_the_new_one() {
    let steps = [
        WriteStep::Begin,
        WriteStep::Created,
        WriteStep::Half,
        WriteStep::Written,
        WriteStep::Flushed,
        WriteStep::Renamed,
        WriteStep::Done,
    ];
    for old in [Some(OLD), None] {
        for step in steps {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("overrides.yml");
            if let Some(old) = old {
                fs::write(&path, old).expect("a file");
            }
            let name = format!("{step:?}");
            let task = [("WRITE_PATH", path.to_str().expect("UTF-8")), ("WRITE_STEP", name.as_str())];
            let mut child = child("write_until_a_step", &task);
            let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
            let reached = lines.map_while(Result::ok).any(|line| line == "REACHED");
            assert!(reached, "{step:?} was not reached");
            child.kill().expect("killed");
            child.wait().expect("gone");

            let found = fs::read_to_string(&path).ok();
            let renamed = matches!(step, WriteStep::Renamed | WriteStep::Done);
            assert_eq!(found.as_deref(), if renamed { Some("new: text\n") } else { old }, "{step:?}");
            // What was left behind is no YAML file of the tree, and in nobody's way.
            let limits = TreeLimits { files: 100, depth: 10, bytes: 100 };
            let listing = list(&[folder.path().to_owned()], limits).expect("a listing");
            assert_eq!(listing.files().count(), usize::from(found.is_some()), "{step:?}");
            let lock = TreeLock::take(folder.path()).expect("the lock of a process that is gone");
            let fingerprint = reclass::parts::storage::fs::fingerprint(&path).ok();
            assert!(
                lock.replace(&path, b"later: text\n", fingerprint.as_ref()).expect("written"),
                "{step:?}"
            );
            assert_eq!(fs::read(&path).expect("the file"), b"later: text\n");
            let mut left: Vec<_> = fs::read_dir(folder.path())
                .expect("a folder")
                .map(|entry| entry.expect("an entry").file_name())
                .collect();
            left.sort();
            assert_eq!(left, [".reclass.lock", "overrides.yml"], "{step:?}");
        }
    }
}

/// What children do that edit one file together.
#[test]
#[ignore = "run by others in a process of its own"]
fn set_many_parameters() {
    let task = |name: &str| std::env::var(name).expect("a task");
    let settings = settings(Path::new(&task("WRITE_BASE")));
    let name = task("WRITE_NAME");
    for number in 0..EDITS {
        let parameter = format!("{name}-{number}");
        cluster::set(&settings, PRAGUE, &parameter, Value::Int(number), EditOptions::default())
            .expect("an edit");
        if number % 3 == 0 {
            cluster::delete(&settings, PRAGUE, &parameter, EditOptions::default()).expect("an edit");
        }
    }
}

const EDITS: i64 = 25;

#[test]
fn edits_of_many_processes_are_all_there() {
    let (folder, settings, _) = inventory();
    let base = folder.path().to_str().expect("UTF-8");
    let names: Vec<String> = (0..8).map(|number| format!("p{number}")).collect();
    let children: Vec<Child> = names
        .iter()
        .map(|name| child("set_many_parameters", &[("WRITE_BASE", base), ("WRITE_NAME", name.as_str())]))
        .collect();
    // Readers see a whole file at all times, and more and more of it.
    let mut running = children;
    let mut looks = 0;
    while !running.is_empty() {
        let data = cluster::data(&settings, PRAGUE).expect("a whole file");
        assert!(data.as_map().is_some_and(|map| map.contains_key("parameters")), "{data:?}");
        looks += 1;
        running.retain_mut(|child| match child.try_wait().expect("a child") {
            Some(status) => {
                assert!(status.success());
                false
            }
            None => true,
        });
    }
    assert!(looks > 1);
    let data = cluster::data(&settings, PRAGUE).expect("the file");
    let mut wanted = vec![("a".to_owned(), 1)];
    for name in &names {
        wanted.extend(
            (0..EDITS).filter(|number| number % 3 != 0).map(|number| (format!("{name}-{number}"), number)),
        );
    }
    wanted.sort();
    let keys = ["parameters", "_param"];
    let params = keys.iter().try_fold(&data, |value, key| value.as_map()?.get(*key)).expect("parameters");
    let mut found: Vec<(String, i64)> = Vec::new();
    for (key, value) in params.as_map().expect("a mapping") {
        let Value::Int(value) = value else { panic!("{value:?}") };
        found.push((key.as_str().expect("a name").to_owned(), *value));
    }
    found.sort();
    assert_eq!(found, wanted);
}

#[test]
fn an_edit_that_somebody_without_the_lock_made_is_seen() {
    let (folder, _, file) = inventory();
    let lock = TreeLock::take(&folder.path().join("classes")).expect("the lock");
    let fingerprint = reclass::parts::storage::fs::fingerprint(&file).expect("a fingerprint");
    fs::write(&file, "parameters: {}\n").expect("by hand");
    assert!(!lock.replace(&file, b"x: 1\n", Some(&fingerprint)).expect("no error"), "written over an edit");
    assert!(!lock.replace(&file, b"x: 1\n", None).expect("no error"), "written over a new file");
    assert_eq!(fs::read_to_string(&file).expect("the file"), "parameters: {}\n");
    let outside = folder.path().join("nodes/n.yml");
    assert_eq!(lock.replace(&outside, b"x: 1\n", None).expect_err("another tree").first().code(), "internal");
}

#[test]
fn owner_group_mode_and_attributes_stay() {
    let (_folder, settings, file) = inventory();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("a mode");
    // Only the administrator can give files away; others keep their own.
    let given = std::os::unix::fs::chown(&file, Some(4242), Some(4343)).is_ok();
    let labelled =
        rustix::fs::setxattr(&file, "user.origin", b"test", rustix::fs::XattrFlags::empty()).is_ok();
    let before = fs::metadata(&file).expect("metadata");
    cluster::set(&settings, PRAGUE, "b", Value::Int(2), EditOptions::default()).expect("an edit");
    let after = fs::metadata(&file).expect("metadata");
    assert_ne!(before.ino(), after.ino());
    assert_eq!((before.uid(), before.gid(), before.mode()), (after.uid(), after.gid(), after.mode()));
    if given {
        assert_eq!((after.uid(), after.gid()), (4242, 4343));
    }
    if labelled {
        let mut value = [0; 16];
        let length = rustix::fs::getxattr(&file, "user.origin", &mut value).expect("the attribute");
        assert_eq!(&value[..length], b"test");
    }
}

#[test]
fn another_name_of_an_edited_file_keeps_the_old_text() {
    let (folder, settings, file) = inventory();
    let other = folder.path().join("outside.yml");
    fs::hard_link(&file, &other).expect("another name");
    cluster::set(&settings, PRAGUE, "b", Value::Int(2), EditOptions::default()).expect("an edit");
    assert_eq!(fs::read_to_string(&other).expect("the other name"), OLD);
    assert_eq!(fs::read_to_string(&file).expect("the file"), format!("{OLD}    b: 2\n"));
    let names = |path: &Path| fs::metadata(path).expect("metadata").nlink();
    assert_eq!((names(&file), names(&other)), (1, 1));
}

/// Runs something in a thread that lacks a right of the administrator.
fn without<T: Send>(right: CapabilitySet, work: impl FnOnce() -> T + Send) -> T {
    let run = || {
        let mut sets = capabilities(None).expect("the rights of this thread");
        sets.effective.remove(right);
        set_capabilities(None, sets).expect("fewer rights");
        work()
    };
    std::thread::scope(|scope| scope.spawn(run).join().expect("an answer"))
}

#[test]
fn an_attribute_that_cannot_be_kept_refuses_the_edit() {
    let (_folder, settings, file) = inventory();
    let set = |attribute: &str, value: &[u8]| {
        rustix::fs::setxattr(&file, attribute, value, rustix::fs::XattrFlags::empty()).is_ok()
    };
    if !set("security.test", b"label") {
        println!("only the administrator can set such an attribute");
        return;
    }
    let edit = || cluster::set(&settings, PRAGUE, "b", Value::Int(2), EditOptions::default());
    let error = without(CapabilitySet::SYS_ADMIN, edit).expect_err("no right to keep it");
    assert_eq!(error.first().code(), "file-unwritable");
    assert!(error.to_string().contains("its attribute 'security.test' cannot be kept"), "{error}");
    assert!(error.first().kind.help().is_some_and(|help| help.contains("take the attribute away")));
    assert_eq!(fs::read_to_string(&file).expect("the file"), OLD);
    let entries = fs::read_dir(file.parent().expect("a folder")).expect("a listing");
    assert_eq!(entries.count(), 1, "something is left behind");
    assert!(edit().expect("with the right").changed());
    let mut value = [0; 16];
    let length = rustix::fs::getxattr(&file, "security.test", &mut value).expect("the attribute");
    assert_eq!(&value[..length], b"label");
}

/// An access list of version 2: the rights of the owner, and of the user 4242 and of the mask. Group
/// and others have none.
fn access_list(owner: u16, user: u16) -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] =
        [(1, owner, !0), (2, user, 4242), (4, 0, !0), (16, user, !0), (32, 0, !0)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, who) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(who.to_le_bytes());
    }
    list
}

#[test]
fn a_file_that_its_owner_may_not_write_keeps_its_attributes() {
    let (_folder, settings, file) = inventory();
    let flags = rustix::fs::XattrFlags::empty();
    let attributes = [("user.origin", b"test".to_vec()), ("system.posix_acl_access", access_list(4, 4))];
    for (name, value) in &attributes {
        if rustix::fs::setxattr(&file, *name, value, flags).is_err() {
            println!("a file system without {name}");
            return;
        }
    }
    assert_eq!(fs::metadata(&file).expect("metadata").mode() & 0o7777, 0o440);
    let edit = || cluster::set(&settings, PRAGUE, "b", Value::Int(2), EditOptions::default());
    // As whoever is not the administrator.
    assert!(without(CapabilitySet::DAC_OVERRIDE, edit).expect("an edit").changed());
    for (name, value) in &attributes {
        let mut kept = [0; 256];
        let length = rustix::fs::getxattr(&file, *name, &mut kept).expect("the attribute");
        assert_eq!(&kept[..length], value, "{name}");
    }
    assert_eq!(fs::metadata(&file).expect("metadata").mode() & 0o7777, 0o440);
}

/// Waits until this process has the lock file open twice: one holds the lock, and one waits for it.
fn until_an_edit_waits(root: &Path) {
    let lock = root.canonicalize().expect("a folder").join(".reclass.lock");
    let is_lock = |entry: std::io::Result<fs::DirEntry>| {
        entry.and_then(|entry| fs::read_link(entry.path())).is_ok_and(|path| path == lock)
    };
    while fs::read_dir("/proc/self/fd").expect("files").map(is_lock).filter(|is_lock| *is_lock).count() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// What one edit of a node finds that waits for the lock while somebody else works.
fn beside<T: Send>(root: &Path, edit: impl FnOnce() -> T + Send, other: impl FnOnce()) -> T {
    std::thread::scope(|scope| {
        let lock = TreeLock::take(root).expect("the lock");
        let edit = scope.spawn(edit);
        until_an_edit_waits(root);
        other();
        drop(lock);
        edit.join().expect("no panic")
    })
}

#[test]
fn a_node_that_somebody_else_makes_or_deletes_at_once_is_done() {
    let (folder, settings, _) = inventory();
    let nodes = folder.path().join("nodes");
    let (file, plain) = (nodes.join("twin.yml"), EditOptions::default());
    let content = NodeContent { classes: vec!["a".into()], ..NodeContent::default() };
    let create = || node::create(&settings, "twin", "", &content, plain);
    let delete = || node::delete(&settings, "twin", plain);

    let edited = beside(&nodes, create, || fs::write(&file, "classes: [a, b]\n").expect("written"));
    assert!(!edited.expect("it is done").changed());
    assert_eq!(create().expect_err("it was there before").first().code(), "node-exists");

    let edited = beside(&nodes, delete, || fs::remove_file(&file).expect("gone"));
    assert!(!edited.expect("it is done").changed());
    assert_eq!(delete().expect_err("it was not there before").first().code(), "node-not-found");

    create().expect("made");
    assert!(delete().expect("deleted").changed());

    let edited = beside(&nodes, create, || fs::write(&file, "classes: [b]\n").expect("written"));
    assert_eq!(edited.expect_err("another content").first().code(), "node-exists");
    assert_eq!(fs::read_to_string(&file).expect("the file"), "classes: [b]\n");
}

/// The output of git.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    let done = Command::new("git").arg("-C").arg(folder).args(person).args(arguments).output().expect("git");
    assert!(done.status.success(), "{arguments:?}: {done:?}");
    String::from_utf8(done.stdout).expect("UTF-8")
}

#[test]
fn a_lock_leaves_the_work_tree_clean() {
    for linked in [false, true] {
        let (folder, _, _) = inventory();
        let top = folder.path();
        for arguments in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", "one"]] {
            git(top, arguments);
        }
        fs::write(top.join(".git/info/exclude"), "# mine").expect("a file");
        let tree = top.join(if linked { "linked" } else { "." });
        if linked {
            git(top, &["worktree", "add", "-q", "-b", "other", "linked"]);
        }
        let settings = settings(&tree);
        for value in [2, 1] {
            let value = Value::Int(value);
            cluster::set(&settings, PRAGUE, "a", value, EditOptions::default()).expect("an edit");
        }
        assert!(tree.join("classes/.reclass.lock").exists());
        assert_eq!(git(&tree, &["status", "--porcelain"]), "");
        let exclude = fs::read_to_string(top.join(".git/info/exclude")).expect("a file");
        assert_eq!(exclude, "# mine\n.reclass.lock\n");
    }
}

#[test]
fn who_may_write_the_folder_can_lock_it_and_no_reader() {
    for (mode, expected) in [(0o755, 0o600), (0o775, 0o660), (0o777, 0o666), (0o700, 0o600), (0o2770, 0o660)]
    {
        let (folder, settings, _) = inventory();
        let classes = folder.path().join("classes");
        let given = given_away(&classes, mode).is_some();
        fs::set_permissions(&classes, fs::Permissions::from_mode(mode)).expect("a mode");
        cluster::set(&settings, PRAGUE, "b", Value::Int(1), EditOptions::default()).expect("an edit");
        let metadata = fs::metadata(classes.join(".reclass.lock")).expect("the lock");
        assert_eq!(metadata.mode() & 0o7777, expected, "{mode:o}");
        if given {
            assert_eq!((metadata.uid(), metadata.gid()), (4242, 4343));
        }
    }
}

#[test]
fn who_may_read_a_folder_cannot_hold_up_an_editor() {
    let (folder, settings, file) = inventory();
    let held: Vec<fs::File> =
        [folder.path(), &folder.path().join("classes"), file.parent().expect("a folder")]
            .iter()
            .map(|folder| fs::File::open(folder).expect("a folder"))
            .collect();
    for folder in &held {
        rustix::fs::flock(folder, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    }
    cluster::set(&settings, PRAGUE, "b", Value::Int(2), EditOptions::default()).expect("an edit");
}

#[test]
fn a_lock_that_is_closed_to_the_editor_is_an_error_that_says_the_way_out() {
    let (folder, settings, _) = inventory();
    let lock = folder.path().join("classes/.reclass.lock");
    fs::write(&lock, "").expect("written");
    if given_away(&lock, 0o600).is_none() {
        println!("only the administrator can give files away");
        return;
    }
    let edit = || cluster::set(&settings, PRAGUE, "b", Value::Int(2), EditOptions::default());
    let error = without(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH, edit);
    let error = error.expect_err("closed").to_string();
    assert!(error.contains("or delete the lock file while nobody edits"), "{error}");
}

#[test]
fn a_new_folder_that_becomes_a_link_gives_nothing_away() {
    let (folder, settings, _) = inventory();
    let nodes = folder.path().join("nodes");
    if given_away(&nodes, 0o755).is_none() {
        println!("only the administrator can give files away");
        return;
    }
    let outside = tempfile::tempdir().expect("a folder");
    let owner = fs::metadata(outside.path()).expect("a folder").uid();
    let (new, away) = (nodes.join("new"), nodes.join("away"));
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                if fs::rename(&new, &away).is_ok() {
                    let _ = symlink(outside.path(), &new);
                }
                let _ = fs::remove_file(&new);
                let _ = fs::remove_dir_all(&away);
            }
        });
        for number in 0..300 {
            let name = format!("n{number}");
            let _ = node::create(&settings, &name, "new/in", &NodeContent::default(), EditOptions::default());
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::metadata(outside.path()).expect("a folder").uid(), owner);
    assert_eq!(fs::read_dir(outside.path()).expect("a listing").count(), 0);
}

#[test]
fn a_folder_that_becomes_a_link_meanwhile_leads_nowhere() {
    let (folder, _, file) = inventory();
    let outside = tempfile::tempdir().expect("a folder");
    let around = file.parent().expect("a folder");
    for swap_at in [WriteStep::Begin, WriteStep::Created, WriteStep::Written, WriteStep::Flushed] {
        let lock = TreeLock::take(&folder.path().join("classes")).expect("the lock");
        let mut swap = |step| {
            if step == swap_at {
                fs::rename(around, around.with_extension("away")).expect("moved");
                symlink(outside.path(), around).expect("a link");
            }
        };
        let written = lock.replace_by_steps(&around.join("new.yml"), b"a: 1\n", None, &mut swap);
        assert_eq!(fs::read_dir(outside.path()).expect("a listing").count(), 0, "{swap_at:?}: {written:?}");
        // What was open before is where it was.
        assert_eq!(written.is_ok(), swap_at != WriteStep::Begin, "{written:?}");
        fs::remove_file(around).expect("gone");
        fs::rename(around.with_extension("away"), around).expect("moved back");
        let _ = fs::remove_file(around.join("new.yml"));
    }
}

/// Gives a path to another user, whom others may not follow; `None` where only the administrator can.
fn given_away(path: &Path, mode: u32) -> Option<()> {
    std::os::unix::fs::chown(path, Some(4242), Some(4343)).ok()?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).ok()
}

#[test]
fn errors_say_which_user_lacks_which_right_on_which_path() {
    let as_others = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH | CapabilitySet::CHOWN;
    let edit =
        |settings: &Settings| cluster::set(settings, PRAGUE, "b", Value::Int(2), EditOptions::default());
    let failure = |edit: &(dyn Fn() -> Error + Sync)| {
        let error = without(as_others, edit);
        (error.first().code(), error.to_string())
    };

    let (folder, settings, _) = inventory();
    let classes = folder.path().join("classes");
    if given_away(&classes, 0o755).is_none() {
        println!("only the administrator can give files away");
        return;
    }
    let (code, said) = failure(&|| edit(&settings).expect_err("no right"));
    assert_eq!(code, "file-unwritable");
    let lacks = format!(
        "/.reclass.lock': permission denied: user 'root' has no right to write '{}' (mode 0755 of user 4242)",
        classes.display()
    );
    assert!(said.contains(&lacks), "{said}");

    let (_folder, settings, file) = inventory();
    given_away(&file, 0o644).expect("given away");
    let (code, said) = failure(&|| edit(&settings).expect_err("no right"));
    assert_eq!(code, "file-unwritable");
    assert!(said.contains("its group 4343 cannot be kept: user 'root' is not in that group"), "{said}");
    std::os::unix::fs::chown(&file, Some(4242), Some(0)).expect("given away");
    let (_, said) = failure(&|| edit(&settings).expect_err("no right"));
    assert!(
        said.contains("its owner 4242 cannot be kept: user 'root' has no right to give files away"),
        "{said}"
    );
    assert!(said.contains("; edit it as that user or as root"), "{said}");

    for (path, mode, code, lacks) in [
        ("nodes", 0o700, "directory-unreadable", "read"),
        ("nodes/in", 0o700, "directory-unreadable", "read"),
        ("nodes/n.yml", 0o600, "file-unreadable", "read"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("nodes/in")).expect("folders");
        fs::create_dir(folder.path().join("classes")).expect("a folder");
        fs::write(folder.path().join("nodes/n.yml"), "parameters: {}\n").expect("written");
        let closed = folder.path().join(path);
        given_away(&closed, mode).expect("given away");
        let mut options = Map::default();
        options.insert("inventory_base_uri".into(), Value::text(folder.path().to_str().expect("text")));
        let inventory = reclass::Inventory::open(&options).expect("settings");
        let (found, said) = failure(&|| {
            inventory.nodeinfo("n", &reclass::Request::default()).map(|_| ()).expect_err("no right")
        });
        assert_eq!(found, code, "{said}");
        let lacks = format!("user 'root' has no right to {lacks} it (mode {mode:04o} of user 4242)");
        assert!(said.contains(&lacks), "{said}");
        assert_eq!(said.matches(&*closed.to_string_lossy()).count(), 1, "{said}");
    }
}

#[test]
fn the_list_of_a_folder_lets_nobody_into_a_file_without_one() {
    let (_folder, settings, file) = inventory();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).expect("a mode");
    let folder = file.parent().expect("a folder");
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(folder, "system.posix_acl_default", &access_list(7, 6), flags).is_err() {
        println!("a file system without access lists");
        return;
    }
    assert!(
        cluster::set(&settings, PRAGUE, "b", Value::Int(2), EditOptions::default())
            .expect("an edit")
            .changed()
    );
    let mut value = [0; 256];
    let kept = rustix::fs::getxattr(&file, "system.posix_acl_access", &mut value);
    assert_eq!(kept, Err(rustix::io::Errno::NODATA));
    assert_eq!(fs::metadata(&file).expect("metadata").mode() & 0o7777, 0o660);
}

#[test]
fn a_new_file_belongs_to_its_folder() {
    let (folder, settings, file) = inventory();
    fs::remove_file(&file).expect("gone");
    let around = file.parent().expect("a folder");
    let given = std::os::unix::fs::chown(around, Some(4242), Some(4343)).is_ok();
    fs::set_permissions(around, fs::Permissions::from_mode(0o750)).expect("a mode");
    let edited =
        cluster::set(&settings, PRAGUE, "b", Value::Int(2), EditOptions::default()).expect("an edit");
    assert!(edited.before.is_none());
    assert_eq!(fs::read_to_string(&file).expect("the file"), "parameters:\n  _param:\n    b: 2\n");
    let metadata = fs::metadata(&file).expect("metadata");
    assert_eq!(metadata.mode() & 0o7777, 0o640);
    if given {
        assert_eq!((metadata.uid(), metadata.gid()), (4242, 4343));
    }
    // Folders for nodes are made; those of clusters, where a slip would make one, are not.
    node::create(&settings, "web1", "_generated/a", &NodeContent::default(), EditOptions::default())
        .expect("no change");
    let error = cluster::set(
        &settings,
        ClusterFile { cluster: "pragu", name: "" },
        "b",
        Value::Null,
        EditOptions::default(),
    );
    assert_eq!(error.expect_err("no such folder").first().code(), "directory-not-found");
    assert!(!folder.path().join("classes/cluster/pragu").exists());
}

/// All below a folder: where it is, what it has, and when it changed.
fn snapshot(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>, i64, i64)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let about = path.metadata().expect("a file");
        all.push((path.clone(), fs::read(&path).ok(), about.ctime(), about.ctime_nsec()));
        if about.is_dir() {
            all.extend(snapshot(&path));
        }
    }
    all.sort();
    all
}

#[test]
fn rendering_writes_nothing() {
    let (folder, _, _) = inventory();
    for (name, text) in [
        ("web1", "classes: [cluster.prague.overrides]\nparameters: {q: '$[ exports:a ]'}\n"),
        ("bad", "a: ["),
    ] {
        fs::write(folder.path().join("nodes").join(name).with_extension("yml"), text).expect("a file");
    }
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).expect("a folder");
    let commit = "git init -q && git add -A && git -c user.name=Ada -c user.email=a@b.c commit -q -m one";
    let committed = Command::new("sh").args(["-c", commit]).current_dir(folder.path()).status();
    assert!(committed.expect("git").success());
    let before = snapshot(folder.path());
    for question in [
        &["-n", "web1"][..],
        &["-n", "bad"],
        &["-i"],
        &["explain", "web1"],
        &["lint"],
        &["nodes"],
        &["graph"],
        &["diff", "HEAD"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_reclass"))
            .args(question)
            .arg("-b")
            .arg(folder.path())
            .current_dir(folder.path())
            .env("TMPDIR", &temporary)
            .output()
            .expect("an answer");
        assert!(output.status.code().is_some_and(|code| code != 2 && code < 100), "{question:?}: {output:?}");
    }
    assert_eq!(snapshot(folder.path()), before);
}

#[test]
fn a_test_writes_nothing() {
    let (folder, settings, file) = inventory();
    let options = EditOptions { test: true, ..EditOptions::default() };
    let edited = cluster::set(&settings, PRAGUE, "b", Value::Int(2), options).expect("an edit");
    assert!(edited.changed());
    assert_eq!(edited.after.as_deref(), Some("parameters:\n  _param:\n    a: 1\n    b: 2\n".as_bytes()));
    let content = NodeContent { classes: vec!["role.web".into()], ..NodeContent::default() };
    let edited = node::create(&settings, "web1", "_generated", &content, options).expect("an edit");
    assert_eq!(edited.after.as_deref(), Some("classes:\n  - role.web\n".as_bytes()));
    assert_eq!(fs::read_to_string(&file).expect("the file"), OLD);
    let mut left: Vec<_> = fs::read_dir(folder.path().join("nodes")).expect("a folder").collect();
    left.extend(fs::read_dir(file.parent().expect("a folder")).expect("a folder"));
    assert_eq!(left.len(), 1, "{left:?}");
}

/// The code of an error; `None` where there is none.
fn code<T>(done: Result<T, Error>) -> Option<&'static str> {
    done.err().map(|error| error.first().code())
}

#[test]
fn no_way_out_of_the_inventory() {
    let (folder, settings, file) = inventory();
    let base = folder.path();
    fs::write(base.join("secret.yml"), "parameters: {_param: {a: secret}}\n").expect("a file");
    fs::write(file.with_file_name("other.txt"), "a: 1\n").expect("a file");
    fs::create_dir(file.with_file_name("folder.yml")).expect("a folder");
    symlink(base.join("secret.yml"), file.with_file_name("link.yml")).expect("a link");
    symlink("/nowhere/at/all.yml", file.with_file_name("dangling.yml")).expect("a link");
    symlink("overrides.yml", file.with_file_name("inside.yml")).expect("a link");
    symlink("../../..", file.with_file_name("up")).expect("a link");
    fs::create_dir(base.join("elsewhere")).expect("a folder");
    symlink(base.join("elsewhere"), base.join("nodes/up")).expect("a link");
    symlink(base.join("secret.yml"), base.join("nodes/link.yml")).expect("a link");

    let absolute = base.join("secret.yml");
    let absolute = absolute.to_str().expect("UTF-8");
    for (cluster_name, name, expected) in [
        ("prague", absolute, "name-refused"),
        ("prague", "../../../secret.yml", "name-refused"),
        ("../..", "secret.yml", "name-refused"),
        ("..", "overrides.yml", "name-refused"),
        ("/etc", "overrides.yml", "name-refused"),
        ("prague/../..", "overrides.yml", "name-refused"),
        ("prague", "other.txt", "path-refused"),
        ("prague", "overrides", "path-refused"),
        ("prague", "overrides.yml\0", "name-refused"),
        ("prague", ".hidden.yml", "name-refused"),
        ("prague", "folder.yml", "path-refused"),
        ("prague", "link.yml", "path-refused"),
        ("prague", "dangling.yml", "file-unreadable"),
        ("prague/up", "secret.yml", "path-refused"),
        ("prague", "up/secret.yml", "path-refused"),
    ] {
        let place = ClusterFile { cluster: cluster_name, name };
        let shown = format!("{cluster_name} {name}");
        assert_eq!(code(cluster::data(&settings, place)), Some(expected), "read {shown}");
        for test in [false, true] {
            let options = EditOptions { test, ..EditOptions::default() };
            assert_eq!(
                code(cluster::set(&settings, place, "a", Value::Int(2), options)),
                Some(expected),
                "set {shown}"
            );
            assert_eq!(
                code(cluster::delete(&settings, place, "a", options)),
                Some(expected),
                "delete {shown}"
            );
        }
    }
    for (name, place, expected) in [
        ("../../secret", "", "name-refused"),
        ("/etc/passwd", "", "name-refused"),
        ("web1", "..", "name-refused"),
        ("web1", "/tmp", "name-refused"),
        ("web1", "a/../../..", "name-refused"),
        ("web1", "up", "path-refused"),
        ("web1", "up/new", "path-refused"),
        ("web 1", "", "name-refused"),
        (".web1", "", "name-refused"),
        ("", "", "name-refused"),
        ("a\nb", "", "name-refused"),
    ] {
        let content = NodeContent { classes: vec!["a".into()], ..NodeContent::default() };
        for test in [true, false] {
            let done = node::create(
                &settings,
                name,
                place,
                &content,
                EditOptions { test, ..EditOptions::default() },
            );
            assert_eq!(code(done), Some(expected), "{name:?} {place:?}");
        }
    }
    // A node whose file is a link to somewhere else can be read by reclass, but not changed.
    let content = NodeContent { classes: vec!["a".into()], ..NodeContent::default() };
    assert_eq!(code(node::update(&settings, "link", &content, EditOptions::default())), Some("path-refused"));
    assert_eq!(code(node::delete(&settings, "link", EditOptions::default())), Some("path-refused"));

    // Nor a file of another kind that a link inside leads to.
    fs::write(file.with_file_name("notes.txt"), "a: 1\n").expect("a file");
    symlink("notes.txt", file.with_file_name("notes.yml")).expect("a link");
    let notes = ClusterFile { cluster: "prague", name: "notes.yml" };
    let done = cluster::set(&settings, notes, "b", Value::Int(2), EditOptions::default());
    assert_eq!(code(done), Some("path-refused"));
    assert_eq!(fs::read_to_string(file.with_file_name("notes.txt")).expect("the file"), "a: 1\n");

    // A link that stays inside is followed: its target is edited, and it stays a link.
    let inside = ClusterFile { cluster: "prague", name: "inside.yml" };
    cluster::set(&settings, inside, "b", Value::Int(2), EditOptions::default()).expect("an edit");
    assert!(fs::symlink_metadata(file.with_file_name("inside.yml")).expect("a link").is_symlink());
    assert_eq!(fs::read_to_string(&file).expect("the file"), "parameters:\n  _param:\n    a: 1\n    b: 2\n");
    assert_eq!(fs::read_to_string(absolute).expect("the file"), "parameters: {_param: {a: secret}}\n");
    assert_eq!(fs::read_dir(base.join("elsewhere")).expect("a folder").count(), 0);
}

#[test]
fn references_have_to_be_asked_for() {
    let (_folder, settings, file) = inventory();
    for text in ["${_param:a}", "x ${a} y", "\\${a}", "$[ exports:a ]"] {
        let nested = Value::list(vec![Value::map(Map::from_iter([("k".into(), Value::text(text))]))]);
        for value in [Value::text(text), nested, Value::map(Map::from_iter([(text.into(), Value::Null)]))] {
            let refused = cluster::set(&settings, PRAGUE, "b", value.clone(), EditOptions::default());
            assert_eq!(code(refused), Some("edit-reference"), "{text}");
            assert_eq!(fs::read_to_string(&file).expect("the file"), OLD);
            let options = EditOptions { interpolate: true, ..EditOptions::default() };
            cluster::set(&settings, PRAGUE, "b", value, options).expect("asked for");
            cluster::delete(&settings, PRAGUE, "b", EditOptions::default()).expect("deleted");
            assert_eq!(fs::read_to_string(&file).expect("the file"), OLD);
        }
    }
    let content = NodeContent { classes: vec!["a.${b}".into()], ..NodeContent::default() };
    assert_eq!(
        code(node::create(&settings, "n", "", &content, EditOptions::default())),
        Some("name-refused")
    );
}

#[test]
fn nodes_are_made_changed_and_deleted() {
    let (folder, settings, _) = inventory();
    let path = folder.path().join("nodes/_generated/web1.example.com.yml");
    let mut content = NodeContent { classes: vec!["role.web".into()], ..NodeContent::default() };
    content.parameters.insert("address".into(), Value::text("10.0.0.1"));
    content.entries.insert(vec!["parameters".into(), "linux".into()], Value::Null);
    let create = |name| node::create(&settings, name, "_generated", &content, EditOptions::default());
    create("web1.example.com").expect("made");
    let text = "classes:\n  - role.web\nparameters:\n  _param:\n    address: 10.0.0.1\n  linux: null\n";
    assert_eq!(fs::read_to_string(&path).expect("the file"), text);
    assert_eq!(code(create("web1.example.com")), Some("node-exists"));

    let empty =
        node::create(&settings, "db1", "", &NodeContent::default(), EditOptions::default()).expect("made");
    assert!(empty.changed());
    assert_eq!(fs::read_to_string(&empty.path).expect("the file"), "classes: []\n");

    fs::write(&path, format!("# by hand\n{text}# end")).expect("edited");
    let more = NodeContent {
        classes: vec!["site.lan".into(), "role.web".into()],
        parameters: Map::from_iter([("address".into(), Value::text("10.0.0.2"))]),
        ..NodeContent::default()
    };
    let edited = node::update(&settings, "web1.example.com", &more, EditOptions::default()).expect("changed");
    assert!(edited.changed());
    assert_eq!(
        fs::read_to_string(&path).expect("the file"),
        "# by hand\nclasses:\n  - role.web\n  - site.lan\nparameters:\n  _param:\n    address: 10.0.0.2\n  linux: null\n# end"
    );
    let again =
        node::update(&settings, "web1.example.com", &more, EditOptions::default()).expect("no change");
    assert!(!again.changed());
    let error =
        node::update(&settings, "wbe1.example.com", &more, EditOptions::default()).expect_err("no node");
    assert_eq!(error.first().code(), "node-not-found");
    assert!(error.to_string().contains("'web1.example.com' is similar"), "{error}");
    node::delete(&settings, "web1.example.com", EditOptions::default()).expect("deleted");
    assert!(!path.exists());
    assert_eq!(
        code(node::delete(&settings, "web3.example.com", EditOptions::default())),
        Some("node-not-found")
    );
}

#[test]
fn a_folder_must_not_change_the_name_of_a_node() {
    let (folder, _, _) = inventory();
    let options = Map::from_iter([
        ("inventory_base_uri".into(), Value::text(folder.path().to_str().expect("UTF-8"))),
        ("compose_node_name".into(), Value::Bool(true)),
    ]);
    let settings = Settings::from_options(&options).expect("settings").0;
    let content = NodeContent { classes: vec!["a".into()], ..NodeContent::default() };
    let create = |place| {
        node::create(&settings, "web1", place, &content, EditOptions { test: true, ..EditOptions::default() })
    };
    assert_eq!(code(create("prague")), Some("path-refused"));
    assert_eq!(code(create("_generated")), None);
}

#[test]
fn a_node_that_goes_while_an_edit_waits_is_not_made_again() {
    let (folder, settings, _) = inventory();
    let content = NodeContent { classes: vec!["base".into()], ..NodeContent::default() };
    node::create(&settings, "web1", "", &content, EditOptions::default()).expect("made");
    let path = folder.path().join("nodes/web1.yml");
    let more = NodeContent { classes: vec!["later".into()], ..NodeContent::default() };
    let waiting = |change: &dyn Fn()| {
        let lock = TreeLock::take(&folder.path().join("nodes")).expect("the lock");
        std::thread::scope(|scope| {
            let edit = scope.spawn(|| node::update(&settings, "web1", &more, EditOptions::default()));
            until_an_edit_waits(&folder.path().join("nodes"));
            change();
            drop(lock);
            edit.join().expect("no panic")
        })
    };
    let moved = folder.path().join("nodes/prod/web1.yml");
    fs::create_dir(folder.path().join("nodes/prod")).expect("a folder");
    let edited = waiting(&|| fs::rename(&path, &moved).expect("moved")).expect("edited where it is now");
    assert_eq!(edited.path, moved.canonicalize().expect("a file"));
    assert!(!path.exists());
    let text = fs::read_to_string(&moved).expect("the file");
    assert!(text.contains("base") && text.contains("later"), "{text}");
    let gone = waiting(&|| fs::remove_file(&moved).expect("gone"));
    assert_eq!(code(gone), Some("node-not-found"));
    assert!(!path.exists() && !moved.exists());
}

#[test]
fn trees_that_are_in_one_another_lose_no_edit() {
    let (folder, inner, file) = inventory();
    let options = Map::from_iter([
        ("inventory_base_uri".into(), Value::text(folder.path().to_string_lossy().into_owned())),
        ("classes_uri".into(), Value::text(".")),
        ("cluster_folder".into(), Value::text("classes/cluster")),
    ]);
    let outer = Settings::from_options(&options).expect("settings").0;
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let settings = if writer % 2 == 0 { &inner } else { &outer };
            scope.spawn(move || {
                for number in 0..40 {
                    let overrides = ClusterFile { cluster: "prague", name: "overrides.yml" };
                    let name = format!("w{writer}n{number}");
                    cluster::set(settings, overrides, &name, Value::Int(number), EditOptions::default())
                        .unwrap_or_else(|error| panic!("{name}: {error}"));
                }
            });
        }
    });
    let text = fs::read_to_string(&file).expect("the file");
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with('w')).count(), 160, "{text}");
}
