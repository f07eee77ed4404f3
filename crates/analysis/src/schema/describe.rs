//! Finds the parts of a schema that describe a value: for explanations, for keys that an editor offers, and for
//! values that are deprecated.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::check::Schemas;
use super::compile::SchemaPart;
use super::document::{SchemaDocument, joined};
use super::instance::{has_secret, keys, name};
use super::keywords::each;
use super::verdict::Description;
use super::verdict::Violation;
use reclass_base::secrets::{Cover, Secrets};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Value};

/// The most parts of schemas that are looked at for one value.
const MOST: usize = 200;

/// Which alternatives count, in `anyOf`, `oneOf` and behind `if`.
#[derive(Clone, Copy)]
enum Alternatives<'v> {
    /// All, for what people read.
    All,
    /// Those that this value fits.
    OfValue(&'v Json),
}

impl Schemas {
    /// For each schema whether it is for any of these nodes, which come with their classes.
    pub fn scope<'n>(&self, nodes: impl IntoIterator<Item = (&'n str, Vec<&'n str>)>) -> Vec<bool> {
        let mut scope = vec![false; self.set.schemas.len()];
        for (node, classes) in nodes {
            for (counts, schema) in scope.iter_mut().zip(&self.set.schemas) {
                *counts = *counts || schema.is_for(node, &classes);
            }
            if scope.iter().all(|counts| *counts) {
                break;
            }
        }
        scope
    }

    /// What the schemas of a scope say about the parameter at a path. A default with a secret is left out, and so is
    /// that of a secret, because it may be one.
    pub fn description(&self, scope: &[bool], path: &[Key], secrets: &Secrets) -> Option<Description> {
        let names: Vec<String> = path.iter().map(name).collect();
        let cover = secrets.at(path);
        let is_shown = |default: &Json| cover == Cover::Open && !has_secret(secrets, cover, default);
        let mut described = Description::default();
        for (document, pointer) in self.parts_at(scope, &names) {
            if let Some(schema) = document.json.pointer(&pointer) {
                add(&mut described, schema, &is_shown);
            }
        }
        (described != Description::default()).then_some(described)
    }

    /// The keys that the schemas of a scope know below a path, each with what they say about it.
    pub fn keys_below(
        &self,
        scope: &[bool],
        path: &[String],
        secrets: &Secrets,
    ) -> BTreeMap<String, Description> {
        let mut found: BTreeMap<String, Description> = BTreeMap::new();
        for (schema, _) in self.set.schemas.iter().zip(scope).filter(|(_, counts)| **counts) {
            if let Some([next, ..]) = schema.keys.strip_prefix(path) {
                found.entry(next.clone()).or_default();
            }
        }
        for (document, pointer) in self.parts_at(scope, path) {
            let properties = document.json.pointer(&joined(&pointer, "properties")).and_then(Json::as_object);
            for (key, _) in properties.into_iter().flatten() {
                found.entry(key.clone()).or_default();
            }
        }
        for (key, described) in &mut found {
            let path: Vec<Key> = path.iter().chain([key]).map(|name| Key::from(name.as_str())).collect();
            *described = self.description(scope, &path, secrets).unwrap_or_default();
        }
        found
    }

    /// The parts of the schemas of a scope that count for the value at a path.
    pub(super) fn parts_at(&self, scope: &[bool], path: &[String]) -> Vec<SchemaPart<'_>> {
        let mut found = Vec::new();
        for (schema, _) in self.set.schemas.iter().zip(scope).filter(|(_, counts)| **counts) {
            let Ok((document, _)) = schema.schema else { continue };
            let Some(rest) = path.strip_prefix(schema.keys.as_slice()) else { continue };
            let mut parts = self.applied((&self.set.documents[document], String::new()), Alternatives::All);
            for name in rest {
                let below =
                    parts.iter().flat_map(|part| self.below(part, name, Alternatives::All)).take(MOST);
                parts = below.collect();
            }
            found.append(&mut parts);
        }
        found
    }

    /// Adds the values that should no longer be set, of a value that is also given as JSON.
    pub(super) fn deprecated(
        &self,
        document: usize,
        (value, instance): (&Value, &Json),
        found: &mut Vec<Violation>,
    ) {
        let whole = (&self.set.documents[document], String::new());
        let parts = self.applied(whole, Alternatives::OfValue(instance));
        let mut add = |names: &[String], expected: String, address: String| {
            found.push(Violation {
                keys: keys(value, names.iter().cloned()),
                is_missing: false,
                is_of_key: false,
                expected,
                similar: None,
                address,
                deprecated: true,
            });
        };
        self.deprecated_below(&parts, instance, &mut Vec::new(), &mut add);
    }

    fn deprecated_below(
        &self,
        parts: &[SchemaPart<'_>],
        instance: &Json,
        names: &mut Vec<String>,
        add: &mut dyn FnMut(&[String], String, String),
    ) {
        for (document, pointer) in parts {
            let Some(schema) = document.json.pointer(pointer) else { continue };
            if schema.get("deprecated") == Some(&Json::Bool(true)) {
                let expected = match schema.get("description").and_then(Json::as_str) {
                    Some(text) => {
                        format!("is deprecated: {}", text.split_whitespace().collect::<Vec<_>>().join(" "))
                    }
                    None => "is deprecated".to_owned(),
                };
                add(names, expected, format!("{}#{}", document.uri, joined(pointer, "deprecated")));
                return;
            }
        }
        if parts.is_empty() {
            return;
        }
        let mut inner = |name: String, below: &Json| {
            let of_value = Alternatives::OfValue(below);
            let parts: Vec<_> =
                parts.iter().flat_map(|part| self.below(part, &name, of_value)).take(MOST).collect();
            names.push(name);
            grow(|| self.deprecated_below(&parts, below, names, add));
            names.pop();
        };
        match instance {
            Json::Object(map) => map.iter().for_each(|(name, below)| inner(name.clone(), below)),
            Json::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| inner(index.to_string(), item));
            }
            _ => {}
        }
    }

    /// Whether a value fits an alternative.
    fn fits(&self, document: &SchemaDocument, pointer: &str, instance: &Json) -> bool {
        let index = self.set.alternatives.get(&document.address(pointer));
        index.is_some_and(|index| grow(|| self.set.compiled.validate(instance, *index)).is_ok())
    }

    /// A part with the parts that count for the same value: behind `$ref`, in `allOf`, and among alternatives.
    fn applied<'s>(&'s self, part: SchemaPart<'s>, alternatives: Alternatives<'_>) -> Vec<SchemaPart<'s>> {
        let mut parts = vec![part];
        let mut next = 0;
        while let Some((document, pointer)) = parts.get(next).cloned() {
            next += 1;
            let Some(schema) = document.json.pointer(&pointer) else { continue };
            let mut add = |part: SchemaPart<'s>| {
                let is_new = parts.iter().all(|(known, at)| !std::ptr::eq(*known, part.0) || *at != part.1);
                if is_new && parts.len() < MOST {
                    parts.push(part);
                }
            };
            if let Some(target) = schema.get("$ref").and_then(Json::as_str)
                && let Some(part) = self.set.target(document, target)
            {
                add(part);
            }
            for list in ["allOf", "anyOf", "oneOf"] {
                for index in 0..schema.get(list).and_then(Json::as_array).map_or(0, Vec::len) {
                    let inner = format!("{pointer}/{list}/{index}");
                    let counts = match alternatives {
                        Alternatives::OfValue(instance) if list != "allOf" => {
                            self.fits(document, &inner, instance)
                        }
                        _ => true,
                    };
                    if counts {
                        add((document, inner));
                    }
                }
            }
            let Alternatives::OfValue(instance) = alternatives else { continue };
            if schema.get("if").is_some() {
                let fits = self.fits(document, &format!("{pointer}/if"), instance);
                for keyword in if fits { &["if", "then"][..] } else { &["else"][..] } {
                    add((document, joined(&pointer, keyword)));
                }
            }
            for keyword in ["dependentSchemas", "dependencies"] {
                let dependent = schema.get(keyword).and_then(Json::as_object);
                for (name, _) in
                    dependent.into_iter().flatten().filter(|(name, _)| instance.get(name).is_some())
                {
                    add((document, joined(&joined(&pointer, keyword), name)));
                }
            }
        }
        parts
    }

    /// The documents that other ones refer to.
    pub(super) fn referenced(&self) -> Vec<usize> {
        let mut found = Vec::new();
        for document in &self.set.documents {
            each(&document.json, "", &mut |schema, _| {
                let target = schema.get("$ref").and_then(Json::as_str);
                let there =
                    target.and_then(|target| self.set.target(document, target)).map(|(there, _)| there);
                let there = there.filter(|there| !std::ptr::eq(*there, document));
                found.extend(there.and_then(|there| {
                    self.set.documents.iter().position(|document| std::ptr::eq(document, there))
                }));
            });
        }
        found
    }

    /// The parts that count for an entry or item of a value.
    fn below<'s>(
        &'s self,
        (document, pointer): &SchemaPart<'s>,
        name: &str,
        alternatives: Alternatives<'_>,
    ) -> Vec<SchemaPart<'s>> {
        let Some(schema) = document.json.pointer(pointer).and_then(Json::as_object) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let properties = schema.get("properties").and_then(Json::as_object);
        if properties.is_some_and(|properties| properties.contains_key(name)) {
            found.push(joined(&format!("{pointer}/properties"), name));
        }
        for pattern in schema
            .get("patternProperties")
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
            .map(|(key, _)| key)
        {
            let regex = self.set.pattern(pattern);
            if regex.is_some_and(|regex| regex.is_match(name).unwrap_or(false)) {
                found.push(joined(&format!("{pointer}/patternProperties"), pattern));
            }
        }
        if found.is_empty() && schema.get("additionalProperties").is_some_and(Json::is_object) {
            found.push(format!("{pointer}/additionalProperties"));
        }
        if let Ok(index) = name.parse::<usize>() {
            let tuple = ["prefixItems", "items"].into_iter().find(|list| {
                schema.get(*list).and_then(Json::as_array).is_some_and(|items| index < items.len())
            });
            match (tuple, schema.get("items")) {
                (Some(list), _) => found.push(format!("{pointer}/{list}/{index}")),
                (None, Some(items)) if items.is_object() => found.push(format!("{pointer}/items")),
                (None, Some(_)) => found.push(format!("{pointer}/additionalItems")),
                _ => {}
            }
        }
        found.into_iter().flat_map(|pointer| self.applied((document, pointer), alternatives)).collect()
    }
}

/// Adds what a part says, where nothing said it before.
fn add(described: &mut Description, schema: &Json, is_shown: &dyn Fn(&Json) -> bool) {
    let text = |name: &str| schema.get(name).and_then(Json::as_str).map(|text| text.trim().to_owned());
    described.title = described.title.take().or_else(|| text("title"));
    described.description = described.description.take().or_else(|| text("description"));
    if described.types.is_empty() {
        described.types = match schema.get("type") {
            Some(Json::String(one)) => vec![one.clone()],
            Some(Json::Array(all)) => all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
    }
    let default = || schema.get("default").filter(|default| is_shown(default)).map(Json::to_string);
    described.default = described.default.take().or_else(default);
    described.deprecated |= schema.get("deprecated") == Some(&Json::Bool(true));
}
