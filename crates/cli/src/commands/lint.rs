//! `reclass lint` checks an inventory and prints findings.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command, ValueHint};
use indexmap::IndexMap;
use reclass::Inventory;
use reclass::error::{Error, Fault, Kind, Result, inert};
use reclass::parts::storage::fs::{display, real, real_relative, roots};
use reclass::report::{self, Finding, Level};
use reclass::settings::FILE_NAMES;
use reclass::style::{Paint, Style};
use reclass_analysis::lint::{
    Baseline, BaselineEntry, BaselinePath, CodeSelection, LintOutcome, errors_as_findings, selected,
};
use reclass_analysis::list::names_of_nodes;
use reclass_base::words::count;
use reclass_edit::repair::{RepairedFile, is_unsafe, repair};
use reclass_edit::tree::EditOptions;
use reclass_edit::unified::{ShownText, unified};
use serde::Serialize;

use crate::commands::verb::{Answering, Invocation, Printout, Verb, flag, many, node_globs, usage};
use crate::configuration::Configuration;
use crate::folder::OutputFolder;
use crate::manual_page::Manual;
use crate::process::current_folder;
use crate::{folder, screen, terminal};

/// The `lint` verb.
pub const VERB: Verb = Verb {
    name: "lint",
    about: "Find errors and probable mistakes in an inventory",
    manual: Manual {
        page: "lint",
        description: "Renders all nodes and checks all files. A problem is one finding, however many nodes it reaches. The setting lint_levels changes the level of a rule, and the comment \"# reclass: ignore[CODE]\" silences a rule for a line.",
        examples: &[
            ("Check the whole inventory:", "reclass lint"),
            ("One line for each finding, notes included:", "reclass lint -o concise --level info"),
            ("Annotations in a workflow of GitHub:", "reclass lint -b /srv/salt/reclass -o github"),
            ("How many findings of each rule there are:", "reclass lint --summary --level info"),
            ("Some rules only:", "reclass lint --select 'scalar-*,tab'"),
            (
                "Take all findings of today as known:",
                "reclass lint --baseline lint-baseline.json --write-baseline",
            ),
            ("Report new findings only:", "reclass lint --baseline lint-baseline.json"),
            ("Show the changes that --fix would make:", "reclass lint --fix --dry-run"),
            ("Remove redundant classes, too:", "reclass lint --fix --unsafe-fixes --level info"),
            ("The meaning of a finding:", "reclass explain-error duplicate-key"),
        ],
        exits: &[("1", "A finding has the level warning or error, or an unexpected failure.")],
    },
    outputs: &["full", "concise", "json", "github", "sarif"],
    arguments,
    answer: Answering::Settings(answer),
};

fn arguments(command: Command) -> Command {
    let codes = |name, help| many(name, "CODE", help).value_delimiter(',');
    command
        .arg(
            node_globs("Check only these nodes and their files, by name or glob; or report only the findings of these files and folders")
                .value_names(["NODE|FILE"]),
        )
        .arg(
            Arg::new("level")
                .long("level")
                .value_name("LEVEL")
                .value_parser(PossibleValuesParser::new(&Level::NAMES[1..]))
                .default_value(Level::Warning.name())
                .help("Show findings of this level and above"),
        )
        .arg(codes("select", "Report only these rules and errors, by code or glob; separated by commas"))
        .arg(codes("ignore", "Leave out these rules and errors, by code or glob; separated by commas"))
        .arg(flag("summary", "Print the number of findings and files of each rule instead of the findings"))
        .arg(
            Arg::new("baseline")
                .long("baseline")
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .help("Report only findings that this file does not have; the default is the setting lint_baseline, and '' is none"),
        )
        .arg(
            flag("write-baseline", "Write all findings into the baseline; they are known from then on")
                .conflicts_with_all(["nodes", "select", "ignore", "summary", "fix"]),
        )
        .arg(flag(
            "fix",
            "Repair the findings that are shown: put quotes around misread scalars, remove repeated entries of classes and applications, and print the changes",
        ))
        .arg(
            flag("unsafe-fixes", "With --fix: also remove redundant classes, which can change the order of classes")
                .requires("fix"),
        )
        .arg(flag("dry-run", "With --fix: print the changes without making them").requires("fix"))
}

