//! Turns the files with schemas into what values are checked against. A file that is no schema keeps its faults, and
//! the others still count.

use std::error::Error as StdError;
use std::sync::OnceLock;

use boon::{CompileError, Compiler, Draft, ErrorKind, SchemaIndex, Schemas as Compiled, UrlLoader};
use fancy_regex::Regex;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::document::{SCHEME, SchemaDocument, joined};
use super::keywords;
use super::sentence::{leaves, names, part, sentence};
use reclass::parts::engine::SchemaFiles;
use reclass::parts::storage::fs::percent_decoded;
use reclass_base::error::{Error, Fault};
use reclass_base::pattern::Glob;
use reclass_base::secrets::Secrets;
use reclass_base::settings::Settings;
use reclass_base::stack::grow;

#[derive(Debug)]
pub(super) struct ParameterSchema {
    /// The keys of the parameter.
    pub keys: Vec<String>,
    /// The index of its document, and its number among the compiled schemas.
    pub schema: Result<(usize, SchemaIndex), Error>,
    /// Whether any part of it is deprecated.
    pub deprecates: bool,
    /// The nodes and classes that it is for; empty for all.
    nodes: Vec<Glob>,
    classes: Vec<Glob>,
}

impl ParameterSchema {
    /// Whether it is for some nodes only.
    pub fn has_scope(&self) -> bool {
        !self.nodes.is_empty() || !self.classes.is_empty()
    }

    /// Whether its scope has one of two names of a class and not the other.
    pub fn tells_apart(&self, one: &str, other: &str) -> bool {
        self.classes.iter().any(|glob| glob.matches(one) != glob.matches(other))
    }

    /// Whether it is for a node with these classes.
    pub fn is_for<C: AsRef<str>>(&self, node: &str, classes: &[C]) -> bool {
        (self.nodes.is_empty() || self.nodes.iter().any(|glob| glob.matches(node)))
            && (self.classes.is_empty()
                || classes.iter().any(|class| self.classes.iter().any(|glob| glob.matches(class.as_ref()))))
    }
}

/// A part of a document, by its pointer.
pub(super) type SchemaPart<'s> = (&'s SchemaDocument, String);

/// All schemas of an inventory.
pub(super) struct SchemaSet {
    pub documents: Vec<SchemaDocument>,
    pub compiled: Compiled,
    pub schemas: Vec<ParameterSchema>,
    /// The alternatives in schemas that deprecate something, by address: only one that a value fits deprecates it.
    pub alternatives: FxHashMap<String, SchemaIndex>,
    /// The patterns of `patternProperties`, each compiled once, when the first description needs them.
    patterns: OnceLock<FxHashMap<String, Regex>>,
    /// Keywords that are probably misspelled, and those that are written twice.
    pub slips: Vec<Fault>,
    /// What no sentence about a value may name. In those about schemas nothing is secret.
    pub secrets: Secrets,
}

/// Nothing is fetched: a `$ref` leads to another schema of the inventory.
struct NothingElse;

impl UrlLoader for NothingElse {
    fn load(&self, _: &str) -> Result<Json, Box<dyn StdError>> {
        Err("it is not there".into())
    }
}

