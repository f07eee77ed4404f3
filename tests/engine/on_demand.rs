//! Class names lead to files: one name at a time, in trees that change, beside a plain search of the whole tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use support::random::Random;

const ROOTS: [&str; 2] = ["one", "two"];

fn options(base: &Path, cache: &str) -> Map {
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    let roots = ROOTS.iter().map(|root| Value::text(*root)).collect();
    options.insert("classes_uri".into(), Value::list(roots));
    options.insert("cache".into(), Value::text(cache));
    options.insert("settle_time".into(), Value::Int(0));
    options
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A node for each class name.
fn with_nodes(base: &Path, classes: &[&str]) {
    for class in classes {
        write(&base.join(format!("nodes/{}.yml", node(class))), &format!("classes: ['{class}']\n"));
    }
    for root in ROOTS {
        fs::create_dir_all(base.join(root)).unwrap();
    }
}

fn node(class: &str) -> String {
    format!("has-{}", class.replace('.', "-"))
}

/// The files of each class name, by a walk through everything.
fn model(base: &Path) -> BTreeMap<String, BTreeSet<PathBuf>> {
    fn walk(
        folder: &Path,
        prefix: &str,
        above: &[(u64, u64)],
        found: &mut BTreeMap<String, BTreeSet<PathBuf>>,
    ) {
        let metadata = fs::metadata(folder).unwrap();
        let own = (metadata.dev(), metadata.ino());
        if above.contains(&own) {
            return;
        }
        let above = [above, &[own]].concat();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with('.') || name == "CVS" {
                continue;
            }
            let stem = name.strip_suffix(".yml").or_else(|| name.strip_suffix(".yaml"));
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{prefix}{name}."), &above, found);
            } else if let Some(stem) = stem {
                let class = match stem {
                    "init" if !prefix.is_empty() => prefix.trim_end_matches('.').to_owned(),
                    _ => format!("{prefix}{stem}"),
                };
                found.entry(class).or_default().insert(entry.path());
            }
        }
    }
    let mut found = BTreeMap::new();
    for root in ROOTS {
        walk(&base.join(root), "", &[], &mut found);
    }
    found
}

/// What an inventory should say of a node with one class.
fn expected(files: Option<&BTreeSet<PathBuf>>, class: &str) -> Result<String, Vec<String>> {
    let files: Vec<&PathBuf> = files.into_iter().flatten().collect();
    match &files[..] {
        [] => Err(vec![format!("no class '{class}'")]),
        [file] => match fs::read_to_string(file) {
            Ok(text) => Ok(text.trim_start_matches("parameters: {at: ").trim_end_matches("}\n").to_owned()),
            Err(_) => Err(vec![file.display().to_string()]),
        },
        files => Err(files.iter().map(|file| file.display().to_string()).collect()),
    }
}

fn answered(inventory: &Inventory, class: &str) -> Result<String, String> {
    let info = inventory.nodeinfo(&node(class), &Request::default()).map_err(|error| error.to_string())?;
    Ok(reclass::json::dumps(info.parameters.as_map().unwrap().get("at").unwrap(), false))
}

