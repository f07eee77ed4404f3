//! Layers turn the document of one file into the five sections that reclass knows.
//!
//! A layer depends on its file, its name and the settings, and is never changed after it is
//! built. All strings are parsed for references here, so that a reference that does not
//! parse fails every node that includes the file, as in the Python forks.

mod path;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Error, Fault, Kind, Result, Warning};
use crate::merge::{Normalized, Prefixes};
use crate::secrets::Secrets;
use crate::settings::Settings;
use crate::slot::{Entries, ListSlot, MapSlot, RawSlot, Slot};
use crate::source::{FileId, Origin};
use crate::template::{Parsed, Template, Words};
use crate::value::{Text, Value};
use crate::yaml::compose::{Data, Document, Entry, Node};

/// The sections of one file.
#[derive(Debug)]
pub struct Layer {
    /// The file.
    pub file: FileId,
    /// Its parent classes, unique, in order.
    pub classes: Vec<ClassEntry>,
    /// Entries that name one of them once more, by the names that the result shows.
    pub listed_again: Vec<(Text, Origin)>,
    /// Its applications and removals.
    pub applications: Applications,
    /// Its environment; only a node's counts (S9).
    pub environment: Option<Value>,
    /// Its parameters, merged into nothing.
    pub parameters: Arc<MapSlot>,
    /// Its exports, merged into nothing.
    pub exports: Arc<MapSlot>,
    /// Queries with text around them: a node with this layer fails, but not one that asks it for
    /// other exports (Q4, Q5).
    pub embedded: Vec<Fault>,
    /// What was noticed.
    pub warnings: Vec<Warning>,
}

/// One entry of `classes`.
#[derive(Clone, PartialEq, Debug)]
pub struct ClassEntry {
    /// The name as the result shows it: absolute, references as written (S3).
    pub name: Text,
    /// The name that is looked up, where it holds no reference: escapes are applied.
    pub lookup: Text,
    /// Further names to try, in order, where the first does not exist: what the documentation
    /// says of relative names in `init.yml` (S5).
    pub alternatives: Vec<Text>,
    /// The name as a template, where it holds references.
    pub template: Option<Arc<Template>>,
    /// Where it is listed.
    pub origin: Origin,
}

impl ClassEntry {
    /// A class by its plain name, listed in no file.
    pub fn plain(name: Text) -> ClassEntry {
        ClassEntry {
            lookup: name.clone(),
            name,
            alternatives: Vec::new(),
            template: None,
            origin: Origin::NONE,
        }
    }
}

/// Applications of one layer: what it takes away, then what it adds (S8).
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Applications {
    /// Names with `~`, to be removed from what came before.
    pub removals: Vec<(Text, Origin)>,
    /// Names to add, the layer's own removals already applied.
    pub additions: Vec<(Text, Origin)>,
    /// Names that change nothing: they stand in the list already, or a later entry of it removes them.
    pub undone: Vec<(Text, Origin)>,
}

/// A file that cannot be a layer.
#[derive(Clone, Debug)]
pub struct Unread {
    /// What is wrong with it.
    pub error: Error,
    /// What is not wrong with it.
    pub rest: Option<Rest>,
}

/// What is left of a file with problems: only to find more of them in the same go, never for an answer.
#[derive(Clone, Debug)]
pub struct Rest {
    /// Its layer; where a value cannot be read stands a text without parts, which fails and tells nothing.
    pub layer: Arc<Layer>,
    /// Whether its classes and parameters are all there, such values among them.
    pub whole: bool,
}

impl From<Error> for Unread {
    fn from(error: Error) -> Unread {
        Unread { error, rest: None }
    }
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Error {
        unread.error
    }
}

/// What a layer is built for.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The file.
    pub file: FileId,
    /// The name of the class or node, for relative names.
    pub name: &'a str,
    /// Whether the file is an `init.yml`, whose class is its folder.
    pub init: bool,
    /// Whether it is a class.
    pub is_class: bool,
    /// The settings.
    pub settings: &'a Settings,
}

const SECTIONS: [&str; 5] = ["classes", "applications", "parameters", "exports", "environment"];

