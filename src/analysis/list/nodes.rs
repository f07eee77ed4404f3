//! Selects nodes by filters.

use std::cell::OnceCell;
use std::path::Path;

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::Rows;
use crate::analysis::explain::has_parameter;
use crate::analysis::survey::{FileNames, Reach, Survey, Surveyed, SurveyedFile};
use crate::base::error::{Fault, Kind, Result};
use crate::base::pattern::{Glob, chosen};
use crate::base::value::{Text, Value};
use crate::engine::Inventory;
use crate::engine::context::Computation;
use crate::model::query::Query;
use crate::model::slot::MapSlot;
use crate::storage::fs::real;

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
    /// Whether the match is uncertain, because the node cannot be linearized.
    pub perhaps: bool,
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
        Ok(passing(computation, &Survey::of(computation), filter)?.into_iter().flatten().collect())
    })?
}

/// The row of each node in a survey that passes the filter.
fn passing(
    computation: &Computation<'_>,
    survey: &Survey,
    filter: &NodeFilter,
) -> Result<Vec<Option<NodeRow>>> {
    let filter = &NodeFilter { files: files(survey, filter)?, ..filter.clone() };
    // If a broken node may use a requested file, queries may carry the file to further nodes.
    let reach = Reach::of(computation, survey, survey.nodes.iter());
    let wanted = |file: &&SurveyedFile| filter.files.iter().any(|wanted| is_file(&file.path, wanted));
    let known = survey.files.iter().filter(wanted).all(|file| reach.knows(file));
    let broken = Broken::new(survey, filter);
    Ok(survey.nodes.iter().map(|node| node_row(computation, survey, node, filter, known, &broken)).collect())
}

/// The nodes that another list covers.
pub(super) struct SelectedNodes {
    /// Which nodes of the survey are covered.
    chosen: Vec<bool>,
    /// Whether all nodes are covered.
    all: bool,
    /// The files that covered nodes may use if they cannot be linearized.
    reach: Reach,
}

impl SelectedNodes {
    /// The nodes that pass a filter, including those that may pass.
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
        let nodes = survey.nodes.iter().zip(&chosen).filter(|(_, chosen)| **chosen).map(|(node, _)| node);
        let reach = Reach::of(computation, survey, nodes);
        Ok(SelectedNodes { chosen, all: filter.is_empty(), reach })
    }

    /// The covered nodes.
    pub(super) fn nodes<'s>(&self, survey: &'s Survey) -> impl Iterator<Item = &'s Surveyed> {
        survey.nodes.iter().zip(&self.chosen).filter(|(_, chosen)| **chosen).map(|(node, _)| node)
    }

    /// Indexes of the covered nodes that a file contributes to.
    pub(super) fn users(&self, file: &SurveyedFile) -> Vec<usize> {
        file.nodes.iter().filter(|at| self.chosen.get(**at) == Some(&true)).copied().collect()
    }

    /// Whether all covered users of a file are known.
    pub(super) fn knows(&self, file: &SurveyedFile) -> bool {
        self.reach.knows(file)
    }

    /// Whether the content of a file counts: always without a filter, otherwise if a covered node may use it.
    pub(super) fn includes(&self, file: &SurveyedFile) -> bool {
        self.all || !self.knows(file) || file.nodes.iter().any(|at| self.chosen.get(*at) == Some(&true))
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

fn node_row<'s>(
    computation: &Computation<'_>,
    survey: &'s Survey,
    node: &'s Surveyed,
    filter: &NodeFilter,
    known: bool,
    broken: &Broken<'s>,
) -> Option<NodeRow> {
    let globs = |texts: &[String]| texts.iter().map(|text| Glob::new(text)).collect::<Vec<_>>();
    let any = |texts: &[String], name: &str| {
        let globs = globs(texts);
        globs.iter().any(|glob| glob.matches(name))
    };
    if !chosen(&globs(&filter.names), &node.name) {
        return None;
    }
    if node.layers.is_err() {
        return broken_row(computation, survey, node, filter, broken);
    }
    if !filter.classes.is_empty() && !node.classes().any(|class| any(&filter.classes, class)) {
        return None;
    }
    let applications = node.applications();
    if !filter.applications.is_empty() && !applications.iter().any(|name| any(&filter.applications, name)) {
        return None;
    }
    let environment = node.environment();
    if !filter.environments.is_empty() && !any(&filter.environments, &crate::base::pystr::str(&environment)) {
        return None;
    }
    let (mut by_query, mut perhaps) = (false, false);
    if !filter.files.is_empty() {
        let has = |node: &Surveyed| {
            let paths = node.files().filter_map(|file| survey.file(file)).map(|file| &file.path);
            paths.chain(std::iter::once(&node.path)).any(|path| filter.files.iter().any(|f| is_file(path, f)))
        };
        if !has(node) {
            by_query = node.layers.as_ref().is_ok_and(|layers| {
                node.all_layers().any(|layer| asks(&layer.parameters, |_| true)) && {
                    let environment = &layers.environment;
                    let all = node
                        .all_layers()
                        .any(|layer| asks(&layer.parameters, |query| query.all_environments));
                    let mut others = survey.nodes.iter().filter(|other| has(other)).peekable();
                    let reached = others.peek().is_some();
                    // An edit may move a node into the environment, or make its environment unreadable.
                    perhaps = !others.any(|other| all || other.environment() == *environment);
                    !(perhaps && known && !reached)
                }
            });
            if !by_query {
                return None;
            }
        }
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
        perhaps,
        error: None,
    })
}

