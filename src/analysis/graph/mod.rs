//! Graphs turn nodes and what they include into a picture: DOT, Mermaid, or a page that a person
//! can search and click through.

mod page;
mod picture;

use indexmap::{IndexMap, IndexSet};

use crate::analysis::explain::{Selection, ValuePart, chosen_nodes, explain_in};
use crate::analysis::list::leaves;
use crate::analysis::survey::{Survey, Surveyed};
use crate::base::error::Result;
use crate::base::source::{FileId, Origin, Site};
use crate::base::value::{Text, Value};
use crate::engine::Inventory;
use crate::engine::linearize::IncludedBy;
use crate::engine::node::{Computation, NodeRequest};
use crate::model::merge::{Prefixes, settled};
use crate::output::redact::Redaction;

pub use page::html;
pub use picture::{dot, mermaid};

/// One value with its place.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The path, as references write it.
    pub path: String,
    /// The value, secrets masked; in a file as it is written there. `None` where it has a problem.
    pub value: Option<Value>,
    /// Where it stands; `None` for what no file wrote.
    pub site: Option<Site>,
}

/// A file of the graph: a node or a class.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// Its name.
    pub name: Text,
    /// Whether it is a class.
    pub is_class: bool,
    /// Its file; `None` for a class that is missing and may be.
    pub file: Option<String>,
    /// What it lists, with the place of each entry.
    pub lists: Vec<(Text, Option<Site>)>,
    /// What the file sets.
    pub sets: Vec<Leaf>,
}

/// A node with what it comes to.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// Its name.
    pub name: Text,
    /// Its environment.
    pub environment: Value,
    /// Its applications.
    pub applications: Vec<Text>,
    /// Its classes, in the order in which they merge.
    pub classes: Vec<Text>,
    /// The class mappings that give it classes: mapping and class, each pair once.
    pub mapped: IndexSet<(Text, Text)>,
    /// Its values, where they were asked for.
    pub values: Option<Vec<Leaf>>,
    /// Why it does not render, one line each.
    pub problems: Vec<String>,
}

/// Nodes, classes, and who lists whom.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The nodes, sorted.
    pub nodes: Vec<Rendered>,
    /// The files of all of them, nodes first.
    pub vertices: Vec<Vertex>,
}

/// Up to this many nodes, each has its rendered values in the graph.
pub const WITH_VALUES: usize = 20;

/// The graph of the nodes that globs choose.
pub fn graph(inventory: &Inventory, globs: &[String], redaction: &Redaction) -> Result<Graph> {
    inventory.inspect(|computation| {
        let names = chosen_nodes(computation.catalog, globs)?;
        let survey = Survey::of(computation);
        let chosen: Vec<&Surveyed> =
            survey.nodes.iter().filter(|node| names.binary_search(&node.name).is_ok()).collect();
        let with_values = chosen.len() <= WITH_VALUES;
        let nodes = chosen.iter().map(|node| rendered(computation, node, with_values, redaction));
        let nodes: Vec<Rendered> = nodes.collect();
        Ok(Graph { vertices: vertices(computation, &survey, &chosen, redaction), nodes })
    })?
}

fn rendered(
    computation: &Computation<'_>,
    node: &Surveyed,
    with_values: bool,
    redaction: &Redaction,
) -> Rendered {
    let files: IndexMap<FileId, &Text> =
        node.included.iter().map(|included| (included.file, &included.name)).collect();
    let layers = node.all_layers().filter_map(|layer| files.get(&layer.file).copied());
    let mapped = node.listings.iter().filter_map(|listed| match &listed.by {
        IncludedBy::Mapping(mapping) => Some((mapping.clone(), listed.class.clone())),
        IncludedBy::Node | IncludedBy::Includer(_) => None,
    });
    let mut problems: Vec<String> = match &node.layers {
        Ok(_) => Vec::new(),
        Err(error) => crate::base::error::concise(error).lines().map(str::to_owned).collect(),
    };
    let values = node.layers.as_ref().ok().filter(|_| with_values).and_then(|layers| {
        let values = Selection { values: true, redaction: redaction.clone(), ..Selection::default() };
        let explanation = match explain_in(computation, layers, &values) {
            Ok(explanation) => explanation,
            Err(error) => {
                problems.extend(crate::base::error::concise(&error).lines().map(str::to_owned));
                return None;
            }
        };
        if !explanation.faults.is_empty()
            && let Err(error) = computation.answer(NodeRequest::plain(&node.name))
        {
            problems.extend(crate::base::error::concise(&error).lines().map(str::to_owned));
        }
        let delimiter = &computation.settings.delimiter;
        let leaf = |part: &ValuePart| Leaf {
            path: crate::base::path::join_path(&part.path, delimiter),
            value: part.value.as_ref().map(|value| redaction.value(&part.path, value)),
            site: part.place.site.clone(),
        };
        Some(explanation.parameters.iter().flat_map(|story| &story.parts).map(leaf).collect())
    });
    let mut classes: Vec<Text> = layers.cloned().collect();
    classes.pop();
    Rendered {
        name: node.name.clone(),
        environment: node.environment(),
        applications: node.applications(),
        classes,
        mapped: mapped.collect(),
        values,
        problems,
    }
}

