//! Says in one sentence what a schema expects. A sentence has words of the schema, and of the value at most its type and
//! its keys: it may be sent to a minion.

use boon::{ErrorKind, Type, ValidationError};
use serde_json::Value as Json;

use super::compile::SchemaSet;
use super::instance::has_secret;
use reclass_base::error::article;
use reclass_base::similar::SearchCost;
use reclass_base::value::Key;
use reclass_base::words::count;

/// The errors of a tree that say something themselves.
pub(super) fn leaves<'e, 's, 'v>(
    error: &'e ValidationError<'s, 'v>,
    found: &mut Vec<&'e ValidationError<'s, 'v>>,
) {
    match error.kind {
        ErrorKind::Group
        | ErrorKind::Schema { .. }
        | ErrorKind::Reference { .. }
        | ErrorKind::AllOf
        | ErrorKind::ContentSchema
            if !error.causes.is_empty() =>
        {
            reclass_base::stack::grow(|| error.causes.iter().for_each(|cause| leaves(cause, found)));
        }
        ErrorKind::AnyOf | ErrorKind::OneOf(None) => match meant(error).as_slice() {
            [one] => reclass_base::stack::grow(|| leaves(one, found)),
            _ => found.push(error),
        },
        _ => found.push(error),
    }
}

/// The alternatives of the type of the value. If there is one, it is the one that was meant.
fn meant<'e, 's, 'v>(error: &'e ValidationError<'s, 'v>) -> Vec<&'e ValidationError<'s, 'v>> {
    let depth = error.instance_location.tokens.len();
    let is_of_type = |cause: &&ValidationError<'_, '_>| {
        let mut inner = Vec::new();
        leaves(cause, &mut inner);
        let is_other = |one: &&ValidationError<'_, '_>| {
            matches!(one.kind, ErrorKind::Type { .. }) && one.instance_location.tokens.len() == depth
        };
        !inner.iter().any(is_other)
    };
    error.causes.iter().filter(is_of_type).collect()
}

/// The keyword of the schema that an error is about, if there is one.
pub(super) fn keyword(error: &ValidationError<'_, '_>) -> Option<&'static str> {
    Some(match &error.kind {
        ErrorKind::Type { .. } => "type",
        ErrorKind::Enum { .. } => "enum",
        ErrorKind::Const { .. } => "const",
        ErrorKind::Format { .. } => "format",
        ErrorKind::MinProperties { .. } => "minProperties",
        ErrorKind::MaxProperties { .. } => "maxProperties",
        ErrorKind::AdditionalProperties { .. } => "additionalProperties",
        ErrorKind::Required { .. } => "required",
        ErrorKind::Dependency { .. } => "dependencies",
        ErrorKind::DependentRequired { .. } => "dependentRequired",
        ErrorKind::MinItems { .. } => "minItems",
        ErrorKind::MaxItems { .. } => "maxItems",
        ErrorKind::Contains => "contains",
        ErrorKind::MinContains { .. } => "minContains",
        ErrorKind::MaxContains { .. } => "maxContains",
        ErrorKind::UniqueItems { .. } => "uniqueItems",
        ErrorKind::AdditionalItems { .. } => "additionalItems",
        ErrorKind::MinLength { .. } => "minLength",
        ErrorKind::MaxLength { .. } => "maxLength",
        ErrorKind::Pattern { .. } => "pattern",
        ErrorKind::ContentEncoding { .. } => "contentEncoding",
        ErrorKind::ContentMediaType { .. } => "contentMediaType",
        ErrorKind::Minimum { .. } => "minimum",
        ErrorKind::Maximum { .. } => "maximum",
        ErrorKind::ExclusiveMinimum { .. } => "exclusiveMinimum",
        ErrorKind::ExclusiveMaximum { .. } => "exclusiveMaximum",
        ErrorKind::MultipleOf { .. } => "multipleOf",
        ErrorKind::PropertyName { .. } => "propertyNames",
        ErrorKind::Not => "not",
        ErrorKind::AllOf => "allOf",
        ErrorKind::AnyOf => "anyOf",
        ErrorKind::OneOf(_) => "oneOf",
        ErrorKind::Reference { kw, .. } => kw,
        ErrorKind::RefCycle { .. } => "$ref",
        ErrorKind::ContentSchema => "contentSchema",
        ErrorKind::Group | ErrorKind::Schema { .. } | ErrorKind::FalseSchema => return None,
    })
}