/// What the rows of all nodes that cannot be linearized have in common.
struct Broken<'s> {
    names: OnceCell<FileNames<'s>>,
    /// The paths of the requested classes.
    classes: FxHashSet<&'s str>,
    /// The paths of the requested files.
    files: FxHashSet<&'s str>,
}

impl<'s> Broken<'s> {
    fn new(survey: &'s Survey, filter: &NodeFilter) -> Broken<'s> {
        let globs: Vec<Glob> = filter.classes.iter().map(|text| Glob::new(text)).collect();
        let is_class =
            |file: &SurveyedFile| file.is_class && globs.iter().any(|glob| glob.matches(&file.name));
        let paths = |is: &dyn Fn(&SurveyedFile) -> bool| {
            survey.files.iter().filter(|file| is(file)).map(|file| &*file.path).collect()
        };
        Broken {
            names: OnceCell::new(),
            classes: paths(&is_class),
            files: paths(&|file| is_requested(&file.path, filter)),
        }
    }
}

fn is_requested(path: &str, filter: &NodeFilter) -> bool {
    filter.files.iter().any(|wanted| is_file(path, wanted))
}

/// The row of a node that cannot be linearized. The node is left out only if it certainly does not match.
fn broken_row<'s>(
    computation: &Computation<'_>,
    survey: &'s Survey,
    node: &'s Surveyed,
    filter: &NodeFilter,
    broken: &Broken<'s>,
) -> Option<NodeRow> {
    let own = is_requested(&node.path, filter);
    if !filter.classes.is_empty() || !filter.files.is_empty() {
        let names = broken.names.get_or_init(|| FileNames::of(survey));
        let reach = Reach::of_broken(computation, survey, names, std::iter::once(node));
        if !filter.classes.is_empty() && !reach.meets(&broken.classes)
            || !filter.files.is_empty() && !own && !reach.meets(&broken.files)
        {
            return None;
        }
    }
    let others = [&filter.classes, &filter.applications, &filter.environments, &filter.parameters];
    Some(NodeRow {
        name: node.name.clone(),
        environment: Value::Null,
        file: node.path.to_string(),
        classes: 0,
        applications: Vec::new(),
        by_query: false,
        perhaps: others.iter().any(|texts| !texts.is_empty()) || !(filter.files.is_empty() || own),
        error: node.layers.as_ref().err().map(|error| error.first().code()),
    })
}

/// Whether a map contains such an inventory query.
fn asks(map: &MapSlot, is: impl Fn(&Query) -> bool) -> bool {
    let mut found = false;
    map.queries(&mut |_, query, _| found |= is(query));
    found
}
