//! Lint checks a whole inventory and returns findings: errors that keep nodes from rendering, and constructs
//! that are probably mistakes.
//!
//! It checks the files as written, the layers of every node, and the warnings of rendering. Merging and
//! evaluation are those of a pillar.

mod baseline;
mod contracts;
mod file_text;
mod layers;
mod linter;
mod mentions;
mod merged_lists;
mod param;
mod plain;
mod prelude;
mod rule;
mod rules;
mod selection;
mod silence;
mod unreached;

use std::convert::identity;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::survey::{Survey, SurveyedFile, node_globs};
use reclass::Inventory;
use reclass::parts::engine::Computation;
use reclass::report::{Finding, Level, grouped};
use reclass_base::error::{Error, Fault, Kind, Result, Warning};
use reclass_base::parallel;
use reclass_base::progress::WorkUnit;
use reclass_base::settings::unknown_word;
use reclass_base::value::{Map, Text, Value};

pub use baseline::{Baseline, BaselineEntry, BaselinePath};
use file_text::FileText;
use linter::Linter;
use rule::Check;
pub use rule::Rule;
pub use rules::{RULES, codes, rule, similar_code};
pub use selection::CodeSelection;

/// The source of the options.
pub trait OptionsFile {
    /// The warnings about settings with their places, and the warnings about the file itself.
    fn noticed(&self, settings: &[Warning]) -> Vec<Warning>;
    /// The text of the file, if this is its path.
    fn text(&self, path: &str) -> Option<String>;
    /// A fault with its place, if a setting caused it.
    fn placed(&self, fault: Fault) -> Fault;
}

/// Options without a file.
impl OptionsFile for () {
    fn noticed(&self, settings: &[Warning]) -> Vec<Warning> {
        settings.to_vec()
    }

    fn text(&self, _path: &str) -> Option<String> {
        None
    }

    fn placed(&self, fault: Fault) -> Fault {
        fault
    }
}

/// Checks the inventory of these options, or only the parts of the nodes that match the globs. Findings are
/// ordered by file and line; findings with the level `off` and those of the baseline are left out. `file` is the
/// source of the options, because options come without places. If the options do not open an inventory, the
/// result contains only the faults of the options. A name or glob without a node is an error.
pub fn lint(options: &Map, nodes: &[String], file: &dyn OptionsFile) -> Result<Vec<Finding>> {
    let everything = CodeSelection::default();
    let LintOutcome { mut findings, opened } = selected(options, nodes, &everything, file)?;
    if let Some(known) = BaselinePath::of_options(options).filter(|_| opened) {
        known.read()?.subtract(&mut findings, &everything, &|path| known.name(path));
    }
    Ok(findings)
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
    match Inventory::open(&lint_options(options)) {
        Ok(inventory) => of_inventory(&inventory, options, nodes, selection, file),
        Err(error) => Ok(refused(error, options, selection, file)),
    }
}

/// The options with which an inventory gives all that lint reports.
pub fn lint_options(options: &Map) -> Map {
    let mut options = options.clone();
    // All warnings of rendering.
    options.insert("verbose_warnings".into(), Value::Bool(true));
    options.insert("group_errors".into(), Value::Bool(true));
    options
}

/// The findings of options that open no inventory.
fn refused(error: Error, options: &Map, selection: &CodeSelection, file: &dyn OptionsFile) -> LintOutcome {
    let (levels, wrong) = Levels::of_options(options, selection);
    let unused = FxHashSet::default();
    let noticed = file.noticed(&wrong).into_iter().map(|fault| (levels.of(&fault, &unused), fault));
    // Always errors, whatever the levels are: nothing else was checked.
    let problems = error.into_faults().into_iter().map(|fault| (Level::Error, fault));
    let findings = grouped(problems.chain(noticed.filter(|(level, _)| *level != Level::Off)));
    LintOutcome { findings: placed(findings, file), opened: false }
}

