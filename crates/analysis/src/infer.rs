//! Writes a first schema of a parameter from its values in all nodes: types, keys that all have, words, formats, and
//! the comments above keys. A person reads it and makes a rule of it; `docs/inferred-schemas.md` says what is guessed.
//!
//! The values of secrets do not count, nor do those that depend on them.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use indexmap::IndexMap;

use crate::comments::key_comments;
use crate::diff::Renderer;
use crate::explain::{ValuePlaces, shown};
use crate::survey::Survey;
use reclass::Inventory;
use reclass::parts::engine::{Computation, NodeRequest};
use reclass::parts::model::Prefixes;
use reclass::parts::model::merge::settled;
use reclass::redact::Redaction;
use reclass_base::error::Result;
use reclass_base::path::split_path;
use reclass_base::pystr;
use reclass_base::secrets::MASK;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Text, Value};

/// The draft of the schemas that are written.
pub const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The most words of an `enum`, and the number of values that it needs.
const MOST_WORDS: usize = 5;
const LEAST_VALUES: usize = 10;

/// The least number of mappings with half of the keys each, of which the keys are taken for all that there are.
const LEAST_MAPPINGS: usize = 10;

/// The least number of keys that may be names of things.
const LEAST_NAMES: usize = 3;

/// A keyword that says what a text looks like, and whether a text does.
type TextForm = (&'static str, &'static str, fn(&str) -> bool);

/// The forms that texts may have. If all values have several, the first one counts.
const FORMS: [TextForm; 5] = [
    ("format", "ipv4", |text| text.parse::<Ipv4Addr>().is_ok()),
    ("pattern", "^[0-9a-fA-F.:]+/[0-9]{1,3}$", is_network),
    ("format", "email", is_email),
    ("format", "uri", is_uri),
    ("format", "hostname", is_hostname),
];

/// A schema that was written from values.
#[derive(Clone, Debug)]
pub struct InferredSchema {
    /// The schema; `None` if no node has the parameter.
    pub schema: Option<Value>,
    /// The number of nodes that do not render.
    pub left_out: usize,
}

/// The schema of the parameter at a path, as `ntp:server`.
pub fn infer(inventory: &Inventory, path: &str) -> Result<InferredSchema> {
    let redaction = Redaction::of(inventory.settings());
    let segments = split_path(path, &inventory.settings().delimiter);
    let keys: Vec<Key> = segments.into_iter().map(Key::from).collect();
    inventory.inspect(|computation| {
        let names: Vec<&Text> = computation.catalog.nodes.keys().collect();
        let found = computation
            .context()
            .each_node(&names, Renderer::new, |renderer, name| value_of(renderer, name, &keys, &redaction));
        let left_out = found.iter().filter(|found| found.is_err()).count();
        let mut observed = ObservedValues::default();
        for (value, shown) in found.into_iter().flatten().flatten() {
            observed.add(&value, &shown);
        }
        let schema = (observed.values > 0).then(|| {
            describe(computation, &keys, &redaction, &mut observed);
            whole(path, &observed)
        });
        InferredSchema { schema, left_out }
    })
}

/// The value of a node at a path, and the same with hidden secrets.
fn value_of(
    renderer: &Renderer<'_>,
    name: &str,
    path: &[Key],
    redaction: &Redaction,
) -> Result<Option<(Value, Value)>> {
    let request = NodeRequest::plain(name);
    let mut value = renderer.answer(request)?.parameters;
    for key in path {
        let Some(below) = value.as_map().and_then(|map| map.get(key)) else { return Ok(None) };
        value = below.clone();
    }
    let hidden = if redaction.secrets.is_none() {
        value.clone()
    } else {
        let layers = renderer.layers_of(request)?;
        shown(Some(&ValuePlaces::new(renderer.computation(), &layers)), redaction, (false, path, &value))
    };
    Ok(Some((value, hidden)))
}

