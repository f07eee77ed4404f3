//! The rules of `docs/design.md` that Cargo cannot hold: in the crate `reclass` a lower room never uses a higher one,
//! every module has a room, and the facade, `src/lib.rs` with `src/parts.rs`, only names, each thing by itself; a type name
//! means one thing in the workspace, and no circle of files that use each other grows.
//!
//! The sources are parsed, so neither `super::`, a module within a file nor the arguments of a macro hide a
//! path. Only the modules of unit tests may use what they like.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test reads the sources, and lists the circles"
)]

mod once;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Item, Macro, Meta, MetaList, UseTree, VisRestricted, Visibility};
use syn::{ItemEnum, ItemMod, ItemStruct, ItemTrait, ItemTraitAlias, ItemType, ItemUnion, ItemUse};

/// The rooms of the crate `reclass`, from the lowest to the highest.
const ROOMS: [&str; 5] = ["storage", "model", "evaluate", "engine", "output"];

/// The files of the crate `reclass` without a room: they only name what the rooms have.
const FACADES: [&str; 3] = ["src/internals.rs", "src/lib.rs", "src/parts.rs"];

/// Type names with several definitions, each of which means the same thing, and their files.
const SHARED_NAMES: [(&str, [&str; 2]); 6] = [
    ("Inventory", ["crates/python/src/inventory.rs", "src/engine/mod.rs"]),
    ("Iter", ["crates/base/src/keys.rs", "crates/base/src/table.rs"]),
    // The names that `rustix` has, and those of the watch where there is none.
    ("Result", ["crates/base/src/error.rs", "crates/closed/src/lib.rs"]),
    ("RawDir", ["crates/closed/src/lib.rs", "src/storage/os.rs"]),
    // Those of a library without schemas.
    ("Schemas", ["crates/analysis/src/schema/check.rs", "crates/analysis/src/schema/none.rs"]),
    ("Watch", ["src/storage/watch/inotify.rs", "src/storage/watch/none.rs"]),
];

/// The most files of one circle: files that use each other, in a folder.
const CIRCLES: [(&str, usize); 5] = [
    ("crates/cli/src/", 6),
    ("crates/base/src/", 8),
    ("crates/edit/src/", 6),
    ("src/engine/", 7),
    ("src/evaluate/", 8),
];

/// The most files of a circle elsewhere.
const SMALL_CIRCLE: usize = 4;

/// Reads one file after the other.
#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    /// The current module, from the top of the crate.
    module: Vec<String>,
    /// The height of its room. Outside of the rooms, paths are free.
    height: Option<usize>,
    /// The files that define a type name.
    types: BTreeMap<String, Vec<&'a str>>,
    /// The modules that a file names, from the top of its crate.
    uses: BTreeSet<(&'a str, Vec<String>)>,
    faults: Vec<String>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, file: &'a str, text: &str) {
        let parsed = syn::parse_file(text).unwrap();
        self.file = file;
        let module = split(file).1.trim_end_matches(".rs");
        self.module = module.split('/').map(str::to_owned).collect();
        self.module.pop_if(|name| name == "mod");
        self.height = ROOMS.iter().position(|room| *room == self.module[0] && file.starts_with("src/"));
        if FACADES.contains(&file) {
            if !parsed.attrs.iter().all(documents) || !names(&parsed.items) {
                self.fault("only documentation, `mod`, `pub use` and `pub mod` of these are allowed here");
            }
        } else if file.starts_with("src/") && self.height.is_none() {
            self.fault("a module without a room");
        }
        self.visit_file(&parsed);
    }

    fn fault(&mut self, text: &str) {
        self.faults.push(format!("{}: {text}", self.file));
    }

    /// Reports a path that leads to a higher room, or to none.
    fn follow(&mut self, path: &[String]) {
        let (mut place, is_child) = match path.first().map(String::as_str) {
            Some("crate") => (Vec::new(), false),
            Some("self" | "super") => (self.module.clone(), false),
            _ => (self.module.clone(), true),
        };
        for step in path {
            match step.as_str() {
                "crate" | "self" => {}
                "super" => drop(place.pop()),
                name => place.push(name.to_owned()),
            }
        }
        self.uses.insert((self.file, place.clone()));
        let Some(height) = self.height.filter(|_| !is_child) else { return };
        let room = place.first().and_then(|name| ROOMS.iter().position(|room| room == name));
        if room.is_none_or(|room| room > height) {
            let room = room.map_or("no room", |room| ROOMS[room]);
            self.fault(&format!("'{}' leads from {} to {room}", path.join("::"), ROOMS[height]));
        }
    }

    fn follow_use(&mut self, tree: &UseTree, before: &[String], public: bool) {
        let path = |name: &Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(tree) => self.follow_use(&tree.tree, &path(&tree.ident), public),
            UseTree::Name(tree) => self.follow(&path(&tree.ident)),
            UseTree::Rename(tree) => {
                self.follow(&path(&tree.ident));
                if public && tree.rename.to_string().starts_with(char::is_uppercase) {
                    self.define(&tree.rename);
                }
            }
            UseTree::Glob(_) => self.follow(before),
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.follow_use(tree, before, public));
            }
        }
    }

    /// Follows the paths in tokens that are no syntax yet.
    fn follow_tokens(&mut self, tokens: &str) {
        let tokens = tokens.replace(" :: ", "::");
        for word in tokens.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':') {
            if word.contains("::") {
                self.follow(&word.split("::").map(str::to_owned).collect::<Vec<_>>());
            }
        }
    }

    fn define(&mut self, name: &Ident) {
        self.types.entry(name.to_string()).or_default().push(self.file);
    }
}