/// The same as [`selected`] for an inventory that was opened with [`lint_options`].
pub fn of_inventory(
    inventory: &Inventory,
    options: &Map,
    nodes: &[String],
    selection: &CodeSelection,
    file: &dyn OptionsFile,
) -> Result<LintOutcome> {
    checked(inventory, options, nodes, selection, file, None::<fn(&Survey)>).map(|(outcome, _)| outcome)
}

/// The findings of all nodes, and what `take` takes of the survey, from one state of the inventory. The answers of the
/// nodes are kept, so that the next check renders only those that changed.
pub fn with_survey<T>(
    inventory: &Inventory,
    options: &Map,
    file: &dyn OptionsFile,
    take: fn(&Survey) -> T,
) -> Result<(LintOutcome, Option<T>)> {
    let everything = CodeSelection::default();
    checked(inventory, options, &[], &everything, file, Some(take))
}

/// The errors of these nodes alone, without any rule: what is known before all files are checked. The answers are
/// kept as by [`with_survey`].
pub fn errors_of(inventory: &Inventory, nodes: &[Text], file: &dyn OptionsFile) -> Result<Vec<Finding>> {
    let errors = inventory.inspect_keeping(|computation| {
        let read = |computation: &Computation<'_>, node: &Text| computation.read_answer(node, |_, _| ());
        let rendered = computation.context().each_node(nodes, identity, read);
        let (answers, computed): (Vec<Result<()>>, Vec<_>) = rendered.into_iter().unzip();
        let errors: Vec<Error> = answers.into_iter().filter_map(Result::err).collect();
        (errors, computed.into_iter().flatten().collect())
    })?;
    Ok(errors_as_findings(errors.into_iter().flat_map(Error::into_faults), file))
}

/// Errors as findings.
pub fn errors_as_findings(faults: impl IntoIterator<Item = Fault>, file: &dyn OptionsFile) -> Vec<Finding> {
    placed(grouped(faults.into_iter().map(|fault| (Level::Error, fault))), file)
}

/// The findings. With `take`, the same question comes again, and the answers are kept.
fn checked<T>(
    inventory: &Inventory,
    options: &Map,
    nodes: &[String],
    selection: &CodeSelection,
    file: &dyn OptionsFile,
    take: Option<fn(&Survey) -> T>,
) -> Result<(LintOutcome, Option<T>)> {
    let (levels, wrong) = Levels::of_options(options, selection);
    let checked = inventory.inspect_keeping(|computation| {
        let globs = match node_globs(|| computation.catalog.nodes.keys(), nodes) {
            Ok(globs) => globs,
            Err(error) => return (Err(error), Vec::new()),
        };
        let mut linter = Linter::new(computation, &globs);
        let (mut problems, computed) = linter.render(take.is_some());
        problems.extend(check(&linter));
        let of_schemas = linter.contracts.own_faults();
        // A file that cannot be read is never fine, even if no node has it yet.
        let unused = linter.survey.files.iter().filter(|file| linter.is_unused(file) && file.layer.is_ok());
        let unused: FxHashSet<Arc<str>> = unused.map(|file| file.path.clone()).collect();
        let taken = take.map(|take| take(&linter.survey));
        (Ok((problems, of_schemas, unused, taken)), computed)
    });
    let (problems, of_schemas, unused, taken) = match checked {
        Ok(checked) => checked?,
        Err(error) => return Ok((refused(error, options, selection, file), None)),
    };
    let noticed = [inventory.settings_warnings(), &wrong].concat();
    let problems = file.noticed(&noticed).into_iter().chain(problems);
    let problems = problems.map(|fault| (levels.of(&fault, &unused), fault));
    let of_schemas = of_schemas.into_iter().map(|fault| (levels.of_schema(&fault, &unused), fault));
    let problems = of_schemas.chain(problems);
    let mut silence = silence::Silence::new(inventory, file);
    let mut findings = grouped(problems.filter(|(level, _)| *level != Level::Off));
    findings.retain(|finding| !silence.covers(&finding.fault));
    keep_foremost(&mut findings);
    Ok((LintOutcome { findings: placed(findings, file), opened: true }, taken))
}

