//! Twins: entries of one mapping that are one parameter to reclass, because their keys differ in the
//! prefix alone (`address`, `=address`, `~address`; M4, M5).
//!
//! To set one beside the other would make two layers in one place, and the parameter stays if only
//! one of them is deleted. Which of the two is meant is for the caller to say, with the prefix.

use super::{Action, Change};
use crate::base::value::{Text, Value};
use crate::model::merge::Prefixes;

/// The first variant on the way to the entry of a change: how many of its keys lead to the mapping
/// that has it, and its key as it is written there.
///
/// With its prefix an entry can be deleted beside a variant: no other is meant. The names of the
/// outermost mapping, `classes` and `parameters`, are reclass's own and have none.
pub(super) fn find(before: Option<&Value>, change: &Change, prefixes: &Prefixes) -> Option<(usize, Text)> {
    let mut place = before;
    for (depth, name) in change.keys.iter().enumerate() {
        let map = place.and_then(Value::as_map)?;
        let bare = prefixes.bare(name);
        let goes = change.action == Action::Delete && depth + 1 == change.keys.len();
        let meant = goes && bare != &**name;
        if depth > 0 && !meant {
            let variant = |key: &&str| *key != &**name && prefixes.bare(key) == bare;
            if let Some(variant) = map.keys().filter_map(|key| key.as_str()).find(variant) {
                return Some((depth, variant.into()));
            }
        }
        place = map.get(&**name);
    }
    None
}
