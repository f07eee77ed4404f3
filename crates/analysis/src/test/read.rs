//! Reads files of tests. Everything in them has a place, so that a slip is an error with its line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::errors::{TEST_INVALID, codes};
use crate::test::lookup::ValuePath;
use crate::test::matcher::{MATCHERS, Matcher, TYPES, number};
use reclass::parts::engine::Computation;
use reclass::parts::model::LayerResult;
use reclass::parts::model::mappings::regex;
use reclass::parts::storage::fs;
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::pystr;
use reclass_base::settings::Settings;
use reclass_base::similar::{self, no_node};
use reclass_base::source::Site;
use reclass_base::value::{Text, Value};
use reclass_yaml::compose::{Data, Document, DocumentLimits, Entry, Node, compose_within};
use reclass_yaml::to_value;

#[derive(Debug)]
pub(super) struct TestFile {
    pub path: PathBuf,
    pub shown: Arc<str>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct TestCase {
    pub name: String,
    pub site: Site,
    /// The index of its file.
    pub file: usize,
    pub subject: Subject,
    pub goal: Goal,
}

/// The nodes of a test.
#[derive(Debug)]
pub(super) enum Subject {
    /// Names and globs.
    Nodes(Vec<(String, Site)>),
    /// A node that only the test has: its name, its layer, its grains.
    Own(Text, LayerResult, Option<Value>),
}

/// What a test expects.
#[derive(Debug)]
pub(super) enum Goal {
    /// The code of an error.
    Error(String, Site),
    Values(Vec<PathCheck>),
}

#[derive(Debug)]
pub(super) struct PathCheck {
    /// The path as written, and split.
    pub path: String,
    pub value: ValuePath,
    pub site: Site,
    pub matchers: Vec<Matcher>,
    /// The matcher that a key of an expected mapping was probably meant to be.
    pub similar: Option<&'static str>,
}

/// A test that cannot be run.
#[derive(Debug)]
pub(super) struct BadTest {
    pub name: String,
    pub site: Site,
    /// Whether it is a whole file.
    pub is_file: bool,
    pub faults: Vec<Fault>,
}

/// Reads the files at these paths. Of a folder they are those with the extension of YAML, sorted by name.
pub(super) fn files(paths: &[PathBuf], settings: &Settings) -> Result<Vec<TestFile>> {
    let mut files = Vec::new();
    for path in paths {
        let all = if path.is_dir() {
            let all = fs::entries(path).map_err(|error| Error::from(fs::folder_unreadable(path, &error)))?;
            let is_yaml = |path: &PathBuf| {
                path.is_file() && path.extension().is_some_and(|end| end == "yml" || end == "yaml")
            };
            all.into_iter().filter(is_yaml).collect()
        } else {
            vec![path.clone()]
        };
        for path in all {
            let (bytes, _) = fs::read(&path, settings.max_file_bytes())?;
            files.push(TestFile { shown: fs::display(&path).into(), path, bytes });
        }
    }
    Ok(files)
}

/// The tests of a file, in order.
pub(super) fn tests(
    computation: &Computation<'_>,
    index: usize,
    file: &TestFile,
) -> Vec<Result<TestCase, BadTest>> {
    let name = file.path.file_name().map_or_else(String::new, |name| fs::display(Path::new(name)));
    let bad = |site: Site, faults: Vec<Fault>| {
        vec![Err(BadTest { name: name.clone(), site, is_file: true, faults })]
    };
    let whole = Site::file(file.shown.clone());
    let limits = DocumentLimits::of(computation.settings);
    let document = match compose_within(&file.bytes, limits) {
        Ok(document) => document,
        Err(error) => {
            let mut faults = error.into_faults();
            for fault in &mut faults {
                let notes = fault.notes.iter_mut().filter_map(|note| note.site.as_mut());
                fault.site.iter_mut().chain(notes).for_each(|site| site.path = file.shown.clone());
            }
            return bad(whole, faults);
        }
    };
    let reader = Reader { computation, index, file, document: &document };
    // A key that is written twice would be an expectation that nobody checks.
    let duplicates = document
        .warnings
        .iter()
        .map(|(later, _, warning)| Fault { site: Some(reader.site(*later)), ..warning.clone() });
    let duplicates: Vec<Fault> = duplicates.collect();
    if !duplicates.is_empty() {
        return bad(whole, duplicates);
    }
    match document.root.as_ref().map(|root| (root, &root.data)) {
        Some((_, Data::List(items))) if !items.is_empty() => {
            items.iter().map(|item| reader.test(item)).collect()
        }
        root => {
            let site = root.map_or(whole, |(root, _)| reader.site(root.index));
            let fault = TEST_INVALID
                .fault("a file of tests is a list of mappings", Some("'- name: …' begins a test"));
            bad(site.clone(), vec![fault.at_site(site)])
        }
    }
}

struct Reader<'a> {
    computation: &'a Computation<'a>,
    index: usize,
    file: &'a TestFile,
    document: &'a Document,
}