fn answer(question: &Invocation<'_>) -> Result<Printout> {
    let current = current_folder().unwrap_or_default();
    let (nodes, files) = asked(question)?;
    let selection = CodeSelection::new(&question.words("select"), &question.words("ignore"))?;
    let file = match question.matches.get_one::<String>("baseline") {
        Some(path) => Some(path).filter(|path| !path.is_empty()).map(|path| BaselinePath::new(path)),
        None => BaselinePath::of_options(question.options),
    };
    if question.matches.get_flag("write-baseline") {
        let none = "--write-baseline needs a file: --baseline FILE, or the setting 'lint_baseline'";
        return write_baseline(question, &file.ok_or_else(|| usage(none.to_owned()))?);
    }
    let known = file.as_ref().map(BaselinePath::read).transpose();
    let known = known.map_err(|error| question.configuration.placed_all(error))?.unwrap_or_default();
    let examined = || -> Result<Examined> {
        let mut outcome = examine(question, &nodes, &selection)?;
        let (here, mut elsewhere) = outcome.findings.into_iter().partition(|finding| files.has(finding));
        outcome.findings = here;
        let all = outcome.findings.len();
        let mut gone = Vec::new();
        if let Some(file) = file.as_ref().filter(|_| outcome.opened) {
            gone = known.subtract(&mut outcome.findings, &selection, &|path| file.name(path));
            // The files of other nodes were not checked.
            gone.retain(|_| nodes.is_empty() && files.0.is_empty());
            known.subtract(&mut elsewhere, &selection, &|path| file.name(path));
        }
        elsewhere.retain(|finding: &Finding| finding.level >= Level::Warning);
        let (known, elsewhere) = (all - outcome.findings.len(), elsewhere.len());
        Ok(Examined { known, findings: outcome.findings, gone, elsewhere })
    };
    let level = question.matches.get_one::<String>("level").and_then(|name| Level::from_name(name));
    let mut examined_now = examined()?;
    let mut changes = None;
    let mut hints = files.strangers(question);
    if question.matches.get_flag("fix") && question.configuration.usable().is_ok() {
        let test = question.matches.get_flag("dry-run");
        let inventory = Inventory::open(question.options)?;
        let options = EditOptions { test, ..EditOptions::default() };
        let mut shown = examined_now.findings.clone();
        shown.retain(|finding| Some(finding.level) >= level);
        let all = shown.len();
        if !question.matches.get_flag("unsafe-fixes") {
            shown.retain(|finding| !is_unsafe(finding));
        }
        let left = all - shown.len();
        let below = below(question, &inventory, &examined_now.findings, level)?;
        let files = repair(inventory.settings(), &shown, options)?;
        if !test && !files.is_empty() {
            terminal::forget_sources();
            examined_now = examined()?;
        }
        let repairs = files.iter().map(|file| file.repairs).sum();
        let done = if test { "to fix" } else { "fixed" };
        let left = match left {
            0 => String::new(),
            left => format!("; {left} more with --unsafe-fixes, which can change the order of classes"),
        };
        let sentence =
            format!("{} {done} in {}{left}{below}", count(repairs, "finding"), count(files.len(), "file"));
        if ["full", "concise"].contains(&question.output) {
            let diffs = files.iter().map(|file| difference(file, question.paint, &current));
            changes = Some(diffs.chain([sentence]).collect::<Vec<_>>().join("\n"));
        } else {
            hints.push(sentence);
        }
    }
    let Examined { mut findings, known, gone, elsewhere } = examined_now;
    if let (Some(file), false) = (&file, gone.is_empty()) {
        hints.push(gone_hint(file, &gone));
    }
    let found = findings.iter().any(|finding| finding.level >= Level::Warning);
    let summary = summary(&findings, level.unwrap_or(Level::Warning), (known, elsewhere));
    findings.retain(|finding| Some(finding.level) >= level);
    let printed = if question.matches.get_flag("summary") {
        by_rule(question, &findings, &summary)?
    } else {
        printed(question, findings, &summary, &current)
    };
    let text = changes.map(|changes| format!("{changes}\n\n{printed}")).unwrap_or(printed);
    Ok(Printout { text, found, hints, ..Printout::default() })
}

/// The repairs of findings below the level, as a part of a sentence.
fn below(
    question: &Invocation<'_>,
    inventory: &Inventory,
    findings: &[Finding],
    level: Option<Level>,
) -> Result<String> {
    let hidden = |lowest: Level, unsafe_too: bool| -> Result<usize> {
        let mut findings = findings.to_vec();
        findings.retain(|finding| Some(finding.level) < level && finding.level >= lowest);
        findings.retain(|finding| unsafe_too || !is_unsafe(finding));
        let test = EditOptions { test: true, ..EditOptions::default() };
        let files = repair(inventory.settings(), &findings, test)?;
        Ok(files.iter().map(|file| file.repairs).sum())
    };
    let are_unsafe_made = question.matches.get_flag("unsafe-fixes");
    let all = hidden(Level::Info, true)?;
    if all == 0 {
        return Ok(String::new());
    }
    let lowest = if hidden(Level::Warning, true)? == all { Level::Warning } else { Level::Info };
    let rest = if !are_unsafe_made && hidden(Level::Info, false)? < all {
        " --unsafe-fixes, which can change the order of classes"
    } else {
        ""
    };
    Ok(format!("; {all} more with --level {}{rest}", lowest.name()))
}

