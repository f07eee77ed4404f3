//! Defaults turn references that name a secret into the same without their defaults: what stands
//! for a password that is not set is one.

use std::sync::Arc;

use super::{MASK, Secrets, deeper};
use crate::template::{FixedPath, Part, Reference, Template, split_path};

/// References in one another that are looked into; more are no references.
const MAX_NESTING: usize = 200;

impl Secrets {
    /// A text of an inventory, as a class in a list, without what references in it take in place of secrets.
    pub fn written(&self, text: &str) -> String {
        self.defaults(text, |_| MASK.to_owned())
    }

    /// A text with `mask` of each default in a reference whose path leads to or through a secret. The
    /// text alone is looked at, not the grammar.
    pub(super) fn defaults(&self, text: &str, mask: impl Fn(&str) -> String) -> String {
        if self.keys.is_empty() || !text.contains(&self.delimiter.repeat(2)) {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        self.mask_defaults(text, &mask, 0, &mut out);
        out
    }

    fn mask_defaults(&self, text: &str, mask: &dyn Fn(&str) -> String, depth: usize, out: &mut String) {
        let (open, double) = (self.references.0.as_str(), self.delimiter.repeat(2));
        let mut rest = text;
        while let Some(start) = rest.find(open).filter(|_| !open.is_empty() && depth < MAX_NESTING) {
            let (before, inside) = rest.split_at(start + open.len());
            out.push_str(before);
            let (body, default) = self.extent(inside, &double);
            let end = default.clone().map_or(body, |default| default.end);
            let path = &inside[..default.clone().map_or(body, |default| default.start - double.len())];
            deeper(|| self.mask_defaults(path, mask, depth + 1, out));
            if let Some(default) = default {
                out.push_str(&double);
                let text = &inside[default];
                if self.is_secret_path(&self.outside(path)) {
                    out.push_str(&mask(text));
                } else {
                    deeper(|| self.mask_defaults(text, mask, depth + 1, out));
                }
            }
            rest = &inside[end..];
        }
        out.push_str(rest);
    }

    /// A path without the references in it: what they come to is not known.
    fn outside(&self, path: &str) -> String {
        let open = self.references.0.as_str();
        let mut out = String::new();
        let mut rest = path;
        while let Some(start) = rest.find(open) {
            out.push_str(&rest[..start]);
            let inside = &rest[start + open.len()..];
            let (body, default) = self.extent(inside, &self.delimiter.repeat(2));
            let end = default.map_or(body, |default| default.end);
            rest = inside[end..].strip_prefix(self.references.1.as_str()).unwrap_or(&inside[end..]);
        }
        out + rest
    }

    /// Where the inside of a reference ends, and where its default is.
    fn extent(&self, text: &str, double: &str) -> (usize, Option<std::ops::Range<usize>>) {
        let (open, close) = (self.references.0.as_str(), self.references.1.as_str());
        let (mut depth, mut at, mut default) = (0_usize, 0, None);
        while at < text.len() {
            let here = &text[at..];
            if here.starts_with(close) && depth == 0 {
                break;
            }
            let length = if here.starts_with(close) {
                depth -= 1;
                close.len()
            } else if here.starts_with(open) {
                depth += 1;
                open.len()
            } else if here.starts_with(double) && depth == 0 && default.is_none() {
                default = Some(at + double.len());
                double.len()
            } else {
                here.chars().next().map_or(1, char::len_utf8)
            };
            at += length;
        }
        (at, default.map(|start| start..at))
    }

    /// A template with a mask for the default of each reference that names a secret; `None` where
    /// it has none.
    pub fn template(&self, template: &Template) -> Option<Arc<Template>> {
        let parts = self.parts(&template.parts)?;
        Some(Arc::new(Template { source: template.source.clone(), parts }))
    }

    fn parts(&self, parts: &[Part]) -> Option<Vec<Part>> {
        let mut changed = false;
        let part = |part: &Part| match part {
            Part::Literal(_) => part.clone(),
            Part::Reference(reference) => match deeper(|| self.reference(reference)) {
                Some(reference) => {
                    changed = true;
                    Part::Reference(reference)
                }
                None => part.clone(),
            },
        };
        let parts = parts.iter().map(part).collect();
        changed.then_some(parts)
    }

    fn reference(&self, reference: &Reference) -> Option<Reference> {
        if let Some(reference) = self.of_secret(reference) {
            return Some(reference);
        }
        let parts = self.parts(&reference.parts)?;
        Some(Reference { parts, ..reference.clone() })
    }

    /// A reference to a secret with a mask for its default, if it has one.
    fn of_secret(&self, reference: &Reference) -> Option<Reference> {
        // In quotes: bare, YAML takes it for an alias.
        let mask = format!("'{MASK}'");
        if let Some(path) = &reference.fixed {
            path.default.as_ref().filter(|_| path.segments.iter().any(|key| self.is_secret_name(key)))?;
            let fixed = FixedPath { default: Some(mask.into()), ..path.clone() };
            return Some(Reference { fixed: Some(fixed), ..reference.clone() });
        }
        let double = self.delimiter.repeat(2);
        let mut names = String::new();
        for (index, part) in reference.parts.iter().enumerate() {
            let Part::Literal(text) = part else { continue };
            let Some(at) = text.find(&double) else {
                names.push_str(text);
                continue;
            };
            names.push_str(&text[..at]);
            if !self.is_secret_path(&names) {
                break;
            }
            let mut parts = reference.parts[..index].to_vec();
            parts.push(Part::Literal([&text[..at], &double, &mask].concat().into()));
            return Some(Reference { parts, ..reference.clone() });
        }
        None
    }

    /// Visits the references to secrets that have a default, those inside of others too.
    pub fn each_default(&self, parts: &[Part], visit: &mut dyn FnMut(&Reference)) {
        for part in parts {
            if let Part::Reference(reference) = part {
                if self.of_secret(reference).is_some() {
                    visit(reference);
                }
                deeper(|| self.each_default(&reference.parts, visit));
            }
        }
    }

    /// Whether a path, as references write it, leads to or through a secret.
    pub(super) fn is_secret_path(&self, path: &str) -> bool {
        split_path(path, &self.delimiter).iter().any(|key| self.is_secret_name(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::value::Map;

    #[test]
    fn what_stands_for_a_secret_is_masked() {
        let secrets =
            Secrets::of(&Settings::from_options(&Map::default()).expect("the defaults are right").0);
        for (text, expected) in [
            ("pg://${db:password::HUNTER}@h", "pg://${db:password::_}@h"),
            ("${password::a ${b::c} d} ${x::y}", "${password::_} ${x::y}"),
            ("${a::${token::HUNTER}}", "${a::${token::_}}"),
            ("${db:${x::y}:password::HUNTER", "${db:${x::y}:password::_"),
            ("${a:x${token}::c}", "${a:x${token}::c}"),
            ("${a:b::c}: password::x", "${a:b::c}: password::x"),
            ("${${password::HUNTER}}}::b", "${${password::_}}}::b"),
        ] {
            assert_eq!(secrets.defaults(text, |_| "_".to_owned()), expected, "{text}");
        }
        // Without an end, and deeper than references go.
        let deep = "${a::".repeat(50_000);
        assert_eq!(secrets.defaults(&deep, |_| "_".to_owned()), deep);
    }
}
