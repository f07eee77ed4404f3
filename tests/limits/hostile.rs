//! Hostile and broken inventories: each is refused with a code and a place, or answered, within
//! bounds of time and memory, and no other node is concerned.
//!
//! Each runs in a process of its own, which prints its largest memory. `cargo test --test limits --
//! --nocapture` prints what each took; docs/reliability.md has the table.

use support::corpus;
use support::folders;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};

use folders::{inventory, processor_seconds, set, write};
use reclass::redact::Redaction;
use reclass::settings::TABLE;
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};

/// What no hostile inventory may take: seconds of the processor, and MiB. Unoptimized builds included; what
/// each really takes is printed.
const MOST_SECONDS: f64 = 60.0;

/// When a child hangs, in seconds of the clock: on the busiest machine none takes as long.
const HANGS: &str = "1800";
const MOST_MEMORY: u64 = 600;

/// What each other question about one may take, in MiB.
const MOST_MEMORY_ASKED: u64 = 1_000;

/// The most problems that are reported of a node.
const MOST_PROBLEMS: usize = 1_000;

/// The longest line that an error has, in bytes: a sentence, a path and a way out.
const MOST_LINE: usize = 7_000;

/// A hostile inventory: its name, settings, what is wrong with it, and what becomes of node `n`.
#[derive(Clone, Copy)]
struct Hostile {
    name: &'static str,
    settings: &'static str,
    make: fn(&Path),
    /// The code of the error, or `ok`.
    code: &'static str,
    /// A part of the sentence.
    says: &'static str,
}

const fn hostile(name: &'static str, make: fn(&Path), code: &'static str, says: &'static str) -> Hostile {
    Hostile { name, settings: "{}", make, code, says }
}

const fn with(settings: &'static str, hostile: Hostile) -> Hostile {
    Hostile { settings, ..hostile }
}

