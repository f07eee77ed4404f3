//! What data come to when an entry of them changes, apart from the editor.

use reclass::pystr;
use reclass::value::{Key, Map, Text, Value};

/// The data with an entry set, or deleted where there is no new value; mappings that are missing on
/// the way are made.
pub fn changed(value: &Value, keys: &[Text], new: Option<&Value>) -> Value {
    let mut map = value.as_map().cloned().unwrap_or_default();
    let at = map.keys().position(|key| pystr::str(&key.0) == *keys[0]);
    match (at, keys.len(), new) {
        (Some(at), 1, Some(new)) => *map.get_index_mut(at).expect("an entry").1 = new.clone(),
        (Some(at), 1, None) => {
            map.shift_remove_index(at);
        }
        (Some(at), _, _) => {
            let (_, inner) = map.get_index_mut(at).expect("an entry");
            *inner = changed(inner, &keys[1..], new);
        }
        (None, _, Some(new)) => {
            let inner = keys[1..].iter().rev().fold(new.clone(), |value, key| {
                Value::map(Map::from_iter([(Key::from(key.clone()), value)]))
            });
            map.insert(Key::from(keys[0].clone()), inner);
        }
        (None, _, None) => {}
    }
    Value::map(map)
}
