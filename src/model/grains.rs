//! Grains: facts that a minion tells about itself, for references and, if they are trusted, for class names.
//!
//! A minion writes its grains itself. So the settings list the grains that references may read, and the
//! grains that may choose classes together with the values that they may have. The grains are data: nothing in
//! them is a reference (S2). Each path that a request reads is recorded with its value, so a cached answer
//! holds for all grains that agree on these paths.

use std::sync::Arc;

use crate::model::slot::Slot;
use reclass_base::error::{Error, Fault, Kind, Result};
use reclass_base::lock::Mutex;
use reclass_base::pattern::{Glob, PathPattern, Progress, is_wild};
use reclass_base::settings::Settings;
use reclass_base::source::Origin;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Text, Value};

/// The grain that Salt authenticates: the id of the minion, which is the name of its node.
const ID: &str = "id";

/// The settings about grains.
#[derive(Debug)]
pub struct GrainRules {
    /// The first key of a reference to a grain.
    pub key: Text,
    readable: Vec<PathPattern>,
    trusted: Vec<TrustedGrain>,
    delimiter: Text,
}

#[derive(Debug)]
struct TrustedGrain {
    path: Vec<Text>,
    values: Vec<Value>,
}

/// The grains of one request, and which of them it has read.
#[derive(Debug)]
pub struct Grains {
    /// The first key of a reference to a grain.
    key: Text,
    /// The readable grains, a mapping; `None` if the request has no grains.
    known: Option<Arc<Slot>>,
    /// Where they come from, for explanations.
    pub source: &'static str,
    reads: Mutex<Vec<GrainRead>>,
}

/// A path that was read below the key of the grains.
#[derive(Clone, PartialEq, Debug)]
pub struct GrainRead {
    path: Vec<Text>,
    /// The number of keys that lead to the value. The others lead into a list, or nowhere.
    depth: usize,
    /// The value; `None` if a mapping lacks a key.
    value: Option<Value>,
}

/// Whether the settings name any grain, so that references can read grains.
pub fn has_grains(settings: &Settings) -> bool {
    !settings.grains.is_empty() || settings.trusted_grains != Value::Null
}

impl GrainRules {
    /// The rules of the settings; `None` if no setting names a grain.
    pub fn of(settings: &Settings) -> Result<Option<GrainRules>> {
        let delimiter = &settings.delimiter;
        let trusted = match &settings.trusted_grains {
            Value::Null => Vec::new(),
            Value::Map(map) => {
                let mut faults = Vec::new();
                let mut trusted = Vec::new();
                for (path, values) in map.iter() {
                    match TrustedGrain::of(&path.0, values, delimiter) {
                        Ok(grain) => trusted.push(grain),
                        Err(message) => faults.push(invalid(&path.0, message)),
                    }
                }
                if !faults.is_empty() {
                    return Err(Error::new(faults));
                }
                trusted
            }
            _ => return Err(invalid(&Value::text(""), "it must be a mapping of paths to lists").into()),
        };
        if !has_grains(settings) {
            return Ok(None);
        }
        let readable = settings.grains.iter().map(|path| PathPattern::new(path, delimiter)).collect();
        Ok(Some(GrainRules {
            key: settings.grains_key.clone(),
            readable,
            trusted,
            delimiter: delimiter.clone(),
        }))
    }

    /// Whether references can read a grain with this name, or something in it. Callers need not convert others.
    pub fn reads(&self, name: &str) -> bool {
        let key = Key::from(Text::from(name));
        let leads = |pattern: &PathPattern| !pattern.step(&pattern.start(), &key).is_dead();
        self.readable.iter().any(leads)
            || self.trusted.iter().any(|grain| grain.path.first().is_some_and(|first| **first == *name))
    }

    /// The grains of a request for a node. `given` are those of the minion, which may lie about its id; `None`
    /// if nobody knows them.
    pub fn grains(&self, node: &Text, given: Option<&Value>, source: &'static str) -> Grains {
        let known = given.map(|given| {
            let starts: Vec<_> = self.readable.iter().map(|pattern| (pattern, pattern.start())).collect();
            let mut map = match given {
                Value::Map(map) => self.readable_part(map, &starts, &mut Vec::new()),
                _ => Map::default(),
            };
            map.insert(Key::from(Text::from(ID)), Value::Str(node.clone()));
            Arc::new(Slot::Value(Value::map(map), Origin::NONE))
        });
        Grains { key: self.key.clone(), known, source, reads: Mutex::default() }
    }

    /// The entries that a pattern matches, or that are trusted, with all that is below them.
    fn readable_part(&self, map: &Map, patterns: &[(&PathPattern, Progress)], path: &mut Vec<Text>) -> Map {
        let mut part = Map::default();
        for (key, value) in map {
            let Some(name) = key.as_str() else { continue };
            path.push(name.into());
            let next: Vec<_> = patterns
                .iter()
                .map(|(pattern, progress)| (*pattern, pattern.step(progress, key)))
                .filter(|(_, progress)| !progress.is_dead())
                .collect();
            let whole = next.iter().any(|(pattern, progress)| pattern.is_match(progress))
                || self.trusted.iter().any(|grain| grain.path == *path);
            if whole {
                part.insert(key.clone(), value.clone());
            } else if let Value::Map(inner) = value
                && (!next.is_empty() || self.trusted.iter().any(|grain| grain.path.starts_with(path)))
            {
                let inner = grow(|| self.readable_part(inner, &next, path));
                if !inner.is_empty() {
                    part.insert(key.clone(), Value::map(inner));
                }
            }
            path.pop();
        }
        part
    }

