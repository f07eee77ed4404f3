//! Selects nodes by filters, and lists them.

use std::path::Path;

use serde::Serialize;

use crate::explain::has_parameter;
use crate::survey::{Survey, Surveyed, SurveyedFile};
use reclass::Inventory;
use reclass::parts::engine::Computation;
use reclass::parts::model::Layer;
use reclass::parts::storage::fs::real;
use reclass_base::error::{Fault, Kind, Result};
use reclass_base::pattern::{Glob, chosen};
use reclass_base::value::{Text, Value};

/// The rows of a listing.
#[derive(Clone, Debug)]
pub struct ListedRows<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The number of nodes that do not render, so that nothing is known of their classes and parameters.
    pub left_out: usize,
}

/// The result of a listing.
pub type Rows<T> = Result<ListedRows<T>>;

/// Conditions on a node. One entry of a list is enough; all lists must match.
#[derive(Clone, Debug, Default)]
pub struct NodeFilter {
    /// Globs of names.
    pub names: Vec<String>,
    /// Globs of classes.
    pub classes: Vec<String>,
    /// Globs of applications.
    pub applications: Vec<String>,
    /// Globs of environments.
    pub environments: Vec<String>,
    /// Patterns of parameters.
    pub parameters: Vec<String>,
    /// Files that contribute to the node: absolute paths, or ends of paths.
    pub files: Vec<String>,
}

/// One node in a list.
#[derive(Clone, Debug, Serialize)]
pub struct NodeRow {
    /// Its name.
    pub name: Text,
    /// Its environment.
    pub environment: Value,
    /// Its file.
    pub file: String,
    /// How many classes it has.
    pub classes: usize,
    /// Its applications.
    pub applications: Vec<Text>,
    /// Whether only an inventory query of the node leads to the file: a node that the query may read uses it.
    pub by_query: bool,
    /// The code of its first fault, if it cannot be linearized.
    pub error: Option<&'static str>,
}

impl NodeFilter {
    /// Whether every node passes.
    pub fn is_empty(&self) -> bool {
        let lists = [
            &self.names,
            &self.classes,
            &self.applications,
            &self.environments,
            &self.parameters,
            &self.files,
        ];
        lists.iter().all(|list| list.is_empty())
    }
}

/// The nodes that pass a filter, sorted by name.
pub fn nodes(inventory: &Inventory, filter: &NodeFilter) -> Rows<NodeRow> {
    inventory.inspect(|computation| {
        let survey = Survey::of(computation);
        let passing = passing(computation, &survey, filter)?;
        let left_out = left_out(&survey, filter, |at| passing.get(at).is_some_and(Option::is_some));
        Ok(ListedRows { rows: passing.into_iter().flatten().collect(), left_out })
    })?
}

/// The row of each node in a survey that passes the filter.
fn passing(
    computation: &Computation<'_>,
    survey: &Survey,
    filter: &NodeFilter,
) -> Result<Vec<Option<NodeRow>>> {
    let filter = &NodeFilter { files: files(survey, filter)?, ..filter.clone() };
    Ok(survey.nodes.iter().map(|node| node_row(computation, survey, node, filter)).collect())
}

/// The number of broken nodes of the requested names that have no row.
fn left_out(survey: &Survey, filter: &NodeFilter, has_row: impl Fn(usize) -> bool) -> usize {
    let globs: Vec<Glob> = filter.names.iter().map(|text| Glob::new(text)).collect();
    let nodes = survey.nodes.iter().enumerate();
    nodes.filter(|(at, node)| node.is_broken() && chosen(&globs, &node.name) && !has_row(*at)).count()
}

/// The nodes that another list covers.
pub(super) struct SelectedNodes {
    /// Which nodes of the survey are covered.
    chosen: Vec<bool>,
    /// Whether all nodes are covered.
    all: bool,
    /// The number of requested nodes that are broken.
    pub(super) left_out: usize,
}

impl SelectedNodes {
    /// The nodes that pass a filter.
    pub(super) fn of(
        computation: &Computation<'_>,
        survey: &Survey,
        filter: &NodeFilter,
    ) -> Result<SelectedNodes> {
        let chosen: Vec<bool> = if filter.is_empty() {
            vec![true; survey.nodes.len()]
        } else {
            passing(computation, survey, filter)?.iter().map(Option::is_some).collect()
        };
        let left_out = left_out(survey, filter, |_| false);
        Ok(SelectedNodes { chosen, all: filter.is_empty(), left_out })
    }