impl Visit<'_> for Reader<'_> {
    fn visit_item(&mut self, item: &Item) {
        match item {
            Item::Mod(ItemMod { attrs, .. }) if attrs.iter().any(is_for_tests) => return,
            Item::Mod(ItemMod { attrs, ident, .. }) => {
                if self.file.starts_with("src/")
                    && attrs.iter().any(|attribute| attribute.path().is_ident("path"))
                {
                    self.fault("a module at another place than its name says");
                }
                self.module.push(ident.to_string());
                visit::visit_item(self, item);
                self.module.pop();
                return;
            }
            Item::Use(ItemUse { tree, vis, .. }) => {
                self.follow_use(tree, &[], !matches!(vis, Visibility::Inherited));
            }
            Item::ExternCrate(item) if item.ident == "self" => self.follow(&["crate".to_owned()]),
            Item::Enum(ItemEnum { ident, .. })
            | Item::Struct(ItemStruct { ident, .. })
            | Item::Trait(ItemTrait { ident, .. })
            | Item::TraitAlias(ItemTraitAlias { ident, .. })
            | Item::Type(ItemType { ident, .. })
            | Item::Union(ItemUnion { ident, .. }) => self.define(ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_path(&mut self, path: &syn::Path) {
        self.follow(&path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &Macro) {
        if call.path.segments.last().is_some_and(|name| name.ident == "include") {
            self.fault("`include!` hides code from this test");
        }
        self.follow_tokens(&call.tokens.to_string());
        visit::visit_macro(self, call);
    }

    fn visit_meta_list(&mut self, list: &MetaList) {
        self.follow_tokens(&list.tokens.to_string());
        visit::visit_meta_list(self, list);
    }

    /// `pub(crate)` uses nothing.
    fn visit_vis_restricted(&mut self, _: &VisRestricted) {}
}

/// The folder of the sources of a crate, and the path of a file in it.
fn split(file: &str) -> (&str, &str) {
    let at = file.find("src/").map_or(0, |at| at + "src/".len());
    file.split_at(at)
}

/// The circles of files that use each other, the largest first.
fn circles<'a>(uses: &BTreeSet<(&'a str, Vec<String>)>, files: &BTreeSet<&'a str>) -> Vec<BTreeSet<&'a str>> {
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, place) in uses {
        let top = split(file).0;
        // The file of the innermost module of the path.
        let found = (1..=place.len()).rev().find_map(|end| {
            let path = format!("{top}{}", place[..end].join("/"));
            files.get(&*format!("{path}.rs")).or_else(|| files.get(&*format!("{path}/mod.rs"))).copied()
        });
        reached.entry(file).or_default().extend(found.filter(|found| found != file));
    }
    // Whatever a used file reaches is reached, until nothing is new.
    loop {
        let before: usize = reached.values().map(BTreeSet::len).sum();
        for file in files {
            let next: Vec<&str> = reached.get(file).into_iter().flatten().copied().collect();
            let further: Vec<&str> =
                next.iter().filter_map(|file| reached.get(file)).flatten().copied().collect();
            reached.entry(file).or_default().extend(further);
        }
        if before == reached.values().map(BTreeSet::len).sum() {
            break;
        }
    }
    let circle = |file: &&str| -> BTreeSet<&str> {
        reached[file].iter().filter(|other| reached[*other].contains(file)).copied().collect()
    };
    let all: BTreeSet<BTreeSet<&str>> = files.iter().map(circle).filter(|circle| circle.len() > 1).collect();
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    all
}

/// Whether the items only name others.
fn names(items: &[Item]) -> bool {
    items.iter().all(|item| match item {
        Item::Use(item) => {
            matches!(item.vis, Visibility::Public(_)) && !named(&item.tree).contains(&"*".to_owned())
        }
        Item::Mod(ItemMod { content: Some((_, items)), vis, .. }) => {
            matches!(vis, Visibility::Public(_)) && names(items)
        }
        // A target without a system takes the names of one from elsewhere.
        Item::Mod(_) | Item::ExternCrate(_) => true,
        _ => false,
    })
}

/// The last names of the paths of a `use`.
fn named(tree: &UseTree) -> Vec<String> {
    match tree {
        UseTree::Path(tree) => named(&tree.tree),
        UseTree::Name(tree) => vec![tree.ident.to_string()],
        UseTree::Rename(tree) => vec![tree.rename.to_string()],
        UseTree::Glob(_) => vec!["*".to_owned()],
        UseTree::Group(group) => group.items.iter().flat_map(named).collect(),
    }
}

/// The names that modules within a file export.
fn exported(items: &[Item]) -> Vec<String> {
    let each = items.iter().flat_map(|item| match item {
        Item::Use(item) => named(&item.tree),
        Item::Mod(ItemMod { content: Some((_, items)), .. }) => exported(items),
        _ => Vec::new(),
    });
    each.collect()
}

/// Whether an attribute brings documentation, and be it for the tests of examples alone.
fn documents(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            list.tokens.to_string().starts_with("doctest , doc =")
        }
        meta => meta.path().is_ident("doc"),
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    list.path.is_ident("cfg") && list.tokens.to_string() == "test"
}

/// What breaks a rule in these files, by their paths from the top of the repository.
fn faults(sources: &BTreeMap<String, String>) -> Vec<String> {
    let mut reader = Reader::default();
    for (file, text) in sources {
        reader.read(file, text);
    }
    for (name, files) in reader.types {
        let shared = SHARED_NAMES.iter().find(|(shared, _)| *shared == name);
        if shared.map_or(files.len() > 1, |(_, places)| *places != *files) {
            reader.faults.push(format!("{name}: {}", files.join(", ")));
        }
    }
    reader.faults
}

/// Adds the sources of a folder.
fn collect(top: &Path, folder: &str, sources: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(top.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(top, &path, sources);
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            sources.insert(path, fs::read_to_string(entry.path()).unwrap());
        }
    }
}