const ALL: &[Hostile] = &[
    hostile("aliases that multiply", aliases, "yaml-limit", "the number of values"),
    hostile("merge keys that multiply", merge_keys, "yaml-limit", "the number of values"),
    hostile("one long text behind many aliases", long_aliases, "yaml-limit", "the number of values"),
    hostile("brackets in brackets", brackets, "yaml-limit", "the depth"),
    hostile("lists in lists", lists, "yaml-limit", "the depth"),
    hostile("a file of 17 MiB", |base| text(base, 17), "yaml-limit", "the size"),
    hostile("a text of 15 MiB", |base| text(base, 15), "ok", ""),
    hostile("a list of four million items", items, "yaml-limit", "the number of values"),
    hostile("an integer of a million digits", digits, "yaml-limit", "digits"),
    hostile(
        "texts that double by references",
        |base| chain(base, "'${p#}${p#}'", 60),
        "evaluation-limit",
        "text",
    ),
    hostile(
        "lists that double by references",
        |base| chain(base, "['${p#}', '${p#}']", 60),
        "evaluation-limit",
        "values",
    ),
    hostile(
        "mappings that double by references",
        |base| chain(base, "{a: '${p#}', b: '${p#}'}", 60),
        "evaluation-limit",
        "values",
    ),
    hostile("a query over what doubles by references", doubled_export, "query-failed", "fails for node"),
    hostile("a query over what doubles and contains itself", circular_export, "ok", ""),
    hostile(
        "a list that grows with each of 200 classes, and is repeated by each",
        repeated_list,
        "evaluation-limit",
        "values",
    ),
    hostile("4,000 references that lead nowhere", missing_references, "reference-not-found", "missing"),
    hostile(
        "20,000 references to names like 20,000 others",
        similar_references,
        "reference-not-found",
        "name",
    ),
    hostile("200,000 references that lead nowhere", gone_references, "reference-not-found", "gone"),
    hostile("100,000 references that do not parse", broken_references, "reference-syntax", ""),
    hostile("100,000 queries with text around them", embedded_queries, "query-embedded", ""),
    hostile("100,000 sections that mean nothing", unknown_sections, "ok", ""),
    hostile("2,000 missing references below a key of 20 KB", below_long_key, "reference-not-found", "gone"),
    hostile("a million references in one text", one_text, "evaluation-limit", "references in one text"),
    hostile(
        "references nested 190 deep, 500 times, beside one that leads nowhere",
        nested_references,
        "reference-not-found",
        "gone",
    ),
    hostile(
        "900 references that lead nowhere, then 900 mappings, of one layer each for one place",
        |base| layers(base, "{k#: 1}"),
        "reference-not-found",
        "gone0",
    ),
    hostile("the same with lists", |base| layers(base, "['${x}', '#']"), "reference-not-found", "gone0"),
    hostile("a reference of 8 MB", |base| long_reference(base, "p"), "reference-not-found", "xxx"),
    hostile("a missing reference below a key of 8 MB", long_key, "reference-not-found", "xxx"),
    hostile("a class with a name of 8 MB", long_class, "class-not-found", "xxx"),
    hostile("a query of 8 MB", long_query, "query-syntax", ""),
    hostile("a tag of 8 MB", |base| parameters(base, &format!("  p: !{} x\n", long())), "yaml-tag", ""),
    hostile("200,000 duplicate keys", keys_twice, "ok", ""),
    hostile("a line of 80,000 colons", colons, "reference-not-found", ""),
    hostile("60,000 applications", applications, "ok", ""),
    hostile("100,000 applications that are taken away again", undone_applications, "ok", ""),
    hostile("40,000 secrets, and as many other texts", many_secrets, "ok", ""),
    hostile("300 queries over 100 nodes with 300 exports", many_queries, "ok", ""),
    hostile("80,000 handles of tags", handles, "ok", ""),
    hostile("a large list that references repeat", large_list, "evaluation-limit", "values"),
    hostile("a long text that references repeat", long_text, "evaluation-limit", "values"),
    hostile(
        "mappings nested by references",
        |base| chain(base, "{a: '${p#}'}", 3_000),
        "evaluation-limit",
        "nesting",
    ),
    hostile("a mapping that two layers merge into its own inside", own_inside, "reference-cycle", "a -> a:b"),
    hostile(
        "a hundred thousand references in a row",
        |base| chain(base, "${p#}", 100_000),
        "evaluation-limit",
        "depth",
    ),
    hostile("references in references", in_references, "reference-syntax", ""),
    hostile(
        "classes that references bring in",
        |base| classes(base, 3_000),
        "evaluation-limit",
        "depth of class includes",
    ),
    hostile(
        "classes that references name on every level",
        |base| classes(base, 1_990),
        "class-reference",
        "x${n}",
    ),
    hostile("classes in a row that references bring in", |base| named_classes(base, 5_000), "ok", ""),
    hostile("four hundred classes, each of which lists all after it", classes_of_all, "ok", ""),
    hostile("eleven thousand classes", many_classes, "evaluation-limit", "number of classes"),
    with(
        "{class_mappings: ['/^(a|aa)+$(?<!x)/ c']}",
        hostile("a mapping that goes back without end", backtracking, "setting-pattern", "backtracking"),
    ),
    with(
        "{ignore_class_notfound: true, ignore_class_notfound_regexp: '(a|aa)+$(?<!x)'}",
        hostile(
            "a pattern of missing classes that goes back without end",
            missing_class,
            "setting-pattern",
            "backtracking",
        ),
    ),
    with(
        "{strict_constant_parameters: false}",
        hostile("a constant that 2,000 classes set", |base| in_each_class(base, 2_000, &["=x"]), "ok", ""),
    ),
    with(
        "{strict_constant_parameters: false}",
        hostile(
            "lists of 3,000 classes, with all prefixes",
            |base| in_each_class(base, 3_000, &["x", "~y", "z", "=v", "w", "u", "~t", "s", "=r", "q"]),
            "ok",
            "",
        ),
    ),
    hostile("lists that 9,000 classes extend", |base| in_each_class(base, 9_000, &["x", "y", "z"]), "ok", ""),
    hostile("defaults nested 150 deep, in 600 parameters", nested_defaults, "ok", ""),
    with(
        "{ignore_class_notfound: true}",
        hostile("100,000 classes that are missing and may be", missing_classes, "ok", ""),
    ),
    hostile("a pipe as a class", pipe, "file-unreadable", "not a regular file"),
    hostile(
        "a device as a class",
        |base| symlink("/dev/zero", base.join("classes/c.yml")).unwrap(),
        "file-unreadable",
        "not a regular file",
    ),
    hostile(
        "a terminal as a class",
        |base| symlink("/dev/tty", base.join("classes/c.yml")).unwrap(),
        "file-unreadable",
        "not a regular file",
    ),
    hostile(
        "a socket as a class",
        |base| drop(UnixListener::bind(base.join("classes/c.yml")).unwrap()),
        "file-unreadable",
        "not a regular file (file-unreadable); put a regular file in its place",
    ),
    hostile(
        "a file of /proc as a class",
        |base| symlink("/proc/sys/kernel/ostype", base.join("classes/c.yml")).unwrap(),
        "file-unreadable",
        "its size is not that of its content (file-unreadable); put a regular file in its place",
    ),
    hostile(
        "a file of /sys as a class",
        |base| symlink("/sys/kernel/uevent_seqnum", base.join("classes/c.yml")).unwrap(),
        "file-unreadable",
        "its size is not that of its content",
    ),
    hostile(
        "a folder as a class",
        |base| fs::create_dir(base.join("classes/c.yml")).unwrap(),
        "class-not-found",
        "",
    ),
    hostile(
        "a link to itself as a class",
        |base| symlink("c.yml", base.join("classes/c.yml")).unwrap(),
        "file-unreadable",
        "",
    ),
    hostile(
        "a link to nothing as a class",
        |base| symlink("gone", base.join("classes/c.yml")).unwrap(),
        "file-unreadable",
        "does not exist",
    ),
    hostile(
        "a folder that links to itself",
        |base| symlink(".", base.join("classes/x")).unwrap(),
        "class-not-found",
        "",
    ),
    hostile("folders that link to one another", linked_folders, "class-not-found", ""),
    hostile("three hundred folders in one another", deep_folders, "yaml-limit", "depth of folders"),
    hostile("a class whose name is not UTF-8", odd_name, "class-not-found", ""),
    hostile(
        "a class that is not UTF-8",
        |base| fs::write(base.join("classes/c.yml"), b"a: \xff\n").unwrap(),
        "yaml-syntax",
        "",
    ),
    hostile(
        "a class of zero bytes",
        |base| fs::write(base.join("classes/c.yml"), [0; 100_000]).unwrap(),
        "yaml-syntax",
        "",
    ),
];

