//! Inventories of the corpus and generated ones turn into findings and graphs: the same with one thread and
//! with several, and the same as a plain form of the checks, which compares each layer of each node.
//!
//! `RECLASS_SHARED` says where the corpus is, `../shared` beside the repository if not given; without it only
//! generated inventories are looked at.

use support::random::Random;
use support::{answer, corpus, folders};

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use reclass::Inventory;
use reclass::error::Fault;
use reclass::parts::model::merge::settled;
use reclass::parts::model::{Layer, MapSlot, Prefixes, Slot};
use reclass::redact::Redaction;
use reclass::value::{Key, Map, Value};
use reclass_analysis::lint::lint;
use reclass_analysis::survey::{Survey, Surveyed, SurveyedFile};
use reclass_base::path::join_path;
use reclass_base::source::FileId;
use reclass_graph::{PageOptions, data, dot, graph, html};

/// The options of an inventory, and its folder if that is temporary.
type Opened = (String, Map, Option<tempfile::TempDir>);

/// A mapping with prefixes, references and few values, so that files repeat and keep out each other's.
fn mapping(random: &mut Random, depth: usize) -> String {
    let mut text = String::from("{");
    for key in ["a", "b", "c", "1"] {
        if random.below(3) == 0 {
            continue;
        }
        let prefix = ["", "", "", "~", "="][random.below(5)];
        let value = match random.below(8) {
            0..=2 if depth < 3 => mapping(random, depth + 1),
            3 => "[x]".into(),
            4 => "'${_param:p}'".into(),
            5 => "~".into(),
            other => ["1", "x", "true"][other % 3].into(),
        };
        let _ = write!(text, "'{prefix}{key}': {value}, ");
    }
    text + "}"
}

/// Writes an inventory with more nodes than one thread takes.
fn generate(base: &Path, seed: u64) {
    let mut random = Random(seed);
    for class in 0..12 {
        let classes: Vec<String> =
            (0..class).filter(|_| random.below(6) == 0).map(|c| format!("c{c}")).collect();
        let parameters = mapping(&mut random, 0);
        let exports = mapping(&mut random, 1);
        let text =
            format!("classes: [{}]\nparameters: {parameters}\nexports: {exports}\n", classes.join(", "));
        folders::write(&base.join(format!("classes/c{class}.yml")), &text);
    }
    for node in 0..90 {
        let classes: Vec<String> = (0..4).map(|_| format!("c{}", random.below(12))).collect();
        // Nodes of a kind share their classes.
        let classes = if node % 3 == 0 { "c1, c4, c7, c9".into() } else { classes.join(", ") };
        let parameters = mapping(&mut random, 1);
        let text = format!("classes: [{classes}]\nparameters: {parameters}\n");
        folders::write(&base.join(format!("nodes/n{node}.yml")), &text);
    }
}

fn inventories() -> Vec<Opened> {
    let mut all = Vec::new();
    for seed in 1..9 {
        let folder = tempfile::tempdir().unwrap();
        let mut options = folders::inventory(folder.path());
        folders::set(&mut options, "{strict_constant_parameters: false, allow_none_override: true}");
        if seed % 2 == 0 {
            let over = "{allow_scalar_over_dict: true, allow_scalar_over_list: true, \
                        allow_dict_over_scalar: true, allow_list_over_scalar: true}";
            folders::set(&mut options, over);
        }
        generate(folder.path(), seed);
        all.push((format!("generated {seed}"), options, Some(folder)));
    }
    for case in corpus::load() {
        let mut options = Map::default();
        folders::set(&mut options, &answer::configuration(&case, &serde_json::Map::new()).to_string());
        all.push((case.id, options, case.made));
    }
    all
}

/// Files are numbered in the order of their reading, which the threads decide.
fn forget_numbers(fault: &mut Fault) {
    fault.origin = None;
    fault.causes.iter_mut().for_each(forget_numbers);
}

