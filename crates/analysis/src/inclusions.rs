//! Who includes whom: the files of nodes and classes, with the entries of their lists.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::survey::{ClassFiles, Survey, Surveyed, SurveyedFile, chosen_nodes};
use reclass::Inventory;
use reclass::parts::engine::IncludedBy;
use reclass::parts::model::Layer;
use reclass_base::error::Result;
use reclass_base::source::{FileId, Origin};
use reclass_base::value::Text;

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FileKind {
    /// The file of a node.
    Node,
    /// The file of a class.
    Class,
}

/// A file of the graph: a node or a class.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// Its name.
    pub name: Text,
    /// Node or class.
    pub kind: FileKind,
    /// Its file; `None` for a missing class that is ignored.
    pub file: Option<String>,
    /// The classes that it lists, with the origin of each entry.
    pub lists: Vec<(Text, Origin)>,
    /// The class mappings that give a node classes: pairs of mapping and class, each once.
    pub mapped: Vec<(Text, Text)>,
}

/// The files of nodes and classes, and the list entries between them, nodes first and each sorted by name.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The files.
    pub files: Vec<Vertex>,
}

impl Graph {
    /// The graph of all nodes and all classes, those that no node uses included.
    pub(crate) fn of_all(survey: &Survey) -> Graph {
        of_nodes(survey, &survey.nodes.iter().collect::<Vec<_>>(), true)
    }
}

/// The graph of the nodes that match the globs.
pub fn graph(inventory: &Inventory, globs: &[String]) -> Result<Graph> {
    inventory.inspect(|computation| {
        let names = chosen_nodes(computation.catalog, globs)?;
        let survey = Survey::of(computation);
        Ok(of_nodes(&survey, &chosen(&survey, &names), false))
    })?
}

/// The nodes of a survey that have one of these sorted names.
pub fn chosen<'s>(survey: &'s Survey, names: &[Text]) -> Vec<&'s Surveyed> {
    survey.nodes.iter().filter(|node| names.binary_search(&node.name).is_ok()).collect()
}

/// A listed class and the place of its entry: the file and the index of the YAML node.
type PlacedClass = (Text, (FileId, u32));

/// The list entries of files.
type Lists = IndexMap<(FileKind, Text), IndexSet<PlacedClass>>;

/// The graph of these nodes; with the classes that no node uses, if `unused`.
pub fn of_nodes(survey: &Survey, chosen: &[&Surveyed], unused: bool) -> Graph {
    let mut lists = Lists::new();
    let mut mapped: FxHashMap<&Text, IndexSet<(Text, Text)>> = FxHashMap::default();
    for node in chosen {
        lists.entry((FileKind::Node, node.name.clone())).or_default();
    }
    for node in chosen {
        for included in node.included.iter().skip(1) {
            lists.entry((FileKind::Class, included.name.clone())).or_default();
        }
        for listed in &node.listings {
            if let IncludedBy::Mapping(mapping) = &listed.by {
                mapped.entry(&node.name).or_default().insert((mapping.clone(), listed.class.clone()));
            }
            let IncludedBy::Includer(index) = listed.by else {
                lists.entry((FileKind::Class, listed.class.clone())).or_default();
                continue;
            };
            let Some(by) = node.included.get(index) else { continue };
            let kind = if index > 0 { FileKind::Class } else { FileKind::Node };
            let entry = lists.entry((kind, by.name.clone())).or_default();
            entry.insert((listed.class.clone(), (listed.origin.file, listed.origin.node)));
        }
    }
    let classes = survey.class_files();
    let broken = chosen.iter().filter(|node| node.is_broken());
    let mut broken: FxHashSet<&Text> = broken.map(|node| &node.name).collect();
    for (at, file) in survey.files.iter().enumerate() {
        if file.is_class && unused && file.nodes.is_empty() {
            lists.entry((FileKind::Class, file.name.clone())).or_default();
            listed_in_files(survey, &classes, at, &mut lists);
        } else if !file.is_class && broken.remove(&file.name) {
            listed_in_files(survey, &classes, at, &mut lists);
        }
    }
    let by_name = ByName::of(survey);
    // Missing classes that are ignored.
    let missing: Vec<Text> = lists.values().flatten().map(|(class, _)| class.clone()).collect();
    for class in missing {
        lists.entry((FileKind::Class, class)).or_default();
    }
    let vertex = |((kind, name), entries): ((FileKind, Text), IndexSet<PlacedClass>)| Vertex {
        file: by_name.file(kind, &name).map(|file| file.path.to_string()),
        lists: entries.into_iter().map(|(class, (file, node))| (class, Origin { file, node })).collect(),
        mapped: match kind {
            FileKind::Node => mapped.remove(&name).into_iter().flatten().collect(),
            FileKind::Class => Vec::new(),
        },
        kind,
        name,
    };
    let mut files: Vec<Vertex> = lists.into_iter().map(vertex).collect();
    files.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    Graph { files }
}

/// The files of a survey by kind and name. Of several files with one name, the first one counts.
pub struct ByName<'s>(FxHashMap<(FileKind, &'s str), &'s SurveyedFile>);

impl<'s> ByName<'s> {
    pub fn of(survey: &'s Survey) -> ByName<'s> {
        let mut files = FxHashMap::default();
        for file in &survey.files {
            let kind = if file.is_class { FileKind::Class } else { FileKind::Node };
            files.entry((kind, &*file.name)).or_insert(file);
        }
        ByName(files)
    }

    pub fn file(&self, kind: FileKind, name: &str) -> Option<&'s SurveyedFile> {
        self.0.get(&(kind, name)).copied()
    }

    /// The layer of a file that can be read.
    pub fn layer(&self, file: &Vertex) -> Option<&'s Arc<Layer>> {
        self.file(file.kind, &file.name)?.layer.as_ref().ok()
    }
}

/// The list entries in a file that no linearization covers, and in the files of the classes in it, recursively.
/// Names with references are skipped, because they cannot be resolved.
fn listed_in_files(survey: &Survey, classes: &ClassFiles<'_>, first: usize, lists: &mut Lists) {
    let mut waiting = vec![first];
    let mut seen = FxHashSet::default();
    while let Some(at) = waiting.pop() {
        let Some(SurveyedFile { is_class, name, layer: Ok(layer), .. }) = survey.files.get(at) else {
            continue;
        };
        let kind = if *is_class { FileKind::Class } else { FileKind::Node };
        for entry in layer.classes.iter().filter(|entry| entry.template.is_none()) {
            let found = classes.named(entry, at);
            let missing = found.is_empty().then_some(&entry.lookup);
            for class in found.iter().map(|class| &survey.files[*class].name).chain(missing) {
                let place = (entry.origin.file, entry.origin.node);
                lists.entry((kind, name.clone())).or_default().insert((class.clone(), place));
                lists.entry((FileKind::Class, class.clone())).or_default();
            }
            waiting.extend(found.into_iter().filter(|class| seen.insert(*class)));
        }
    }
}
