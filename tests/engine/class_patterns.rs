//! Patterns of class names, beside the same inventories with the patterns written out; and the work after edits.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use support::random::Random;

/// The parameters that references in class names see: each node begins with the class that sets them.
const PARAMETERS: [(&str, &str); 4] = [("env", "a"), ("star", "*"), ("set", "[ab]"), ("mark", "?")];

const PATTERNS: [&str; 20] = [
    "*",
    "a.*",
    "?",
    "*.b",
    "a.?",
    "[ab].*",
    "[!a].*",
    "a.[",
    "b*",
    "${env}.*",
    "*.${env}",
    "${star}.*",
    "a.${star}*",
    "${set}*",
    "?${mark}",
    "c.[a-b]",
    "*zz*",
    ".*",
    "..*",
    ".a*",
];

/// Whether a name matches, tried in the plainest way.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return name.is_empty() };
    match first {
        '*' => (0..=name.len()).any(|skipped| matches(rest, &name[skipped..])),
        '?' => !name.is_empty() && matches(rest, &name[1..]),
        '[' => {
            let negated = rest.first() == Some(&'!');
            let begin = usize::from(negated);
            // A bracket right behind the first one is a letter of the set.
            let end = rest.iter().skip(begin + 1).position(|c| *c == ']').map(|at| at + begin + 1);
            let Some(end) = end else { return name.first() == Some(&'[') && matches(rest, &name[1..]) };
            let Some((c, behind)) = name.split_first() else { return false };
            let set = &rest[begin..end];
            let mut held = false;
            let mut at = 0;
            while at < set.len() {
                let is_range = at + 2 < set.len() && set[at + 1] == '-';
                let last = if is_range { set[at + 2] } else { set[at] };
                held |= (set[at]..=last).contains(c);
                at += if is_range { 3 } else { 1 };
            }
            held != negated && matches(&rest[end + 1..], behind)
        }
        c => name.first() == Some(c) && matches(rest, &name[1..]),
    }
}

/// A class or a node: its list, and whether the class is an `init.yml`.
#[derive(Clone, Debug)]
struct File {
    init: bool,
    classes: Vec<&'static str>,
    value: usize,
}

#[derive(Clone, Debug)]
struct Generated {
    classes: BTreeMap<String, File>,
    nodes: BTreeMap<String, File>,
}

fn list(random: &mut Random, most: usize) -> Vec<&'static str> {
    let mut list = Vec::new();
    for _ in 0..random.below(most + 1) {
        let entry =
            if random.once_in(3) { random.pick(&["a", "a.b", "b.a", "c"]) } else { random.pick(&PATTERNS) };
        if !list.contains(&entry) {
            list.push(entry);
        }
    }
    list
}

fn class(random: &mut Random) -> (String, File) {
    let names = ["a", "b", "c", "a.a", "a.b", "b.a", "b.b", "c.a", "c.b", "a.b.a", "c.*", "?", "b.[ab]"];
    // Most classes include nothing, because patterns that include one another are cycles.
    let most = if random.once_in(4) { 2 } else { 0 };
    let file = File { init: random.once_in(2), classes: list(random, most), value: random.below(4) };
    (random.pick(&names).to_owned(), file)
}

fn generated(random: &mut Random) -> Generated {
    let classes = (0..random.below(9) + 2).map(|_| class(random)).collect();
    let node = |random: &mut Random| File { init: false, classes: list(random, 3), value: random.below(4) };
    let nodes = ["m", "n", "a"].into_iter().map(|name| (name.to_owned(), node(random))).collect();
    Generated { classes, nodes }
}

/// The entry as an absolute pattern whose references are text.
fn absolute(owner: Option<(&str, &File)>, entry: &str) -> String {
    if !entry.starts_with('.') {
        return entry.to_owned();
    }
    if let Some((class, file)) = owner {
        let mut package: Vec<&str> = class.split('.').collect();
        let dots = entry.len() - entry.trim_start_matches('.').len();
        let up = if file.init { dots - 1 } else { dots };
        package.truncate(package.len().saturating_sub(up));
        return package.into_iter().chain([&entry[dots..]]).collect::<Vec<_>>().join(".");
    }
    // In a node, whose name has no dots.
    entry.trim_start_matches('.').to_owned()
}

