//! Finds plain-text secrets under secret keys.

use rustc_hash::FxHashSet;

use crate::survey::Survey;
use reclass::parts::model::template::parse;
use reclass::parts::model::{MapSlot, Parsed, Part, Reference, Slot, visit};
use reclass_base::pattern::Glob;
use reclass_base::secrets::{Secrets, has_private_key};
use reclass_base::settings::Settings;
use reclass_base::value::{Key, Text, Value};
use reclass_yaml::parse_value;

use super::param::{PARAM, entries_of};

/// Prefixes of encrypted texts, hashes and texts that name a secret elsewhere.
const COVERS: [&str; 17] = [
    "-----BEGIN PGP MESSAGE",
    "-----BEGIN AGE ENCRYPTED",
    "ENC[",
    "NACL[",
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
            Value::Int(_) | Value::BigInt(_) => own && reclass_base::pystr::str(value).len() >= SHORTEST,
            _ => false,
        }
    }

    fn looks_secret_text(&self, text: &str, own: bool) -> bool {
        if has_private_key(text) {
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