/// A path of a class file or of a folder. Dots and folders stand for one another in names.
fn path(random: &mut Random, base: &Path, is_file: bool) -> PathBuf {
    let mut path = base.join(random.pick(&ROOTS));
    for _ in 0..random.below(3) {
        path.push(random.pick(&["a", "b", "a.b", "c"]));
    }
    path.push(random.pick(&["a", "b", "a.b", "b.c", "init", "c"]));
    if is_file {
        let suffix = random.pick(&[".yml", ".yml", ".yaml"]);
        path = path.with_file_name(format!("{}{suffix}", path.file_name().unwrap().to_str().unwrap()));
    }
    path
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Changes something in a tree.
fn change(random: &mut Random, base: &Path, count: usize) {
    let file = path(random, base, true);
    match random.below(10) {
        0..=3 if fs::create_dir_all(file.parent().unwrap()).is_ok() => {
            remove(&file);
            fs::write(&file, format!("parameters: {{at: {count}}}\n")).unwrap();
        }
        4..=5 => remove(&file),
        6 => remove(&path(random, base, false)),
        7 => {
            let (from, to) = (path(random, base, false), path(random, base, false));
            if from.is_dir() && !to.exists() && !to.starts_with(&from) {
                let _ = fs::create_dir_all(to.parent().unwrap());
                let _ = fs::rename(from, to);
            }
        }
        8 => {
            let (to_file, is_file) = (random.once_in(2), random.once_in(2));
            let (target, link) = (path(random, base, to_file), path(random, base, is_file));
            if fs::symlink_metadata(&link).is_err() && fs::create_dir_all(link.parent().unwrap()).is_ok() {
                symlink(target, link).unwrap();
            }
        }
        _ => {
            let (from, to) = (path(random, base, true), path(random, base, true));
            if from.is_file() && !to.is_dir() && fs::create_dir_all(to.parent().unwrap()).is_ok() {
                fs::rename(from, to).unwrap();
            }
        }
    }
}

#[test]
fn names_lead_to_the_files_that_a_walk_finds() {
    const CLASSES: [&str; 12] =
        ["a", "b", "a.b", "a.a", "a.b.c", "b.a.b", "c", "init", "a.init", "a.b.a.b", "c.c.b", "nothing.here"];
    let rounds = if std::env::var_os("RECLASS_LONG").is_some() { 400 } else { 25 };
    let (mut values, mut twins) = (0, 0);
    for round in 0..rounds {
        let random = &mut Random(round);
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        with_nodes(base, &CLASSES);
        let kept = ["auto", "stat"].map(|cache| Inventory::open(&options(base, cache)).unwrap());
        for count in 0..60 {
            for _ in 0..=random.below(3) {
                change(random, base, count);
            }
            let model = model(base);
            let fresh = Inventory::open(&options(base, "stat")).unwrap();
            for _ in 0..random.below(6) {
                let class = random.pick(&CLASSES);
                let expected = expected(model.get(class), class);
                for inventory in kept.iter().chain([&fresh]) {
                    match (&expected, answered(inventory, class)) {
                        (Ok(value), Ok(answer)) => {
                            assert_eq!(*value, answer, "round {round}, {count}: {class}");
                        }
                        (Err(parts), Err(error)) => {
                            assert!(
                                parts.iter().all(|part| error.contains(part)),
                                "round {round}, {count}: {class}: {parts:?}: {error}"
                            );
                        }
                        (expected, answer) => {
                            panic!("round {round}, {count}: {class}: {expected:?}, not {answer:?}")
                        }
                    }
                }
                values += usize::from(expected.is_ok());
                twins += usize::from(expected.is_err_and(|parts| parts.len() > 1));
            }
        }
    }
    assert!(values > 200 && twins > 50, "{values} values, {twins} twins");
}

#[test]
fn a_question_lists_the_folders_on_the_paths_of_its_classes() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    with_nodes(base, &["a.b.c", "x"]);
    for number in 0..100 {
        write(&base.join(format!("one/f{number}/inner/y.yml")), "");
    }
    write(&base.join("two/a/b/c.yml"), "parameters: {at: 1}\n");
    write(&base.join("one/x.yml"), "parameters: {at: 2}\n");
    let inventory = Inventory::open(&options(base, "auto")).unwrap();
    let listed = |class: &str| {
        let before = inventory.counts().listed;
        // Folders that are young are listed again at the end of the question.
        support::folders::until_old(base);
        assert!(answered(&inventory, class).is_ok());
        inventory.counts().listed - before
    };
    // The nodes, the two roots, `a` and `b`.
    assert_eq!(listed("a.b.c"), 5);
    assert_eq!(listed("x"), 0);
    assert_eq!(inventory.inspect(|computation| computation.all_classes()[0].count()).unwrap(), 102);
    assert_eq!(inventory.counts().listed, 5 + 200);
}

