//! A layer is the content of one file in the five sections of reclass. It is the unit that merges.
//!
//! A layer depends only on the file, its name and the settings, and never changes. All strings are parsed
//! here: as in the Python forks, a malformed reference fails every node that includes the file.

mod aliased;
mod class_name;
mod keys;
mod path;
mod slots;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::model::grains::has_grains;
use crate::model::interner::Interner;
use crate::model::merge::Prefixes;
use crate::model::merge_options::{Declaration, MergeRules, declaration, enabled, too_many};
use crate::model::slot::MapSlot;
use crate::model::template::{Template, parse};
use reclass_base::error::help::{NO_BREAK, NO_BREAK_STRING};
use reclass_base::error::{Error, Fault, Kind, MAX_FAULTS, Result, Warning, push_fault, truncate_faults};
use reclass_base::pattern::{Glob, is_wild};
use reclass_base::secrets::Secrets;
use reclass_base::settings::Settings;
use reclass_base::source::{FileId, Origin};
use reclass_base::stack::grow;
use reclass_base::value::{Text, Value};
use reclass_yaml::compose::{Data, Document, Entry, Node};
use reclass_yaml::to_value;

pub use class_name::{absolute_names, class_entry};
pub use keys::keys_with_same_text;

/// The sections of one file.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The file.
    pub file: FileId,
    /// The included classes, unique and in order.
    pub classes: Vec<ClassEntry>,
    /// Entries that repeat one of them, by displayed name.
    pub repeated_classes: Vec<(Text, Origin)>,
    /// The applications that it adds and removes.
    pub applications: Applications,
    /// The environment; only the one of a node has an effect (S9).
    pub environment: Option<Value>,
    /// The parameters of this file alone.
    pub parameters: Arc<MapSlot>,
    /// The exports of this file alone.
    pub exports: Arc<MapSlot>,
    /// Queries embedded in text. They fail a node with this layer, but not other nodes that query its other
    /// exports (Q4, Q5).
    pub embedded_queries: Vec<Fault>,
    /// The declarations of the section `merge_options`, if the setting of that name allows it.
    pub merge_options: Vec<Arc<Declaration>>,
    /// Whether its file has an alias, so that a value may be at several paths.
    pub aliased: bool,
    /// The place of the layer among those of a node, if merge options are in force there.
    pub ruled: Option<Ruled>,
    /// The warnings about this file.
    pub warnings: Vec<Warning>,
}

/// Merge options that are in force for a layer. The parameters of the layer have them at each list.
#[derive(Clone, Debug)]
pub struct Ruled {
    /// The declarations, those of the layer included.
    pub rules: Arc<MergeRules>,
    /// The layer of the file.
    pub layer: Arc<Layer>,
}

/// One entry of `classes`.
#[derive(Clone, PartialEq, Debug)]
pub struct ClassEntry {
    /// The displayed name: absolute, with references as written (S3).
    pub name: Text,
    /// The name to look up, with escapes resolved. For a name with references, see `template`.
    pub lookup: Text,
    /// Names to try if the first does not exist, in order. They implement the documented relative names in
    /// `init.yml` (S5).
    pub alternatives: Vec<Text>,
    /// The parsed name, if it contains references.
    pub template: Option<Arc<Template>>,
    /// Whether the name is a pattern of class names (`class_wildcards`), unless a class has this very name.
    pub wild: bool,
    /// The base of a name with a dot in front; `None` for other names.
    pub relative: Option<RelativeTo>,
    /// Where it is listed.
    pub origin: Origin,
}

/// The base of a relative name of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelativeTo {
    /// The folder of the class that lists it.
    Folder,
    /// The name of the node that lists it, whatever folder its file is in.
    NodeName,
}

impl ClassEntry {
    /// A class with a plain name, listed in no file.
    pub fn plain(name: Text) -> ClassEntry {
        ClassEntry {
            lookup: name.clone(),
            name,
            alternatives: Vec::new(),
            template: None,
            wild: false,
            relative: None,
            origin: Origin::NONE,
        }
    }