/// The node `n` with these parameters, and the class `c` that it has where it exists.
fn parameters(base: &Path, text: &str) {
    write(&base.join("nodes/n.yml"), &format!("parameters:\n{text}"));
}

fn class(base: &Path, text: &str) {
    write(&base.join("classes/c.yml"), text);
}

fn many_secrets(base: &Path) {
    let one = |number: u32| format!("  password{number}: sec{number:05}\n  text{number}: text{number:05}\n");
    parameters(base, &(0..40_000).map(one).collect::<String>());
}

fn many_queries(base: &Path) {
    let exports: String = (0..300).map(|number| format!("e{number}: {number}, ")).collect();
    for node in 0..100 {
        write(&base.join(format!("nodes/x{node}.yml")), &format!("exports: {{{exports}}}\n"));
    }
    let queries = (0..300).map(|number| format!("  q{number}: $[ exports:e{number} ]\n"));
    parameters(base, &queries.collect::<String>());
}

/// Each level has twice as many values as the one above it.
fn own_inside(base: &Path) {
    write(&base.join("classes/d.yml"), "parameters: {a: {b: '${x}', c: 1}}\n");
    class(base, "classes: [d]\nparameters: {a: {b: '${x}'}, x: '${a}', z: '${a:b:b:b:b:b:b:b:b:b:c}'}\n");
}

/// `p0` to `p{count}`, each made from the number of the next.
fn chain(base: &Path, each: &str, count: usize) {
    let mut out = String::new();
    for number in 0..count {
        writeln!(out, "  p{number}: {}", each.replace('#', &(number + 1).to_string())).unwrap();
    }
    parameters(base, &format!("{out}  p{count}: end\n"));
}