fn resolved(name: &str, quote: bool) -> String {
    let mut name = name.to_owned();
    for (key, value) in PARAMETERS {
        let value: String = value
            .chars()
            .map(|c| if quote && "*?[".contains(c) { format!("[{c}]") } else { c.to_string() })
            .collect();
        name = name.replace(&format!("${{{key}}}"), &value);
    }
    name
}

/// The classes that an entry stands for, in order.
fn written_out(classes: &BTreeMap<String, File>, owner: Option<(&str, &File)>, entry: &str) -> Vec<String> {
    if !entry.contains(['*', '?', '[', '$']) {
        return vec![entry.to_owned()];
    }
    let pattern = absolute(owner, entry);
    let exact = resolved(&pattern, false);
    let literal =
        PARAMETERS.iter().fold(pattern.clone(), |text, (key, _)| text.replace(&format!("${{{key}}}"), ""));
    if classes.contains_key(&exact) || !literal.contains(['*', '?', '[']) {
        return vec![exact];
    }
    let glob: Vec<char> = resolved(&pattern, true).chars().collect();
    let found = classes.keys().filter(|name| matches(&glob, &name.chars().collect::<Vec<_>>()));
    let found: Vec<String> =
        found.filter(|name| owner.is_none_or(|(own, _)| own != *name)).cloned().collect();
    // As the pattern does, the name fails as a class that does not exist.
    if found.is_empty() { vec![exact] } else { found }
}

fn write(base: &Path, path: &str, text: &str) {
    let path = base.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn path_of(name: &str, init: bool) -> String {
    format!("classes/{}{}.yml", name.replace('.', "/"), if init { "/init" } else { "" })
}

impl Generated {
    /// Writes the files that differ from the earlier ones, with or without patterns.
    fn write(&self, base: &Path, expand: bool) {
        let mut left: BTreeSet<String> = BTreeSet::new();
        let text = |owner: Option<(&str, &File)>, first: &[&str], file: &File, keep: bool| {
            let mut entries: Vec<String> = first.iter().map(|name| (*name).to_owned()).collect();
            for entry in &file.classes {
                if keep {
                    entries.push((*entry).to_owned());
                } else {
                    entries.extend(written_out(&self.known(), owner, entry));
                }
            }
            let json = serde_json::to_string(&entries).unwrap();
            format!("classes: {json}\nparameters: {{scalar: {0}, list: [{0}]}}\n", file.value)
        };
        let parameters = serde_json::to_string(&BTreeMap::from(PARAMETERS)).unwrap();
        let mut files = vec![("classes/zero.yml".to_owned(), format!("parameters: {parameters}\n"))];
        for (name, file) in &self.classes {
            files.push((path_of(name, file.init), text(Some((name, file)), &[], file, !expand)));
        }
        for (name, file) in &self.nodes {
            files.push((format!("nodes/{name}.yml"), text(None, &["zero"], file, !expand)));
        }
        for (path, text) in files {
            left.insert(path.clone());
            if fs::read_to_string(base.join(&path)).ok().as_ref() != Some(&text) {
                write(base, &path, &text);
            }
        }
        remove_others(base, &base.join("classes"), &left);
    }

    /// All classes, that of the parameters included.
    fn known(&self) -> BTreeMap<String, File> {
        let zero = File { init: false, classes: Vec::new(), value: 0 };
        self.classes.clone().into_iter().chain([("zero".to_owned(), zero)]).collect()
    }
}

fn remove_others(base: &Path, folder: &Path, left: &BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            remove_others(base, &entry, left);
        } else if !left.contains(entry.strip_prefix(base).unwrap().to_str().unwrap()) {
            fs::remove_file(entry).unwrap();
        }
    }
}

