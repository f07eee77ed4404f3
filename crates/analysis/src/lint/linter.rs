//! What the rules share: all nodes and files of one state of an inventory, the results of rendering, and how a
//! finding is made.

use std::convert::identity;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::contracts::Contracts;
use super::plain::Plain;
use crate::survey::{Survey, Surveyed, SurveyedFile};
use reclass::NodeInfo;
use reclass::parts::engine::{AUTOMATIC, Computation, ComputedAnswer, EngineContext, QueryRecord};
use reclass::parts::evaluate::Locate as _;
use reclass::parts::model::merge::settled;
use reclass::parts::model::merge_options::of_settings;
use reclass::parts::model::{Declaration, Layer, MapSlot, Prefixes, Query, Slot};
use reclass_base::error::{Fault, Kind, Warning};
use reclass_base::pattern::{Glob, chosen};
use reclass_base::secrets::Secrets;
use reclass_base::settings::Settings;
use reclass_base::source::{FileId, Origin, Site};
use reclass_base::value::{Key, Text};

/// Checks one state of an inventory.
pub struct Linter<'a> {
    pub context: EngineContext<'a>,
    pub survey: Survey,
    /// The maps of the layers with prefixes applied, by section, for files that have prefixes.
    settled: FxHashMap<FileId, [Arc<MapSlot>; 2]>,
    pub secrets: Secrets,
    pub plain: Plain,
    pub prefixes: Prefixes,
    /// The first two keys of the parameters that files set, joined by the delimiter.
    set: FxHashSet<String>,
    /// Whether a merge option makes mappings in lists merge.
    pub has_keyed_lists: bool,
    /// Which nodes of the survey are checked.
    chosen: Vec<bool>,
    /// Whether all nodes are checked. Only then is every use of a file known.
    pub all: bool,
    /// The file of the first node that cannot be linearized. It may use any file.
    pub broken: Option<Arc<str>>,
    pub rendered: RenderedNodes,
    /// The schemas of parameters, and what breaks them.
    pub contracts: Contracts,
}

/// The part of the rendered nodes that later checks need. Their values are dropped at once.
#[derive(Default)]
pub struct RenderedNodes {
    /// Which nodes of the survey have values.
    pub done: Vec<bool>,
    /// The references whose defaults were taken.
    pub defaults: FxHashSet<Site>,
    /// The queries that were asked, and whether any node answered.
    pub asked: Vec<(Arc<Query>, bool)>,
}

/// The part of one rendered node that is kept: its warnings, and its queries as in [`RenderedNodes`].
type Remains = (Vec<Warning>, Vec<(Arc<Query>, bool)>);

