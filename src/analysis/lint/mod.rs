//! Lint checks a whole inventory and returns findings: errors that keep nodes from rendering, and constructs
//! that are probably mistakes.
//!
//! It checks the files as written, the layers of every node, and the warnings of rendering. Merging and
//! evaluation are those of a pillar.

mod baseline;
mod classes;
mod mentions;
mod merge_options;
mod names;
mod parameters;
mod plain;
mod repeated;
mod rules;
mod selection;
mod silence;
mod structure;
mod unreached;
mod wildcards;
mod written;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::survey::{Survey, Surveyed, SurveyedFile};
use crate::base::error::{Error, Fault, Kind, Result, Warning};
use crate::base::parallel;
use crate::base::pattern::{Glob, chosen};
use crate::base::progress::WorkUnit;
use crate::base::secrets::Secrets;
use crate::base::settings::unknown_word;
use crate::base::source::{FileId, Origin, Site};
use crate::base::value::{Key, Map, Text, Value};
use crate::engine::Inventory;
use crate::engine::context::{Answer, Computation, EngineContext, NodeRequest};
use crate::engine::sequence::AUTOMATIC;
use crate::evaluate::Locate as _;
use crate::model::layer::Layer;
use crate::model::merge::{Prefixes, settled};
use crate::model::query::Query;
use crate::model::slot::MapSlot;
use crate::output::report::{Finding, Level, grouped};

pub use baseline::{Baseline, BaselineEntry};
use plain::Plain;
pub use rules::{RULES, Rule, rule};
pub use selection::CodeSelection;

/// The source of the options.
pub trait OptionsFile {
    /// The warnings about settings with their places, and the warnings about the file itself.
    fn noticed(&self, settings: &[Warning]) -> Vec<Warning>;
    /// The text of the file, if this is its path.
    fn text(&self, path: &str) -> Option<String>;
}

/// Options without a file.
impl OptionsFile for () {
    fn noticed(&self, settings: &[Warning]) -> Vec<Warning> {
        settings.to_vec()
    }

    fn text(&self, _path: &str) -> Option<String> {
        None
    }
}

/// Checks the inventory of these options, or only the parts of the nodes that match the globs. Findings are
/// ordered by file and line; findings with the level `off` are left out. `file` is the source of the options,
/// because options come without places. If the options do not open an inventory, the result contains only the
/// faults of the options. A name or glob without a node is an error.
pub fn lint(options: &Map, nodes: &[String], file: &dyn OptionsFile) -> Result<Vec<Finding>> {
    selected(options, nodes, &CodeSelection::default(), file).map(|outcome| outcome.findings)
}

/// The findings of lint.
#[derive(Clone, PartialEq, Debug)]
pub struct LintOutcome {
    /// The findings.
    pub findings: Vec<Finding>,
    /// Whether the inventory was opened. Otherwise the findings are the faults of the options only.
    pub opened: bool,
}

/// The same as [`lint`] for a selection of codes. A selected rule whose level is `off` is reported as a note.
/// Faults that keep the inventory from being opened are always reported.
pub fn selected(
    options: &Map,
    nodes: &[String],
    selection: &CodeSelection,
    file: &dyn OptionsFile,
) -> Result<LintOutcome> {
    let mut options = options.clone();
    // All warnings of rendering.
    options.insert("verbose_warnings".into(), Value::Bool(true));
    options.insert("group_errors".into(), Value::Bool(true));
    let (levels, wrong) = Levels::read(options.get("lint_levels"));
    let mut levels = Levels { selection: selection.clone(), ..levels };
    if options.get("empty_files").and_then(Value::as_str) == Some("error") {
        levels.changed.entry("file-empty".into()).or_insert(Level::Error);
    }
    let unused = FxHashSet::default();
    let refused = |error: Error| {
        let noticed = file.noticed(&wrong).into_iter().map(|fault| (levels.of(&fault, &unused), fault));
        // Always errors, whatever the levels are: nothing else was checked.
        let problems = error.into_faults().into_iter().map(|fault| (Level::Error, fault));
        let findings = grouped(problems.chain(noticed.filter(|(level, _)| *level != Level::Off)));
        LintOutcome { findings, opened: false }
    };
    let inventory = match Inventory::open(&options) {
        Ok(inventory) => inventory,
        Err(error) => return Ok(refused(error)),
    };
    let globs: Vec<Glob> = nodes.iter().map(|text| Glob::new(text)).collect();
    let checked = inventory.inspect(|computation| {
        if !nodes.is_empty() {
            crate::analysis::explain::chosen_nodes(computation.catalog, nodes)?;
        }
        let mut linter = Linter::new(computation, &globs);
        linter.check();
        let unused = linter.survey.files.iter().filter(|file| linter.is_unused(file));
        let unused: FxHashSet<Arc<str>> = unused.map(|file| file.path.clone()).collect();
        Ok::<_, Error>((linter.problems, unused))
    });
    let (problems, unused) = match checked {
        Ok(checked) => checked?,
        Err(error) => return Ok(refused(error)),
    };
    let noticed = [inventory.settings_warnings(), &wrong].concat();
    let problems = file.noticed(&noticed).into_iter().chain(problems);
    let problems = problems.map(|fault| (levels.of(&fault, &unused), fault));
    let mut silence = silence::Silence::new(&inventory, file);
    let mut findings = grouped(problems.filter(|(level, _)| *level != Level::Off));
    findings.retain(|finding| !silence.covers(&finding.fault));
    keep_foremost(&mut findings);
    Ok(LintOutcome { findings, opened: true })
}

