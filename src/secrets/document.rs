//! A document tells the secrets that a file writes out where no secret key stands above them: what
//! references take in place of secrets, and what stands at the place that a reference alone under a secret
//! key names. For excerpts, which show one file and know no other (`files` knows several, for values).

use std::cell::RefCell;

use rustc_hash::FxHashSet;

use super::known::Known;
use super::{Secrets, deeper};
use crate::pystr;
use crate::template::split_path;
use crate::value::{Key, Text, Value};
use crate::yaml::compose::{Data, Document, Entry, Node};

impl Secrets {
    /// What is known, and what the document tells beside it.
    pub(super) fn known_in(&self, document: &Document) -> Known {
        let mut walk = Walk { secrets: self, known: self.known.clone(), places: Vec::new() };
        let Some(Node { data: Data::Map(sections), .. }) = &document.root else { return walk.known };
        for section in sections.iter() {
            walk.node(&section.value, false);
        }
        let mut met = FxHashSet::default();
        while let Some(place) = walk.places.pop() {
            if met.insert(place.clone()) {
                for section in sections.iter().filter(|section| section.key.as_str() == Some("parameters")) {
                    walk.place(&section.value, &split_path(&place, &self.delimiter));
                }
            }
        }
        walk.known
    }
}

struct Walk<'s> {
    secrets: &'s Secrets,
    known: Known,
    /// The paths of references that are all of a secret.
    places: Vec<String>,
}

impl Walk<'_> {
    fn node(&mut self, node: &Node, secret: bool) {
        deeper(|| match &node.data {
            Data::Map(entries) => {
                for entry in entries.iter() {
                    self.node(&entry.value, secret || self.secrets.is_secret(&entry.key));
                }
            }
            Data::List(items) => items.iter().for_each(|item| self.node(item, secret)),
            Data::Value(Value::Str(text)) => {
                if secret && let Some(path) = self.alone(text) {
                    self.places.push(path);
                }
                let taken = RefCell::new(Vec::new());
                self.secrets.defaults(text, |default| {
                    taken.borrow_mut().push(default.to_owned());
                    String::new()
                });
                taken.into_inner().iter().for_each(|default| self.known.learn(default));
            }
            Data::Value(_) => {}
        });
    }

    /// The path of the reference that is all of a text, without what it takes in place of nothing: that is
    /// a secret too.
    fn alone(&mut self, text: &str) -> Option<String> {
        let (open, close) = &self.secrets.references;
        let inside = text.trim().strip_prefix(open.as_str())?.strip_suffix(close.as_str())?;
        if inside.contains(open.as_str()) || inside.contains(close.as_str()) {
            return None;
        }
        let double = self.secrets.delimiter.repeat(2);
        let (path, default) = inside.split_once(&double).unwrap_or((inside, ""));
        self.known.learn(default);
        Some(path.to_owned())
    }

    fn place(&mut self, node: &Node, path: &[Text]) {
        match (&node.data, path.split_first()) {
            (_, None) => self.all(node),
            (Data::Map(entries), Some((first, rest))) => {
                let named = |entry: &&Entry| is_named(&entry.key, first);
                entries.iter().filter(named).for_each(|entry| self.place(&entry.value, rest));
            }
            _ => {}
        }
    }

    /// All of a value is a secret.
    fn all(&mut self, node: &Node) {
        deeper(|| match &node.data {
            Data::Map(entries) => entries.iter().for_each(|entry| self.all(&entry.value)),
            Data::List(items) => items.iter().for_each(|item| self.all(item)),
            Data::Value(Value::Str(text)) => match self.alone(text) {
                Some(path) => self.places.push(path),
                None => self.known.learn(text),
            },
            Data::Value(value @ (Value::Int(_) | Value::BigInt(_) | Value::Float(_))) => {
                self.known.learn(&pystr::str(value));
            }
            Data::Value(_) => {}
        });
    }
}

/// Whether a key is this one, with a prefix or without.
fn is_named(key: &Key, name: &str) -> bool {
    key.as_str().is_some_and(|key| key == name || key.trim_start_matches(['~', '=']) == name)
}