impl<'a> Linter<'a> {
    pub fn new(computation: &Computation<'a>, globs: &[Glob]) -> Linter<'a> {
        let survey = Survey::of(computation);
        let prefixes = Prefixes::new(computation.settings);
        let chosen: Vec<bool> = survey.nodes.iter().map(|node| chosen(globs, &node.name)).collect();
        Linter {
            context: computation.context(),
            secrets: Secrets::of(computation.settings),
            plain: Plain::new(computation.settings, &survey),
            settled: settled_layers(&survey, &prefixes),
            set: first_keys(&survey, &prefixes, &computation.settings.delimiter),
            prefixes,
            has_keyed_lists: has_keyed_lists(computation.settings, &survey),
            chosen,
            all: globs.is_empty(),
            broken: survey.nodes.iter().find(|node| node.is_broken()).map(|node| node.path.clone()),
            survey,
            rendered: RenderedNodes::default(),
            contracts: Contracts::of(computation),
        }
    }

    /// Renders the chosen nodes for later checks, and returns their errors and warnings; with `keep`, also the
    /// answers that were computed.
    pub fn render(&mut self, keep: bool) -> (Vec<Fault>, Vec<ComputedAnswer>) {
        let nodes: Vec<(&Surveyed, bool)> =
            self.survey.nodes.iter().zip(self.chosen.iter().copied()).collect();
        let all = self.context.each_node(&nodes, identity, |computation, (node, chosen)| {
            chosen.then(|| {
                let read = |info: &NodeInfo, queries: &[QueryRecord]| {
                    (remains(info, queries), self.contracts.verdict(info))
                };
                let (remains, computed) = computation.read_answer(&node.name, read);
                (remains, computed.filter(|_| keep))
            })
        });
        let mut rendered = RenderedNodes::default();
        let (mut problems, mut kept) = (Vec::new(), Vec::new());
        let mut contracts = std::mem::take(&mut self.contracts);
        for (number, node) in all.into_iter().enumerate() {
            rendered.done.push(matches!(node, Some((Ok(_), _))));
            let Some((remains, computed)) = node else { continue };
            kept.extend(computed);
            match remains {
                Ok(((warnings, asked), verdict)) => {
                    contracts.keep(number, verdict);
                    let taken =
                        warnings.iter().filter(|warning| matches!(warning.kind, Kind::DefaultUsed { .. }));
                    rendered.defaults.extend(taken.filter_map(|warning| warning.site.clone()));
                    rendered.asked.extend(asked);
                    problems.extend(warnings);
                }
                Err(error) => {
                    problems.extend(error.into_faults().into_iter().map(|fault| self.counted(fault)));
                }
            }
        }
        (self.rendered, self.contracts) = (rendered, contracts);
        (problems, kept)
    }

    /// An unresolved reference, with the number of nodes that include its file.
    fn counted(&self, fault: Fault) -> Fault {
        let users =
            fault.origin.and_then(|origin| self.survey.file(origin.file)).map(|file| file.nodes.len());
        match (&fault.kind, users) {
            (Kind::ReferenceNotFound { .. }, Some(users)) if users > 1 => {
                fault.note(format!("{users} nodes have this file"), None)
            }
            _ => fault,
        }
    }

    /// The map of a layer's section, with prefixes applied.
    pub fn settled(&self, section: MergedSection, layer: &Layer) -> Arc<MapSlot> {
        let map = section.of(layer);
        if !map.prefixed {
            return map.clone();
        }
        match self.settled.get(&layer.file) {
            Some([parameters, _]) if section == MergedSection::Parameters => parameters.clone(),
            Some([_, exports]) => exports.clone(),
            None => settled(map, &self.prefixes),
        }
    }

    /// Whether the map of automatic parameters, which no file wrote, has something at a path in any node of a
    /// file. There is no input data.
    pub fn given(
        &self,
        section: MergedSection,
        file: &SurveyedFile,
        path: &[Key],
        has: &dyn Fn(&MapSlot) -> bool,
    ) -> bool {
        let automatic = |node: &Surveyed| {
            let layers = node.layers.as_ref().ok();
            layers.and_then(|layers| layers.extra.automatic.as_deref()).is_some_and(has)
        };
        section == MergedSection::Parameters
            && path.first().is_some_and(|key| key.as_str() == Some(AUTOMATIC))
            && self.survey.users(file).any(automatic)
    }

    /// The checked files: all files, or those of the chosen nodes.
    pub fn files(&self) -> impl Iterator<Item = &SurveyedFile> {
        let broken = self.nodes().filter(|node| node.is_broken()).map(|node| &node.path);
        let broken: FxHashSet<&Arc<str>> = broken.collect();
        let chosen = move |file: &SurveyedFile| {
            broken.contains(&file.path) || file.nodes.iter().any(|at| self.is_chosen(*at))
        };
        self.survey.files.iter().filter(move |file| self.all || chosen(file))
    }

    /// The patterns of class names in the checked files, by the place where they are listed.
    pub fn class_patterns(&self) -> FxHashMap<Origin, &Text> {
        let layers = self.files().filter_map(|file| file.layer.as_ref().ok());
        let wild = layers.flat_map(|layer| &layer.classes).filter(|entry| entry.wild);
        wild.map(|entry| (entry.origin, &entry.name)).collect()
    }

    /// Whether a file has users, and all of them are known.
    pub fn is_known(&self, file: &SurveyedFile) -> bool {
        !file.nodes.is_empty() && self.broken.is_none()
    }

    /// Whether a file has users, and all of them are known and were rendered.
    pub fn is_rendered(&self, file: &SurveyedFile) -> bool {
        self.is_known(file) && file.nodes.iter().all(|at| self.rendered.done.get(*at) == Some(&true))
    }

    /// Whether no node uses a file, or may use it.
    pub fn is_unused(&self, file: &SurveyedFile) -> bool {
        file.is_class && file.nodes.is_empty() && self.broken.is_none()
    }

    /// Whether some file sets the parameter that the first two keys of a path name.
    pub fn sets(&self, path: &str) -> bool {
        let delimiter = &self.context.settings.delimiter;
        let mut ends = path.match_indices(&**delimiter).map(|(at, _)| at);
        let end = ends.nth(1).unwrap_or(path.len());
        self.set.contains(&path[..end])
    }

    /// The layers in etcd that a node has, each once.
    pub fn etcd_layers(&self) -> Vec<&Arc<Layer>> {
        if self.context.inputs.etcd.is_none() {
            return Vec::new();
        }
        let mut visited = FxHashSet::default();
        let all = self.survey.nodes.iter().flat_map(Surveyed::all_layers);
        all.filter(|layer| self.context.inputs.owner(layer.file).is_some() && visited.insert(layer.file))
            .collect()
    }

    pub fn is_chosen(&self, node: usize) -> bool {
        self.chosen.get(node).copied().unwrap_or(false)
    }

    /// The chosen nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &Surveyed> {
        self.survey.nodes.iter().zip(&self.chosen).filter(|(_, chosen)| **chosen).map(|(node, _)| node)
    }

