//! The documentation of classes, as it is serialized.

use serde::Serialize;

use crate::schema::Description;
use reclass_base::source::Site;
use reclass_base::value::{Text, Value};

/// The number of names or places that are named; of the others only the number is given.
const MOST: usize = 10;

/// The documentation of all classes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Documentation {
    /// The classes, sorted by name.
    pub classes: Vec<ClassDocs>,
    /// The number of nodes that do not render, and that are not counted.
    pub left_out: usize,
}

/// A class.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ClassDocs {
    /// Its name.
    pub name: Text,
    /// Its file, from the folder of the inventory on.
    pub file: String,
    /// The first comment of the file.
    pub comment: String,
    /// Whether the file can be read. If not, nothing else is known of it.
    pub is_readable: bool,
    /// The nodes that have it.
    pub nodes: Names,
    /// The classes that it includes, in order.
    pub includes: Vec<Text>,
    /// The classes that include it, sorted.
    pub included_by: Vec<Text>,
    /// The nodes whose files list it.
    pub listed_by: Names,
    /// The class mappings that give it to nodes.
    pub mappings: Vec<Text>,
    /// The applications that it adds, and with `~` those that it removes.
    pub applications: Vec<Text>,
    /// The parameters that it sets, in the order of the file.
    pub parameters: Vec<ParameterDocs>,
    /// The exports that it sets.
    pub exports: Vec<ParameterDocs>,
    /// The parameters that it refers to and that neither it nor a class that it includes sets.
    pub expects: Vec<ExpectedParameter>,
}

/// A parameter of a class, or a mapping with a comment.
#[derive(Clone, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ParameterDocs {
    /// The path.
    pub path: String,
    /// The type of the value as written; `reference` for a reference alone.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The value as written; null for a mapping with a comment, whose type is empty.
    pub default: Option<Value>,
    /// The comment above the key.
    pub comment: String,
    /// What the schema of the parameter says about it. Left out without a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Description>,
    /// The places that set it again in nodes that have the class.
    pub set_again: DocsPlaces,
}

/// A parameter that a class needs and does not have.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct ExpectedParameter {
    /// The path.
    pub path: String,
    /// The paths of the values that refer to it; `classes` for the list of classes.
    pub used_by: Vec<String>,
    /// Whether each reference to it has a default.
    pub has_default: bool,
    /// The places that set it in nodes that have the class.
    pub set_by: DocsPlaces,
}

/// The place of a value.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct DocsPlace {
    /// The name of the class or node.
    pub name: Text,
    /// Whether it is a class.
    pub is_class: bool,
    /// The place.
    pub site: Site,
}

/// The first of some places.
#[derive(Clone, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct DocsPlaces {
    /// Some of them, classes first.
    pub first: Vec<DocsPlace>,
    /// The number of the others.
    pub more: usize,
}

/// The first of some names.
#[derive(Clone, Default, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Names {
    /// Some of them, sorted.
    pub first: Vec<Text>,
    /// The number of the others.
    pub more: usize,
}

impl Names {
    pub(super) fn first_of(mut names: Vec<Text>) -> Names {
        let more = names.len().saturating_sub(MOST);
        names.truncate(MOST);
        Names { first: names, more }
    }

    /// The number of all.
    pub fn count(&self) -> usize {
        self.first.len() + self.more
    }
}

impl DocsPlaces {
    pub(super) fn first_of<T>(all: Vec<T>, place: impl Fn(T) -> Option<DocsPlace>) -> DocsPlaces {
        let more = all.len().saturating_sub(MOST);
        DocsPlaces { first: all.into_iter().take(MOST).filter_map(place).collect(), more }
    }
}
