//! Collects facts about all nodes and files of an inventory at once: the classes of each node, and the nodes
//! that each file contributes to.
//!
//! Every node is linearized as for rendering, but nothing is evaluated. A node that cannot be linearized is
//! included with its faults.

use std::collections::BTreeSet;
use std::convert::identity;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use reclass::Inventory;
use reclass::parts::engine::{Computation, IncludeChains, IncludedFile, Layers, ListedClass, NodeRequest};
use reclass::parts::model::{Applications, Catalog, CatalogEntry, ClassEntry, Layer};
use reclass_base::error::{Error, Fault, Result};
use reclass_base::pattern::{Glob, chosen};
use reclass_base::similar;
use reclass_base::source::FileId;
use reclass_base::value::{Text, Value};

/// One node.
#[derive(Debug)]
pub struct Surveyed {
    pub name: Text,
    /// Its file, as in messages.
    pub path: Arc<str>,
    /// Its layers in order, or the faults that prevent them.
    pub layers: Result<Arc<Layers>, Error>,
    /// The included files, its own first.
    pub included: Vec<IncludedFile>,
    /// The entries of all class lists that were read.
    pub listings: Vec<ListedClass>,
    /// The number of its kind: nodes of a kind have the same classes in the same order.
    pub kind: usize,
}

impl Surveyed {
    /// The names of its classes in include order.
    pub fn classes(&self) -> impl Iterator<Item = &Text> {
        self.included.iter().skip(1).map(|included| &included.name)
    }

    /// Its own file and the files of its classes.
    pub fn files(&self) -> impl Iterator<Item = FileId> {
        self.included.iter().map(|included| included.file)
    }

    /// All its layers in merge order, its own last.
    pub fn all_layers(&self) -> impl Iterator<Item = &Arc<Layer>> {
        let layers = self.layers.as_ref().ok();
        layers.into_iter().flat_map(|layers| layers.all())
    }

    /// Its layers before the layer of a file.
    pub fn layers_before(&self, file: FileId) -> impl Iterator<Item = &Arc<Layer>> {
        self.all_layers().take_while(move |layer| layer.file != file)
    }

    pub fn applications(&self) -> Vec<Text> {
        Applications::merged(self.all_layers().map(|layer| &layer.applications))
    }

    /// Whether it cannot be linearized. Then it does not render, and its classes are not known.
    pub fn is_broken(&self) -> bool {
        self.layers.is_err()
    }

    pub fn environment(&self) -> Value {
        self.layers.as_ref().map_or(Value::Null, |layers| layers.environment.clone())
    }
}

#[derive(Debug)]
pub struct SurveyedFile {
    /// The name of the class or node.
    pub name: Text,
    pub is_class: bool,
    /// Whether the file is an `init.yml`, the class of its folder.
    pub init: bool,
    /// The path, as in messages.
    pub path: Arc<str>,
    /// Its layer, or the faults that prevent reading it.
    pub layer: Result<Arc<Layer>, Error>,
    /// Indexes of the nodes that it contributes to.
    pub nodes: Vec<usize>,
    /// Indexes of the first such node of each kind. Nodes of a kind have the same classes in the same order, so
    /// what holds for the classes of one of them holds for all.
    pub kinds: Vec<usize>,
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
    /// Collects everything.
    pub fn of(computation: &Computation<'_>) -> Survey {
        let catalog = computation.catalog;
        let items: Vec<&Arc<CatalogEntry>> = catalog.nodes.values().collect();
        let read =
            |computation: &Computation<'_>, item: &&Arc<CatalogEntry>| surveyed_node(computation, item);
        let nodes = computation.context().each_node(&items, identity, read);
        let (nodes, first_of_kind) = with_kinds(nodes);
        // Several environments may use one branch.
        let mut visited = FxHashSet::default();
        let trees = computation.all_classes();
        let classes = trees.iter().flat_map(|names| names.values());
        let classes = classes.filter(|item| visited.insert(item.path()));
        let items = classes.chain(catalog.nodes.values());
        let mut files: Vec<SurveyedFile> = items.flat_map(|item| surveyed(computation, item)).collect();
        let number = |(index, file): (usize, &SurveyedFile)| Some((file.layer.as_ref().ok()?.file, index));
        let by_file: FxHashMap<FileId, usize> = files.iter().enumerate().filter_map(number).collect();
        for (index, node) in nodes.iter().enumerate() {
            let (is_first, mut own) = (first_of_kind.get(node.kind) == Some(&index), true);
            for file in node.files() {
                if let Some(file) = by_file.get(&file).and_then(|at| files.get_mut(*at)) {
                    file.nodes.push(index);
                    // Its own file comes first.
                    if is_first || own {
                        file.kinds.push(index);
                    }
                }
                own = false;
            }
        }
        Survey { nodes, files, by_file }
    }

