//! What an inventory that is kept answers after edits, against one that is opened anew; and what
//! it had to do for it.

mod walks;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use reclass::internals::engine::counts::Counts;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use support::folders::until_old;

fn options(base: &Path, cache: &str) -> Map {
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    options.insert("cache".into(), Value::text(cache));
    // Nobody else writes: no file is waited for.
    options.insert("settle_time".into(), Value::Int(0));
    options
}

/// Everything an inventory says, errors included.
fn answers(inventory: &Inventory) -> String {
    let nodes = match inventory.nodes() {
        Ok(nodes) => nodes,
        Err(error) => return error.to_string(),
    };
    let mut out = String::new();
    for node in nodes {
        let answer = match inventory.nodeinfo(&node, &Request::default()) {
            Ok(info) => reclass::json::dumps(&info.to_value(""), false),
            Err(error) => error.to_string(),
        };
        writeln!(out, "{node}: {answer}").unwrap();
    }
    out
}

fn write(base: &Path, path: &str, text: &str) {
    let path = base.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Ten nodes, half of which include `web`; the others `db`. All export their class.
fn inventory() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    write(base, "classes/base.yml", "parameters: {site: here, list: [1]}\n");
    write(
        base,
        "classes/web.yml",
        "classes: [base]\nparameters: {kind: web, port: 80}\nexports: {kind: web}\n",
    );
    write(
        base,
        "classes/db/init.yml",
        "classes: [base]\nparameters: {kind: db}\nexports: {kind: '${kind}'}\n",
    );
    write(base, "classes/asks.yml", "parameters: {webs: '$[ if exports:kind == web ]'}\n");
    for number in 0..10 {
        let class = if number % 2 == 0 { "web" } else { "db" };
        write(
            base,
            &format!("nodes/n{number}.yml"),
            &format!("classes: [{class}]\nparameters: {{own: {number}}}\n"),
        );
    }
    write(base, "nodes/query.yml", "classes: [asks]\n");
    // Files that are younger than the clock's steps are read again and again; these are old.
    let old = fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
    for entry in fs::read_dir(base.join("nodes")).unwrap() {
        fs::File::open(entry.unwrap().path()).unwrap().set_times(old).unwrap();
    }
    folder
}

/// Answers everything and gives back what was done for it.
fn work(inventory: &Inventory) -> Counts {
    let before = inventory.counts();
    answers(inventory);
    let after = inventory.counts();
    Counts {
        listed: after.listed - before.listed,
        read: after.read - before.read,
        parsed: after.parsed - before.parsed,
        merged: after.merged - before.merged,
        computed: after.computed - before.computed,
        whole: after.whole - before.whole,
        partial: after.partial - before.partial,
        exported: after.exported - before.exported,
        reused: after.reused - before.reused,
    }
}

/// An inventory that has been asked often enough to be watched.
fn warm(folder: &tempfile::TempDir) -> Inventory {
    let inventory = Inventory::open(&options(folder.path(), "auto")).unwrap();
    answers(&inventory);
    answers(&inventory);
    inventory
}

#[test]
fn an_unchanged_inventory_is_not_looked_at() {
    let folder = inventory();
    let kept = warm(&folder);
    let counts = work(&kept);
    assert_eq!(counts, Counts { reused: 11, ..Counts::default() });
}

#[test]
fn nodes_that_begin_with_the_same_classes_merge_and_evaluate_them_once() {
    let folder = inventory();
    let kept = Inventory::open(&options(folder.path(), "auto")).unwrap();
    let counts = work(&kept);
    assert_eq!((counts.read, counts.parsed, counts.computed), (15, 15, 11), "each file once");
    // `base` and `web` for the first node with them, `base` and `db` for the first one with these, as
    // nobody knew before that anything but `web` comes after `base`; `asks`; and each node's own.
    assert_eq!(counts.merged, 2 + 2 + 1 + 11);
    assert_eq!((counts.whole, counts.partial), (3, 8), "the first node of each kind, and all others");
    // From now on more than one class is known to come after `base`.
    write(folder.path(), "classes/base.yml", "parameters: {site: there, list: [1]}\n");
    answers(&kept);
    write(folder.path(), "classes/base.yml", "parameters: {site: elsewhere, list: [1]}\n");
    let counts = work(&kept);
    assert_eq!((counts.read, counts.parsed, counts.computed), (1, 1, 10));
    assert_eq!(counts.merged, 2 + 2 + 10);
    assert_eq!((counts.whole, counts.partial), (2, 8));
}