/// If several rules report one place, only the first one in the table is kept, and none beside an error.
/// Findings about a whole file are all kept.
fn keep_foremost(findings: &mut Vec<Finding>) {
    // Errors have no rank, and `None` comes first.
    let rank = |finding: &Finding| RULES.iter().position(|rule| rule.id == finding.fault.code());
    let place = |finding: &Finding| {
        let site = finding.fault.site.as_ref().filter(|site| site.line > 0)?;
        Some((site.path.clone(), site.line, site.column))
    };
    let mut foremost = FxHashMap::default();
    for finding in findings.iter() {
        if let Some(place) = place(finding) {
            let best = foremost.entry(place).or_insert_with(|| rank(finding));
            *best = rank(finding).min(*best);
        }
    }
    findings
        .retain(|finding| place(finding).is_none_or(|place| foremost.get(&place) == Some(&rank(finding))));
}

/// The levels of the codes, changed by the setting `lint_levels`.
#[derive(Default)]
struct Levels {
    changed: FxHashMap<String, Level>,
    selection: CodeSelection,
}

impl Levels {
    /// The levels, and the faults in the setting. Its valid entries still apply.
    fn read(setting: Option<&Value>) -> (Levels, Vec<Fault>) {
        let mut changed = FxHashMap::default();
        let mut faults = Vec::new();
        let map = match setting {
            None | Some(Value::Null) => return (Levels::default(), faults),
            Some(Value::Map(map)) => map,
            Some(other) => {
                let kind = Kind::SettingType {
                    name: "lint_levels".into(),
                    expected: "a mapping of a code to a level".into(),
                    actual: other.type_name().into(),
                };
                return (Levels::default(), vec![Fault::new(kind)]);
            }
        };
        for (code, level) in map.iter() {
            let code = crate::base::pystr::str(&code.0);
            if !codes().any(|known| known == code) {
                let similar = similar_code(&code).map(str::to_owned);
                faults.push(Fault::new(Kind::UnknownRule { name: code, similar }));
                continue;
            }
            // YAML reads a bare `off` as false.
            let word = match level {
                Value::Bool(false) => "off".to_owned(),
                other => crate::base::pystr::str(other),
            };
            match Level::from_name(&word) {
                Some(level) => drop(changed.insert(code, level)),
                None => faults.push(unknown_word(format!("lint_levels:{code}"), &word, &Level::NAMES)),
            }
        }
        (Levels { changed, ..Levels::default() }, faults)
    }

    /// The level of a fault. In a file that no node uses it is at most a note, unless the setting names its
    /// code.
    fn of(&self, fault: &Fault, unused: &FxHashSet<Arc<str>>) -> Level {
        if !self.selection.has(fault.code()) {
            return Level::Off;
        }
        let level = self.unselected(fault, unused);
        if self.selection.names(fault.code()) { level.max(Level::Info) } else { level }
    }

    /// The level without the selection.
    fn unselected(&self, fault: &Fault, unused: &FxHashSet<Arc<str>>) -> Level {
        if let Some(level) = self.changed.get(fault.code()) {
            return *level;
        }
        let level = rule(fault.code()).map_or(Level::Error, |rule| rule.level);
        let in_unused = fault.site.as_ref().is_some_and(|site| unused.contains(&site.path));
        // A node that cannot be linearized still uses the files that it reports.
        if in_unused && fault.node.is_none() { level.min(Level::Info) } else { level }
    }
}

/// The codes of all rules and errors, each once.
pub fn codes() -> impl Iterator<Item = &'static str> {
    // A fault with the code `lint` has the code of its rule.
    let errors = Kind::CODES.iter().copied().filter(|code| *code != "lint" && rule(code).is_none());
    RULES.iter().map(|rule| rule.id).chain(errors)
}

