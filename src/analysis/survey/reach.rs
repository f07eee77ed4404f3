//! Computes the files that broken nodes may use: nodes that cannot be linearized. The users of such a file
//! are not fully known.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::pattern::Glob;
use crate::base::value::Text;
use crate::engine::context::Computation;
use crate::model::layer::Layer;
use crate::model::template::{self, Parsed, Template};

use super::{Survey, Surveyed, SurveyedFile};

/// The files that nodes without layers may use.
#[derive(Debug, Default)]
pub struct Reach {
    paths: FxHashSet<Arc<str>>,
    unreadable: Option<Arc<str>>,
}

/// Indexes of the files of a survey: classes by name, files of nodes by path.
#[derive(Debug)]
pub struct FileNames<'s> {
    classes: FxHashMap<&'s str, Vec<usize>>,
    own: FxHashMap<&'s str, usize>,
}

impl<'s> FileNames<'s> {
    /// The files of a survey.
    pub fn of(survey: &'s Survey) -> FileNames<'s> {
        let mut classes: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        let mut own: FxHashMap<&str, usize> = FxHashMap::default();
        for (at, file) in survey.files.iter().enumerate() {
            if file.is_class {
                classes.entry(&*file.name).or_default().push(at);
            } else {
                own.insert(&*file.path, at);
            }
        }
        FileNames { classes, own }
    }
}

impl Reach {
    /// The files of those nodes that have no layers: their own files, and the files of the classes in them,
    /// recursively. A reference in a class name matches anything.
    pub fn of<'s>(
        computation: &Computation<'_>,
        survey: &'s Survey,
        nodes: impl Iterator<Item = &'s Surveyed>,
    ) -> Reach {
        let mut broken = nodes.filter(|node| node.layers.is_err()).peekable();
        if broken.peek().is_none() {
            return Reach::default();
        }
        Reach::of_broken(computation, survey, &FileNames::of(survey), broken)
    }

    /// The same for nodes without layers.
    pub fn of_broken<'s>(
        computation: &Computation<'_>,
        survey: &'s Survey,
        names: &FileNames<'s>,
        broken: impl Iterator<Item = &'s Surveyed>,
    ) -> Reach {
        let mut reach = Reach::default();
        let FileNames { classes, own } = names;
        let mut waiting: Vec<usize> = Vec::new();
        for node in broken {
            waiting.extend(own.get(&*node.path));
            let item = computation.catalog.nodes.get(&node.name);
            for mapped in item.and_then(|item| computation.mapped_classes(item).ok()).unwrap_or_default() {
                let pattern = match template::parse(&mapped.class, computation.settings) {
                    _ if mapped.literal => None,
                    Ok(Parsed::Template(template)) => Some(Glob::new(&template::glob(&template.parts))),
                    _ => computation.settings.class_wildcards.then(|| Glob::new(&mapped.class)),
                };
                let names = std::iter::once(&mapped.class).chain(&mapped.alternative);
                called(names, pattern, survey, classes, &mut waiting);
            }
        }
        while let Some(file) = waiting.pop().and_then(|at| survey.files.get(at)) {
            if !reach.paths.insert(file.path.clone()) {
                continue;
            }
            match &file.layer {
                Ok(layer) => named(layer, survey, classes, &mut waiting),
                Err(_) => reach.unreadable = reach.unreadable.or(Some(file.path.clone())),
            }
        }
        reach
    }

    /// Whether one of the nodes may use the file.
    pub fn holds(&self, path: &Arc<str>) -> bool {
        self.paths.contains(path)
    }

    /// Whether one of the nodes may use one of these files.
    pub fn meets(&self, paths: &FxHashSet<&str>) -> bool {
        !paths.is_empty()
            && (self.unreadable.is_some() || self.paths.iter().any(|path| paths.contains(&**path)))
    }

    /// Whether all users of a file are known.
    pub fn knows(&self, file: &SurveyedFile) -> bool {
        self.unreadable.is_none() && !self.holds(&file.path)
    }

    /// An unreadable file that one of the nodes uses. Such a node may use any file.
    pub fn unreadable(&self) -> Option<&Arc<str>> {
        self.unreadable.as_ref()
    }
}

/// Indexes of the classes that a layer names.
fn named(layer: &Layer, survey: &Survey, classes: &FxHashMap<&str, Vec<usize>>, out: &mut Vec<usize>) {
    for entry in &layer.classes {
        let names = std::iter::once(&entry.lookup).chain(&entry.alternatives);
        let of_template = |template: &Arc<Template>| Glob::new(&template::glob(&template.parts));
        let pattern = entry.template.as_ref().map(of_template).or_else(|| entry.pattern());
        called(names, pattern, survey, classes, out);
    }
}

/// Indexes of the classes with one of these names, and of those that match the pattern.
fn called<'n>(
    mut names: impl Iterator<Item = &'n Text>,
    pattern: Option<Glob>,
    survey: &Survey,
    classes: &FxHashMap<&str, Vec<usize>>,
    out: &mut Vec<usize>,
) {
    match pattern {
        None => out.extend(names.by_ref().filter_map(|name| classes.get(&**name)).flatten()),
        Some(pattern) => {
            let files = survey.files.iter().enumerate();
            let matching = files.filter(|(_, file)| file.is_class && pattern.matches(&file.name));
            out.extend(matching.map(|(at, _)| at));
        }
    }
}
