//! Walks through a schema: finds its parts, keywords that are probably misspelled, and schemas that would take too long.

use fancy_regex::Regex;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::compile::SchemaSet;
use super::document::{SchemaDocument, joined};
use reclass_base::error::{Error, Fault, Kind};
use reclass_base::similar::nearest;
use reclass_base::stack::grow;

/// Keywords with one schema that the value itself must fit.
const IN_PLACE: [&str; 4] = ["not", "if", "then", "else"];

/// Keywords with a list of such schemas.
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords with one schema for parts of the value.
const BELOW: [&str; 8] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "items",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords with a mapping of schemas.
const MAPPINGS: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// All other keywords of the drafts.
const OTHERS: [&str; 47] = [
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "$schema",
    "$vocabulary",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "id",
    "maxContains",
    "maximum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minContains",
    "minimum",
    "minItems",
    "minLength",
    "minProperties",
    "multipleOf",
    "pattern",
    "prefixItems",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
    "x-reclass",
    "nullable",
    // Of the schemas of salt-formulas.
    "eval",
    "style",
];

fn known() -> impl Iterator<Item = &'static str> {
    let lists = [&IN_PLACE[..], &IN_PLACE_LISTS[..], &BELOW[..], &MAPPINGS[..], &OTHERS[..]];
    lists.into_iter().flatten().copied()
}

/// Calls `visit` with each schema in a schema, and its pointer.
pub(super) fn each<'s>(schema: &'s Json, pointer: &str, visit: &mut dyn FnMut(&'s Json, &str)) {
    visit(schema, pointer);
    let Some(map) = schema.as_object() else { return };
    for (name, below) in map {
        let inner = joined(pointer, name);
        let name = name.as_str();
        if MAPPINGS.contains(&name) {
            for (name, below) in below.as_object().into_iter().flatten() {
                grow(|| each(below, &joined(&inner, name), visit));
            }
        } else if IN_PLACE_LISTS.contains(&name)
            || name == "prefixItems"
            || name == "items" && below.is_array()
        {
            for (index, below) in below.as_array().into_iter().flatten().enumerate() {
                grow(|| each(below, &joined(&inner, &index.to_string()), visit));
            }
        } else if IN_PLACE.contains(&name) || BELOW.contains(&name) {
            grow(|| each(below, &inner, visit));
        }
    }
}

/// Whether any part of a schema is deprecated.
pub(super) fn any_deprecated(schema: &Json) -> bool {
    let mut found = false;
    each(schema, "", &mut |schema, _| found |= schema.get("deprecated") == Some(&Json::Bool(true)));
    found
}

/// Whether a schema refers to other files.
pub(super) fn refers_to_files(schema: &Json) -> bool {
    let mut found = false;
    each(schema, "", &mut |schema, _| {
        let target = schema.get("$ref").and_then(Json::as_str);
        found |= target.is_some_and(|target| !target.starts_with('#'));
    });
    found
}

/// Calls `visit` with the pointer to each alternative in a schema, which counts for the values that fit it.
pub(super) fn alternatives(schema: &Json, visit: &mut dyn FnMut(&str)) {
    each(schema, "", &mut |schema, pointer| {
        for list in ["anyOf", "oneOf"] {
            for index in 0..schema.get(list).and_then(Json::as_array).map_or(0, Vec::len) {
                visit(&format!("{pointer}/{list}/{index}"));
            }
        }
        if schema.get("if").is_some() {
            visit(&format!("{pointer}/if"));
        }
    });
}

/// The pointer to a pattern for keys.
pub(super) fn pattern_property(schema: &Json, pattern: &str) -> Option<String> {
    let mut found = None;
    each(schema, "", &mut |schema, pointer| {
        if schema.get("patternProperties").and_then(|patterns| patterns.get(pattern)).is_some() {
            found = Some(joined(&format!("{pointer}/patternProperties"), pattern));
        }
    });
    found
}

/// The pointer to the part of a schema with a name: `$anchor: NAME`, or `$id: '#NAME'` in older drafts.
pub(super) fn anchor(schema: &Json, name: &str) -> Option<String> {
    let mut found = None;
    each(schema, "", &mut |schema, pointer| {
        let text = |keyword: &str| schema.get(keyword).and_then(Json::as_str);
        let old = || text("$id").or_else(|| text("id")).and_then(|id| id.strip_prefix('#'));
        if found.is_none() && (text("$anchor") == Some(name) || old() == Some(name)) {
            found = Some(pointer.to_owned());
        }
    });
    found
}

/// Unknown keywords that are similar to known ones. Others are allowed, and mean nothing.
pub(super) fn slips(document: &SchemaDocument) -> Vec<Fault> {
    let mut faults = Vec::new();
    each(&document.json, "", &mut |schema, pointer| {
        for name in schema.as_object().into_iter().flatten().map(|(name, _)| name) {
            if name.starts_with("x-") || known().any(|known| known == name) {
                continue;
            }
            // A short name is similar to many.
            if let Some(similar) = nearest(name, known()).filter(|_| name.len() > 4) {
                let message = format!("'{name}' is no keyword of JSON Schema, and checks nothing");
                let help = Some(format!("'{similar}' is similar"));
                let fault = Fault::new(Kind::Lint { rule: "schema-keyword", message, help });
                faults.push(fault.at_site(document.site(&joined(pointer, name))));
            }
        }
    });
    faults
}