#[test]
fn an_edit_computes_what_includes_the_class_and_nothing_else() {
    let folder = inventory();
    let kept = warm(&folder);
    write(
        folder.path(),
        "classes/web.yml",
        "classes: [base]\nparameters: {kind: web, port: 81}\nexports: {kind: web}\n",
    );
    let counts = work(&kept);
    assert_eq!((counts.read, counts.parsed), (1, 1));
    // Five nodes have the class. The exports that the query reads have not changed.
    assert_eq!(counts.computed, 5);
    assert_eq!(counts.exported, 0, "the query takes exports from answers");
    // `web` is merged into what `base` came to before, and then each node's own; one of the nodes is
    // evaluated, and the others where they differ from it.
    assert_eq!(counts.merged, 1 + 5);
    assert_eq!((counts.whole, counts.partial), (1, 4));
}

#[test]
fn a_comment_or_a_space_computes_nothing() {
    let folder = inventory();
    let kept = warm(&folder);
    write(folder.path(), "classes/base.yml", "# the site\nparameters:   {site: here, list: [1]}\n\n");
    let counts = work(&kept);
    assert_eq!(counts, Counts { read: 1, parsed: 1, reused: 11, ..Counts::default() });
}

#[test]
fn a_query_is_answered_again_when_an_export_that_it_reads_changes() {
    let folder = inventory();
    let kept = warm(&folder);
    write(folder.path(), "nodes/n1.yml", "classes: [db]\nexports: {kind: web}\n");
    assert_eq!(work(&kept).computed, 2, "the node and the one that asks");
    write(folder.path(), "nodes/new.yml", "exports: {kind: web}\n");
    assert!(answers(&kept).contains("\"webs\":[\"n0\",\"n1\",\"n2\",\"n4\",\"n6\",\"n8\",\"new\"]"));
}

#[test]
fn a_new_node_or_class_computes_nothing_of_the_others() {
    let folder = inventory();
    let kept = warm(&folder);
    write(folder.path(), "nodes/new.yml", "classes: [db]\n");
    let counts = work(&kept);
    assert_eq!((counts.read, counts.parsed), (1, 1));
    // The query does not find the new node. It takes its exports from the answer for the node.
    assert_eq!((counts.computed, counts.exported), (1, 0));
    assert_eq!((counts.merged, counts.whole, counts.partial), (1, 0, 1), "others have its class");
    write(folder.path(), "nodes/silent.yml", "parameters: {a: 1}\n");
    let counts = work(&kept);
    assert_eq!((counts.computed, counts.exported), (1, 1), "the one that asks comes first");
    assert_eq!((counts.merged, counts.whole, counts.partial), (1, 1, 0), "nobody has its class list");
    write(folder.path(), "classes/unused.yml", "parameters: {}\n");
    let counts = work(&kept);
    assert_eq!(counts, Counts { listed: 1, reused: 13, ..Counts::default() });
    fs::remove_file(folder.path().join("nodes/new.yml")).unwrap();
    let counts = work(&kept);
    assert_eq!((counts.read, counts.computed, counts.exported), (0, 0, 0));
    fs::remove_file(folder.path().join("nodes/n2.yml")).unwrap();
    let counts = work(&kept);
    assert_eq!((counts.read, counts.computed, counts.exported), (0, 1, 0), "the one that asks");
}