impl SchemaSet {
    pub fn of(files: &SchemaFiles, settings: &Settings) -> SchemaSet {
        let mut set = SchemaSet {
            documents: Vec::new(),
            compiled: Compiled::new(),
            schemas: Vec::new(),
            alternatives: FxHashMap::default(),
            patterns: OnceLock::new(),
            slips: Vec::new(),
            secrets: Secrets::none(),
        };
        let mut read = Vec::with_capacity(files.files.len());
        for file in &files.files {
            read.push(SchemaDocument::read(file, settings).map(|document| {
                set.documents.push(document);
                set.documents.len() - 1
            }));
        }
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(NothingElse));
        compiler.enable_format_assertions();
        for document in &set.documents {
            // Its address is one of ours, and can be parsed.
            let _ = compiler.add_resource(&document.uri, document.json.clone());
        }
        let deprecating: Vec<bool> =
            set.documents.iter().map(|document| keywords::any_deprecated(&document.json)).collect();
        for (file, read) in files.files.iter().zip(read) {
            let twin =
                files.files.iter().find(|other| other.keys == file.keys && !std::ptr::eq(*other, file));
            let schema = match (read, twin) {
                (Err(error), _) => Err(error),
                (Ok(index), Some(twin)) => {
                    let parameter = file.keys.join(":");
                    let message = format!(
                        "two files are the schema of '{parameter}': the other one is '{}'",
                        twin.shown
                    );
                    let help = Some("keep one of them");
                    Err(set.documents[index].invalid("", message, help).into())
                }
                (Ok(index), None) => set.compile(&mut compiler, index).map(|number| (index, number)),
            };
            let mut parameter = ParameterSchema {
                keys: file.keys.clone(),
                schema,
                deprecates: false,
                nodes: Vec::new(),
                classes: Vec::new(),
            };
            if let Ok((index, _)) = parameter.schema {
                let document = &set.documents[index];
                match scope(document) {
                    Ok((nodes, classes)) => (parameter.nodes, parameter.classes) = (nodes, classes),
                    Err(fault) => parameter.schema = Err(fault.into()),
                }
                parameter.deprecates = deprecating[index]
                    || deprecating.contains(&true) && keywords::refers_to_files(&document.json);
                let slips =
                    keywords::slips(document).into_iter().chain(document.duplicates()).collect::<Vec<_>>();
                set.slips.extend(slips);
            }
            set.schemas.push(parameter);
        }
        set.compile_alternatives(&mut compiler);
        set.secrets = Secrets::of(settings);
        set
    }

    /// A pattern of `patternProperties`. One that cannot be compiled is a fault of its schema.
    pub fn pattern(&self, pattern: &str) -> Option<&Regex> {
        let compiled = || {
            let all = self.documents.iter().flat_map(|document| keywords::patterns_of_keys(&document.json));
            all.filter_map(|pattern| Regex::new(&pattern).ok().map(|regex| (pattern, regex))).collect()
        };
        self.patterns.get_or_init(compiled).get(pattern)
    }

    fn compile_alternatives(&mut self, compiler: &mut Compiler) {
        if !self.schemas.iter().any(|schema| schema.deprecates) {
            return;
        }
        let mut addresses = Vec::new();
        for schema in &self.schemas {
            let Ok((document, _)) = schema.schema else { continue };
            let document = &self.documents[document];
            let mut add = |pointer: &str| addresses.push(document.address(pointer));
            keywords::alternatives(&document.json, &mut add);
        }
        for address in addresses {
            if let Ok(index) = compiler.compile(&address, &mut self.compiled) {
                self.alternatives.insert(address, index);
            }
        }
    }

    fn compile(&mut self, compiler: &mut Compiler, index: usize) -> Result<SchemaIndex, Error> {
        let document = &self.documents[index];
        if let Some(declared) = document.json.get("$schema") {
            let known = declared.as_str().and_then(Draft::from_url);
            if known.is_none() {
                let help = "drafts 4, 6, 7, 2019-09 and 2020-12 are known: '$schema: https://json-schema.org/draft/2020-12/schema'";
                return Err(document
                    .invalid("/$schema", "this draft of JSON Schema is unknown", Some(help))
                    .into());
            }
        }
        keywords::bounded(self, document)?;
        let result = compiler.compile(&document.uri, &mut self.compiled);
        result.map_err(|error| Error::new(self.faults(index, &error)))
    }

    /// The document at an address with a pointer.
    pub fn at<'s>(&'s self, address: &str) -> Option<(&'s SchemaDocument, String)> {
        let (uri, pointer) = address.split_once('#').unwrap_or((address, ""));
        let document = self.documents.iter().find(|document| document.uri == uri)?;
        Some((document, unescaped(pointer)))
    }

    /// What a `$ref` leads to: a part of the same document, or of one beside it.
    pub fn target<'s>(&'s self, document: &'s SchemaDocument, target: &str) -> Option<SchemaPart<'s>> {
        let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
        let mut there = document;
        if !file.is_empty() {
            let mut folders: Vec<&str> = document.uri.split('/').collect();
            folders.pop();
            for name in file.split('/') {
                match name {
                    "." => {}
                    ".." => drop(folders.pop()),
                    name => folders.push(name),
                }
            }
            (there, _) = self.at(&folders.join("/"))?;
        }
        let fragment = unescaped(fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            return Some((there, fragment));
        }
        keywords::anchor(&there.json, &fragment).map(|pointer| (there, pointer))
    }

    /// The part of a document at an address.
    pub fn part(&self, address: &str) -> Option<&Json> {
        self.at(address).and_then(|(document, pointer)| document.json.pointer(&pointer))
    }

    /// Why a document is no schema.
    fn faults(&self, index: usize, error: &CompileError) -> Vec<Fault> {
        let document = &self.documents[index];
        let at = |address: &str, message: String, help: Option<&str>| match self.at(address) {
            Some((there, pointer)) => vec![there.invalid(&pointer, message, help)],
            None => vec![document.invalid("", message, help)],
        };
        let reference = |address: &str| {
            let message = format!("'$ref' leads to nothing: '{}'", relative(address));
            let help = "a '$ref' leads to a part of this file, '#/definitions/NAME', or to another file of the folder; nothing is fetched";
            let pointer = reference_to(&document.json, address).unwrap_or_default();
            vec![document.invalid(&pointer, message, Some(help))]
        };
        match error {
            CompileError::ValidationError { url, src } => {
                let (there, _) = self.at(url).unwrap_or((document, String::new()));
                let mut found = Vec::new();
                leaves(src, &mut found);
                let fault = |error: &&boon::ValidationError<'_, '_>| {
                    let names: Vec<String> = names(error).collect();
                    let value = names.iter().try_fold(&there.json, |value, name| part(value, name));
                    let pointer = names.iter().fold(String::new(), |pointer, name| joined(&pointer, name));
                    // The error of a key has no path.
                    if let ErrorKind::PropertyName { prop } = &error.kind
                        && let Some(pointer) = keywords::pattern_property(&there.json, prop)
                    {
                        let message = format!("no schema: '{prop}' must be a regular expression");
                        let help = Some(keywords::simpler(prop, true));
                        return there.invalid(&pointer, message, help);
                    }
                    let what = names.last().map_or_else(|| "a schema".to_owned(), |name| format!("'{name}'"));
                    let reason = sentence(self, error, value.unwrap_or(&Json::Null));
                    let help = match (&error.kind, value.and_then(Json::as_str)) {
                        (ErrorKind::Format { want: "regex", .. }, Some(pattern)) => {
                            Some(keywords::simpler(pattern, false))
                        }
                        _ => None,
                    };
                    there.invalid(&pointer, format!("no schema: {what} {reason}"), help)
                };
                found.iter().take(MOST).map(fault).collect()
            }
            CompileError::InvalidRegex { url, regex, src } => {
                let is_large = src.to_string().contains("size limit");
                let help = if is_large { keywords::SHORTER } else { keywords::simpler(regex, true) };
                at(url, format!("'{regex}' is no regular expression here, or too large"), Some(help))
            }
            CompileError::LoadUrlError { url, .. }
            | CompileError::UnsupportedUrlScheme { url }
            | CompileError::ParseUrlError { url, .. }
            | CompileError::JsonPointerNotFound(url)
            | CompileError::AnchorNotFound { reference: url, .. }
            | CompileError::InvalidJsonPointer(url) => reference(url),
            // What the compiler calls a fault of its own.
            CompileError::Bug(_) => {
                let pointer = keywords::pattern_too_large(&document.json).unwrap_or_default();
                let help = Some(keywords::SHORTER);
                vec![document.invalid(&pointer, "this pattern is too large", help)]
            }
            CompileError::ParseIdError { loc } | CompileError::ParseAnchorError { loc } => {
                at(loc, "the name of this schema is no URI".into(), None)
            }
            other => vec![document.invalid(
                "",
                format!("no schema: {}", other.to_string().replace(&format!("{SCHEME}:///"), "")),
                None,
            )],
        }
    }
}

