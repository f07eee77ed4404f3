//! The data that a file must have after a change. The edited text is checked against it.

use super::change::{Action, Change};
use super::splice::Refusal;
use reclass_base::error::article;
use reclass_base::pystr;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Text, Value};

/// The change without duplicate items and without items that are in the list.
pub(super) fn without_known_items(before: Option<&Value>, change: &Change) -> Change {
    let mut change = change.clone();
    if let Action::Append(items) = &mut change.action {
        let mut place = before;
        for key in &change.keys {
            place = place.and_then(Value::as_map).and_then(|map| {
                find(map, key).ok().flatten().and_then(|at| map.get_index(at)).map(|(_, value)| value)
            });
        }
        let mut known = match place {
            Some(Value::List(known)) => known.to_vec(),
            _ => Vec::new(),
        };
        items.retain(|item| {
            let new = !known.contains(item);
            if new {
                known.push(item.clone());
            }
            new
        });
    }
    change
}

/// The data after a change; `None` if nothing changes.
pub(super) fn after(before: Option<&Value>, change: &Change) -> Result<Option<Value>, Refusal> {
    step(before, &change.keys, &change.action)
}

fn step(value: Option<&Value>, keys: &[Text], action: &Action) -> Result<Option<Value>, Refusal> {
    let Some((name, below)) = keys.split_first() else { return last(value, action) };
    let map = match value {
        None | Some(Value::Null) => &Map::default(),
        Some(Value::Map(map)) => map.as_ref(),
        Some(other) => {
            let what = format!("'{name}' would stand in {}, not in a mapping", article(other.type_name()));
            return Err(Refusal::new(what));
        }
    };
    let index = find(map, name)?;
    let inner = index.and_then(|index| map.get_index(index)).map(|(_, value)| value);
    if below.is_empty() && *action == Action::Delete {
        let Some(index) = index else { return Ok(None) };
        let mut map = map.clone();
        map.shift_remove_index(index);
        return Ok(Some(Value::map(map)));
    }
    if inner.is_none() && *action == Action::Delete {
        return Ok(None);
    }
    let Some(changed) = step(inner, below, action)? else { return Ok(None) };
    let mut map = map.clone();
    match index.and_then(|index| map.get_index_mut(index)) {
        Some((_, value)) => *value = changed,
        None => {
            map.insert(Key::from(name.clone()), changed);
        }
    }
    Ok(Some(Value::map(map)))
}

fn last(value: Option<&Value>, action: &Action) -> Result<Option<Value>, Refusal> {
    match action {
        Action::Set(wanted) => Ok((value != Some(wanted)).then(|| wanted.clone())),
        Action::Append(wanted) => {
            let items = match value {
                None | Some(Value::Null) => &Vec::new(),
                Some(Value::List(items)) => items.as_ref(),
                Some(other) => {
                    return Err(Refusal::new(format!("it is {}, not a list", article(other.type_name()))));
                }
            };
            let all = || items.iter().chain(wanted).cloned().collect();
            Ok((!wanted.is_empty()).then(|| Value::list(all())))
        }
        // `step` deletes in the parent.
        Action::Delete => Ok(None),
    }
}

/// The entry with the name of a parameter: `12` and `'12'` have the same name (M7).
fn find(map: &Map, name: &str) -> Result<Option<usize>, Refusal> {
    let mut found = map.iter().enumerate().filter(|(_, (key, _))| match &key.0 {
        Value::Str(text) => &**text == name,
        other => pystr::str(other) == name,
    });
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(Refusal::new(format!("two keys are read as '{name}'"))),
        (first, _) => Ok(first.map(|(index, _)| index)),
    }
}

/// True if no program can tell the values apart, not even by the order of keys or the sign of a zero.
pub(super) fn indistinguishable(one: &Value, other: &Value) -> bool {
    let all = |some: &[Value], others: &[Value]| {
        some.len() == others.len()
            && grow(|| some.iter().zip(others).all(|(one, other)| indistinguishable(one, other)))
    };
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => {
            one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
        }
        (Value::List(some), Value::List(others))
        | (Value::Tuple(some), Value::Tuple(others))
        | (Value::Set(some), Value::Set(others)) => all(some, others),
        (Value::Map(some), Value::Map(others)) => {
            some.len() == others.len()
                && some.iter().zip(others.iter()).all(|(one, other)| {
                    indistinguishable(&one.0.0, &other.0.0)
                        && all(std::slice::from_ref(one.1), std::slice::from_ref(other.1))
                })
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reclass_yaml::parse_value;

    #[test]
    fn indistinguishable_values() {
        for (one, other, expected) in [
            ("{a: 1, b: 2}", "{b: 2, a: 1}", false),
            ("[.nan, 1]", "[.nan, 1]", true),
            ("1", "1.0", false),
            ("{1: a}", "{true: a}", false),
            ("0.0", "-0.0", false),
        ] {
            let value = |text| parse_value(text).expect(text);
            assert_eq!(indistinguishable(&value(one), &value(other)), expected, "{one} {other}");
        }
    }
}
