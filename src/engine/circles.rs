//! Circles turn the message of references that lead in a circle into one that tells no secret.
//!
//! Where a secret chooses the way, as in `${accounts:${password}}`, a place on the way is called like
//! the secret, or has it in its name. Both are masked: the message may reach a minion.

use rustc_hash::FxHashSet;

use crate::engine::node::{Computation, Layers};
use crate::error::{Fault, Kind};
use crate::evaluate::{Evaluator, Extent, Root};
use crate::secrets::{MASK, Secrets};
use crate::slot::{Entries, Slot};
use crate::source::Origin;
use crate::template::{Part, Reference, Template, split_path};
use crate::value::Value;

impl Computation<'_> {
    /// Masks the names of places that are secrets in the circles among problems of a node.
    pub(super) fn withhold_ways(&self, faults: &mut [Fault], layers: &Layers) {
        let mut circles = Vec::new();
        for fault in faults.iter_mut() {
            collect(fault, &mut circles);
        }
        if circles.is_empty() {
            return;
        }
        let known = self.secret_texts(layers);
        if known.is_empty() {
            return;
        }
        let mut secrets = Secrets::of(self.settings);
        let texts: Vec<Value> = known.iter().map(|text| Value::text(text.as_str())).collect();
        secrets.learn_all(texts.iter());
        let delimiter = &self.settings.delimiter;
        let escaped = format!("\\{delimiter}");
        let path = |text: &str| {
            let name = |key: &str| {
                if known.contains(key) {
                    return MASK.to_owned();
                }
                secrets.text(key).replace(delimiter.as_str(), &escaped)
            };
            let names: Vec<String> = split_path(text, delimiter).iter().map(|key| name(key)).collect();
            names.join(delimiter)
        };
        for fault in circles {
            let Kind::ReferenceCycle { cycle } = &mut fault.kind else { continue };
            let steps: Vec<String> = cycle.split(ARROW).map(path).collect();
            *cycle = steps.join(ARROW);
            fault.path = fault.path.as_deref().map(path);
            for note in &mut fault.notes {
                if let Some((place, rest)) =
                    note.text.strip_prefix('\'').and_then(|text| text.rsplit_once('\''))
                {
                    note.text = format!("'{}'{rest}", path(place));
                }
            }
        }
    }

    /// All that secret parameters of a node come to, scalar by scalar.
    fn secret_texts(&self, layers: &Layers) -> FxHashSet<String> {
        let secrets = Secrets::of(self.settings);
        let mut texts = FxHashSet::default();
        if !secrets.is_none() {
            let parameters = self.merge(layers);
            let root = Root::whole(parameters.clone());
            let evaluator = Evaluator::new(root, self.settings, self.inputs).in_extent(Extent::Readable);
            Walk { secrets, evaluator, texts: &mut texts }.entries(&parameters.entries, false);
        }
        texts
    }
}

/// What stands between the steps of a circle.
const ARROW: &str = " -> ";

fn collect<'f>(fault: &'f mut Fault, circles: &mut Vec<&'f mut Fault>) {
    if matches!(fault.kind, Kind::ReferenceCycle { .. }) {
        circles.push(fault);
    } else {
        for cause in &mut fault.causes {
            collect(cause, circles);
        }
    }
}

struct Walk<'a, 't> {
    secrets: Secrets,
    evaluator: Evaluator<'a>,
    texts: &'t mut FxHashSet<String>,
}

impl Walk<'_, '_> {
    fn entries(&mut self, entries: &Entries, secret: bool) {
        for (key, slot) in entries {
            let secret = secret || self.secrets.is_secret(key);
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.slot(slot, secret));
        }
    }

    fn slot(&mut self, slot: &Slot, secret: bool) {
        if secret && let Ok(value) = self.evaluator.deep(slot) {
            self.value(&value);
            return;
        }
        match slot {
            Slot::Map(map) => self.entries(&map.entries, secret),
            Slot::Raw(raw) => self.entries(&raw.entries, secret),
            Slot::List(list) => {
                for item in &list.items {
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.slot(item, secret));
                }
            }
            Slot::Stack(stack) => stack.entries.iter().for_each(|entry| self.slot(&entry.slot, secret)),
            Slot::Value(value, _) => self.data(value, secret),
            Slot::Text(template, origin) => {
                let secrets = self.secrets.clone();
                secrets
                    .each_default(&template.parts, &mut |reference| self.taken(reference, template, *origin));
            }
            Slot::Query(..) => {}
        }
    }

    /// What a reference to a secret comes to: it may be the default that it takes in place of it.
    fn taken(&mut self, reference: &Reference, template: &Template, origin: Origin) {
        let parts = vec![Part::Reference(reference.clone())];
        let alone = Template { source: template.source.clone(), parts };
        // What failed before is told elsewhere.
        self.evaluator.faults.clear();
        if let Ok(text) = self.evaluator.class_name(&alone, origin) {
            self.texts.insert(text);
        }
    }

    /// The secrets in data that holds no references.
    fn data(&mut self, value: &Value, secret: bool) {
        match value {
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    let secret = secret || self.secrets.is_secret(key);
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.data(value, secret));
                }
            }
            Value::List(items) => items.iter().for_each(|item| self.data(item, secret)),
            value if secret => self.value(value),
            _ => {}
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Map(map) => {
                for value in map.values() {
                    stacker::maybe_grow(64 * 1024, 1024 * 1024, || self.value(value));
                }
            }
            Value::List(items) => items.iter().for_each(|item| self.value(item)),
            Value::Null => {}
            value => drop(self.texts.insert(crate::pystr::str(value))),
        }
    }
}
