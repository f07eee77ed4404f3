//! Names turn an inventory into its classes and applications, each with the nodes that have it.

use indexmap::IndexMap;

use super::{Rows, row, texts};
use crate::engine::Inventory;
use crate::pattern::{Glob, chosen};
use crate::survey::{Reach, Survey};
use crate::value::{Text, Value};

/// A class or an application.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub name: Text,
    /// The file of a class.
    pub file: Option<String>,
    /// The nodes that have it, sorted.
    pub nodes: Vec<Text>,
    /// Whether these are all: a node whose classes cannot be ordered may have it too.
    pub complete: bool,
}

impl Name {
    /// The row as plain data.
    pub fn to_value(&self) -> Value {
        let file = self.file.as_ref().map(|file| ("file", Value::text(file.as_str())));
        let name = [("name", Value::Str(self.name.clone()))];
        row(name
            .into_iter()
            .chain(file)
            .chain([("nodes", texts(&self.nodes)), ("complete", Value::Bool(self.complete))]))
    }
}

/// The classes that any of the globs choose, sorted, those without a node too.
pub fn classes(inventory: &Inventory, globs: &[String]) -> Rows<Name> {
    let globs: Vec<Glob> = globs.iter().map(|text| Glob::new(text)).collect();
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let reach = Reach::of(computation, &survey, survey.nodes.iter());
        let classes = survey.files.iter().filter(|file| file.is_class && chosen(&globs, &file.name));
        let name = |file: &crate::survey::SurveyedFile| Name {
            name: file.name.clone(),
            file: Some(file.path.to_string()),
            nodes: survey.names(&file.nodes),
            complete: reach.knows(file),
        };
        classes.map(name).collect()
    })
}

/// The applications that any of the globs choose, sorted.
pub fn applications(inventory: &Inventory, globs: &[String]) -> Rows<Name> {
    let globs: Vec<Glob> = globs.iter().map(|text| Glob::new(text)).collect();
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let mut all: IndexMap<Text, Vec<Text>> = IndexMap::new();
        for node in &survey.nodes {
            for application in node.applications() {
                if chosen(&globs, &application) {
                    all.entry(application).or_default().push(node.name.clone());
                }
            }
        }
        all.sort_unstable_keys();
        let complete = survey.nodes.iter().all(|node| node.layers.is_ok());
        all.into_iter().map(|(name, nodes)| Name { name, file: None, nodes, complete }).collect()
    })
}
