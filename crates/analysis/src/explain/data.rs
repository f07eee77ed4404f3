//! The rows of an explanation, as they are serialized.
#![expect(clippy::ref_option, reason = "serde hands fields over like this")]

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::schema::Description;
use reclass::parts::evaluate::{Effect, ItemEffect};
use reclass_base::error::{Error, Fault, Link, Result};
use reclass_base::path::KeyPath;
use reclass_base::source::{Origin, Site};
use reclass_base::stack::grow;
use reclass_base::value::{Key, Text, Value};

/// The provenance of everything requested. `docs/explain.md` describes its form as JSON. Secrets are masked.
#[derive(Clone, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Explanation {
    /// The name of the node.
    pub node: Text,
    /// The environment, if requested.
    pub environment: Option<EnvironmentTrace>,
    /// The classes in merge order.
    pub classes: Vec<ClassTrace>,
    /// The applications in order, including removed ones.
    pub applications: Vec<ApplicationTrace>,
    /// The requested parameters.
    pub parameters: Vec<ValueTrace>,
    /// The requested exports.
    pub exports: Vec<ValueTrace>,
    /// The errors of values.
    #[serde(skip)]
    pub faults: Vec<Fault>,
    /// The requested names that do not exist, if others do.
    #[serde(skip)]
    pub missing: Vec<Fault>,
}

impl Explanation {
    /// Itself, or an error with the missing names if it has nothing else.
    pub fn found(self) -> Result<Explanation> {
        if !self.missing.is_empty() && self.is_empty() { Err(Error::new(self.missing)) } else { Ok(self) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.environment.is_none()
            && self.classes.is_empty()
            && self.applications.is_empty()
            && self.parameters.is_empty()
            && self.exports.is_empty()
    }
}

/// The environment and its source.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct EnvironmentTrace {
    /// The environment.
    pub value: Value,
    /// `request`, `node`, or `default_environment` for the setting.
    #[serde(rename = "from")]
    pub source: &'static str,
    /// The place in the file of the node.
    pub place: Option<ValuePlace>,
}

/// The lists that include a class.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ClassTrace {
    /// The name of the class.
    pub name: Text,
    /// The file of the class; null for a missing class that settings allow.
    pub file: Option<Arc<str>>,
    /// Every list entry that names the class. The effective entry comes first.
    pub listings: Vec<ClassListing>,
}

/// One entry of a list of classes.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ClassListing {
    /// Whether the class was included by this entry. Later entries have no effect.
    pub effective: bool,
    /// The entry as written, if it has references or is a pattern of class names.
    pub written: Option<Text>,
    /// The place of the entry; null in a class mapping.
    pub site: Option<Site>,
    /// The include chain from the node to the class.
    pub chain: Vec<Link>,
}

/// The layers that add or remove an application.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ApplicationTrace {
    /// The name of the application.
    pub name: Text,
    /// Whether the node has the application.
    pub present: bool,
    /// The effects of the layers, in order.
    pub steps: Vec<ApplicationStep>,
}

/// The effect of one layer on an application.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ApplicationStep {
    /// `adds`, `repeats` if it was already there, `removes`, or `misses` if there was nothing to remove.
    pub effect: &'static str,
    /// The place of the entry.
    pub place: ValuePlace,
}

/// One value with its provenance: the steps of the layers and its parts.
#[derive(Clone, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ValueTrace {
    /// The path of the value.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: KeyPath,
    /// Whether this very path was requested, so that the whole value is shown.
    #[serde(skip)]
    pub exact: bool,
    /// Whether a key of the path marks the whole value as secret.
    #[serde(skip)]
    pub hidden: bool,
    /// The value; null if it cannot be computed or was removed.
    pub value: Option<Value>,
    /// The error, if the value cannot be computed.
    #[serde(rename = "error", serialize_with = "error")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<ErrorData>"))]
    pub fault: Option<Fault>,
    /// What the schema of the parameter says about it. Left out without a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The place of the value. If several layers were merged, the last of them.
    pub place: Option<ValuePlace>,
    /// The effects of the layers, in order.
    pub steps: Vec<Step>,
    /// The leaves and items of the value.
    pub parts: Vec<ValuePart>,
}

