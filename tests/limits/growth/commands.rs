//! The work of every command grows with the size of an inventory and not with its square, whatever is large in it:
//! each command is run with each shape at three sizes, and the processor time of the process is compared.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::folders::{copy, processor_seconds_of_children, write};

/// Processor time that is not looked at: up to here even a square is no trouble.
const NOISE: f64 = 0.25;

/// The smaller sizes: a sixteenth and a quarter of the largest.
const PARTS: [usize; 2] = [16, 4];

/// From the smallest size the time grows so many times as much to the largest as to the middle one, at most. Linear
/// is five times, the square seventeen times, the cube sixty-five times.
const MOST_GROWTH: f64 = 9.0;
const MOST_GROWTH_OF_SQUARES: f64 = 25.0;

/// What is large in an inventory.
struct Shape {
    name: &'static str,
    /// Writes a node `n1` and, mostly, a class `a`.
    make: fn(&Path, usize),
    /// The largest size of the short form; the long form has four times as much.
    size: usize,
    /// A parameter that many commands ask for.
    parameter: &'static str,
    /// Whether the answers themselves have the square of the size in values.
    is_square: bool,
    /// The only command that the shape is for; empty for all.
    only: &'static str,
}

const fn shape(name: &'static str, size: usize, parameter: &'static str, make: fn(&Path, usize)) -> Shape {
    Shape { name, make, size, parameter, is_square: false, only: "" }
}

/// `PARAMETER`, `BESIDE`, `OLD` and `OUT` are replaced by the parameter of the shape, a copy of the inventory with
/// other values, the answers of that copy, and a new folder.
const COMMANDS: &[&[&str]] = &[
    &["-n", "n1"],
    &["-n", "n1", "-o", "json"],
    &["-f", "n1"],
    &["-i"],
    &["show", "n1"],
    &["explain", "n1"],
    &["explain", "n1", "**"],
    &["explain", "n1", "**", "-o", "json"],
    &["nodes"],
    &["classes", "--unused"],
    &["applications"],
    &["params", "**"],
    &["refs"],
    &["refs", "PARAMETER"],
    &["graph"],
    &["docs", "OUT"],
    &["lint"],
    &["lint", "--fix", "--dry-run"],
    &["test", "--all"],
    &["test", "-o", "junit"],
    &["test", "--snapshot"],
    &["schema", "infer", "PARAMETER"],
    &["diff", "BESIDE", "."],
    &["impact", "class:a"],
    &["impact", "parameter:PARAMETER"],
    &["status"],
    &["compare", "OLD"],
];

/// The commands that are not measured, each with the reason.
const OTHERS: &[(&str, &str)] = &[
    ("explore", "a server; its page is that of 'graph'"),
    ("init", "reads no inventory"),
    ("migrate", "reads a tree of saltclass"),
    ("explain-error", "reads no inventory"),
    ("lsp", "a server; it answers from what the others compute"),
    ("completions", "reads no inventory"),
    ("manual", "reads no inventory"),
];

/// The lines of a text, one for each number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|number| line(number) + "\n").collect()
}

/// The node `n1`, and the parameters of its class `a`.
fn class(base: &Path, parameters: &str) {
    write(&base.join("nodes/n1.yml"), "classes: [a]\nparameters:\n  own: 1\n");
    write(&base.join("classes/a.yml"), &format!("parameters:\n{parameters}"));
}

/// Many nodes with the class `a`, each with a number of its own.
fn nodes(base: &Path, count: usize, a: &str) {
    for number in 0..count {
        let text =
            format!("classes: [a]\nparameters: {{own: {number}, l: [{number}], m: {{x{number}: 1}}}}\n");
        write(&base.join(format!("nodes/n{number}.yml")), &text);
    }
    write(&base.join("classes/a.yml"), a);
}

/// A node with many classes, `a` among them.
fn classes(base: &Path, count: usize, class: impl Fn(usize) -> String) {
    let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    write(&base.join("nodes/n1.yml"), &format!("classes: [a, {}]\n", names.join(", ")));
    write(&base.join("classes/a.yml"), "parameters: {x: 1}\n");
    for (number, name) in names.iter().enumerate() {
        write(&base.join(format!("classes/{name}.yml")), &class(number));
    }
}

