//! A pillar is never silently without its data in etcd: it has them, or a warning with the age, or it is an
//! error.

use std::fs;

use crate::server::{ALWAYS, Server, ask, params, said, text_of};

const FAIL: &str = "etcd_interval: 0, etcd_failure: fail";

#[test]
fn a_server_that_is_down_is_a_warning_or_an_error() {
    let Some(mut server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    let (serve, fail) = (server.open(ALWAYS), server.open(FAIL));
    assert!(params(&serve, "one").contains("a: etcd"));
    server.kill();
    let info = ask(&serve, "one").unwrap();
    assert!(params(&serve, "one").contains("a: etcd"));
    let warning = info.warnings.iter().find(|warning| warning.code() == "etcd-stale").expect("a warning");
    assert!(warning.kind.to_string().contains(&server.endpoint()), "{:?}", warning.kind);
    assert!(
        warning.notes.iter().any(|note| note.text.starts_with("fetched last at 20")),
        "{:?}",
        warning.notes
    );
    assert_eq!(serve.storage_warnings().len(), 1);
    let [state] = &serve.fetch_states()[..] else { panic!("one etcd") };
    assert_eq!(state.stale.as_ref().map(reclass::error::Warning::code), Some("etcd-stale"));
    assert!(state.fetched.is_some() && state.source == server.endpoint(), "{state:?}");
    let text = text_of(ask(&fail, "one"));
    assert!(text.contains("(etcd-unreachable)") && text.contains(&server.endpoint()), "{text}");
    // Without a record there is nothing to serve.
    fs::remove_dir_all(server.path("record")).unwrap();
    for inventory in [&serve, &fail, &server.open("etcd_interval: 3600")] {
        let text = text_of(ask(inventory, "one"));
        assert!(text.contains("(etcd-unreachable)") && text.contains("no answer within 2 seconds"), "{text}");
    }
    // An error is not repeated when the server is back, after the pause that a slow failure makes.
    fs::remove_dir_all(server.path("record")).unwrap();
    server.run();
    server.put("classes/c/_param/a", "later");
    for inventory in [&serve, &fail] {
        assert!(params(inventory, "one").contains("a: later"));
        assert!(ask(inventory, "one").unwrap().warnings.is_empty());
    }
}

#[test]
fn one_process_waits_for_a_server_that_is_down_and_the_others_do_not() {
    let Some(mut server) = Server::start() else { return };
    let inventory = server.open("etcd_interval: 0, etcd_timeout: 1");
    ask(&inventory, "one").unwrap();
    server.kill();
    let begun = std::time::Instant::now();
    ask(&inventory, "one").unwrap();
    let first = begun.elapsed();
    let other = server.open("etcd_interval: 0, etcd_timeout: 1");
    let begun = std::time::Instant::now();
    for inventory in [&inventory, &other] {
        assert!(!ask(inventory, "one").unwrap().warnings.is_empty());
    }
    assert!(begun.elapsed() < first / 2, "{:?} {first:?}", begun.elapsed());
}

#[test]
fn a_compaction_and_a_restart_change_nothing() {
    let Some(mut server) = Server::start() else { return };
    let inventory = server.open(ALWAYS);
    for number in 0..20 {
        server.put("classes/c/_param/a", &format!("v{number}"));
    }
    assert!(params(&inventory, "one").contains("a: v19"));
    let before = inventory.counts().computed;
    server.ctl(&["compact", "20"]);
    server.ctl(&["defrag"]);
    assert!(params(&inventory, "one").contains("a: v19"));
    server.kill();
    server.run();
    assert!(params(&inventory, "one").contains("a: v19"));
    assert_eq!(inventory.counts().computed, before);
}

#[test]
fn a_server_that_lost_its_data_is_a_warning_or_an_error() {
    let Some(mut server) = Server::start() else { return };
    for number in 0..5 {
        server.put("classes/c/_param/a", &format!("v{number}"));
    }
    let (serve, fail) = (server.open(ALWAYS), server.open(FAIL));
    assert!(params(&serve, "one").contains("a: v4"));
    // One that begins anew counts its revisions from one.
    server.kill();
    fs::remove_dir_all(server.path("etcd")).unwrap();
    server.run();
    let lost = "the server is at revision 1, before revision 6 of the last reading";
    for _ in 0..2 {
        assert!(params(&serve, "one").contains("a: v4"));
        let [warning] = &serve.storage_warnings()[..] else { panic!("{:?}", serve.storage_warnings()) };
        assert!(warning.kind.to_string().contains(lost), "{:?}", warning.kind);
        let text = text_of(ask(&fail, "one"));
        assert!(text.contains("(etcd-unreachable)") && text.contains(lost), "{text}");
    }
    server.put("classes/c/_param/a", "new");
    assert!(params(&serve, "one").contains("a: v4"));
    // The way out that the message names.
    fs::remove_dir_all(server.path("record")).unwrap();
    for inventory in [&serve, &fail] {
        assert!(params(inventory, "one").contains("a: new"));
        assert!(ask(inventory, "one").unwrap().warnings.is_empty());
    }
}

#[test]
fn a_request_takes_as_long_as_the_setting_says() {
    let Some(mut server) = Server::start() else { return };
    server.kill();
    for (seconds, words) in [(1, "a second"), (7, "7 seconds")] {
        let inventory = server.open(&format!("etcd_interval: 0, etcd_timeout: {seconds}"));
        let _ = fs::remove_dir_all(server.path("record"));
        let begun = std::time::Instant::now();
        let text = text_of(ask(&inventory, "one"));
        let took = begun.elapsed().as_secs_f64();
        assert!(text.contains(&format!("no answer within {words}")), "{text}");
        // Otherwise it would be killed, two seconds later.
        assert!(took > f64::from(seconds) - 0.5 && took < f64::from(seconds) + 1.9, "{took} of {seconds} s");
    }
}

/// Changes the record at a path with these bytes.
type Damage = Box<dyn Fn(&std::path::Path, &[u8])>;

/// Damages of the record.
fn damages() -> Vec<(String, Damage)> {
    let mut all: Vec<(String, Damage)> = Vec::new();
    for part in 0..10 {
        let cut = move |path: &std::path::Path, bytes: &[u8]| {
            fs::write(path, &bytes[..bytes.len() * part / 10]).unwrap();
        };
        all.push((format!("{part} tenths of it"), Box::new(cut)));
        let flip = move |path: &std::path::Path, bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            let at = bytes.len() * part / 10;
            bytes[at] ^= 1;
            fs::write(path, bytes).unwrap();
        };
        all.push((format!("a bit after {part} tenths"), Box::new(flip)));
    }
    let without_keys = |path: &std::path::Path, bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("key ")).collect();
        fs::write(path, lines.join("\n") + "\n").unwrap();
    };
    all.push(("without its keys".into(), Box::new(without_keys)));
    all.push((
        "of another version".into(),
        Box::new(|path, bytes| {
            let text = String::from_utf8_lossy(bytes).replace("reclass etcd 1", "reclass etcd 2");
            fs::write(path, text).unwrap();
        }),
    ));
    all.push(("no text".into(), Box::new(|path, _| fs::write(path, [0xff; 100]).unwrap())));
    all.push(("gone".into(), Box::new(|path, _| fs::remove_file(path).unwrap())));
    all.push((
        "a folder".into(),
        Box::new(|path, _| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ));
    all.push((
        "a link to nowhere".into(),
        Box::new(|path, _| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/nowhere/at/all", path).unwrap();
        }),
    ));
    all
}

