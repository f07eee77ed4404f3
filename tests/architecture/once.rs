//! What a forked child can meet of its parent's threads: everything that lives as long as the process, and why a child
//! never waits for it.
//!
//! A thread of the parent that has a lock, or makes something for all, does not exist in the child. So each `static` of
//! the engine and of the Python module is in this table, and each class of Python, because only what they lead to is
//! there in the child. What each inventory has of locks and cells is behind the registry. `docs/design.md`, "Forks",
//! says what other libraries have.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{ExprMethodCall, Item, ItemMod, ItemStatic, ItemStruct, Macro};

use super::{all_sources, is_for_tests};

const NUMBER: &str = "a number that nobody waits for";
const THREAD: &str = "each thread has its own, and the child has the thread that forked";
const TRIED: &str = "nobody waits for this lock: who finds it taken goes on without";
const IMPORT: &str = "made while the module is imported, before there are threads that ask";
const RACE: &str = "nobody waits for the cell; an inventory that a thread of the parent uses is left alone";
const INTERPRETER: &str = "taken by the thread that has the interpreter, and only the one that has it forks";
const SETTINGS: &str = "settings alone, without locks";

/// The file, the name, and why no child waits for it.
const KNOWN: [(&str, &str, &str); 24] = [
    ("crates/analysis/src/schema/inspect.rs", "COMPILED", THREAD),
    ("crates/python/src/editor.rs", "class Editor", SETTINGS),
    ("crates/python/src/asking.rs", "REMEMBERED", THREAD),
    ("crates/python/src/inventory.rs", "class Inventory", TRIED),
    ("crates/python/src/log.rs", "LOGGED", TRIED),
    ("crates/python/src/log.rs", "STALE", TRIED),
    ("crates/python/src/once.rs", "OBJECTS", IMPORT),
    ("crates/python/src/once.rs", "import", IMPORT),
    ("crates/python/src/strings.rs", "STRINGS", INTERPRETER),
    ("crates/base/src/failpoints.rs", "AT", NUMBER),
    ("crates/base/src/failpoints.rs", "PASSED", NUMBER),
    ("crates/base/src/number.rs", "NEXT", NUMBER),
    ("crates/base/src/panics.rs", "LOCATION", THREAD),
    ("crates/base/src/parallel.rs", "BUSY", THREAD),
    ("crates/base/src/parallel.rs", "PROCESSORS", NUMBER),
    ("crates/base/src/progress.rs", "COUNTS", THREAD),
    ("crates/base/src/progress.rs", "DONE", NUMBER),
    ("crates/base/src/progress.rs", "TOTAL", NUMBER),
    ("crates/base/src/progress.rs", "UNIT", NUMBER),
    ("crates/base/src/progress.rs", "WORKS", NUMBER),
    ("crates/base/src/value/serialize.rs", "VALUES", THREAD),
    ("src/engine/inputs.rs", "BUFFERS", NUMBER),
    ("crates/serve/src/registry.rs", "FIRST", RACE),
    ("src/storage/record.rs", "BOOT", RACE),
];

/// Finds what lives as long as the process, in one file.
#[derive(Default)]
struct Finder {
    found: BTreeSet<String>,
}

impl Visit<'_> for Finder {
    fn visit_item(&mut self, item: &Item) {
        if !matches!(item, Item::Mod(ItemMod { attrs, .. }) if attrs.iter().any(is_for_tests)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_static(&mut self, item: &ItemStatic) {
        self.found.insert(item.ident.to_string());
    }

    fn visit_item_struct(&mut self, item: &ItemStruct) {
        if item.attrs.iter().any(|attribute| attribute.path().is_ident("pyclass")) {
            self.found.insert(format!("class {}", item.ident));
        }
    }

    /// Statics in what a macro is given, such as `thread_local!`, and the macros that make one.
    fn visit_macro(&mut self, call: &Macro) {
        let name = call.path.segments.last().map(|name| name.ident.to_string()).unwrap_or_default();
        if ["intern", "import_exception", "create_exception", "lazy_static"].contains(&&*name) {
            self.found.insert(name);
        }
        let tokens = call.tokens.to_string();
        let mut words = tokens.split_whitespace().filter(|word| !["mut", "ref"].contains(word));
        while let Some(word) = words.next() {
            if word == "static" {
                self.found.extend(words.next().map(str::to_owned));
            }
        }
    }

    /// A module of Python is made once too.
    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if call.method == "import" {
            self.found.insert("import".to_owned());
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// What lives as long as the process, in a file.
fn found(text: &str) -> BTreeSet<String> {
    let mut finder = Finder::default();
    finder.visit_file(&syn::parse_file(text).unwrap());
    finder.found
}

#[test]
fn a_child_waits_for_nothing_that_lives_as_long_as_the_process() {
    let mut all = BTreeSet::new();
    for (file, text) in all_sources() {
        // The programs, the language server and the playground do not fork.
        let apart = ["crates/cli/", "crates/closed/", "crates/lsp/", "crates/playground/"];
        if !apart.iter().any(|folder| file.starts_with(folder)) {
            all.extend(found(&text).into_iter().map(|name| (file.clone(), name)));
        }
    }
    let known: BTreeSet<_> =
        KNOWN.iter().map(|(file, name, _)| ((*file).to_owned(), (*name).to_owned())).collect();
    let new: Vec<_> = all.difference(&known).collect();
    let gone: Vec<_> = known.difference(&all).collect();
    assert!(new.is_empty(), "a child may wait for these: {new:?}");
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn everything_that_lives_as_long_as_the_process_is_found() {
    for (text, name) in [
        ("pub(crate) static A: OnceLock<u8> = OnceLock::new();", "A"),
        ("fn f() { static A: AtomicU8 = AtomicU8::new(0); }", "A"),
        ("thread_local! { #[doc = \" A \"] pub static A: Cell<u8> = const { Cell::new(0) }; }", "A"),
        ("macro_rules! a { ($n:ident) => { static A: Mutex<u8> = Mutex::new(0); } }", "A"),
        ("fn f() { pyo3::intern!(py, \"a\"); }", "intern"),
        ("fn f() { g(py.import(\"a\")?.call0()); }", "import"),
        ("#[pyclass(frozen)] pub struct A { a: u8 }", "class A"),
    ] {
        assert_eq!(found(text), BTreeSet::from([name.to_owned()]), "{text}");
    }
    assert_eq!(
        found("#[cfg(test)] mod tests { static A: u8 = 0; } fn f(_: &'static str) {}"),
        BTreeSet::new()
    );
}