/// The effect of one layer on a value.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Step {
    /// The effect.
    pub effect: Effect,
    /// Whether the layer contributes to the final value.
    pub counts: bool,
    /// The place of the layer's value.
    pub place: ValuePlace,
    /// The path of the layer's value. It is shorter than the path of the explained value if the layer sets a
    /// parent of it.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: KeyPath,
    /// Whether a key of this path marks the whole value as secret.
    #[serde(skip)]
    pub hidden: bool,
    /// The prefixes of the key and of its parents, as written.
    pub prefix: String,
    /// The value as written, with its references.
    pub written: Value,
    /// The value of the path after this layer, unless it is a mapping.
    pub after: Option<Value>,
    /// The setting that decides the effect.
    pub setting: Option<&'static str>,
    /// The merge option that decides about the items of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_option: Option<MergeOptionTrace>,
    /// The references in the value.
    pub references: Vec<ReferenceTrace>,
    /// The nodes that answered its inventory query.
    pub answers: Vec<QueryAnswer>,
}

/// A merge option and its effects on the items of one layer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct MergeOptionTrace {
    /// The pattern of paths.
    pub pattern: String,
    /// The place of its declaration.
    pub place: ValuePlace,
    /// The items that were not simply added.
    pub items: Vec<ItemTrace>,
}

/// The effect of a merge option on one item.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ItemTrace {
    /// The effect.
    pub effect: ItemEffect,
    /// The index of the item in the list of its layer.
    pub item: usize,
    /// For `removes` the number of removed items, otherwise the index of the other item. It counts removed
    /// items too.
    pub other: usize,
}

/// A reference and the provenance of its value.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ReferenceTrace {
    /// The reference as written, without its default.
    pub written: Text,
    /// The path of the target, after the references inside of it are resolved.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub path: Option<KeyPath>,
    /// The value, unless it is a mapping.
    pub value: Option<Value>,
    /// Whether the default was used.
    pub default_used: bool,
    /// Whether it has no value because of an error.
    pub failed: bool,
    /// The error, unless it was reported before.
    #[serde(rename = "error", serialize_with = "error")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<ErrorData>"))]
    pub fault: Option<Fault>,
    /// The references inside of it.
    pub inner: Vec<ReferenceTrace>,
    /// The steps of the target; null if they are shown elsewhere.
    #[serde(rename = "story", serialize_with = "trace")]
    pub trace: Option<Box<ValueTrace>>,
}

/// A node that answered a query.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct QueryAnswer {
    /// Its name.
    pub node: Text,
    /// The place of its export.
    pub place: Option<ValuePlace>,
}

/// One leaf or item.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ValuePart {
    /// The full path.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub path: KeyPath,
    /// The value; null if it cannot be computed.
    pub value: Option<Value>,
    /// The value as written, if it is a reference or a query.
    pub written: Option<Value>,
    /// The place of the value.
    pub place: ValuePlace,
    /// The references to the containers around it, outermost first.
    pub via: Vec<ReferencePlace>,
}

/// A leaf of a container, before its places are looked up.
pub struct Leaf {
    /// The full path.
    pub path: Vec<Key>,
    /// The value; `None` if it cannot be computed.
    pub value: Option<Value>,
    /// The value as written, if it is a reference or a query.
    pub written: Option<Value>,
    pub origin: Origin,
    /// The number of keys up to the first list, if it is in one.
    pub list: Option<usize>,
    /// The references to the containers around it, outermost first: what is written, and where.
    pub via: Vec<(Value, Origin)>,
}

/// A reference whose value is a container.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ReferencePlace {
    /// The reference as written.
    pub written: Value,
    /// The place of the reference.
    pub place: ValuePlace,
}

/// The place of a value.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ValuePlace {
    /// The layer: `node 'web1'`, `class 'site.lan'`, `input data`, `automatic parameters`.
    pub layer: String,
    /// File, line and column; null if the value is in no file.
    pub site: Option<Site>,
    /// The name of the class, if the layer is a class.
    #[serde(skip)]
    pub class: Option<Text>,
    /// The include chain from the node to the class.
    pub chain: Vec<Link>,
}

/// The error of a value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct ErrorData<'f> {
    /// The stable code.
    code: &'f str,
    /// The message.
    message: String,
    /// The place of the error.
    site: Option<&'f Site>,
}

fn error<S: Serializer>(fault: &Option<Fault>, serializer: S) -> Result<S::Ok, S::Error> {
    let data = fault.as_ref().map(|fault| {
        let (message, site) = (fault.kind.to_string(), fault.site.as_ref());
        ErrorData { code: fault.code(), message, site }
    });
    data.serialize(serializer)
}

/// Traces are nested, so the stack must grow.
fn trace<S: Serializer>(trace: &Option<Box<ValueTrace>>, serializer: S) -> Result<S::Ok, S::Error> {
    grow(|| trace.serialize(serializer))
}