    /// The file with this identifier.
    pub fn file(&self, file: FileId) -> Option<&SurveyedFile> {
        self.by_file.get(&file).and_then(|at| self.files.get(*at))
    }

    /// The class files by name, of several with one name the first. Which one a node would use is unknown.
    pub fn class_files(&self) -> ClassFiles<'_> {
        let mut classes = FxHashMap::default();
        for (at, file) in self.files.iter().enumerate().filter(|(_, file)| file.is_class) {
            classes.entry(&*file.name).or_insert(at);
        }
        ClassFiles(classes)
    }

    /// The nodes that a file contributes to.
    pub fn users(&self, file: &SurveyedFile) -> impl Iterator<Item = &Surveyed> {
        file.nodes.iter().filter_map(|at| self.nodes.get(*at))
    }

    /// The nodes that have a file, each with its classes. A file that no node has stands for itself.
    pub fn users_with_classes<'s>(
        &'s self,
        file: &'s SurveyedFile,
    ) -> impl Iterator<Item = (&'s str, Vec<&'s str>)> {
        let alone = || (if file.is_class { "" } else { &*file.name }, vec![&*file.name]);
        let users =
            self.users(file).map(|node| (&*node.name, node.classes().map(|class| &**class).collect()));
        users.chain(file.nodes.is_empty().then(alone))
    }

    /// The first node of each kind that a file contributes to. Their layers before this file are those of all
    /// users.
    pub fn kinds(&self, file: &SurveyedFile) -> impl Iterator<Item = &Surveyed> {
        file.kinds.iter().filter_map(|at| self.nodes.get(*at))
    }

    /// The names of the nodes with these indexes.
    pub fn names(&self, nodes: &[usize]) -> Vec<Text> {
        nodes.iter().filter_map(|at| self.nodes.get(*at)).map(|node| node.name.clone()).collect()
    }
}

/// The indexes of class files by name.
pub struct ClassFiles<'s>(FxHashMap<&'s str, usize>);

impl ClassFiles<'_> {
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.keys().copied()
    }

    /// The name of an entry without references that a class has: the first one, or one to try after it.
    pub fn existing<'e>(&self, entry: &'e ClassEntry) -> Option<&'e Text> {
        let mut names = std::iter::once(&entry.lookup).chain(&entry.alternatives);
        names.find(|name| self.0.contains_key(&***name))
    }

    /// The files of the classes that an entry without references names. A pattern names several, but not the file
    /// `own` that has the entry.
    pub fn named(&self, entry: &ClassEntry, own: usize) -> Vec<usize> {
        if let Some(class) = self.existing(entry).and_then(|name| self.0.get(&**name)) {
            return vec![*class];
        }
        let Some(pattern) = entry.pattern() else { return Vec::new() };
        let fitting = self.0.iter().filter(|(name, class)| **class != own && pattern.matches(name));
        let mut classes: Vec<usize> = fitting.map(|(_, class)| *class).collect();
        classes.sort_unstable();
        classes
    }
}

