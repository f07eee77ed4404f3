//! Work grows with the size of a file, not with its square: each long scalar and each lint rule is measured
//! with a file and with one of twice the size.

use support::folders;

use std::fs;
use std::path::Path;

use folders::{inventory, processor_seconds, set, write};
use reclass::json::dumps;
use reclass::redact::Redaction;
use reclass::report::{Finding, full, full_findings, full_warning};
use reclass::value::{Map, Value};
use reclass::{Inventory, Request};
use reclass_analysis::lint::{RULES, lint};
use reclass_yaml::emit::{EmitOptions, emit};

/// How much longer the larger file may take. Twice is linear, four times quadratic.
const MOST_RATIO: f64 = 3.0;

/// Seconds of processor time that are not looked at: the clock has hundredths, and other work is in them.
const NOISE: f64 = 0.1;

/// Rules about settings, schemas, the name of a file, or etcd, which are not measured here.
const NOT_IN_FILES: [&str; 10] = [
    "class-mapping-unused",
    "configuration-unread",
    "etcd-orphan",
    "odd-name",
    "schema",
    "schema-deprecated",
    "schema-keyword",
    "schema-unused",
    "setting-odd",
    "unknown-setting",
];

/// The text of the node `n` of a size in bytes.
type Scalar = (&'static str, fn(usize) -> String);

fn value(text: &str) -> String {
    format!("parameters:\n  p: {text}\n")
}

/// A quoted text that repeats a part.
fn quoted(part: &str, size: usize) -> String {
    value(&format!("'{}'", part.repeat(size / part.len())))
}

const SCALARS: &[Scalar] = &[
    ("integer of base 60", |size| value(&format!("1{}", ":59".repeat(size / 3)))),
    ("float of base 60", |size| value(&format!("1{}.5", ":59".repeat(size / 3)))),
    ("integer of base 60 in braces", |size| format!("parameters: {{a: 1{}}}\n", ":59".repeat(size / 3))),
    ("float of base 60 in braces", |size| format!("parameters: {{a: 1{}.5}}\n", ":59".repeat(size / 3))),
    ("key of base 60", |size| format!("parameters:\n  ? 1{}\n  : 1\n", ":59".repeat(size / 3))),
    ("tagged integer of base 60", |size| value(&format!("!!int '1{}'", ":5".repeat(size / 2)))),
    ("tagged float of base 60", |size| value(&format!("!!float '0{}.5'", ":0".repeat(size / 2)))),
    ("almost of base 60", |size| value(&format!("1{}x", ":59".repeat(size / 3)))),
    ("decimal", |size| value(&"1".repeat(size))),
    ("hexadecimal", |size| value(&format!("0x{}", "f".repeat(size)))),
    ("binary digits", |size| value(&format!("0b{}", "1".repeat(size)))),
    ("octal", |size| value(&format!("0{}", "7".repeat(size)))),
    ("zeros", |size| value(&"0".repeat(size))),
    ("hexadecimal zeros", |size| value(&format!("0x{}1", "0".repeat(size)))),
    ("underscores", |size| value(&format!("1{}", "_".repeat(size)))),
    ("float", |size| value(&format!("1.{}", "3".repeat(size)))),
    ("float with an exponent", |size| {
        value(&format!("1.{}e+{}", "3".repeat(size / 2), "9".repeat(size / 2)))
    }),
    ("digits of other scripts", |size| value(&format!("!!int '{}'", "٣".repeat(size / 2)))),
    ("timestamp", |size| value(&format!("2001-12-14 21:59:43.{}", "1".repeat(size)))),
    ("timestamp with blanks", |size| value(&format!("2001-12-14{}21:59:43", " ".repeat(size)))),
    ("binary", |size| value(&format!("!!binary {}", "QUJD".repeat(size / 4)))),
    ("plain lines", |size| value(&"word\n    ".repeat(size / 9))),
    ("blank lines", |size| value(&format!("a{}    b", "\n".repeat(size)))),
    ("single quotes", |size| quoted("''", size)),
    ("escapes", |size| value(&format!("\"{}\"", "\\n".repeat(size / 2)))),
    ("folded lines between quotes", |size| value(&format!("\"{}\"", "a\n    ".repeat(size / 6)))),
    ("joined lines", |size| value(&format!("\"{}\"", "a\\\n    ".repeat(size / 7)))),
    ("literal", |size| value(&format!("|\n{}", "    a: '\n".repeat(size / 9)))),
    ("folded", |size| value(&format!(">\n{}", "    a\n\n     b\n".repeat(size / 14)))),
    ("long line", |size| value(&format!(">\n    {}", "a ".repeat(size / 2)))),
    ("other characters", |size| quoted("é\u{2028}", size)),
    ("comment", |size| value(&format!("1 {}", "#".repeat(size)))),
    ("tag", |size| value(&format!("!<tag:{}> x", "a".repeat(size)))),
    ("anchor", |size| format!("parameters: {{a: &{0} 1, b: *{0} }}\n", "a".repeat(size / 2))),
    // A text may have 100,000 references.
    ("references", |size| quoted("${x}", size / 6)),
    ("references with text", |size| quoted("a ${x} b", size)),
    ("open references", |size| quoted("${", size)),
    ("open references with text", |size| quoted("${a ", size)),
    ("closed references", |size| quoted("}", size)),
    ("escaped references", |size| quoted("\\${a}", size / 4)),
    ("escaped references in a reference", |size| value(&format!("'${{{}}}'", "\\${a\\}".repeat(size / 24)))),
    ("escaped queries", |size| quoted("\\$[ a ]", size)),
    ("backslashes", |size| quoted("\\", size)),
    ("backslashes before a reference", |size| value(&format!("'{}${{x}}'", "\\".repeat(size)))),
    ("long path", |size| value(&format!("${{{}k}}", "k:".repeat(size / 2)))),
    ("escaped delimiters", |size| value(&format!("'${{{}k}}'", "k\\:".repeat(size / 3)))),
    ("defaults", |size| value(&format!("'${{a{}}}'", "::b".repeat(size / 3)))),
    ("open queries", |size| quoted("$[ ", size)),
    ("query", |size| {
        value(&format!("$[ exports:a if exports:a == b{} ]", " and exports:a == b".repeat(size / 19)))
    }),
    ("options of a query", |size| value(&format!("$[ {} exports:a ]", "+AllEnvs ".repeat(size / 9)))),
    ("almost a query", |size| value(&format!("$[ exports:a if {} ]", "x == y and ".repeat(size / 11)))),
    ("digits in a query", |size| value(&format!("$[ exports:a if exports:a == {} ]", "1".repeat(size)))),
    ("long key", |size| format!("parameters:\n  ? {}\n  : ${{gone}}\n", "k".repeat(size))),
    ("prefixes", |size| format!("parameters:\n  ? '{}'\n  : 1\n", "~=".repeat(size / 2))),
    ("key of delimiters", |size| format!("parameters:\n  ? '{}'\n  : ${{gone}}\n", ":".repeat(size))),
    ("keys that are similar", |size| {
        let long = "k".repeat(size / 2);
        format!("parameters:\n  ? {long}a\n  : 1\n  p: '${{{long}b}}'\n")
    }),
    ("secret key", |size| {
        format!("parameters:\n  ? '{}'\n  : {{a: Hunter22, p: '${{gone}}'}}\n", "pass-api_".repeat(size / 9))
    }),
    ("class of dots", |size| format!("classes: ['{}']\n", ".".repeat(size))),
    ("long class", |size| format!("classes: ['{}b']\n", "a.".repeat(size / 2))),
    ("class with references", |size| {
        format!("classes: ['{}']\nparameters: {{x: a}}\n", "a${x}".repeat(size / 30))
    }),
    ("open brackets in a pattern of classes", |size| format!("classes: ['{}']\n", "[".repeat(size))),
    ("stars in a pattern of classes", |size| format!("classes: ['{}x']\n", "*c".repeat(size / 2))),
    ("application", |size| format!("applications: ['{}']\n", "~".repeat(size))),
    ("environment", |size| format!("environment: '{}'\n", "e".repeat(size))),
    ("pattern of a merge option", |size| {
        format!("merge_options: {{? '{}' : unique}}\nparameters: {{l: [1]}}\n", "**:".repeat(size / 3))
    }),
    ("unknown section", |size| format!("? '{}'\n: 1\n", "section".repeat(size / 7))),
];

/// Many entries that a lint rule looks at: its code, the settings, and what writes the files.
#[derive(Clone, Copy)]
struct Many {
    rule: &'static str,
    settings: &'static str,
    make: fn(&Path, usize),
    count: usize,
}

const fn many(rule: &'static str, make: fn(&Path, usize)) -> Many {
    Many { rule, settings: "{}", make, count: 20_000 }
}

const fn with(settings: &'static str, many: Many) -> Many {
    Many { settings, ..many }
}

/// A rule about whole files.
const fn files(many: Many) -> Many {
    Many { count: 1_500, ..many }
}

/// The lines of a text, one for each number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|number| line(number) + "\n").collect()
}

