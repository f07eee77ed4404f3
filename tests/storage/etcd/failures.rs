//! A pillar is never silently without its data in etcd: it has them, or a warning with the age, or it is an
//! error.

use std::fs;

use reclass::Inventory;

use super::server::{ALWAYS, Server, ask, params, said, text_of};

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
    ask(&inventory, "one").unwrap();
    // Each reading writes the record.
    let record = fs::read(server.record()).unwrap();
    let other = server.open("etcd_interval: 0, etcd_timeout: 1");
    for inventory in [&inventory, &other] {
        assert!(!ask(inventory, "one").unwrap().warnings.is_empty());
    }
    assert_eq!(fs::read(server.record()).unwrap(), record);
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
    accept(&serve);
    for inventory in [&serve, &fail] {
        assert!(params(inventory, "one").contains("a: new"));
        assert!(ask(inventory, "one").unwrap().warnings.is_empty());
    }
}

/// Does as the warning about lost data says.
fn accept(inventory: &Inventory) {
    let [warning] = &inventory.storage_warnings()[..] else { panic!("{:?}", inventory.storage_warnings()) };
    let message = warning.kind.to_string();
    let (_, command) = message.split_once("if that is intended, run: ").expect(&message);
    assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
}

#[test]
fn data_that_are_gone_are_no_silence_whatever_the_revision() {
    let Some(mut server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    server.put("classes/d/_param/d", "etcd");
    let inventory = server.open(ALWAYS);
    assert!(params(&inventory, "both").contains("a: etcd, d: etcd"));
    let is_lost = |part: &str| {
        for _ in 0..2 {
            assert!(params(&inventory, "both").contains("a: etcd, d: etcd"));
            let warnings = inventory.storage_warnings();
            let [warning] = &warnings[..] else { panic!("{warnings:?}") };
            assert!(warning.kind.to_string().contains(part), "{:?}", warning.kind);
        }
    };
    // Somebody deletes them all.
    server.ctl(&["del", "--prefix", "--", "/reclass/"]);
    is_lost("the server has none of the keys of the last reading");
    accept(&inventory);
    assert_eq!(params(&inventory, "both"), "{a: file, d: file, list: [1], map: {x: 1}}");
    server.put("classes/c/_param/a", "etcd");
    server.put("classes/d/_param/d", "etcd");
    assert!(params(&inventory, "both").contains("a: etcd, d: etcd"));
    // A server that begins anew, and whose revision other keys push beyond that of the reading.
    server.kill();
    fs::remove_dir_all(server.path("etcd")).unwrap();
    server.run();
    for number in 0..12 {
        server.ctl(&["put", "--", "/other/x", &number.to_string()]);
    }
    is_lost("the server has none of the keys of the last reading");
    // One of the keys is there again.
    server.put("classes/c/_param/a", "new");
    is_lost("the server has none of the keys of the last reading");
    accept(&inventory);
    assert!(params(&inventory, "both").contains("a: new, d: file"));
    assert!(inventory.storage_warnings().is_empty());
}

#[test]
fn an_answer_of_other_data_or_of_a_part_is_an_error() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    assert!(params(&server.open(ALWAYS), "one").contains("a: etcd"));
    let (key, value) = ("L3JlY2xhc3MvY2xhc3Nlcy9jL19wYXJhbS9h", "ZXRjZA==");
    let says = |rest: &str| format!("echo '{{\"header\":{{\"cluster_id\":7,\"revision\":1000}}{rest}}}'");
    let with = |key: &str, value: &str| {
        says(&format!(
            ",\"count\":1,\"kvs\":[{{\"key\":\"{key}\",\"create_revision\":2,\"mod_revision\":2,\"value\":\"{value}\"}}]"
        ))
    };
    let cluster =
        |script: &str, to: &str| format!("{script} | sed 's/\"cluster_id\":[0-9]*/\"cluster_id\":{to}/'");
    let own = server.ctl(&["get", "--write-out=json", "--", "x"]);
    let own = own.split("cluster_id\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    for (name, script, part) in [
        ("another", with(key, value), "belongs to another cluster"),
        ("one", cluster("$real \"$@\"", "8"), "belongs to another cluster"),
        ("part", says(",\"count\":1,\"more\":true"), "its answer does not have all keys"),
        ("counted", says(",\"count\":1"), "its answer does not have all keys"),
        ("odd", cluster(&with("!!", value), own), "its answer is no base64"),
        ("padded", cluster(&with(key, "ZXRjZA=!"), own), "its answer is no base64"),
        // `/reclass/q` and a byte.
        ("bytes", cluster(&with("L3JlY2xhc3MvcP8=", value), own), "the key '/reclass/p\\xff' is not UTF-8"),
        ("older", cluster(&with("L3JlY2xhc3MvcQ==", value), own), "has '/reclass/q' at revision 2"),
    ] {
        let path = server.fake_ctl(name, &script);
        for (more, stdout, code) in [(ALWAYS, "a: etcd", "etcd-stale"), (FAIL, "", "etcd-unreachable")] {
            let output = server.program(more, &["--nodeinfo", "one"]).env("PATH", &path).output().unwrap();
            let (text, errors) = said(&output);
            assert!(text.contains(stdout) && errors.contains(code), "{name}: {text}{errors}");
            assert!(errors.replace('\n', " ").contains(part), "{name}: {errors}");
        }
        // The record still has the data.
        assert!(params(&server.open("etcd_interval: 3600, etcd_failure: serve"), "one").contains("a: etcd"));
    }
    assert!(params(&server.open(FAIL), "one").contains("a: etcd"));
}

