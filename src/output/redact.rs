//! Redacts values and files for output: secrets become `***`.
//!
//! A value is hidden if its key, or a key above it, is secret (`base::secrets`), or if it differs from the value
//! computed without the secrets. It is hidden as a whole. References are names, so they are shown.

mod source;

use std::borrow::Cow;

use crate::evaluate::slot_without;
use crate::model::layer::Layer;
use crate::model::merge::Prefixes;
use crate::model::slot::Slot;
use crate::output::written::written;
pub use reclass_base::secrets::MASK;
use reclass_base::secrets::{Cover, Secrets};
use reclass_base::settings::Settings;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Map, Value};

/// The secrets of an inventory, and its reference syntax.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// The names of secret keys.
    pub secrets: Secrets,
    /// Whether excerpts show no values at all.
    hides_excerpts: bool,
    open: String,
    close: String,
    delimiter: String,
}

/// The longest reference that is shown under a secret key, in bytes. Looking for its end takes time.
const LONGEST_REFERENCE: usize = 1_000;

impl Redaction {
    /// Hides the secrets that the settings name.
    pub fn of(settings: &Settings) -> Redaction {
        Redaction {
            secrets: Secrets::of(settings),
            hides_excerpts: settings.mask_excerpts,
            open: settings.reference_sentinels.0.to_string(),
            close: settings.reference_sentinels.1.to_string(),
            delimiter: settings.delimiter.to_string(),
        }
    }

    /// Hides the secrets of an inventory whose settings are not known; in excerpts all values, if `hides_excerpts`.
    pub fn standard(hides_excerpts: bool) -> Redaction {
        let redaction = Settings::from_options(&Map::default())
            .map_or_else(|_| Redaction::none(), |(settings, _)| Redaction::of(&settings));
        Redaction { hides_excerpts, ..redaction }
    }

    /// Hides nothing.
    pub fn none() -> Redaction {
        Redaction::default()
    }

    /// Redacts the value at a path.
    pub fn value(&self, path: &[Key], value: &Value) -> Value {
        self.hide(self.secrets.at(path), value, &|_| false)
    }

    /// Redacts the written form at a path. A text that is only a reference is shown even under a secret key.
    pub fn written(&self, path: &[Key], value: &Value) -> Value {
        self.hide(self.secrets.at(path), value, &|text| self.is_reference(text))
    }

    /// Redacts the written form of a secret.
    pub fn written_of_secret(&self, value: &Value) -> Value {
        self.hide(Cover::All, value, &|text| self.is_reference(text))
    }

    /// The policy for one file: it also hides what aliases bring from secret keys to other keys.
    pub fn within(&self, layer: &Layer) -> Cow<'_, Redaction> {
        if layer.aliased {
            let secrets = Layer::with_aliased(&self.secrets, [layer]);
            Cow::Owned(Redaction { secrets, ..self.clone() })
        } else {
            Cow::Borrowed(self)
        }
    }

    /// Redacts the written form of what a file has at a path.
    pub fn slot(&self, path: &[Key], slot: &Slot, prefixes: &Prefixes) -> Value {
        let own = written(slot, prefixes);
        if !self.secrets.has_places() {
            return self.written(path, &own);
        }
        let without = written(&slot_without(&self.secrets, slot, Cover::Open), prefixes);
        self.written(path, &self.written_unchanged(&own, Some(&without)))
    }

    fn hide(&self, cover: Cover, value: &Value, keeps: &dyn Fn(&str) -> bool) -> Value {
        if self.secrets.is_none() { value.clone() } else { self.secrets.hide(value, cover, keeps) }
    }

    /// Hides the parts of a value that differ from `without`, the value computed without the secrets; `None`
    /// if that cannot be computed.
    pub fn unchanged(&self, value: &Value, without: Option<&Value>) -> Value {
        self.compared(value, without, &|_| Value::text(MASK))
    }

    /// Hides the parts of a written form that differ from `without`, the one without the secrets. A text that is
    /// only a reference is shown.
    pub fn written_unchanged(&self, written: &Value, without: Option<&Value>) -> Value {
        self.compared(written, without, &|scalar| self.written_of_secret(scalar))
    }

    fn compared(&self, value: &Value, without: Option<&Value>, hide: &dyn Fn(&Value) -> Value) -> Value {
        if self.secrets.is_none() {
            return value.clone();
        }
        match (value, without) {
            (value, Some(without)) if value == without => value.clone(),
            (Value::Map(map), _) => grow(|| {
                let without = without.and_then(Value::as_map);
                let entry = |(key, value): (&Key, &Value)| {
                    let without = without.and_then(|without| without.get(key));
                    (key.clone(), self.compared(value, without, hide))
                };
                Value::map(map.iter().map(entry).collect::<Map>())
            }),
            (Value::List(items) | Value::Tuple(items) | Value::Set(items), _) => grow(|| {
                let without = match without {
                    Some(Value::List(without)) if items.len() == without.len() => without.as_slice(),
                    _ => &[],
                };
                let item = |(at, item)| self.compared(item, without.get(at), hide);
                Value::list(items.iter().enumerate().map(item).collect())
            }),
            (scalar, _) => hide(scalar),
        }
    }

    /// Whether a text is a single reference without a default.
    fn is_reference(&self, text: &str) -> bool {
        if text.len() > LONGEST_REFERENCE {
            return false;
        }
        let (open, close) = (self.open.as_str(), self.close.as_str());
        let Some(mut rest) = text.trim().strip_prefix(open).filter(|_| !open.is_empty()) else {
            return false;
        };
        let mut depth = 1_usize;
        while depth > 0 {
            let Some(first) = rest.chars().next() else { return false };
            rest = if let Some(inside) = rest.strip_prefix(open) {
                depth += 1;
                inside
            } else if let Some(behind) = rest.strip_prefix(close) {
                depth -= 1;
                behind
            } else {
                &rest[first.len_utf8()..]
            };
        }
        rest.is_empty() && !text.contains(&self.delimiter.repeat(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_alone_is_a_name() {
        let settings = Settings::from_options(&Map::default()).expect("the defaults are right").0;
        let redaction = Redaction::of(&settings);
        for text in ["${a}", " ${a:b} ", "${a:${b}:c}", "${${a}}"] {
            assert!(redaction.is_reference(text), "{text}");
        }
        for text in
            ["", "x", "x${a}", "${a}x", "${a}${b}", "${a::x}", "${a:${b::x}}", "${a", "${a}}", "\\${a}"]
        {
            assert!(!redaction.is_reference(text), "{text}");
        }
        let deep = "${".repeat(100_000);
        assert!(!redaction.is_reference(&deep));
    }
}