/// The findings with the places of those that settings caused.
fn placed(mut findings: Vec<Finding>, file: &dyn OptionsFile) -> Vec<Finding> {
    for finding in &mut findings {
        finding.fault = file.placed(finding.fault.clone());
    }
    findings
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
    /// The levels of these options for a selection of codes, and the faults in the setting.
    fn of_options(options: &Map, selection: &CodeSelection) -> (Levels, Vec<Fault>) {
        let (levels, wrong) = Levels::read(options.get("lint_levels"));
        let mut levels = Levels { selection: selection.clone(), ..levels };
        if options.get("empty_files").and_then(Value::as_str) == Some("error") {
            levels.changed.entry("file-empty".into()).or_insert(Level::Error);
        }
        (levels, wrong)
    }

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
            let code = reclass_base::pystr::str(&code.0);
            if !codes().any(|known| known == code) {
                let similar = similar_code(&code).map(str::to_owned);
                faults.push(Fault::new(Kind::UnknownRule { name: code, similar }));
                continue;
            }
            // YAML reads a bare `off` as false.
            let word = match level {
                Value::Bool(false) => "off".to_owned(),
                other => reclass_base::pystr::str(other),
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

    /// The level of a fault in the file of a schema. Whoever selects a rule of schemas must know that one is not checked.
    fn of_schema(&self, fault: &Fault, unused: &FxHashSet<Arc<str>>) -> Level {
        if self.selection.names_schemas() && !self.selection.leaves_out(fault.code()) {
            return self.unselected(fault, unused);
        }
        self.of(fault, unused)
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

/// The findings of all rules.
fn check(linter: &Linter<'_>) -> Vec<Fault> {
    let files: Vec<&SurveyedFile> = linter.files().collect();
    let found = parallel::each_counted(
        WorkUnit::Files,
        linter.context.settings.threads,
        &files,
        || (),
        |(), file| check_file(linter, file),
        |_| false,
    );
    let mut found: Vec<Fault> = found.into_iter().flatten().collect();
    // A node with such a class reports the error itself.
    let concerns = |fault: &Fault| match &fault.kind {
        Kind::DuplicateDefinition { what, name, .. } => {
            linter.all || *what == "node" && linter.nodes().any(|node| *node.name == **name)
        }
        _ => true,
    };
    found.extend(linter.context.clashes().into_iter().filter(concerns));
    for check in RULES.iter().flat_map(|rule| rule.checks) {
        match check {
            Check::Inventory(check) => check(linter, &mut found),
            Check::Whole(check) if linter.all => check(linter, &mut found),
            Check::Whole(_) | Check::File(_) => {}
        }
    }
    if linter.all {
        unreached::check(linter, &mut found);
    }
    for fault in &mut found {
        fault.redact_query(&linter.secrets, &linter.context.settings.delimiter);
    }
    found
}

/// The findings about one file by itself.
fn check_file(linter: &Linter<'_>, file: &SurveyedFile) -> Vec<Fault> {
    let mut found = Vec::new();
    FileText::read(linter, file, &mut |written| {
        for check in RULES.iter().flat_map(|rule| rule.checks) {
            if let Check::File(check) = check {
                check(written, &mut found);
            }
        }
        // Reading the file would have reported them if it had no errors.
        if file.layer.is_err() {
            found.extend(written.noticed());
        }
    });
    // A fault that a node reported already is the same finding.
    match &file.layer {
        Ok(layer) => found.extend(layer.warnings.iter().cloned()),
        Err(error) => found.extend(error.faults().iter().filter(|_| file.is_class).cloned()),
    }
    found
}
