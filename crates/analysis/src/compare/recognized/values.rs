//! Causes that the old and the new value show by themselves.

use rustc_hash::FxHashMap;

use crate::compare::causes::Cause;
use crate::compare::normal::{OldForm, in_form, json_key};
use crate::diff::{NodeChange, Section};
use reclass::parts::engine::AUTOMATIC;
use reclass::parts::engine::automatic::join;
use reclass_base::pystr;
use reclass_base::value::{Key, Text, Value};
use reclass_yaml::compose::{Data, DocumentLimits, compose_within};
use reclass_yaml::to_value;

/// The cause of each change of this node. The changes of the items of a list stand together.
pub(super) fn causes(node: &Text, changes: &[NodeChange], form: OldForm) -> Vec<Option<Cause>> {
    let keys = OtherKeys::of(changes, form);
    let mut causes = Vec::with_capacity(changes.len());
    for group in changes.chunk_by(is_same_list) {
        // Of the items that a list loses and gains, the first goes with the first, and so on.
        let items = |added: bool| {
            let of_side = group
                .iter()
                .filter(move |change| change.items.first().is_some_and(|item| item.added == added));
            of_side.map(|change| change.items.first().and_then(|item| change.item(item)))
        };
        let (lost, gained): (Vec<_>, Vec<_>) = (items(false).collect(), items(true).collect());
        let (mut at_lost, mut at_gained) = (0.., 0..);
        for change in group {
            let at = match change.items.first() {
                None => None,
                Some(item) if item.added => at_gained.next(),
                Some(_) => at_lost.next(),
            };
            let (old, new) = match at {
                None => (change.old.as_ref(), change.new.as_ref()),
                Some(at) => (lost.get(at).copied().flatten(), gained.get(at).copied().flatten()),
            };
            causes.push(cause(node, change, (old, new), &keys, form));
        }
    }
    causes
}

/// Whether two changes are of items of one list.
fn is_same_list(one: &NodeChange, other: &NodeChange) -> bool {
    !one.items.is_empty() && !other.items.is_empty() && one.section == other.section && one.path == other.path
}

fn cause(
    node: &Text,
    change: &NodeChange,
    (old, new): (Option<&Value>, Option<&Value>),
    keys: &OtherKeys<'_>,
    form: OldForm,
) -> Option<Cause> {
    if change.section == Section::Environment {
        return is_base(change).then_some(Cause::BaseEnvironment);
    }
    if change.section == Section::Parameters
        && let Some(cause) = automatic(node, change)
    {
        return Some(cause);
    }
    if old.is_some_and(|old| is_object(&pystr::repr(old))) {
        return Some(Cause::LeakedObject);
    }
    match (old, new) {
        // Of equal items, only the order differs.
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some(new)) => of_scalars(old, new, form),
        _ if change.items.is_empty() => keys.cause(change),
        _ => None,
    }
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
    match (old, new) {
        (Value::Str(text), _) if read(text, false, form).as_ref() == Some(new) => true,
        (_, Value::Str(text)) => read(text, true, form).as_ref() == Some(old),
        // `014` is fourteen there, and twelve here.
        (Value::Int(old), Value::Int(new)) => i64::from_str_radix(&old.to_string(), 8) == Ok(*new),
        _ => false,
    }
}

/// The longest text that may be a number, a word or a time.
const LONGEST: usize = 64;

/// A plain scalar as YAML 1.1 or 1.2 reads it.
fn read(text: &str, yaml12: bool, form: OldForm) -> Option<Value> {
    if text.len() > LONGEST {
        return None;
    }
    let limits = DocumentLimits { yaml12, ..DocumentLimits::HIGHEST };
    let root = compose_within(text.as_bytes(), limits).ok()?.root?;
    matches!(root.data, Data::Value(_)).then(|| in_form(&to_value(&root), form))
}

/// Keys that have another name on the other side: `yes` and `true` (Y1), and what is left of a key that is a
/// prefix (M6).
struct OtherKeys<'c>(FxHashMap<(Section, &'c [Key]), Cause>);

impl<'c> OtherKeys<'c> {
    fn of(changes: &'c [NodeChange], form: OldForm) -> OtherKeys<'c> {
        let mut known = OtherKeys(FxHashMap::default());
        let is_new = |change: &&NodeChange| change.old.is_none() && change.new.is_some();
        let new: FxHashMap<(Section, &[Key]), &[Key]> = changes
            .iter()
            .filter(is_new)
            .map(|change| ((change.section, &*change.path), &*change.path))
            .collect();
        for change in changes.iter().filter(|change| change.old.is_some() && change.new.is_none()) {
            let Some((key, around)) = change.path.split_last() else { continue };
            let at = |name: Value| new.get(&(change.section, &*[around, &[Key(name)]].concat())).copied();
            let (others, cause) = match &key.0 {
                Value::Str(key) if key.is_empty() => {
                    known.0.insert((change.section, &change.path), Cause::EmptyKey);
                    (
                        ["~", "=", ""].into_iter().filter_map(|name| at(Value::text(name))).collect(),
                        Cause::EmptyKey,
                    )
                }
                Value::Str(key) => {
                    let name = read(key, false, form).filter(|name| *name != Value::Str(key.clone()));
                    // Keys of JSON are texts.
                    let name =
                        name.map(|name| if form == OldForm::Yaml { name } else { json_key(&Key(name)).0 });
                    (name.and_then(at).into_iter().collect(), Cause::Yaml12)
                }
                _ => (Vec::new(), Cause::Yaml12),
            };
            for other in others {
                known.0.insert((change.section, other), cause);
                known.0.insert((change.section, &change.path), cause);
            }
        }
        known
    }

    fn cause(&self, change: &NodeChange) -> Option<Cause> {
        self.0.get(&(change.section, &*change.path)).copied()
    }
}

/// Whether an object of Python, as Salt prints it, has the date of an ISO 8601 text (Y4).
fn is_timestamp(old: &str, new: &str) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok());
        numbers.take(3).collect()
    };
    old.starts_with("datetime.") && numbers(old).len() == 3 && numbers(old) == numbers(new)
}

/// Whether the old text has spaces in place of the tabs of the new one (R13). Their number is that of the old program.
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