fn levels(each: impl Fn(usize) -> String) -> String {
    (1..20).map(|level| format!("- &a{level} {}\n", each(level - 1))).collect()
}

fn aliases(base: &Path) {
    let tens = levels(|below| format!("[{}]", vec![format!("*a{below}"); 10].join(", ")));
    class(base, &format!("- &a0 x\n{tens}"));
}

fn merge_keys(base: &Path) {
    let tens = levels(|below| format!("{{<<: [{}]}}", vec![format!("*a{below}"); 10].join(", ")));
    class(base, &format!("- &a0 {{x: y}}\n{tens}"));
}

fn long_aliases(base: &Path) {
    class(base, &format!("- &a {}\n{}", "x".repeat(1_000_000), "- *a\n".repeat(100_000)));
}

fn brackets(base: &Path) {
    class(base, &"[".repeat(1_000_000));
}

fn lists(base: &Path) {
    class(base, &"- ".repeat(1_000_000));
}

fn text(base: &Path, size: usize) {
    class(base, &format!("parameters: {{a: '{}'}}\n", "x".repeat(size << 20)));
}

fn items(base: &Path) {
    class(base, &"- a\n".repeat(4_000_000));
}

fn digits(base: &Path) {
    class(base, &"1".repeat(1_000_000));
}

fn large_list(base: &Path) {
    let many = |item: &str, count: usize| vec![item; count].join(", ");
    let (plain, all) = (many("x", 100_000), many("'${a}'", 1_000));
    parameters(base, &format!("  a: [{plain}]\n  b: [{all}]\n  c: [{}]\n", all.replace('a', "b")));
}

fn long_text(base: &Path) {
    let all = vec!["'${a}'"; 1_000].join(", ");
    let long = "x".repeat(1_000_000);
    parameters(
        base,
        &format!("  a: {long}\n  b: [{all}]\n  c: 'all ${{b}}'\n  d: [{}]\n", all.replace('a', "b")),
    );
}

fn in_references(base: &Path) {
    parameters(base, &format!("  a: '{}x{}'\n", "${".repeat(100_000), "}".repeat(100_000)));
}

/// Each class says the number of the next, which its name has.
fn classes(base: &Path, count: usize) {
    for number in 0..count {
        let next = number + 1;
        let text = format!("classes: ['k{next}', 'x${{n}}']\nparameters: {{n: {next}}}\n");
        write(&base.join(format!("classes/k{number}.yml")), &text);
    }
    write(&base.join(format!("classes/k{count}.yml")), "{}\n");
    class(base, "classes: [k0]\n");
}

/// Each class says the number of the next, which the name of the one that brings it in has.
fn named_classes(base: &Path, count: usize) {
    for number in 0..count {
        write(
            &base.join(format!("classes/k{number}.yml")),
            &format!("parameters: {{n{number}: {}}}\n", number + 1),
        );
    }
    let all: String = (0..count - 1).map(|number| format!("'k${{n{number}}}', ")).collect();
    class(base, &format!("classes: [k0, {all}]\n"));
}

/// 80,000 entries of lists, to which chains of up to 400 links lead.
fn classes_of_all(base: &Path) {
    let count = 400;
    for number in 0..count {
        let names: String = (number + 1..count).map(|number| format!("k{number}, ")).collect();
        write(&base.join(format!("classes/k{number}.yml")), &format!("classes: [{names}]\n"));
    }
    class(base, "classes: [k0]\n");
}

fn many_classes(base: &Path) {
    let count = 11_000;
    for number in 0..count {
        write(&base.join(format!("classes/k{number}.yml")), "{}\n");
    }
    class(
        base,
        &format!("classes: [{}]\n", (0..count).map(|number| format!("k{number}, ")).collect::<String>()),
    );
}

fn backtracking(base: &Path) {
    fs::rename(base.join("nodes/n.yml"), base.join(format!("nodes/{}b.yml", "a".repeat(60)))).unwrap();
}

fn missing_class(base: &Path) {
    write(&base.join("nodes/n.yml"), &format!("classes: [{}b]\n", "a".repeat(60)));
}

