//! A survey turns an inventory into what is known of all of its nodes and files at once: which
//! classes a node has, and which nodes a file has a part in.
//!
//! It orders the layers of every node, as rendering does, and evaluates nothing. A node whose
//! layers cannot be ordered is in it with its problems.

mod reach;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::error::Error;
use crate::base::source::FileId;
use crate::base::value::{Text, Value};
use crate::engine::linearize::{IncludeChains, IncludedFile, ListedClass};
use crate::engine::node::{Computation, Layers, NodeRequest, applications};
use crate::model::catalog::CatalogEntry;
use crate::model::layer::Layer;

pub use reach::Reach;

/// One node.
#[derive(Debug)]
pub struct Surveyed {
    /// Its name.
    pub name: Text,
    /// Its file, as messages show it.
    pub path: Arc<str>,
    /// Its layers in order, or why there are none.
    pub layers: Result<Arc<Layers>, Error>,
    /// The files that came in, its own first.
    pub included: Vec<IncludedFile>,
    /// The entries of the lists of classes on the way.
    pub listings: Vec<ListedClass>,
}

impl Surveyed {
    /// The names of its classes, in the order in which they were met.
    pub fn classes(&self) -> impl Iterator<Item = &Text> {
        self.included.iter().skip(1).map(|included| &included.name)
    }

    /// Its files: its own, and those of its classes.
    pub fn files(&self) -> impl Iterator<Item = FileId> {
        self.included.iter().map(|included| included.file)
    }

    /// All its layers in the order in which they merge, its own last.
    pub fn all_layers(&self) -> impl Iterator<Item = &Arc<Layer>> {
        let layers = self.layers.as_ref().ok();
        layers.into_iter().flat_map(|layers| layers.all())
    }

    /// Its layers before that of a file.
    pub fn layers_before(&self, file: FileId) -> impl Iterator<Item = &Arc<Layer>> {
        self.all_layers().take_while(move |layer| layer.file != file)
    }

    /// Its applications.
    pub fn applications(&self) -> Vec<Text> {
        applications(self.all_layers().map(|layer| &layer.applications))
    }

    /// Its environment.
    pub fn environment(&self) -> Value {
        self.layers.as_ref().map_or(Value::Null, |layers| layers.environment.clone())
    }
}

/// One file.
#[derive(Debug)]
pub struct SurveyedFile {
    /// The name of the class or node.
    pub name: Text,
    /// Whether it is a class.
    pub is_class: bool,
    /// The path, as messages show it.
    pub path: Arc<str>,
    /// What it says, or why that cannot be read.
    pub layer: Result<Arc<Layer>, Error>,
    /// The nodes that it has a part in, by their index.
    pub nodes: Vec<usize>,
}

/// All nodes and files of one state of an inventory.
#[derive(Debug)]
pub struct Survey {
    /// All nodes, sorted by name.
    pub nodes: Vec<Surveyed>,
    /// All files, classes first, each sorted by name.
    pub files: Vec<SurveyedFile>,
    by_file: FxHashMap<FileId, usize>,
}

impl Survey {
    /// Looks at everything.
    pub fn of(computation: &Computation<'_>) -> Survey {
        let catalog = computation.catalog;
        let nodes: Vec<Surveyed> = catalog
            .nodes
            .values()
            .map(|item| {
                let layers = computation.layers(NodeRequest::plain(&item.name)).map(Arc::new);
                let chains = layers.as_ref().ok().map(|layers| layers.linearization.include_chains());
                Surveyed {
                    name: item.name.clone(),
                    path: shown(item),
                    included: chains.map_or_else(Vec::new, IncludeChains::all),
                    listings: chains.map_or_else(Vec::new, IncludeChains::listings),
                    layers,
                }
            })
            .collect();
        // Environments may share a branch.
        let mut seen = FxHashSet::default();
        let classes = catalog.classes().filter(|item| seen.insert(item.path()));
        let items = classes.chain(catalog.nodes.values());
        let mut files: Vec<SurveyedFile> = items.flat_map(|item| surveyed(computation, item)).collect();
        let number = |(index, file): (usize, &SurveyedFile)| Some((file.layer.as_ref().ok()?.file, index));
        let by_file: FxHashMap<FileId, usize> = files.iter().enumerate().filter_map(number).collect();
        for (index, node) in nodes.iter().enumerate() {
            for file in node.files() {
                if let Some(file) = by_file.get(&file).and_then(|at| files.get_mut(*at)) {
                    file.nodes.push(index);
                }
            }
        }
        Survey { nodes, files, by_file }
    }

    /// The file of a number.
    pub fn file(&self, file: FileId) -> Option<&SurveyedFile> {
        self.by_file.get(&file).and_then(|at| self.files.get(*at))
    }

    /// The nodes that a file has a part in.
    pub fn users(&self, file: &SurveyedFile) -> impl Iterator<Item = &Surveyed> {
        file.nodes.iter().filter_map(|at| self.nodes.get(*at))
    }

    /// The names of nodes.
    pub fn names(&self, nodes: &[usize]) -> Vec<Text> {
        nodes.iter().filter_map(|at| self.nodes.get(*at)).map(|node| node.name.clone()).collect()
    }
}

/// The file of a name, or all that it has: none of them counts then, whatever else is wrong with them.
fn surveyed(computation: &Computation<'_>, item: &CatalogEntry) -> Vec<SurveyedFile> {
    let clash = item.clash();
    let file = |item: CatalogEntry| {
        let layer = match (computation.read_untracked(&item), &clash) {
            (layer, None) => layer,
            (layer, Some(clash)) => {
                let own = layer.err().map_or_else(Vec::new, Error::into_faults);
                Err(Error::new([vec![clash.clone()], own].concat()))
            }
        };
        let path = shown(&item);
        SurveyedFile { name: item.name, is_class: item.is_class, path, layer, nodes: Vec::new() }
    };
    item.files().map(file).collect()
}

fn shown(item: &CatalogEntry) -> Arc<str> {
    crate::storage::fs::display(item.path()).into()
}