/// A class in a list, and where it stands: the file and the number of its node.
type Entry = (Text, Option<(FileId, u32)>);

fn vertices(
    computation: &Computation<'_>,
    survey: &Survey,
    chosen: &[&Surveyed],
    redaction: &Redaction,
) -> Vec<Vertex> {
    let mut lists: IndexMap<(bool, Text), IndexSet<Entry>> = IndexMap::new();
    for node in chosen {
        lists.entry((false, node.name.clone())).or_default();
    }
    for node in chosen {
        for included in node.included.iter().skip(1) {
            lists.entry((true, included.name.clone())).or_default();
        }
        for listed in &node.listings {
            let IncludedBy::Includer(index) = listed.by else {
                lists.entry((true, listed.class.clone())).or_default();
                continue;
            };
            let Some(by) = node.included.get(index) else { continue };
            let place = (listed.origin != Origin::NONE).then_some((listed.origin.file, listed.origin.node));
            let entry = lists.entry((index > 0, by.name.clone())).or_default();
            entry.insert((listed.class.clone(), place));
        }
    }
    for node in chosen.iter().filter(|node| node.layers.is_err()) {
        listed_in_files(survey, node, &mut lists);
    }
    // Classes that are missing, and may be.
    let missing: Vec<Text> = lists.values().flatten().map(|(class, _)| class.clone()).collect();
    for class in missing {
        lists.entry((true, class)).or_default();
    }
    let site = |place: Option<(FileId, u32)>| {
        let (file, node) = place?;
        crate::evaluate::site(computation.inputs, Origin { file, node }, None)
    };
    let mut vertices: Vec<Vertex> = lists
        .into_iter()
        .map(|((is_class, name), entries)| {
            let file = survey.files.iter().find(|file| file.is_class == is_class && file.name == name);
            Vertex {
                sets: file.map_or_else(Vec::new, |file| sets(computation, file, redaction)),
                file: file.map(|file| file.path.to_string()),
                lists: entries.into_iter().map(|(class, place)| (class, site(place))).collect(),
                is_class,
                name,
            }
        })
        .collect();
    vertices.sort_by(|a, b| (a.is_class, &a.name).cmp(&(b.is_class, &b.name)));
    vertices
}

/// What the files of a node list whose layers cannot be ordered: its own, and those of the classes that
/// they name. A name with references in it comes to nothing then.
fn listed_in_files(survey: &Survey, node: &Surveyed, lists: &mut IndexMap<(bool, Text), IndexSet<Entry>>) {
    let file = |is_class: bool, name: &Text| {
        survey.files.iter().find(|file| file.is_class == is_class && file.name == *name)
    };
    let mut waiting = vec![(false, node.name.clone())];
    let mut seen = IndexSet::new();
    while let Some((is_class, name)) = waiting.pop() {
        let Some(layer) = file(is_class, &name).and_then(|file| file.layer.as_ref().ok()) else { continue };
        for entry in layer.classes.iter().filter(|entry| entry.template.is_none()) {
            let mut names = std::iter::once(&entry.lookup).chain(&entry.alternatives);
            let class = names.find(|name| file(true, name).is_some()).unwrap_or(&entry.lookup).clone();
            let place = Some((entry.origin.file, entry.origin.node));
            lists.entry((is_class, name.clone())).or_default().insert((class.clone(), place));
            if seen.insert(class.clone()) {
                lists.entry((true, class.clone())).or_default();
                waiting.push((true, class));
            }
        }
    }
}

fn sets(
    computation: &Computation<'_>,
    file: &crate::analysis::survey::SurveyedFile,
    redaction: &Redaction,
) -> Vec<Leaf> {
    let Ok(layer) = &file.layer else { return Vec::new() };
    let prefixes = Prefixes::new(computation.settings);
    let mut found = Vec::new();
    leaves(&settled(&layer.parameters, &prefixes), &mut |path, slot, origin| {
        found.push(Leaf {
            path: crate::base::path::join_path(path, &computation.settings.delimiter),
            value: Some(redaction.written(path, &crate::analysis::explain::written(slot, &prefixes))),
            site: crate::evaluate::site(computation.inputs, origin, None),
        });
    });
    found
}