/// The parameters of the node and of its class `c`.
fn parameters(base: &Path, node: &str, class: &str) {
    write(&base.join("nodes/n.yml"), &format!("classes: [c]\nparameters:\n  x: 1\n{node}"));
    write(&base.join("classes/c.yml"), &format!("parameters:\n  y: 1\n{class}"));
}

fn node(base: &Path, count: usize, line: impl Fn(usize) -> String) {
    parameters(base, &lines(count, line), "");
}

fn list(base: &Path, section: &str, count: usize, entry: impl Fn(usize) -> String) {
    let entries = lines(count, |number| format!("- {}", entry(number)));
    write(&base.join("nodes/n.yml"), &format!("parameters: {{x: 1}}\n{section}:\n{entries}"));
}

const RULED: &str = "{merge_options: true}";

const MANY: &[Many] = &[
    many("duplicate-key", |base, count| node(base, count, |number| format!("  k{}: 1", number / 2))),
    files(many("file-empty", |base, count| {
        (0..count).for_each(|number| write(&base.join(format!("classes/e{number}.yml")), ""));
        list(base, "classes", count, |number| format!("e{number}"));
    })),
    many("unknown-section", |base, count| {
        write(&base.join("nodes/n.yml"), &lines(count, |number| format!("section{number}: 1")));
    }),
    with(
        "{ignore_class_notfound: true}",
        many("class-skipped", |base, count| list(base, "classes", count, |number| format!("gone{number}"))),
    ),
    many("overwritten-reference", |base, count| {
        let missing = lines(count, |number| format!("  k{number}: '${{gone{number}}}'"));
        parameters(base, &lines(count, |number| format!("  k{number}: 1")), &missing);
    }),
    many("listed-twice", |base, count| {
        write(&base.join("classes/c.yml"), "{}\n");
        list(base, "classes", count, |_| "c".to_owned());
    }),
    many("listed-twice", |base, count| {
        list(base, "applications", count, |number| format!("a{}", number / 2));
    }),
    many("removal-without-effect", |base, count| {
        list(base, "applications", count, |number| format!("~a{number}"));
    }),
    with(
        RULED,
        many("removal-without-effect", |base, count| {
            let items =
                lines(count, |number| format!("  - {}i{number}", if number % 2 == 0 { "" } else { "~" }));
            let option = "merge_options: {p: {remove: true}}\n";
            write(&base.join("nodes/n.yml"), &format!("{option}parameters:\n  p:\n{items}"));
        }),
    ),
    with(
        RULED,
        many("removal-without-effect", |base, count| {
            let items = lines(count / 2, |number| format!("  - {{name: ~i{number}}}"));
            write(
                &base.join("classes/c.yml"),
                &format!(
                    "merge_options: {{p: {{by: name, remove: true}}}}\nparameters:\n  p:\n{}",
                    lines(count, |number| format!("  - {{name: j{number}}}"))
                ),
            );
            write(&base.join("nodes/n.yml"), &format!("classes: [c]\nparameters:\n  p:\n{items}"));
        }),
    ),
    with(
        "{propagate_pillar_data_to_reclass: true, ignore_class_notfound: true}",
        many("class-from-pillar", |base, count| {
            list(base, "classes", count / 4, |number| format!("'gone{number}${{x}}'"));
        }),
    ),
    Many {
        rule: "merge-option-unused",
        settings: RULED,
        // A file may have 200 patterns.
        count: 100,
        make: |base, count| {
            let options = lines(count, |number| format!("  k{number}: unique"));
            write(&base.join("nodes/n.yml"), &format!("merge_options:\n{options}parameters: {{x: 1}}\n"));
        },
    },
    Many {
        rule: "merge-option-conflict",
        settings: RULED,
        // A file may have 200 patterns with wildcards.
        count: 100,
        make: |base, count| {
            let options = |first: &str| lines(count, |number| format!("  '{first}{number}': unique"));
            let lists = lines(count, |number| format!("  k{number}: [1]"));
            let class = options("k").replace("unique", "replace");
            write(&base.join("classes/c.yml"), &format!("merge_options:\n{class}"));
            write(
                &base.join("nodes/n.yml"),
                &format!("classes: [c]\nmerge_options:\n{}parameters:\n{lists}", options("[k]")),
            );
        },
    },
    with(
        "{class_wildcards: true}",
        many("wildcard-order", |base, count| {
            for (name, set) in [("a", 1), ("b", 2)] {
                let lines = lines(count, |number| format!("  k{number}: {set}"));
                write(&base.join(format!("classes/w/{name}.yml")), &format!("parameters:\n{lines}"));
            }
            write(&base.join("nodes/n.yml"), "classes: ['w.*']\n");
        }),
    ),
    many("override-without-effect", |base, count| node(base, count, |number| format!("  ~k{number}: 1"))),
    with(
        "{strict_constant_parameters: false}",
        many("constant-held", |base, count| {
            let constants = lines(count, |number| format!("  =k{number}: 2"));
            parameters(base, &lines(count, |number| format!("  k{number}: 1")), &constants);
        }),
    ),
    many("parameter-never-set", |base, count| {
        let set = lines(count, |number| format!("    key{number}x: 1"));
        let used = lines(count, |number| format!("  k{number}: '${{_param:kye{number}y}}'"));
        parameters(base, &used, &format!("  _param:\n{set}"));
    }),
    many("query-without-exports", |base, count| {
        node(base, count, |number| format!("  k{number}: '$[ other:a{number} ]'"));
    }),
    many("query-unanswered", |base, count| {
        node(base, count, |number| format!("  k{number}: '$[ exports:a{number} ]'"));
    }),
    many("scalar-misread", |base, count| {
        node(base, count, |number| format!("  k{number}: 012{}", number % 8));
    }),
    many("scalar-misread", |base, count| {
        let pairs: String = (0..count).map(|number| format!("k{number}: 012, ")).collect();
        write(&base.join("nodes/n.yml"), &format!("parameters: {{{pairs}}}\n"));
    }),
    many("secret-plain", |base, count| {
        node(base, count, |number| format!("  password{number}: Hunter22-{number}"));
    }),
    many("tab", |base, count| node(base, count, |number| format!("  k{number}:\tv"))),
    files(many("class-unused", |base, count| {
        (0..count).for_each(|number| write(&base.join(format!("classes/e{number}.yml")), "{}\n"));
        write(&base.join("nodes/n.yml"), "{}\n");
    })),
    files(many("class-redundant", |base, count| {
        (0..count).for_each(|number| write(&base.join(format!("classes/e{number}.yml")), "{}\n"));
        let all = lines(count, |number| format!("- e{number}"));
        write(&base.join("classes/c.yml"), &format!("classes:\n{all}"));
        write(&base.join("classes/d.yml"), &format!("classes:\n{all}"));
        write(&base.join("nodes/n.yml"), "classes: [c, d]\n");
    })),
    many("class-redundant", |base, count| {
        write(&base.join("classes/c.yml"), "{}\n");
        write(&base.join("classes/d.yml"), &format!("classes:\n{}", "- c\n".repeat(count)));
        write(&base.join("nodes/n.yml"), "classes: [c, d]\n");
    }),
    files(many("class-unused", |base, count| {
        (0..count).for_each(|number| write(&base.join(format!("classes/e{number}x.yml")), "{}\n"));
        let missing = lines(20 * count, |number| format!("- e{number}y"));
        write(&base.join("classes/c.yml"), &format!("classes:\n{missing}"));
        write(&base.join("nodes/n.yml"), "{}\n");
    })),
    many("value-repeated", |base, count| {
        let set = lines(count, |number| format!("  k{number}: v{number}"));
        parameters(base, &set, &set);
    }),
    many("value-repeated", |base, count| {
        let set = lines(count, |number| format!("  k{number}: 1"));
        parameters(base, &set, &set);
    }),
    many("default-unused", |base, count| {
        node(base, count, |number| format!("  k{number}: '${{x::{number}}}'"));
    }),
    many("parameter-unused", |base, count| {
        let set = lines(count, |number| format!("    key{number}: 1"));
        let used = lines(count / 50, |number| format!("  k{number}: '${{_param:x${{x}}y{number}::1}}'"));
        parameters(base, &used, &format!("  _param:\n{set}"));
    }),
    many("parameter-optional", |base, count| {
        node(base, count, |number| format!("  k{number}: '${{_param:key{number}::1}}'"));
    }),
    with(
        "{class_mappings: ['other* c']}",
        files(many("node-unmapped", |base, count| {
            (0..count).for_each(|number| write(&base.join(format!("nodes/n{number}.yml")), "{}\n"));
        })),
    ),
    many("scalar-implicit", |base, count| node(base, count, |number| format!("  k{number}: yes"))),
    many("scalar-implicit", |base, count| {
        node(base, count, |number| {
            format!("  k{number}: yes{}", if number == 0 { "" } else { " # reclass: ignore" })
        });
    }),
    with(
        "{lint_levels: {default-used: info}}",
        many("default-used", |base, count| {
            node(base, count, |number| format!("  k{number}: '${{gone{number}::1}}'"));
        }),
    ),
    with(
        "{lint_levels: {dropped-unrendered: info}}",
        many("dropped-unrendered", |base, count| {
            let dropped = lines(count, |number| format!("  k{number}: {{a: '${{y}}'}}"));
            parameters(base, &lines(count, |number| format!("  ~k{number}: 1")), &dropped);
        }),
    ),
    many("container-in-text", |base, count| {
        node(base, count, |number| format!("  k{number}: 'at ${{m{number}}}'\n  m{number}: {{a: 1}}"));
    }),
    many("text-like-reference", |base, count| {
        node(base, count, |number| format!("  k{number}: '$(m{number}:a)'\n  m{number}: {{a: 1}}"));
    }),
    many("text-like-yaml", |base, count| {
        node(base, count, |number| format!("  k{number}:\n    - a\n      - b"));
    }),
    many("text-like-yaml", |base, count| {
        let pairs: String = (0..count).map(|number| format!("k{number}:1, ")).collect();
        write(&base.join("nodes/n.yml"), &format!("parameters: {{a: {{{pairs}}}}}\n"));
    }),
    many("conflict-marker", |base, count| {
        let text = "|\n    <<<<<<< HEAD\n    =======\n    >>>>>>> main";
        node(base, count, |number| format!("  k{number}: {text}"));
    }),
    many("smart-quotes", |base, count| node(base, count, |number| format!("  k{number}: “a”"))),
    many("comment-cuts-value", |base, count| {
        node(base, count, |number| format!("  k{number}: #m{number}"));
    }),
    many("null-over-container", |base, count| {
        let maps = lines(count, |number| format!("  k{number}: {{a: 1}}"));
        let nulls = lines(count, |number| format!("  k{number}:"));
        parameters(base, &nulls, &maps);
    }),
    files(many("environment-of-class", |base, count| {
        let class = "environment: dev\nparameters: {x: 1}\n";
        (0..count).for_each(|number| write(&base.join(format!("classes/e{number}.yml")), class));
        list(base, "classes", count, |number| format!("e{number}"));
    })),
    files(many("file-unread", |base, count| {
        (0..count).for_each(|number| write(&base.join(format!("classes/u{number}")), "parameters: {x: 1}\n"));
        list(base, "classes", 1, |_| "x".to_owned());
    })),
];

