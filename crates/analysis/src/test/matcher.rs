//! The matchers: what a test expects of one value, and how a value misses it.

use std::cmp::Ordering;

use fancy_regex::Regex;

use reclass_base::pystr;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Text, Value};

/// The names of all matchers.
pub(super) const MATCHERS: [&str; 10] =
    ["equal", "contains", "min", "max", "matches", "type", "absent", "one_of", "same_as", "snapshot"];

pub(super) const TYPES: [&str; 11] = [
    "string",
    "number",
    "integer",
    "float",
    "boolean",
    "list",
    "mapping",
    "null",
    "date",
    "timestamp",
    "binary",
];

/// The words before the name of a type, which is no secret.
pub(super) const OF_TYPE: &str = "a value of the type";

/// An expectation of one value.
#[derive(Debug)]
pub(super) enum Matcher {
    /// The value, whatever the order of keys is.
    Equal(Value),
    /// An item, a key, a part of a mapping, or a part of a text.
    Contains(Value),
    Min(Value),
    Max(Value),
    /// A regular expression that matches somewhere in a text.
    Matches(Text, Box<Regex>),
    Type(&'static str),
    Absent,
    OneOf(Vec<Value>),
    /// The value of another node at the same path.
    SameAs(Text),
    /// The value that was recorded.
    Snapshot,
}

/// A value that is not as expected.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Miss {
    /// The path of the value in its section; deeper than that of the expectation if only a part differs.
    pub path: Vec<Key>,
    /// The words before the expected value.
    pub words: &'static str,
    /// The expected value; `None` if nothing was expected.
    pub expected: Option<Value>,
    /// The node that has the expected value.
    pub other: Option<Text>,
    /// The value; `None` if there is none.
    pub got: Option<Value>,
}

impl Matcher {
    /// The misses of a value, none if it is as expected. The values of another node and of a snapshot are
    /// compared by the caller.
    pub fn misses(&self, path: &[Key], got: Option<&Value>) -> Vec<Miss> {
        let (words, expected) = match self {
            Matcher::Equal(expected) => return differences("", path, Some(expected), got),
            Matcher::SameAs(_) | Matcher::Snapshot => return Vec::new(),
            Matcher::Absent => ("", None),
            Matcher::Contains(part) => ("a value that contains", Some(part.clone())),
            Matcher::Min(least) => ("at least", Some(least.clone())),
            Matcher::Max(most) => ("at most", Some(most.clone())),
            Matcher::Matches(source, _) => ("a text that matches", Some(Value::Str(source.clone()))),
            Matcher::Type(name) => (OF_TYPE, Some(Value::text(*name))),
            Matcher::OneOf(values) => ("one of", Some(Value::list(values.clone()))),
        };
        if self.is_met(got) {
            return Vec::new();
        }
        vec![Miss { path: path.to_vec(), words, expected, other: None, got: got.cloned() }]
    }

    fn is_met(&self, got: Option<&Value>) -> bool {
        let Some(got) = got else { return matches!(self, Matcher::Absent) };
        match self {
            Matcher::Contains(part) => contains(got, part),
            Matcher::Min(least) => order(got, least).is_some_and(Ordering::is_ge),
            Matcher::Max(most) => order(got, most).is_some_and(Ordering::is_le),
            // An expression that goes back too often matches nothing.
            Matcher::Matches(_, regex) => {
                got.as_str().is_some_and(|text| regex.is_match(text).unwrap_or_default())
            }
            Matcher::Type("number") => matches!(got.type_name(), "integer" | "float"),
            Matcher::Type(name) => got.type_name() == *name,
            Matcher::OneOf(values) => values.iter().any(|value| equal(value, got)),
            Matcher::Absent | Matcher::Equal(_) | Matcher::SameAs(_) | Matcher::Snapshot => false,
        }
    }
}

/// Whether two values are equal. The order of keys does not count: no reader of a pillar relies on it.
pub(super) fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Map(one), Value::Map(other)) => grow(|| {
            let same = |(key, value): (&Key, &Value)| at(other, key).is_some_and(|other| equal(value, other));
            one.len() == other.len() && one.iter().all(same)
        }),
        (Value::List(one), Value::List(other)) => grow(|| {
            one.len() == other.len() && one.iter().zip(other.iter()).all(|(one, other)| equal(one, other))
        }),
        _ => one == other,
    }
}

/// The value at a key. Merging makes texts of the keys of parameters (M7), so `80` in a test is also `"80"`.
fn at<'m>(map: &'m Map, key: &Key) -> Option<&'m Value> {
    map.get(key).or_else(|| match &key.0 {
        Value::Str(_) => None,
        other => map.get(&*pystr::str(other)),
    })
}

