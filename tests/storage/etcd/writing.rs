//! Soft metadata are written in a transaction, and every process sees them at once.

use reclass::error::Error;
use reclass::settings::Settings;
use reclass::value::Value;
use reclass_edit::cluster::ClusterFile;
use reclass_edit::etcd;
use reclass_edit::tree::{EditOptions, Edited};

use super::server::{Server, params, short, text_of};

/// The cluster whose class `cluster.prague.overrides` is.
const PRAGUE: ClusterFile<'static> = ClusterFile { cluster: "prague", name: "" };
const TEST: EditOptions = EditOptions { test: true, interpolate: false, force: false };

fn settings(server: &Server, more: &str) -> Settings {
    Settings::from_options(&server.options(more)).unwrap().0
}

fn value(text: &str) -> Value {
    reclass_yaml::parse_value(text).unwrap()
}

fn set(settings: &Settings, name: &str, text: &str) -> Result<Edited, Error> {
    etcd::set(settings, PRAGUE, name, value(text), EditOptions::default())
}

fn prague(server: &Server) {
    server.write("classes/cluster/prague/overrides.yml", "parameters: {_param: {a: file}}\n");
    server.write("nodes/prague.yml", "classes: [cluster.prague.overrides]\n");
}

#[test]
fn a_parameter_is_set_listed_and_deleted() {
    let Some(server) = Server::start() else { return };
    prague(&server);
    let settings = settings(&server, "");
    let inventory = server.open("etcd_interval: 3600");
    assert_eq!(params(&inventory, "prague"), "{a: file}");
    // A test writes nothing.
    let tested = etcd::set(&settings, PRAGUE, "a", value("etcd"), TEST).unwrap();
    assert!(tested.changed());
    assert_eq!(server.ctl(&["get", "--prefix", "/"]), "");
    let edited = set(&settings, "a", "etcd").unwrap();
    assert_eq!(edited, tested);
    assert_eq!(edited.path.to_str(), Some("etcd /reclass/classes/cluster.prague.overrides/_param/a"));
    assert_eq!(short(&edited.data_after().unwrap()), "{parameters: {_param: {a: etcd}}}");
    // The record has it, although an hour is not over.
    assert_eq!(params(&inventory, "prague"), "{a: etcd}");
    assert!(!set(&settings, "a", "etcd").unwrap().changed());
    for text in
        ["[1, {b: 'yes'}]", "2", "null", "'a\n b'", "2026-11-23", "\"\\x00'\\\"$(x)\u{e9}\"", "{}", "''"]
    {
        assert!(set(&settings, "x", text).unwrap().changed(), "{text}");
        assert!(!set(&settings, "x", text).unwrap().changed(), "{text}");
        let expected = value(text);
        let data = etcd::data(&settings, PRAGUE).unwrap();
        let found = data.as_map().unwrap().get("parameters").unwrap().as_map().unwrap().get("_param");
        assert_eq!(found.unwrap().as_map().unwrap().get("x"), Some(&expected), "{text}");
    }
    server.put("classes/cluster.prague.overrides/_param/deep/er", "1");
    let data = etcd::data(&settings, PRAGUE).unwrap();
    assert_eq!(short(&data), "{parameters: {_param: {a: etcd, deep: {er: 1}, x: ''}}}");
    let deleted = etcd::delete(&settings, PRAGUE, "a", TEST).unwrap();
    assert!(deleted.changed() && params(&inventory, "prague").contains("a: etcd"));
    assert!(etcd::delete(&settings, PRAGUE, "a", EditOptions::default()).unwrap().changed());
    assert!(params(&inventory, "prague").contains("a: file"));
    assert!(!etcd::delete(&settings, PRAGUE, "a", EditOptions::default()).unwrap().changed());
}

#[test]
fn the_last_key_can_be_deleted() {
    let Some(server) = Server::start() else { return };
    prague(&server);
    let settings = settings(&server, "");
    let inventory = server.open("etcd_interval: 3600");
    set(&settings, "a", "etcd").unwrap();
    assert!(params(&inventory, "prague").contains("a: etcd"));
    assert!(etcd::delete(&settings, PRAGUE, "a", EditOptions::default()).unwrap().changed());
    assert!(params(&inventory, "prague").contains("a: file"));
    assert!(inventory.storage_warnings().is_empty());
}