impl Layer {
    /// A layer of parameters that no file wrote.
    pub fn of_parameters(parameters: Arc<MapSlot>) -> Layer {
        Layer {
            file: FileId::NONE,
            classes: Vec::new(),
            listed_again: Vec::new(),
            applications: Applications::default(),
            environment: None,
            parameters,
            exports: Arc::new(MapSlot::empty()),
            embedded: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Builds the layer of a document; every fault in it is reported at once.
    /// `words` made the strings of the document.
    pub fn build(document: &Document, subject: Subject<'_>, words: &Words<'_>) -> Result<Layer, Unread> {
        let prefixes = Prefixes::new(subject.settings);
        let mut builder = Builder {
            subject,
            prefixes,
            words,
            faults: Vec::new(),
            whole: true,
            lost: false,
            embedded: Vec::new(),
            warnings: Vec::new(),
        };
        let mut layer = builder.layer(document);
        let (whole, lost) = (builder.whole, builder.lost);
        let mut faults = builder.faults;
        let quoting: Vec<&mut Fault> = faults.iter_mut().chain(&mut layer.embedded).collect();
        if !quoting.is_empty() {
            let secrets = Secrets::of(subject.settings);
            let delimiter = &subject.settings.delimiter;
            for fault in quoting {
                let place = fault.origin.and_then(|origin| path::place(document, origin.node, delimiter));
                if let Some((path, export)) = place {
                    fault.path = Some(path);
                    fault.export = export;
                }
                secrets.withhold(fault, delimiter);
            }
        }
        if faults.is_empty() {
            return Ok(layer);
        }
        let rest = (!lost).then(|| Rest { layer: Arc::new(layer), whole });
        Err(Unread { error: Error::new(faults), rest })
    }
}

struct Builder<'a> {
    subject: Subject<'a>,
    prefixes: Prefixes,
    words: &'a Words<'a>,
    faults: Vec<Fault>,
    /// Whether nothing is wrong but values.
    whole: bool,
    /// Whether the environment of a node is wrong: then nobody knows which classes these are.
    lost: bool,
    embedded: Vec<Fault>,
    warnings: Vec<Warning>,
}

impl Builder<'_> {
    fn origin(&self, node: u32) -> Origin {
        Origin { file: self.subject.file, node }
    }

    /// A problem with more than a value. Applications, exports and the environment have no part in what
    /// parameters come to.
    fn refuse(&mut self, section: &str, fault: Fault) {
        self.faults.push(fault);
        self.whole &= matches!(section, "applications" | "exports" | "environment");
    }

    fn layer(&mut self, document: &Document) -> Layer {
        let empty = Vec::new();
        let entries: &[Entry] = match &document.root {
            None | Some(Node { data: Data::Value(Value::Null), .. }) => &empty,
            Some(Node { data: Data::Map(entries), .. }) => entries,
            Some(node) => {
                let found = type_name(node);
                self.refuse("", Fault::new(Kind::NotAMapping { found }).at(self.origin(node.index)));
                &empty
            }
        };
        for (kind, key) in unknown_sections(document) {
            self.warnings.push(Fault::new(kind).at(self.origin(key)));
        }
        let section =
            |name: &str| entries.iter().find(|entry| entry.key.as_str() == Some(name)).map(|e| &e.value);
        let (classes, listed_again) = self.classes(section("classes"));
        let applications = self.applications(section("applications"));
        let parameters = self.mapping("parameters", section("parameters"));
        let exports = self.mapping("exports", section("exports"));
        let environment = self.environment(section("environment"));
        Layer {
            file: self.subject.file,
            classes,
            listed_again,
            applications,
            environment,
            parameters,
            exports,
            embedded: std::mem::take(&mut self.embedded),
            warnings: std::mem::take(&mut self.warnings),
        }
    }