/// The options of an inventory in a folder.
fn opened(base: &Path, settings: &str) -> Map {
    let mut options = inventory(base);
    set(&mut options, settings);
    options.insert("threads".into(), Value::Int(1));
    options.insert("cache".into(), Value::text("off"));
    options
}

/// The seconds of work with files of two sizes. The smallest of several, because other processes disturb.
fn measured(settings: &str, make: &dyn Fn(&Path, usize), size: usize, work: &dyn Fn(&Map)) -> (f64, f64) {
    let [one, two] = [size, 2 * size].map(|size| {
        let folder = tempfile::tempdir().unwrap();
        let options = opened(folder.path(), settings);
        make(folder.path(), size);
        (folder, options)
    });
    let seconds = |options: &Map| {
        let before = processor_seconds();
        work(options);
        processor_seconds() - before
    };
    let mut least = (f64::MAX, f64::MAX);
    for _ in 0..3 {
        least = (least.0.min(seconds(&one.1)), least.1.min(seconds(&two.1)));
        if !is_quadratic(least) {
            break;
        }
    }
    least
}

fn is_quadratic((one, two): (f64, f64)) -> bool {
    two > NOISE + MOST_RATIO * one
}

/// The answer for a node, in all forms in which it is shown.
fn answer(options: &Map) {
    let inventory = Inventory::open(options).unwrap();
    let redaction = Redaction::of(inventory.settings());
    let read = |path: &str| inventory.text(path).map(|text| redaction.source(&text));
    match inventory.nodeinfo("n", &Request::default()) {
        Ok(info) => {
            let warnings = info.warnings.iter().map(|warning| full_warning(warning, false, &read));
            let printed = emit(&info.to_value(""), &EmitOptions { pretty: true, no_refs: false });
            let dumped = dumps(&info.to_value(""), false);
            assert!(
                warnings.map(|text| text.len()).sum::<usize>() < printed.len() + dumped.len() + (1 << 24)
            );
        }
        Err(error) => assert!(!full(&error, false, &read).is_empty() && !error.to_string().is_empty()),
    }
}

