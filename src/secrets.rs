//! Secrets turn values that are not for every eye into `***`, wherever a program shows them.
//!
//! Which values those are is said by the keys above them: the setting `secret_keys` lists globs.
//! Where references carry a secret, into a URL for example, is known by evaluating the parameters once
//! more without the secrets in them (`slots`): whatever differs is masked, down to a secret of one
//! letter. Beside that, secrets of the same node are known by their text, to mask them where somebody
//! wrote them out once more. In excerpts of files the text behind such keys becomes stars, one for one,
//! so that columns hold. What a query compares with a secret is one too (`queries`), and so is what a
//! reference takes in place of one (`defaults`), and what files write out of all that (`files`).

mod defaults;
mod document;
mod files;
mod known;
mod queries;
mod slots;
mod source;

use known::Known;

use crate::error::Fault;
use crate::pattern::Glob;
use crate::settings::Settings;
use crate::template::split_path;
use crate::value::{Key, Map, Text, Value};

/// What is shown for a secret.
pub const MASK: &str = "***";

/// What is secret, and the texts that are known to be.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    keys: Vec<Glob>,
    known: Known,
    /// What separates the keys of a path.
    delimiter: String,
    /// What opens and closes a query.
    sentinels: (String, String),
    /// What opens and closes a reference.
    references: (String, String),
}

impl Secrets {
    /// The secrets that settings name.
    pub fn of(settings: &Settings) -> Secrets {
        let keys = settings.secret_keys.iter().map(|text| Glob::new(&text.to_lowercase())).collect();
        let texts = |(open, close): &(Text, Text)| (open.to_string(), close.to_string());
        Secrets {
            keys,
            known: Known::default(),
            delimiter: settings.delimiter.to_string(),
            sentinels: texts(&settings.export_sentinels),
            references: texts(&settings.reference_sentinels),
        }
    }

    /// Nothing is secret.
    pub fn none() -> Secrets {
        Secrets::default()
    }

    /// What is secret by the keys of either.
    #[must_use]
    pub fn and(mut self, other: Secrets) -> Secrets {
        self.keys.extend(other.keys);
        self
    }

    /// Whether nothing is secret.
    pub fn is_none(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether the value under a key of this name is secret.
    pub fn is_secret_name(&self, name: &str) -> bool {
        !self.keys.is_empty() && {
            let name = name.to_lowercase();
            // Prefixes are no part of a name, where they are text too.
            let bare = name.trim_start_matches(|c: char| !c.is_alphanumeric());
            self.keys.iter().any(|glob| glob.matches(&name) || glob.matches(bare))
        }
    }

    /// Whether the value under a key is secret.
    pub fn is_secret(&self, key: &Key) -> bool {
        key.as_str().is_some_and(|name| self.is_secret_name(name))
    }

    /// Whether a path leads to or through a secret.
    pub fn covers(&self, path: &[Key]) -> bool {
        path.iter().any(|key| self.is_secret(key))
    }

    /// Takes out of a problem what its sentence quotes of a secret: of a value below a secret key, of a
    /// query that compares with one, and what the name of a class takes in place of one. Excerpts show where it stands, masked.
    pub fn withhold(&self, fault: &mut Fault, delimiter: &str) {
        let secret = |text: &str| split_path(text, delimiter).iter().any(|key| self.is_secret_name(key));
        let query = |query: &str| self.is_secret_query(query);
        if (fault.path.as_deref().is_some_and(secret) || fault.kind.query().is_some_and(query))
            && fault.kind.withhold()
        {
            // They name what the sentence named.
            fault.notes.clear();
        }
        if !self.is_none() {
            let notes = fault.notes.iter_mut().map(|note| &mut note.text);
            for text in fault.kind.written_mut().into_iter().chain(notes) {
                *text = self.written(text);
            }
        }
        fault.causes.iter_mut().for_each(|cause| self.withhold(cause, delimiter));
    }

    /// Learns the secrets in a value, to know them where references carry them.
    pub fn learn(&mut self, value: &Value) {
        if !self.keys.is_empty() {
            self.collect(value, false);
        }
    }

    /// Learns secrets by themselves.
    pub fn learn_all<'v>(&mut self, secrets: impl Iterator<Item = &'v Value>) {
        if !self.keys.is_empty() {
            secrets.for_each(|secret| self.collect(secret, true));
        }
    }