#[test]
fn a_server_that_hangs_takes_as_long_as_the_setting_says() {
    let Some(server) = Server::start() else { return };
    // It takes connections, and answers none.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("etcd_endpoints: ['{}'], etcd_timeout: 4", listener.local_addr().unwrap());
    let inventory = server.open(&endpoint);
    let text = text_of(ask(&inventory, "one"));
    assert!(text.contains("no answer within 4 seconds"), "{text}");
}

#[test]
fn a_record_that_somebody_else_may_write_is_not_believed() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    let hour = "etcd_interval: 3600";
    assert!(params(&server.open(hour), "one").contains("a: etcd"));
    let record = server.record();
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let text = fs::read_to_string(&record).unwrap();
    assert!(text.contains("ZXRjZA=="), "{text}");
    fs::write(&record, text.replace("ZXRjZA==", "Zm9yZ2Vk")).unwrap();
    // What the forgery would do.
    assert!(params(&server.open(hour), "one").contains("a: forged"));
    mode(&record, 0o666);
    assert!(params(&server.open(hour), "one").contains("a: etcd"));
    let folder = server.path("record");
    mode(&folder, 0o777);
    let text = text_of(ask(&server.open(hour), "one"));
    assert!(text.contains("(etcd-unreachable)") && text.contains("run: chmod go-w"), "{text}");
    mode(&folder, 0o755);
    assert!(params(&server.open(hour), "one").contains("a: etcd"));
}

#[test]
fn a_clock_that_was_set_back_makes_no_data_stale() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/a", "old");
    let inventory = server.open("etcd_interval: 60");
    assert!(params(&inventory, "one").contains("a: old"));
    server.put("classes/c/_param/a", "new");
    // The clock was ahead at the last reading.
    let record = server.record();
    let text = fs::read_to_string(&record).unwrap();
    let seconds = text.split("secs_since_epoch\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let ahead = seconds.parse::<u64>().unwrap() + 590;
    fs::write(&record, text.replace(seconds, &ahead.to_string())).unwrap();
    assert!(params(&inventory, "one").contains("a: new"));
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
        assert!(took > f64::from(seconds) * 0.8, "{took} of {seconds} s");
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
    }
    all.push((
        "of another version".into(),
        Box::new(|path, bytes| {
            fs::write(path, String::from_utf8_lossy(bytes).replace("\"revision\"", "\"version\"")).unwrap();
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
            "the size of the keys and values in etcd exceeds the limit",
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
        let output = server.program(&more, &["--nodeinfo", "one"]).env("PATH", path).output().unwrap();
        let (text, errors) = said(&output);
        assert!(!output.status.success() && text.is_empty(), "{name}: {text}");
        assert!(errors.contains("etcd-unreachable") && errors.contains(part), "{name}: {errors}");
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
    // All keys together, with their names, have the limit of one file.
    let values = "the number of values in etcd exceeds the limit of 40; 'limit_file_values' is the limit";
    for (key, value) in [
        ("classes/d/_param/x", "[1, 2, 3, 4, 5, 6, 7, 8]"),
        ("classes/d/_param/x/a/b/c/d/e/f/g/h/i/j/k/l", "1"),
    ] {
        server.put(key, value);
        let text = text_of(ask(&inventory, "none"));
        assert!(text.contains("(etcd-unreachable)") && text.contains(values), "{text}");
        server.delete(key);
    }
    let large = "x".repeat(100_000);
    let inventory = server.open("etcd_interval: 0, limit_file_size: 1, etcd_failure: fail");
    for number in 0..11 {
        server.put(&format!("classes/d/_param/x{number}"), &large);
    }
    let text = text_of(ask(&inventory, "none"));
    assert!(text.contains("'limit_file_size' is the limit"), "{text}");
    // The names above a value are part of its depth.
    server.ctl(&["del", "--prefix", "--", "/reclass/classes/d/"]);
    server.put("classes/c/_param/deep/b/c", "[[1]]");
    let inventory = server.open("etcd_interval: 0, limit_depth: 4");
    let text = text_of(ask(&inventory, "one"));
    assert!(
        text.contains("(yaml-limit)") && text.contains("etcd /reclass/classes/c/_param/deep/b/c"),
        "{text}"
    );
    assert!(params(&server.open("etcd_interval: 0"), "one").contains("c: [[1]]"));
}