#[test]
fn what_a_query_does_not_find_may_change() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    write(base, "classes/c.yml", "parameters: {}\n");
    write(base, "nodes/web1.yml", "exports: {kind: web, addr: a}\n");
    write(base, "nodes/db1.yml", "exports: {kind: db, addr: b}\n");
    // Two nodes with the same classes: what the query comes to is kept for neither.
    write(base, "classes/asks.yml", "parameters: {in: {q: '$[ exports:addr if exports:kind == web ]'}}\n");
    write(base, "nodes/ask1.yml", "classes: [asks]\nparameters: {own: 1}\n");
    write(base, "nodes/ask2.yml", "classes: [asks]\nparameters: {own: 2}\n");
    write(base, "nodes/list.yml", "parameters: {q: '$[ if exports:kind != db ]'}\n");
    let kept = Inventory::open(&options(base, "auto")).unwrap();
    answers(&kept);
    answers(&kept);
    for (text, computed) in [
        ("exports: {kind: db, addr: changed}\n", 1),
        ("exports: {kind: db, addr: changed, other: 1}\n", 1),
        ("exports: {kind: db2, addr: changed}\n", 2),
        ("exports: {kind: db3, addr: changed}\n", 1),
        ("exports: {kind: web, addr: changed}\n", 3),
        ("exports: {kind: web, addr: again}\n", 3),
        ("exports: {kind: db, addr: again}\n", 4),
    ] {
        write(base, "nodes/db1.yml", text);
        let before = kept.counts().computed;
        let now = answers(&kept);
        assert_eq!(now, answers(&Inventory::open(&options(base, "off")).unwrap()), "{text}");
        assert_eq!(kept.counts().computed - before, computed, "{text}");
    }
}

#[test]
fn exports_that_fail_are_not_tried_again_without_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    write(base, "classes/c.yml", "exports: {e: '${gone}', ok: 1}\n");
    for number in 0..20 {
        write(base, &format!("nodes/n{number}.yml"), "classes: [c]\n");
    }
    let queries = "parameters: {q: '$[ +IgnoreErrors exports:e ]', r: '$[ exports:ok ]'}\n";
    write(base, "nodes/z.yml", queries);
    write(base, "nodes/other.yml", "parameters: {a: 1}\n");
    let kept = Inventory::open(&options(base, "stat")).unwrap();
    let ask = || kept.nodeinfo("z", &Request::default()).unwrap();
    ask();
    ask();
    let before = kept.counts();
    ask();
    assert_eq!(kept.counts().exported, before.exported);
    write(base, "nodes/other.yml", "parameters: {a: 2}\n");
    ask();
    assert_eq!(kept.counts().exported - before.exported, 2, "two paths of the node that changed");
    write(base, "nodes/n3.yml", "classes: [c]\nparameters: {gone: found}\n");
    ask();
    assert_eq!(kept.counts().exported - before.exported, 4);
    let found = reclass::json::dumps(&ask().to_value(""), false);
    assert!(found.contains("\"q\":{\"n3\":\"found\"}"), "{found}");
}

#[test]
fn a_class_that_was_missing_is_noticed_when_it_appears() {
    let folder = inventory();
    let base = folder.path();
    let mut options = options(base, "auto");
    options.insert("ignore_class_notfound".into(), Value::Bool(true));
    write(base, "nodes/n0.yml", "classes: [web, later]\n");
    write(base, "classes/db/init.yml", "classes: [later.too]\nparameters: {kind: db}\n");
    let kept = Inventory::open(&options).unwrap();
    answers(&kept);
    answers(&kept);
    write(base, "classes/later/init.yml", "parameters: {came: late}\n");
    assert_eq!(answers(&kept).matches("\"came\"").count(), 1);
    let before = kept.counts().computed;
    write(base, "classes/later/too.yml", "parameters: {came: later}\n");
    assert_eq!(answers(&kept).matches("\"came\":\"later\"").count(), 5);
    assert_eq!(kept.counts().computed - before, 5, "the nodes with db");
}

#[test]
fn a_class_that_fails_under_two_names_fails_every_node_that_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    write(base, "classes/c1.yml", "x: [\n");
    write(base, "nodes/a.yml", "classes: ['${z::c1}', c1]\n");
    write(base, "nodes/m.yml", "classes: [c1]\n");
    for cache in ["auto", "stat", "off"] {
        write(base, "classes/c1.yml", "x: [\n");
        let kept = Inventory::open(&options(base, cache)).unwrap();
        for node in ["a", "m", "a", "m"] {
            assert!(kept.nodeinfo(node, &Request::default()).is_err(), "{node} {cache}");
        }
        write(base, "classes/c1.yml", "parameters: {here: 1}\n");
        assert_eq!(answers(&kept).matches("\"here\"").count(), 2, "{cache}");
    }
}