    /// The pattern of class names that does not depend on a node.
    pub fn pattern(&self) -> Option<Glob> {
        (self.wild && self.template.is_none()).then(|| Glob::new(&self.lookup))
    }

    /// Why no class has the name, if it has wildcards or a dot in front.
    pub fn missing_note(&self) -> Option<&'static str> {
        if self.wild {
            return Some("it is a pattern, and matches no class");
        }
        match self.relative {
            Some(RelativeTo::Folder) => Some(
                "a name that begins with '.' is relative to the folder of its file, and with '..' to the one above",
            ),
            Some(RelativeTo::NodeName) => Some(
                "in the file of a node, a name that begins with '.' is relative to the name of the node, without its last part: write the whole name of the class",
            ),
            None => {
                is_wild(&self.lookup).then_some("with the setting 'class_wildcards: true' it is a pattern")
            }
        }
    }

    /// A class that this entry includes as a pattern.
    #[must_use]
    pub fn of_pattern(&self, class: &Text) -> ClassEntry {
        ClassEntry { origin: self.origin, ..ClassEntry::plain(class.clone()) }
    }
}

/// The applications of one layer. Removals come before additions (S8).
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Applications {
    /// Names with `~`, to remove from earlier layers.
    pub removals: Vec<(Text, Origin)>,
    /// Names to add, after the layer's own removals.
    pub additions: Vec<(Text, Origin)>,
    /// Entries without effect: repeated ones, and those that a later entry of the same list removes.
    pub ineffective: Vec<(Text, Origin)>,
}

impl Applications {
    /// Applications of all layers: each layer's removals, then its additions (S8).
    pub fn merged<'a>(layers: impl Iterator<Item = &'a Applications>) -> Vec<Text> {
        // Removal leaves a gap. An application that is added again comes last.
        let (mut all, mut places) = (Vec::new(), FxHashMap::default());
        for layer in layers {
            for (removed, _) in &layer.removals {
                if let Some(place) = places.remove(removed) {
                    all[place] = None;
                }
            }
            for (added, _) in &layer.additions {
                places.entry(added).or_insert_with(|| {
                    all.push(Some(added));
                    all.len() - 1
                });
            }
        }
        all.into_iter().flatten().cloned().collect()
    }
}

/// A failed result, and the part of it that serves only to find more faults, never for an answer.
#[derive(Clone, Debug)]
pub struct Incomplete<T> {
    /// The faults.
    pub error: Error,
    /// The part without faults. In a layer, a template without parts replaces an unreadable value and fails
    /// silently.
    pub rest: Option<T>,
    /// Whether classes and parameters are complete, except for unreadable values.
    pub whole: bool,
}

/// The layer of a file, or its faults.
pub type LayerResult = Result<Arc<Layer>, Incomplete<Arc<Layer>>>;

impl<T> From<Error> for Incomplete<T> {
    fn from(error: Error) -> Incomplete<T> {
        Incomplete { error, rest: None, whole: false }
    }
}

impl<T> From<Error> for Box<Incomplete<T>> {
    fn from(error: Error) -> Box<Incomplete<T>> {
        Box::new(error.into())
    }
}

impl<T> From<Incomplete<T>> for Error {
    fn from(incomplete: Incomplete<T>) -> Error {
        incomplete.error
    }
}

/// The file that a layer is built from.
#[derive(Clone, Copy, Debug)]
pub struct LayerSource<'a> {
    /// The file itself.
    pub file: FileId,
    /// The name of the class or node, the base of relative names.
    pub name: &'a str,
    /// Whether the file is an `init.yml`, whose class is named after its folder.
    pub init: bool,
    /// Whether it is a class, and not a node.
    pub is_class: bool,
    /// The checked settings.
    pub settings: &'a Settings,
}

const SECTIONS: [&str; 5] = ["classes", "applications", "parameters", "exports", "environment"];

/// The section that counts only with the setting of this name.
const MERGE_OPTIONS: &str = "merge_options";