#[test]
fn a_damaged_record_is_read_anew_or_is_an_error() {
    let Some(mut server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    let hour = "etcd_interval: 3600, etcd_timeout: 1";
    let inventory = server.open(hour);
    assert!(params(&inventory, "one").contains("a: etcd"));
    let record = server.record();
    let whole = fs::read(&record).unwrap();
    let reset = || {
        let _ = fs::remove_dir(&record);
        let _ = fs::remove_file(&record);
        fs::write(&record, &whole).unwrap();
    };
    for (name, damage) in damages() {
        damage(&record, &whole);
        for inventory in [&inventory, &server.open(hour)] {
            // An answer has the data, whatever the record says.
            match ask(inventory, "one") {
                Ok(_) => assert!(params(inventory, "one").contains("a: etcd"), "{name}"),
                Err(error) => {
                    assert_eq!(name, "a folder");
                    assert!(error.to_string().contains("(etcd-unreachable)"), "{name}: {error}");
                }
            }
        }
        reset();
    }
    server.kill();
    for (name, damage) in damages().into_iter().step_by(if support::is_long() { 1 } else { 5 }) {
        damage(&record, &whole);
        let text = text_of(ask(&server.open(hour), "one"));
        assert!(text.contains("(etcd-unreachable)"), "{name}: {text}");
        reset();
    }
}

#[test]
fn a_record_that_cannot_be_written_is_no_silence() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    server.write("blocked", "");
    let more = format!("etcd_cache_dir: '{}/record'", server.path("blocked").display());
    let text = text_of(ask(&server.open(&more), "one"));
    assert!(text.contains("(etcd-unreachable)") && text.contains("blocked"), "{text}");
}