    fn collect(&mut self, value: &Value, secret: bool) {
        match value {
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    let secret = secret || self.is_secret(key);
                    deeper(|| self.collect(value, secret));
                }
            }
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
                for item in items.iter() {
                    deeper(|| self.collect(item, secret));
                }
            }
            Value::Str(text) if secret => self.known.learn(text),
            Value::Int(_) | Value::BigInt(_) | Value::Float(_) if secret => {
                self.known.learn(&crate::pystr::str(value));
            }
            _ => {}
        }
    }

    /// A text without the secrets that are known.
    pub fn text(&self, text: &str) -> String {
        self.known.masked(text)
    }

    /// The value at a path, masked.
    pub fn value(&self, path: &[Key], value: &Value) -> Value {
        if self.keys.is_empty() {
            return value.clone();
        }
        if self.covers(path) { masked(value) } else { self.inside(value) }
    }

    fn inside(&self, value: &Value) -> Value {
        match value {
            Value::Map(map) => deeper(|| {
                let entries = map.iter().map(|(key, value)| {
                    let value = if self.is_secret(key) { masked(value) } else { self.inside(value) };
                    (key.clone(), value)
                });
                Value::map(entries.collect::<Map>())
            }),
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
                deeper(|| Value::list(items.iter().map(|item| self.inside(item)).collect()))
            }
            Value::Str(text) => {
                let mask = |_: &str| MASK.to_owned();
                Value::text(self.text(&self.defaults(&self.queries(text, mask), mask)))
            }
            Value::Int(_) | Value::BigInt(_) | Value::Float(_) => {
                let text = crate::pystr::str(value);
                if self.known.is(&text) { Value::text(MASK) } else { value.clone() }
            }
            other => other.clone(),
        }
    }
}

/// A secret container shows its shape and nothing else.
pub(crate) fn masked(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Map(map) => deeper(|| {
            Value::map(map.iter().map(|(key, value)| (key.clone(), masked(value))).collect::<Map>())
        }),
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => {
            deeper(|| Value::list(items.iter().map(masked).collect()))
        }
        _ => Value::text(MASK),
    }
}

fn deeper<T>(body: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse_value;

    fn secrets() -> Secrets {
        Secrets::of(&Settings::from_options(&Map::default()).expect("the defaults are right").0)
    }

    #[test]
    fn values_are_masked_by_their_keys_and_by_what_they_say() {
        let value = parse_value(
            "{db: {password: S3CRET, port: 5432, pin: 1}, url: 'pg://S3CRET@h', api_token: 77777, n: 77777}",
        )
        .expect("yaml");
        let mut secrets = secrets();
        secrets.learn(&value);
        let shown = crate::json::dumps(&secrets.value(&[], &value), false).expect("json");
        assert_eq!(
            shown,
            r#"{"db":{"password":"***","port":5432,"pin":1},"url":"pg://***@h","api_token":"***","n":"***"}"#
        );
        assert_eq!(secrets.value(&["password".into()], &Value::text("x")), Value::text(MASK));
        assert_eq!(Secrets::none().value(&[], &value), value);
    }

    #[test]
    fn names_that_are_secret_by_default() {
        let secrets = secrets();
        for name in [
            "password",
            "db_password",
            "Token",
            "api_key",
            "API_KEYS",
            "api_key2",
            "my_api_key_prod",
            "apiKey",
            "api-key",
            "privateKey",
            "private-key",
            "aws_access_key",
            "pass",
            "smtp_pass",
        ] {
            assert!(secrets.is_secret_name(name), "{name}");
        }
        for name in [
            "port",
            "nginx_proxy_openstack_api_keystone",
            "public_key",
            "keys",
            "bypass",
            "passive",
            "accessKeyName",
        ] {
            assert!(!secrets.is_secret_name(name), "{name}");
        }
    }
}
