//! The nodes and classes of one state of an inventory, for questions that are asked at each key.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::survey::Survey;
use crate::base::value::Text;
use crate::model::layer::absolute_names;

/// All nodes, classes and files.
#[derive(Clone, Default, Debug)]
pub struct InventoryNames {
    /// The names of the nodes, sorted.
    pub nodes: Vec<Text>,
    /// The classes by name.
    pub classes: BTreeMap<Text, ClassFacts>,
    /// The files by path.
    pub files: BTreeMap<Arc<str>, FileFacts>,
}

/// A class.
#[derive(Clone, Default, Debug)]
pub struct ClassFacts {
    /// Its file.
    pub path: Arc<str>,
    /// The paths of the files that list it by its name.
    pub listed_by: Vec<Arc<str>>,
}

/// The file of a node or class.
#[derive(Clone, Debug)]
pub struct FileFacts {
    /// The name of the node or class.
    pub name: Text,
    /// Whether it is a class.
    pub is_class: bool,
    /// Whether it is an `init.yml`, the class of its folder.
    init: bool,
    /// The indexes of the nodes that have the file.
    pub nodes: Vec<u32>,
}

impl InventoryNames {
    /// Collects everything.
    pub(crate) fn of_survey(survey: &Survey) -> InventoryNames {
        let mut names = InventoryNames {
            nodes: survey.nodes.iter().map(|node| node.name.clone()).collect(),
            ..InventoryNames::default()
        };
        for file in &survey.files {
            let number = |node: &usize| u32::try_from(*node).unwrap_or(u32::MAX);
            let nodes = file.nodes.iter().map(number).collect();
            let (name, is_class, init) = (file.name.clone(), file.is_class, file.init);
            let facts = FileFacts { name, is_class, init, nodes };
            names.files.insert(file.path.clone(), facts);
            if file.is_class {
                names.classes.entry(file.name.clone()).or_default().path = file.path.clone();
            }
        }
        let classes = survey.class_files();
        for file in &survey.files {
            let Ok(layer) = &file.layer else { continue };
            for entry in &layer.classes {
                if let Some(name) = classes.existing(entry)
                    && let Some(class) = names.classes.get_mut(name)
                    // A file may list a class twice.
                    && class.listed_by.last() != Some(&file.path)
                {
                    class.listed_by.push(file.path.clone());
                }
            }
        }
        names
    }

    /// The first node that has a file.
    pub fn first_node(&self, path: &str) -> Option<&Text> {
        let first = self.files.get(path)?.nodes.first()?;
        self.nodes.get(*first as usize)
    }

    /// The nodes that have a file.
    pub fn nodes_of<'o>(&'o self, path: &str) -> impl Iterator<Item = &'o Text> {
        let file = self.files.get(path);
        file.into_iter().flat_map(|file| &file.nodes).filter_map(|node| self.nodes.get(*node as usize))
    }

    /// The class that an entry in a file names, if it needs no reference and no pattern.
    pub fn class(&self, path: &str, written: &str) -> Option<&Text> {
        let find = |name: &str| self.classes.get_key_value(name).map(|(name, _)| name);
        if !written.starts_with('.') {
            return find(written);
        }
        let file = self.files.get(path)?;
        let (first, others) = absolute_names(&file.name, file.init, written);
        find(&first).or_else(|| others.iter().find_map(|name| find(name)))
    }
}