    /// The fault of a class name, or of a class mapping, that has read these grains.
    pub fn refuse(&self, reads: &[GrainRead]) -> Option<Kind> {
        reads.iter().find_map(|read| {
            if read.path.len() == 1 && *read.path[0] == *ID {
                return None;
            }
            let path = &read.path[..read.depth];
            let grain = self.written(path);
            let Some(trusted) = self.trusted.iter().find(|trusted| trusted.path == path) else {
                return Some(Kind::GrainUntrusted { grain });
            };
            // An absent grain leaves the default of the reference, or none.
            let refused = read.value.as_ref().is_some_and(|value| !trusted.values.contains(value));
            refused.then_some(Kind::GrainRefused { grain })
        })
    }

    /// The path of a trusted grain, and the glob for its value, of a text such as `os_family:Deb*` in a class
    /// mapping.
    pub fn condition(&self, text: &str) -> Result<(Vec<Text>, Glob), String> {
        let mut path = reclass_base::path::split_path(text, &self.delimiter);
        let value = path.pop().filter(|_| !path.is_empty()).ok_or_else(|| {
            format!("a grain and a value are missing, as in 'G@os_family{}Debian'", self.delimiter)
        })?;
        let trusted =
            path.len() == 1 && *path[0] == *ID || self.trusted.iter().any(|trusted| trusted.path == path);
        if !trusted {
            return Err(format!("the setting 'trusted_grains' does not list '{}'", self.written(&path)));
        }
        Ok((path, Glob::new(&value)))
    }

    fn written(&self, path: &[Text]) -> String {
        let keys: Vec<Key> = path.iter().cloned().map(Key::from).collect();
        reclass_base::path::join_path(&keys, &self.delimiter)
    }
}

impl TrustedGrain {
    fn of(path: &Value, values: &Value, delimiter: &str) -> Result<TrustedGrain, &'static str> {
        let Value::Str(path) = path else { return Err("a path must be a string") };
        if is_wild(path) {
            return Err("a trusted grain has no wildcards");
        }
        let path = reclass_base::path::split_path(path, delimiter);
        match values {
            Value::List(values) if !values.is_empty() => Ok(TrustedGrain { path, values: values.to_vec() }),
            _ => Err("it needs the list of the values that are permitted"),
        }
    }
}

fn invalid(path: &Value, message: &str) -> Fault {
    let pattern = reclass_base::pystr::str(path);
    Fault::new(Kind::SettingPattern { name: "trusted_grains".into(), pattern, message: message.into() })
}

impl Grains {
    /// Whether a reference with this first key reads grains.
    pub fn has_key(&self, key: &str) -> bool {
        *self.key == *key
    }

    /// The readable grains, a mapping; `None` if the request has no grains.
    pub fn known(&self) -> Option<Arc<Slot>> {
        self.known.clone()
    }

    /// Notes that this path is read below the key of the grains. Returns whether the request has grains.
    pub fn read(&self, path: &[Text]) -> bool {
        let (depth, value) = self.lookup(path);
        let read = GrainRead { path: path.to_vec(), depth, value: value.cloned() };
        let mut reads = self.reads.lock();
        if !reads.contains(&read) {
            reads.push(read);
        }
        self.known.is_some()
    }

    /// Whether a grain matches, for a class mapping; `None` if the request has no grains.
    pub fn matches(&self, path: &[Text], value: &Glob) -> Option<bool> {
        if !self.read(path) {
            return None;
        }
        let (_, found) = self.lookup(path);
        let one = |found: &Value| value.matches(&reclass_base::pystr::str(found));
        Some(match found {
            Some(Value::List(items)) => items.iter().any(one),
            Some(found) => one(found),
            None => false,
        })
    }

    /// The value at a path below the key of the grains, without a note that it is read.
    pub fn value(&self, path: &[Text]) -> Option<&Value> {
        let (depth, value) = self.lookup(path);
        match value {
            Some(Value::List(items)) if depth + 1 == path.len() => {
                items.get(reclass_base::path::list_index(&path[depth], items.len())?)
            }
            value => value.filter(|_| depth == path.len()),
        }
    }

    /// The number of keys that lead to a value, and the value.
    fn lookup(&self, path: &[Text]) -> (usize, Option<&Value>) {
        let Some(Slot::Value(grains, _)) = self.known.as_deref() else { return (path.len(), None) };
        let mut value = grains;
        for (depth, key) in path.iter().enumerate() {
            let Value::Map(map) = value else { return (depth, Some(value)) };
            let Some(next) = map.get(key.as_ref() as &str) else { return (path.len(), None) };
            value = next;
        }
        (path.len(), Some(value))
    }

    /// Whether these grains have the same values at all these paths.
    pub fn agree(&self, reads: &[GrainRead]) -> bool {
        let same = |read: &GrainRead| self.lookup(&read.path) == (read.depth, read.value.as_ref());
        reads.is_empty() || self.known.is_some() && reads.iter().all(same)
    }

    /// The reads so far.
    pub fn reads(&self) -> Vec<GrainRead> {
        self.reads.lock().clone()
    }
}
