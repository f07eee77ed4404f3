//! The nodes and classes of one state of an inventory, for questions that are asked at each key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};

use reclass::Inventory;
use reclass::parts::engine::{IncludedBy, NodeRequest};
use reclass::parts::model::layer::absolute_names;
use reclass::parts::model::{CatalogEntry, ClassEntry, Layer, Template, visit};
use reclass::parts::storage::fs::display;
use reclass_analysis::survey::{Survey, SurveyedFile};
use reclass_base::path::join_path;
use reclass_base::pattern::PathPattern;
use reclass_base::settings::Settings;
use reclass_base::source::FileId;
use reclass_base::value::{Key, Text};

/// All nodes, classes and files.
#[derive(Clone, Default, Debug)]
pub struct InventoryNames {
    /// The names of the nodes, sorted.
    pub nodes: Vec<Text>,
    /// The classes by name.
    pub classes: BTreeMap<Text, ClassFacts>,
    /// The files by path.
    pub files: BTreeMap<Arc<str>, FileFacts>,
    /// For each node the positions in `files` of its layers in merge order, its own last.
    pub(super) layers: Vec<Vec<u32>>,
}

/// A class.
#[derive(Clone, Default, Debug)]
pub struct ClassFacts {
    /// Its file.
    pub path: Arc<str>,
    /// The paths of the files that list it: by its name, by a pattern, or by a reference that a node resolves to it.
    pub listed_by: Vec<Arc<str>>,
    /// The class mappings that name it, as written, with the paths of the nodes that they match.
    pub mapped_by: BTreeMap<Text, Vec<Arc<str>>>,
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
    /// What it sets; `None` if it has errors.
    pub(super) layer: Option<Arc<Layer>>,
    /// The indexes of the nodes that have the file.
    pub nodes: Vec<u32>,
    /// The classes of the entries with a pattern or a reference, by the absolute form of the entry.
    found: BTreeMap<Text, Vec<Text>>,
}

/// The first node that has a file, if it is found in time: for an inventory that was not checked yet.
pub fn search_node(inventory: &Inventory, path: &str, within: Duration) -> Option<Text> {
    let end = Instant::now() + within;
    let found = inventory.inspect(|computation| {
        let has_file = |item: &&Arc<CatalogEntry>| {
            display(item.path()) == path || {
                let layers = computation.layers(NodeRequest::plain(&item.name));
                let included =
                    layers.map(|layers| layers.linearization.include_chains().all()).unwrap_or_default();
                let path_of = |file| computation.inputs.files.path_of(file);
                included.iter().any(|included| path_of(included.file).is_some_and(|known| *known == *path))
            }
        };
        let nodes = computation.catalog.nodes.values();
        nodes.take_while(|_| Instant::now() < end).find(has_file).map(|item| item.name.clone())
    });
    found.ok().flatten()
}

impl InventoryNames {
    /// Collects everything.
    pub fn of_survey(survey: &Survey) -> InventoryNames {
        let mut names = InventoryNames {
            nodes: survey.nodes.iter().map(|node| node.name.clone()).collect(),
            ..InventoryNames::default()
        };
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        for file in &survey.files {
            let nodes = file.nodes.iter().map(|node| number(*node)).collect();
            let (name, is_class, init) = (file.name.clone(), file.is_class, file.init);
            let layer = file.layer.as_ref().ok().cloned();
            let facts = FileFacts { name, is_class, init, layer, nodes, found: BTreeMap::new() };
            names.files.insert(file.path.clone(), facts);
            if file.is_class {
                names.classes.entry(file.name.clone()).or_default().path = file.path.clone();
            }
        }
        let positions = names.files.values().enumerate();
        let positions = positions.filter_map(|(at, file)| Some((file.layer.as_ref()?.file, number(at))));
        let positions: FxHashMap<FileId, u32> = positions.collect();
        let layers = survey.nodes.iter().map(|node| {
            node.all_layers().filter_map(|layer| positions.get(&layer.file).copied()).collect::<Vec<u32>>()
        });
        names.layers = layers.collect();
        names.add_listings(survey);
        names
    }