const KEYS: [&str; 5] = ["name", "node", "inventory", "expect", "error"];

/// The sections of a node of a test's own.
const SECTIONS: [&str; 6] = ["classes", "applications", "parameters", "exports", "environment", "grains"];

impl Reader<'_> {
    fn site(&self, index: u32) -> Site {
        let span = self.document.spans.get(index as usize).copied().unwrap_or_default();
        Site::at(self.file.shown.clone(), span)
    }

    fn fault(&self, index: u32, message: impl Into<String>, help: Option<&str>) -> Fault {
        TEST_INVALID.fault(message, help).at_site(self.site(index))
    }

    /// The fault of an unknown name, with the known names.
    fn unknown(&self, index: u32, what: &str, name: &str, known: &[&str]) -> Fault {
        let help = match similar::nearest(name, known.iter().copied()) {
            Some(similar) => format!("'{similar}' is similar"),
            None => format!("there are {}", known.join(", ")),
        };
        self.fault(index, format!("unknown {what} '{name}'"), Some(&help))
    }

    fn test(&self, item: &Node) -> Result<TestCase, BadTest> {
        let site = self.site(item.index);
        let mut faults = Vec::new();
        let entries: &[Entry] = match &item.data {
            Data::Map(entries) => entries,
            Data::List(_) | Data::Value(_) => {
                faults.push(self.fault(item.index, "a test is a mapping", Some("'name:' begins it")));
                &[]
            }
        };
        let get = |name: &str| entries.iter().find(|entry| entry.key.as_str() == Some(name));
        for entry in entries {
            let key = pystr::str(&entry.key.0);
            if !KEYS.contains(&&*key) {
                faults.push(self.unknown(entry.key_index, "key of a test", &key, &KEYS));
            }
        }
        let name = get("name").and_then(|entry| text(&entry.value));
        if name.is_none() && !entries.is_empty() {
            faults.push(self.fault(item.index, "a test has no name", Some("add 'name: …'")));
        }
        let subject = self.subject(item, get("node"), get("inventory"), &mut faults);
        let goal = self.goal(item, get("expect"), get("error"), &mut faults);
        let name = name.map_or_else(|| format!("line {}", site.line), str::to_owned);
        match (subject, goal) {
            (Some(subject), Some(goal)) if faults.is_empty() => {
                Ok(TestCase { name, site, file: self.index, subject, goal })
            }
            _ => Err(BadTest { name, site, is_file: false, faults }),
        }
    }

    fn subject(
        &self,
        item: &Node,
        node: Option<&Entry>,
        own: Option<&Entry>,
        faults: &mut Vec<Fault>,
    ) -> Option<Subject> {
        let mut names = Vec::new();
        if let Some(entry) = node {
            let items = match &entry.value.data {
                Data::List(items) => items,
                Data::Map(_) | Data::Value(_) => std::slice::from_ref(&entry.value),
            };
            for item in items {
                match text(item) {
                    Some(name) => names.push((name.to_owned(), self.site(item.index))),
                    None => faults.push(self.fault(
                        item.index,
                        "'node' is a name, a glob or a list of them",
                        None,
                    )),
                }
            }
        }
        let Some(own) = own else {
            if names.is_empty() && matches!(item.data, Data::Map(_)) && faults.is_empty() {
                let help = "add 'node: NAME', or a node of its own below 'inventory:'";
                faults.push(self.fault(item.index, "a test has no node", Some(help)));
            }
            return Some(Subject::Nodes(names));
        };
        let Data::Map(sections) = &own.value.data else {
            let help = format!("it has {}", SECTIONS.join(", "));
            faults.push(self.fault(own.value.index, "'inventory' is a mapping", Some(&help)));
            return None;
        };
        for entry in sections.iter() {
            let key = pystr::str(&entry.key.0);
            if !SECTIONS.contains(&&*key) {
                faults.push(self.unknown(entry.key_index, "section of a node", &key, &SECTIONS));
            }
        }
        let (grains, sections): (Vec<&Entry>, Vec<&Entry>) =
            sections.iter().partition(|entry| entry.key.as_str() == Some("grains"));
        let grains = grains.first().map(|entry| (entry.value.index, to_value(&entry.value)));
        if let Some((index, _)) = grains.as_ref().filter(|(_, grains)| grains.as_map().is_none()) {
            faults.push(self.fault(*index, "'grains' is a mapping", None));
        }
        let name = match names.as_slice() {
            [] => "test",
            [(name, _)] => name,
            [_, (_, site), ..] => {
                faults.push(TEST_INVALID.fault("a node of its own has one name", None).at_site(site.clone()));
                "test"
            }
        };
        let root = Node { data: Data::Map(sections.into_iter().cloned().collect()), index: own.value.index };
        let whole = (self.document, &*self.file.bytes);
        let layer = self.computation.inputs.files.node_in(&self.file.path, whole, root, name);
        Some(Subject::Own(name.into(), layer, grains.map(|(_, grains)| grains)))
    }

    fn goal(
        &self,
        item: &Node,
        expect: Option<&Entry>,
        error: Option<&Entry>,
        faults: &mut Vec<Fault>,
    ) -> Option<Goal> {
        match (expect, error) {
            (None, None) => {
                if matches!(item.data, Data::Map(_)) {
                    let help = "add 'expect:' with paths and their values, or 'error:' with a code";
                    faults.push(self.fault(item.index, "a test expects nothing", Some(help)));
                }
                None
            }
            (Some(_), Some(error)) => {
                let help = "a node that does not render has no values; make two tests of it";
                faults.push(self.fault(error.key_index, "a test has both 'expect' and 'error'", Some(help)));
                None
            }
            (None, Some(error)) => {
                let code = text(&error.value).unwrap_or_default();
                if !codes().any(|known| known == code) {
                    let similar = similar::nearest(code, codes());
                    let help = similar.map(|similar| format!("'{similar}' is similar"));
                    let message = format!("there is no error with the code '{code}'");
                    faults.push(self.fault(error.value.index, message, help.as_deref()));
                }
                Some(Goal::Error(code.to_owned(), self.site(error.value.index)))
            }
            (Some(expect), None) => match &expect.value.data {
                Data::Map(entries) if !entries.is_empty() => {
                    Some(Goal::Values(entries.iter().map(|entry| self.check(entry, faults)).collect()))
                }
                _ => {
                    let help = "write 'PATH: VALUE' below it";
                    faults.push(self.fault(expect.key_index, "'expect' has no paths", Some(help)));
                    None
                }
            },
        }
    }

    fn check(&self, entry: &Entry, faults: &mut Vec<Fault>) -> PathCheck {
        let path = pystr::str(&entry.key.0);
        let mut similar = None;
        let matchers = match &entry.value.data {
            Data::Map(entries) => {
                let key = |entry: &Entry| entry.key.as_str().is_some_and(|key| MATCHERS.contains(&key));
                let known = entries.iter().filter(|entry| key(entry)).count();
                if known == 0 {
                    let mut names = entries.iter().filter_map(|entry| entry.key.as_str());
                    similar = names.find_map(|name| similar::nearest(name, MATCHERS));
                    vec![Matcher::Equal(to_value(&entry.value))]
                } else {
                    for entry in entries.iter().filter(|entry| !key(entry)) {
                        let name = pystr::str(&entry.key.0);
                        let mut fault = self.unknown(entry.key_index, "matcher", &name, &MATCHERS);
                        if let Kind::Finding { help: Some(help), .. } = &mut fault.kind {
                            help.push_str("; 'equal:' compares with a mapping that has such keys");
                        }
                        faults.push(fault);
                    }
                    let known = entries.iter().filter(|entry| key(entry));
                    known.filter_map(|entry| self.matcher(entry, &path, faults)).collect()
                }
            }
            Data::Value(Value::Str(word)) if **word == *"absent" => vec![Matcher::Absent],
            Data::Value(Value::Str(word)) if **word == *"snapshot" => vec![Matcher::Snapshot],
            Data::Value(_) | Data::List(_) => vec![Matcher::Equal(to_value(&entry.value))],
        };
        let value = ValuePath::new(&path, &self.computation.settings.delimiter);
        PathCheck { path, value, site: self.site(entry.key_index), matchers, similar }
    }

    fn matcher(&self, entry: &Entry, path: &str, faults: &mut Vec<Fault>) -> Option<Matcher> {
        let (operand, at) = (to_value(&entry.value), entry.value.index);
        let name = entry.key.as_str().unwrap_or_default();
        let expected = match (name, &operand) {
            ("equal", _) => return Some(Matcher::Equal(operand)),
            ("contains", _) => return Some(Matcher::Contains(operand)),
            ("min", _) if number(&operand).is_some() => return Some(Matcher::Min(operand)),
            ("max", _) if number(&operand).is_some() => return Some(Matcher::Max(operand)),
            ("absent", Value::Bool(true)) => return Some(Matcher::Absent),
            ("snapshot", Value::Bool(true)) => return Some(Matcher::Snapshot),
            ("one_of", Value::List(values)) if !values.is_empty() => {
                return Some(Matcher::OneOf(values.to_vec()));
            }
            ("matches", Value::Str(source)) => match regex(source, self.computation.settings) {
                Ok(regex) => return Some(Matcher::Matches(source.clone(), Box::new(regex))),
                // The reason may quote the expression, which may be of a secret.
                Err(_) => "a regular expression of Rust's crate fancy-regex",
            },
            ("type", Value::Str(word)) => {
                if let Some(name) = TYPES.iter().find(|name| ***name == **word) {
                    return Some(Matcher::Type(name));
                }
                faults.push(self.unknown(at, "type", word, &TYPES));
                return None;
            }
            ("same_as", Value::Str(node)) => {
                if self.computation.catalog.nodes.contains_key(node) {
                    return Some(Matcher::SameAs(node.clone()));
                }
                let names = self.computation.catalog.nodes.keys().map(AsRef::as_ref);
                faults.push(Fault::new(no_node(node, String::new(), names)).at_site(self.site(at)));
                return None;
            }
            // YAML reads the word as no value.
            ("type", Value::Null) => return Some(Matcher::Type("null")),
            ("min" | "max", _) => "a number",
            ("absent" | "snapshot", _) => "true",
            ("one_of", _) => "a list of values",
            ("matches", _) => "a regular expression, which is a text",
            ("type", _) => "the name of a type",
            _ => "the name of a node",
        };
        faults.push(self.fault(at, format!("'{name}' of '{path}' must be {expected}"), None));
        None
    }
}

fn text(node: &Node) -> Option<&str> {
    match &node.data {
        Data::Value(Value::Str(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}