#[test]
fn findings_and_graphs_are_the_same_with_any_number_of_threads() {
    let mut looked = 0;
    for (name, mut options, _folder) in inventories() {
        let results = [1, 3].map(|threads| {
            options.insert("threads".into(), Value::Int(threads));
            let mut findings = lint(&options, &[], &()).unwrap();
            for finding in &mut findings {
                forget_numbers(&mut finding.fault);
            }
            let drawn = Inventory::open(&options).and_then(|inventory| {
                let redaction = Redaction::of(inventory.settings());
                let page = html(&data(&inventory, &[], &redaction, &PageOptions::default())?, None);
                Ok((dot(&graph(&inventory, &[])?), page))
            });
            (findings, drawn.map_err(|error| reclass::error::concise(&error)))
        });
        looked += results[0].0.len();
        let [one, several] = &results;
        assert!(one == several, "{name}");
    }
    println!("{looked} findings");
    assert!(looked > 100, "{looked}");
}

/// One finding: its code, its path with the section, and its file.
type Found = (&'static str, String, String);

#[derive(Clone, Copy)]
struct Plain<'a> {
    survey: &'a Survey,
    prefixes: &'a Prefixes,
    delimiter: &'a str,
    exports: bool,
}

impl Plain<'_> {
    fn map(self, layer: &Layer) -> std::sync::Arc<MapSlot> {
        settled(if self.exports { &layer.exports } else { &layer.parameters }, self.prefixes)
    }

    fn found(self, code: &'static str, path: &[Key], file: &SurveyedFile) -> Found {
        let section = if self.exports { "exports:" } else { "" };
        (code, format!("{section}{}", join_path(path, self.delimiter)), file.path.to_string())
    }

    /// The scalars without a prefix in a file that replace an equal scalar in each of its nodes.
    fn repeated(self, file: &SurveyedFile, layer: &Layer, out: &mut BTreeSet<Found>) {
        self.map(layer).visit(&mut |path, slot| match slot {
            Slot::Map(_) => true,
            Slot::Stack(stack) => {
                let inside = matches!(stack.entries.as_slice(), [only]
                    if !only.prefix.overrides && matches!(only.slot, Slot::Map(_)));
                inside
            }
            Slot::Value(value, _) if is_scalar(value) => {
                let equal = |node: &Surveyed| self.before(node, layer.file, path).as_ref() == Some(value);
                if !file.nodes.is_empty() && self.survey.users(file).all(equal) {
                    out.insert(self.found("value-repeated", path, file));
                }
                false
            }
            _ => false,
        });
    }

    /// The scalar that a node has at a path before a file; `None` if there is none, or another value, or if
    /// it is not known.
    fn before(self, node: &Surveyed, file: FileId, path: &[Key]) -> Option<Value> {
        let automatic = node.layers.as_ref().ok()?.extra.automatic.as_ref().filter(|_| !self.exports);
        if automatic.is_some_and(|map| map.at(path).is_some()) {
            return None;
        }
        let (mut before, mut constant) = (None, false);
        for layer in node.layers_before(file) {
            let map = self.map(layer);
            let Some((slot, rest)) = map.at(path) else { continue };
            let only = match slot {
                Slot::Stack(stack) if stack.entries.len() == 1 => Some(&stack.entries[0]),
                _ => None,
            };
            match (slot, only) {
                (Slot::Value(value, _), _) if rest.is_empty() => {
                    before = if constant { before } else { Some(value.clone()) };
                }
                (_, Some(only)) if rest.is_empty() && only.prefix.constant && !only.prefix.overrides => {
                    let Slot::Value(value, _) = &only.slot else { return None };
                    before = if constant { before } else { Some(value.clone()) };
                    constant = true;
                }
                _ if constant || holds_constant(slot, rest) => return None,
                _ => before = None,
            }
        }
        before
    }

    /// The keys with `~` that come after nothing in any node.
    fn replacing_nothing(self, file: &SurveyedFile, layer: &Layer, out: &mut BTreeSet<Found>) {
        self.map(layer).visit(&mut |path, slot| {
            if let Slot::Stack(stack) = slot
                && stack.entries.first().is_some_and(|entry| entry.prefix.overrides)
                && !self.survey.users(file).any(|node| self.may_have(node, layer.file, path))
            {
                out.insert(self.found("override-without-effect", path, file));
            }
            matches!(slot, Slot::Map(_) | Slot::Stack(_))
        });
    }

    fn may_have(self, node: &Surveyed, file: FileId, path: &[Key]) -> bool {
        let automatic = node.layers.as_ref().unwrap().extra.automatic.as_ref().filter(|_| !self.exports);
        automatic.is_some_and(|map| may_have(map, path))
            || node.layers_before(file).any(|layer| may_have(&self.map(layer), path))
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Map(_) | Value::List(_) | Value::Set(_) | Value::Tuple(_))
}

