//! `reclass lint` checks an inventory and prints findings.

use std::path::Path;

use clap::Command;
use clap::builder::PossibleValuesParser;
use reclass::error::{Error, Result};
use reclass::lint::{RULES, lint};
use reclass::report::{self, Finding, Level, grouped};

use crate::commands::list::count;
use crate::commands::manual::Manual;
use crate::commands::{Answering, Invocation, Printout, Verb, node_globs};
use crate::{folder, terminal};

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
            ("The meaning of a finding:", "reclass explain-error duplicate-key"),
        ],
        exits: &[("1", "A finding has the level warning or error, or an unexpected failure.")],
    },
    outputs: &["full", "concise", "json", "github", "sarif"],
    arguments,
    answer: Answering::Settings(answer),
};

fn arguments(command: Command) -> Command {
    command.arg(node_globs("Check only these nodes and their files, by name or glob")).arg(
        clap::Arg::new("level")
            .long("level")
            .value_name("LEVEL")
            .value_parser(PossibleValuesParser::new(&Level::NAMES[1..]))
            .default_value(Level::Warning.name())
            .help("Show findings of this level and above"),
    )
}

fn answer(question: &Invocation<'_>) -> Result<Printout> {
    let mut findings = match question.configuration.usable() {
        Ok(()) => lint(question.options, &question.words("nodes"), question.configuration)?,
        // The inventory and the enabled rules are unknown.
        Err(error) => grouped(error.into_faults().into_iter().map(|fault| (Level::Error, fault))),
    };
    for finding in &mut findings {
        finding.fault = question.configuration.placed(finding.fault.clone());
    }
    let found = findings.iter().any(|finding| finding.level >= Level::Warning);
    let level = question.matches.get_one::<String>("level").and_then(|name| Level::from_name(name));
    let summary = summary(&findings, level.unwrap_or(Level::Warning));
    findings.retain(|finding| Some(finding.level) >= level);
    let current = terminal::current_folder().unwrap_or_default();
    let top = folder::top(&current).to_string_lossy().into_owned();
    let text = match question.output {
        "json" => report::to_json(&findings),
        "github" => report::github(&whole_paths(findings, &current), &top),
        "sarif" => {
            let codes = reclass::error::Kind::CODES.iter().filter(|code| **code != "lint");
            let own = RULES.iter().map(|rule| (rule.id, rule.about));
            let rules: Vec<(&str, &str)> = own
                .chain(codes.filter(|code| reclass::lint::rule(code).is_none()).map(|code| (*code, *code)))
                .collect();
            report::to_json(&report::sarif(&whole_paths(findings, &current), &rules, &top))
        }
        "concise" => lines(findings.iter().map(concise), &summary, "\n") + &explanation(&findings),
        _ => {
            lines(
                findings.iter().map(|finding| {
                    report::full_finding(finding, question.paint.0, &|path| terminal::source(path))
                }),
                &summary,
                "\n\n",
            ) + &explanation(&findings)
        }
    };
    Ok(Printout { text, found, ..Printout::default() })
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

/// `2 errors, 1 warning; 7 notes are not shown`
fn summary(findings: &[Finding], level: Level) -> String {
    let number = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    let words = [(Level::Error, "error"), (Level::Warning, "warning"), (Level::Info, "note")];
    let shown = words.iter().filter(|(one, _)| *one >= level).map(|(one, word)| count(number(*one), word));
    let hidden = words.iter().filter(|(one, _)| *one < level && number(*one) > 0);
    let hidden: Vec<String> = hidden.map(|(one, word)| count(number(*one), word)).collect();
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if !hidden.is_empty() {
        text.push_str("; not shown: ");
        text.push_str(&hidden.join(", "));
    }
    text
}