/// The code that is closest to a misspelled one.
pub fn similar_code(code: &str) -> Option<&'static str> {
    crate::base::similar::nearest(code, codes())
}

/// Checks one state of an inventory.
struct Linter<'a> {
    context: EngineContext<'a>,
    survey: Survey,
    /// The maps of the layers with prefixes applied, by section, for files that have prefixes.
    settled: FxHashMap<FileId, [Arc<MapSlot>; 2]>,
    secrets: Secrets,
    plain: Plain,
    prefixes: Prefixes,
    /// Whether a merge option makes mappings in lists merge.
    has_keyed_lists: bool,
    /// Which nodes of the survey are checked.
    chosen: Vec<bool>,
    /// Whether all nodes are checked. Only then is every use of a file known.
    all: bool,
    /// The file of the first node that cannot be linearized. It may use any file.
    broken: Option<Arc<str>>,
    problems: Vec<Fault>,
}

/// The part of the rendered nodes that later checks need. Their values are dropped at once.
#[derive(Default)]
struct RenderedNodes {
    /// Which nodes of the survey have values.
    done: Vec<bool>,
    /// The references whose defaults were taken.
    defaults: FxHashSet<Site>,
    /// The queries that were asked, and whether any node answered.
    asked: Vec<(Arc<Query>, bool)>,
}

/// The part of one rendered node that is kept: its warnings, and its queries as in [`RenderedNodes`].
type Remains = (Vec<Warning>, Vec<(Arc<Query>, bool)>);

