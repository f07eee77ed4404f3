//! Names turn an inventory into its classes and applications, each with the nodes that have it.

use indexmap::IndexMap;
use serde::Serialize;

use super::nodes::LookedAt;
use super::{NodeFilter, Rows};
use crate::analysis::survey::Survey;
use crate::base::pattern::{Glob, chosen};
use crate::base::value::Text;
use crate::engine::Inventory;

/// A class or an application.
#[derive(Clone, Debug, Serialize)]
pub struct NameRow {
    /// The name.
    pub name: Text,
    /// The file of a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The nodes that have it, sorted.
    pub nodes: Vec<Text>,
    /// Whether these are all: a node whose classes cannot be ordered may have it too.
    pub complete: bool,
}

/// The classes that any of the globs choose, sorted, each with those of the nodes that a filter chooses;
/// those without a node too.
pub fn classes(inventory: &Inventory, globs: &[String], filter: &NodeFilter) -> Rows<NameRow> {
    let globs: Vec<Glob> = globs.iter().map(|text| Glob::new(text)).collect();
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let looked_at = LookedAt::of(computation, &survey, filter)?;
        let classes = survey.files.iter().filter(|file| file.is_class && chosen(&globs, &file.name));
        let name = |file: &crate::analysis::survey::SurveyedFile| NameRow {
            name: file.name.clone(),
            file: Some(file.path.to_string()),
            nodes: survey.names(&looked_at.users(file)),
            complete: looked_at.knows(file),
        };
        Ok(classes.map(name).collect())
    })?
}

/// The applications that any of the globs choose, sorted, each with those of the nodes that a filter
/// chooses.
pub fn applications(inventory: &Inventory, globs: &[String], filter: &NodeFilter) -> Rows<NameRow> {
    let globs: Vec<Glob> = globs.iter().map(|text| Glob::new(text)).collect();
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let looked_at = LookedAt::of(computation, &survey, filter)?;
        let mut all: IndexMap<Text, Vec<Text>> = IndexMap::new();
        for node in looked_at.nodes(&survey) {
            for application in node.applications() {
                if chosen(&globs, &application) {
                    all.entry(application).or_default().push(node.name.clone());
                }
            }
        }
        all.sort_unstable_keys();
        let complete = looked_at.nodes(&survey).all(|node| node.layers.is_ok());
        Ok(all.into_iter().map(|(name, nodes)| NameRow { name, file: None, nodes, complete }).collect())
    })?
}