#[test]
fn a_class_that_nobody_has_is_missed_by_all_who_list_it() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let mut options = options(base, "auto");
    options.insert("ignore_class_notfound".into(), Value::Bool(true));
    options.insert("ignore_class_notfound_warning".into(), Value::Bool(false));
    for node in ["a", "b", "c"] {
        write(base, &format!("nodes/{node}.yml"), "classes: [later]\n");
    }
    write(base, "classes/other.yml", "");
    let kept = Inventory::open(&options).unwrap();
    answers(&kept);
    answers(&kept);
    write(base, "classes/later.yml", "parameters: {here: 1}\n");
    assert_eq!(answers(&kept).matches("\"here\"").count(), 3);
}

#[test]
fn a_name_with_two_files_fails_what_depends_on_it_alone() {
    for cache in ["auto", "stat"] {
        let folder = inventory();
        let kept = Inventory::open(&options(folder.path(), cache)).unwrap();
        answers(&kept);
        let before = answers(&kept);
        for (first, second, broken) in [
            ("nodes/n1.yml", "nodes/n1.yaml", &["n1", "query"][..]),
            ("classes/web.yml", "classes/web/init.yml", &["n0", "n2", "n4", "n6", "n8", "query"]),
            ("classes/asks.yml", "classes/asks.yaml", &["query"]),
            ("classes/free.yml", "classes/free.yaml", &[]),
        ] {
            let is_new = first.contains("free");
            if is_new {
                write(folder.path(), first, "parameters: {}\n");
            }
            write(folder.path(), second, "parameters: {}\n");
            let fresh = Inventory::open(&options(folder.path(), cache)).unwrap();
            let counts = work(&kept);
            assert_eq!(counts.reused, 11 - broken.len() as u64, "{first}: {counts:?}");
            for inventory in [&kept, &fresh] {
                for (line, before) in answers(inventory).lines().zip(before.lines()) {
                    let node = line.split(':').next().unwrap();
                    if broken.contains(&node) {
                        // A query fails for the node that it asks.
                        let own = node != "query" || first.contains("asks");
                        let code = if own { "duplicate-definition" } else { "query-failed" };
                        assert!(line.contains(code), "{first}: {line}");
                    } else {
                        assert_eq!(line, before, "{first}");
                    }
                }
                let error = inventory.inventory().unwrap_err();
                assert_eq!(error.first().code(), "duplicate-definition");
                for file in [first, second] {
                    assert!(error.to_string().contains(file), "{error}");
                }
            }
            fs::remove_file(folder.path().join(second)).unwrap();
            assert_eq!(answers(&kept), before, "{first}");
        }
    }
}

#[test]
fn folders_that_change_places_are_noticed() {
    let folder = inventory();
    let base = folder.path();
    for (name, kind) in [("one", "first"), ("two", "second")] {
        write(base, &format!("classes/{name}/x.yml"), &format!("parameters: {{kind: {kind}}}\n"));
    }
    write(base, "nodes/n0.yml", "classes: [one.x]\n");
    let kept = warm(&folder);
    let swap = [("one", "three"), ("two", "one"), ("three", "two")];
    for (from, to) in swap {
        fs::rename(base.join("classes").join(from), base.join("classes").join(to)).unwrap();
    }
    assert!(answers(&kept).contains("\"second\""));
}

#[test]
fn answers_that_weigh_too_much_go_and_the_oldest_first() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    write(base, "classes/a.yml", "parameters: {one: 1, list: ['${one}', '${one}', '${one}']}\n");
    for number in 0..2000 {
        let lines: Vec<String> = (0..25).map(|at| format!("  k{at}: '${{one}}{number}'\n")).collect();
        let lines = lines.concat();
        write(base, &format!("nodes/n{number:04}.yml"), &format!("classes: [a]\nparameters:\n{lines}"));
    }
    let mut options = options(base, "auto");
    options.insert("cache_size".into(), Value::Int(1));
    let kept = Inventory::open(&options).unwrap();
    let fresh = Inventory::open(&options).unwrap();
    let ask = |number: usize| kept.nodeinfo(&format!("n{number:04}"), &Request::default()).unwrap();
    for number in 0..2000 {
        ask(number);
        ask(0);
    }
    let info = kept.cache_info();
    assert!(info.answers_memory <= 1024 * 1024 && info.answers_memory > 512 * 1024, "{info:?}");
    assert!(info.answers > 100 && info.answers < 1900, "{info:?}");
    let before = kept.counts().computed;
    ask(0);
    ask(1999);
    assert_eq!(kept.counts().computed, before, "what was asked for lately is kept");
    ask(1);
    assert_eq!(kept.counts().computed, before + 1, "what was not is not");
    assert_eq!(ask(7).parameters, fresh.nodeinfo("n0007", &Request::default()).unwrap().parameters);
}