impl Layer {
    /// A layer of parameters that come from no file.
    pub fn of_parameters(parameters: Arc<MapSlot>) -> Layer {
        Layer {
            file: FileId::NONE,
            classes: Vec::new(),
            repeated_classes: Vec::new(),
            applications: Applications::default(),
            environment: None,
            parameters,
            exports: Arc::new(MapSlot::empty()),
            embedded_queries: Vec::new(),
            merge_options: Vec::new(),
            aliased: false,
            ruled: None,
            warnings: Vec::new(),
        }
    }

    /// The merge options in force after this layer.
    pub fn rules(&self) -> Option<&Arc<MergeRules>> {
        self.ruled.as_ref().map(|ruled| &ruled.rules)
    }

    /// The layer under these merge options, those of the layer included.
    pub fn under(self: &Arc<Layer>, rules: Arc<MergeRules>, prefixes: &Prefixes) -> Layer {
        let parameters = rules.apply(&self.parameters, prefixes);
        Layer { parameters, ruled: Some(Ruled { rules, layer: self.clone() }), ..(**self).clone() }
    }

    /// Builds the layer of a document, and reports all faults in it at once. `interner` must be the one
    /// that the document was composed with.
    pub fn build(
        document: &Document,
        source: LayerSource<'_>,
        interner: &Interner,
    ) -> Result<Layer, Incomplete<Arc<Layer>>> {
        let prefixes = Prefixes::new(source.settings);
        let mut builder = Builder {
            source,
            prefixes,
            interner,
            faults: Vec::new(),
            whole: true,
            environment_lost: false,
            embedded_queries: Vec::new(),
            warnings: Vec::new(),
        };
        let mut layer = builder.layer(document);
        let (whole, environment_lost) = (builder.whole, builder.environment_lost);
        let mut faults = builder.faults;
        let quoting: Vec<&mut Fault> = faults.iter_mut().chain(&mut layer.embedded_queries).collect();
        if !quoting.is_empty() {
            let secrets = Secrets::of(source.settings);
            let delimiter = &source.settings.delimiter;
            let nodes = quoting.iter().filter_map(|fault| Some(fault.origin?.node));
            let paths = path::paths_of_nodes(document, nodes.collect(), delimiter);
            for fault in quoting {
                let place = fault.origin.and_then(|origin| paths.get(&origin.node));
                if let Some((path, export)) = place {
                    fault.path = Some(path.clone());
                    fault.export = *export;
                }
                fault.redact_query(&secrets, delimiter);
            }
        }
        if faults.is_empty() {
            return Ok(layer);
        }
        let rest = (!environment_lost).then(|| Arc::new(layer));
        Err(Incomplete { error: Error::new(faults), rest, whole: whole && !environment_lost })
    }
}

struct Builder<'a> {
    source: LayerSource<'a>,
    prefixes: Prefixes,
    interner: &'a Interner,
    faults: Vec<Fault>,
    /// Whether only values are wrong.
    whole: bool,
    /// Whether the environment of a node is wrong. Then its classes are unknown.
    environment_lost: bool,
    embedded_queries: Vec<Fault>,
    warnings: Vec<Warning>,
}

