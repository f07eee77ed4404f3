//! Groups the faults of many nodes into findings, each reported once.
//!
//! An error in a class affects every node that includes it. Faults with the same code, place and message
//! become one finding with all its nodes.

use indexmap::IndexMap;
use serde::Serialize;

use reclass_base::error::{Fault, Note};
use reclass_base::value::Text;

/// The level of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not reported.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Off,
    /// Good to know.
    Info,
    /// Probably not meant.
    Warning,
    /// An error: a node that has it does not render.
    Error,
}

impl Level {
    /// The names of all levels.
    pub const NAMES: [&'static str; 4] = ["off", "info", "warning", "error"];

    /// The name of the level.
    pub fn name(self) -> &'static str {
        Level::NAMES[self as usize]
    }

    /// The level with this name.
    pub fn from_name(name: &str) -> Option<Level> {
        [Level::Off, Level::Info, Level::Warning, Level::Error].into_iter().find(|level| level.name() == name)
    }
}

/// A fault and the nodes that have it.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The fault in the first of its nodes.
    pub fault: Fault,
    /// Its level.
    pub level: Level,
    /// The nodes in the order of their faults; empty if the fault concerns no node.
    pub nodes: Vec<Text>,
}

/// Maximum number of further nodes that notes name.
const NAMED: usize = 5;

/// Groups equal faults, ordered by file and line.
pub fn grouped(problems: impl IntoIterator<Item = (Level, Fault)>) -> Vec<Finding> {
    let mut findings: IndexMap<FindingKey, Finding> = IndexMap::new();
    for (level, fault) in problems {
        let node = fault.node.clone();
        let finding =
            findings.entry(key_of(&fault)).or_insert_with(|| Finding { fault, level, nodes: Vec::new() });
        if let Some(node) = node
            && finding.nodes.last() != Some(&node)
        {
            finding.nodes.push(node);
        }
    }
    merge_into_causes(&mut findings);
    let mut findings: Vec<Finding> = findings.into_values().collect();
    for finding in &mut findings {
        if let [_, others @ ..] = finding.nodes.as_slice()
            && !others.is_empty()
        {
            let names: Vec<String> = others.iter().take(NAMED).map(|name| format!("'{name}'")).collect();
            let more = if others.len() > NAMED { ", …" } else { "" };
            let what = if others.len() == 1 { "node" } else { "nodes" };
            let text =
                format!("{} more {what} with the same problem: {}{more}", others.len(), names.join(", "));
            finding.fault.notes.push(Note { text, site: None });
        }
    }
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    findings
}

/// The key of equal faults: code, place and message.
type FindingKey = (&'static str, String, String);

fn key_of(fault: &Fault) -> FindingKey {
    let place = fault.site.as_ref().map_or_else(String::new, ToString::to_string);
    (fault.code(), place, fault.kind.to_string())
}

/// Removes failed queries whose causes are findings themselves. The findings of the causes get the nodes that
/// ask.
fn merge_into_causes(findings: &mut IndexMap<FindingKey, Finding>) {
    let caused = |finding: &&Finding| {
        let causes = &finding.fault.causes;
        !causes.is_empty() && causes.iter().all(|cause| findings.contains_key(&key_of(cause)))
    };
    let caused: Vec<FindingKey> =
        findings.values().filter(caused).map(|finding| key_of(&finding.fault)).collect();
    let taken: Vec<Finding> = caused.iter().filter_map(|key| findings.shift_remove(key)).collect();
    for Finding { mut fault, nodes, .. } in taken {
        let query = fault.kind.query_mut().cloned().unwrap_or_default();
        for cause in &fault.causes {
            let Some(finding) = findings.get_mut(&key_of(cause)) else { continue };
            for node in &nodes {
                if !finding.nodes.contains(node) {
                    finding.nodes.push(node.clone());
                }
            }
            if finding.fault.notes.len() < NAMED {
                let text = format!("the inventory query '{query}' fails for it");
                finding.fault.notes.push(Note { text, site: fault.site.clone() });
            }
        }
    }
}

fn order(finding: &Finding) -> (&str, u32, u32, &'static str) {
    let site = finding.fault.site.as_ref();
    site.map_or(("", 0, 0, finding.fault.code()), |site| {
        (&*site.path, site.line, site.column, finding.fault.code())
    })
}
