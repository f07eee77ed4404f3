//! Filters turn all nodes into those that have what is asked for.

use std::path::Path;

use serde::Serialize;

use super::Rows;
use crate::analysis::explain::has_parameter;
use crate::analysis::survey::{Reach, Survey, Surveyed, SurveyedFile};
use crate::base::error::{Fault, Kind, Result};
use crate::base::pattern::{Glob, chosen};
use crate::base::value::{Text, Value};
use crate::engine::Inventory;
use crate::engine::node::Computation;
use crate::model::query::Query;
use crate::model::slot::MapSlot;
use crate::storage::fs::real;

/// What a node must have. Within one list any entry will do; all lists count.
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
    /// Files that have a part in the node: absolute, or as the end of a path.
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
    /// Whether it is here for an inventory query alone: a node that it may ask has the file.
    pub by_query: bool,
    /// Whether it is not known to have what was asked for: its layers cannot be ordered.
    pub perhaps: bool,
    /// The code of its first problem, where its layers cannot be ordered.
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

/// For each node of a survey its row, if it passes a filter.
fn passing(
    computation: &Computation<'_>,
    survey: &Survey,
    filter: &NodeFilter,
) -> Result<Vec<Option<NodeRow>>> {
    let filter = &NodeFilter { files: files(survey, filter)?, ..filter.clone() };
    // A file that a broken node may have may reach others by their queries.
    let reach = Reach::of(computation, survey, survey.nodes.iter());
    let wanted = |file: &&SurveyedFile| filter.files.iter().any(|wanted| is_file(&file.path, wanted));
    let known = survey.files.iter().filter(wanted).all(|file| reach.knows(file));
    Ok(survey.nodes.iter().map(|node| node_row(computation, survey, node, filter, known)).collect())
}

/// The nodes that another list looks at.
pub(super) struct LookedAt {
    /// Whether each node of the survey is one of them.
    chosen: Vec<bool>,
    /// Whether these are all.
    all: bool,
    /// What those of them that cannot be ordered may have.
    reach: Reach,
}

impl LookedAt {
    /// Those that pass a filter, and those that are not known to fail.
    pub(super) fn of(
        computation: &Computation<'_>,
        survey: &Survey,
        filter: &NodeFilter,
    ) -> Result<LookedAt> {
        let chosen: Vec<bool> = if filter.is_empty() {
            vec![true; survey.nodes.len()]
        } else {
            passing(computation, survey, filter)?.iter().map(Option::is_some).collect()
        };
        let nodes = survey.nodes.iter().zip(&chosen).filter(|(_, chosen)| **chosen).map(|(node, _)| node);
        let reach = Reach::of(computation, survey, nodes);
        Ok(LookedAt { chosen, all: filter.is_empty(), reach })
    }

    /// These nodes.
    pub(super) fn nodes<'s>(&self, survey: &'s Survey) -> impl Iterator<Item = &'s Surveyed> {
        survey.nodes.iter().zip(&self.chosen).filter(|(_, chosen)| **chosen).map(|(node, _)| node)
    }

    /// Those that a file has a part in, by their index.
    pub(super) fn users(&self, file: &SurveyedFile) -> Vec<usize> {
        file.nodes.iter().filter(|at| self.chosen.get(**at) == Some(&true)).copied().collect()
    }

    /// Whether those that a file has a part in are known.
    pub(super) fn knows(&self, file: &SurveyedFile) -> bool {
        self.reach.knows(file)
    }

    /// Whether what a file says counts: it does without a filter, and where one of the nodes may have it.
    pub(super) fn heeds(&self, file: &SurveyedFile) -> bool {
        self.all || !self.knows(file) || file.nodes.iter().any(|at| self.chosen.get(*at) == Some(&true))
    }
}

/// The files that are asked for; in place of one that links of the inventory lead to, those. A file
/// that is no part of the inventory touches nothing: more likely it is a slip.
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

/// Whether a path is the one that was asked for, or ends with it.
fn is_file(path: &str, wanted: &str) -> bool {
    let wanted = wanted.strip_prefix("./").unwrap_or(wanted);
    Path::new(path).ends_with(wanted)
}

fn node_row(
    computation: &Computation<'_>,
    survey: &Survey,
    node: &Surveyed,
    filter: &NodeFilter,
    known: bool,
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
        return broken_row(computation, survey, node, filter);
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
                    // An edit may bring a node into the environment, or hide in which it is.
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

/// A node whose layers cannot be ordered: it is left out only if it cannot have what is asked for.
fn broken_row(
    computation: &Computation<'_>,
    survey: &Survey,
    node: &Surveyed,
    filter: &NodeFilter,
) -> Option<NodeRow> {
    let reach = Reach::of(computation, survey, std::iter::once(node));
    let globs: Vec<Glob> = filter.classes.iter().map(|text| Glob::new(text)).collect();
    let class = |file: &SurveyedFile| file.is_class && globs.iter().any(|glob| glob.matches(&file.name));
    let asked = |path: &str| filter.files.iter().any(|wanted| is_file(path, wanted));
    let may =
        |is: &dyn Fn(&SurveyedFile) -> bool| survey.files.iter().any(|file| is(file) && !reach.knows(file));
    let own = asked(&node.path);
    if (!globs.is_empty() && !may(&class))
        || (!filter.files.is_empty() && !own && !may(&|file| asked(&file.path)))
    {
        return None;
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

/// Whether a map holds such an inventory query.
fn asks(map: &MapSlot, is: impl Fn(&Query) -> bool) -> bool {
    let mut found = false;
    map.queries(&mut |_, query, _| found |= is(query));
    found
}
