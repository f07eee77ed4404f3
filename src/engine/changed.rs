//! What no longer is as it was when something was computed from it, and its name for people.

use std::sync::Arc;

use crate::engine::class_names::ClassName;
use crate::engine::context::Computation;
use crate::engine::files::Dependencies;
use crate::engine::sequence::Sequence;
use crate::model::catalog::{Catalog, CatalogEntry, TreeId};
use crate::storage::fs::display;
use reclass_base::source::FileId;
use reclass_base::value::Text;

/// A dependency that does not hold.
#[derive(Debug)]
pub enum Changed {
    /// The bytes of a file.
    File(FileId),
    /// The files that a class name leads to.
    Class(Arc<ClassName>),
    /// The names in a tree of classes.
    Classes(TreeId),
    /// The file of a node, or what the node exports.
    Node(Arc<CatalogEntry>),
    /// The names of the nodes.
    Nodes,
}

impl Changed {
    /// The difference of two catalogs, as far as one node is it.
    pub fn between(before: &Catalog, now: &Catalog) -> Changed {
        let differs = |one: &Catalog, other: &Catalog| {
            one.nodes.values().find(|item| other.nodes.get(&item.name) != Some(item)).cloned()
        };
        differs(before, now).or_else(|| differs(now, before)).map_or(Changed::Nodes, Changed::Node)
    }
}

impl Computation<'_> {
    /// The first dependency that does not hold.
    pub fn changed(&self, dependencies: &Dependencies) -> Option<Changed> {
        let (inputs, catalog) = (self.inputs, self.catalog);
        let matching_as_before = |(tree, pattern, before): &&(TreeId, Text, Arc<[Text]>)| {
            inputs.matching(catalog, *tree, pattern).is_ok_and(|now| now == *before)
        };
        let class = dependencies.classes.iter().find(|name| !inputs.still_leads(catalog, name));
        let pattern = || dependencies.patterns.iter().find(|pattern| !matching_as_before(pattern));
        let file =
            || dependencies.files.iter().find(|(file, version)| !inputs.is_current(*file, *version, catalog));
        class
            .map(|name| Changed::Class(name.clone()))
            .or_else(|| pattern().map(|(tree, ..)| Changed::Classes(*tree)))
            .or_else(|| file().map(|(file, _)| Changed::File(*file)))
    }

    /// The first dependency of a node and its classes that does not hold. An error has no classes: all its
    /// dependencies are recorded for the node.
    pub fn changed_inputs(&self, dependencies: &Dependencies, classes: Option<&Sequence>) -> Option<Changed> {
        let changed = |dependencies: &Dependencies| self.changed(dependencies);
        changed(dependencies).or_else(|| classes?.changed(self.generation, changed))
    }

    /// Whether the dependencies of a node and those of its classes are unchanged.
    pub fn inputs_hold(&self, dependencies: &Dependencies, classes: Option<&Sequence>) -> bool {
        self.changed_inputs(dependencies, classes).is_none()
    }

    /// The file or folder that changed.
    pub fn path_of(&self, changed: &Changed) -> String {
        let file = |item: &CatalogEntry| display(item.path());
        match changed {
            Changed::File(file) => self.inputs.files.path_of(*file).map(|path| path.to_string()),
            Changed::Node(item) => Some(file(item)),
            Changed::Class(name) => {
                let now = self.inputs.class(self.catalog, name.tree, &name.name);
                let found = [&now, name].into_iter().find_map(|name| name.found.as_ref().ok()?.as_deref());
                found.map(file).or_else(|| Some(self.inputs.trees.display_name(self.catalog, name.tree)))
            }
            Changed::Classes(tree) => Some(self.inputs.trees.display_name(self.catalog, *tree)),
            Changed::Nodes => None,
        }
        .unwrap_or_else(|| self.inputs.node_location())
    }
}