    /// Adds which files and mappings lead to which classes.
    fn add_listings(&mut self, survey: &Survey) {
        let classes = survey.class_files();
        let (mut seen, mut patterns) = (FxHashSet::default(), FxHashMap::default());
        let mut by_reference: FxHashMap<(FileId, u32), (&SurveyedFile, &ClassEntry)> = FxHashMap::default();
        for (at, file) in survey.files.iter().enumerate() {
            for entry in file.layer.iter().flat_map(|layer| &layer.classes) {
                if entry.template.is_some() {
                    by_reference.insert((entry.origin.file, entry.origin.node), (file, entry));
                    continue;
                }
                // Many files may have the same pattern. No file is left out of its matches but its own.
                let named =
                    patterns.entry(&entry.lookup).or_insert_with(|| classes.named(entry, usize::MAX)).iter();
                for class in named.filter(|class| **class != at).filter_map(|class| survey.files.get(*class))
                {
                    self.add_listing(file, entry, &class.name, &mut seen);
                }
            }
        }
        for node in &survey.nodes {
            for listing in &node.listings {
                if let IncludedBy::Mapping(mapping) = &listing.by {
                    let Some(class) = self.classes.get_mut(&listing.class) else { continue };
                    let nodes = class.mapped_by.entry(mapping.clone()).or_default();
                    if nodes.last() != Some(&node.path) {
                        nodes.push(node.path.clone());
                    }
                } else if let Some((file, entry)) =
                    by_reference.get(&(listing.origin.file, listing.origin.node))
                {
                    self.add_listing(file, entry, &listing.class, &mut seen);
                }
            }
        }
    }

    /// Adds that an entry of a file leads to a class.
    fn add_listing<'s>(
        &mut self,
        file: &'s SurveyedFile,
        entry: &ClassEntry,
        name: &'s Text,
        seen: &mut FxHashSet<(&'s str, &'s Text)>,
    ) {
        let Some(class) = self.classes.get_mut(name) else { return };
        if seen.insert((&file.path, name)) {
            class.listed_by.push(file.path.clone());
        }
        let is_plain = entry.template.is_none() && !entry.wild;
        if let Some(file) = self.files.get_mut(&file.path).filter(|_| !is_plain) {
            let found = file.found.entry(entry.name.clone()).or_default();
            if !found.contains(name) {
                found.push(name.clone());
            }
        }
    }

    /// The first node that has a file.
    pub fn first_node(&self, path: &str) -> Option<&Text> {
        let first = self.files.get(path)?.nodes.first()?;
        self.nodes.get(*first as usize)
    }

    /// Whether a node has errors, so that nobody knows which files it has.
    pub fn has_errors(&self, node: &str) -> bool {
        let at = self.nodes.binary_search_by(|known| (**known).cmp(node));
        at.is_ok_and(|at| self.layers.get(at).is_none_or(Vec::is_empty))
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
        self.absolute(path, written).iter().find_map(|name| find(name))
    }

    /// The classes that an entry in a file leads to in any node: several for a pattern, or for a name with a reference.
    pub fn classes_of(&self, path: &str, written: &str) -> Vec<&Text> {
        if let Some(name) = self.class(path, written) {
            return vec![name];
        }
        let Some(file) = self.files.get(path) else { return Vec::new() };
        let names = self.absolute(path, written);
        names.iter().find_map(|name| file.found.get(&**name)).into_iter().flatten().collect()
    }

    /// The names that an entry in a file may mean, the first choice first: several for a relative one.
    pub fn absolute(&self, path: &str, written: &str) -> Vec<String> {
        let file = self.files.get(path).filter(|_| written.starts_with('.'));
        let Some(file) = file else { return vec![written.to_owned()] };
        let (first, others) = absolute_names(&file.name, file.init, written);
        [vec![first], others].concat()
    }

    /// The paths of the grains that references in other files read, if the setting `grains` permits them.
    pub fn grains_elsewhere(&self, file: &str, settings: &Settings) -> BTreeSet<String> {
        let patterns: Vec<PathPattern> =
            settings.grains.iter().map(|path| PathPattern::new(path, &settings.delimiter)).collect();
        // A path of the setting permits all paths below it.
        let permits = |pattern: &PathPattern, path: &[Text]| {
            let mut progress = pattern.start();
            path.iter().any(|key| {
                progress = pattern.step(&progress, &Key::from(key.clone()));
                pattern.is_match(&progress)
            })
        };
        let mut found = BTreeSet::new();
        let mut add = |template: &Template| {
            visit::references(&template.parts, &mut |reference| {
                let keys = reference.fixed.as_ref().and_then(|path| path.segments.split_first());
                if let Some((first, path)) = keys
                    && *first == settings.grains_key
                    && patterns.iter().any(|pattern| permits(pattern, path))
                {
                    let path: Vec<Key> = path.iter().cloned().map(Key::from).collect();
                    found.insert(join_path(&path, &settings.delimiter));
                }
            });
        };
        let others = self.files.iter().filter(|(path, _)| ***path != *file);
        for layer in others.filter_map(|(_, facts)| facts.layer.as_ref()) {
            layer.classes.iter().filter_map(|entry| entry.template.as_ref()).for_each(|one| add(one));
            layer.parameters.texts(&mut |_, template, _| add(template));
            layer.exports.texts(&mut |_, template, _| add(template));
        }
        found
    }
}