fn surveyed_node(computation: &Computation<'_>, item: &Arc<CatalogEntry>) -> Surveyed {
    let layers = computation.layers(NodeRequest::plain(&item.name)).map(Arc::new);
    let chains = layers.as_ref().ok().map(|layers| layers.linearization.include_chains());
    Surveyed {
        name: item.name.clone(),
        path: shown(item),
        included: chains.map_or_else(Vec::new, IncludeChains::all),
        listings: chains.map_or_else(Vec::new, IncludeChains::listings),
        layers,
        kind: 0,
    }
}

/// The nodes with the numbers of their kinds, and the index of the first node of each kind.
fn with_kinds(mut nodes: Vec<Surveyed>) -> (Vec<Surveyed>, Vec<usize>) {
    let mut kinds: FxHashMap<Vec<FileId>, usize> = FxHashMap::default();
    let mut first = Vec::new();
    for (index, node) in nodes.iter_mut().enumerate() {
        let layers = node.layers.iter().flat_map(|layers| layers.linearization.layers());
        let files = layers.map(|layer| layer.file).chain(node.files().skip(1));
        let next = kinds.len();
        let kind = *kinds.entry(files.collect()).or_insert(next);
        if kind == next {
            first.push(index);
        }
        node.kind = kind;
    }
    (nodes, first)
}

/// The file of a name, or all files that claim it. If several do, none of them counts, and the clash comes
/// before their other faults.
fn surveyed(computation: &Computation<'_>, item: &Arc<CatalogEntry>) -> Vec<SurveyedFile> {
    let clash = item.clash();
    let file = |item: Arc<CatalogEntry>| {
        let layer = match (computation.read_untracked(&item), &clash) {
            (layer, None) => layer,
            (layer, Some(clash)) => {
                let own = layer.err().map_or_else(Vec::new, Error::into_faults);
                Err(Error::new([vec![clash.clone()], own].concat()))
            }
        };
        let path = shown(&item);
        SurveyedFile {
            name: item.name.clone(),
            is_class: item.is_class,
            init: item.init,
            path,
            layer,
            nodes: Vec::new(),
            kinds: Vec::new(),
        }
    };
    item.files().map(file).collect()
}

fn shown(item: &CatalogEntry) -> Arc<str> {
    reclass::parts::storage::fs::display(item.path()).into()
}

/// The names of the nodes that match the globs, sorted. A glob without a match is an error.
pub fn chosen_nodes(catalog: &Catalog, globs: &[String]) -> Result<Vec<Text>> {
    let names = || catalog.nodes.keys();
    let globs = node_globs(names, globs)?;
    Ok(names().filter(|name| chosen(&globs, name)).cloned().collect())
}

/// The names of the nodes that people ask for, by name, short name or glob. One that matches nothing is an error.
pub fn names_of_nodes(inventory: &Inventory, globs: &[String]) -> Result<Vec<Text>> {
    inventory.inspect(|computation| chosen_nodes(computation.catalog, globs))?
}

/// The globs of nodes that people write. A short name, as `web1`, stands for the only node whose name begins
/// with `web1.`; there may be several states, and so the name several times. A glob without a match is an error.
pub fn node_globs<'n, N: Iterator<Item = &'n Text>>(
    names: impl Fn() -> N,
    globs: &[String],
) -> Result<Vec<Glob>> {
    let mut missing = Vec::new();
    let mut all = Vec::new();
    for text in globs {
        let glob = Glob::new(text);
        if names().any(|name| glob.matches(name)) {
            all.push(glob);
            continue;
        }
        let known: BTreeSet<&str> = names().map(AsRef::as_ref).collect();
        let mut longer = similar::longer(text, known.iter().copied());
        match (longer.next(), longer.next()) {
            (Some(name), None) => all.push(Glob::new(name)),
            _ => missing.push(Fault::new(similar::no_node(text, String::new(), known.iter().copied()))),
        }
    }
    if missing.is_empty() { Ok(all) } else { Err(Error::new(missing)) }
}