fn pipe(base: &Path) {
    let made = Command::new("mkfifo").arg(base.join("classes/c.yml")).status().unwrap();
    assert!(made.success());
}

/// Twelve folders, each with links to all others: half a billion ways through them.
fn linked_folders(base: &Path) {
    for one in 0..12 {
        let folder = base.join(format!("classes/f{one}"));
        fs::create_dir(&folder).unwrap();
        for other in 0..12 {
            symlink(format!("../f{other}"), folder.join(format!("g{other}"))).unwrap();
        }
    }
}

fn deep_folders(base: &Path) {
    fs::create_dir_all(base.join("classes").join("d/".repeat(300))).unwrap();
}

fn odd_name(base: &Path) {
    let name = std::ffi::OsStr::from_bytes(b"\xffc.yml");
    fs::write(base.join("classes").join(name), "{}\n").unwrap();
}

/// A node that exports a value that doubles with each parameter, and may contain itself.
fn export(base: &Path, each: &str, query: &str) {
    let mut out = String::from("exports: {a: '${p0}'}\nparameters:\n");
    for number in 0..60 {
        writeln!(out, "  p{number}: {}", each.replace('#', &(number + 1).to_string())).unwrap();
    }
    write(&base.join("nodes/z.yml"), &(out + "  p60: end\n"));
    parameters(base, &format!("  q: $[ {query} ]\n"));
}

fn doubled_export(base: &Path) {
    export(base, "['${p#}', '${p#}']", "exports:a");
}

fn circular_export(base: &Path) {
    export(base, "['${p#}', '${p#}', '${p0}']", "+IgnoreErrors exports:a");
}

fn repeated_list(base: &Path) {
    let items = vec!["x"; 1000].join(", ");
    let mut names = String::new();
    for number in 0..200 {
        let class = format!("parameters: {{l: [{items}], ref: '${{l}}'}}\n");
        write(&base.join(format!("classes/c{number}.yml")), &class);
        write!(names, "c{number}, ").unwrap();
    }
    write(&base.join("nodes/n.yml"), &format!("classes: [{names}]\n"));
}

fn missing_references(base: &Path) {
    let lines = (0..4000).map(|number| format!("  k{number}: ${{missing{number}}}\n"));
    parameters(base, &lines.collect::<String>());
}

fn similar_references(base: &Path) {
    let lines = (0..20_000).map(|number| format!("  k{number:06}: ${{name{number}}}\n"));
    parameters(base, &lines.collect::<String>());
}

fn gone_references(base: &Path) {
    let lines = (0..200_000).map(|number| format!("  - ${{gone{number}}}\n"));
    parameters(base, &format!("  p:\n{}", lines.collect::<String>()));
}

fn broken_references(base: &Path) {
    class(base, &format!("parameters:\n  p:\n{}", "  - '${'\n".repeat(100_000)));
}

fn embedded_queries(base: &Path) {
    class(base, &format!("parameters:\n  p:\n{}", "  - 'a $[ exports:a ]'\n".repeat(100_000)));
}

fn unknown_sections(base: &Path) {
    class(base, &(0..100_000).map(|number| format!("k{number}: 1\n")).collect::<String>());
}

fn below_long_key(base: &Path) {
    let items = (0..2_000).map(|number| format!("    - ${{gone{number}}}\n")).collect::<String>();
    parameters(base, &format!("  ? {}\n  :\n{items}", "x".repeat(20_000)));
}

fn one_text(base: &Path) {
    parameters(base, &format!("  a: '{}'\n", "${x}".repeat(1_000_000)));
}

fn nested_references(base: &Path) {
    let nested = format!("{}x{}", "${".repeat(190), "}".repeat(190));
    parameters(base, &format!("  x: x\n  a: '${{gone}} {}'\n", nested.repeat(500)));
}

/// A place for which 900 layers have a reference to nothing, and as many what is `behind` them.
fn layers(base: &Path, behind: &str) {
    let mut names = Vec::new();
    for number in 0..1_800 {
        let value = match number {
            0..900 => format!("'${{gone{number}}}'"),
            _ => behind.replace('#', &number.to_string()),
        };
        write(&base.join(format!("classes/l{number}.yml")), &format!("parameters: {{x: y, a: {value}}}\n"));
        names.push(format!("l{number}"));
    }
    class(base, &format!("classes: [{}]\n", names.join(", ")));
}

