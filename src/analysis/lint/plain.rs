//! Finds plain-text secrets under secret keys.

use rustc_hash::FxHashSet;

use crate::analysis::survey::Survey;
use crate::base::pattern::Glob;
use crate::base::secrets::Secrets;
use crate::base::settings::Settings;
use crate::base::value::{Key, Text, Value};
use crate::model::slot::{MapSlot, Slot};
use crate::model::template::{Parsed, Part, Reference, parse};
use crate::model::visit;
use crate::yaml::parse_value;

use super::param::{PARAM, entries_of};

/// Prefixes of encrypted texts, hashes and texts that name a secret elsewhere.
const COVERS: [&str; 16] = [
    "-----BEGIN PGP MESSAGE",
    "-----BEGIN AGE ENCRYPTED",
    "ENC[",
    "?{",
    "$ANSIBLE_VAULT;",
    "sdb://",
    "gAAAA",
    "$1$",
    "$2",
    "$5$",
    "$6$",
    "$7$",
    "$y$",
    "$apr1$",
    "$argon2",
    "$pbkdf2",
];

/// Parts of texts that are filled in later, and characters that secrets in a configuration do not contain.
const FILLED_IN: [&str; 8] = ["{{", "${", "$(", "%(", "<", "://", " ", "\n"];

/// Minimum length of a secret; a shorter text is a word.
const SHORTEST: usize = 8;

/// Recognizes values that look like secrets.
pub struct Plain {
    /// Endings of secret keys.
    ends: Vec<Glob>,
    /// Names that the inventory itself uses, in lower case: names of classes and nodes and their parts,
    /// parameter keys, and the values of `_param` that are not secrets.
    names: FxHashSet<String>,
}

impl Plain {
    pub fn new(settings: &Settings, survey: &Survey) -> Plain {
        let end = |glob: &Text| Glob::new(glob.to_lowercase().trim_end_matches(['*', '=']));
        let ends = settings.secret_keys.iter().map(end).collect();
        let secrets = Secrets::of(settings);
        let mut names = FxHashSet::default();
        for file in &survey.files {
            names.insert(file.name.to_lowercase());
            names.extend(file.name.split('.').map(str::to_lowercase));
            let Ok(layer) = &file.layer else { continue };
            collect_keys(&layer.parameters, &mut names);
            if let Some(slot) = layer.parameters.entries.get(&Key::from(PARAM)) {
                entries_of(slot, &mut false, &mut |key, slot| {
                    if let Slot::Value(Value::Str(text), _) = slot
                        && !secrets.covers([key])
                    {
                        names.insert(text.to_lowercase());
                    }
                });
            }
        }
        Plain { ends, names }
    }

    /// Describes the plain-text secret in a value: the value itself, or the default of a reference in it.
    /// Text beside references does not count, because it is mostly a separator or a scheme, as in `Bearer
    /// ${token}`.
    pub fn find(&self, value: &Value, key: &str, settings: &Settings) -> Option<&'static str> {
        const WHOLE: &str = "a secret is written here";
        let own = self.ends_as_secret(key);
        let Value::Str(text) = value else { return self.looks_secret(value, own).then_some(WHOLE) };
        match parse(text, settings) {
            Ok(Parsed::Text(text)) => self.looks_secret(&Value::Str(text), own).then_some(WHOLE),
            // An unparsable value is an error already.
            Ok(Parsed::Query(_)) | Err(_) => None,
            Ok(Parsed::Template(template)) => {
                let mut found = false;
                visit::references(&template.parts, &mut |reference| {
                    let default = default(reference, &settings.delimiter);
                    let value = default.and_then(|text| parse_value(&text).ok());
                    found |= value.is_some_and(|value| self.looks_secret(&value, own));
                });
                found.then_some("a default is written here in place of a secret,")
            }
        }
    }

    /// Whether a key ends with a secret word. `db_password` does. `password_length` only describes a secret,
    /// and a key below a secret key may do so too.
    fn ends_as_secret(&self, key: &str) -> bool {
        let key = key.to_lowercase();
        self.ends.iter().any(|glob| glob.matches(&key))
    }

    /// Whether a value looks like a secret; `own` is whether its own key ends with a secret word.
    fn looks_secret(&self, value: &Value, own: bool) -> bool {
        match value {
            Value::Str(text) => self.looks_secret_text(text.trim(), own),
            Value::Binary(bytes) => own && bytes.len() >= SHORTEST,
            Value::Int(_) | Value::BigInt(_) => own && crate::base::pystr::str(value).len() >= SHORTEST,
            _ => false,
        }
    }

    fn looks_secret_text(&self, text: &str, own: bool) -> bool {
        if text.starts_with("-----BEGIN ") && text.contains("PRIVATE KEY-----") {
            return true;
        }
        if text.chars().count() < SHORTEST
            || COVERS.iter().any(|begin| text.starts_with(begin))
            || FILLED_IN.iter().any(|part| text.contains(part))
            || text.starts_with(['/', '.', '~'])
            || self.names.contains(&text.to_lowercase())
        {
            return false;
        }
        let has = |is: fn(char) -> bool| text.contains(is);
        let digits = has(|c| c.is_ascii_digit());
        let classes = [
            digits,
            has(char::is_lowercase),
            has(char::is_uppercase),
            // Characters that are common in names are not evidence.
            has(|c| !c.is_alphanumeric() && !"-_./:,@".contains(c)),
        ];
        match classes.into_iter().filter(|has| *has).count() {
            0 => false,
            1 => own && digits,
            2 => own,
            _ => own || digits,
        }
    }
}

