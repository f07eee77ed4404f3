//! Finds the value at a path of a test in the answer for a node, and hides secrets in it.

use crate::explain::{ValuePlace, ValuePlaces, Wanted, environment, places, shown};
use reclass::NodeInfo;
use reclass::redact::Redaction;
use reclass_base::path::{join_path, list_index, split_path};
use reclass_base::pystr;
use reclass_base::similar;
use reclass_base::value::{Key, Map, Text, Value};

/// A part of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnswerPart {
    Parameters,
    Exports,
    Classes,
    Applications,
    Environment,
}

/// A path of a test, split. The first key may be a part of the answer, `exports:port`; otherwise the path is one
/// of the parameters.
#[derive(Debug)]
pub(super) struct ValuePath {
    pub part: AnswerPart,
    segments: Vec<Text>,
    delimiter: Text,
}

/// The value at a path, or the path of a similar one.
pub(super) enum LookedUp {
    Found(Vec<Key>, Value),
    Missing(Option<String>),
}

impl ValuePath {
    pub fn new(text: &str, delimiter: &str) -> ValuePath {
        let mut segments = split_path(text, delimiter);
        let part = match segments.first().map(AsRef::as_ref) {
            Some("parameters") => Some(AnswerPart::Parameters),
            Some("exports") => Some(AnswerPart::Exports),
            Some("classes") => Some(AnswerPart::Classes),
            Some("applications") => Some(AnswerPart::Applications),
            Some("environment") => Some(AnswerPart::Environment),
            _ => None,
        };
        if part.is_some() {
            segments.remove(0);
        }
        ValuePath { part: part.unwrap_or(AnswerPart::Parameters), segments, delimiter: delimiter.into() }
    }

    /// The value of a node at this path.
    pub fn look_up(&self, info: &NodeInfo) -> LookedUp {
        let mut value = match self.part {
            AnswerPart::Parameters => info.parameters.clone(),
            AnswerPart::Exports => info.exports.clone(),
            AnswerPart::Classes => Value::texts(&info.classes),
            AnswerPart::Applications => Value::texts(&info.applications),
            AnswerPart::Environment => info.environment.clone(),
        };
        let mut keys = Vec::new();
        for segment in &self.segments {
            let found = match &value {
                Value::Map(map) => child(map, segment),
                Value::List(items) => list_index(segment, items.len()).and_then(|at| {
                    let key = Key(Value::Int(i64::try_from(at).ok()?));
                    Some((key, items.get(at)?.clone()))
                }),
                _ => None,
            };
            let Some((key, below)) = found else {
                return LookedUp::Missing(self.similar(&keys, segment, &value));
            };
            keys.push(key);
            value = below;
        }
        LookedUp::Found(keys, value)
    }

    /// The keys as they are written.
    pub fn keys(&self) -> Vec<Key> {
        self.segments.iter().map(|segment| Key::from(segment.clone())).collect()
    }

    /// The path of the key beside a missing one that has a similar name.
    fn similar(&self, keys: &[Key], missing: &str, container: &Value) -> Option<String> {
        let names = container.as_map()?.keys().filter_map(Key::as_str);
        let name = similar::nearest(missing, names)?;
        Some(self.shown(&[keys, &[Key::from(name)]].concat()))
    }

    /// A path of the same part of the answer as people write it.
    pub fn shown(&self, keys: &[Key]) -> String {
        let path = join_path(keys, &self.delimiter);
        let part = match self.part {
            AnswerPart::Parameters if !keys.is_empty() => return path,
            AnswerPart::Parameters => "parameters",
            AnswerPart::Exports => "exports",
            AnswerPart::Classes => "classes",
            AnswerPart::Applications => "applications",
            AnswerPart::Environment => "environment",
        };
        if keys.is_empty() { part.to_owned() } else { format!("{part}{}{path}", self.delimiter) }
    }
}

fn child(map: &Map, name: &str) -> Option<(Key, Value)> {
    if let Some(value) = map.get(name) {
        return Some((Key::from(name), value.clone()));
    }
    // `ports:80`: a key that is no text.
    let other = map.iter().find(|(key, _)| key.as_str().is_none() && pystr::str(&key.0) == name);
    other.map(|(key, value)| (key.clone(), value.clone()))
}

/// A value of a node with its secrets hidden. Whatever depends on a secret is hidden with it.
pub(super) fn hidden(
    of: Option<&ValuePlaces<'_>>,
    redaction: &Redaction,
    part: AnswerPart,
    keys: &[Key],
    value: &Value,
) -> Value {
    let export = match part {
        AnswerPart::Parameters => false,
        AnswerPart::Exports => true,
        AnswerPart::Classes | AnswerPart::Applications | AnswerPart::Environment => return value.clone(),
    };
    shown(of, redaction, export, keys, value)
}

/// The place of a value: the layer that has the last word. Lists of classes and applications have none.
pub(super) fn place(of: &ValuePlaces<'_>, part: AnswerPart, keys: &[Key]) -> Option<ValuePlace> {
    let export = match part {
        AnswerPart::Parameters => false,
        AnswerPart::Exports => true,
        AnswerPart::Environment => return environment(of.computation(), of.layers(), None).place,
        AnswerPart::Classes | AnswerPart::Applications => return None,
    };
    let wanted = Wanted { path: keys.to_vec(), export, items: Vec::new() };
    places(of, &[wanted]).pop()?.place
}