/// All patterns of `patternProperties`.
pub(super) fn patterns_of_keys(schema: &Json) -> Vec<String> {
    let mut found = Vec::new();
    each(schema, "", &mut |schema, _| {
        let patterns = schema.get("patternProperties").and_then(Json::as_object);
        found.extend(patterns.into_iter().flatten().map(|(pattern, _)| pattern.clone()));
    });
    found
}

/// The pointer to the first pattern that is too large for an engine that takes no time with any text.
pub(super) fn pattern_too_large(schema: &Json) -> Option<String> {
    let mut found = None;
    each(schema, "", &mut |schema, pointer| {
        let pattern = schema.get("pattern").and_then(Json::as_str);
        if found.is_none() && pattern.is_some_and(|pattern| Regex::new(pattern).is_err()) {
            found = Some(joined(pointer, "pattern"));
        }
    });
    found
}

/// The way out of a pattern that is too large.
pub(super) const SHORTER: &str = "write it shorter, without counts of counts";

/// What to write in place of a pattern that the engine does not have; `of_keys` if it is one of `patternProperties`.
pub(super) fn simpler(pattern: &str, of_keys: bool) -> &'static str {
    let has = |marks: &[&str]| marks.iter().any(|mark| pattern.contains(mark));
    let repeats = || (1..=9).any(|number| pattern.contains(&format!("\\{number}"))) || has(&["\\k<"]);
    match (has(&["(?!", "(?<!"]), has(&["(?=", "(?<="])) {
        (true, _) | (_, true) if of_keys => {
            "patterns have no look-around, so that none takes long: in place of '^(?!x)y', write '^y', and 'propertyNames: {not: {pattern: ^x}}' beside 'patternProperties'"
        }
        (true, _) => {
            "patterns have no look-around, so that none takes long: in place of '^(?!x)y', write 'pattern: ^y' and 'not: {pattern: ^x}'"
        }
        (_, true) => {
            "patterns have no look-around, so that none takes long: in place of '^(?=x)y', write 'pattern: ^y' and 'allOf: [{pattern: ^x}]'"
        }
        _ if repeats() => {
            "patterns have no back references, so that none takes long: in place of '^(a|b)\\1$', write '^(aa|bb)$'"
        }
        _ => "close each bracket, and write '\\' before a character that means itself, as in '\\('",
    }
}

/// The most schemas that one value may have to fit, those behind `$ref` counted each time.
const MOST: u64 = 10_000;

/// The most parts of one schema. The library that compiles them looks for each one in a list of all.
const MOST_PARTS: usize = 20_000;

/// Refuses a schema with too many parts, and one whose references double one another: each value would be checked against very many schemas.
pub(super) fn bounded(set: &SchemaSet, document: &SchemaDocument) -> Result<(), Error> {
    let mut counts = FxHashMap::default();
    let mut worst = None;
    let mut parts = 0;
    each(&document.json, "", &mut |_, _| parts += 1);
    if parts > MOST_PARTS {
        let message = format!("it has {parts} parts, and at most {MOST_PARTS} are allowed");
        let help = Some("keep those that the parameter needs");
        return Err(document.invalid("", message, help).into());
    }
    each(&document.json, "", &mut |_, pointer| {
        if worst.is_none() && count(set, (document, pointer), &mut counts) > MOST {
            worst = Some(pointer.to_owned());
        }
    });
    match worst {
        Some(pointer) => {
            let message =
                format!("a value would have to fit more than {MOST} schemas, counted with each '$ref'");
            let help = Some("refer to each part once");
            Err(document.invalid(&pointer, message, help).into())
        }
        None => Ok(()),
    }
}

/// The number of schemas that a value must fit with the one at a pointer. A reference that leads back counts as one:
/// when a value is checked, it is an error.
fn count(
    set: &SchemaSet,
    (document, pointer): (&SchemaDocument, &str),
    counts: &mut FxHashMap<String, u64>,
) -> u64 {
    let address = document.address(pointer);
    if let Some(known) = counts.get(&address) {
        return *known;
    }
    counts.insert(address.clone(), 1);
    let Some(schema) = document.json.pointer(pointer) else { return 1 };
    let mut sum: u64 = 1;
    for (name, below) in schema.as_object().into_iter().flatten() {
        let inner = joined(pointer, name);
        let mut here = |pointer: &str| grow(|| count(set, (document, pointer), counts));
        let name = name.as_str();
        let more = if IN_PLACE.contains(&name) {
            here(&inner)
        } else if IN_PLACE_LISTS.contains(&name) {
            let all = 0..below.as_array().map_or(0, Vec::len);
            all.map(|index| here(&joined(&inner, &index.to_string()))).fold(0, u64::saturating_add)
        } else if name == "dependentSchemas" {
            let all = below.as_object().into_iter().flatten();
            all.map(|(name, _)| here(&joined(&inner, name))).fold(0, u64::saturating_add)
        } else if name == "$ref" {
            match below.as_str().and_then(|target| set.target(document, target)) {
                Some((there, target)) => grow(|| count(set, (there, &target), counts)),
                None => 1,
            }
        } else {
            0
        };
        sum = sum.saturating_add(more);
    }
    counts.insert(address, sum);
    sum
}