/// All keys of parameters, except those inside lists.
fn collect_keys(map: &MapSlot, names: &mut FxHashSet<String>) {
    map.visit(&mut |path, slot| {
        names.extend(path.last().and_then(Key::as_str).map(str::to_lowercase));
        matches!(slot, Slot::Map(_) | Slot::Raw(_))
    });
}

/// The default of a reference, if it contains no references.
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
    use rustc_hash::FxHashSet;

    use super::Plain;
    use crate::base::pattern::Glob;
    use crate::base::settings::Settings;
    use crate::base::value::{Map, Value};

    fn found(value: &Value, key: &str) -> bool {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let names: FxHashSet<String> = ["cluster01", "db"].map(str::to_owned).into_iter().collect();
        let plain = Plain { ends: vec![Glob::new("*password"), Glob::new("*token")], names };
        plain.find(value, key, &settings).is_some()
    }

    #[test]
    fn defaults_are_plain_text_and_separators_are_not() {
        for (text, expected) in [
            ("hunter22", true),
            ("${x::hunter22}", true),
            ("${a}-${x::hunter22}", true),
            ("${x::${y::hunter22}}", true),
            ("${x:${y}::hunter22}", true),
            ("${x::12345678}", true),
            ("${x::1234}", false),
            ("${x}", false),
            ("${x::}", false),
            ("${x::''}", false),
            ("${x::null}", false),
            ("${x::ENC[abcdef1]}", false),
            ("${x:${y}}", false),
            ("${x::hunter2${y}}", false),
            ("Bearer ${x}", false),
            ("$[ exports:a if exports:b == c ]", false),
        ] {
            assert_eq!(found(&Value::text(text), "password"), expected, "{text}");
        }
    }

    #[test]
    fn secrets_are_distinguished_from_names_and_words() {
        for (key, text, expected) in [
            ("password", "hunter22", true),
            ("db_Password", "Workshop", true),
            ("password", "12345678", true),
            ("password", "-----BEGIN RSA PRIVATE KEY-----\nMIIE", true),
            ("password", "xK8-vn2_", true),
            ("password", "workshop", false),
            ("password", "hunter2", false),
            ("password", "Cluster01", false),
            ("password", "ssh_slave", false),
            ("password", "DB_HOST_NAME", false),
            ("password", "/run/secrets/Admin", false),
            ("password", "https://Vault.example", false),
            ("password", "$6$salt$Hash", false),
            ("password", "{{ Vault }}", false),
            ("password", "<Password1>", false),
            ("password", "\\${x:Y1}", false),
            ("password", "ENC[abcdef1]", false),
            ("password", " ", false),
            ("password_file", "Admin-Secret", false),
            ("name", "InjectedIdentity", false),
            ("name", "x1234c61f58beb3e", false),
            ("name", "8FNYYT9fe3z6mtt1", true),
            ("token_ttl", "12345678", false),
        ] {
            assert_eq!(found(&Value::text(text), key), expected, "{key}: {text}");
        }
        for (key, value, expected) in [
            ("password", Value::Binary(b"hunter22".to_vec().into()), true),
            ("password", Value::Binary(Vec::new().into()), false),
            ("db_Password", Value::Int(12_345_678), true),
            ("password", Value::Int(1234), false),
            ("password_length", Value::Int(12_345_678), false),
            ("password", Value::Bool(true), false),
        ] {
            assert_eq!(found(&value, key), expected, "{key} {value:?}");
        }
    }
}
