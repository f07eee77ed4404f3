//! A question about a node and its answer, as data.

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use serde::Serialize;

use crate::engine::counts::Counts;
use reclass_base::error::Warning;
use reclass_base::value::{Map, Text, Value};

/// The options of one request.
#[derive(Clone, Default, Debug)]
pub struct Request {
    /// The requested environment. It has an effect only with `allow_adapter_env_override` or
    /// `force_environment` (S10).
    pub environment: Option<Text>,
    /// Uses `environment` even if the setting does not allow it (`--environment`).
    pub force_environment: bool,
    /// Data merged before the node's classes (`propagate_pillar_data_to_reclass`).
    pub input_data: Option<Value>,
    /// The grains of the minion, a mapping; `None` if they are not known.
    pub grains: Option<Value>,
}

/// The answer for one node. Values are final; clones are cheap.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// The name of the node.
    pub name: Text,
    /// For a file on disk, `yaml_fs://` and its absolute path. For a file in git, `git_fs://`, the
    /// repository, the branch and the path.
    pub uri: Text,
    /// The environment: usually a string, but the node file may say anything.
    pub environment: Value,
    /// Classes in order of completion, as written (S3).
    pub classes: Arc<[Text]>,
    /// Applications in order of first appearance.
    pub applications: Vec<Text>,
    /// The parameters, a mapping.
    pub parameters: Value,
    /// The exports, a mapping.
    pub exports: Value,
    /// The warnings of the layers and of the evaluation.
    pub warnings: Vec<Warning>,
    /// The parameters and the environment as Salt carries them, once they were asked for.
    pub wire_values: OnceLock<(Value, Value)>,
    /// The number of warnings that the log already has.
    pub logged_warnings: OnceLock<usize>,
}

impl NodeInfo {
    /// The mapping that the Python programs print, key for key.
    pub fn to_value(&self, timestamp: &str) -> Value {
        let about = Value::record([
            ("node", Value::Str(self.name.clone())),
            ("name", Value::Str(self.name.clone())),
            ("uri", Value::Str(self.uri.clone())),
            ("environment", self.environment.clone()),
            ("timestamp", Value::text(timestamp)),
        ]);
        Value::record([
            ("__reclass__", about),
            ("classes", Value::texts(&self.classes)),
            ("applications", Value::texts(&self.applications)),
            ("parameters", self.parameters.clone()),
            ("exports", self.exports.clone()),
            ("environment", self.environment.clone()),
        ])
    }
}

/// The state of the caches, and counts of the work done.
#[derive(Clone, Debug, Serialize)]
pub struct CacheInfo {
    /// Counts of the work done.
    #[serde(flatten)]
    pub counts: Counts,
    /// The number of cached answers.
    pub answers: usize,
    /// Estimated bytes that only the cached answers use.
    pub answers_memory: usize,
    /// The limit for `answers_memory`.
    pub answers_limit: usize,
    /// The number of cached files.
    pub files: usize,
    /// Estimated bytes of the texts and layers of the cached files.
    pub files_memory: usize,
    /// The last full check of all files, without relying on the kernel's notifications, in Unix seconds.
    pub last_full_check: Option<f64>,
    /// Whether a watch is active, so that the kernel reports changes.
    pub watching: bool,
}

/// The whole inventory as the Python programs print it: nodes, and the nodes of each class and application.
pub fn inventory_value(nodes: &[Arc<NodeInfo>], timestamp: &str) -> Value {
    let mut by_name = Map::default();
    let mut classes: IndexMap<Text, Vec<Value>> = IndexMap::new();
    let mut applications: IndexMap<Text, Vec<Value>> = IndexMap::new();
    for node in nodes {
        by_name.insert(node.name.clone().into(), node.to_value(timestamp));
        for (names, members) in [(&node.classes[..], &mut classes), (&node.applications, &mut applications)] {
            for name in names {
                members.entry(name.clone()).or_default().push(Value::Str(node.name.clone()));
            }
        }
    }
    let members = |index: IndexMap<Text, Vec<Value>>| {
        Value::map(index.into_iter().map(|(name, nodes)| (name.into(), Value::list(nodes))).collect())
    };
    Value::record([
        ("__reclass__", Value::record([("timestamp", Value::text(timestamp))])),
        ("nodes", Value::map(by_name)),
        ("classes", members(classes)),
        ("applications", members(applications)),
    ])
}
