//! Finds what breaks the schemas in the answer for a node. Nodes share values, and a shared value is checked once.

use std::sync::Arc;

use boon::{ErrorKind, ValidationError};
use rustc_hash::FxHashMap;
use serde_json::{Number, Value as Json};

use super::compile::SchemaSet;
use super::document::{joined, segments};
use super::instance::{entry, json, keys};
use super::items::set_indexes;
use super::sentence::{keyword, leaves, names, part, sentence, similar, similar_key};
use super::verdict::{BrokenParameter, FoundViolations, NodeVerdict, Violation};
use reclass::NodeInfo;
use reclass::parts::engine::SchemaFiles;
use reclass_base::error::{Error, Fault};
use reclass_base::lock::Mutex;
use reclass_base::settings::Settings;
use reclass_base::similar::SearchCost;
use reclass_base::source::Site;
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value, WeakContainer};

/// The schemas of an inventory.
#[derive(Debug)]
pub struct Schemas {
    pub(super) set: SchemaSet,
    /// The verdicts about shared values, by the number of the schema and the address of the value.
    verdicts: Mutex<FxHashMap<(usize, usize), Verdict>>,
    pub(super) delimiter: String,
}

/// What breaks a schema in a value that may be in use elsewhere.
#[derive(Debug)]
struct Verdict {
    /// Keeps the address from being used again.
    value: WeakContainer,
    found: Arc<[Violation]>,
}

/// The most verdicts that are kept before those about values that are gone are dropped.
const KEPT: usize = 20_000;

impl Schemas {
    pub(super) fn read(files: &SchemaFiles, settings: &Settings) -> Schemas {
        Schemas {
            set: SchemaSet::of(files, settings),
            verdicts: Mutex::default(),
            delimiter: settings.delimiter.to_string(),
        }
    }

