//! Finds the value at a path of a test in the answer for a node, and hides secrets in it.

use crate::explain::{ValueAt, ValuePlace, ValuePlaces, Wanted, all_shown, environment, places};
use reclass::NodeInfo;
use reclass::redact::Redaction;
use reclass_base::path::{join_path, list_index, split_path};
use reclass_base::pystr;
use reclass_base::similar::SearchCost;
use reclass_base::value::{Key, Map, Text, Value};

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

impl AnswerPart {
    /// Whether it is the exports; `None` if it is neither these nor the parameters.
    fn is_export(self) -> Option<bool> {
        match self {
            AnswerPart::Parameters => Some(false),
            AnswerPart::Exports => Some(true),
            AnswerPart::Classes | AnswerPart::Applications | AnswerPart::Environment => None,
        }
    }
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

    /// The value of a node at this path. A similar path is searched for if there is a cost, which the searches for one node
    /// share.
    pub fn look_up(&self, info: &NodeInfo, cost: Option<&SearchCost>) -> LookedUp {
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
                return LookedUp::Missing(cost.and_then(|cost| self.similar(&keys, segment, &value, cost)));
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
    fn similar(&self, keys: &[Key], missing: &str, container: &Value, cost: &SearchCost) -> Option<String> {
        let names = container.as_map()?.keys().filter_map(Key::as_str);
        let name = cost.nearest(missing, names)?;
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

/// Values of a node with their secrets hidden. Whatever depends on a secret is hidden with it.
pub(super) fn hidden(
    of: Option<&ValuePlaces<'_>>,
    redaction: &Redaction,
    values: &[(AnswerPart, &[Key], &Value)],
) -> Vec<Value> {
    let in_section = |&(part, keys, value): &(AnswerPart, _, _)| Some((part.is_export()?, keys, value));
    let mut shown =
        all_shown(of, redaction, &values.iter().filter_map(in_section).collect::<Vec<ValueAt<'_>>>())
            .into_iter();
    let value = |(part, _, value): &(AnswerPart, _, &Value)| {
        part.is_export().and_then(|_| shown.next()).unwrap_or_else(|| Value::clone(value))
    };
    values.iter().map(value).collect()
}

/// The places of values: the layer that has the last word. Lists of classes and applications have none.
pub(super) fn value_places(
    of: &ValuePlaces<'_>,
    values: &[(AnswerPart, &[Key], &Value)],
) -> Vec<Option<ValuePlace>> {
    let wanted = |&(part, keys, _): &(AnswerPart, &[Key], _)| {
        Some(Wanted { path: keys.to_vec(), export: part.is_export()?, items: Vec::new() })
    };
    let wanted: Vec<Option<Wanted>> = values.iter().map(wanted).collect();
    let mut found = places(of, &wanted.iter().flatten().cloned().collect::<Vec<_>>()).into_iter();
    let place = |((part, _, _), wanted): (&(AnswerPart, _, _), Option<Wanted>)| match (part, wanted) {
        // Together they may need more than one may.
        (_, Some(wanted)) => found.next()?.place.or_else(|| places(of, &[wanted]).pop()?.place),
        (AnswerPart::Environment, _) => environment(of.computation(), of.layers(), None).place,
        _ => None,
    };
    values.iter().zip(wanted).map(place).collect()
}