/// The findings with their excerpts, as people see them.
fn shown(options: &Map) -> Vec<Finding> {
    let findings = lint(options, &[], &()).unwrap();
    let redaction = Redaction::of(Inventory::open(options).unwrap().settings());
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| redaction.source(&text));
    assert!(!full_findings(&findings, false, &read).is_empty());
    findings
}

#[test]
fn time_grows_with_the_size_of_a_file() {
    let _quiet = crate::while_nobody_is_busy();
    if support::runs_alone() {
        return;
    }
    let mut wrong = Vec::new();
    let mut judge = |name: &str, what: &str, seconds: (f64, f64)| {
        println!("{name}: {what}: {:.2} s, {:.2} s", seconds.0, seconds.1);
        if is_quadratic(seconds) {
            wrong.push(format!("{name}: {what}: {seconds:?}"));
        }
    };
    // In the short form, every third one.
    let step = if support::is_long() { 1 } else { 3 };
    let size = 1_000_000;
    for (name, text) in SCALARS.iter().step_by(step) {
        let make = |base: &Path, size| {
            write(&base.join("nodes/n.yml"), &text(size));
            write(&base.join("classes/ccccccccccccccccccccd.yml"), "{}\n");
        };
        let settings = "{merge_options: true, class_wildcards: true}";
        judge(name, "the answer", measured(settings, &make, size, &answer));
        judge(name, "lint", measured(settings, &make, size, &|options| drop(shown(options))));
        for (what, ask) in crate::questions::QUESTIONS.iter().filter(|_| support::is_long()) {
            let empty = tempfile::tempdir().unwrap();
            inventory(empty.path());
            fs::write(empty.path().join("nodes/n.yml"), "{}\n").unwrap();
            let work = |options: &Map| drop(ask(options, empty.path(), "n"));
            judge(name, what, measured(settings, &make, size, &work));
        }
    }
    for many in MANY.iter().step_by(step) {
        let found = |options: &Map| {
            let findings = shown(options);
            assert!(findings.iter().any(|finding| finding.fault.code() == many.rule), "{}", many.rule);
        };
        judge(many.rule, "lint", measured(many.settings, &many.make, many.count, &found));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_about_files_is_measured() {
    for rule in RULES.iter().filter(|rule| !NOT_IN_FILES.contains(&rule.id)) {
        assert!(MANY.iter().any(|many| many.rule == rule.id), "{}", rule.id);
    }
}