    /// What is wrong in the files themselves.
    pub(crate) fn own_faults(&self) -> impl Iterator<Item = Fault> + '_ {
        let errors = self.set.schemas.iter().filter_map(|schema| schema.schema.as_ref().err());
        errors.flat_map(|error| error.faults().iter().cloned())
    }

    /// Why a schema is none.
    pub(crate) fn error_of(&self, number: usize) -> Option<&Error> {
        self.set.schemas.get(number)?.schema.as_ref().err()
    }

    /// The place of a rule by its address.
    pub fn site(&self, address: &str) -> Option<Site> {
        self.set.at(address).map(|(document, pointer)| document.site(&pointer))
    }

    /// Keywords that are probably misspelled.
    pub(crate) fn slips(&self) -> &[Fault] {
        &self.set.slips
    }

    /// The parameters of the schemas that no node has for which they are, whether they are for some nodes only, and the
    /// places of the files.
    pub(crate) fn unused(&self, used: &[bool]) -> Vec<(String, bool, Site)> {
        let mut unused = Vec::new();
        // One that others refer to has a use.
        let shared = self.referenced();
        for (number, schema) in self.set.schemas.iter().enumerate() {
            if let Ok((document, _)) = schema.schema
                && used.get(number) != Some(&true)
                && !shared.contains(&document)
            {
                unused.push((
                    schema.keys.join(&self.delimiter),
                    schema.has_scope(),
                    Site::file(self.set.documents[document].shown.clone()),
                ));
            }
        }
        unused
    }

    /// What breaks the schemas in the answer for a node.
    pub(crate) fn check(&self, info: &NodeInfo) -> NodeVerdict {
        let mut verdict = NodeVerdict { used: vec![false; self.set.schemas.len()], ..NodeVerdict::default() };
        for (number, schema) in self.set.schemas.iter().enumerate() {
            let Some((keys, value)) = value_at(&info.parameters, &schema.keys) else { continue };
            if !schema.is_for(&info.name, &info.classes) {
                continue;
            }
            verdict.used[number] = true;
            let found = match &schema.schema {
                Ok(_) => Some(FoundViolations(self.verdict(number, value))),
                Err(_) => None,
            };
            if found.as_ref().is_none_or(|found| !found.0.is_empty()) {
                verdict.broken.push(BrokenParameter { schema: number, keys, found });
            }
        }
        verdict
    }

    /// What breaks a schema in a value.
    fn verdict(&self, number: usize, value: &Value) -> Arc<[Violation]> {
        let Some(address) = value.container_address() else { return self.examine(number, value).into() };
        if let Some(known) = self.verdicts.lock().get(&(number, address)) {
            return known.found.clone();
        }
        let found: Arc<[Violation]> = self.examine(number, value).into();
        if let Some(value) = WeakContainer::of(value) {
            let mut verdicts = self.verdicts.lock();
            if verdicts.len() >= KEPT && verdicts.len().is_power_of_two() {
                verdicts.retain(|_, verdict| verdict.value.is_used());
            }
            verdicts.insert((number, address), Verdict { value, found: found.clone() });
        }
        found
    }

    fn examine(&self, number: usize, value: &Value) -> Vec<Violation> {
        let Some(schema) = self.set.schemas.get(number) else { return Vec::new() };
        let Ok((document, index)) = schema.schema else { return Vec::new() };
        let instance = json(value);
        let mut violations = Vec::new();
        if let Err(mut error) = grow(|| self.set.compiled.validate(&instance, index)) {
            set_indexes(&self.set, &mut error, 0, &[]);
            let mut found = Vec::new();
            leaves(&error, &mut found);
            let cost = SearchCost::default();
            for error in found {
                self.take((value, &instance), error, &cost, &mut violations);
            }
        }
        if schema.deprecates {
            self.deprecated(document, (value, &instance), &mut violations);
        }
        violations
    }

    fn take(
        &self,
        (value, instance): (&Value, &Json),
        error: &ValidationError<'_, '_>,
        cost: &SearchCost,
        all: &mut Vec<Violation>,
    ) {
        let names: Vec<String> = names(error).collect();
        let here = names.iter().try_fold(instance, |value, name| part(value, name)).unwrap_or(&Json::Null);
        let address = error.schema_url.to_owned();
        let schema = self.set.part(&address);
        let of_keyword = match keyword(error) {
            Some(keyword) if schema.is_none_or(|schema| schema.get(keyword).is_some()) => {
                joined(&address, keyword)
            }
            _ => address,
        };
        let is_unevaluated = of_keyword.ends_with("/unevaluatedProperties");
        let is_of_key =
            matches!(error.kind, ErrorKind::AdditionalProperties { .. } | ErrorKind::PropertyName { .. })
                || is_unevaluated && matches!(error.kind, ErrorKind::FalseSchema);
        let mut add = |names: &[String], is_missing: bool, expected: String, similar: Option<String>| {
            all.push(Violation {
                keys: keys(value, names.iter().cloned()),
                is_missing,
                is_of_key,
                expected,
                similar,
                address: of_keyword.clone(),
                deprecated: false,
            });
        };
        match &error.kind {
            // The number of the library is a float, in which 0.3 is no multiple of 0.1.
            ErrorKind::MultipleOf { got, want } if is_multiple(got, want) => {}
            // The error of a key has no path. That of the schema is the same where all its parts are `properties`.
            ErrorKind::PropertyName { prop } if names.is_empty() => {
                let address = self.set.at(error.schema_url);
                let below = address.map_or_else(Vec::new, |(_, pointer)| properties_of(&pointer));
                let expected = sentence(&self.set, error, here);
                add(&[&below[..], std::slice::from_ref(prop)].concat(), false, expected, None);
            }
            ErrorKind::AdditionalProperties { got } => {
                for name in got {
                    let below = [&names[..], &[name.to_string()]].concat();
                    let similar = similar_key(name, here, schema, cost);
                    add(&below, false, UNKNOWN.to_owned(), similar);
                }
            }
            ErrorKind::FalseSchema if is_unevaluated => add(&names, false, UNKNOWN.to_owned(), None),
            ErrorKind::Required { want } => {
                for name in want {
                    let one = ErrorKind::Required { want: vec![name] };
                    let one = ValidationError {
                        schema_url: error.schema_url,
                        instance_location: boon::InstanceLocation::default(),
                        kind: one,
                        causes: Vec::new(),
                    };
                    add(&names, true, sentence(&self.set, &one, here), similar(&one, here, schema, cost));
                }
            }
            _ => add(&names, false, sentence(&self.set, error, here), similar(error, here, schema, cost)),
        }
    }
}

/// The sentence for an unknown key.
const UNKNOWN: &str = "is not among the keys that the schema knows";

/// Whether a decimal number is a multiple of another one.
fn is_multiple(got: &Number, want: &Number) -> bool {
    let decimal = |number: &Number| -> Option<(i128, u32)> {
        let text = number.to_string();
        let (whole, places) = text.split_once('.').unwrap_or((&text, ""));
        Some((format!("{whole}{places}").parse().ok()?, u32::try_from(places.len()).ok()?))
    };
    let (Some((got, places)), Some((want, wanted))) = (decimal(got), decimal(want)) else { return false };
    let most = places.max(wanted);
    let scaled = |number: i128, places| number.checked_mul(10_i128.checked_pow(most - places)?);
    matches!((scaled(got, places), scaled(want, wanted)), (Some(got), Some(want)) if want != 0 && got % want == 0)
}

/// The keys that a pointer leads through, as far as it has no other keyword than `properties`.
fn properties_of(pointer: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut segments = segments(pointer);
    while segments.next().as_deref() == Some("properties") {
        names.extend(segments.next());
    }
    names
}

pub(super) fn value_at<'v>(parameters: &'v Value, names: &[String]) -> Option<(Vec<Key>, &'v Value)> {
    let mut keys = Vec::with_capacity(names.len());
    let mut value = parameters;
    for name in names {
        let (key, below) = entry(value.as_map()?, name)?;
        keys.push(key);
        value = below;
    }
    Some((keys, value))
}