/// As long as a file lets a text be, and half.
fn long() -> String {
    "x".repeat(8_000_000)
}

fn long_reference(base: &Path, key: &str) {
    parameters(base, &format!("  {key}: ${{{}}}\n", long()));
}

fn long_key(base: &Path) {
    parameters(base, &format!("  ? {}\n  : ${{gone}}\n", long()));
}

fn long_class(base: &Path) {
    write(&base.join("nodes/n.yml"), &format!("classes:\n- {}\n", long()));
}

fn long_query(base: &Path) {
    parameters(base, &format!("  p: $[ {} == ]\n", long()));
}

fn keys_twice(base: &Path) {
    let lines = (0..200_000).map(|number| format!("  k{}: 1\n", number % 100_000));
    parameters(base, &lines.collect::<String>());
}

fn colons(base: &Path) {
    parameters(base, &format!("  a: ${{{}k}}\n", "k:".repeat(80_000)));
}

fn applications(base: &Path) {
    let names = (0..60_000).map(|number| format!("- a{number}\n"));
    write(&base.join("nodes/n.yml"), &format!("applications:\n{}", names.collect::<String>()));
}

fn undone_applications(base: &Path) {
    let names = (0..100_000).map(|number| format!("- a{number}\n- ~a{number}\n"));
    write(&base.join("nodes/n.yml"), &format!("applications:\n{}", names.collect::<String>()));
}

/// Each class has a list of one item for each of these keys, below one.
fn in_each_class(base: &Path, count: usize, keys: &[&str]) {
    let mut names = String::new();
    for number in 0..count {
        let lists: String = keys.iter().map(|key| format!("    {key}: [{number}]\n")).collect();
        write(&base.join(format!("classes/k{number}.yml")), &format!("parameters:\n  a:\n{lists}"));
        write!(names, "k{number}, ").unwrap();
    }
    class(base, &format!("classes: [{names}]\n"));
}

fn nested_defaults(base: &Path) {
    let nested = (0..150).fold("x".to_owned(), |inner, number| format!("${{a{number}::{inner}}}"));
    parameters(base, &(0..600).map(|number| format!("  p{number}: '{nested}'\n")).collect::<String>());
}

fn missing_classes(base: &Path) {
    let names: String = (0..100_000).map(|number| format!("missing{number}, ")).collect();
    write(&base.join("nodes/n.yml"), &format!("classes: [{names}]\n"));
}

fn handles(base: &Path) {
    let handles = (0..80_000).map(|number| format!("%TAG !t{number}! tag:t{number}\n"));
    write(&base.join("nodes/n.yml"), &format!("{}---\nparameters: {{a: 1}}\n", handles.collect::<String>()));
}

