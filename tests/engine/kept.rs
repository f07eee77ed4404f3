//! Questions about a whole inventory that is kept while its files change: listings and all nodes at
//! once, of one state, whatever came and went.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use support::folders::until_old;

const CACHES: [&str; 3] = ["auto", "stat", "off"];

fn open(base: &Path, cache: &str) -> Inventory {
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    options.insert("cache".into(), Value::text(cache));
    Inventory::open(&options).unwrap()
}

/// Writes a file beside it and puts it in its place.
fn write(base: &Path, path: &str, text: &str) {
    let path = base.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

fn parameter(inventory: &Inventory, node: &str, name: &str) -> Value {
    let info = inventory.nodeinfo(node, &Request::default()).unwrap();
    info.parameters.as_map().unwrap().get(name).unwrap().clone()
}

/// The number of nodes with classes, counted in the whole inventory.
fn nodes_with_classes(inventory: &Inventory) -> usize {
    inventory
        .inspect(|computation| {
            let layers = |item| computation.read(item).unwrap();
            computation.catalog.nodes.values().filter(|item| !layers(item).classes.is_empty()).count()
        })
        .unwrap()
}

#[test]
fn a_file_that_is_gone_is_nothing_that_changes() {
    for cache in CACHES {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        write(base, "classes/a.yml", "parameters: {a: 1}\n");
        for node in ["n", "m"] {
            write(base, &format!("nodes/{node}.yml"), "classes: [a]\n");
        }
        let inventory = open(base, cache);
        for node in ["n", "m", "n"] {
            parameter(&inventory, node, "a");
        }
        fs::remove_file(base.join("nodes/m.yml")).unwrap();
        for _ in 0..3 {
            assert_eq!(nodes_with_classes(&inventory), 1, "{cache}");
        }
        assert_eq!(inventory.nodes().unwrap().len(), 1);
        fs::remove_file(base.join("classes/a.yml")).unwrap();
        assert_eq!(nodes_with_classes(&inventory), 1, "{cache}");
        write(base, "nodes/m.yml", "classes: [a]\n");
        assert_eq!(nodes_with_classes(&inventory), 2, "{cache}");
    }
}

#[test]
fn many_files_that_changed_are_looked_at_in_one_go() {
    for cache in CACHES {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let all = |classes: &str| {
            for node in 0..60 {
                write(base, &format!("nodes/n{node}.yml"), &format!("classes: {classes}\n"));
            }
        };
        write(base, "classes/a.yml", "parameters: {a: 1}\n");
        all("[]");
        let inventory = open(base, cache);
        for _ in 0..2 {
            assert_eq!(inventory.inventory().unwrap().len(), 60);
        }
        all("[a]");
        let names = inventory.inspect(|computation| computation.catalog.nodes.keys().count());
        assert_eq!(names.unwrap(), 60, "{cache}");
        assert_eq!(nodes_with_classes(&inventory), 60, "{cache}");
    }
}

#[test]
fn all_nodes_are_of_one_state() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    // Many nodes that take their time, one that is remembered, and one that is not.
    let line = |number| format!("  k{number}: ${{me}}-{number}");
    let parameters = (0..100).map(line).collect::<Vec<_>>().join("\n");
    for number in 0..150 {
        write(base, &format!("nodes/a{number}.yml"), &format!("parameters:\n  me: {number}\n{parameters}"));
    }
    write(base, "nodes/k.yml", "classes: [x]\n");
    write(base, "nodes/u.yml", "classes: [y]\n");
    let set = |class: &str, number: i64| {
        write(base, &format!("classes/{class}.yml"), &format!("parameters: {{v: {number}}}\n"));
    };
    set("x", 0);
    set("y", 0);
    let begin = Instant::now();
    open(base, "off").inventory().unwrap();
    let takes = begin.elapsed();
    for (round, cache) in (1u32..).zip(["auto", "stat"].iter().cycle().take(24)) {
        let inventory = open(base, cache);
        // The second question sets up the watch.
        for _ in 0..2 {
            parameter(&inventory, "k", "v");
        }
        let answers = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(takes * (round % 12) / 12);
                // The class of the node that is remembered is always the newer one.
                set("x", round.into());
                set("y", round.into());
            });
            inventory.inventory()
        });
        // An inventory that changes all the time is an error, and none of these changes do.
        let answers = answers.unwrap();
        let value = |node: &str| {
            let info = answers.iter().find(|info| info.name.as_ref() == node).unwrap();
            match info.parameters.as_map().unwrap().get("v").unwrap() {
                Value::Int(number) => *number,
                other => panic!("{other:?}"),
            }
        };
        assert!(value("k") >= value("u"), "{cache}: x is {}, y is {}", value("k"), value("u"));
    }
}