/// What one run of lint found.
struct Examined {
    /// The findings without those of the baseline.
    findings: Vec<Finding>,
    /// The number of findings of the baseline.
    known: usize,
    /// The entries of the baseline without a finding.
    gone: Vec<BaselineEntry>,
    /// The number of errors and warnings in files that were not asked for.
    elsewhere: usize,
}

/// The files and folders whose findings are asked for, as written and with resolved links; none for all.
struct AskedFiles(Vec<PathBuf>);

impl AskedFiles {
    /// Whether a finding is in one of them. One without a place belongs to all.
    fn has(&self, finding: &Finding) -> bool {
        let Some(site) = finding.fault.site.as_ref().filter(|_| !self.0.is_empty()) else { return true };
        both_paths(&site.path).iter().any(|path| self.0.iter().any(|asked| path.starts_with(asked)))
    }

    /// A hint for each that nobody looks at.
    fn strangers(&self, question: &Invocation<'_>) -> Vec<String> {
        let Some(settings) = Inventory::open(question.options).ok().filter(|_| !self.0.is_empty()) else {
            return Vec::new();
        };
        let settings = settings.settings();
        let base = settings.inventory_base_uri.as_deref();
        let base_files = [FILE_NAMES[0], FILE_NAMES[1]].map(|name| base.map(|base| lexical(base).join(name)));
        let folders = [
            (&settings.nodes_uri, "nodes_uri"),
            (&settings.classes_uri, "classes_uri"),
            (&settings.schemas_uri, "schemas_uri"),
        ];
        let folders = folders.iter().filter_map(|(uri, name)| roots(base, uri, name).ok()).flatten();
        let known: Vec<PathBuf> = folders.chain(base_files.into_iter().flatten()).collect();
        let is_known = |path: &PathBuf| {
            known
                .iter()
                .flat_map(|known| both_paths(&display(known)))
                .any(|known| path.starts_with(&known) || known.starts_with(path))
        };
        let strange =
            question.words("nodes").into_iter().filter(|word| !both_paths(word).iter().any(is_known));
        strange.map(|word| format!("'{word}' is no file of the inventory")).collect()
    }
}

/// The words that name nodes, and the paths of files and folders among them. A node counts before a folder of its name.
fn asked(question: &Invocation<'_>) -> Result<(Vec<String>, AskedFiles)> {
    let is_node = |word: &String| {
        let inventory = Inventory::open(question.options);
        inventory.and_then(|inventory| names_of_nodes(&inventory, std::slice::from_ref(word))).is_ok()
    };
    let is_there = |word: &String| real(Path::new(word)).is_some();
    let is_file = |word: &String| is_path(word) || is_there(word) && !is_node(word);
    let (files, nodes): (Vec<String>, Vec<String>) = question.words("nodes").into_iter().partition(is_file);
    if !files.is_empty() && !nodes.is_empty() {
        return Err(usage(format!(
            "'{}' is a node and '{}' is a file: ask for them apart",
            nodes[0], files[0]
        )));
    }
    if let Some(path) = files.iter().find(|word| !is_there(word)) {
        let kind =
            Kind::FileUnreadable { path: path.clone(), message: "no such file or directory".to_owned() };
        return Err(Fault::new(kind).into());
    }
    Ok((nodes, AskedFiles(files.iter().flat_map(|file| both_paths(file)).collect())))
}

/// Whether a word can only be a path: nodes have no such names.
fn is_path(word: &str) -> bool {
    let is_yaml = Path::new(word).extension().is_some_and(|end| end == "yml" || end == "yaml");
    word.contains('/') || is_yaml || word == "." || word == ".."
}

/// A path as it is written, and with resolved links.
fn both_paths(path: &str) -> Vec<PathBuf> {
    real(Path::new(path)).into_iter().chain([lexical(path)]).collect()
}

fn lexical(path: &str) -> PathBuf {
    folder::lexical(&std::path::absolute(path).unwrap_or_default())
}

/// The first file or folder that a command line asks about.
pub fn path(matches: &ArgMatches) -> Option<PathBuf> {
    let (_, matches) = matches.subcommand().filter(|(name, _)| *name == VERB.name)?;
    let mut words = matches.get_many::<String>("nodes")?;
    words.find(|word| real(Path::new(word)).is_some()).map(|word| lexical(word))
}