/// What a child does: asks for the node of one hostile inventory, and says what it took.
#[test]
#[ignore = "run by others in a process of its own"]
fn ask_one() {
    let number: usize = std::env::var("LIMITS_NUMBER").unwrap().parse().unwrap();
    let hostile = &ALL[number];
    let folder = tempfile::tempdir().unwrap();
    let mut options = inventory(folder.path());
    set(&mut options, hostile.settings);
    write(&folder.path().join("nodes/n.yml"), "classes: [c]\n");
    write(&folder.path().join("nodes/other.yml"), "parameters: {a: 1}\n");
    (hostile.make)(folder.path());
    // What making the files took does not count.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory();
    let begin = processor_seconds();
    let kept = Inventory::open(&options).unwrap();
    let asked = kept.nodes().and_then(|nodes| {
        let asked = nodes.iter().find(|name| name.as_str() != "other").unwrap().clone();
        kept.nodeinfo(&asked, &Request::default())
    });
    let (code, said) = match &asked {
        Ok(info) => {
            // The command line shows each, with the file read once.
            let text = std::cell::OnceCell::new();
            let redaction = Redaction::of(kept.settings());
            let read =
                |path: &str| text.get_or_init(|| kept.text(path).map(|text| redaction.source(&text))).clone();
            let shown = |warning| reclass::report::full_warning(warning, false, &read);
            assert!(info.warnings.iter().map(shown).all(|text| !text.is_empty()));
            assert!(info.warnings.len() <= MOST_PROBLEMS, "{}", info.warnings.len());
            ("ok", String::new())
        }
        Err(error) => {
            // What Salt's log has of it counts, too.
            let redaction = Redaction::of(kept.settings());
            let read = |path: &str| kept.text(path).map(|text| redaction.source(&text));
            let full = reclass::report::full(error, false, &read);
            assert!(!full.is_empty());
            let longest = full.lines().chain(error.to_string().lines()).map(str::len).max();
            assert!(longest < Some(MOST_LINE), "{longest:?}");
            assert!(error.faults().len() <= MOST_PROBLEMS, "{}", error.faults().len());
            (error.first().code(), error.to_string())
        }
    };
    let seconds = processor_seconds() - begin;
    let placed = asked
        .as_ref()
        .map_or_else(|error| error.first().site.as_ref().is_some_and(|site| site.line > 0), |_| true);
    // Where all names are known, another node is answered.
    let other = kept.nodes().is_err() || kept.nodeinfo("other", &Request::default()).is_ok();
    let said: String = said.chars().take(300).collect();
    println!("\nASKED\t{code}\t{placed}\t{other}\t{seconds:.2}\t{}\t{said}", memory() - before);
}

/// What another child does: asks all else of one hostile inventory.
#[test]
#[ignore = "run by others in a process of its own"]
fn ask_all() {
    let number: usize = std::env::var("LIMITS_NUMBER").unwrap().parse().unwrap();
    let (folder, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    inventory(empty.path());
    write(&empty.path().join("nodes/n.yml"), "{}\n");
    let mut options = inventory(folder.path());
    set(&mut options, ALL[number].settings);
    write(&folder.path().join("nodes/n.yml"), "classes: [c]\n");
    (ALL[number].make)(folder.path());
    let options = crate::questions::alone(&options);
    let names = Inventory::open(&options).and_then(|inventory| inventory.nodes());
    let node = names.map_or_else(|_| "n".to_owned(), |names| names[0].to_string());
    for (what, ask) in crate::questions::QUESTIONS {
        fs::write("/proc/self/clear_refs", "5").unwrap();
        let (before, begin) = (memory(), processor_seconds());
        let asked = ask(&options, empty.path(), &node);
        let seconds = processor_seconds() - begin;
        let code = asked.as_ref().map_or_else(|error| error.first().code(), |_| "ok");
        println!("\nASKED\t{what}\t{code}\t{seconds:.2}\t{}", memory().saturating_sub(before));
    }
}

/// The largest memory of this process so far, in MiB.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// This test in a process of its own, which is ended when it hangs.
fn child() -> Command {
    let mut child = Command::new("timeout");
    child.arg(HANGS).arg(std::env::current_exe().unwrap());
    child
}

#[test]
fn hostile_inventories_are_refused_soon_and_in_little_memory() {
    let _busy = crate::busy();
    let mut wrong = Vec::new();
    // In the short form, every other one.
    for (number, hostile) in ALL.iter().enumerate().step_by(if support::is_long() { 1 } else { 2 }) {
        let output = child()
            .args(["hostile::ask_one", "--exact", "--nocapture", "--include-ignored"])
            .env("LIMITS_NUMBER", number.to_string())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&output.stdout).into_owned();
        let Some(asked) = output.lines().find_map(|line| line.strip_prefix("ASKED\t")) else {
            wrong.push(format!("{}: no answer: {output}", hostile.name));
            continue;
        };
        let words: Vec<&str> = asked.splitn(6, '\t').collect();
        let (seconds, memory): (f64, u64) = (words[3].parse().unwrap(), words[4].parse().unwrap());
        println!("{}: {} in {seconds} s, {memory} MiB: {}", hostile.name, words[0], words[5]);
        // What a setting, a whole file or a whole tree is refused for has no line.
        let whole = ["the size of", "files and folders", "depth of folders"]
            .iter()
            .any(|what| words[5].contains(what));
        let placed = words[1] == "true" || whole || matches!(words[0], "setting-pattern" | "file-unreadable");
        let bounded = seconds < MOST_SECONDS && memory < MOST_MEMORY;
        if words[0] != hostile.code
            || !words[5].contains(hostile.says)
            || !placed
            || !bounded
            || words[2] != "true"
        {
            wrong
                .push(format!("{}: expected {} '{}', got {asked}", hostile.name, hostile.code, hostile.says));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Does something with all hostile inventories, two at a time.
fn two_at_once(work: &(dyn Fn(usize, &Hostile) + Sync)) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(hostile) = ALL.get(number) else { break };
                    work(number, hostile);
                }
            });
        }
    });
}

