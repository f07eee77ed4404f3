//! Servers that ask for certificates and passwords.

use std::os::unix::fs::PermissionsExt as _;

use super::server::{Server, ask, params, said, text_of};

#[test]
fn a_server_behind_tls_gives_its_data_to_who_has_a_certificate() {
    let Some(server) = Server::start_tls() else { return };
    server.put("classes/c/_param/a", "etcd");
    assert!(params(&server.open(""), "one").contains("a: etcd"));
    let folder = server.path("");
    let folder = folder.display();
    for more in [
        format!("etcd_ca: {folder}/other.crt"),
        "etcd_cert: null, etcd_key: null".to_owned(),
        format!("etcd_cert: {folder}/missing.crt"),
    ] {
        let more = format!("{more}, etcd_timeout: 1, etcd_cache_dir: {folder}/none");
        let text = text_of(ask(&server.open(&more), "one"));
        assert!(text.contains("(etcd-unreachable)"), "{more}: {text}");
    }
}

#[test]
fn a_user_needs_the_right_password_which_nobody_sees() {
    let Some(mut server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    server.put("elsewhere", "1");
    server.ctl(&["user", "add", "root:top"]);
    server.ctl(&["user", "grant-role", "root", "root"]);
    server.ctl(&["user", "add", "ada:pa:ss word"]);
    server.ctl(&["role", "add", "reader"]);
    server.ctl(&["role", "grant-permission", "reader", "--prefix=true", "read", "/reclass/"]);
    server.ctl(&["user", "grant-role", "ada", "reader"]);
    server.ctl(&["auth", "enable"]);
    server.log_in("root:top");
    server.write("password", "pa:ss word\n");
    server.write("wrong", "hunter2\n");
    let login = |file: &str| format!("etcd_user: ada, etcd_password_file: '{}'", server.path(file).display());
    assert!(params(&server.open(&login("password")), "one").contains("a: etcd"));
    for (more, part) in [
        (String::new(), "user name is empty"),
        (login("wrong"), "authentication failed"),
        (login("missing"), "the password in"),
    ] {
        let more = format!(
            "{more}{}etcd_cache_dir: '{}'",
            if more.is_empty() { "" } else { ", " },
            server.path("none").display()
        );
        let text = text_of(ask(&server.open(&more), "one"));
        assert!(text.contains("(etcd-unreachable)") && text.contains(part), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
    // No list of processes has the password.
    let script = format!("echo \"$@\" >> '{}'; exec $real \"$@\"", server.path("arguments").display());
    let path = server.fake_ctl("listing", &script);
    let more = format!("{}, etcd_interval: 0", login("password"));
    let output = server.program(&more, &["--nodeinfo", "one"]).env("PATH", path).output().unwrap();
    let (text, errors) = said(&output);
    assert!(text.contains("a: etcd"), "{text}{errors}");
    let arguments = std::fs::read_to_string(server.path("arguments")).unwrap();
    assert_eq!(
        arguments.trim(),
        "--command-timeout=1800ms --dial-timeout=1800ms get --write-out=json --prefix -- /reclass/"
    );
    // Nor has the record, which only its owner can read.
    let record = server.record();
    assert!(!std::fs::read_to_string(&record).unwrap().contains("pa:ss"));
    assert_eq!(record.metadata().unwrap().permissions().mode() & 0o77, 0);
}

#[test]
fn settings_of_the_environment_lead_nowhere_else() {
    let Some(server) = Server::start() else { return };
    server.put("classes/c/_param/a", "etcd");
    let mut command = server.program("", &["--nodeinfo", "one"]);
    for (name, value) in [
        ("ENDPOINTS", "127.0.0.1:1"),
        ("WRITE_OUT", "table"),
        ("USER", "x:y"),
        ("CACERT", "/nowhere"),
        ("HEX", "true"),
        ("DISCOVERY_SRV", "example.invalid"),
    ] {
        command.env(format!("ETCDCTL_{name}"), value);
    }
    let (text, errors) = said(&command.env("ETCDCTL_API", "2").output().unwrap());
    assert!(text.contains("a: etcd"), "{text}{errors}");
}

#[test]
fn wrong_settings_are_errors() {
    let Some(server) = Server::start() else { return };
    for (more, part) in [
        ("etcd_endpoints: ['http://ada:pw@host:2379']", "etcd_endpoints"),
        ("etcd_endpoints: ['a,b']", "etcd_endpoints"),
        ("etcd_endpoints: ['']", "etcd_endpoints"),
        ("etcd_timeout: 0", "etcd_timeout"),
        ("etcd_failure: ignore", "etcd_failure"),
        ("etcd_user: ada", "etcd_password_file"),
        ("etcd_password_file: pw", "etcd_user"),
        ("etcd_user: 'a:b', etcd_password_file: x", "etcd_user"),
    ] {
        let error = reclass::Inventory::open(&server.options(more)).map(drop);
        let text = text_of(error);
        assert!(text.contains(part) && !text.contains("pw"), "{more}: {text}");
    }
}