#[test]
fn a_value_for_a_class_that_does_not_exist_is_written_with_a_warning() {
    let Some(server) = Server::start() else { return };
    prague(&server);
    let settings = settings(&server, "");
    assert_eq!(set(&settings, "a", "etcd").unwrap().warning, None);
    let nowhere = ClusterFile { cluster: "plague", name: "" };
    let edited = etcd::set(&settings, nowhere, "a", value("etcd"), EditOptions::default()).unwrap();
    assert!(edited.changed());
    assert_eq!(
        edited.warning.as_deref(),
        Some(
            "there is no class 'cluster.plague.overrides' for the key \
             '/reclass/classes/cluster.plague.overrides/_param/a'; 'cluster.prague.overrides' is similar"
        )
    );
    // What counts nowhere can go without a word.
    let deleted = etcd::delete(&settings, nowhere, "a", EditOptions::default()).unwrap();
    assert!(deleted.changed() && deleted.warning.is_none());
}

#[test]
fn an_edit_that_would_mean_something_else_is_refused() {
    let Some(server) = Server::start() else { return };
    let without = Settings::from_options(&server.options("etcd_endpoints: []")).unwrap().0;
    assert!(text_of(set(&without, "a", "1")).contains("etcd_endpoints"));
    let data = settings(&server, "");
    for name in ["a/b", "", "a b", ".a"] {
        assert!(text_of(set(&data, name, "1")).contains("(name-refused)"), "{name}");
    }
    set(&data, "l", "[1]").unwrap();
    assert!(text_of(set(&data, "~l", "[1]")).contains("use that key"));
    server.put("classes/cluster.prague.overrides/_param/deep/er", "1");
    assert!(text_of(set(&data, "deep", "1")).contains("use that key"));
    // As data, it is a text like any other.
    assert!(set(&data, "r", "'${_param:x}'").unwrap().changed());
    let interpolate = EditOptions { test: false, interpolate: true, force: false };
    let refused = etcd::set(&data, PRAGUE, "r", value("'${x}'"), interpolate);
    assert!(text_of(refused).contains("(edit-refused)"));
    let references = settings(&server, "etcd_references: true");
    assert!(text_of(set(&references, "r", "'${_param:y}'")).contains("(edit-reference)"));
    assert!(etcd::set(&references, PRAGUE, "r", value("'${x}'"), interpolate).unwrap().changed());
}

#[test]
fn of_those_who_write_one_key_at_once_one_wins_and_the_others_are_told() {
    let Some(server) = Server::start() else { return };
    prague(&server);
    let settings = settings(&server, "");
    let rounds = 5;
    let (mut won, mut lost) = (0, 0);
    for round in 0..rounds {
        let results: Vec<_> = std::thread::scope(|scope| {
            let write = |writer: usize| {
                let settings = &settings;
                scope.spawn(move || (writer, set(settings, "a", &format!("w{round}-{writer}"))))
            };
            let writers: Vec<_> = (0..4).map(write).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let mut winners = Vec::new();
        for (writer, result) in results {
            match result {
                Ok(edited) => winners.push((writer, edited)),
                Err(error) => {
                    assert_eq!(error.faults()[0].code(), "etcd-conflict", "{error}");
                    assert!(error.to_string().contains("nothing was written"), "{error}");
                    lost += 1;
                }
            }
        }
        won += winners.len();
        let current = params(&server.open("etcd_interval: 3600"), "prague");
        assert!(
            winners.iter().any(|(writer, _)| current == format!("{{a: w{round}-{writer}}}")),
            "{current}"
        );
        // Each of them replaced what it had read: no value was lost unseen.
        let read: Vec<_> = winners.iter().map(|(_, edited)| edited.before.clone()).collect();
        let distinct: std::collections::BTreeSet<_> = read.iter().collect();
        assert_eq!(distinct.len(), read.len(), "{winners:?}");
    }
    println!("{won} won, {lost} were told");
    assert!(won >= rounds && lost > 0);
}

#[test]
fn a_write_into_a_server_that_lost_its_data_is_no_silence() {
    let Some(mut server) = Server::start() else { return };
    prague(&server);
    for number in 0..5 {
        server.put("classes/other/_param/a", &format!("v{number}"));
    }
    let inventory = server.open("etcd_interval: 3600");
    assert!(params(&inventory, "prague").contains("a: file"));
    server.kill();
    std::fs::remove_dir_all(server.path("etcd")).unwrap();
    server.run();
    assert!(set(&settings(&server, "etcd_interval: 3600"), "a", "etcd").unwrap().changed());
    assert!(params(&inventory, "prague").contains("a: file"));
    let [warning] = &inventory.storage_warnings()[..] else { panic!("{:?}", inventory.storage_warnings()) };
    assert!(warning.kind.to_string().contains("it has lost data"), "{:?}", warning.kind);
}