    /// A finding about a path, at the origin of a value.
    pub fn about(
        &self,
        rule: &'static str,
        message: String,
        origin: Origin,
        path: String,
        section: MergedSection,
    ) -> Fault {
        let fault = self.at(rule, message, origin);
        Fault { path: Some(path), export: section == MergedSection::Exports, ..fault }
    }

    pub fn site(&self, origin: Origin) -> Option<Site> {
        reclass::parts::evaluate::site(self.context.inputs, origin, None)
    }

    /// A finding at the origin of a value.
    pub fn at(&self, rule: &'static str, message: String, origin: Origin) -> Fault {
        let mut fault = lint_fault(rule, message, None).at(origin);
        fault.site = self.site(origin);
        fault
    }
}

/// The maps of all layers with prefixes, with these applied. Each node that has the file is compared with them.
fn settled_layers(survey: &Survey, prefixes: &Prefixes) -> FxHashMap<FileId, [Arc<MapSlot>; 2]> {
    let layers = survey.files.iter().filter_map(|file| file.layer.as_ref().ok());
    layers
        .filter(|layer| MergedSection::ALL.iter().any(|section| section.of(layer).prefixed))
        .map(|layer| (layer.file, MergedSection::ALL.map(|section| settled(section.of(layer), prefixes))))
        .collect()
}

/// The first two keys of the parameters of all files, joined by the delimiter.
fn first_keys(survey: &Survey, prefixes: &Prefixes, delimiter: &str) -> FxHashSet<String> {
    let mut keys = FxHashSet::default();
    let maps = survey.files.iter().filter_map(|file| Some(&file.layer.as_ref().ok()?.parameters));
    for (key, slot) in maps.flat_map(|map| &map.entries) {
        let (Slot::Map(below), Some(name)) = (slot, key.as_str().map(|key| prefixes.bare(key))) else {
            continue;
        };
        let inner = below.entries.keys().filter_map(Key::as_str);
        keys.extend(inner.map(|inner| format!("{name}{delimiter}{}", prefixes.bare(inner))));
    }
    keys
}

/// The part of an answer that lint looks at.
fn remains(info: &NodeInfo, queries: &[QueryRecord]) -> Remains {
    let asked = queries.iter().map(|asked| (asked.query().clone(), asked.found().next().is_some()));
    (info.warnings.clone(), asked.collect())
}

/// A section that is merged from layers. Both sections get the same checks.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergedSection {
    Parameters,
    Exports,
}

impl MergedSection {
    pub const ALL: [MergedSection; 2] = [MergedSection::Parameters, MergedSection::Exports];

    /// The map of this section in a layer.
    pub fn of(self, layer: &Layer) -> &Arc<MapSlot> {
        match self {
            MergedSection::Parameters => &layer.parameters,
            MergedSection::Exports => &layer.exports,
        }
    }

    /// A path of this section, for messages.
    pub fn named(self, path: &str) -> String {
        match self {
            MergedSection::Parameters => format!("'{path}'"),
            MergedSection::Exports => format!("the export '{path}'"),
        }
    }
}

/// A finding without a place.
pub fn lint_fault(rule: &'static str, message: String, help: Option<String>) -> Fault {
    Fault::new(Kind::Lint { rule, message, help })
}

/// Whether a declaration of the settings or of a file merges items by keys.
fn has_keyed_lists(settings: &Settings, survey: &Survey) -> bool {
    let keyed = |declaration: &Declaration| !declaration.strategy.keys().is_empty();
    let in_settings = of_settings(settings).ok().flatten();
    in_settings.is_some_and(|rules| rules.declarations().any(keyed))
        || survey
            .files
            .iter()
            .filter_map(|file| file.layer.as_ref().ok())
            .any(|layer| layer.merge_options.iter().any(|declaration| keyed(declaration)))
}
