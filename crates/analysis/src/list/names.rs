//! Lists classes and applications, each with its nodes.

use indexmap::IndexMap;
use serde::Serialize;

use super::nodes::{ListedRows, NodeFilter, Rows, SelectedNodes};
use crate::survey::{Survey, SurveyedFile};
use reclass::Inventory;
use reclass_base::error::{Fault, Kind};
use reclass_base::pattern::{Glob, chosen};
use reclass_base::value::Text;

/// A class or an application.
#[derive(Clone, Debug, Serialize)]
pub struct NameRow {
    /// The name.
    pub name: Text,
    /// The file of a class, or of a node in [`empty_files`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The nodes that have it, sorted.
    pub nodes: Vec<Text>,
}

/// The classes that match any of the globs, sorted, each with its nodes that pass the filter. Classes without
/// a node are included. With `unused`, only these: then a node whose classes are not known is an error, because
/// people delete what nobody uses.
pub fn classes(inventory: &Inventory, globs: &[String], filter: &NodeFilter, unused: bool) -> Rows<NameRow> {
    let globs: Vec<Glob> = globs.iter().map(|text| Glob::new(text)).collect();
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let selected = SelectedNodes::of(computation, &survey, filter)?;
        if let Some(error) = survey.nodes.iter().find_map(|node| node.layers.as_ref().err())
            && unused
            && selected.left_out > 0
        {
            return Err(error.clone());
        }
        let classes = survey.files.iter().filter(|file| file.is_class && chosen(&globs, &file.name));
        let name = |file: &SurveyedFile| NameRow {
            name: file.name.clone(),
            file: Some(file.path.to_string()),
            nodes: survey.names(&selected.users(file)),
        };
        let mut rows: Vec<NameRow> = classes.map(name).collect();
        rows.retain(|row| !unused || row.nodes.is_empty());
        Ok(ListedRows { rows, left_out: selected.left_out })
    })?
}

/// The empty files of classes and nodes, each with its nodes: a full disk leaves such files.
pub fn empty_files(inventory: &Inventory) -> Rows<NameRow> {
    let is_empty = |fault: &Fault| matches!(fault.kind, Kind::FileEmpty { .. });
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let empty = survey.files.iter().filter(|file| match &file.layer {
            Ok(layer) => layer.warnings.iter().any(is_empty),
            Err(error) => error.faults().iter().any(is_empty),
        });
        let row = |file: &SurveyedFile| NameRow {
            name: file.name.clone(),
            file: Some(file.path.to_string()),
            nodes: survey.names(&file.nodes),
        };
        let left_out = survey.nodes.iter().filter(|node| node.is_broken()).count();
        Ok(ListedRows { rows: empty.map(row).collect(), left_out })
    })?
}

/// The applications that match any of the globs, sorted, each with its nodes that pass the filter.
pub fn applications(inventory: &Inventory, globs: &[String], filter: &NodeFilter) -> Rows<NameRow> {
    let globs: Vec<Glob> = globs.iter().map(|text| Glob::new(text)).collect();
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let selected = SelectedNodes::of(computation, &survey, filter)?;
        let mut all: IndexMap<Text, Vec<Text>> = IndexMap::new();
        for node in selected.nodes(&survey) {
            for application in node.applications() {
                if chosen(&globs, &application) {
                    all.entry(application).or_default().push(node.name.clone());
                }
            }
        }
        all.sort_unstable_keys();
        let rows = all.into_iter().map(|(name, nodes)| NameRow { name, file: None, nodes }).collect();
        Ok(ListedRows { rows, left_out: selected.left_out })
    })?
}