impl<'a> Linter<'a> {
    fn new(computation: &Computation<'a>, globs: &[Glob]) -> Linter<'a> {
        let survey = Survey::of(computation);
        let prefixes = Prefixes::new(computation.settings);
        let chosen: Vec<bool> = survey.nodes.iter().map(|node| chosen(globs, &node.name)).collect();
        Linter {
            context: computation.context(),
            secrets: Secrets::of(computation.settings),
            plain: Plain::new(computation.settings, &survey),
            settled: settled_layers(&survey, &prefixes),
            prefixes,
            has_keyed_lists: merge_options::has_keyed_lists(computation.settings, &survey),
            chosen,
            all: globs.is_empty(),
            broken: survey.nodes.iter().find(|node| node.is_broken()).map(|node| node.path.clone()),
            survey,
            problems: Vec::new(),
        }
    }

    fn check(&mut self) {
        let rendered = self.render();
        let files: Vec<&SurveyedFile> = self.files().collect();
        let linter = &*self;
        let found = parallel::each_counted(
            WorkUnit::Files,
            self.context.threads(),
            &files,
            || (),
            |(), file| linter.check_file(file),
            |_| false,
        );
        let mut found: Vec<Fault> = found.into_iter().flatten().collect();
        // A node with such a class reports the error itself.
        let concerns = |fault: &Fault| match &fault.kind {
            Kind::DuplicateDefinition { what, name, .. } => {
                self.all || *what == "node" && self.nodes().any(|node| *node.name == **name)
            }
            _ => true,
        };
        found.extend(self.context.catalog.clashes().into_iter().filter(concerns));
        structure::check(self, &mut found);
        merge_options::check(self, &mut found);
        repeated::check(self, &mut found);
        parameters::check(self, &rendered, &mut found);
        classes::check(self, &mut found);
        wildcards::check(self, &mut found);
        if self.all {
            unreached::check(self, &mut found);
        }
        let delimiter = &self.context.settings.delimiter;
        for fault in &mut found {
            fault.redact_query(&self.secrets, delimiter);
        }
        self.problems.append(&mut found);
    }

    /// Checks one file for itself.
    fn check_file(&self, file: &SurveyedFile) -> Vec<Fault> {
        let mut found = Vec::new();
        names::check(self, file, &mut found);
        written::check(self, file, &mut found);
        // A fault that a node reported already is the same finding.
        match &file.layer {
            Ok(layer) => found.extend(layer.warnings.iter().cloned()),
            Err(error) => found.extend(error.faults().iter().filter(|_| file.is_class).cloned()),
        }
        found
    }

    /// Renders the chosen nodes. Errors and warnings become findings; later checks use the results.
    fn render(&mut self) -> RenderedNodes {
        let nodes: Vec<(&Surveyed, bool)> =
            self.survey.nodes.iter().zip(self.chosen.iter().copied()).collect();
        let all = parallel::each_counted(
            WorkUnit::Nodes,
            self.context.threads(),
            &nodes,
            || self.context.computation(),
            |computation, (node, chosen)| {
                chosen.then(|| computation.answer(NodeRequest::plain(&node.name)).map(remains))
            },
            |_| false,
        );
        let mut rendered = RenderedNodes::default();
        let mut problems = Vec::new();
        for node in all {
            rendered.done.push(matches!(node, Some(Ok(_))));
            match node {
                Some(Ok((warnings, asked))) => {
                    let taken =
                        warnings.iter().filter(|warning| matches!(warning.kind, Kind::DefaultUsed { .. }));
                    rendered.defaults.extend(taken.filter_map(|warning| warning.site.clone()));
                    rendered.asked.extend(asked);
                    problems.extend(warnings);
                }
                Some(Err(error)) => {
                    problems.extend(error.into_faults().into_iter().map(|fault| self.counted(fault)));
                }
                None => {}
            }
        }
        self.problems = problems;
        rendered
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
    fn settled(&self, section: MergedSection, layer: &Layer) -> Arc<MapSlot> {
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
    fn given(
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
    fn files(&self) -> impl Iterator<Item = &SurveyedFile> {
        let broken = self.nodes().filter(|node| node.is_broken()).map(|node| &node.path);
        let broken: FxHashSet<&Arc<str>> = broken.collect();
        let chosen = move |file: &SurveyedFile| {
            broken.contains(&file.path) || file.nodes.iter().any(|at| self.is_chosen(*at))
        };
        self.survey.files.iter().filter(move |file| self.all || chosen(file))
    }

    /// The patterns of class names in the checked files, by the place where they are listed.
    fn class_patterns(&self) -> FxHashMap<Origin, &Text> {
        let layers = self.files().filter_map(|file| file.layer.as_ref().ok());
        let wild = layers.flat_map(|layer| &layer.classes).filter(|entry| entry.wild);
        wild.map(|entry| (entry.origin, &entry.name)).collect()
    }

    /// Whether a file has users, and all of them are known.
    fn is_known(&self, file: &SurveyedFile) -> bool {
        !file.nodes.is_empty() && self.broken.is_none()
    }

    /// Whether no node uses a file, or may use it.
    fn is_unused(&self, file: &SurveyedFile) -> bool {
        file.is_class && file.nodes.is_empty() && self.broken.is_none()
    }

    /// The layers in etcd that a node has, each once.
    fn etcd_layers(&self) -> Vec<&Arc<Layer>> {
        if self.context.inputs.etcd.is_none() {
            return Vec::new();
        }
        let mut visited = FxHashSet::default();
        let all = self.survey.nodes.iter().flat_map(Surveyed::all_layers);
        all.filter(|layer| self.context.inputs.owner(layer.file).is_some() && visited.insert(layer.file))
            .collect()
    }

    fn is_chosen(&self, node: usize) -> bool {
        self.chosen.get(node).copied().unwrap_or(false)
    }

    /// The chosen nodes.
    fn nodes(&self) -> impl Iterator<Item = &Surveyed> {
        self.survey.nodes.iter().zip(&self.chosen).filter(|(_, chosen)| **chosen).map(|(node, _)| node)
    }

    /// A finding about a path, at the origin of a value.
    fn about(
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

    fn site(&self, origin: Origin) -> Option<Site> {
        crate::evaluate::site(self.context.inputs, origin, None)
    }

    /// A finding at the origin of a value.
    fn at(&self, rule: &'static str, message: String, origin: Origin) -> Fault {
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

/// The part of an answer that lint keeps.
fn remains(answer: Answer) -> Remains {
    let asked = answer.queries.iter().map(|asked| (asked.query().clone(), asked.found().next().is_some()));
    (answer.info.warnings, asked.collect())
}

/// A section that is merged from layers. Both sections get the same checks.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum MergedSection {
    Parameters,
    Exports,
}

impl MergedSection {
    const ALL: [MergedSection; 2] = [MergedSection::Parameters, MergedSection::Exports];

    /// The map of this section in a layer.
    fn of(self, layer: &Layer) -> &Arc<MapSlot> {
        match self {
            MergedSection::Parameters => &layer.parameters,
            MergedSection::Exports => &layer.exports,
        }
    }

    /// A path of this section, for messages.
    fn named(self, path: &str) -> String {
        match self {
            MergedSection::Parameters => format!("'{path}'"),
            MergedSection::Exports => format!("the export '{path}'"),
        }
    }
}

/// A finding without a place.
fn lint_fault(rule: &'static str, message: String, help: Option<String>) -> Fault {
    debug_assert!(RULES.iter().any(|known| known.id == rule), "{rule}");
    Fault::new(Kind::Lint { rule, message, help })
}