fn all_sources() -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    for folder in ["src", "crates"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), folder, &mut sources);
    }
    sources
}

/// Cargo says nothing of a test that it does not run.
#[test]
fn a_crate_that_is_not_tested_has_no_tests() {
    let sources = all_sources();
    let mut found = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates")).unwrap() {
        let entry = entry.unwrap();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
        let library =
            manifest.split("\n[").find_map(|section| section.strip_prefix("lib]")).unwrap_or_default();
        let folder = format!("crates/{}/src/", entry.file_name().to_str().unwrap());
        for (line, mark) in [
            ("\ntest = false", "#[test]"),
            ("\ndoctest = false", "//! ```"),
            ("\ndoctest = false", "/// ```"),
        ] {
            if library.contains(line) {
                found += 1;
                let mut files = sources.iter().filter(|(file, _)| file.starts_with(&folder));
                let tested = files.find(|(_, text)| text.contains(mark));
                assert!(tested.is_none(), "{folder}: {mark} in {:?}", tested.unwrap().0);
            }
        }
    }
    assert!(found > 10, "{found}");
}

/// The compiler takes a name that is exported for one that is used.
#[test]
fn each_part_is_used_by_a_crate_above() {
    let sources = all_sources();
    let above =
        sources.iter().filter(|(file, text)| file.starts_with("crates/") && text.contains("reclass::parts"));
    let used: BTreeSet<&str> =
        above.flat_map(|(_, text)| text.split(|c: char| !c.is_alphanumeric() && c != '_')).collect();
    let parts = exported(&syn::parse_file(&sources["src/parts.rs"]).unwrap().items);
    assert!(parts.len() > 50, "{parts:?}");
    let unused: Vec<_> = parts.iter().filter(|name| !used.contains(name.as_str())).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn the_sources_keep_the_rules() {
    let faults = faults(&all_sources());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The output lists the circles: `cargo test --package architecture -- --nocapture`.
#[test]
fn no_circle_of_files_grows() {
    let sources = all_sources();
    let mut reader = Reader::default();
    for (file, text) in &sources {
        reader.read(file, text);
    }
    let files = sources.keys().map(String::as_str).collect();
    let mut grown = Vec::new();
    for circle in circles(&reader.uses, &files) {
        let text =
            format!("{} files: {}", circle.len(), circle.iter().copied().collect::<Vec<_>>().join(", "));
        println!("{text}");
        let known = CIRCLES.iter().find(|(folder, _)| circle.iter().all(|file| file.starts_with(folder)));
        if circle.len() > known.map_or(SMALL_CIRCLE, |(_, most)| *most) {
            grown.push(text);
        }
    }
    assert!(grown.is_empty(), "{}", grown.join("\n"));
}

/// The faults of one more file beside a small library.
fn faults_with(file: &str, text: &str) -> Vec<String> {
    let library = [("src/model/layer.rs", "pub struct Layer;"), (file, text)];
    faults(&library.map(|(file, text)| (file.to_owned(), text.to_owned())).into())
}

#[test]
fn each_way_around_a_rule_is_a_fault() {
    for (file, text, fault) in [
        // Paths to a higher room.
        ("src/storage/value.rs", "use crate::engine::Inventory;", "from storage to engine"),
        ("src/storage/value.rs", "use super::super::engine::Inventory;", "from storage to engine"),
        ("src/storage/error/mod.rs", "use super::super::engine::Inventory;", "from storage to engine"),
        (
            "src/storage/value.rs",
            "use {std::fmt, crate::{storage, model as other}};",
            "from storage to model",
        ),
        ("src/storage/value.rs", "mod inner { use super::super::super::model; }", "from storage to model"),
        (
            "src/storage/value.rs",
            "fn f(_: &dyn Fn() -> super::super::model::Node) {}",
            "from storage to model",
        ),
        ("src/storage/value.rs", "fn f() { <u8 as crate::model::Emit>::emit() }", "from storage to model"),
        ("src/storage/value.rs", "fn f() { crate::model::emit!() }", "from storage to model"),
        (
            "src/storage/value.rs",
            "fn f() { print!(\"{}\", [self::super::super::model::X]) }",
            "from storage to model",
        ),
        ("src/storage/value.rs", "macro_rules! f { () => { $crate::model::f() } }", "from storage to model"),
        (
            "src/storage/value.rs",
            "#[serde(with = \"crate::model::form\")] struct A;",
            "from storage to model",
        ),
        (
            "src/storage/value.rs",
            "#[cfg(test)] mod tests {} use crate::model::Node;",
            "from storage to model",
        ),
        // Paths to all rooms.
        ("src/storage/value.rs", "use crate as root;", "'crate' leads from storage to no room"),
        ("src/storage/value.rs", "use super::super as root;", "from storage to no room"),
        ("src/storage/value.rs", "use crate::{self as root};", "from storage to no room"),
        ("src/storage/value.rs", "use crate::*;", "from storage to no room"),
        ("src/storage/value.rs", "extern crate self as root;", "from storage to no room"),
        ("src/storage/value.rs", "f! { use crate::{model::Node}; }", "from storage to no room"),
        (
            "src/output/tree.rs",
            "use crate::formats::emit;",
            "'crate::formats::emit' leads from output to no room",
        ),
        // Code elsewhere.
        ("src/extra.rs", "", "a module without a room"),
        ("src/storage/value.rs", "#[path = \"../model/node.rs\"] mod node;", "at another place"),
        ("src/storage/value.rs", "std::include!(\"../model/node.rs\");", "hides code"),
        ("src/lib.rs", "mod extra { use crate::model::Node; }", "are allowed here"),
        ("src/lib.rs", "pub mod extra { pub fn f() {} }", "are allowed here"),
        ("src/lib.rs", "use model::Node;", "are allowed here"),
        ("src/lib.rs", "pub use model::*;", "are allowed here"),
        ("src/parts.rs", "pub mod model { pub use crate::model::{a, b::*}; }", "are allowed here"),
        ("src/lib.rs", "#[path = \"other.rs\"] mod model;", "at another place"),
        ("src/lib.rs", "#![allow(dead_code)]", "are allowed here"),
        ("src/lib.rs", "#![cfg_attr(doctest, allow(dead_code))]", "are allowed here"),
        // A second type of one name.
        ("crates/cli/src/main.rs", "struct Layer;", "Layer: crates/cli/src/main.rs, src/model/layer.rs"),
        (
            "src/storage/value.rs",
            "mod a { mod b { enum Layer {} } }",
            "Layer: src/model/layer.rs, src/storage/value.rs",
        ),
        ("src/storage/value.rs", "fn f() { struct Layer; }", "Layer: "),
        ("src/storage/value.rs", "pub(in crate::storage) struct Layer;", "Layer: "),
        ("src/storage/value.rs", "pub union Layer { a: u8 }", "Layer: "),
        ("src/storage/value.rs", "pub unsafe trait Layer {}", "Layer: "),
        ("src/storage/value.rs", "pub type Layer = u8;", "Layer: "),
        ("src/storage/value.rs", "pub use std::fmt::{Error as Layer};", "Layer: "),
        ("src/storage/value.rs", "struct Iter;", "Iter: src/storage/value.rs"),
        ("src/storage/keys.rs", "struct Iter; mod a { struct Iter; }", "Iter: src/storage/keys.rs, src"),
    ] {
        let faults = faults_with(file, text);
        assert!(faults.len() == 1 && faults[0].contains(fault), "{text}: {faults:?}");
    }
}

#[test]
fn what_the_rules_allow_is_no_fault() {
    for (file, text) in [
        ("src/model/emit/mod.rs", "use super::resolve::{self, Tag}; use crate::storage::error as fault;"),
        ("src/model/emit/mod.rs", "pub(crate) mod a { pub(super) use self::super::super::layout; }"),
        ("src/model/emit/mod.rs", "fn f(self) { crate::storage::f!(super::f, crate::model::X) }"),
        ("src/model/emit/mod.rs", "impl Iterator for A { type Item = u8; } mod b { use super::A as Layer; }"),
        ("src/model/emit/mod.rs", "#[cfg(test)] mod tests { use crate::engine::Inventory; struct Layer; }"),
        (
            "src/lib.rs",
            "//! Text.\nmod model; pub use model::emit; pub mod a { pub mod b { pub use c::d; } }",
        ),
        ("src/lib.rs", "#![cfg_attr(doctest, doc = include_str!(\"page.md\"))]"),
        ("crates/cli/src/main.rs", "use crate::terminal::{self as screen}; #[path = \"a.rs\"] mod a;"),
    ] {
        let faults = faults_with(file, text);
        assert!(faults.is_empty(), "{text}: {faults:?}");
    }
}
