//! Draws nodes and the classes that they include: as DOT, as Mermaid, or as a page that a person can search
//! and click through.

mod page;
mod picture;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::analysis::explain::{Selection, ValuePart, brief, chosen_nodes, explain_in, written};
use crate::analysis::list::leaves;
use crate::analysis::survey::{Survey, Surveyed, SurveyedFile};
use crate::base::error::{Error, Result, concise};
use crate::base::path::join_path;
use crate::base::source::{FileId, Origin, Site};
use crate::base::value::{Text, Value};
use crate::engine::Inventory;
use crate::engine::context::{Computation, NodeRequest};
use crate::engine::linearize::IncludedBy;
use crate::model::merge::{Prefixes, settled};
use crate::output::redact::Redaction;

pub use page::html;
pub use picture::{dot, mermaid};

/// One value: its path in the notation of references, the value in short with secrets masked, and its place.
/// In a file the value is as written. In a node it is empty if the value cannot be computed.
pub type Leaf = (String, String, Option<String>);

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// The file of a node.
    Node,
    /// The file of a class.
    Class,
}

/// A file of the graph: a node or a class.
#[derive(Clone, Debug, Serialize)]
pub struct Vertex {
    /// Its name.
    pub name: Text,
    /// Node or class.
    pub kind: FileKind,
    /// Its file; `None` for a missing class that is ignored.
    pub file: Option<String>,
    /// The classes that it lists, with the place of each entry.
    pub lists: Vec<(Text, Option<String>)>,
    /// The values that the file sets.
    pub sets: Vec<Leaf>,
}

/// A node with its results.
#[derive(Clone, Debug, Serialize)]
pub struct Rendered {
    /// Its name.
    pub name: Text,
    /// Its environment in short; unknown if the node cannot be linearized.
    pub environment: String,
    /// Its applications.
    pub applications: Vec<Text>,
    /// Its classes in merge order.
    pub classes: Vec<Text>,
    /// The class mappings that give it classes: pairs of mapping and class, each once.
    pub mapped: Vec<(Text, Text)>,
    /// Its values, if they were requested.
    pub values: Option<Vec<Leaf>>,
    /// Its faults, one line each.
    pub problems: Vec<String>,
}

/// Nodes, classes, and the list entries between them.
#[derive(Clone, Debug, Serialize)]
pub struct Graph {
    /// The nodes, sorted.
    pub nodes: Vec<Rendered>,
    /// The files of all nodes and classes, nodes first.
    pub files: Vec<Vertex>,
}

/// Up to this number of nodes, the graph contains their rendered values.
pub const WITH_VALUES: usize = 20;

/// The graph of the nodes that match the globs. Values are redacted; without a redaction the graph has no
/// values, as pictures show none.
pub fn graph(inventory: &Inventory, globs: &[String], redaction: Option<&Redaction>) -> Result<Graph> {
    inventory.inspect(|computation| {
        let names = chosen_nodes(computation.catalog, globs)?;
        let survey = Survey::of(computation);
        let chosen: Vec<&Surveyed> =
            survey.nodes.iter().filter(|node| names.binary_search(&node.name).is_ok()).collect();
        let of_values = redaction.filter(|_| chosen.len() <= WITH_VALUES);
        let nodes = chosen.iter().map(|node| rendered(computation, node, of_values));
        let nodes: Vec<Rendered> = nodes.collect();
        Ok(Graph { files: files(computation, &survey, &chosen, redaction), nodes })
    })?
}

fn rendered(computation: &Computation<'_>, node: &Surveyed, redaction: Option<&Redaction>) -> Rendered {
    let files: IndexMap<FileId, &Text> =
        node.included.iter().map(|included| (included.file, &included.name)).collect();
    let layers = node.all_layers().filter_map(|layer| files.get(&layer.file).copied());
    let mapped = node.listings.iter().filter_map(|listed| match &listed.by {
        IncludedBy::Mapping(mapping) => Some((mapping.clone(), listed.class.clone())),
        IncludedBy::Node | IncludedBy::Includer(_) => None,
    });
    let mut problems: Vec<String> = Vec::new();
    let mut report = |error: &Error| problems.extend(concise(error).lines().map(str::to_owned));
    if let Err(error) = &node.layers {
        report(error);
    }
    let values = node.layers.as_ref().ok().zip(redaction).and_then(|(layers, redaction)| {
        let values = Selection { values: true, redaction: redaction.clone(), ..Selection::default() };
        let explanation = match explain_in(computation, layers, &values) {
            Ok(explanation) => explanation,
            Err(error) => {
                report(&error);
                return None;
            }
        };
        if !explanation.faults.is_empty()
            && let Err(error) = computation.answer(NodeRequest::plain(&node.name))
        {
            report(&error);
        }
        let leaf = |part: &ValuePart| {
            let value = part.value.as_ref().map_or_else(String::new, brief);
            (part.path.to_string(), value, part.place.site.as_ref().map(Site::to_string))
        };
        Some(explanation.parameters.iter().flat_map(|trace| &trace.parts).map(leaf).collect())
    });
    let mut classes: Vec<Text> = layers.cloned().collect();
    classes.pop();
    Rendered {
        name: node.name.clone(),
        environment: Some(node.environment())
            .filter(|value| *value != Value::Null)
            .as_ref()
            .map_or_else(String::new, brief),
        applications: node.applications(),
        classes,
        mapped: mapped.collect::<IndexSet<_>>().into_iter().collect(),
        values,
        problems,
    }
}

