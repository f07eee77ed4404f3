//! A value under a secret key turns into what of it stands in the file as plain text, if anything does.

use crate::list::each;
use crate::pattern::Glob;
use crate::settings::Settings;
use crate::template::{Parsed, Part, Reference, parse};
use crate::value::{Text, Value};
use crate::yaml::parse_value;

/// How an encrypted text begins, or one that names a secret elsewhere.
const COVERS: [&str; 7] = [
    "-----BEGIN PGP MESSAGE",
    "-----BEGIN AGE ENCRYPTED",
    "ENC[",
    "?{",
    "$ANSIBLE_VAULT;",
    "sdb://",
    "gAAAA",
];

/// What stands there as plain text: the value, or a default of a reference in it. Text beside references
/// is none: mostly it is a separator or a scheme, as in `Bearer ${token}`.
pub(super) fn plain(value: &Value, key: &str, settings: &Settings) -> Option<&'static str> {
    const WHOLE: &str = "a secret stands here";
    let numbers = names(key, settings);
    let tells = |value: &Value| tells(value, numbers);
    if !tells(value) {
        return None;
    }
    let Value::Str(text) = value else { return Some(WHOLE) };
    match parse(text, settings) {
        Ok(Parsed::Text(_)) => Some(WHOLE),
        // What cannot be read is an error.
        Ok(Parsed::Query(_)) | Err(_) => None,
        Ok(Parsed::Template(template)) => {
            let mut found = false;
            each(&template.parts, &mut |reference| {
                let default = default(reference, &settings.delimiter);
                found |= default.and_then(|text| parse_value(&text).ok()).is_some_and(|value| tells(&value));
            });
            found.then_some("a default stands here in place of a secret,")
        }
    }
}

/// Whether a key ends with what makes it secret: `db_password` does, `password_length` says something of
/// one.
fn names(key: &str, settings: &Settings) -> bool {
    let key = key.to_lowercase();
    settings.secret_keys.iter().any(|glob| Glob::new(glob.to_lowercase().trim_end_matches('*')).matches(&key))
}

/// Whether a value, if it is a secret, is one as it stands. `numbers` is whether a number may be one.
fn tells(value: &Value, numbers: bool) -> bool {
    match value {
        Value::Str(text) => {
            let text = text.trim();
            !text.is_empty() && !COVERS.iter().any(|begin| text.starts_with(begin))
        }
        Value::Binary(bytes) => !bytes.is_empty(),
        Value::Int(_) | Value::BigInt(_) | Value::Float(_) => numbers,
        _ => false,
    }
}

/// The default of a reference, where there are no references in it.
fn default(reference: &Reference, delimiter: &str) -> Option<Text> {
    if let Some(path) = &reference.fixed {
        return path.default.clone();
    }
    let Some(Part::Literal(last)) = reference.parts.last() else { return None };
    let begins = |part: &Part| matches!(part, Part::Literal(text) if text.contains(&delimiter.repeat(2)));
    let is_last = reference.parts.iter().position(begins)? + 1 == reference.parts.len();
    let (_, text) = last.split_once(&delimiter.repeat(2)).filter(|_| is_last)?;
    Some(text.into())
}

#[cfg(test)]
mod tests {
    use super::plain;
    use crate::settings::Settings;
    use crate::value::{Map, Value};

    #[test]
    fn defaults_are_plain_text_and_separators_are_not() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        for (text, expected) in [
            ("hunter22", true),
            ("\\${x:y}", true),
            ("${x::hunter22}", true),
            ("${a}-${x::hunter22}", true),
            ("${x::${y::hunter22}}", true),
            ("${x:${y}::hunter22}", true),
            ("${x::1234}", true),
            ("${x}", false),
            ("${x::}", false),
            ("${x::''}", false),
            ("${x::null}", false),
            ("${x::ENC[abc]}", false),
            ("${x:${y}}", false),
            ("${x::a${y}}", false),
            ("Bearer ${x}", false),
            ("$[ exports:a if exports:b == c ]", false),
            ("ENC[abc]", false),
            (" ", false),
        ] {
            assert_eq!(plain(&Value::text(text), "password", &settings).is_some(), expected, "{text}");
        }
        for (key, value, expected) in [
            ("password", Value::Binary(b"hunter22".to_vec().into()), true),
            ("password", Value::Binary(Vec::new().into()), false),
            ("db_Password", Value::Int(12_345_678), true),
            ("password_length", Value::Int(12), false),
            ("token_ttl", Value::text("3600"), true),
            ("token_ttl", Value::text("${x::3600}"), false),
            ("password", Value::Bool(true), false),
        ] {
            assert_eq!(plain(&value, key, &settings).is_some(), expected, "{key} {value:?}");
        }
    }
}