#[test]
fn what_was_made_of_files_goes_with_them() {
    for cache in ["auto", "stat"] {
        let folder = inventory();
        let base = folder.path();
        let mut options = options(base, cache);
        options.insert("cache_size".into(), Value::Int(1));
        let kept = Inventory::open(&options).unwrap();
        answers(&kept);
        let before = kept.cache_info();
        for number in 0..300 {
            let lines: Vec<String> = (0..50).map(|at| format!("  k{at}: v{number}\n")).collect();
            write(base, "classes/passing.yml", &format!("parameters:\n{}", lines.concat()));
            write(base, &format!("nodes/p{number}.yml"), "classes: [web, passing]\n");
            assert!(kept.nodeinfo(&format!("p{number}"), &Request::default()).is_ok());
            fs::remove_file(base.join(format!("nodes/p{number}.yml"))).unwrap();
            fs::remove_file(base.join("classes/passing.yml")).unwrap();
        }
        let counts = work(&kept);
        assert_eq!((counts.parsed, counts.computed), (0, 0), "of the others all is kept");
        let after = kept.cache_info();
        assert_eq!((after.files, after.files_memory), (before.files, before.files_memory), "{cache}");
        assert_eq!((after.answers, after.answers_memory), (before.answers, before.answers_memory), "{cache}");
        // The same file comes back, and the class that it needs does later.
        write(base, "nodes/p0.yml", "classes: [web, passing]\n");
        assert!(answers(&kept).contains("no class 'passing'"));
        write(base, "classes/passing.yml", "parameters: {came: back}\n");
        assert!(answers(&kept).contains("\"came\":\"back\""));
        assert_eq!(answers(&kept), answers(&Inventory::open(&options).unwrap()));
    }
}

#[test]
fn what_differs_only_a_little_is_another_value() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    write(base, "classes/empty.yml", "");
    write(base, "nodes/asks.yml", "parameters: {result: '$[ exports:e ]'}\n");
    let texts = [
        "[0.0]",
        "[-0.0]",
        "[0]",
        "[false]",
        "[.nan]",
        "[{1: x}]",
        "[{1.0: x}]",
        "[{true: x}]",
        "{1: x}",
        "{1.0: x}",
        "{a: x, b: y}",
        "{b: y, a: x}",
    ];
    let mut said = std::collections::BTreeSet::new();
    for text in texts {
        write(base, "nodes/exports.yml", &format!("exports: {{e: {text}}}\n"));
        let fresh = answers(&Inventory::open(&options(base, "off")).unwrap());
        assert!(!fresh.contains("error"), "{fresh}");
        said.insert(fresh);
    }
    assert_eq!(said.len(), texts.len(), "each of them is said in its own way");
    let kept = Inventory::open(&options(base, "auto")).unwrap();
    for text in texts.iter().chain(texts.iter().rev()) {
        write(base, "nodes/exports.yml", &format!("exports: {{e: {text}}}\n"));
        let fresh = Inventory::open(&options(base, "off")).unwrap();
        assert_eq!(answers(&kept), answers(&fresh), "{text}");
    }
}

#[test]
fn a_broken_file_fails_the_nodes_that_use_it_and_no_other() {
    let folder = inventory();
    let kept = warm(&folder);
    write(folder.path(), "classes/web.yml", "parameters: {a: [}\n");
    assert!(kept.nodeinfo("n0", &Request::default()).is_err());
    assert!(kept.nodeinfo("n1", &Request::default()).is_ok());
    write(folder.path(), "classes/web.yml", "parameters: {a: 1}\n");
    assert!(kept.nodeinfo("n0", &Request::default()).is_ok());
}