    /// The covered nodes.
    pub(super) fn nodes<'s>(&self, survey: &'s Survey) -> impl Iterator<Item = &'s Surveyed> {
        survey.nodes.iter().zip(&self.chosen).filter(|(_, chosen)| **chosen).map(|(node, _)| node)
    }

    /// Indexes of the covered nodes that a file contributes to.
    pub(super) fn users(&self, file: &SurveyedFile) -> Vec<usize> {
        file.nodes.iter().filter(|at| self.chosen.get(**at) == Some(&true)).copied().collect()
    }

    /// Whether the content of a file counts: always without a filter, otherwise if a covered node uses it.
    pub(super) fn includes(&self, file: &SurveyedFile) -> bool {
        self.all || file.nodes.iter().any(|at| self.chosen.get(*at) == Some(&true))
    }
}

/// The requested files. A path that the inventory reaches through links is replaced by the linked paths. A
/// file outside the inventory is an error, because it is probably a typo.
fn files(survey: &Survey, filter: &NodeFilter) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for wanted in &filter.files {
        if survey.files.iter().any(|file| is_file(&file.path, wanted)) {
            files.push(wanted.clone());
            continue;
        }
        let target = real(Path::new(wanted));
        let links =
            survey.files.iter().filter(|file| target.is_some() && real(Path::new(&*file.path)) == target);
        let before = files.len();
        files.extend(links.map(|file| file.path.to_string()));
        if files.len() == before {
            let message = "it is no file of this inventory".to_owned();
            return Err(Fault::new(Kind::FileUnreadable { path: wanted.clone(), message }).into());
        }
    }
    Ok(files)
}

/// Whether a path equals the requested one, or ends with it.
fn is_file(path: &str, wanted: &str) -> bool {
    let wanted = wanted.strip_prefix("./").unwrap_or(wanted);
    Path::new(path).ends_with(wanted)
}

/// The row of a node that passes the filter. Only the name and the file of a broken node are known.
fn node_row(
    computation: &Computation<'_>,
    survey: &Survey,
    node: &Surveyed,
    filter: &NodeFilter,
) -> Option<NodeRow> {
    let globs = |texts: &[String]| texts.iter().map(|text| Glob::new(text)).collect::<Vec<_>>();
    let any = |texts: &[String], name: &str| {
        let globs = globs(texts);
        globs.iter().any(|glob| glob.matches(name))
    };
    if !chosen(&globs(&filter.names), &node.name) {
        return None;
    }
    let is_requested = |path: &str| filter.files.iter().any(|wanted| is_file(path, wanted));
    if let Err(error) = &node.layers {
        let content = [&filter.classes, &filter.applications, &filter.environments, &filter.parameters];
        let passes = content.iter().all(|globs| globs.is_empty())
            && (filter.files.is_empty() || is_requested(&node.path));
        return passes.then(|| NodeRow {
            name: node.name.clone(),
            environment: Value::Null,
            file: node.path.to_string(),
            classes: 0,
            applications: Vec::new(),
            by_query: false,
            error: Some(error.first().code()),
        });
    }
    if !filter.classes.is_empty() && !node.classes().any(|class| any(&filter.classes, class)) {
        return None;
    }
    let applications = node.applications();
    if !filter.applications.is_empty() && !applications.iter().any(|name| any(&filter.applications, name)) {
        return None;
    }
    let environment = node.environment();
    if !filter.environments.is_empty() && !any(&filter.environments, &reclass_base::pystr::str(&environment))
    {
        return None;
    }
    let has = |node: &Surveyed| {
        let paths = node.files().filter_map(|file| survey.file(file)).map(|file| &file.path);
        paths.chain(std::iter::once(&node.path)).any(|path| is_requested(path))
    };
    let by_query = !filter.files.is_empty() && !has(node);
    if by_query && !(node.all_layers().any(|layer| asks(layer)) && survey.nodes.iter().any(has)) {
        return None;
    }
    if !filter.parameters.is_empty() {
        let layers = node.layers.as_ref().ok()?;
        if !has_parameter(computation, layers, &filter.parameters) {
            return None;
        }
    }
    Some(NodeRow {
        name: node.name.clone(),
        environment,
        file: node.path.to_string(),
        classes: node.classes().count(),
        applications,
        by_query,
        error: None,
    })
}

/// Whether a layer contains an inventory query.
fn asks(layer: &Layer) -> bool {
    let mut found = false;
    layer.parameters.queries(&mut |_, _, _| found = true);
    found
}