/// The sentence for a value whose allowed words are secrets.
pub(crate) const NOT_ALLOWED: &str = "is not what the schema allows";

/// Whether a word that the schema allows has a secret.
fn is_secret(set: &SchemaSet, error: &ValidationError<'_, '_>, word: &Json) -> bool {
    let path: Vec<Key> = names(error).map(|name| Key::from(name.as_str())).collect();
    has_secret(&set.secrets, set.secrets.at(&path), word)
}

/// What the schema expects, after the path of the value: `must be a text, not a list`. `value` is the value.
pub(super) fn sentence(set: &SchemaSet, error: &ValidationError<'_, '_>, value: &Json) -> String {
    match &error.kind {
        ErrorKind::Type { want, .. } => {
            format!("must be {}, not {}", or(want.iter().map(word_of).collect()), type_of(value))
        }
        ErrorKind::Enum { want } if want.iter().any(|word| is_secret(set, error, word)) => {
            NOT_ALLOWED.to_owned()
        }
        ErrorKind::Const { want } if is_secret(set, error, want) => NOT_ALLOWED.to_owned(),
        ErrorKind::Enum { want } => match want.as_slice() {
            [one] => format!("must be {}", quoted(one)),
            all => format!("must be {}", or(all.iter().map(quoted).collect())),
        },
        ErrorKind::Const { want } => format!("must be {}", quoted(want)),
        ErrorKind::Minimum { want, .. } => format!("must be at least {want}"),
        ErrorKind::Maximum { want, .. } => format!("must be at most {want}"),
        ErrorKind::ExclusiveMinimum { want, .. } => format!("must be more than {want}"),
        ErrorKind::ExclusiveMaximum { want, .. } => format!("must be less than {want}"),
        ErrorKind::MultipleOf { want, .. } => format!("must be a multiple of {want}"),
        ErrorKind::MinLength { want, .. } => format!("must have at least {}", count(*want, "character")),
        ErrorKind::MaxLength { want, .. } => format!("must have at most {}", count(*want, "character")),
        ErrorKind::MinItems { want, .. } => format!("must have at least {}", count(*want, "item")),
        ErrorKind::MaxItems { want, .. } => format!("must have at most {}", count(*want, "item")),
        ErrorKind::AdditionalItems { got } => {
            format!("has {} that the schema does not know", count(*got, "item"))
        }
        ErrorKind::MinProperties { want, .. } => format!("must have at least {}", count(*want, "key")),
        ErrorKind::MaxProperties { want, .. } => format!("must have at most {}", count(*want, "key")),
        ErrorKind::UniqueItems { got: [one, other] } => {
            format!("must not have an item twice, as those with the indexes {one} and {other}")
        }
        ErrorKind::Contains => "has no item as the schema asks for with 'contains'".to_owned(),
        ErrorKind::MinContains { want, .. } => {
            format!("must have at least {} as the schema says with 'contains'", count(*want, "item"))
        }
        ErrorKind::MaxContains { want, .. } => {
            format!("must have at most {} as the schema says with 'contains'", count(*want, "item"))
        }
        // The library has a translation of the pattern.
        ErrorKind::Pattern { want, .. } => {
            let written = set.part(error.schema_url).and_then(|schema| schema.get("pattern")?.as_str());
            format!("must match '{}'", written.unwrap_or(want))
        }
        ErrorKind::Format { want, .. } => format!("must be {}", format_words(want)),
        ErrorKind::Required { want } => format!("must have {}", named_keys(want)),
        ErrorKind::Dependency { prop, missing } | ErrorKind::DependentRequired { prop, missing } => {
            format!("must have {}, because it has '{prop}'", named_keys(missing))
        }
        ErrorKind::AdditionalProperties { got } => format!("must not have {}", named_keys(got)),
        ErrorKind::PropertyName { prop } => {
            let mut inner = Vec::new();
            error.causes.iter().for_each(|cause| leaves(cause, &mut inner));
            let name = Json::String(prop.clone());
            let reason =
                inner.first().map_or_else(|| "is wrong".to_owned(), |inner| sentence(set, inner, &name));
            format!("has a wrong name: a key {reason}")
        }
        ErrorKind::FalseSchema => "must not be there".to_owned(),
        ErrorKind::Not => "is what the schema excludes with 'not'".to_owned(),
        ErrorKind::AnyOf | ErrorKind::OneOf(None) => alternatives(set, error, value),
        ErrorKind::OneOf(Some(_)) => {
            "fits several alternatives of the schema, and may fit only one".to_owned()
        }
        ErrorKind::RefCycle { .. } => {
            "cannot be checked: in the schema a '$ref' leads back to itself".to_owned()
        }
        ErrorKind::ContentEncoding { want, .. } => format!("must have the encoding '{want}'"),
        ErrorKind::ContentMediaType { want, .. } => format!("must be of the media type '{want}'"),
        ErrorKind::Group
        | ErrorKind::Schema { .. }
        | ErrorKind::Reference { .. }
        | ErrorKind::AllOf
        | ErrorKind::ContentSchema => "breaks the schema".to_owned(),
    }
}