fn options(base: &Path, cache: &str, patterns: bool) -> Map {
    let mut options = Map::default();
    options.insert("inventory_base_uri".into(), Value::text(base.to_str().unwrap()));
    options.insert("cache".into(), Value::text(cache));
    options.insert("class_wildcards".into(), Value::Bool(patterns));
    options.insert("settle_time".into(), Value::Int(0));
    options
}

/// The answer of each node, or the code of its first error.
fn answers(inventory: &Inventory) -> Vec<String> {
    let of = |node: &str| match inventory.nodeinfo(node, &Request::default()) {
        Ok(info) => {
            let info = info.to_value("");
            let parts = ["classes", "applications", "parameters", "exports"];
            let parts =
                parts.map(|part| reclass::json::dumps(info.as_map().unwrap().get(part).unwrap(), false));
            format!("{node}: {}", parts.join(" "))
        }
        Err(error) => format!("{node}: {}", error.faults()[0].code()),
    };
    inventory.nodes().unwrap().iter().map(|node| of(node)).collect()
}

#[test]
fn patterns_bring_what_the_same_names_written_out_bring() {
    let rounds = if support::is_long() { 3_000 } else { 250 };
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..rounds {
        let mut random = Random(seed);
        let (with, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut inventory = generated(&mut random);
        let write = |inventory: &Generated| {
            inventory.write(with.path(), false);
            inventory.write(out.path(), true);
        };
        write(&inventory);
        let kept = Inventory::open(&options(with.path(), random.pick(&["auto", "stat"]), true)).unwrap();
        for step in 0..4 {
            let expected = answers(&Inventory::open(&options(out.path(), "off", false)).unwrap());
            assert_eq!(answers(&kept), expected, "seed {seed}, step {step}: {inventory:#?}");
            for answer in expected {
                let kind = answer.split_once(": ").unwrap().1;
                let kind = if kind.starts_with('[') { "answer" } else { kind };
                *seen.entry(kind.to_owned()).or_default() += 1;
            }
            let (name, file) = class(&mut random);
            if random.once_in(3) {
                inventory.classes.remove(&name);
            } else {
                inventory.classes.insert(name, file);
            }
            write(&inventory);
        }
    }
    // All outcomes were compared.
    for kind in ["answer", "class-not-found", "class-cycle"] {
        assert!(seen.get(kind).is_some_and(|count| *count > 20), "{seen:?}");
    }
}

/// Two nodes with a pattern, in the node and in a class, and one without.
fn inventory(base: &Path) {
    write(base, "classes/apps/a.yml", "parameters: {apps: [a]}\n");
    write(base, "classes/apps/b.yml", "parameters: {apps: [b]}\n");
    write(base, "classes/role.yml", "classes: ['apps.*']\n");
    write(base, "classes/plain.yml", "classes: [apps.a]\n");
    write(base, "nodes/direct.yml", "classes: ['apps.*']\n");
    write(base, "nodes/through.yml", "classes: [role]\n");
    write(base, "nodes/plain.yml", "classes: [plain]\n");
}

fn apps(kept: &Inventory) -> [String; 3] {
    ["direct", "through", "plain"].map(|node| {
        let info = kept.nodeinfo(node, &Request::default()).unwrap();
        reclass::json::dumps(info.parameters.as_map().unwrap().get("apps").unwrap(), false)
    })
}

#[test]
fn a_new_class_reaches_the_nodes_whose_pattern_it_matches_and_computes_no_others() {
    for cache in ["auto", "stat"] {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        inventory(base);
        let kept = Inventory::open(&options(base, cache, true)).unwrap();
        let ask = |expected: [&str; 3], computed: u64, step: &str| {
            let before = kept.counts().computed;
            assert_eq!(apps(&kept), expected, "{step}");
            assert_eq!(kept.counts().computed - before, computed, "{step}");
        };
        ask([r#"["a","b"]"#, r#"["a","b"]"#, r#"["a"]"#], 3, "first");
        ask([r#"["a","b"]"#, r#"["a","b"]"#, r#"["a"]"#], 0, "again");
        write(base, "classes/other/c.yml", "parameters: {apps: [c]}\n");
        ask([r#"["a","b"]"#, r#"["a","b"]"#, r#"["a"]"#], 0, "a class that does not match");
        write(base, "classes/apps/aa/x.yml", "parameters: {apps: [aa.x]}\n");
        ask([r#"["a","aa.x","b"]"#, r#"["a","aa.x","b"]"#, r#"["a"]"#], 2, "one that does");
        fs::remove_file(base.join("classes/apps/b.yml")).unwrap();
        ask([r#"["a","aa.x"]"#, r#"["a","aa.x"]"#, r#"["a"]"#], 2, "removed");
        write(base, "classes/apps/*.yml", "parameters: {apps: [star]}\n");
        ask([r#"["star"]"#, r#"["star"]"#, r#"["a"]"#], 2, "a class of this very name");
    }
}

#[test]
fn a_pattern_sees_the_classes_of_all_folders() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    inventory(base);
    write(base, "more/apps/c.yml", "parameters: {apps: [c]}\n");
    let mut options = options(base, "stat", true);
    let roots = ["classes", "more"].map(|root| Value::text(base.join(root).to_str().unwrap()));
    options.insert("classes_uri".into(), Value::list(roots.to_vec()));
    let kept = Inventory::open(&options).unwrap();
    assert_eq!(apps(&kept)[0], r#"["a","b","c"]"#);
    write(base, "more/apps/d.yml", "parameters: {apps: [d]}\n");
    assert_eq!(apps(&kept), [r#"["a","b","c","d"]"#, r#"["a","b","c","d"]"#, r#"["a"]"#]);
}

#[test]
fn a_class_mapping_takes_patterns_of_its_author_alone() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    inventory(base);
    write(base, "nodes/web.yml", "");
    write(base, "nodes/apps.yml", "");
    write(base, "nodes/*.yml", "");
    let mut options = options(base, "off", true);
    let mapping = |text: &str| Value::list(vec![Value::text(text)]);
    let of = |options: &Map, node: &str| {
        let info = Inventory::open(options).unwrap().nodeinfo(node, &Request::default());
        info.map(|info| info.classes.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    options.insert("class_mappings".into(), mapping("web apps.*"));
    assert_eq!(of(&options, "web").unwrap(), ["apps.a", "apps.b"]);
    options.insert("class_mappings".into(), mapping(r"/^(apps)$/ \\1.*"));
    assert_eq!(of(&options, "apps").unwrap(), ["apps.a", "apps.b"]);
    // The name of a node is that of a machine, which must not choose more classes by it.
    options.insert("class_mappings".into(), mapping(r"/^([*])$/ apps.\\1"));
    assert_eq!(of(&options, "*").unwrap_err().faults()[0].code(), "class-not-found");
}

#[test]
fn a_pattern_without_a_match_is_a_missing_class() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    inventory(base);
    write(base, "nodes/none.yml", "classes: [plain, 'gone.*']\n");
    let ask = |options: &Map| Inventory::open(options).unwrap().nodeinfo("none", &Request::default());
    let mut options = options(base, "off", true);
    let note = |options: &Map| ask(options).unwrap_err().faults()[0].notes[0].text.clone();
    assert_eq!(note(&options), "it is a pattern, and matches no class");
    options.insert("ignore_class_notfound".into(), Value::Bool(true));
    let info = ask(&options).unwrap();
    // Names of classes alone.
    assert_eq!(&*info.classes, ["apps.a".into(), "plain".into()]);
    assert_eq!(info.warnings.len(), 1);
    options.insert("class_wildcards".into(), Value::Bool(false));
    options.insert("ignore_class_notfound".into(), Value::Bool(false));
    assert_eq!(note(&options), "with the setting 'class_wildcards: true' it is a pattern");
}