impl Builder<'_> {
    fn origin(&self, node: u32) -> Origin {
        Origin { file: self.source.file, node }
    }

    /// Adds a fault in more than a value. Applications, exports and the environment do not influence
    /// parameters.
    fn fail(&mut self, section: &str, fault: Fault) {
        push_fault(&mut self.faults, fault);
        self.whole &= matches!(section, "applications" | "exports" | "environment");
    }

    fn layer(&mut self, document: &Document) -> Layer {
        let empty = Vec::new();
        let entries: &[Entry] = match &document.root {
            None | Some(Node { data: Data::Value(Value::Null), .. }) => &empty,
            Some(Node { data: Data::Map(entries), .. }) => entries,
            Some(node) => {
                let found = type_name(node);
                self.fail("", Fault::new(Kind::NotAMapping { found }).at(self.origin(node.index)));
                &empty
            }
        };
        for (kind, key) in unknown_sections(document, enabled(self.source.settings)) {
            let fault = Fault::new(kind).at(self.origin(key));
            push_fault(&mut self.warnings, fault);
        }
        truncate_faults(&mut self.warnings, MAX_FAULTS);
        let section =
            |name: &str| entries.iter().find(|entry| entry.key.as_str() == Some(name)).map(|e| &e.value);
        let (classes, repeated_classes) = self.classes(section("classes"));
        let applications = self.applications(section("applications"));
        self.check_grains(section("parameters"));
        let parameters = self.mapping("parameters", section("parameters"));
        let exports = self.mapping("exports", section("exports"));
        let environment = self.environment(section("environment"));
        let merge_options = match section(MERGE_OPTIONS) {
            Some(node) if enabled(self.source.settings) => self.merge_options(node),
            _ => Vec::new(),
        };
        Layer {
            file: self.source.file,
            classes,
            repeated_classes,
            applications,
            environment,
            parameters,
            exports,
            embedded_queries: std::mem::take(&mut self.embedded_queries),
            merge_options,
            aliased: document.aliased,
            ruled: None,
            warnings: std::mem::take(&mut self.warnings),
        }
    }

    /// Reports a parameter at the key that leads to grains, with a prefix or without.
    fn check_grains(&mut self, parameters: Option<&Node>) {
        let settings = self.source.settings;
        let Some(Node { data: Data::Map(entries), .. }) = parameters.filter(|_| has_grains(settings)) else {
            return;
        };
        for entry in entries.iter() {
            let Some(key) = entry.key.as_str() else { continue };
            let name = self.prefixes.name(key);
            if *name == *settings.grains_key {
                let fault = Fault::new(Kind::GrainsSet { key: name.to_owned() });
                let fault = fault.at(self.origin(entry.key_index));
                push_fault(&mut self.faults, fault);
            }
        }
    }

    /// The declarations of `merge_options`, in order.
    fn merge_options(&mut self, node: &Node) -> Vec<Arc<Declaration>> {
        let entries: &[Entry] = match &node.data {
            Data::Value(Value::Null) => &[],
            Data::Map(entries) => entries,
            _ => {
                let (section, found) = (MERGE_OPTIONS.into(), type_name(node));
                let kind = Kind::SectionType { section, expected: "mapping", found };
                self.fail(MERGE_OPTIONS, Fault::new(kind).at(self.origin(node.index)));
                &[]
            }
        };
        if let Some(invalid) = too_many(entries.len()) {
            self.fail(MERGE_OPTIONS, invalid.in_file().at(self.origin(node.index)));
            return Vec::new();
        }
        let mut declarations = Vec::with_capacity(entries.len());
        for entry in entries {
            let origin = self.origin(entry.key_index);
            let delimiter = &self.source.settings.delimiter;
            match declaration(&entry.key.0, &to_value(&entry.value), delimiter, origin) {
                Ok(declaration) => declarations.push(Arc::new(declaration)),
                Err(invalid) => {
                    let origin = self.origin(entry.value.index);
                    self.fail(MERGE_OPTIONS, invalid.in_file().at(origin));
                }
            }
        }
        declarations
    }

    /// The environment. The forks take any scalar; a container names nothing (S18).
    fn environment(&mut self, node: Option<&Node>) -> Option<Value> {
        match node {
            None | Some(Node { data: Data::Value(Value::Null), .. }) => None,
            Some(Node { data: Data::Value(value), .. }) => Some(value.clone()),
            Some(node) => {
                let kind = Kind::SectionType {
                    section: "environment".into(),
                    expected: "string",
                    found: type_name(node),
                };
                // The environment of a class has no effect.
                self.environment_lost |= !self.source.is_class;
                self.fail("environment", Fault::new(kind).at(self.origin(node.index)));
                None
            }
        }
    }

    fn list<'n>(&mut self, section: &str, node: Option<&'n Node>) -> &'n [Node] {
        match node {
            None | Some(Node { data: Data::Value(Value::Null), .. }) => &[],
            Some(Node { data: Data::List(items), .. }) => items,
            Some(node) => {
                let found = type_name(node);
                let kind = Kind::SectionType { section: section.into(), expected: "list", found };
                self.fail(section, Fault::new(kind).at(self.origin(node.index)));
                &[]
            }
        }
    }

    fn string_entry(&mut self, section: &str, node: &Node) -> Option<Text> {
        if let Data::Value(Value::Str(text)) = &node.data {
            return Some(text.clone());
        }
        let kind = Kind::EntryType { section: section.into(), found: type_name(node) };
        self.fail(section, Fault::new(kind).at(self.origin(node.index)));
        None
    }

    fn classes(&mut self, node: Option<&Node>) -> (Vec<ClassEntry>, Vec<(Text, Origin)>) {
        let mut classes: Vec<ClassEntry> = Vec::new();
        let mut again = Vec::new();
        let mut seen = FxHashSet::default();
        for item in self.list("classes", node) {
            let Some(written) = self.string_entry("classes", item) else { continue };
            let origin = self.origin(item.index);
            let parse = |name: &Text| parse(name, self.source.settings);
            match class_entry(&written, self.source, origin, parse) {
                Ok(entry) => {
                    if seen.insert(entry.name.clone()) {
                        classes.push(entry);
                    } else {
                        again.push((entry.name, origin));
                    }
                }
                Err(fault) => self.fail("classes", fault.at(origin)),
            }
        }
        (classes, again)
    }

    fn applications(&mut self, node: Option<&Node>) -> Applications {
        let mut applications = Applications::default();
        // Removal leaves a gap, so that the other positions stay valid.
        let mut additions: Vec<Option<(Text, Origin)>> = Vec::new();
        let mut paths: FxHashMap<Text, usize> = FxHashMap::default();
        for item in self.list("applications", node) {
            let Some(name) = self.string_entry("applications", item) else { continue };
            let origin = self.origin(item.index);
            if let Some(removed) = name.strip_prefix('~') {
                let removed = Text::from(removed);
                let place = paths.remove(&removed);
                applications.ineffective.extend(place.and_then(|place| additions.get_mut(place)?.take()));
                applications.removals.push((removed, origin));
            } else if paths.contains_key(&name) {
                applications.ineffective.push((name, origin));
            } else {
                paths.insert(name.clone(), additions.len());
                additions.push(Some((name, origin)));
            }
        }
        applications.additions.extend(additions.into_iter().flatten());
        applications
    }

    fn mapping(&mut self, section: &str, node: Option<&Node>) -> Arc<MapSlot> {
        match node {
            None | Some(Node { data: Data::Value(Value::Null), .. }) => Arc::new(MapSlot::empty()),
            Some(node @ Node { data: Data::Map(entries), .. }) => {
                Arc::new(self.map(entries, self.origin(node.index)))
            }
            Some(node) => {
                let kind = Kind::SectionType {
                    section: section.into(),
                    expected: "mapping",
                    found: type_name(node),
                };
                self.fail(section, Fault::new(kind).at(self.origin(node.index)));
                Arc::new(MapSlot::empty())
            }
        }
    }
}