/// Of an allowed text one that is similar to the value, of a missing key one that is there and unknown.
pub(super) fn similar(
    error: &ValidationError<'_, '_>,
    value: &Json,
    schema: Option<&Json>,
    cost: &SearchCost,
) -> Option<String> {
    match &error.kind {
        ErrorKind::Enum { want } => {
            cost.nearest(value.as_str()?, want.iter().filter_map(Json::as_str)).map(str::to_owned)
        }
        ErrorKind::Required { want } => {
            let known = schema.and_then(|schema| schema.get("properties")).and_then(Json::as_object);
            let keys = value.as_object()?.keys().map(String::as_str);
            let unknown = keys.filter(|key| known.is_none_or(|known| !known.contains_key(*key)));
            cost.nearest(want.first()?, unknown).map(str::to_owned)
        }
        _ => None,
    }
}

/// A key that the schema knows, is similar to an unknown one, and is not there.
pub(super) fn similar_key(
    unknown: &str,
    value: &Json,
    schema: Option<&Json>,
    cost: &SearchCost,
) -> Option<String> {
    let known = schema?.get("properties")?.as_object()?.keys().map(String::as_str);
    cost.nearest(unknown, known.filter(|key| value.get(key).is_none())).map(str::to_owned)
}

/// `the key 'a'`, `the keys 'a' and 'b'`
fn named_keys(names: &[impl AsRef<str>]) -> String {
    let all: Vec<String> = names.iter().map(|name| format!("'{}'", name.as_ref())).collect();
    match all.split_last() {
        Some((last, before)) if !before.is_empty() => format!("the keys {} and {last}", before.join(", ")),
        _ => format!("the key {}", all.concat()),
    }
}

/// The words of reclass for a type of JSON, with an article.
fn word_of(kind: Type) -> String {
    let word = match kind {
        Type::Array => "list",
        Type::Boolean => "boolean",
        Type::Integer => "integer",
        Type::Null => return "null".to_owned(),
        Type::Number => "number",
        Type::Object => "mapping",
        Type::String => "string",
    };
    article(word)
}