const SHAPES: &[Shape] = &[
    shape("keys", 10_000, "k1", |base, count| {
        class(base, &lines(count, |number| format!("  k{number}: v{number}")));
    }),
    shape("items", 10_000, "l", |base, count| {
        class(base, &format!("  l:\n{}", lines(count, |number| format!("  - v{number}"))));
    }),
    shape("items with references", 8_000, "l", |base, count| {
        class(base, &format!("  h: x\n  l:\n{}", lines(count, |number| format!("  - '${{h}}{number}'"))));
    }),
    shape("classes", 500, "s", |base, count| {
        classes(base, count, |number| format!("parameters: {{k{number}: 1, s: {number}}}\n"));
    }),
    shape("a class that is listed often", 20_000, "x", |base, count| {
        write(&base.join("nodes/n1.yml"), &format!("classes: [{}]\n", vec!["a"; count].join(", ")));
        write(&base.join("classes/a.yml"), "parameters: {x: 1}\n");
    }),
    shape("references of one text", 60_000, "x", |base, count| {
        class(base, &format!("  x: 1\n  t: '{}'\n", "${x}".repeat(count)));
    }),
    shape("references of one escaped text", 12_000, "x", |base, count| {
        class(base, &format!("  x: 1\n  t: \"\\t{}\"\n", "${x}".repeat(count)));
    }),
    shape("a chain of references", 400, "a1", |base, count| {
        class(
            base,
            &format!("  a0: 1\n{}", lines(count, |number| format!("  a{}: ${{a{number}}}", number + 1))),
        );
    }),
    shape("references to one value", 8_000, "a", |base, count| {
        class(base, &format!("  a: 1\n{}", lines(count, |number| format!("  r{number}: ${{a}}"))));
    }),
    shape("references to a large value", 3_000, "m", |base, count| {
        let keys = lines(count, |number| format!("    k{number}: v"));
        class(base, &format!("  m:\n{keys}  c1: ${{m}}\n  c2: ${{m}}\n  c3: ${{c1}}\n"));
    }),
    Shape {
        is_square: true,
        ..shape("a query of each node", 200, "own", |base, count| {
            nodes(base, count, "parameters:\n  q: $[ exports:e ]\nexports:\n  e: ${own}\n");
        })
    },
    shape("a query over many nodes", 800, "own", |base, count| {
        nodes(base, count, "exports:\n  e: ${own}\n");
        let queries = "q: '$[ exports:e ]', r: '$[ exports:e if exports:e == self:own ]'";
        write(&base.join("nodes/n1.yml"), &format!("classes: [a]\nparameters: {{own: 1, {queries}}}\n"));
    }),
    shape("nodes", 800, "m", |base, count| {
        nodes(base, count, "parameters:\n  t: ${own}\n  u: '${t}x'\n  l: [b]\n  m: {y: 1}\n");
    }),
    Shape {
        only: "test",
        ..shape("nodes with a wrong value each", 6_000, "own", |base, count| nodes(base, count, "{}\n"))
    },
    shape("secrets", 3_000, "k1", |base, count| {
        let secret =
            |number| format!("  k{number}: {{password: hunter{number}, u: 'x${{k{number}:password}}'}}");
        class(base, &lines(count, secret));
    }),
    shape("layers of one value", 400, "m", |base, count| {
        classes(base, count, |number| {
            format!(
                "parameters: {{m: {{a: {number}, b: [{number}], c: {{d{number}: '${{x}}'}}}}, x: {number}}}\n"
            )
        });
    }),
    shape("a key that is written often", 5_000, "k", |base, count| {
        class(base, &lines(count, |number| format!("  k: v{number}")));
    }),
    shape("comments", 8_000, "k1", |base, count| {
        let keys = lines(count, |number| format!("  # what {number} is for.\n  k{number}: 1"));
        class(base, &keys);
    }),
    shape("missing references", 1_000, "own", |base, count| {
        class(base, &lines(count, |number| format!("  k{number}: ${{nope{number}}}")));
    }),
    shape("classes below each other", 200, "x0", |base, count| {
        write(&base.join("nodes/n1.yml"), "classes: [a]\n");
        write(&base.join("classes/a.yml"), "classes: [c0]\n");
        for number in 0..count {
            let next =
                if number + 1 < count { format!("classes: [c{}]\n", number + 1) } else { String::new() };
            let text = format!("{next}parameters: {{x{number}: '${{x0}}', x0: 1}}\n");
            write(&base.join(format!("classes/c{number}.yml")), &text);
        }
    }),
    shape("a long value", 1_000_000, "v", |base, count| {
        class(base, &format!("  v: '{}'\n  w: ${{v}}\n  u: 'a${{v}}'\n", "x".repeat(count)));
    }),
    shape("patterns of keys", 1_600, "p", |base, count| {
        class(base, "  p: {a7b: 1, k: 2}\n");
        let patterns: Vec<String> = (0..count).map(|number| format!("\"^a{number}.*\": {{}}")).collect();
        write(
            &base.join("schemas/p.json"),
            &format!("{{\"patternProperties\": {{{}}}}}", patterns.join(", ")),
        );
    }),
    shape("keys with patterns", 3_000, "p", |base, count| {
        class(base, &format!("  p:\n{}", lines(count, |number| format!("    k{number}: v{number}"))));
        let patterns: Vec<String> = (0..20).map(|number| format!("\"^k{number}\\\\w+$\": {{}}")).collect();
        write(
            &base.join("schemas/p.json"),
            &format!("{{\"patternProperties\": {{{}}}}}", patterns.join(", ")),
        );
    }),
    Shape {
        only: "lint",
        ..shape("misread scalars", 6_000, "k1", |base, count| {
            class(base, &lines(count, |number| format!("  k{number}: 1:{}", number % 50 + 10)));
        })
    },
    Shape {
        only: "test",
        ..shape("wrong and missing values of one node", 3_000, "k1", |base, count| {
            class(base, &lines(count, |number| format!("  k{number}: v{number}")));
            let expect = |number| format!("k{number}: x, gone{number}: x");
            let test = |number| format!("- {{name: t{number}, node: n1, expect: {{{}}}}}", expect(number));
            let whole = lines(count, |number| format!("    {}", expect(number).replace(", ", "\n    ")));
            let snapshots = lines(count, |number| format!("    k{number}: snapshot"));
            let more = format!("- name: t\n  node: n1\n  expect:\n{whole}- name: s\n  node: n1\n  expect:\n");
            write(&base.join("tests/u.yml"), &format!("{}{more}{snapshots}", lines(count, test)));
        })
    },
    shape("two lists of mappings", 2_000, "l", |base, count| {
        write(&base.join("nodes/n1.yml"), "classes: [a, b]\n");
        for class in ["a", "b"] {
            let items = lines(count, |number| format!("  - {{k: {class}{number}, v: 1}}"));
            write(&base.join(format!("classes/{class}.yml")), &format!("parameters:\n  l:\n{items}"));
        }
    }),
    shape("nodes with a missing class each", 800, "x", |base, count| {
        write(&base.join("classes/a.yml"), "parameters: {x: 1}\n");
        for number in 0..count {
            write(&base.join(format!("nodes/n{number}.yml")), &format!("classes: [gone{number}x]\n"));
            write(&base.join(format!("classes/c{number}xyz.yml")), "parameters: {x: 1}\n");
        }
    }),
    shape("missing keys of a schema", 3_000, "p", |base, count| {
        class(base, &format!("  p:\n{}", lines(count, |number| format!("    have{number}: 1"))));
        let names: Vec<String> = (0..count).map(|number| format!("\"need{number}\"")).collect();
        write(&base.join("schemas/p.json"), &format!("{{\"required\": [{}]}}", names.join(", ")));
    }),
];