/// The top-level keys of a document without a meaning, with their nodes (Y6).
/// `merge_options` has one if the setting of that name allows it.
pub fn unknown_sections(document: &Document, merge_options: bool) -> Vec<(Kind, u32)> {
    let Some(Node { data: Data::Map(entries), .. }) = &document.root else { return Vec::new() };
    let mut unknown = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.key.as_str().is_some_and(|key| SECTIONS.contains(&key)))
    {
        let name = reclass_base::pystr::str(&entry.key.0);
        let known = SECTIONS.contains(&name.as_str()) || merge_options && name == MERGE_OPTIONS;
        // Files keep anchors in sections of their own. `_param` is what belongs below `parameters`.
        if !known && (!name.starts_with('_') || name == "_param") {
            let similar = reclass_base::similar::nearest(&name, SECTIONS).map(str::to_owned);
            unknown.push((Kind::UnknownSection { name, similar }, entry.key_index));
        }
    }
    unknown
}

fn type_name(node: &Node) -> &'static str {
    match &node.data {
        // YAML takes it for a letter, so that what looks like a key or an entry is one text.
        Data::Value(Value::Str(text)) if text.contains(NO_BREAK) => NO_BREAK_STRING,
        Data::Value(value) => value.type_name(),
        Data::List(_) => "list",
        Data::Map(_) => "mapping",
    }
}