#[test]
fn a_program_that_is_missing_slow_loud_or_wrong_is_an_error() {
    let Some(server) = Server::start() else { return };
    for (name, script, part) in [
        ("slow", "sleep 60 & sleep 60", "no answer within a second"),
        (
            "loud",
            "while :; do head -c 1000000 /dev/zero; done",
            "the size of the values in etcd exceeds the limit",
        ),
        ("wrong", "echo '{}'", "its answer is no JSON of etcd"),
        ("empty", "", "its answer is no JSON of etcd"),
        (
            "odd",
            "echo '{\"header\":{\"revision\":1},\"kvs\":[{\"key\":\"%\",\"mod_revision\":1}]}' ; exit 3",
            "etcdctl ended with exit status: 3",
        ),
    ] {
        let path = server.fake_ctl(name, script);
        let more = format!(
            "etcd_timeout: 1, limit_file_size: 1, etcd_cache_dir: '{}'",
            server.path(&format!("r-{name}")).display()
        );
        let begun = std::time::Instant::now();
        let output = server.program(&more, &["--nodeinfo", "one"]).env("PATH", path).output().unwrap();
        let (text, errors) = said(&output);
        assert!(!output.status.success() && text.is_empty(), "{name}: {text}");
        assert!(errors.contains("etcd-unreachable") && errors.contains(part), "{name}: {errors}");
        assert!(begun.elapsed().as_secs() < 20, "{name}: {:?}", begun.elapsed());
    }
    let output = server.program("", &["--nodeinfo", "one"]).env("PATH", "/nowhere").output().unwrap();
    let (_, errors) = said(&output);
    assert!(
        errors.contains("cannot run the program 'etcdctl'") && errors.contains("etcd-client"),
        "{errors}"
    );
}

#[test]
fn values_have_the_limits_of_files() {
    let Some(server) = Server::start() else { return };
    let inventory =
        server.open("etcd_interval: 0, limit_file_size: 1, limit_file_values: 40, etcd_failure: fail");
    server.put("classes/c/_param/x", "[1, 2, 3]");
    assert!(params(&inventory, "one").contains("x: [1, 2, 3]"));
    server.put("classes/c/_param/x", &format!("[{}]", "1, ".repeat(40)));
    let text = text_of(ask(&inventory, "one"));
    assert!(text.contains("(yaml-limit)") && text.contains("etcd /reclass/classes/c/_param/x"), "{text}");
    let large = "x".repeat(100_000);
    for number in 0..11 {
        server.put(&format!("classes/d/_param/x{number}"), &large);
    }
    let text = text_of(ask(&inventory, "none"));
    assert!(text.contains("'limit_file_size' is the limit"), "{text}");
}