#[test]
fn an_error_of_a_folder_is_one_of_the_names_that_lead_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    with_nodes(base, &["open.x", "closed.x", "missing.x"]);
    write(&base.join("one/open/x.yml"), "parameters: {at: 1}\n");
    write(&base.join("one/closed/x.yml"), "parameters: {at: 2}\n");
    write(&base.join("one/other/x.yml"), "");
    fs::set_permissions(base, fs::Permissions::from_mode(0o755)).unwrap();
    let mode = |name: &str, mode: u32| {
        fs::set_permissions(base.join("one").join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    for cache in ["auto", "stat"] {
        mode("closed", 0o000);
        // Root may read everything, so another user asks.
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if rustix::process::geteuid().is_root() {
                    let nobody = rustix::process::Uid::from_raw(65_534);
                    rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                }
                let inventory = Inventory::open(&options(base, cache)).unwrap();
                for _ in 0..3 {
                    assert_eq!(answered(&inventory, "open.x"), Ok("1".to_owned()), "{cache}");
                    let error = answered(&inventory, "closed.x").unwrap_err();
                    assert!(error.contains("one/closed") && error.contains("has-closed-x"), "{error}");
                    // All classes are listed for a similar name, and for a class without a file that is in vain.
                    assert!(answered(&inventory, "missing.x").unwrap_err().contains("no class 'missing.x'"));
                    let all = inventory.inspect(|computation| computation.all_classes().len()).unwrap_err();
                    assert!(all.to_string().contains("one/closed"), "{all}");
                    assert!(inventory.inventory().is_err());
                }
            });
        });
        mode("closed", 0o755);
        let inventory = Inventory::open(&options(base, cache)).unwrap();
        assert_eq!(answered(&inventory, "closed.x"), Ok("2".to_owned()), "{cache}");
    }
}

#[test]
fn limits_hold_for_the_folders_that_a_name_leads_into() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    with_nodes(base, &["few.x", "many.x", "a.b.c.d"]);
    write(&base.join("one/few/x.yml"), "parameters: {at: 1}\n");
    write(&base.join("one/a/b/c/d.yml"), "parameters: {at: 1}\n");
    (0..21).for_each(|number| write(&base.join(format!("one/many/f{number}.yml")), ""));
    let mut options = options(base, "stat");
    options.insert("limit_files".into(), Value::Int(20));
    options.insert("limit_folder_depth".into(), Value::Int(2));
    let inventory = Inventory::open(&options).unwrap();
    assert!(answered(&inventory, "few.x").is_ok());
    assert!(answered(&inventory, "many.x").unwrap_err().contains("limit_files"));
    assert!(answered(&inventory, "a.b.c.d").unwrap_err().contains("limit_folder_depth"));
}

/// A hundred thousand folders of classes, of which one question needs two.
#[test]
fn what_nobody_asks_for_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    with_nodes(base, &["a7.b3.x", "a7.b3.y"]);
    let wide = if std::env::var_os("RECLASS_LONG").is_some() { 100_000 } else { 10_000 };
    for number in 0..wide / 100 {
        for inner in 0..99 {
            fs::create_dir_all(base.join(format!("one/a{number}/b{inner}"))).unwrap();
        }
    }
    write(&base.join("one/a7/b3/x.yml"), "parameters: {at: 1}\n");
    support::folders::until_old(base);
    for cache in ["auto", "stat"] {
        let inventory = Inventory::open(&options(base, cache)).unwrap();
        for _ in 0..3 {
            assert!(answered(&inventory, "a7.b3.x").is_ok());
        }
        // The nodes, two roots, `a7` and `b3`.
        assert_eq!(inventory.counts().listed, 5, "{cache}");
        write(&base.join("one/a7/b3/y.yml"), "parameters: {at: 2}\n");
        assert_eq!(answered(&inventory, "a7.b3.y"), Ok("2".to_owned()), "{cache}");
        fs::remove_file(base.join("one/a7/b3/y.yml")).unwrap();
        assert!(answered(&inventory, "a7.b3.y").is_err());
        support::folders::until_old(base);
    }
}