/// Adds the comments above the keys of the classes. One in the file of a node is about this node, and of several that
/// differ nobody knows which one is about the parameter.
fn describe(
    computation: &Computation<'_>,
    path: &[Key],
    redaction: &Redaction,
    observed: &mut ObservedValues,
) {
    let prefixes = Prefixes::new(computation.settings);
    let delimiter = &computation.settings.delimiter;
    for file in Survey::of(computation).files.iter().filter(|file| file.is_class) {
        let Ok(layer) = &file.layer else { continue };
        let text = || computation.inputs.files.text(&file.path);
        let is_there = settled(&layer.parameters, &prefixes).at(path).is_some();
        let Some(text) = is_there.then(text).flatten() else { continue };
        // A comment above a key with a prefix is about what this class does to the value: no value has such a key.
        let [comments, _] = key_comments(&text, None, delimiter, redaction);
        let mut comments: Vec<_> = comments.into_iter().collect();
        comments.sort_unstable();
        for (at, comment) in comments {
            let keys = split_path(&at, delimiter).into_iter().map(Key::from).collect::<Vec<_>>();
            let Some(below) = keys.strip_prefix(path) else { continue };
            let part = below.iter().try_fold(&mut *observed, |part, key| part.keys.get_mut(key.as_str()?));
            if let Some(part) = part.filter(|_| is_description(&comment)) {
                part.take_comment(&comment);
            }
        }
    }
}

/// Words of comments that say nothing about a value.
const ASIDES: [&str; 6] = ["copyright", "fixme", "spdx", "todo", "xxx", "yamllint"];

/// Whether a comment describes the value below: a sentence, and neither a heading, nor entries that somebody took out,
/// nor a remark about the file.
fn is_description(comment: &str) -> bool {
    let is_sentence = comment.ends_with('.') || comment.split_whitespace().count() > 3;
    let lower = comment.to_lowercase();
    let is_aside = lower.split(|c: char| !c.is_alphanumeric()).any(|word| ASIDES.contains(&word))
        || lower.contains("licensed under")
        || lower.contains("-*-");
    is_sentence && !is_aside && !comment.lines().any(is_entry)
}

/// Whether a line looks like YAML: an item of a list, or a key of one word.
fn is_entry(line: &str) -> bool {
    let key = line.split_once(':').filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '));
    line.starts_with("- ")
        || line.contains("${")
        || line.starts_with(['{', '[', '}', ']', '|', '>'])
        || key.is_some_and(|(key, _)| !key.trim().contains(' '))
}

/// The schema with its head.
fn whole(path: &str, observed: &ObservedValues) -> Value {
    let nodes = if observed.values == 1 { "1 node".to_owned() } else { format!("{} nodes", observed.values) };
    let text = format!("A first schema, written from the values of {nodes}. Read it before it is a rule.");
    let mut head = Map::default();
    head.insert("$schema".into(), Value::text(DRAFT));
    head.insert("$comment".into(), Value::text(text));
    head.insert("title".into(), Value::text(path));
    let body = observed.schema();
    head.extend(body.iter().map(|(key, value)| (key.clone(), value.clone())));
    Value::map(head)
}

/// What is known of some values.
#[derive(Clone, Default)]
struct ObservedValues {
    values: usize,
    /// The JSON types, in the order in which schemas name them.
    types: BTreeSet<&'static str>,
    mappings: usize,
    keys: IndexMap<String, ObservedValues>,
    items: Option<Box<ObservedValues>>,
    texts: usize,
    /// Distinct texts, one more than an `enum` may have.
    words: BTreeSet<Text>,
    /// The numbers of the forms that a text lacks.
    unfit: BTreeSet<usize>,
    has_secrets: bool,
    comment: String,
    /// Whether files describe it differently.
    differs: bool,
}