fn examine(question: &Invocation<'_>, nodes: &[String], selection: &CodeSelection) -> Result<LintOutcome> {
    if question.configuration.is_nowhere() {
        return Err(Configuration::nowhere());
    }
    match question.configuration.usable() {
        Ok(()) => selected(question.options, nodes, selection, question.configuration),
        // The inventory and the enabled rules are unknown.
        Err(error) => {
            let findings = errors_as_findings(error.into_faults(), question.configuration);
            Ok(LintOutcome { findings, opened: false })
        }
    }
}

fn write_baseline(question: &Invocation<'_>, file: &BaselinePath) -> Result<Printout> {
    let outcome = examine(question, &[], &CodeSelection::default())?;
    if !outcome.opened {
        // The findings of an inventory that cannot be opened are not those that the team knows.
        return Err(Error::new(outcome.findings.into_iter().map(|finding| finding.fault).collect()));
    }
    let baseline = Baseline::of(&outcome.findings, &|path| file.name(path));
    let folder = file.path.parent().map_or_else(String::new, |folder| folder.to_string_lossy().into_owned());
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    OutputFolder::make(&folder)?.put(&name, format!("{}\n", baseline.to_json()).as_bytes())?;
    Ok(Printout::plain(format!("{} written to '{}'", count(baseline.len(), "finding"), file.shown)))
}