    /// The environment: the forks take any scalar; a container names nothing (S18).
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
                // That of a class means nothing.
                self.lost |= !self.subject.is_class;
                self.refuse("environment", Fault::new(kind).at(self.origin(node.index)));
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
                self.refuse(section, Fault::new(kind).at(self.origin(node.index)));
                &[]
            }
        }
    }

    fn word(&mut self, section: &str, node: &Node) -> Option<Text> {
        if let Data::Value(Value::Str(text)) = &node.data {
            return Some(text.clone());
        }
        let kind = Kind::EntryType { section: section.into(), found: type_name(node) };
        self.refuse(section, Fault::new(kind).at(self.origin(node.index)));
        None
    }

    fn classes(&mut self, node: Option<&Node>) -> (Vec<ClassEntry>, Vec<(Text, Origin)>) {
        let mut classes: Vec<ClassEntry> = Vec::new();
        let mut again = Vec::new();
        let mut seen = FxHashSet::default();
        for item in self.list("classes", node) {
            let Some(written) = self.word("classes", item) else { continue };
            let origin = self.origin(item.index);
            let parse = |name: &Text| self.words.parse(name, self.subject.settings);
            match class_entry(&written, self.subject, origin, parse) {
                Ok(entry) => {
                    if seen.insert(entry.name.clone()) {
                        classes.push(entry);
                    } else {
                        again.push((entry.name, origin));
                    }
                }
                Err(fault) => self.refuse("classes", fault.at(origin)),
            }
        }
        (classes, again)
    }

    fn applications(&mut self, node: Option<&Node>) -> Applications {
        let mut applications = Applications::default();
        // One that is removed leaves its place empty.
        let mut additions: Vec<Option<(Text, Origin)>> = Vec::new();
        let mut places: FxHashMap<Text, usize> = FxHashMap::default();
        for item in self.list("applications", node) {
            let Some(name) = self.word("applications", item) else { continue };
            let origin = self.origin(item.index);
            if let Some(removed) = name.strip_prefix('~') {
                let removed = Text::from(removed);
                let place = places.remove(&removed);
                applications.undone.extend(place.and_then(|place| additions.get_mut(place)?.take()));
                applications.removals.push((removed, origin));
            } else if places.contains_key(&name) {
                applications.undone.push((name, origin));
            } else {
                places.insert(name.clone(), additions.len());
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
                self.refuse(section, Fault::new(kind).at(self.origin(node.index)));
                Arc::new(MapSlot::empty())
            }
        }
    }

    /// A mapping that merges: what [`crate::merge::normalize`] makes of one that does not.
    fn map(&mut self, entries: &[Entry], origin: Origin) -> MapSlot {
        let slots: Vec<Slot> = entries.iter().map(|entry| self.merging(&entry.value)).collect();
        let keys = || entries.iter().map(|entry| &entry.key);
        if !keys().any(|key| self.prefixes.is_prefixed(key))
            && let Some(known) = self.words.keys(keys())
        {
            let entries = Entries::with_keys(known, slots).unwrap_or_default();
            return MapSlot::new(entries, origin, false);
        }
        let mut map = Normalized::with_capacity(entries.len());
        for (key, slot) in keys().zip(slots) {
            map.insert(key.clone(), slot, &self.prefixes);
        }
        let mut map = map.finish(origin);
        self.words.share_keys(&mut map.entries);
        map
    }

    /// A slot of a mapping that merges: so does a mapping in it.
    fn merging(&mut self, node: &Node) -> Slot {
        match &node.data {
            Data::Map(inner) => {
                let origin = self.origin(node.index);
                Slot::Map(Arc::new(grow(|| self.map(inner, origin))))
            }
            _ => self.slot(node),
        }
    }

    /// A mapping inside of a list.
    fn raw(&mut self, entries: &[Entry], origin: Origin) -> RawSlot {
        let slots: Vec<Slot> = entries.iter().map(|entry| self.slot(&entry.value)).collect();
        let keys = entries.iter().map(|entry| &entry.key);
        if let Some(known) = self.words.keys(keys.clone()) {
            return RawSlot::new(Entries::with_keys(known, slots).unwrap_or_default(), origin);
        }
        let mut slots: Entries = keys.cloned().zip(slots).collect();
        self.words.share_keys(&mut slots);
        RawSlot::new(slots, origin)
    }

    /// What stands for a text that does not parse. A query with text around it stays one that
    /// nobody may have who is not the node itself (Q6).
    fn unparsed(&mut self, fault: Fault, origin: Origin) -> Slot {
        if let Kind::QueryEmbedded { query } = &fault.kind
            && let Ok(query) = crate::query::parse(query, &self.subject.settings.delimiter)
        {
            self.embedded.push(fault);
            return Slot::Query(Arc::new(query), origin);
        }
        self.faults.push(fault);
        Slot::Text(Arc::new(Template { source: "".into(), parts: Vec::new() }), origin)
    }

    fn slot(&mut self, node: &Node) -> Slot {
        let origin = self.origin(node.index);
        match &node.data {
            Data::Value(Value::Str(text)) => match self.words.parse(text, self.subject.settings) {
                Ok(Parsed::Text(plain)) => Slot::Value(Value::Str(plain), origin),
                Ok(Parsed::Template(template)) => Slot::Text(template, origin),
                Ok(Parsed::Query(query)) => Slot::Query(Arc::new(query), origin),
                Err(fault) => self.unparsed(fault.at(origin), origin),
            },
            Data::Value(value) => Slot::Value(value.clone(), origin),
            Data::List(items) => grow(|| {
                let items = items.iter().map(|item| self.slot(item)).collect();
                Slot::List(Arc::new(ListSlot::new(items, origin)))
            }),
            Data::Map(entries) => grow(|| Slot::Raw(Arc::new(self.raw(entries, origin)))),
        }
    }
}