/// One test that holds, one that no node passes, each with another value, and a snapshot.
const TESTS: &str = "\
- {name: all, node: '*', expect: {parameters: {type: mapping}}}
- {name: high, node: '*', expect: {own: {min: 99999999}}}
- {name: same, node: n1, expect: {parameters: snapshot}}
";

/// An inventory of one shape and size, and what commands need beside it.
struct LargeInventory {
    folder: tempfile::TempDir,
}

impl LargeInventory {
    fn new(shape: &Shape, size: usize) -> LargeInventory {
        let inventory = LargeInventory { folder: tempfile::tempdir().unwrap() };
        let base = inventory.base();
        fs::create_dir_all(base.join("classes")).unwrap();
        (shape.make)(&base, size);
        write(&base.join("reclass-config.yml"), "threads: 1\n");
        let beside = inventory.beside();
        copy(&base, &beside);
        let class = beside.join("classes/a.yml");
        let text = fs::read_to_string(&class).unwrap();
        write(&class, &text.replace(": v", ": w").replace(": 1", ": 2").replace("- v", "- w"));
        write(&base.join("tests/t.yml"), TESTS);
        let old = fs::File::create(inventory.folder.path().join("old.json")).unwrap();
        inventory.command(&beside).args(["-i", "-o", "json"]).stdout(old).status().unwrap();
        inventory
    }