#[test]
fn each_question_about_a_hostile_inventory_is_bounded() {
    let _busy = crate::busy();
    if !support::is_long() {
        println!("skipped: make test-long runs it");
        return;
    }
    let wrong = std::sync::Mutex::new(Vec::new());
    two_at_once(&|number, hostile| wrong.lock().unwrap().extend(asked_beyond_bounds(number, hostile)));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The questions about a hostile inventory that do not end within bounds.
fn asked_beyond_bounds(number: usize, hostile: &Hostile) -> Vec<String> {
    let output = child()
        .args(["hostile::ask_all", "--exact", "--nocapture", "--include-ignored"])
        .env("LIMITS_NUMBER", number.to_string())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    let asked: Vec<&str> = output.lines().filter_map(|line| line.strip_prefix("ASKED\t")).collect();
    let mut wrong = Vec::new();
    if asked.len() != crate::questions::QUESTIONS.len() {
        wrong.push(format!("{}: no answer after {asked:?}: {}", hostile.name, output.len()));
    }
    for line in asked {
        let words: Vec<&str> = line.split('\t').collect();
        let (seconds, memory): (f64, u64) = (words[2].parse().unwrap(), words[3].parse().unwrap());
        println!("{}: {}: {} in {seconds} s, {memory} MiB", hostile.name, words[0], words[1]);
        if seconds >= MOST_SECONDS || memory >= MOST_MEMORY_ASKED || words[1] == "internal" {
            wrong.push(format!("{}: {line}", hostile.name));
        }
    }
    wrong
}

#[test]
fn no_real_inventory_comes_near_a_limit() {
    let _busy = crate::busy();
    let mut nodes = 0;
    for case in corpus::load().iter().filter(|case| case.id.starts_with("real/")) {
        let mut options = Map::default();
        set(&mut options, &serde_json::to_string(&case.settings).unwrap());
        let base = case.inventory.to_str().unwrap();
        options.insert("inventory_base_uri".into(), Value::text(base));
        let whole = Inventory::open(&options).unwrap();
        for row in TABLE.iter().filter(|row| row.name.starts_with("limit_")) {
            let half = row.default.parse::<i64>().unwrap() / 2;
            options.insert(row.name.into(), Value::Int(half));
        }
        let halved = Inventory::open(&options).unwrap();
        for node in whole.nodes().unwrap_or_default() {
            let [one, other] = [&whole, &halved].map(|inventory| {
                let answer = inventory.nodeinfo(&node, &Request::default());
                answer.map(|info| info.parameters.clone()).map_err(|error| error.to_string())
            });
            assert_eq!(one, other, "{} {node}", case.id);
            nodes += 1;
        }
        assert_eq!(whole.nodes().is_ok(), halved.nodes().is_ok(), "{}", case.id);
    }
    println!("{nodes} nodes within half of each limit");
    assert!(nodes > 100);
}

#[test]
fn long_chains_and_deep_values_within_the_limits_are_answered() {
    let _busy = crate::busy();
    let ask = |make: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        let options = inventory(folder.path());
        make(folder.path());
        Inventory::open(&options).unwrap().nodeinfo("n", &Request::default()).map(|_| ()).unwrap();
    };
    ask(&|base| chain(base, "${p#}", 5_000));
    ask(&|base| chain(base, "['${p#}']", 300));
}