#[test]
fn a_folder_that_went_and_came_back_is_watched() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    write(base, "nodes/n.yml", "classes: [role.web]\n");
    write(base, "classes/role/web.yml", "parameters: {v: 1}\n");
    let inventory = open(base, "auto");
    for _ in 0..3 {
        assert_eq!(parameter(&inventory, "n", "v"), Value::Int(1));
    }
    assert!(inventory.cache_info().watching, "the file system of the tests can be watched");
    // The folder is open, so the kernel does not report that it is gone for good.
    let open_folder = fs::File::open(base.join("classes/role")).unwrap();
    fs::remove_dir_all(base.join("classes/role")).unwrap();
    write(base, "classes/role/web.yml", "parameters: {v: 1}\n");
    assert_eq!(parameter(&inventory, "n", "v"), Value::Int(1));
    for number in 2..5 {
        fs::write(base.join("classes/role/web.yml"), format!("parameters: {{v: {number}}}\n")).unwrap();
        assert_eq!(parameter(&inventory, "n", "v"), Value::Int(number));
    }
    assert!(inventory.cache_info().watching);
    drop(open_folder);
}

#[test]
fn what_could_not_be_watched_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let inventory = open(base, "auto");
    for _ in 0..3 {
        inventory.nodeinfo("n", &Request::default()).unwrap_err();
    }
    write(base, "nodes/n.yml", "parameters: {v: 1}\n");
    fs::create_dir(base.join("classes")).unwrap();
    let end = Instant::now() + Duration::from_secs(600);
    while !inventory.cache_info().watching {
        assert_eq!(parameter(&inventory, "n", "v"), Value::Int(1));
        assert!(Instant::now() < end, "it is not watched");
    }
    fs::write(base.join("nodes/n.yml"), "parameters: {v: 2}\n").unwrap();
    assert_eq!(parameter(&inventory, "n", "v"), Value::Int(2));
}

/// A folder that is gone is an error of the next question, whatever was known of it.
#[test]
fn a_folder_of_nodes_or_classes_that_is_gone_is_an_error() {
    let made = || {
        let place = tempfile::tempdir().unwrap();
        write(place.path(), "classes/a.yml", "parameters: {a: 1}\n");
        write(place.path(), "nodes/n.yml", "classes: [a]\n");
        place
    };
    for settled in [false, true] {
        let cases = CACHES.map(|cache| ["nodes", "classes"].map(|folder| (cache, folder, made())));
        let cases = cases.as_flattened();
        for (.., place) in cases.iter().filter(|_| settled) {
            until_old(place.path());
        }
        for (cache, folder, place) in cases {
            let base = place.path();
            let inventory = open(base, cache);
            for _ in 0..3 {
                parameter(&inventory, "n", "a");
                assert_eq!(inventory.nodes().unwrap().len(), 1);
            }
            fs::rename(base.join(folder), base.join("away")).unwrap();
            let code = |error: reclass::Error| error.first().code();
            let said = |what: &str| format!("{what} without {folder}, {cache}, {settled}");
            let asked = inventory.nodeinfo("n", &Request::default());
            assert_eq!(asked.map_err(code).err(), Some("directory-not-found"), "{}", said("nodeinfo"));
            for _ in 0..3 {
                assert_eq!(
                    inventory.nodes().map_err(code).err(),
                    Some("directory-not-found"),
                    "{}",
                    said("nodes")
                );
                let counted = inventory.inspect(|_| ()).map_err(code).err();
                assert_eq!(counted, Some("directory-not-found"), "{}", said("inspect"));
            }
            fs::rename(base.join("away"), base.join(folder)).unwrap();
            parameter(&inventory, "n", "a");
        }
    }
}