fn contains(got: &Value, part: &Value) -> bool {
    let has = |value: &Value, part: &Value| {
        equal(value, part)
            || matches!((value, part), (Value::Map(_), Value::Map(_))) && grow(|| contains(value, part))
    };
    match (got, part) {
        (Value::Map(map), Value::Map(part)) => {
            part.iter().all(|(key, part)| at(map, key).is_some_and(|value| has(value, part)))
        }
        (Value::List(items) | Value::Tuple(items) | Value::Set(items), part) => {
            let is_there = |part: &Value| items.iter().any(|item| has(item, part));
            // A list inside of the list is one item.
            if let Value::List(parts) = part { parts.iter().all(is_there) } else { is_there(part) }
        }
        (_, Value::List(parts)) => parts.iter().all(|part| contains(got, part)),
        (Value::Map(map), key) => at(map, &Key(key.clone())).is_some(),
        (Value::Str(text), Value::Str(part)) => text.contains(&**part),
        _ => false,
    }
}

/// The order of two numbers.
fn order(one: &Value, other: &Value) -> Option<Ordering> {
    match (one, other) {
        (Value::Int(one), Value::Int(other)) => Some(one.cmp(other)),
        _ => number(one)?.partial_cmp(&number(other)?),
    }
}

/// A number as a float, as near as it gets.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => pystr::str(value).parse().ok(),
        _ => None,
    }
}

/// Maximum number of differences of one value.
const MOST_DIFFERENCES: usize = 50;

/// The differences of two values. Mappings are compared key by key, so that each difference has the place of its
/// own value.
pub(super) fn differences(
    words: &'static str,
    path: &[Key],
    expected: Option<&Value>,
    got: Option<&Value>,
) -> Vec<Miss> {
    let mut all = Vec::new();
    compare(words, &mut path.to_vec(), expected, got, &mut all);
    all
}

fn compare(
    words: &'static str,
    path: &mut Vec<Key>,
    expected: Option<&Value>,
    got: Option<&Value>,
    all: &mut Vec<Miss>,
) {
    if all.len() == MOST_DIFFERENCES {
        return;
    }
    match (expected, got) {
        (Some(expected), Some(got)) if equal(expected, got) => {}
        (Some(Value::Map(expected)), Some(Value::Map(got))) => grow(|| {
            let more = got.keys().filter(|key| at(expected, key).is_none());
            for key in expected.keys().chain(more) {
                path.push(key.clone());
                compare(words, path, at(expected, key), at(got, key), all);
                path.pop();
            }
        }),
        (expected, got) => {
            let (expected, got) = (expected.cloned(), got.cloned());
            let words = if expected.is_some() { words } else { "" };
            all.push(Miss { path: path.clone(), words, expected, other: None, got });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reclass_yaml::parse_value;

    fn value(text: &str) -> Value {
        parse_value(text).expect("YAML")
    }

    #[test]
    fn what_contains_what() {
        for (got, part, is) in [
            ("[a, b]", "b", true),
            ("[a, b]", "[b, a]", true),
            ("[a, b]", "[b, c]", false),
            ("[1, {x: 1}, [3]]", "[[3]]", true),
            ("[1, [3]]", "[[3], 1]", true),
            ("[1, [3, 4]]", "[[3]]", false),
            ("[1, 3]", "[[3]]", false),
            ("[{name: a, port: 1}]", "{name: a}", true),
            ("[{name: a, port: 1}, {name: b}]", "[{name: b}, {port: 1}]", true),
            ("{a: {b: 1, c: 2}, d: 3}", "{a: {b: 1}}", true),
            ("{a: {b: 1}}", "{a: {b: 2}}", false),
            ("{a: 1}", "a", true),
            ("{80: a}", "80", true),
            ("abc", "b", true),
            ("1", "1", false),
        ] {
            assert_eq!(contains(&value(got), &value(part)), is, "{got} {part}");
        }
    }

    #[test]
    fn numbers_have_an_order_and_texts_have_none() {
        for (one, other, expected) in [
            ("2", "3", Some(Ordering::Less)),
            ("2.5", "2", Some(Ordering::Greater)),
            ("99999999999999999999", "1", Some(Ordering::Greater)),
            ("'2'", "3", None),
            ("true", "0", None),
        ] {
            assert_eq!(order(&value(one), &value(other)), expected, "{one} {other}");
        }
    }

    #[test]
    fn a_difference_is_at_the_key_that_differs() {
        let (expected, got) = (value("{a: {b: 1, c: 2}, d: 3}"), value("{d: 3, a: {c: 4, b: 1, e: 5}}"));
        let misses = differences("", &[], Some(&expected), Some(&got));
        let paths: Vec<String> =
            misses.iter().map(|miss| reclass_base::path::join_path(&miss.path, ":")).collect();
        assert_eq!(paths, ["a:c", "a:e"]);
        assert!(equal(&value("{a: 1, b: 2}"), &value("{b: 2, a: 1}")));
        assert!(!equal(&value("1"), &value("true")));
    }
}