/// The hint about entries without a finding.
fn gone_hint(file: &BaselinePath, gone: &[BaselineEntry]) -> String {
    /// Maximum number of entries that are named.
    const NAMED: usize = 3;
    let named = gone.iter().take(NAMED).map(|entry| match &entry.file {
        Some(file) => format!("{} in '{file}'", entry.code),
        None => entry.code.clone(),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let more = if gone.len() > NAMED { ", …" } else { "" };
    let (are, them) = if gone.len() == 1 { ("finding of", "is gone") } else { ("findings of", "are gone") };
    let it = if gone.len() == 1 { "it" } else { "them" };
    format!("{} {are} '{}' {them} ({named}{more}); --write-baseline leaves {it} out", gone.len(), file.shown)
}

/// The change of a file as a unified diff, with secrets hidden.
fn difference(file: &RepairedFile, paint: Paint, current: &Path) -> String {
    let shown = |bytes: &Vec<u8>| {
        let text = terminal::hidden(&String::from_utf8_lossy(bytes));
        ShownText { shown: text.clone(), text }
    };
    let [before, after] = [&file.edited.before, &file.edited.after].map(|bytes| bytes.as_ref().map(shown));
    let path = inert(&real_relative(&file.edited.path, current).to_string_lossy());
    let text = unified(before.as_ref(), after.as_ref(), &path, 2);
    let painted = text.lines().enumerate().map(|(number, line)| {
        let style = match line.as_bytes().first() {
            _ if number < 2 => Style::Heading,
            Some(b'@') => Style::Faint,
            Some(b'-') => Style::Error,
            Some(b'+') => Style::Added,
            _ => Style::Plain,
        };
        paint.of(style, &inert_line(line))
    });
    painted.collect::<Vec<_>>().join("\n")
}

/// A line of a file without control characters; tabs stay.
fn inert_line(line: &str) -> String {
    line.split('\t').map(inert).collect::<Vec<_>>().join("\t")
}

/// The findings in the form of the output.
fn printed(question: &Invocation<'_>, mut findings: Vec<Finding>, summary: &str, current: &Path) -> String {
    let top = folder::top(current).to_string_lossy().into_owned();
    if screen::is_answer_shown() && ["full", "concise"].contains(&question.output) {
        for finding in &mut findings {
            finding.fault = screen::with_shown_places(finding.fault.clone());
        }
    }
    match question.output {
        "json" => report::to_json(&findings),
        "github" => report::github(&whole_paths(findings, current), &top),
        "sarif" => {
            let about = |code| (code, reclass_analysis::lint::rule(code).map_or(code, |rule| rule.about));
            let rules: Vec<(&str, &str)> = reclass_analysis::lint::codes().map(about).collect();
            report::to_json(&report::sarif(&whole_paths(findings, current), &rules, &top))
        }
        "concise" => lines(findings.iter().map(concise), summary, "\n") + &explanation(&findings),
        _ => {
            lines(
                report::full_findings(&findings, question.paint.colours, &terminal::source)
                    .iter()
                    .map(|finding| screen::message_in_answer(finding)),
                summary,
                "\n\n",
            ) + &explanation(&findings)
        }
    }
}

/// The number of findings of one rule or error.
#[derive(Serialize)]
struct RuleCount<'a> {
    code: &'a str,
    level: Level,
    findings: usize,
    files: usize,
}

/// The findings by rule, the most frequent first.
fn by_rule(question: &Invocation<'_>, findings: &[Finding], summary: &str) -> Result<String> {
    let mut rules: IndexMap<(&str, Level), (usize, HashSet<&str>)> = IndexMap::new();
    for finding in findings {
        let (number, files) = rules.entry((finding.fault.code(), finding.level)).or_default();
        *number += 1;
        files.extend(finding.fault.site.as_ref().map(|site| &*site.path));
    }
    let mut rules: Vec<RuleCount<'_>> = rules
        .into_iter()
        .map(|((code, level), (findings, files))| RuleCount { code, level, findings, files: files.len() })
        .collect();
    rules.sort_by(|one, other| {
        other.level.cmp(&one.level).then(other.findings.cmp(&one.findings)).then(one.code.cmp(other.code))
    });
    match question.output {
        "json" => return Ok(report::to_json(&rules)),
        "full" | "concise" => {}
        form => {
            let message = format!("--summary has no form '{form}'; it has full, concise and json");
            return Err(usage(message));
        }
    }
    let code = rules.iter().map(|rule| rule.code.len()).max().unwrap_or(0);
    let number = rules.iter().map(|rule| rule.findings.to_string().len()).max().unwrap_or(0);
    let lines = rules.iter().map(|rule| {
        let style = if rule.level == Level::Error { Style::Error } else { Style::Heading };
        let code = question.paint.of(style, &format!("{:code$}", rule.code));
        let files = match rule.files {
            0 => String::new(),
            files => format!("in {}", count(files, "file")),
        };
        format!("{:>number$}  {:7}  {code}  {files}", rule.findings, rule.level.name()).trim_end().to_owned()
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    Ok(if lines.is_empty() { summary.to_owned() } else { format!("{lines}\n\n{summary}") })
}

/// The findings with absolute paths if they are in files. Places in a repository have names of their own.
fn whole_paths(mut findings: Vec<Finding>, current: &Path) -> Vec<Finding> {
    for site in findings.iter_mut().filter_map(|finding| finding.fault.site.as_mut()) {
        let whole = current.join(&*site.path);
        if whole.is_file() {
            site.path = whole.to_string_lossy().into();
        }
    }
    findings
}

fn lines(lines: impl Iterator<Item = String>, summary: &str, between: &str) -> String {
    lines.chain(std::iter::once(summary.to_owned())).collect::<Vec<_>>().join(between)
}

/// The line that names the command which explains the most severe finding, after an empty one.
fn explanation(findings: &[Finding]) -> String {
    let level = findings.iter().map(|finding| finding.level).max();
    let first = findings.iter().find(|finding| Some(finding.level) == level);
    let line = first.and_then(|finding| terminal::explanation_in_answer(&finding.fault));
    line.map(|line| format!("\n\n{line}")).unwrap_or_default()
}

/// One line: the level, the concise form, and the number of nodes.
fn concise(finding: &Finding) -> String {
    let text = reclass::error::concise(&Error::from(finding.fault.clone()));
    let others = match finding.nodes.len() {
        0 | 1 => String::new(),
        number => format!(" [{number} nodes]"),
    };
    format!("{}: {text}{others}", finding.level.name())
}

/// `2 errors, 1 warning; 40 in the baseline; 7 notes not shown: --level info shows them`
fn summary(findings: &[Finding], level: Level, (known, elsewhere): (usize, usize)) -> String {
    let number = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    let words = [(Level::Error, "error"), (Level::Warning, "warning"), (Level::Info, "note")];
    let shown = words.iter().filter(|(one, _)| *one >= level).map(|(one, word)| count(number(*one), word));
    let hidden = words.iter().filter(|(one, _)| *one < level && number(*one) > 0);
    let lowest = hidden.clone().map(|(one, _)| *one).min();
    let hidden: Vec<String> = hidden.map(|(one, word)| count(number(*one), word)).collect();
    let mut parts = vec![shown.collect::<Vec<_>>().join(", ")];
    if known > 0 {
        parts.push(format!("{known} in the baseline"));
    }
    if elsewhere > 0 {
        parts.push(format!("{elsewhere} more in other files"));
    }
    if let Some(lowest) = lowest {
        let is_one = hidden.len() == 1 && number(lowest) == 1;
        let them = if is_one { "it" } else { "them" };
        parts.push(format!("{} not shown: --level {} shows {them}", hidden.join(", "), lowest.name()));
    }
    parts.join("; ")
}
