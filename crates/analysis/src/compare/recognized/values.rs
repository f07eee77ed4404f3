//! Causes that the old and the new value show by themselves.

use crate::compare::causes::Cause;
use crate::compare::normal::{OldForm, in_form};
use crate::diff::{NodeChange, Section};
use reclass::parts::engine::automatic::join;
use reclass::parts::engine::sequence::AUTOMATIC;
use reclass_base::pystr;
use reclass_base::value::{Key, Text, Value};
use reclass_yaml::compose::{Data, DocumentLimits, compose_within};
use reclass_yaml::to_value;

/// The cause of a change of this node. All changes of the node are known, to find the other name of a key.
pub(super) fn cause(node: &Text, change: &NodeChange, all: &[NodeChange], form: OldForm) -> Option<Cause> {
    if change.section == Section::Environment {
        return is_base(change).then_some(Cause::BaseEnvironment);
    }
    if change.section == Section::Parameters
        && let Some(cause) = automatic(node, change)
    {
        return Some(cause);
    }
    // An item of a list has a counterpart in the other list.
    let one = |value: &Option<Value>| value.clone().into_iter().collect::<Vec<_>>();
    let list = |value: &Option<Value>| match value {
        Some(Value::List(items)) => items.to_vec(),
        _ => Vec::new(),
    };
    let (old, new) = match change.items.first() {
        None => (one(&change.old), one(&change.new)),
        Some(item) if item.added => (list(&change.old), one(&change.item(item).cloned())),
        Some(item) => (one(&change.item(item).cloned()), list(&change.new)),
    };
    if old.iter().any(|old| is_object(&pystr::repr(old))) {
        return Some(Cause::LeakedObject);
    }
    let pair = old.iter().flat_map(|old| new.iter().map(move |new| (old, new)));
    let known = pair.filter(|(old, new)| old != new).find_map(|(old, new)| of_scalars(old, new, form));
    known.or_else(|| of_key(change, all, form))
}

/// S9.
fn is_base(change: &NodeChange) -> bool {
    change.old.as_ref().and_then(Value::as_str) == Some("base")
}

/// S12.
fn automatic(node: &Text, change: &NodeChange) -> Option<Cause> {
    let path: Option<Vec<&str>> = change.path.iter().map(Key::as_str).collect();
    let path = path.filter(|path| path.first() == Some(&AUTOMATIC))?;
    let Some(old) = &change.old else {
        return match path[1..] {
            [] => Some(Cause::NoAutomatic),
            ["name", "path" | "parts"] => Some(Cause::ShortNames),
            _ => None,
        };
    };
    let parts: Vec<Text> = node.split('.').map(Text::from).collect();
    let split = match path[1..] {
        ["environment"] => return is_base(change).then_some(Cause::BaseEnvironment),
        ["name", "parts"] => Value::texts(&parts),
        ["name", "path"] => Value::text(join(&parts)),
        ["name", "short"] => Value::Str(parts.last()?.clone()),
        _ => return None,
    };
    let is_short = |text: &Text| path[2] == "short" && old.as_str() == Some(text);
    if *old == split {
        Some(Cause::SplitNames)
    } else if is_short(node) {
        Some(Cause::WholeNames)
    } else {
        is_short(parts.first()?).then_some(Cause::ShortNames)
    }
}

/// Whether a text holds the representation of an object of the Python programs.
fn is_object(text: &str) -> bool {
    text.contains("<reclass.") || text.contains("Value(") && text.contains("Item(")
}

fn of_scalars(old: &Value, new: &Value, form: OldForm) -> Option<Cause> {
    if let (Value::Str(old), Value::Str(new)) = (old, new) {
        if form == OldForm::Pillar && is_timestamp(old, new) {
            return Some(Cause::Timestamp);
        }
        if is_without_tabs(old, new) {
            return Some(Cause::Tabs);
        }
        if new.contains(['{', '[']) && like_json(old) == like_json(new) {
            return Some(Cause::JsonInText);
        }
    }
    is_of_yaml12(old, new, form).then_some(Cause::Yaml12)
}

/// Whether YAML 1.2 reads the old scalar where YAML 1.1 reads the new one (Y1).
fn is_of_yaml12(old: &Value, new: &Value, form: OldForm) -> bool {
    let read = |text: &str, yaml12: bool| {
        let limits = DocumentLimits { yaml12, ..DocumentLimits::HIGHEST };
        let root = compose_within(text.as_bytes(), limits).ok()?.root?;
        matches!(root.data, Data::Value(_)).then(|| in_form(&to_value(&root), form))
    };
    match (old, new) {
        (Value::Str(text), _) if read(text, false).as_ref() == Some(new) => true,
        (_, Value::Str(text)) => read(text, true).as_ref() == Some(old),
        // `014` is fourteen there, and twelve here.
        (Value::Int(old), Value::Int(new)) => i64::from_str_radix(&old.to_string(), 8) == Ok(*new),
        _ => false,
    }
}

/// The other name of a key: `yes` and `true` (Y1), and what is left of a key that is a prefix (M6).
fn of_key(change: &NodeChange, all: &[NodeChange], form: OldForm) -> Option<Cause> {
    let (key, around) = change.path.split_last()?;
    if key.as_str() == Some("") {
        return Some(Cause::EmptyKey);
    }
    let other = |other: &&NodeChange| {
        (other.section, other.path.len()) == (change.section, change.path.len())
            && other.path.starts_with(around)
            && (other.old.is_none(), other.new.is_none()) == (change.new.is_none(), change.old.is_none())
    };
    let is_cause = |other: &NodeChange| {
        let (old, new) = if change.new.is_none() { (change, other) } else { (other, change) };
        let name = |change: &NodeChange| change.path.last().map_or(Value::Null, |key| key.0.clone());
        match (&name(old), &name(new)) {
            (Value::Str(old), _) if old.is_empty() => Some(Cause::EmptyKey),
            // Keys of JSON are texts.
            (old, Value::Str(new)) if form != OldForm::Yaml => {
                let words = [Value::Bool(true), Value::Bool(false), Value::Null];
                let new = words.into_iter().find(|word| pystr::str(word).to_lowercase() == **new);
                is_of_yaml12(old, &new?, form).then_some(Cause::Yaml12)
            }
            (old, new) => is_of_yaml12(old, new, form).then_some(Cause::Yaml12),
        }
    };
    if change.old.is_some() == change.new.is_some() {
        return None;
    }
    all.iter().filter(other).find_map(is_cause)
}

/// Whether an object of Python, as Salt prints it, has the date of an ISO 8601 text (Y4).
fn is_timestamp(old: &str, new: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
        numbers.take(3).collect()
    };
    old.starts_with("datetime.") && numbers(old).len() == 3 && numbers(old) == numbers(new)
}

/// Whether spaces stand in the old text where the new one has tabs (R13). How many depends on the written text.
fn is_without_tabs(old: &str, new: &str) -> bool {
    let words = |text: &str| {
        text.split([' ', '\t']).filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    new.contains('\t') && !old.contains('\t') && words(old) == words(new)
}

/// A text in which a container of Python and one of JSON look the same (R2).
fn like_json(text: &str) -> String {
    let words = [("True", "true"), ("False", "false"), ("None", "null"), ("'", "\""), (" ", "")];
    words.iter().fold(text.to_owned(), |text, (python, json)| text.replace(python, json))
}