#[test]
fn a_folder_that_appears_behind_a_link_is_noticed() {
    let folder = inventory();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("mounted");
    std::os::unix::fs::symlink(&target, folder.path().join("classes/linked")).unwrap();
    write(folder.path(), "nodes/n1.yml", "classes: [linked.late]\n");
    // The folders of the inventory are old: their times show no change.
    let old = fs::FileTimes::new().set_modified(std::time::SystemTime::UNIX_EPOCH);
    fs::File::open(folder.path().join("classes")).unwrap().set_times(old).unwrap();
    until_old(folder.path());
    let kept = warm(&folder);
    assert!(answers(&kept).contains("no class 'linked.late'"));
    fs::create_dir(&target).unwrap();
    fs::write(target.join("late.yml"), "parameters: {late: true}\n").unwrap();
    let new = Inventory::open(&options(folder.path(), "off")).unwrap();
    assert_eq!(answers(&kept), answers(&new));
    assert!(!answers(&kept).contains("no class"));
}

/// Two folders of nodes change places in one step, over and over: each node is there at every moment,
/// in the one folder or in the other, so a listing should find none twice and miss none. Two listings in a row
/// can be wrong in the same way (docs/limits-of-care.md), hardly ever.
#[test]
fn folders_that_change_places_while_they_are_listed() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};

    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    write(base, "classes/a.yml", "parameters: {a: 1}\n");
    for number in 0..40 {
        write(base, &format!("nodes/{}/n{number}.yml", ["one", "two"][number % 2]), "classes: [a]\n");
    }
    let (one, two) = (base.join("nodes/one"), base.join("nodes/two"));
    let done = AtomicBool::new(false);
    let mut counts = Vec::new();
    let exchanges = std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            let mut count = 0;
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE).unwrap();
                count += 1;
                std::thread::sleep(std::time::Duration::from_micros(100 * (count % 7)));
            }
            count
        });
        for _ in 0..300 {
            // Both one that is new and one that is kept.
            let inventory = Inventory::open(&options(base, "stat")).unwrap();
            for _ in 0..2 {
                counts.push(inventory.nodes().map(|nodes| nodes.len()).map_err(|error| error.to_string()));
            }
        }
        done.store(true, Ordering::Relaxed);
        changes.join().unwrap()
    });
    // A folder that changes during each attempt cannot be listed.
    counts.retain(|count| !matches!(count, Err(error) if error.contains("file-changing")));
    let wrong: Vec<_> = counts.iter().filter(|count| **count != Ok(40)).collect();
    assert!(wrong.len() <= counts.len() / 50, "{wrong:?}");
    assert!(counts.len() > 300, "{}", counts.len());
    assert!(exchanges > 50, "{exchanges}");
}

#[test]
fn warnings_know_the_lines_of_today() {
    for cache in ["auto", "stat"] {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        // What the file says by itself, and what evaluation says of it.
        let (first, second) = ("parameter: {}\n", "parameters:\n  a: ${gone}\n");
        write(base, "classes/c.yml", first);
        write(base, "classes/d.yml", second);
        write(base, "nodes/n.yml", "classes: [c, d]\nparameters: {a: 1}\n");
        let inventory = Inventory::open(&options(base, cache)).unwrap();
        let warnings = || {
            let info = inventory.nodeinfo("n", &Request::default()).unwrap();
            let text = |warning| reclass::report::full_warning(warning, false, &|_| None);
            let texts: Vec<String> = info.warnings.iter().map(text).collect();
            texts.join("\n")
        };
        let before = warnings();
        assert!(before.contains("c.yml:1:1") && before.contains("d.yml:2:6"), "{before}");
        write(base, "classes/c.yml", &format!("# one\n{first}"));
        write(base, "classes/d.yml", &format!("# one\n{second}"));
        let after = warnings();
        let anew = Inventory::open(&options(base, cache)).unwrap();
        let info = anew.nodeinfo("n", &Request::default()).unwrap();
        let text = |warning| reclass::report::full_warning(warning, false, &|_| None);
        let expected: Vec<String> = info.warnings.iter().map(text).collect();
        assert_eq!(after, expected.join("\n"));
        assert!(after.contains("c.yml:2:1") && after.contains("d.yml:3:6"), "{after}");
    }
}
