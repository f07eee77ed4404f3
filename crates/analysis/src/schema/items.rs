//! Gives errors in the items behind a tuple the index in the whole list: the library counts them from the end of the
//! tuple.

use boon::{InstanceToken, ValidationError};
use serde_json::Value as Json;

use super::compile::SchemaSet;
use super::document::segments;
use reclass_base::stack::grow;

/// Corrects the indexes in an error and its causes. `known` is the number of steps into the value that the error around
/// it has, and `moved` the depths of the indexes among these that are behind a tuple, with its length.
pub(super) fn set_indexes(
    set: &SchemaSet,
    error: &mut ValidationError<'_, '_>,
    known: usize,
    moved: &[(usize, usize)],
) {
    let tokens = &mut error.instance_location.tokens;
    let depth = tokens.len();
    let own = moved_by(set, error.schema_url, depth).into_iter().filter(|(depth, _)| *depth >= known);
    let moved: Vec<(usize, usize)> = moved.iter().copied().chain(own).collect();
    for (depth, length) in &moved {
        if let Some(InstanceToken::Item(index)) = tokens.get_mut(*depth) {
            *index += length;
        }
    }
    grow(|| error.causes.iter_mut().for_each(|cause| set_indexes(set, cause, depth, &moved)));
}

/// The depths of the indexes behind a tuple that an address leads through, with the lengths of the tuples. `depth` is
/// that of its end. An address begins anew behind a `$ref`; the error around it has the part before.
fn moved_by(set: &SchemaSet, address: &str, depth: usize) -> Vec<(usize, usize)> {
    let Some((document, pointer)) = set.at(address) else { return Vec::new() };
    // The tuples that the steps into a value are behind, zero for none.
    let mut steps: Vec<usize> = Vec::new();
    let mut schema = &document.json;
    let mut names = segments(&pointer);
    while let Some(keyword) = names.next() {
        let tuple = |name: &str| schema.get(name).and_then(Json::as_array).map_or(0, Vec::len);
        let step = match keyword.as_str() {
            "items" if schema.get("items").is_some_and(Json::is_array) => Some(0),
            "items" => Some(tuple("prefixItems")),
            "additionalItems" => Some(tuple("items")),
            "properties"
            | "patternProperties"
            | "prefixItems"
            | "additionalProperties"
            | "contains"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Some(0),
            _ => None,
        };
        let is_list = schema.get(&keyword).is_some_and(Json::is_array);
        let Some(mut below) = schema.get(&keyword) else { break };
        let is_mapping = matches!(
            keyword.as_str(),
            "properties"
                | "patternProperties"
                | "$defs"
                | "definitions"
                | "dependentSchemas"
                | "dependencies"
        );
        if is_list || is_mapping {
            let Some(inner) = names.next().and_then(|name| super::sentence::part(below, &name)) else {
                break;
            };
            below = inner;
        }
        if matches!(keyword.as_str(), "$defs" | "definitions") {
            steps.clear();
        }
        steps.extend(step);
        schema = below;
    }
    let depths = (0..depth).rev().zip(steps.iter().rev());
    depths.filter(|(_, length)| **length > 0).map(|(depth, length)| (depth, *length)).collect()
}