/// The top-level keys of a document that mean nothing, and where they stand (Y6).
pub fn unknown_sections(document: &Document) -> Vec<(Kind, u32)> {
    let Some(Node { data: Data::Map(entries), .. }) = &document.root else { return Vec::new() };
    let mut unknown = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.key.as_str().is_some_and(|key| SECTIONS.contains(&key)))
    {
        let name = crate::pystr::str(&entry.key.0);
        if !SECTIONS.contains(&name.as_str()) && !name.starts_with('_') {
            let similar = crate::similar::nearest(&name, SECTIONS).map(str::to_owned);
            unknown.push((Kind::UnknownSection { name, similar }, entry.key_index));
        }
    }
    unknown
}

/// Runs one level of a recursion with room enough on the stack.
fn grow<T>(level: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, level)
}

/// Reads one class name: relative names become absolute, references are parsed by `parse`.
pub fn class_entry(
    written: &Text,
    subject: Subject<'_>,
    origin: Origin,
    parse: impl FnOnce(&Text) -> Result<Parsed, Fault>,
) -> Result<ClassEntry, Fault> {
    let invalid = |reason: &str| {
        Fault::new(Kind::ClassNameInvalid { name: written.to_string(), reason: reason.to_owned() })
    };
    if written.is_empty() {
        return Err(invalid("it is empty"));
    }
    let (name, mut alternatives): (Text, Vec<String>) = if written.starts_with('.') {
        let at_home = absolute(subject.name, written);
        let documented = subject.init.then(|| absolute(&format!("{}.init", subject.name), written));
        let documented = documented.into_iter().filter(|name| *name != at_home).collect();
        (Text::from(at_home), documented)
    } else {
        (written.clone(), Vec::new())
    };
    if written.starts_with('.') {
        // `..init` is the class of the folder above, whose own name has no `init` (docs).
        let bare: Vec<String> = std::iter::once(name.as_str())
            .chain(alternatives.iter().map(String::as_str))
            .filter_map(|name| name.strip_suffix(".init").map(str::to_owned))
            .filter(|name| !name.is_empty())
            .collect();
        alternatives.extend(bare);
    }
    for (c, what) in [(' ', "a space"), ('/', "a slash")] {
        if name.contains(c) {
            return Err(invalid(&format!("it contains {what}")));
        }
    }
    let (lookup, template) = match parse(&name)? {
        Parsed::Template(template) => (name.clone(), Some(template)),
        Parsed::Text(plain) => (plain, None),
        Parsed::Query(_) => return Err(invalid("it is an inventory query")),
    };
    let alternatives = alternatives.into_iter().map(Text::from).collect();
    Ok(ClassEntry { name, lookup, alternatives, template, origin })
}

/// The absolute form of a relative name, as the forks compute it: each leading dot goes one
/// part of the including name up, and too many dots stop at the top.
fn absolute(including: &str, relative: &str) -> String {
    let dots = relative.len() - relative.trim_start_matches('.').len();
    let parts: Vec<&str> = including.split('.').collect();
    let parent = parts[..parts.len().saturating_sub(dots)].join(".");
    if parent.is_empty() { relative[dots..].to_owned() } else { format!("{parent}{}", &relative[dots - 1..]) }
}

fn type_name(node: &Node) -> &'static str {
    match &node.data {
        Data::Value(value) => value.type_name(),
        Data::List(_) => "list",
        Data::Map(_) => "mapping",
    }
}

#[cfg(test)]
mod tests {
    use super::absolute;

    #[test]
    fn relative_names_become_absolute() {
        assert_eq!(absolute("a.b.c", ".x"), "a.b.x");
        assert_eq!(absolute("a.b.c", "..x"), "a.x");
        assert_eq!(absolute("a", ".x"), "x");
        assert_eq!(absolute("a", "....x.y"), "x.y");
    }
}