/// Most faults of one file.
const MOST: usize = 5;

/// An address without its scheme and the number of the folder.
fn relative(address: &str) -> String {
    match address.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix(":///")) {
        Some(rest) => unescaped(rest.split_once('/').map_or(rest, |(_, path)| path)),
        None => address.to_owned(),
    }
}

/// A text without the escapes of URIs; one with damaged escapes as it is.
fn unescaped(text: &str) -> String {
    percent_decoded(text).unwrap_or_else(|| text.to_owned())
}

/// The pointer to the first `$ref` that leads to an address.
fn reference_to(schema: &Json, address: &str) -> Option<String> {
    let address = unescaped(address);
    let leads = |text: &str| {
        let end = text.trim_start_matches("./").trim_start_matches("../");
        !end.is_empty() && address.ends_with(&unescaped(end))
    };
    find_reference(schema, &leads, "")
}

fn find_reference(schema: &Json, leads: &dyn Fn(&str) -> bool, pointer: &str) -> Option<String> {
    match schema {
        Json::Object(map) => map.iter().find_map(|(name, below)| {
            let inner = joined(pointer, name);
            if name == "$ref" && below.as_str().is_some_and(leads) {
                return Some(inner);
            }
            grow(|| find_reference(below, leads, &inner))
        }),
        Json::Array(items) => items.iter().enumerate().find_map(|(index, below)| {
            grow(|| find_reference(below, leads, &joined(pointer, &index.to_string())))
        }),
        _ => None,
    }
}

/// The nodes and classes that a schema is for: `x-reclass: {nodes: 'web*', classes: [app.nginx]}`.
fn scope(document: &SchemaDocument) -> Result<(Vec<Glob>, Vec<Glob>), Fault> {
    let mut globs = [Vec::new(), Vec::new()];
    let help = Some("x-reclass: {nodes: 'web*', classes: [app.nginx]}");
    match document.json.get("x-reclass") {
        None => {}
        Some(Json::Object(map)) => {
            for (name, value) in map {
                let pointer = format!("/x-reclass/{name}");
                let at = match name.as_str() {
                    "nodes" => 0,
                    "classes" => 1,
                    _ => {
                        return Err(document.invalid(
                            &pointer,
                            format!("'x-reclass' has no key '{name}'"),
                            help,
                        ));
                    }
                };
                let items = match value {
                    Json::Array(items) => items.as_slice(),
                    one => std::slice::from_ref(one),
                };
                for item in items {
                    let Some(text) = item.as_str() else {
                        return Err(document.invalid(
                            &pointer,
                            format!("'{name}' is a glob or a list of them"),
                            help,
                        ));
                    };
                    globs[at].push(Glob::new(text));
                }
            }
        }
        Some(_) => return Err(document.invalid("/x-reclass", "'x-reclass' is a mapping", help)),
    }
    Ok(globs.into())
}

impl std::fmt::Debug for SchemaSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SchemaSet").field("schemas", &self.schemas).finish_non_exhaustive()
    }
}