impl ObservedValues {
    /// Adds a value; `shown` is the same with hidden secrets.
    fn add(&mut self, value: &Value, shown: &Value) {
        self.values += 1;
        self.types.insert(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) | Value::BigInt(_) => "integer",
            Value::Float(_) => "number",
            // What JSON lacks is a text.
            Value::Str(_) | Value::Binary(_) | Value::Date(_) | Value::DateTime(_) => "string",
            Value::List(_) | Value::Tuple(_) | Value::Set(_) => "array",
            Value::Map(_) => "object",
        });
        match (value, shown) {
            (Value::Map(map), Value::Map(shown)) => grow(|| {
                self.mappings += 1;
                for ((key, value), shown) in map.iter().zip(shown.values()) {
                    self.keys.entry(pystr::str(&key.0)).or_default().add(value, shown);
                }
            }),
            (Value::List(items) | Value::Tuple(items) | Value::Set(items), Value::List(shown)) => {
                grow(|| {
                    let inner = self.items.get_or_insert_default();
                    items.iter().zip(shown.iter()).for_each(|(item, shown)| inner.add(item, shown));
                });
            }
            (_, Value::Str(text)) if **text == *MASK => self.has_secrets = true,
            (Value::Str(text), _) => {
                self.texts += 1;
                if self.words.len() <= MOST_WORDS {
                    self.words.insert(text.clone());
                }
                let unfit = FORMS.iter().enumerate().filter(|(_, (_, _, fits))| !fits(text));
                self.unfit.extend(unfit.map(|(number, _)| number));
            }
            // A date as a text has none of the forms.
            _ => self.unfit.extend(0..if self.types.contains("string") { FORMS.len() } else { 0 }),
        }
    }

    /// Adds other values.
    fn merge(&mut self, other: &ObservedValues) {
        self.values += other.values;
        self.types.extend(&other.types);
        self.mappings += other.mappings;
        self.texts += other.texts;
        self.words.extend(other.words.iter().cloned());
        self.unfit.extend(&other.unfit);
        self.has_secrets |= other.has_secrets;
        self.differs |= other.differs;
        self.take_comment(&other.comment);
        grow(|| {
            for (key, values) in &other.keys {
                self.keys.entry(key.clone()).or_default().merge(values);
            }
            if let Some(items) = &other.items {
                self.items.get_or_insert_default().merge(items);
            }
        });
    }

    fn take_comment(&mut self, comment: &str) {
        if self.comment.is_empty() {
            comment.clone_into(&mut self.comment);
        }
        self.differs |= !comment.is_empty() && self.comment != comment;
    }

    /// What the values have in common if the keys are names of things, as the sites of a web server: mappings of
    /// which each has most of the keys of all.
    fn things(&self) -> Option<ObservedValues> {
        if self.keys.len() < LEAST_NAMES || self.keys.values().any(|values| values.mappings < values.values) {
            return None;
        }
        let mut all = ObservedValues::default();
        self.keys.values().for_each(|values| all.merge(values));
        // A comment about one of them is none about all.
        (all.comment, all.differs) = (String::new(), false);
        let common = all.keys.values().filter(|values| values.values == all.mappings).count();
        (common > 0 && common * 2 >= all.keys.len()).then_some(all)
    }

    fn schema(&self) -> Map {
        let mut schema = Map::default();
        let mut put = |keyword: &str, value: Value| drop(schema.insert(keyword.into(), value));
        if !self.comment.is_empty() && !self.differs {
            put("description", Value::text(self.comment.as_str()));
        }
        let mut types: Vec<&str> = self.types.iter().copied().collect();
        // An integer is a number.
        if types.contains(&"number") {
            types.retain(|name| *name != "integer");
        }
        match types.as_slice() {
            [] => {}
            [only] => put("type", Value::text(*only)),
            several => put("type", Value::list(several.iter().map(|name| Value::text(*name)).collect())),
        }
        let texts = |words: &BTreeSet<Text>| Value::list(words.iter().cloned().map(Value::Str).collect());
        if self.texts > 0 && !self.has_secrets {
            let form = FORMS.iter().enumerate().find(|(number, _)| !self.unfit.contains(number));
            let are_words = (2..=MOST_WORDS).contains(&self.words.len())
                && self.words.iter().all(|word| is_word(word))
                && types == ["string"];
            match form {
                Some((_, (keyword, form, _))) => put(keyword, Value::text(*form)),
                None if are_words && self.texts >= LEAST_VALUES => put("enum", texts(&self.words)),
                None => {}
            }
        }
        grow(|| {
            if let Some(things) = self.things() {
                put("additionalProperties", Value::map(things.schema()));
            } else if !self.keys.is_empty() {
                self.properties(&mut put);
            }
            if let Some(items) = self.items.as_deref().filter(|items| items.values > 0) {
                put("items", Value::map(items.schema()));
            }
        });
        schema
    }

    fn properties(&self, put: &mut dyn FnMut(&str, Value)) {
        let all = self.keys.iter().filter(|(_, values)| values.values == self.mappings && self.mappings > 1);
        let required: Vec<Value> = all.map(|(key, _)| Value::text(key.as_str())).collect();
        if !required.is_empty() {
            put("required", Value::list(required));
        }
        let is_frequent = |values: &ObservedValues| values.values * 2 >= self.mappings;
        if self.mappings >= LEAST_MAPPINGS && self.keys.values().all(is_frequent) {
            put("additionalProperties", Value::Bool(false));
        }
        let property = |(key, values): (&String, &ObservedValues)| {
            (Key::from(key.as_str()), Value::map(values.schema()))
        };
        put("properties", Value::map(self.keys.iter().map(property).collect()));
    }
}