fn holds_constant(slot: &Slot, path: &[Key]) -> bool {
    match (slot, path.split_first()) {
        (Slot::Stack(stack), _) => {
            stack.entries.iter().any(|entry| entry.prefix.constant || holds_constant(&entry.slot, path))
        }
        (Slot::Map(map), Some((first, rest))) => {
            map.entries.get(first).is_some_and(|slot| holds_constant(slot, rest))
        }
        _ => false,
    }
}

fn may_have(map: &MapSlot, path: &[Key]) -> bool {
    fn inside(slot: &Slot, rest: &[Key]) -> bool {
        match slot {
            _ if rest.is_empty() => true,
            Slot::Map(map) => may_have(map, rest),
            Slot::Stack(stack) => stack.entries.iter().any(|entry| inside(&entry.slot, rest)),
            Slot::Text(..) | Slot::Query(..) => true,
            _ => false,
        }
    }
    let Some((first, rest)) = path.split_first() else { return false };
    map.entries.get(first).is_some_and(|slot| inside(slot, rest))
}

/// What the plain form finds; `None` if a file or a node is in error, because users are not known then.
fn plainly(inventory: &Inventory) -> Option<BTreeSet<Found>> {
    let seen = inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let is_whole = survey.nodes.iter().all(|node| node.layers.is_ok())
            && survey.files.iter().all(|file| file.layer.is_ok());
        let prefixes = Prefixes::new(computation.settings);
        let delimiter = &computation.settings.delimiter;
        let mut found = BTreeSet::new();
        for file in survey.files.iter().filter(|file| is_whole && !file.nodes.is_empty()) {
            let layer = file.layer.as_ref().unwrap();
            for exports in [false, true] {
                let plain = Plain { survey: &survey, prefixes: &prefixes, delimiter, exports };
                plain.repeated(file, layer, &mut found);
                plain.replacing_nothing(file, layer, &mut found);
            }
        }
        is_whole.then_some(found)
    });
    seen.ok().flatten()
}

#[test]
fn findings_are_those_of_a_plain_comparison() {
    let (mut looked, mut inventories_looked) = (0, 0);
    for (name, options, _folder) in inventories() {
        let Ok(inventory) = Inventory::open(&options) else { continue };
        let Some(plain) = plainly(&inventory) else { continue };
        let mut seen = BTreeSet::new();
        let mut places = BTreeSet::new();
        for finding in lint(&options, &[], &()).unwrap() {
            let fault = &finding.fault;
            let Some(site) = &fault.site else { continue };
            places.insert(site.path.to_string());
            let is_checked = fault.code() == "value-repeated"
                || fault.code() == "override-without-effect"
                    && fault.kind.to_string().ends_with("replaces nothing in any node");
            if let Some(path) = fault.path.as_ref().filter(|_| is_checked) {
                let section = if fault.export { "exports:" } else { "" };
                seen.insert((fault.code(), format!("{section}{path}"), site.path.to_string()));
            }
        }
        assert_eq!(seen, plain, "{name}");
        looked += seen.len();
        inventories_looked += 1;
    }
    println!("{looked} findings in {inventories_looked} inventories");
    assert!(looked > 50, "{looked}");
}
