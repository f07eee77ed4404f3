//! Prefix variants: keys of one mapping that differ only in the prefix (`address`, `=address`,
//! `~address`; M4, M5) and are one parameter.
//!
//! Setting one beside the other would merge two values, and deleting one would keep the parameter. So
//! the caller has to name the existing variant.

use super::change::{Action, Change};
use reclass::parts::model::Prefixes;
use reclass_base::value::{Text, Value};

/// The first prefix variant on the path of a change: the number of keys before it, and its key.
///
/// A key with a prefix can be deleted beside a variant, because it is unambiguous. The names of sections,
/// `classes` and `parameters`, have no prefix.
pub(super) fn find(before: Option<&Value>, change: &Change, prefixes: &Prefixes) -> Option<(usize, Text)> {
    let mut place = before;
    for (depth, name) in change.keys.iter().enumerate() {
        let map = place.and_then(Value::as_map)?;
        let bare = prefixes.bare(name);
        let deleted = change.action == Action::Delete && depth + 1 == change.keys.len();
        let unambiguous = deleted && bare != &**name;
        if depth > 0 && !unambiguous {
            let variant = |key: &&str| *key != &**name && prefixes.bare(key) == bare;
            if let Some(variant) = map.keys().filter_map(|key| key.as_str()).find(variant) {
                return Some((depth, variant.into()));
            }
        }
        place = map.get(&**name);
    }
    None
}