/// A listed class and the place of its entry: the file and the index of the YAML node.
type PlacedClass = (Text, Option<(FileId, u32)>);

fn files(
    computation: &Computation<'_>,
    survey: &Survey,
    chosen: &[&Surveyed],
    redaction: Option<&Redaction>,
) -> Vec<Vertex> {
    let mut lists: IndexMap<(FileKind, Text), IndexSet<PlacedClass>> = IndexMap::new();
    for node in chosen {
        lists.entry((FileKind::Node, node.name.clone())).or_default();
    }
    for node in chosen {
        for included in node.included.iter().skip(1) {
            lists.entry((FileKind::Class, included.name.clone())).or_default();
        }
        for listed in &node.listings {
            let IncludedBy::Includer(index) = listed.by else {
                lists.entry((FileKind::Class, listed.class.clone())).or_default();
                continue;
            };
            let Some(by) = node.included.get(index) else { continue };
            let place = (listed.origin != Origin::NONE).then_some((listed.origin.file, listed.origin.node));
            let kind = if index > 0 { FileKind::Class } else { FileKind::Node };
            let entry = lists.entry((kind, by.name.clone())).or_default();
            entry.insert((listed.class.clone(), place));
        }
    }
    let by_name = ByName::of(survey);
    for node in chosen.iter().filter(|node| node.layers.is_err()) {
        listed_in_files(&by_name, node, &mut lists);
    }
    // Missing classes that are ignored.
    let missing: Vec<Text> = lists.values().flatten().map(|(class, _)| class.clone()).collect();
    for class in missing {
        lists.entry((FileKind::Class, class)).or_default();
    }
    let site = |place: Option<(FileId, u32)>| {
        let (file, node) = place?;
        crate::evaluate::site(computation.inputs, Origin { file, node }, None).map(|site| site.to_string())
    };
    let mut files: Vec<Vertex> = lists
        .into_iter()
        .map(|((kind, name), entries)| {
            let file = by_name.file(kind, &name);
            Vertex {
                sets: file.zip(redaction).map_or_else(Vec::new, |(file, all)| sets(computation, file, all)),
                file: file.map(|file| file.path.to_string()),
                lists: entries.into_iter().map(|(class, place)| (class, site(place))).collect(),
                kind,
                name,
            }
        })
        .collect();
    files.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    files
}

/// The files of a survey by kind and name. Of several files with one name, the first one counts.
struct ByName<'s>(FxHashMap<(FileKind, &'s str), &'s SurveyedFile>);

impl<'s> ByName<'s> {
    fn of(survey: &'s Survey) -> ByName<'s> {
        let mut files = FxHashMap::default();
        for file in &survey.files {
            let kind = if file.is_class { FileKind::Class } else { FileKind::Node };
            files.entry((kind, &*file.name)).or_insert(file);
        }
        ByName(files)
    }

    fn file(&self, kind: FileKind, name: &str) -> Option<&'s SurveyedFile> {
        self.0.get(&(kind, name)).copied()
    }
}

/// The list entries in the files of a node that cannot be linearized: its own file, and the files of the
/// classes in it, recursively. Names with references are skipped, because they cannot be resolved.
fn listed_in_files(
    by_name: &ByName<'_>,
    node: &Surveyed,
    lists: &mut IndexMap<(FileKind, Text), IndexSet<PlacedClass>>,
) {
    let mut waiting = vec![(FileKind::Node, node.name.clone())];
    let mut seen = IndexSet::new();
    while let Some((kind, name)) = waiting.pop() {
        let file = by_name.file(kind, &name);
        let Some(layer) = file.and_then(|file| file.layer.as_ref().ok()) else { continue };
        for entry in layer.classes.iter().filter(|entry| entry.template.is_none()) {
            let mut names = std::iter::once(&entry.lookup).chain(&entry.alternatives);
            let class = names.find(|name| by_name.file(FileKind::Class, name).is_some());
            let class = class.unwrap_or(&entry.lookup).clone();
            let place = Some((entry.origin.file, entry.origin.node));
            lists.entry((kind, name.clone())).or_default().insert((class.clone(), place));
            if seen.insert(class.clone()) {
                lists.entry((FileKind::Class, class.clone())).or_default();
                waiting.push((FileKind::Class, class));
            }
        }
    }
}

fn sets(computation: &Computation<'_>, file: &SurveyedFile, redaction: &Redaction) -> Vec<Leaf> {
    let Ok(layer) = &file.layer else { return Vec::new() };
    let prefixes = Prefixes::new(computation.settings);
    let mut found = Vec::new();
    leaves(&settled(&layer.parameters, &prefixes), &mut |path, slot, origin| {
        let value = brief(&redaction.written(path, &written(slot, &prefixes)));
        let site = crate::evaluate::site(computation.inputs, origin, None).map(|site| site.to_string());
        found.push((join_path(path, &computation.settings.delimiter), value, site));
    });
    found
}