/// Whether a text is a word that a person chose from a few.
fn is_word(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (1..=40).contains(&text.len()) && text.chars().all(is_part)
}

fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn is_email(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    text.split_once('@').is_some_and(|(name, host)| {
        let name_is_plain = name.chars().all(is_part) && !name.contains("..");
        name_is_plain
            && !name.is_empty()
            && !name.starts_with('.')
            && !name.ends_with('.')
            && is_hostname(host)
    })
}

fn is_uri(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#@!$&'()*+,;=".contains(c);
    text.split_once("://").is_some_and(|(scheme, rest)| {
        let is_scheme = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
        let is_scheme = is_scheme && scheme.starts_with(|c: char| c.is_ascii_alphabetic());
        is_scheme && !rest.is_empty() && rest.chars().all(is_part) && rest.matches('#').count() <= 1
    })
}

/// Whether a text is a full name of a host. A word alone could be anything.
fn is_hostname(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.chars().all(is_part)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let labels = || text.split('.');
    let ends_in_letters =
        labels().next_back().is_some_and(|last| last.chars().all(|c| c.is_ascii_alphabetic()));
    text.len() <= 253 && labels().count() > 1 && ends_in_letters && labels().all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_a_sentence_about_the_value() {
        for (comment, describes) in [
            ("Processes that answer requests", true),
            ("The port.", true),
            ("Settings: see the page of the vendor", false),
            ("The prefix `~` replaces: none of the sites of production.", true),
            ("cert parameters", false),
            ("volumes:\n- /srv/calico:/etc/calico", false),
            ("Disabled until the kubelet is repaired\n- host: a\n- host: b", false),
            ("size: 100Gi\nonly used if the path is enabled below", false),
            ("address of the node is ${_param:address} here", false),
            ("FIXME if ntp is defined here", false),
            ("Copyright 2020 by the authors of this", false),
        ] {
            assert_eq!(is_description(comment), describes, "{comment}");
        }
    }

    #[test]
    fn forms_of_texts() {
        for (text, form) in [
            ("10.0.0.1", "ipv4"),
            ("10.0.0.0/24", FORMS[1].1),
            ("2001:db8::/32", FORMS[1].1),
            ("ada@example.com", "email"),
            ("postgresql://db1.example.com/shop", "uri"),
            ("web1.example.com", "hostname"),
            ("10.0.0.1:80", ""),
            ("10.0.0.0/33", ""),
            ("www", ""),
            ("1.2.3", ""),
            ("a b@example.com", ""),
            ("", ""),
        ] {
            let found = FORMS.iter().find(|(_, _, fits)| fits(text)).map_or("", |(_, form, _)| form);
            assert_eq!(found, form, "{text}");
        }
    }
}
