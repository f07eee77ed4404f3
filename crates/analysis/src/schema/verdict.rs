//! What schemas say about the parameters of a node: what breaks them, before anybody looks for the places, and what
//! describes them.

use std::fmt;
use std::sync::Arc;

use reclass_base::value::Key;

/// Something in a value that breaks a schema.
#[derive(Debug)]
pub(crate) struct Violation {
    /// The keys below the parameter.
    pub keys: Vec<Key>,
    /// Whether a key is missing there.
    pub is_missing: bool,
    /// Whether the last key is wrong, and not its value.
    pub is_of_key: bool,
    /// What the schema expects.
    pub expected: String,
    pub similar: Option<String>,
    /// The address of the rule in a schema.
    pub address: String,
    /// Whether the value is only deprecated.
    pub deprecated: bool,
}

/// The parameters of a node that break their schemas.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeVerdict {
    pub broken: Vec<BrokenParameter>,
    /// For each schema whether it is for the node, and the node has its parameter.
    pub used: Vec<bool>,
}

/// A parameter of a node that breaks its schema.
#[derive(Clone, Debug)]
pub(crate) struct BrokenParameter {
    /// The number of the schema.
    pub schema: usize,
    /// The keys of the parameter as the node has them.
    pub keys: Vec<Key>,
    /// What breaks the schema; `None` if the schema itself is none, so that nobody knows.
    pub found: Option<FoundViolations>,
}

impl NodeVerdict {
    /// Whether a schema refuses a value, or is none. A value that is only deprecated is not refused.
    pub fn is_refused(&self) -> bool {
        let refuses = |found: &FoundViolations| found.0.iter().any(|violation| !violation.deprecated);
        self.broken.iter().any(|broken| broken.found.as_ref().is_none_or(refuses))
    }

    /// Whether another verdict says the same, maybe about other schemas.
    pub fn says_same(&self, other: &NodeVerdict) -> bool {
        let said = |verdict: &NodeVerdict| -> Vec<(Vec<Key>, Vec<Key>, String)> {
            let all = verdict.broken.iter().flat_map(|BrokenParameter { keys, found, .. }| match found {
                Some(found) => {
                    let one = |one: &Violation| (keys.clone(), one.keys.clone(), one.expected.clone());
                    found.0.iter().map(one).collect::<Vec<_>>()
                }
                None => vec![(keys.clone(), Vec::new(), String::new())],
            });
            all.collect()
        };
        said(self) == said(other)
    }
}

/// Violations that several nodes may share.
#[derive(Clone, Debug)]
pub(crate) struct FoundViolations(pub(crate) Arc<[Violation]>);

impl FoundViolations {
    /// Equal for the same violations of a shared value.
    pub fn address(&self) -> usize {
        self.0.as_ptr().addr()
    }
}

/// What a schema says about a parameter to people.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Description {
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The types, as in the schema.
    #[serde(rename = "type")]
    pub types: Vec<String>,
    /// The default, as JSON. It documents, and sets nothing.
    pub default: Option<String>,
    /// Whether the parameter should no longer be set.
    pub deprecated: bool,
}

impl fmt::Display for Description {
    /// On one line: `Workers: processes that answer (integer, default 2)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> =
            [&self.title, &self.description].into_iter().filter_map(|text| text.as_deref()).collect();
        let text: Vec<&str> = texts.iter().flat_map(|text| text.split_whitespace()).collect();
        let text = if texts.len() == 2 {
            let title = texts[0].split_whitespace().count();
            format!("{}: {}", text[..title].join(" "), text[title..].join(" "))
        } else {
            text.join(" ")
        };
        let types = (!self.types.is_empty()).then(|| self.types.join(" or "));
        let default = self.default.as_ref().map(|default| format!("default {default}"));
        let deprecated = self.deprecated.then(|| "deprecated".to_owned());
        let details: Vec<String> = [types, default, deprecated].into_iter().flatten().collect();
        match (text.as_str(), details.as_slice()) {
            (text, []) => f.write_str(text),
            ("", details) => f.write_str(&details.join(", ")),
            (text, details) => write!(f, "{} ({})", text.trim_end_matches('.'), details.join(", ")),
        }
    }
}