fn type_of(value: &Json) -> String {
    word_of(match value {
        Json::Null => Type::Null,
        Json::Bool(_) => Type::Boolean,
        Json::Number(number) if number.is_f64() => Type::Number,
        Json::Number(_) => Type::Integer,
        Json::String(_) => Type::String,
        Json::Array(_) => Type::Array,
        Json::Object(_) => Type::Object,
    })
}

/// Most alternatives that a sentence names.
const NAMED: usize = 10;

/// `a, b or c`
fn or(mut words: Vec<String>) -> String {
    words.dedup();
    if words.len() > NAMED {
        let more = words.len() - NAMED;
        words.truncate(NAMED);
        words.push(format!("{more} more"));
    }
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => words.concat(),
    }
}

/// A value of the schema in a sentence.
fn quoted(value: &Json) -> String {
    match value {
        Json::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

fn format_words(format: &str) -> String {
    let words = match format {
        "date" => "a date as 2001-02-03",
        "time" => "a time as 04:05:06Z",
        "date-time" => "a date with a time as 2001-02-03T04:05:06Z",
        "duration" => "a duration as P1DT2H",
        "email" | "idn-email" => "an e-mail address",
        "hostname" | "idn-hostname" => "a host name",
        "ipv4" => "an IPv4 address",
        "ipv6" => "an IPv6 address",
        "uri" | "iri" => "a URI with its scheme",
        "uri-reference" | "iri-reference" => "a URI",
        "uuid" => "a UUID",
        "regex" => "a regular expression",
        "json-pointer" => "a JSON pointer",
        _ => return format!("of the format '{format}'"),
    };
    words.to_owned()
}

/// The sentence for a value that fits none of several schemas.
fn alternatives(set: &SchemaSet, error: &ValidationError<'_, '_>, value: &Json) -> String {
    let depth = error.instance_location.tokens.len();
    let first = |cause: &ValidationError<'_, '_>| {
        let mut inner = Vec::new();
        leaves(cause, &mut inner);
        let first = inner.first()?;
        let names: Vec<String> = names(first).skip(depth).collect();
        let (at, wanted) = match &first.kind {
            ErrorKind::Type { want, .. } if names.is_empty() => (value, Some(*want)),
            _ => (names.iter().try_fold(value, |value, name| part(value, name))?, None),
        };
        let reason = sentence(set, first, at);
        let reason =
            if names.is_empty() { reason } else { format!("has '{}' that {reason}", names.join(":")) };
        Some((wanted, reason))
    };
    let all: Vec<_> = error.causes.iter().filter_map(first).collect();
    // An alternative with another type is not the one that was meant, unless all are.
    let mut reasons: Vec<&str> =
        all.iter().filter(|(wanted, _)| wanted.is_none()).map(|(_, reason)| reason.as_str()).collect();
    reasons.dedup();
    match reasons.as_slice() {
        [] if all.is_empty() => "fits no alternative of the schema".to_owned(),
        [] => {
            let wanted = all
                .iter()
                .filter_map(|(wanted, _)| *wanted)
                .flat_map(|want| want.iter().map(word_of).collect::<Vec<_>>());
            format!("must be {}, not {}", or(wanted.collect()), type_of(value))
        }
        [one] => (*one).to_owned(),
        [..] => format!("fits no alternative of the schema: it {}", reasons.join("; or it ")),
    }
}

/// The names that lead to the value of an error.
pub(super) fn names<'e>(error: &'e ValidationError<'_, '_>) -> impl Iterator<Item = String> + 'e {
    use boon::InstanceToken;
    error.instance_location.tokens.iter().map(|token| match token {
        InstanceToken::Prop(name) => name.to_string(),
        InstanceToken::Item(index) => index.to_string(),
    })
}

pub(super) fn part<'v>(value: &'v Json, name: &str) -> Option<&'v Json> {
    match value {
        Json::Object(map) => map.get(name),
        Json::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    }
}