    fn base(&self) -> PathBuf {
        self.folder.path().join("inventory")
    }

    fn beside(&self) -> PathBuf {
        self.folder.path().join("beside")
    }

    fn command(&self, base: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reclass"));
        command.arg("-b").arg(base).current_dir(base).env_clear().env("HOME", self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The processor time of a command. Some shapes are errors for it.
    fn seconds(&self, shape: &Shape, words: &[&str]) -> f64 {
        let _ = fs::remove_dir_all(self.base().join("tests/snapshots"));
        let out = tempfile::tempdir_in(self.folder.path()).unwrap();
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        let word = |word: &&str| match *word {
            "BESIDE" => path(&self.beside()),
            "OLD" => path(&self.folder.path().join("old.json")),
            "OUT" => path(out.path()),
            word => word.replace("PARAMETER", shape.parameter),
        };
        let arguments: Vec<String> = words.iter().map(word).collect();
        let before = processor_seconds_of_children();
        let status = self.command(&self.base()).args(&arguments).status().unwrap();
        let is_right = shape.name != "nodes" || matches!(status.code(), Some(0 | 1));
        assert!(is_right, "{arguments:?}: {status}");
        processor_seconds_of_children() - before
    }
}

/// What is wrong with the growth of a command, if anything is.
fn judge(
    shape: &Shape,
    words: &[&str],
    inventories: &[OnceCell<LargeInventory>; 3],
    scale: usize,
) -> Option<String> {
    let size = shape.size * scale;
    let sizes = [size / PARTS[0], size / PARTS[1], size];
    let mut least = [f64::MAX; 3];
    // The smallest of several, because other processes disturb.
    for _ in 0..3 {
        // Where the largest size is quick, the others need not be asked.
        for at in [2, 1, 0] {
            let inventory = inventories[at].get_or_init(|| LargeInventory::new(shape, sizes[at]));
            least[at] = least[at].min(inventory.seconds(shape, words));
            if least[2] < NOISE {
                return None;
            }
        }
        let growth = (least[2] - least[0]) / (least[1] - least[0]).max(0.02);
        println!("{}: {}: {least:.2?} s, grows by {growth:.1}", shape.name, words.join(" "));
        let most = if shape.is_square { MOST_GROWTH_OF_SQUARES } else { MOST_GROWTH };
        if growth <= most {
            return None;
        }
    }
    Some(format!("{}: {}: {least:.2?} s with sizes {sizes:?}", shape.name, words.join(" ")))
}

#[test]
fn the_time_of_a_command_grows_with_the_inventory() {
    let _quiet = crate::while_nobody_is_busy();
    if support::runs_alone() {
        return;
    }
    let scale = if support::is_long() { 4 } else { 1 };
    let wanted = std::env::var("RECLASS_SHAPES").unwrap_or_default();
    let mut wrong = Vec::new();
    for shape in SHAPES.iter().filter(|shape| shape.name.contains(&wanted)) {
        let inventories = [OnceCell::new(), OnceCell::new(), OnceCell::new()];
        let commands = COMMANDS.iter().filter(|words| shape.only.is_empty() || words[0] == shape.only);
        // A doubt at sizes that are hardly above the noise is asked again with larger ones, where a square is plainer.
        let doubted = commands.filter(|words| judge(shape, words, &inventories, scale).is_some());
        let larger = [OnceCell::new(), OnceCell::new(), OnceCell::new()];
        wrong.extend(doubted.filter_map(|words| judge(shape, words, &larger, scale * 3)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_is_measured_or_has_a_reason() {
    let output = Command::new(env!("CARGO_BIN_EXE_reclass")).arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let commands = help.lines().take_while(|line| *line != "Options:");
    let names: Vec<&str> = commands
        .filter_map(|line| line.strip_prefix("  ")?.split("  ").next())
        .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    assert!(names.len() > 15, "{help}");
    for name in names {
        let is_measured = COMMANDS.iter().any(|words| words[0] == name);
        let is_other = OTHERS.iter().any(|(other, _)| *other == name);
        assert!(is_measured != is_other, "{name}");
    }
}
