//! Which values are secret: the setting `secret_keys` lists globs for the names of their keys.
//!
//! This is only the policy. [`Redaction`](reclass::output::redact::Redaction) applies it to answers, and the
//! room `evaluate` to parameters.

use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxHashSet;

use crate::lock::Mutex;
use crate::pattern::Glob;
use crate::settings::Settings;
use crate::source::Origin;
use crate::stack::grow;
use crate::value::{Key, Map, Text, Value};

/// The text in place of a secret.
pub const MASK: &str = "***";

/// Whether a text contains a private key, which is secret under any key.
pub fn has_private_key(text: &str) -> bool {
    let parts = text.split_once("PRIVATE KEY-----");
    parts.is_some_and(|(begin, key)| begin.contains("-----BEGIN ") && !key.trim().is_empty())
}

/// The values that a secret key hides.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Cover {
    /// None.
    #[default]
    Open,
    /// A scalar or a list at the key. The keys of a mapping at the key decide for themselves.
    Scalars,
    /// Everything at the key and below it.
    All,
}

impl Cover {
    /// The cover of the items of a list with this cover. A list that is hidden is hidden with all that is in it.
    #[must_use]
    pub fn item(self) -> Cover {
        if self == Cover::Open { Cover::Open } else { Cover::All }
    }
}

/// The names of secret keys, and the places of secrets.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    keys: Vec<(Glob, Cover)>,
    /// The places of scalars that are secret under whatever key they are.
    places: Arc<FxHashSet<Origin>>,
    /// The covers of names: the same few names are the keys of all nodes. Inventories choose the names, so the
    /// hash has a secret.
    known: Arc<Mutex<HashMap<Text, Cover>>>,
}

/// The most names whose cover is kept.
const MOST_KNOWN: usize = 65_536;

impl PartialEq for Secrets {
    fn eq(&self, other: &Secrets) -> bool {
        self.keys == other.keys
    }
}

impl Secrets {
    /// The secrets of the setting `secret_keys`.
    pub fn of(settings: &Settings) -> Secrets {
        let key = |text: &String| match text.strip_suffix('=') {
            Some(glob) => (Glob::new(glob), Cover::Scalars),
            None => (Glob::new(text), Cover::All),
        };
        let keys = settings.secret_keys.iter().map(|text| key(&text.to_lowercase()));
        Secrets { keys: keys.collect(), ..Secrets::default() }
    }

    /// Nothing is secret.
    pub fn none() -> Secrets {
        Secrets::default()
    }

    /// Adds the secrets of another policy.
    #[must_use]
    pub fn and(mut self, other: Secrets) -> Secrets {
        self.keys.extend(other.keys);
        self.known = Arc::default();
        self
    }

    /// The same names, and these places in place of others.
    #[must_use]
    pub fn with_places(&self, places: impl IntoIterator<Item = Origin>) -> Secrets {
        Secrets { places: Arc::new(places.into_iter().collect()), ..self.clone() }
    }

    /// True if a place is secret, whatever its key is.
    pub fn has_places(&self) -> bool {
        !self.places.is_empty()
    }

    /// The values hidden at a place; `cover` is what its key hides.
    pub fn at_place(&self, cover: Cover, origin: Origin) -> Cover {
        if self.has_places() && self.places.contains(&origin) { Cover::All } else { cover }
    }

    /// True if nothing is secret.
    pub fn is_none(&self) -> bool {
        self.keys.is_empty()
    }

    /// The values that a key of this name hides.
    pub fn cover(&self, name: &str) -> Cover {
        if self.keys.is_empty() {
            return Cover::Open;
        }
        let name = name.to_lowercase();
        // Mappings in lists are not merged, so their keys still have prefixes.
        let bare = name.trim_start_matches(|c: char| !c.is_alphanumeric());
        let has_prefix = bare.len() < name.len();
        let is = |glob: &Glob| glob.matches(&name) || has_prefix && glob.matches(bare);
        let matching = self.keys.iter().filter(|(glob, _)| is(glob));
        matching.map(|(_, cover)| *cover).max().unwrap_or_default()
    }

    /// The values hidden at a key; `above` is the cover of its parent.
    pub fn below(&self, above: Cover, key: &Key) -> Cover {
        match (above, key.as_str()) {
            (Cover::All, _) => Cover::All,
            (Cover::Scalars, None) => above.item(),
            // In paths of references, the index of a list is a text.
            (Cover::Scalars, Some(name)) if name.bytes().all(|byte| byte.is_ascii_digit()) => above.item(),
            _ => self.at_key(key),
        }
    }

    /// The values that a key hides.
    fn at_key(&self, key: &Key) -> Cover {
        let Value::Str(name) = &key.0 else { return Cover::Open };
        if self.keys.is_empty() {
            return Cover::Open;
        }
        if let Some(cover) = self.known.lock().get(name) {
            return *cover;
        }
        let cover = self.cover(name);
        let mut known = self.known.lock();
        if known.len() < MOST_KNOWN {
            known.insert(name.clone(), cover);
        }
        cover
    }

    /// The values hidden at a path.
    pub fn at<'k>(&self, path: impl IntoIterator<Item = &'k Key>) -> Cover {
        path.into_iter().fold(Cover::Open, |above, key| self.below(above, key))
    }

    /// True if a scalar at the path is secret.
    pub fn covers<'k>(&self, path: impl IntoIterator<Item = &'k Key>) -> bool {
        !self.is_none() && self.at(path) != Cover::Open
    }

    /// Replaces each secret in a value by the mask, except texts for which `keeps` is true. Null, true and
    /// false are never secret.
    pub fn hide(&self, value: &Value, cover: Cover, keeps: &dyn Fn(&str) -> bool) -> Value {
        self.hidden(value, cover, keeps).unwrap_or_else(|| value.clone())
    }

    /// The value with masks; `None` if it has no secret, so that a large one is shared and not copied.
    fn hidden(&self, value: &Value, cover: Cover, keeps: &dyn Fn(&str) -> bool) -> Option<Value> {
        let is_open = |hidden: &Vec<Option<Value>>| hidden.iter().all(Option::is_none);
        match value {
            Value::Map(map) => grow(|| {
                let below = |(key, value)| self.hidden(value, self.below(cover, key), keeps);
                let hidden = Some(map.iter().map(below).collect()).filter(|hidden| !is_open(hidden))?;
                let entry = |((key, value), hidden): ((&Key, &Value), Option<Value>)| {
                    (key.clone(), hidden.unwrap_or_else(|| value.clone()))
                };
                Some(Value::map(map.iter().zip(hidden).map(entry).collect::<Map>()))
            }),
            Value::List(items) | Value::Tuple(items) | Value::Set(items) => grow(|| {
                let hidden: Vec<_> =
                    items.iter().map(|item| self.hidden(item, cover.item(), keeps)).collect();
                if matches!(value, Value::List(_)) && is_open(&hidden) {
                    return None;
                }
                let item = |(item, hidden): (&Value, Option<Value>)| hidden.unwrap_or_else(|| item.clone());
                Some(Value::list(items.iter().zip(hidden).map(item).collect()))
            }),
            Value::Null | Value::Bool(_) => None,
            Value::Str(text) if keeps(text) => None,
            Value::Str(text) if has_private_key(text) => Some(Value::text(MASK)),
            _ if cover == Cover::Open => None,
            _ => Some(Value::text(MASK)),
        }
    }
}
